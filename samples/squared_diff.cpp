// (x[i] - y[j])^2 for all i and j: as a broadcast, as a loop that computes one element at a time and runs as one
// launch, and by a kernel written as a string. None makes copies of x or y.
#include "support/harness.hpp"
#include "support/memory.hpp"

#include <sinter/sinter.hpp>

using namespace sinter;

namespace {

/// Compares elements at random places: a large result needn't be copied to the host, nor computed there.
double error_of_some(const array& d, const std::vector<double>& x, const std::vector<double>& y) {
  constexpr std::size_t count = 10000;
  const auto rows = samples::random_values<std::int64_t>(count, 0, static_cast<double>(x.size()), 3);
  const auto columns = samples::random_values<std::int64_t>(count, 0, static_cast<double>(y.size()), 4);
  const array i(rows), j(columns);
  return samples::largest_error(d(i, j).to_vector<double>(), [&](std::size_t k) {
    const double diff = x[static_cast<std::size_t>(rows[k])] - y[static_cast<std::size_t>(columns[k])];
    return diff * diff;
  });
}

void rows_for(samples::report& report, std::size_t n, const std::string& suffix) {
  const auto host_x = samples::random_values<double>(n, -1, 1, 1), host_y = samples::random_values<double>(n, -1, 1, 2);
  const array x(host_x), y(host_y);
  const auto error = [&](const array& d) { return error_of_some(d, host_x, host_y); };

  const auto broadcast = [&] {
    array d = square(x(all, newaxis) - y(newaxis, all));  // [n], [m] -> [n, m]
    eval(d);
    return d;
  };
  report.row("fixed", 1e-15, broadcast, error, suffix);

  const elementwise squared_diff{"squared_diff", "T x, T y", "T z", "z = (x - y) * (x - y)"};
  const auto string_kernel = [&] {
    array d = squared_diff(x(all, newaxis), y(newaxis, all));
    eval(d);
    return d;
  };
  report.row("fixed", 1e-15, string_kernel, error, suffix + "_str");
}

/// A million statements of an element each. They fold into one launch while they are recorded.
void element_by_element(samples::report& report) {
  constexpr std::int64_t n = 1000;
  const auto host_x = samples::random_values<double>(n, -1, 1, 1), host_y = samples::random_values<double>(n, -1, 1, 2);
  const array x(host_x), y(host_y);
  const auto error = [&](const array& d) { return error_of_some(d, host_x, host_y); };

  const auto elements = [&] {
    array d = zeros({n, n}, f64);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) d(i, j) = square(x(i) - y(j));
    eval(d);
    return d;
  };
  report.row("naive", 1e-15, elements, error, "", 1);

  const elementwise squared_diff{"squared_diff", "T x, T y", "T z", "z = (x - y) * (x - y)"};
  const auto string_kernel = [&] {
    array d = zeros({n, n}, f64);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) d(i, j) = squared_diff(x(i), y(j));
    eval(d);
    return d;
  };
  report.row("naive", 1e-15, string_kernel, error, "_str", 1);
}

}  // namespace

int main(int argc, char** argv) {
  return samples::run("squared_diff", argc, argv, [](samples::report& report) {
    element_by_element(report);
    rows_for(report, 1000, "");

    constexpr std::size_t large = 30000;
    constexpr double needed = 1.25 * large * large * sizeof(double);
    if (!default_device().is_cuda() && samples::free_host_bytes() < needed) {
      std::fprintf(stderr, "squared_diff: 30000 x 30000 is left out: %.1f GB of memory are needed, %.1f are free\n",
                   needed / 1e9, samples::free_host_bytes() / 1e9);
      return;
    }
    try {
      rows_for(report, large, "_30k");
    } catch (const out_of_memory& e) {
      std::fprintf(stderr, "squared_diff: 30000 x 30000 is left out: %s\n", e.what());
    }
  });
}
