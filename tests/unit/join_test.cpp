// Joining, padding, rolling, repeating and splitting: shapes, dtypes and errors.
#include "tests/unit/dsl_support.hpp"

#include <limits>

namespace {

using namespace sinter;
using sinter_test::expect_error;
using sinter_test::list;
using sinter_test::values;

constexpr std::int64_t top = std::numeric_limits<std::int64_t>::max(),
                       bottom = std::numeric_limits<std::int64_t>::min();

class joins : public sinter_test::dsl_test {};
class padding : public sinter_test::dsl_test {};
class repetition : public sinter_test::dsl_test {};

array matrix() { return reshape(arange(6), {2, 3}); }

TEST_F(joins, concat_adds_the_extents_along_its_axis) {
  const array x = matrix();
  EXPECT_EQ(concat({x, x, x}).extents(), (shape{6, 3}));
  EXPECT_EQ(concat({x, zeros({2, 4})}, 1).extents(), (shape{2, 7}));
  EXPECT_EQ(concat({x, zeros({2, 4})}, -1).extents(), (shape{2, 7}));
  EXPECT_EQ(values(concat({x, x + 10}, 1)), (list{0, 1, 2, 10, 11, 12, 3, 4, 5, 13, 14, 15}));
  EXPECT_FALSE(concat({x, x}).is_evaluated());
}

TEST_F(joins, concat_finds_the_common_dtype_of_all) {
  EXPECT_EQ(concat({zeros({1}, u8), zeros({1}, i8)}).type(), i16);
  EXPECT_EQ(concat({zeros({1}, boolean), zeros({1}, i32), zeros({1}, f16)}).type(), f16);
  EXPECT_EQ(concat({zeros({1}, f16), zeros({1}, bf16)}).type(), f32);
  EXPECT_EQ(concat({zeros({1}, f64), zeros({1}, c64)}).type(), c128);
  EXPECT_EQ(concat({zeros({3}, i32), zeros({0}, f64)}).type(), f64);  // no elements, yet a dtype
  EXPECT_EQ(values(concat({array{true}, array{2.5f}})), (list{1, 2.5}));
  const array wide = zeros({1}, u64), narrow = zeros({1}, i8);
  expect_error<type_error>([&] { concat({wide, narrow}); }, "concat: no dtype holds both u64 and i8");
}

TEST_F(joins, what_has_no_elements_is_left_out) {
  const array x = array{1.f, 2.f}, none = zeros({0}, f32);
  EXPECT_EQ(concat({none, x, none}).node(), x.node());
  EXPECT_EQ(concat({x}).node(), x.node());
  EXPECT_EQ(concat({none, none}).extents(), (shape{0}));
  EXPECT_EQ(concat({zeros({2, 0}), zeros({3, 0})}).extents(), (shape{5, 0}));
  EXPECT_EQ(concat({zeros({2, 0}), zeros({2, 0})}, 1).extents(), (shape{2, 0}));
  EXPECT_TRUE(values(concat({zeros({2, 0}), zeros({3, 0})})).empty());
  EXPECT_EQ(concat({array(), array()}).extents(), (shape{0}));
}

TEST_F(joins, concat_refuses_what_does_not_fit) {
  const array x = matrix(), wider = zeros({2, 4}), flat = zeros({0});
  expect_error<shape_error>([&] { concat(std::span<const array>()); }, "concat: no arrays to join");
  expect_error<shape_error>([&] { concat({array(1)}); }, "concat: arrays without axes have no ends to join");
  expect_error<shape_error>([&] { concat({x, wider}); }, "[2, 3] and [2, 4] of arrays 0 and 1 differ along axis 1");
  expect_error<shape_error>([&] { concat({x, x, flat}); }, "shapes [2, 3] and [0] of arrays 0 and 2 differ in rank");
  expect_error<shape_error>([&] { concat({x, x}, 2); }, "concat: axis 2 is outside [-2, 2)");
  expect_error<shape_error>([&] { concat({x, zeros({0, 4})}); }, "differ along axis 1");  // empty, but it counts
  expect_error<shape_error>([&] { concat({zeros({0, top}), zeros({0, top})}, 1); }, "concat: the result is too large");
}

TEST_F(joins, more_pieces_than_a_node_has_operands) {
  const std::vector<array> pieces(70000, full({1}, 3, i32));
  const array x = concat(pieces);
  EXPECT_EQ(x.extents(), (shape{70000}));
  EXPECT_EQ(x.type(), i32);
}

TEST_F(joins, stack_makes_an_axis) {
  const array x = matrix();
  EXPECT_EQ(stack({x, x, x, x}).extents(), (shape{4, 2, 3}));
  EXPECT_EQ(stack({x, x, x, x}, 1).extents(), (shape{2, 4, 3}));
  EXPECT_EQ(stack({x, x, x, x}, -1).extents(), (shape{2, 3, 4}));
  EXPECT_EQ(stack({array(1), array(2.5)}).extents(), (shape{2}));
  EXPECT_EQ(values(stack({array(1), array(2.5)})), (list{1, 2.5}));
  EXPECT_EQ(stack({zeros({0}), zeros({0})}).extents(), (shape{2, 0}));
  EXPECT_EQ(stack({x}).extents(), (shape{1, 2, 3}));
  const array turned = zeros({3, 2});
  expect_error<shape_error>([&] { stack({x, x, turned}); }, "shapes [2, 3] and [3, 2] of arrays 0 and 2 differ");
  expect_error<shape_error>([&] { stack({x}, 3); }, "stack: axis 3 is outside [-3, 3)");
  expect_error<shape_error>([&] { stack(std::span<const array>()); }, "stack: no arrays");
  const array deep = ones({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  expect_error<shape_error>([&] { stack({deep}); }, "stack: the result would have more than 16 axes");
}

TEST_F(joins, stacks_by_direction_add_the_axes_they_need) {
  const array s(7), v = arange(3), m = matrix();
  EXPECT_EQ(hstack({s, s}).extents(), (shape{2}));
  EXPECT_EQ(hstack({v, v}).extents(), (shape{6}));
  EXPECT_EQ(hstack({m, zeros({2, 1})}).extents(), (shape{2, 4}));
  EXPECT_EQ(vstack({s, s}).extents(), (shape{2, 1}));
  EXPECT_EQ(vstack({v, m, v}).extents(), (shape{4, 3}));
  EXPECT_EQ(values(vstack({v, m})), (list{0, 1, 2, 0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(dstack({s}).extents(), (shape{1, 1, 1}));
  EXPECT_EQ(dstack({v, v}).extents(), (shape{1, 3, 2}));
  EXPECT_EQ(dstack({m, m}).extents(), (shape{2, 3, 2}));
  EXPECT_EQ(values(dstack({v, v + 10})), (list{0, 10, 1, 11, 2, 12}));
  expect_error<shape_error>([&] { hstack({v, m}); }, "hstack: shapes [3] and [2, 3]");
  expect_error<shape_error>([&] { vstack({v, arange(4)}); }, "vstack: shapes [1, 3] and [1, 4]");
  expect_error<shape_error>([&] { dstack({m, v}); }, "dstack: shapes [2, 3, 1] and [1, 3, 1]");
  expect_error<shape_error>([&] { vstack(std::span<const array>()); }, "vstack: no arrays");
  expect_error<shape_error>([&] { hstack(std::span<const array>()); }, "hstack: no arrays");
}

TEST_F(padding, widths_are_for_each_axis_or_for_all) {
  const array x = matrix();
  EXPECT_EQ(pad(x, 2).extents(), (shape{6, 7}));
  EXPECT_EQ(pad(x, {{1, 2}}).extents(), (shape{5, 6}));
  EXPECT_EQ(pad(x, {{0, 1}, {2, 0}}).extents(), (shape{3, 5}));
  EXPECT_EQ(values(pad(x, {{0, 1}, {1, 0}})), (list{0, 0, 1, 2, 0, 3, 4, 5, 0, 0, 0, 0}));
  EXPECT_EQ(pad(x, 0).node(), x.node());
  EXPECT_EQ(pad(x, 0, pad_mode::wrap).node(), x.node());
  EXPECT_EQ(pad(array(3), 4).extents(), shape{});
  EXPECT_EQ(pad(array(3), std::span<const pad_width>()).extents(), shape{});
  EXPECT_EQ(pad(x, 1, pad_mode::edge).type(), i64);
  expect_error<shape_error>([&] { pad(x, {{1, 1}, {1, 1}, {1, 1}}); }, "pad: 3 widths for an array of rank 2");
  expect_error<shape_error>([&] { pad(x, {{1, -2}}); }, "pad: width -2 is negative");
  expect_error<shape_error>([&] { pad(x, -1, pad_mode::wrap); }, "pad: width -1 is negative");
  expect_error<shape_error>([&] { pad(x, {{top, 0}}); }, "pad: the result is too large");
  expect_error<shape_error>([&] { pad(x, {{top - 4, 2}}); }, "pad: the result is too large");
}

TEST_F(padding, the_constant_takes_the_arrays_dtype) {
  EXPECT_EQ(values(pad(array{1.f, 2.f}, 1, pad_mode::constant, 0.5)), (list{0.5, 1, 2, 0.5}));
  EXPECT_EQ(pad(array{1.f}, 1, pad_mode::constant, 7).type(), f32);
  EXPECT_EQ(pad(zeros({1}, f16), 1, pad_mode::constant, array(2.5)).type(), f16);
  EXPECT_EQ(values(pad(zeros({1}, i8), 1, pad_mode::constant, array(-3))), (list{-3, 0, -3}));
  EXPECT_EQ(values(pad(zeros({1}, boolean), 1, pad_mode::constant, true)), (list{1, 0, 1}));
  EXPECT_EQ(values(pad(zeros({0, 1}, u8), 1, pad_mode::constant, 9)), (list{9, 9, 9, 9, 9, 9}));
  expect_error<type_error>([&] { pad(zeros({1}, u8), 1, pad_mode::constant, 300); }, "300 does not fit u8");
  expect_error<type_error>([&] { pad(zeros({1}, i32), 1, pad_mode::constant, 0.5); }, "does not fit the integer dtype");
  const array whole = zeros({1}, i32), natural = zeros({1}, u32), real(0.5), integer(-1), one = array{1};
  expect_error<type_error>([&] { pad(whole, 1, pad_mode::constant, real); }, "of i32 cannot hold f64");
  expect_error<type_error>([&] { pad(natural, 1, pad_mode::constant, integer); }, "u32 cannot hold i64");
  expect_error<shape_error>([&] { pad(whole, 1, pad_mode::constant, one); }, "pad: the value has shape [1], not []");
}

TEST_F(padding, an_axis_without_elements_takes_constants_only) {
  const array none = zeros({0, 2});
  EXPECT_EQ(pad(none, 1).extents(), (shape{2, 4}));
  EXPECT_EQ(values(pad(none, {{1, 0}, {0, 0}}, pad_mode::constant, 4)), (list{4, 4}));
  for (const pad_mode mode : {pad_mode::edge, pad_mode::reflect, pad_mode::symmetric, pad_mode::wrap}) {
    EXPECT_EQ(pad(none, {{0, 0}, {3, 50}}, mode).extents(), (shape{0, 55}));
    expect_error<shape_error>([&] { pad(none, 1, mode); }, "pad: axis 0 of shape [0, 2] has no elements to pad with");
  }
}

// References: NumPy.
TEST_F(padding, modes_go_on_periodically) {
  const array x = arange(3);
  EXPECT_EQ(values(pad(x, {{2, 3}}, pad_mode::edge)), (list{0, 0, 0, 1, 2, 2, 2, 2}));
  EXPECT_EQ(values(pad(x, {{5, 4}}, pad_mode::reflect)), (list{1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2}));
  EXPECT_EQ(values(pad(x, {{4, 5}}, pad_mode::symmetric)), (list{2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1}));
  EXPECT_EQ(values(pad(x, {{4, 5}}, pad_mode::wrap)), (list{2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1}));
  EXPECT_EQ(values(pad(array{8}, 2, pad_mode::reflect)), (list{8, 8, 8, 8, 8}));
  EXPECT_EQ(values(pad(array{8}, 2, pad_mode::symmetric)), (list{8, 8, 8, 8, 8}));
}

TEST_F(padding, widths_far_beyond_the_array_cost_nothing_to_record) {
  const std::int64_t width = std::int64_t{1} << 40;
  for (const pad_mode mode : {pad_mode::reflect, pad_mode::symmetric, pad_mode::wrap}) {
    const array x = pad(arange(5), {{width, width}}, mode);
    EXPECT_EQ(x.extents(), (shape{2 * width + 5}));
    EXPECT_FALSE(x.is_evaluated());
    EXPECT_EQ(values(x(range(width, width + 5))), (list{0, 1, 2, 3, 4}));
  }
  // 2^40 = 1 (mod 5), 0 (mod 8), 6 (mod 10): how far the ends are from where the pattern starts.
  EXPECT_EQ(values(pad(arange(5), {{width, 0}}, pad_mode::wrap)(range(3))), (list{4, 0, 1}));
  EXPECT_EQ(values(pad(arange(5), {{width, 0}}, pad_mode::reflect)(range(3))), (list{0, 1, 2}));
  EXPECT_EQ(values(pad(arange(5), {{width, 0}}, pad_mode::symmetric)(range(3))), (list{4, 4, 3}));
}

TEST_F(repetition, roll_takes_any_shift) {
  const array x = arange(5), m = matrix();
  EXPECT_EQ(values(roll(x, 2, 0)), (list{3, 4, 0, 1, 2}));
  EXPECT_EQ(values(roll(x, -1)), (list{1, 2, 3, 4, 0}));
  EXPECT_EQ(values(roll(x, 12, -1)), (list{3, 4, 0, 1, 2}));
  EXPECT_EQ(values(roll(x, bottom, 0)), (list{3, 4, 0, 1, 2}));  // -2^63 = 2 (mod 5)
  EXPECT_EQ(values(roll(x, top, 0)), (list{3, 4, 0, 1, 2}));     // 2^63 - 1 = 2 (mod 5)
  EXPECT_EQ(roll(x, 10, 0).node(), x.node());
  EXPECT_EQ(values(roll(m, 1)), (list{5, 0, 1, 2, 3, 4}));
  EXPECT_EQ(values(roll(m, 1, 1)), (list{2, 0, 1, 5, 3, 4}));
  EXPECT_EQ(values(roll(m, {1, 1}, {0, 1})), (list{5, 3, 4, 2, 0, 1}));
  EXPECT_EQ(values(roll(m, {1}, {0, 1})), (list{5, 3, 4, 2, 0, 1}));
  EXPECT_EQ(values(roll(m, {1, 3}, 1)), (list{2, 0, 1, 5, 3, 4}));  // 4 along axis 1
  EXPECT_EQ(roll(m, {1, 2}, {1, -1}).node(), m.node());             // 3 along axis 1
  EXPECT_EQ(values(roll(x, {top, top, top}, {0, 0, 0})), (list{4, 0, 1, 2, 3}));
  EXPECT_EQ(roll(array(3), 4).item<int>(), 3);
  EXPECT_EQ(roll(zeros({0, 3}), 1, 0).extents(), (shape{0, 3}));
  EXPECT_EQ(roll(zeros({0, 3}), 1).extents(), (shape{0, 3}));
  expect_error<shape_error>([&] { roll(m, 1, 2); }, "roll: axis 2 is outside [-2, 2)");
  expect_error<shape_error>([&] { roll(m, {1, 2, 3}, {0, 1}); }, "roll: 3 shifts along 2 axes");
}

TEST_F(repetition, tile_repeats_the_whole) {
  const array x = matrix();
  EXPECT_EQ(tile(x, {2, 3}).extents(), (shape{4, 9}));
  EXPECT_EQ(tile(x, {2}).extents(), (shape{2, 6}));
  EXPECT_EQ(tile(x, {4, 1, 1}).extents(), (shape{4, 2, 3}));
  EXPECT_EQ(tile(x, {0, 2}).extents(), (shape{0, 6}));
  EXPECT_EQ(tile(x, {}).node(), x.node());
  EXPECT_EQ(values(tile(array(3), {2})), (list{3, 3}));
  EXPECT_EQ(values(tile(x, {2})), (list{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
  EXPECT_EQ(tile(zeros({0, 2}), {5, 2}).extents(), (shape{0, 4}));
  expect_error<shape_error>([&] { tile(x, {-1}); }, "tile: -1 times is negative");
  expect_error<shape_error>([&] { tile(x, {top}); }, "tile: the result is too large");
  const auto too_long = [&](place at) { tile(x, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, at); };
  expect_error<shape_error>([&] { too_long(place::here()); }, "tile: the result would have more than 16 axes");
}

TEST_F(repetition, repeat_repeats_each_element) {
  const array x = matrix();
  EXPECT_EQ(repeat(x, 3, 0).extents(), (shape{6, 3}));
  EXPECT_EQ(repeat(x, 2, -1).extents(), (shape{2, 6}));
  EXPECT_EQ(repeat(x, 0, 0).extents(), (shape{0, 3}));
  EXPECT_EQ(repeat(x, 1, 0).node(), x.node());
  EXPECT_EQ(values(repeat(x, 2)), (list{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}));
  EXPECT_EQ(values(repeat(array(3), 2)), (list{3, 3}));
  EXPECT_EQ(repeat(zeros({3, 0}), 4, 0).extents(), (shape{12, 0}));
  expect_error<shape_error>([&] { repeat(x, -1, 0); }, "repeat: -1 times is negative");
  expect_error<shape_error>([&] { repeat(x, 1, 2); }, "repeat: axis 2 is outside [-2, 2)");
  expect_error<shape_error>([&] { repeat(x, top, 0); }, "repeat: the result is too large");
}

TEST_F(repetition, each_element_can_have_its_own_count) {
  const array x = matrix();
  const std::vector<std::int64_t> counts{2, 0, 1}, none, negative{1, -1, 1}, huge{top, 1, 0};
  EXPECT_EQ(repeat(x, counts, 1).extents(), (shape{2, 3}));
  EXPECT_EQ(values(repeat(x, counts, 1)), (list{0, 0, 2, 3, 3, 5}));
  EXPECT_EQ(repeat(zeros({2, 0}), none, 1).extents(), (shape{2, 0}));
  EXPECT_EQ(repeat(x, std::vector<std::int64_t>{0, 0}, 0).extents(), (shape{0, 3}));
  expect_error<shape_error>([&] { repeat(x, counts, 0); }, "repeat: 3 counts for the 2 elements of axis 0");
  expect_error<shape_error>([&] { repeat(x, negative, 1); }, "repeat: -1 times is negative");
  expect_error<shape_error>([&] { repeat(x, huge, 1); }, "repeat: the result is too large");
}

TEST_F(repetition, split_comes_out_even) {
  const array x = arange(6);
  const std::vector<array> thirds = split(x, 3);
  ASSERT_EQ(thirds.size(), 3u);
  EXPECT_EQ(values(thirds[1]), (list{2, 3}));
  EXPECT_EQ(split(matrix(), 3, -1)[2].extents(), (shape{2, 1}));
  EXPECT_EQ(split(x, 1)[0].node(), x.node());
  EXPECT_EQ(split(zeros({0}), 2).size(), 2u);
  expect_error<shape_error>([&] { split(x, 4); }, "split: axis 0 of shape [6] in 4 sections does not come out even");
  expect_error<shape_error>([&] { split(x, 0); }, "split: into 0 sections");
  expect_error<shape_error>([&] { split(x, -2); }, "split: into -2 sections");
  expect_error<shape_error>([&] { split(x, 2, 1); }, "split: axis 1 is outside [-1, 1)");
  expect_error<shape_error>([&] { split(array(1), 1); }, "split: axis 0 of an array without axes");
}

TEST_F(repetition, split_positions_are_those_of_ranges) {
  const array x = arange(6);
  const auto lengths = [&](std::vector<std::int64_t> positions) {
    std::vector<std::int64_t> out;
    for (const array& p : split(x, positions)) out.push_back(p.size());
    return out;
  };
  EXPECT_EQ(lengths({2, 3}), (std::vector<std::int64_t>{2, 1, 3}));
  EXPECT_EQ(lengths({}), (std::vector<std::int64_t>{6}));
  EXPECT_EQ(lengths({-2}), (std::vector<std::int64_t>{4, 2}));
  EXPECT_EQ(lengths({4, 2}), (std::vector<std::int64_t>{4, 0, 4}));  // as NumPy: x[4:2] is empty, x[2:] is not
  EXPECT_EQ(lengths({9, 10}), (std::vector<std::int64_t>{6, 0, 0}));
  EXPECT_EQ(lengths({bottom, top}), (std::vector<std::int64_t>{0, 6, 0}));
  expect_error<shape_error>([&] { split(x, std::vector<std::int64_t>{1}, 3); }, "split: axis 3 is outside [-1, 1)");
}

TEST_F(repetition, array_split_gives_the_rest_to_the_first_parts) {
  const std::vector<array> parts = array_split(arange(8), 3), many = array_split(arange(2), 4);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(values(parts[0]), (list{0, 1, 2}));
  EXPECT_EQ(values(parts[1]), (list{3, 4, 5}));
  EXPECT_EQ(values(parts[2]), (list{6, 7}));
  ASSERT_EQ(many.size(), 4u);
  EXPECT_EQ(many[1].size(), 1);
  EXPECT_EQ(many[3].extents(), (shape{0}));
  expect_error<shape_error>([&] { array_split(arange(3), 0); }, "array_split: into 0 sections");
  expect_error<shape_error>([&] { array_split(arange(3), 1, -2); }, "array_split: axis -2 is outside [-1, 1)");
}

}  // namespace
