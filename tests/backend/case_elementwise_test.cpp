// Elementwise functions, casts and narrow integers: cases met in the tests and bug reports of other libraries,
// restated. References: NumPy.
#include "tests/backend/expect.hpp"

using namespace sinter;
using namespace sinter_test;

namespace {

host_array filled(float x) { return host_array(std::vector<float>(20, x)); }

// arrayfire/arrayfire#374: the second expression ran the first one's kernel, and gave 35.
TEST(case_elementwise, expressions_with_equal_leaves_and_another_tail_are_different_kernels) {
  run_matrix(
      {.inputs = {checked(filled(3), 0x0357458f), checked(filled(5), 0x969a2d29), checked(filled(2), 0x60bfb5fb)},
       .body = [](const std::vector<array>& in) -> std::vector<array> {
         const array a = in[0], b = in[1], c = in[2];
         array f1 = (a + b) * (a + c) - (a + c);
         eval(f1);
         array f2 = (a + b) * (a + c) - (a + b);
         return {f1, f2};
       },
       .outputs = {exactly("E01.f1", f32), exactly("E01.f2", f32)},
       .launches = 2,
       .independent_axis = -1,
       .retype = {{f32, f64}}});
}

// array-api-tests, test_operators_and_elementwise_functions; MLX ops_tests, "test arithmetic unary ops".
TEST(case_elementwise, twenty_five_functions_of_one_array_are_one_launch) {
  matrix_case c{
      .inputs = {lcg_reals(f32, {257}, 2, -0.999, 0.999, 0x5b9c9338)},
      .body = [](const std::vector<array>& in) -> std::vector<array> {
        const array x = in[0], y = abs(x) + 1e-3;
        return {
            sin(x),       cos(x),      tan(x),   asin(x),  acos(x),
            atan(x),      sinh(x),     cosh(x),  tanh(x),  asinh(x),
            acosh(1 + y), atanh(x),    exp(x),   exp2(x),  expm1(x),
            log(y),       log2(y),     log10(y), log1p(x), sqrt(y),
            cbrt(x),      1 / sqrt(y), erf(x),   erfc(x),  floor(4 * x) + ceil(4 * x) + trunc(4 * x) + round(4 * x)};
      },
      .launches = 1,
      .independent_axis = -1,
      .retype = {{f32, f64}}};
  const host_array all_rows = reference("E02.r");
  for (std::int64_t k = 0; k < 25; ++k) c.outputs.push_back({row(all_rows, k), f32, {4e-06, 2e-06, false}});
  run_matrix(c);
}

// MLX ops_tests, "test arithmetic binary ops". Here the quotient of integers by name is f64.
TEST(case_elementwise, divide_of_integers_is_the_real_quotient) {
  const program quotient = [](const std::vector<array>& in) -> std::vector<array> { return {divide(in[0], in[1])}; };
  run_matrix({.inputs = {lcg_integers(i32, {40}, 6, -50, 50, 0xa244877a), lcg_integers(i32, {40}, 7, 1, 9, 0x45a54ee7)},
              .body = quotient,
              .outputs = {close_to("E06.r", f64, 2e-07, 0)},
              .launches = 1,
              .independent_axis = -1,
              .retype = {{i32, i8}}});
}

TEST(case_elementwise, divide_of_booleans_is_the_real_quotient) {
  run_matrix(
      {.inputs = {checked(booleans({1, 0, 1, 0}, {4}), 0x80e38938), checked(booleans({1, 1, 0, 0}, {4}), 0x983ad24e)},
       .body = [](const std::vector<array>& in) -> std::vector<array> { return {true_divide(in[0], in[1])}; },
       .outputs = {close_to("E06.s", f64, 2e-07, 0)},
       .launches = 1,
       .independent_axis = -1,
       .retype = {{boolean, i16}}});
}

// drjit-core tests/basics.cpp, 06_cast; cupy/cupy#4434.
TEST(case_elementwise, casts_of_f32_truncate) {
  run_matrix({.inputs = {checked(host_array(std::vector<float>{-2.9f, -2.5f, -0.9f, -0.0f, 0, 0.5f, 1.5f, 2.9f, 1e9f}),
                                 0x13881f51)},
              .body = [](const std::vector<array>& in) -> std::vector<array> { return {in[0].astype(i32)}; },
              .outputs = {exactly("E09.f_i4", i32)},
              .launches = 1,
              .independent_axis = -1,
              .retype = {{f32, f64}}});
}

TEST(case_elementwise, casts_of_i32_wrap_or_round_to_even) {
  const std::vector<std::int32_t> w{26862209, 26857135, 16777217, 2147483647, -2147483647 - 1, 300, 65536, 1000000};
  run_matrix({.inputs = {checked(host_array(w), 0xebc772f1)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array x = in[0];
                return {x.astype(f32), x.astype(u8), x.astype(i8), x.astype(u16), x.astype(f32).astype(i64)};
              },
              .outputs = {exactly("E09.w_f4", f32), exactly("E09.w_u1", u8), exactly("E09.w_i1", i8),
                          exactly("E09.w_u2", u16), exactly("E09.back", i64)},
              .launches = 1,
              .independent_axis = -1,
              .retype = {{i32, i64}}});
}

TEST(case_elementwise, casts_of_u32_keep_the_bits_or_round) {
  run_matrix({.inputs = {checked(host_array(std::vector<std::uint32_t>{0, 1, 4294967295u, 2147483648u}), 0x007ba48c)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                return {in[0].astype(f32), in[0].astype(i32)};
              },
              .outputs = {exactly("E09.u_f4", f32), exactly("E09.u_i4", i32)},
              .launches = 1,
              .independent_axis = -1,
              .retype = {{u32, u64}}});
}

TEST(case_elementwise, casts_to_bool_ask_whether_a_number_is_zero) {
  run_matrix(
      {.inputs = {checked(host_array(std::vector<float>{0.f, -0.f, not_a_number, infinity, 0x1p-149f}), 0x2594b89c)},
       .body = [](const std::vector<array>& in) -> std::vector<array> { return {in[0].astype(boolean)}; },
       .outputs = {exactly("E09.n_b", boolean)},
       .launches = 1,
       .independent_axis = -1,
       .retype = {{f32, f64}}});
}

// AssemblyScript/assemblyscript#104; pytorch/pytorch#109105: fused int8 gave 150 where -106 was right.
TEST(case_elementwise, narrow_integers_wrap_after_every_operation_of_a_kernel) {
  using bytes = std::vector<std::uint8_t>;
  using signed_bytes = std::vector<std::int8_t>;
  run_matrix({.inputs = {checked(host_array(bytes{154, 200, 255, 1}), 0x8826d4c0),
                         checked(host_array(bytes{160, 100, 255, 2}), 0x5edb39bb),
                         checked(host_array(signed_bytes{5, -7, 100, -128}), 0x40a64af2),
                         checked(host_array(signed_bytes{4, 100, 100, -128}), 0x0dd10634)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array a = in[0], b = in[1], x = in[2], y = in[3];
                return {(a + b) >> 1, 6 * x + 6 * y, 6 * (x + y), maximum(b, -a),
                        (a * b).astype(i32) - (a.astype(i32) * b.astype(i32))};
              },
              .outputs = {exactly("E10.avg", u8), exactly("E10.dist", i8), exactly("E10.fact", i8),
                          exactly("E10.m", u8), exactly("E10.w", i32)},
              .launches = 1,
              .independent_axis = -1});
}

// array-api-tests, test_special_cases: finite subnormals.
TEST(case_elementwise, subnormal_numbers_are_kept) {
  const std::vector<float> x{1.1754943508222875e-38f, 9.99994610111476e-41f, 1.401298464324817e-45f,
                             -1.0000002153053333e-39f, 3.000000645916e-39f};
  const tolerance same{0, 0, true};
  run_matrix({.inputs = {checked(host_array(x), 0x186d1f02)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                return {in[0] * 0.5f, in[0] + in[0], in[0] * 0.5f * 2};
              },
              .outputs = {{reference("E13.h"), f32, same},
                          {reference("E13.d"), f32, same},
                          {reference("E13.back"), f32, same}},
              .launches = 1,
              .independent_axis = -1});
}

// ArrayFire test/jit.cpp, CPP_Multi_linear.
TEST(case_elementwise, two_outputs_share_a_launch) {
  run_matrix({.inputs = {lcg_bits(i32, {65536}, 17, 0x25064df1), lcg_bits(i32, {65536}, 18, 0x928dd5bc)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const auto sampled = [](const array& a) { return a(range(begin, end, 257)); };
                return {sampled(in[0] + in[1]), sampled(in[0] - in[1])};
              },
              .outputs = {exactly("E20.x", i32), exactly("E20.y", i32)},
              .launches = 1});
}

// ArrayFire test/jit.cpp, CPP_Multi_pre_eval.
TEST(case_elementwise, what_is_computed_already_is_not_computed_again) {
  const array a = lcg_bits(i32, {65536}, 17, 0x25064df1).to_device(),
              b = lcg_bits(i32, {65536}, 18, 0x928dd5bc).to_device();
  const array x = a + b, y = a - b;
  EXPECT_EQ(counted([&] { eval(x); }).launches, 1u);
  EXPECT_EQ(counted([&] { eval(x, y); }).launches, 1u);
  EXPECT_EQ(counted([&] { eval(x, y); }).launches, 0u);
  EXPECT_TRUE(equals(x(range(begin, end, 257)), reference("E20.x")));
  EXPECT_TRUE(equals(y(range(begin, end, 257)), reference("E20.y")));
}

// MLX ops_tests, "test divmod".
TEST(case_elementwise, divmod_gives_the_quotient_rounded_down_and_the_rest) {
  run_matrix(
      {.inputs = {lcg_integers(i32, {64}, 19, -100, 100, 0x5f64cd21), lcg_integers(i32, {64}, 20, 1, 12, 0x8c61dcb6)},
       .body = [](const std::vector<array>& in) -> std::vector<array> {
         const auto [q, r] = divmod(in[0], in[1]);
         return {q, r, q * in[1] + r - in[0]};
       },
       .outputs = {exactly("E21.q", i32), exactly("E21.r", i32), exactly("E21.z", i32)},
       .launches = 1,
       .independent_axis = -1,
       .retype = {{i32, i16}}});
}

// MLX compile_tests: the other result had gone out of scope.
TEST(case_elementwise, either_result_of_divmod_can_be_used_alone) {
  const array x = lcg_integers(i32, {64}, 19, -100, 100, 0x5f64cd21).to_device();
  const array y = lcg_integers(i32, {64}, 20, 1, 12, 0x8c61dcb6).to_device();
  EXPECT_TRUE(equals(divmod(x, y).second, reference("E21.r")));
  EXPECT_TRUE(equals(divmod(x, y).first, reference("E21.q")));
}

}  // namespace
