// The vocabulary every layer shares: element types, scalars with a dtype, and the place in the user's program that
// recorded something. Standard headers only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace sinter {

/// Element types. Order within a kind is by width; `info()` has the facts.
enum class dtype : std::uint8_t { boolean, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128 };
inline constexpr int dtype_count = 15;

inline constexpr dtype boolean = dtype::boolean;
inline constexpr dtype i8 = dtype::i8, i16 = dtype::i16, i32 = dtype::i32, i64 = dtype::i64;
inline constexpr dtype u8 = dtype::u8, u16 = dtype::u16, u32 = dtype::u32, u64 = dtype::u64;
inline constexpr dtype f16 = dtype::f16, bf16 = dtype::bf16, f32 = dtype::f32, f64 = dtype::f64;
inline constexpr dtype c64 = dtype::c64, c128 = dtype::c128;

/// What a dtype counts: truth, signed or unsigned integers, reals, complex numbers.
enum class kind : std::uint8_t { truth, signed_integer, unsigned_integer, real, complex };

struct dtype_info {
  const char* name;        ///< "f32": the library's own spelling
  const char* numpy_name;  ///< "float32"
  std::uint8_t size;       ///< bytes an element takes
  kind category;
};

inline constexpr dtype_info dtype_table[dtype_count] = {
    {"bool", "bool", 1, kind::truth},
    {"i8", "int8", 1, kind::signed_integer},
    {"i16", "int16", 2, kind::signed_integer},
    {"i32", "int32", 4, kind::signed_integer},
    {"i64", "int64", 8, kind::signed_integer},
    {"u8", "uint8", 1, kind::unsigned_integer},
    {"u16", "uint16", 2, kind::unsigned_integer},
    {"u32", "uint32", 4, kind::unsigned_integer},
    {"u64", "uint64", 8, kind::unsigned_integer},
    {"f16", "float16", 2, kind::real},
    {"bf16", "bfloat16", 2, kind::real},
    {"f32", "float32", 4, kind::real},
    {"f64", "float64", 8, kind::real},
    {"c64", "complex64", 8, kind::complex},
    {"c128", "complex128", 16, kind::complex},
};

constexpr const dtype_info& info(dtype t) { return dtype_table[static_cast<int>(t)]; }
constexpr std::int64_t size_of(dtype t) { return info(t).size; }
constexpr const char* to_string(dtype t) { return info(t).name; }
constexpr kind kind_of(dtype t) { return info(t).category; }
constexpr bool is_integer(dtype t) {
  return kind_of(t) == kind::signed_integer || kind_of(t) == kind::unsigned_integer;
}
constexpr bool is_integer_or_bool(dtype t) { return is_integer(t) || t == dtype::boolean; }
constexpr bool is_real(dtype t) { return kind_of(t) == kind::real; }
constexpr bool is_complex(dtype t) { return kind_of(t) == kind::complex; }
constexpr bool is_inexact(dtype t) { return is_real(t) || is_complex(t); }

/// Storage of an IEEE binary16 number; arithmetic happens in f32.
struct float16 {
  std::uint16_t bits = 0;
  constexpr float16() = default;
  explicit float16(float x);
  explicit operator float() const;
  friend constexpr bool operator==(float16, float16) = default;  ///< compares bits
};

/// Storage of a bfloat16 number (the upper half of an f32); arithmetic happens in f32.
struct bfloat16 {
  std::uint16_t bits = 0;
  constexpr bfloat16() = default;
  explicit bfloat16(float x);
  explicit operator float() const;
  friend constexpr bool operator==(bfloat16, bfloat16) = default;  ///< compares bits
};

/// Complex numbers as two adjacent reals, the layout of `std::complex` (see complex.hpp for conversions).
struct complex64 {
  float re = 0, im = 0;
  friend constexpr bool operator==(complex64, complex64) = default;
};
struct complex128 {
  double re = 0, im = 0;
  friend constexpr bool operator==(complex128, complex128) = default;
};

/// The dtype of a C++ element type; specialise for layout-compatible types (complex.hpp does for `std::complex`).
template <class T>
struct dtype_of_type {
  static constexpr bool known = std::is_integral_v<T> || std::is_floating_point_v<T>;
  static constexpr dtype get() {
    if constexpr (std::is_same_v<T, bool>) return dtype::boolean;
    else if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 4 ? dtype::f32 : dtype::f64;
    else {
      constexpr int step = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
      return static_cast<dtype>(static_cast<int>(std::is_signed_v<T> ? dtype::i8 : dtype::u8) + step);
    }
  }
};
template <> struct dtype_of_type<long double> { static constexpr bool known = false; };
template <dtype D>
struct fixed_dtype { static constexpr bool known = true; static constexpr dtype get() { return D; } };
template <> struct dtype_of_type<float16> : fixed_dtype<dtype::f16> {};
template <> struct dtype_of_type<bfloat16> : fixed_dtype<dtype::bf16> {};
template <> struct dtype_of_type<complex64> : fixed_dtype<dtype::c64> {};
template <> struct dtype_of_type<complex128> : fixed_dtype<dtype::c128> {};

template <class T>
concept element = dtype_of_type<std::remove_cv_t<T>>::known;

template <element T>
inline constexpr dtype dtype_of = dtype_of_type<std::remove_cv_t<T>>::get();

/// One number with a dtype of C++ (`boolean`, `i64`, `u64`, `f64` or `c128`): what a literal in an expression is until
/// the array it meets decides its dtype.
struct scalar {
  dtype type = dtype::f64;
  union {
    bool as_bool;
    std::int64_t as_i64;
    std::uint64_t as_u64;
    double as_f64;
    complex128 as_c128;
  };
  constexpr scalar() : as_c128{} {}
  template <class T>
    requires(std::is_arithmetic_v<T>)
  constexpr scalar(T x) : as_c128{} {
    if constexpr (std::is_same_v<T, bool>) { type = dtype::boolean; as_bool = x; }
    else if constexpr (std::is_floating_point_v<T>) { type = dtype::f64; as_f64 = static_cast<double>(x); }
    else if constexpr (std::is_signed_v<T>) { type = dtype::i64; as_i64 = x; }
    else { type = dtype::u64; as_u64 = x; }
  }
  scalar(float16 x) : scalar(static_cast<float>(x)) {}
  scalar(bfloat16 x) : scalar(static_cast<float>(x)) {}
  constexpr scalar(complex64 x) : type(dtype::c128), as_c128{x.re, x.im} {}
  constexpr scalar(complex128 x) : type(dtype::c128), as_c128(x) {}
};

/// A place in the user's program. As a default argument `place at = place::here()` names the caller.
struct place {
  const char* file = "";
  const char* function = "";
  std::uint32_t line = 0;
  static constexpr place here(const char* file = __builtin_FILE(), const char* function = __builtin_FUNCTION(),
                              std::uint32_t line = __builtin_LINE()) {
    return {file, function, line};
  }
};

}  // namespace sinter
