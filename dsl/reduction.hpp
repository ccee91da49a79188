// Reductions written as strings: map, reduce, post-map; fused with their neighbours like the library's own.
#pragma once

#include "array.hpp"
#include "axes.hpp"
#include "reduce.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sinter::jit { struct user_kernel; }

namespace sinter {

/// What a reduction kernel may have besides its expressions.
struct reduction_options {
  /// Of what type `a` and `b` are: a dtype, a placeholder, or any trivially copyable C++ type of at most 240 bytes,
  /// such as a struct of the preamble. By default the first output's, but float for f16 and bf16.
  std::string_view accumulator = {};
  std::string_view preamble = {};         ///< C++ before the kernel: helper functions, constants, types
  std::vector<std::string> options = {};  ///< for the device's compiler, as written
};

/// What a reduction kernel is called with: its inputs (arrays, or numbers as elsewhere), then the axes, then
/// `keepdims`. Made implicitly; use it only as a parameter.
class reduction_argument {
 public:
  enum class role : unsigned char { value, axes, keep };

  template <class T>
    requires(std::is_constructible_v<operand, const T&, place>)
  reduction_argument(const T& x, place at = place::here()) : value_(x, at) {}
  reduction_argument(const axes& over, place at = place::here()) : value_(0, at), over_(over), is_(role::axes) {}
  reduction_argument(std::initializer_list<int> over, place at = place::here())
      : value_(0, at), over_(over), is_(role::axes) {}
  reduction_argument(keepdims_t keep, place at = place::here()) : value_(0, at), keep_(keep), is_(role::keep) {}

  role is() const { return is_; }
  const operand& value() const { return value_; }
  const axes& over() const { return over_; }
  keepdims_t keep() const { return keep_; }

 private:
  operand value_;
  axes over_;
  keepdims_t keep_;
  role is_ = role::value;
};

/// Stands for "no further argument" in a reduction's call.
const reduction_argument& no_argument() noexcept;

/// The parameters of a reduction's call, and their addresses.
#define SINTER_ARGUMENTS                                                                                             \
  const reduction_argument &x0, const reduction_argument &x1 = no_argument(),                                        \
      const reduction_argument &x2 = no_argument(), const reduction_argument &x3 = no_argument(),                    \
      const reduction_argument &x4 = no_argument(), const reduction_argument &x5 = no_argument(),                    \
      const reduction_argument &x6 = no_argument(), const reduction_argument &x7 = no_argument(),                    \
      const reduction_argument &x8 = no_argument(), const reduction_argument &x9 = no_argument(),                    \
      const reduction_argument &x10 = no_argument(), const reduction_argument &x11 = no_argument(),                  \
      const reduction_argument &x12 = no_argument(), const reduction_argument &x13 = no_argument(),                  \
      const reduction_argument &x14 = no_argument(), const reduction_argument &x15 = no_argument(),                  \
      const reduction_argument &x16 = no_argument(), const reduction_argument &x17 = no_argument()
#define SINTER_ARGUMENT_ADDRESSES \
  &x0, &x1, &x2, &x3, &x4, &x5, &x6, &x7, &x8, &x9, &x10, &x11, &x12, &x13, &x14, &x15, &x16, &x17

/// A reduction of the user's own over elements of its broadcast inputs:
///   const reduction l2{"l2", "T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0"};
///   array norms = l2(x - 1, 1);                  // [n, m] -> [n]; one launch, the subtraction in it
///   const reduction dot{"dot", "T x, T y", "T z", "x * y", "a + b", "", "0"};
///   array s = dot(x, y), t = dot(x, y, {0, 2}, keepdims);
/// map      an expression of the inputs, once per element: what is reduced.
/// reduce   an expression of `a` and `b`, two values reduced so far: must be associative and commutative, since
///          elements are combined in any order (floats: up to rounding). Both are values, evaluated once.
/// post_map statements that give the outputs their values from `a`, the total. Outputs are zero until assigned; one
///          named `a` is the total itself, to be changed in place (`a = sqrt(a)`). Empty: the one output is a.
/// identity an expression, reduced into each result once (so `1` makes a sum one larger, whatever its length), and the
///          total of no elements. Empty: no elements are a shape_error.
/// Names and types of parameters, placeholders and numbers as for `elementwise`; expressions convert to the
/// accumulator's type (see reduction_options) as an assignment would. There are no raw inputs, and no names for an
/// element's position (CuPy's `_J`): give positions as an input. Cheap to copy. Calls are lazy: they launch nothing.
class reduction {
 public:
  /// Compiles nothing. Throws what `elementwise` does, and error for an empty map or reduce expression, for CuPy's
  /// names of positions and raw inputs, and for several outputs without a post-map.
  reduction(std::string_view name, std::string_view inputs, std::string_view outputs, std::string_view map,
            std::string_view reduce, std::string_view post_map, std::string_view identity,
            const reduction_options& how = {}, place at = place::here());

  const std::string& name() const;
  int input_count() const;
  int output_count() const;

  /// The result of a kernel with one output: `k(inputs...)` over all axes of the inputs' common shape,
  /// `k(inputs..., 1)`, `k(inputs..., {0, -1}, keepdims)`. [.., k, ..] -> [.., ..]; with `keepdims` reduced axes stay
  /// with extent 1. Throws type_error for a wrong number of inputs or an array of another dtype; shape_error for bad or
  /// repeated axes, inputs that don't broadcast, or no elements without an identity.
  array operator()(SINTER_ARGUMENTS) const {
    const reduction_argument* const list[] = {SINTER_ARGUMENT_ADDRESSES};
    return call(list, 1)[0];
  }

  /// One array per output.
  std::vector<array> results(SINTER_ARGUMENTS) const {
    const reduction_argument* const list[] = {SINTER_ARGUMENT_ADDRESSES};
    return call(list, 0);
  }

  /// The N outputs, to be named at once: `auto [low, high] = range_of.results<2>(x, 1);`. Throws type_error unless N of
  /// them.
  template <int N>
  std::array<array, N> results(SINTER_ARGUMENTS) const {
    const reduction_argument* const list[] = {SINTER_ARGUMENT_ADDRESSES};
    return named(call(list, N), std::make_index_sequence<N>());
  }

 private:
  /// `wanted`: the number of outputs the caller can take, 0: any.
  std::vector<array> call(std::span<const reduction_argument* const> arguments, int wanted) const;
  template <std::size_t... K>
  static std::array<array, sizeof...(K)> named(std::vector<array>&& list, std::index_sequence<K...>) {
    return {static_cast<array&&>(list[K])...};
  }

  const jit::user_kernel* kernel_;  ///< interned: lives as long as the process
};

#undef SINTER_ARGUMENTS
#undef SINTER_ARGUMENT_ADDRESSES

}  // namespace sinter
