// A product of matrices as it is defined: three loops around one statement on elements. They fold into one launch in
// which each element of the product adds up its own sum. Recording takes far longer than running: for more than small
// matrices write matmul.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>

using namespace sinter;

namespace {

constexpr std::int64_t n = 100, m = 80, depth = 120;

}  // namespace

int main(int argc, char** argv) {
  return samples::run("matmul_loops", argc, argv, [](samples::report& report) {
    const auto host_a = samples::random_values<double>(n * depth, -1, 1, 1);
    const auto host_b = samples::random_values<double>(depth * m, -1, 1, 2);
    const array a(host_a, {n, depth}), b(host_b, {depth, m});
    const auto error = [&](const array& c) {
      return samples::largest_error(c.to_vector<double>(), [&](std::size_t at) {
        const std::size_t i = at / m, j = at % m;
        double total = 0;
        for (std::size_t k = 0; k < depth; ++k) total += host_a[i * depth + k] * host_b[k * m + j];
        return total;
      });
    };

    const auto naive = [&] {
      array c = zeros({n, m}, f64);
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < m; ++j)
          for (std::int64_t k = 0; k < depth; ++k) c(i, j) += a(i, k) * b(k, j);
      eval(c);
      return c;
    };
    report.row("naive", 1e-13, naive, error, "", 1);

    // Rows of b at once: fewer statements, the same launch.
    const auto rows = [&] {
      array c = zeros({n, m}, f64);
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t k = 0; k < depth; ++k) c(i, all) += a(i, k) * b(k, all);
      eval(c);
      return c;
    };
    report.row("naive", 1e-13, rows, error, "_rows", 1);

    const auto fixed = [&] {
      array c = matmul(a, b);
      eval(c);
      return c;
    };
    report.row("fixed", 1e-13, fixed, error);
  });
}
