// Reading through indices: shapes and values by NumPy's rules, errors at the line of the index.
#include "tests/unit/dsl_support.hpp"

#include <limits>

namespace {

using namespace sinter;
using sinter_test::expect_error;
using sinter_test::list;
using sinter_test::values;

class indexing : public sinter_test::dsl_test {
 protected:
  array grid(const shape& extents) { return reshape(arange(extents.size()), extents); }
};

TEST_F(indexing, ints_drop_axes_and_count_from_the_end) {
  const array a = grid({3, 4});
  EXPECT_EQ(a(1).extents(), (shape{4}));
  EXPECT_EQ(values(a(1)), (list{4, 5, 6, 7}));
  EXPECT_EQ(a(-1, -2).item<int>(), 10);
  EXPECT_EQ(a(end - 1, begin + 1).item<int>(), 9);
  EXPECT_EQ(values(a(all, 0)), (list{0, 4, 8}));
}

TEST_F(indexing, ranges_clip_like_slices) {
  const array a = arange(6);
  EXPECT_EQ(values(a(range(1, 4))), (list{1, 2, 3}));
  EXPECT_EQ(values(a(range(2))), (list{0, 1}));
  EXPECT_EQ(values(a(range(1, -1))), (list{1, 2, 3, 4}));
  EXPECT_EQ(values(a(range(-2, end))), (list{4, 5}));
  EXPECT_EQ(values(a(range(2, 100))), (list{2, 3, 4, 5}));
  EXPECT_EQ(values(a(range(-100, 2))), (list{0, 1}));
  EXPECT_EQ(values(a(range(0, end, 4))), (list{0, 4}));
  EXPECT_EQ(a(range(4, 2)).extents(), (shape{0}));
  EXPECT_EQ(a(range(9, 12)).extents(), (shape{0}));
}

TEST_F(indexing, negative_steps_run_backwards) {
  const array a = arange(6);
  EXPECT_EQ(values(a(range(end, begin, -1))), (list{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(values(a(range(4, 0, -1))), (list{4, 3, 2, 1}));
  EXPECT_EQ(values(a(range(4, begin, -2))), (list{4, 2, 0}));
  EXPECT_EQ(values(a(range(-1, -4, -1))), (list{5, 4, 3}));
  EXPECT_EQ(values(a(range(end, begin, -100))), (list{5}));
  EXPECT_EQ(values(a(range(end, begin, std::numeric_limits<std::int64_t>::min()))), (list{5}));
  EXPECT_EQ(a(range(0, 4, -1)).extents(), (shape{0}));
}

TEST_F(indexing, views_of_views_compose) {
  const array a = grid({4, 6});
  EXPECT_EQ(values(a(range(1, 3))(all, range(end, begin, -2))(1)), (list{17, 15, 13}));
}

TEST_F(indexing, newaxis_and_ellipsis_place_axes) {
  const array a = grid({2, 3, 4});
  EXPECT_EQ(a(newaxis, all).extents(), (shape{1, 2, 3, 4}));
  EXPECT_EQ(a(ellipsis, newaxis).extents(), (shape{2, 3, 4, 1}));
  EXPECT_EQ(a(ellipsis, 0).extents(), (shape{2, 3}));
  EXPECT_EQ(a(0, ellipsis, newaxis, 1).extents(), (shape{3, 1}));
  EXPECT_EQ(a(0, 1, 2, ellipsis).extents(), shape{});
  EXPECT_EQ(a(0, 1, 2, ellipsis).item<int>(), 6);
}

TEST_F(indexing, whole_axes_record_nothing) {
  const array a = grid({2, 3});
  EXPECT_EQ(a(all, all).node(), a.node());
  EXPECT_EQ(a(range(begin, end)).node(), a.node());
  EXPECT_EQ(a(ellipsis).node(), a.node());
}

TEST_F(indexing, index_arrays_replace_their_axis) {
  const array a = grid({3, 4}), rows{2, 0, -1, 2};
  EXPECT_EQ(a(rows).extents(), (shape{4, 4}));
  EXPECT_EQ(values(a(rows, 1)), (list{9, 1, 9, 9}));
  EXPECT_EQ(values(a(1, rows)), (list{6, 4, 7, 6}));
  EXPECT_EQ(a(all, reshape(rows, {2, 2})).extents(), (shape{3, 2, 2}));
  EXPECT_EQ(values(a(all, array{1, 3})), (list{1, 3, 5, 7, 9, 11}));
}

TEST_F(indexing, index_arrays_broadcast_together) {
  const array a = grid({3, 4});
  EXPECT_EQ(values(a(array{0, 2}, array{1, 3})), (list{1, 11}));
  const array r = a(array{0, 2}(all, newaxis), array{1, 3, 0});
  EXPECT_EQ(r.extents(), (shape{2, 3}));
  EXPECT_EQ(values(r), (list{1, 3, 0, 9, 11, 8}));
}

TEST_F(indexing, neighbouring_index_arrays_stay_in_place_others_come_first) {
  const array a = grid({2, 3, 4, 5}), i{0, 1, 1, 0, 1, 0};
  EXPECT_EQ(a(all, i, i).extents(), (shape{2, 6, 5}));
  EXPECT_EQ(a(i, all, i).extents(), (shape{6, 3, 5}));
  EXPECT_EQ(a(all, i, all, i).extents(), (shape{6, 2, 4}));
  EXPECT_EQ(a(all, 0, i).extents(), (shape{2, 6, 5}));
  EXPECT_EQ(a(0, all, i).extents(), (shape{6, 3, 5}));  // the int counts as an index array
  EXPECT_EQ(a(all, i, newaxis, i).extents(), (shape{6, 2, 1, 5}));
  EXPECT_EQ(a(all, i, ellipsis).extents(), (shape{2, 6, 4, 5}));
  EXPECT_EQ(a(all, range(0, 2), i, range(1, 3)).extents(), (shape{2, 2, 6, 2}));
  EXPECT_EQ(a(0, all, i)(2, 1, 3).item<int>(), 28);  // a[0, 1, 1, 3]
  EXPECT_EQ(a(all, i, i)(1, 2, 4).item<int>(), 89);  // a[1, 1, 1, 4]
}

TEST_F(indexing, masks_stand_for_the_indices_of_what_is_true) {
  const array a = grid({3, 4}), rows{true, false, true}, columns{false, true, true, false};
  EXPECT_EQ(values(a(a % 5 == 0)), (list{0, 5, 10}));
  EXPECT_EQ(values(a(rows)), (list{0, 1, 2, 3, 8, 9, 10, 11}));
  EXPECT_EQ(values(a(all, columns)), (list{1, 2, 5, 6, 9, 10}));
  EXPECT_EQ(values(a(rows, columns)), (list{1, 10}));  // their indices go together
  EXPECT_EQ(values(a(rows, 3)), (list{3, 11}));
  EXPECT_EQ(values(a(rows, array{{0}, {3}})), (list{0, 8, 3, 11}));
  EXPECT_EQ(a(a < 0).extents(), (shape{0}));
  EXPECT_EQ(a(rows, newaxis).extents(), (shape{2, 1, 4}));
  EXPECT_EQ(grid({2, 3, 4, 5})(all, grid({3, 4}) > 6).extents(), (shape{2, 5, 5}));
  EXPECT_EQ(grid({2, 3, 4})(1, all, columns).extents(), (shape{2, 3}));  // separated by the range: first
  EXPECT_EQ(zeros({0, 2})(zeros({0}, boolean)).extents(), (shape{0, 2}));
}

TEST_F(indexing, every_integer_dtype_indexes_and_keeps_its_dtype) {
  const array a = arange(5);
  for (const dtype t : {i8, i16, i32, i64, u8, u16, u32, u64})
    EXPECT_EQ(values(a(array{3, 1}.astype(t))), (list{3, 1}));
  EXPECT_EQ(a(array(2)).extents(), shape{});
}

TEST_F(indexing, bad_indices_are_errors_at_their_line) {
  array variable = grid({3, 4});
  const array a = variable, empty = zeros({0, 2});
  expect_error<index_error>([&] { variable(3); }, "index 3 is out of range for axis 0 with size 3");
  expect_error<shape_error>([&] { variable(array{0, 1}, array{0, 1, 2}); }, "shapes [2] and [3] do not broadcast");
  expect_error<index_error>([&] { a(3); }, "index 3 is out of range for axis 0 with size 3");
  expect_error<index_error>([&] { a(0, -5); }, "index -5 is out of range for axis 1 with size 4");
  expect_error<index_error>([&] { a(end); }, "index 3 is out of range for axis 0 with size 3");
  expect_error<index_error>([&] { a(0, 0, 0); }, "too many indices: an array of shape [3, 4] has 2 axes");
  expect_error<index_error>([&] { a(ellipsis, 0, ellipsis); }, "more than one ellipsis");
  expect_error<index_error>([&] { a(range(0, 2, 0)); }, "step is 0");
  expect_error<index_error>([&] { empty(array{0}); }, "axis 0 of shape [0, 2] has no elements");
  expect_error<shape_error>([&] { a(array{true, false}); }, "a mask of shape [2] does not fit an array of shape [3, ");
  expect_error<shape_error>([&] { a(all, array{true, false}); }, "axis 1: 2 against 4");
  expect_error<shape_error>([&] { a(array(true)); }, "rank 0");
  expect_error<index_error>([&] { a(a > 2, 0); }, "too many indices");
  expect_error<type_error>([&] { a(array{1.0f}); }, "an index array of f32");
  expect_error<shape_error>([&] { a(array{0, 1}, array{0, 1, 2}); }, "shapes [2] and [3] do not broadcast");
}

TEST_F(indexing, indices_found_bad_later_are_errors_when_read) {
  const array a = arange(4);
  EXPECT_THROW(a(array{0, 4}).to_vector<std::int64_t>(), index_error);
  EXPECT_THROW(a(array{-5}).to_vector<std::int64_t>(), index_error);
  EXPECT_EQ(values(a(array{3})), (list{3}));
}

TEST_F(indexing, a_kept_selection_can_be_read_again) {
  array a = arange(4);
  auto s = a(range(1, 3));
  const array once = s + 1, twice = s * 2;
  a = arange(9);
  EXPECT_EQ(values(once), (list{2, 3}));
  EXPECT_EQ(values(twice), (list{2, 4}));
  EXPECT_EQ(values(s), (list{1, 2}));
  EXPECT_EQ(values(array(std::move(s))), (list{1, 2}));
  EXPECT_EQ(s.extents(), (shape{0}));  // NOLINT(bugprone-use-after-move)
  EXPECT_THROW(std::move(s) = 1, internal_error);
}

TEST_F(indexing, empty_selections_are_fine) {
  const array a = grid({3, 0});
  EXPECT_EQ(a(1).extents(), (shape{0}));
  EXPECT_EQ(values(a(1)), list{});
  EXPECT_EQ(arange(3)(zeros({0}, i32)).extents(), (shape{0}));
}

TEST(index, unsigned_numbers_never_count_from_the_end) {
  const array a{1, 2, 3};
  const std::size_t zero = 0;
  EXPECT_THROW(a(zero - 1), index_error);
  EXPECT_THROW(a(std::uint64_t{1} << 63), index_error);
  EXPECT_EQ(a(range(INT64_MIN, UINT64_MAX)).size(), 3);
}

}  // namespace
