// Updates, scatters and joins as graph nodes: what is recorded, and that values are those of statements run in order.
#include "jit/engine.hpp"
#include "jit/graph.hpp"
#include "runtime/backend.hpp"
#include "runtime/counters.hpp"
#include "runtime/stats.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

namespace {

using namespace sinter;
using namespace sinter::jit;

node_ref numbers(const shape& extents, float first = 0) {
  std::vector<float> values(static_cast<std::size_t>(extents.size()));
  std::iota(values.begin(), values.end(), first);
  runtime::reference<runtime::buffer> memory(runtime::make_buffer(runtime::cpu(), values.size() * sizeof(float)));
  std::memcpy(memory->data, values.data(), values.size() * sizeof(float));
  return make_buffer_node(std::move(memory), f32, extents, {});
}

node_ref add_one(node* x) {
  const node_ref one = make_scalar(1.0, f32, {});
  node* operands[] = {x, one.get()};
  return make_node(op::add, f32, x->extents, operands, {});
}

std::vector<float> values_of(node* n) {
  std::vector<float> out(static_cast<std::size_t>(n->extents.size()));
  read(n, out.data(), out.size() * sizeof(float), {});
  return out;
}

node_ref view_of(node* x, std::vector<axis_map> map, const shape& extents) { return make_view(x, map, extents, {}); }
node_ref updated(node* base, node* values, std::vector<axis_map> region) {
  return make_update(base, values, region, {});
}

struct counts {
  std::uint64_t launches = runtime::snapshot().launches, bytes = runtime::snapshot().bytes_in_use;
};

TEST(update, a_view_of_what_was_not_written_is_a_view_of_the_base) {
  const node_ref base = numbers({4, 3}), column = add_one(view_of(base.get(), {{0, 1, 0}, {0, 0, -1}}, {4}).get());
  const node_ref u = updated(base.get(), column.get(), {{0, 1, 0}, {0, 0, -1}});
  const node_ref other = view_of(u.get(), {{0, 1, 0}, {2, 0, -1}}, {4}),
                 same = view_of(u.get(), {{0, 1, 0}, {0, 0, -1}}, {4});
  EXPECT_EQ(other->operands()[0], base.get());
  EXPECT_EQ(same.get(), column.get());
  const node_ref all_of_it = view_of(u.get(), {{3, -1, 0}, {0, 1, 1}}, {4, 3});
  EXPECT_EQ(all_of_it->operands()[0], u.get());
  EXPECT_EQ(values_of(all_of_it.get()), (std::vector<float>{10, 10, 11, 7, 7, 8, 4, 4, 5, 1, 1, 2}));
}

TEST(update, what_a_later_one_covers_is_left_out) {
  const node_ref base = numbers({8}), a = numbers({3}, 10), b = numbers({2}, 20), c = numbers({5}, 30);
  const node_ref u1 = updated(base.get(), a.get(), {{1, 1, 0}}), u2 = updated(u1.get(), b.get(), {{6, 1, 0}});
  const node_ref u3 = updated(u2.get(), c.get(), {{0, 1, 0}});
  EXPECT_EQ(u3->operands()[0]->operands()[0], base.get());
  EXPECT_EQ(values_of(u3.get()), (std::vector<float>{30, 31, 32, 33, 34, 5, 20, 21}));
  EXPECT_EQ(values_of(u2.get()), (std::vector<float>{0, 10, 11, 12, 4, 5, 20, 21}));
  const node_ref whole = numbers({8}, 50);
  EXPECT_EQ(updated(u3.get(), whole.get(), {{0, 1, 0}}).get(), whole.get());
  EXPECT_EQ(values_of(updated(u3.get(), whole.get(), {{7, -1, 0}}).get()),
            (std::vector<float>{57, 56, 55, 54, 53, 52, 51, 50}));
}

TEST(update, nobody_else_reads_the_base_and_its_memory_is_taken_over) {
  node_ref base = numbers({4, 3});
  void* const memory = base->values()->data;
  node_ref first = add_one(view_of(base.get(), {{0, 1, 0}, {2, 0, -1}}, {4}).get());
  node_ref u = updated(base.get(), first.get(), {{0, 1, 0}, {0, 0, -1}});
  first = add_one(view_of(u.get(), {{0, 1, 0}, {2, 0, -1}}, {4}).get());
  u = updated(u.get(), first.get(), {{0, 1, 0}, {2, 0, -1}});
  first = {};
  base = {};
  const counts before;
  EXPECT_EQ(values_of(u.get()), (std::vector<float>{3, 1, 3, 6, 4, 6, 9, 7, 9, 12, 10, 12}));
  EXPECT_EQ(counts().launches - before.launches, 1u);
  EXPECT_EQ(counts().bytes, before.bytes);
  EXPECT_EQ(u->values()->data, memory);
}

TEST(update, a_reader_keeps_the_base_as_it_was) {
  const node_ref base = numbers({6}), fresh = numbers({2}, 10);
  const node_ref u = updated(base.get(), fresh.get(), {{1, 2, 0}});
  EXPECT_EQ(values_of(u.get()), (std::vector<float>{0, 10, 2, 11, 4, 5}));
  EXPECT_EQ(values_of(base.get()), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  node_ref held = numbers({6}), reader = add_one(held.get());
  const node_ref v = updated(held.get(), fresh.get(), {{4, -3, 0}});
  held = {};
  EXPECT_EQ(values_of(v.get()), (std::vector<float>{0, 11, 2, 3, 10, 5}));
  EXPECT_EQ(values_of(reader.get()), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(update, readers_in_the_same_evaluation_come_first) {
  node_ref base = numbers({6}), fresh = numbers({2}, 10),
           reader = add_one(view_of(base.get(), {{5, -1, 0}}, {6}).get());
  void* const memory = base->values()->data;
  const node_ref u = updated(base.get(), fresh.get(), {{1, 2, 0}});
  base = {};
  node* roots[] = {u.get(), reader.get()};
  evaluate(roots, {});
  EXPECT_EQ(values_of(u.get()), (std::vector<float>{0, 10, 2, 11, 4, 5}));
  EXPECT_EQ(values_of(reader.get()), (std::vector<float>{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(u->values()->data, memory);
}

TEST(update, shifted_reads_see_the_old_values) {
  for (const std::int64_t n : {6, 5000})
    for (const std::int64_t shift : {-2, -1, 1, 2}) {
      node_ref base = numbers({n});
      const std::int64_t to = shift > 0 ? shift : 0, from = shift > 0 ? 0 : -shift, count = n - std::abs(shift);
      node_ref moved = view_of(base.get(), {{from, 1, 0}}, {count});
      const node_ref u = updated(base.get(), moved.get(), {{to, 1, 0}});
      base = moved = {};
      std::vector<float> want(static_cast<std::size_t>(n));
      std::iota(want.begin(), want.end(), 0.f);
      const std::vector<float> old = want;
      for (std::int64_t k = 0; k < count; ++k)
        want[static_cast<std::size_t>(to + k)] = old[static_cast<std::size_t>(from + k)];
      EXPECT_EQ(values_of(u.get()), want) << n << " by " << shift;
    }
}

TEST(scatter, combines_repeated_indices_and_drops_none) {
  for (const bool held : {false, true}) {
    node_ref base = numbers({4});
    std::vector<std::int64_t> at{1, -1, 1, 0};
    runtime::reference<runtime::buffer> memory(runtime::make_buffer(runtime::cpu(), 32));
    std::memcpy(memory->data, at.data(), 32);
    const node_ref index = make_buffer_node(std::move(memory), i64, {4}, {}), values = numbers({4}, 10);
    auto facts = std::make_unique<attribute>();
    facts->gather = {{-1, 2}};
    facts->combine = op::add;
    node* indices[] = {index.get()};
    const node_ref u = make_scatter(base.get(), values.get(), indices, std::move(facts), {});
    const node_ref keep = base;
    if (!held) base = {};
    const node_ref after = add_one(u.get());
    EXPECT_EQ(values_of(after.get()), (std::vector<float>{14, 24, 3, 15}));
    EXPECT_EQ(values_of(keep.get()), (std::vector<float>{0, 1, 2, 3}));
  }
}

TEST(join, is_one_launch_with_what_reads_it) {
  const node_ref a = numbers({2, 3}), b = numbers({1, 3}, 10), c = numbers({3, 3}, 20);
  node* pieces[] = {a.get(), b.get(), c.get()};
  const node_ref j = make_join(pieces, 0, {}), sum = add_one(j.get());
  const counts before;
  const std::vector<float> got = values_of(sum.get());
  EXPECT_EQ(counts().launches - before.launches, 1u);
  EXPECT_EQ(got, (std::vector<float>{1, 2, 3, 4, 5, 6, 11, 12, 13, 21, 22, 23, 24, 25, 26, 27, 28, 29}));
  const node_ref middle = view_of(j.get(), {{4, -1, 0}, {1, 0, -1}}, {4});
  EXPECT_EQ(values_of(middle.get()), (std::vector<float>{24, 21, 11, 4}));
}

TEST(join, of_joins_is_flat_up_to_a_limit) {
  const node_ref a = numbers({1}), b = numbers({1}, 1);
  node_ref j = a;
  for (int k = 0; k < 200; ++k) {
    node* pieces[] = {j.get(), b.get()};
    j = make_join(pieces, 0, {});
  }
  EXPECT_LE(j->operand_count, 32);
  std::vector<float> want(201, 1.f);
  want[0] = 0;
  EXPECT_EQ(values_of(j.get()), want);
}

}  // namespace
