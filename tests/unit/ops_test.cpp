// Operators and functions: dtypes and shapes of results, values of the composed ones, errors at the line of the
// operation.
#include "jit/graph.hpp"
#include "tests/unit/dsl_support.hpp"

#include <cmath>
#include <limits>

namespace {

using namespace sinter;
using sinter_test::expect_error;
using sinter_test::list;
using sinter_test::values;

class operations : public sinter_test::dsl_test {};

TEST_F(operations, numbers_adopt_the_dtype_of_arrays) {
  const array f{1.0f}, i{1}, b{true};
  EXPECT_EQ((f * 2.0).type(), f32);
  EXPECT_EQ((2 * f).type(), f32);
  EXPECT_EQ((i * 2.5).type(), f64);
  EXPECT_EQ((i + 1).type(), i32);
  EXPECT_EQ((b + 1).type(), i64);
  EXPECT_EQ((f * complex64{0, 1}).type(), c64);
  EXPECT_EQ((i == 1).type(), boolean);
  expect_error<type_error>([&] { i.astype(u8) + 300; }, "300 does not fit u8");
}

TEST_F(operations, operators_are_those_of_c) {
  const array a{7, -7}, b{2, 2};
  EXPECT_EQ(values(a / b), (list{3, -3}));
  EXPECT_EQ(values(a % b), (list{1, -1}));
  EXPECT_EQ(values(a / 0), (list{0, 0}));
  EXPECT_EQ(values(-a), (list{-7, 7}));
  EXPECT_EQ(values(~a), (list{-8, 6}));
  EXPECT_EQ(values(a << 1), (list{14, -14}));
  EXPECT_EQ(values(a >> 40), (list{0, -1}));
  EXPECT_EQ(values((a & 3) | (b ^ 1)), (list{3, 3}));
  EXPECT_EQ(values(!(a > 0 && b > 0)), (list{0, 1}));
  EXPECT_EQ((+a).node(), a.node());
}

TEST_F(operations, temporaries_give_their_references_away) {
  array a{1.0, 2.0};
  const array b = (a + a) * a(0);
  for (const jit::node* x : b.node()->operands()) EXPECT_EQ(x->references.load(), 1u);
  EXPECT_EQ(a.node()->references.load(), 4u);  // the variable, twice the sum, the view
  array c = a + 1;
  const array d = std::move(c) * std::move(c);
  EXPECT_EQ(d.node()->operands()[0], d.node()->operands()[1]);
  EXPECT_EQ(d.node()->operands()[0]->references.load(), 2u);
  EXPECT_EQ(c.extents(), (shape{0}));  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(values(d), (list{4, 9}));
}

TEST_F(operations, variables_keep_their_values) {
  const array a{1.0, 2.0};
  array b = a * 2;
  const array c = b - b(1), d = where(b > 2, b, b + 1);
  const auto [q, r] = divmod(b + 1, b);
  EXPECT_EQ(values(b), (list{2, 4}));
  EXPECT_EQ(values(c), (list{-2, 0}));
  EXPECT_EQ(values(d), (list{3, 4}));
  EXPECT_EQ(values(q), (list{1, 1}));
  EXPECT_EQ(values(r), (list{1, 1}));
}

TEST_F(operations, functions_are_those_of_numpy) {
  const array a{7, -7}, b{2, 2};
  EXPECT_EQ(values(floor_divide(a, b)), (list{3, -4}));
  EXPECT_EQ(values(remainder(a, b)), (list{1, 1}));
  const auto [q, r] = divmod(a, b);
  EXPECT_EQ(values(q * b + r), (list{7, -7}));
  EXPECT_EQ(divide(a, b).type(), f64);
  EXPECT_EQ(values(divide(a, b)), (list{3.5, -3.5}));
  EXPECT_EQ(divide(array{1.f}, 2).type(), f32);
  EXPECT_EQ(values(clip(a, -1, 5)), (list{5, -1}));
  EXPECT_EQ(values(where(a > 0, a, 0)), (list{7, 0}));
  EXPECT_EQ(where(a > 0, 1, 0).type(), i64);
  EXPECT_EQ(values(lerp(array{0.0, 2.0}, 4.0, 0.5)), (list{2, 3}));
}

TEST_F(operations, unary_functions_have_their_dtypes) {
  const array i{1}, f{1.f}, c{complex64{3, 4}};
  EXPECT_EQ(sqrt(i).type(), f64);
  EXPECT_EQ(sqrt(f).type(), f32);
  EXPECT_EQ(sqrt(c).type(), c64);
  EXPECT_EQ(abs(c).type(), f32);
  EXPECT_EQ(abs(c).item<float>(), 5.f);
  EXPECT_EQ(floor(i).type(), i32);
  EXPECT_EQ(isnan(i).type(), boolean);
  EXPECT_EQ(sigmoid(i.astype(u8)).type(), f64);
  EXPECT_NEAR(sigmoid(i.astype(u8)).item<double>(), 1 / (1 + std::exp(-1.0)), 1e-15);
  EXPECT_EQ(deg2rad(array{180}).item<double>(), std::acos(-1.0));
  EXPECT_EQ(real(f).node(), f.node());
  EXPECT_EQ(make_complex(f, 2.0).type(), c64);
  expect_error<type_error>([&] { deg2rad(c); }, "deg2rad: not defined for c64");
}

TEST_F(operations, nan_to_num_replaces_what_is_not_finite) {
  const float inf = std::numeric_limits<float>::infinity();
  const array x{NAN, inf, -inf, 1.5f};
  const float top = std::numeric_limits<float>::max();
  EXPECT_EQ(nan_to_num(x).to_vector<float>(), (std::vector<float>{0, top, -top, 1.5f}));
  EXPECT_EQ(values(nan_to_num(x, 1, 2, 3)), (list{1, 2, 3, 1.5}));
}

TEST_F(operations, numbers_alone_stay_with_the_standard_library) {
  static_assert(std::is_same_v<decltype(sqrt(2.0)), double>);
  static_assert(std::is_same_v<decltype(pow(2, 3)), double>);
  static_assert(std::is_same_v<decltype(abs(-1)), int>);
  static_assert(std::is_same_v<decltype(fmod(3, 2)), double>);
  static_assert(std::is_same_v<decltype(atan2(1.0, 2)), double>);
  static_assert(std::is_same_v<decltype(floor(2.5)), double>);
}

TEST_F(operations, reductions_take_any_axes) {
  const array x = reshape(arange(24), {2, 3, 4});
  EXPECT_EQ(sum(x).extents(), shape{});
  EXPECT_EQ(sum(x).item<int>(), 276);
  EXPECT_EQ(sum(x, 1).extents(), (shape{2, 4}));
  EXPECT_EQ(sum(x, {0, -1}).extents(), (shape{3}));
  EXPECT_EQ(max(x, 1, keepdims).extents(), (shape{2, 1, 4}));
  EXPECT_EQ(sum(x, {}, keepdims).extents(), (shape{1, 1, 1}));
  EXPECT_EQ(values(min(x, {1, 2})), (list{0, 12}));
  EXPECT_EQ(values(mean(x, {1, 2})), (list{5.5, 17.5}));
  EXPECT_EQ(argmax(x).item<int>(), 23);
  EXPECT_EQ(argmax(x, keepdims).extents(), (shape{1, 1, 1}));
  EXPECT_EQ(argmin(x, 1, keepdims).extents(), (shape{2, 1, 4}));
  EXPECT_EQ(count_nonzero(x, 2).type(), i64);
  EXPECT_EQ(count_nonzero(x).item<int>(), 23);
  EXPECT_TRUE(any_true(x > 22).item<bool>());
  EXPECT_FALSE(all_true(x).item<bool>());
  expect_error<shape_error>([&] { sum(x, 3); }, "sum: axis 3 is outside [-3, 3)");
  expect_error<shape_error>([&] { sum(x, {0, -3}); }, "sum: axis -3 is named twice");
  expect_error<shape_error>([&] { max(zeros({0})); }, "no elements");
}

TEST_F(operations, reductions_have_their_dtypes) {
  const array h = ones({3}, f16), b{true, true};
  EXPECT_EQ(sum(h).type(), f16);
  EXPECT_EQ(mean(h).type(), f16);
  EXPECT_EQ(mean(full({100}, 60000, f16)).item<float>(), 60000.f);  // the sum would overflow
  EXPECT_EQ(mean(b).type(), f64);
  EXPECT_EQ(sum(b).type(), i64);
  EXPECT_EQ(sum(array{1u}).type(), u64);
  EXPECT_EQ(sum(array(5)).item<int>(), 5);
  EXPECT_EQ(argmax(array(5)).item<int>(), 0);
}

TEST_F(operations, compound_assignment_keeps_shape_and_dtype) {
  array a{1, 2};
  const array before = a;
  a += 3;
  EXPECT_EQ(values(a), (list{4, 5}));
  EXPECT_EQ(values(before), (list{1, 2}));
  a *= array{std::int64_t{2}};
  EXPECT_EQ(a.type(), i32);
  EXPECT_EQ(values(a), (list{8, 10}));
  a /= 3;
  a <<= 2;
  EXPECT_EQ(values(a), (list{8, 12}));
  array f{1.f};
  f += array{2.0};
  EXPECT_EQ(f.type(), f32);
  expect_error<type_error>([&] { a += 0.5; }, "+=: an array of i32 cannot hold f64");
  expect_error<shape_error>([&] { f += array{1.f, 2.f}; }, "+=: an array of shape [1] cannot become [2]");
  expect_error<shape_error>([&] { a += array{1, 2, 3}; }, "do not broadcast");
  EXPECT_EQ(values(a), (list{8, 12}));
}

TEST_F(operations, errors_name_the_line_of_the_operation) {
  const array a = zeros({4, 3}), b = zeros({5, 3});
  expect_error<shape_error>([&] { a + b; }, "add: shapes [4, 3] and [5, 3] do not broadcast");
  expect_error<shape_error>([&] { maximum(a, b); }, "maximum: shapes [4, 3] and [5, 3]");
  expect_error<type_error>([&] { a & 1; }, "bit_and: not defined for f64");
  expect_error<type_error>([&] { erf(a * complex128{0, 1}); }, "erf: not defined for c128");
}

TEST_F(operations, arrays_read_back_as_any_type) {
  EXPECT_EQ(array(2.9).item<int>(), 2);
  EXPECT_EQ(array(300).item<std::uint8_t>(), 44);
  EXPECT_EQ(array(1e30).item<std::int32_t>(), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(array(double{NAN}).item<int>(), 0);
  EXPECT_TRUE(array(0.5).item<bool>());
  EXPECT_EQ(array(1.5).item<complex64>(), (complex64{1.5f, 0}));
  EXPECT_EQ((array{true, false}.to_vector<std::uint8_t>()), (std::vector<std::uint8_t>{1, 0}));
  bool flags[2] = {};
  array{true, false}.copy_to(std::span<bool>(flags));
  EXPECT_TRUE(flags[0] && !flags[1]);
  expect_error<type_error>([&] { array{1}.to_vector<float>(); }, "reading i32 elements as f32");
  expect_error<shape_error>([&] { array{1, 2}.item<int>(); }, "item: shape [2] has 2 elements, not 1");
  expect_error<shape_error>([&] { array{1, 2, 3}.copy_to(std::span<int>()); }, "3 elements into room for 0");
}

TEST_F(operations, arrays_are_values) {
  array a{1, 2}, b = a;
  a = a + 1;
  EXPECT_EQ(values(b), (list{1, 2}));
  const array moved = std::move(a);
  EXPECT_EQ(a.extents(), (shape{0}));  // NOLINT: what a moved-from array is
  EXPECT_EQ(a.type(), f32);
  EXPECT_EQ(values(moved), (list{2, 3}));
  EXPECT_EQ((array{{1, 2}, {3, 4}, {5, 6}}.extents()), (shape{3, 2}));
  expect_error<shape_error>([&] { array{{1, 2}, {3}}; }, "rows of 2 and of 1 values");
  expect_error<shape_error>([&] { array(std::vector<int>{1, 2}, shape{3}); }, "2 values for shape [3] (3 elements)");
}

}  // namespace
