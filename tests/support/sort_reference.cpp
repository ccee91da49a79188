#include "tests/support/sort_reference.hpp"

#include "tests/support/lcg.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sinter_test {

namespace {

bool is_less(long double a, long double b) {
  if (std::isnan(a)) return false;
  return std::isnan(b) || a < b;
}

long double special_number(sinter::dtype type, std::uint64_t which) {
  constexpr long double infinity = std::numeric_limits<long double>::infinity();
  constexpr long double nan = std::numeric_limits<long double>::quiet_NaN();
  const long double tiny = type == sinter::f16 ? 0x1p-24L : type == sinter::f64 ? 0x1p-1074L : 0x1p-133L;
  const long double numbers[] = {nan, -nan, infinity, -infinity, 0.0L, -0.0L, tiny, -tiny};
  return numbers[which];
}

long double number(sinter::dtype type, lcg& g) {
  if (type == sinter::boolean) return static_cast<long double>(g.below(2));
  if (sinter::is_real(type)) {
    if (g.below(8) == 0) return special_number(type, g.below(8));
    const auto mantissa = static_cast<long double>(g.below(255)) - 127;
    return std::ldexp(mantissa, static_cast<int>(g.below(16)) - 10);
  }
  const int bits = static_cast<int>(8 * sinter::size_of(type));
  const bool is_signed = sinter::kind_of(type) == sinter::kind::signed_integer;
  const long double low = is_signed ? -std::ldexp(1.0L, bits - 1) : 0.0L;
  const long double high = std::ldexp(1.0L, is_signed ? bits - 1 : bits) - 1;
  if (const std::uint64_t end = g.below(16); end < 2) return end == 0 ? low : high;
  const long double share = static_cast<long double>(g.below(300)) / 300;
  return g.below(2) == 0 ? std::floor(low + (high - low) * share) : static_cast<long double>(g.below(100));
}

}  // namespace

std::vector<std::int64_t> order_of(const std::vector<long double>& row, bool descending) {
  const std::size_t n = row.size();
  std::vector<std::int64_t> from(n), to(n);
  for (std::size_t k = 0; k < n; ++k) from[k] = static_cast<std::int64_t>(k);
  const auto comes_before = [&](std::int64_t i, std::int64_t j) {
    const long double a = row[static_cast<std::size_t>(i)], b = row[static_cast<std::size_t>(j)];
    return descending ? is_less(b, a) : is_less(a, b);
  };
  for (std::size_t width = 1; width < n; width *= 2) {
    for (std::size_t begin = 0; begin < n; begin += 2 * width) {
      const std::size_t middle = std::min(begin + width, n), end = std::min(begin + 2 * width, n);
      std::size_t left = begin, right = middle;
      for (std::size_t k = begin; k < end; ++k) {
        const bool take_right = left == middle || (right < end && comes_before(from[right], from[left]));
        to[k] = take_right ? from[right++] : from[left++];
      }
    }
    from.swap(to);
  }
  return from;
}

sorted_reference sorted_along(const host_array& x, int axis, bool descending, std::int64_t kept) {
  const std::int64_t n = x.extents[axis], most = kept < 0 ? n : kept;
  sinter::shape extents = x.extents;
  extents[axis] = most;
  sorted_reference out{host_array(x.type, extents), host_array(sinter::i64, extents)};
  std::int64_t outer = 1, inner = 1;
  for (int k = 0; k < axis; ++k) outer *= x.extents[k];
  for (int k = axis + 1; k < x.extents.rank(); ++k) inner *= x.extents[k];
  std::vector<long double> row(static_cast<std::size_t>(n));
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i) {
      for (std::int64_t k = 0; k < n; ++k) row[static_cast<std::size_t>(k)] = x.get((o * n + k) * inner + i).re;
      const std::vector<std::int64_t> order = order_of(row, descending);
      for (std::int64_t k = 0; k < most; ++k) {
        const std::int64_t from = order[static_cast<std::size_t>(k)];
        out.values.set((o * most + k) * inner + i, {row[static_cast<std::size_t>(from)], 0});
        out.positions.set((o * most + k) * inner + i, {static_cast<long double>(from), 0});
      }
    }
  return out;
}

host_array numbers_to_sort(sinter::dtype type, const sinter::shape& extents, std::uint32_t seed) {
  host_array out(type, extents);
  lcg g(seed);
  for (std::int64_t k = 0; k < out.size(); ++k) out.set(k, {number(type, g), 0});
  return out;
}

}  // namespace sinter_test
