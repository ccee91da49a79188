// What the benchmarks share: inputs, the device's copy bandwidth, and how throughput is timed.
#pragma once

#include "dsl/sinter.hpp"

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>

namespace bench {

using sinter::array;
using sinter::dtype;
using sinter::shape;

/// Whether arrays live on a GPU (SINTER_DEVICE decides). May be called while benchmarks are registered.
bool on_cuda();

/// Evaluated random numbers in [0.5, 1.5); whole numbers in [0, 100) for integers. Kept for the life of the process, so
/// that the many short runs with which Google Benchmark finds its iteration count share them.
array random_array(dtype type, const shape& extents, std::uint64_t seed = 1);
/// The same for i32 indices in [0, limit).
array random_indices(std::int64_t count, std::int64_t limit);

/// Bytes read and written per second by the best plain copy of the device: the driver's own, memcpy on all processors.
double copy_bandwidth();

/// Sizes to run: powers of two from 1024, to 2^28 on cuda and 2^24 on cpu.
void sizes(benchmark::internal::Benchmark* b);

/// Times `call`, which evaluates and lets go of its results, many calls to one wait. Reports bytes a second, `floor_us`
/// (what a copy of as many bytes takes) and `ratio` (the time over that floor).
template <class Call>
void throughput(benchmark::State& state, double bytes, Call call) {
  const double floor_us = bytes / copy_bandwidth() * 1e6;
  call();  // compiles
  sinter::synchronize();
  // Enough calls to a wait that waiting costs little, few enough that queued results fit into memory.
  const int batch = floor_us > 20000 ? 2 : floor_us > 1000 ? 8 : 64;
  const auto start = std::chrono::steady_clock::now();
  while (state.KeepRunningBatch(batch)) {
    for (int k = 0; k < batch; ++k) call();
    sinter::synchronize();
  }
  const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
  const double calls = static_cast<double>(state.iterations());
  state.counters["bytes_per_second"] = benchmark::Counter(
      bytes * calls, benchmark::Counter::kIsRate, benchmark::Counter::kIs1000);
  state.counters["floor_us"] = floor_us;
  state.counters["ratio"] = spent.count() / calls / floor_us;
}

}  // namespace bench
