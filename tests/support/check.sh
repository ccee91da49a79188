# For the scripts of checks: tests/fail/check and tests/package/check BUILD [JOBS] [FILTER]. A line for each check,
# "PASS name", "FAIL name" or "SKIP name: reason"; what a failing one printed follows, indented.
export LC_ALL=C
[ $# -ge 1 ] || { echo "usage: $0 BUILD [JOBS] [FILTER]" >&2; exit 2; }
build=$(cd "$1" && pwd) jobs=${2:-1} filter=${3-}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/support/setup.sh

cxx=$(cached CMAKE_CXX_COMPILER)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Compiles as a user would; an extra `-` reads the source from the standard input.
compile() { "$cxx" -std=c++20 -I "$build/include" "$@"; }

check() {  # name, command...
  local name=$1 output
  shift
  [[ $name == *"$filter"* ]] || return 0
  if output=$("$@" 2>&1); then
    echo "PASS $name"
  else
    printf 'FAIL %s\n%s\n' "$name" "$(head -n 40 <<< "$output" | sed 's/^/  /')"
    touch "$scratch/failed"
  fi
}

skip() {  # name, reason
  [[ $1 == *"$filter"* ]] || return 0
  echo "SKIP $1: $2"
}

# Like check, beside others; finish_checks waits for them.
check_beside() {
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || true; done
  check "$@" &
}

finish_checks() {
  wait
  [ ! -e "$scratch/failed" ]
}
