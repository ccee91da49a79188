// Creation and other shapes of the same elements.
#include "tests/unit/dsl_support.hpp"

#include <limits>

namespace {

using namespace sinter;
using sinter_test::expect_error;
using sinter_test::list;
using sinter_test::values;

class creation : public sinter_test::dsl_test {};
class shapes : public sinter_test::dsl_test {};

TEST_F(creation, constants_have_shape_and_dtype_and_no_memory) {
  const array z = zeros({2, 3}, i16);
  EXPECT_EQ(z.type(), i16);
  EXPECT_EQ(z.extents(), (shape{2, 3}));
  EXPECT_FALSE(z.is_evaluated());
  EXPECT_EQ(values(z), (list{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(ones({2}).type(), f64);
  EXPECT_EQ(full({2}, 3).type(), i64);
  EXPECT_EQ(full({2}, 3u).type(), i64);
  EXPECT_EQ(full({2}, true).type(), boolean);
  EXPECT_EQ(values(full({2}, 2.5, f16)), (list{2.5, 2.5}));
  EXPECT_EQ(values(ones_like(array{3.f, 4.f})), (list{1, 1}));
  for (int k = 0; k < dtype_count; ++k) EXPECT_EQ(ones({3}, static_cast<dtype>(k)).type(), static_cast<dtype>(k));
  expect_error<type_error>([&] { full({2}, 300, u8); }, "300 does not fit u8");
  EXPECT_THROW(zeros({std::int64_t{1} << 40, std::int64_t{1} << 40}), shape_error);
}

TEST_F(creation, arange_counts_as_numpy_does) {
  EXPECT_EQ(arange(3).type(), i64);
  EXPECT_EQ(arange(3.0).type(), f64);
  EXPECT_EQ(arange(3, f32).type(), f32);
  EXPECT_EQ(values(arange(2, 5)), (list{2, 3, 4}));
  EXPECT_EQ(values(arange(5, 0, -2)), (list{5, 3, 1}));
  EXPECT_EQ(values(arange(0, 1, 0.25)), (list{0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(arange(0, 1, 0.1).extents(), (shape{10}));
  EXPECT_EQ(arange(1, 1.3, 0.1).extents(), (shape{4}));  // the rounding NumPy warns of
  EXPECT_EQ(arange(5, 2).extents(), (shape{0}));
  EXPECT_EQ(arange(-3).extents(), (shape{0}));
  const std::int64_t top = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(arange(top - 2, top).extents(), (shape{2}));
  expect_error<shape_error>([&] { arange(0, 3, 0); }, "the step is 0");
  expect_error<shape_error>([&] { arange(-top, top); }, "beyond limits");
  expect_error<shape_error>([&] { arange(std::numeric_limits<double>::quiet_NaN()); }, "beyond limits");
  expect_error<type_error>([&] { arange(complex128{1, 2}); }, "complex");
}

TEST_F(creation, linspace_hits_both_ends) {
  EXPECT_EQ(values(linspace(0, 1, 5)), (list{0, 0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(values(linspace(0, 1, 4, false)), (list{0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(linspace(0.1, 0.7, 50)(-1).item<double>(), 0.7);
  EXPECT_EQ(values(linspace(3, 9, 1)), (list{3}));
  EXPECT_EQ(linspace(3, 9, 0).extents(), (shape{0}));
  EXPECT_EQ(values(linspace(-1, 1, 4, true, i32)), (list{-1, -1, 0, 1}));
  expect_error<shape_error>([&] { linspace(0, 1, -1); }, "linspace: extent -1 is negative");
}

TEST_F(creation, bands_and_triangles) {
  EXPECT_EQ(values(eye(2)), (list{1, 0, 0, 1}));
  EXPECT_EQ(values(eye(2, 3, 1, i32)), (list{0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(values(tri(2, 3)), (list{1, 0, 0, 1, 1, 0}));
  const array x = reshape(arange(1, 7), {2, 3});
  EXPECT_EQ(values(tril(x)), (list{1, 0, 0, 4, 5, 0}));
  EXPECT_EQ(values(triu(x, 1)), (list{0, 2, 3, 0, 0, 6}));
  EXPECT_EQ(tril(x.astype(boolean)).type(), boolean);
  expect_error<shape_error>([&] { triu(arange(3)); }, "triu: shape [3] has no rows and columns");
}

TEST_F(creation, one_hot_marks_positions) {
  EXPECT_EQ(values(one_hot(array{1, -1, 0}, 2)), (list{0, 1, 0, 0, 1, 0}));
  EXPECT_EQ(one_hot(zeros({2, 3}, u64), 4).extents(), (shape{2, 3, 4}));
  EXPECT_EQ(one_hot(array{1}, 2).type(), f32);
  EXPECT_EQ(values(one_hot(array{1}.astype(u8), 300))[1], 1);
  expect_error<type_error>([&] { one_hot(array{1.f}, 2); }, "one_hot: indices are f32");
}

TEST_F(creation, meshgrid_has_both_orders) {
  const array x{1, 2, 3}, y{4, 5};
  const std::vector<array> xy = meshgrid({x, y}), ij = meshgrid({x, y}, grid_order::ij);
  EXPECT_EQ(xy[0].extents(), (shape{2, 3}));
  EXPECT_EQ(values(xy[0]), (list{1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(values(xy[1]), (list{4, 4, 4, 5, 5, 5}));
  EXPECT_EQ(values(ij[0]), (list{1, 1, 2, 2, 3, 3}));
  const std::vector<array> three = meshgrid({x, y, arange(4)});
  EXPECT_EQ(three[2].extents(), (shape{2, 3, 4}));
  expect_error<shape_error>([&] { meshgrid({zeros({2, 2})}); }, "meshgrid: coordinates have one axis");
}

TEST_F(shapes, reshape_finds_one_extent) {
  const array x = arange(12);
  EXPECT_EQ(reshape(x, {3, -1}).extents(), (shape{3, 4}));
  EXPECT_EQ(reshape(x, shape{2, 6}).extents(), (shape{2, 6}));
  EXPECT_EQ(reshape(zeros({0, 3}), {3, -1}).extents(), (shape{3, 0}));
  EXPECT_EQ(ravel(reshape(x, {3, 4})).extents(), (shape{12}));
  expect_error<shape_error>([&] { reshape(x, {5, -1}); }, "reshape: shape [12] (12 elements) into [5, -1]");
  expect_error<shape_error>([&] { reshape(x, {-1, -1}); }, "only one extent may be -1");
  expect_error<shape_error>([&] { reshape(x, {-2, 6}); }, "extent -2 is negative");
  expect_error<shape_error>([&] { reshape(x, {5, 2}); }, "12 elements");
  expect_error<shape_error>([&] { reshape(zeros({0}), {0, -1}); }, "into [0, -1]");
}

TEST_F(shapes, axes_change_order) {
  const array x = reshape(arange(24), {2, 3, 4});
  EXPECT_EQ(transpose(x).extents(), (shape{4, 3, 2}));
  EXPECT_EQ(transpose(x, {1, -1, 0}).extents(), (shape{3, 4, 2}));
  EXPECT_EQ(transpose(x, {1, 2, 0})(2, 3, 1).item<int>(), 23);
  EXPECT_EQ(swapaxes(x, 0, -1).extents(), (shape{4, 3, 2}));
  EXPECT_EQ(moveaxis(x, 0, -1).extents(), (shape{3, 4, 2}));
  EXPECT_EQ(moveaxis(x, {0, 1}, {-1, 0}).extents(), (shape{3, 4, 2}));
  expect_error<shape_error>([&] { transpose(x, {0, 1}); }, "2 axes named of an array of rank 3");
  expect_error<shape_error>([&] { transpose(x, {0, 1, 1}); }, "axis 1 is named twice");
  expect_error<shape_error>([&] { swapaxes(x, 0, 3); }, "swapaxes: axis 3 is outside [-3, 3)");
}

TEST_F(shapes, unit_axes_come_and_go) {
  const array x = reshape(arange(3), {1, 3, 1});
  EXPECT_EQ(squeeze(x).extents(), (shape{3}));
  EXPECT_EQ(squeeze(x, -1).extents(), (shape{1, 3}));
  EXPECT_EQ(expand_dims(arange(3), {0, -1}).extents(), (shape{1, 3, 1}));
  EXPECT_EQ(values(broadcast_to(x, {2, 3, 2})), (list{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}));
  expect_error<shape_error>([&] { squeeze(x, 1); }, "squeeze: axis 1 of shape [1, 3, 1] has extent 3, not 1");
  expect_error<shape_error>([&] { broadcast_to(x, {3}); }, "broadcast_to: shape [1, 3, 1] does not broadcast to [3]");
}

TEST_F(shapes, elements_turn_around) {
  const array x = reshape(arange(4), {2, 2});
  EXPECT_EQ(values(flip(x)), (list{3, 2, 1, 0}));
  EXPECT_EQ(values(flip(x, 1)), (list{1, 0, 3, 2}));
  EXPECT_EQ(values(rot90(x)), (list{1, 3, 0, 2}));
  EXPECT_EQ(values(rot90(x, 2)), (list{3, 2, 1, 0}));
  EXPECT_EQ(values(rot90(x, -1)), (list{2, 0, 3, 1}));
  EXPECT_EQ(values(rot90(x, 1, {1, 0})), (list{2, 0, 3, 1}));
  EXPECT_EQ(values(diagonal(reshape(arange(6), {2, 3}), 1)), (list{1, 5}));
  EXPECT_EQ(values(diagonal(reshape(arange(6), {2, 3}), -1)), (list{3}));
  EXPECT_EQ(diagonal(x, 5).extents(), (shape{0}));
  EXPECT_EQ(diagonal(zeros({2, 3, 4}), 0, 0, 2).extents(), (shape{3, 2}));
}

TEST_F(shapes, take_picks_along_an_axis) {
  const array x = reshape(arange(6), {2, 3});
  EXPECT_EQ(values(take(x, array{2, -3}, 1)), (list{2, 0, 5, 3}));
  EXPECT_EQ(values(take(x, array{5, 0})), (list{5, 0}));
  EXPECT_EQ(take(x, zeros({2, 2}, i64), 0).extents(), (shape{2, 2, 3}));
  EXPECT_EQ(values(take_along_axis(x, reshape(array{2, 0}, {2, 1}), 1)), (list{2, 3}));
  EXPECT_EQ(values(take_along_axis(x, array{{0, 1, 0}}, 0)), (list{0, 4, 2}));
  EXPECT_EQ(values(take_along_axis(x, array{{2, 0}}, 1)), (list{2, 0, 5, 3}));  // the row of indices serves both rows
  expect_error<type_error>([&] { take(x, array{true}, 0); }, "take: indices are bool");
  expect_error<shape_error>([&] { take_along_axis(x, array{0}, 0); }, "rank 2 with indices of rank 1");
}

TEST(create, arange_beyond_its_dtype_is_a_type_error) {
  EXPECT_THROW(arange(254, 260, u8), type_error);
  EXPECT_THROW(arange(-3, 3, u8), type_error);
  EXPECT_EQ(arange(250, 256, u8).size(), 6);
  EXPECT_EQ(arange(5, 5, u8).size(), 0);
}

}  // namespace
