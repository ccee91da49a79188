// The interpreter on kernels built by hand: semantics at the corners, indices.
#include "tests/unit/kernel_builder.hpp"

#include "runtime/error.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <memory>

using namespace sinter_test;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

/// out = code(a, b) with operands of dtype `from` and a result of dtype `to`.
template <class R, class T>
std::vector<R> computed(op code, dtype from, dtype to, const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<R> out(a.size());
  kernel_builder k{static_cast<std::int64_t>(a.size())};
  const std::uint32_t along = k.form({{0}});
  const value x = k.load(from, a, along), y = info(code).arity > 1 ? k.load(from, b, along) : value::none;
  k.store(to, out.data(), along, k.add(code, to, {x, y}));
  k.run();
  return out;
}
template <class T>
std::vector<T> computed(op code, const std::vector<T>& a, const std::vector<T>& b = {}) {
  return computed<T>(code, dtype_of<T>, dtype_of<T>, a, b);
}

/// Equal, NaN to NaN, and zeros of one sign.
template <class T>
void expect_same(const std::vector<T>& got, const std::vector<T>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t k = 0; k < got.size(); ++k) {
    if (std::isnan(wanted[k])) EXPECT_TRUE(std::isnan(got[k])) << "element " << k << " is " << got[k];
    else {
      EXPECT_EQ(got[k], wanted[k]) << "element " << k;
      EXPECT_EQ(std::signbit(got[k]), std::signbit(wanted[k])) << "element " << k;
    }
  }
}

using doubles = std::vector<double>;
using floats = std::vector<float>;
using bytes = std::vector<std::int8_t>;
using integers = std::vector<std::int32_t>;
using wides = std::vector<std::int64_t>;
using naturals = std::vector<std::uint8_t>;

// ---- integers ----

TEST(interpret, narrow_integers_wrap) {
  EXPECT_EQ(computed(op::add, bytes{127, -128}, bytes{1, -1}), (bytes{-128, 127}));
  EXPECT_EQ(computed(op::multiply, naturals{16, 255}, naturals{16, 255}), (naturals{0, 1}));
  EXPECT_EQ(computed(op::negative, bytes{-128, 5}), (bytes{-128, -5}));
  EXPECT_EQ(computed(op::absolute, bytes{-128, -5}), (bytes{-128, 5}));
  EXPECT_EQ(computed(op::square, wides{INT64_MAX}), (wides{1}));
}

TEST(interpret, integer_division_truncates_and_never_traps) {
  EXPECT_EQ(computed(op::divide, integers{7, -7, 7, 5, INT32_MIN}, integers{2, 2, -2, 0, -1}),
            (integers{3, -3, -3, 0, INT32_MIN}));
  EXPECT_EQ(computed(op::modulo, integers{7, -7, 7, 5, INT32_MIN}, integers{2, 2, -2, 0, -1}),
            (integers{1, -1, 1, 0, 0}));
  EXPECT_EQ(computed(op::divide, wides{INT64_MIN, 1}, wides{-1, 0}), (wides{INT64_MIN, 0}));
}

TEST(interpret, integer_floor_division_goes_down_and_its_remainder_has_the_divisors_sign) {
  EXPECT_EQ(computed(op::floor_divide, integers{7, -7, 7, -7, -6, 5}, integers{2, 2, -2, -2, 2, 0}),
            (integers{3, -4, -4, 3, -3, 0}));
  EXPECT_EQ(computed(op::remainder, integers{7, -7, 7, -7, -6, 5}, integers{2, 2, -2, -2, 2, 0}),
            (integers{1, 1, -1, -1, 0, 0}));
}

TEST(interpret, integer_powers_wrap_and_negative_exponents_give_zero_but_for_units) {
  EXPECT_EQ(computed(op::power, bytes{2, 3, 0, 2, 1, -1, -1, -2, 0}, bytes{7, 4, 0, -1, -5, -3, -2, 7, -1}),
            (bytes{-128, 81, 1, 0, 1, -1, 1, -128, 0}));
}

TEST(interpret, shifts_past_the_width_give_zero_or_the_sign) {
  EXPECT_EQ(computed(op::shift_left, bytes{1, 1, 1, 1}, bytes{6, 7, 8, -1}), (bytes{64, -128, 0, 0}));
  EXPECT_EQ(computed(op::shift_right, bytes{-128, -128, 64, 64, -1}, bytes{3, 100, 3, 8, -1}),
            (bytes{-16, -1, 8, 0, -1}));
  EXPECT_EQ(computed(op::shift_right, naturals{255, 255}, naturals{4, 8}), (naturals{15, 0}));
  EXPECT_EQ(computed(op::bit_not, naturals{0xf0}), (naturals{0x0f}));
}

TEST(interpret, sign_of_unsigned_numbers_is_zero_or_one) {
  EXPECT_EQ(computed(op::sign, naturals{0, 200}), (naturals{0, 1}));
  EXPECT_EQ(computed(op::sign, bytes{0, -7, 9}), (bytes{0, -1, 1}));
}

TEST(interpret, boolean_sums_are_or_and_products_and) {
  const std::unique_ptr<bool[]> out(new bool[4]);
  const bool a[] = {false, false, true, true}, b[] = {false, true, false, true};
  const auto run = [&](op code) {
    kernel_builder k{4};
    const std::uint32_t along = k.form({{0}});
    const value x = k.load(boolean, a, along), y = info(code).arity > 1 ? k.load(boolean, b, along) : value::none;
    k.store(boolean, out.get(), along, k.add(code, boolean, {x, y}));
    k.run();
    return std::vector<bool>(out.get(), out.get() + 4);
  };
  EXPECT_EQ(run(op::add), (std::vector<bool>{false, true, true, true}));
  EXPECT_EQ(run(op::multiply), (std::vector<bool>{false, false, false, true}));
  EXPECT_EQ(run(op::bit_not), (std::vector<bool>{true, true, false, false}));
  EXPECT_EQ(run(op::maximum), (std::vector<bool>{false, true, true, true}));
  EXPECT_EQ(run(op::less), (std::vector<bool>{false, true, false, false}));
}

// ---- floats ----

TEST(interpret, nan_wins_in_minimum_and_loses_in_fmin) {
  expect_same(computed(op::minimum, doubles{1, nan, 3}, doubles{2, 2, nan}), {1, nan, nan});
  expect_same(computed(op::maximum, doubles{1, nan, 3}, doubles{2, 2, nan}), {2, nan, nan});
  expect_same(computed(op::fmin, doubles{1, nan, 3, nan}, doubles{2, 2, nan, nan}), {1, 2, 3, nan});
  expect_same(computed(op::fmax, doubles{1, nan, 3, nan}, doubles{2, 2, nan, nan}), {2, 2, 3, nan});
}

TEST(interpret, float_floor_division_and_remainder_agree_with_python) {
  const doubles a = {7, -7, 7, -7, 0.0, -0.0, -12, 12, 1, -1, 0, inf, 1, nan};
  const doubles b = {2, 2, -2, -2, 3, 3, inf, -inf, 0, 0, 0, 2, inf, 1};
  expect_same(computed(op::floor_divide, a, b), {3, -4, -4, 3, 0.0, -0.0, -1, -1, inf, -inf, nan, nan, 0.0, nan});
  expect_same(computed(op::remainder, a, b), {1, 1, -1, -1, 0.0, 0.0, inf, -inf, nan, nan, nan, nan, 1, nan});
}

TEST(interpret, float_floor_division_is_exact_in_the_operands_precision) {
  EXPECT_EQ(computed(op::floor_divide, floats{5.665f, 1.0f}, floats{0.1f, 0.1f}),
            (floats{56, 9}));
}

TEST(interpret, rounding_ties_go_to_even_and_signs_of_zero_and_nan_are_kept) {
  expect_same(computed(op::round, doubles{0.5, 1.5, 2.5, -0.5}), {0, 2, 2, -0.0});
  expect_same(computed(op::sign, doubles{-3, nan, 4, -0.0}), {-1, nan, 1, 0.0});
}

TEST(interpret, logaddexp_is_stable_and_takes_infinities) {
  const doubles got =
      computed(op::logaddexp, doubles{1000, -inf, inf, -inf, inf, 0}, doubles{1000, -inf, inf, 3, -inf, nan});
  expect_same(got, {1000 + std::log(2.0), -inf, inf, 3, inf, nan});
}

TEST(interpret, half_floats_round_after_each_operation_and_step_on_their_own_grid) {
  const std::vector<float16> one = {float16(1.0f)}, small = {float16(0.0004f)};
  EXPECT_EQ(computed(op::add, one, small), one);
  const std::vector<float16> up = computed(op::nextafter, std::vector{float16(1.0f), float16(0.0f), float16(-1.0f)},
                                        std::vector{float16(2.0f), float16(-1.0f), float16(0.0f)});
  EXPECT_EQ(up[0].bits, float16(1.0f).bits + 1);
  EXPECT_EQ(up[1].bits, 0x8001);
  EXPECT_EQ(up[2].bits, float16(-1.0f).bits - 1);
  const std::vector<bfloat16> next = computed(op::nextafter, std::vector{bfloat16(1.0f)}, std::vector{bfloat16(2.0f)});
  EXPECT_EQ(next[0].bits, bfloat16(1.0f).bits + 1);
}

// ---- complex ----

TEST(interpret, complex_arithmetic_divides_by_scaling_and_measures_with_hypot) {
  using complexes = std::vector<complex128>;
  const complexes q =
      computed(op::divide, complexes{{1, 2}, {1e300, 1e300}, {1, 1}}, complexes{{3, 4}, {1e300, 1e300}, {0, 0}});
  EXPECT_NEAR(q[0].re, 11.0 / 25, 1e-16);
  EXPECT_NEAR(q[0].im, 2.0 / 25, 1e-16);
  EXPECT_EQ(q[1], (complex128{1, 0}));
  EXPECT_EQ(q[2], (complex128{inf, inf}));
  EXPECT_DOUBLE_EQ(computed<double>(op::absolute, c128, f64, complexes{{3e200, 4e200}}, complexes{})[0], 5e200);
  EXPECT_EQ(computed(op::power, complexes{{1, 2}}, complexes{{2, 0}}), (complexes{{-3, 4}}));
}

// ---- conversions ----

template <class R, class T>
std::vector<R> converted(const std::vector<T>& x) { return computed<R>(op::convert, dtype_of<T>, dtype_of<R>, x, {}); }

TEST(interpret, floats_become_integers_by_truncation_saturation_and_zero_for_nan) {
  EXPECT_EQ(converted<std::int8_t>(doubles{1.9, -1.9, 200, -200, nan, inf, -128.5}),
            (bytes{1, -1, 127, -128, 0, 127, -128}));
  EXPECT_EQ(converted<std::uint8_t>(doubles{255.5, 256, -1, -0.5}), (naturals{255, 255, 0, 0}));
  EXPECT_EQ(converted<std::int64_t>(floats{9.3e18f, -9.3e18f, 5e9f}), (wides{INT64_MAX, INT64_MIN, 5000000000}));
  EXPECT_EQ(converted<std::uint64_t>(doubles{1e20, -1}), (std::vector<std::uint64_t>{UINT64_MAX, 0}));
}

TEST(interpret, integers_wrap_into_narrower_ones_and_complex_gives_its_real_part) {
  EXPECT_EQ(converted<std::int8_t>(integers{300, -129}), (bytes{44, 127}));
  EXPECT_EQ(converted<std::uint8_t>(integers{-1}), (naturals{255}));
  EXPECT_EQ(converted<double>(std::vector<complex64>{{1.5f, 2}}), (doubles{1.5}));
  EXPECT_EQ(converted<std::uint64_t>(bytes{-1}), (std::vector<std::uint64_t>{UINT64_MAX}));
}

TEST(interpret, doubles_become_half_floats_in_one_rounding) {
  const double above_tie = 1.0 + 0x1p-11 + 0x1p-40;  // as a float it would be the tie itself, and go down to 1
  EXPECT_EQ(converted<float16>(doubles{above_tie})[0].bits, float16(1.0f).bits + 1);
  const double tie = 1.0 + 0x1p-8;
  EXPECT_EQ(converted<bfloat16>(doubles{tie + 0x1p-40})[0].bits, bfloat16(1.0f).bits + 1);
  EXPECT_EQ(converted<bfloat16>(doubles{tie})[0].bits, bfloat16(1.0f).bits);
}

// ---- rows, indices, faults ----

TEST(interpret, rows_are_found_from_their_number) {
  constexpr std::int64_t n0 = 2, n1 = 3, n2 = 300;
  wides out(n0 * n1 * n2), transposed(n0 * n1 * n2);
  kernel_builder b{n0, n1, n2};
  const value i = b.add(op::index, i64, {}, b.form({{0, 1000000}, {1, 1000}, {2}}, 7));
  b.store(i64, out.data(), b.form({{0, n1 * n2}, {1, n2}, {2}}), i);
  b.store(i64, transposed.data(), b.form({{0}, {1, n0}, {2, n0 * n1}}), i);
  b.run();
  EXPECT_EQ(out[static_cast<std::size_t>((1 * n1 + 2) * n2 + 299)], 1002306);
  EXPECT_EQ(transposed[static_cast<std::size_t>(1 + 2 * n0 + 299 * n0 * n1)], 1002306);
}

TEST(interpret, bad_indices_read_zero_and_only_the_first_is_reported) {
  const wides at = {0, -1, 3, -4, 2};
  const doubles a = {10, 20, 30};
  doubles out(5, -1);
  runtime::index_fault fault;
  kernel_builder b{5};
  const value j = b.bound(b.load(i64, at, b.form({{0}})), 3);
  const value good = b.add(op::in_range, boolean, {j});
  b.store(f64, out.data(), b.form({{0}}), b.load(f64, a, b.form({{j}}), good));
  b.report_to(fault, 42);
  b.run();
  EXPECT_EQ(out, (doubles{10, 30, 0, 0, 30}));
  EXPECT_EQ(fault.set, 2);
  EXPECT_EQ(fault.ordinal, 0);
  EXPECT_EQ(fault.launch, 42);
  EXPECT_EQ(fault.index, 3);
  EXPECT_EQ(fault.size, 3);
  EXPECT_EQ(fault.position, 2);
}

TEST(interpret, huge_unsigned_indices_are_bad_not_negative) {
  const std::vector<std::uint64_t> at = {UINT64_MAX};
  wides out(1, -1);
  runtime::index_fault fault;
  kernel_builder b{1};
  b.store(i64, out.data(), b.form({{0}}), b.bound(b.load(u64, at, b.form({{0}})), 3));
  b.report_to(fault, 1);
  b.run();
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(fault.index, INT64_MAX);
}

TEST(interpret, parts_of_the_domain_can_be_run_apart) {
  doubles out(10, -1);
  kernel_builder b{10};
  b.store(f64, out.data(), b.form({{0}}), b.scalar(f64, 5.0));
  interpret(b.k, b.arguments().data(), 0, 1, 3, 6);
  EXPECT_EQ(out, (doubles{-1, -1, -1, 5, 5, 5, -1, -1, -1, -1}));
}

TEST(interpret, user_calls_are_refused) {
  kernel_builder b{1};
  b.add(op::call, f64, {});
  EXPECT_THROW(interpret(b.k, b.arguments().data(), 0, 1, 0, 1), internal_error);
}

}  // namespace
