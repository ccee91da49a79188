// Kernel IR to source text, in either dialect.
#pragma once

#include "jit/cache/key.hpp"
#include "jit/codegen/dialect.hpp"

#include <string>

namespace sinter::jit {

/// A name that says what the kernel does, with the first digits of its identity: "sinter_subtract_multiply_1f09ab2c".
std::string kernel_name(kernel_list parts, std::uint64_t identity);

/// Source of one launch as one translation unit. Several parts run side by side: on cuda each has blocks of its own,
/// and in front of its parameters three ints: blocks along its rows, blocks across them, and log2 of a block's width
/// (for rows and columns, which have blocks of 256 threads and are not split: blocks, 1, anything); for the host,
/// arguments[0] points at the number of the part to run, its own arguments follow.
std::string emit(kernel_list parts, const std::string& name, dialect d);

}  // namespace sinter::jit
