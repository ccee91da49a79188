// What the benchmarks share: inputs, the device's copy bandwidth, and how throughput is timed.
#pragma once

#include "dsl/sinter.hpp"

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <tuple>
#include <vector>

namespace bench {

using sinter::array;
using sinter::dtype;
using sinter::shape;

/// Whether arrays live on a GPU (SINTER_DEVICE decides). May be called while benchmarks are registered.
bool on_cuda();

/// Evaluated numbers in [0.5, 1.5) of 24 random bits; whole numbers in [0, 100) for integers. Element k (C order) is a
/// hash of k and `seed` that peers.py makes, too. Kept for the life of the process: rows share them.
array random_array(dtype type, const shape& extents, std::uint64_t seed = 1);
/// The same for i32 indices in [0, limit).
array random_indices(std::int64_t count, std::int64_t limit);
/// A copy with memory of its own, for rows that write in place.
array own(const array& a);

double bytes_of(const array& a);

/// Bytes read and written per second by the best plain copy of the device: the driver's own, memcpy on all processors.
double copy_bandwidth();
/// Multiply-adds of f32 a second, as an elementwise kernel of independent elements reaches them.
double multiply_add_rate();
inline double copy_us(double bytes) { return bytes / copy_bandwidth() * 1e6; }
inline double arithmetic_us(double multiply_adds) { return multiply_adds / multiply_add_rate() * 1e6; }

/// Sizes to run: powers of two from 1024, to 2^28 on cuda and 2^24 on cpu.
void sizes(benchmark::internal::Benchmark* b);
/// How every row is run: `measure` and `throughput` repeat by themselves and tell the median, in microseconds.
void timed(benchmark::internal::Benchmark* b);
/// Repetitions of which a median is taken; fewer where SINTER_BENCH_QUICK is set.
int repetitions();

namespace detail {

using clock = std::chrono::steady_clock;
inline double us_since(clock::time_point start) {
  return std::chrono::duration<double, std::micro>(clock::now() - start).count();
}
inline void evaluate(const array& a) { sinter::eval(a); }
template <class... Arrays>
void evaluate(const std::tuple<Arrays...>& results) {
  std::apply([](const auto&... a) { sinter::eval(a...); }, results);
}
inline const array& first_of(const array& a) { return a; }
template <class... Arrays>
const array& first_of(const std::tuple<Arrays...>& results) { return std::get<0>(results); }

/// Counters check0 to check7: elements spread over `result`, for comparison with what peers compute.
void tell_samples(benchmark::State& state, const array& result);
double median(std::vector<double> times);

}  // namespace detail

/// Times `call`, which returns an array or a tuple of arrays that are evaluated and let go. The row's time is that of
/// one of many calls to a wait, the queue kept full. Also tells `enqueue_us` (what one call costs the host, queue
/// empty), `first_ms` (the first call of this expression in the process, compilation included), `floor_us` and `ratio`.
template <class Call>
void measure(benchmark::State& state, double floor_us, Call call) {
  static double first_ms = 0;
  const auto run = [&] { detail::evaluate(call()); };
  {
    const auto start = detail::clock::now();
    const auto result = call();
    detail::evaluate(result);
    sinter::synchronize();
    if (first_ms == 0) first_ms = detail::us_since(start) / 1e3;
    detail::tell_samples(state, detail::first_of(result));
  }
  std::vector<double> enqueued, per_call;
  for (int k = 0; k < 2 * repetitions(); ++k) {
    sinter::synchronize();
    const auto start = detail::clock::now();
    run();
    enqueued.push_back(detail::us_since(start));
  }
  // Enough calls to a wait that waiting costs little, few enough that queued results fit into memory.
  const int batch = floor_us > 20000 ? 2 : floor_us > 1000 ? 8 : floor_us > 50 ? 64 : 256;
  for (auto _ : state) {
    for (int k = 0; k < repetitions(); ++k) {
      sinter::synchronize();
      const auto start = detail::clock::now();
      for (int c = 0; c < batch; ++c) run();
      sinter::synchronize();
      per_call.push_back(detail::us_since(start) / batch);
    }
    state.SetIterationTime(detail::median(per_call) * 1e-6);
  }
  state.counters["enqueue_us"] = detail::median(enqueued);
  state.counters["first_ms"] = first_ms;
  state.counters["floor_us"] = floor_us;
  state.counters["ratio"] = detail::median(per_call) / floor_us;
}

/// `measure` against a copy of as many bytes.
template <class Call>
void throughput(benchmark::State& state, double bytes, Call call) {
  measure(state, copy_us(bytes), call);
}

}  // namespace bench
