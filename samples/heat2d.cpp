// Heat spreads over a plate: views of an array moved by one, and a write through a view. A time step is one launch, a
// loop of them one submission.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>

using namespace sinter;

namespace {

constexpr range inner(1, -1), before(0, -2), after(2, end);

/// A point takes a tenth of what each of its four neighbours has more than it. The rim keeps its heat.
void step(array& u) {
  array gain = u(before, inner) + u(after, inner) + u(inner, before) + u(inner, after) - 4 * u(inner, inner);
  u(inner, inner) += 0.1f * gain;
}

/// Every sum in memory before the next is begun.
void step_naively(array& u) {
  array rows = u(before, inner) + u(after, inner);
  eval(rows);
  array columns = u(inner, before) + u(inner, after);
  eval(columns);
  array gain = rows + columns - 4 * u(inner, inner);
  eval(gain);
  u(inner, inner) += 0.1f * gain;
}

/// A cold plate, hot along its upper rim and in a square: [n, n].
array plate(std::int64_t n) {
  array u = zeros({n, n}, f32);
  u(0, all) = 1;
  u(range(n / 2, n * 3 / 4), range(n / 4, n / 2)) = 1;
  eval(u);
  return u;
}

/// The same on the host, after some steps.
std::vector<float> reference(std::size_t n, int steps) {
  std::vector<float> u(n * n, 0.0f);
  std::fill_n(u.begin(), n, 1.0f);
  for (std::size_t i = n / 2; i < n * 3 / 4; ++i)
    for (std::size_t j = n / 4; j < n / 2; ++j) u[i * n + j] = 1;
  for (std::vector<float> next = u; steps > 0; --steps) {
    for (std::size_t i = 1; i + 1 < n; ++i)
      for (std::size_t k = i * n + 1; k + 1 < (i + 1) * n; ++k)
        next[k] = u[k] + 0.1f * (u[k - n] + u[k + n] + u[k - 1] + u[k + 1] - 4 * u[k]);
    u.swap(next);
  }
  return u;
}

/// One step a call; the comparison takes as many.
void row(samples::report& report, const std::string& form, std::int64_t n, void (*advance)(array&),
         const std::string& suffix = "") {
  array u = plate(n);
  int steps = 0;
  const auto call = [&] {
    advance(u);
    eval(u);
    ++steps;
    return u;
  };
  const auto error = [&](const array& got) {
    const std::vector<float> want = reference(static_cast<std::size_t>(n), steps);
    return samples::largest_error(got.to_vector<float>(), [&](std::size_t k) { return want[k]; });
  };
  report.row(form, 1e-6, call, error, suffix);
}

/// What a square of `size` points of the plate, with its first corner at (row, column), holds after some steps: those
/// that are `steps` away from its rim don't feel that it ends there.
std::vector<float> reference_inside(std::size_t n, std::size_t row, std::size_t column, std::size_t size, int steps) {
  std::vector<float> u;
  for (std::size_t i = row; i < row + size; ++i)
    for (std::size_t j = column; j < column + size; ++j)
      u.push_back(i == 0 || (i >= n / 2 && i < n * 3 / 4 && j >= n / 4 && j < n / 2) ? 1.0f : 0.0f);
  for (std::vector<float> next = u; steps > 0; --steps) {
    for (std::size_t i = 1; i + 1 < size; ++i)
      for (std::size_t k = i * size + 1; k + 1 < (i + 1) * size; ++k)
        next[k] = u[k] + 0.1f * (u[k - size] + u[k + size] + u[k - 1] + u[k + 1] - 4 * u[k]);
    u.swap(next);
  }
  return u;
}

/// All steps in one call, always from the same plate. Compared around a corner of the hot square, where there is most
/// to see.
void time_loop(samples::report& report, std::int64_t n, int steps, const std::string& suffix) {
  const array start = plate(n);
  const auto call = [&] {
    array u = start;
    for (int t = 0; t < steps; ++t) step(u);
    eval(u);
    return u;
  };
  const auto error = [&](const array& got) {
    if (n < 4 * steps) {
      const std::vector<float> want = reference(static_cast<std::size_t>(n), steps);
      return samples::largest_error(got.to_vector<float>(), [&](std::size_t k) { return want[k]; });
    }
    const std::int64_t core = 50, row = n / 2 - core / 2, column = n / 4 - core / 2;
    const auto size = static_cast<std::size_t>(core + 2 * steps), rim = static_cast<std::size_t>(steps);
    const std::vector<float> want = reference_inside(static_cast<std::size_t>(n), static_cast<std::size_t>(row) - rim,
                                                     static_cast<std::size_t>(column) - rim, size, steps);
    const auto own = static_cast<std::size_t>(core);
    return samples::largest_error(got(range(row, row + core), range(column, column + core)).to_vector<float>(),
                                  [&](std::size_t k) { return want[(rim + k / own) * size + rim + k % own]; });
  };
  report.row("naive", 1e-5, call, error, suffix);
}

}  // namespace

int main(int argc, char** argv) {
  return samples::run("heat2d", argc, argv, [](samples::report& report) {
    row(report, "naive", 512, step_naively);
    row(report, "fixed", 512, step);
    if (default_device().is_cuda()) row(report, "fixed", 8192, step, "_8192");
    time_loop(report, 512, 1000, "_1000");
    if (default_device().is_cuda()) time_loop(report, 8192, 200, "_200_8192");
    else time_loop(report, 2048, 20, "_20_2048");

    report.picture([] {
      array u = plate(512);
      for (int t = 0; t < 2000; ++t) {
        step(u);
        eval(u);
      }
      return (255 * sqrt(u)).astype(u8);  // the root lets the faint warmth be seen
    });
  });
}
