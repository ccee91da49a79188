// What a raw kernel's call costs the host, beside the launch that it ends in: through the device for CUDA, through the
// emulation for the cpu device. The kernel does nothing.
#include "dsl/raw_kernel.hpp"
#include "dsl/sinter.hpp"
#include "jit/compile/compiler.hpp"
#include "jit/raw/emulated_module.hpp"
#include "runtime/module.hpp"

#include <benchmark/benchmark.h>

using namespace sinter;

namespace {

constexpr const char* source =
    "extern \"C\" __global__ void idle(float a, const float* x, float* y, int n) { if (n < 0) y[0] += a * x[0]; }";

/// Launches that nobody waits for would fill the device's queue.
constexpr int launches_at_once = 200;

template <class Launch>
void measure(benchmark::State& state, Launch launch) {
  for (auto _ : state) {
    for (int k = 0; k < launches_at_once; ++k) launch();
    state.PauseTiming();
    synchronize();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * launches_at_once);
}

void raw_call(benchmark::State& state) {
  const raw_kernel<void(float, in<float>, inout<float>, std::int32_t)> idle{"idle", source};
  const array x{1.f, 2.f};
  array y{1.f, 2.f};
  measure(state, [&] { idle({.grid = {1}, .block = {32}}, 1.f, x, y, 2); });
}
BENCHMARK(raw_call);

void raw_launch_alone(benchmark::State& state) {
  float a = 1;
  void *x = nullptr, *y = nullptr;
  std::int32_t n = 2;
  void* arguments[] = {&a, &x, &y, &n};
  runtime::device& d = runtime::default_device();
  if (d.kind() == runtime::device_kind::cpu) {
    const auto m = jit::emulated_module::load({"idle", source, {}, {"idle"}, {}});
    const jit::raw_function* f = m->find("idle");
    measure(state, [&] { m->launch(*f, {}, {32, 1, 1}, 0, arguments); });
    return;
  }
  jit::compile_request r;
  r.name = "idle";
  r.source = source;
  r.target = d.target();
  const auto m = d.load_module(jit::compile_cuda(r), "idle");
  const auto f = m->find("idle");
  runtime::launch_shape shape;
  shape.block[0] = 32;
  measure(state, [&] { f->launch(arguments, shape, false); });
}
BENCHMARK(raw_launch_alone);

}  // namespace
