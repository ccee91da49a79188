# Embeds text files in a C++ source: each NAME.cuh becomes `const std::string_view NAME` in sinter::jit::device.
# The text stays byte for byte what the file holds, so what a kernel includes can be read, and compiled, as a file.
function(sinter_embed output)
  set(text "#include <string_view>\n\nnamespace sinter::jit::device {\n")
  foreach(file IN LISTS ARGN)
    # Editing an embedded file configures again, which writes `output` again.
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    get_filename_component(name "${file}" NAME_WE)
    file(READ "${file}" rest)
    set(literals "")
    # Compilers limit the length of one literal; adjacent ones join.
    string(LENGTH "${rest}" length)
    while(length GREATER 15000)
      string(SUBSTRING "${rest}" 0 15000 head)
      string(SUBSTRING "${rest}" 15000 -1 rest)
      string(APPEND literals "R\"sinter(${head})sinter\"\n    ")
      string(LENGTH "${rest}" length)
    endwhile()
    string(APPEND literals "R\"sinter(${rest})sinter\"")
    string(APPEND text "\nextern const std::string_view ${name};\nconstinit const std::string_view ${name} =\n    ${literals};\n")
  endforeach()
  string(APPEND text "\n}  // namespace sinter::jit::device\n")
  # CONFIGURE rather than WRITE: it leaves an unchanged file alone, so nothing is compiled again.
  file(CONFIGURE OUTPUT "${output}" CONTENT "@text@" @ONLY)
endfunction()
