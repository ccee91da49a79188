// Functions of one array, element by element, by their NumPy names. All are lazy: they record and launch nothing.
// They take arrays, not numbers, so that `sqrt(2.0)` stays the standard library's under `using namespace sinter`.
#pragma once

#include "array.hpp"

namespace sinter {

// The result has the dtype of x.
array positive(const array& x, place at = place::here());
array negative(const array& x, place at = place::here());  ///< integers wrap
array square(const array& x, place at = place::here());
array sign(const array& x, place at = place::here());  ///< -1, 0 or 1; NaN stays NaN
array conj(const array& x, place at = place::here());
/// The magnitude; that of complex numbers is real (c64: f32, c128: f64).
array abs(const array& x, place at = place::here());

// To whole numbers; integers and booleans pass through.
array floor(const array& x, place at = place::here());
array ceil(const array& x, place at = place::here());
array trunc(const array& x, place at = place::here());
array round(const array& x, place at = place::here());  ///< ties to even

// Real and complex floats; integers and booleans become f64.
array reciprocal(const array& x, place at = place::here());
array sqrt(const array& x, place at = place::here());
array rsqrt(const array& x, place at = place::here());  ///< 1 / sqrt(x)
array exp(const array& x, place at = place::here());
array log(const array& x, place at = place::here());
array log2(const array& x, place at = place::here());
array log10(const array& x, place at = place::here());
array sin(const array& x, place at = place::here());
array cos(const array& x, place at = place::here());
array tan(const array& x, place at = place::here());
array asin(const array& x, place at = place::here());
array acos(const array& x, place at = place::here());
array atan(const array& x, place at = place::here());
array sinh(const array& x, place at = place::here());
array cosh(const array& x, place at = place::here());
array tanh(const array& x, place at = place::here());
array asinh(const array& x, place at = place::here());
array acosh(const array& x, place at = place::here());
array atanh(const array& x, place at = place::here());
array sigmoid(const array& x, place at = place::here());  ///< 1 / (1 + exp(-x))

// Real floats only (type_error for complex); integers and booleans become f64.
array cbrt(const array& x, place at = place::here());
array exp2(const array& x, place at = place::here());
array expm1(const array& x, place at = place::here());
array log1p(const array& x, place at = place::here());
array erf(const array& x, place at = place::here());
array erfc(const array& x, place at = place::here());
array lgamma(const array& x, place at = place::here());
array tgamma(const array& x, place at = place::here());
array deg2rad(const array& x, place at = place::here());
array rad2deg(const array& x, place at = place::here());

// Parts of complex numbers: c64 gives f32, c128 gives f64.
array real(const array& x, place at = place::here());
array imag(const array& x, place at = place::here());   ///< 0 for reals
array angle(const array& x, place at = place::here());  ///< in radians, from -pi to pi

// Tests: boolean results.
array isnan(const array& x, place at = place::here());
array isinf(const array& x, place at = place::here());
array isfinite(const array& x, place at = place::here());
array signbit(const array& x, place at = place::here());
array logical_not(const array& x, place at = place::here());

/// Every bit flipped; booleans are negated. type_error for floats.
array bitwise_invert(const array& x, place at = place::here());

/// NaN replaced by `nan`, infinities by the largest finite numbers of the dtype. Integers pass through.
array nan_to_num(const array& x, double nan = 0.0, place at = place::here());
/// NaN replaced by `nan`, infinities by `positive_infinity` and `negative_infinity`.
array nan_to_num(const array& x, double nan, double positive_infinity, double negative_infinity,
                 place at = place::here());

}  // namespace sinter
