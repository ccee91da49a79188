// k-means: every point belongs to the nearest of k centres, and every centre moves to the mean of its points. A round
// is one launch, of two stages or three: nothing of shape [points, centres] is ever in memory.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>

using namespace sinter;

namespace {

constexpr std::int64_t k = 16;

/// Points [n, 2], centres [k, 2] -> the number of the centre next to each point: [n].
array nearest(const array& points, const array& centres) {
  array distances = sum(square(points(all, newaxis, all) - centres(newaxis, all, all)), 2);  // [n, k]
  return argmin(distances, 1);
}

/// A round: distances, minimum and numbers are one stage of a launch, all means the next. For few centres: each looks
/// at all points.
array moved(const array& points, const array& centres) {
  array own = nearest(points, centres) == arange(k)(all, newaxis);  // [k, n]
  array all_points = broadcast_to(points(newaxis, all, all), {k, points.extent(0), 2});
  return mean(all_points, {.over = 1, .where = own(all, all, newaxis)});  // [k, 2]
}

/// For many centres: every point is added to its own only. Stages: numbers, zeros; sums and counts; means.
array moved_by_number(const array& points, const array& centres) {
  array number = nearest(points, centres);
  array x = bincount(number, points(all, 0), k), y = bincount(number, points(all, 1), k);  // [k], f64
  return (stack({x, y}, 1) / bincount(number, k)(all, newaxis)).astype(f32);
}

/// What each operation gives, in memory.
array moved_naively(const array& points, const array& centres) {
  const auto now = [](array x) {
    eval(x);
    return x;
  };
  array ways = now(points(all, newaxis, all) - centres(newaxis, all, all));  // [n, k, 2]
  array number = now(argmin(now(sum(now(square(ways)), 2)), 1));
  array own = now(number == arange(k)(all, newaxis));
  array sums = now(sum(now(where(own(all, all, newaxis), points(newaxis, all, all), 0)), 1));
  return now(sums / now(sum(own, 1).astype(f32))(all, newaxis));
}

/// Points around the crossings of a 4 x 4 grid. Each of the first k, where the centres begin, is near another one.
std::vector<float> points_around_a_grid(std::size_t n) {
  std::vector<float> points = samples::random_values<float>(2 * n, -0.4, 0.4, 1);
  for (std::size_t i = 0; i < n; ++i) {
    points[2 * i] += static_cast<float>(i % 4);
    points[2 * i + 1] += static_cast<float>(i / 4 % 4);
  }
  return points;
}

/// A round on the host.
void move(const std::vector<float>& points, std::vector<float>& centres) {
  std::vector<double> sums(2 * k), counts(k);  // nobody is left without a point
  for (std::size_t i = 0; i < points.size(); i += 2) {
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; 2 * c < centres.size(); ++c) {
      const double x = static_cast<double>(points[i] - centres[2 * c]);
      const double y = static_cast<double>(points[i + 1] - centres[2 * c + 1]);
      if (x * x + y * y < least) least = x * x + y * y, best = c;
    }
    sums[2 * best] += static_cast<double>(points[i]);
    sums[2 * best + 1] += static_cast<double>(points[i + 1]);
    counts[best] += 1;
  }
  for (std::size_t at = 0; at < centres.size(); ++at) centres[at] = static_cast<float>(sums[at] / counts[at / 2]);
}

/// A round a call; the comparison takes as many.
void row(samples::report& report, const std::string& form, std::size_t n, array (*round)(const array&, const array&),
         const std::string& suffix = "") {
  const std::vector<float> host = points_around_a_grid(n), first(host.begin(), host.begin() + 2 * k);
  const array points(host, {static_cast<std::int64_t>(n), 2});
  array centres(first, {k, 2});
  int rounds = 0;
  const auto call = [&] {
    centres = round(points, centres);
    eval(centres);
    ++rounds;
    return centres;
  };
  const auto error = [&](const array& got) {
    std::vector<float> want = first;
    for (int t = 0; t < rounds; ++t) move(host, want);
    return samples::largest_error(got.to_vector<float>(), [&](std::size_t at) { return want[at]; });
  };
  report.row(form, 1e-6, call, error, suffix);
}

}  // namespace

int main(int argc, char** argv) {
  return samples::run("kmeans", argc, argv, [](samples::report& report) {
    row(report, "naive", 100000, moved_naively);
    row(report, "fixed", 100000, moved);
    row(report, "fixed", 100000, moved_by_number, "_by_number");
    row(report, "fixed", 1000000, moved, "_1e6");
    row(report, "fixed", 1000000, moved_by_number, "_by_number_1e6");
  });
}
