// Layer normalisation: each row gets mean 0 and variance 1, then a scale and a shift for each column. The row's mean
// and variance, and all that is done with them, are one launch: a row is read once and written once.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>

#include <cmath>

using namespace sinter;

namespace {

constexpr float epsilon = 1e-5f;

/// [n, m], [m], [m] -> [n, m].
array layer_norm(const array& x, const array& gamma, const array& beta) {
  return (x - mean(x, 1, keepdims)) * rsqrt(var(x, 1, keepdims) + epsilon) * gamma + beta;
}

/// The same with the variance spelled out.
array layer_norm_by_means(const array& x, const array& gamma, const array& beta) {
  array centred = x - mean(x, 1, keepdims);
  return centred * rsqrt(mean(square(centred), 1, keepdims) + epsilon) * gamma + beta;
}

/// What each operation gives, in memory.
array layer_norm_naively(const array& x, const array& gamma, const array& beta) {
  const auto now = [](array a) {
    eval(a);
    return a;
  };
  array centred = now(x - now(mean(x, 1, keepdims)));
  array variance = now(mean(now(square(centred)), 1, keepdims));
  array normal = now(centred * now(rsqrt(now(variance + epsilon))));
  return now(now(normal * gamma) + beta);
}

struct numbers {
  std::size_t rows, columns;
  std::vector<float> x = samples::random_values<float>(rows * columns, -1, 3, 1);
  std::vector<float> gamma = samples::random_values<float>(columns, 0.5, 1.5, 2);
  std::vector<float> beta = samples::random_values<float>(columns, -1, 1, 3);

  std::vector<double> normal_row(std::size_t row) const {
    const std::vector<double> values(&x[row * columns], &x[row * columns] + columns);
    const double n = static_cast<double>(columns);
    double mean = 0, variance = static_cast<double>(epsilon);
    for (const double value : values) mean += value / n;
    for (const double value : values) variance += (value - mean) * (value - mean) / n;
    std::vector<double> result(columns);
    for (std::size_t k = 0; k < columns; ++k)
      result[k] =
          (values[k] - mean) / std::sqrt(variance) * static_cast<double>(gamma[k]) + static_cast<double>(beta[k]);
    return result;
  }
};

void rows_for(samples::report& report, std::size_t rows, std::size_t columns, const std::string& suffix) {
  const numbers host{rows, columns};
  const array x(host.x, {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)});
  const array gamma(host.gamma), beta(host.beta);
  // Of many rows, some.
  const auto error = [&](const array& result) {
    const std::size_t step = std::max<std::size_t>(1, rows / 1024);
    std::vector<double> want;
    for (std::size_t row = 0; row < rows; row += step)
      for (const double value : host.normal_row(row)) want.push_back(value);
    return samples::largest_error(result(range(0, end, static_cast<std::int64_t>(step)), all).to_vector<float>(),
                                  [&](std::size_t k) { return want.at(k); });
  };
  const auto row = [&](const char* form, array (*normal)(const array&, const array&, const array&),
                       const std::string& name) {
    const auto call = [&, normal] {
      array result = normal(x, gamma, beta);
      eval(result);
      return result;
    };
    report.row(form, 2e-6, call, error, name + suffix);
  };
  row("naive", layer_norm_naively, "");
  row("fixed", layer_norm, "");
  row("fixed", layer_norm_by_means, "_by_means");
}

}  // namespace

int main(int argc, char** argv) {
  return samples::run("layer_norm", argc, argv, [](samples::report& report) {
    rows_for(report, 1024, 1000, "");
    if (default_device().is_cuda()) rows_for(report, 65536, 1024, "_65536");
    else rows_for(report, 8192, 1024, "_8192");
  });
}
