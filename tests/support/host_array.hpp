// Arrays of the tests' own: plain bytes in C order beside a dtype and a shape. Inputs, references and results are held
// in them, so that what checks the library shares no code with it.
#pragma once

#include "dsl/array.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace sinter_test {

/// Calls f(std::type_identity<T>{}) with the C++ element type of `type`.
template <class F>
decltype(auto) with_element(sinter::dtype type, F&& f) {
  switch (type) {
    case sinter::dtype::boolean:
      return f(std::type_identity<bool>{});
    case sinter::dtype::i8:
      return f(std::type_identity<std::int8_t>{});
    case sinter::dtype::i16:
      return f(std::type_identity<std::int16_t>{});
    case sinter::dtype::i32:
      return f(std::type_identity<std::int32_t>{});
    case sinter::dtype::i64:
      return f(std::type_identity<std::int64_t>{});
    case sinter::dtype::u8:
      return f(std::type_identity<std::uint8_t>{});
    case sinter::dtype::u16:
      return f(std::type_identity<std::uint16_t>{});
    case sinter::dtype::u32:
      return f(std::type_identity<std::uint32_t>{});
    case sinter::dtype::u64:
      return f(std::type_identity<std::uint64_t>{});
    case sinter::dtype::f16:
      return f(std::type_identity<sinter::float16>{});
    case sinter::dtype::bf16:
      return f(std::type_identity<sinter::bfloat16>{});
    case sinter::dtype::f32:
      return f(std::type_identity<float>{});
    case sinter::dtype::f64:
      return f(std::type_identity<double>{});
    case sinter::dtype::c64:
      return f(std::type_identity<sinter::complex64>{});
    default:
      return f(std::type_identity<sinter::complex128>{});
  }
}

/// One element of any dtype. long double holds every i64, u64 and f64 exactly.
struct value {
  long double re = 0, im = 0;
};

struct host_array {
  sinter::dtype type = sinter::f32;
  sinter::shape extents;
  std::vector<std::byte> bytes;

  host_array() : extents{0} {}
  host_array(sinter::dtype type_, const sinter::shape& extents_);  ///< zeros
  template <class T>
  host_array(const std::vector<T>& values, const sinter::shape& extents_) : host_array(sinter::dtype_of<T>, extents_) {
    take(values.data(), values.size() * sizeof(T));
  }
  template <class T>
  explicit host_array(const std::vector<T>& values)
      : host_array(values, sinter::shape{static_cast<std::int64_t>(values.size())}) {}

  std::int64_t size() const { return extents.size(); }
  std::byte* at(std::int64_t k) { return bytes.data() + k * sinter::size_of(type); }
  const std::byte* at(std::int64_t k) const { return bytes.data() + k * sinter::size_of(type); }
  value get(std::int64_t k) const;
  void set(std::int64_t k, const value& v);  ///< v must be a value of `type`: no rounding or wrapping is promised
  /// Copied to the default device, now.
  sinter::array to_device() const { return sinter::array(bytes.data(), type, extents); }

 private:
  void take(const void* values, std::size_t count);
};

/// 0 and 1 as booleans.
host_array booleans(const std::vector<std::uint8_t>& values, const sinter::shape& extents);
/// Values converted exactly, or as C++ rounds them; only between dtypes that can hold them.
host_array converted(const host_array& x, sinter::dtype type);
/// The same elements in another shape of as many.
host_array reshaped(host_array x, const sinter::shape& extents);
/// Element `indices[k]` of x along `axis`, for every k.
host_array picked(const host_array& x, int axis, const std::vector<std::int64_t>& indices);
/// Reads all of a: evaluates and waits.
host_array from_device(const sinter::array& a);

/// How close results must be.
struct tolerance {
  double rtol = 0, atol = 0;  ///< |got - want| <= atol + rtol |want|; both 0: equal
  bool signed_zeros = false;  ///< whether -0 and 0 differ
};

/// Empty when `got` matches `want` in shape and values (NaN equals NaN), else a sentence about the first differences.
/// The dtypes may differ: references of f32 computations are often kept in f64.
std::string difference(const host_array& got, const host_array& want, const tolerance& how = {});

/// The distance of two numbers of `type` in steps between neighbours; 0 when both are NaN, huge when only one is.
std::uint64_t distance_in_ulps(long double a, long double b, sinter::dtype type);

std::string to_text(const value& v, sinter::dtype type);

}  // namespace sinter_test
