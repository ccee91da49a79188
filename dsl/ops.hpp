// Operators, and the functions of two or three operands. Operators mean what they mean in C++, functions what they mean
// in NumPy. Operands broadcast together; a C++ number adopts the dtype of the array it meets. All of them are lazy:
// they record and launch nothing. Wrong shapes throw shape_error, wrong dtypes type_error, at the line of the
// operation.
#pragma once

#include "array.hpp"

#include <utility>

namespace sinter {

// Arithmetic. Integers wrap; `/` and `%` truncate on integers, as in C++; integers divided by 0 give 0.
array operator+(const operand& a, const operand& b);
array operator-(const operand& a, const operand& b);
array operator*(const operand& a, const operand& b);
array operator/(const operand& a, const operand& b);
array operator%(const operand& a, const operand& b);
array operator+(const operand& a);
array operator-(const operand& a);

// Bits of integers and booleans. Shifts past the width give 0, or the sign.
array operator&(const operand& a, const operand& b);
array operator|(const operand& a, const operand& b);
array operator^(const operand& a, const operand& b);
array operator<<(const operand& a, const operand& b);
array operator>>(const operand& a, const operand& b);
array operator~(const operand& a);

// Truth, element by element: boolean results. Both sides are always computed.
array operator&&(const operand& a, const operand& b);
array operator||(const operand& a, const operand& b);
array operator!(const operand& a);
array operator==(const operand& a, const operand& b);
array operator!=(const operand& a, const operand& b);
array operator<(const operand& a, const operand& b);
array operator<=(const operand& a, const operand& b);
array operator>(const operand& a, const operand& b);
array operator>=(const operand& a, const operand& b);

// The operators by name.
array add(const operand& a, const operand& b);
array subtract(const operand& a, const operand& b);
array multiply(const operand& a, const operand& b);
array bitwise_and(const operand& a, const operand& b);
array bitwise_or(const operand& a, const operand& b);
array bitwise_xor(const operand& a, const operand& b);
array bitwise_left_shift(const operand& a, const operand& b);
array bitwise_right_shift(const operand& a, const operand& b);
array logical_and(const operand& a, const operand& b);
array logical_or(const operand& a, const operand& b);
array logical_xor(const operand& a, const operand& b);
array equal(const operand& a, const operand& b);
array not_equal(const operand& a, const operand& b);
array less(const operand& a, const operand& b);
array less_equal(const operand& a, const operand& b);
array greater(const operand& a, const operand& b);
array greater_equal(const operand& a, const operand& b);

/// The quotient as a real number: integers and booleans become f64. Both names mean the same.
array divide(const operand& a, const operand& b);
array true_divide(const operand& a, const operand& b);
/// The quotient rounded down, and what is left: `remainder` has the sign of the divisor. Integers stay integers.
array floor_divide(const operand& a, const operand& b);
array remainder(const operand& a, const operand& b);
/// {floor_divide(a, b), remainder(a, b)}.
std::pair<array, array> divmod(const operand& a, const operand& b);
/// What is left of the quotient rounded to zero: the sign of the dividend; the `%` operator by name.
array fmod(const operand& a, const operand& b);
/// `a` to the power of `b`, in their common dtype.
array pow(const operand& a, const operand& b);

/// The smaller, the larger. NaN wins in minimum and maximum, loses in fmin and fmax.
array minimum(const operand& a, const operand& b);
array maximum(const operand& a, const operand& b);
array fmin(const operand& a, const operand& b);
array fmax(const operand& a, const operand& b);
/// `x` limited to [low, high]: minimum(maximum(x, low), high). Both limits broadcast with x.
array clip(const operand& x, const operand& low, const operand& high);

// Reals; integers become f64.
array atan2(const operand& y, const operand& x);      ///< the angle of (x, y), in radians
array hypot(const operand& a, const operand& b);      ///< sqrt(a * a + b * b) without overflow
array copysign(const operand& a, const operand& b);   ///< the magnitude of a with the sign of b
array nextafter(const operand& a, const operand& b);  ///< the next number after a towards b
array logaddexp(const operand& a, const operand& b);  ///< log(exp(a) + exp(b)) without overflow

/// a + (b - a) * t.
array lerp(const operand& a, const operand& b, const operand& t);

/// The complex number a + i b, from two reals: f32 pairs give c64, others c128.
array make_complex(const operand& re, const operand& im);

/// `a` where `condition` isn't zero, else `b`: broadcast together, in the common dtype of a and b.
array where(const operand& condition, const operand& a, const operand& b);

}  // namespace sinter
