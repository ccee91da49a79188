#include "dsl/ops.hpp"

#include "dsl/record_internal.hpp"

namespace sinter {

using jit::op;

namespace {

/// The operand as an array; numbers in their own dtype.
array to_array(const operand& x) {
  if (x.node()) return wrap(jit::node_ref::share(x.node()));
  return array(x.number(), x.at());
}

}  // namespace

#define SINTER_BINARY_OPERATOR(symbol, name, code)                                                  \
  array operator symbol(const operand& a, const operand& b) { return record_last(op::code, a, b); } \
  array name(const operand& a, const operand& b) { return record_last(op::code, a, b); }
SINTER_BINARY_OPERATOR(+, add, add)
SINTER_BINARY_OPERATOR(-, subtract, subtract)
SINTER_BINARY_OPERATOR(*, multiply, multiply)
SINTER_BINARY_OPERATOR(%, fmod, modulo)
SINTER_BINARY_OPERATOR(&, bitwise_and, bit_and)
SINTER_BINARY_OPERATOR(|, bitwise_or, bit_or)
SINTER_BINARY_OPERATOR(^, bitwise_xor, bit_xor)
SINTER_BINARY_OPERATOR(<<, bitwise_left_shift, shift_left)
SINTER_BINARY_OPERATOR(>>, bitwise_right_shift, shift_right)
SINTER_BINARY_OPERATOR(&&, logical_and, logical_and)
SINTER_BINARY_OPERATOR(||, logical_or, logical_or)
SINTER_BINARY_OPERATOR(==, equal, equal)
SINTER_BINARY_OPERATOR(!=, not_equal, not_equal)
SINTER_BINARY_OPERATOR(<, less, less)
SINTER_BINARY_OPERATOR(<=, less_equal, less_equal)
SINTER_BINARY_OPERATOR(>, greater, greater)
SINTER_BINARY_OPERATOR(>=, greater_equal, greater_equal)
#undef SINTER_BINARY_OPERATOR

#define SINTER_BINARY(name, code) \
  array name(const operand& a, const operand& b) { return record_last(op::code, a, b); }
SINTER_BINARY(operator/, divide)
SINTER_BINARY(logical_xor, logical_xor)
SINTER_BINARY(floor_divide, floor_divide)
SINTER_BINARY(remainder, remainder)
SINTER_BINARY(pow, power)
SINTER_BINARY(minimum, minimum)
SINTER_BINARY(maximum, maximum)
SINTER_BINARY(fmin, fmin)
SINTER_BINARY(fmax, fmax)
SINTER_BINARY(atan2, atan2)
SINTER_BINARY(hypot, hypot)
SINTER_BINARY(copysign, copysign)
SINTER_BINARY(nextafter, nextafter)
SINTER_BINARY(logaddexp, logaddexp)
SINTER_BINARY(make_complex, make_complex)
#undef SINTER_BINARY

array operator+(const operand& a) { return to_array(a); }
array operator-(const operand& a) { return record(op::negative, a); }
array operator~(const operand& a) { return record(op::bit_not, a); }
array operator!(const operand& a) { return record(op::logical_not, a); }

array divide(const operand& a, const operand& b) {
  const jit::input in[] = {input_of(a), input_of(b)};
  if (!is_integer_or_bool(jit::common_type(in, "divide", a.at()))) return record(op::divide, in[0], in[1], a.at());
  // Each side by itself: u64 and i64 have no common integer dtype, but their quotient is a real number all the same.
  return record(op::divide, convert(to_array(a), f64, a.at()), convert(to_array(b), f64, a.at()), a.at());
}

array true_divide(const operand& a, const operand& b) { return divide(a, b); }

std::pair<array, array> divmod(const operand& a, const operand& b) {
  return {record(op::floor_divide, a, b), record(op::remainder, a, b)};
}

array clip(const operand& x, const operand& low, const operand& high) {
  const array above = record(op::maximum, x, low);
  return record(op::minimum, input_of(above, x.at()), input_of(high), x.at());
}

array lerp(const operand& a, const operand& b, const operand& t) {
  const array way = record(op::subtract, b, a);
  const array part = record(op::multiply, input_of(way, a.at()), input_of(t), a.at());
  return record(op::add, input_of(a), input_of(part, a.at()), a.at());
}

array where(const operand& condition, const operand& a, const operand& b) {
  const jit::input in[] = {input_of(condition), input_of(a), input_of(b)};
  return wrap(jit::record(op::select, in, condition.at()));
}

}  // namespace sinter
