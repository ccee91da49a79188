// Particles, a row each. Every statement writes some columns in place; all statements of a time step are one launch,
// and so are all steps of a time loop.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>

using namespace sinter;

namespace {

/// The columns are position, mass, velocity, acceleration.
void accelerate(array& b) {
  b(all, 0) += b(all, 2);
  b(all, 2) += b(all, 3);
}

void accelerate(float* p) {
  p[0] += p[2];
  p[2] += p[3];
}

/// The columns are x, y and their velocities. What passes a wall of the unit square is mirrored, and turns round.
void bounce(array& b) {
  array v = b(all, range(2, 4)), p = b(all, range(0, 2)) + v;
  b(all, range(0, 2)) = where(p < 0, -p, where(p > 1, 2 - p, p));
  b(all, range(2, 4)) = where(p < 0 || p > 1, -v, v);
}

void bounce(float* p) {
  for (int axis = 0; axis < 2; ++axis) {
    float &x = p[axis], &v = p[axis + 2];
    x += v;
    if (x < 0 || x > 1) v = -v;
    if (x < 0) x = -x;
    else if (x > 1) x = 2 - x;
  }
}

/// `copies` times the same 100000 particles, so that a host can check 10^8 of them.
class swarm {
 public:
  explicit swarm(std::int64_t copies = 1) : host_(samples::random_values<float>(4 * few, -0.1, 0.1, 1)) {
    for (std::size_t k = 0; k < host_.size(); k += 4)
      for (std::size_t axis = 0; axis < 2; ++axis) host_[k + axis] = 0.5f + 4 * host_[k + axis];  // in (0.1, 0.9)
    particles = tile(array(host_, {few, 4}), {copies, 1});
    eval(particles);
  }

  /// The error of the first and the last 100000 of b, after `steps` of them.
  double error(const array& b, int steps, void (*step)(float*)) const {
    std::vector<float> want = host_;
    for (std::size_t k = 0; k < want.size(); k += 4)
      for (int t = 0; t < steps; ++t) step(&want[k]);
    const auto error_of = [&](const array& rows) {
      return samples::largest_error(rows.to_vector<float>(), [&](std::size_t k) { return want[k]; });
    };
    return std::max(error_of(b(range(0, few), all)), error_of(b(range(-few, end), all)));
  }

  array particles;

 private:
  static constexpr std::int64_t few = 100000;
  std::vector<float> host_;
};

/// One step a call, evaluated: memory is read once and written once.
void step_by_step(samples::report& report, swarm s, void (*step)(array&), void (*reference)(float*),
                  const std::string& suffix) {
  int steps = 0;
  const auto fixed = [&] {
    step(s.particles);
    eval(s.particles);
    ++steps;
    return s.particles;
  };
  const auto error = [&](const array& b) { return s.error(b, steps, reference); };
  report.row("fixed", 0, fixed, error, suffix);
}

/// Ten steps a call, a launch for each statement.
void statement_by_statement(samples::report& report) {
  swarm s;
  int steps = 0;
  const auto naive = [&] {
    array& b = s.particles;
    for (int t = 0; t < 10; ++t) {
      b(all, 0) += b(all, 2);
      eval(b);
      b(all, 2) += b(all, 3);
      eval(b);
    }
    steps += 10;
    return b;
  };
  report.row("naive", 0, naive, [&](const array& b) { return s.error(b, steps, accelerate); });
}

/// A thousand steps a call, always from the same particles: one launch, which reads and writes memory once.
void time_loop(samples::report& report, const swarm& s, const std::string& suffix) {
  constexpr int steps = 1000;
  const auto naive = [&] {
    array b = s.particles;
    for (int t = 0; t < steps; ++t) accelerate(b);
    eval(b);
    return b;
  };
  const auto error = [&](const array& b) { return s.error(b, steps, accelerate); };
  report.row("naive", 0, naive, error, suffix, 1);
}

}  // namespace

int main(int argc, char** argv) {
  return samples::run("particles", argc, argv, [](samples::report& report) {
    statement_by_statement(report);
    step_by_step(report, swarm(), accelerate, accelerate, "");
    step_by_step(report, swarm(), bounce, bounce, "_bounce");
    time_loop(report, swarm(), "_1000");
    if (!default_device().is_cuda()) return;
    time_loop(report, swarm(100), "_1000_1e7");
    try {
      step_by_step(report, swarm(1000), accelerate, accelerate, "_1e8");
    } catch (const out_of_memory& e) {
      std::fprintf(stderr, "particles: 10^8 of them are left out: %s\n", e.what());
    }
  });
}
