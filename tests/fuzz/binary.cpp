#include "tests/fuzz/operations.hpp"

#include <algorithm>
#include <cmath>

namespace sinter_test::fuzz {

using namespace sinter;

namespace {

dtype own_type(const term& t) { return t.x ? t.x->h.type : t.n.type; }

dtype common_type(const term& a, const term& b) {
  if (a.x && b.x) return promote(a.x->h.type, b.x->h.type);
  return a.x ? adopt(a.x->h.type, b.n) : adopt(b.x->h.type, a.n);
}

void refuse_if(bool bad) {
  if (bad) throw refused{refused::type};
}

bool between(binary op, binary first, binary last) { return first <= op && op <= last; }

value truth(bool b) { return {b ? 1.0L : 0.0L, 0}; }

wide floor_of(wide a, wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

wide power(wide base, wide exponent, dtype t) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  if (exponent > 64) throw unpredictable{};
  wide result = 1;
  for (; exponent > 0; --exponent) result = static_cast<wide>(wrapped(result * base, t).re);
  return result;
}

/// The product modulo 2^64, which may not fit `wide`.
wide product(wide a, wide b) {
  const auto low = static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b);
  return static_cast<wide>(low);
}

wide shifted_left(wide a, wide count, dtype t) {
  if (count < 0 || count >= 8 * size_of(t)) return 0;
  return product(a, static_cast<wide>(std::uint64_t{1} << static_cast<int>(count)));
}

wide shifted_right(wide a, wide count, dtype t) {
  if (count < 0 || count >= 8 * size_of(t)) return a < 0 ? -1 : 0;
  return floor_of(a, wide{1} << static_cast<int>(count));
}

/// Integers and booleans; results may still have to wrap.
wide integer_binary(binary op, wide a, wide b, dtype t) {
  const bool is_bool = t == boolean;
  switch (op) {
    case binary::add: return is_bool ? (a | b) : a + b;
    case binary::subtract: return a - b;
    case binary::multiply: return product(a, b);
    case binary::quotient: return b == 0 ? 0 : a / b;
    case binary::fmod: return b == 0 ? 0 : a % b;
    case binary::floor_divide: return b == 0 ? 0 : floor_of(a, b);
    case binary::remainder: return b == 0 ? 0 : a - floor_of(a, b) * b;
    case binary::bitwise_and: return a & b;
    case binary::bitwise_or: return a | b;
    case binary::bitwise_xor: return a ^ b;
    case binary::bitwise_left_shift: return shifted_left(a, b, t);
    case binary::bitwise_right_shift: return shifted_right(a, b, t);
    case binary::logical_and: return a != 0 && b != 0;
    case binary::logical_or: return a != 0 || b != 0;
    case binary::logical_xor: return (a != 0) != (b != 0);
    case binary::equal: return a == b;
    case binary::not_equal: return a != b;
    case binary::less: return a < b;
    case binary::less_equal: return a <= b;
    case binary::greater: return a > b;
    case binary::greater_equal: return a >= b;
    case binary::minimum:
    case binary::fmin: return std::min(a, b);
    case binary::maximum:
    case binary::fmax: return std::max(a, b);
    case binary::pow: return power(a, b, t);
    default: throw unpredictable{};
  }
}

/// The quotient of two reals rounded down, or what is left of it.
template <class T>
long double divided_down(binary op, T a, T b, dtype t, bool& soft) {
  soft = true;  // the sign of a zero isn't told
  if (!std::isfinite(a) || !std::isfinite(b) || b == 0) throw unpredictable{};
  const T rest = std::fmod(a, b);
  const bool other_side = rest != 0 && (rest < 0) != (b < 0);
  if (op == binary::remainder) return rounded(other_side ? rest + b : rest, t);
  const long double whole = (static_cast<long double>(a) - rest) / b - (other_side ? 1 : 0);
  if (std::abs(whole) > std::ldexp(1.0L, digits_of(t) - 2)) throw unpredictable{};
  return whole;
}

/// min and max of two reals; which zero of two is open.
template <class T>
long double chosen(binary op, T a, T b, bool& soft) {
  const bool nan_wins = op == binary::minimum || op == binary::maximum;
  if (std::isnan(a)) return nan_wins ? a : b;
  if (std::isnan(b)) return nan_wins ? b : a;
  if (a == 0 && b == 0 && std::signbit(a) != std::signbit(b)) soft = true;
  const bool smaller = op == binary::minimum || op == binary::fmin;
  return smaller == (a < b) ? a : b;
}

long double within(long double result, dtype t) {
  if (std::isfinite(result) && std::abs(result) > largest_of(t) / 4) throw unpredictable{};
  return rounded(result, t);
}

template <class T>
long double exact_real(binary op, T a, T b, dtype t, bool& soft) {
  switch (op) {
    case binary::add: return rounded(a + b, t);
    case binary::subtract: return rounded(a - b, t);
    case binary::multiply: return rounded(a * b, t);
    case binary::quotient:
    case binary::divide: return rounded(a / b, t);
    case binary::fmod: return rounded(std::fmod(a, b), t);
    case binary::floor_divide:
    case binary::remainder: return divided_down(op, a, b, t, soft);
    case binary::minimum:
    case binary::maximum:
    case binary::fmin:
    case binary::fmax: return chosen(op, a, b, soft);
    case binary::equal: return a == b;
    case binary::not_equal: return a != b;
    case binary::less: return a < b;
    case binary::less_equal: return a <= b;
    case binary::greater: return a > b;
    case binary::greater_equal: return a >= b;
    case binary::copysign:
      if (std::isnan(b) || std::isnan(a)) throw unpredictable{};
      return std::copysign(a, b);
    case binary::nextafter:
      if (size_of(t) == 2) throw unpredictable{};
      return std::nextafter(a, b);
    default: throw unpredictable{};
  }
}

cell real_binary(binary op, const cell& a, const cell& b, dtype t, bool& soft) {
  const double x = static_cast<double>(a.v.re), y = static_cast<double>(b.v.re);
  if (op == binary::hypot || op == binary::atan2) {
    if (!std::isfinite(x) || !std::isfinite(y)) throw unpredictable{};
    const long double r = op == binary::hypot ? std::hypot(a.v.re, b.v.re) : std::atan2(a.v.re, b.v.re);
    return {{within(r, t), 0}, static_cast<double>(std::abs(r)) * 8 * epsilon_of(t) + (t == f16 ? 1e-7 : 1e-37)};
  }
  cell out;
  out.v.re = t == f64 ? exact_real<double>(op, x, y, t, soft)
                      : exact_real<float>(op, static_cast<float>(x), static_cast<float>(y), t, soft);
  if (a.error == 0 && b.error == 0) return out;
  if (std::isfinite(x) && std::isfinite(y) && !std::isfinite(out.v.re)) throw unpredictable{};
  if (!std::isfinite(out.v.re)) return out;
  const double magnitude = static_cast<double>(std::abs(out.v.re)) * epsilon_of(t) + (t == f16 ? 1e-7 : 1e-37);
  double spread = a.error + b.error;
  if (op == binary::multiply) spread = std::abs(x) * b.error + std::abs(y) * a.error + a.error * b.error;
  if (op == binary::quotient || op == binary::divide) {
    if (!(std::abs(y) > b.error)) throw unpredictable{};
    spread = (std::abs(x / y) * b.error + a.error) / (std::abs(y) - b.error);
  }
  out.error = spread * (1 + 0x1p-20) + magnitude;
  return out;
}

cell complex_binary(binary op, const cell& a, const cell& b, dtype t, bool& soft) {
  const value &x = a.v, &y = b.v;
  const dtype part = real_of(t);
  if (op == binary::equal || op == binary::not_equal)
    return {truth((x.re == y.re && x.im == y.im) == (op == binary::equal)), 0};
  for (long double n : {x.re, x.im, y.re, y.im})
    if (!std::isfinite(n) || std::abs(n) > 1e15L) throw unpredictable{};
  value r;
  long double size = 0;  // of what was added up
  bool exact = a.error == 0 && b.error == 0;
  if (op == binary::add || op == binary::subtract) {
    r = op == binary::add ? value{x.re + y.re, x.im + y.im} : value{x.re - y.re, x.im - y.im};
    size = std::abs(r.re) + std::abs(r.im);
  } else if (op == binary::multiply) {
    r = {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
    size = (std::abs(x.re) + std::abs(x.im)) * (std::abs(y.re) + std::abs(y.im));
    for (long double p : {x.re * y.re, x.im * y.im, x.re * y.im, x.im * y.re}) exact &= rounded(p, part) == p;
    soft |= r.re == 0 || r.im == 0;  // the sign of a zero depends on the order
  } else if ((op == binary::quotient || op == binary::divide) && exact) {
    const long double norm = y.re * y.re + y.im * y.im;
    if (norm < 1e-3L) throw unpredictable{};
    r = {(x.re * y.re + x.im * y.im) / norm, (x.im * y.re - x.re * y.im) / norm};
    size = 4 * std::hypot(x.re, x.im) / std::sqrt(norm);
    soft = true;
    exact = false;
  } else {
    throw unpredictable{};
  }
  const value nearest{rounded(r.re, part), rounded(r.im, part)};
  if (exact && nearest.re == r.re && nearest.im == r.im) return {nearest, 0};
  const auto bound = [](const value& v) { return static_cast<double>(std::abs(v.re) + std::abs(v.im)); };
  const double spread =
      op == binary::multiply ? bound(x) * b.error + bound(y) * a.error + a.error * b.error : a.error + b.error;
  return {nearest, 2 * spread + 4 * static_cast<double>(size) * epsilon_of(t)};
}

bool is_continuous(binary op) {
  return op <= binary::quotient || op == binary::divide || between(op, binary::minimum, binary::maximum) ||
         op == binary::make_complex;
}

}  // namespace

binary_types types_of(binary op, const term& a, const term& b) {
  const dtype p = own_type(a), q = own_type(b);
  if (between(op, binary::logical_and, binary::logical_xor)) return {boolean, boolean, boolean};
  if (between(op, binary::bitwise_left_shift, binary::bitwise_right_shift)) refuse_if(!is_integer(p) || !is_integer(q));
  if (op == binary::divide && is_integer_or_bool(p) && is_integer_or_bool(q)) {
    common_type(a, b);
    return {f64, f64, f64};
  }
  // A whole number beside whole numbers of these functions becomes f64 with them: its range doesn't matter.
  const bool is_real_anyway = between(op, binary::copysign, binary::make_complex) && (!a.x || !b.x) &&
                              is_integer_or_bool(p) && is_integer_or_bool(q);
  dtype t = is_real_anyway ? f64 : common_type(a, b);
  if (between(op, binary::bitwise_and, binary::bitwise_xor)) refuse_if(!is_integer_or_bool(t));
  if (between(op, binary::equal, binary::greater_equal)) {
    refuse_if(op >= binary::less && is_complex(t));
    return {t, t, boolean};
  }
  if (op <= binary::fmod || op == binary::divide || op == binary::pow) {
    refuse_if(t == boolean && op != binary::add && op != binary::multiply);
    refuse_if(is_complex(t) && op == binary::fmod);
  }
  if (between(op, binary::floor_divide, binary::remainder)) refuse_if(t == boolean || is_complex(t));
  if (between(op, binary::minimum, binary::fmax)) refuse_if(is_complex(t));
  if (between(op, binary::copysign, binary::make_complex)) {
    refuse_if(is_complex(t));
    if (is_integer_or_bool(t)) t = f64;
    if (op == binary::make_complex) {
      if (size_of(t) == 2) t = f32;
      return {t, t, complex_of(t)};
    }
  }
  if (op == binary::pow && !is_integer(t)) throw unpredictable{};
  return {t, t, t};
}

cell combine(binary op, const cell& a, const cell& b, const binary_types& types, bool& soft) {
  if (op == binary::make_complex) return {{a.v.re, b.v.re}, std::max(a.error, b.error)};
  if (is_integer_or_bool(types.a))
    return {wrapped(integer_binary(op, static_cast<wide>(a.v.re), static_cast<wide>(b.v.re), types.a), types.result)};
  return is_complex(types.a) ? complex_binary(op, a, b, types.a, soft) : real_binary(op, a, b, types.a, soft);
}

namespace {

variable as_variable(const term& t, dtype type) {
  if (t.x) return cast(*t.x, type);
  host_array one(type, {});
  one.set(0, cast({t.n.x, 0}, t.n.type, type));
  return one;
}

shape extents_of(const term& t) { return t.x ? t.x->h.extents : shape{}; }

/// Both, so that either complaint is accepted where both are right.
template <class F>
auto with_shapes(const term& a, const term& b, shape& extents, F types) {
  unsigned bad = 0;
  try {
    extents = broadcast(extents_of(a), extents_of(b));
  } catch (const refused& r) { bad = r.kinds; }
  try {
    const auto found = types();
    if (bad == 0) return found;
  } catch (const refused& r) { bad |= r.kinds; }
  throw refused{bad};
}

}  // namespace

variable apply(binary op, const term& a, const term& b) {
  shape extents;
  const binary_types types = with_shapes(a, b, extents, [&] { return types_of(op, a, b); });
  const variable x = as_variable(a, types.a), y = as_variable(b, types.b);
  const bool exact = x.exact() && y.exact();
  if (!exact && !is_continuous(op)) throw unpredictable{};
  variable out(types.result, extents);
  if (!exact) out.soften();
  bool soft = false;
  for (std::int64_t k = 0; k < out.size(); ++k)
    out.set(k, combine(op, x.get(broadcast_position(x.h.extents, extents, k)),
                       y.get(broadcast_position(y.h.extents, extents, k)), types, soft));
  if (soft && is_inexact(types.result)) out.soften();
  return out;
}

variable where(const variable& condition, const term& a, const term& b) {
  shape extents;
  dtype type = boolean;
  unsigned bad = 0;
  try {
    type = with_shapes(a, b, extents, [&] { return common_type(a, b); });
  } catch (const refused& r) { bad = r.kinds; }
  try {
    extents = broadcast(extents, condition.h.extents);
  } catch (const refused& r) { bad |= r.kinds; }
  if (bad != 0) throw refused{bad};
  if (!condition.exact()) throw unpredictable{};
  const variable c = cast(condition, boolean), x = as_variable(a, type), y = as_variable(b, type);
  variable out(type, extents);
  if (!x.exact() || !y.exact()) out.soften();
  for (std::int64_t k = 0; k < out.size(); ++k) {
    const variable& chosen = c.h.get(broadcast_position(c.h.extents, extents, k)).re != 0 ? x : y;
    out.set(k, chosen.get(broadcast_position(chosen.h.extents, extents, k)));
  }
  return out;
}

}  // namespace sinter_test::fuzz
