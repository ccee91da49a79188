// The product of two large matrices: 10000 x 10000 on a GPU, 1500 x 1500 on the cpu. matmul gives it to a BLAS (cuBLAS,
// OpenBLAS); written as a broadcast sum it is one generated kernel, which keeps no tiles near the arithmetic. Around
// the library all fuses as ever: scaled and shifted inputs are a launch before it, bias and ramp one after it.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>

using namespace sinter;

namespace {

/// Some elements of max(a b + bias, 0), from plain loops in double.
struct some_elements {
  std::vector<float> a, b;
  std::size_t n;
  bool ramped;

  double error_of(const array& c) const {
    double largest = 0;
    for (std::size_t k = 0; k < 40; ++k) {
      const std::size_t i = k * 7919 % n, j = k * 104729 % n;
      double total = ramped ? 0.25 : 0.0, size = 1;
      for (std::size_t l = 0; l < n; ++l) {
        const double product = static_cast<double>(a[i * n + l]) * static_cast<double>(b[l * n + j]);
        total += product;
        size += std::abs(product);
      }
      if (ramped) total = std::max(total, 0.0);
      const float got = c(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)).item<float>();
      largest = std::max(largest, std::abs(static_cast<double>(got) - total) / size);
    }
    return largest;
  }
};

}  // namespace

int main(int argc, char** argv) {
  return samples::run("dot_large", argc, argv, [](samples::report& report) {
    const std::int64_t n = default_device().is_cuda() ? 10000 : 1500;
    const auto count = static_cast<std::size_t>(n * n);
    some_elements want{samples::random_values<float>(count, -1, 1, 1), samples::random_values<float>(count, -1, 1, 2),
                       static_cast<std::size_t>(n), false};
    const array a(want.a, {n, n}), b(want.b, {n, n}), bias = full({n}, 0.25f, f32);
    eval(bias);
    double seconds = 0;
    const auto timed = [&](const auto& make) {
      const auto start = std::chrono::steady_clock::now();
      array c = make();
      eval(c);
      synchronize();
      seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      return c;
    };
    const auto error = [&](const array& c) { return want.error_of(c); };
    const double tolerance = 1e-5;  // of the sum of magnitudes; f32 sums
    const double flops = 2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
    const auto tell = [&](const char* what) { std::printf("# %s: %.0f GFLOP/s\n", what, flops / seconds / 1e9); };

    // One launch too, but it reads each factor n times.
    const std::int64_t part = n / 50;
    report.row("naive", tolerance, [&] {
      array c = zeros({n, n}, f32);
      c(range(0, part), all) = sum(a(range(0, part), all, newaxis) * b(newaxis, all, all), 1);
      eval(c);
      return c;
    }, [&](const array& c) { return std::abs(static_cast<double>((c(0, 0) - sum(a(0) * b(all, 0))).item<float>())) / 100; },
               "_rows");
    report.row("fixed", tolerance, [&] { return timed([&] { return matmul(a, b); }); }, error);
    tell("matmul");
    report.row("fixed", tolerance, [&] { return timed([&] { return matmul(a, transpose(transpose(b))); }); }, error, "_views");
    want.ramped = true;
    report.row("fixed", tolerance, [&] { return timed([&] { return maximum(matmul(a, b) + bias, 0); }); }, error, "_layer", 2);
    tell("a layer: bias and ramp");
  });
}
