// The smallest program: c = a + b.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>

using namespace sinter;

int main(int argc, char** argv) {
  return samples::run("vector_add", argc, argv, [](samples::report& report) {
    constexpr std::size_t n = 1000000;
    const auto left = samples::random_values<float>(n, -1, 1, 1), right = samples::random_values<float>(n, -1, 1, 2);
    const array a(left), b(right);

    const auto fixed = [&] {
      array c = a + b;  // recorded
      eval(c);          // launched
      return c;
    };
    report.row("fixed", 0, fixed, [&](const array& c) {
      return samples::largest_error(c.to_vector<float>(), [&](std::size_t k) { return left[k] + right[k]; });
    });
  });
}
