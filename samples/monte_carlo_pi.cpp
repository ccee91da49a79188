// Pi as four times the share of random points of the unit square that are within the circle around a corner. The points
// are made inside the kernel that counts them: no array of them exists, however many they are.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>

#include <cmath>
#include <numbers>

using namespace sinter;

namespace {

struct points {
  array x, y;
};

points drawn(std::int64_t count) {
  const array keys = random::split(random::key(7));
  return {random::uniform(keys(0), {count}, f32), random::uniform(keys(1), {count}, f32)};
}

array is_inside(const points& p) { return p.x * p.x + p.y * p.y < 1; }

/// 4 times the share: 0-d.
array estimate(std::int64_t count) { return 4 * mean(is_inside(drawn(count)).astype(f64)); }

/// As it is written where random numbers are arrays: both coordinates and the comparison go through memory.
array naive_estimate(std::int64_t count) {
  points p = drawn(count);
  eval(p.x);
  eval(p.y);
  array inside = is_inside(p);
  eval(inside);
  return 4 * mean(inside.astype(f64));
}

void row(samples::report& report, const std::string& form, std::int64_t count, array (*run)(std::int64_t),
         const std::string& suffix) {
  const double deviation = std::sqrt(std::numbers::pi * (4 - std::numbers::pi) / static_cast<double>(count));
  const auto call = [&] {
    array pi = run(count);
    eval(pi);
    return pi;
  };
  report.row(
      form, 4 * deviation, call, [](const array& pi) { return std::abs(pi.item<double>() - std::numbers::pi); },
      suffix);
}

}  // namespace

int main(int argc, char** argv) {
  return samples::run("monte_carlo_pi", argc, argv, [](samples::report& report) {
    row(report, "naive", 1000000, naive_estimate, "");
    row(report, "fixed", 1000000, estimate, "");
    if (!default_device().is_cuda()) return;
    row(report, "naive", 1000000000, naive_estimate, "_1e9");
    row(report, "fixed", 1000000000, estimate, "_1e9");
  });
}
