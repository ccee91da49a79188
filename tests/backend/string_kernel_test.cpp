// Elementwise kernels as strings, restated from CuPy's tests of them (core_tests/test_userkernel.py,
// test_elementwise.py): their grammar, their dtypes, and that they fuse with what surrounds them.
#include "tests/backend/expect.hpp"

#include "dsl/complex.hpp"

#include <complex>
#include <thread>

using namespace sinter;
using namespace sinter_test;

namespace {

const elementwise& squared_difference() {
  static const elementwise k{"squared_diff", "float32 x, float32 y", "float32 z", "z = (x - y) * (x - y)"};
  return k;
}

const elementwise& generic_sum() {
  static const elementwise k{"generic_sum", "T x, T y", "T z", "z = x + y"};
  return k;
}

array ramp(dtype type, std::int64_t n) { return counting(type, {n}).to_device(); }

// E02
TEST(string_kernel, inputs_broadcast) {
  const array x = counting(f32, {2, 5}).to_device(), y = ramp(f32, 5);
  const array z = squared_difference()(x, y);
  EXPECT_EQ(z.type(), f32);
  EXPECT_TRUE(equals(z, host_array(std::vector<float>{0, 0, 0, 0, 0, 25, 25, 25, 25, 25}, {2, 5})));
}

// E06
TEST(string_kernel, an_output_type_that_nothing_determines_is_refused) {
  const elementwise open{"open_result", "X x, Y y", "Z z", "z = (x - y) * (x - y)"};
  const array x{1.5f}, y{1};
  EXPECT_TRUE(throws<type_error>([&] { open(x, y); }, {"open_result", "Z", "string_kernel_test.cpp"}));
  const elementwise fixed{"fixed_result", "X x, Y y", "float64 z", "z = (x - y) * (x - y)"};
  EXPECT_TRUE(equals(fixed(x, y), std::vector<double>{0.25}));
}

// E14, E16
TEST(string_kernel, arithmetic_of_integers_wraps_on_every_device) {
  std::vector<std::uint8_t> bytes{255};
  for (int k = 0; k < 23; ++k) bytes.push_back(static_cast<std::uint8_t>(k));
  EXPECT_TRUE(equals(generic_sum()(ramp(u8, 24), 255), bytes));
  const std::int64_t most = std::numeric_limits<std::int64_t>::max(), least = std::numeric_limits<std::int64_t>::min();
  EXPECT_TRUE(equals(generic_sum()(ramp(i64, 24), most)(range(3)), std::vector<std::int64_t>{most, least, least + 1}));
}

// E18, E20, E22
TEST(string_kernel, numbers_adopt_the_dtype_of_the_array) {
  EXPECT_TRUE(equals(generic_sum()(ramp(f32, 24), std::int64_t{1} << 32), std::vector<float>(24, 4294967296.f)));
  EXPECT_TRUE(equals(generic_sum()(booleans({0, 1}, {2}).to_device(), true), booleans({1, 1}, {2})));
  const array small = ramp(i8, 24);
  const statistics added = counted([&] {
    EXPECT_TRUE(throws<type_error>([&] { generic_sum()(small, std::int64_t{1} << 32); }, {"4294967296", "i8"}));
  });
  EXPECT_EQ(added.launches + added.compiles, 0u);
}

// E26
TEST(string_kernel, names_that_could_not_be_compiled_are_refused_first) {
  for (const char* name : {"1", "", "a-b", "a b", "double"})
    EXPECT_TRUE(throws<error>([&] { elementwise(name, "T x", "T y", "y = x"); }, {"string_kernel_test.cpp"})) << name;
  for (const char* inputs : {"T 1", "T", "T a-b", "nonsense x", "T x, T x", "T double", "raw x", "T raw x"})
    EXPECT_TRUE(throws<error>([&] { elementwise("bad_inputs", inputs, "T y", "y = 1"); }, {"bad_inputs"})) << inputs;
  EXPECT_TRUE(throws<error>([] { elementwise("no_outputs", "T x", "", "x"); }, {"no_outputs"}));
}

// E32
TEST(string_kernel, nothing_runs_for_shapes_without_elements) {
  const auto both = [](const shape& a, const shape& b) { return generic_sum()(zeros(a, f32), zeros(b, f32)); };
  const statistics added = counted([&] {
    const array x = both({0}, {0}), y = both({1, 0, 2}, {1, 0, 2}), z = both({3, 1}, {1, 0});
    eval(x, y, z);
    EXPECT_EQ(to_string(x.extents()) + to_string(y.extents()) + to_string(z.extents()), "[0][1, 0, 2][3, 0]");
  });
  EXPECT_EQ(added.launches, 0u);
  EXPECT_EQ(added.compiles, 0u);
}

// E34
TEST(string_kernel, a_letter_stands_for_every_dtype) {
  const host_array x(std::vector<double>{1, 4, 2, 5, 3, 6}, {3, 2});
  for (int k = 0; k < dtype_count; ++k) {
    const auto type = static_cast<dtype>(k);
    // [[1, 2, 3], [4, 5, 6]] transposed, and a number.
    const array z =
        generic_sum()(transpose(converted(host_array(std::vector<double>{1, 2, 3, 4, 5, 6}, {2, 3}), type).to_device()),
                      type == boolean ? operand(true) : operand(3));
    ASSERT_EQ(z.type(), type);
    host_array want(type, {3, 2});
    for (std::int64_t i = 0; i < 6; ++i) want.set(i, {type == boolean ? 1 : x.get(i).re + 3, 0});
    EXPECT_TRUE(equals(z, want)) << to_string(type);
  }
}

// E50
TEST(string_kernel, a_letter_may_be_any_letter) {
  const elementwise same{"same", "f x", "f y", "y = x"};
  EXPECT_TRUE(equals(same(array{std::int16_t{7}}), std::vector<std::int16_t>{7}));
}

// E36
TEST(string_kernel, views_are_read_in_place) {
  const elementwise twice{"twice", "T x", "T z", "z = 2 * x"};
  const array y = twice(ramp(i64, 10)(range(1, end, 3)));
  EXPECT_EQ(counted([&] { eval(y); }).launches, 1u);
  EXPECT_TRUE(equals(y, std::vector<std::int64_t>{2, 8, 14}));
}

// E42
TEST(string_kernel, several_outputs_are_one_launch) {
  const elementwise powers{"powers", "T x", "T s, T c", "s = x * x; c = x * x * x"};
  const auto [s, c] = powers.results<2>(array{1, 2, 3});
  EXPECT_EQ(counted([&] { eval(s, c); }).launches, 1u);
  EXPECT_TRUE(equals(s, std::vector<std::int32_t>{1, 4, 9}));
  EXPECT_TRUE(equals(c, std::vector<std::int32_t>{1, 8, 27}));
  const std::vector<array> again = powers.results(array{2});
  ASSERT_EQ(again.size(), 2u);
  EXPECT_TRUE(equals(again[1], std::vector<std::int32_t>{8}));
  EXPECT_TRUE(throws<type_error>([&] { powers(array{1}); }, {"powers", "2"}));
  EXPECT_TRUE(throws<type_error>([&] { powers.results(array{1}, array{1}); }, {"powers"}));
}

// E44
TEST(string_kernel, a_preamble_has_functions_of_the_users_own) {
  const elementwise squares{
      "squares", "float x", "float y", "y = sq(x)", {.preamble = "__device__ float sq(float v) { return v * v; }"}};
  EXPECT_TRUE(equals(squares(array{1.f, 2.f, 3.f}), std::vector<float>{1, 4, 9}));
}

// Two kernels of one name: the first one's body ran for both in ml-explore/mlx#4275 and #3832.
TEST(string_kernel, kernels_of_one_name_with_other_bodies_are_others) {
  const elementwise first{"f", "T x", "T y", "y = x + 1"}, second{"f", "T x", "T y", "y = x + 2"};
  const array x{10, 20}, a = first(x), b = second(x), both = first(second(x)) + second(first(x));
  eval(a, b, both);
  EXPECT_TRUE(equals(a, std::vector<std::int32_t>{11, 21}));
  EXPECT_TRUE(equals(b, std::vector<std::int32_t>{12, 22}));
  EXPECT_TRUE(equals(both, std::vector<std::int32_t>{26, 46}));
}

// E52
TEST(string_kernel, arrays_are_never_converted) {
  EXPECT_TRUE(throws<type_error>([] { squared_difference()(array{1.0}, array{1.f}); }, {"squared_diff", "f64", "f32"}));
  EXPECT_TRUE(throws<type_error>([] { generic_sum()(array{1}, array{1.f}); }, {"generic_sum", "i32", "f32"}));
}

TEST(string_kernel, shapes_that_do_not_broadcast_are_refused_at_the_line) {
  EXPECT_TRUE(
      throws<shape_error>([] { generic_sum()(zeros({2}), zeros({3})); }, {"[2]", "[3]", "string_kernel_test.cpp"}));
}

// E56
TEST(string_kernel, complex_numbers) {
  using z = std::complex<float>;
  const array x{z(1, 2), z(3, -4)}, y{z(1, 1), z(2, -1)};
  const elementwise product{"product", "complex64 x", "complex64 z", "z = x * x"};
  const elementwise quotient{"quotient", "complex64 x, complex64 y", "complex64 z", "z = x / y"};
  const tolerance close{1e-6, 1e-6, false};
  EXPECT_TRUE(equals(product(x), std::vector<z>{z(-3, 4), z(-7, -24)}));
  EXPECT_TRUE(equals(abs(product(x)), std::vector<float>{5, 25}, close));
  EXPECT_TRUE(equals(quotient(x, y), std::vector<z>{z(1.5f, 0.5f), z(2, -1)}, close));
}

// E58
TEST(string_kernel, bfloat16_rounds_to_even) {
  const elementwise narrow{"narrow", "float32 x", "bf16 y", "y = x"};
  const array x{257.f, 258.f, 259.f, 1 + 0x1p-8f, 1 + 3 * 0x1p-8f, 65535.f};
  EXPECT_TRUE(equals(narrow(x).astype(f32), std::vector<float>{256, 258, 260, 1, 1.015625f, 65536}));
}

// E60
TEST(string_kernel, division_in_a_body_is_that_of_c) {
  const elementwise divide_c{"divide_c", "int32 x", "int32 q, int32 r", "q = x / 2; r = x % 2"};
  const array x{-7};
  const auto [q, r] = divide_c.results<2>(x);
  EXPECT_TRUE(equals(q, std::vector<std::int32_t>{-3}));
  EXPECT_TRUE(equals(r, std::vector<std::int32_t>{-1}));
  EXPECT_TRUE(equals(floor_divide(x, 2), std::vector<std::int32_t>{-4}));
  EXPECT_TRUE(equals(remainder(x, 2), std::vector<std::int32_t>{1}));
}

TEST(string_kernel, neighbours_on_both_sides_share_its_launch) {
  const array x = ramp(f32, 6), y = ramp(f32, 4), column = x(all, newaxis) * 2, row = y(newaxis, all) + 1;
  const array z = sqrt(squared_difference()(column, row)) + 1;
  const statistics added = counted([&] { eval(z); });
  EXPECT_EQ(added.launches, 1u);
  EXPECT_LE(added.compiles, 1u);
  host_array want(f32, {6, 4});
  for (std::int64_t k = 0; k < 24; ++k)
    want.set(k, {std::abs(2 * static_cast<float>(k / 4) - static_cast<float>(k % 4 + 1)) + 1, 0});
  EXPECT_TRUE(equals(z, want));
  const array summed = sum(squared_difference()(x, 1), -1);
  EXPECT_EQ(counted([&] { eval(summed); }).launches, 1u);
  EXPECT_EQ(summed.item<float>(), 31.f);
}

TEST(string_kernel, another_number_or_size_is_no_other_kernel) {
  const elementwise scaled{"scaled_by", "T x, T f", "T y", "y = x * f"};
  EXPECT_EQ(counted([&] { eval(scaled(ramp(f32, 100), 2)); }).compiles, 1u);
  EXPECT_EQ(counted([&] { eval(scaled(ramp(f32, 103), 3.5)); }).compiles, 0u);
  const elementwise again{"scaled_by", "T x, T f", "T y", "y = x * f"};
  EXPECT_EQ(counted([&] { eval(again(ramp(f32, 100), 2)); }).compiles, 0u) << "the same strings are the same kernel";
}

TEST(string_kernel, a_body_that_does_not_compile_shows_its_own_line) {
  const elementwise broken{"broken_kernel", "float x", "float y", "float t = 2 * x;\ny = t + undeclared_name;"};
  const array x{1.f, 2.f}, other = x + 1, y = broken(x * 2) + other;
  EXPECT_TRUE(throws<compile_error>([&] { eval(y); }, {"broken_kernel", "undeclared_name", "2"}));
  try {
    eval(y);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const compile_error& e) {
    EXPECT_NE(e.source().find("undeclared_name"), std::string::npos);
    EXPECT_NE(e.log().find("undeclared_name"), std::string::npos);
    const std::string message = e.what();
    EXPECT_NE(message.find("broken_kernel, line 2: error: "), std::string::npos)
        << message;
  }
  // ArrayFire#1700: a failed kernel must leave every array usable.
  EXPECT_FALSE(y.is_evaluated());
  EXPECT_TRUE(equals(other, std::vector<float>{2, 3}));
}

// E48
TEST(string_kernel, inputs_cannot_be_assigned_to) {
  const elementwise assigns{"assigns", "float x", "float y", "x = 3;\ny = x"};
  EXPECT_TRUE(throws<compile_error>([&] { eval(assigns(array{1.f})); }, {"assigns"}));
}

TEST(string_kernel, an_output_that_is_not_assigned_is_zero) {
  const elementwise sometimes{"sometimes", "int x", "int y", "if (x < 0) return;\nif (x > 1) y = x"};
  EXPECT_TRUE(equals(sometimes(array{-5, 0, 1, 2, 3}), std::vector<std::int32_t>{0, 0, 0, 2, 3}));
}

// CuPy examples/finance/black_scholes.py: must equal the array version.
// K05 of the catalogue
TEST(string_kernel, black_scholes) {
  const char* body = R"(
    double root = sqrt(t);
    double d1 = (log(s / x) + (r + v * v / 2) * t) / (v * root), d2 = d1 - v * root;
    double n1 = cumulative(d1), n2 = cumulative(d2), discounted = x * exp(-r * t);
    call = s * n1 - discounted * n2;
    put = discounted * (1 - n2) - s * (1 - n1);
  )";
  const char* preamble = R"(
    __device__ double cumulative(double z) {
      double k = 1 / (1 + 0.2316419 * fabs(z));
      double sum = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
      double upper = 0.39894228040143267794 * exp(-z * z / 2) * sum;
      return z > 0 ? 1 - upper : upper;
    }
  )";
  const elementwise kernel{"black_scholes",
                           "double s, double x, double t, double r, double v",
                           "double call, double put",
                           body,
                           {.preamble = preamble}};
  run_matrix(
      {.inputs = {lcg_reals(f64, {2000}, 309, 5, 30, 0xdcbd0f63), lcg_reals(f64, {2000}, 310, 1, 100, 0x40006b6a),
                  lcg_reals(f64, {2000}, 311, 0.25, 10, 0x352a6a3e)},
       .body = [&](const std::vector<array>& in) { return kernel.results(in[0], in[1], in[2], 0.02, 0.3); },
       .outputs = {close_to("K05.call", f64, 1e-10, 1e-10), close_to("K05.put", f64, 1e-10, 1e-10)},
       .launches = 1,
       .independent_axis = -1});
}

// E62: CuPy core_tests/test_multithreading.py.
TEST(string_kernel, threads_with_other_dtypes_at_the_same_time) {
  const elementwise k{"add_twice", "T x, T y", "T z", "z = x + y * 2"};
  const auto run = [&](dtype type) {
    const host_array x = counting(type, {3, 3});
    host_array want = x;
    for (std::int64_t i = 0; i < 9; ++i) want.set(i, {x.get(i).re * 3, 0});
    for (int round = 0; round < 3; ++round) EXPECT_TRUE(equals(k(x.to_device(), x.to_device()), want));
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 100; ++t) threads.emplace_back(run, t % 2 == 0 ? i64 : f64);
  for (std::thread& t : threads) t.join();
}

TEST(string_kernel, compiler_options_do_not_leak_into_other_kernels) {
  const elementwise one{"p", "T x", "T y", "y = x + FOO", {.options = {"-DFOO=1"}}};
  const elementwise two{"q", "T x", "T y", "y = x + FOO", {.options = {"-DFOO=2"}}};
  const array x{0, 10};
  const array a = one(x), b = two(x);
  eval(a, b);
  EXPECT_EQ(a.to_vector<std::int32_t>(), (std::vector<std::int32_t>{1, 11}));
  EXPECT_EQ(b.to_vector<std::int32_t>(), (std::vector<std::int32_t>{2, 12}));
  EXPECT_EQ((one(x * 1) + two(x * 1)).to_vector<std::int32_t>(), (std::vector<std::int32_t>{3, 23}));
}

}  // namespace
