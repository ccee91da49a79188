// Distances on a sphere (haversine formula) between pairs of points given by latitude and longitude.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>

#include <cmath>

using namespace sinter;

int main(int argc, char** argv) {
  return samples::run("arc_distance", argc, argv, [](samples::report& report) {
    constexpr std::size_t n = 1000000;
    const auto lat1 = samples::random_values<double>(n, -1.5, 1.5, 1);
    const auto lat2 = samples::random_values<double>(n, -1.5, 1.5, 2);
    const auto lon1 = samples::random_values<double>(n, -3, 3, 3), lon2 = samples::random_values<double>(n, -3, 3, 4);
    const array theta1(lat1), phi1(lon1), theta2(lat2), phi2(lon2);
    const auto error = [&](const array& distance) {
      return samples::largest_error(distance.to_vector<double>(), [&](std::size_t k) {
        const double s = std::sin((lat2[k] - lat1[k]) / 2), t = std::sin((lon2[k] - lon1[k]) / 2);
        const double h = s * s + std::cos(lat1[k]) * std::cos(lat2[k]) * t * t;
        return 2 * std::atan2(std::sqrt(h), std::sqrt(1 - h));
      });
    };

    // A launch for each line, each with an array in memory for the next.
    const auto naive = [&] {
      array s = square(sin((theta2 - theta1) / 2));
      eval(s);
      array t = square(sin((phi2 - phi1) / 2));
      eval(t);
      array h = s + cos(theta1) * cos(theta2) * t;
      eval(h);
      array distance = 2 * atan2(sqrt(h), sqrt(1 - h));
      eval(distance);
      return distance;
    };
    report.row("naive", 1e-12, naive, error);

    const auto fixed = [&] {
      array s = square(sin((theta2 - theta1) / 2)), t = square(sin((phi2 - phi1) / 2));
      array h = s + cos(theta1) * cos(theta2) * t;
      array distance = 2 * atan2(sqrt(h), sqrt(1 - h));
      eval(distance);
      return distance;
    };
    report.row("fixed", 1e-12, fixed, error);
  });
}
