// What becomes a launch, and why a value is stored in between.
#include "jit/fold/trace_recorder.hpp"
#include "jit/fuse.hpp"

#include <gtest/gtest.h>
#include <sinter/sinter.hpp>

namespace {

using namespace sinter;

jit::plan plan_of(const std::vector<array>& arrays, const jit::options& how = {}) {
  std::vector<jit::node*> roots;
  for (const array& a : arrays) roots.push_back(a.node());
  jit::plan p;
  jit::fuse(roots, how, {}, p);
  return p;
}

array ones_of(const shape& s) { return array(std::vector<float>(static_cast<std::size_t>(s.size()), 1.0f), s); }

TEST(fuse, a_chain_is_one_group) {
  array a = ones_of({10});
  EXPECT_EQ(plan_of({sqrt(a * a + 1) - exp(-a)}).count, 1u);
}

TEST(fuse, results_of_one_shape_share_a_group) {
  array a = ones_of({10}), b = ones_of({10});
  EXPECT_EQ(plan_of({a + b, a - b, (a * b).astype(i32)}).count, 1u);
  EXPECT_EQ(plan_of({a + b, ones_of({11}) + 1}).count, 2u);
}

TEST(fuse, computed_roots_plan_nothing) {
  array a = ones_of({10});
  EXPECT_EQ(plan_of({a}).count, 0u);
  EXPECT_EQ(plan_of({}).count, 0u);
}

TEST(fuse, a_long_chain_is_cut_at_the_limit_and_says_so) {
  const jit::statements_paused as_it_is;
  array a = ones_of({10});
  for (int k = 0; k < 1000; ++k) a = a + 1;
  jit::options how;
  how.max_operations = 100;
  const auto p = plan_of({a}, how);
  EXPECT_GT(p.count, 10u);
  EXPECT_LT(p.count, 50u);
  ASSERT_FALSE(p.cuts.empty());
  EXPECT_EQ(p.cuts[0].why, jit::cut_reason::operations);
}

TEST(fuse, doubling_sixty_times_is_one_group) {
  const jit::statements_paused as_it_is;
  array x = ones_of({10});
  for (int k = 0; k < 60; ++k) x = x + x;
  EXPECT_EQ(plan_of({x}).count, 1u) << "shared operands count once";
}

TEST(fuse, many_inputs_are_cut) {
  const jit::statements_paused as_it_is;
  array total = ones_of({10});
  for (int k = 0; k < 300; ++k) total = total + ones_of({10});
  const auto p = plan_of({total});
  EXPECT_GT(p.count, 1u);
  EXPECT_EQ(p.cuts[0].why, jit::cut_reason::inputs);
}

TEST(fuse, cheap_stencils_of_stencils_recompute_and_long_ones_store) {
  array u = ones_of({50});
  const auto second = [](const array& x) { return x(range(2, end)) - 2 * x(range(1, -1)) + x(range(0, -2)); };
  EXPECT_EQ(plan_of({second(second(u))}).count, 1u);
  array deep = u;
  for (int k = 0; k < 5; ++k) deep = second(exp(deep) + deep * deep);
  const auto p = plan_of({deep});
  EXPECT_GT(p.count, 1u);
  EXPECT_EQ(p.cuts[0].why, jit::cut_reason::recompute);
}

TEST(fuse, a_reduction_takes_its_own_elementwise_epilogue) {
  array a = ones_of({6, 7});
  EXPECT_EQ(plan_of({sqrt(sum(a * a, 1)) + 1}).count, 1u);
}

TEST(fuse, a_string_kernel_with_options_runs_alone) {
  const elementwise one{"p", "T x", "T y", "y = x + FOO", {.options = {"-DFOO=1"}}};
  const elementwise two{"q", "T x", "T y", "y = x + FOO", {.options = {"-DFOO=2"}}};
  array x = ones_of({10});
  EXPECT_EQ(plan_of({one(x), two(x)}).count, 2u);
  const auto p = plan_of({one(x) + two(x + 1)});
  EXPECT_EQ(p.count, 4u) << "x + 1, each kernel, and the sum";
  EXPECT_EQ(p.cuts[0].why, jit::cut_reason::options);
}

/// How often planning looks at a node when `n` statements read and write elements of four arrays here and there.
std::uint64_t visits_of_statements(int n) {
  const jit::statements_paused as_it_is;
  std::vector<array> a;
  for (int k = 0; k < 4; ++k) a.push_back(ones_of({64}));
  std::uint32_t state = 1;
  const auto random = [&](std::uint32_t below) {
    return static_cast<int>((state = state * 1664525 + 1013904223) >> 8) % static_cast<int>(below);
  };
  for (int k = 0; k < n; ++k) {
    const array x = a[static_cast<std::size_t>(random(4))], y = a[static_cast<std::size_t>(random(4))];
    a[static_cast<std::size_t>(random(4))](random(64)) = x(random(64)) * 0.5f + y(random(64)) * 0.25f;
  }
  jit::options how;
  how.max_operations = 64;
  return plan_of(a, how).visits;
}

TEST(fuse, looks_at_nodes_in_proportion_to_the_program) {
  const std::uint64_t few = visits_of_statements(200), many = visits_of_statements(800);
  EXPECT_GT(few, 200u);
  EXPECT_LT(many, 6 * few) << few;
}

}  // namespace
