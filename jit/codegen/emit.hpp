// Kernel IR to source text, in either dialect.
#pragma once

#include "jit/codegen/dialect.hpp"
#include "jit/ir.hpp"

#include <string>

namespace sinter::jit {

/// A name that says what the kernel does, with the first digits of its identity: "sinter_subtract_multiply_1f09ab2c".
std::string kernel_name(const kernel& k, std::uint64_t identity);

/// Source of the kernel as one translation unit. `lanes`: elements of the inner dim a cuda thread takes at once.
std::string emit(const kernel& k, const std::string& name, dialect d, int lanes);

}  // namespace sinter::jit
