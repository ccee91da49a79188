// Particles as people first write them in CUDA: a float4 each, a kernel for a time step, launched with one thread a
// block. That is what it is told to do, and what it is warned about; for_each finds a shape that fills the device.
#include "support/harness.hpp"

#include <sinter/raw_kernel.hpp>
#include <sinter/sinter.hpp>

using namespace sinter;

namespace {

/// x, mass, velocity, acceleration: the columns of samples/particles.cpp.
constexpr const char* source = R"(
__global__ void advance(float4* particles, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 p = particles[i];
  p.x += p.z;
  p.z += p.w;
  particles[i] = p;
}
)";

const raw_kernel<void(inout<float>, std::int32_t)> advance{"advance", source};

constexpr std::int32_t count = 100000;

double error_after(int steps, const std::vector<float>& start, const array& b) {
  std::vector<float> want = start;
  for (std::size_t k = 0; k < want.size(); k += 4)
    for (int t = 0; t < steps; ++t) {
      want[k] += want[k + 2];
      want[k + 2] += want[k + 3];
    }
  return samples::largest_error(b.to_vector<float>(), [&](std::size_t k) { return want[k]; });
}

void step_by_step(samples::report& report, const std::string& form, const launch_shape& shape) {
  const std::vector<float> start = samples::random_values<float>(4 * count, -0.1, 0.1, 1);
  array particles(start, {count, 4});
  int steps = 0;
  const auto call = [&] {
    advance(shape, particles, count);
    ++steps;
    return particles;
  };
  report.row(
      form, 0, call, [&](const array& b) { return error_after(steps, start, b); }, "", 1);
}

}  // namespace

int main(int argc, char** argv) {
  return samples::run("particles_raw", argc, argv, [](samples::report& report) {
    step_by_step(report, "naive", {.grid = {count}, .block = {1}});
    step_by_step(report, "fixed", for_each(count));
  });
}
