// References computed by NumPy, in tests/backend/data/*.npy. Read by a reader of the tests' own, which shares nothing
// with the library's load_npy.
#pragma once

#include "tests/support/host_array.hpp"

#include <string>

namespace sinter_test {

/// The array of data/NAME.npy. Throws std::runtime_error when there is none or it isn't a little-endian C-order file.
host_array reference(const std::string& name);
/// The path of data/FILE.
std::string data_file(const std::string& file);

}  // namespace sinter_test
