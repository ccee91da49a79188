// A low-pass filter of an image by its spectrum: rfft2, a mask, irfft2. Scaling and masking fuse: no mask of the
// image's size is ever in memory. In the naive form every step is a pass over memory.
#include "support/harness.hpp"

#include <sinter/fft.hpp>
#include <sinter/sinter.hpp>

#include <cmath>
#include <numbers>

using namespace sinter;

namespace {

constexpr std::int64_t rows = 512, columns = 768;
constexpr double cutoff = 0.1;

double gain(double fy, double fx) { return std::exp(-(fy * fy + fx * fx) / (2 * cutoff * cutoff)); }

/// The filter as what it is to one line: the values that a single 1 becomes, by direct sums over all frequencies.
std::vector<double> response(std::int64_t n, double (*gain_of)(double)) {
  std::vector<double> line(static_cast<std::size_t>(n));
  for (std::int64_t k = 0; k < n; ++k) {
    double sum = 0;
    for (std::int64_t f = 0; f < n; ++f) {
      const double frequency = static_cast<double>(2 * f < n ? f : f - n) / static_cast<double>(n);
      sum +=
          gain_of(frequency) * std::cos(2 * std::numbers::pi * static_cast<double>(f * k % n) / static_cast<double>(n));
    }
    line[static_cast<std::size_t>(k)] = sum / static_cast<double>(n);
  }
  return line;
}

/// The filtered image at one place, by convolution with the responses along both axes.
double convolved(const std::vector<float>& image, const std::vector<double>& down, const std::vector<double>& across,
                 std::int64_t y, std::int64_t x) {
  double sum = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    double line = 0;
    for (std::int64_t j = 0; j < columns; ++j)
      line += across[static_cast<std::size_t>((x - j + columns) % columns)] *
              static_cast<double>(image[static_cast<std::size_t>(i * columns + j)]);
    sum += down[static_cast<std::size_t>((y - i + rows) % rows)] * line;
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  return samples::run("spectral_filter", argc, argv, [](samples::report& report) {
    const auto host = samples::random_values<float>(rows * columns, 0, 1, 3);
    const array image(host, {rows, columns});
    const auto one_axis = [](double f) { return gain(f, 0); };
    const std::vector<double> down = response(rows, one_axis), across = response(columns, one_axis);
    const auto error = [&](const array& result) {
      const std::vector<float> got = result.to_vector<float>();
      double largest = 0;
      for (std::int64_t k = 0; k < 12; ++k) {
        const std::int64_t y = k * 97 % rows, x = k * 331 % columns;
        const double want = convolved(host, down, across, y, x);
        largest =
            std::max(largest, std::abs(static_cast<double>(got[static_cast<std::size_t>(y * columns + x)]) - want));
      }
      return std::isfinite(largest) ? largest : std::numeric_limits<double>::infinity();
    };

    const auto naive = [&] {
      const auto now = [](array x) {
        eval(x);
        return x;
      };
      const array fy = now(fft::fftfreq(rows, 1, f32)(all, newaxis)), fx = now(fft::rfftfreq(columns, 1, f32));
      const array mask = now(exp(now(now(now(fy * fy) + now(fx * fx)) / float(-2 * cutoff * cutoff))));
      return now(fft::irfft2(now(now(fft::rfft2(image)) * mask), {.lengths = shape{rows, columns}}));
    };
    report.row("naive", 1e-5, naive, error);

    const auto fixed = [&] {
      const array fy = fft::fftfreq(rows, 1, f32)(all, newaxis), fx = fft::rfftfreq(columns, 1, f32);
      const array mask = exp((fy * fy + fx * fx) / float(-2 * cutoff * cutoff));
      const array result = fft::irfft2(fft::rfft2(image) * mask, {.lengths = shape{rows, columns}});
      eval(result);
      return result;
    };
    // The three transforms; what is between them; the last scaling.
    report.row("fixed", 1e-5, fixed, error, "", 6);
  });
}
