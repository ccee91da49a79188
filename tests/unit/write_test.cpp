// Writes through selections: what is recorded, what selections can do, errors at the line of the write.
#include "tests/unit/dsl_support.hpp"

#include "jit/graph.hpp"

#include <sstream>
#include <type_traits>

namespace {

using namespace sinter;
using sinter_test::expect_error;
using sinter_test::list;
using sinter_test::values;

class writing : public sinter_test::dsl_test {
 protected:
  array grid(const shape& extents) { return reshape(arange(extents.size()), extents); }
};

static_assert(!std::is_copy_constructible_v<selection>);
static_assert(std::is_convertible_v<selection, array> && std::is_convertible_v<selection, operand>);
static_assert(std::is_convertible_v<const selection&, sinter::index>);
// `auto s = a(0); s = 1;` would change a copy.
static_assert(std::is_assignable_v<selection&&, int> && !std::is_assignable_v<selection&, int>);
static_assert(std::is_same_v<decltype(std::declval<const array&>()(0)), array>);
static_assert(std::is_same_v<decltype(std::declval<array>()(0)), array>);

TEST_F(writing, selections_are_used_as_arrays) {
  array a = grid({3, 4});
  std::ostringstream out;
  out << a(1);
  EXPECT_EQ(out.str(), "[4 5 6 7]");
  EXPECT_EQ(a(1)(2).item<int>(), 6);
  EXPECT_EQ(values(a(all, 0) + 1), (list{1, 5, 9}));
  EXPECT_EQ(values(sqrt(a(0, range(0, 2)))), (list{0, 1}));
  EXPECT_EQ(a(2, 3).item<int>(), 11);
  EXPECT_EQ(a(0).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(values(concat({a(0), a(1, range(0, 1))})), (list{0, 1, 2, 3, 4}));
  eval(a(0), a);
  EXPECT_TRUE(a.is_evaluated());
  const auto s = a(all, 1);
  EXPECT_EQ(s.extents(), (shape{3}));
  EXPECT_EQ(s.rank(), 1);
  EXPECT_EQ(s.size(), 3);
  EXPECT_EQ(s.extent(-1), 3);
  EXPECT_EQ(s.type(), i64);
  EXPECT_EQ(values(s.astype(f32)), (list{1, 5, 9}));
}

TEST_F(writing, a_selection_indexes) {
  const array a = grid({3, 4});
  array i{2, 0, 1};
  EXPECT_EQ(values(a(i(range(0, 2)), 1)), (list{9, 1}));
}

TEST_F(writing, a_kept_selection_outlives_its_indices_and_its_array) {
  const auto make = [](array a) {
    const array i{2, 0};
    return a(i, range(1, 3));
  };
  EXPECT_EQ(values(make(grid({3, 4}))), (list{9, 10, 1, 2}));
}

TEST_F(writing, a_write_records_no_view) {
  array a = grid({3, 4}) * 2;
  const array x{1, 2, 3};
  eval(a, x);
  const std::uint64_t before = stats().recorded;
  a(all, 0) = x.astype(i64);
  EXPECT_LE(stats().recorded - before, 2u);  // the conversion and the update
  EXPECT_FALSE(a.is_evaluated());
}

TEST_F(writing, a_whole_array_written_is_the_value) {
  array a = grid({3, 4});
  const array x = grid({3, 4}) + 1;
  a(all, all) = x;
  EXPECT_EQ(a.node(), x.node());
}

TEST_F(writing, a_write_of_nothing_records_no_update) {
  array a = grid({3, 4});
  const array before = a;
  a(range(2, 1)) = 7;
  a(zeros({0}, i32)) = 7;
  EXPECT_EQ(a.node(), before.node());
  expect_error<shape_error>([&] { a(range(2, 1)) = array{1, 2}; }, "shape [2]");
}

TEST_F(writing, equal_values_at_repeated_indices_need_no_order) {
  array a = zeros({4}, i64), b = a;
  const array i{1, 1, 3};
  eval(i);
  a(i) = 5;
  EXPECT_EQ(a.node()->code, jit::op::scatter);
  EXPECT_FALSE(a.node()->facts->conditional);
  b(i) = array{1, 2, 3};
  EXPECT_TRUE(b.node()->facts->conditional);
  EXPECT_EQ(values(a), (list{0, 5, 0, 5}));
  EXPECT_EQ(values(b), (list{0, 2, 0, 3}));
}

TEST_F(writing, masks_record_choices_not_scatters) {
  array a = grid({2, 3});
  a(a > 2) = 0;
  EXPECT_EQ(a.node()->code, jit::op::select);
  EXPECT_EQ(values(a), (list{0, 1, 2, 0, 0, 0}));
}

TEST_F(writing, compound_operators_say_what_they_cannot_hold) {
  array a = grid({2, 3}), u = zeros({3}, u8);
  expect_error<type_error>([&] { a(0) += 0.5; }, "+=: an array of i64 cannot hold f64");
  expect_error<type_error>([&] { a(array{0}) -= array{0.5}; }, "-=: an array of i64 cannot hold f64");
  expect_error<type_error>([&] { a(a > 1) = array{0.5f}; }, "=: an array of i64 cannot hold f32");
  expect_error<type_error>([&] { u(0) = array{-1}; }, "=: an array of u8 cannot hold i32");
  expect_error<type_error>([&] { u(array{0}) += array{-1}; }, "+=: an array of u8 cannot hold i32");
  expect_error<type_error>([&] { a(0).set_minimum(0.5); }, "set_minimum: an array of i64 cannot hold f64");
  expect_error<shape_error>([&] { a(0) <<= array{1, 2}; }, "<<=: values of shape [2] do not broadcast");
  EXPECT_EQ(values(a), (list{0, 1, 2, 3, 4, 5}));
}

TEST_F(writing, options_are_kept) {
  EXPECT_FALSE(get_deterministic());
  set_deterministic(true);
  EXPECT_TRUE(get_deterministic());
  set_deterministic(false);
  const recording_limits before = get_recording_limits();
  set_recording_limits({.operations = 100, .bytes = 1000});
  EXPECT_EQ(get_recording_limits().operations, 100);
  EXPECT_EQ(get_recording_limits().bytes, 1000);
  set_recording_limits({.operations = -5, .bytes = -5});
  EXPECT_EQ(get_recording_limits().operations, 1);
  EXPECT_EQ(get_recording_limits().bytes, 0);
  set_recording_limits(before);
}

}  // namespace
