// More elements than 32 bits count. On the GPU only: the host would take minutes.
#include "tests/backend/expect.hpp"

#include <algorithm>

using namespace sinter;
using namespace sinter_test;

namespace {

TEST(large, an_array_of_more_than_two_to_the_31_elements_is_computed_and_sampled) {
  if (executor != "cuda") GTEST_SKIP() << "2^31 elements take the host too long";
  const std::int64_t rows = (std::int64_t{1} << 11) + 1, columns = std::int64_t{1} << 20;  // 2^31 + 2^20 elements
  const array row = (arange(rows) % 127).astype(i8), column = (arange(columns) % 113).astype(i8);
  const array x = row(all, newaxis) + column(newaxis, all);
  ASSERT_EQ(x.size(), (std::int64_t{1} << 31) + (std::int64_t{1} << 20));
  EXPECT_EQ(counted([&] { eval(x); }).launches, 1u);

  const auto want = [&](std::int64_t flat) {
    return static_cast<std::int8_t>(static_cast<std::uint8_t>(flat / columns % 127 + flat % columns % 113));
  };
  for (const std::int64_t step : {std::int64_t{99991}, std::int64_t{1} << 20}) {
    const host_array samples = from_device(ravel(x)(range(end, begin, -step)));
    for (std::int64_t k = 0; k < samples.size(); ++k)
      ASSERT_EQ(static_cast<std::int8_t>(samples.get(k).re), want(x.size() - 1 - k * step))
          << "element " << x.size() - 1 - k * step;
  }
  // Positions past 2^31 as computed indices.
  const array far = x.size() - 1 - arange(1000) * 7;
  const host_array gathered = from_device(take(x, far));
  for (std::int64_t k = 0; k < 1000; ++k)
    ASSERT_EQ(static_cast<std::int8_t>(gathered.get(k).re), want(x.size() - 1 - k * 7));
  const array y = x(rows - 1, all) ^ x(0, range(end, begin, -1));
  EXPECT_EQ(y(5).item<std::int8_t>(), static_cast<std::int8_t>(want((rows - 1) * columns + 5) ^ want(columns - 6)));
}

TEST(large, small_views_of_a_large_array_are_addressed_in_64_bits) {
  if (executor != "cuda") GTEST_SKIP() << "2^31 elements take the host too long";
  const std::int64_t n = (std::int64_t{1} << 31) + 1000;
  const array x = (arange(n) % 101).astype(u8);
  eval(x);
  const array ends = x(range(0, n, n - 1)) + 1, tail = x(range(n - 10, n));
  EXPECT_TRUE(equals(ends, std::vector<std::uint8_t>{1, static_cast<std::uint8_t>((n - 1) % 101 + 1)}));
  std::vector<std::uint8_t> want;
  for (std::int64_t k = n - 10; k < n; ++k) want.push_back(static_cast<std::uint8_t>(k % 101));
  EXPECT_TRUE(equals(tail, want));
}

// CuPy's tests of reductions of more than 2^31 elements, whose sizes these are.
// E64
TEST(large, sums_of_sizes_around_two_to_the_31_and_32) {
  if (executor != "cuda") GTEST_SKIP() << "2^31 elements take the host too long";
  const std::int64_t two_31 = std::int64_t{1} << 31;
  for (const std::int64_t n :
       {two_31 - 1024, two_31, two_31 + 1024, 2 * two_31 - 1024, 2 * two_31, 2 * two_31 + 1024}) {
    array x = full({1, n}, 7, i8);
    EXPECT_EQ(sum(sum(x, 0)).item<std::int64_t>(), 7 * n) << n << ", pending";
    eval(x);
    EXPECT_EQ(sum(sum(x, 0)).item<std::int64_t>(), 7 * n) << n;
    EXPECT_EQ(counted([&] { eval(sum(x)); }).launches, 1u) << n;
    EXPECT_EQ(sum(broadcast_to(x(0, range(0, 1)), {n})).item<std::int64_t>(), 7 * n) << n << ", one element";
    EXPECT_EQ(sum(reshape(x, {4, n / 4}), 1)(3).item<std::int64_t>(), 7 * (n / 4)) << n << ", four rows";
  }
}

// mlx#3524; arrayfire#3571, #3731: sums and norms that were 0.
TEST(large, sums_means_and_norms_past_two_to_the_31) {
  if (executor != "cuda") GTEST_SKIP() << "2^31 elements take the host too long";
  const std::int64_t n = (std::int64_t{1} << 32) + 7;
  const array x = ones({n}, i8);
  eval(x);
  EXPECT_EQ(sum(x).item<std::int64_t>(), n);
  EXPECT_EQ(count_nonzero(x).item<std::int64_t>(), n);
  EXPECT_EQ(mean(x).item<double>(), 1.0);
  EXPECT_EQ(var(x).item<double>(), 0.0);
  EXPECT_EQ(sum(x.astype(f32)).item<float>(), 0x1p32f);
  EXPECT_EQ(norm(x.astype(f32)).item<float>(), 65536.f);
  EXPECT_EQ(sum(x(range(end, begin, -3))).item<std::int64_t>(), (n + 2) / 3);
  EXPECT_TRUE(all_true(x).item<bool>());
  EXPECT_FALSE(any_true(x != 1).item<bool>());
}

TEST(large, extremes_at_the_very_end_of_more_than_two_to_the_31_elements) {
  if (executor != "cuda") GTEST_SKIP() << "2^31 elements take the host too long";
  const std::int64_t n = (std::int64_t{1} << 31) + 5;
  array x = zeros({n}, u8);
  x(-1) = 9;
  eval(x);
  EXPECT_EQ(argmax(x).item<std::int64_t>(), n - 1);
  EXPECT_EQ(argmin(9 - x).item<std::int64_t>(), n - 1);
  EXPECT_EQ(argmin(x).item<std::int64_t>(), 0);
  EXPECT_EQ(argmax(x(range(end, begin, -1))).item<std::int64_t>(), 0);
  EXPECT_EQ(argmax(arange(n)).item<std::int64_t>(), n - 1) << "computed, not in memory";
  EXPECT_EQ(max(x).item<std::uint8_t>(), 9);
  x(n - 3) = 9;
  EXPECT_EQ(argmax(x).item<std::int64_t>(), n - 3) << "the first of equals";
}

TEST(large, more_than_two_to_the_31_rows_and_columns_of_two) {
  if (executor != "cuda") GTEST_SKIP() << "2^31 elements take the host too long";
  const std::int64_t n = (std::int64_t{1} << 31) + 5;
  const array k = arange(n), x = stack({(k % 97).astype(u8), (k % 89).astype(u8)}, 1);  // [n, 2]
  const array rows = max(x, 1);
  for (const std::int64_t at : {std::int64_t{0}, std::int64_t{96}, n / 2, n - 2, n - 1})
    EXPECT_EQ(rows(at).item<std::uint8_t>(), std::max(at % 97, at % 89)) << at;
  const auto total = [n](std::int64_t m) { return n / m * (m * (m - 1) / 2) + n % m * (n % m - 1) / 2; };
  EXPECT_TRUE(equals(sum(x.astype(i64), 0), std::vector<std::int64_t>{total(97), total(89)}));
  EXPECT_TRUE(equals(argmax(x, 0), std::vector<std::int64_t>{96, 88}));
}

// mlx#2681: the offsets of a scan.
TEST(large, running_sums_past_two_to_the_31) {
  if (executor != "cuda") GTEST_SKIP() << "2^31 elements take the host too long";
  const std::int64_t n = (std::int64_t{1} << 31) + 5;
  const array x = (arange(n) % 3).astype(i8), sums = cumsum(x);  // 16 GiB of sums
  try {
    eval(sums);
  } catch (const out_of_memory&) { GTEST_SKIP() << "the sums take 16 GiB"; }
  const auto want = [](std::int64_t k) { return k / 3 * 3 + (k % 3 == 2 ? 3 : k % 3); };
  const std::int64_t step = 1'000'003;
  const host_array samples = from_device(sums(range(end, begin, -step)));
  ASSERT_EQ(samples.size(), (n + step - 1) / step);
  for (std::int64_t k = 0; k < samples.size(); ++k)
    ASSERT_EQ(static_cast<std::int64_t>(samples.get(k).re), want(n - 1 - k * step)) << "element " << n - 1 - k * step;
  for (std::int64_t k = n - 9; k < n; ++k) EXPECT_EQ(sums(k).item<std::int64_t>(), want(k)) << k;
}

}  // namespace
