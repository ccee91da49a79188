// The shortest paths between all places of a road map, by Floyd and Warshall: each step looks whether a detour over
// place k is shorter. Every step needs all of the one before, so the loop is one submission of as many passes.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>

using namespace sinter;

namespace {

/// Lengths of roads: a few from each place; 1e6 where there is none.
std::vector<float> roads(std::size_t n) {
  const auto length = samples::random_values<float>(n * n, 1, 100, 1),
             luck = samples::random_values<float>(n * n, 0, 1, 2);
  std::vector<float> d(n * n, 1e6f);
  for (std::size_t k = 0; k < d.size(); ++k)
    if (luck[k] < 8.0f / static_cast<float>(n)) d[k] = length[k];
  for (std::size_t k = 0; k < n; ++k) d[k * n + k] = 0;
  return d;
}

std::vector<float> reference(std::vector<float> d, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) d[i * n + j] = std::min(d[i * n + j], d[i * n + k] + d[k * n + j]);
  return d;
}

void rows_for(samples::report& report, std::int64_t n, bool by_element, const std::string& suffix) {
  const auto size = static_cast<std::size_t>(n);
  const std::vector<float> host = roads(size), want = reference(host, size);
  const array start(host, {n, n});
  const auto error = [&](const array& d) {
    return samples::largest_error(d.to_vector<float>(), [&](std::size_t k) { return want[k]; });
  };
  const auto whole = [&] {
    array d = start;
    for (std::int64_t k = 0; k < n; ++k) d = minimum(d, d(all, k)(all, newaxis) + d(k, all));
    eval(d);
    return d;
  };
  report.row("naive", 0, whole, error, suffix);
  if (!by_element) return;
  const auto elements = [&] {
    array d = start;
    for (std::int64_t k = 0; k < n; ++k)
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j) d(i, j) = minimum(d(i, j), d(i, k) + d(k, j));
    eval(d);
    return d;
  };
  report.row("naive", 0, elements, error, suffix + "_elements");
}

}  // namespace

int main(int argc, char** argv) {
  return samples::run("floyd_warshall", argc, argv, [](samples::report& report) {
    rows_for(report, 48, true, "");
    rows_for(report, default_device().is_cuda() ? 1024 : 256, false, default_device().is_cuda() ? "_1024" : "_256");
  });
}
