// Whole programs' inner loops, and what the library is used for without thinking about kernels: long chains, rows of
// few numbers, all pairs, random numbers made and used, many tiny calls.
#include "tests/bench/support.hpp"

#include <algorithm>
#include <tuple>

namespace {

using namespace sinter;
using bench::arithmetic_us;
using bench::bytes_of;
using bench::copy_us;
using bench::measure;
using bench::own;
using bench::random_array;
using bench::throughput;

constexpr std::int64_t power(int exponent) { return std::int64_t{1} << exponent; }
std::int64_t either(std::int64_t cuda, std::int64_t cpu) { return bench::on_cuda() ? cuda : cpu; }

/// Twenty operations of two arrays, eight of them functions.
array chain_of_20(const array& a, const array& b) {
  array y = sqrt(a * a + b * b);
  y = exp(-y) * a + sin(y) * b;
  y = log(abs(y) + 1.5f) * 0.5f + tanh(a);
  return sqrt(abs(y - b)) + cos(y) * exp(-b);
}
void chain_20(benchmark::State& state) {
  const array a = random_array(f32, {state.range(0)}, 1), b = random_array(f32, {state.range(0)}, 2);
  throughput(state, 3 * bytes_of(a), [&] { return chain_of_20(a, b); });
}
BENCHMARK(chain_20)->Arg(power(12))->Arg(power(20))->Arg(either(power(28), power(24)))->Apply(bench::timed);

void axpy(benchmark::State& state) {
  const array x = random_array(f32, {state.range(0)}, 1);
  array y = own(random_array(f32, {state.range(0)}, 2));
  throughput(state, 3 * bytes_of(x), [&] {
    y += 0.5f * x;
    return y;
  });
}
BENCHMARK(axpy)->Arg(power(20))->Arg(either(power(28), power(24)))->Apply(bench::timed);

/// Places past what 32 bits can name.
void axpy_past_2_31(benchmark::State& state) {
  const array x = arange(state.range(0), f32);
  array y = own(x);
  const array kept = own(x);
  throughput(state, 3 * bytes_of(y), [&] {
    y += 0.5f * kept;
    return y;
  });
}
[[maybe_unused]] const bool has_room =
    bench::on_cuda() && benchmark::RegisterBenchmark("axpy_past_2_31", axpy_past_2_31)
                            ->Arg(power(31) + power(20))
                            ->Apply(bench::timed);

/// x[i, d] + y[j, d] for all i, j.
void outer_rows(benchmark::State& state) {
  const std::int64_t n = state.range(0), width = state.range(1);
  const array x = random_array(f32, {n, width}, 1), y = random_array(f32, {n, width}, 2);
  throughput(state, 4.0 * static_cast<double>(n * n * width),
             [&] { return x(all, newaxis, all) + y(newaxis, all, all); });
}
BENCHMARK(outer_rows)->Args({either(2048, 512), 64})->Apply(bench::timed);

/// A number a column, and a number a row.
void bias(benchmark::State& state, bool of_column) {
  const std::int64_t n = state.range(0);
  const array x = random_array(f32, {n, n}, 1), b = random_array(f32, {n}, 2);
  throughput(state, 2 * bytes_of(x), [&] { return of_column ? x + b(newaxis, all) : x + b(all, newaxis); });
}
BENCHMARK_CAPTURE(bias, inner, true)->Arg(either(16384, 4096))->Apply(bench::timed);
BENCHMARK_CAPTURE(bias, outer, false)->Arg(either(16384, 4096))->Apply(bench::timed);

/// Sums of rows of 3, 8 and 33 numbers.
void tiny_rows(benchmark::State& state) {
  const array x = random_array(f32, {state.range(0), state.range(1)});
  throughput(state, bytes_of(x) + 4 * static_cast<double>(state.range(0)), [&] { return sum(x, 1); });
}
BENCHMARK(tiny_rows)
    ->Apply([](benchmark::internal::Benchmark* b) {
      for (const int width : {3, 8, 33}) b->Args({either(power(24), power(20)), width});
    })
    ->Apply(bench::timed);

/// Squared distances of all pairs of points of 64 coordinates, as a broadcast: nothing of size [n, n, 64] is made.
void pairwise(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  const array x = random_array(f32, {n, 64}, 1), y = random_array(f32, {n, 64}, 2);
  const auto pairs = static_cast<double>(n * n);
  measure(state, std::max(arithmetic_us(2 * 64 * pairs), copy_us(4 * pairs)),
          [&] { return sum(square(x(all, newaxis, all) - y(newaxis, all, all)), 2); });
}
BENCHMARK(pairwise)->Arg(either(8192, 1024))->Apply(bench::timed);

/// Accelerations of bodies that attract each other, as sums over all pairs. About twelve operations a pair.
void nbody(benchmark::State& state) {
  const shape n{state.range(0)};
  const array x = random_array(f32, n, 1), y = random_array(f32, n, 2), z = random_array(f32, n, 3);
  const array mass = random_array(f32, n, 4);
  const auto bodies = static_cast<double>(state.range(0));
  measure(state, arithmetic_us(12 * bodies * bodies), [&] {
    const auto difference = [](const array& a) { return a(newaxis, all) - a(all, newaxis); };
    array dx = difference(x), dy = difference(y), dz = difference(z);
    array square_distance = dx * dx + dy * dy + dz * dz + 0.01f;
    array pull = mass(newaxis, all) * rsqrt(square_distance * square_distance * square_distance);
    return std::tuple{sum(pull * dx, 1), sum(pull * dy, 1), sum(pull * dz, 1)};
  });
}
BENCHMARK(nbody)->Arg(either(16384, 2048))->Apply(bench::timed);

/// Random points within a quarter circle. About forty operations a point, on integers: Philox makes four words a round.
void monte_carlo_pi(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  const array keys = own(random::split(random::key(7)));
  measure(state, arithmetic_us(40 * static_cast<double>(n)), [&] {
    array x = random::uniform(keys(0), {n}, f32), y = random::uniform(keys(1), {n}, f32);
    return 4 * mean((x * x + y * y < 1).astype(f64));
  });
}
BENCHMARK(monte_carlo_pi)->Arg(either(1000000000, 4000000))->Apply(bench::timed);

/// Values added at places of which one in ten is the same one.
void scatter_add_hot(benchmark::State& state) {
  constexpr std::int64_t places = 65536;
  const std::int64_t n = state.range(0);
  array sums = own(zeros({places}, f32));
  const array at = own(where(arange(n) % 10 == 0, 5, bench::random_indices(n, places)).astype(i32));
  const array values = random_array(f32, {n});
  throughput(state, bytes_of(at) + bytes_of(values) + 2 * bytes_of(sums), [&] {
    scatter_add(sums, at, values);
    return sums;
  });
}
BENCHMARK(scatter_add_hot)->Arg(either(power(26), power(22)))->Apply(bench::timed);

/// 1000 steps of five operations on 1000 numbers whose result is used in the next step, each step evaluated.
void tiny_steps(benchmark::State& state) {
  const array x = random_array(f32, {1000}, 1);
  measure(state, 1e3 * copy_us(2 * bytes_of(x)), [&] {
    array y = x;
    for (int t = 0; t < 1000; ++t) {
      y = abs((y + x) * 0.5f - 0.25f) + 0.125f;
      eval(y);
    }
    return y;
  });
}
BENCHMARK(tiny_steps)->Apply(bench::timed);

/// 1000 operations that are one expression; what recording, planning and compiling cost shows in first_ms.
void chain_1000(benchmark::State& state) {
  const array x = random_array(f32, {state.range(0)});
  measure(state, std::max(copy_us(2 * bytes_of(x)), arithmetic_us(500.0 * static_cast<double>(state.range(0)))), [&] {
    array y = x;
    for (int k = 0; k < 500; ++k) y = y * 0.999f + 0.001f;
    return y;
  });
}
BENCHMARK(chain_1000)->Arg(either(power(26), power(20)))->Apply(bench::timed);

}  // namespace
