// Reductions, scans and row programs: bytes a second over the device's own copy. What is reduced is read once, whatever
// is computed of it; rows that are read, reduced and written again are read once, too. peers_reduce.py runs the same
// rows, by the same names, on CuPy and PyTorch.
#include "tests/bench/support.hpp"

namespace {

using namespace sinter;
using bench::bytes_of;
using bench::random_array;
using bench::throughput;

// ---- Sizes. The host's are smaller: 2^24 elements are as much to it as 2^28 to a GPU. ----
constexpr std::int64_t power(int exponent) { return std::int64_t{1} << exponent; }

void powers(benchmark::internal::Benchmark* b) {
  for (const int exponent : {10, 16, 20}) b->Arg(power(exponent));
  b->Arg(power(bench::on_cuda() ? 28 : 24));
}
void large(benchmark::internal::Benchmark* b) { b->Arg(power(bench::on_cuda() ? 28 : 24)); }

void rows_of_1024(benchmark::internal::Benchmark* b) { b->Args({power(bench::on_cuda() ? 16 : 14), 1024}); }
void rows(benchmark::internal::Benchmark* b) {
  rows_of_1024(b);
  b->Args({bench::on_cuda() ? 8192 : 2048, 8192});
}

array random_rows(const benchmark::State& state) { return random_array(f32, {state.range(0), state.range(1)}); }

// ---- To one number ----
void sum(benchmark::State& state) {
  const array x = random_array(f32, {state.range(0)});
  throughput(state, bytes_of(x), [&] { return sinter::sum(x); });
}
BENCHMARK(sum)->Apply(powers)->Apply(bench::timed);

void argmax(benchmark::State& state) {
  const array x = random_array(f32, {state.range(0)});
  throughput(state, bytes_of(x), [&] { return sinter::argmax(x); });
}
BENCHMARK(argmax)->Apply(large)->Apply(bench::timed);

/// Four results of one read.
void mean_var_min_max(benchmark::State& state) {
  const array x = random_array(f32, {state.range(0)});
  throughput(state, bytes_of(x), [&] { return std::tuple{mean(x), var(x), min(x), max(x)}; });
}
BENCHMARK(mean_var_min_max)->Apply(large)->Apply(bench::timed);

// ---- Along an axis, or two ----
void sum_axes(benchmark::State& state, const axes& over) {
  const array x = random_rows(state);
  throughput(state, bytes_of(x) + bytes_of(sinter::sum(x, over)), [&] { return sinter::sum(x, over); });
}
BENCHMARK_CAPTURE(sum_axes, rows, axes(1))->Apply(rows_of_1024)->Apply(bench::timed);
BENCHMARK_CAPTURE(sum_axes, columns, axes(0))->Apply(rows_of_1024)->Apply(bench::timed);
BENCHMARK_CAPTURE(sum_axes, both, axes{0, 1})->Apply(rows_of_1024)->Apply(bench::timed);

/// Many rows of three numbers.
void norm_rows(benchmark::State& state) {
  const array x = random_rows(state);
  throughput(state, bytes_of(x) * 4 / 3, [&] { return sqrt(sinter::sum(square(x), 1)); });
}
BENCHMARK(norm_rows)
    ->Apply([](benchmark::internal::Benchmark* b) { b->Args({power(bench::on_cuda() ? 24 : 22), 3}); })
    ->Apply(bench::timed);

/// Shifted copies of x joined, subtracted, squared, summed: x is read, a number a row is written.
void smoothness_cost(benchmark::State& state) {
  constexpr std::int64_t some = 10000;
  const array x = tile(random_array(f32, {some, 20}), {state.range(0) / some, 1});
  eval(x);
  throughput(state, bytes_of(x) * 21 / 20, [&] {
    array p = concat({x(all, range(0, 2)), x(all, range(0, 18))}, 1);
    array q = concat({p(all, range(0, 2)), p(all, range(0, 18))}, 1);
    return sinter::sum(square(x + q - 2 * p), 1);
  });
}
BENCHMARK(smoothness_cost)
    ->Apply([](benchmark::internal::Benchmark* b) { b->Arg(bench::on_cuda() ? 20000000 : 800000); })
    ->Apply(bench::timed);

// ---- Row programs ----
void softmax(benchmark::State& state) {
  const array x = random_rows(state);
  throughput(state, 2 * bytes_of(x), [&] { return sinter::softmax(x, 1); });
}
BENCHMARK(softmax)->Apply(rows)->Apply(bench::timed);

/// As a formula, nothing recorded by name.
void softmax_written_out(benchmark::State& state) {
  const array x = random_rows(state);
  throughput(state, 2 * bytes_of(x), [&] {
    array e = exp(x - max(x, 1, keepdims));
    return e / sinter::sum(e, 1, keepdims);
  });
}
BENCHMARK(softmax_written_out)->Apply(rows_of_1024)->Apply(bench::timed);

void layer_norm(benchmark::State& state) {
  const array x = random_rows(state);
  const array gamma = random_array(f32, {x.extent(1)}, 2), beta = random_array(f32, {x.extent(1)}, 3);
  throughput(state, 2 * bytes_of(x), [&] {
    return (x - mean(x, 1, keepdims)) * rsqrt(var(x, 1, keepdims) + 1e-5f) * gamma + beta;
  });
}
BENCHMARK(layer_norm)->Apply(rows_of_1024)->Apply(bench::timed);

/// Recorded as a gather. The table stays in a GPU's cache: its bytes count once.
void one_hot_product(benchmark::State& state) {
  constexpr std::int64_t words = 8192, width = 256;
  const array table = random_array(f32, {words, width}), ids = bench::random_indices(state.range(0), words);
  const double bytes = bytes_of(table) * (1 + static_cast<double>(ids.size()) / words) + bytes_of(ids);
  throughput(state, bytes, [&] { return matmul(one_hot(ids, words), table); });
}
BENCHMARK(one_hot_product)->Arg(65536)->Apply(bench::timed);

// ---- Scans ----
void cumsum(benchmark::State& state) {
  const array x = random_array(f32, {state.range(0)});
  throughput(state, 2 * bytes_of(x), [&] { return sinter::cumsum(x); });
}
BENCHMARK(cumsum)->Apply(large)->Apply(bench::timed);

void cumsum_along(benchmark::State& state, int axis) {
  const array x = random_rows(state);
  throughput(state, 2 * bytes_of(x), [&] { return sinter::cumsum(x, axis); });
}
BENCHMARK_CAPTURE(cumsum_along, rows, 1)->Apply(rows_of_1024)->Apply(bench::timed);
BENCHMARK_CAPTURE(cumsum_along, columns, 0)->Apply(rows_of_1024)->Apply(bench::timed);

}  // namespace
