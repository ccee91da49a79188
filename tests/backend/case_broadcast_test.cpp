// Broadcasting and reading through views: cases met in the tests and bug reports of other libraries, restated.
// References: NumPy.
#include "tests/backend/expect.hpp"

using namespace sinter;
using namespace sinter_test;

namespace {

// drjit tests/test_tensor.py, test09_broadcast.
TEST(case_broadcast, every_small_shape_with_each_axis_collapsed) {
  const host_array x = checked(counting(u32, {27}), 0x80e30068), want = reference("B01.r");
  for (const layout way : {layout::evaluated, layout::times_one, layout::reversed}) {
    const array a = laid_out(x, way, 0), b = laid_out(x, way, 1);
    std::vector<array> out;
    for (std::int64_t i = 1; i <= 3; ++i)
      for (std::int64_t j = 1; j <= 3; ++j)
        for (std::int64_t k = 1; k <= 3; ++k)
          for (int collapsed = 0; collapsed < 3; ++collapsed) {
            const shape full{i, j, k};
            shape other = full;
            other[collapsed] = 1;
            out.push_back(reshape(a(range(0, full.size())), full) + reshape(b(range(0, other.size())), other));
          }
    eval_all(out);
    std::int64_t at = 0;
    for (const array& sum : out) {
      std::vector<std::int64_t> part;
      while (static_cast<std::int64_t>(part.size()) < sum.size()) part.push_back(at++);
      EXPECT_TRUE(equals(sum, reshaped(picked(want, 0, part), sum.extents())))
          << to_string(way) << " up to element " << at;
    }
  }
}

// MLX ops_tests, "test broadcast".
TEST(case_broadcast, a_table_of_shapes_that_broadcast_and_that_are_refused) {
  const std::pair<shape, shape> pairs[] = {
      {{1}, {1, 2}},       {{1, 2}, {1}},    {{2, 2}, {}},           {{}, {1, 1}},
      {{1, 2, 1}, {2}},    {{2}, {1, 2, 1}}, {{2, 2, 2}, {1, 2, 1}}, {{2, 2, 2, 1}, {1, 2, 1}},
      {{0}, {0, 0}},       {{}, {0}},        {{5, 0}, {0, 5, 0}},    {{1}, {0}},
      {{1}, {0, 0}},       {{1, 1}, {0}},    {{2, 1}, {1, 0}},       {{2, 1}, {2, 0}},
      {{2, 1}, {1, 2, 0}}, {{2}, {0}},       {{2, 1}, {0, 0}},       {{3}, {2}},
      {{1, 3}, {2}},       {{3}, {1, 2}},    {{1, 3, 2}, {1, 2, 2}}, {{3, 2}, {3}}};
  const host_array want = reference("B02.t");
  ASSERT_EQ(want.extents[0], std::ssize(pairs));
  for (std::int64_t k = 0; k < want.extents[0]; ++k) {
    const auto& [p, q] = pairs[k];
    SCOPED_TRACE(to_string(p) + " + " + to_string(q));
    const array a = full(p, 1.5f, f32), b = full(q, 2, f32);
    const auto rank = static_cast<int>(want.get(k * 5).re);
    if (rank < 0) {
      EXPECT_TRUE(throws<shape_error>([&] { a + b; }, {to_string(p), to_string(q), "case_broadcast_test.cpp"}));
      continue;
    }
    shape extents;
    for (int axis = 0; axis < rank; ++axis) extents.append(static_cast<std::int64_t>(want.get(k * 5 + 1 + axis).re));
    const array sum = a + b;
    EXPECT_EQ(to_string(sum.extents()), to_string(extents));
    const statistics added = counted([&] { eval(sum); });
    if (extents.size() == 0) { EXPECT_EQ(added.launches + added.compiles, 0u); }
    EXPECT_TRUE(equals(sum, host_array(std::vector<float>(static_cast<std::size_t>(extents.size()), 3.5f), extents)));
  }
}

// ArrayFire jit.cpp, NonLinearLargeY and NonLinearLargeX: past 65535 blocks.
TEST(case_broadcast, tall_and_wide_results) {
  const array a = lcg_reals(f32, {2}, 57, -1, 1, 0x7947a933).to_device();
  const array b = lcg_reals(f32, {3145728}, 58, -1, 1, 0x3c0bef52).to_device();
  const array c = a(all, newaxis) + b(newaxis, all);
  const array r = b(range(1024000), newaxis, newaxis) - ones({1, 1, 3}, f32);
  const tolerance sums{1e-4, 5, false}, samples{1e-6, 1e-6, false};
  const auto check = [&](const char* when) {
    SCOPED_TRACE(when);
    EXPECT_TRUE(equals(c(all, range(begin, end, 100003)), reference("B08.k"), samples));
    EXPECT_TRUE(equals(r(range(begin, end, 100003), 0, all), reference("B08.k2"), samples));
    EXPECT_TRUE(equals(sum(c, 1), reference("B08.s"), sums));
    EXPECT_TRUE(equals(sum(r, {0, 1}), reference("B08.s2"), sums));
  };
  check("while pending");
  EXPECT_EQ(counted([&] { eval(c, r); }).launches, 2u);
  check("once computed");
}

// drjit test10_inplace; numpy/numpy#2705.
TEST(case_broadcast, compound_assignment_broadcasts_its_right_side) {
  run_matrix({.inputs = {lcg_reals(f32, {2, 3}, 59, -1, 1, 0x2236d43b), lcg_reals(f32, {3}, 60, -1, 1, 0x3ea62b75),
                         lcg_reals(f32, {2, 1}, 61, -1, 1, 0xc019dfee)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array a = in[0];
                a += in[1];
                a *= in[2];
                a -= a(0);
                return {a};
              },
              .outputs = {close_to("B09.a", f32, 2e-06, 1e-06)},
              .launches = 1,
              .independent_axis = -1,
              .retype = {{f32, f64}}});
}

TEST(case_broadcast, compound_assignment_never_grows_its_left_side) {
  const auto add = [](const shape& left, const shape& right) {
    return throws<shape_error>(
        [&] {
          array a = ones(left, f32);
          a += ones(right, f32);
        },
        {to_string(left), to_string(right)});
  };
  EXPECT_TRUE(add({3}, {2, 3}));
  EXPECT_TRUE(add({1, 3}, {2, 3}));
  EXPECT_TRUE(add({2, 3}, {2}));
}

// MLX ops_tests, "test where": the 4- and 5-dimensional ways.
TEST(case_broadcast, where_of_three_operands_of_other_ranks) {
  const auto numbers = [](std::vector<std::int32_t> values, const shape& extents, std::uint32_t checksum) {
    return checked(host_array(values, extents), checksum);
  };
  const program choose = [](const std::vector<array>& in) -> std::vector<array> {
    return {where(in[0], in[1], in[2])};
  };
  run_matrix({.inputs = {checked(booleans({0}, {1}), 0xd202ef8d), numbers({1, 2}, {2, 1, 1, 1}, 0x0381177c),
                         numbers({3, 4}, {1, 1, 2, 1}, 0x64cf4fdd)},
              .body = choose,
              .outputs = {exactly("B10.a", i32)},
              .launches = 1,
              .retype = {{i32, i64}}});
  run_matrix(
      {.inputs = {checked(booleans({1, 0}, {2, 1, 1, 1, 1}), 0x58c223be),
                  numbers({1, 2, 3, 4}, {2, 1, 1, 1, 2}, 0xaf05d4ef), numbers({11, 22}, {1, 1, 2, 1, 1}, 0x4d3acb7c)},
       .body = choose,
       .outputs = {exactly("B10.b", i32)},
       .launches = 1,
       .retype = {{i32, f64}}});
  run_matrix({.inputs = {checked(booleans({1, 0}, {2, 1, 1}), 0x58c223be), numbers({1, 2, 3, 4}, {2, 1, 2}, 0xaf05d4ef),
                         numbers({11, 22, 33, 44}, {2, 2, 1}, 0x8a7d5aba)},
              .body = choose,
              .outputs = {exactly("B10.c", i32)},
              .launches = 1,
              .retype = {{i32, u8}}});
}

// NumPy's idiom a.ravel()[::n + 1]; MLX, "test diagonal".
TEST(case_broadcast, a_diagonal_is_a_step_through_the_flattened_array) {
  host_array filled(f32, {9, 7});
  std::vector<float> steps;
  for (std::int64_t k = 0; k < 63; ++k) filled.set(k, {static_cast<long double>(k) * 0.5L, 0});
  for (int k = 0; k < 63; k += 8) steps.push_back(static_cast<float>(k));
  run_matrix({.inputs = {lcg_reals(f32, {7, 7}, 81, -1, 1, 0xfd5cd5d9)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                return {ravel(in[0])(range(begin, end, 8)) * 2};
              },
              .outputs = {close_to("S10.d", f32, 1e-06, 1e-06)},
              .launches = 1,
              .retype = {{f32, f64}},
              .other_inputs = {filled},
              .other_outputs = {exactly(host_array(steps))}});
}

// ml-explore/mlx#3716: of a negative-strided read inside a compiled kernel only one element was right.
TEST(case_broadcast, negative_strides_read_every_element) {
  const host_array x = checked(counting(f32, {6}), 0x91e79017), m = lcg_reals(f32, {5, 7}, 72, -1, 1, 0xaf5bdc6e);
  host_array doubled(f32, {6}), turned(f32, {5, 7}), stepped(f32, {5, 4});
  for (std::int64_t k = 0; k < 6; ++k) doubled.set(k, {2 * x.get(5 - k).re, 0});
  const auto at = [&](std::int64_t i, std::int64_t j) { return static_cast<float>(m.get(i * 7 + j).re); };
  for (std::int64_t i = 0; i < 5; ++i)
    for (std::int64_t j = 0; j < 7; ++j) turned.set(i * 7 + j, {at(4 - i, 6 - j) + 1.f, 0});
  for (std::int64_t i = 0; i < 5; ++i)
    for (std::int64_t j = 0; j < 4; ++j) stepped.set(i * 4 + j, {at(4 - i, 6 - 2 * j) * 3.f, 0});
  run_matrix({.inputs = {x, m},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array reversed = in[0](range(end, begin, -1)), u = in[1](range(end, begin, -1), all);
                return {2 * reversed, u(all, range(end, begin, -1)) + 1, u(all, range(end, begin, -2)) * 3};
              },
              .outputs = {exactly(doubled), exactly(turned), exactly(stepped)},
              .launches = 1});
}

}  // namespace
