// What users of CuPy, Chainer and Warp reported about sizes and offsets past 2^31. On the GPU only: the host would take
// minutes. The thread is named beside each.
#include "tests/backend/expect.hpp"

using namespace sinter;
using namespace sinter_test;

namespace {

constexpr std::int64_t two_31 = std::int64_t{1} << 31;

class large_symptom : public testing::Test {
 protected:
  void SetUp() override {
    if (executor != "cuda") GTEST_SKIP() << "2^31 elements take the host too long";
  }
};

// cupy#10290: products of extents in 32 bits.
TEST_F(large_symptom, more_indices_than_32_bits_count) {
  const std::int64_t n = two_31 + 8;
  const array picked = take(array{5, 6, 7}, arange(n) % 3);
  EXPECT_EQ(picked(n - 1).item<std::int32_t>(), 5);
  EXPECT_EQ(picked(two_31 - 1).item<std::int32_t>(), 6);
  EXPECT_EQ(sum(picked.astype(i64)).item<std::int64_t>(), n / 3 * 18 + 5);
}

// cupy#9841: a running sum that gave back its input.
TEST_F(large_symptom, a_running_sum_past_two_to_the_32) {
  const std::int64_t n = 2 * two_31 + 1;
  array x = zeros({n}, i8);
  x(1) = 1;
  x(-1) = 1;
  const array sums = cumsum(x, {.axis = 0, .type = i8});
  EXPECT_EQ(sums(n - 1).item<std::int8_t>(), 2);
  EXPECT_EQ(sums(n - 2).item<std::int8_t>(), 1);
  EXPECT_EQ(sums(0).item<std::int8_t>(), 0);
}

// cupy#7539: indices of a kernel as `int`.
TEST_F(large_symptom, an_expression_over_more_than_8_gigabytes) {
  array x = zeros({429498, 5000}, f32);
  eval(x);
  x = x + 1;
  eval(x);
  EXPECT_EQ(sum(x.astype(i64)).item<std::int64_t>(), 2147490000);
}

// cupy#9918, #9752: a view of a large array that was still addressed in 32 bits.
TEST_F(large_symptom, the_real_parts_of_a_large_complex_array) {
  const array z = full({568, 349024}, complex128{0, 1});
  eval(z);
  const array ones = real(z) + 1;
  EXPECT_EQ(min(ones).item<double>(), 1.0);
  EXPECT_EQ(max(ones).item<double>(), 1.0);
}

// cupy#8130: windows, more of them than elements.
TEST_F(large_symptom, windows_of_an_image_are_more_than_32_bits_count) {
  array image = reshape(arange(1000000), {1000, 1000});
  eval(image);
  const array at = arange(745)(all, newaxis) + arange(256)(newaxis, all);  // [place, within]
  const array windows = transpose(take(take(image, at, 0), at, 2), {0, 2, 1, 3});
  ASSERT_EQ(windows.extents(), shape({745, 745, 256, 256}));
  EXPECT_EQ(windows(43, 744, 255, 255).item<std::int64_t>(), 298999);
  EXPECT_EQ(max(windows).item<std::int64_t>(), 999999);
}

// cupy#8014: the place of an extreme.
TEST_F(large_symptom, the_place_of_a_largest_element_past_two_to_the_31) {
  const std::int64_t n = two_31 + 3;
  array x = zeros({n}, i8);
  x(-1) = 1;
  EXPECT_EQ(argmax(x).item<std::int64_t>(), 2147483650);
}

// cupy#9780: a sum that died on this very kind of GPU.
TEST_F(large_symptom, a_sum_of_more_than_two_to_the_32_sevens) {
  const array x = full({2 * two_31 + 1024}, 7, i8);
  eval(x);
  EXPECT_EQ(sum(x.astype(i64)).item<std::int64_t>(), 30064778240);
}

// chainer#2530: offsets past 2 GiB.
TEST_F(large_symptom, the_last_of_numbers_past_two_gigabytes) {
  const array x = arange((std::int64_t{1} << 29) + 1, i32);
  eval(x);
  EXPECT_EQ(x(-1).item<std::int32_t>(), 536870912);
}

// warp#1799: numbers of threads that wrap.
TEST_F(large_symptom, as_many_calls_as_a_repeated_element) {
  const array one = broadcast_to(ones({1}, u8), {two_31 + 1});
  const elementwise count{"count", "u8 x", "u64 y", "y = x"};
  EXPECT_EQ(sum(count(one)).item<std::uint64_t>(), 2147483649u);
}

// warp#1422: offsets of tiles.
TEST_F(large_symptom, a_transposed_copy_of_more_than_two_gigabytes) {
  const std::int64_t n = 46341;
  const array x = ((arange(n) % 127)(all, newaxis) ^ (arange(n) % 101)(newaxis, all)).astype(i8);
  eval(x);
  const array turned = transpose(x) ^ 1;
  eval(turned);
  const auto want = [](std::int64_t row, std::int64_t column) {
    return static_cast<std::int8_t>(row % 127 ^ column % 101 ^ 1);
  };
  EXPECT_EQ(turned(0, n - 1).item<std::int8_t>(), want(n - 1, 0));
  EXPECT_EQ(turned(n - 1, n - 2).item<std::int8_t>(), want(n - 2, n - 1));
  EXPECT_FALSE(any_true((turned ^ 1) != transpose(x)).item<bool>());
}

}  // namespace
