// One templated kernel for several types and widths: a module makes the instances that are asked for, and its
// __constant__ weights are set from an array.
#include "support/harness.hpp"

#include <sinter/raw_kernel.hpp>
#include <sinter/sinter.hpp>

using namespace sinter;

namespace {

constexpr const char* source = R"(
__constant__ float weights[16];

/// The weighted mean of Width neighbours; what is past the ends counts as the first and the last element.
template <typename T, int Width>
__global__ void smooth(const T* x, T* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T sum = 0;
  for (int k = 0; k < Width; ++k) {
    int at = i + k - Width / 2;
    sum += weights[k] * x[at < 0 ? 0 : at >= n ? n - 1 : at];
  }
  y[i] = sum;
}
)";

template <class T>
void smooth(samples::report& report, const raw_module& m, const std::string& instance, int width,
            const std::string& suffix) {
  constexpr std::int32_t n = 100000;
  const auto values = samples::random_values<T>(n, -1, 1, 6);
  const array x(values);
  const raw_kernel<void(in<T>, out<T>, std::int32_t)> k = m.get_function<void(in<T>, out<T>, std::int32_t)>(instance);
  const auto fixed = [&] {
    array y = zeros({n}, dtype_of<T>);
    k(for_each(n), x, y, n);
    return y;
  };
  const auto error = [&](const array& y) {
    return samples::largest_error(y.template to_vector<T>(), [&](std::size_t i) {
      double sum = 0;
      for (int j = 0; j < width; ++j)
        sum +=
            1.0 / width * values[static_cast<std::size_t>(std::clamp(static_cast<int>(i) + j - width / 2, 0, n - 1))];
      return sum;
    });
  };
  report.row("fixed", 1e-6, fixed, error, suffix);
}

}  // namespace

int main(int argc, char** argv) {
  return samples::run("template_module", argc, argv, [](samples::report& report) {
    const raw_module m{"filters", source, {}, {"smooth<float, 3>", "smooth<double, 3>"}};
    std::vector<float> weights(16);
    std::fill_n(weights.begin(), 3, 1.0f / 3);
    m.set_global("weights", array(weights));
    smooth<float>(report, m, "smooth<float, 3>", 3, "");
    smooth<double>(report, m, "smooth<double, 3>", 3, "_double");
    std::fill_n(weights.begin(), 8, 1.0f / 8);
    m.set_global("weights", array(weights));
    smooth<float>(report, m, "smooth<float, 8>", 8, "_wide");
  });
}
