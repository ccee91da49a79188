// What CuPy's tests of its fused functions want (fusion_tests/*), as one launch each where that can be.
#include "tests/backend/expect.hpp"

using namespace sinter;
using namespace sinter_test;

namespace {

host_array whole(std::initializer_list<double> values, const shape& extents, dtype type) {
  return converted(host_array(std::vector<double>(values), extents), type);
}

// F02
TEST(case_fusion, a_dot_product_along_an_axis) {
  const array x = reshape(arange(6), shape{2, 3}), y = x + 6, dots = sum(x * y, -1);
  EXPECT_EQ(counted([&] { eval(dots); }).launches, 1u);
  EXPECT_TRUE(equals(dots, std::vector<std::int64_t>{23, 122}));
}

// F04
TEST(case_fusion, ten_additions) {
  const array x = full({5}, 1, i32), y = full({5}, 2, i32);
  array res = zeros({5}, i32);
  for (int k = 0; k < 10; ++k) res += x + y;
  EXPECT_EQ(counted([&] { eval(res); }).launches, 1u);
  EXPECT_TRUE(equals(res, std::vector<std::int32_t>(5, 30)));
}

// F06
TEST(case_fusion, additions_in_place_that_need_each_other) {
  array x = array{1} * 1, y = array{2} * 1;
  x += y;
  y += x;
  x += y;
  EXPECT_EQ(counted([&] { eval(x, y); }).launches, 1u);
  EXPECT_TRUE(equals(x, std::vector<std::int32_t>{8}));
  EXPECT_TRUE(equals(y, std::vector<std::int32_t>{5}));
}

// F08
TEST(case_fusion, shapes_that_broadcast) {
  const array x = reshape(arange(12), shape{3, 1, 4}), y = reshape(arange(60), shape{3, 5, 4});
  const array z = (x + x) * (x + y) * (y + y);
  EXPECT_EQ(sum(z).item<std::int64_t>(), 2760160);
  EXPECT_TRUE(equals(z(1, 2, all), std::vector<std::int64_t>{14336, 19720, 25920, 32984}));
  EXPECT_TRUE(equals(z(2, 4, all), std::vector<std::int64_t>{114688, 135432, 157760, 181720}));
}

// F10, F12
TEST(case_fusion, basic_indices) {
  const array x = reshape(arange(24), shape{2, 3, 4});
  EXPECT_TRUE(equals(x(1, newaxis, range(end, begin, -1), newaxis, 2), whole({22, 18, 14}, {1, 3, 1}, i64)));
  EXPECT_TRUE(equals(x(all, 0, range(end, begin, -1)), whole({3, 2, 1, 0, 15, 14, 13, 12}, {2, 4}, i64)));
  const array plane = zeros({2, 3}), scalar_array = sum(plane);
  EXPECT_TRUE(throws<index_error>([&] { static_cast<void>(plane(0, 0, 0)); }));
  EXPECT_TRUE(throws<index_error>([&] { static_cast<void>(x(-3)); }));
  EXPECT_TRUE(throws<index_error>([&] { static_cast<void>(x(3)); }));
  EXPECT_TRUE(throws<index_error>([&] { static_cast<void>(scalar_array(0)); }));
}

// F14
TEST(case_fusion, clipping_shares_of_a_sum) {
  const array x{{1.f, 2.f}, {3.f, 4.f}};
  EXPECT_TRUE(equals(clip(x / sum(x) * 20, 2, 7), whole({2, 4, 6, 7}, {2, 2}, f32), {1e-6, 1e-6, false}));
}

// F16
TEST(case_fusion, reductions_between_updates) {
  array x{{1, 2}, {3, 4}}, y{{10, 20}, {30, 40}};
  const array a = x + y, b = sum(a, 0);
  x += b;
  const array c = sum(x, 0);
  y += c;
  eval(x, y, b, c);
  EXPECT_TRUE(equals(b, std::vector<std::int64_t>{44, 66}));
  EXPECT_TRUE(equals(x, whole({45, 68, 47, 70}, {2, 2}, i32)));
  EXPECT_TRUE(equals(c, std::vector<std::int64_t>{92, 138}));
  EXPECT_TRUE(equals(y, whole({102, 158, 122, 178}, {2, 2}, i32)));
}

// cupy#9005: literals that did not compile.
// F20
TEST(case_fusion, infinities_where_a_mask_says_so) {
  const array p = counting(f32, {256, 3}).to_device(), mask = arange(256) % 3 == 0;
  for (const float x : {infinity, not_a_number}) {
    const array y = where(mask(all, newaxis), x, p);
    EXPECT_EQ(counted([&] { eval(y); }).launches, 1u);
    host_array want = counting(f32, {256, 3});
    for (std::int64_t k = 0; k < 256 * 3; ++k)
      if (k / 3 % 3 == 0) want.set(k, {x, 0});
    EXPECT_TRUE(equals(y, want));
  }
}

// F22
TEST(case_fusion, kernels_are_counted_by_dtype_and_layout_not_by_size) {
  const elementwise k{"counted_sum", "X x, Y y", "X z", "z = x + y"};
  const auto compiles = [&](dtype x, const shape& xs, dtype y, const shape& ys) {
    const array a = counting(x, xs).to_device(), b = counting(y, ys).to_device();
    return counted([&] { eval(k(a, b)); }).compiles;
  };
  EXPECT_EQ(compiles(i32, {3, 4}, i32, {3, 4}), 1u);
  EXPECT_EQ(compiles(i32, {3, 4}, i32, {3, 4}), 0u);
  EXPECT_EQ(compiles(i32, {3, 4}, i16, {3, 4}), 1u);
  EXPECT_EQ(compiles(i16, {3, 4}, i32, {3, 4}), 1u);
  EXPECT_EQ(compiles(i32, {4, 5}, i32, {4, 5}), 0u);
  EXPECT_LE(compiles(i32, {5}, i32, {4, 5}), 1u);
  EXPECT_LE(compiles(i32, {4, 1}, i32, {4, 5}), 1u);
  EXPECT_TRUE(throws<shape_error>([&] { compiles(i32, {2, 5}, i32, {4, 5}); }));
}

}  // namespace
