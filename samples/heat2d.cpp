// Heat spreads over a plate: views of an array moved by one, and a write through a view. A time step is one launch.
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

}  // namespace

int main(int argc, char** argv) {
  return samples::run("heat2d", argc, argv, [](samples::report& report) {
    row(report, "naive", 512, step_naively);
    row(report, "fixed", 512, step);
    if (default_device().is_cuda()) row(report, "fixed", 8192, step, "_8192");

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
