// The first CUDA program: c = a + b, a thread an element.
#include "support/harness.hpp"

#include <sinter/raw_kernel.hpp>
#include <sinter/sinter.hpp>

using namespace sinter;

int main(int argc, char** argv) {
  return samples::run("vector_add_raw", argc, argv, [](samples::report& report) {
    constexpr std::int32_t n = 1000000;
    const auto left = samples::random_values<float>(n, -1, 1, 1), right = samples::random_values<float>(n, -1, 1, 2);
    const array a(left), b(right);

    const raw_kernel<void(in<float>, in<float>, out<float>, std::int32_t)> add{"add", R"(
__global__ void add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
)"};
    array c = zeros({n}, f32);
    const auto fixed = [&] {
      add(for_each(n), a, b, c, n);
      return c;
    };
    report.row("fixed", 0, fixed, [&](const array& sum) {
      return samples::largest_error(sum.to_vector<float>(), [&](std::size_t k) { return left[k] + right[k]; });
    });
  });
}
