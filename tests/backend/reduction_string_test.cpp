// Reductions as strings, restated from CuPy's tests of them (core_tests/test_reduction.py, test_userkernel.py) and from
// what its users reported: their grammar, their dtypes, and that they fuse with what surrounds them.
#include "tests/backend/expect.hpp"

#include "dsl/complex.hpp"

#include <cmath>
#include <complex>

using namespace sinter;
using namespace sinter_test;

namespace {

const reduction& int_sum() {
  static const reduction k{"int_sum", "int32 x", "int32 y", "x", "a + b", "", "0"};
  return k;
}
const reduction& any_sum() {
  static const reduction k{"any_sum", "T x", "T y", "x", "a + b", "y = a", "0"};
  return k;
}
const reduction& l2() {
  static const reduction k{"l2", "T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0"};
  return k;
}
const reduction& dot() {
  static const reduction k{"dot", "T x, T y", "T z", "x * y", "a + b", "z = a", "0"};
  return k;
}

using ints = std::vector<std::int32_t>;

array counted_up(dtype type, const shape& extents) { return counting(type, extents).to_device(); }
/// Not a constant that a kernel could know.
array evaluated(array x) {
  eval(x);
  return x;
}

// ---- Sizes, axes, layouts ----

// R02
TEST(reduction_string, sizes_around_powers_of_two) {
  for (int k = 1; k <= 9; ++k)
    for (const std::int32_t n : {(1 << k) - 1, 1 << k, (1 << k) + 1})
      EXPECT_EQ(int_sum()(evaluated(ones({n}, i32))).item<std::int32_t>(), n);
}

// R04
TEST(reduction_string, long_rows_and_long_columns) {
  const array x = evaluated(ones({513, 65537}, i32));
  EXPECT_TRUE(equals(int_sum()(x, 0), ints(65537, 513)));
  EXPECT_TRUE(equals(int_sum()(x, 1), ints(513, 65537)));
}

// CuPy without CUB runs a full reduction in one block: cupy/cupy#5194.
TEST(reduction_string, one_result_of_many_elements) {
  const array x = evaluated(ones({1 << 24}, i32));
  EXPECT_EQ(counted([&] { eval(int_sum()(x)); }).launches, 1u);
  EXPECT_EQ(int_sum()(x).item<std::int32_t>(), 1 << 24);
  EXPECT_EQ(int_sum()(x(range(1, end, 3))).item<std::int32_t>(), ((1 << 24) - 1 + 2) / 3);
}

// cupy/cupy#8184.
TEST(reduction_string, squares_of_a_cube_of_ones) {
  const reduction squares{"sum_of_squares", "T x", "T y", "x * x", "a + b", "", "0"};
  EXPECT_EQ(squares(evaluated(ones({300, 300, 300}, f64))).item<double>(), 27000000.0);
}

// R06
TEST(reduction_string, axes_of_a_transposed_array) {
  const array x = transpose(counted_up(i32, {2, 4, 5, 3}));
  const host_array want(ints{570, 1770, 590, 1790, 610, 1810}, {3, 2});
  EXPECT_TRUE(equals(int_sum()(x, {1, 2}), want));
  EXPECT_TRUE(equals(int_sum()(x, {-2, 1}), want));
  EXPECT_TRUE(equals(int_sum()(x, {1, 2}, keepdims), reshaped(want, {3, 1, 1, 2})));
}

TEST(reduction_string, an_array_of_columns_is_read_as_its_rows_are) {
  const host_array columns(ints{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}, {4, 3});
  const array x = transpose(columns.to_device());
  EXPECT_TRUE(equals(int_sum()(x, 0), ints{12, 15, 18, 21}));
  EXPECT_TRUE(equals(int_sum()(x, 1), ints{6, 22, 38}));
}

TEST(reduction_string, every_choice_of_axes) {
  const shape extents{3, 4, 5};
  const host_array values = counting(i64, extents);
  const reduction squares{"int_squares", "T x", "T y", "x * x", "a + b", "y = a + 1", "0"};
  for (std::uint32_t bits = 0; bits < 8; ++bits)
    for (const bool keep : {false, true}) {
      std::vector<int> list;
      shape left;
      for (int axis = 0; axis < 3; ++axis) {
        if (bits >> axis & 1u) list.push_back(axis - 3 * (axis % 2));
        if (!(bits >> axis & 1u)) left.append(extents[axis]);
        else if (keep) left.append(1);
      }
      std::vector<std::int64_t> want(static_cast<std::size_t>(left.size()), 1);
      for (std::int64_t k = 0; k < values.size(); ++k) {
        const std::int64_t at[] = {k / 20, k / 5 % 4, k % 5};
        std::size_t to = 0;
        for (int axis = 0; axis < 3; ++axis)
          if (!(bits >> axis & 1u)) to = to * static_cast<std::size_t>(extents[axis]) +
                                         static_cast<std::size_t>(at[axis]);
        want[to] += k * k;
      }
      const array got = squares(values.to_device(), axes(std::span<const int>(list)), keepdims_t{keep});
      EXPECT_TRUE(equals(got, host_array(want, left))) << "axes " << bits << (keep ? ", kept" : "");
    }
}

// R28
TEST(reduction_string, rows_however_they_lie_in_memory) {
  host_array x(f32, {7, 300}), want(f32, {7});
  for (std::int64_t row = 0; row < 7; ++row) {
    long double total = 0;
    for (std::int64_t k = 0; k < 300; ++k) {
      const float v = static_cast<float>((row * 37 + k * 11) % 64) / 8;
      x.set(row * 300 + k, {v, 0});
      total += static_cast<long double>(v) * v;
    }
    want.set(row, {static_cast<float>(std::sqrt(total)), 0});
  }
  run_matrix({.inputs = {x},
              .body = [](const std::vector<array>& in) { return std::vector<array>{l2()(in[0], 1)}; },
              .outputs = {{want, f32, {1e-6, 0, false}}},
              .launches = 1,
              .independent_axis = 0});
}

// R10
TEST(reduction_string, bad_axes_are_refused_at_the_line) {
  const array x = counted_up(i32, {2, 2});
  for (const int axis : {2, -3, 20}) {
    EXPECT_TRUE(throws<shape_error>([&] { int_sum()(x, axis); },
                                    {"int_sum", std::to_string(axis), "[-2, 2)", "reduction_string_test.cpp"}));
  }
  EXPECT_TRUE(throws<shape_error>([&] { int_sum()(x, {0, 7}); }, {"int_sum", "7"}));
  EXPECT_TRUE(throws<shape_error>([&] { int_sum()(x, {1, 1}); }, {"int_sum", "twice"}));
  EXPECT_TRUE(throws<shape_error>([&] { int_sum()(x, {0, -2}); }, {"int_sum", "twice"}));
  EXPECT_TRUE(throws<shape_error>([&] { int_sum()(x, std::int64_t{1} << 40); }, {"int_sum"}));
}

TEST(reduction_string, arguments_are_inputs_then_axes_then_keepdims) {
  const array x = counted_up(i32, {2, 3});
  EXPECT_TRUE(equals(int_sum()(x, keepdims), host_array(ints{15}, {1, 1})));
  EXPECT_TRUE(equals(int_sum()(x, axes{}, keepdims), host_array(ints{15}, {1, 1})));
  EXPECT_TRUE(equals(int_sum()(x, 1u), ints{3, 12}));
  EXPECT_TRUE(equals(dot()(x, 2, 1), ints{6, 24}));
  EXPECT_TRUE(throws<type_error>([&] { int_sum()(x, x); }, {"int_sum", "takes 1 input(s), 2 given"}));
  EXPECT_TRUE(throws<type_error>([&] { dot()(x); }, {"dot", "takes 2 input(s), 1 given"}));
  EXPECT_TRUE(throws<type_error>([&] { dot()(x, {0, 1}); }, {"dot", "takes 2 input(s), 1 given"}));
  EXPECT_TRUE(throws<type_error>([&] { int_sum()(x, 0, 1); }, {"int_sum", "{0, 1}"}));
  EXPECT_TRUE(throws<type_error>([&] { int_sum()(x, keepdims, 0); }, {"int_sum", "after keepdims"}));
  EXPECT_TRUE(throws<type_error>([&] { int_sum()(x, 1.0); }, {"int_sum", "an axis is an int"}));
}

// ---- Identity ----

// cupy/cupy#6937 and #8116.
TEST(reduction_string, no_elements_are_the_identity) {
  EXPECT_TRUE(equals(int_sum()(zeros({0, 3}, i32), 0), ints{0, 0, 0}));
  EXPECT_TRUE(equals(l2()(zeros({2, 0}, f32), 1), std::vector<float>{0, 0}));
  const reduction product{"product", "T x", "T y", "x", "a * b", "y = a + 1", "1"};
  EXPECT_EQ(product(zeros({0}, f64)).item<double>(), 2.0);
  EXPECT_EQ(to_string(int_sum()(zeros({0, 2}, i32), 1).extents()), "[0]");
}

TEST(reduction_string, no_elements_without_an_identity_are_refused) {
  const reduction least{"least", "T x", "T y", "x", "min(a, b)", "y = a", ""};
  EXPECT_EQ(to_string(least(zeros({0, 2}, i32), 1).extents()), "[0]");
  EXPECT_TRUE(throws<shape_error>([&] { least(zeros({0, 2}, i32), 0); },
                                  {"least", "[0, 2]", "identity", "reduction_string_test.cpp"}));
  EXPECT_TRUE(equals(least(array{{3, -1}, {0, 7}}, 0), ints{0, -1}));
}

// CuPy adds it once per thread: cupy/cupy#1106.
// cupy#1106; pycuda#207
TEST(reduction_string, an_identity_that_is_none_counts_once) {
  const reduction one_more{"one_more", "T x", "T y", "x", "a + b", "", "1"};
  for (const std::int64_t n : {0, 1, 5, 128, 1024, 100000})
    EXPECT_EQ(one_more(evaluated(ones({n}, i64))).item<std::int64_t>(), n + 1);
  EXPECT_TRUE(equals(one_more(evaluated(ones({3, 1024}, i32)), 1), ints{1025, 1025, 1025}));
  EXPECT_TRUE(equals(one_more(evaluated(ones({1024, 3}, i32)), 0), ints{1025, 1025, 1025}));
}

// ---- Expressions ----

// R08
TEST(reduction_string, rows_of_a_matrix_by_their_length) {
  const array x = counted_up(f32, {2, 5});
  EXPECT_TRUE(equals(l2()(x, 1), std::vector<float>{5.4772256f, 15.9687195f}, {1e-6, 0, false}));
}

// R14
TEST(reduction_string, several_inputs_broadcast) {
  EXPECT_EQ(dot()(array{1, 2, 3}, array{4, 5, 6}).item<std::int32_t>(), 32);
  const array column = counted_up(i64, {3})(all, newaxis), row = counted_up(i64, {4});
  EXPECT_EQ(dot()(column, row).item<std::int64_t>(), 18);
  EXPECT_TRUE(equals(dot()(column, row, 0), std::vector<std::int64_t>{0, 3, 6, 9}));
  EXPECT_TRUE(throws<shape_error>([] { dot()(zeros({2}), zeros({3})); }, {"dot", "[2]", "[3]"}));
  EXPECT_TRUE(throws<type_error>([] { dot()(array{1}, array{1.f}); }, {"dot", "i32", "f32"}));
  const reduction masked{"masked", "T x, S mask", "T y", "mask ? x : 0", "a + b", "", "0"};
  EXPECT_EQ(masked(array{1, 2, 3, 4}, array{true, false, true, false}).item<std::int32_t>(), 4);
}

// CuPy returns the first only: cupy/cupy#1924 and #6813.
// R16
TEST(reduction_string, several_outputs_are_one_launch) {
  const char* preamble = R"(template <class T> struct found { T value; long long at; };
template <class T> __device__ found<T> found_at(T value, long long at) { return {value, at}; }
template <class T> __device__ found<T> better(found<T> a, found<T> b) {
  return b.value > a.value || (b.value == a.value && b.at < a.at) ? b : a;
})";
  const reduction most{"find_most", "T x, i64 at", "i64 index, T value", "found_at(x, at)", "better(a, b)",
                       "index = a.at; value = a.value", "", {.accumulator = "found<T>", .preamble = preamble}};
  const array x{{3, 0, 0, 0}, {0, 4, 0, 0}, {0, 0, 5, 0}};
  const auto [index, value] = most.results<2>(x, arange(4), 1);
  EXPECT_EQ(counted([&] { eval(index, value); }).launches, 1u);
  EXPECT_TRUE(equals(index, std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_TRUE(equals(value, ints{3, 4, 5}));
  EXPECT_TRUE(throws<type_error>([&] { most(x, arange(4)); }, {"find_most", "2"}));

  const array big = counted_up(f64, {1 << 20});
  const std::vector<array> both = most.results(where(big == 77777, 1e9, big), arange(1 << 20));
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].item<std::int64_t>(), 77777);
  EXPECT_EQ(both[1].item<double>(), 1e9);
}

// CuPy's CUB path replaces the input's name in the text, from 128 elements on: "exp(x)" becomes "ein0p(in0)".
TEST(reduction_string, names_are_not_replaced_inside_others) {
  const reduction total{"exp_total", "T x", "T y", "exp(x)", "a + b", "y = log(a)", "0"};
  for (const std::int64_t n : {2, 64, 128, 1000})
    EXPECT_NEAR(total(evaluated(zeros({n}, f32))).item<float>(), std::log(static_cast<double>(n)), 1e-6);
  EXPECT_NEAR(total(evaluated(zeros({2}, f32))).item<float>(), 0.6931472, 1e-7);
}

// R22
TEST(reduction_string, complex_numbers) {
  using z = std::complex<float>;
  const array x(std::vector<z>(8, z(1, 1)));
  EXPECT_TRUE(equals(reshape(any_sum()(x), {1}), std::vector<z>{z(8, 8)}));
  EXPECT_TRUE(equals(dot()(x, x, keepdims), std::vector<z>{z(0, 16)}));
}

TEST(reduction_string, least_most_any_every_product) {
  const array x{3, -1, 7};
  const reduction least{"least", "T x", "T y", "x", "min(a, b)", "", ""};
  const reduction most{"most", "T x", "T y", "x", "max(a, b)", "", ""};
  const reduction any{"any_of_them", "T x", "bool y", "x != 0", "a || b", "", "false"};
  const reduction every{"every_of_them", "T x", "bool y", "x != 0", "a && b", "", "true"};
  const reduction product{"product_of_them", "T x", "T y", "x", "a * b", "", "1"};
  EXPECT_EQ(least(x).item<std::int32_t>(), -1);
  EXPECT_EQ(most(x).item<std::int32_t>(), 7);
  EXPECT_EQ(any(x).item<bool>(), true);
  EXPECT_EQ(every(x).item<bool>(), true);
  EXPECT_EQ(product(x).item<std::int32_t>(), -21);
  const array zero{0, 0};
  EXPECT_EQ(any(zero).item<bool>(), false);
  EXPECT_EQ(every(zero).item<bool>(), false);
}

// R26
TEST(reduction_string, names_that_could_not_be_compiled_are_refused_first) {
  for (const char* name : {"1", "", "a-b", "double"})
    EXPECT_TRUE(throws<error>([&] { reduction(name, "T x", "T y", "x", "a + b", "", "0"); },
                              {"reduction_string_test.cpp"}))
        << name;
  EXPECT_TRUE(throws<error>([] { reduction("k", "T 1", "T y", "x", "a + b", "", "0"); }, {"k", "1"}));
  EXPECT_TRUE(throws<error>([] { reduction("k", "T x", "T y", "x * _J", "a + b", "", "0"); }, {"k", "map", "_J"}));
  EXPECT_TRUE(throws<error>([] { reduction("k", "", "T y", "1", "a + b", "", "0"); }, {"k", "input"}));
}

// CuPy's POST_MAP(a) is a macro, in which an output called `a` is captured.
// R26
TEST(reduction_string, an_output_may_be_called_a) {
  const reduction root{"root_of_sum", "T x", "T a", "x * x", "a + b", "a = sqrt(a)", "0"};
  const reduction plain{"plain_sum", "T a", "T b", "a", "a + b", "", "0"};
  const reduction two{"two_of_them", "T x", "T a, T b", "x", "a + b", "b = a + 1; a *= 2", "0"};
  EXPECT_EQ(root(array{3.f, 4.f}).item<float>(), 5.0f);
  EXPECT_EQ(plain(array{3.f, 4.f}).item<float>(), 7.0f);
  const auto [a, b] = two.results<2>(array{3, 4});
  EXPECT_EQ(a.item<std::int32_t>(), 14);
  EXPECT_EQ(b.item<std::int32_t>(), 8);
}

// A macro would evaluate an operand as often as it is named, and with the neighbours' precedence.
TEST(reduction_string, operands_are_values) {
  const reduction clamped{"clamped", "int x", "int y", "x + 1", "a * b > 1000 ? 1000 : a * b", "y = a * 2", ""};
  EXPECT_EQ(clamped(array{1, 2, 3}).item<std::int32_t>(), 48);
  EXPECT_EQ(clamped(array{99, 9, 9}).item<std::int32_t>(), 2000);
}

// ---- dtypes ----

TEST(reduction_string, a_letter_stands_for_every_dtype) {
  for (int k = 0; k < dtype_count; ++k) {
    const auto type = static_cast<dtype>(k);
    const array x = converted(host_array(std::vector<double>{1, 0, 1, 1, 0, 1}, {2, 3}), type).to_device();
    const array y = any_sum()(x, 1);
    ASSERT_EQ(y.type(), type);
    host_array want(type, {2});
    for (std::int64_t i = 0; i < 2; ++i) want.set(i, {type == boolean ? 1.0L : 2.0L, 0});
    EXPECT_TRUE(equals(y, want)) << to_string(type);
  }
}

TEST(reduction_string, half_floats_accumulate_in_float) {
  for (const dtype type : {f16, bf16}) {
    const array x = evaluated(ones({4096}, type));
    EXPECT_EQ(any_sum()(x).astype(f32).item<float>(), 4096.0f);
    EXPECT_EQ(any_sum()(evaluated(full({3, 1000}, 0.5, type)), 1).astype(f32)(2).item<float>(), 500.0f);
  }
}

TEST(reduction_string, the_accumulator_may_be_wider) {
  const reduction wide{"wide_sum", "i8 x", "i64 y", "x", "a + b", "", "0"};
  EXPECT_EQ(wide(evaluated(full({100000}, 100, i8))).item<std::int64_t>(), 10000000);
  const reduction exact{"exact_sum", "f32 x", "f32 y", "x", "a + b", "", "0", {.accumulator = "double"}};
  const array x{16777216.f, 1.f, 1.f, 1.f};
  EXPECT_EQ(exact(x).item<float>(), 16777220.0f);
  const reduction wraps{"wrapping_sum", "u8 x", "u8 y", "x", "a + b", "", "0"};
  EXPECT_EQ(wraps(array{std::uint8_t{200}, std::uint8_t{100}}).item<std::uint8_t>(), 44);
}

TEST(reduction_string, numbers_alone_reduce_to_themselves) {
  EXPECT_EQ(l2()(-2.5).item<double>(), 2.5);
  EXPECT_EQ(dot()(array{1.f, 2.f}, 3).item<float>(), 9.0f);
  EXPECT_EQ(l2()(array(-2.5)).item<double>(), 2.5);
  const axes none{std::span<const int>()};
  EXPECT_TRUE(equals(l2()(array{-1.f, 2.f}, none), std::vector<float>{1, 2}));
}

// ---- Fusion ----

TEST(reduction_string, neighbours_on_both_sides_share_its_launch) {
  const array x = counted_up(f32, {4, 100});
  const array y = l2()(x - 1, 1) * 2 + 1, z = x / (l2()(x, 1, keepdims) + 1);
  EXPECT_EQ(counted([&] { eval(y); }).launches, 1u);
  EXPECT_EQ(counted([&] { eval(z); }).launches, 1u);
  host_array lengths(f32, {4}), scaled(f32, {4, 100});
  for (std::int64_t row = 0; row < 4; ++row) {
    double shifted = 0, plain = 0;
    for (std::int64_t k = row * 100; k < row * 100 + 100; ++k) {
      shifted += static_cast<double>((k - 1) * (k - 1));
      plain += static_cast<double>(k * k);
    }
    lengths.set(row, {static_cast<float>(std::sqrt(shifted)) * 2 + 1, 0});
    for (std::int64_t k = row * 100; k < row * 100 + 100; ++k)
      scaled.set(k, {static_cast<float>(static_cast<double>(k) / (std::sqrt(plain) + 1)), 0});
  }
  EXPECT_TRUE(equals(y, lengths, {1e-5, 0, false}));
  EXPECT_TRUE(equals(z, scaled, {1e-5, 0, false}));
}

TEST(reduction_string, another_size_or_number_is_no_other_kernel) {
  const reduction scaled{"scaled_total", "T x, T f", "T y", "x * f", "a + b", "", "0"};
  EXPECT_EQ(counted([&] { eval(scaled(counted_up(f32, {100}), 2)); }).compiles, 1u);
  EXPECT_EQ(counted([&] { eval(scaled(counted_up(f32, {103}), 3.5)); }).compiles, 0u);
  const reduction again{"scaled_total", "T x, T f", "T y", "x * f", "a + b", "", "0"};
  EXPECT_EQ(counted([&] { eval(again(counted_up(f32, {100}), 2)); }).compiles, 0u);
}

TEST(reduction_string, kernels_of_one_name_with_other_strings_are_others) {
  const reduction kernels[] = {{"r", "T x", "T y", "x", "a + b", "", "0"},
                               {"r", "T x", "T y", "x * 2", "a + b", "", "0"},
                               {"r", "T x", "T y", "x", "a * b", "", "1"},
                               {"r", "T x", "T y", "x", "a + b", "y = a - 1", "0"},
                               {"r", "T x", "T y", "x", "a + b", "", "100"}};
  const array x{2, 3, 4};
  std::vector<array> all_of_them;
  for (const reduction& k : kernels) all_of_them.push_back(k(x));
  eval_all(all_of_them);
  const std::int32_t want[] = {9, 18, 24, 8, 109};
  for (std::size_t k = 0; k < all_of_them.size(); ++k) EXPECT_EQ(all_of_them[k].item<std::int32_t>(), want[k]) << k;
  EXPECT_EQ((kernels[0](x) + kernels[2](x)).item<std::int32_t>(), 33);
}

TEST(reduction_string, options_of_one_kernel_do_not_reach_another) {
  const reduction one{"opted_one", "T x", "T y", "x * FACTOR", "a + b", "", "0", {.options = {"-DFACTOR=1"}}};
  const reduction ten{"opted_ten", "T x", "T y", "x * FACTOR", "a + b", "", "0", {.options = {"-DFACTOR=10"}}};
  const array x{1, 2}, a = one(x), b = ten(x);
  eval(a, b);
  EXPECT_EQ(a.item<std::int32_t>(), 3);
  EXPECT_EQ(b.item<std::int32_t>(), 30);
  EXPECT_EQ((one(x * 1) + ten(x * 1)).item<std::int32_t>(), 33);
}

TEST(reduction_string, an_expression_that_does_not_compile_shows_its_own_line) {
  const reduction in_map{"bad_map", "float x", "float y", "x +\nnowhere", "a + b", "", "0"};
  const reduction in_reduce{"bad_reduce", "float x", "float y", "x", "a + nowhere", "", "0"};
  const reduction in_post{"bad_post", "float x", "float y", "x", "a + b", "y = nowhere", "0"};
  const array x{1.f, 2.f}, other = x + 1;
  EXPECT_TRUE(throws<compile_error>([&] { eval(in_map(x * 2) + sum(other)); }, {"bad_map (map)", "nowhere"}));
  EXPECT_TRUE(throws<compile_error>([&] { eval(in_reduce(x)); }, {"bad_reduce (reduce)", "nowhere"}));
  EXPECT_TRUE(throws<compile_error>([&] { eval(in_post(x)); },
                                    {"bad_post (post-map)", "nowhere", "reduction_string_test.cpp"}));
  EXPECT_TRUE(equals(other, std::vector<float>{2, 3}));
}

}  // namespace
