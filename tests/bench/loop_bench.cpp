// Recorded loops and loops inside kernels: what recording an iteration costs, and how long the device takes afterwards.
#include "tests/bench/support.hpp"

#include <tuple>

namespace {

using namespace sinter;
using bench::arithmetic_us;
using bench::bytes_of;
using bench::copy_us;
using bench::random_array;

/// Times what `record` leaves pending, evaluation and the wait, as a median; what recording a statement took is told
/// apart.
template <class Record>
void recorded(benchmark::State& state, double floor_us, double statements, Record record) {
  static double first_ms = 0;
  const auto start = bench::detail::clock::now();
  {
    const array first = record();
    eval(first);
    synchronize();
    if (first_ms == 0) first_ms = bench::detail::us_since(start) / 1e3;
    bench::detail::tell_samples(state, first);
  }
  std::vector<double> recording, running;
  for (auto _ : state) {
    for (int k = 0; k < bench::repetitions(); ++k) {
      const auto begin = bench::detail::clock::now();
      const array a = record();
      recording.push_back(bench::detail::us_since(begin));
      const auto between = bench::detail::clock::now();
      eval(a);
      synchronize();
      running.push_back(bench::detail::us_since(between));
    }
    state.SetIterationTime(bench::detail::median(running) * 1e-6);
  }
  state.counters["record_ns"] = bench::detail::median(recording) * 1e3 / statements;
  state.counters["first_ms"] = first_ms;
  state.counters["floor_us"] = floor_us;
  state.counters["ratio"] = bench::detail::median(running) / floor_us;
}

/// c(i, j) = (x(i) - y(j))^2 in two host loops.
void record_differences(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  const array x = random_array(f64, {n}, 1), y = random_array(f64, {n}, 2);
  recorded(state, copy_us(8.0 * static_cast<double>(n * n)), static_cast<double>(n * n), [&] {
    array c = zeros({n, n}, f64);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) c(i, j) = (x(i) - y(j)) * (x(i) - y(j));
    return c;
  });
}
BENCHMARK(record_differences)->Arg(1000)->Apply(bench::timed);

void record_string_differences(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  const array x = random_array(f64, {n}, 1), y = random_array(f64, {n}, 2);
  const elementwise squared_diff{"squared_diff", "T x, T y", "T z", "z = (x - y) * (x - y)"};
  recorded(state, copy_us(8.0 * static_cast<double>(n * n)), static_cast<double>(n * n), [&] {
    array c = zeros({n, n}, f64);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) c(i, j) = squared_diff(x(i), y(j));
    return c;
  });
}
BENCHMARK(record_string_differences)->Arg(1000)->Apply(bench::timed);

/// 1000 steps of two statements on particles [n, 4].
void particle_steps(benchmark::State& state) {
  array b = random_array(f32, {state.range(0), 4}) + 0;
  eval(b);
  // The state crosses memory once, and what it must at least be: two additions a particle and step.
  recorded(state, copy_us(2 * bytes_of(b)) + arithmetic_us(2e3 * static_cast<double>(state.range(0))), 2000, [&] {
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
    ->Apply(bench::timed);

/// Time steps of a heat plate: `steps` statements that need each other's elements.
void heat_steps(benchmark::State& state) {
  array u = random_array(f32, {state.range(0), state.range(0)}) + 0;
  eval(u);
  constexpr range inner(1, -1), before(0, -2), after(2, end);
  const auto steps = static_cast<double>(state.range(1));
  recorded(state, steps * copy_us(2 * bytes_of(u)), steps, [&] {
    for (int t = 0; t < state.range(1); ++t)
      u(inner, inner) +=
          0.1f * (u(before, inner) + u(after, inner) + u(inner, before) + u(inner, after) - 4 * u(inner, inner));
    return u;
  });
}
BENCHMARK(heat_steps)
    ->Args({512, 1000})
    ->Args({bench::on_cuda() ? 8192 : 2048, 200})
    ->Apply(bench::timed);

/// Iterations of z^2 + c, at most 256, on n x n points.
void mandelbrot(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  const array re = (arange(n).astype(f32) * (3.0f / static_cast<float>(n)) - 2.0f)(newaxis, all);
  const array im = (arange(n).astype(f32) * (3.0f / static_cast<float>(n)) - 1.5f)(all, newaxis);
  const auto iterations = [&] {
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
  };
  // Ten operations an iteration, of which most are half a multiply-add each.
  const auto total = sum(iterations().astype(f64)).item<double>();
  recorded(state, arithmetic_us(7 * total), 1, iterations);
}
BENCHMARK(mandelbrot)
    ->Arg(bench::on_cuda() ? 4096 : 1024)
    ->Apply(bench::timed);

}  // namespace
