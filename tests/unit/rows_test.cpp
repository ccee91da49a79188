// Reductions inside launches: which rows share one, how many loops they take, and why some are stored first.
#include "jit/cache/key.hpp"
#include "jit/codegen/emit.hpp"
#include "jit/compile/compiler.hpp"
#include "jit/planning.hpp"

#include <gtest/gtest.h>
#include <sinter/sinter.hpp>

#include <algorithm>

namespace {

using namespace sinter;

array ones_of(const shape& s) { return array(std::vector<float>(static_cast<std::size_t>(s.size()), 1.0f), s); }

jit::planning planned(const std::vector<array>& arrays) {
  std::vector<jit::node*> roots;
  for (const array& a : arrays) roots.push_back(a.node());
  jit::planning p;
  p.run(roots, jit::options{});
  for (std::size_t g = 0; g < p.groups.count; ++g) jit::verify(p.lowered[g].ir);
  return p;
}

std::ptrdiff_t count_of(const jit::planning& p, jit::op code) {
  std::ptrdiff_t n = 0;
  for (std::size_t g = 0; g < p.groups.count; ++g)
    n += std::ranges::count(p.lowered[g].ir.body, code, &jit::inst::code);
  return n;
}

void expect_cuts(const jit::planning& p, std::size_t groups, jit::cut_reason why) {
  EXPECT_EQ(p.groups.count, groups);
  ASSERT_FALSE(p.groups.cuts.empty());
  for (const jit::cut& c : p.groups.cuts) EXPECT_EQ(c.why, why) << jit::to_string(c.why);
}

TEST(rows, a_result_broadcast_back_over_its_rows_does_not_cut) {
  array a = ones_of({6, 7});
  for (const array& x : {a - mean(a, 1, keepdims), a / max(a, 0, keepdims), transpose(transpose(a) - mean(a, 1)),
                         a - mean(a, 1)(all, newaxis), a - broadcast_to(mean(a, 1, keepdims), {6, 7})}) {
    const auto p = planned({x});
    EXPECT_EQ(p.groups.count, 1u);
    EXPECT_EQ(count_of(p, jit::op::loop), 2);
  }
}

/// Of an outer product whose factors are reductions over other rows than what reads it, the factors are stored.
TEST(rows, an_outer_product_is_not_stored) {
  array points = ones_of({5000, 2}), centres = ones_of({16, 2});
  const array own = argmin(sum(square(points(all, newaxis) - centres), 2), 1) == arange(16)(all, newaxis);
  const auto p = planned({sum(where(own(all, all, newaxis), points, 0), 1) / count_nonzero(own, 1)(all, newaxis)});
  ASSERT_FALSE(p.groups.cuts.empty());
  for (const jit::cut& c : p.groups.cuts) EXPECT_LE(c.at->extents.size(), 5000) << jit::to_string(c.why);
}

TEST(rows, a_single_row_computes_no_outer_product) {
  array x = ones_of({20'000});
  const array ring = (x / max(x) * 50).astype(i64);
  const auto p = planned({sum(where(ring == arange(50)(all, newaxis), x, 0), 1)});
  ASSERT_EQ(p.groups.count, 2u);
  EXPECT_EQ(p.groups.groups()[0].outputs[0].value->extents, shape({20'000}));
  EXPECT_EQ(p.groups.groups()[1].domain(), shape({50}));
}

TEST(rows, softmax_is_three_loops_of_one_launch) {
  array a = ones_of({600, 70});
  const array e = exp(a - max(a, 1, keepdims));
  const auto p = planned({e / sum(e, 1, keepdims)});
  EXPECT_EQ(p.groups.count, 1u);
  EXPECT_EQ(count_of(p, jit::op::loop), 3);
  EXPECT_EQ(p.groups.groups()[0].domain(), shape({600}));
}

TEST(rows, several_reductions_of_one_read_share_a_loop_and_the_load) {
  array a = ones_of({600, 70});
  const auto p = planned({mean(a, 1), var(a, 1), min(a, 1), max(a, 1), argmax(a, 1)});
  EXPECT_EQ(p.groups.count, 1u);
  EXPECT_EQ(count_of(p, jit::op::loop), 1);
  EXPECT_EQ(count_of(p, jit::op::load), 2) << "the row, and its first element, which deviations are measured from";
}

TEST(rows, keepdims_and_not_share_rows) {
  array a = ones_of({600, 70});
  const auto p = planned({sum(a, 1), sum(a, 1, keepdims), a - sum(a, 1, keepdims)});
  EXPECT_EQ(p.groups.count, 1u);
  EXPECT_EQ(count_of(p, jit::op::reduce_sum), 1);
}

TEST(rows, what_is_reduced_is_stored_on_the_way) {
  array a = ones_of({600, 70});
  const array y = exp(a);
  for (const auto& both : {std::vector<array>{y, sum(y, 1)}, {sum(y, 1), y}, {a * 2, sum(a, 0)}, {sum(a), a * 2}}) {
    const auto p = planned(both);
    EXPECT_EQ(p.groups.count, 1u);
    EXPECT_EQ(count_of(p, jit::op::loop), 1);
  }
}

TEST(rows, arrays_of_other_shapes_over_the_same_rows_share_their_reduction) {
  array a = ones_of({600, 70}), b = ones_of({600, 30});
  const array s = sum(a, 1, keepdims);
  const auto p = planned({a / s, b / s});
  EXPECT_EQ(p.groups.count, 1u);
  EXPECT_EQ(count_of(p, jit::op::reduce_sum), 1);
}

TEST(rows, a_gather_at_what_a_row_found_joins_it) {
  array a = ones_of({600, 70}), table = ones_of({70, 9});
  const auto p = planned({table(argmax(a / sum(a, 1, keepdims), 1), all)});
  EXPECT_EQ(p.groups.count, 1u);
  EXPECT_EQ(count_of(p, jit::op::loop), 3);
}

TEST(rows, results_read_along_two_axes_are_stored_once) {
  array a = ones_of({600, 70});
  const array s = sum(a, 1);
  expect_cuts(planned({s(all, newaxis) - s(newaxis, all)}), 2, jit::cut_reason::reduction);
  expect_cuts(planned({s(range(1, end)) - s(range(0, -1))}), 2, jit::cut_reason::reduction);
}

TEST(rows, rows_and_columns_take_a_launch_each) {
  array a = ones_of({600, 700});
  const auto p = planned({a - mean(a, 1, keepdims) - mean(a, 0, keepdims)});
  EXPECT_EQ(p.groups.count, 2u);
  EXPECT_EQ(p.groups.cuts.size(), 1u);
}

TEST(rows, few_long_rows_are_stored_to_be_split) {
  array a = ones_of({3, 100000}), whole = ones_of({300000});
  expect_cuts(planned({a / sum(a, 1, keepdims)}), 2, jit::cut_reason::reduction);
  expect_cuts(planned({whole / sum(whole)}), 2, jit::cut_reason::reduction);
}

TEST(rows, little_work_is_one_launch_however_few_rows) {
  array a = ones_of({1000});
  EXPECT_EQ(planned({a / sum(a)}).groups.count, 1u);
}

TEST(rows, short_loops_nest_and_long_ones_are_stored) {
  array x = ones_of({500, 1, 3}), c = ones_of({1, 8, 3});
  const auto nearest = planned({argmin(sum(square(x - c), 2), 1)});
  EXPECT_EQ(nearest.groups.count, 1u);
  EXPECT_EQ(count_of(nearest, jit::op::loop), 2);
  array y = ones_of({50, 8, 300});
  expect_cuts(planned({max(sum(y, 2), 1)}), 2, jit::cut_reason::reduction);
}

TEST(rows, scans_share_the_launch_of_their_neighbours) {
  array a = ones_of({60, 70});
  EXPECT_EQ(planned({cumsum(a * 2, 1) + 1}).groups.count, 1u);
  EXPECT_EQ(planned({cumsum(softmax(a, 1), 1)}).groups.count, 1u);
  EXPECT_EQ(planned({max(cumsum(a, 1), 1)}).groups.count, 1u);
  EXPECT_EQ(planned({cumsum(a, 0), sum(a, 0)}).groups.count, 1u);
}

TEST(rows, scans_read_elsewhere_are_stored) {
  array a = ones_of({60, 70});
  const array c = cumsum(a, 1);
  expect_cuts(planned({c(all, range(1, end)) - c(all, range(0, -1))}), 2, jit::cut_reason::scan);
  expect_cuts(planned({cumsum(c, 1)}), 2, jit::cut_reason::scan);
  expect_cuts(planned({cumsum(c, 0)}), 2, jit::cut_reason::scan);
  expect_cuts(planned({flip(c, 1) * 2}), 2, jit::cut_reason::scan);
}

TEST(rows, a_value_needed_by_launches_of_other_rows_is_stored) {
  array a = ones_of({300, 400});
  const array p = softmax(a, 1);
  const auto both = planned({sum(p, 0), p * 2});
  EXPECT_EQ(both.groups.count, 2u) << "softmax, and what is made of it, over columns";
  EXPECT_EQ(count_of(both, jit::op::reduce_max), 1) << "softmax is computed once";
}

TEST(rows, rows_of_joined_pieces_are_read_in_place) {
  array x = ones_of({1000, 20});
  const array moved = concat({x(all, range(0, 2)), x(all, range(0, 18))}, 1);
  const auto p = planned({sum(square(x - moved), 1)});
  EXPECT_EQ(p.groups.count, 1u);
  EXPECT_EQ(count_of(p, jit::op::loop), 1);
}

TEST(rows, reduced_axes_of_extent_1_change_nothing) {
  array column = ones_of({2000, 1}), c = cumsum(ones_of({2}), 0);
  const auto p = planned({sum(column - mean(column, {0, 1}, keepdims))});
  EXPECT_EQ(count_of(p, jit::op::loop), 2) << "one after another, none inside another";
  EXPECT_EQ(planned({prod(reshape(c, {1, 1, 2}), {-2, 2})}).groups.count, 1u);
  expect_cuts(planned({stddev(cumsum(ones_of({300}), -1), -1)}), 2, jit::cut_reason::scan);
}

TEST(rows, a_long_chain_of_passes_is_cut) {
  array a = ones_of({300, 64});
  for (int k = 0; k < 30; ++k) a = (a - mean(a, 1, keepdims)) * 2;
  const auto p = planned({a});
  EXPECT_GT(p.groups.count, 2u);
  EXPECT_LT(p.groups.count, 12u);
  for (std::size_t g = 0; g < p.groups.count; ++g) EXPECT_LT(p.lowered[g].ir.body.size(), 600u);
}

TEST(rows, how_loops_lie_over_threads_follows_memory) {
  const auto over = [](const array& x) { return planned({x}).lowered[0].ir.over; };
  array a = ones_of({600, 700});
  EXPECT_EQ(over(sum(a, 1)), jit::distribution::rows);
  EXPECT_EQ(over(sum(a, 0)), jit::distribution::columns);
  EXPECT_EQ(over(sum(transpose(a), 1)), jit::distribution::columns);
  EXPECT_EQ(over(sum(a)), jit::distribution::rows);
  EXPECT_EQ(over(a * 2), jit::distribution::elements);
}

TEST(rows, a_result_that_a_reduction_reads_itself_keeps_loops_whole) {
  array x = ones_of({20, 30000});
  for (const array& y :
       {sum(broadcast_to(max(x, 1, keepdims), {20, 30000}), 1), max(x, 1) + sum(x - max(x, 1, keepdims), 1)})
    for (const auto p = planned({y}); const jit::lowered& l : p.lowered) EXPECT_LE(l.ir.split, 1);
}

TEST(rows, views_of_what_another_reader_had_stored_plan_to_the_end) {
  array x = ones_of({200, 50});
  const array r = max(x, 1), v = broadcast_to(r(all, newaxis, newaxis), {200, 40, 100});
  EXPECT_GT(planned({v + 1, cumsum(r, 0), sum(v, 2)}).groups.count, 1u);
}

TEST(rows, blocks_of_normalised_rows_plan_to_the_end) {
  array a = ones_of({5, 1000}), b = ones_of({24, 110}), line = ones_of({1000});
  const array rows = a / sum(a, 1, keepdims), centred = b - mean(b), whole = line / sum(line);
  EXPECT_GE(planned({sum(reshape(rows, {5, 10, 100}), 2)}).groups.count, 1u);
  EXPECT_GE(planned({sum(reshape(centred, {4, 6, 110}), {1, 2})}).groups.count, 1u);
  EXPECT_GE(planned({sum(reshape(whole, {10, 10, 10}), {0, 2})}).groups.count, 1u);
}

class evaluated_only final : public jit::stored_values {
 public:
  bool contains(const jit::node* n) const override { return n->values() != nullptr; }
};

jit::lowered for_cuda(const std::vector<array>& arrays) {
  std::vector<jit::node*> roots;
  for (const array& a : arrays) roots.push_back(a.node());
  jit::plan p;
  jit::fuse(roots, jit::options{}, {}, p);
  EXPECT_EQ(p.count, 1u);
  jit::lowered l;
  jit::lower(p.groups()[0], evaluated_only(), jit::options{}, true, l);
  jit::verify(l.ir);
  return l;
}

TEST(rows, only_rows_of_the_own_element_are_staged) {
  array x = ones_of({40000, 8});
  EXPECT_EQ(for_cuda({sum(square(x), 1)}).ir.staged.size(), 1u);
  EXPECT_EQ(for_cuda({sum(x(all, range(0, 7)) * x(all, range(1, 8)), 1)}).ir.staged.size(), 1u);
  for (const array& y : {sum(roll(x, 1, 0), 1), sum(concat({x(range(1, end), all), x(range(0, 1), all)}, 0), 1)})
    for (const jit::lowered l = for_cuda({y}); const jit::access& a : l.ir.accesses)
      EXPECT_EQ(a.staged, jit::access::alone);
}

TEST(rows, many_reductions_of_columns_fit_into_shared_memory) {
  std::string why;
  if (jit::nvrtc_version(&why).empty()) GTEST_SKIP() << why;
  std::vector<array> all_of_them;
  for (int k = 0; k < 12; ++k) all_of_them.push_back(var(ones_of({300, 64}).astype(f64) * k, 0));
  eval(all_of_them[0]);
  all_of_them.erase(all_of_them.begin());
  const jit::lowered l = for_cuda(all_of_them);
  const jit::kernel* const parts[] = {&l.ir};
  jit::compile_request r;
  r.name = "variances";
  r.source = jit::emit(parts, r.name, jit::dialect::cuda);
  r.target = "sm_90";
  EXPECT_GT(jit::compile_cuda(r).size(), 1000u);
}

}  // namespace
