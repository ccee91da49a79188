// Arrays padded, rolled, repeated and split, against loops that copy element by element.
#include "tests/backend/plain_join.hpp"

using namespace sinter;
using namespace sinter_test;

namespace {

TEST(pad, every_mode_rank_and_width) {
  const std::vector<pad_width> widths[] = {
      {}, {{2, 3}}, {{1, 0}, {0, 4}}, {{0, 2}, {3, 1}, {1, 1}}, {{1, 1}, {0, 0}, {2, 1}, {1, 0}}};
  for (const shape& s :
       {shape{}, shape{1}, shape{2}, shape{5}, shape{1, 4}, shape{3, 2}, shape{2, 1, 3}, shape{2, 3, 1, 2}}) {
    const host_array x = numbered(s);
    const array a = x.to_device();
    const std::vector<pad_width>& w = widths[s.rank()];
    const std::span<const pad_width> given(w);
    for (const pad_mode mode : periodic_modes)
      EXPECT_TRUE(equals(pad(a, given, mode), padded_plainly(x, w, mode)))
          << "mode " << static_cast<int>(mode) << ", shape " << to_string(s);
    const array constant = pad(a, given, pad_mode::constant, -7);
    EXPECT_TRUE(equals(constant, padded_plainly(x, w, value{-7, 0}))) << to_string(s);
    EXPECT_LE(launches_of(pad(a + 1, given, pad_mode::constant, 3) * 2), 1u) << to_string(s);
  }
}

TEST(pad, widths_of_many_periods) {
  for (const std::int64_t n : {1, 2, 3, 7})
    for (const pad_width w : {pad_width{9, 10}, pad_width{0, 31}, pad_width{47, 0}, pad_width{200, 333}})
      for (const pad_mode mode : periodic_modes) {
        const host_array x = numbered({n});
        const array wide = pad(x.to_device(), {w}, mode);
        EXPECT_EQ(launches_of(wide), 1u);
        EXPECT_TRUE(equals(wide, padded_plainly(x, {w}, mode)))
            << n << " elements, " << w.before << " before, " << w.after << " after, mode " << static_cast<int>(mode);
      }
}

// The pieces of several axes multiply: some of these axes are joins, others gathers.
TEST(pad, many_axes_at_once) {
  const host_array x = numbered({3, 2, 4});
  for (const std::int64_t width : {1, 2, 5, 12})
    for (const pad_mode mode : periodic_modes)
      EXPECT_TRUE(
          equals(pad(x.to_device(), width, mode), padded_plainly(x, std::vector<pad_width>(3, {width, width}), mode)))
          << "width " << width << ", mode " << static_cast<int>(mode);
}

TEST(pad, values_of_every_kind) {
  const host_array x(std::vector<float>{1, 2, 3});
  const array a = x.to_device(), lazy = sum(a) / 4;
  EXPECT_TRUE(equals(pad(a, {{2, 1}}, pad_mode::constant, lazy), padded_plainly(x, {{2, 1}}, value{1.5L, 0})));
  EXPECT_TRUE(equals(pad(a, {{2, 1}}, pad_mode::constant, array(2.5)), padded_plainly(x, {{2, 1}}, value{2.5L, 0})));
  EXPECT_TRUE(equals(pad(a, 1, pad_mode::constant, a(1)), padded_plainly(x, {{1, 1}}, value{2, 0})));
  const array narrow = pad(a.astype(u8), 1, pad_mode::constant, zeros({}, u16) + 258);  // wraps, as astype does
  EXPECT_TRUE(equals(narrow, padded_plainly(converted(x, u8), {{1, 1}}, value{2, 0})));
  const array truth = pad(a > 1, 1, pad_mode::constant, true);
  EXPECT_TRUE(equals(truth, booleans({1, 0, 1, 1, 1}, {5})));
}

/// x(i - 1) + x(i + 1) - 2 x(i) down the columns, the edge rows counting twice.
host_array second_difference(const host_array& x) {
  const std::int64_t rows = x.extents[0], columns = x.extents[1];
  host_array out(x.type, x.extents);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      const auto at = [&](std::int64_t r) { return x.get(std::clamp(r, std::int64_t{0}, rows - 1) * columns + j).re; };
      out.set(i * columns + j, {at(i - 1) + at(i + 1) - 2 * at(i), 0});
    }
  return out;
}

TEST(pad, feeds_stencils_and_reductions) {
  const host_array x = numbered({5, 6});
  run_matrix({.inputs = {x},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array p = pad(in[0], {{1, 1}, {0, 0}}, pad_mode::edge);
                return {p(range(0, -2)) + p(range(2, end)) - 2 * p(range(1, -1))};
              },
              .outputs = {exactly(second_difference(x))},
              .retype = {{i32, f64}}});
  const host_array padded = padded_plainly(x, {{0, 2}, {1, 0}}, value{5, 0});
  host_array sums(i64, {7});
  for (std::int64_t k = 0; k < padded.size(); ++k) sums.set(k % 7, {sums.get(k % 7).re + padded.get(k).re, 0});
  EXPECT_TRUE(equals(sum(pad(x.to_device(), {{0, 2}, {1, 0}}, pad_mode::constant, 5), 0), sums));
}

TEST(roll, every_axis_and_shift) {
  for (const shape& s : {shape{1}, shape{5}, shape{3, 4}, shape{2, 1, 3}, shape{2, 3, 2, 2}}) {
    const host_array x = numbered(s), flat = reshaped(x, {x.size()});
    const array a = x.to_device();
    for (const std::int64_t shift : {-7, -1, 0, 1, 2, 5, 100}) {
      for (int axis = 0; axis < s.rank(); ++axis) {
        EXPECT_TRUE(equals(roll(a, shift, axis), rolled_plainly(x, shift, axis))) << to_string(s) << " by " << shift;
        EXPECT_TRUE(equals(roll(a, shift, axis - s.rank()), rolled_plainly(x, shift, axis)));
      }
      EXPECT_TRUE(equals(roll(a, shift), reshaped(rolled_plainly(flat, shift, 0), s))) << to_string(s);
    }
  }
  const host_array x = numbered({4, 5});
  const array both = roll(x.to_device(), {1, -2}, {0, 1});
  EXPECT_EQ(launches_of(both), 1u);
  EXPECT_TRUE(equals(both, rolled_plainly(rolled_plainly(x, 1, 0), -2, 1)));
  EXPECT_TRUE(equals(roll(x.to_device(), {1, 2, 3}, {1, 0, 1}), rolled_plainly(rolled_plainly(x, 4, 1), 2, 0)));
  EXPECT_EQ(roll(array(2.5), 3).item<double>(), 2.5);
}

// A step of a cellular automaton: eight neighbours of a torus.
TEST(roll, neighbours_on_a_torus_are_one_launch) {
  const host_array x = numbered({6, 7});
  const array a = x.to_device();
  array neighbours = -a;
  for (const int i : {-1, 0, 1})
    for (const int j : {-1, 0, 1}) neighbours = neighbours + roll(a, {i, j}, {0, 1});
  EXPECT_EQ(launches_of(neighbours), 1u);
  host_array want(i32, x.extents);
  for (std::int64_t k = 0; k < x.size(); ++k) {
    long double total = -x.get(k).re;
    for (const std::int64_t i : {5, 6, 7})
      for (const std::int64_t j : {6, 7, 8}) total += x.get((k / 7 + i) % 6 * 7 + (k % 7 + j) % 7).re;
    want.set(k, {total, 0});
  }
  EXPECT_TRUE(equals(neighbours, want));
}

TEST(repeat, tile_and_repeat_against_loops) {
  for (const shape& s : {shape{3}, shape{1}, shape{2, 3}, shape{2, 1, 3}, shape{2, 3, 1, 2}}) {
    const host_array x = numbered(s);
    const array a = x.to_device(), lazy = transpose(transpose(a) + 0);
    const int last = s.rank() - 1;
    EXPECT_TRUE(equals(tile(a, {3}), joined_plainly({x, x, x}, last, i32))) << to_string(s);
    EXPECT_TRUE(equals(tile(lazy, {3}), joined_plainly({x, x, x}, last, i32))) << to_string(s);
    for (int axis = 0; axis < s.rank(); ++axis) {
      positions each, own;
      std::vector<std::int64_t> counts;
      for (std::int64_t k = 0; k < s[axis]; ++k) {
        each.insert(each.end(), 2, k);
        counts.push_back(k * 2 % 3);
        own.insert(own.end(), static_cast<std::size_t>(counts.back()), k);
      }
      for (const array& source : {a, lazy}) {
        EXPECT_TRUE(equals(repeat(source, 2, axis), picked(x, axis, each))) << to_string(s) << " along " << axis;
        EXPECT_TRUE(equals(repeat(source, counts, axis), picked(x, axis, own))) << to_string(s) << " along " << axis;
      }
    }
  }
  const host_array x = numbered({2, 3});
  const host_array wide = joined_plainly({x, x}, 1, i32), high = joined_plainly({wide, wide, wide}, 0, i32);
  const array tiled = tile(x.to_device(), {3, 2}) + 0;
  EXPECT_EQ(launches_of(tiled), 1u);
  EXPECT_TRUE(equals(tiled, high));
  EXPECT_TRUE(equals(tile(x.to_device(), {2, 3, 2}), reshaped(joined_plainly({high, high}, 0, i32), {2, 6, 6})));
  EXPECT_TRUE(equals(tile(array(4), {2, 2}), host_array(positions(4, 4), {2, 2})));
  EXPECT_TRUE(equals(repeat(array(4), 3), positions{4, 4, 4}));
}

TEST(repeat, arrays_of_sixteen_axes_have_no_room_for_another) {
  shape s;
  for (int k = 0; k < 16; ++k) s.append(k == 2 || k == 9 || k == 15 ? 2 : 1);
  const host_array x = numbered(s);
  const array a = x.to_device();
  const host_array twice = joined_plainly({x, x}, 9, i32);
  EXPECT_TRUE(equals(repeat(a, 3, 9), picked(x, 9, {0, 0, 0, 1, 1, 1})));
  EXPECT_TRUE(equals(repeat(a + 0, 3, 15), picked(x, 15, {0, 0, 0, 1, 1, 1})));
  EXPECT_TRUE(equals(tile(a, {2, 1, 1, 1, 1, 1, 1}), twice));
  EXPECT_TRUE(equals(tile(a, {2, 1, 1, 1, 1, 1, 3}), joined_plainly({twice, twice, twice}, 15, i32)));
}

TEST(split, parts_join_to_the_whole) {
  for (const shape& s : {shape{6}, shape{0}, shape{2, 6}, shape{3, 1, 6}}) {
    const host_array x = numbered(s);
    const array a = x.to_device() + 0;
    const std::vector<array> thirds = split(a, 3, -1), uneven = array_split(a, 4, -1);
    const std::vector<array> at = split(a, positions{-4, 3, 5}, -1);
    for (const std::vector<array>& parts : {thirds, uneven, at}) EXPECT_TRUE(equals(concat(parts, -1), x));
    if (s[s.rank() - 1] == 0) continue;
    const int last = s.rank() - 1;
    EXPECT_TRUE(equals(thirds[1], picked(x, last, {2, 3})));
    EXPECT_TRUE(equals(uneven[1], picked(x, last, {2, 3})));
    EXPECT_TRUE(equals(uneven[3], picked(x, last, {5})));
    EXPECT_TRUE(equals(at[1] * 1, picked(x, last, {2})));
    EXPECT_TRUE(equals(at[2], picked(x, last, {3, 4})));
  }
}

TEST(split, halves_swap_in_one_launch) {
  const host_array x = counting(f32, {8, 3});
  run_matrix({.inputs = {x},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const std::vector<array> halves = split(in[0], 2);
                return {concat({halves[1], halves[0]}) * 2};
              },
              .outputs = {exactly([&] {
                host_array out = rolled_plainly(x, 4, 0);
                for (std::int64_t k = 0; k < out.size(); ++k) out.set(k, {out.get(k).re * 2, 0});
                return out;
              }())},
              .launches = 1,
              .launches_when_pending = false,
              .retype = {{f32, i16}}});
}

// Found by the fuzzer: pieces inside pieces that no element of the outer ones ever reads.
TEST(roll, of_rolled_reshaped_padded_pieces_is_what_the_steps_one_by_one_give) {
  const host_array x = counting(u64, {9, 5});
  const auto steps = [&](bool each) {
    array v = pad(x.to_device(), {{1, 2}, {0, 1}}, pad_mode::symmetric);
    if (each) eval(v);
    v = reshape(v, {3, 12, 2});
    v = roll(v, {7, -3}, {0, 1});
    if (each) eval(v);
    v = roll(roll(v, -4), -1);
    return from_device(v);
  };
  EXPECT_EQ(difference(steps(false), steps(true)), "");
}

}  // namespace
