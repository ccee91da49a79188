// Recorded loops and loops inside kernels: what recording an iteration costs, and how long the device takes afterwards.
#include "tests/bench/support.hpp"

#include <tuple>

namespace {

using namespace sinter;
using bench::random_array;

/// Times what `record` leaves pending: evaluation and the wait; recording is told apart.
template <class Record>
void recorded(benchmark::State& state, double statements, Record record) {
  double spent = 0;
  const auto now = [] { return std::chrono::steady_clock::now(); };
  eval(record());  // compiles
  synchronize();
  for (auto _ : state) {
    const auto start = now();
    const array a = record();
    const auto between = now();
    eval(a);
    synchronize();
    const std::chrono::duration<double> run = now() - between;
    spent += std::chrono::duration<double, std::nano>(between - start).count();
    state.SetIterationTime(run.count());
  }
  state.counters["record_ns"] = spent / statements / static_cast<double>(state.iterations());
}

/// c(i, j) = (x(i) - y(j))^2 in two host loops.
void record_differences(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  const array x = random_array(f64, {n}, 1), y = random_array(f64, {n}, 2);
  recorded(state, static_cast<double>(n * n), [&] {
    array c = zeros({n, n}, f64);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) c(i, j) = (x(i) - y(j)) * (x(i) - y(j));
    return c;
  });
}
BENCHMARK(record_differences)->Arg(1000)->Iterations(2)->UseManualTime()->Unit(benchmark::kMicrosecond);

void record_string_differences(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  const array x = random_array(f64, {n}, 1), y = random_array(f64, {n}, 2);
  const elementwise squared_diff{"squared_diff", "T x, T y", "T z", "z = (x - y) * (x - y)"};
  recorded(state, static_cast<double>(n * n), [&] {
    array c = zeros({n, n}, f64);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) c(i, j) = squared_diff(x(i), y(j));
    return c;
  });
}
BENCHMARK(record_string_differences)->Arg(1000)->Iterations(2)->UseManualTime()->Unit(benchmark::kMicrosecond);

/// 1000 steps of two statements on particles [n, 4].
void particle_steps(benchmark::State& state) {
  array b = random_array(f32, {state.range(0), 4}) + 0;
  eval(b);
  recorded(state, 2000, [&] {
    for (int t = 0; t < 1000; ++t) {
      b(all, 0) += b(all, 2);
      b(all, 2) += b(all, 3);
    }
    return b;
  });
}
BENCHMARK(particle_steps)
    ->Arg(100000)
    ->Arg(bench::on_cuda() ? 10000000 : 1000000)
    ->Iterations(20)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

/// Time steps of a heat plate: `steps` statements that need each other's elements.
void heat_steps(benchmark::State& state) {
  array u = random_array(f32, {state.range(0), state.range(0)}) + 0;
  eval(u);
  constexpr range inner(1, -1), before(0, -2), after(2, end);
  recorded(state, static_cast<double>(state.range(1)), [&] {
    for (int t = 0; t < state.range(1); ++t)
      u(inner, inner) +=
          0.1f * (u(before, inner) + u(after, inner) + u(inner, before) + u(inner, after) - 4 * u(inner, inner));
    return u;
  });
}
BENCHMARK(heat_steps)
    ->Args({512, 1000})
    ->Args({bench::on_cuda() ? 8192 : 2048, 200})
    ->Iterations(20)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

/// Iterations of z^2 + c, at most 256, on n x n points.
void mandelbrot(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  const array re = (arange(n).astype(f32) * (3.0f / static_cast<float>(n)) - 2.0f)(newaxis, all);
  const array im = (arange(n).astype(f32) * (3.0f / static_cast<float>(n)) - 1.5f)(all, newaxis);
  recorded(state, 1, [&] {
    const auto [x, y, count] = while_loop(
        std::tuple{zeros({n, n}, f32), zeros({n, n}, f32), zeros({n, n}, i32)},
        [](const auto& s) {
          const auto& [a, b, k] = s;
          return a * a + b * b < 4.0f && k < 256;
        },
        [&](const auto& s) {
          const auto& [a, b, k] = s;
          return std::tuple{a * a - b * b + re, 2 * a * b + im, k + 1};
        });
    return count;
  });
}
BENCHMARK(mandelbrot)
    ->Arg(bench::on_cuda() ? 4096 : 1024)
    ->Iterations(50)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
