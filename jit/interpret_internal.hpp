// The interpreter's parts: control in interpret.cpp, indices and memory in interpret_memory.cpp, arithmetic in
// interpret_math.cpp and interpret_convert.cpp, reductions and scans in interpret_reduce.cpp. All work on arrays of
// `lanes`, one value per element or iteration.
#pragma once

#include "jit/ir.hpp"
#include "runtime/error.hpp"

#include <complex>
#include <type_traits>

namespace sinter::jit::interpreter {

/// Elements that are computed together.
inline constexpr int block = 256;

/// Calls f with the type that lanes of a dtype have. Narrow integers are held sign- or zero-extended, f16 and bf16 as
/// floats of their grid.
template <class F>
decltype(auto) with_lane(dtype t, F&& f) {
  switch (t) {
    case dtype::boolean: return f(std::type_identity<bool>{});
    case dtype::i8:
    case dtype::i16:
    case dtype::i32:
    case dtype::i64: return f(std::type_identity<std::int64_t>{});
    case dtype::u8:
    case dtype::u16:
    case dtype::u32:
    case dtype::u64: return f(std::type_identity<std::uint64_t>{});
    case dtype::f16:
    case dtype::bf16:
    case dtype::f32: return f(std::type_identity<float>{});
    case dtype::f64: return f(std::type_identity<double>{});
    case dtype::c64: return f(std::type_identity<std::complex<float>>{});
    case dtype::c128: return f(std::type_identity<std::complex<double>>{});
  }
  throw_internal_error("no such dtype");
}

/// Calls f with the types an element of the dtype has in memory and in a lane.
template <class F>
void with_element(dtype t, F&& f) {
  constexpr std::type_identity<std::int64_t> integer;
  constexpr std::type_identity<std::uint64_t> natural;
  constexpr std::type_identity<float> real;
  switch (t) {
    case dtype::i8: return f(std::type_identity<std::int8_t>{}, integer);
    case dtype::i16: return f(std::type_identity<std::int16_t>{}, integer);
    case dtype::i32: return f(std::type_identity<std::int32_t>{}, integer);
    case dtype::u8: return f(std::type_identity<std::uint8_t>{}, natural);
    case dtype::u16: return f(std::type_identity<std::uint16_t>{}, natural);
    case dtype::u32: return f(std::type_identity<std::uint32_t>{}, natural);
    case dtype::f16: return f(std::type_identity<float16>{}, real);
    case dtype::bf16: return f(std::type_identity<bfloat16>{}, real);
    default: return with_lane(t, [&](auto same) { f(same, same); });
  }
}

template <class T>
inline constexpr bool is_complex_lane =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;
template <class T>
inline constexpr bool is_integer_lane = std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::uint64_t>;

/// out[l] = f(args[l]...) for each lane.
template <class R, class F, class... Args>
void map(int count, R* out, F f, const Args*... args) {
  for (int l = 0; l < count; ++l) out[l] = static_cast<R>(f(args[l]...));
}

// interpret_math.cpp
/// One elementwise instruction other than convert; `from` is the dtype of the operands (of the last one, for select).
void evaluate(const inst& i, dtype from, void* out, const void* const (&args)[3], int count);
std::complex<double> multiply(std::complex<double> a, std::complex<double> b);

// interpret_convert.cpp
void convert(dtype from, dtype to, void* out, const void* in, int count);
/// Brings what arithmetic left in lanes to the dtype: wraps narrow integers, rounds f16 and bf16.
void settle(dtype t, void* lanes, int count);
/// Rounds to a float dtype just once.
float round_to(dtype t, double x);

// interpret_reduce.cpp
/// Bytes an accumulator takes at most.
inline constexpr std::size_t accumulator_size = 32;

/// Values on their way into accumulators: each lane's into its own, at iteration `position`; or `in_turn`, all into the
/// first one, the lanes being iterations from `position` on.
struct intake {
  const void* lanes;
  std::int64_t position;
  int count;
  bool in_turn;
};

/// `from`: dtype of what goes in.
void start(const inst& reduce, dtype from, void* accumulators, int count);
void accumulate(const inst& reduce, dtype from, void* accumulators, const intake& in);
/// Also gives what has been found after each value.
void scan(const inst& reduce, dtype from, void* accumulators, const intake& in, void* out);
void finish(const inst& reduce, dtype from, const void* accumulators, void* out, int count);

}  // namespace sinter::jit::interpreter
