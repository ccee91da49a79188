// Reductions, scans and what is made of them: shapes, dtypes, small values, errors at the line of the call.
#include "tests/unit/dsl_support.hpp"

#include <cmath>
#include <limits>

namespace {

using namespace sinter;
using sinter_test::expect_error;
using sinter_test::list;
using sinter_test::values;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr dtype every_type[] = {boolean, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128};

class reductions : public sinter_test::dsl_test {};
class scans : public sinter_test::dsl_test {};
class products : public sinter_test::dsl_test {};

dtype inexact(dtype t) { return is_integer_or_bool(t) ? f64 : t; }
dtype real_of(dtype t) { return t == c64 ? f32 : t == c128 ? f64 : inexact(t); }
dtype wide(dtype t) {
  if (is_inexact(t)) return t;
  return kind_of(t) == kind::unsigned_integer ? u64 : i64;
}

/// One 1, then NaN, infinities and so on: same number and same NaN.
void expect_values(const array& a, const list& want, place at = place::here()) {
  const list got = values(a);
  ASSERT_EQ(got.size(), want.size()) << at.line;
  for (std::size_t k = 0; k < got.size(); ++k) {
    if (std::isnan(want[k])) EXPECT_TRUE(std::isnan(got[k])) << at.line << ", element " << k << ": " << got[k];
    else EXPECT_DOUBLE_EQ(got[k], want[k]) << at.line << ", element " << k;
  }
}

// ---- Options ----

TEST_F(reductions, options_are_named_and_plain_braces_are_axes) {
  const array x = reshape(arange(24), {2, 3, 4});
  EXPECT_EQ(sum(x, {.over = 1}).extents(), (shape{2, 4}));
  EXPECT_EQ(sum(x, {.over = {0, -1}, .keep = keepdims}).extents(), (shape{1, 3, 1}));
  EXPECT_EQ(sum(x, {0, -1}).extents(), (shape{3}));
  EXPECT_EQ(sum(x, {}).extents(), shape{});
  const reduce_options later{.over = 2};
  EXPECT_EQ(max(x, later).extents(), (shape{2, 3}));
  EXPECT_EQ(values(mean(x, {.over = {1, 2}})), (list{5.5, 17.5}));
}

TEST_F(reductions, only_elements_that_count_are_reduced) {
  const array x{{1, 2, 3}, {4, 5, 6}}, odd = x % 2 == 1;
  EXPECT_EQ(values(sum(x, {.over = 1, .where = odd})), (list{4, 5}));
  EXPECT_EQ(values(prod(x, {.over = 0, .where = odd})), (list{1, 5, 3}));
  EXPECT_EQ(values(max(x, {.over = 1, .where = odd, .initial = -7})), (list{3, 5}));
  EXPECT_EQ(values(min(x, {.over = 0, .where = odd, .initial = 100})), (list{1, 5, 3}));
  EXPECT_EQ(values(mean(x, {.over = 1, .where = odd})), (list{2, 5}));
  EXPECT_EQ(values(var(x, {.over = 1, .where = odd})), (list{1, 0}));
  EXPECT_EQ(values(stddev(x, {.where = odd})), (list{std::sqrt(8.0 / 3)}));
  EXPECT_EQ(values(count_nonzero(x, {.over = 1, .where = odd})), (list{2, 1}));
  EXPECT_EQ(values(any_true(x == 2, {.where = odd})), (list{0}));
  EXPECT_EQ(values(all_true(x % 2 == 1, {.where = odd})), (list{1}));
  EXPECT_EQ(sum(x, {.over = 1, .where = odd}).type(), i64);
}

TEST_F(reductions, a_mask_broadcasts_and_counts_as_often_as_it_is_repeated) {
  const array x{{1, 2, 3}, {4, 5, 6}}, ends{true, false, true}, second = reshape(array{false, true}, {2, 1});
  EXPECT_EQ(values(sum(x, {.where = ends})), (list{14}));
  EXPECT_EQ(values(mean(x, {.where = ends})), (list{3.5}));
  EXPECT_EQ(values(mean(x, {.over = 1, .where = second})).back(), 5);
  EXPECT_TRUE(std::isnan(values(mean(x, {.over = 1, .where = second})).front()));
  EXPECT_EQ(values(sum(x, {.where = array(false)})), (list{0}));
  EXPECT_EQ(values(var(x, {.over = 0, .where = ends, .ddof = 1})).front(), 4.5);
  expect_error<shape_error>([&] { sum(x, {.where = array{true, false}}); }, "sum: where of shape [2]");
  expect_error<shape_error>([&] { sum(x, {.where = ones({2, 2, 3}, boolean)}); }, "does not broadcast to [2, 3]");
  expect_error<type_error>([&] { mean(x, {.where = array{1, 0, 1}}); }, "mean: where is i32, not bool");
}

TEST_F(reductions, a_type_is_cast_to_first_and_kept) {
  const array x{200, 100};
  EXPECT_EQ(sum(x, {.type = u8}).type(), u8);
  EXPECT_EQ(values(sum(x, {.type = u8})), (list{44}));
  EXPECT_EQ(values(sum(x, {.type = i8})), (list{44}));
  EXPECT_EQ(values(max(x, {.type = i8})), (list{100}));  // 200 is -56
  EXPECT_EQ(prod(x, {.type = f32}).type(), f32);
  EXPECT_EQ(values(prod(x, {.type = f32})), (list{20000}));
  EXPECT_EQ(values(sum(array{0.6, 0.6}, {.type = i32})), (list{0}));
  EXPECT_EQ(mean(array{1.0f, 2.0f}, {.type = f64}).type(), f64);
  EXPECT_EQ(var(x, {.type = f32}).type(), f32);
  EXPECT_EQ(var(x, {.type = c64}).type(), f32);
  EXPECT_EQ(values(sum(x > 0, {.type = boolean})), (list{1}));
  EXPECT_EQ(mean(array{0.6, 0.6}, {.type = i32}).type(), f64);
}

TEST_F(reductions, an_initial_value_takes_part) {
  const array x{3, 5};
  EXPECT_EQ(values(sum(x, {.initial = 10})), (list{18}));
  EXPECT_EQ(values(prod(x, {.initial = 10})), (list{150}));
  EXPECT_EQ(values(min(x, {.initial = 1})), (list{1}));
  EXPECT_EQ(values(max(x, {.initial = 1})), (list{5}));
  EXPECT_EQ(max(x, {.initial = 1}).type(), i32);
  EXPECT_EQ(values(max(zeros({0, 2}), {.over = 0, .initial = -1})), (list{-1, -1}));
  EXPECT_EQ(max(zeros({0, 2}), {.over = 0, .keep = keepdims, .initial = -1}).extents(), (shape{1, 2}));
  EXPECT_EQ(max(zeros({0, 2}), {.over = 1, .initial = -1}).extents(), shape{0});
  EXPECT_EQ(values(sum(zeros({0}), {.initial = 2.5})), (list{2.5}));
  // 2048 + 1 + 1 in f16, rounded once.
  EXPECT_EQ(values(sum(array{2048.f, 1.f}.astype(f16), {.initial = 1})), (list{2050}));
  EXPECT_EQ(sum(array{2048.f, 1.f}.astype(f16), {.initial = 1}).type(), f16);
  expect_error<type_error>([&] { sum(x, {.initial = 0.5}); }, "i64");
  expect_error<type_error>([&] { max(x.astype(u8), {.initial = 300}); }, "300 does not fit u8");
}

TEST_F(reductions, options_without_a_use_are_refused) {
  const array x{1.0, 2.0};
  expect_error<type_error>([&] { sum(x, {.ddof = 1}); }, "sum: takes no ddof");
  expect_error<type_error>([&] { mean(x, {.initial = 1}); }, "mean: takes no initial");
  expect_error<type_error>([&] { var(x, {.initial = 1}); }, "var: takes no initial");
  expect_error<type_error>([&] { any_true(x, {.type = f32}); }, "any_true: takes no type");
  expect_error<type_error>([&] { count_nonzero(x, {.initial = 1}); }, "count_nonzero: takes no initial");
  expect_error<shape_error>([&] { min(x, {.where = x > 1}); }, "min: with where, no elements may be left");
}

// ---- Shapes, dtypes, errors ----

TEST_F(reductions, every_dtype_has_its_results) {
  for (const dtype t : every_type) {
    const array x = ones({2, 3}, t);
    EXPECT_EQ(sum(x, 1).type(), wide(t)) << to_string(t);
    EXPECT_EQ(prod(x, {.over = 1}).type(), wide(t)) << to_string(t);
    EXPECT_EQ(mean(x, 1).type(), inexact(t)) << to_string(t);
    EXPECT_EQ(var(x, 1).type(), real_of(t)) << to_string(t);
    EXPECT_EQ(stddev(x, {.over = 1, .ddof = 1}).type(), real_of(t)) << to_string(t);
    EXPECT_EQ(var(x, {.where = x != 0}).type(), real_of(t)) << to_string(t);
    EXPECT_EQ(norm(x, 2, 1).type(), real_of(t)) << to_string(t);
    EXPECT_EQ(norm(x, 3).type(), real_of(t)) << to_string(t);
    EXPECT_EQ(nansum(x, 1).type(), wide(t)) << to_string(t);
    EXPECT_EQ(nanmean(x, 1).type(), inexact(t)) << to_string(t);
    EXPECT_EQ(average(x, x, 1).type(), inexact(t)) << to_string(t);
    EXPECT_EQ(cumsum(x, 1).type(), wide(t)) << to_string(t);
    EXPECT_EQ(cumprod(x).type(), wide(t)) << to_string(t);
    EXPECT_EQ(diff(x).type(), t) << to_string(t);
    EXPECT_EQ(matmul(x, transpose(x)).type(), t) << to_string(t);
    EXPECT_EQ(trace(x).type(), wide(t)) << to_string(t);
    if (is_complex(t)) continue;
    EXPECT_EQ(min(x, 1).type(), t) << to_string(t);
    EXPECT_EQ(nanmax(x, 1).type(), t) << to_string(t);
    EXPECT_EQ(argmin(x, 1).type(), i64) << to_string(t);
    EXPECT_EQ(cummax(x, 1).type(), t) << to_string(t);
    EXPECT_EQ(logsumexp(x, 1).type(), inexact(t)) << to_string(t);
    EXPECT_EQ(softmax(x).type(), inexact(t)) << to_string(t);
    EXPECT_EQ(log_softmax(x).type(), inexact(t)) << to_string(t);
  }
}

TEST_F(reductions, functions_of_an_order_refuse_complex_numbers) {
  const array z = ones({2}, c64);
  expect_error<type_error>([&] { min(z); }, "min: not defined for c64");
  expect_error<type_error>([&] { max(z, {.initial = 1}); }, "max: not defined for c64");
  expect_error<type_error>([&] { ptp(z); }, "ptp: not defined for c64");
  expect_error<type_error>([&] { argmax(z); }, "argmax: not defined for c64");
  expect_error<type_error>([&] { nanmin(z); }, "nanmin: not defined for c64");
  expect_error<type_error>([&] { logsumexp(z); }, "logsumexp: not defined for c64");
  expect_error<type_error>([&] { softmax(z); }, "softmax: not defined for c64");
  expect_error<type_error>([&] { cummin(z, 0); }, "cummin: not defined for c64");
}

TEST_F(reductions, bad_axes_are_errors_at_the_line_of_the_call) {
  const array x = zeros({2, 3});
  expect_error<shape_error>([&] { prod(x, 2); }, "prod: axis 2 is outside [-2, 2)");
  expect_error<shape_error>([&] { mean(x, {0, 0}); }, "mean: axis 0 is named twice");
  expect_error<shape_error>([&] { var(x, {.over = {1, -1}}); }, "var: axis -1 is named twice");
  expect_error<shape_error>([&] { stddev(x, -3); }, "stddev: axis -3 is outside");
  expect_error<shape_error>([&] { argmax(x, 2); }, "argmax: axis 2 is outside");
  expect_error<shape_error>([&] { ptp(x, 5); }, "ptp: axis 5");
  expect_error<shape_error>([&] { norm(x, 2, 5); }, "norm: axis 5");
  expect_error<shape_error>([&] { logsumexp(x, 5); }, "logsumexp: axis 5");
  expect_error<shape_error>([&] { softmax(x, 5); }, "softmax: axis 5");
  expect_error<shape_error>([&] { softmax(array(1.0)); }, "softmax: axis -1 of an array without axes");
  expect_error<shape_error>([&] { nanmean(x, 5); }, "nanmean: axis 5");
  expect_error<shape_error>([&] { nanmax(x, {0, 0}); }, "nanmax: axis 0 is named twice");
  expect_error<shape_error>([&] { average(x, x, 5); }, "average: axis 5");
}

TEST_F(reductions, extremes_of_nothing_are_errors_and_the_rest_has_values) {
  const array none = zeros({2, 0});
  expect_error<shape_error>([&] { min(none, 1); }, "min: shape [2, 0] has no elements along the reduced axes");
  expect_error<shape_error>([&] { max(none, {.over = 1}); }, "max: shape [2, 0]");
  expect_error<shape_error>([&] { argmin(none, 1); }, "argmin: shape [2, 0]");
  expect_error<shape_error>([&] { argmax(none); }, "argmax: shape [2, 0]");
  expect_error<shape_error>([&] { ptp(none); }, "ptp: shape [2, 0]");
  expect_error<shape_error>([&] { nanmin(none, 1); }, "nanmin: shape [2, 0]");
  expect_error<shape_error>([&] { norm(none, inf, 1); }, "norm: shape [2, 0]");
  EXPECT_EQ(max(none, 0).extents(), shape{0});
  EXPECT_EQ(argmax(none, 0).extents(), shape{0});
  EXPECT_EQ(values(sum(none, 1)), (list{0, 0}));
  EXPECT_EQ(values(prod(none, 1)), (list{1, 1}));
  EXPECT_EQ(values(any_true(none, 1)), (list{0, 0}));
  EXPECT_EQ(values(all_true(none, 1)), (list{1, 1}));
  EXPECT_EQ(values(norm(none, 2, 1)), (list{0, 0}));
  expect_values(mean(none, 1), {nan, nan});
  expect_values(var(none, 1), {nan, nan});
  expect_values(logsumexp(none, 1), {-inf, -inf});
  EXPECT_EQ(softmax(none).extents(), (shape{2, 0}));
  EXPECT_EQ(mean(none, 0).extents(), shape{0});
}

TEST_F(reductions, arrays_without_axes_are_one_element) {
  const array x(-3);
  EXPECT_EQ(values(sum(x)), (list{-3}));
  EXPECT_EQ(values(max(x)), (list{-3}));
  EXPECT_EQ(values(mean(x)), (list{-3}));
  EXPECT_EQ(values(var(x)), (list{0}));
  expect_values(var(x, {.ddof = 1}), {nan});
  EXPECT_EQ(values(argmin(x)), (list{0}));
  EXPECT_EQ(values(norm(x)), (list{3}));
  EXPECT_EQ(values(logsumexp(x)), (list{-3}));
  EXPECT_EQ(values(ptp(x)), (list{0}));
  EXPECT_EQ(sum(x, {}, keepdims).extents(), shape{});
}

// ---- Values ----

TEST_F(reductions, variances_are_those_of_numpy) {
  const array x{{1.0, 2.0, 4.0}, {0.0, 0.0, 9.0}};
  expect_values(var(x, 1), {14.0 / 9, 18});
  expect_values(var(x, {.over = 1, .ddof = 1}), {7.0 / 3, 27});
  expect_values(stddev(x, 1), {std::sqrt(14.0 / 9), std::sqrt(18.0)});
  expect_values(var(x, {.over = 0, .ddof = 2}), {inf, inf, inf});
  expect_values(var(array{2.0, 2.0}, {.ddof = 2}), {nan});
  expect_values(var(array{2.0, 2.0}, {.ddof = 3}), {nan});
  expect_values(var(array{1.0, 2.0}, {.ddof = -2}), {0.125});
  const array z{complex128{1, 2}, complex128{3, -2}};
  expect_values(var(z), {5});
  expect_values(var(z, {.where = array{true, true}, .ddof = 1}), {10});
}

TEST_F(reductions, nan_is_left_out_by_name) {
  const array x{{nan, 1.0, 3.0}, {nan, nan, nan}};
  expect_values(nansum(x, 1), {4, 0});
  expect_values(nanprod(x, 1), {3, 1});
  expect_values(nanmin(x, 1), {1, nan});
  expect_values(nanmax(x, 1), {3, nan});
  expect_values(nanmean(x, 1), {2, nan});
  expect_values(nanmax(array{-inf, nan}), {-inf});
  expect_values(sum(x, 1), {nan, nan});
  EXPECT_EQ(nanmax(x, 1, keepdims).extents(), (shape{2, 1}));
  EXPECT_EQ(values(nansum(array{1, 2})), (list{3}));
  EXPECT_EQ(values(nanmin(array{1, 2})), (list{1}));
}

TEST_F(reductions, averages_weigh) {
  const array x{{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}, w{1, 0, 3};
  expect_values(average(x, w, 0), {4, 5});
  expect_values(average(x, array{{1, 1}, {1, 1}, {2, 0}}), {20.0 / 6});
  EXPECT_EQ(average(x, w, 0, keepdims).extents(), (shape{1, 2}));
  const auto [a, s] = average_with_sum(x, w, 0);
  expect_values(a, {4, 5});
  expect_values(s, {4, 4});
  expect_values(average(x, array{0, 0, 0}, 0), {nan, nan});
  EXPECT_EQ(average(x.astype(f32), w, 0).type(), f32);
  expect_error<shape_error>([&] { average(x, w); }, "average: weights of shape [3] for [3, 2]");
  expect_error<shape_error>([&] { average(x, w, 1); }, "average: 3 weights for 2 elements along axis 1");
}

TEST_F(reductions, logsumexp_does_not_overflow) {
  const array x{{1000.0, 1000.0}, {-inf, -inf}, {inf, 1.0}, {nan, inf}, {-inf, 2.0}};
  expect_values(logsumexp(x, 1), {1000 + std::log(2.0), -inf, inf, nan, 2});
  EXPECT_EQ(logsumexp(x, 1, keepdims).extents(), (shape{5, 1}));
  EXPECT_EQ(logsumexp(x, {0, 1}, keepdims).extents(), (shape{1, 1}));
  EXPECT_EQ(logsumexp(x).extents(), shape{});
  EXPECT_EQ(logsumexp(zeros({1, 3, 1}), 0).extents(), (shape{3, 1}));
}

TEST_F(reductions, softmax_of_rows) {
  const array x{{1000.0, 1000.0}, {0.0, -inf}};
  expect_values(softmax(x), {0.5, 0.5, 1, 0});
  expect_values(log_softmax(x), {-std::log(2.0), -std::log(2.0), 0, -inf});
  expect_values(softmax(zeros({2, 2}), {0, 1}), {0.25, 0.25, 0.25, 0.25});
  expect_values(softmax(array{inf, 0.0}), {nan, nan});
}

TEST_F(reductions, norms_of_every_order) {
  const array x{{3.0, -4.0}, {0.0, 2.0}};
  expect_values(norm(x, 2, 1), {5, 2});
  expect_values(norm(x), {std::sqrt(29.0)});
  expect_values(norm(x, 1, 1), {7, 2});
  expect_values(norm(x, inf, 1), {4, 2});
  expect_values(norm(x, -inf, 1), {3, 0});
  expect_values(norm(x, 0, 1), {2, 1});
  expect_values(norm(x, 3, 0), {3, std::cbrt(72.0)});
  EXPECT_EQ(norm(x, 2, 1, keepdims).extents(), (shape{2, 1}));
  expect_values(norm(array{complex128{3, 4}, complex128{0, 12}}), {13});
  expect_values(norm(array{complex128{3, 4}, complex128{0, 12}}, 1), {17});
  expect_values(norm(array{3, -4}), {5});
}

// ---- Scans ----

TEST_F(scans, run_along_an_axis_or_in_flat_order) {
  const array x{{1, 2, 3}, {4, 5, 6}};
  EXPECT_EQ(values(cumsum(x, 1)), (list{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(values(cumsum(x, 0)), (list{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(values(cumprod(x, -1)), (list{1, 2, 6, 4, 20, 120}));
  EXPECT_EQ(values(cumsum(x)), (list{1, 3, 6, 10, 15, 21}));
  EXPECT_EQ(cumsum(x).extents(), shape{6});
  EXPECT_EQ(cumsum(x, 0).extents(), (shape{2, 3}));
  EXPECT_EQ(values(cumsum(array(7))), (list{7}));
  EXPECT_EQ(cumsum(array(7)).extents(), shape{1});
  EXPECT_EQ(cumsum(zeros({3, 0}), 1).extents(), (shape{3, 0}));
  EXPECT_EQ(values(cummax(array{1, 3, 2, 5, 4}, 0)), (list{1, 3, 3, 5, 5}));
  EXPECT_EQ(values(cummin(array{3, 1, 2, 0, 4}, 0)), (list{3, 1, 1, 0, 0}));
  expect_error<shape_error>([&] { cumsum(x, 2); }, "cumsum: axis 2 is outside [-2, 2)");
  expect_error<shape_error>([&] { cummax(array(1), 0); }, "cummax: axis 0 of an array without axes");
}

TEST_F(scans, take_a_type) {
  const array x{100, 100, 100};
  EXPECT_EQ(cumsum(x, {.type = u8}).type(), u8);
  EXPECT_EQ(values(cumsum(x, {.type = u8})), (list{100, 200, 44}));
  EXPECT_EQ(values(cumsum(array{0.5, 0.5}, {.axis = 0, .type = i32})), (list{0, 0}));
  EXPECT_EQ(cumprod(x, {.axis = 0, .type = f32}).type(), f32);
  EXPECT_EQ(values(cummax(array{1, 200, 3}, {.type = i8})), (list{1, 1, 3}));
}

TEST_F(scans, stay_nan) {
  const array x{1.0, nan, 5.0, -inf};
  expect_values(cummax(x), {1, nan, nan, nan});
  expect_values(cummin(x), {1, nan, nan, nan});
  expect_values(cumsum(x), {1, nan, nan, nan});
}

TEST_F(scans, differences_of_neighbours) {
  const array x{{1, 4, 9, 16}, {0, 0, 1, 0}};
  EXPECT_EQ(values(diff(x)), (list{3, 5, 7, 0, 1, -1}));
  EXPECT_EQ(values(diff(x, 2)), (list{2, 2, 1, -2}));
  EXPECT_EQ(values(diff(x, 1, 0)), (list{-1, -4, -8, -16}));
  EXPECT_EQ(diff(x, 4).extents(), (shape{2, 0}));
  EXPECT_EQ(diff(x, 9, 0).extents(), (shape{0, 4}));
  EXPECT_EQ(diff(x, 0).node(), x.node());
  EXPECT_EQ(values(diff(array{true, true, false})), (list{0, 1}));
  EXPECT_EQ(values(diff(array{std::uint8_t{1}, std::uint8_t{0}})), (list{255}));
  EXPECT_EQ(values(diff(array{1, 3}, 1, 0, array(0), array{10, 20})), (list{1, 2, 7, 10}));
  EXPECT_EQ(values(diff(x, 1, 0, {}, array(0))), (list{-1, -4, -8, -16, 0, 0, -1, 0}));
  EXPECT_EQ(values(cumsum(diff(x, 1, 1, array(0)), 1)), values(x));
  expect_error<shape_error>([&] { diff(x, -1); }, "diff: -1 times");
  expect_error<shape_error>([&] { diff(array(1)); }, "diff: axis -1 of an array without axes");
  expect_error<shape_error>([&] { diff(x, 1, 1, array{{1}}); }, "differ along axis 0");
}

// ---- Products ----

TEST_F(products, matrices_and_vectors_multiply) {
  const array a{{1, 2, 3}, {4, 5, 6}}, b{{1, 0}, {0, 1}, {2, 2}}, v{1, 0, -1}, w{1, 10};
  EXPECT_EQ(values(matmul(a, b)), (list{7, 8, 16, 17}));
  EXPECT_EQ(values(matmul(a, v)), (list{-2, -2}));
  EXPECT_EQ(values(matmul(w, a)), (list{41, 52, 63}));
  EXPECT_EQ(matmul(v, v).extents(), shape{});
  EXPECT_EQ(values(matmul(v, v)), (list{2}));
  EXPECT_EQ(values(dot(a, b)), values(matmul(a, b)));
  EXPECT_EQ(values(dot(v, array{4, 5, 6})), (list{-2}));
  EXPECT_EQ(values(dot(array(3), v)), (list{3, 0, -3}));
  EXPECT_EQ(values(outer(w, array{{1, 2}, {3, 4}})), (list{1, 2, 3, 4, 10, 20, 30, 40}));
  EXPECT_EQ(outer(w, v).extents(), (shape{2, 3}));
  EXPECT_EQ(matmul(a.astype(i8), b.astype(i16)).type(), i16);
  EXPECT_EQ(values(matmul(array{{100, 100}}.astype(i8), array{1, 1}.astype(i8))), (list{-56}));
  EXPECT_EQ(values(matmul(a > 2, b > 0)), (list{1, 1, 1, 1}));
  EXPECT_EQ(matmul(a > 2, b > 0).type(), boolean);
}

TEST_F(products, stacks_of_matrices_broadcast) {
  const array a = ones({5, 1, 2, 3}), b = ones({4, 3, 7});
  EXPECT_EQ(matmul(a, b).extents(), (shape{5, 4, 2, 7}));
  EXPECT_EQ(matmul(a, ones({3})).extents(), (shape{5, 1, 2}));
  EXPECT_EQ(matmul(ones({3}), b).extents(), (shape{4, 7}));
  EXPECT_EQ(values(matmul(ones({2, 0}), ones({0, 1}))), (list{0, 0}));
  EXPECT_EQ(matmul(ones({0, 3}), ones({3, 2})).extents(), (shape{0, 2}));
}

TEST_F(products, shapes_must_fit) {
  const array a = ones({2, 3}), one(1.0);
  expect_error<shape_error>([&] { matmul(a, a); }, "matmul: shapes [2, 3] and [2, 3]");
  expect_error<shape_error>([&] { matmul(a, ones({1, 4})); }, "rows of 3 elements, columns of 1");
  expect_error<shape_error>([&] { matmul(a, one); }, "arrays without axes are no matrices");
  expect_error<shape_error>([&] { matmul(ones({2, 2, 3}), ones({3, 3, 2})); }, "do not broadcast");
  expect_error<shape_error>([&] { dot(ones({3}), ones({1})); }, "dot: shapes [3] and [1]");
  EXPECT_EQ(dot(a, ones({2, 3, 2})).extents(), (shape{2, 2, 2}));
  expect_error<shape_error>([&] { dot(a, ones({2, 4, 2})); },
                            "dot: shapes [2, 3] and [2, 4, 2]: axis 1 of the first has 3 elements, axis 1 of the "
                            "second 4");
  expect_error<shape_error>([&] { vdot(a, ones({5})); }, "vdot: shapes [2, 3] and [5]: 6 and 5 elements");
  expect_error<shape_error>([&] { trace(ones({3})); }, "trace: axis 1 is outside");
  expect_error<shape_error>([&] { trace(a, 0, 1, -1); }, "axis -1 is named twice");
  const array whole = a.astype(i64), natural = ones({3, 1}, u64);
  expect_error<type_error>([&] { matmul(whole, natural); }, "matmul: no dtype holds both i64 and u64");
}

TEST_F(products, vdot_conjugates_the_left_side) {
  const array a{complex128{1, 2}, complex128{0, 1}}, b{complex128{3, 0}, complex128{0, 1}};
  EXPECT_EQ(vdot(a, b).item<complex128>(), (complex128{4, -6}));
  EXPECT_EQ(dot(a, b).item<complex128>(), (complex128{2, 6}));
  EXPECT_EQ(values(vdot(array{{1, 2}, {3, 4}}, array{1, 1, 1, 2})), (list{14}));
}

TEST_F(products, traces_of_any_two_axes) {
  const array x{{1, 2, 3}, {4, 5, 6}};
  EXPECT_EQ(values(trace(x)), (list{6}));
  EXPECT_EQ(values(trace(x, 1)), (list{8}));
  EXPECT_EQ(values(trace(x, -1)), (list{4}));
  EXPECT_EQ(values(trace(x, 3)), (list{0}));
  EXPECT_EQ(trace(zeros({2, 3, 4}), 0, 0, 2).extents(), shape{3});
}

}  // namespace
