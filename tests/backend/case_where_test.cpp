// Chains of `where`: cases met in the tests and bug reports of other libraries, restated. References: NumPy.
#include "tests/backend/expect.hpp"

#include <cmath>

using namespace sinter;
using namespace sinter_test;

namespace {

// ArrayFire jit.cpp, JITSelect.
TEST(case_where, twelve_nested_choices) {
  run_matrix({.inputs = {lcg_reals(f32, {2000}, 211, -7, 7, 0x44189799)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array x = in[0];
                array r = x * 0;
                for (int k = 0; k < 12; ++k) r = where(x > k - 6, r + square(x - (k - 6)) * (k % 2 != 0 ? 1 : -1), r);
                return {r};
              },
              .outputs = {close_to("W01.r", f32, 1e-05, 0.0002)},
              .launches = 1,
              .independent_axis = -1,
              .retype = {{f32, f64}}});
}

// ArrayFire jit.cpp, SelectLargeNonLinear.
TEST(case_where, a_choice_between_three_long_sums) {
  run_matrix({.inputs = {lcg_integers(i32, {20, 10, 10}, 212, 0, 5, 0x818afa20),
                         lcg_integers(i32, {20, 10, 10}, 213, 0, 5, 0xfcb4844e),
                         lcg_integers(i32, {20, 10, 10}, 214, 0, 2, 0x0ae91cb0),
                         lcg_integers(i32, {20, 10, 1}, 215, 0, 3, 0xb7770f2e)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array a = in[0](0) + in[3](0), b = in[1](0) * 2 - in[3](0), c = in[2](0);
                for (int i = 1; i < 20; ++i) {
                  a += in[0](i) + in[3](i);
                  b += in[1](i) * 2 - in[3](i);
                  c += in[2](i);
                }
                return {where(c > 10, a, b)};
              },
              .outputs = {exactly("W02.r", i32)},
              .launches = 1,
              .launches_when_pending = false,
              .independent_axis = -1,
              .retype = {{i32, i64}}});
}

// array-api-tests, test_where_with_scalars; MLX; ArrayFire select.cpp, RightScalar and LeftScalar.
TEST(case_where, numbers_on_either_side_and_conditions_that_are_not_boolean) {
  run_matrix({.inputs = {checked(host_array(std::vector<std::int32_t>{2, 0, -1, 0}), 0xf1c64ea0),
                         checked(host_array(std::vector<std::int32_t>{1, 2, 3, 4}), 0xaf05d4ef),
                         checked(host_array(std::vector<float>{0.5f, 1.5f, 2.5f, 3.5f}), 0x09fb05a5)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array c = in[0], x = in[1], y = in[2];
                return {where(c, x, 9), where(c, -1, x), where(c, x, y), where(c > 0, 1, 0), where(c, c, x) + c};
              },
              .outputs = {exactly("W04.a", i32), exactly("W04.b", i32), exactly("W04.d", f32), exactly("W04.e", i64),
                          exactly("W04.f", i32)},
              .launches = 1,
              .independent_axis = -1,
              .retype = {{f32, f64}}});
}

/// The limiter of one array of doubles, and the update by it, in plain loops.
void limited(const host_array& u, host_array& f, host_array& o) {
  const std::int64_t n = u.extents[0], m = u.extents[1];
  const auto at = [&](std::int64_t i, std::int64_t j) { return static_cast<double>(u.get(i * m + j).re); };
  const auto lap = [&](std::int64_t i, std::int64_t j) {
    return 4 * at(i, j) - (at(i + 1, j) + at(i - 1, j) + at(i, j + 1) + at(i, j - 1));
  };
  f = host_array(f64, {n - 3, m - 2});
  o = host_array(f64, {n - 4, m - 2});
  for (std::int64_t i = 0; i < n - 3; ++i)
    for (std::int64_t j = 0; j < m - 2; ++j) {
      const double r = lap(i + 2, j + 1) - lap(i + 1, j + 1), slope = at(i + 2, j + 1) - at(i + 1, j + 1);
      f.set(i * (m - 2) + j, {r * slope > 0 ? 0 : r, 0});
    }
  for (std::int64_t i = 0; i < n - 4; ++i)
    for (std::int64_t j = 0; j < m - 2; ++j) {
      const double change = static_cast<double>(f.get((i + 1) * (m - 2) + j).re - f.get(i * (m - 2) + j).re);
      o.set(i * (m - 2) + j, {at(i + 2, j + 1) - 0.1 * change, 0});
    }
}

std::vector<array> limiter(const array& u) {
  const auto inner = range(1, -1);
  const array lap = 4 * u(inner, inner) - (u(range(2, end), inner) + u(range(begin, -2), inner) +
                                           u(inner, range(2, end)) + u(inner, range(begin, -2)));
  const array r = lap(range(1, end)) - lap(range(begin, -1));
  const array f = where(r * (u(range(2, -1), inner) - u(range(1, -2), inner)) > 0, 0, r);
  const array o = u(range(2, -2), inner) - 0.1 * (f(range(1, end)) - f(range(begin, -1)));
  return {f, o};
}

// NPBench weather_stencils/hdiff.
TEST(case_where, a_flux_limiter_over_shifted_slices) {
  host_array other(f32, {13, 9}), f, o;
  lcg numbers(97);
  for (std::int64_t k = 0; k < other.size(); ++k)
    other.set(k, {static_cast<double>(numbers.next() >> 8) / 8388608.0 - 1, 0});
  limited(other, f, o);
  const tolerance close{4e-06, 4e-06, false};
  const host_array u = lcg_reals(f32, {20, 22}, 218, -1, 1, 0xf0c3ed04);
  run_matrix({.inputs = {u},
              .body = [](const std::vector<array>& in) -> std::vector<array> { return {limiter(in[0])[0]}; },
              .outputs = {{reference("W05.f"), f32, close}},
              .launches = 1,
              .retype = {{f32, f64}},
              .other_inputs = {other},
              .other_outputs = {{f, f32, close}}});
  run_matrix({.inputs = {u},
              .body = [](const std::vector<array>& in) { return limiter(in[0]); },
              .outputs = {{reference("W05.f"), f32, close}, {reference("W05.o"), f32, close}},
              .retype = {{f32, f64}},
              .other_inputs = {other},
              .other_outputs = {{f, f32, close}, {o, f32, close}}});
}

// pyhpc-benchmarks, isoneutral_mixing.
TEST(case_where, a_chain_that_tapers_slopes) {
  run_matrix(
      {.inputs = {lcg_reals(f64, {3000}, 220, -0.004, 0.004, 0x052e474b),
                  lcg_reals(f64, {3000}, 221, -1, 0.2, 0xb1085d85), lcg_reals(f64, {3000}, 222, 0, 100, 0x0b61efa0)},
       .body = [](const std::vector<array>& in) -> std::vector<array> {
         const array s = clip(-in[0] / (minimum(0.0, in[1]) - 1e-20), -1e3, 1e3);
         const array t = 0.5 * (1 + tanh((-abs(s) + 1e-3) / 1e-3));
         return {t, maximum(50.0, in[2] * t), t * s};
       },
       .outputs = {close_to("W07.t", f64, 1e-10, 1e-12), close_to("W07.m", f64, 1e-10, 1e-12),
                   close_to("W07.a", f64, 1e-10, 1e-12)},
       .launches = 1,
       .independent_axis = -1});
}

}  // namespace
