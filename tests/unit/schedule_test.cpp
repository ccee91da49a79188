#include "jit/schedule.hpp"

#include <gtest/gtest.h>

namespace {

using sinter::jit::schedule;

TEST(schedule, covers_one_long_row) {
  for (const std::int64_t n : {std::int64_t{1}, std::int64_t{255}, std::int64_t{1025}, std::int64_t{1} << 33}) {
    const auto s = schedule(1, n, 4, 1);
    EXPECT_GE(std::int64_t{s.grid[0]} * s.block[0] * 4, n);
    EXPECT_EQ(s.grid[1], 1u);
    EXPECT_LE(s.block[0] * s.block[1], 256u);
  }
}

TEST(schedule, blocks_fit_the_width_of_rows) {
  for (const std::int64_t inner : {1, 2, 3, 5, 31, 33, 75, 1000, 30000}) {
    const auto s = schedule(1000, inner, 4, 1);
    EXPECT_GE(std::int64_t{s.grid[0]} * s.block[0] * 4, inner) << inner;
    EXPECT_EQ(s.block[0] * s.block[1], 128u) << inner;
    EXPECT_GE(s.grid[1], 1u);
  }
  EXPECT_EQ(schedule(1000, 3, 4, 1).block[0], 1u);
  const auto exact = schedule(1000, 300, 4, 1);
  EXPECT_EQ(exact.block[0], 75u) << "a thread for each vector of a row, none idle";
  EXPECT_EQ(exact.block[1], 2u);
  EXPECT_EQ(exact.grid[0], 1u);
  EXPECT_GE(std::int64_t{exact.grid[1]} * 2, 1000);
}

TEST(schedule, more_rows_than_blocks_are_looped_over) {
  EXPECT_EQ(schedule(std::int64_t{1} << 40, 4096, 4, 1).grid[1], 65535u);
  const auto many = schedule(30000, 30000, 2, 1);
  EXPECT_EQ(many.grid[1], 30000u / (4 * many.block[1])) << "four rows a thread when there are plenty";
  EXPECT_EQ(schedule(1000, 1000, 2, 1).grid[1], 1000u) << "one when there are few";
}

TEST(schedule, forms_of_blocks) {
  using sinter::jit::block_form;
  const auto square = schedule(1000, 1000, 1, 1, 0, block_form::square);
  EXPECT_EQ(square.block[0], 8u);
  EXPECT_GE(square.grid[0] * 8u, 1000u);
  const auto tall = schedule(1000, 1000, 4, 1, 0, block_form::tall);
  EXPECT_EQ(tall.block[0], 32u);
  EXPECT_EQ(tall.block[1], 8u);
  EXPECT_EQ(schedule(1000, 3, 4, 1, 0, block_form::tall).block[0], 1u) << "no wider than the rows";
  EXPECT_EQ(schedule(1, 1 << 20, 4, 1, 0, block_form::tall).block[0], 256u) << "one row has none below";
}

}  // namespace
