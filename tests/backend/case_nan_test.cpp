// NaN, infinities and signed zeros: cases met in the tests and bug reports of other libraries, restated. References:
// NumPy. In minimum, maximum, min, max, argmin and argmax NaN wins, as in NumPy; fmin and fmax ignore it.
#include "tests/backend/expect.hpp"

using namespace sinter;
using namespace sinter_test;

namespace {

// drjit-core tests/basics.cpp, 05_const_prop; MLX, "test simplify".
TEST(case_nan, identities_that_are_none_are_not_simplified) {
  matrix_case c{
      .inputs = {checked(host_array(std::vector<float>{0.f, -0.f, 1.5f, -1.5f, infinity, -infinity, not_a_number}),
                         0x0d778c55)},
      .body =
          [](const std::vector<array>& in) {
            const array x = in[0];
            std::vector<array> out{x * 0.f, x - x, x / x,   x + 0.f,     0.f - x, -x,     x * 1.f,
                                   x / 1.f, -(-x), x - 0.f, pow(x, 1.f), abs(x),  sqrt(x)};
            const std::size_t count = out.size();
            for (std::size_t k = 0; k < count; ++k) out.push_back(signbit(out[k]) && !isnan(out[k]));
            return out;
          },
      .launches = 1,
      .independent_axis = -1};
  const host_array values = reference("N03.r"), signs = reference("N03.r_sb");
  for (std::int64_t k = 0; k < 13; ++k) c.outputs.push_back({row(values, k), f32, {0, 0, true}});
  for (std::int64_t k = 0; k < 13; ++k) c.outputs.push_back({row(signs, k), boolean, {}});
  run_matrix(c);
}

// MLX, "test is nan", "test is inf".
TEST(case_nan, tests_for_nan_and_infinity_see_what_the_same_kernel_made) {
  matrix_case c{
      .inputs = {checked(host_array(std::vector<float>{-1, 0, 1, infinity, -infinity, not_a_number}), 0xfb57141c)},
      .body = [](const std::vector<array>& in) -> std::vector<array> {
        const array x = in[0], p = x / x, q = sqrt(x), r = log(x);
        return {isnan(p),       isnan(q),    isnan(r),
                p != p,         isinf(x),    isinf(r),
                isinf(1.f / x), isfinite(x), where(isnan(p), 0.f, p)};
      },
      .launches = 1,
      .independent_axis = -1,
      .retype = {{f32, f64}}};
  const host_array nan = reference("N05.n"), inf = reference("N05.i");
  for (std::int64_t k = 0; k < 4; ++k) c.outputs.push_back({row(nan, k), boolean, {}});
  for (std::int64_t k = 0; k < 3; ++k) c.outputs.push_back({row(inf, k), boolean, {}});
  c.outputs.push_back(exactly("N05.f", boolean));
  c.outputs.push_back(exactly("N05.fix", f32));
  run_matrix(c);
}

// drjit test_arithmetic.py, test_clip_float and test_clip_int.
TEST(case_nan, clip_lets_nan_through_and_the_high_limit_wins) {
  run_matrix({.inputs = {checked(host_array(std::vector<float>{-5, -1, 0, 1.5f, 3, 7, not_a_number}), 0x411c1de5),
                         checked(host_array(std::vector<std::int32_t>{-40, -5, -2, 0, 3, 9, 40}), 0x606b15b2)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array x = in[0], v = in[1];
                return {clip(x, 0, 3),  clip(x, 5, 3), clip(x, not_a_number, 3), clip(x, 0, not_a_number),
                        clip(v, -2, 9), clip(v, 9, 2)};
              },
              .outputs = {exactly("N06.a", f32), exactly("N06.b", f32), exactly("N06.c", f32), exactly("N06.d", f32),
                          exactly("N06.i", i32), exactly("N06.j", i32)},
              .launches = 1,
              .independent_axis = -1,
              .retype = {{i32, i64}}});
}

// ArrayFire reduce.cpp and drjit ignore NaN in min and max; NumPy and MLX do not.
TEST(case_nan, reductions_over_rows_with_nan_and_infinities) {
  const float nan = not_a_number, inf = infinity;
  const std::vector<float> x{nan, 1, 2, 3, 1, nan, 2, 3, 1, 2, 3, nan, inf, -inf, 1, 2, 0, 0, 0, nan, 1, 2, 3, 4};
  run_matrix({.inputs = {checked(host_array(x, {6, 4}), 0xe0b04adc)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array a = in[0];
                return {sum(a, 1), max(a, 1), min(a, 1), any_true(a, 1), all_true(a, 1), count_nonzero(a, 1)};
              },
              .outputs = {exactly("N08.s", f32), exactly("N08.mx", f32), exactly("N08.mn", f32),
                          exactly("N08.any", boolean), exactly("N08.all", boolean), exactly("N08.cnt", i64)},
              .launches = 1,
              .independent_axis = 0,
              .retype = {{f32, f64}}});
}

// fmin and fmax, folded over the columns by hand, ignore NaN.
TEST(case_nan, fmin_and_fmax_of_columns_ignore_nan) {
  const float nan = not_a_number, inf = infinity;
  const std::vector<float> x{nan, 1, 2, 3, 1, nan, 2, 3, 1, 2, 3, nan, inf, -inf, 1, 2, 0, 0, 0, nan, 1, 2, 3, 4};
  run_matrix({.inputs = {checked(host_array(x, {6, 4}), 0xe0b04adc)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array low = in[0](all, 0), high = low;
                for (int k = 1; k < 4; ++k) {
                  low = fmin(low, in[0](all, k));
                  high = fmax(high, in[0](all, k));
                }
                return {high, low};
              },
              .outputs = {exactly("N08.mx_ign", f32), exactly("N08.mn_ign", f32)},
              .launches = 1,
              .independent_axis = 0,
              .retype = {{f32, f64}}});
}

// elixir-nx/nx#1499; cupy/cupy#2222.
TEST(case_nan, argmax_and_argmin_find_the_first_nan_or_the_first_of_equals) {
  const float nan = not_a_number;
  const std::vector<float> x{1, nan, 5, 0.1f, nan, -0.5f, nan, 0, nan, nan, nan, nan, 3, 3, 3, 3};
  run_matrix({.inputs = {checked(host_array(x, {4, 4}), 0x347bca3a)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                return {argmax(in[0], 1), argmin(in[0], 1)};
              },
              .outputs = {exactly("N09.amx", i64), exactly("N09.amn", i64)},
              .launches = 1,
              .independent_axis = 0,
              .retype = {{f32, f64}}});
}

}  // namespace
