// A Gaussian blur of an image of bytes: along the rows, then along the columns, back to bytes. Padding, conversions and
// rounding are parts of the two launches; what is between them is the only other array in memory.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>

#include <cmath>

using namespace sinter;

namespace {

constexpr std::int64_t radius = 4, height = 480, width = 640, channels = 3;

/// The weights of a pixel and of `radius` neighbours on each side; their sum is 1.
std::vector<float> gaussian(double variance) {
  const auto bell = [&](std::int64_t k) { return std::exp(-0.5 * static_cast<double>(k * k) / variance); };
  double sum = 0;
  for (std::int64_t k = -radius; k <= radius; ++k) sum += bell(k);
  std::vector<float> weights;
  for (std::int64_t k = -radius; k <= radius; ++k) weights.push_back(static_cast<float>(bell(k) / sum));
  return weights;
}

/// When sums are computed: as part of what reads them, or one by one.
enum class when { later, now };

/// [height, width, channels] of any dtype -> f32. Beyond its edge an image goes on as at the edge.
array blur_rows(const array& image, const std::vector<float>& weights, when sums) {
  const std::int64_t pixels = image.extent(1);
  array wide = pad(image.astype(f32), {{0, 0}, {radius, radius}, {0, 0}}, pad_mode::edge);
  array blurred = weights[0] * wide(all, range(0, pixels));
  for (std::int64_t k = 1; k <= 2 * radius; ++k) {
    if (sums == when::now) eval(blurred);
    blurred += weights[static_cast<std::size_t>(k)] * wide(all, range(k, k + pixels));
  }
  return blurred;
}

array blur(const array& image, const std::vector<float>& weights, when sums) {
  array rows = blur_rows(image, weights, sums);
  array both = swapaxes(blur_rows(swapaxes(rows, 0, 1), weights, sums), 0, 1);
  return clip(round(both), 0, 255).astype(u8);
}

/// Sharp edges of all sizes.
array test_image() {
  array y = arange(height)(all, newaxis, newaxis), x = arange(width)(all, newaxis), colour = arange(channels);
  return ((x ^ y) << colour).astype(u8);
}

/// The blurred image as plain loops in f64, before it is rounded.
std::vector<double> reference(const std::vector<std::uint8_t>& image, const std::vector<float>& weights) {
  const auto at = [](std::int64_t y, std::int64_t x, std::int64_t colour) {
    y = std::clamp<std::int64_t>(y, 0, height - 1);
    x = std::clamp<std::int64_t>(x, 0, width - 1);
    return static_cast<std::size_t>((y * width + x) * channels + colour);
  };
  const auto pass = [&](const auto& from, std::int64_t down, std::int64_t right) {
    std::vector<double> to(image.size(), 0.0);
    for (std::int64_t y = 0; y < height; ++y)
      for (std::int64_t x = 0; x < width; ++x)
        for (std::int64_t c = 0; c < channels; ++c)
          for (std::int64_t k = -radius; k <= radius; ++k)
            to[at(y, x, c)] += static_cast<double>(weights[static_cast<std::size_t>(k + radius)]) *
                               static_cast<double>(from[at(y + k * down, x + k * right, c)]);
    return to;
  };
  return pass(pass(image, 0, 1), 1, 0);
}

}  // namespace

int main(int argc, char** argv) {
  return samples::run("image_blur", argc, argv, [](samples::report& report) {
    const std::vector<float> weights = gaussian(4);
    const array image = test_image();
    eval(image);
    const std::vector<double> want = reference(image.to_vector<std::uint8_t>(), weights);
    // How much further from the result in f64 than rounding explains.
    const auto error = [&](const array& blurred) {
      const auto got = blurred.to_vector<std::uint8_t>();
      double largest = 0;
      for (std::size_t k = 0; k < got.size(); ++k) largest = std::max(largest, std::abs(got[k] - want[k]) - 0.5);
      return largest;
    };

    const auto naive = [&] {
      array blurred = blur(image, weights, when::now);
      eval(blurred);
      return blurred;
    };
    report.row("naive", 1e-4, naive, error);

    const auto fixed = [&] {
      array blurred = blur(image, weights, when::later);  // u8 [480, 640, 3] -> u8 [480, 640, 3]
      eval(blurred);
      return blurred;
    };
    constexpr int launches = 2;  // one would compute a row's blur nine times
    report.row("fixed", 1e-4, fixed, error, "", launches);
    report.picture(fixed);
  });
}
