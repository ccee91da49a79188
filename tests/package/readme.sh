# Every ```cpp block of README.md compiles. A block without main() is the inside of a function; a line
# `<!-- given: array x = ones({3}, f32); -->` before it declares what it uses and readers needn't see.

# Writes block_LINE.cpp for each block; #line makes the compiler name README.md's own lines.
extract_blocks() {  # folder
  awk -v folder="$1" '
    function finish(    file, k) {
      file = folder "/block_" start ".cpp"
      print "#include <sinter/sinter.hpp>\n#include <iostream>\n#include <span>\n#include <string>\n#include <vector>" > file
      print includes > file
      if (!has_main) print "using namespace sinter;\nvoid snippet() {\n" given > file
      print "#line " (start + 1) " \"README.md\"\n" body (has_main ? "" : "}") > file
      close(file)
    }
    !inside && /^<!-- given: .*-->/ { given = $0; sub(/^<!-- given: /, "", given); sub(/ *-->.*/, "", given); next }
    !inside && /^ *```cpp/ { inside = 1; start = NR; body = ""; includes = ""; has_main = 0; next }
    inside && /^ *```/ { finish(); inside = 0; given = ""; next }
    !inside { if (NF) given = ""; next }
    /int main *\(/ { has_main = 1 }
    /^ *#include/ { includes = includes $0 "\n" }
    # Includes move in front, out of the function; an empty line each keeps the numbers right.
    { body = body ($0 ~ /^ *#include/ ? "" : $0) "\n" }
  ' README.md
}

check_readme() {
  local block
  if [ ! -f README.md ]; then skip readme "there is no README.md"; return; fi
  mkdir -p "$scratch/readme"
  extract_blocks "$scratch/readme"
  for block in "$scratch"/readme/*.cpp; do
    [ -e "$block" ] || continue
    check_beside "readme.$(basename "$block" .cpp)" compile -fsyntax-only "$block"
  done
  wait
}
