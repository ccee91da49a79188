// Which kernels take tiles of their domain, how large, and what goes through shared memory.
#include "jit/transposes.hpp"

#include "jit/fuse.hpp"
#include "jit/lower.hpp"

#include <gtest/gtest.h>
#include <sinter/sinter.hpp>

#include <algorithm>

namespace {

using namespace sinter;
using jit::distribution;

class evaluated_only final : public jit::stored_values {
 public:
  bool contains(const jit::node* n) const override { return n->values() != nullptr; }
};

/// Values that are all the same: nothing runs here.
array made(const shape& s, dtype type = f32) {
  array a = array(std::vector<std::uint8_t>(static_cast<std::size_t>(s.size()), 1), s).astype(type);
  eval(a);
  return a;
}

jit::lowered lowered_of(const array& a, bool for_cuda = true, const jit::options& how = {}) {
  jit::node* roots[] = {a.node()};
  jit::plan p;
  jit::fuse(roots, how, {}, p);
  EXPECT_EQ(p.count, 1u);
  jit::lowered l;
  jit::lower(p.groups()[0], evaluated_only(), how, for_cuda, l);
  jit::verify(l.ir);
  return l;
}

std::ptrdiff_t staged(const jit::lowered& l) {
  return std::ranges::count_if(l.ir.accesses, [](const jit::access& a) { return a.staged != jit::access::alone; });
}

TEST(transposes, are_for_operands_that_lie_along_another_axis) {
  const array a = made({600, 700}), b = made({700, 600}), c = made({700, 1}), row = made({600});
  EXPECT_EQ(lowered_of(b + 1).ir.over, distribution::elements);
  EXPECT_EQ(lowered_of(transpose(a) + transpose(a)).ir.over, distribution::transposed);
  const jit::lowered l = lowered_of(b + transpose(a) * c - row);
  EXPECT_EQ(l.ir.over, distribution::transposed);
  EXPECT_EQ(l.ir.tiled.size(), 2u);
  EXPECT_EQ(staged(l), 1);
  EXPECT_EQ(lowered_of(transpose(row(newaxis, all)) + b(0, all)(newaxis, all)).ir.over, distribution::elements);
}

TEST(transposes, have_a_dim_for_each_order_of_axes) {
  const array a = made({70, 80, 90});
  const array b = made({80, 90, 70}), c = made({90, 70, 80});
  const jit::lowered l = lowered_of(transpose(a, {2, 0, 1}) + transpose(b, {1, 2, 0}) + c);
  EXPECT_EQ(l.ir.tiled.size(), 3u);
  EXPECT_EQ(staged(l), 2);
  EXPECT_EQ(lowered_of(transpose(a, {1, 0, 2}) + 1).ir.over, distribution::elements);
  EXPECT_EQ(lowered_of(transpose(a, {0, 2, 1}) + 1).ir.tiled.size(), 2u);
}

TEST(transposes, are_not_for_what_a_cache_holds_nor_for_what_is_in_order_already) {
  EXPECT_EQ(lowered_of(transpose(made({200, 300})) + 1).ir.over, distribution::elements);       // small
  EXPECT_EQ(lowered_of(transpose(made({4, 70000})) + 1).ir.over, distribution::elements);      // [70000, 4]
  EXPECT_EQ(lowered_of(made({600, 700}) + transpose(made({700, 1}))).ir.over, distribution::elements);
  EXPECT_EQ(lowered_of(transpose(made({40, 30}))(newaxis, all, all) + made({500, 30, 40})).ir.over,
            distribution::elements);                                                            // read 500 times
}

TEST(transposes, are_no_larger_than_the_domain_nor_than_shared_memory) {
  const jit::lowered four = lowered_of(transpose(made({70000, 4})) + 1);
  ASSERT_EQ(four.ir.tiled.size(), 2u);
  EXPECT_EQ(four.ir.tiled[1].extent, 4u);
  EXPECT_GE(four.ir.tiled[0].extent, 256u);
  for (const dtype type : {u8, f16, f32, f64, c128}) {
    const array a = made({800, 700}, type);
    for (int operands = 1; operands < 6; ++operands) {
      array sum = transpose(a(range(0, 790), all));
      for (int k = 1; k < operands; ++k) sum = sum + transpose(a(range(k, 790 + k), all));
      const jit::lowered l = lowered_of(sum);
      EXPECT_EQ(l.ir.over, distribution::transposed);
      EXPECT_EQ(staged(l), operands);
      const std::int64_t bytes = operands * size_of(type) * jit::tile_pitches(l.ir, size_of(type)).back();
      EXPECT_LE(bytes, 48 << 10) << to_string(type) << operands;
      EXPECT_GE(jit::tile_volume(l.ir), l.ir.lanes);
      const auto up = [](std::int64_t n, std::int64_t by) { return (n + by - 1) / by; };
      EXPECT_EQ(l.numbers.blocks, up(790, l.ir.tiled[0].extent) * up(700, l.ir.tiled[1].extent));
    }
  }
}

TEST(transposes, take_threads_side_by_side_where_rows_begin_anywhere) {
  EXPECT_EQ(lowered_of(transpose(made({600, 700})) + 1).ir.lanes, 4);
  EXPECT_EQ(lowered_of(transpose(made({601, 701})) + 1).ir.lanes, 1);
}

TEST(transposes, are_known_only_with_the_layout) {
  jit::options how;
  how.layout = jit::layout_knowledge::none;
  EXPECT_EQ(lowered_of(transpose(made({600, 700})) + 1, true, how).ir.over, distribution::elements);
}

TEST(transposes, are_strips_of_rows_on_the_host) {
  const jit::lowered l = lowered_of(transpose(made({600, 700})) + 1, false);
  EXPECT_EQ(l.ir.over, distribution::transposed);
  ASSERT_EQ(l.ir.tiled.size(), 1u);
  EXPECT_EQ(l.ir.tiled[0].dim, 1u);
  EXPECT_EQ(staged(l), 0);
}

TEST(transposes, of_columns_scan_where_there_are_few) {
  const auto scan = [](const shape& s) { return lowered_of(cumsum(made(s), 0)); };
  for (const shape& s : {shape{5000, 3}, shape{700, 90}, shape{40, 40}}) {
    const jit::lowered l = scan(s);
    EXPECT_EQ(l.ir.over, distribution::columns);
    EXPECT_EQ(l.ir.split, 1);
    EXPECT_GE(l.numbers.pieces * l.ir.threads * l.ir.kept, s[0]);
  }
  EXPECT_EQ(scan({20, 90}).ir.split, 0);
  EXPECT_EQ(scan({40, 50000}).ir.split, 0);
}

}  // namespace
