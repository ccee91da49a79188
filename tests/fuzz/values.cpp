#include "tests/fuzz/values.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sinter_test::fuzz {

using namespace sinter;

namespace {

constexpr std::int64_t most_computed = 500000;

const shape& checked_size(const shape& extents) {
  if (extents.size() > most_computed) throw unpredictable{};
  return extents;
}

}  // namespace

variable::variable(dtype type, const shape& extents) : h(type, checked_size(extents)) {}

int level(dtype t) {
  if (t == boolean) return 0;
  return is_integer(t) ? 1 : is_real(t) ? 2 : 3;
}

int rank_of_kind(dtype t) { return 2 * level(t) - (kind_of(t) == kind::unsigned_integer ? 1 : 0); }

dtype real_of(dtype t) { return t == c64 ? f32 : t == c128 ? f64 : t; }
dtype complex_of(dtype t) { return real_of(t) == f64 ? c128 : c64; }

dtype promote(dtype a, dtype b) {
  if (level(a) > level(b)) std::swap(a, b);
  if (a == b || level(a) == 0) return b;
  if (level(a) == 1 && level(b) >= 2) return b;
  if (level(b) == 3) return real_of(a) == f64 || real_of(b) == f64 ? c128 : c64;
  if (level(b) == 2) {
    if (size_of(a) == 2 && size_of(b) == 2) return f32;
    return size_of(a) < size_of(b) ? b : a;
  }
  if (kind_of(a) == kind_of(b)) return size_of(a) < size_of(b) ? b : a;
  const dtype of_sign = kind_of(a) == kind::signed_integer ? a : b, without = of_sign == a ? b : a;
  constexpr dtype by_width[] = {i8, i16, i32, i64};
  for (dtype t : by_width)
    if (size_of(t) >= size_of(of_sign) && size_of(t) > size_of(without)) return t;
  throw refused{refused::type};
}

namespace {

long double least_of(dtype t) {
  return kind_of(t) == kind::signed_integer ? -std::ldexp(1.0L, static_cast<int>(8 * size_of(t)) - 1) : 0.0L;
}
long double most_of(dtype t) {
  const int bits = static_cast<int>(8 * size_of(t)) - (kind_of(t) == kind::signed_integer ? 1 : 0);
  return std::ldexp(1.0L, bits) - 1;
}

}  // namespace

void check_range(const number& n, dtype to) {
  if (n.type == i64 && is_integer(to) && (n.x < least_of(to) || n.x > most_of(to))) throw refused{refused::type};
}

dtype adopt(dtype array, const number& n) {
  const dtype type = level(n.type) <= level(array) ? array : n.type;
  check_range(n, type);
  return type;
}

shape broadcast(const shape& a, const shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  shape out;
  for (int k = 0; k < rank; ++k) {
    const int p = k - rank + a.rank(), q = k - rank + b.rank();
    const std::int64_t n = p < 0 ? 1 : a[p], m = q < 0 ? 1 : b[q];
    if (n != m && n != 1 && m != 1) throw refused{refused::shape};
    out.append(n == 1 ? m : n);
  }
  return out;
}

std::int64_t broadcast_position(const shape& from, const shape& to, std::int64_t k) {
  std::int64_t flat = 0, stride = 1;
  for (int back = 1; back <= from.rank(); ++back) {
    const std::int64_t n = from[from.rank() - back], m = to[to.rank() - back];
    flat += n == 1 ? 0 : k % m * stride;
    stride *= n;
    k /= m;
  }
  return flat;
}

variable broadcast_to(const variable& x, const shape& to) {
  if (broadcast(x.h.extents, to) != to) throw refused{refused::shape};
  variable out(x.h.type, to);
  if (!x.exact()) out.soften();
  for (std::int64_t k = 0; k < out.size(); ++k) out.set(k, x.get(broadcast_position(x.h.extents, to, k)));
  return out;
}

int digits_of(dtype t) {
  switch (real_of(t)) {
    case f16: return 11;
    case bf16: return 8;
    case f32: return 24;
    default: return 53;
  }
}

double epsilon_of(dtype t) { return std::ldexp(1.0, 1 - digits_of(t)); }

long double largest_of(dtype t) {
  switch (real_of(t)) {
    case f16: return 65504.0L;
    case bf16: return 0x1.fep127L;
    case f32: return std::numeric_limits<float>::max();
    default: return std::numeric_limits<double>::max();
  }
}

double step_at(long double x, dtype t) {
  const double least = real_of(t) == f16    ? 0x1p-24
                       : real_of(t) == bf16 ? 0x1p-133
                       : real_of(t) == f32  ? 0x1p-149
                                            : 0x1p-1074;
  return std::max(static_cast<double>(std::abs(x)) * epsilon_of(t), least);
}

long double rounded(long double x, dtype t) {
  if (t == f32) return static_cast<float>(x);
  if (t == f64) return static_cast<double>(x);
  if (x == 0 || !std::isfinite(x)) return x;
  const int least = t == f16 ? -24 : -133;
  const int unit = std::max(std::ilogb(x) - digits_of(t) + 1, least);
  const long double nearest = std::ldexp(std::nearbyint(std::ldexp(x, -unit)), unit);
  return std::abs(nearest) > largest_of(t) ? std::copysign(std::numeric_limits<long double>::infinity(), x) : nearest;
}

value wrapped(wide x, dtype t) {
  if (t == boolean) return {x != 0 ? 1.0L : 0.0L, 0};
  const int bits = static_cast<int>(8 * size_of(t));
  const wide modulus = wide{1} << bits;
  wide low = x % modulus;
  if (low < 0) low += modulus;
  if (kind_of(t) == kind::signed_integer && low >= modulus / 2) low -= modulus;
  return {static_cast<long double>(low), 0};
}

value cast(const value& v, dtype from, dtype to) {
  if (from == to) return v;
  if (to == boolean) return {v.re != 0 || v.im != 0 ? 1.0L : 0.0L, 0};
  if (is_complex(to)) return {rounded(v.re, real_of(to)), rounded(v.im, real_of(to))};
  if (is_complex(from)) throw unpredictable{};
  if (is_real(to)) return {rounded(v.re, to), 0};
  if (!is_real(from)) return wrapped(static_cast<wide>(v.re), to);
  if (std::isnan(v.re)) return {0, 0};
  return {std::clamp(std::trunc(v.re), least_of(to), most_of(to)) + 0.0L, 0};
}

variable cast(const variable& x, dtype to) {
  if (x.h.type == to) return x;
  if (!x.exact() && level(to) < 2) throw unpredictable{};
  variable out(to, x.h.extents);
  if (!x.exact()) out.soften();
  for (std::int64_t k = 0; k < out.size(); ++k) {
    cell c = x.get(k);
    const value before = c.v;
    c.v = cast(before, x.h.type, to);
    if (!x.exact()) {
      if (std::isfinite(before.re) && !std::isfinite(c.v.re)) throw unpredictable{};
      if (std::isfinite(c.v.re))
        c.error += static_cast<double>(std::abs(c.v.re) + std::abs(c.v.im)) * epsilon_of(to) + 1e-40;
      if (real_of(to) == f16 && c.error > 0) c.error += 1e-7;  // the last bit of a subnormal number
    }
    out.set(k, c);
  }
  return out;
}

}  // namespace sinter_test::fuzz
