// Arrays without elements and arrays of one element without axes, everywhere.
#include "tests/backend/expect.hpp"

using namespace sinter;
using namespace sinter_test;

namespace {

const shape empty_shapes[] = {{0}, {0, 3}, {3, 0}, {2, 0, 4}, {0, 0}};

/// Every operation that keeps the shape, on one array of numbers.
std::vector<array> same_shaped(const array& x) {
  return {x + x,
          x * 2,
          sqrt(x),
          -x,
          x > 1,
          where(x > 0, x, 5),
          x.astype(i16),
          flip(x),
          reshape(x, x.extents()),
          clip(x, 0, 1),
          isnan(x),
          minimum(x, x),
          x % 2,
          broadcast_to(x, x.extents()),
          atan2(x, x),
          pow(x, 2)};
}

TEST(shapes, arrays_without_elements_compute_without_a_launch_or_a_compilation) {
  for (const shape& s : empty_shapes)
    for (const dtype type : {f32, i64}) {
      const array x = zeros(s, type);
      const statistics added = counted([&] {
        for (const array& y : same_shaped(x)) {
          EXPECT_EQ(to_string(y.extents()), to_string(s));
          eval(y);
          EXPECT_TRUE(equals(y, host_array(y.type(), s)));
        }
      });
      EXPECT_EQ(added.launches, 0u) << to_string(s);
      EXPECT_EQ(added.compiles, 0u) << to_string(s);
    }
}

TEST(shapes, arrays_without_elements_are_made_viewed_and_read) {
  const array x = host_array(f32, {3, 0, 2}).to_device();
  EXPECT_EQ(to_string(transpose(x).extents()), "[2, 0, 3]");
  EXPECT_EQ(to_string(x(1).extents()), "[0, 2]");
  EXPECT_EQ(to_string(x(all, all, 1).extents()), "[3, 0]");
  EXPECT_EQ(to_string(reshape(x, {0, 7}).extents()), "[0, 7]");
  EXPECT_EQ(to_string(x(array{2, 0}).extents()), "[2, 0, 2]");
  EXPECT_EQ(to_string(ones({4}, f32)(host_array(i64, {0}).to_device()).extents()), "[0]");
  EXPECT_EQ(to_string(ones({4}, f32)(range(3, 1)).extents()), "[0]");
  EXPECT_EQ(to_string(arange(5, 5).extents()), "[0]");
  EXPECT_EQ(to_string(arange(5, 1).extents()), "[0]");
  EXPECT_TRUE(x.to_vector<float>().empty());
  EXPECT_TRUE(transpose(x).to_vector<float>().empty());
  EXPECT_EQ(to_string(array().extents()), "[0]");
  EXPECT_TRUE((array() + 1).to_vector<float>().empty());
}

TEST(shapes, an_empty_operand_makes_the_result_empty) {
  const array none = zeros({0}, f32), one = ones({1}, f32), column = ones({3, 1}, f32);
  EXPECT_EQ(to_string((none + one).extents()), "[0]");
  EXPECT_EQ(to_string((none * column).extents()), "[3, 0]");
  const statistics added = counted([&] { eval(none + one, none * column, none + 1); });
  EXPECT_EQ(added.launches + added.compiles, 0u);
}

TEST(shapes, reductions_over_nothing) {
  const array x = zeros({2, 0}, f32);
  EXPECT_TRUE(equals(sum(x, 1), std::vector<float>{0, 0}));
  EXPECT_TRUE(equals(prod(x, 1), std::vector<float>{1, 1}));
  EXPECT_TRUE(equals(sum(x), host_array(std::vector<float>{0}, {})));
  EXPECT_TRUE(equals(any_true(x, 1), booleans({0, 0}, {2})));
  EXPECT_TRUE(equals(all_true(x, 1), booleans({1, 1}, {2})));
  EXPECT_TRUE(equals(count_nonzero(x, 1), std::vector<std::int64_t>{0, 0}));
  EXPECT_TRUE(equals(sum(x, 0), host_array(f32, {0})));
  EXPECT_TRUE(
      equals(sum(reshape(zeros({4, 2, 0}, i32) + array{1}, {2, 0, 0})), host_array(std::vector<std::int64_t>{0}, {})));
  EXPECT_EQ(to_string(max(x, 0).extents()), "[0]");
  EXPECT_TRUE(throws<shape_error>([&] { max(x, 1); }, {"[2, 0]", "shape_test.cpp"}));
  EXPECT_TRUE(throws<shape_error>([&] { argmin(x, 1); }, {"[2, 0]"}));
}

TEST(shapes, single_elements_without_axes) {
  const array x(2.5), y = full({}, 3, f32), m = ones({2, 3}, f32);
  EXPECT_EQ(x.rank(), 0);
  EXPECT_EQ(x.type(), f64);
  EXPECT_EQ(array(7).type(), i64);
  EXPECT_EQ((x * 2 + 1).item<double>(), 6.0);
  EXPECT_EQ((y + 1).type(), f32);
  EXPECT_EQ(sqrt(full({}, 9, f64)).item<double>(), 3.0);
  EXPECT_EQ(x(ellipsis).item<double>(), 2.5);
  EXPECT_EQ(to_string(x(newaxis, newaxis).extents()), "[1, 1]");
  EXPECT_EQ(transpose(x).item<double>(), 2.5);
  EXPECT_EQ(flip(x).item<double>(), 2.5);
  EXPECT_EQ(reshape(x, {1, 1, 1}).item<double>(), 2.5);
  EXPECT_EQ(sum(x).item<double>(), 2.5);
  EXPECT_EQ(max(x).item<double>(), 2.5);
  EXPECT_EQ(argmax(x).item<std::int64_t>(), 0);
  EXPECT_TRUE(equals(broadcast_to(x, {2, 2}), host_array(std::vector<double>(4, 2.5), {2, 2})));
  EXPECT_TRUE(equals(m + y, host_array(std::vector<float>(6, 4), {2, 3})));
  EXPECT_EQ(m(1, 2).rank(), 0);
  EXPECT_EQ(array{5}(full({}, -1, i64)).item<int>(), 5);
  EXPECT_EQ(where(x > 2, x, 0).item<double>(), 2.5);
  EXPECT_EQ(x.to_vector<double>(), std::vector<double>{2.5});
  EXPECT_TRUE(throws<shape_error>([&] { m.item<float>(); }, {"[2, 3]", "shape_test.cpp"}));
}

TEST(shapes, sixteen_axes_and_no_more) {
  shape s;
  for (int k = 0; k < 16; ++k) s.append(k == 3 || k == 12 ? 3 : 1);
  const host_array h = counting(i32, s);
  const array x = h.to_device(), y = transpose(x) + x(ellipsis, 0, newaxis);
  EXPECT_EQ(y.rank(), 16);
  host_array want(i32, y.extents());
  // Axis 3 of the result is axis 12 of x for the transpose, and the other way round.
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 3; ++j) want.set(i * 3 + j, {static_cast<long double>(j * 3 + i + i * 3 + j), 0});
  EXPECT_TRUE(equals(y, want));
  EXPECT_TRUE(throws<shape_error>([&] { x(newaxis); }, {"16", "shape_test.cpp"}));
  EXPECT_TRUE(throws<shape_error>([&] { expand_dims(x, 0); }, {"16"}));
}

TEST(shapes, sequences_and_constants) {
  EXPECT_TRUE(equals(arange(4), std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_TRUE(equals(arange(1, 8, 3, i16), std::vector<std::int16_t>{1, 4, 7}));
  EXPECT_TRUE(equals(arange(3, -2, -2), std::vector<std::int64_t>{3, 1, -1}));
  EXPECT_TRUE(equals(arange(0.0, 1.0, 0.25), std::vector<double>{0, 0.25, 0.5, 0.75}));
  EXPECT_TRUE(equals(linspace(0, 1, 5), std::vector<double>{0, 0.25, 0.5, 0.75, 1}));
  EXPECT_TRUE(equals(linspace(0, 1, 4, false), std::vector<double>{0, 0.25, 0.5, 0.75}));
  EXPECT_TRUE(equals(eye(2, 3, 1, i32), host_array(std::vector<std::int32_t>{0, 1, 0, 0, 0, 1}, {2, 3})));
  EXPECT_TRUE(equals(tri(3, 3, 0, i32), host_array(std::vector<std::int32_t>{1, 0, 0, 1, 1, 0, 1, 1, 1}, {3, 3})));
  const array x = counting(i32, {2, 3}).to_device();
  EXPECT_TRUE(equals(triu(x, 1), host_array(std::vector<std::int32_t>{0, 1, 2, 0, 0, 5}, {2, 3})));
  EXPECT_TRUE(equals(tril(x), host_array(std::vector<std::int32_t>{0, 0, 0, 3, 4, 0}, {2, 3})));
  EXPECT_TRUE(equals(one_hot(array{1, -1, 3, 0}, 3),
                     host_array(std::vector<float>{0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0}, {4, 3})));
  const std::vector<array> grid = meshgrid({arange(3), arange(2)});
  EXPECT_TRUE(equals(grid[0], host_array(std::vector<std::int64_t>{0, 1, 2, 0, 1, 2}, {2, 3})));
  EXPECT_TRUE(equals(grid[1], host_array(std::vector<std::int64_t>{0, 0, 0, 1, 1, 1}, {2, 3})));
  EXPECT_EQ(counted([&] { eval(arange(1000) * 2 + ones({1000}, i64)); }).launches, 1u);
}

}  // namespace
