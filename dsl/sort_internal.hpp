// Sorting, as other files of dsl/ use it. Not installed.
#pragma once

#include "dsl/array.hpp"

namespace sinter {

/// Whether a comes before b where they differ: NaN is last and equals NaN, complex numbers go by real, then imaginary
/// part, and are NaN when one part is.
array precedes(const array& a, const array& b, const place& at);

/// x [n] in ascending order (NaN last); n > 0. Real dtypes.
array sorted(const array& x, const place& at);

/// How many of the ascending numbers [n] come before each of x, or (`with_equal`) don't come after it: i64. Both have
/// one dtype.
array places_among(const array& ascending, const array& x, bool with_equal, const place& at);

}  // namespace sinter
