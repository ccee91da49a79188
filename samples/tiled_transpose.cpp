// A transpose through tiles of shared memory: rows are read and rows are written, 32 neighbours at a time. The extra
// column keeps the threads of a warp on different banks.
#include "support/harness.hpp"

#include <sinter/raw_kernel.hpp>
#include <sinter/sinter.hpp>

using namespace sinter;

namespace {

constexpr const char* source = R"(
__global__ void transpose_plainly(const float* x, float* y, int rows, int columns) {
  int c = blockIdx.x * 32 + threadIdx.x;
  for (int r = blockIdx.y * 32 + threadIdx.y; r < min(rows, (int)blockIdx.y * 32 + 32); r += 8)
    if (c < columns) y[(long long)c * rows + r] = x[(long long)r * columns + c];
}

__global__ void transpose(const float* x, float* y, int rows, int columns) {
  __shared__ float tile[32][33];
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8)
    if (r + k < rows && c < columns) tile[threadIdx.y + k][threadIdx.x] = x[(long long)(r + k) * columns + c];
  __syncthreads();
  c = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8)
    if (r + k < columns && c < rows) y[(long long)(r + k) * rows + c] = tile[threadIdx.x][threadIdx.y + k];
}
)";

}  // namespace

int main(int argc, char** argv) {
  return samples::run("tiled_transpose", argc, argv, [](samples::report& report) {
    constexpr std::int32_t rows = 1000, columns = 1500;
    const auto values = samples::random_values<float>(rows * columns, -1, 1, 4);
    const array x(values, {rows, columns});
    const raw_module m{"transposes", source};
    const launch_shape tiles{.grid = {(columns + 31) / 32, (rows + 31) / 32}, .block = {32, 8}};
    const auto run = [&](const char* name) {
      return [&, k = m.get_function<void(in<float>, out<float>, std::int32_t, std::int32_t)>(name)] {
        array y = zeros({columns, rows}, f32);
        k(tiles, x, y, rows, columns);
        return y;
      };
    };
    const auto error = [&](const array& y) {
      return samples::largest_error(y.to_vector<float>(),
                                    [&](std::size_t k) { return values[k % rows * columns + k / rows]; });
    };
    report.row("naive", 0, run("transpose_plainly"), error);
    report.row("fixed", 0, run("transpose"), error);
  });
}
