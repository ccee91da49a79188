// Large and deep graphs: limits of one launch, long chains, many inputs and outputs.
#include "tests/backend/expect.hpp"

#include <cmath>

using namespace sinter;
using namespace sinter_test;

namespace {

array ramp(std::int64_t n) { return counting(f64, {n}).to_device(); }

/// Sets limits for one test.
class limits {
 public:
  explicit limits(const fusion_limits& l) : before_(get_fusion_limits()) { set_fusion_limits(l); }
  ~limits() { set_fusion_limits(before_); }
  limits(const limits&) = delete;
  limits& operator=(const limits&) = delete;

 private:
  fusion_limits before_;
};

// A chain that no compiler would like in one piece: x -> x / 2 + 1, which tends to 2.
TEST(graph, a_chain_of_ten_thousand_operations_is_a_loop_in_one_launch) {
  array x = ramp(100);
  for (int k = 0; k < 5000; ++k) x = x * 0.5 + 1.0;
  const statistics added = counted([&] { eval(x); });
  EXPECT_EQ(added.launches, 1u);
  EXPECT_LE(added.compiles, 1u);
  EXPECT_TRUE(equals(x, std::vector<double>(100, 2.0)));
}

// ArrayFire's users: a chain of sixty operations was evaluated in several pieces.
TEST(graph, a_chain_of_sixty_operations_is_one_launch) {
  array x = ramp(100);
  for (int k = 0; k < 30; ++k) x = x * 0.5 + 3.0;
  EXPECT_EQ(counted([&] { eval(x); }).launches, 1u);
  EXPECT_NEAR(x(5).item<double>(), 6.0, 1e-7);
}

// arrayfire#2084, #2389; mlx#1880: more parameters than a launch can have.
TEST(graph, sums_of_many_arrays_are_cut_and_right) {
  std::vector<array> terms;
  for (int k = 0; k < 300; ++k) terms.push_back(array(std::vector<std::int32_t>{k, 2 * k, -k}));
  for (const std::size_t count :
       {std::size_t{1}, std::size_t{50}, std::size_t{127}, std::size_t{128}, std::size_t{129}, std::size_t{300}}) {
    array sum = zeros({3}, i32);
    std::int32_t want = 0;
    for (std::size_t k = 0; k < count; ++k) {
      sum += terms[k];
      want += static_cast<std::int32_t>(k);
    }
    const statistics added = counted([&] { eval(sum); });
    if (count < 128) { EXPECT_EQ(added.launches, 1u) << count; }
    EXPECT_LE(added.launches, 6u) << count;
    EXPECT_TRUE(equals(sum, std::vector<std::int32_t>{want, 2 * want, -want})) << count;
  }
}

// arrayfire#2389: two trees, each within the limits, together beyond them.
TEST(graph, two_large_trees_meet_in_one_operation) {
  std::vector<array> terms;
  for (int k = 0; k < 180; ++k) terms.push_back(array(std::vector<std::int64_t>{k, k + 1}));
  array left = terms[0], right = terms[90];
  for (std::size_t k = 1; k < 90; ++k) {
    left = left + terms[k] * 2;
    right = right ^ terms[90 + k];
  }
  std::int64_t l[2] = {0, 1}, r[2] = {90, 91};
  for (std::int64_t k = 1; k < 90; ++k)
    for (std::int64_t c = 0; c < 2; ++c) {
      l[c] += (k + c) * 2;
      r[c] ^= 90 + k + c;
    }
  const array both = left - right;
  eval(both, left, right);
  EXPECT_TRUE(equals(both, std::vector<std::int64_t>{l[0] - r[0], l[1] - r[1]}));
  EXPECT_TRUE(equals(left, std::vector<std::int64_t>{l[0], l[1]}));
  EXPECT_TRUE(equals(right, std::vector<std::int64_t>{r[0], r[1]}));
}

// arrayfire#3065: a limit at its minimum showed an endless recursion.
TEST(graph, the_smallest_limits_only_cost_launches) {
  const limits smallest({.operations = 1, .inputs = 1});
  const array x = ramp(7), y = ramp(7) + 1;
  const array z = sqrt(x * y + x) - transpose(y)(range(end, begin, -1)) * 3;
  std::vector<double> want;
  for (int k = 0; k < 7; ++k) want.push_back(std::sqrt(k * (k + 1.0) + k) - (7 - k) * 3.0);
  EXPECT_TRUE(equals(z, want, {1e-15, 0, false}));
  EXPECT_TRUE(equals(sum(x * 2), host_array(std::vector<double>{42}, {})));
}

TEST(graph, any_limits_give_the_same_results) {
  const array x = ramp(50);
  std::vector<array> seen;
  for (const int operations : {2, 3, 5, 8, 13, 512}) {
    const limits some({.operations = operations, .inputs = operations});
    array y = x;
    for (int k = 1; k < 20; ++k) y = where(y > k, y - x / k, y(range(end, begin, -1)) + k);
    eval(y);
    seen.push_back(y);
  }
  for (const array& y : seen) EXPECT_TRUE(equals(y, from_device(seen.back())));
}

// mlx#797: at about a hundred thousand nodes the stack ended.
TEST(graph, a_million_nodes_are_released_without_recursion) {
  array x = ramp(4);
  for (int k = 0; k < 1'000'000; ++k) x = x + 1;
  EXPECT_FALSE(x.is_evaluated());
  x = array();
}

TEST(graph, a_million_nodes_that_hold_each_other_both_ways_are_released_without_recursion) {
  array x = ramp(4), y = ramp(4);
  for (int k = 0; k < 500'000; ++k) {
    const array next = x + y;
    y = x;
    x = next;
  }
  y = array();
  x = array();
}

TEST(graph, deep_graphs_are_evaluated_without_recursion) {
  array x = ramp(4);
  for (int k = 0; k < 100'000; ++k) x = x + 1;
  EXPECT_TRUE(equals(x, std::vector<double>{100000, 100001, 100002, 100003}));
}

TEST(graph, shared_nodes_are_computed_once) {
  array x = ramp(4);
  for (int k = 0; k < 60; ++k) x = x + x;  // 2^60 paths to the source
  EXPECT_EQ(counted([&] { eval(x); }).launches, 1u);
  EXPECT_TRUE(equals(x, std::vector<double>{0, 0x1p60, 0x1p61, 3 * 0x1p60}));
}

// mlx#946, #950: outputs that share parts.
TEST(graph, outputs_that_need_each_other_share_a_launch) {
  const array x = ramp(1000), a = x + 1, b = a * a, c = b - a;
  EXPECT_EQ(counted([&] { eval(a, b, c); }).launches, 1u);
  EXPECT_EQ(a(9).item<double>(), 10);
  EXPECT_EQ(b(9).item<double>(), 100);
  EXPECT_EQ(c(9).item<double>(), 90);
}

TEST(graph, a_hundred_outputs_of_one_shape_take_few_launches) {
  const array x = ramp(1000);
  std::vector<array> out;
  for (int k = 0; k < 100; ++k) out.push_back(x * k + 1);
  EXPECT_LE(counted([&] { eval_all(out); }).launches, 5u);
  for (int k = 0; k < 100; ++k) EXPECT_EQ(out[static_cast<std::size_t>(k)](7).item<double>(), 7 * k + 1);
}

// arrayfire#1702: grids past 65535 in one direction.
TEST(graph, long_thin_shapes_in_every_direction) {
  for (const shape& s :
       {shape{1, 70000, 3}, shape{70000, 1, 2}, shape{3, 1, 70000}, shape{2, 70000}, shape{70001, 3}}) {
    const array x = counting(i32, s).to_device(), y = x + transpose(transpose(x)) - x(ellipsis, range(end, begin, -1));
    EXPECT_EQ(counted([&] { eval(y); }).launches, 1u);
    const std::int64_t n = s[s.rank() - 1];
    host_array want(i32, s);
    for (std::int64_t k = 0; k < s.size(); ++k) {
      const std::int64_t mirrored = k / n * n + (n - 1 - k % n);
      want.set(k, {static_cast<long double>(2 * k - mirrored), 0});
    }
    EXPECT_TRUE(equals(y, want)) << to_string(s);
  }
}

TEST(graph, nothing_is_launched_for_what_nobody_reads) {
  const array x = ramp(10);
  EXPECT_EQ(counted([&] {
              const array unused = sqrt(x) + 5;
              const array used = x + 2;
              EXPECT_EQ(used(3).item<double>(), 5);
            }).launches,
            1u);
}

TEST(graph, a_copy_and_an_assignment_leave_the_other_variable_alone) {
  array a = ramp(3);
  const array b = a;
  a += 1;
  const array snapshot = a(range(0, 2));
  a = a * 10;
  EXPECT_TRUE(equals(b, std::vector<double>{0, 1, 2}));
  EXPECT_TRUE(equals(snapshot, std::vector<double>{1, 2}));
  EXPECT_TRUE(equals(a, std::vector<double>{10, 20, 30}));
}

// lazy values must not change when their operands are assigned to.
TEST(graph, a_sum_of_ten_steps_is_one_launch) {
  const array x = full({1000}, 1, f32), y = full({1000}, 2, f32);
  eval(x, y);
  array result = zeros({1000}, f32);
  for (int k = 0; k < 10; ++k) result += x + y;
  EXPECT_EQ(counted([&] { eval(result); }).launches, 1u);
  EXPECT_TRUE(equals(result, std::vector<float>(1000, 30.f)));
}

}  // namespace
