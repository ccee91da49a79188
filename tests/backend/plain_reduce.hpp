// References for reductions and scans: the elements that belong together, gathered by plain loops; numbers whose sums
// and products are exact.
#pragma once

#include "tests/backend/corners.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace sinter_test {

inline constexpr sinter::dtype every_type[] = {sinter::boolean, sinter::i8,  sinter::i16, sinter::i32, sinter::i64,
                                               sinter::u8,      sinter::u16, sinter::u32, sinter::u64, sinter::f16,
                                               sinter::bf16,    sinter::f32, sinter::f64, sinter::c64, sinter::c128};

inline bool is_nan(const value& v) { return std::isnan(v.re) || std::isnan(v.im); }
inline bool is_true(const value& v) { return v.re != 0 || v.im != 0; }

inline sinter::dtype inexact_type(sinter::dtype t) { return sinter::is_integer_or_bool(t) ? sinter::f64 : t; }
inline sinter::dtype real_type(sinter::dtype t) {
  return t == sinter::c64 ? sinter::f32 : t == sinter::c128 ? sinter::f64 : inexact_type(t);
}
inline sinter::dtype wide_type(sinter::dtype t) {
  if (sinter::is_inexact(t)) return t;
  return sinter::kind_of(t) == sinter::kind::unsigned_integer ? sinter::u64 : sinter::i64;
}

/// Rounded once to a dtype of any kind.
inline value rounded_value(const value& v, sinter::dtype type) {
  if (sinter::is_integer_or_bool(type)) return v;
  const sinter::dtype part = real_type(type);
  return {rounded(v.re, part), rounded(v.im, part)};
}

/// Quarters (halves for complex numbers) of small whole numbers, many of them equal: sums of hundreds are exact in f16.
inline host_array small_numbers(sinter::dtype type, const sinter::shape& extents, std::uint32_t seed) {
  host_array out(type, extents);
  lcg g(seed);
  const auto whole = [&](std::uint64_t below) {
    const auto n = static_cast<long double>(g.below(below));
    return sinter::kind_of(type) == sinter::kind::unsigned_integer
               ? n
               : n - std::floor(static_cast<long double>(below) / 2);
  };
  for (std::int64_t k = 0; k < out.size(); ++k) {
    if (type == sinter::boolean) out.set(k, {static_cast<long double>(g.below(2)), 0});
    else if (sinter::is_complex(type)) out.set(k, {whole(7) / 2, whole(7) / 2});
    else out.set(k, {sinter::is_real(type) ? whole(41) / 4 : whole(41), 0});
  }
  return out;
}

/// 1, -1, 2, 1/2, or what there is of them: products stay exact.
inline host_array small_factors(sinter::dtype type, const sinter::shape& extents, std::uint32_t seed) {
  host_array out(type, extents);
  lcg g(seed);
  for (std::int64_t k = 0; k < out.size(); ++k) {
    static constexpr long double factors[] = {1, 2, -1, 0.5L};
    std::uint64_t choices = 4;
    if (type == sinter::boolean) choices = 1;
    else if (sinter::kind_of(type) == sinter::kind::unsigned_integer) choices = 2;
    else if (sinter::is_integer(type)) choices = 3;
    const long double x = factors[g.below(choices)];
    const bool turned = sinter::is_complex(type) && g.below(2) == 1;
    out.set(k, turned ? value{0, x} : value{x, 0});
  }
  return out;
}

/// About one in `spacing` elements true.
inline host_array random_mask(const sinter::shape& extents, std::uint64_t spacing, std::uint32_t seed) {
  host_array out(sinter::boolean, extents);
  lcg g(seed);
  for (std::int64_t k = 0; k < out.size(); ++k) out.set(k, {g.below(spacing) == 0 ? 1.0L : 0.0L, 0});
  return out;
}

/// What some axes of a shape are reduced to: the shape, and for each element of it the positions it is made of.
struct groups {
  sinter::shape extents, kept;
  std::vector<std::vector<std::int64_t>> members;
};

inline groups groups_of(const sinter::shape& from, std::uint32_t bits) {
  groups out;
  for (int k = 0; k < from.rank(); ++k) {
    const bool gone = (bits >> k & 1u) != 0;
    if (!gone) out.extents.append(from[k]);
    out.kept.append(gone ? 1 : from[k]);
  }
  out.members.resize(static_cast<std::size_t>(out.extents.size()));
  for (std::int64_t k = 0; k < from.size(); ++k) {
    std::int64_t rest = k, place = 0, stride = 1;
    for (int axis = from.rank() - 1; axis >= 0; --axis) {
      const std::int64_t at = rest % from[axis];
      rest /= from[axis];
      if (bits >> axis & 1u) continue;
      place += at * stride;
      stride *= from[axis];
    }
    out.members[static_cast<std::size_t>(place)].push_back(k);
  }
  return out;
}

/// f(elements) for each group, as an array of `type`.
template <class F>
host_array reduced_by(const host_array& x, std::uint32_t bits, sinter::dtype type, F&& f) {
  const groups g = groups_of(x.extents, bits);
  host_array out(type, g.extents);
  for (std::size_t k = 0; k < g.members.size(); ++k) {
    std::vector<value> elements;
    for (std::int64_t n : g.members[k]) elements.push_back(x.get(n));
    out.set(static_cast<std::int64_t>(k), f(elements));
  }
  return out;
}

/// f(elements up to and including this one) for each element along `axis`.
template <class F>
host_array scanned_by(const host_array& x, int axis, sinter::dtype type, F&& f) {
  const groups g = groups_of(x.extents, std::uint32_t{1} << axis);
  host_array out(type, x.extents);
  for (const std::vector<std::int64_t>& line : g.members) {
    std::vector<value> elements;
    for (std::int64_t n : line) {
      elements.push_back(x.get(n));
      out.set(n, f(elements));
    }
  }
  return out;
}

// ---- What the elements of a group give; exact, but for the rounding of long double. ----

inline value total(const std::vector<value>& x) {
  value s;
  for (const value& v : x) s = {s.re + v.re, s.im + v.im};
  return s;
}
inline value product(const std::vector<value>& x) {
  value p{1, 0};
  for (const value& v : x) p = {p.re * v.re - p.im * v.im, p.re * v.im + p.im * v.re};
  return p;
}
/// Where the least (sign 1) or greatest (sign -1) element is: the first of equals, the first NaN.
inline std::size_t place_of_extreme(const std::vector<value>& x, int sign) {
  std::size_t best = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (std::isnan(x[k].re)) return k;
    if (sign * x[k].re < sign * x[best].re) best = k;
  }
  return best;
}
inline value least(const std::vector<value>& x) { return x[place_of_extreme(x, 1)]; }
inline value greatest(const std::vector<value>& x) { return x[place_of_extreme(x, -1)]; }
inline value average_of(const std::vector<value>& x) {
  const value s = total(x);
  const auto n = static_cast<long double>(x.size());
  return {s.re / n, s.im / n};
}
/// The mean of |x - mean|^2, with n - ddof instead of n.
inline value variance_of(const std::vector<value>& x, int ddof = 0) {
  const value m = average_of(x);
  long double s = 0;
  for (const value& v : x) s += (v.re - m.re) * (v.re - m.re) + (v.im - m.im) * (v.im - m.im);
  return {s / std::max(static_cast<long double>(x.size()) - ddof, 0.0L), 0};
}

// ---- Shapes and axes made at random ----

/// How many rounds of a test there are: compilers take far longer for a kernel than the interpreter does.
inline std::uint32_t rounds(std::uint32_t interpreted) { return executor == "interpreter" ? interpreted : 2; }

/// A shape of rank 0 to 4; now and then an axis is long, or empty.
inline sinter::shape random_shape(lcg& g) {
  sinter::shape out;
  const auto rank = static_cast<int>(g.below(5));
  for (int k = 0; k < rank; ++k) {
    const std::uint64_t pick = g.below(20);
    if (pick == 0) out.append(0);
    else if (pick == 1 && out.size() < 10) out.append(static_cast<std::int64_t>(100 + g.below(200)));
    else out.append(static_cast<std::int64_t>(1 + g.below(6)));
  }
  return out;
}

/// The axes of a set, in some order, some of them counted from the end.
inline sinter::axes listed_axes(std::uint32_t bits, int rank, lcg& g) {
  std::vector<int> list;
  for (int k = 0; k < rank; ++k)
    if (bits >> k & 1u) list.push_back(g.below(2) == 0 ? k : k - rank);
  for (std::size_t k = list.size(); k > 1; --k) std::swap(list[k - 1], list[g.below(k)]);
  return sinter::axes(std::span<const int>(list));
}

/// Whether reducing these axes would reduce nothing to something.
inline bool leaves_nothing(const sinter::shape& extents, std::uint32_t bits) {
  const groups g = groups_of(extents, bits);
  return extents.size() == 0 && g.extents.size() > 0;
}

/// Empty when every element of `got` is within `ulps` steps of `want`, a long double not yet rounded.
template <class F>
std::string beyond_ulps(const sinter::array& got, const host_array& x, std::uint32_t bits, std::uint64_t ulps, F&& f) {
  const host_array found = from_device(got);
  const groups g = groups_of(x.extents, bits);
  if (found.extents != g.extents) return "shape " + to_string(found.extents) + ", not " + to_string(g.extents);
  const sinter::dtype part = real_type(found.type);
  for (std::size_t k = 0; k < g.members.size(); ++k) {
    std::vector<value> elements;
    for (std::int64_t n : g.members[k]) elements.push_back(x.get(n));
    const value want = f(elements), have = found.get(static_cast<std::int64_t>(k));
    const bool same_imaginary = !sinter::is_complex(found.type) || distance_in_ulps(have.im, want.im, part) <= ulps;
    if (distance_in_ulps(have.re, want.re, part) > ulps || !same_imaginary)
      return "element " + std::to_string(k) + ": " + to_text(have, found.type) + ", not " + to_text(want, found.type);
  }
  return {};
}

}  // namespace sinter_test
