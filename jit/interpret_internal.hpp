// The interpreter's parts: control, memory and indices in interpret.cpp, arithmetic in interpret_math.cpp and
// interpret_convert.cpp, reductions in interpret_reduce.cpp. All work on arrays of `lanes`, one value per element.
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
void start(const inst& reduce, dtype from, void* accumulators, int count);
/// Takes in one value a lane; `position` counts the loop's iterations.
void accumulate(const inst& reduce, dtype from, void* accumulators, const void* lanes, std::int64_t position,
                int count);
void finish(const inst& reduce, dtype from, const void* accumulators, void* out, int count);

}  // namespace sinter::jit::interpreter
