// Bytes a second over the device's own copy. Each row evaluates one expression of evaluated inputs, which a copy-bound
// kernel would do at ratio 1; arrays that fit into a cache do better, small ones pay for the launch.
#include "tests/bench/support.hpp"

#include <algorithm>
#include <cmath>

namespace {

using namespace sinter;
using bench::random_array;
using bench::throughput;

constexpr double bytes_of(std::int64_t elements, dtype type) {
  return static_cast<double>(elements) * static_cast<double>(size_of(type));
}

void fill(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  throughput(state, bytes_of(n, f32), [&] { return full({n}, 1.5, f32); });
}
BENCHMARK(fill)->Apply(bench::sizes)->Apply(bench::timed);

void scale_shift(benchmark::State& state) {
  const array a = random_array(f32, {state.range(0)});
  throughput(state, 2 * bytes_of(a.size(), f32), [&] { return a * 1.5f + 1; });
}
BENCHMARK(scale_shift)->Apply(bench::sizes)->Apply(bench::timed);

void squared_difference(benchmark::State& state) {
  const array a = random_array(f32, {state.range(0)}, 1), b = random_array(f32, {state.range(0)}, 2);
  throughput(state, 3 * bytes_of(a.size(), f32), [&] { return (a - b) * (a - b); });
}
BENCHMARK(squared_difference)->Apply(bench::sizes)->Apply(bench::timed);

void smooth_chain(benchmark::State& state) {
  const array a = random_array(f32, {state.range(0)}, 1), c = random_array(f32, {state.range(0)}, 2);
  throughput(state, 3 * bytes_of(a.size(), f32), [&] { return sqrt(a * a + c * c) * 0.5f + exp(-a); });
}
BENCHMARK(smooth_chain)->Apply(bench::sizes)->Apply(bench::timed);

/// A narrow dtype: arithmetic in the wider register, packs of many elements.
void narrow(benchmark::State& state, dtype type) {
  const array a = random_array(type, {state.range(0)}, 1), b = random_array(type, {state.range(0)}, 2);
  throughput(state, 3 * bytes_of(a.size(), type), [&] { return a * 2 + b; });
}
BENCHMARK_CAPTURE(narrow, f16, f16)->Apply(bench::sizes)->Apply(bench::timed);
BENCHMARK_CAPTURE(narrow, i8, i8)->Apply(bench::sizes)->Apply(bench::timed);

array normal_cdf(const array& x) { return 0.5f * erfc(x * -std::sqrt(0.5)); }

void black_scholes(benchmark::State& state) {
  const shape n{state.range(0)};
  const array spot = random_array(f32, n, 1), strike = random_array(f32, n, 2), years = random_array(f32, n, 3);
  throughput(state, 5 * bytes_of(spot.size(), f32), [&] {
    array deviation = 0.3 * sqrt(years);
    array d1 = (log(spot / strike) + 0.065 * years) / deviation, d2 = d1 - deviation;
    array discounted = strike * exp(-0.02 * years);
    array call = spot * normal_cdf(d1) - discounted * normal_cdf(d2);
    array put = discounted * normal_cdf(-d2) - spot * normal_cdf(-d1);
    return std::tuple{call, put};
  });
}
BENCHMARK(black_scholes)
    ->Apply([](benchmark::internal::Benchmark* b) {
      for (const int power : {10, 16, 20, 24, 26})
        if (power <= 20 || bench::on_cuda()) b->Arg(std::int64_t{1} << power);
    })
    ->Apply(bench::timed);

void broadcast(benchmark::State& state, dtype type) {
  const std::int64_t n = state.range(0);
  const array x = random_array(type, {n}, 1), y = random_array(type, {n}, 2);
  throughput(state, bytes_of(n * n + 2 * n, type), [&] { return square(x(all, newaxis) - y(newaxis, all)); });
}
void sides(benchmark::internal::Benchmark* b) { b->Arg(1000)->Arg(bench::on_cuda() ? 30000 : 4000); }
BENCHMARK_CAPTURE(broadcast, f64, f64)->Apply(sides)->Apply(bench::timed);
BENCHMARK_CAPTURE(broadcast, f32, f32)->Apply(sides)->Apply(bench::timed);

/// Rows of a (50000, 300) table: the table is counted once, it stays in a GPU's cache.
void gather(benchmark::State& state) {
  constexpr std::int64_t words = 50000, width = 300;
  const std::int64_t picked = state.range(0);
  const array table = random_array(f32, {words, width}), ids = bench::random_indices(picked, words);
  const double bytes = bytes_of((picked + std::min(picked, words)) * width, f32) + bytes_of(picked, i32);
  throughput(state, bytes, [&] { return table(ids, all) * 1.5f; });
}
BENCHMARK(gather)
    ->Apply([](benchmark::internal::Benchmark* b) { b->Arg(2048)->Arg(bench::on_cuda() ? 2000000 : 50000); })
    ->Apply(bench::timed);

void add_transposed(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  const array a = random_array(f32, {n, n}, 1), b = random_array(f32, {n, n}, 2);
  throughput(state, 3 * bytes_of(n * n, f32), [&] { return a + transpose(b); });
}
BENCHMARK(add_transposed)
    ->Apply([](benchmark::internal::Benchmark* b) { b->Arg(1024)->Arg(bench::on_cuda() ? 16384 : 4096); })
    ->Apply(bench::timed);

}  // namespace
