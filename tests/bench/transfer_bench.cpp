// Copies between host and device: bytes a second each way, from pinned and from other memory, and how much of them the
// chunks of for_each_chunk hide.
#include "dsl/sinter.hpp"
#include "dsl/transfer.hpp"

#include <benchmark/benchmark.h>

#include <span>
#include <vector>

using namespace sinter;

namespace {

std::int64_t bytes_of(const benchmark::State& state) { return state.range(0) << 20; }

void set_rate(benchmark::State& state, std::int64_t bytes) { state.SetBytesProcessed(state.iterations() * bytes); }

template <class Memory>
void copy_in(benchmark::State& state) {
  Memory memory(static_cast<std::size_t>(bytes_of(state)) / sizeof(float));
  const std::span<const float> x(memory.data(), memory.size());
  for ([[maybe_unused]] auto _ : state) {
    const array a = from_host(x);
    synchronize();
  }
  set_rate(state, bytes_of(state));
}

template <class Memory>
void copy_out(benchmark::State& state) {
  Memory memory(static_cast<std::size_t>(bytes_of(state)) / sizeof(float));
  const array a = full({static_cast<std::int64_t>(memory.size())}, 1.0, f32);
  eval(a);
  synchronize();
  for ([[maybe_unused]] auto _ : state) copy_to(a, std::span<float>(memory.data(), memory.size()));
  set_rate(state, bytes_of(state));
}

/// In, a chain, and out again; `chunks` false: one after the other.
template <class Memory, bool Chunks>
void there_and_back(benchmark::State& state) {
  Memory in(static_cast<std::size_t>(bytes_of(state)) / sizeof(float)), out(in.size());
  const std::span<const float> x(in.data(), in.size());
  const std::span<float> y(out.data(), out.size());
  const auto body = [](const array& c) { return sqrt(c * c + 1) * 0.5f; };
  for ([[maybe_unused]] auto _ : state) {
    if constexpr (Chunks) for_each_chunk(x, y, body);
    else copy_to(body(from_host(x)), y);
  }
  set_rate(state, 2 * bytes_of(state));
}

using pageable = std::vector<float>;
using pinned = pinned_vector<float>;

#define SINTER_RATE(...) BENCHMARK(__VA_ARGS__)->Arg(1)->Arg(16)->Arg(256)->UseRealTime()
SINTER_RATE(copy_in<pageable>);
SINTER_RATE(copy_in<pinned>);
SINTER_RATE(copy_out<pageable>);
SINTER_RATE(copy_out<pinned>);
SINTER_RATE(there_and_back<pageable, false>);
SINTER_RATE(there_and_back<pageable, true>);
SINTER_RATE(there_and_back<pinned, false>);
SINTER_RATE(there_and_back<pinned, true>);
#undef SINTER_RATE

}  // namespace
