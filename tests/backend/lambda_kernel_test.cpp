// Elementwise kernels from C++ functions: recorded over stand-ins for single elements, fused as ordinary expressions
// are.
#include "tests/backend/expect.hpp"

#include <array>
#include <tuple>
#include <utility>

using namespace sinter;
using namespace sinter_test;

namespace {

const elementwise& squared_difference() {
  static const elementwise k{[](auto x, auto y) { return (x - y) * (x - y); }};
  return k;
}

array ramp(std::int64_t n, dtype type = f32) { return counting(type, {n}).to_device(); }

TEST(lambda_kernel, it_broadcasts_and_fuses_like_the_expression) {
  const array x = ramp(6), y = ramp(4), column = x(all, newaxis), row = y(newaxis, all);
  const array written = sqrt((column - row) * (column - row)) + 1, called = sqrt(squared_difference()(column, row)) + 1;
  const statistics added = counted([&] { eval(called); });
  EXPECT_EQ(added.launches, 1u);
  EXPECT_EQ(called.type(), f32);
  EXPECT_TRUE(equals(called, from_device(written)));
  EXPECT_EQ(counted([&] { eval(sqrt((column - row) * (column - row)) + 1); }).compiles, 0u) << "it is the same kernel";
  const array summed = sum(squared_difference()(x, 1), -1);
  EXPECT_EQ(counted([&] { eval(summed); }).launches, 1u);
  EXPECT_EQ(summed.item<float>(), 31.f);
}

TEST(lambda_kernel, operands_have_their_own_dtypes_and_numbers_adopt_them) {
  EXPECT_EQ(squared_difference()(ramp(3, i32), ramp(3, f64)).type(), f64);
  EXPECT_EQ(squared_difference()(ramp(3, i8), 2).type(), i8);
  EXPECT_EQ(squared_difference()(ramp(3, f32), 2.5).type(), f32);
  EXPECT_EQ(squared_difference()(ramp(3, i32), 2.5).type(), f64);
  EXPECT_EQ(squared_difference()(1.5, 1).item<double>(), 0.25);
  EXPECT_TRUE(throws<type_error>([] { squared_difference()(ramp(3, i8), 1000); }, {"1000", "i8"}));
}

TEST(lambda_kernel, several_outputs) {
  const elementwise three{[](auto x) { return std::tuple{x * x, x + 1, 2.f}; }};
  const auto [a, b, c] = three.results<3>(array{1.f, 2.f, 3.f});
  EXPECT_EQ(counted([&] { eval(a, b); }).launches, 1u);
  EXPECT_TRUE(equals(a, std::vector<float>{1, 4, 9}));
  EXPECT_TRUE(equals(b, std::vector<float>{2, 3, 4}));
  EXPECT_TRUE(equals(c, std::vector<float>{2, 2, 2}));
  const elementwise two{[](const array&x) {
    return std::array<array, 2>{x, -x};
  }},
      pair{[](auto x, auto y) {
        return std::pair{y, x};
      }};
  EXPECT_TRUE(equals(two.results(array{1, 2})[1], std::vector<std::int32_t>{-1, -2}));
  EXPECT_TRUE(equals(pair.results<2>(array{1, 2}, 5)[0], std::vector<std::int32_t>{5, 5}));
  EXPECT_TRUE(throws<type_error>([&] { two(array{1}); }, {"2 output(s), 1 asked for"}));
}

TEST(lambda_kernel, library_functions_and_other_kernels_work_inside) {
  const elementwise cube{"cube", "T x", "T y", "y = x * x * x"};
  const elementwise k{[&](auto x) { return where(x > 1, cube(x), exp(minimum(x, 0)).astype(x.type())); }};
  const array y = k(array{0.f, 1.f, 2.f, 3.f});
  EXPECT_EQ(counted([&] { eval(y); }).launches, 1u);
  EXPECT_TRUE(equals(y, std::vector<float>{1, 1, 8, 27}));
  const elementwise nested{[&](auto x) { return squared_difference()(x, 1) + k(x); }};
  EXPECT_TRUE(equals(nested(array{0.f, 3.f}), std::vector<float>{2, 31}));
}

TEST(lambda_kernel, numbers_around_it_are_read_at_each_call) {
  float scale = 2;
  const array offset = array(scalar(10)).astype(f32);
  const elementwise k{[&](auto x) { return x * scale + offset; }};
  EXPECT_TRUE(equals(k(array{1.f, 2.f}), std::vector<float>{12, 14}));
  scale = 3;
  EXPECT_TRUE(equals(k(array{1.f, 2.f}), std::vector<float>{13, 16}));
}

TEST(lambda_kernel, local_variables_are_changed_in_place) {
  const elementwise k{[](auto x) {
    array y = x;
    for (int step = 0; step < 3; ++step) y += x * step;
    return y;
  }};
  EXPECT_TRUE(equals(k(array{1, 2}), std::vector<std::int32_t>{4, 8}));
}

TEST(lambda_kernel, a_call_for_each_element_in_a_recorded_loop) {
  const array x = ramp(40), y = ramp(30);
  array c = zeros({40, 30});
  const statistics added = counted([&] {
    for (int i = 0; i < 40; ++i)
      for (int j = 0; j < 30; ++j) c(i, j) = squared_difference()(x(i), y(j));
    eval(c);
  });
  EXPECT_EQ(added.launches, 1u);
  EXPECT_TRUE(equals(c, from_device(square(x(all, newaxis) - y(newaxis, all)))));
}

TEST(lambda_kernel, inside_loops_of_kernels) {
  const elementwise next{[](auto s, auto c) { return s * 2 + c; }};
  const array y = for_loop(3, array{1, 2}, [&](const array&, const array& s) { return next(s, 1); });
  EXPECT_TRUE(equals(y, std::vector<std::int32_t>{15, 23}));
}

TEST(lambda_kernel, it_stands_for_one_element) {
  const array x = ramp(3), weights = ramp(3);
  const elementwise adds{[](auto v) { return sum(v); }}, moves{[](auto v) { return sum(v(newaxis), 0); }},
      weighs{[&](auto v) { return v * weights; }};
  EXPECT_TRUE(equals(adds(x), std::vector<float>{0, 1, 2})) << "of one element each";
  EXPECT_TRUE(
      throws<type_error>([&] { moves(x); }, {"view is no operation on single elements", "lambda_kernel_test.cpp"}));
  EXPECT_TRUE(throws<shape_error>([&] { weighs(x); }, {"shape [3] for each element"}));
}

TEST(lambda_kernel, wrong_numbers_of_operands_are_refused) {
  EXPECT_TRUE(throws<type_error>([] { squared_difference()(ramp(3)); },
                                 {"does not take 1 operand(s)", "lambda_kernel_test.cpp"}));
  EXPECT_EQ(squared_difference().input_count(), 2);
  const elementwise any{[](auto... x) { return (x + ...); }};
  EXPECT_EQ(any.input_count(), -1);
  EXPECT_TRUE(equals(any(array{1, 2}, 3, array{10, 20}), std::vector<std::int32_t>{14, 25}));
  EXPECT_TRUE(throws<shape_error>([] { squared_difference()(ramp(3), ramp(4)); }, {"[3]", "[4]"}));
}

TEST(lambda_kernel, into_variables) {
  array z = zeros({3}), b = zeros({2, 4});
  squared_difference().into(z)(ramp(3), 1);
  EXPECT_TRUE(equals(z, std::vector<float>{1, 0, 1}));
  squared_difference().into(b(all, 1))(array{1.f, 3.f}, 0);
  EXPECT_TRUE(equals(b, host_array(std::vector<float>{0, 1, 0, 0, 0, 9, 0, 0}, {2, 4})));
  EXPECT_TRUE(throws<shape_error>([&] { squared_difference().into(z)(ones({2, 3}), 1); }, {"[3]", "[2, 3]"}));
  array whole = zeros({3}, i32);
  EXPECT_TRUE(throws<type_error>([&] { squared_difference().into(whole)(ramp(3), 1); }, {"f32"}));
}

TEST(lambda_kernel, copies_share_the_function) {
  elementwise k{[](auto x) { return x + 1; }};
  {
    const elementwise copy = k;
    k = squared_difference();
    k = copy;
  }
  EXPECT_TRUE(equals(k(array{1}), std::vector<std::int32_t>{2}));
}

TEST(lambda_kernel, shapes_without_elements) {
  EXPECT_EQ(to_string(squared_difference()(zeros({3, 1}), zeros({1, 0})).extents()), "[3, 0]");
}

}  // namespace
