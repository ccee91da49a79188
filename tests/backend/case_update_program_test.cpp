// Whole programs that write to their arrays, at a small size. References: NumPy.
#include "tests/backend/expect.hpp"

using namespace sinter;
using namespace sinter_test;

namespace {

const range inner(1, -1), upper(2, end), lower(begin, -2);

/// The inside of a after a step of heat conduction.
array conducted(const array& a) {
  const array middle = a(inner, inner, inner);
  return 0.125 * (a(upper, inner, inner) - 2 * middle + a(lower, inner, inner)) +
         0.125 * (a(inner, upper, inner) - 2 * middle + a(inner, lower, inner)) +
         0.125 * (a(inner, inner, upper) - 2 * middle + a(inner, inner, lower)) + middle;
}

// NPBench, polybench/heat_3d.
TEST(case_update_program, heat_3d) {
  run_matrix({.inputs = {lcg_reals(f64, {12, 13, 14}, 410, 0, 1, 0xa45583f0),
                         lcg_reals(f64, {12, 13, 14}, 411, 0, 1, 0xe4b2e291)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array a = in[0], b = in[1];
                for (int t = 0; t < 15; ++t) {
                  b(inner, inner, inner) = conducted(a);
                  statement(a, b);
                  a(inner, inner, inner) = conducted(b);
                  statement(a, b);
                }
                return {a, b};
              },
              .outputs = {close_to("P04.a", f64, 1e-11, 1e-12), close_to("P04.b", f64, 1e-11, 1e-12)},
              .layouts = few_layouts});
}

// from-python-to-numpy, game-of-life-numpy.py.
array neighbours(const array& z) {
  return z(lower, lower) + z(lower, inner) + z(lower, upper) + z(inner, lower) + z(inner, upper) + z(upper, lower) +
         z(upper, inner) + z(upper, upper);
}

TEST(case_update_program, life_written_through_a_mask) {
  run_matrix({.inputs = {lcg_integers(i32, {30, 60}, 435, 0, 2, 0xb7716e8d)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array z = in[0];
                for (int t = 0; t < 25; ++t) {
                  const array n = neighbours(z), middle = z(inner, inner);
                  const array born = n == 3 && middle == 0, stays = (n == 2 || n == 3) && middle == 1;
                  z(ellipsis) = 0;
                  statement(z, born, stays);
                  array inside = z(inner, inner);
                  inside(born || stays) = 1;
                  statement(z, inside);
                  z(inner, inner) = inside;
                  statement(z);
                }
                return {z};
              },
              .outputs = {exactly("P20.Z", i32)},
              .retype = {{i32, u8}},
              .layouts = few_layouts});
}

TEST(case_update_program, life_written_through_where) {
  run_matrix({.inputs = {lcg_integers(i32, {30, 60}, 435, 0, 2, 0xb7716e8d)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array z = in[0];
                for (const int edge : {0, -1}) {
                  z(edge) = 0;
                  z(all, edge) = 0;
                  statement(z);
                }
                // The edges are never alive after the first generation, but are counted in it.
                array next = z;
                next(inner, inner) = where((neighbours(in[0]) | in[0](inner, inner)) == 3, 1, 0);
                z = next;
                for (int t = 1; t < 25; ++t) {
                  z(inner, inner) = where((neighbours(z) | z(inner, inner)) == 3, 1, 0);
                  statement(z);
                }
                return {z};
              },
              .outputs = {exactly("P20.Z", i32)},
              .retype = {{i32, i64}},
              .layouts = few_layouts});
}

/// One step of elastic balls of radius 0.03 and equal mass in the unit square.
void bounce(array& position, array& velocity) {
  const double radius = 0.03, dt = 0.01;
  const array d = position(all, newaxis) - position(newaxis, all), u = velocity(all, newaxis) - velocity(newaxis, all);
  const array square_distance = sum(d * d, 2), approach = sum(d * u, 2);
  const array is_same = arange(position.extent(0))(all, newaxis) == arange(position.extent(0))(newaxis, all);
  const array hit = square_distance < 4 * radius * radius && approach < 0 && !is_same;
  const array impulse = where(hit, approach / where(hit, square_distance, 1.0), 0.0);
  velocity -= sum(impulse(all, all, newaxis) * d, 1);
  statement(position, velocity);
  position += dt * velocity;
  statement(position, velocity);
  velocity((position < radius && velocity < 0) || (position > 1 - radius && velocity > 0)) *= -1;
  statement(position, velocity);
}

// codereview.stackexchange.com 125867, vectorised.
TEST(case_update_program, balls) {
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
