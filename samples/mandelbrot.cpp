// The Mandelbrot set: how often a point of the plane can be squared and added to until it leaves a circle. Each point
// has its own number of iterations, in a loop inside the kernel.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>
#include <sinter/struct_state.hpp>

namespace samples {

struct orbit {
  sinter::array re, im, n;
};

}  // namespace samples

BOOST_HANA_ADAPT_STRUCT(samples::orbit, re, im, n);

using namespace sinter;
using samples::orbit;

namespace {

constexpr int most = 256;
constexpr float left = -2.0f, low = -1.25f, across = 2.5f;  // a square of the plane

/// The coordinates of `side` points along an axis.
array line(std::int64_t side, float from) {
  return arange(side).astype(f32) * (across / static_cast<float>(side)) + from;
}

bool stays(float re, float im) { return re * re + im * im < 4; }
array stays(const orbit& s) { return s.re * s.re + s.im * s.im < 4 && s.n < most; }

/// Iterations of each point: [side, side], i32.
array iterations(std::int64_t side) {
  array x = line(side, left)(newaxis, all), y = line(side, low)(all, newaxis);
  orbit start{zeros({side, side}, f32), zeros({side, side}, f32), zeros({side, side}, i32)};
  return while_loop(
             start, [](const orbit& s) { return stays(s); },
             [&](const orbit& s) {
               return orbit{s.re * s.re - s.im * s.im + x, 2 * s.re * s.im + y, s.n + 1};
             })
      .n;
}

/// As arrays are used to be written: all points go through all iterations, a launch each.
array iterations_naively(std::int64_t side) {
  array x = line(side, left)(newaxis, all), y = line(side, low)(all, newaxis);
  orbit s{zeros({side, side}, f32), zeros({side, side}, f32), zeros({side, side}, i32)};
  for (int k = 0; k < most; ++k) {
    array live = stays(s), re = s.re * s.re - s.im * s.im + x, im = 2 * s.re * s.im + y;
    s = {where(live, re, s.re), where(live, im, s.im), s.n + live.astype(i32)};
    eval(s.re, s.im, s.n);
  }
  return s.n;
}

int iterations_of(std::int64_t side, std::int64_t row, std::int64_t column) {
  const float step = across / static_cast<float>(side);
  const float x = static_cast<float>(column) * step + left, y = static_cast<float>(row) * step + low;
  float re = 0, im = 0;
  int n = 0;
  for (; n < most && stays(re, im); ++n) {
    const float next = re * re - im * im + x;
    im = 2 * re * im + y;
    re = next;
  }
  return n;
}

/// The share of the points, of about 65536 of them, that have another number of iterations than plain C++ finds: where
/// a product and a sum are one operation, rounding leads a few points near the edge elsewhere.
double share_of_others(const array& got, std::int64_t side) {
  const std::vector<std::int32_t> n = got.to_vector<std::int32_t>();
  const std::int64_t step = std::max<std::int64_t>(side / 256, 1);
  int others = 0, asked = 0;
  for (std::int64_t row = 0; row < side; row += step)
    for (std::int64_t column = 0; column < side; column += step, ++asked)
      others += n[static_cast<std::size_t>(row * side + column)] != iterations_of(side, row, column);
  return static_cast<double>(others) / asked;
}

void row(samples::report& report, const std::string& form, std::int64_t side, array (*run)(std::int64_t),
         const std::string& suffix = "") {
  const auto call = [&] {
    array n = run(side);
    eval(n);
    return n;
  };
  report.row(
      form, 0.005, call, [&](const array& got) { return share_of_others(got, side); }, suffix);
}

}  // namespace

int main(int argc, char** argv) {
  return samples::run("mandelbrot", argc, argv, [](samples::report& report) {
    row(report, "naive", 512, iterations_naively);
    row(report, "fixed", 512, iterations);
    row(report, "fixed", 4096, iterations, "_4096");

    report.picture([] {
      array n = iterations(1024);
      return (255 - 255 * sqrt(n.astype(f32) / most)).astype(u8);
    });
  });
}
