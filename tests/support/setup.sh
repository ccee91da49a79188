# What samples/run and tests/run share: the packages, configuring, building. Sourced from the repository's root, with
# `build` (folder), `jobs` and `developer` (ON or OFF) set. Asks no network unless a package is missing.

# Debian 12 and Ubuntu 24.04 name these packages alike. Each line: package, and what shows that it is there although dpkg
# doesn't know it (installed by hand, or a system without dpkg): a command, or a header that the compiler finds.
needed_packages="
cmake              cmake
g++                c++|g++
ninja-build        ninja
libfmt-dev         fmt/core.h
libboost-dev       boost/hana.hpp
libgtest-dev       gtest/gtest.h
libbenchmark-dev   benchmark/benchmark.h
"

# Libraries that are opened at run time. Without one of them the tests of what it does run on generated kernels or say
# that they are skipped: it is installed where that can be done.
opened_packages="
libopenblas0-pthread  libopenblas.so.0
libfftw3-double3      libfftw3.so.3
libfftw3-single3      libfftw3f.so.3
"

is_there() {  # package, probe
  if command -v dpkg-query > /dev/null; then
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2> /dev/null)" = installed ] && return 0
  fi
  case $2 in
    *.so.*) ldconfig -p 2> /dev/null | grep -qF "$2" ;;
    *.h | *.hpp) printf '#include <%s>\n' "$2" | "${CXX:-c++}" -E -x c++ -std=c++20 - > /dev/null 2>&1 ;;
    *) for command in ${2//|/ }; do command -v "$command" > /dev/null && return 0; done; return 1 ;;
  esac
}

# The packages of a list that aren't there.
missing_of() {  # list
  local package probe
  while read -r package probe; do
    [ -z "$package" ] || is_there "$package" "$probe" || printf ' %s' "$package"
  done <<< "$1"
}

apt_install() {  # packages...
  local root=""
  [ "$(id -u)" -eq 0 ] || root="sudo -n"
  mkdir -p "$build"
  { $root apt-get update && $root env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y --no-install-recommends "$@"; } > "$build/packages.log" 2>&1
}

can_install() { command -v apt-get > /dev/null && { [ "$(id -u)" -eq 0 ] || sudo -n true 2> /dev/null; }; }

install_packages() {
  local missing opened
  missing=$(missing_of "$needed_packages")
  opened=$(missing_of "$opened_packages")
  if [ -n "$missing" ]; then
    if ! command -v apt-get > /dev/null; then
      echo "missing:$missing (names of Debian and Ubuntu packages)"
      exit 1
    fi
    if ! can_install; then
      echo "sudo apt-get update && sudo apt-get install -y --no-install-recommends$missing$opened"
      exit 1
    fi
    echo "installing$missing" >&2
    if ! apt_install $missing; then
      tail -n 20 "$build/packages.log" >&2
      echo "the packages could not be installed (all of the output: $build/packages.log)" >&2
      exit 1
    fi
  fi
  [ -n "$opened" ] || return 0
  can_install && apt_install $opened || echo "not installed, and done without:$opened" >&2
}

# Configures and builds the targets given; the output goes to build.log, and is shown only when something fails.
build_targets() {
  local log="$build/build.log" started=$SECONDS generator=()
  mkdir -p "$build"
  [ -f "$build/CMakeCache.txt" ] || generator=(-G Ninja)
  # Both commands configure alike, so that going from one to the other builds nothing again.
  if ! cmake -S . -B "$build" "${generator[@]}" -DSINTER_TESTS=ON -DSINTER_SAMPLES=ON -DSINTER_BENCH=ON \
         -DSINTER_DEVELOPER="$developer" > "$log" 2>&1; then
    cat "$log" >&2
    echo "configuring failed (output above, and in $log)" >&2
    exit 1
  fi
  sed -n 's/^-- sinter: /sinter: /p' "$log" >&2
  [ $# -gt 0 ] || return 0
  echo "building in $build ($jobs jobs; output in $log)" >&2
  if ! cmake --build "$build" --parallel "$jobs" --target "$@" >> "$log" 2>&1; then
    grep -E -A 12 'error|FAILED' "$log" | head -n 100 >&2 || tail -n 40 "$log" >&2
    echo "the build failed (all of the output: $log)" >&2
    exit 1
  fi
  echo "built in $((SECONDS - started)) s" >&2
}

cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }  # the value of a CMake variable

default_jobs() { nproc 2> /dev/null || getconf _NPROCESSORS_ONLN; }

# Takes the value of option $1 from $2, the rest of the command line's next word.
need_value() {
  if [ -z "${2-}" ]; then echo "$1 needs a value" >&2; exit 2; fi
}
