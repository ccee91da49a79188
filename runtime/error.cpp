// Message layout and the out-of-line throwers.
#include "runtime/error.hpp"

#include <fmt/format.h>

namespace sinter {

std::string error_text(std::string_view what, const place& at, std::string_view hint) {
  std::string text(what);
  if (at.file[0] != '\0') {
    text += fmt::format("\n  at {}:{}", at.file, at.line);
    if (at.function[0] != '\0') text += fmt::format(" in {}()", at.function);
  }
  if (!hint.empty()) text += fmt::format("\n  hint: {}", hint);
  return text;
}

void throw_shape_error(std::string_view what, const place& at, std::string_view hint) {
  throw shape_error(error_text(what, at, hint));
}

void throw_type_error(std::string_view what, const place& at, std::string_view hint) {
  throw type_error(error_text(what, at, hint));
}

void throw_index_error(std::string_view what, const place& at, std::string_view hint) {
  throw index_error(error_text(what, at, hint));
}

void throw_io_error(std::string_view what, const place& at, std::string_view hint) {
  throw io_error(error_text(what, at, hint));
}

void throw_internal_error(std::string_view what, const place& at) {
  throw internal_error(error_text(what, at, "this is a fault of sinter itself; please report it"));
}

}  // namespace sinter
