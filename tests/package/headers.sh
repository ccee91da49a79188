# Public headers: each compiles alone and without warnings, all of them twice into one program, and the umbrella is cheap.

header_budget=25000  # preprocessed lines of <sinter/sinter.hpp>

header_alone() {  # header
  echo "#include <$1>" | compile -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -fsyntax-only -x c++ -
}

within_budget() {
  local lines
  echo '#include <sinter/sinter.hpp>' | compile -E -x c++ - > "$scratch/umbrella.ii" || return 1
  lines=$(grep -vcE '^#|^[[:space:]]*$' "$scratch/umbrella.ii")
  echo "$lines lines, of at most $header_budget"
  [ "$lines" -le "$header_budget" ]
}

# A definition that is not inline shows when two objects meet; a relocatable link needs no library for that.
two_units() {  # headers...
  local unit
  printf '#include <%s>\n' "$@" > "$scratch/all.hpp"
  for unit in one two; do
    { cat "$scratch/all.hpp"; echo "int ${unit}() { return 0; }"; } > "$scratch/$unit.cpp"
    compile -c "$scratch/$unit.cpp" -o "$scratch/$unit.o" || return 1
  done
  "$cxx" -r -nostdlib "$scratch/one.o" "$scratch/two.o" -o "$scratch/both.o"
}

check_headers() {
  local headers header
  mapfile -t headers < <(cd "$build/include" && find sinter -name '*.hpp' | sort)
  for header in "${headers[@]}"; do check_beside "headers.alone.$header" header_alone "$header"; done
  check_beside headers.two_units_link two_units "${headers[@]}"
  check_beside headers.budget within_budget
  wait
}
