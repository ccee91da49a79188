// Fibonacci's numbers: elements that need the two before them, and two variables that take turns. Nothing in such a
// loop can run at the same time; it still is one loop inside a kernel instead of a launch for each number.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>

#include <utility>

using namespace sinter;

namespace {

constexpr std::int64_t count = 90;  // the last that fit 64 bits

std::vector<std::int64_t> reference() {
  std::vector<std::int64_t> f{0, 1};
  while (static_cast<std::int64_t>(f.size()) < count) f.push_back(f[f.size() - 1] + f[f.size() - 2]);
  return f;
}

}  // namespace

int main(int argc, char** argv) {
  return samples::run("fibonacci_recurrence", argc, argv, [](samples::report& report) {
    const std::vector<std::int64_t> want = reference();

    const auto elements = [&] {
      array f = zeros({count}, i64);
      f(1) = 1;
      for (std::int64_t k = 2; k < count; ++k) f(k) = f(k - 1) + f(k - 2);
      eval(f);
      return f;
    };
    report.row("naive", 0, elements, [&](const array& f) {
      return samples::largest_error(f.to_vector<std::int64_t>(), [&](std::size_t k) { return want[k]; });
    });

    // As many pairs at once as there are starting values: those of Lucas and others follow the same rule.
    const array starts = arange(1000), second = ones({1000}, i64);
    eval(starts, second);
    const auto pairs = [&] {
      array now = starts, next = second;
      for (std::int64_t k = 1; k < count - 20; ++k) now = std::exchange(next, now + next);
      eval(next);
      return next;
    };
    report.row(
        "naive", 0, pairs,
        [&](const array& f) {
          return samples::largest_error(f.to_vector<std::int64_t>(), [&](std::size_t k) {
            return static_cast<std::int64_t>(k) * want[count - 21] + want[count - 20];
          });
        },
        "_pairs", 1);
  });
}
