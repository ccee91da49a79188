// Means over rings: an image's pixels, known by value and distance from the beam's centre, become a profile of `rings`
// means, as X-ray diffraction uses it. Masked reductions or sums by number: the masks are never in memory.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>

using namespace sinter;

namespace {

/// The number of the ring that each pixel is in; all are equally wide, and the last one ends with the last pixel.
array ring_of(const array& distance, std::int64_t rings) {
  return minimum(distance / max(distance) * static_cast<double>(rings), rings - 1).astype(i64);
}

/// Every ring looks at every pixel, [n] -> [rings, n] -> [rings]: for few pixels. One launch of two stages, as the
/// largest distance comes first.
array means(const array& value, const array& distance, std::int64_t rings) {
  array inside = ring_of(distance, rings) == arange(rings)(all, newaxis);
  return mean(broadcast_to(value, {rings, value.size()}), {.over = 1, .where = inside});
}

/// For many: every pixel is added to its own ring only. Stages: the largest distance, zeros; sums and counts; means.
array means_by_number(const array& value, const array& distance, std::int64_t rings) {
  array ring = ring_of(distance, rings);
  return bincount(ring, value, rings) / bincount(ring, rings);
}

/// Ring by ring: the pixels that a mask chooses, and their mean.
array means_ring_by_ring(const array& value, const array& distance, std::int64_t rings) {
  array ring = ring_of(distance, rings), means = zeros({rings}, f64);
  eval(ring);
  for (std::int64_t k = 0; k < rings; ++k) {
    means(k) = mean(value(ring == k));
    eval(means);
  }
  return means;
}

/// The same on the host.
std::vector<double> reference(const std::vector<double>& value, const std::vector<double>& distance,
                              std::size_t rings) {
  const double most = *std::max_element(distance.begin(), distance.end());
  std::vector<double> sums(rings), counts(rings);
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto ring = static_cast<std::size_t>(distance[i] / most * static_cast<double>(rings));
    sums[std::min(ring, rings - 1)] += value[i];
    counts[std::min(ring, rings - 1)] += 1;
  }
  for (std::size_t k = 0; k < rings; ++k) sums[k] /= counts[k];
  return sums;
}

using integration = array (*)(const array& value, const array& distance, std::int64_t rings);

void row(samples::report& report, const std::string& form, std::size_t pixels, std::size_t rings, integration integrate,
         const std::string& suffix) {
  const auto host_value = samples::random_values<double>(pixels, 0, 1, 1);
  const auto host_distance = samples::random_values<double>(pixels, 0, 100, 2);
  const array value(host_value), distance(host_distance);
  const auto call = [&] {
    array profile = integrate(value, distance, static_cast<std::int64_t>(rings));
    eval(profile);
    return profile;
  };
  const auto error = [&](const array& profile) {
    const std::vector<double> want = reference(host_value, host_distance, rings);
    return samples::largest_error(profile.to_vector<double>(), [&](std::size_t k) { return want[k]; });
  };
  report.row(form, 1e-12, call, error, suffix);
}

}  // namespace

int main(int argc, char** argv) {
  return samples::run("azimuthal_integration", argc, argv, [](samples::report& report) {
    row(report, "naive", 20000, 50, means_ring_by_ring, "");
    row(report, "fixed", 20000, 50, means, "");
    row(report, "fixed", 20000, 50, means_by_number, "_bins");
    row(report, "fixed", 1000000, 1000, means_by_number, "_bins_1e6");
  });
}
