// NumPy's .npy files (format versions 1 to 3).
#pragma once

#include "array.hpp"

#include <string>

namespace sinter {

/// The array of a file, on the default device. Either byte order, C or Fortran order. Throws io_error when the file
/// can't be read, is malformed or truncated, or holds objects, strings or records.
array load_npy(const std::string& path, place at = place::here());
/// Writes a file that NumPy reads; it appears whole or not at all. Evaluates and waits. Throws io_error when it can't
/// be written, type_error for bf16, which NumPy doesn't know.
void save_npy(const std::string& path, const array& x, place at = place::here());

}  // namespace sinter
