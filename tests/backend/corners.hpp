// Values at which arithmetic goes wrong, for every dtype; and what C++ itself says functions of them are.
#pragma once

#include "tests/backend/expect.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

namespace sinter_test {

inline constexpr sinter::dtype integer_types[] = {sinter::i8, sinter::i16, sinter::i32, sinter::i64,
                                                  sinter::u8, sinter::u16, sinter::u32, sinter::u64};
inline constexpr sinter::dtype real_types[] = {sinter::f16, sinter::bf16, sinter::f32, sinter::f64};

/// Rounded to the nearest number of a real dtype, once, ties to even.
long double rounded(long double x, sinter::dtype type);

/// Zeros, subnormals, units, limits, infinities and NaN of a real dtype.
std::vector<long double> real_corners(sinter::dtype type);
/// 0, small numbers of both signs, powers of two and the limits of an integer dtype.
std::vector<long double> integer_corners(sinter::dtype type);
/// Corners and `count` other numbers of any dtype but the complex ones.
host_array samples(sinter::dtype type, int count);

/// Every pair of a corner with a corner: {first of each pair, second of each pair}.
std::pair<host_array, host_array> corner_pairs(sinter::dtype type);

/// A real function as long double, and how far from it results may be.
struct bound {
  std::uint64_t ulps_f32, ulps_f64;
  /// Below this magnitude of the right answer the error counts as if it had this magnitude: for functions whose zeros
  /// are nowhere near the argument's, where relative accuracy is promised by no library.
  double floor = 0;
  std::uint64_t ulps_16 = 1;  ///< f16 and bf16 are computed in f32 and rounded once
};

/// Empty when got is within the bound of want, a long double not yet rounded.
std::string beyond(const bound& b, long double got, long double want, sinter::dtype type);

}  // namespace sinter_test
