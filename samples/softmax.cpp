// Softmax: the numbers of a row become shares that add up to 1. Its maximum, the sum of the exponentials and the
// quotients need the whole row, one after another; yet each row is read once, and all rows are one launch.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>

#include <cmath>

using namespace sinter;

namespace {

/// Along the rows of [n, m]. Less their maximum, no exponential overflows.
array shares(const array& z) {
  array e = exp(z - max(z, 1, keepdims));
  return e / sum(e, 1, keepdims);
}

std::vector<double> shares(const float* row, std::size_t columns) {
  const double most = *std::max_element(row, row + columns);
  std::vector<double> e(columns);
  double sum = 0;
  for (std::size_t k = 0; k < columns; ++k) sum += e[k] = std::exp(row[k] - most);
  for (double& x : e) x /= sum;
  return e;
}

/// What each operation gives, in memory.
array shares_naively(const array& z) {
  const auto now = [](array x) {
    eval(x);
    return x;
  };
  array e = now(exp(now(z - now(max(z, 1, keepdims)))));
  return now(e / now(sum(e, 1, keepdims)));
}

void rows_for(samples::report& report, std::size_t rows, std::size_t columns, const std::string& suffix) {
  const auto host = samples::random_values<float>(rows * columns, -4, 4, 1);
  const array z(host, {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)});
  // Relative: the shares are small. Of many rows, some.
  const auto error = [&](const array& result) {
    const std::size_t step = std::max<std::size_t>(1, rows / 1024);
    std::vector<double> want;
    for (std::size_t row = 0; row < rows; row += step)
      for (const double share : shares(&host[row * columns], columns)) want.push_back(share);
    const array some = result(range(0, end, static_cast<std::int64_t>(step)), all);
    std::vector<double> parts = some.astype(f64).to_vector<double>();
    for (std::size_t k = 0; k < parts.size(); ++k) parts[k] /= want.at(k);
    return samples::largest_error(parts, [](std::size_t) { return 1; });
  };
  const auto call = [&](auto form) {
    return [&z, form] {
      array result = form(z);
      eval(result);
      return result;
    };
  };
  report.row("naive", 2e-6, call([](const array& x) { return shares_naively(x); }), error, suffix);
  report.row("fixed", 2e-6, call([](const array& x) { return shares(x); }), error, suffix);
  report.row("fixed", 2e-6, call([](const array& x) { return softmax(x, 1); }), error, "_by_name" + suffix);
}

}  // namespace

int main(int argc, char** argv) {
  return samples::run("softmax", argc, argv, [](samples::report& report) {
    rows_for(report, 1024, 1000, "");
    if (default_device().is_cuda()) rows_for(report, 65536, 1024, "_65536");
    else rows_for(report, 8192, 1024, "_8192");
  });
}
