// Concatenating, padding, rolling, repeating and splitting: cases met in the tests and bug reports of other libraries,
// restated. References: NumPy, and for their neighbours plain loops.
#include "tests/backend/expect.hpp"

#include <algorithm>
#include <functional>

using namespace sinter;
using namespace sinter_test;

namespace {

const range backwards(end, begin, -1);

// tinygrad#15698.
TEST(case_join, views_of_one_array_end_to_end) {
  run_matrix(
      {.inputs = {lcg_integers(i32, {11}, 151, 0, 100, 0xda57439a), lcg_integers(i32, {4, 6}, 152, 0, 100, 0x43c66fa0)},
       .body = [](const std::vector<array>& in) -> std::vector<array> {
         const array a = in[0], m = in[1], t = transpose(m);
         array assigned = a;
         assigned(all) = concat({assigned(range(-3, end)), assigned(range(begin, -3))});
         statement(assigned);
         return {concat({a(range(1, end)), a(range(begin, 1))}),
                 concat({a(backwards), a, a(range(begin, end, 2)), a(range(3, 3))}),
                 concat({m(all, range(3, end)), m(all, range(begin, 3))}, 1) - m, concat({t, t(backwards)}, 1),
                 assigned};
       },
       .outputs = {exactly("C01.r", i32), exactly("C01.s", i32), exactly("C01.t", i32), exactly("C01.u", i32),
                   exactly("C01.a2", i32)},
       .retype = {{i32, i64}}});
}

TEST(case_join, a_rotation_costs_no_launch_of_its_own) {
  run_matrix({.inputs = {lcg_integers(i32, {11}, 151, 0, 100, 0xda57439a)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array a = in[0];
                return {concat({a(range(1, end)), a(range(begin, 1))}) * 1};
              },
              .outputs = {exactly("C01.r", i32)},
              .launches = 1,
              .launches_when_pending = false,
              .retype = {{i32, f32}}});
}

// cvxpy, total variation; the periodic form.
TEST(case_join, energies_of_a_periodic_grid_by_shifted_concats) {
  run_matrix({.inputs = {lcg_reals(f32, {64, 48}, 158, -1, 1, 0xaebab146)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array x = in[0];
                const range first(begin, 1), last(-1, end), but_first(1, end), but_last(begin, -1);
                const array r = concat({x(all, but_first), x(all, first)}, 1), d = concat({x(but_first), x(first)}, 0),
                            l = concat({x(all, last), x(all, but_last)}, 1), u = concat({x(last), x(but_last)}, 0),
                            corner = x(but_last, but_last);
                return {sum(square(r - x) + square(d - x)), sum(abs(r - x)) + sum(abs(d - x)), r + d + l + u - 4 * x,
                        sum(sqrt(square(x(but_first, but_last) - corner) + square(x(but_last, but_first) - corner)))};
              },
              .outputs = {close_to("C06.e", f32, 2e-05, 1e-04), close_to("C06.tv", f32, 2e-05, 1e-04),
                          close_to("C06.lap", f32, 2e-05, 1e-04), close_to("C06.iso", f32, 2e-05, 1e-04)},
              .retype = {{f32, f64}},
              .layouts = few_layouts});
}

// ArrayFire jit.cpp, AllBuffers: more arrays than a launch has parameters.
TEST(case_join, two_hundred_small_arrays) {
  run_matrix({.inputs = {lcg_integers(i32, {200, 7}, 161, 0, 1000, 0xfea061fb)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array x = in[0];
                std::vector<array> pieces, doubled;
                for (int i = 0; i < 200; ++i) {
                  pieces.push_back(x(i, range(1 + i % 7)) + i);
                  doubled.push_back(x(i) * 2);
                }
                return {concat(pieces), stack(doubled, 1)(3)};
              },
              .outputs = {exactly("C09.c", i32), exactly("C09.s", i32)},
              .retype = {{i32, i64}}});
}

// MLX ops_tests.cpp, "test pad"; CuPy padding_tests.
TEST(case_join, ghost_cells_around_a_stencil) {
  run_matrix({.inputs = {lcg_reals(f32, {6, 7}, 165, -1, 1, 0x0cf448a4)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array a = in[0], w = pad(a, 1, pad_mode::wrap);
                const auto padded = [&](pad_mode mode) { return pad(a, {{2, 1}, {1, 3}}, mode); };
                const range inner(1, -1), upper(begin, -2), lower(2, end);
                return {padded(pad_mode::constant), padded(pad_mode::edge), padded(pad_mode::wrap),
                        padded(pad_mode::reflect),
                        w(lower, inner) + w(upper, inner) + w(inner, lower) + w(inner, upper) - 4 * a};
              },
              .outputs = {close_to("C12.c", f32, 2e-06, 1e-06), close_to("C12.e", f32, 2e-06, 1e-06),
                          close_to("C12.w", f32, 2e-06, 1e-06), close_to("C12.r", f32, 2e-06, 1e-06),
                          close_to("C12.lap", f32, 2e-06, 1e-06)},
              .retype = {{f32, f64}}});
}

TEST(case_join, arrays_of_different_dtypes_have_their_common_one) {
  struct row {
    dtype a, b, common;
  };
  const row rows[] = {
      {i8, i32, i32},      {u8, i8, i16},   {u32, i32, i64}, {boolean, u8, u8},          {i64, f32, f32},
      {f16, bf16, f32},    {f32, f64, f64}, {f32, c64, c64}, {f64, c64, c128},           {boolean, c64, c64},
      {i32, boolean, i32}, {u16, f16, f16}, {i16, i16, i16}, {boolean, boolean, boolean}};
  for (const row& r : rows) {
    host_array x(r.a, {3}), y(r.b, {2}), want(r.common, {5}), want_stacked(r.common, {2, 2});
    for (std::int64_t k = 0; k < 5; ++k) {
      const dtype from = k < 3 ? r.a : r.b;
      const value v{static_cast<long double>(from == boolean ? k % 2 : 7 * k + 1), 0};
      (k < 3 ? x : y).set(k < 3 ? k : k - 3, v);
      want.set(k, v);
    }
    want_stacked.set(0, want.get(1));
    want_stacked.set(1, want.get(2));
    want_stacked.set(2, want.get(3));
    want_stacked.set(3, want.get(4));
    const array joined = concat({x.to_device(), y.to_device()}),
                stacked = stack({x.to_device()(range(1, 3)), y.to_device()});
    EXPECT_EQ(joined.type(), r.common) << to_string(r.a) << " with " << to_string(r.b);
    EXPECT_EQ(stacked.type(), r.common) << to_string(r.a) << " with " << to_string(r.b);
    EXPECT_TRUE(equals(joined, want)) << to_string(r.a) << " with " << to_string(r.b);
    EXPECT_TRUE(equals(stacked, want_stacked)) << to_string(r.a) << " with " << to_string(r.b);
  }
  EXPECT_TRUE(throws<type_error>([] { concat({array{std::uint64_t{1}}, array{1}}); }, {"case_join_test.cpp"}));
}

/// Elements at places that `from` computes from the places of the result.
host_array mapped(const host_array& x, const shape& s,
                  const std::function<std::int64_t(const std::vector<std::int64_t>&)>& from) {
  host_array out(x.type, s);
  std::vector<std::int64_t> at(static_cast<std::size_t>(s.rank()));
  for (std::int64_t k = 0; k < s.size(); ++k) {
    std::int64_t rest = k;
    for (int axis = s.rank(); axis-- > 0; rest /= s[axis]) at[static_cast<std::size_t>(axis)] = rest % s[axis];
    if (const std::int64_t place = from(at); place >= 0) out.set(k, x.get(place));
    else out.set(k, {-7, 0});
  }
  return out;
}

/// Where element p of a padded axis of n comes from; -1: nowhere.
std::int64_t padded_from(std::int64_t p, std::int64_t n, pad_mode mode) {
  if (p >= 0 && p < n) return p;
  const auto modulo = [](std::int64_t a, std::int64_t b) { return (a % b + b) % b; };
  switch (mode) {
    case pad_mode::constant:
      return -1;
    case pad_mode::edge:
      return std::clamp<std::int64_t>(p, 0, n - 1);
    case pad_mode::wrap:
      return modulo(p, n);
    case pad_mode::symmetric: {
      const std::int64_t q = modulo(p, 2 * n);
      return q < n ? q : 2 * n - 1 - q;
    }
    case pad_mode::reflect:
      break;
  }
  if (n == 1) return 0;
  const std::int64_t q = modulo(p, 2 * n - 2);
  return q < n ? q : 2 * n - 2 - q;
}

TEST(case_join, every_pad_mode_at_any_width) {
  const pad_mode modes[] = {pad_mode::constant, pad_mode::edge, pad_mode::reflect, pad_mode::symmetric, pad_mode::wrap};
  for (const pad_mode mode : modes)
    for (const shape& s : {shape{4, 3}, shape{1, 5}})
      for (const std::int64_t width : {0, 1, 2, 5, 11}) {
        const host_array h = counting(i32, s);
        const std::int64_t n = s[0], m = s[1];
        const host_array want = mapped(h, {n + width + 1, m + 2 * width}, [&](const auto& at) {
          const std::int64_t i = padded_from(at[0] - width, n, mode), j = padded_from(at[1] - width, m, mode);
          return i < 0 || j < 0 ? -1 : i * m + j;
        });
        const array x = pad(h.to_device(), {{width, 1}, {width, width}}, mode, -7);
        EXPECT_TRUE(equals(x * 1, want)) << static_cast<int>(mode) << " " << to_string(s) << " by " << width;
      }
}

TEST(case_join, rolls_by_any_shift) {
  const shape s{3, 5};
  const host_array h = counting(i32, s);
  const array x = h.to_device();
  const auto modulo = [](std::int64_t a, std::int64_t b) { return (a % b + b) % b; };
  for (const std::int64_t shift : {-11, -5, -1, 0, 1, 2, 3, 5, 17}) {
    EXPECT_TRUE(
        equals(roll(x, shift, 0), mapped(h, s, [&](const auto& at) { return modulo(at[0] - shift, 3) * 5 + at[1]; })))
        << shift;
    EXPECT_TRUE(
        equals(roll(x, shift, -1), mapped(h, s, [&](const auto& at) { return at[0] * 5 + modulo(at[1] - shift, 5); })))
        << shift;
    EXPECT_TRUE(
        equals(roll(x, shift), mapped(h, s, [&](const auto& at) { return modulo(at[0] * 5 + at[1] - shift, 15); })))
        << shift;
    EXPECT_TRUE(
        equals(roll(x, {shift, 1}, {0, 1}),
               mapped(h, s, [&](const auto& at) { return modulo(at[0] - shift, 3) * 5 + modulo(at[1] - 1, 5); })))
        << shift;
  }
}

TEST(case_join, tiles_and_repeats) {
  const host_array h = counting(i32, {2, 3});
  const array x = h.to_device();
  EXPECT_TRUE(equals(tile(x, {3, 2}), mapped(h, {6, 6}, [](const auto& at) { return at[0] % 2 * 3 + at[1] % 3; })));
  EXPECT_TRUE(equals(tile(x, {2}), mapped(h, {2, 6}, [](const auto& at) { return at[0] * 3 + at[1] % 3; })));
  EXPECT_TRUE(equals(tile(x, {2, 1, 1}), mapped(h, {2, 2, 3}, [](const auto& at) { return at[1] * 3 + at[2]; })));
  EXPECT_TRUE(equals(tile(x, {0, 1}), host_array(i32, {0, 3})));
  EXPECT_TRUE(equals(repeat(x, 3, 1), mapped(h, {2, 9}, [](const auto& at) { return at[0] * 3 + at[1] / 3; })));
  EXPECT_TRUE(equals(repeat(x, 2, 0), mapped(h, {4, 3}, [](const auto& at) { return at[0] / 2 * 3 + at[1]; })));
  EXPECT_TRUE(equals(repeat(x, 2), mapped(h, {12}, [](const auto& at) { return at[0] / 2; })));
  const std::vector<std::int64_t> times{2, 0, 3}, from{0, 0, 2, 2, 2};
  EXPECT_TRUE(equals(repeat(x, times, 1), picked(h, 1, from)));
}

TEST(case_join, stacks_in_every_direction) {
  const host_array h = counting(i32, {2, 3}), g = counting(i32, {3});
  const array x = h.to_device(), y = x + 0, v = g.to_device();
  EXPECT_TRUE(equals(stack({x, y}), mapped(h, {2, 2, 3}, [](const auto& at) { return at[1] * 3 + at[2]; })));
  EXPECT_TRUE(equals(stack({x, y}, 1), mapped(h, {2, 2, 3}, [](const auto& at) { return at[0] * 3 + at[2]; })));
  EXPECT_TRUE(equals(stack({x, y}, -1), mapped(h, {2, 3, 2}, [](const auto& at) { return at[0] * 3 + at[1]; })));
  EXPECT_TRUE(equals(hstack({x, y}), mapped(h, {2, 6}, [](const auto& at) { return at[0] * 3 + at[1] % 3; })));
  EXPECT_TRUE(equals(hstack({v, v}), mapped(g, {6}, [](const auto& at) { return at[0] % 3; })));
  EXPECT_TRUE(equals(vstack({x, v}), mapped(h, {3, 3}, [](const auto& at) { return at[0] % 2 * 3 + at[1]; })));
  EXPECT_TRUE(equals(vstack({v, v}), mapped(g, {2, 3}, [](const auto& at) { return at[1]; })));
  EXPECT_TRUE(equals(dstack({x, y}), mapped(h, {2, 3, 2}, [](const auto& at) { return at[0] * 3 + at[1]; })));
  EXPECT_TRUE(equals(dstack({v, v}), mapped(g, {1, 3, 2}, [](const auto& at) { return at[1]; })));
  EXPECT_TRUE(equals(concat({x, x(range(0, 0)), y}, -2),
                     mapped(h, {4, 3}, [](const auto& at) { return at[0] % 2 * 3 + at[1]; })));
  EXPECT_TRUE(equals(concat({x}), h));
}

TEST(case_join, splits_concatenated_are_the_array) {
  const host_array h = counting(i32, {7, 6});
  const array x = h.to_device();
  const std::vector<std::int64_t> positions{2, 2, -1};
  for (const std::vector<array>& parts :
       {split(x, 3, 1), split(x, positions, 0), split(x, positions, 1), array_split(x, 4, 0), array_split(x, 9, 0)}) {
    const int axis = parts[0].extent(0) == 7 ? 1 : 0;
    EXPECT_TRUE(equals(concat(parts, axis), h)) << parts.size();
  }
  const std::vector<array> uneven = array_split(x, 4, 0), cut = split(x, positions, 0);
  ASSERT_EQ(uneven.size(), 4u);
  for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(uneven[k].extent(0), k < 3 ? 2 : 1);
  ASSERT_EQ(cut.size(), 4u);
  EXPECT_EQ(cut[1].extent(0), 0);
  EXPECT_TRUE(equals(cut[2], picked(h, 0, {2, 3, 4, 5})));
  EXPECT_TRUE(throws<shape_error>([&] { split(x, 4, 0); }, {"case_join_test.cpp"}));
}

TEST(case_join, joins_of_joins_and_of_pending_parts_and_writes_through_them) {
  run_matrix({.inputs = {counting(i32, {4}), counting(i32, {3})},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array a = in[0] * 2, b = in[1] + 1;
                array j = concat({concat({a, b}), concat({b, a(backwards)})});
                statement(j);
                j(range(2, 6)) += j(range(5, 9));
                statement(j);
                j = concat({j(range(7, end)), j(range(begin, 7))}) * 10;
                statement(j);
                return {j};
              },
              // [0 2 4 6 1 2 3 1 2 3 6 4 2 0], then + [2 3 1 2] from place 2.
              .outputs = {exactly(host_array(std::vector<std::int32_t>{10, 20, 30, 60, 40, 20, 0,  //
                                                                       0, 20, 60, 90, 20, 40, 30}))},
              .retype = {{i32, i64}}});
}

TEST(case_join, what_does_not_fit_is_refused_at_its_line) {
  const array x = zeros({2, 3}), y = zeros({2, 4}), v = zeros({3});
  const char* here = "case_join_test.cpp";
  EXPECT_TRUE(throws<shape_error>([&] { concat({x, y}); }, {"[2, 3]", "[2, 4]", here}));
  EXPECT_TRUE(throws<shape_error>([&] { concat({x, v}, 1); }, {here}));
  EXPECT_TRUE(throws<shape_error>([&] { concat({x, x}, 2); }, {"2", here}));
  EXPECT_TRUE(throws<shape_error>([&] { stack({x, y}); }, {"[2, 3]", "[2, 4]", here}));
  EXPECT_TRUE(throws<shape_error>([&] { concat(std::vector<array>{}); }, {here}));
  EXPECT_TRUE(throws<shape_error>([&] { concat({array(scalar(1.0))}); }, {here}));
  EXPECT_TRUE(throws<shape_error>([&] { pad(x, -1); }, {here}));
  EXPECT_TRUE(throws<shape_error>([&] { pad(x, {{1, 1}, {1, 1}, {1, 1}}); }, {here}));
  EXPECT_TRUE(throws<shape_error>([&] { pad(zeros({0, 2}), 1, pad_mode::edge); }, {here}));
  EXPECT_TRUE(throws<shape_error>([&] { roll(x, 1, 2); }, {here}));
}

}  // namespace
