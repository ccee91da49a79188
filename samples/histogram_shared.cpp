// A histogram of bytes. Naive: all threads count in global memory. Fixed: each block counts in shared memory, then adds
// what it found.
#include "support/harness.hpp"

#include <sinter/raw_kernel.hpp>
#include <sinter/sinter.hpp>

using namespace sinter;

namespace {

constexpr const char* source = R"(
__global__ void count_globally(const unsigned char* x, unsigned* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[x[i]], 1u);
}

__global__ void count_in_blocks(const unsigned char* x, unsigned* bins, int n) {
  __shared__ unsigned own[256];
  for (int k = threadIdx.x; k < 256; k += blockDim.x) own[k] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[x[i]], 1u);
  __syncthreads();
  for (int k = threadIdx.x; k < 256; k += blockDim.x) atomicAdd(&bins[k], own[k]);
}
)";

using counting_kernel = raw_kernel<void(in<std::uint8_t>, inout<std::uint32_t>, std::int32_t)>;

}  // namespace

int main(int argc, char** argv) {
  return samples::run("histogram_shared", argc, argv, [](samples::report& report) {
    constexpr std::int32_t n = 1 << 20;
    std::vector<std::uint8_t> bytes;
    for (const double x : samples::random_values<double>(n, 0, 16, 3))
      bytes.push_back(static_cast<std::uint8_t>(x * x));  // few of them are large
    std::vector<std::uint32_t> want(256);
    for (const std::uint8_t b : bytes) ++want[b];
    const array x(bytes);

    const raw_module m{"histogram", source};
    const auto count = [&](const counting_kernel& k, const launch_shape& shape) {
      return [&, k, shape] {
        array bins(std::vector<std::uint32_t>(256));
        k(shape, x, bins, n);
        return bins;
      };
    };
    const auto error = [&](const array& bins) {
      return samples::largest_error(bins.to_vector<std::uint32_t>(), [&](std::size_t k) { return want[k]; });
    };
    using signature = void(in<std::uint8_t>, inout<std::uint32_t>, std::int32_t);
    report.row("naive", 0, count(m.get_function<signature>("count_globally"), for_each(n)), error);
    report.row("fixed", 0, count(m.get_function<signature>("count_in_blocks"), {.grid = {128}, .block = {256}}), error);
  });
}
