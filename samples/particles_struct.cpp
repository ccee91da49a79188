// Particles that a program keeps as structs: stepped where they are by views of their members, or through one transfer
// in and one out. Nobody writes loops over members, nor copies them one by one.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>
#include <sinter/struct_array.hpp>

struct particle {
  float x, mass, velocity, acceleration;
};
struct particles {
  sinter::array x, mass, velocity, acceleration;
};
BOOST_HANA_ADAPT_STRUCT(particle, x, mass, velocity, acceleration);
BOOST_HANA_ADAPT_STRUCT(particles, x, mass, velocity, acceleration);

using namespace sinter;

namespace {

constexpr std::size_t count = 100000;
constexpr int steps = 10;

std::vector<particle> start() {
  const std::vector<float> values = samples::random_values<float>(4 * count, -0.1, 0.1, 1);
  std::vector<particle> list(count);
  for (std::size_t k = 0; k < count; ++k)
    list[k] = {values[4 * k], values[4 * k + 1], values[4 * k + 2], values[4 * k + 3]};
  return list;
}

void advance(particles& p) {
  for (int t = 0; t < steps; ++t) {
    p.x += p.velocity;
    p.velocity += p.acceleration;
  }
}

double error_of(const std::vector<particle>& got, std::vector<particle> want) {
  std::vector<float> x(count);
  for (std::size_t k = 0; k < count; ++k) {
    x[k] = got[k].x;
    for (int t = 0; t < steps; ++t) {
      want[k].x += want[k].velocity;
      want[k].velocity += want[k].acceleration;
    }
  }
  return samples::largest_error(x, [&](std::size_t k) { return want[k].x; });
}

}  // namespace

int main(int argc, char** argv) {
  return samples::run("particles_struct", argc, argv, [](samples::report& report) {
    const std::vector<particle> list = start();
    const auto error = [&](const std::vector<particle>& got) { return error_of(got, list); };
    const auto fixed = [&] {
      auto p = from_structs<particles>(std::span<const particle>(list));
      advance(p);
      return to_structs<particle>(p);
    };
    report.row("fixed", 0, fixed, error);
    const auto view = [&] {  // on the host nothing is copied on the way in
      auto p = struct_view<particles>(std::span<const particle>(list));
      advance(p);
      return to_structs<particle>(p);
    };
    report.row("view", 0, view, error, "", 1);
  });
}
