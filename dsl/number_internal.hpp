// One element on the host, between any two dtypes. Not installed.
#pragma once

#include "runtime/types.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace sinter {

/// An element in the widest dtype of its kind: `boolean` and signed as i64, unsigned as u64, reals as f64, complex.
struct wide_number {
  dtype type = dtype::f64;  ///< i64, u64, f64 or c128
  std::int64_t signed_value = 0;
  std::uint64_t unsigned_value = 0;
  complex128 value{};
};

namespace numbers_detail {

template <class T>
T load_as(const void* from) {
  T x;
  std::memcpy(&x, from, sizeof x);
  return x;
}

/// Truncates and saturates; NaN gives 0.
template <class To>
To to_integer(double x) {
  using limits = std::numeric_limits<To>;
  if (std::isnan(x)) return 0;
  // 2^digits is the first float too large, exact in f64; limits::max() itself may not be.
  if (x >= std::ldexp(1.0, limits::digits)) return limits::max();
  if (x <= static_cast<double>(limits::min())) return limits::min();
  return static_cast<To>(x);
}

template <class To>
To convert_number(const wide_number& x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x.signed_value != 0 || x.unsigned_value != 0 || x.value.re != 0 || x.value.im != 0;
  } else {
    if (x.type == i64) return static_cast<To>(x.signed_value);
    if (x.type == u64) return static_cast<To>(x.unsigned_value);
    if constexpr (std::is_integral_v<To>) return to_integer<To>(x.value.re);
    else return static_cast<To>(x.value.re);
  }
}

template <class T>
void store_as(const T& x, void* to) { std::memcpy(to, &x, sizeof x); }

}  // namespace numbers_detail

inline wide_number load_number(const void* from, dtype type) {
  using numbers_detail::load_as;
  const auto whole = [](std::int64_t x) { return wide_number{.type = i64, .signed_value = x}; };
  const auto natural = [](std::uint64_t x) { return wide_number{.type = u64, .unsigned_value = x}; };
  const auto real = [](double x) { return wide_number{.type = f64, .value = {x, 0}}; };
  switch (type) {
    case dtype::boolean: return whole(load_as<std::uint8_t>(from) != 0);
    case dtype::i8: return whole(load_as<std::int8_t>(from));
    case dtype::i16: return whole(load_as<std::int16_t>(from));
    case dtype::i32: return whole(load_as<std::int32_t>(from));
    case dtype::i64: return whole(load_as<std::int64_t>(from));
    case dtype::u8: return natural(load_as<std::uint8_t>(from));
    case dtype::u16: return natural(load_as<std::uint16_t>(from));
    case dtype::u32: return natural(load_as<std::uint32_t>(from));
    case dtype::u64: return natural(load_as<std::uint64_t>(from));
    case dtype::f16: return real(static_cast<float>(load_as<float16>(from)));
    case dtype::bf16: return real(static_cast<float>(load_as<bfloat16>(from)));
    case dtype::f32: return real(load_as<float>(from));
    case dtype::f64: return real(load_as<double>(from));
    case dtype::c64: {
      const auto z = load_as<complex64>(from);
      return {.type = c128, .value = {z.re, z.im}};
    }
    case dtype::c128: return {.type = c128, .value = load_as<complex128>(from)};
  }
  return {};
}

inline void store_number(const wide_number& x, void* to, dtype type) {
  using numbers_detail::convert_number;
  using numbers_detail::store_as;
  switch (type) {
    case dtype::boolean: return store_as(convert_number<bool>(x), to);
    case dtype::i8: return store_as(convert_number<std::int8_t>(x), to);
    case dtype::i16: return store_as(convert_number<std::int16_t>(x), to);
    case dtype::i32: return store_as(convert_number<std::int32_t>(x), to);
    case dtype::i64: return store_as(convert_number<std::int64_t>(x), to);
    case dtype::u8: return store_as(convert_number<std::uint8_t>(x), to);
    case dtype::u16: return store_as(convert_number<std::uint16_t>(x), to);
    case dtype::u32: return store_as(convert_number<std::uint32_t>(x), to);
    case dtype::u64: return store_as(convert_number<std::uint64_t>(x), to);
    case dtype::f16: return store_as(float16(convert_number<float>(x)), to);
    case dtype::bf16: return store_as(bfloat16(convert_number<float>(x)), to);
    case dtype::f32: return store_as(convert_number<float>(x), to);
    case dtype::f64: return store_as(convert_number<double>(x), to);
    case dtype::c64: return store_as(complex64{convert_number<float>(x), static_cast<float>(x.value.im)}, to);
    case dtype::c128: return store_as(complex128{convert_number<double>(x), x.value.im}, to);
  }
}

}  // namespace sinter
