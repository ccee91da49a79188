// Loops and choices inside a kernel, for each element by itself.
//
//   auto [z, n] = while_loop(std::tuple{c * 0, zeros({h, w}, i32)},
//       [](const auto& s) { return norm(std::get<0>(s)) < 4 && std::get<1>(s) < 256; },
//       [&](const auto& s) { return std::tuple{square(std::get<0>(s)) + c, std::get<1>(s) + 1}; });
//
// The functions are called once, with arrays that stand for the states of an element; what they record becomes the
// loop's body. A state is an array, a std::tuple, std::pair or std::array of states, or, with struct_state.hpp, a
// struct of states.
#pragma once

#include "array.hpp"
#include "ops.hpp"

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sinter {

/// How a state of type S is made of arrays: `each(state, f)` calls f with each of them in order. Specialise it for
/// types of your own, or see struct_state.hpp.
template <class S>
struct loop_state;

template <>
struct loop_state<array> {
  template <class F>
  static void each(array& state, F&& f) { f(state); }
};

template <class S>
requires requires { std::tuple_size<S>::value; }
struct loop_state<S> {
  template <class F>
  static void each(S& state, F&& f) {
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      (loop_state<std::remove_cvref_t<decltype(get<K>(state))>>::each(get<K>(state), f), ...);
    }
    (std::make_index_sequence<std::tuple_size_v<S>>());
  }
};

/// What can be a loop's state.
template <class S>
concept state = std::copy_constructible<S> && requires(S& s) { loop_state<S>::each(s, [](array&) {}); };

/// What while_loop takes by name.
struct loop_options {
  std::int64_t limit = std::int64_t{1} << 24;  ///< iterations; an element that needs more is a loop_error
};

namespace loops {

/// The arrays of a state.
template <state S>
std::vector<array> parts(S s) {
  std::vector<array> list;
  loop_state<S>::each(s, [&](array& x) { list.push_back(x); });
  return list;
}
/// A state like `s` of these arrays.
template <state S>
S assembled(S s, const std::vector<array>& list) {
  std::size_t k = 0;
  loop_state<S>::each(s, [&](array& x) { x = list[k++]; });
  return s;
}

/// A function that outlives the call it is passed to, or none.
template <class R, class... Args>
class function_view {
 public:
  function_view() = default;
  template <class F>
  requires(!std::is_same_v<F, function_view>) function_view(F& f)
      : function_(&f), call_([](void* called, Args... args) -> R { return (*static_cast<F*>(called))(args...); }) {}
  explicit operator bool() const { return call_ != nullptr; }
  R operator()(Args... args) const { return call_(function_, args...); }

 private:
  void* function_ = nullptr;
  R (*call_)(void*, Args...) = nullptr;
};

using condition_function = function_view<array, const std::vector<array>&>;
using body_function = function_view<std::vector<array>, const array&, const std::vector<array>&>;  // the counter first
std::vector<array> run(const std::vector<array>& states, condition_function condition, body_function body,
                       std::int64_t count, bool limited, std::string_view name, const place& at);
std::vector<array> choose(const array& condition, const std::vector<array>& then, const std::vector<array>& otherwise,
                          const place& at);
/// While it lives, a loop's body scatters where the condition holds, or where it doesn't.
struct choosing {
  choosing(const array& condition, bool holds);
  ~choosing();
};
/// What a function gives; a selection counts as its values.
template <class T> T as_state(T x) { return x; }
inline array as_state(const selection& x) { return x; }

}  // namespace loops

/// For each element: as long as `condition(state)` holds, state = body(state). The states broadcast to one shape, which
/// the results have; the body keeps their dtypes and that shape (type_error, shape_error). The condition is boolean.
/// Both may capture arrays, index them by states, and hold loops; they may not read other elements of a state than an
/// element's own (type_error), nor write to arrays but by scatter(), scatter_add() and the like. These write one value
/// to a 1-d array made before the loop, which the body doesn't read: what all iterations of all elements write, one
/// element's after another's; in a function of if_else, where that is chosen. Records, and launches nothing, but with a
/// scatter waits for the number of iterations; loop_error after `limit` iterations is thrown by whoever waits for the
/// result.
template <state S, std::invocable<const S&> C, std::invocable<const S&> B>
S while_loop(const S& initial, C&& condition, B&& body, const loop_options& options = {}, place at = place::here()) {
  static_assert(std::is_convertible_v<std::invoke_result_t<C, const S&>, array>,
                "the condition of while_loop is a boolean array");
  static_assert(std::is_constructible_v<S, std::invoke_result_t<B, const S&>>,
                "the body of while_loop gives a state of the type it takes");
  auto asks = [&](const std::vector<array>& s) -> array {
    return condition(static_cast<const S&>(loops::assembled(initial, s)));
  };
  auto gives = [&](const array&, const std::vector<array>& s) {
    return loops::parts(S(body(static_cast<const S&>(loops::assembled(initial, s)))));
  };
  return loops::assembled(initial,
                          loops::run(loops::parts(initial), asks, gives, options.limit, true, "while_loop", at));
}

/// For each element: state = body(i, state) for i = 0 .. count - 1, or body(state). `i` is a 0-d i64 array, which may
/// index others: x(i). Everything else as for while_loop. shape_error for a negative count.
template <state S, class B>
requires std::invocable<B, const array&, const S&> || std::invocable<B, const S&> S for_loop(std::int64_t count,
                                                                                             const S& initial, B&& body,
                                                                                             place at = place::here()) {
  auto gives = [&](const array& i, const std::vector<array>& s) {
    const S now = loops::assembled(initial, s);
    if constexpr (std::invocable<B, const array&, const S&>) return loops::parts(S(body(i, now)));
    else return loops::parts(S(body(now)));
  };
  return loops::assembled(initial, loops::run(loops::parts(initial), {}, gives, count, false, "for_loop", at));
}

/// Of a part of a variable: its values at first; the variable stays as it is.
template <class C, class B>
array while_loop(const selection& initial, C&& condition, B&& body, const loop_options& options = {},
                 place at = place::here()) {
  return while_loop(array(initial), std::forward<C>(condition), std::forward<B>(body), options, at);
}
template <class B>
array for_loop(std::int64_t count, const selection& initial, B&& body, place at = place::here()) {
  return for_loop(count, array(initial), std::forward<B>(body), at);
}

/// A state, or a function of nothing that gives one.
template <class T>
concept state_or_function = state<T> || requires(const T& f) {
  { loops::as_state(f()) } -> state;
};

/// Element by element, `then` where `condition` holds, else `otherwise`: both states of one type, or functions of
/// nothing that give them. What isn't chosen isn't read at computed indices, which may be out of range there, and its
/// loops don't run. dtypes and shapes as for where(); type_error unless the condition is boolean. Lazy.
template <state_or_function T, state_or_function F>
auto if_else(const array& condition, const T& then, const F& otherwise, place at = place::here()) {
  const auto value = [&](const auto& x, bool holds) {
    if constexpr (state<std::remove_cvref_t<decltype(x)>>) return x;
    else return loops::choosing(condition, holds), loops::as_state(x());
  };
  const auto yes = value(then, true);
  const auto no = value(otherwise, false);
  static_assert(std::is_same_v<decltype(yes), decltype(no)>, "both sides of if_else are states of one type");
  return loops::assembled(yes, loops::choose(condition, loops::parts(yes), loops::parts(no), at));
}
/// Of which one may be a C++ number: it adopts the dtype of the array it meets.
array if_else(const array& condition, const operand& then, const operand& otherwise);

}  // namespace sinter
