// The elementwise operations that programs are made of, and what each must give.
#pragma once

#include "tests/fuzz/values.hpp"

namespace sinter_test::fuzz {

// Named like the library's functions; `quotient` is the operator /.
// clang-format off
#define SINTER_FUZZ_UNARY(X)                                                                       \
  X(positive) X(negative) X(square) X(sign) X(conj) X(abs) X(floor) X(ceil) X(trunc) X(round)      \
  X(reciprocal) X(sqrt) X(exp) X(log) X(sin) X(cos) X(atan) X(tanh) X(cbrt) X(expm1) X(log1p)      \
  X(erf) X(real) X(imag) X(isnan) X(isinf) X(isfinite) X(signbit) X(logical_not) X(bitwise_invert)
#define SINTER_FUZZ_BINARY(X)                                                                       \
  X(add) X(subtract) X(multiply) X(quotient) X(fmod) X(bitwise_and) X(bitwise_or) X(bitwise_xor)    \
  X(bitwise_left_shift) X(bitwise_right_shift) X(logical_and) X(logical_or) X(logical_xor) X(equal) \
  X(not_equal) X(less) X(less_equal) X(greater) X(greater_equal) X(divide) X(floor_divide)          \
  X(remainder) X(minimum) X(maximum) X(fmin) X(fmax) X(copysign) X(nextafter) X(hypot) X(atan2)     \
  X(make_complex) X(pow)
// clang-format on

enum class unary : std::uint8_t {
#define X(name) name,
  SINTER_FUZZ_UNARY(X)
#undef X
};
enum class binary : std::uint8_t {
#define X(name) name,
  SINTER_FUZZ_BINARY(X)
#undef X
};
inline constexpr const char* unary_names[] = {
#define X(name) #name,
    SINTER_FUZZ_UNARY(X)
#undef X
};
inline constexpr const char* binary_names[] = {
#define X(name) #name,
    SINTER_FUZZ_BINARY(X)
#undef X
};
inline constexpr int unary_count = static_cast<int>(std::size(unary_names));
inline constexpr int binary_count = static_cast<int>(std::size(binary_names));

/// An operand: a variable, or a C++ number when there is none.
struct term {
  const variable* x = nullptr;
  number n = {};
};

// All throw refused or unpredictable.
variable apply(unary op, const variable& x);
variable apply(binary op, const term& a, const term& b);
variable where(const variable& condition, const term& a, const term& b);

/// The dtypes a binary operation computes in and gives.
struct binary_types {
  sinter::dtype a, b, result;
};
binary_types types_of(binary op, const term& a, const term& b);
/// One element, both operands in the dtypes that types_of says. `soft` becomes true when the sign of a zero is open.
cell combine(binary op, const cell& a, const cell& b, const binary_types& types, bool& soft);

}  // namespace sinter_test::fuzz
