// Conversions of the interpreter.
#include "jit/interpret_internal.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace sinter::jit::interpreter {

namespace {

/// The float next to x whose last bit is odd, unless x is a float: rounding that again can't meet a false tie.
float odd_float(double x) {
  const auto nearest = static_cast<float>(x);
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::isnan(x) || static_cast<double>(nearest) == x || (bits & 1) != 0) return nearest;
  const bool outward = std::fabs(static_cast<double>(nearest)) > std::fabs(x);
  return std::bit_cast<float>(outward ? bits - 1 : bits + 1);
}

/// Wraps to the low `bits` of x.
std::int64_t wrap(std::int64_t x, int bits) {
  const int rest = 64 - bits;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) << rest) >> rest;
}
std::uint64_t wrap(std::uint64_t x, int bits) {
  const int rest = 64 - bits;
  return x << rest >> rest;
}

int bits_of(dtype t) { return static_cast<int>(8 * size_of(t)); }

template <class To>
To truncate(double x, dtype to) {
  const int bits = bits_of(to) - (std::is_signed_v<To> ? 1 : 0);
  const double above = std::ldexp(1.0, bits), below = std::is_signed_v<To> ? -above : 0.0;
  const auto most = static_cast<To>(std::numeric_limits<To>::max() >> (64 - bits_of(to)));
  if (std::isnan(x)) return 0;
  if (x >= above) return most;
  if (x <= below) return std::is_signed_v<To> ? static_cast<To>(-most - 1) : To{0};
  return static_cast<To>(x);
}

template <class From, class To>
To convert_one(From x, dtype to) {
  if constexpr (is_complex_lane<From>) {
    if constexpr (std::is_same_v<To, bool>) return x != From(0);
    else if constexpr (is_complex_lane<To>) return To(x);
    else return convert_one<typename From::value_type, To>(x.real(), to);
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (is_complex_lane<To>) {
    return To(static_cast<typename To::value_type>(x));
  } else if constexpr (is_integer_lane<To>) {
    if constexpr (std::is_floating_point_v<From>) return truncate<To>(static_cast<double>(x), to);
    else return wrap(static_cast<To>(x), bits_of(to));
  } else if constexpr (std::is_same_v<To, float>) {
    return to == f32 ? static_cast<float>(x) : round_to(to, static_cast<double>(x));
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace

float round_to(dtype t, double x) {
  if (t == dtype::f16) return static_cast<float>(float16(odd_float(x)));
  if (t == dtype::bf16) return static_cast<float>(bfloat16(odd_float(x)));
  return static_cast<float>(x);
}

void convert(dtype from, dtype to, void* out, const void* in, int count) {
  with_lane(from, [&]<class From>(std::type_identity<From>) {
    with_lane(to, [&]<class To>(std::type_identity<To>) {
      map(count, static_cast<To*>(out), [to](From x) { return convert_one<From, To>(x, to); },
          static_cast<const From*>(in));
    });
  });
}

void settle(dtype t, void* lanes, int count) {
  auto* floats = static_cast<float*>(lanes);
  auto* integers = static_cast<std::int64_t*>(lanes);
  auto* naturals = static_cast<std::uint64_t*>(lanes);
  const int bits = bits_of(t);
  if (t == dtype::f16) map(count, floats, [](float x) { return static_cast<float>(float16(x)); }, floats);
  else if (t == dtype::bf16) map(count, floats, [](float x) { return static_cast<float>(bfloat16(x)); }, floats);
  else if (kind_of(t) == kind::signed_integer && bits < 64)
    map(count, integers, [bits](std::int64_t x) { return wrap(x, bits); }, integers);
  else if (kind_of(t) == kind::unsigned_integer && bits < 64)
    map(count, naturals, [bits](std::uint64_t x) { return wrap(x, bits); }, naturals);
}

}  // namespace sinter::jit::interpreter
