// What the host pays: recording, finding a cached kernel, starting it. Arrays are tiny, so that kernels take no time.
#include "dsl/compile.hpp"
#include "tests/bench/support.hpp"

namespace {

using namespace sinter;

/// Time over nodes recorded meanwhile, freeing included.
class node_counter {
 public:
  void report(benchmark::State& state) const {
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start_;
    state.counters["ns_per_node"] = spent.count() / static_cast<double>(stats().recorded - before_);
  }

 private:
  std::uint64_t before_ = stats().recorded;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

template <class Step>
void record_chain(benchmark::State& state, Step step) {
  const array x = bench::random_array(f32, {16});
  const node_counter nodes;
  while (state.KeepRunningBatch(200)) {
    array y = x;
    for (int k = 0; k < 200; ++k) y = step(y, x);
    benchmark::DoNotOptimize(y);
  }
  nodes.report(state);
}

void record_add(benchmark::State& state) {
  record_chain(state, [](const array& y, const array& x) { return y + x; });
}
void record_multiply_scalar(benchmark::State& state) {
  record_chain(state, [](const array& y, const array&) { return y * 1.0001f; });
}
void record_slice(benchmark::State& state) {
  record_chain(state, [](const array&, const array& x) { return x(range(1, -1)); });
}
BENCHMARK(record_add);
BENCHMARK(record_multiply_scalar);
BENCHMARK(record_slice);

/// Five operations on two arrays.
array five(const array& a, const array& b, float s) { return abs((a + b) * s - a) + b; }

/// Record and evaluate, kernel cached. On cuda: enqueue only; the queue is emptied off the clock.
void warm(benchmark::State& state) {
  const array a = bench::random_array(f32, {state.range(0)}, 1), b = bench::random_array(f32, {state.range(0)}, 2);
  eval(five(a, b, 0.5f));
  synchronize();
  const std::uint64_t compiled = stats().compiles;
  float s = 0;  // another number each time: it mustn't compile
  while (state.KeepRunningBatch(100)) {
    for (int k = 0; k < 100; ++k) eval(five(a, b, s += 0.5f));
    state.PauseTiming();
    synchronize();
    state.ResumeTiming();
  }
  state.counters["compiles"] = static_cast<double>(stats().compiles - compiled);
}
BENCHMARK(warm)->Arg(1)->Arg(16)->Arg(1000)->UseRealTime();

/// Enqueue of `call`, 100 to a wait.
template <class Call>
void enqueue(benchmark::State& state, Call call) {
  for (int k = 0; k < 4; ++k) call();
  synchronize();
  while (state.KeepRunningBatch(100)) {
    for (int k = 0; k < 100; ++k) call();
    state.PauseTiming();
    synchronize();
    state.ResumeTiming();
  }
}

/// The same as warm(), replayed.
void warm_compiled(benchmark::State& state) {
  const array a = bench::random_array(f32, {state.range(0)}, 1), b = bench::random_array(f32, {state.range(0)}, 2);
  auto step = compile([](array x, array y, array s) { return abs((x + y) * s - x) + y; });
  float s = 0;
  enqueue(state, [&] { step(a, b, s += 0.5f); });
}
BENCHMARK(warm_compiled)->Arg(1)->Arg(16)->Arg(1000)->UseRealTime();

/// In the memory of its argument: nothing is allocated.
void warm_donated(benchmark::State& state) {
  array a = bench::own(bench::random_array(f32, {state.range(0)}, 1));
  auto step = compile([](array x) { return x * 0.5f + 1; });
  enqueue(state, [&] { a = step(std::move(a)); });
}
BENCHMARK(warm_donated)->Arg(16)->UseRealTime();

/// Functions of so many launches, which on cuda are one graph from 3 on.
void warm_launches(benchmark::State& state) {
  const array a = bench::random_array(f32, {16}, 1);
  auto step = compile([&](array x) {
    for (std::int64_t k = 0; k < state.range(0); ++k) {
      x = x * 0.5f + 1;
      eval(x);
    }
    return x;
  });
  enqueue(state, [&] { step(a); });
}
BENCHMARK(warm_launches)->DenseRange(1, 4)->Arg(8)->Arg(32)->UseRealTime();

/// The cpu device without a compiler: what the interpreter adds.
void warm_interpreted(benchmark::State& state) {
  const cpu_executor usual = get_cpu_executor();
  set_cpu_executor(cpu_executor::interpreter);
  warm(state);
  set_cpu_executor(usual);
}
[[maybe_unused]] const bool registered =
    !bench::on_cuda() &&
    benchmark::RegisterBenchmark("warm_interpreted", warm_interpreted)->Arg(16)->Arg(1000)->UseRealTime();

/// The same from several threads, each with arrays of its own. Calls a second should grow with the threads.
void warm_threads(benchmark::State& state) {
  const auto seed = 10 + 2 * static_cast<std::uint64_t>(state.thread_index());
  const array a = bench::random_array(f32, {16}, seed), b = bench::random_array(f32, {16}, seed + 1);
  eval(five(a, b, 0.5f));
  synchronize();
  for (auto _ : state) eval(five(a, b, 0.25f));
  state.counters["calls"] = benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(warm_threads)->Threads(1)->Threads(2)->UseRealTime();

/// 10 000 operations in a row: recorded, evaluated, read, freed.
void long_chain(benchmark::State& state) {
  const array x = bench::random_array(f32, {16});
  const auto run = [&] {
    array y = x;
    for (int k = 0; k < 5000; ++k) y = y * 0.999f + 0.001f;
    eval(y);
    synchronize();
  };
  run();
  const std::uint64_t before = stats().launches;
  for (auto _ : state) run();
  state.counters["launches"] =
      static_cast<double>(stats().launches - before) / static_cast<double>(state.iterations());
}
BENCHMARK(long_chain)->UseRealTime()->Unit(benchmark::kMillisecond);

/// `eval` of an array that is there already, and reading one number back.
void eval_again(benchmark::State& state) {
  const array x = bench::random_array(f32, {16});
  for (auto _ : state) eval(x);
}
void read_item(benchmark::State& state) {
  const array x = bench::random_array(f32, {1});
  for (auto _ : state) benchmark::DoNotOptimize(x.item<float>());
}
BENCHMARK(eval_again);
BENCHMARK(read_item)->UseRealTime();

}  // namespace
