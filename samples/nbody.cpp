// Bodies that attract each other: each sums over all others, in a loop inside the kernel or along an axis of pairs.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>
#include <sinter/struct_state.hpp>

namespace samples {

struct vectors {
  sinter::array x, y, z;
};

}  // namespace samples

BOOST_HANA_ADAPT_STRUCT(samples::vectors, x, y, z);

using namespace sinter;
using samples::vectors;

namespace {

constexpr std::size_t count = 2000;
constexpr float dt = 0.01f, softening = 0.01f;

struct bodies {
  vectors place, speed;
  array mass;
};

/// Mass over the cube of the distance, which is never 0.
template <class T>
T pull(const T& mass, const T& dx, const T& dy, const T& dz) {
  using std::sqrt;
  const T square_distance = dx * dx + dy * dy + dz * dz + softening;
  return mass / (square_distance * sqrt(square_distance));
}

/// One other body after another.
vectors accelerations(const bodies& b) {
  const auto& [x, y, z] = b.place;
  return for_loop(x.size(), vectors{zeros_like(x), zeros_like(x), zeros_like(x)},
                  [&](const array& j, const vectors& a) {
                    array dx = x(j) - x, dy = y(j) - y, dz = z(j) - z, strength = pull(b.mass(j), dx, dy, dz);
                    return vectors{a.x + strength * dx, a.y + strength * dy, a.z + strength * dz};
                  });
}

/// All pairs as arrays: differences and sums are one launch, and the pairs are never in memory.
vectors accelerations_by_pairs(const bodies& b) {
  const auto difference = [](const array& x) { return x(newaxis, all) - x(all, newaxis); };
  array dx = difference(b.place.x), dy = difference(b.place.y), dz = difference(b.place.z);
  array strength = pull(b.mass(newaxis, all), dx, dy, dz);
  return {sum(strength * dx, 1), sum(strength * dy, 1), sum(strength * dz, 1)};
}

/// Likewise, with every array of pairs in memory.
vectors accelerations_naively(const bodies& b) {
  const auto difference = [](const array& x) {
    array d = x(newaxis, all) - x(all, newaxis);
    eval(d);
    return d;
  };
  array dx = difference(b.place.x), dy = difference(b.place.y), dz = difference(b.place.z);
  array strength = pull(b.mass(newaxis, all), dx, dy, dz);
  eval(strength);
  vectors a{sum(strength * dx, 1), sum(strength * dy, 1), sum(strength * dz, 1)};
  eval(a.x, a.y, a.z);
  return a;
}

void step(bodies& b, vectors (*of)(const bodies&)) {
  vectors a = of(b);
  b.speed = {b.speed.x + dt * a.x, b.speed.y + dt * a.y, b.speed.z + dt * a.z};
  b.place = {b.place.x + dt * b.speed.x, b.place.y + dt * b.speed.y, b.place.z + dt * b.speed.z};
  eval(b.place.x, b.place.y, b.place.z, b.speed.x, b.speed.y, b.speed.z);
}

std::vector<float> first(std::uint64_t what) {
  return samples::random_values<float>(count, what == 7 ? 0.0 : -1.0, what == 7 ? 1e-3 : 1.0, what);
}

bodies made() {
  const auto of = [](std::uint64_t what) { return array(first(what)); };
  const auto rest = [] { return array(std::vector<float>(count)); };
  return {{of(1), of(2), of(3)}, {rest(), rest(), rest()}, of(7)};
}

/// x after some steps.
std::vector<float> reference(int steps) {
  std::vector<float> p[3] = {first(1), first(2), first(3)}, v[3] = {{}, {}, {}}, a[3];
  const std::vector<float> mass = first(7);
  for (auto& axis : v) axis.assign(count, 0);
  for (int t = 0; t < steps; ++t) {
    for (auto& axis : a) axis.assign(count, 0);
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j < count; ++j) {
        const float d[3] = {p[0][j] - p[0][i], p[1][j] - p[1][i], p[2][j] - p[2][i]};
        const float strength = pull(mass[j], d[0], d[1], d[2]);
        for (int axis = 0; axis < 3; ++axis) a[axis][i] += strength * d[axis];
      }
    for (int axis = 0; axis < 3; ++axis)
      for (std::size_t i = 0; i < count; ++i) p[axis][i] += dt * (v[axis][i] += dt * a[axis][i]);
  }
  return p[0];
}

/// The error is that of two steps: more take plain C++ long.
void row(samples::report& report, const std::string& form, vectors (*of)(const bodies&),
         const std::string& suffix = "") {
  bodies b = made();
  const auto call = [&] {
    step(b, of);
    return b.place.x;
  };
  const auto error = [&](const array&) {
    bodies few = made();
    for (int t = 0; t < 2; ++t) step(few, of);
    const std::vector<float> want = reference(2);
    return samples::largest_error(few.place.x.to_vector<float>(), [&](std::size_t k) { return want[k]; });
  };
  report.row(form, 1e-5, call, error, suffix);
}

}  // namespace

int main(int argc, char** argv) {
  return samples::run("nbody", argc, argv, [](samples::report& report) {
    row(report, "naive", accelerations_naively);
    row(report, "fixed", accelerations_by_pairs, "_pairs");
    row(report, "fixed", accelerations);
  });
}
