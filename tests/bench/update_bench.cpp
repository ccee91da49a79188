// Writes through views, at computed places and under masks, and joined arrays: bytes a second over the device's own
// copy. Arrays that are written to belong to the row alone, so that writes may happen in place.
#include "tests/bench/support.hpp"

#include <vector>

namespace {

using namespace sinter;
using bench::bytes_of;
using bench::own;
using bench::random_array;
using bench::throughput;

/// Particles (n, 4), two columns written in place. A row is 16 bytes: whole rows travel, whatever columns are used.
void columns_in_place(benchmark::State& state) {
  constexpr std::int64_t some = 1000;
  array b = own(tile(random_array(f32, {some, 4}), {state.range(0) / some, 1}));
  throughput(state, 2 * bytes_of(b), [&] {
    b(all, 0) += b(all, 2);
    b(all, 2) += b(all, 3);
    return b;
  });
}
BENCHMARK(columns_in_place)
    ->Apply([](benchmark::internal::Benchmark* b) { b->Arg(100000)->Arg(bench::on_cuda() ? 100000000 : 4000000); })
    ->Apply(bench::timed);

void sides(benchmark::internal::Benchmark* b) { b->Arg(512)->Arg(bench::on_cuda() ? 8192 : 2048); }

/// The inside reads its neighbours: the old array and the new one are both in memory.
void heat_step(benchmark::State& state) {
  array u = own(random_array(f32, {state.range(0), state.range(0)}));
  constexpr range inner(1, -1), before(0, -2), after(2, end);
  throughput(state, 2 * bytes_of(u), [&] {
    u(inner, inner) +=
        0.1f * (u(before, inner) + u(after, inner) + u(inner, before) + u(inner, after) - 4 * u(inner, inner));
    return u;
  });
}
BENCHMARK(heat_step)->Apply(sides)->Apply(bench::timed);

/// Twenty expressions of blocks [n, 16], one below the other (axis 0) or side by side (axis 1).
void concat_20(benchmark::State& state, int axis) {
  const std::int64_t n = state.range(0);
  const array x = random_array(f32, {20 * n, 16});
  throughput(state, 2 * bytes_of(x), [&] {
    std::vector<array> pieces;
    for (std::int64_t k = 0; k < 20; ++k)
      pieces.push_back(x(range(k * n, (k + 1) * n), all) * (1 + 0.5f * static_cast<float>(k)));
    return concat(pieces, axis);
  });
}
void heights(benchmark::internal::Benchmark* b) { b->Arg(1024)->Arg(std::int64_t{1} << (bench::on_cuda() ? 18 : 14)); }
BENCHMARK_CAPTURE(concat_20, axis_0, 0)->Apply(heights)->Apply(bench::timed);
BENCHMARK_CAPTURE(concat_20, axis_1, 1)->Apply(heights)->Apply(bench::timed);

/// Values added at uniformly random places of 65536. The places stay in a GPU's cache: their bytes count once.
void scatter_add(benchmark::State& state) {
  constexpr std::int64_t places = 65536;
  const std::int64_t n = state.range(0);
  array sums = own(zeros({places}, f32));
  const array at = bench::random_indices(n, places), values = random_array(f32, {n});
  throughput(state, bytes_of(at) + bytes_of(values) + 2 * bytes_of(sums), [&] {
    sinter::scatter_add(sums, at, values);
    return sums;
  });
}
BENCHMARK(scatter_add)
    ->Apply([](benchmark::internal::Benchmark* b) { b->Arg(1 << 16)->Arg(bench::on_cuda() ? 1 << 26 : 1 << 22); })
    ->Apply(bench::timed);

/// Bytes, all values alike often: a multiplicative hash of their positions.
array random_bytes(std::int64_t n) {
  array x = (arange(n, u32) * 2654435761u >> 24).astype(u8);
  eval(x);
  return x;
}

void histogram_256(benchmark::State& state) {
  const array x = random_bytes(state.range(0));
  throughput(state, bytes_of(x), [&] { return histogram(x, 256, 0, 256); });
}
void bincount_256(benchmark::State& state) {
  const array x = random_bytes(state.range(0));
  throughput(state, bytes_of(x), [&] { return bincount(x, 256); });
}
void counts(benchmark::internal::Benchmark* b) { b->Arg(1 << 20)->Arg(bench::on_cuda() ? 1 << 28 : 1 << 24); }
BENCHMARK(histogram_256)->Apply(counts)->Apply(bench::timed);
BENCHMARK(bincount_256)->Apply(counts)->Apply(bench::timed);

/// One number where half of the mask is true: the mask is read, and of the array every line is written.
void mask_assign(benchmark::State& state) {
  array a = own(random_array(f32, {state.range(0)}));
  const array mask = random_array(f32, {state.range(0)}, 2) > 1;
  eval(mask);
  throughput(state, bytes_of(a) + bytes_of(mask), [&] {
    a(mask) = 0.5f;
    return a;
  });
}
BENCHMARK(mask_assign)->Apply(bench::sizes)->Apply(bench::timed);

/// A condition of the array's own, as most are written. The values stay, so that every call has as much to do.
void mask_multiply(benchmark::State& state) {
  array a = own(random_array(f32, {state.range(0)}));
  throughput(state, 2 * bytes_of(a), [&] {
    a(a < 1) *= 1.0f;
    return a;
  });
}
BENCHMARK(mask_multiply)->Apply(bench::sizes)->Apply(bench::timed);

void roll_both_axes(benchmark::State& state) {
  const array x = random_array(f32, {state.range(0), state.range(0)});
  throughput(state, 2 * bytes_of(x), [&] { return roll(x, {5, -3}, {0, 1}); });
}
BENCHMARK(roll_both_axes)->Apply(sides)->Apply(bench::timed);

void pad_by_16(benchmark::State& state, pad_mode mode) {
  const array x = random_array(f32, {state.range(0), state.range(0)});
  const double bytes = bytes_of(x) + bytes_of(pad(x, 16, mode));
  throughput(state, bytes, [&] { return pad(x, 16, mode); });
}
BENCHMARK_CAPTURE(pad_by_16, constant, pad_mode::constant)->Apply(sides)->Apply(bench::timed);
BENCHMARK_CAPTURE(pad_by_16, edge, pad_mode::edge)->Apply(sides)->Apply(bench::timed);
BENCHMARK_CAPTURE(pad_by_16, reflect, pad_mode::reflect)->Apply(sides)->Apply(bench::timed);

}  // namespace
