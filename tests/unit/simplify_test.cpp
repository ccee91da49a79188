// Which reductions of one-hot matrices are recorded as gathers, and which must stay reductions.
#include "tests/unit/dsl_support.hpp"
#include "tests/unit/messages.hpp"

#include "jit/graph.hpp"

#include <limits>

namespace {

using namespace sinter;
using namespace sinter_test;

class simplify : public dsl_test {
 protected:
  const array j{2, 0, 5, -1};
  const array w = array(std::vector<float>(15, 1.5f), {5, 3});

  array dense() const { return one_hot(j, 5)(all, all, newaxis) * w(newaxis, all, all); }
};

std::string graph_of(const array& a) {
  jit::node* roots[] = {a.node()};
  return jit::to_string(roots);
}

/// One element is read at a computed index, and nothing runs along the axis.
void expect_gather(const array& a, const shape& extents, place at = place::here()) {
  SCOPED_TRACE(at.line);
  const std::string graph = graph_of(a), ir = explain(a);
  EXPECT_EQ(a.extents(), extents);
  EXPECT_TRUE(contains(graph, "gather %")) << graph;
  EXPECT_FALSE(contains(graph, "reduce_")) << graph;
  EXPECT_TRUE(contains(ir, "1 launch(es)")) << ir;
  EXPECT_TRUE(contains(ir, " = bound %")) << ir;
  EXPECT_FALSE(contains(ir, " = loop ")) << ir;
}

void expect_elementwise(const array& a, const shape& extents, dtype type, place at = place::here()) {
  SCOPED_TRACE(at.line);
  const std::string graph = graph_of(a), ir = explain(a);
  EXPECT_EQ(a.extents(), extents);
  EXPECT_EQ(a.type(), type);
  EXPECT_FALSE(contains(graph, "gather %") || contains(graph, "reduce_")) << graph;
  EXPECT_FALSE(contains(ir, " = loop ")) << ir;
}

void expect_reduction(const array& a, place at = place::here()) {
  SCOPED_TRACE(at.line);
  const std::string graph = graph_of(a);
  EXPECT_TRUE(contains(graph, "reduce_")) << graph;
  EXPECT_FALSE(contains(graph, "gather %")) << graph;
}

TEST_F(simplify, a_product_with_a_one_hot_matrix_is_a_gather) {
  expect_gather(sum(dense(), 1), {4, 3});
  expect_gather(sum(w(newaxis, all, all) * one_hot(j, 5)(all, all, newaxis), 1), {4, 3});
  expect_gather(sum(dense(), 1, keepdims), {4, 1, 3});
  expect_gather(sum(one_hot(j, 5) * w(all, 0), 1), {4});
  expect_gather(sum(one_hot(j, 5, f64)(all, all, newaxis) * w * 2, 1), {4, 3});
}

TEST_F(simplify, from_the_right_and_transposed_too) {
  const array turned = transpose(one_hot(j, 5));  // [5, 4]
  expect_gather(sum(transpose(w)(all, all, newaxis) * turned(newaxis, all, all), 1), {3, 4});
  expect_gather(sum(turned(newaxis, all, all) * transpose(w)(all, all, newaxis), -2, keepdims), {3, 1, 4});
}

TEST_F(simplify, the_matrix_may_be_written_by_hand) {
  const array rows = w(newaxis, all, all);
  const auto product = [&](const array& matrix) { return sum(matrix(all, all, newaxis) * rows, 1); };
  expect_gather(product(j(all, newaxis) == arange(5)), {4, 3});
  expect_gather(product(arange(5) == j(all, newaxis)), {4, 3});
  expect_gather(product((j(all, newaxis) == arange(5)).astype(f16)), {4, 3});
  expect_gather(product((j(all, newaxis) == arange(5)).astype(i32).astype(f64)), {4, 3});
  expect_gather(product(reshape(j, {4, 1}) == reshape(arange(5, i32), {1, 5})), {4, 3});
  expect_gather(product(j(all, newaxis) == arange(10, 35, 5)), {4, 3});
  expect_gather(product(j(all, newaxis) == 7 - 2 * arange(5)), {4, 3});
  expect_gather(product(j.astype(u64)(all, newaxis) == arange(5, u64)), {4, 3});
  expect_gather(product(one_hot(j, 9)(all, range(end, begin, -2))), {4, 3});
  expect_gather(product(reshape(one_hot(reshape(j, {2, 2}), 5), {4, 5})), {4, 3});
  expect_gather(product(reshape(one_hot(reshape(j, {2, 2}), 5) * w(all, 0), {4, 5})), {4, 3});
}

TEST_F(simplify, a_choice_by_a_one_hot_matrix_is_a_gather) {
  const array hot = j(all, newaxis) == arange(5);
  expect_gather(sum(where(hot, w(all, 0), 0), 1), {4});
  expect_gather(sum(where(hot(all, all, newaxis), w, zeros({3}, f32)), 1), {4, 3});
  expect_gather(sum(where(hot && w(all, 0) > 0, w(all, 1), 0), 1), {4});
  expect_gather(any_true(hot && w(all, 0) > 0, 1), {4});
}

TEST_F(simplify, rows_of_identities_are_picked) {
  expect_gather(sum(eye(5)(all, all, newaxis) * w, 1), {5, 3});
  expect_gather(sum(w(all, newaxis, all) * eye(5, 4, -1)(all, all, newaxis), 0), {4, 3});
}

TEST_F(simplify, index_arrays_have_any_rank) {
  expect_gather(sum(one_hot(array(2), 5) * w(all, 0), 0), {});
  expect_gather(sum(one_hot(reshape(j, {2, 2}), 5)(all, all, all, newaxis) * w, 2), {2, 2, 3});
  expect_gather(sum(one_hot(reshape(j, {2, 1, 2}), 5)(ellipsis, newaxis) * w, 3, keepdims), {2, 1, 2, 1, 3});
}

TEST_F(simplify, the_one_of_a_row_is_found_without_a_loop) {
  for (const dtype type : {boolean, u8, i32, f16, f64}) {
    const array hot = one_hot(j, 5, type);
    expect_elementwise(argmax(hot, 1), {4}, i64);
    expect_elementwise(argmax(hot, 1, keepdims), {4, 1}, i64);
    expect_elementwise(max(hot, 1), {4}, type);
    expect_elementwise(any_true(hot, 1), {4}, boolean);
    expect_elementwise(count_nonzero(hot, 1, keepdims), {4, 1}, i64);
    expect_elementwise(sum(hot, 1), {4}, type == u8 ? u64 : is_integer_or_bool(type) ? i64 : type);
  }
}

TEST_F(simplify, what_does_not_change_along_the_axis_is_not_gathered) {
  expect_elementwise(sum(one_hot(j, 5) * w(0, 1), 1), {4}, f32);
  expect_elementwise(sum(where(j(all, newaxis) == arange(5), j(all, newaxis), 0), 1, keepdims), {4, 1}, i64);
}

TEST_F(simplify, dtypes_are_those_of_the_sum) {
  struct row {
    dtype hot, values, total;
  };
  for (const row r : {row{boolean, boolean, i64}, row{boolean, u8, u64}, row{i8, u8, i64}, row{u16, u16, u64},
                      row{f32, i64, f32}, row{f16, f16, f16}, row{f16, bf16, f32}, row{f32, c64, c64}}) {
    const array total = sum(one_hot(j, 5, r.hot) * w(all, 0).astype(r.values), 1);
    expect_gather(total, {4});
    EXPECT_EQ(total.type(), r.total) << to_string(r.hot) << " " << to_string(r.values);
  }
}

TEST_F(simplify, other_axes_are_reduced_afterwards) {
  const std::string graph = graph_of(sum(dense()));
  EXPECT_TRUE(contains(graph, "gather %")) << graph;
  EXPECT_TRUE(contains(graph, "axis 0 axis 1")) << graph;
  EXPECT_FALSE(contains(graph, "axis 2")) << graph;
  const std::string kept = graph_of(sum(dense(), {0, 1}, keepdims));
  EXPECT_TRUE(contains(kept, "gather %")) << kept;
  EXPECT_FALSE(contains(kept, "axis 1")) << kept;
}

TEST_F(simplify, a_matrix_that_is_not_one_hot_along_the_axis_is_reduced) {
  expect_reduction(sum(one_hot(j, 5), 0));                                     // a histogram
  expect_reduction(sum(where(arange(5) * 2 == arange(5) + 1, w(all, 0), 0)));  // both sides move
  expect_reduction(sum(where(arange(5) * 0 == 0, w(all, 0), 0)));              // every position is met
  expect_reduction(sum(one_hot(j(range(0, 3)), 3)(ellipsis, newaxis) * w(range(0, 3), all)(newaxis, all), {0, 2}));
  expect_reduction(sum(diagonal(eye(5)) * w(all, 0)));
  expect_reduction(sum(reshape(one_hot(j, 5), {20})));
}

TEST_F(simplify, comparisons_that_are_not_of_exact_integers_are_reduced) {
  expect_reduction(sum(w(0, all)(all, newaxis) == arange(5), 1));                  // f32
  expect_reduction(sum(j(all, newaxis) == arange(300).astype(i8), 1));             // wraps: 0 stands there twice
  expect_reduction(sum(j(all, newaxis) == arange(5, i8) * 64, 1));  // wraps, too
  expect_reduction(sum(j(all, newaxis) == arange(5) * std::numeric_limits<std::int64_t>::max(), 1));
}

TEST_F(simplify, what_is_not_zero_elsewhere_is_reduced) {
  expect_reduction(sum(where(j(all, newaxis) == arange(5), w(all, 0), 1), 1));
  expect_reduction(sum(one_hot(j, 5) + w(all, 0), 1));
  expect_reduction(prod(one_hot(j, 5) * w(all, 0), 1));
  expect_reduction(max(one_hot(j, 5) * w(all, 0), 1));  // below 0 a 0 wins
  expect_reduction(argmax(one_hot(j, 5) * w(all, 0), 1));
  expect_reduction(argmin(one_hot(j, 5), 1));
}

TEST_F(simplify, a_matrix_in_memory_is_reduced) {
  const array hot = one_hot(j, 5);
  eval(hot);
  expect_reduction(sum(hot * w(all, 0), 1));
}

TEST_F(simplify, nothing_more_is_recorded_where_nothing_is_found) {
  const array a = w * 2, b = w + 1;
  const auto recorded = [](auto&& f) {
    const std::uint64_t before = stats().recorded;
    f();
    return stats().recorded - before;
  };
  EXPECT_EQ(recorded([&] { sum(a * b); }), 2u);
  EXPECT_EQ(recorded([&] { sum(where(w > 0, a, 0), 1); }), 5u);
  EXPECT_EQ(recorded([&] { any_true((a > 0) && (b > 0), 0); }), 6u);
}

TEST_F(simplify, long_chains_are_searched_a_little) {
  const recording_limits before = get_recording_limits();
  set_recording_limits({.operations = INT64_MAX});
  array product = one_hot(j, 5);
  for (int k = 0; k < 100000; ++k) product = product * 1.0f;
  const array total = sum(product, 1);
  set_recording_limits(before);
  expect_reduction(total);
}

}  // namespace
