// The text form of kernels, and what verify() rejects.
#include "tests/unit/kernel_builder.hpp"

#include "runtime/error.hpp"

#include <gtest/gtest.h>

using namespace sinter_test;

namespace {

/// out[i] = sum over j of a[i, j] * 2
kernel_builder row_sums(const std::vector<float>& a, std::vector<float>& out) {
  kernel_builder b{3};
  const value two = b.scalar(f32, 2.0f);
  const value l = b.loop(f32, {4});
  const value x = b.load(f32, a, b.form({{0, 4}, {1}}));
  const value y = b.add(op::multiply, f32, {x, two});
  const value sum = b.add(op::reduce_sum, f32, {y, l});
  b.store(f32, out.data(), b.form({{0}}), sum);
  return b;
}

std::string message_of(const kernel& k) {
  try {
    verify(k);
  } catch (const internal_error& e) {
    return e.what();
  }
  return "";
}

void expect_rejected(const kernel& k, const std::string& part) {
  const std::string message = message_of(k);
  EXPECT_NE(message.find(part), std::string::npos) << "message: " << message;
}

TEST(print, a_reduction_prints_with_its_loop_indented) {
  const std::vector<float> a(12, 1.0f);
  std::vector<float> out(3);
  const kernel_builder b = row_sums(a, out);
  EXPECT_EQ(to_string(b.k, "sum"),
            "kernel sum(64-bit indices)\n"
            "  x1: f32\n"
            "  in4: f32\n"
            "  out5: f32\n"
            "for d0 in [0, n0)\n"
            "  %0 = x1                                         f32\n"
            "  %1 = loop d1 in [0, n2)\n"
            "    %2 = load in4[d0*s3 + d1]                     f32\n"
            "    %3 = multiply %2, %0                          f32\n"
            "  %4 = reduce_sum %3 over %1                      f32\n"
            "  store out5[d0] %4\n");
}

TEST(print, indices_show_their_numbers_parameters_and_checks) {
  const std::vector<std::int64_t> at(3);
  const std::vector<float> a(9);
  std::vector<float> out(6);
  runtime::index_fault fault;
  kernel_builder b{2, 3};
  const value i = b.load(i64, at, b.form({{1}}));
  const value j = b.bound(i, 9);
  const value good = b.add(op::in_range, boolean, {j});
  const value x = b.load(f32, a, b.form({{j, 2}, {0}}, 4), good);
  b.store(f32, out.data(), b.form({{0, 3}, {1}}), x);
  b.report_to(fault, 1);
  b.k.index_bits = 32;
  b.k.math = 1;
  EXPECT_EQ(to_string(b.k, "gather"),
            "kernel gather(32-bit indices, strict math)\n"
            "  in2: i64\n"
            "  in6: f32\n"
            "  out8: f32\n"
            "for d0 in [0, n0), d1 in [0, n1)\n"
            "  %0 = load in2[d1]                               i64\n"
            "  %1 = bound %0 in size3, check 0                 i64\n"
            "  %2 = in_range %1                                bool\n"
            "  %3 = load in6[%1*s4 + d0 + o5] if %2            f32\n"
            "  store out8[d0*s7 + d1] %3\n");
}

TEST(verify, accepts_the_kernels_of_these_tests) {
  const std::vector<float> a(12, 1.0f);
  std::vector<float> out(3);
  EXPECT_EQ(message_of(row_sums(a, out).k), "");
}

TEST(verify, rejects_operands_that_come_later) {
  kernel_builder b{3};
  b.add(op::negative, f32, {value{1}});
  expect_rejected(b.k, "%0 (negative): operand %1 is not defined before it");
}

TEST(verify, rejects_uses_after_the_loop_of_what_was_inside) {
  const std::vector<float> a(12, 1.0f);
  std::vector<float> out(3);
  kernel_builder b = row_sums(a, out);
  b.add(op::negative, f32, {value{3}});
  expect_rejected(b.k, "operand %3 is inside a loop that has ended");
}

TEST(verify, rejects_loops_that_stay_open) {
  kernel_builder b{3};
  b.loop(f32, {2});
  expect_rejected(b.k, "never closed");
}

TEST(verify, rejects_counters_outside_their_loop) {
  const std::vector<float> a(12, 1.0f);
  std::vector<float> out(3);
  kernel_builder b = row_sums(a, out);
  b.load(f32, a, b.form({{1}}));
  expect_rejected(b.k, "dim d1 is not counting here");
}

TEST(verify, rejects_operands_of_another_dtype) {
  kernel_builder b{3};
  const value x = b.scalar(f32, 1.0f), y = b.scalar(f64, 1.0);
  b.add(op::add, f32, {x, y});
  expect_rejected(b.k, "operand %1 is f64, not f32");
}

TEST(verify, rejects_a_wrong_number_of_operands) {
  kernel_builder b{3};
  const value x = b.scalar(f32, 1.0f);
  b.add(op::add, f32, {x});
  expect_rejected(b.k, "1 operands");
}

TEST(verify, rejects_order_among_complex_numbers) {
  kernel_builder b{3};
  const value x = b.scalar(c64, complex64{});
  b.add(op::maximum, c64, {x, x});
  expect_rejected(b.k, "complex numbers have no order");
}

TEST(verify, rejects_references_beyond_the_tables) {
  kernel_builder b{3};
  b.add(op::index, i64, {}, 7);
  expect_rejected(b.k, "the form does not exist");
}

}  // namespace
