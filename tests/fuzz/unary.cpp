#include "tests/fuzz/operations.hpp"

#include <cmath>

namespace sinter_test::fuzz {

using namespace sinter;

namespace {

struct unary_types {
  dtype computed, result;
};

unary_types types_of(unary op, dtype t) {
  const auto refuse_unless = [](bool fine) {
    if (!fine) throw refused{refused::type};
  };
  switch (op) {
    case unary::negative: refuse_unless(t != boolean); return {t, t};
    case unary::sign: refuse_unless(t != boolean && !is_complex(t)); return {t, t};
    case unary::floor:
    case unary::ceil:
    case unary::trunc:
    case unary::round: refuse_unless(!is_complex(t)); return {t, t};
    case unary::bitwise_invert: refuse_unless(is_integer_or_bool(t)); return {t, t};
    case unary::signbit: refuse_unless(!is_complex(t)); return {t, boolean};
    case unary::isnan:
    case unary::isinf:
    case unary::isfinite: return {t, boolean};
    case unary::logical_not: return {boolean, boolean};
    case unary::abs:
    case unary::real:
    case unary::imag: return {t, real_of(t)};
    case unary::positive:
    case unary::square:
    case unary::conj: return {t, t};
    case unary::cbrt:
    case unary::expm1:
    case unary::log1p:
    case unary::erf: refuse_unless(!is_complex(t)); break;
    default:
      if (is_complex(t)) throw unpredictable{};
  }
  const dtype computed = is_integer_or_bool(t) ? f64 : t;
  return {computed, computed};
}

/// A function whose last bits are the math library's own: within eight units of the last place.
cell approximately(long double result, long double x, dtype t) {
  if (!std::isfinite(x) || !std::isfinite(result)) {
    if (std::isfinite(x) && std::isinf(result) && x != 0) throw unpredictable{};  // overflow, or near it
    return {{result, 0}, 0};
  }
  if (std::abs(x) > 1e4L || std::abs(result) > largest_of(t) / 4) throw unpredictable{};
  return {{rounded(result, t), 0},
          static_cast<double>(std::abs(result)) * 8 * epsilon_of(t) + (t == f16 ? 1e-7 : 1e-37)};
}

/// How far op(x) may be from op of a number within c.error of x, of operations that have a slope everywhere there.
double spread_of(unary op, const cell& c) {
  const double x = static_cast<double>(c.v.re), e = c.error;
  const auto positive = [](double low) {
    if (!(low > 0)) throw unpredictable{};
    return low;
  };
  switch (op) {
    case unary::exp:
    case unary::expm1: return std::exp(x) * std::expm1(e);
    case unary::log: return std::log(x / positive(x - e));
    case unary::log1p: return std::log((1 + x) / positive(1 + x - e));
    case unary::sqrt: return e / std::sqrt(positive(x - e));
    case unary::reciprocal: return e / (std::abs(x) * positive(std::abs(x) - e));
    default: return 1.2 * e;  // erf is the steepest: 2 / sqrt(pi)
  }
}

/// The operation of a number that may be off, given what it is of the number itself.
cell with_spread(unary op, const cell& of_itself, const cell& c, dtype t) {
  if (c.error == 0 || !std::isfinite(c.v.re) || !std::isfinite(of_itself.v.re)) return of_itself;
  const double spread = spread_of(op, c) * (1 + 0x1p-20);
  return {of_itself.v, of_itself.error + spread + 2 * step_at(std::abs(of_itself.v.re) + spread, t)};
}

template <class T>
cell real_unary(unary op, const cell& c, dtype t) {
  const T x = static_cast<T>(c.v.re);
  const long double l = c.v.re;
  switch (op) {
    case unary::negative: return {{-x, 0}, c.error};
    case unary::square:
      return {{rounded(x * x, t), 0},
              c.error == 0 ? 0
                           : c.error * (2 * std::abs(static_cast<double>(x)) + c.error) +
                                 static_cast<double>(x * x) * epsilon_of(t)};
    case unary::sign: return {{std::isnan(x) ? x : x > 0 ? T{1} : x < 0 ? T{-1} : T{0}, 0}};
    case unary::abs: return {{std::abs(x), 0}, c.error};
    case unary::floor: return {{std::floor(x), 0}};
    case unary::ceil: return {{std::ceil(x), 0}};
    case unary::trunc: return {{std::trunc(x), 0}};
    case unary::round: return {{std::nearbyint(x), 0}};
    case unary::reciprocal: return {{rounded(T{1} / x, t), 0}};
    case unary::sqrt: return {{rounded(std::sqrt(x), t), 0}};
    case unary::exp: return approximately(std::exp(l), l, t);
    case unary::log: return approximately(std::log(l), l, t);
    case unary::sin: return approximately(std::sin(l), l, t);
    case unary::cos: return approximately(std::cos(l), l, t);
    case unary::atan: return approximately(std::atan(l), l, t);
    case unary::tanh: return approximately(std::tanh(l), l, t);
    case unary::cbrt: return approximately(std::cbrt(l), l, t);
    case unary::expm1: return approximately(std::expm1(l), l, t);
    case unary::log1p: return approximately(std::log1p(l), l, t);
    case unary::erf: return approximately(std::erf(l), l, t);
    case unary::isnan: return {{std::isnan(x) ? 1.0L : 0.0L, 0}};
    case unary::isinf: return {{std::isinf(x) ? 1.0L : 0.0L, 0}};
    case unary::isfinite: return {{std::isfinite(x) ? 1.0L : 0.0L, 0}};
    case unary::signbit:
      if (std::isnan(x)) throw unpredictable{};
      return {{std::signbit(x) ? 1.0L : 0.0L, 0}};
    case unary::imag: return {{0, 0}};
    default: return c;
  }
}

cell integer_unary(unary op, const value& v, dtype t) {
  const wide x = static_cast<wide>(v.re);
  switch (op) {
    case unary::negative: return {wrapped(-x, t)};
    case unary::square:
      return {wrapped(static_cast<wide>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(x)), t)};
    case unary::sign: return {{x > 0 ? 1.0L : x < 0 ? -1.0L : 0.0L, 0}};
    case unary::abs: return {wrapped(x < 0 ? -x : x, t)};
    case unary::bitwise_invert: return {t == boolean ? wrapped(x == 0, t) : wrapped(-x - 1, t)};
    case unary::logical_not: return {{x == 0 ? 1.0L : 0.0L, 0}};
    case unary::signbit: return {{x < 0 ? 1.0L : 0.0L, 0}};
    case unary::isfinite: return {{1, 0}};
    case unary::imag:
    case unary::isnan:
    case unary::isinf: return {{0, 0}};
    default: return {v};
  }
}

cell complex_unary(unary op, const cell& c, dtype t) {
  const value& z = c.v;
  switch (op) {
    case unary::negative: return {{-z.re, -z.im}, c.error};
    case unary::conj: return {{z.re, -z.im}, c.error};
    case unary::real: return {{z.re, 0}, c.error};
    case unary::imag: return {{z.im, 0}, c.error};
    case unary::positive: return c;
    case unary::isnan: return {{std::isnan(z.re) || std::isnan(z.im) ? 1.0L : 0.0L, 0}};
    case unary::isinf: return {{std::isinf(z.re) || std::isinf(z.im) ? 1.0L : 0.0L, 0}};
    case unary::isfinite: return {{std::isfinite(z.re) && std::isfinite(z.im) ? 1.0L : 0.0L, 0}};
    case unary::square: {
      bool soft = false;
      return combine(binary::multiply, c, c, {t, t, t}, soft);
    }
    case unary::abs:
      if (!std::isfinite(z.re) || !std::isfinite(z.im)) throw unpredictable{};
      return approximately(std::hypot(z.re, z.im), std::abs(z.re) + std::abs(z.im), real_of(t));
    default: throw unpredictable{};
  }
}

/// Operations of reals that spread_of knows.
bool has_slope(unary op) {
  switch (op) {
    case unary::reciprocal:
    case unary::sqrt:
    case unary::exp:
    case unary::log:
    case unary::sin:
    case unary::cos:
    case unary::atan:
    case unary::tanh:
    case unary::expm1:
    case unary::log1p:
    case unary::erf: return true;
    default: return false;
  }
}

bool is_continuous(unary op) {
  return op <= unary::square || op == unary::conj || op == unary::abs || op == unary::real || op == unary::imag ||
         has_slope(op);
}

template <class T>
cell sloped_unary(unary op, const cell& c, dtype t) {
  const cell of_itself = real_unary<T>(op, c, t);
  return has_slope(op) ? with_spread(op, of_itself, c, t) : of_itself;
}

}  // namespace

variable apply(unary op, const variable& x) {
  const unary_types types = types_of(op, x.h.type);
  if (!x.exact() && (!is_continuous(op) || (op == unary::abs && is_complex(types.computed)))) throw unpredictable{};
  const variable from = cast(x, types.computed);
  variable out(types.result, x.h.extents);
  if (!x.exact()) out.soften();
  for (std::int64_t k = 0; k < out.size(); ++k) {
    const cell c = from.get(k);
    if (is_integer_or_bool(types.computed)) out.set(k, integer_unary(op, c.v, types.computed));
    else if (is_complex(types.computed)) out.set(k, complex_unary(op, c, types.computed));
    else if (types.computed == f64) out.set(k, sloped_unary<double>(op, c, f64));
    else out.set(k, sloped_unary<float>(op, c, types.computed));
    if (!std::isfinite(out.h.get(k).re) && !x.exact() && std::isfinite(c.v.re)) throw unpredictable{};
  }
  if (op == unary::square && is_complex(x.h.type)) out.soften();
  return out;
}

}  // namespace sinter_test::fuzz
