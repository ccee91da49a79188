// Two streams: chains that keep a small part of the device busy run beside each other, and what uses both waits for
// both by itself. The time is the device's own, between events. On the cpu streams run one after another.
#include "support/harness.hpp"

#include <sinter/elementwise.hpp>
#include <sinter/sinter.hpp>
#include <sinter/stream.hpp>

using namespace sinter;

namespace {

const elementwise chain{"chain", "uint32 x, int32 steps", "uint32 y",
                        "y = x; for (int k = 0; k < steps; ++k) y = y * 1664525u + 1013904223u"};

/// Half a millisecond of a GPU; nothing a cpu should be kept busy with.
std::int32_t step_count() { return default_device().is_cuda() ? 200000 : 2000; }
constexpr std::int64_t lanes = 2048;  // few enough that the device has room for both

std::vector<std::uint32_t> seeds(std::uint32_t first) {
  std::vector<std::uint32_t> all(lanes);
  for (std::uint32_t k = 0; k < lanes; ++k) all[k] = first + k;
  return all;
}

std::uint32_t expected(std::uint32_t x) {
  for (std::int32_t k = 0, n = step_count(); k < n; ++k) x = x * 1664525u + 1013904223u;
  return x;
}

/// Chains of `a` and `b` on the two streams, and their sum on the first one; the device's time for it.
array both(const array& a, const array& b, const stream& first, const stream& second, double& milliseconds) {
  event begin, end;
  begin.record(first);
  second.wait(begin);
  array left, right;
  {
    const scoped_stream on(first);
    left = chain(a, step_count());
    eval(left);
  }
  {
    const scoped_stream on(second);
    right = chain(b, step_count());
    eval(right);
  }
  const scoped_stream on(first);
  array total = left + right;
  eval(total);
  end.record(first);
  milliseconds = end.milliseconds_since(begin);
  return total;
}

}  // namespace

int main(int argc, char** argv) {
  return samples::run("streams_overlap", argc, argv, [](samples::report& report) {
    const array a(seeds(1)), b(seeds(1000000));
    const stream first, second;
    double one = 0, two = 0;
    const auto error = [](const array& total) {
      return samples::largest_error(total.to_vector<std::uint32_t>(), [](std::size_t k) {
        const auto i = static_cast<std::uint32_t>(k);
        return expected(1 + i) + expected(1000000 + i);
      });
    };
    report.row("one_stream", 0, [&] { return both(a, b, first, first, one); }, error);
    report.row("two_streams", 0, [&] { return both(a, b, first, second, two); }, error);
    if (!default_device().is_cuda()) std::printf("on the cpu device streams run one after another\n");
    std::printf("between events: one stream %.3f ms, two streams %.3f ms, ratio %.2f\n", one, two, one / two);
  });
}
