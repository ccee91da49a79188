// Sorting, which masks.cpp does. Not installed.
#pragma once

#include "dsl/array.hpp"

namespace sinter {

/// x [n] in ascending order (NaN last; complex numbers by real, then imaginary part), followed by values that nothing
/// comes after, up to a power of two; n > 0. Evaluated: log2(n)^2 / 4 launches.
array sorted(const array& x, const place& at);

}  // namespace sinter
