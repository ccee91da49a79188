// Elementwise kernels written as strings: one more operation of the language, fused with its neighbours.
#pragma once

#include "array.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sinter::jit { struct user_kernel; }

namespace sinter {

/// What an elementwise kernel may have besides its body.
struct elementwise_options {
  /// C++ before the kernel: helper functions, constants, types. Macros end with the kernel, and `#include` is refused:
  /// one launch may hold several kernels, each in a namespace. Options can include a file before all of them.
  std::string_view preamble = {};
  std::vector<std::string> options = {};  ///< for the device's compiler, as written
  /// Statements before and after the loop over the elements, that each worker runs once. A worker is a thread on cuda,
  /// a piece of the elements on the host; each element belongs to one, how many there are is open. They see raw arrays,
  /// numbers, structs and `n`; what loop_prep declares lives on from element to element. Such a kernel runs alone.
  std::string_view loop_prep = {};
  std::string_view after_loop = {};
};

/// Stands for "no further operand" in a kernel's call.
extern const operand no_operand;

/// The parameters of a kernel's call after the fourth, those of one that may have any number, and their addresses.
#define SINTER_MORE_OPERANDS                                                                                   \
  const operand &x4 = no_operand, const operand &x5 = no_operand, const operand &x6 = no_operand,              \
      const operand &x7 = no_operand, const operand &x8 = no_operand, const operand &x9 = no_operand,          \
      const operand &x10 = no_operand, const operand &x11 = no_operand, const operand &x12 = no_operand,       \
      const operand &x13 = no_operand, const operand &x14 = no_operand, const operand &x15 = no_operand
#define SINTER_OPERANDS                                                                                        \
  const operand &x0 = no_operand, const operand &x1 = no_operand, const operand &x2 = no_operand,              \
      const operand &x3 = no_operand, SINTER_MORE_OPERANDS
#define SINTER_OPERAND_ADDRESSES \
  &x0, &x1, &x2, &x3, &x4, &x5, &x6, &x7, &x8, &x9, &x10, &x11, &x12, &x13, &x14, &x15

/// For by_value.
array array_of_bytes(const void* bytes, std::size_t count, const place& at);

/// A struct as an operand of a kernel that names its type: `k(by_value(line{2, 1}), x)`, with "line p, T x" as inputs
/// and `struct line { float a, b; };` in the preamble. Copied as bytes: at most 256. The same for all elements; another
/// value is no other kernel.
template <class S>
  requires(std::is_class_v<S> && std::is_trivially_copyable_v<S>)
array by_value(const S& value, place at = place::here()) {
  static_assert(sizeof(S) <= 256, "by_value: a struct of at most 256 bytes");
  return array_of_bytes(&value, sizeof(S), at);
}

/// An output that a kernel writes to: a variable, or elements selected of one. Made implicitly; use it only as a
/// parameter.
class destination {
 public:
  destination(array& variable, place at = place::here()) : variable_(&variable), at_(at) {}
  destination(selection&& part, place at = place::here()) : part_(&part), at_(at) {}
  constexpr destination() = default;

  /// What it holds before the call, and after it.
  array before() const;
  void become(const array& now) const;
  const place& at() const { return at_; }

 private:
  array* variable_ = nullptr;
  selection* part_ = nullptr;
  place at_;
};

/// Stands for "no further output" in into(...).
extern const destination no_destination;

/// The parameters of into(...), and their addresses.
#define SINTER_DESTINATIONS                                                                                          \
  const destination &y0, const destination &y1 = no_destination, const destination &y2 = no_destination,             \
      const destination &y3 = no_destination, const destination &y4 = no_destination,                                \
      const destination &y5 = no_destination, const destination &y6 = no_destination,                                \
      const destination &y7 = no_destination, const destination &y8 = no_destination,                                \
      const destination &y9 = no_destination, const destination &y10 = no_destination,                               \
      const destination &y11 = no_destination, const destination &y12 = no_destination,                              \
      const destination &y13 = no_destination, const destination &y14 = no_destination,                              \
      const destination &y15 = no_destination
#define SINTER_DESTINATION_ADDRESSES \
  &y0, &y1, &y2, &y3, &y4, &y5, &y6, &y7, &y8, &y9, &y10, &y11, &y12, &y13, &y14, &y15

class elementwise_call;
class traced_function;

/// What becomes a kernel by being called with arrays.
template <class F>
concept traceable = !std::is_same_v<F, elementwise> && !std::is_convertible_v<F, std::string_view>;

/// A kernel of the user's own, run once per element of its broadcast inputs:
///   const elementwise squared_diff{"squared_diff", "T x, T y", "T z", "z = (x - y) * (x - y)"};
///   array d = sqrt(squared_diff(x(all, newaxis), y(newaxis, all))) + 1;      // [n], [m] -> [n, m]; one launch
/// Parameters are "TYPE name" separated by commas. TYPE is a dtype (`f32`, `float32`; `float`, `double`, `int` and
/// `unsigned` are C++'s: f32, f64, i32, u32), or one letter standing for any dtype: arrays bind it, and all parameters
/// with that letter have the same one. Arrays are never converted; C++ numbers are, and must be in range. A letter that
/// numbers alone carry is bool, i64, f64 or c128. An input's TYPE may be a struct of the preamble's (by_value).
///
/// In the body inputs are const and outputs are zero, or what a given output was, until assigned. It may hold several
/// statements; `return` and `continue` end the element. `i` is the element's number in C order, `n` how many there are,
/// `_ind.get()[k]` the index along axis k of the broadcast shape, which is never merged (CuPy's reduce_dims=False), and
/// `_ind.size()` is n. The body's own variables may have these names.
///
/// A parameter "raw T x" is an array that the body indexes itself, of any shape, that takes no part in broadcasting:
/// `x[k]` by number in C order, `x[index]` by a C array of an index per axis, x.size(), x.shape()[k], x.strides()[k]
/// (bytes), x.ndim. Raw inputs are read from memory, views in place; such a kernel still fuses with what surrounds it.
/// Raw outputs may be written anywhere, by atomics, too (`atomicAdd(&t[0], 1)`): such a kernel runs alone. Indices are
/// checked, on every device: a bad one reads 0, writes nothing, and is an index_error at the next wait.
///
/// Cheap to copy. Calls are lazy: they launch nothing.
class elementwise {
 public:
  /// Compiles nothing. Throws type_error for an unknown type, error for names that aren't identifiers, are keywords,
  /// reserved (`i`, `n`, `_x`, `x__y`) or used twice, for `#include`, and for a kernel without outputs.
  elementwise(std::string_view name, std::string_view inputs, std::string_view outputs, std::string_view body,
              const elementwise_options& how = {}, place at = place::here());

  /// A kernel from C++: `const elementwise squared{[](auto x, auto y) { return (x - y) * (x - y); }};` The function is
  /// run at each call, with 0-d arrays that stand for an element of each operand: operators, functions and other
  /// kernels work on them, branches on their values don't compile (`where` chooses instead). It gives an array, a
  /// number, or several of them as a std::tuple, pair or array. It may use 0-d arrays and numbers of its surroundings
  /// as they are at the call. What it records is part of the caller's expression, fused and typed like it.
  template <traceable Function>
  explicit elementwise(const Function& f, place at = place::here());

  elementwise(const elementwise& other) noexcept;
  elementwise& operator=(const elementwise& other) noexcept;
  ~elementwise();

  const std::string& name() const;
  int input_count() const;   ///< -1: a function that takes any number
  int output_count() const;  ///< -1: known when the function has been called

  /// The result of a kernel with one output; `results` is for those with more. Throws type_error for a wrong number of
  /// operands, an array of another dtype, or an output whose dtype nothing determines; shape_error; error when nothing
  /// says how many elements there are (sized).
  // Sixteen references take longer to pass than a call to record: the common numbers have entries of their own.
  array operator()() const;
  array operator()(const operand& x0) const;
  array operator()(const operand& x0, const operand& x1) const;
  array operator()(const operand& x0, const operand& x1, const operand& x2) const;
  array operator()(const operand& x0, const operand& x1, const operand& x2, const operand& x3,
                   SINTER_MORE_OPERANDS) const {
    const operand* const list[] = {SINTER_OPERAND_ADDRESSES};
    return result(list);
  }

  /// One array per output.
  std::vector<array> results(SINTER_OPERANDS) const {
    const operand* const list[] = {SINTER_OPERAND_ADDRESSES};
    return call(list, 0);
  }

  /// The N outputs, to be named at once: `auto [q, r] = divide.results<2>(x, y);`. Throws type_error unless N of them.
  template <int N>
  std::array<array, N> results(SINTER_OPERANDS) const {
    const operand* const list[] = {SINTER_OPERAND_ADDRESSES};
    return named(call(list, N), std::make_index_sequence<N>());
  }

  /// A call that writes to variables: `k.into(z)(x, y)`, `k.into(b(all, 0))(x)`, `k.into(q, r).results(x)`: all
  /// outputs, in order. What they hold is what the body finds in its outputs; afterwards they hold the results, which
  /// are returned, too. Their dtypes bind letters before the inputs' do, and are never converted (type_error). Outputs
  /// that aren't raw have the shape that the inputs broadcast to, outputs among them (shape_error). The inputs are as
  /// they were before the call, whatever part of the variable they show, and in place where nobody can tell.
  template <class Call = elementwise_call>  // complete when it is called
  Call into(SINTER_DESTINATIONS) const {
    const destination* const list[] = {SINTER_DESTINATION_ADDRESSES};
    return static_cast<Call&&>(Call(*this, y0.at()).with_outputs(list));
  }

  /// A call for `size` elements: for a kernel whose arrays are all raw (else error). Outputs that aren't given have
  /// shape [size].
  elementwise_call sized(std::int64_t size, place at = place::here()) const;

 private:
  friend class elementwise_call;
  explicit elementwise(traced_function* f) noexcept : function_(f) {}
  array result(std::span<const operand* const> operands) const;
  /// `wanted`: the number of outputs the caller can take, 0: any.
  std::vector<array> call(std::span<const operand* const> operands, int wanted) const;
  template <std::size_t... K>
  static std::array<array, sizeof...(K)> named(std::vector<array>&& list, std::index_sequence<K...>) {
    return {static_cast<array&&>(list[K])...};
  }

  const jit::user_kernel* kernel_ = nullptr;  ///< interned: lives as long as the process; null: a function
  traced_function* function_ = nullptr;       ///< counted
};

/// A kernel, and what a call of it is told besides its inputs. To be called in the expression that makes it.
class elementwise_call {
 public:
  array operator()(SINTER_OPERANDS) const {
    const operand* const list[] = {SINTER_OPERAND_ADDRESSES};
    return static_cast<array&&>(run(list, 1)[0]);
  }
  std::vector<array> results(SINTER_OPERANDS) const {
    const operand* const list[] = {SINTER_OPERAND_ADDRESSES};
    return run(list, 0);
  }
  template <int N>
  std::array<array, N> results(SINTER_OPERANDS) const {
    const operand* const list[] = {SINTER_OPERAND_ADDRESSES};
    return elementwise::named(run(list, N), std::make_index_sequence<N>());
  }
  elementwise_call into(SINTER_DESTINATIONS) && {
    const destination* const list[] = {SINTER_DESTINATION_ADDRESSES};
    return static_cast<elementwise_call&&>(with_outputs(list));
  }
  elementwise_call sized(std::int64_t size, place at = place::here()) &&;

 private:
  friend class elementwise;
  elementwise_call(const elementwise& k, const place& at) : kernel_(k), at_(at) {}
  elementwise_call& with_outputs(std::span<const destination* const> outputs);
  std::vector<array> run(std::span<const operand* const> operands, int wanted) const;
  std::vector<array> fitted(std::vector<array> out, const std::vector<array>& before) const;

  elementwise kernel_;
  std::vector<destination> outputs_;
  std::int64_t size_ = -1;
  place at_;
};

// ---- kernels from C++ functions ----

/// A function that an elementwise kernel is made of, for any number of arguments it takes.
class traced_function {
 public:
  virtual ~traced_function() = default;
  virtual bool takes(std::size_t arguments) const = 0;
  virtual std::vector<array> run(std::span<const array> arguments) const = 0;

  place site;
  mutable std::uint32_t owners = 1;  ///< changed atomically
};

namespace elementwise_internal {

template <std::size_t>
using argument = const array&;
template <class F, std::size_t... K>
constexpr bool takes(std::index_sequence<K...>) {
  // A function of any number of arguments has at least one: compiling it for none could be an error.
  if constexpr (sizeof...(K) == 0 && std::is_invocable_v<const F&, argument<0>>) return false;
  else return std::is_invocable_v<const F&, argument<K>...>;
}
inline constexpr std::size_t most_arguments = 16;

inline array as_array(const array& x) { return x; }
template <class T>
  requires(std::is_convertible_v<T, scalar>)
array as_array(const T& number) { return array(scalar(number)).astype(dtype_of<T>); }

template <class R>
concept several = requires { std::tuple_size<R>::value; };

template <class F>
class traced final : public traced_function {
 public:
  explicit traced(const F& f) : f_(f) {}
  bool takes(std::size_t arguments) const override { return takes_one_of(arguments, all()); }
  std::vector<array> run(std::span<const array> arguments) const override {
    std::vector<array> out;
    run_one_of(arguments, out, all());
    return out;
  }

 private:
  static constexpr auto all() { return std::make_index_sequence<most_arguments + 1>(); }
  template <std::size_t... N>
  static bool takes_one_of(std::size_t count, std::index_sequence<N...>) {
    return ((N == count && elementwise_internal::takes<F>(std::make_index_sequence<N>())) || ...);
  }
  template <std::size_t... N>
  void run_one_of(std::span<const array> list, std::vector<array>& out, std::index_sequence<N...>) const {
    ((N == list.size() ? run_with(list, out, std::make_index_sequence<N>()) : void()), ...);
  }
  template <std::size_t... K>
  void run_with(std::span<const array> list, std::vector<array>& out, std::index_sequence<K...> places) const {
    if constexpr (elementwise_internal::takes<F>(places)) add(f_(list[K]...), out);
  }
  template <class R>
  static void add(const R& results, std::vector<array>& out) {
    if constexpr (several<R>) add_each(results, out, std::make_index_sequence<std::tuple_size<R>::value>());
    else out.push_back(as_array(results));
  }
  template <class R, std::size_t... K>
  static void add_each(const R& results, std::vector<array>& out, std::index_sequence<K...>) {
    using std::get;
    (out.push_back(as_array(get<K>(results))), ...);
  }

  F f_;
};

}  // namespace elementwise_internal

template <traceable Function>
elementwise::elementwise(const Function& f, place at)
    : elementwise(static_cast<traced_function*>(new elementwise_internal::traced<std::decay_t<const Function>>(f))) {
  function_->site = at;
}

#undef SINTER_DESTINATIONS
#undef SINTER_DESTINATION_ADDRESSES
#undef SINTER_MORE_OPERANDS
#undef SINTER_OPERANDS
#undef SINTER_OPERAND_ADDRESSES

}  // namespace sinter
