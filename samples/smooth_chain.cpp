// A chain of operations. Evaluated one by one, each is a pass over memory; evaluated once, all of it is one pass.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>

#include <cmath>

using namespace sinter;

int main(int argc, char** argv) {
  return samples::run("smooth_chain", argc, argv, [](samples::report& report) {
    constexpr std::size_t n = 1000000;
    const auto host_a = samples::random_values<float>(n, -1, 1, 1), host_c = samples::random_values<float>(n, -1, 1, 2);
    const array a(host_a), c(host_c);
    const auto error = [&](const array& result) {
      return samples::largest_error(result.to_vector<float>(), [&](std::size_t k) {
        const double x = host_a[k], y = host_c[k];
        return std::sqrt(x * x + y * y) * 0.5 + std::exp(-x);
      });
    };

    const auto naive = [&] {
      const auto now = [](array x) {
        eval(x);
        return x;
      };
      array squares = now(now(a * a) + now(c * c));
      array half = now(now(sqrt(squares)) * 0.5f);
      return now(half + now(exp(now(-a))));
    };
    report.row("naive", 2e-6, naive, error);

    const auto fixed = [&] {
      array result = sqrt(a * a + c * c) * 0.5f + exp(-a);
      eval(result);
      return result;
    };
    report.row("fixed", 2e-6, fixed, error);
  });
}
