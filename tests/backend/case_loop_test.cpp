// Handed programs as loops inside kernels: pointer chasing, the Mandelbrot set, elastic balls. References: NumPy.
#include "tests/backend/expect.hpp"

#include <tuple>

using namespace sinter;
using namespace sinter_test;

namespace {

// drjit tests/test_while_loop.py, test26_gather.
TEST(case_loop, a_sum_of_gathers_until_a_bound) {
  run_matrix({.inputs = {checked(host_array(std::vector<std::int32_t>{1, 2, 3}), 0xb0e02293)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const std::tuple start{zeros({2}, in[0].type()), array{0, 1}};
                const auto [x, i] = while_loop(
                    start, [](const auto& s) { return std::get<1>(s) < 3; },
                    [&](const auto& s) {
                      const auto& [sum_of, at] = s;
                      return std::tuple{sum_of + in[0](at), at + 1};
                    });
                return {x};
              },
              .outputs = {exactly("G15.x", i32)},
              .launches = 1,
              .launches_when_pending = false,
              .retype = {{i32, i64}}});
}

TEST(case_loop, chased_pointers) {
  run_matrix({.inputs = {lcg_permutation(64, 132, 0x21e1e331), lcg_integers(i32, {64}, 133, 0, 20, 0xf9696c09)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const std::tuple start{arange(64), in[1] * 0};
                const auto [p, t] = while_loop(
                    start, [&](const auto& s) { return std::get<1>(s) < in[1]; },
                    [&](const auto& s) {
                      const auto& [at, steps] = s;
                      return std::tuple{in[0](at), steps + 1};
                    });
                return {p};
              },
              .outputs = {exactly("G15.p", i64)},
              .launches = 1,
              .launches_when_pending = false,
              .retype = {{i32, i8}}});
}

TEST(case_loop, chased_pointers_by_a_counted_loop) {
  run_matrix({.inputs = {lcg_permutation(64, 132, 0x21e1e331), lcg_integers(i32, {64}, 133, 0, 20, 0xf9696c09)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                return {for_loop(20, arange(64),
                                 [&](const array& t, const array& p) { return if_else(t < in[1], in[0](p), p); })};
              },
              .outputs = {exactly("G15.p", i64)},
              .launches = 1,
              .launches_when_pending = false,
              .retype = {{i32, i8}}});
}

/// The iteration in which each point escapes, 0 for those that don't in `most`.
array escapes(const array& c, int most) {
  const std::tuple start{zeros_like(c), zeros(c.extents(), i64)};
  const array n = std::get<1>(while_loop(
                      start, [&](const auto& s) { return abs(std::get<0>(s)) < 2 && std::get<1>(s) < most; },
                      [&](const auto& s) {
                        return std::tuple{square(std::get<0>(s)) + c, std::get<1>(s) + 1};
                      })) -
                  1;
  return where(n == most - 1, 0, n);
}

// NPBench, mandelbrot1: a few points lie where rounding decides.
TEST(case_loop, mandelbrot) {
  const array x = -1.75 + 2 * arange(80) / 79.0, y = -1 + 2 * arange(60) / 59.0;
  const array n = escapes(make_complex(x(newaxis, all), y(all, newaxis)), 50);
  EXPECT_EQ(counted([&] { eval(n); }).launches, 1u);
  const host_array got = from_device(n), want = reference("P07.n");
  ASSERT_EQ(got.extents, want.extents);
  int others = 0;
  for (std::int64_t k = 0; k < want.size(); ++k) others += got.get(k).re != want.get(k).re;
  EXPECT_LE(others, 14) << "0.3 % of the points";
}

/// One step of elastic balls of radius 0.03 and equal mass in the unit square. Each ball sums over all others.
void bounce(array& position, array& velocity) {
  const double radius = 0.03, dt = 0.01;
  const array own = arange(position.extent(0)), x = position(all, 0), y = position(all, 1);
  const array vx = velocity(all, 0), vy = velocity(all, 1);
  const std::tuple none{zeros_like(x), zeros_like(x)};
  const auto [jx, jy] = for_loop(position.extent(0), none, [&](const array& j, const auto& s) {
    const auto& [sx, sy] = s;
    const array dx = x - x(j), dy = y - y(j);
    const array square_distance = dx * dx + dy * dy, approach = dx * (vx - vx(j)) + dy * (vy - vy(j));
    const array hit = square_distance < 4 * radius * radius && approach < 0 && own != j;
    const array impulse = if_else(hit, approach / square_distance, 0);
    return std::tuple{sx + impulse * dx, sy + impulse * dy};
  });
  velocity -= stack({jx, jy}, 1);
  statement(position, velocity);
  position += dt * velocity;
  statement(position, velocity);
  velocity((position < radius && velocity < 0) || (position > 1 - radius && velocity > 0)) *= -1;
  statement(position, velocity);
}

// codereview.stackexchange.com 125867, vectorised.
TEST(case_loop, balls) {
  run_matrix({.inputs = {lcg_reals(f64, {40, 2}, 448, 0.1, 0.9, 0xf504ca4d),
                         lcg_reals(f64, {40, 2}, 449, -0.5, 0.5, 0x93dfa824)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array position = in[0], velocity = in[1];
                for (int t = 0; t < 20; ++t) bounce(position, velocity);
                return {position, velocity};
              },
              .outputs = {close_to("P26.pos", f64, 1e-07, 1e-08), close_to("P26.vel", f64, 1e-07, 1e-08)},
              .layouts = few_layouts});
}

}  // namespace
