#include "dsl/math.hpp"

#include "dsl/record_internal.hpp"

#include <limits>
#include <numbers>

namespace sinter {

using jit::op;

#define SINTER_UNARY(name, code) \
  array name(const array& x, place at) { return record(op::code, x, at); }
SINTER_UNARY(negative, negative)
SINTER_UNARY(square, square)
SINTER_UNARY(sign, sign)
SINTER_UNARY(conj, conj)
SINTER_UNARY(abs, absolute)
SINTER_UNARY(floor, floor)
SINTER_UNARY(ceil, ceil)
SINTER_UNARY(trunc, trunc)
SINTER_UNARY(round, round)
SINTER_UNARY(reciprocal, reciprocal)
SINTER_UNARY(sqrt, sqrt)
SINTER_UNARY(rsqrt, rsqrt)
SINTER_UNARY(exp, exp)
SINTER_UNARY(log, log)
SINTER_UNARY(log2, log2)
SINTER_UNARY(log10, log10)
SINTER_UNARY(sin, sin)
SINTER_UNARY(cos, cos)
SINTER_UNARY(tan, tan)
SINTER_UNARY(asin, asin)
SINTER_UNARY(acos, acos)
SINTER_UNARY(atan, atan)
SINTER_UNARY(sinh, sinh)
SINTER_UNARY(cosh, cosh)
SINTER_UNARY(tanh, tanh)
SINTER_UNARY(asinh, asinh)
SINTER_UNARY(acosh, acosh)
SINTER_UNARY(atanh, atanh)
SINTER_UNARY(cbrt, cbrt)
SINTER_UNARY(exp2, exp2)
SINTER_UNARY(expm1, expm1)
SINTER_UNARY(log1p, log1p)
SINTER_UNARY(erf, erf)
SINTER_UNARY(erfc, erfc)
SINTER_UNARY(lgamma, lgamma)
SINTER_UNARY(tgamma, tgamma)
SINTER_UNARY(real, real_part)
SINTER_UNARY(imag, imag_part)
SINTER_UNARY(angle, arg)
SINTER_UNARY(isnan, isnan)
SINTER_UNARY(isinf, isinf)
SINTER_UNARY(isfinite, isfinite)
SINTER_UNARY(signbit, signbit)
SINTER_UNARY(logical_not, logical_not)
SINTER_UNARY(bitwise_invert, bit_not)
#undef SINTER_UNARY

namespace {

/// x times a constant of reals; the constant adopts x's dtype.
array scale(const array& x, double factor, std::string_view operation, const place& at) {
  if (is_complex(x.type())) throw_type_error(std::string(operation) + ": not defined for " + to_string(x.type()), at);
  return record(op::multiply, as_inexact(x, at), factor, at);
}

double largest(dtype type) {
  switch (type) {
    case dtype::f16:
      return 65504.0;
    case dtype::bf16:
      return 0x1.fep127;
    case dtype::f32:
    case dtype::c64:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

array select(const array& condition, double number, const array& otherwise, const place& at) {
  const jit::input in[] = {input_of(condition, at), input_of(scalar(number), at), input_of(otherwise, at)};
  return wrap(jit::record(op::select, in, at));
}

}  // namespace

array positive(const array& x, place) { return x; }

array sigmoid(const array& x, place at) {
  // Half precision rounds once, not after each step: exp(-x) alone would leave its range for x below -11.
  if (x.type() == f16 || x.type() == bf16) return sigmoid(x.astype(f32, at), at).astype(x.type(), at);
  const array e = record(op::exp, record(op::negative, as_inexact(x, at), at), at);
  return record(op::reciprocal, record(op::add, e, 1, at), at);
}

array deg2rad(const array& x, place at) { return scale(x, std::numbers::pi / 180, "deg2rad", at); }
array rad2deg(const array& x, place at) { return scale(x, 180 / std::numbers::pi, "rad2deg", at); }

array nan_to_num(const array& x, double nan, place at) {
  return nan_to_num(x, nan, largest(x.type()), -largest(x.type()), at);
}

array nan_to_num(const array& x, double nan, double positive_infinity, double negative_infinity, place at) {
  if (is_complex(x.type()))
    return record(op::make_complex, nan_to_num(real(x, at), nan, positive_infinity, negative_infinity, at),
                  nan_to_num(imag(x, at), nan, positive_infinity, negative_infinity, at), at);
  if (!is_real(x.type())) return x;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  array y = select(record(op::isnan, x, at), nan, x, at);
  y = select(record(op::equal, x, infinity, at), positive_infinity, y, at);
  return select(record(op::equal, x, -infinity, at), negative_infinity, y, at);
}

}  // namespace sinter
