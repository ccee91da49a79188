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
  const value sum = b.reduce_and_end(op::reduce_sum, f32, y, l);
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
            "kernel sum(64-bit indices, elements)\n"
            "  x1: f32\n"
            "  in4: f32\n"
            "  out5: f32\n"
            "for d0 in [0, n0)\n"
            "  %0 = x1                                         f32\n"
            "  %1 = loop d1 in [0, n2)\n"
            "    %2 = load in4[d0*s3 + d1]                     f32\n"
            "    %3 = multiply %2, %0                          f32\n"
            "    %4 = reduce_sum %3 over %1                    f32\n"
            "  end %1\n"
            "  store out5[d0] %4\n");
}

/// out[i, j] = a[i, j] over the greatest of the row, and the sums up to there
kernel_builder scaled_rows(const std::vector<float>& a, std::vector<float>& out) {
  kernel_builder b{3};
  const std::uint32_t element = b.form({{0, 4}, {1}});
  const value l = b.loop(f32, {4});
  const value most = b.reduce_and_end(op::reduce_max, f32, b.load(f32, a, element), l);
  const value m = b.loop_again(l);
  const value x = b.load(f32, a, element);
  b.k.origins[raw(x)] = b.k.origins[1];
  const value sum = b.add(op::scan_sum, f32, {x, m});
  b.store(f32, out.data(), element, b.add(op::divide, f32, {sum, most}));
  b.end(m);
  b.k.over = distribution::rows;
  b.k.lanes = 4;
  b.k.kept = 2;
  b.k.threads = 128;
  return b;
}

TEST(print, distributed_loops_print_with_what_they_share) {
  const std::vector<float> a(12, 1.0f);
  std::vector<float> out(12);
  kernel_builder b = scaled_rows(a, out);
  EXPECT_EQ(to_string(b.k, "scale"),
            "kernel scale(64-bit indices, rows, 4 lanes, 2 kept, 128 threads)\n"
            "  in3: f32\n"
            "  in4: f32\n"
            "  out5: f32\n"
            "for d0 in [0, n0)\n"
            "  %0 = loop d1 in [0, n2)\n"
            "    %1 = load in3[d0*s1 + d1]                     f32\n"
            "    %2 = reduce_max %1 over %0                    f32\n"
            "  end %0\n"
            "  %4 = loop d1 in [0, n2)\n"
            "    %5 = load in4[d0*s1 + d1]                     f32, %1 again\n"
            "    %6 = scan_sum %5 along %4                     f32\n"
            "    %7 = divide %6, %2                            f32\n"
            "    store out5[d0*s1 + d1] %7\n"
            "  end %4\n");
  b.k.over = distribution::columns;
  b.k.kept = 0;
  b.k.split = 1;
  EXPECT_EQ(to_string(b.k, "c").substr(0, 65), "kernel c(64-bit indices, columns, 4 lanes, split, 128 threads)\n  ");
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
  EXPECT_EQ(message_of(scaled_rows(a, out).k), "");
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

TEST(verify, rejects_reductions_used_before_their_loop_has_ended) {
  const std::vector<float> a(4);
  kernel_builder b{3};
  const value l = b.loop(f32, {4});
  const value sum = b.add(op::reduce_sum, f32, {b.load(f32, a, b.form({{1}})), l});
  b.add(op::negative, f32, {sum});
  expect_rejected(b.k, "%3 (negative): operand %2 belongs to a loop that has not ended");
}

TEST(verify, rejects_reductions_of_an_inner_loop_after_the_outer_one) {
  const std::vector<float> a(4);
  kernel_builder b{3};
  const value outer = b.loop(f32, {2}), inner = b.loop(f32, {4});
  const value sum = b.reduce_and_end(op::reduce_sum, f32, b.load(f32, a, b.form({{2}})), inner);
  const value total = b.reduce_and_end(op::reduce_sum, f32, sum, outer);
  EXPECT_EQ(message_of(b.k), "");
  b.add(op::add, f32, {total, sum});
  expect_rejected(b.k, "operand %3 is inside a loop that has ended");
}

TEST(verify, rejects_ends_reductions_and_scans_of_other_than_the_innermost_loop) {
  const std::vector<float> a(4);
  for (const op code : {op::reduce_sum, op::scan_sum, op::end}) {
    kernel_builder b{3};
    const value outer = b.loop(f32, {2});
    b.loop(f32, {4});
    const value x = b.load(f32, a, b.form({{2}}));
    if (code == op::end) b.end(outer);
    else b.add(code, f32, {x, outer});
    expect_rejected(b.k, "%0 is not the innermost loop here");
  }
  kernel_builder b{3};
  b.add(op::reduce_sum, f32, {b.scalar(f32, 1.0f), value{0}});
  expect_rejected(b.k, "%0 is not the innermost loop here");
}

TEST(verify, rejects_loops_and_their_ends_as_values) {
  for (const std::uint32_t operand : {0u, 1u}) {
    kernel_builder b{3};
    b.end(b.loop(f32, {2}));
    b.add(op::negative, f32, {value{operand}});
    expect_rejected(b.k, "has no value");
  }
}

TEST(verify, rejects_loops_over_dims_that_count_already_or_none) {
  kernel_builder b{3};
  b.loop_again(b.loop(f32, {2}));
  expect_rejected(b.k, "dim d1 is counting already");
  kernel_builder none{3};
  none.loop(f32, {});
  expect_rejected(none.k, "a loop over no dim");
  kernel_builder crossing{3};
  crossing.end(crossing.loop(f32, {2, 3}));
  crossing.k.loops.push_back({2, 1});
  expect_rejected(crossing.k, "loops over some of the same dims");
}

TEST(verify, rejects_deviations_which_are_lowered_and_scans_of_another_dtype) {
  kernel_builder b{3};
  const value x = b.scalar(i32, 1), l = b.loop(f64, {2});
  b.add(op::reduce_deviations, i32, {x, l});
  expect_rejected(b.k, "has no place in a kernel");
  kernel_builder c{3};
  const value y = c.scalar(f64, 1.0), m = c.loop(f64, {2});
  c.add(op::scan_max, f32, {y, m});
  expect_rejected(c.k, "dtype differs from the operand's");
}

TEST(verify, rejects_split_loops_that_need_one_another) {
  const std::vector<float> a(12, 1.0f);
  std::vector<float> out(12);
  kernel_builder b = scaled_rows(a, out);
  b.k.kept = 0;
  b.k.split = 1;
  expect_rejected(b.k, "%7 (divide): operand %2 is what another of the split loops found");
  kernel_builder sums = row_sums(a, out);
  sums.k.over = distribution::rows;
  sums.k.split = 1;
  EXPECT_EQ(message_of(sums.k), "");
}

TEST(verify, rejects_distributions_that_do_not_fit) {
  const std::vector<float> a(12, 1.0f);
  std::vector<float> out(3);
  const auto expect_with = [&](auto change, const std::string& part) {
    kernel_builder b = row_sums(a, out);
    change(b.k);
    expect_rejected(b.k, part);
  };
  expect_with([](kernel& k) { k.lanes = 3; }, "lanes are a power of two");
  expect_with([](kernel& k) { k.threads = 40; }, "threads come in whole warps");
  expect_with([](kernel& k) { k.kept = 1; }, "only rows are kept");
  expect_with([](kernel& k) { k.split = 1; }, "split loops belong to teams of threads");
  expect_with([](kernel& k) { k.origins.pop_back(); }, "an origin for each instruction");
  kernel_builder plain{3};
  plain.k.over = distribution::columns;
  expect_rejected(plain.k, "no loops to distribute");
  kernel_builder deep{3};
  deep.end(deep.loop(f32, {2, 3}));
  deep.k.over = distribution::rows;
  deep.k.kept = 1;
  expect_rejected(deep.k, "a kept row has one dim");
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
