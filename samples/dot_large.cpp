// The product of two large matrices: 10000 x 10000 on a GPU, 1500 x 1500 on the cpu. matmul gives it to a BLAS (cuBLAS,
// OpenBLAS), transposed factors as they lie. Around the library all fuses as ever: a layer's bias and ramp are one
// launch after it. The naive form multiplies a few rows at a time.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>

using namespace sinter;

namespace {

constexpr float shift = 0.25f;

/// Some elements of a b, or of max(a b + shift, 0), by plain loops in double.
struct some_elements {
  std::vector<float> a, b;
  std::size_t n;

  /// Of the sum of magnitudes that an element is made of.
  double largest_error(const array& c, bool is_layer) const {
    double largest = 0;
    for (std::size_t k = 0; k < 40; ++k) {
      const std::size_t i = k * 7919 % n, j = k * 104729 % n;
      double total = is_layer ? double{shift} : 0.0, size = 1;
      for (std::size_t l = 0; l < n; ++l) {
        const double product = static_cast<double>(a[i * n + l]) * static_cast<double>(b[l * n + j]);
        total += product;
        size += std::abs(product);
      }
      if (is_layer) total = std::max(total, 0.0);
      const float got = c(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)).item<float>();
      largest = std::max(largest, std::abs(static_cast<double>(got) - total) / size);
    }
    return largest;
  }
};

/// Calls `make` and keeps how long it took.
template <class Make>
array timed(double& seconds, Make make) {
  const auto start = std::chrono::steady_clock::now();
  array c = make();
  eval(c);
  synchronize();
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return c;
}

}  // namespace

int main(int argc, char** argv) {
  return samples::run("dot_large", argc, argv, [](samples::report& report) {
    const std::int64_t n = default_device().is_cuda() ? 10000 : 1500;
    const auto count = static_cast<std::size_t>(n * n);
    const some_elements want{samples::random_values<float>(count, -1, 1, 1),
                             samples::random_values<float>(count, -1, 1, 2), static_cast<std::size_t>(n)};
    const array a(want.a, {n, n}), b(want.b, {n, n}), bias = full({n}, shift, f32);
    eval(bias);
    const array columns = transpose(b) * 1;  // b's columns as rows
    eval(columns);
    const auto product_error = [&](const array& c) { return want.largest_error(c, false); };
    const auto layer_error = [&](const array& c) { return want.largest_error(c, true); };
    const double flops = 2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
    double seconds = 0;
    const auto tell_speed = [&] { std::printf("# %.0f GFLOP/s\n", flops / seconds / 1e9); };
    constexpr double tolerance = 1e-5;

    const auto row_by_row = [&] {
      return timed(seconds, [&] {
        array c = zeros({n, n}, f32);
        for (std::int64_t i = 0; i < n; i += n / 100) c(range(i, i + n / 100)) = matmul(a(range(i, i + n / 100)), b);
        return c;
      });
    };
    report.row("naive", tolerance, row_by_row, product_error);
    tell_speed();
    report.row("fixed", tolerance, [&] { return timed(seconds, [&] { return matmul(a, b); }); }, product_error);
    tell_speed();
    const auto transposed = [&] { return timed(seconds, [&] { return matmul(a, transpose(columns)); }); };
    report.row("fixed", tolerance, transposed, product_error, "_columns");
    tell_speed();
    const auto layer = [&] { return timed(seconds, [&] { return maximum(matmul(a, b) + bias, 0); }); };
    report.row("fixed", tolerance, layer, layer_error, "_layer", 2);
    tell_speed();
  });
}
