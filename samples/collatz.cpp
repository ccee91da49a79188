// Collatz's sequences: n / 2 where n is even, else 3 n + 1, until it is 1. Which start below a million takes longest?
// Every start has its own number of steps.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>

#include <tuple>

using namespace sinter;

namespace {

constexpr std::int64_t limit = 1000000;

array next_of(const array& n) { return if_else((n & 1) == 0, n >> 1, 3 * n + 1); }

/// Steps from each of 1, 2, ... limit - 1.
array steps() {
  std::tuple start{arange(1, limit), zeros({limit - 1}, i32)};
  return std::get<1>(while_loop(
      start, [](const auto& s) { return std::get<0>(s) != 1; },
      [](const auto& s) {
        auto& [n, count] = s;
        return std::tuple{next_of(n), count + 1};
      }));
}

/// A launch, and a wait, for each step of all starts, until the last of them is done.
array steps_naively() {
  array n = arange(1, limit), count = zeros({limit - 1}, i32);
  for (bool any = true; any;) {
    array live = n != 1;
    n = where(live, next_of(n), n);
    count += live.astype(i32);
    eval(n, count);
    any = any_true(n != 1).item<bool>();
  }
  return count;
}

/// The start and the steps of the longest sequence.
struct longest {
  array start, count;
};

longest found(const array& count) {
  longest l{argmax(count) + 1, max(count)};
  eval(l.start, l.count);
  return l;
}

std::pair<std::int64_t, int> reference() {
  std::pair<std::int64_t, int> best{1, 0};
  for (std::int64_t start = 1; start < limit; ++start) {
    int count = 0;
    for (std::int64_t n = start; n != 1; n = n % 2 == 0 ? n / 2 : 3 * n + 1) ++count;
    if (count > best.second) best = {start, count};
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  return samples::run("collatz", argc, argv, [](samples::report& report) {
    const auto error = [](const longest& l) {
      const auto [start, count] = reference();
      return static_cast<double>(std::abs(l.start.item<std::int64_t>() - start) +
                                 std::abs(l.count.item<int>() - count));
    };
    report.row(
        "naive", 0, [] { return found(steps_naively()); }, error);
    // The steps are stored, since two reductions read them: one launch counts, one finds.
    report.row(
        "fixed", 0, [] { return found(steps()); }, error, "", 2);
  });
}
