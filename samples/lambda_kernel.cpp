// Elementwise kernels from C++: a generic lambda, recorded and fused like an expression, beside the same as a string.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>

#include <cmath>
#include <tuple>

using namespace sinter;

namespace {

const elementwise squared_diff{[](auto x, auto y) { return (x - y) * (x - y); }};
const elementwise squared_diff_string{"squared_diff", "T x, T y", "T z", "z = (x - y) * (x - y)"};

/// Two outputs: from Cartesian to polar coordinates.
const elementwise polar{[](auto x, auto y) { return std::tuple{sqrt(x * x + y * y), atan2(y, x)}; }};

/// A table that the kernel indexes itself, and a struct by value.
struct line { float slope, offset; };
const elementwise graded{"graded", "line p, T x, raw T table", "T y",
                         "const float at = p.slope * x + p.offset;\n"
                         "const ptrdiff_t k = at < 0 ? 0 : at >= table.size() ? table.size() - 1 : (ptrdiff_t)at;\n"
                         "y = x * table[k]",
                         {.preamble = "struct line { float slope, offset; };"}};

}  // namespace

int main(int argc, char** argv) {
  return samples::run("lambda_kernel", argc, argv, [](samples::report& report) {
    constexpr std::size_t n = 1000000;
    const auto left = samples::random_values<float>(n, -1, 1, 1), right = samples::random_values<float>(n, -1, 1, 2);
    const array a(left), b(right), table{1.f, 2.f, 4.f, 8.f};

    const auto distance = [&](std::size_t k) { return std::abs(left[k] - right[k]) + 1; };
    const auto by_lambda = [&] {
      array c = sqrt(squared_diff(a, b)) + 1;  // one launch, as without the lambda
      eval(c);
      return c;
    };
    const auto by_string = [&] {
      array c = sqrt(squared_diff_string(a, b)) + 1;
      eval(c);
      return c;
    };
    const auto both_outputs = [&] {
      auto [r, angle] = polar.results<2>(a, b);
      array back = r * cos(angle);
      eval(back, angle);
      return back;
    };
    const auto with_table = [&] {
      array c = graded(by_value(line{2, 2}), a, table);
      eval(c);
      return c;
    };
    const auto error = [](auto&& want) {
      return [=](const array& c) { return samples::largest_error(c.to_vector<float>(), want); };
    };
    report.row("lambda", 0, by_lambda, error(distance));
    report.row("string", 0, by_string, error(distance));
    report.row("two_outputs", 1e-6, both_outputs, error([&](std::size_t k) { return left[k]; }));
    report.row("raw_table", 0, with_table, error([&](std::size_t k) {
      const auto at = static_cast<std::size_t>(std::min(3.f, std::max(0.f, 2 * left[k] + 2)));
      return left[k] * std::vector<float>{1, 2, 4, 8}[at];
    }));
  });
}
