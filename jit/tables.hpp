// Scatters that each block of a GPU does in its own shared memory first (jit/tables.cpp).
#pragma once

#include <cstdint>

namespace sinter::jit {

/// Whether adding so many values to so many places takes less time that way, if the places fit.
bool pays_tables(std::int64_t values, std::int64_t places);

}  // namespace sinter::jit
