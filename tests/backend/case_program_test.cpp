// Whole programs from public benchmark suites at a small size. References: NumPy.
#include "tests/backend/expect.hpp"

using namespace sinter;
using namespace sinter_test;

namespace {

// NPBench, pythran/arc_distance.
TEST(case_program, arc_distance) {
  run_matrix({.inputs = {lcg_reals(f64, {500}, 415, 0, 1, 0xb0486793), lcg_reals(f64, {500}, 416, 0, 1, 0x6857eb24),
                         lcg_reals(f64, {500}, 417, 0, 1, 0x7a3737ab), lcg_reals(f64, {500}, 418, 0, 1, 0x08f6910b)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array theta1 = in[0], phi1 = in[1], theta2 = in[2], phi2 = in[3];
                const array h =
                    square(sin((theta2 - theta1) / 2)) + cos(theta1) * cos(theta2) * square(sin((phi2 - phi1) / 2));
                return {2 * atan2(sqrt(h), sqrt(1 - h))};
              },
              .outputs = {close_to("P06.r", f64, 1e-11, 1e-12)},
              .launches = 1,
              .independent_axis = -1});
}

// NPBench, compute.
TEST(case_program, clipped_affine_integers) {
  run_matrix({.inputs = {lcg_integers(i64, {30, 31}, 425, 0, 1000, 0x9155e5d8),
                         lcg_integers(i64, {30, 31}, 426, 0, 1000, 0xdeaa8829)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                return {clip(in[0], 2, 10) * 4 + in[1] * 3 + 9};
              },
              .outputs = {exactly("P12.r", i64)},
              .launches = 1,
              .independent_axis = -1,
              .retype = {{i64, i16}}});
}

/// The normal distribution up to x, by a polynomial of degree 5 (Abramowitz and Stegun, 26.2.17).
array cumulative_normal(const array& x) {
  const array k = 1 / (1 + 0.2316419 * abs(x));
  const array sum = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
  const array upper = 0.39894228040143267793994605993438 * exp(-x * x / 2) * sum;
  return where(x > 0, 1 - upper, upper);
}

// CuPy, examples/finance/black_scholes.py.
TEST(case_program, black_scholes) {
  run_matrix(
      {.inputs = {lcg_reals(f64, {1000}, 441, 5, 30, 0xe63d93a7), lcg_reals(f64, {1000}, 442, 1, 100, 0xa9c5b6f5),
                  lcg_reals(f64, {1000}, 443, 0.25, 10, 0x183ea9fd)},
       .body = [](const std::vector<array>& in) -> std::vector<array> {
         const array s = in[0], x = in[1], t = in[2], root = sqrt(t);
         const double r = 0.02, v = 0.3;
         const array d1 = (log(s / x) + (r + v * v / 2) * t) / (v * root), d2 = d1 - v * root;
         const array n1 = cumulative_normal(d1), n2 = cumulative_normal(d2), discounted = x * exp(-r * t);
         return {s * n1 - discounted * n2, discounted * (1 - n2) - s * (1 - n1)};
       },
       .outputs = {close_to("P24.call", f64, 1e-10, 1e-10), close_to("P24.put", f64, 1e-10, 1e-10)},
       .launches = 1,
       .independent_axis = -1});
}

}  // namespace
