// Sums of blocks by warp shuffles, put together by the last block to finish: one launch for the whole sum.
#include "support/harness.hpp"

#include <sinter/raw_kernel.hpp>
#include <sinter/sinter.hpp>

#include <numeric>

using namespace sinter;

namespace {

constexpr const char* source = R"(
__device__ unsigned finished;

__device__ double sum_of_block(double x) {
  __shared__ double partial[32];
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_down_sync(0xffffffff, x, offset);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = x;
  __syncthreads();
  x = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
  if (threadIdx.x < 32)
    for (int offset = 16; offset > 0; offset /= 2) x += __shfl_down_sync(0xffffffff, x, offset);
  __syncthreads();
  return x;
}

__global__ void total(const float* x, double* blocks, double* sum, int n) {
  __shared__ bool is_last;
  double own = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) own += x[i];
  own = sum_of_block(own);
  if (threadIdx.x == 0) {
    blocks[blockIdx.x] = own;
    __threadfence();
    is_last = atomicAdd(&finished, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  own = sum_of_block(threadIdx.x < gridDim.x ? blocks[threadIdx.x] : 0);
  if (threadIdx.x == 0) {
    *sum = own;
    finished = 0;  // for the next launch
  }
}
)";

}  // namespace

int main(int argc, char** argv) {
  return samples::run("reduce_shuffle", argc, argv, [](samples::report& report) {
    constexpr std::int32_t n = 1000000, blocks = 256;
    const auto values = samples::random_values<float>(n, -1, 1, 5);
    const double want = std::accumulate(values.begin(), values.end(), 0.0);
    const array x(values);
    const raw_kernel<void(in<float>, out<double>, out<double>, std::int32_t)> total{"total", source};
    array partial = zeros({blocks}, f64), sum = zeros({1}, f64);
    const auto fixed = [&] {
      total({.grid = {blocks}, .block = {256}}, x, partial, sum, n);
      return sum;
    };
    report.row("fixed", 1e-12, fixed,
               [&](const array& s) { return std::abs(s.item<double>() - want) / std::abs(want); });
  });
}
