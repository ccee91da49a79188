// Scatters of very many values into few places: on cuda each block adds up its own in shared memory first.
#include "tests/backend/expect.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace sinter;
using namespace sinter_test;

namespace {

constexpr std::int64_t many = std::int64_t{1} << 20;

/// The k-th of a fixed sequence without pattern, below `limit`.
std::int64_t mixed(std::int64_t k, std::int64_t limit) {
  const auto h = static_cast<std::uint64_t>(k) * 0x9e3779b97f4a7c15u;
  return static_cast<std::int64_t>((h >> 20) % static_cast<std::uint64_t>(limit));
}

/// Whole numbers, so that the order of additions doesn't matter.
template <class T>
void check_sums(std::int64_t n, std::int64_t places, bool subtract = false) {
  std::vector<std::int64_t> at(static_cast<std::size_t>(n));
  std::vector<T> values(at.size()), want(static_cast<std::size_t>(places), T(3));
  for (std::size_t k = 0; k < at.size(); ++k) {
    at[k] = mixed(static_cast<std::int64_t>(k), places);
    values[k] = static_cast<T>(k % 5);
    T& sum = want[static_cast<std::size_t>(at[k])];
    sum = static_cast<T>(subtract ? sum - values[k] : sum + values[k]);
  }
  array sums(std::vector<T>(want.size(), T(3)));
  if (subtract) sums(array(at)) -= array(values);
  else sums(array(at)) += array(values);
  EXPECT_TRUE(equals(sums, want)) << n << " into " << places;
}

TEST(block_table, sums_of_every_width) {
  for (const std::int64_t places : {1, 37, 256}) {
    check_sums<std::int32_t>(many + 5, places);
    check_sums<std::uint64_t>(many, places);
    check_sums<float>(many + 1, places);
    check_sums<double>(many, places);
  }
}

TEST(block_table, differences) {
  check_sums<std::int64_t>(many, 100, true);
  check_sums<float>(many, 100, true);
}

TEST(block_table, tables_as_large_as_blocks_can_have) {
  check_sums<std::int32_t>(many, 16'000);
  check_sums<float>(4 * many, 65'536);  // in two parts
}

TEST(block_table, counts_of_bytes) {
  for (const std::int64_t n : {many, many + 13}) {
    std::vector<std::uint8_t> x(static_cast<std::size_t>(n));
    std::vector<std::int64_t> want(256);
    for (std::size_t k = 0; k < x.size(); ++k) {
      x[k] = static_cast<std::uint8_t>(std::min<std::int64_t>(mixed(static_cast<std::int64_t>(k), 1000), 255));
      ++want[x[k]];
    }
    const array a(x);
    EXPECT_TRUE(equals(bincount(a, 256), want)) << n;
    EXPECT_TRUE(equals(bincount(a(range(end, begin, -1)), 256), want)) << n;
    EXPECT_TRUE(equals(histogram(a, 256, 0, 256), want)) << n;
  }
}

TEST(block_table, rows_of_a_matrix) {
  const std::int64_t rows = many / 4, places = 9;
  std::vector<std::int64_t> at(static_cast<std::size_t>(rows));
  std::vector<double> values(static_cast<std::size_t>(rows) * 5), want(static_cast<std::size_t>(places) * 5);
  for (std::size_t k = 0; k < at.size(); ++k) {
    at[k] = mixed(static_cast<std::int64_t>(k), places);
    for (std::size_t j = 0; j < 5; ++j) {
      values[5 * k + j] = static_cast<double>((k + j) % 7);
      want[static_cast<std::size_t>(at[k]) * 5 + j] += values[5 * k + j];
    }
  }
  array sums = zeros({places, 5}, f64);
  scatter_add(sums, array(at), array(values, {rows, 5}));
  EXPECT_TRUE(equals(sums, host_array(want, {places, 5})));
}

TEST(block_table, several_of_one_launch) {
  std::vector<std::int64_t> at(static_cast<std::size_t>(many)), counts(50);
  std::vector<double> x(at.size()), sums(50);
  for (std::size_t k = 0; k < at.size(); ++k) {
    at[k] = mixed(static_cast<std::int64_t>(k), 50);
    x[k] = static_cast<double>(k % 11);
    ++counts[static_cast<std::size_t>(at[k])];
    sums[static_cast<std::size_t>(at[k])] += x[k];
  }
  const array places(at), number = bincount(places, 50), total = bincount(places, array(x), 50);
  eval(number, total);
  EXPECT_TRUE(equals(number, counts));
  EXPECT_TRUE(equals(total, sums));
}

TEST(block_table, what_gets_nothing_keeps_its_bits) {
  array sums(std::vector<float>{-0.0f, -0.0f, not_a_number, 1.0f});
  sums(zeros({many}, i64)) += full({many}, 0.5f, f32);
  const std::vector<float> got = sums.to_vector<float>();
  EXPECT_EQ(got[0], static_cast<float>(many) / 2);
  EXPECT_TRUE(got[1] == 0 && std::signbit(got[1]));
  EXPECT_TRUE(std::isnan(got[2]));
  EXPECT_EQ(got[3], 1.0f);
}

TEST(block_table, counts_beyond_32_bits_of_what_is_added) {
  array sums = zeros({2}, i64);
  sums(arange(many) % 2) += std::int64_t{1} << 40;
  EXPECT_TRUE(equals(sums, std::vector<std::int64_t>(2, (many / 2) << 40)));
}

TEST(block_table, a_bad_index_is_reported_and_dropped) {
  std::vector<std::int64_t> at(static_cast<std::size_t>(many), 1);
  at[777] = 8;
  array sums = zeros({8}, i32);
  sums(array(at)) += array(std::vector<std::int32_t>(at.size(), 1));
  eval(sums);
  EXPECT_TRUE((throws<index_error>([&] { synchronize(); }, {"8"})));
  EXPECT_EQ(sums(1).item<std::int32_t>(), many - 1);
}

}  // namespace
