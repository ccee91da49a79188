// Functions of arrays, recorded once and replayed: opt-in.
//
//   auto step = compile([](array u) {
//     u(range(1, -1)) += 0.1f * (u(range(2, end)) + u(range(0, -2)) - 2 * u(range(1, -1)));
//     return u;
//   });
//   u = step(std::move(u));      // the first call records; from then on: a comparison, and the launches
//
// A call runs at once: it launches what the function comes down to, and gives evaluated arrays (it doesn't wait for the
// device). The first call with a signature calls the function, with arrays that have a dtype, a shape and a
// device but no values yet. Later calls with the same signature launch the same kernels on the new arguments, and
// record, plan and look up nothing. The signature is, of each argument: dtype, shape, device, whether it is a number,
// and whether its memory may be reused; and the switches of options.hpp. Neither strides (arrays in memory have none),
// nor alignment (each launch sees to it), nor whether arguments share memory (what is shared is never overwritten)
// matter.
//
// Arguments may be arrays, C++ numbers, std::tuples, std::pairs and std::arrays of arrays, std::vectors of those, and
// structs (struct_state.hpp). Lazy ones are evaluated first, all together. A C++ number reaches the function as a 0-d
// array of its own dtype (pass 0.1f to meet f32 arrays), and each call passes another value; static_value(n) reaches it
// as n itself, and each n is a signature of its own. Results may be arrays, tuples, vectors and structs likewise.
//
// Side effects happen once, when the function is recorded. Arrays that it captures are constants: what they are then.
// Reading a value inside (item, to_vector, nonzero) is a type_error, and so is keeping what it computes elsewhere than
// in its results. An exception leaves no recording behind.
//
// Donation: the memory of an argument that is passed as an rvalue, and that nobody else sees, may become a result's:
// updates are in place, and `u = step(std::move(u))` allocates nothing. compile(f, {.donate = {0}}) takes the values of
// variables passed as argument 0, too: they are empty afterwards.
//
// Inside another compiled function, and in bodies of loops, a compiled function is part of what is recorded there.
// Several threads may call one object; copies of it share their recordings.
#pragma once

#include "array.hpp"
#include "loops.hpp"

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace sinter {

/// What compile() takes by name.
struct compile_options {
  std::initializer_list<int> donate = {};  ///< arguments whose variables are emptied for their memory
};

/// An argument that is part of the signature: the function gets `value` itself.
template <class T>
requires std::is_trivially_copyable_v<T>
struct static_value {
  T value;
};
template <class T>
static_value(T) -> static_value<T>;

namespace compiling {

/// What results look like, but for their arrays.
struct pattern {
  virtual ~pattern() = default;
};
template <class R>
struct pattern_of final : pattern {
  explicit pattern_of(R r) : value(std::move(r)) {}
  R value;
};

/// A list that needs no memory while it is short.
template <class T>
class small_list {
 public:
  void add(const T& x) {
    if (count_ < few) list_[count_] = x;
    else if (count_ == few) more_.assign(list_, list_ + few), more_.push_back(x);
    else more_.push_back(x);
    ++count_;
  }
  std::span<const T> all() const { return {count_ > few ? more_.data() : list_, count_}; }

 private:
  static constexpr std::size_t few = 16;
  T list_[few] = {};
  std::size_t count_ = 0;
  std::vector<T> more_;
};

/// One array of an argument; `donated`: its memory may be taken, when nobody else holds it.
struct part {
  array* value = nullptr;
  bool donated = false;
};
using word_list = small_list<std::uint64_t>;
/// Calls the function with arrays that stand for the parts of its arguments; gives those of its result.
using body = loops::function_view<pattern*, std::vector<array>&, std::vector<array>&>;

struct outcome {
  std::span<jit::node* const> results;  ///< one reference of each, for array::adopt before this thread's next call
  const pattern* like;
};

/// The recordings of a function; copies are the same one.
class recordings {
 public:
  explicit recordings(const place& at);
  recordings(const recordings& other) noexcept;
  recordings& operator=(const recordings& other) noexcept;
  ~recordings();

  outcome call(std::span<const part> parts, std::span<const std::uint64_t> words, body record);
  void prepare(std::span<const part> parts, std::span<const std::uint64_t> words, body record);
  std::string explain() const;
  std::uint64_t made() const;
  std::uint64_t replayed() const;

 private:
  struct shared;
  shared* shared_;
};

/// Whether the function is to be called as it is.
bool is_inlined() noexcept;

template <class T>
inline constexpr bool is_static = false;
template <class T>
inline constexpr bool is_static<static_value<T>> = true;

template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = state<T>;

template <class T>
concept number = element<T>;

/// What the function gets of an argument of type T.
template <class T>
struct received {
  static_assert(number<T> || state<T> || is_list<T> || std::is_same_v<T, selection>,
                "compiled functions take arrays, C++ numbers, tuples, vectors and structs of arrays, static_value(x)");
  using type = T;
};
template <class T>
requires number<T> || std::is_same_v<T, selection> struct received<T> { using type = array; };
template <class T>
struct received<static_value<T>> {
  using type = static_value<T>;
};
template <class T>
using received_t = typename received<std::remove_cvref_t<T>>::type;

/// A 0-d array that a recording takes for a number.
array number_of(const scalar& x, dtype type);

template <class A>
received_t<A> copied(const A& a) {
  if constexpr (is_static<A>) return a;
  else if constexpr (number<A>) return number_of(operand(a).number(), dtype_of<A>);
  else return received_t<A>(a);
}

/// What the function is given of a value that it receives.
template <class T>
decltype(auto) passed(T& x) {
  if constexpr (is_static<T>) return (x.value);
  else return std::move(x);
}
template <class T>
using passed_t = decltype(passed(std::declval<T&>()));

template <class T, class F>
void each_array(T& x, F&& f) {
  if constexpr (is_list<T>) {
    for (auto& one : x) loop_state<std::remove_cvref_t<decltype(one)>>::each(one, f);
  } else if constexpr (state<T>) {
    loop_state<T>::each(x, f);
  }
}

/// Lets go of what x holds.
template <class T>
void empty(T& x) {
  if constexpr (!std::is_const_v<T>) each_array(x, [](array& a) { array(std::move(a)); });
}

template <class T>
void add_words(const T& x, word_list& to) {
  if constexpr (is_list<T>) {
    to.add(x.size());
  } else if constexpr (!state<T>) {
    std::uint64_t chunks[(sizeof(T) + 7) / 8] = {};
    __builtin_memcpy(chunks, &x, sizeof(T));
    for (const std::uint64_t c : chunks) to.add(c);
  }
}

}  // namespace compiling

template <class F>
class compiled {
 public:
  compiled(F f, const compile_options& options, const place& at) : function_(std::move(f)), recordings_(at) {
    for (const int k : options.donate) donated_ |= std::uint64_t{1} << (k & 63);
  }

  /// f(arguments...), as this file's top says. Throws what f throws, when it is recorded, and type_error where f can't
  /// be recorded; compile_error, out_of_memory, device_error. Bad indices are index_errors of whoever waits.
  template <class... A>
  auto operator()(A&&... arguments) {
    using result = result_of<A...>;
    std::tuple<compiling::received_t<A>...> values(compiling::copied(arguments)...);
    std::size_t k = 0;
    const auto give = [&](auto& x, bool rvalue) {
      if (rvalue || (donated_ >> (k++ & 63) & 1) != 0) compiling::empty(x);
    };
    (give(arguments, std::is_rvalue_reference_v<A&&>), ...);
    if (compiling::is_inlined()) return call<result>(values);
    const bool rvalue[] = {std::is_rvalue_reference_v<A&&>..., false};
    compiling::small_list<compiling::part> parts;
    compiling::word_list words;
    list(values, rvalue, parts, words);
    auto record = recorder<result>(values);
    const compiling::outcome out = recordings_.call(parts.all(), words.all(), record);
    if constexpr (std::is_same_v<result, array>) {
      return array::adopt(out.results[0]);
    } else {
      k = 0;
      result r = static_cast<const compiling::pattern_of<result>*>(out.like)->value;
      compiling::each_array(r, [&](array& x) { x = array::adopt(out.results[k++]); });
      return r;
    }
  }

  /// Records f for arguments like these, of which only dtypes, shapes and devices matter, and makes ready its kernels:
  /// loads or compiles them. Evaluates and launches nothing that depends on arguments.
  template <class... A>
  void prepare(const A&... arguments) {
    std::tuple<compiling::received_t<A>...> values(compiling::copied(arguments)...);
    const bool rvalue[sizeof...(A) + 1] = {};
    compiling::small_list<compiling::part> parts;
    compiling::word_list words;
    list(values, rvalue, parts, words);
    auto record = recorder<result_of<A...>>(values);
    recordings_.prepare(parts.all(), words.all(), record);
  }

  /// The recordings, one a line: signature, why it was made, launches, how often it was replayed.
  std::string explain() const { return recordings_.explain(); }
  std::uint64_t recordings() const { return recordings_.made(); }  ///< signatures that f was recorded for
  std::uint64_t replays() const { return recordings_.replayed(); }  ///< calls that launched a recording

 private:
  template <class... A>
  struct result_of_call {
    static_assert(std::is_invocable_v<F&, compiling::passed_t<compiling::received_t<A>>...>,
                  "the compiled function takes its arguments by value: an array for each array and each C++ number "
                  "(static_value(n) passes n itself)");
    using given = std::remove_cvref_t<std::invoke_result_t<F&, compiling::passed_t<compiling::received_t<A>>...>>;
    using type = std::conditional_t<std::is_same_v<given, selection>, array, given>;
    static_assert(state<type> || compiling::is_list<type>,
                  "a compiled function gives an array, or a tuple, vector or struct of arrays");
  };
  template <class... A>
  using result_of = typename result_of_call<A...>::type;

  template <class Result, class Values>
  Result call(Values& values) {
    return std::apply([this](auto&... v) -> Result { return function_(compiling::passed(v)...); }, values);
  }

  template <class Values>
  void list(Values& values, const bool* rvalue, compiling::small_list<compiling::part>& parts,
            compiling::word_list& words) const {
    std::apply(
        [&](auto&... v) {
          std::size_t k = 0;
          const auto add = [&](auto& x) {
            const bool donated = rvalue[k] || (donated_ >> (k & 63) & 1) != 0;
            ++k;
            compiling::add_words(x, words);
            compiling::each_array(x, [&](array& a) { parts.add({&a, donated}); });
          };
          (add(v), ...);
        },
        values);
  }

  /// Calls f once, with placeholders in the arrays' places.
  template <class Result, class Values>
  auto recorder(const Values& values) {
    return [this, &values](std::vector<array>& placeholders, std::vector<array>& results) -> compiling::pattern* {
      Values now = values;
      std::size_t k = 0;
      const auto place = [&](array& x) { x = std::move(placeholders[k++]); };
      std::apply([&](auto&... v) { (compiling::each_array(v, place), ...); }, now);
      Result r = call<Result>(now);
      compiling::each_array(r, [&](array& x) { results.push_back(std::exchange(x, array())); });
      return new compiling::pattern_of<Result>(std::move(r));
    };
  }

  F function_;
  std::uint64_t donated_ = 0;
  compiling::recordings recordings_;
};

/// A function of arrays that is recorded at its first call and replayed later.
template <class F>
compiled<std::decay_t<F>> compile(F&& f, const compile_options& options = {}, place at = place::here()) {
  return {std::forward<F>(f), options, at};
}

}  // namespace sinter
