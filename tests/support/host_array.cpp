#include "tests/support/host_array.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace sinter_test {

namespace {

using sinter::dtype;

constexpr int shown_differences = 5;

template <class T>
value load(const std::byte* from) {
  T x;
  std::memcpy(&x, from, sizeof x);
  if constexpr (std::is_same_v<T, sinter::complex64> || std::is_same_v<T, sinter::complex128>) return {x.re, x.im};
  else if constexpr (std::is_arithmetic_v<T>) return {static_cast<long double>(x), 0};
  else return {static_cast<float>(x), 0};
}

template <class T>
void store(std::byte* to, const value& v) {
  T x;
  if constexpr (std::is_same_v<T, bool>) x = v.re != 0;
  else if constexpr (std::is_same_v<T, sinter::complex64>) x = {static_cast<float>(v.re), static_cast<float>(v.im)};
  else if constexpr (std::is_same_v<T, sinter::complex128>) x = {static_cast<double>(v.re), static_cast<double>(v.im)};
  else if constexpr (std::is_arithmetic_v<T>) x = static_cast<T>(v.re);
  else x = T(static_cast<float>(v.re));
  std::memcpy(to, &x, sizeof x);
}

bool matches(long double got, long double want, const tolerance& how) {
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want);
  if (got == want) return got != 0 || !how.signed_zeros || std::signbit(got) == std::signbit(want);
  if (std::isinf(got) || std::isinf(want)) return false;
  return std::abs(got - want) <= how.atol + how.rtol * std::abs(want);
}

std::string position_of(std::int64_t k, const sinter::shape& extents) {
  std::string text;
  for (int axis = extents.rank() - 1; axis >= 0; --axis) {
    text = fmt::format("{}{}{}", k % extents[axis], text.empty() ? "" : ", ", text);
    k /= extents[axis];
  }
  return "[" + text + "]";
}

}  // namespace

host_array::host_array(dtype type_, const sinter::shape& extents_)
    : type(type_), extents(extents_), bytes(static_cast<std::size_t>(extents_.size() * sinter::size_of(type_))) {}

void host_array::take(const void* values, std::size_t count) {
  if (count != bytes.size()) throw std::invalid_argument("host_array: the number of values does not fit the shape");
  if (count > 0) std::memcpy(bytes.data(), values, count);
}

value host_array::get(std::int64_t k) const {
  return with_element(type, [&](auto t) { return load<typename decltype(t)::type>(at(k)); });
}

void host_array::set(std::int64_t k, const value& v) {
  with_element(type, [&](auto t) { store<typename decltype(t)::type>(at(k), v); });
}

host_array booleans(const std::vector<std::uint8_t>& values, const sinter::shape& extents) {
  host_array out(values, extents);
  out.type = sinter::boolean;
  return out;
}

host_array converted(const host_array& x, dtype type) {
  host_array out(type, x.extents);
  for (std::int64_t k = 0; k < x.size(); ++k) out.set(k, x.get(k));
  return out;
}

host_array reshaped(host_array x, const sinter::shape& extents) {
  if (extents.size() != x.size()) throw std::invalid_argument("reshaped: another number of elements");
  x.extents = extents;
  return x;
}

host_array picked(const host_array& x, int axis, const std::vector<std::int64_t>& indices) {
  sinter::shape extents = x.extents;
  extents[axis] = static_cast<std::int64_t>(indices.size());
  host_array out(x.type, extents);
  std::int64_t inner = 1;
  for (int k = axis + 1; k < x.extents.rank(); ++k) inner *= x.extents[k];
  const auto run = static_cast<std::size_t>(inner * sinter::size_of(x.type));
  const std::int64_t outer = x.size() == 0 ? 0 : x.size() / (inner * x.extents[axis]);
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t k = 0; k < extents[axis]; ++k)
      std::memcpy(out.at((o * extents[axis] + k) * inner),
                  x.at((o * x.extents[axis] + indices[static_cast<std::size_t>(k)]) * inner), run);
  return out;
}

host_array from_device(const sinter::array& a) {
  host_array out(a.type(), a.extents());
  with_element(a.type(), [&](auto t) {
    using element = typename decltype(t)::type;
    a.copy_to(std::span<element>(reinterpret_cast<element*>(out.bytes.data()), static_cast<std::size_t>(a.size())));
  });
  return out;
}

std::string to_text(const value& v, dtype type) {
  if (sinter::is_complex(type))
    return fmt::format("({:.17g}, {:.17g})", static_cast<double>(v.re), static_cast<double>(v.im));
  if (type == sinter::u64) return fmt::format("{}", static_cast<std::uint64_t>(v.re));
  if (sinter::is_integer_or_bool(type)) return fmt::format("{}", static_cast<std::int64_t>(v.re));
  return fmt::format("{:.{}g}", static_cast<double>(v.re), type == sinter::f64 ? 17 : 9);
}

std::string difference(const host_array& got, const host_array& want, const tolerance& how) {
  if (got.extents != want.extents)
    return fmt::format("shape {}, not {}", to_string(got.extents), to_string(want.extents));
  std::int64_t count = 0;
  std::string text;
  for (std::int64_t k = 0; k < want.size(); ++k) {
    const value g = got.get(k), w = want.get(k);
    if (matches(g.re, w.re, how) && matches(g.im, w.im, how)) continue;
    if (++count <= shown_differences)
      text += fmt::format("\n  at {}: {}, not {}", position_of(k, want.extents), to_text(g, got.type),
                          to_text(w, want.type));
  }
  if (count == 0) return {};
  return fmt::format("{} of {} elements differ (rtol {}, atol {}):{}", count, want.size(), how.rtol, how.atol, text);
}

namespace {

struct format_facts {
  int digits, least_exponent;  // of the last subnormal bit's power of two: least_exponent
  long double largest;
};

format_facts facts_of(dtype type) {
  switch (type) {
    case sinter::f16:
      return {11, -24, 65504.0L};
    case sinter::bf16:
      return {8, -133, 0x1.fep127L};
    case sinter::f32:
    case sinter::c64:
      return {24, -149, std::numeric_limits<float>::max()};
    default:
      return {53, -1074, std::numeric_limits<double>::max()};
  }
}

/// Numbers of the format counted from zero; between neighbours a fraction.
long double steps_from_zero(long double x, const format_facts& f) {
  const long double magnitude = std::isinf(x) ? f.largest : std::abs(x);
  if (magnitude == 0) return 0;
  const int exponent = std::ilogb(magnitude);
  const int least_normal = f.least_exponent + f.digits - 1;
  if (exponent < least_normal) return std::ldexp(magnitude, -f.least_exponent);
  const long double whole = std::ldexp(1.0L, f.digits - 1);
  const long double steps =
      whole * static_cast<long double>(exponent - least_normal) + std::ldexp(magnitude, f.digits - 1 - exponent);
  return std::isinf(x) ? steps + 1 : steps;
}

}  // namespace

std::uint64_t distance_in_ulps(long double a, long double b, dtype type) {
  constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : huge;
  const format_facts f = facts_of(type);
  const long double x = std::copysign(steps_from_zero(a, f), a), y = std::copysign(steps_from_zero(b, f), b);
  const long double apart = std::abs(x - y);
  return apart >= 1e18L ? huge : static_cast<std::uint64_t>(std::ceil(apart));
}

}  // namespace sinter_test
