// More elements than 32 bits count. On the GPU only: the host would take minutes.
#include "tests/backend/expect.hpp"

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

}  // namespace
