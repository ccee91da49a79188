// Which reductions threads compute a tile of results of (jit/tiles.cpp).
#include "jit/fold/batch.hpp"
#include "jit/fold/trace_recorder.hpp"
#include "jit/build.hpp"
#include "jit/fuse.hpp"
#include "jit/lower.hpp"

#include <gtest/gtest.h>
#include <sinter/sinter.hpp>

namespace {

using namespace sinter;

class evaluated_only final : public jit::stored_values {
 public:
  bool contains(const jit::node* n) const override { return n->values() != nullptr; }
};

jit::lowered lower_for_cuda(const array& a) {
  jit::node* roots[] = {a.node()};
  jit::resolve(roots);
  jit::plan p;
  const jit::options how = jit::current_options();
  jit::fuse(roots, how, {}, p);
  EXPECT_EQ(p.count, 1u);
  jit::lowered out;
  jit::lower(p.pool[0], evaluated_only(), how, true, out);
  jit::verify(out.ir);
  return out;
}

array stored(const shape& s) {
  array a = zeros(s, f32);
  eval(a);
  return a;
}

bool is_tiled(const jit::lowered& l) { return l.ir.over == jit::distribution::tiles; }

TEST(tile, rows_and_columns_of_results_share_what_they_read) {
  const array x = stored({1000, 64}), y = stored({900, 64});
  const jit::lowered l = lower_for_cuda(sum(x(all, newaxis, all) * y(newaxis, all, all), 2));
  ASSERT_TRUE(is_tiled(l));
  EXPECT_EQ(l.ir.tile.dim, 0);
  EXPECT_GT(l.ir.tile.rows, 1);
  EXPECT_GT(l.ir.tile.columns, 1);
  EXPECT_EQ(l.ir.split, 0);
}

TEST(tile, an_axis_that_both_have_lies_around_the_tiles) {
  const array x = stored({5, 400, 64}), y = stored({5, 300, 64});
  const jit::lowered l = lower_for_cuda(max(x(all, all, newaxis, all) - y(all, newaxis, all, all), 3));
  ASSERT_TRUE(is_tiled(l));
  EXPECT_EQ(l.ir.tile.dim, 1);
}

TEST(tile, results_of_values_from_before_the_loop_share_all_it_reads) {
  const array x = stored({4096}), y = stored({8192});
  const jit::lowered l = lower_for_cuda(sum(exp(x(all, newaxis) - y(newaxis, all)), 1));
  ASSERT_TRUE(is_tiled(l));
  EXPECT_EQ(l.ir.tile.dim, jit::result_tile::none);
  EXPECT_EQ(l.ir.tile.rows, 1);
  EXPECT_EQ(l.ir.split, 1) << "32 blocks don't fill a device";
}

TEST(tile, not_where_nothing_is_shared) {
  const array a = stored({2000, 3000}), v = stored({3000}), m = stored({300, 300, 64}), x = stored({300, 64});
  EXPECT_FALSE(is_tiled(lower_for_cuda(sum(a, 1))));
  EXPECT_FALSE(is_tiled(lower_for_cuda(sum(a, 0))));
  EXPECT_FALSE(is_tiled(lower_for_cuda(sum(a * v(newaxis, all), 1))));
  EXPECT_FALSE(is_tiled(lower_for_cuda(sum(m * x(all, newaxis, all), 2))));
}

TEST(tile, not_where_little_is_to_do) {
  const array x = stored({100, 64}), y = stored({90, 64}), few = stored({8, 50000}), others = stored({8, 50000});
  EXPECT_FALSE(is_tiled(lower_for_cuda(sum(x(all, newaxis, all) * y(newaxis, all, all), 2))));
  EXPECT_FALSE(is_tiled(lower_for_cuda(sum(few(all, newaxis, all) * others(newaxis, all, all), 2))));
}

}  // namespace
