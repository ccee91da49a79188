# A project of its own (tests/package/consumer) uses the library both ways: installed, and as a subdirectory.

build_and_run() {  # folder, cmake arguments...
  local folder=$1
  shift
  cmake -S tests/package/consumer -B "$folder" -G Ninja -DCMAKE_CXX_COMPILER="$cxx" "$@" &&
    cmake --build "$folder" --parallel "$jobs" &&
    SINTER_DEVICE=cpu "$folder/consumer"
}

installed() {
  cmake --install "$build" --prefix "$scratch/prefix" &&
    build_and_run "$scratch/installed" -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_BUILD_TYPE=Release
}

# The other way round in everything else, too, so that these keep working: shared, debug, without CUDA's headers. Kept in
# the build folder: later runs compile only what changed.
subdirectory() {
  build_and_run "$build/tests/subdirectory" -DSINTER_SOURCE="$PWD" -DCMAKE_BUILD_TYPE=Debug -DBUILD_SHARED_LIBS=ON \
    -DSINTER_CUDA=OFF
}

check_install() {
  if [ -n "$(cached SINTER_SANITIZE)" ]; then
    skip install.find_package "a library built with sanitizers does not link without them"
  else
    check install.find_package installed
  fi
  check install.add_subdirectory subdirectory
}
