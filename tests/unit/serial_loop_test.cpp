// Serial loops in kernels built by hand: what verify() rejects, how they print, and how the interpreter runs them.
#include "tests/unit/kernel_builder.hpp"
#include "tests/unit/messages.hpp"

#include "runtime/error.hpp"

#include <gtest/gtest.h>

using namespace sinter_test;

namespace {

/// A serial loop of at most n iterations.
value open_serial(kernel_builder& b, std::int64_t n) {
  const value l = b.loop(i64, {n});
  b.k.loops.back().serial = 1;
  return l;
}

value carry(kernel_builder& b, value l, value first, std::uint32_t ordinal = 0) {
  return b.add(op::carry, b.k[first].type, {first, l}, ordinal);
}

value proceed(kernel_builder& b, value l, value c, std::uint32_t check_ordinal = jit::check::none) {
  return b.add(op::proceed, boolean, {c, l}, check_ordinal);
}

/// Ends the iteration and the loop.
value iterate_and_end(kernel_builder& b, value l, const std::vector<value>& states, const std::vector<value>& next,
                      value leaves = value::none) {
  const auto first = static_cast<std::uint32_t>(b.k.call_operands.size());
  std::vector<value> list = states;
  list.insert(list.end(), next.begin(), next.end());
  if (leaves != value::none) list.push_back(leaves);
  b.k.call_operands.insert(b.k.call_operands.end(), list.begin(), list.end());
  b.k.iterations.push_back({first, static_cast<std::uint32_t>(list.size()), static_cast<std::uint32_t>(states.size())});
  const value it =
      b.add(op::iterate, b.k[states[0]].type, {states[0], l}, static_cast<std::uint32_t>(b.k.iterations.size() - 1));
  b.end(l);
  return it;
}

void expect_rejected(const kernel& k, std::string_view why) {
  const std::string message = message_of<internal_error>([&] { verify(k); });
  EXPECT_TRUE(contains(message, why)) << message;
}

/// A loop that doubles each element while it is below 100.
struct built {
  kernel_builder b{4};
  value x, loop, state, holds, leaves, next;
};

/// All but the end of the iteration.
void begin(built& t, const std::vector<std::int32_t>& data, std::int64_t n,
           std::uint32_t check_ordinal = jit::check::none) {
  t.x = t.b.load(i32, data, t.b.form({0}));
  const value bound = t.b.scalar(i32, std::int32_t{100}), two = t.b.scalar(i32, std::int32_t{2});
  t.loop = open_serial(t.b, n);
  t.state = carry(t.b, t.loop, t.x);
  t.holds = t.b.add(op::less, boolean, {t.state, bound});
  t.leaves = proceed(t.b, t.loop, t.holds, check_ordinal);
  t.next = t.b.add(op::multiply, i32, {t.state, two});
}

const std::vector<std::int32_t> data{1, 30, 100, 400};

TEST(serial_loop, each_element_leaves_when_its_condition_fails) {
  built t;
  begin(t, data, 1000);
  std::vector<std::int32_t> out(4);
  const value it = iterate_and_end(t.b, t.loop, {t.state}, {t.next}, t.leaves);
  t.b.store(i32, out.data(), t.b.form({0}), t.b.add(op::result, i32, {it}, 0));
  t.b.run();
  EXPECT_EQ(out, (std::vector<std::int32_t>{128, 120, 100, 400}));
}

TEST(serial_loop, an_element_that_does_not_leave_in_time_is_reported) {
  built t;
  t.b.k.checks.push_back({t.b.parameter(parameter_kind::size, i64, 3)});
  begin(t, data, 4, 0);
  std::vector<std::int32_t> out(4);
  const value it = iterate_and_end(t.b, t.loop, {t.state}, {t.next}, t.leaves);
  t.b.store(i32, out.data(), t.b.form({0}), t.b.add(op::result, i32, {it}, 0));
  runtime::index_fault f{};
  t.b.report_to(f, 9);
  t.b.run();
  EXPECT_EQ(out, (std::vector<std::int32_t>{8, 120, 100, 400})) << "three iterations, and no more";
  EXPECT_NE(f.set, 0);
  EXPECT_EQ(f.launch, 9);
  EXPECT_EQ(f.size, 3);
  EXPECT_EQ(f.position, 0);
}

TEST(serial_loop, states_may_be_each_others_next) {
  kernel_builder b{4};
  const value x = b.load(i32, data, b.form({0})), zero = b.scalar(i32, std::int32_t{0});
  const value l = open_serial(b, 3);
  const value p = carry(b, l, x), q = carry(b, l, zero, 1);
  const value it = iterate_and_end(b, l, {p, q}, {q, p});
  std::vector<std::int32_t> first(4), second(4);
  b.store(i32, first.data(), b.form({0}), b.add(op::result, i32, {it}, 0));
  b.store(i32, second.data(), b.form({0}), b.add(op::result, i32, {it}, 1));
  b.run();
  EXPECT_EQ(first, (std::vector<std::int32_t>(4, 0)));
  EXPECT_EQ(second, data);
}

TEST(serial_loop, prints_its_states_and_where_it_leaves) {
  built t;
  begin(t, data, 1000);
  const value it = iterate_and_end(t.b, t.loop, {t.state}, {t.next}, t.leaves);
  t.b.add(op::result, i32, {it}, 0);
  const std::string text = to_string(t.b.k, "k");
  EXPECT_TRUE(contains(text, "%3 = serial loop d1 in [0, n")) << text;
  EXPECT_TRUE(contains(text, "%4 = state 0 of %3, first %0")) << text;
  EXPECT_TRUE(contains(text, "%6 = proceed if %5")) << text;
  EXPECT_TRUE(contains(text, "%8 = iterate %3 with %7")) << text;
  EXPECT_TRUE(contains(text, "%10 = result 0 of %8")) << text;
}

TEST(serial_loop, verify_accepts_it) {
  built t;
  begin(t, data, 1000);
  iterate_and_end(t.b, t.loop, {t.state}, {t.next}, t.leaves);
  EXPECT_NO_THROW(verify(t.b.k));
}

TEST(serial_loop, verify_rejects_loops_that_are_not_serial) {
  built t;
  begin(t, data, 1000);
  iterate_and_end(t.b, t.loop, {t.state}, {t.next}, t.leaves);
  t.b.k.loops.back().serial = 0;
  expect_rejected(t.b.k, "%4 (carry): the loop is not serial");
}

TEST(serial_loop, verify_rejects_two_dims) {
  kernel_builder b{4};
  const value x = b.load(i32, data, b.form({0})), l = b.loop(i64, {2, 3});
  b.k.loops.back().serial = 1;
  const value s = carry(b, l, x);
  iterate_and_end(b, l, {s}, {s});
  expect_rejected(b.k, "a serial loop has one dim");
}

TEST(serial_loop, verify_rejects_other_dtypes) {
  built t;
  begin(t, data, 1000);
  const value wide = t.b.add(op::convert, i64, {t.next});
  iterate_and_end(t.b, t.loop, {t.state}, {wide}, t.leaves);
  expect_rejected(t.b.k, "a state changes its dtype");

  built other;
  begin(other, data, 1000);
  other.b.k.body[raw(other.state)].type = i64;
  expect_rejected(other.b.k, "the state begins with another dtype");
}

TEST(serial_loop, verify_rejects_conditions_that_are_no_truth) {
  built t;
  begin(t, data, 1000);
  t.b.k.body[raw(t.leaves)].arg[0] = t.state;
  expect_rejected(t.b.k, "the condition is not boolean");
}

TEST(serial_loop, verify_rejects_checks_that_do_not_exist) {
  built t;
  begin(t, data, 1000, 5);
  expect_rejected(t.b.k, "the check does not exist");
}

TEST(serial_loop, verify_rejects_states_of_another_loop) {
  kernel_builder b{4};
  const value x = b.load(i32, data, b.form({0}));
  const value outer = open_serial(b, 3), s = carry(b, outer, x);
  const value inner = open_serial(b, 2), t = carry(b, inner, s);
  iterate_and_end(b, inner, {s}, {t});
  expect_rejected(b.k, "a state is not the loop's");
}

TEST(serial_loop, verify_rejects_results_inside_and_too_many_of_them) {
  built t;
  begin(t, data, 1000);
  const value it = iterate_and_end(t.b, t.loop, {t.state}, {t.next}, t.leaves);
  t.b.add(op::result, i32, {it}, 1);
  expect_rejected(t.b.k, "the loop has fewer states");

  built other;
  begin(other, data, 1000);
  const value ends = iterate_and_end(other.b, other.loop, {other.state}, {other.next}, other.leaves);
  other.b.add(op::result, i64, {ends}, 0);
  expect_rejected(other.b.k, "the state is of another dtype");

  built third;
  begin(third, data, 1000);
  iterate_and_end(third.b, third.loop, {third.state}, {third.next}, third.leaves);
  third.b.add(op::negative, i32, {third.next});
  expect_rejected(third.b.k, "is inside a loop that has ended");
}

}  // namespace
