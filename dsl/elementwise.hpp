// Elementwise kernels written as strings: one more operation of the language, fused with its neighbours.
#pragma once

#include "array.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sinter::jit { struct user_kernel; }

namespace sinter {

/// What an elementwise kernel may have besides its body.
struct elementwise_options {
  std::string_view preamble = {};         ///< C++ before the kernel: helper functions, constants, types
  std::vector<std::string> options = {};  ///< for the device's compiler, as written
};

/// Stands for "no further operand" in a kernel's call.
const operand& no_operand() noexcept;

/// A kernel of the user's own, run once per element of its broadcast inputs:
///   const elementwise squared_diff{"squared_diff", "T x, T y", "T z", "z = (x - y) * (x - y)"};
///   array d = sqrt(squared_diff(x(all, newaxis), y(newaxis, all))) + 1;      // [n], [m] -> [n, m]; one launch
/// Parameters are "TYPE name" separated by commas. TYPE is a dtype (`f32`, `float32`; `float`, `double`, `int` and
/// `unsigned` are C++'s: f32, f64, i32, u32), or one letter standing for any dtype: arrays bind it, and all parameters
/// with that letter have the same one. Arrays are never converted; C++ numbers are, and must be in range. A letter that
/// numbers alone carry is bool, i64, f64 or c128. In the body inputs are const and outputs are zero until assigned; it
/// may hold several statements, and `return` ends the element. Cheap to copy. Calls are lazy: they launch nothing.
class elementwise {
 public:
  /// Compiles nothing. Throws type_error for an unknown type, error for names that aren't identifiers, are keywords,
  /// reserved (`i`, `n`, `_x`, `x__y`) or used twice, and for a kernel without outputs.
  elementwise(std::string_view name, std::string_view inputs, std::string_view outputs, std::string_view body,
              const elementwise_options& how = {}, place at = place::here());

  const std::string& name() const;
  int input_count() const;
  int output_count() const;

  /// The result of a kernel with one output; `results` is for those with more. Throws type_error for a wrong number of
  /// operands, an array of another dtype, or an output whose dtype nothing determines; shape_error.
  array operator()(const operand& x0 = no_operand(), const operand& x1 = no_operand(),
                   const operand& x2 = no_operand(), const operand& x3 = no_operand(),
                   const operand& x4 = no_operand(), const operand& x5 = no_operand(),
                   const operand& x6 = no_operand(), const operand& x7 = no_operand(),
                   const operand& x8 = no_operand(), const operand& x9 = no_operand(),
                   const operand& x10 = no_operand(), const operand& x11 = no_operand(),
                   const operand& x12 = no_operand(), const operand& x13 = no_operand(),
                   const operand& x14 = no_operand(), const operand& x15 = no_operand()) const;

  /// One array per output.
  std::vector<array> results(const operand& x0 = no_operand(), const operand& x1 = no_operand(),
                             const operand& x2 = no_operand(), const operand& x3 = no_operand(),
                             const operand& x4 = no_operand(), const operand& x5 = no_operand(),
                             const operand& x6 = no_operand(), const operand& x7 = no_operand(),
                             const operand& x8 = no_operand(), const operand& x9 = no_operand(),
                             const operand& x10 = no_operand(), const operand& x11 = no_operand(),
                             const operand& x12 = no_operand(), const operand& x13 = no_operand(),
                             const operand& x14 = no_operand(), const operand& x15 = no_operand()) const;

  /// The N outputs, to be named at once: `auto [q, r] = divide.results<2>(x, y);`. Throws type_error unless N of them.
  template <int N>
  std::array<array, N> results(const operand& x0 = no_operand(), const operand& x1 = no_operand(),
                               const operand& x2 = no_operand(), const operand& x3 = no_operand(),
                               const operand& x4 = no_operand(), const operand& x5 = no_operand(),
                               const operand& x6 = no_operand(), const operand& x7 = no_operand(),
                               const operand& x8 = no_operand(), const operand& x9 = no_operand(),
                               const operand& x10 = no_operand(), const operand& x11 = no_operand(),
                               const operand& x12 = no_operand(), const operand& x13 = no_operand(),
                               const operand& x14 = no_operand(), const operand& x15 = no_operand()) const {
    const operand* const list[] = {&x0, &x1, &x2, &x3, &x4, &x5, &x6, &x7,
                                   &x8, &x9, &x10, &x11, &x12, &x13, &x14, &x15};
    return named(call(list, N), std::make_index_sequence<N>());
  }

 private:
  /// `wanted`: the number of outputs the caller can take, 0: any.
  std::vector<array> call(std::span<const operand* const> operands, int wanted) const;
  template <std::size_t... K>
  static std::array<array, sizeof...(K)> named(std::vector<array>&& list, std::index_sequence<K...>) {
    return {static_cast<array&&>(list[K])...};
  }

  const jit::user_kernel* kernel_;  ///< interned: lives as long as the process
};

}  // namespace sinter
