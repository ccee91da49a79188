# Dependencies point downward: dsl -> jit -> runtime.

# No line of the files that includes something matching the pattern; says which lines do.
includes_none() {  # pattern, files...
  local pattern=$1
  shift
  [ $# -eq 0 ] || ! grep -nHE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[\"<](\.\./)*$pattern" "$@"
}

check_layers() {
  local everything dsl_headers expensive
  mapfile -t everything < <(find runtime -name '*.[hc]pp')
  check layers.runtime_includes_neither_jit_nor_dsl includes_none '(jit|dsl|sinter|nvrtc)' "${everything[@]}"
  mapfile -t everything < <(find jit -name '*.[hc]pp')
  check layers.jit_includes_no_dsl includes_none '(dsl|sinter)/' "${everything[@]}"
  mapfile -t everything < <(find samples -name '*.[hc]pp')
  check layers.samples_include_what_users_can includes_none '(runtime|jit|dsl)/' "${everything[@]}"

  mapfile -t dsl_headers < <(find dsl -name '*.hpp' ! -name '*_internal.hpp')
  check layers.public_headers_name_no_internals includes_none '(cuda|nvrtc|fmt/|jit/)' "${dsl_headers[@]}"
  # What these standard headers cost, every user would pay.
  expensive='(memory|functional|iostream|sstream|unordered_map|filesystem|chrono|ranges|regex)>'
  check layers.public_headers_include_cheap_ones includes_none "$expensive" "${dsl_headers[@]}" \
    runtime/{types,error,shape,stats}.hpp
  mapfile -t dsl_headers < <(printf '%s\n' "${dsl_headers[@]}" | grep -vx 'dsl/complex.hpp')
  check layers.only_complex_hpp_includes_complex includes_none 'complex>' "${dsl_headers[@]}"

  if git ls-files > "$scratch/files" 2> /dev/null && [ -s "$scratch/files" ]; then
    check layers.top_level_is_tidy top_level_is_tidy
  else
    skip layers.top_level_is_tidy "not a git checkout"
  fi
}

top_level_is_tidy() {
  ! cut -d/ -f1 "$scratch/files" | sort -u | grep -vE '^\.' |
    grep -vxE 'CMakeLists.txt|CMakePresets.json|LICENSE|README.md|CONTRIBUTING.md|dsl|jit|runtime|tests|samples'
}
