// The interpreter: runs kernel IR without any compiler. The reference the compiled executors are tested against, and
// what runs where no compiler is installed.
#pragma once

#include "jit/ir.hpp"

#include <cstdint>

namespace sinter::jit {

/// Runs rows [row_begin, row_end) of the domain, elements [begin, end) of each row, blocks of elements at a time.
/// `arguments[k]` points at parameter k's bytes. Kernels with user calls are not accepted (internal_error).
void interpret(const kernel& k, void* const* arguments, std::int64_t row_begin, std::int64_t row_end,
               std::int64_t begin, std::int64_t end);

}  // namespace sinter::jit
