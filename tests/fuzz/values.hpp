// What the fuzzer's reference works with: arrays whose elements know how wrong they may be, and the dtype rules of
// README.md written out once more. Nothing here calls the library's own rules.
#pragma once

#include "tests/support/host_array.hpp"

#include <cstdint>
#include <vector>

namespace sinter_test::fuzz {

/// Thrown where no single result is right (an order that isn't fixed, a rounding that isn't promised): the statement is
/// left out.
struct unpredictable {};

/// An element whose number is certain, but not the sign of a zero, has this error: one may not divide by it.
inline constexpr double zero_of_either_sign = 1e-300;

/// Thrown where the library must throw: any of these kinds of errors.
struct refused {
  static constexpr unsigned shape = 1, type = 2, index = 4;
  unsigned kinds;
};

/// An element, and how far from it a result may be.
struct cell {
  value v;
  double error = 0;
};

/// A variable's value. `errors` is empty when every executor must give these very numbers; else one bound an element.
/// Only exact ones may be compared, truncated or used as indices.
struct variable {
  host_array h;
  std::vector<double> errors;

  variable() = default;
  variable(host_array values) : h(std::move(values)) {}
  /// Zeros. Throws unpredictable for more than anything needs.
  variable(sinter::dtype type, const sinter::shape& extents);

  bool exact() const { return errors.empty(); }
  std::int64_t size() const { return h.size(); }
  cell get(std::int64_t k) const { return {h.get(k), exact() ? 0 : errors[static_cast<std::size_t>(k)]}; }
  void set(std::int64_t k, const cell& c) {
    h.set(k, c.v);
    if (c.error > 0) soften();
    if (!exact()) errors[static_cast<std::size_t>(k)] = c.error;
  }
  /// No longer exact: equal numbers may differ in the sign of zero.
  void soften() { errors.resize(static_cast<std::size_t>(size()), 0.0); }
};

/// A C++ number in an expression: `boolean`, `i64` or `f64`.
struct number {
  sinter::dtype type = sinter::i64;
  double x = 0;
};

/// bool < integer < real < complex.
int level(sinter::dtype t);
/// What a write may not go down in: bool < unsigned < signed < real < complex.
int rank_of_kind(sinter::dtype t);
/// The common dtype of two arrays. Throws refused.
sinter::dtype promote(sinter::dtype a, sinter::dtype b);
/// The dtype of an array and a number together; throws refused when an integer is out of its range.
sinter::dtype adopt(sinter::dtype array, const number& n);
/// Throws refused unless an integer number is in the range of `to`.
void check_range(const number& n, sinter::dtype to);
sinter::dtype real_of(sinter::dtype t);     ///< c64: f32, c128: f64, others themselves
sinter::dtype complex_of(sinter::dtype t);  ///< f64: c128, others c64

/// The common shape, NumPy's rule. Throws refused.
sinter::shape broadcast(const sinter::shape& a, const sinter::shape& b);
/// Which element of an array of shape `from` stands at `k` of shape `to`.
std::int64_t broadcast_position(const sinter::shape& from, const sinter::shape& to, std::int64_t k);
/// x repeated to exactly `to`. Throws refused.
variable broadcast_to(const variable& x, const sinter::shape& to);

/// The bits of a float format's significand, and what one rounding may add to a number of that size, relatively.
int digits_of(sinter::dtype t);
double epsilon_of(sinter::dtype t);
long double largest_of(sinter::dtype t);
/// The most that two roundings of numbers that near may differ: a unit of the last place, subnormal numbers' included.
double step_at(long double x, sinter::dtype t);
/// To the nearest number of a real dtype, ties to even.
long double rounded(long double x, sinter::dtype t);
/// An integer modulo 2^bits of its dtype.
__extension__ using wide = __int128;
value wrapped(wide x, sinter::dtype t);

/// One element converted. Throws unpredictable for complex numbers to reals.
value cast(const value& v, sinter::dtype from, sinter::dtype to);
variable cast(const variable& x, sinter::dtype to);

}  // namespace sinter_test::fuzz
