// Reductions, positions of extremes and variances: cases met in the tests and bug reports of other libraries, restated.
// References: NumPy.
#include "tests/backend/expect.hpp"

#include <cmath>
#include <limits>

using namespace sinter;
using namespace sinter_test;

namespace {

// MLX, "test reduction ops".
TEST(case_reduction, no_elements_give_the_identities) {
  run_matrix(
      {.inputs = {checked(host_array(f32, {0}), 0), checked(host_array(f32, {0, 4}), 0)},
       .body = [](const std::vector<array>& in) -> std::vector<array> {
         const array e = in[0], z = in[1];
         return {sum(e), prod(e), all_true(e), any_true(e), sum(z, 0), sum(z, 1), mean(e)};
       },
       .outputs = {exactly("R03.s", f32), exactly("R03.p", f32), exactly("R03.al", boolean), exactly("R03.an", boolean),
                   exactly("R03.s0", f32), exactly("R03.s1", f32), exactly("R03.m", f32)},
       .retype = {{f32, f64}}});
}

TEST(case_reduction, extremes_of_no_elements_are_refused_at_the_line) {
  for (const dtype type : {boolean, i8, u64, f16, f32, f64}) {
    const array e = zeros({0}, type), z = zeros({0, 4}, type);
    const auto refused = [](auto&& f) { return throws<shape_error>(f, {"case_reduction_test.cpp"}); };
    EXPECT_TRUE(refused([&] { max(e); })) << to_string(type);
    EXPECT_TRUE(refused([&] { min(e, 0, keepdims); })) << to_string(type);
    EXPECT_TRUE(refused([&] { argmax(e); })) << to_string(type);
    EXPECT_TRUE(refused([&] { argmin(e, 0); })) << to_string(type);
    EXPECT_TRUE(refused([&] { max(z, 0); })) << to_string(type);
    EXPECT_TRUE(refused([&] { argmax(z, 0); })) << to_string(type);
    EXPECT_TRUE(refused([&] { min(z, {0, 1}); })) << to_string(type);
    // No rows at all: nothing is asked of one.
    EXPECT_TRUE(equals(max(z, 1), host_array(type, {0}))) << to_string(type);
    EXPECT_EQ(to_string(argmin(z, 1, keepdims).extents()), "[0, 1]") << to_string(type);
  }
}

// ArrayFire reduce.cpp, MaxAll IndexedSmall and IndexedBig; ireduce.cpp, max_subarray; mean.cpp, SubArray.
TEST(case_reduction, parts_of_arrays_with_offsets_and_strides) {
  run_matrix({.inputs = {lcg_integers(i32, {100000}, 183, 0, 1000000, 0xb61ed557),
                         lcg_integers(i32, {40, 30}, 184, 0, 1000, 0xdd467916)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array a = in[0], v = in[1](range(3, 31, 2), range(25, 4, -3));
                const array r = stack({max(a(range(1000, 99001))).astype(i64), max(a(range(10, 901))).astype(i64),
                                       sum(a(range(end, begin, -3))), min(a(range(7, end, 11))).astype(i64),
                                       argmax(a(range(500, 700)))});
                return {r, max(v, 0), sum(v, 1), argmin(v, 1), argmax(v)};
              },
              .outputs = {exactly("R07.r", i64), exactly("R07.c", i32), exactly("R07.d", i64), exactly("R07.e", i64),
                          exactly("R07.f", i64)},
              .retype = {{i32, i64}},
              .layouts = {layout::evaluated, layout::reversed, layout::times_one, layout::mixed}});
}

// CuPy fusion, TestFusionMultistageReductions, MultiAxis; test_misc.py, test_various_shape.
TEST(case_reduction, reductions_of_reductions) {
  run_matrix({.inputs = {lcg_integers(i64, {3, 4, 5}, 188, 1, 4, 0x42fc8a83),
                         lcg_integers(i64, {3, 4, 5, 6}, 189, 1, 3, 0x80a6784b)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array u = in[0], w = in[1];
                return {sum(prod(u, 1), 1), sum(prod(sqrt(u), 0) + u, 1) * 2, sum(prod(w, {-1, 1}), {0, 1})};
              },
              .outputs = {exactly("R09.p", i64), close_to("R09.q", f64, 1e-12, 1e-12), exactly("R09.r", i64)},
              .retype = {{i64, u64}}});
}

TEST(case_reduction, sums_added_to_what_they_were_computed_from) {
  run_matrix(
      {.inputs = {lcg_integers(i64, {3, 4}, 190, 0, 10, 0x1ab7ffed), lcg_integers(i64, {3, 4}, 191, 0, 10, 0xf60514c7)},
       .body = [](const std::vector<array>& in) -> std::vector<array> {
         array x = in[0], y = in[1];
         const array a = x + y, b = sum(a, 0);
         statement(a, b);
         x += b;
         statement(x, a, b, y);
         const array c = sum(x, 0);
         y += c;
         statement(y, c, x);
         return {a, b, c, x, y};
       },
       .outputs = {exactly("R09.a", i64), exactly("R09.b", i64), exactly("R09.c", i64), exactly("R09.x", i64),
                   exactly("R09.y", i64)},
       .retype = {{i64, u64}}});
}

// xarray-spatial#2831: one pass in f32; ArrayFire var.cpp, ISSUE2117; cupy#6425.
TEST(case_reduction, variances_of_numbers_far_from_zero_and_of_constants) {
  run_matrix(
      {.inputs = {lcg_reals(f64, {64, 1000}, 194, 0, 1, 0x6f811eb1), lcg_reals(f32, {4000}, 195, 100, 101, 0x98e993f6),
                  checked(host_array(std::vector<float>(15000, 1.f), {30, 500}), 0x78646ff0)},
       .body = [](const std::vector<array>& in) -> std::vector<array> {
         const array e = in[0] + 1e8, x = in[1], c = in[2];
         return {var(e, 1), var(e, {.over = 0, .ddof = 1}), stddev(e), var(x), mean(x), var(c, 1)};
       },
       .outputs = {close_to("R12.v", f64, 1e-06, 0), close_to("R12.v1", f64, 1e-06, 0),
                   close_to("R12.s", f64, 1e-06, 0), close_to("R12.x", f32, 0.002, 0),
                   close_to("R12.xm", f32, 1e-06, 0), close_to("R12.z", f32, 0, 1e-12)},
       .retype = {{f32, f64}},
       .layouts = few_layouts});
}

/// The same variances by hand: the mean first, then the squares of what is left.
TEST(case_reduction, variances_in_two_steps_by_hand) {
  run_matrix({.inputs = {lcg_reals(f64, {64, 1000}, 194, 0, 1, 0x6f811eb1)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array e = in[0] + 1e8, rest = e - mean(e, 1, keepdims);
                return {mean(square(rest), 1), sum(square(e - mean(e, 0)), 0) / 63};
              },
              .outputs = {close_to("R12.v", f64, 1e-06, 0), close_to("R12.v1", f64, 1e-06, 0)},
              .layouts = few_layouts});
}

// cupy#9008: four blocks for 357899 rows of two; CuPy fusion, TestFusionReductionLarge.
TEST(case_reduction, very_long_and_very_short_rows_and_columns) {
  run_matrix({.inputs = {lcg_integers(i32, {100003}, 202, -100, 100, 0x28bda8db)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array x = in[0], q = x(range(begin, 99993));
                const array a = reshape(q, {3, 33331}), b = reshape(q, {33331, 3}),
                            c = reshape(x(range(begin, 69811)), {7, 1, 9973}), wide = reshape(x, {1, -1}),
                            tall = reshape(x, {-1, 1});
                return {stack({sum(x), sum(wide, 1)(0), sum(tall, 0)(0), sum(tall, 1)(77)}),
                        sum(a, 1),
                        sum(b, 0),
                        sum(b, 1)(range(begin, end, 101)),
                        sum(c, {1, 2}),
                        max(c, {0, 1})(range(begin, end, 97))};
              },
              .outputs = {exactly("R18.r", i64), exactly("R18.a1", i64), exactly("R18.b0", i64), exactly("R18.b1", i64),
                          exactly("R18.c2", i64), exactly("R18.c0", i32)},
              .retype = {{i32, i64}},
              .layouts = few_layouts});
}

TEST(case_reduction, rows_of_two_that_are_above_a_limit) {
  run_matrix(
      {.inputs = {lcg_reals(f32, {35789, 2}, 203, 0, 1, 0xbd7c3c9e), lcg_reals(f32, {35789}, 204, 0, 2, 0x5071a185)},
       .body = [](const std::vector<array>& in) -> std::vector<array> {
         const array p = in[0], t = in[1];
         return {reshape(sum(sum(p, 1) > t), {1}), reshape(sum(sum(p.astype(f64), 1) > t.astype(f64)), {1})};
       },
       // A sum that is rounded to f32 may be at the other side of its limit.
       .outputs = {close_to("R18.n", i64, 0, 1), exactly("R18.n", i64)},
       .retype = {{f32, f64}},
       .layouts = few_layouts});
}

// NPBench, correlation and covariance; drjit, test06_dot and test07_norm.
TEST(case_reduction, sizes_products_and_covariances) {
  run_matrix(
      {.inputs = {lcg_reals(f32, {200, 6}, 206, -1, 1, 0xcc2c7d5a), lcg_reals(f32, {200, 6}, 207, -1, 1, 0xf6d1a286)},
       .body = [](const std::vector<array>& in) -> std::vector<array> {
         const array x = in[0], y = in[1];
         array z = x;
         z -= mean(x, 0);
         statement(z);
         const array deviation = sqrt(mean(z * z, 0)), s = where(deviation <= 0.1, 1, deviation);
         statement(s, z);
         return {sqrt(sum(x * x, 1)),
                 norm(x, 2, 1),
                 sum(x * y),
                 vdot(x, y),
                 sum(z(all, all, newaxis) * z(all, newaxis, all), 0) / 199,
                 matmul(transpose(z), z) / 199,
                 z / (std::sqrt(200.0) * s)};
       },
       .outputs = {close_to("R20.n", f32, 2e-05, 1e-05), close_to("R20.n", f32, 2e-05, 1e-05),
                   close_to("R20.d", f32, 2e-05, 1e-05), close_to("R20.d", f32, 2e-05, 1e-05),
                   close_to("R20.c", f32, 2e-05, 1e-05), close_to("R20.c", f32, 2e-05, 1e-05),
                   close_to("R20.r", f32, 2e-05, 1e-05)},
       .retype = {{f32, f64}}});
}

const std::vector<float> rows_with_nan{1, not_a_number, 3, not_a_number, not_a_number, not_a_number, 7, 8, -1};

// CuPy fusion, test_nansum and test_nanprod; cupy#7102.
TEST(case_reduction, nan_is_left_out_by_where) {
  run_matrix({.inputs = {checked(host_array(rows_with_nan, {3, 3}), 0x09ae8943)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array x = in[0], m = !isnan(x);
                return {sum(where(m, x, 0), 1), prod(where(m, x, 1), 1), max(where(m, x, -infinity), 1), sum(m, 1)};
              },
              .outputs = {close_to("R24.s", f32, 1e-06, 0), close_to("R24.p", f32, 1e-06, 0),
                          close_to("R24.mx", f32, 1e-06, 0), exactly("R24.c", i64)},
              .launches = 1,
              .independent_axis = 0,
              .retype = {{f32, f64}}});
}

TEST(case_reduction, nan_is_left_out_by_options) {
  run_matrix({.inputs = {checked(host_array(rows_with_nan, {3, 3}), 0x09ae8943)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array x = in[0], m = !isnan(x);
                return {sum(x, {.over = 1, .where = m}), prod(x, {.over = 1, .where = m}),
                        max(x, {.over = 1, .where = m, .initial = -infinity}), count_nonzero(m, 1)};
              },
              .outputs = {close_to("R24.s", f32, 1e-06, 0), close_to("R24.p", f32, 1e-06, 0),
                          close_to("R24.mx", f32, 1e-06, 0), exactly("R24.c", i64)},
              .launches = 1,
              .independent_axis = 0,
              .retype = {{f32, f64}}});
}

TEST(case_reduction, nan_is_left_out_by_name) {
  // Where every element is NaN, nanmax and nanmean are NaN.
  run_matrix({.inputs = {checked(host_array(rows_with_nan, {3, 3}), 0x09ae8943)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array x = in[0];
                return {nansum(x, 1), nanprod(x, 1), nanmax(x, 1), nanmin(x, 1), nanmean(x, 1)};
              },
              .outputs = {close_to("R24.s", f32, 1e-06, 0),
                          close_to("R24.p", f32, 1e-06, 0),
                          {host_array(std::vector<float>{3, not_a_number, 8}), f32, {}},
                          {host_array(std::vector<float>{1, not_a_number, -1}), f32, {}},
                          {host_array(std::vector<double>{2, not_a_number, 14.0 / 3}), f32, {1e-06, 0, false}}},
              .independent_axis = 0,
              .retype = {{f32, f64}}});
}

/// Deviations are measured from the first element: exact for what is far from zero, and NaN only where NumPy's are.
TEST(case_reduction, deviations_are_from_the_mean) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const auto of = [](const std::vector<double>& x) {
    return var(array(x, {static_cast<std::int64_t>(x.size())})).item<double>();
  };
  EXPECT_EQ(of({1, 2, 3, 4}), 1.25);
  EXPECT_EQ(of({1e15, 1e15 + 2}), 1);
  EXPECT_EQ(of(std::vector<double>(1000, 0.1)), 0);
  EXPECT_TRUE(std::isnan(of({1, inf})));
  EXPECT_TRUE(std::isnan(of({1, nan, 2})));
  EXPECT_EQ(of({1e200, -1e200}), inf);
  EXPECT_EQ(var(array(std::vector<float>{4096.25f, 4096.75f}, {2})).item<float>(), 0.0625f);
  std::vector<double> first_far(10001, 1);  // the number they are measured from is the one that isn't like the others
  first_far[0] = 1e9;
  for (std::size_t k = 1; k < first_far.size(); k += 2) first_far[k] = 3;
  double mean = 0, wanted = 0;
  for (const double x : first_far) mean += x / 10001;
  for (const double x : first_far) wanted += (x - mean) * (x - mean) / 10001;
  EXPECT_NEAR(of(first_far), wanted, 1e-12 * wanted);
}

}  // namespace
