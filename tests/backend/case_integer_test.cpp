// Integer division, wrapping, bits and shifts: cases met in the tests and bug reports of other libraries, restated.
// References: NumPy.
#include "tests/backend/expect.hpp"

using namespace sinter;
using namespace sinter_test;

namespace {

// cupy/cupy#7737.
TEST(case_integer, floor_divide_of_reals_rounds_the_exact_quotient) {
  run_matrix(
      {.inputs = {checked(host_array(std::vector<float>{-4.4f, 5.6650004386901855f, 105.8800048828125f}), 0xa70a3a53)},
       .body = [](const std::vector<array>& in) -> std::vector<array> { return {floor_divide(in[0], 0.1f)}; },
       .outputs = {exactly("I04.fd", f32)},
       .launches = 1,
       .independent_axis = -1});
}

// numpy/numpy#12841, #7709, #6317.
TEST(case_integer, floor_divide_remainder_and_fmod_of_reals_at_zeros_and_infinities) {
  const double inf = std::numeric_limits<double>::infinity();
  run_matrix({.inputs = {checked(host_array(std::vector<double>{0., -0., 12., -12., 12., -1., 5.5, -5.5}), 0xd9cb8b72),
                         checked(host_array(std::vector<double>{1., 1., inf, inf, 0., 1., -2., 2.}), 0x80eac034)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array x = in[0], y = in[1];
                return {floor_divide(x, y), remainder(x, y), fmod(x, y)};
              },
              .outputs = {exactly("I04.q", f64), exactly("I04.r", f64), exactly("I04.f", f64)},
              .launches = 1,
              .independent_axis = -1,
              .retype = {{f64, f32}}});
}

// drjit-core tests/basics.cpp; signed overflow is undefined in C++, and defined here.
TEST(case_integer, sums_and_products_wrap_at_every_width) {
  matrix_case c{.inputs = {lcg_bits(i8, {64}, 31, 0x21cc7d99), lcg_bits(i8, {64}, 32, 0x697e52ce),
                           lcg_bits(u16, {64}, 33, 0x998c6f5f), lcg_bits(u16, {64}, 34, 0x549cdb39),
                           lcg_bits(i32, {64}, 35, 0xbe754f0b), lcg_bits(i32, {64}, 36, 0xca820d7b),
                           lcg_bits(u64, {64}, 37, 0xaa3c7cb6), lcg_bits(u64, {64}, 38, 0x827c5b35)},
                .body =
                    [](const std::vector<array>& in) {
                      std::vector<array> out;
                      for (std::size_t k = 0; k < in.size(); k += 2) {
                        const array a = in[k], b = in[k + 1];
                        out.insert(out.end(), {a + b, a - b, a * b, -a, a * a * b - b});
                      }
                      return out;
                    },
                .launches = 1,
                .independent_axis = -1};
  const std::pair<const char*, dtype> references[] = {
      {"I06.i1", i8}, {"I06.u2", u16}, {"I06.i4", i32}, {"I06.u8", u64}};
  for (const auto& [name, type] : references) {
    const host_array all_rows = reference(name);
    for (std::int64_t k = 0; k < 5; ++k) c.outputs.push_back({row(all_rows, k), type, {}});
  }
  run_matrix(c);
}

TEST(case_integer, bits_of_u32) {
  run_matrix({.inputs = {lcg_bits(u32, {128}, 39, 0x2f19b707), lcg_bits(u32, {128}, 40, 0x438ba868)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array a = in[0], b = in[1];
                const array pairs = a - ((a >> 1) & 0x55555555u);
                const array fours = (pairs & 0x33333333u) + ((pairs >> 2) & 0x33333333u);
                const array ones = (((fours + (fours >> 4)) & 0x0f0f0f0fu) * 0x01010101u) >> 24;
                return {a & b, a | b, a ^ b, ~a, ones};
              },
              .outputs = {exactly("I07.an", u32), exactly("I07.o", u32), exactly("I07.x", u32), exactly("I07.n", u32),
                          exactly("I07.pop", u32)},
              .launches = 1,
              .independent_axis = -1});
}

TEST(case_integer, bits_of_i64) {
  run_matrix({.inputs = {lcg_bits(i64, {64}, 41, 0x6f25ede3)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                return {~in[0], in[0] & -in[0]};
              },
              .outputs = {exactly("I07.sn", i64), exactly("I07.low", i64)},
              .launches = 1,
              .independent_axis = -1});
}

/// The mixer at the end of MurmurHash3.
array mixed(const array& i) {
  array h = i + 1;
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  h ^= h >> 13;
  h *= 0xc2b2ae35u;
  h ^= h >> 16;
  return h;
}

// drjit-core tests/reductions.cpp, fmix32.
TEST(case_integer, hashing_32_bit_numbers_stays_within_32_bits) {
  run_matrix({.inputs = {checked(counting(u32, {4096}), 0x2f5700c1)},
              .body = [](const std::vector<array>& in) -> std::vector<array> { return {mixed(in[0])}; },
              .outputs = {exactly("I08.h", u32)},
              .launches = 1,
              .independent_axis = -1});
}

TEST(case_integer, a_sequence_is_hashed_without_being_stored) {
  const array h = mixed(arange(0, 4096, 1, u32));
  EXPECT_EQ(counted([&] { eval(h); }).launches, 1u);
  EXPECT_TRUE(equals(h, reference("I08.h")));
}

// MLX ops_tests, sign of uint64; drjit-core, abs.
TEST(case_integer, abs_of_the_least_number_wraps_and_sign_of_u64_is_never_negative) {
  const std::int32_t least = std::numeric_limits<std::int32_t>::min();
  run_matrix(
      {.inputs = {checked(host_array(std::vector<std::int8_t>{-128, -1, 0, 5}), 0x02efa945),
                  checked(host_array(std::vector<std::int32_t>{least, -3, 0, 3}), 0x367566a3),
                  checked(host_array(std::vector<std::uint64_t>{0, 1, 11609368420648930672u, ~std::uint64_t{0}}),
                          0xbe2238aa)},
       .body = [](const std::vector<array>& in) -> std::vector<array> {
         return {abs(in[0]), abs(in[1]), sign(in[1]), sign(in[2])};
       },
       .outputs = {exactly("I10.aa", i8), exactly("I10.ac", i32), exactly("I10.sc", i32), exactly("I10.sq", u64)},
       .launches = 1,
       .independent_axis = -1});
}

// drjit test_arithmetic.py, test24_mul_hi_wide.
TEST(case_integer, the_high_word_of_a_product_needs_a_wider_dtype_first) {
  run_matrix({.inputs = {lcg_bits(u32, {256}, 45, 0xb047679c), lcg_bits(u32, {256}, 46, 0x0b4a20bc)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array wide = in[0].astype(u64) * in[1];
                return {(wide >> 32).astype(u32), in[0] * in[1], wide};
              },
              .outputs = {exactly("I14.hi", u32), exactly("I14.lo", u32), exactly("I14.w", u64)},
              .launches = 1,
              .independent_axis = -1});
}

}  // namespace
