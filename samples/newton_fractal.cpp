// Newton's method for z^3 = 1 from every point of a square: which of the three roots it finds, and after how many
// steps.
#include "support/harness.hpp"

#include <sinter/complex.hpp>
#include <sinter/sinter.hpp>

#include <complex>
#include <tuple>

using namespace sinter;

namespace {

constexpr int most = 60;
constexpr float width = 3, close_enough = 1e-3f;

/// Coordinates symmetric around 0.
array line(std::int64_t side) {
  return (arange(side).astype(f32) + 0.5f) * (width / static_cast<float>(side)) - width / 2;
}

array points(std::int64_t side) { return make_complex(line(side)(newaxis, all), line(side)(all, newaxis)); }

array next_of(const array& z) { return z - (z * z * z - 1) / (3 * z * z); }
array is_far(const array& z) { return abs(z * z * z - 1) > close_enough; }

/// Root 0, 1 or 2, by the angle of z, and twice the steps in the bits above.
array painted(const array& z, const array& n) {
  return where(abs(imag(z)) < 0.1f, 0, where(imag(z) > 0, 1, 2)).astype(i32) + 4 * n;
}

array fractal(std::int64_t side) {
  array z0 = points(side);
  auto [z, n] = while_loop(
      std::tuple{z0, zeros(z0.extents(), i32)},
      [](const auto& s) { return is_far(std::get<0>(s)) && std::get<1>(s) < most; },
      [](const auto& s) {
        return std::tuple{next_of(std::get<0>(s)), std::get<1>(s) + 1};
      });
  return painted(z, n);
}

/// All points take all steps, a launch each.
array fractal_naively(std::int64_t side) {
  array z = points(side), n = zeros(z.extents(), i32);
  for (int k = 0; k < most; ++k) {
    array far = is_far(z);
    z = where(far, next_of(z), z);
    n += far.astype(i32);
    eval(z, n);
  }
  return painted(z, n);
}

int reference(std::int64_t side, std::int64_t row, std::int64_t column) {
  const auto at = [&](std::int64_t k) {
    return (static_cast<float>(k) + 0.5f) * (width / static_cast<float>(side)) - width / 2;
  };
  std::complex<float> z(at(column), at(row));
  int n = 0;
  for (; n < most && std::abs(z * z * z - 1.0f) > close_enough; ++n) z -= (z * z * z - 1.0f) / (3.0f * z * z);
  return (std::abs(z.imag()) < 0.1f ? 0 : z.imag() > 0 ? 1 : 2) + 4 * n;
}

void row(samples::report& report, const std::string& form, std::int64_t side, array (*run)(std::int64_t),
         const std::string& suffix = "") {
  const auto call = [&] {
    array p = run(side);
    eval(p);
    return p;
  };
  // The share of other results: near the edges, rounding decides.
  const auto error = [&](const array& got) {
    const std::vector<std::int32_t> p = got.to_vector<std::int32_t>();
    const std::int64_t step = std::max<std::int64_t>(side / 256, 1);
    int others = 0, asked = 0;
    for (std::int64_t i = 0; i < side; i += step)
      for (std::int64_t j = 0; j < side; j += step, ++asked)
        others += p[static_cast<std::size_t>(i * side + j)] != reference(side, i, j);
    return static_cast<double>(others) / asked;
  };
  report.row(form, 0.01, call, error, suffix);
}

}  // namespace

int main(int argc, char** argv) {
  return samples::run("newton_fractal", argc, argv, [](samples::report& report) {
    row(report, "naive", 512, fractal_naively);
    row(report, "fixed", 512, fractal);
    if (default_device().is_cuda()) row(report, "fixed", 4096, fractal, "_4096");

    report.picture([] {
      array p = fractal(1024), light = 255 - minimum(p / 4 * 12, 200);
      array colour = (p % 4)(all, all, newaxis) == arange(3);
      return where(colour, light(all, all, newaxis), light(all, all, newaxis) / 4).astype(u8);
    });
  });
}
