#include "tests/backend/corners.hpp"

#include <algorithm>

namespace sinter_test {

using namespace sinter;

namespace {

struct format {
  int digits, least_exponent;  // the last subnormal bit weighs 2^least_exponent
  long double largest, unit;   // unit: the step above 1
};

format format_of(dtype type) {
  switch (type) {
    case f16:
      return {11, -24, 65504.0L, 0x1p-10L};
    case bf16:
      return {8, -133, 0x1.fep127L, 0x1p-7L};
    case f32:
      return {24, -149, std::numeric_limits<float>::max(), 0x1p-23L};
    default:
      return {53, -1074, std::numeric_limits<double>::max(), 0x1p-52L};
  }
}

}  // namespace

long double rounded(long double x, dtype type) {
  if (type == f32) return static_cast<float>(x);
  if (type == f64) return static_cast<double>(x);
  if (x == 0 || std::isnan(x) || std::isinf(x)) return x;
  const format f = format_of(type);
  const int quantum = std::max(std::ilogb(x) - f.digits + 1, f.least_exponent);
  const long double nearest = std::ldexp(std::nearbyint(std::ldexp(x, -quantum)), quantum);
  if (std::abs(nearest) > f.largest) return std::copysign(std::numeric_limits<long double>::infinity(), x);
  return std::copysign(nearest, x);
}

std::vector<long double> real_corners(dtype type) {
  const format f = format_of(type);
  const long double least = std::ldexp(1.0L, f.least_exponent), normal = std::ldexp(least, f.digits - 1);
  const long double infinite = std::numeric_limits<long double>::infinity();
  const long double positive[] = {0, least, normal - least, normal, 0.25L, 0.5L,      1 - f.unit / 2,
                                  1, 1.5L,  1 + f.unit,     2,      3,     f.largest, infinite};
  std::vector<long double> out;
  for (long double x : positive) {
    out.push_back(x);
    out.push_back(-x);
  }
  out.push_back(std::numeric_limits<long double>::quiet_NaN());
  return out;
}

std::vector<long double> integer_corners(dtype type) {
  return with_element(type, [](auto t) -> std::vector<long double> {
    using T = typename decltype(t)::type;
    if constexpr (std::is_same_v<T, bool>) {
      return {0, 1};
    } else if constexpr (std::is_integral_v<T>) {
      using limits = std::numeric_limits<T>;
      std::vector<long double> out{0,
                                   1,
                                   2,
                                   3,
                                   7,
                                   100,
                                   static_cast<long double>(limits::max()),
                                   static_cast<long double>(limits::max() - 1),
                                   static_cast<long double>(limits::max() / 2 + 1)};
      if (std::is_signed_v<T>) {
        out.insert(out.end(), {-1, -2, -3, -7, -100, static_cast<long double>(limits::min()),
                               static_cast<long double>(limits::min() + 1)});
      }
      return out;
    } else {
      return {};
    }
  });
}

host_array samples(dtype type, int count) {
  std::vector<long double> values = is_real(type) ? real_corners(type) : integer_corners(type);
  lcg numbers(static_cast<std::uint32_t>(type) + 7);
  for (int k = 0; k < count; ++k) {
    const long double unit = static_cast<long double>(numbers.next()) / 0x1p32L;
    if (!is_real(type)) values.push_back(type == boolean ? std::floor(2 * unit) : std::floor(100 * unit));
    else if (k % 2 == 0) values.push_back(rounded(40 * unit - 20, type));
    else values.push_back(rounded((k % 4 == 1 ? 1 : -1) * std::exp2(30 * unit - 15), type));
  }
  host_array out(type, {static_cast<std::int64_t>(values.size())});
  for (std::size_t k = 0; k < values.size(); ++k) out.set(static_cast<std::int64_t>(k), {values[k], 0});
  return out;
}

std::pair<host_array, host_array> corner_pairs(dtype type) {
  const host_array one = samples(type, 4);
  host_array first(type, {one.size() * one.size()}), second = first;
  for (std::int64_t k = 0; k < first.size(); ++k) {
    first.set(k, one.get(k / one.size()));
    second.set(k, one.get(k % one.size()));
  }
  return {first, second};
}

std::string beyond(const bound& b, long double got, long double want, dtype type) {
  const format f = format_of(type);
  if (std::isinf(rounded(want, type))) want = rounded(want, type);
  const std::uint64_t allowed = size_of(type) == 2 ? b.ulps_16 : type == f32 ? b.ulps_f32 : b.ulps_f64;
  if (distance_in_ulps(got, want, type) <= allowed) return {};
  const bool is_small = std::abs(want) < b.floor && std::abs(got) < 2 * b.floor;
  if (is_small && std::abs(got - want) <= static_cast<long double>(allowed) * f.unit * b.floor) return {};
  return to_text({got, 0}, f64) + ", not " + to_text({want, 0}, f64);
}

}  // namespace sinter_test
