// Reading at index arrays: cases met in the tests and bug reports of other libraries, restated. References: NumPy.
#include "tests/backend/expect.hpp"

using namespace sinter;
using namespace sinter_test;

namespace {

// array-api-tests, test_take; MLX, "test take". The data is longer than small index dtypes can address.
TEST(case_gather, negative_repeated_and_unsorted_indices_of_every_integer_dtype) {
  run_matrix(
      {.inputs = {lcg_reals(f32, {300, 4}, 121, -1, 1, 0x7b1374c6),
                  checked(host_array(std::vector<std::int8_t>{-1, 0, 5, 5, -128, 127}), 0x9f2acc50),
                  checked(host_array(std::vector<std::uint8_t>{255, 0, 200}), 0xd466a77d),
                  checked(host_array(std::vector<std::int32_t>{-300, 299, -1, 7, 7}), 0xe7b437cc),
                  checked(host_array(std::vector<std::uint32_t>{299, 0, 3}), 0xc14dc9b7),
                  checked(host_array(std::vector<std::int64_t>{-2, 250}), 0xbb165f7c)},
       .body = [](const std::vector<array>& in) -> std::vector<array> {
         const array x = in[0];
         return {x(in[1]), x(in[2]), x(in[3]), x(in[4], 1), x(in[5])(all, array{3, -1, 0})};
       },
       .outputs = {close_to("G02.a", f32, 1e-07, 0), close_to("G02.b", f32, 1e-07, 0), close_to("G02.c", f32, 1e-07, 0),
                   close_to("G02.d", f32, 1e-07, 0), close_to("G02.e", f32, 1e-07, 0)},
       .launches = 1,
       .retype = {{f32, f64}}});
}

TEST(case_gather, any_number_of_rows) {
  run_matrix({.inputs = {lcg_reals(f32, {300, 4}, 121, -1, 1, 0x7b1374c6),
                         checked(host_array(std::vector<std::int32_t>{-300, 299, -1, 7, 7}), 0xe7b437cc)},
              .body = [](const std::vector<array>& in) -> std::vector<array> { return {take(in[0], in[1], 0)}; },
              .outputs = {close_to("G02.c", f32, 1e-07, 0)},
              .launches = 1,
              .independent_axis = 0,
              .tables = {0},
              .retype = {{i32, i16}}});
}

// CuPy core_tests/test_ndarray_adv_indexing.py, TestArrayAdvancedIndexingOverflow.
TEST(case_gather, offsets_are_wider_than_small_index_dtypes) {
  matrix_case c{
      .inputs = {checked(counting(i64, {9, 16}), 0x1c7ed8b5), checked(counting(i64, {17, 16}), 0x51cdacec),
                 checked(counting(i64, {129, 256}), 0xbd30fcbc), checked(counting(i64, {257, 256}), 0x9f2b66ec),
                 host_array(std::vector<std::int8_t>{8}), host_array(std::vector<std::int8_t>{1}),
                 host_array(std::vector<std::uint8_t>{16}), host_array(std::vector<std::uint8_t>{1}),
                 host_array(std::vector<std::int16_t>{128}), host_array(std::vector<std::int16_t>{1}),
                 host_array(std::vector<std::uint16_t>{256}), host_array(std::vector<std::uint16_t>{1})},
      .body =
          [](const std::vector<array>& in) {
            std::vector<array> out;
            for (std::size_t k = 0; k < 4; ++k) out.push_back(in[k](in[4 + 2 * k], in[5 + 2 * k]));
            return out;
          },
      .launches = 1};
  const host_array want = reference("G03.r");
  for (std::int64_t k = 0; k < 4; ++k) c.outputs.push_back(exactly(picked(want, 0, {k})));
  run_matrix(c);
}

// tinygrad#15698, warp_gather; drjit test_resample.py.
TEST(case_gather, bilinear_samples_at_computed_positions) {
  run_matrix(
      {.inputs = {lcg_reals(f32, {20, 30}, 126, -1, 1, 0x358555ec), lcg_reals(f32, {400}, 127, -1, 20, 0xdf262d5d),
                  lcg_reals(f32, {400}, 128, -1, 30, 0x97eb7690)},
       .body = [](const std::vector<array>& in) -> std::vector<array> {
         const array im = in[0], y0 = floor(in[1]), x0 = floor(in[2]), fy = in[1] - y0, fx = in[2] - x0;
         const auto within = [](const array& v, std::int64_t n) { return clip(v.astype(i64), 0, n - 1); };
         const array a = within(y0, 20), b = within(y0 + 1, 20), c = within(x0, 30), d = within(x0 + 1, 30);
         return {(im(a, c) * (1 - fx) + im(a, d) * fx) * (1 - fy) + (im(b, c) * (1 - fx) + im(b, d) * fx) * fy};
       },
       .outputs = {close_to("G11.r", f32, 2e-05, 1e-05)},
       .launches = 1,
       .independent_axis = -1,
       .tables = {0},
       .retype = {{f32, f64}}});
}

// NPBench stockham_fft; drjit-core 14_tile, 15_repeat.
TEST(case_gather, a_permutation_computed_from_positions_fuses) {
  run_matrix({.inputs = {lcg_integers(i32, {1024}, 131, 0, 5000, 0xf2b842c9)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array i = arange(0, 1024, 1, u32);
                return {in[0]((7 * i + 3) % 1024) * in[0](1023 - i)};
              },
              .outputs = {exactly("G14.p", i32)},
              .launches = 1,
              .retype = {{i32, i64}}});
}

TEST(case_gather, positions_with_reversed_bits_applied_twice_are_the_positions) {
  run_matrix({.inputs = {lcg_integers(i32, {1024}, 131, 0, 5000, 0xf2b842c9)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array rest = arange(0, 1024, 1, u32), turned = zeros({1024}, u32);
                for (int k = 0; k < 10; ++k) {
                  turned = (turned << 1) | (rest & 1);
                  rest = rest >> 1;
                }
                const array x = in[0];
                return {x(turned) - x(turned)(turned)};
              },
              .outputs = {exactly("G14.q", i32)},
              .retype = {{i32, i16}}});
}

// drjit tests/test_while_loop.py, test26_gather; the loop is unrolled by the host.
TEST(case_gather, a_sum_of_gathers_until_a_bound) {
  run_matrix({.inputs = {checked(host_array(std::vector<std::int32_t>{1, 2, 3}), 0xb0e02293)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array x = zeros({2}, i32), i = array{0, 1};
                for (int k = 0; k < 3; ++k) {
                  const array live = i < 3;
                  x = where(live, x + in[0](where(live, i, 0)), x);
                  i = where(live, i + 1, i);
                }
                return {x};
              },
              .outputs = {exactly("G15.x", i32)},
              .retype = {{i32, i64}}});
}

TEST(case_gather, chased_pointers) {
  run_matrix({.inputs = {lcg_permutation(64, 132, 0x21e1e331), lcg_integers(i32, {64}, 133, 0, 20, 0xf9696c09)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array p = arange(64);
                for (int t = 0; t < 20; ++t) p = where(t < in[1], in[0](p), p);
                return {p};
              },
              .outputs = {exactly("G15.p", i64)},
              .retype = {{i32, i8}}});
}

}  // namespace
