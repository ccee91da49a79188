// Five statistics of the same numbers. Evaluated together, they are one launch that reads each number once: of all
// numbers, and of each row.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>

using namespace sinter;

namespace {

struct summary {
  array mean, variance, least, most, where;
};

summary summary_of(const array& x) { return {mean(x), var(x), min(x), max(x), argmax(x)}; }

/// Of each row.
summary summary_of_rows(const array& x) { return {mean(x, 1), var(x, 1), min(x, 1), max(x, 1), argmax(x, 1)}; }

/// The error of the statistics of numbers first[0 .. count), which are element k of each array. Those that aren't
/// computed but picked have to be exact.
double error_of(const summary& s, std::int64_t k, const float* first, std::size_t count) {
  double mean = 0, variance = 0;
  const double n = static_cast<double>(count);
  for (std::size_t i = 0; i < count; ++i) mean += static_cast<double>(first[i]);
  mean /= n;
  for (std::size_t i = 0; i < count; ++i) variance += (first[i] - mean) * (first[i] - mean);
  const float* const least = std::min_element(first, first + count);
  const float* const most = std::max_element(first, first + count);
  const bool exact = s.least(k).item<float>() == *least && s.most(k).item<float>() == *most &&
                     s.where(k).item<std::int64_t>() == most - first;
  if (!exact) return std::numeric_limits<double>::infinity();
  const std::vector<float> got{s.mean(k).item<float>(), s.variance(k).item<float>()};
  return samples::largest_error(got, [&](std::size_t which) { return which == 0 ? mean : variance / n; });
}

void of_all(samples::report& report, std::size_t n, const std::string& suffix) {
  const auto host = samples::random_values<float>(n, -1, 3, 1);
  const array x(host);
  const auto error = [&](const summary& s) {
    const auto row = [](const array& a) { return a(newaxis); };
    return error_of({row(s.mean), row(s.variance), row(s.least), row(s.most), row(s.where)}, 0, host.data(), n);
  };

  const auto naive = [&] {
    summary s = summary_of(x);
    for (const array* one : {&s.mean, &s.variance, &s.least, &s.most, &s.where}) eval(*one);
    return s;
  };
  report.row("naive", 1e-6, naive, error, suffix);

  const auto fixed = [&] {
    summary s = summary_of(x);
    eval(s.mean, s.variance, s.least, s.most, s.where);
    return s;
  };
  report.row("fixed", 1e-6, fixed, error, suffix);
}

void of_rows(samples::report& report) {
  constexpr std::size_t rows = 1000, columns = 1000;
  const auto host = samples::random_values<float>(rows * columns, -1, 3, 1);
  const array x(host, {rows, columns});
  const auto fixed = [&] {
    summary s = summary_of_rows(x);
    eval(s.mean, s.variance, s.least, s.most, s.where);
    return s;
  };
  const auto error = [&](const summary& s) {
    double largest = 0;
    for (std::size_t k = 0; k < rows; ++k)
      largest = std::max(largest, error_of(s, static_cast<std::int64_t>(k), &host[k * columns], columns));
    return largest;
  };
  report.row("fixed", 1e-6, fixed, error, "_rows");
}

}  // namespace

int main(int argc, char** argv) {
  return samples::run("statistics", argc, argv, [](samples::report& report) {
    of_all(report, 1000000, "");
    of_rows(report);
    if (default_device().is_cuda()) of_all(report, 100000000, "_1e8");
  });
}
