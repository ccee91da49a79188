// Arrays put together, against loops that copy element by element.
#include "tests/backend/plain_join.hpp"

#include <cmath>

using namespace sinter;
using namespace sinter_test;

namespace {

const range backwards(end, begin, -1);

TEST(join, concat_of_every_rank_axis_and_number) {
  lcg numbers(71);
  for (int rank = 1; rank <= 4; ++rank)
    for (int axis = -rank; axis < rank; ++axis)
      for (int count = 1; count <= 5; ++count) {
        shape extents;
        for (int k = 0; k < rank; ++k) extents.append(1 + static_cast<std::int64_t>(numbers.below(4)));
        const int along = axis < 0 ? axis + rank : axis;
        std::vector<host_array> pieces;
        for (int k = 0; k < count; ++k) {
          extents[along] = static_cast<std::int64_t>(numbers.below(4));  // 0 among them
          pieces.push_back(numbered(extents, k));
        }
        EXPECT_TRUE(equals(concat(to_devices(pieces), axis), joined_plainly(pieces, along, i32)))
            << count << " arrays along axis " << axis << " of rank " << rank;
      }
}

TEST(join, concat_converts_to_the_common_dtype) {
  const std::pair<std::vector<dtype>, dtype> rules[] = {
      {{i8, u8}, i16},   {{boolean, i32}, i32}, {{i64, f32}, f32},         {{f16, bf16}, f32},
      {{f32, c64}, c64}, {{c64, f64}, c128},    {{boolean, u8, f16}, f16}, {{u32, i32, u8}, i64}};
  for (const auto& [types, common] : rules) {
    std::vector<host_array> pieces;
    for (const dtype t : types) pieces.push_back(counting(t, {3, 2}));
    const array x = concat(to_devices(pieces), 1);
    EXPECT_EQ(x.type(), common);
    EXPECT_TRUE(equals(x, joined_plainly(pieces, 1, common))) << to_string(common);
  }
}

TEST(join, every_dtype_is_copied_bit_by_bit) {
  for (int k = 0; k < dtype_count; ++k) {
    const auto type = static_cast<dtype>(k);
    const host_array x = counting(type, {2, 3}), y = counting(type, {2, 1});
    const array a = x.to_device(), b = y.to_device();
    EXPECT_TRUE(equals(concat({a, b, a}, 1), joined_plainly({x, y, x}, 1, type), {0, 0, true})) << to_string(type);
    EXPECT_TRUE(equals(roll(a, 1, 1), rolled_plainly(x, 1, 1))) << to_string(type);
    EXPECT_TRUE(equals(pad(a, 2, pad_mode::symmetric), padded_plainly(x, {{2, 2}, {2, 2}}, pad_mode::symmetric)))
        << to_string(type);
    EXPECT_TRUE(equals(pad(a, 1, pad_mode::constant, 1), padded_plainly(x, {{1, 1}, {1, 1}}, value{1, 0})))
        << to_string(type);
    EXPECT_TRUE(equals(tile(a, {2, 1}), joined_plainly({x, x}, 0, type))) << to_string(type);
  }
}

TEST(join, signs_of_zeros_and_nans_pass) {
  const host_array x(std::vector<float>{-0.f, not_a_number, infinity}), y(std::vector<float>{0.f, -infinity, -0.f});
  const array a = x.to_device(), b = y.to_device();
  EXPECT_TRUE(equals(concat({a, b}), joined_plainly({x, y}, 0, f32), {0, 0, true}));
  EXPECT_TRUE(equals(pad(a, 1, pad_mode::constant, -0.f), padded_plainly(x, {{1, 1}}, value{-0.L, 0}), {0, 0, true}));
}

TEST(join, stacks_against_loops) {
  const host_array x = numbered({2, 3}), y = numbered({2, 3}, 1), z = numbered({2, 3}, 2);
  const array a = x.to_device(), b = y.to_device(), c = z.to_device();
  EXPECT_TRUE(equals(stack({a, b, c}), reshaped(joined_plainly({x, y, z}, 0, i32), {3, 2, 3})));
  const auto as_shape = [&](const shape& s) {
    return std::vector<host_array>{reshaped(x, s), reshaped(y, s), reshaped(z, s)};
  };
  EXPECT_TRUE(equals(stack({a, b, c}, 1), joined_plainly(as_shape({2, 1, 3}), 1, i32)));
  EXPECT_TRUE(equals(stack({a, b, c}, -1), joined_plainly(as_shape({2, 3, 1}), 2, i32)));
  EXPECT_TRUE(equals(dstack({a, b, c}), joined_plainly(as_shape({2, 3, 1}), 2, i32)));
  EXPECT_TRUE(equals(hstack({a, b, c}), joined_plainly({x, y, z}, 1, i32)));
  EXPECT_TRUE(equals(vstack({a, b, c}), joined_plainly({x, y, z}, 0, i32)));
  const host_array u = numbered({3}), v = numbered({3}, 1);
  EXPECT_TRUE(equals(hstack({u.to_device(), v.to_device()}), joined_plainly({u, v}, 0, i32)));
  EXPECT_TRUE(equals(vstack({u.to_device(), a}), joined_plainly({reshaped(u, {1, 3}), x}, 0, i32)));
  EXPECT_TRUE(equals(dstack({u.to_device(), v.to_device()}),
                     joined_plainly({reshaped(u, {1, 3, 1}), reshaped(v, {1, 3, 1})}, 2, i32)));
  EXPECT_TRUE(equals(stack({array(1), array(2), array(3)}), positions{1, 2, 3}));
  EXPECT_TRUE(equals(hstack({array(1), array{2, 3}}), positions{1, 2, 3}));
}

TEST(join, views_of_one_array_make_rotations_and_reflections) {
  const host_array x = numbered({7, 5});
  const array a = x.to_device();
  const array rotated = concat({a(range(3, end)), a(range(0, 3))});
  EXPECT_EQ(launches_of(rotated), 1u);
  EXPECT_TRUE(equals(rotated, rolled_plainly(x, -3, 0)));
  const array mirrored_twice = concat({a, a(all, backwards), a}, 1);
  EXPECT_EQ(launches_of(mirrored_twice), 1u);
  EXPECT_TRUE(equals(mirrored_twice, joined_plainly({x, picked(x, 1, {4, 3, 2, 1, 0}), x}, 1, i32)));
  const array shuffled = concat({a(range(0, end, 2)), a(range(1, end, 2)), a(range(end, begin, -3))});
  EXPECT_TRUE(equals(shuffled, picked(x, 0, {0, 2, 4, 6, 1, 3, 5, 6, 3, 0})));
  const array turned = concat({transpose(a), transpose(a)(all, backwards)}, 1);
  EXPECT_TRUE(equals(turned, remapped(x, {5, 14}, [](const positions& at) {
                       return positions{at[1] < 7 ? at[1] : 13 - at[1], at[0]};
                     })));
  const array gathered = concat({a(array{6, 0, 6}), a(array{-1})});
  EXPECT_TRUE(equals(gathered, picked(x, 0, {6, 0, 6, 6})));
}

TEST(join, nested_joins) {
  const host_array x = numbered({2, 3}), y = numbered({2, 1}, 1), z = numbered({4, 4}, 2);
  const array a = x.to_device(), b = y.to_device(), c = z.to_device();
  const host_array row = joined_plainly({x, y}, 1, i32);
  const array block = concat({concat({a, b}, 1), c, concat({b, a}, 1)});
  EXPECT_EQ(launches_of(block), 1u);
  EXPECT_TRUE(equals(block, joined_plainly({row, z, joined_plainly({y, x}, 1, i32)}, 0, i32)));
  const array same_axis = concat({concat({a, b}, 1), concat({concat({b, a, b}, 1), a}, 1)}, 1);
  EXPECT_EQ(launches_of(same_axis), 1u);
  EXPECT_TRUE(equals(same_axis, joined_plainly({x, y, y, x, y, x}, 1, i32)));
  // A view of a join, and a join of views of a join.
  const array part = block(range(1, 7), range(end, begin, -2));
  EXPECT_TRUE(equals(part, picked(picked(from_device(block), 0, {1, 2, 3, 4, 5, 6}), 1, {3, 1})));
  const array again = concat({block(all, range(2)), block(all, range(2, end))}, 1);
  EXPECT_TRUE(equals(again, from_device(block)));
  const array crossed = transpose(concat({transpose(concat({a, a})), transpose(c)}));
  EXPECT_TRUE(equals(crossed, joined_plainly({joined_plainly({x, x}, 0, i32), z}, 1, i32)));
}

TEST(join, rows_appended_one_by_one_are_one_launch) {
  const host_array w = numbered({10, 4});
  const array table = w.to_device();
  array h = zeros({0, 4}, i32);
  positions rows;
  for (std::int64_t k = 0; k < 30; ++k) {
    rows.push_back(k * 7 % 10);
    h = vstack({h, table(rows.back())});
  }
  EXPECT_EQ(launches_of(h), 1u);
  EXPECT_TRUE(equals(h, picked(w, 0, rows)));
}

TEST(join, twenty_expressions_are_one_launch) {
  const host_array x = counting(f64, {50});
  const array a = x.to_device();
  std::vector<array> pieces;
  std::vector<double> want;
  for (int k = 0; k < 20; ++k) {
    pieces.push_back(a(range(k, end)) * k + 0.5);
    for (int i = k; i < 50; ++i) want.push_back(i * k + 0.5);
  }
  const array all_of_them = concat(pieces);
  EXPECT_EQ(launches_of(all_of_them), 1u);
  EXPECT_TRUE(equals(all_of_them, want));
}

TEST(join, lazy_pieces_of_any_kind) {
  run_matrix({.inputs = {counting(f64, {4, 3}), counting(f64, {3})},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array x = in[0], y = in[1];
                return {concat({x * 2, sqrt(y(newaxis, all)), x + y, where(x > 5, x, -1), full({2, 3}, 7)})};
              },
              .outputs = {exactly([] {
                const host_array x = counting(f64, {4, 3});
                host_array out(f64, {15, 3});
                for (std::int64_t j = 0; j < 3; ++j) {
                  const auto c = static_cast<long double>(j);
                  for (std::int64_t i = 0; i < 4; ++i) {
                    const long double v = x.get(i * 3 + j).re;
                    out.set(i * 3 + j, {2 * v, 0});
                    out.set((5 + i) * 3 + j, {v + c, 0});
                    out.set((9 + i) * 3 + j, {v > 5 ? v : -1, 0});
                  }
                  out.set(12 + j, {std::sqrt(static_cast<double>(j)), 0});
                  for (std::int64_t i = 13; i < 15; ++i) out.set(i * 3 + j, {7, 0});
                }
                return out;
              }())},
              .launches = 1,
              .launches_when_pending = false});
}

TEST(join, arithmetic_and_reductions_take_the_join_along) {
  const host_array x = numbered({6, 20});
  run_matrix({.inputs = {x},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array x2 = in[0];
                const array p = concat({x2(all, range(0, 2)), x2(all, range(0, 18))}, 1);
                const array q = concat({p(all, range(0, 2)), p(all, range(0, 18))}, 1);
                return {sum(square(x2 + q - 2 * p), 1)};
              },
              .outputs = {{[&] {
                             host_array out(i64, {6});
                             const auto before = [](std::int64_t j) { return j < 2 ? j : j - 2; };
                             for (std::int64_t i = 0; i < 6; ++i) {
                               long double total = 0;
                               for (std::int64_t j = 0; j < 20; ++j) {
                                 const auto at = [&](std::int64_t c) { return x.get(i * 20 + c).re; };
                                 const long double d = at(j) + at(before(before(j))) - 2 * at(before(j));
                                 total += d * d;
                               }
                               out.set(i, {total, 0});
                             }
                             return out;
                           }(),
                           i64,
                           {}}},
              .launches = 1,
              .launches_when_pending = false});
  const array a = x.to_device(), doubled = concat({a, a + 1});
  EXPECT_TRUE(equals(max(doubled), host_array(std::vector<std::int32_t>{120}, {})));
  EXPECT_TRUE(equals(argmax(doubled, 0), positions(20, 11)));
  EXPECT_TRUE(equals(sum(concat({zeros({3, 0}, f32), zeros({2, 0}, f32)}), 1), std::vector<float>(5, 0)));
}

TEST(join, what_has_no_elements_disappears) {
  const host_array x = numbered({2, 3});
  const array a = x.to_device(), none = host_array(i32, {2, 0}).to_device();
  EXPECT_TRUE(equals(concat({none, a, none, a, none}, 1), joined_plainly({x, x}, 1, i32)));
  EXPECT_TRUE(equals(concat({none, a}, 1) + 1, joined_plainly({numbered({2, 3})}, 1, i32), {0, 1, false}));
  const array nothing = concat({none, host_array(i32, {3, 0}).to_device()});
  const statistics added = counted([&] { EXPECT_TRUE(equals(nothing + 1, host_array(i32, {5, 0}))); });
  EXPECT_EQ(added.launches + added.compiles, 0u);
  EXPECT_TRUE(equals(pad(nothing, {{0, 0}, {1, 2}}, pad_mode::constant, 4),
                     padded_plainly(host_array(i32, {5, 0}), {{0, 0}, {1, 2}}, value{4, 0})));
}

TEST(join, recording_launches_nothing_and_leaves_variables_alone) {
  const host_array x = numbered({6});
  array a = x.to_device();
  std::vector<array> seen;
  EXPECT_EQ(counted([&] {
              seen = {concat({a, a}), pad(a, 40, pad_mode::wrap), roll(a, 2), tile(a, {3}), repeat(a, 2)};
            }).launches,
            0u);
  a += 100;
  EXPECT_TRUE(equals(seen[0], joined_plainly({x, x}, 0, i32)));
  EXPECT_TRUE(equals(seen[1], padded_plainly(x, {{40, 40}}, pad_mode::wrap)));
  EXPECT_TRUE(equals(seen[2], rolled_plainly(x, 2, 0)));
  EXPECT_TRUE(equals(seen[3], joined_plainly({x, x, x}, 0, i32)));
  EXPECT_TRUE(equals(seen[4], picked(x, 0, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5})));
}

/// A random join, padding or roll of x along a random axis, and what it must be.
mirrored rearranged(view_program& numbers, const mirrored& x) {
  const int axis = static_cast<int>(numbers.below(x.h.extents.rank()));
  const std::int64_t n = x.h.extents[axis], k = numbers.below(n + 1);
  positions order;
  for (std::int64_t i = 0; i < n; ++i) order.push_back((i + k) % n);
  switch (numbers.below(4)) {
    case 0: {
      const array halves[] = {take(x.a, arange(k, n), axis), take(x.a, arange(0, k), axis)};
      return {concat(halves, axis), picked(x.h, axis, order), x.text + " halves swapped,"};
    }
    case 1:
      return {roll(x.a, -k, axis), picked(x.h, axis, order), x.text + " rolled,"};
    case 2: {
      const pad_mode mode = periodic_modes[numbers.below(4)];
      std::vector<pad_width> widths(static_cast<std::size_t>(x.h.extents.rank()));
      widths[static_cast<std::size_t>(axis)] = {numbers.below(3), numbers.below(3)};
      return {pad(x.a, std::span<const pad_width>(widths), mode), padded_plainly(x.h, widths, mode),
              x.text + " padded,"};
    }
    default:
      return {concat({x.a, x.a + 1, flip(x.a, axis)}, axis),
              [&] {
                host_array more = x.h;
                for (std::int64_t i = 0; i < more.size(); ++i) more.set(i, {more.get(i).re + 1, 0});
                positions back(order.size());
                for (std::size_t i = 0; i < back.size(); ++i) back[i] = n - 1 - static_cast<std::int64_t>(i);
                return joined_plainly({x.h, more, picked(x.h, axis, back)}, axis, x.h.type);
              }(),
              x.text + " tripled,"};
  }
}

void run_random_programs(std::uint64_t first_seed, int count) {
  for (std::uint64_t seed = first_seed; seed < first_seed + static_cast<std::uint64_t>(count); ++seed) {
    view_program numbers(seed);
    shape extents;
    for (std::int64_t rank = 1 + numbers.below(3); rank > 0; --rank) extents.append(1 + numbers.below(4));
    mirrored x = numbers.source(extents);
    for (std::int64_t steps = 1 + numbers.below(4); steps > 0 && x.h.size() < 3000; --steps) {
      if (numbers.below(3) == 0) x = numbers.step(x);
      if (x.h.extents.rank() == 0 || x.h.size() == 0) break;
      x = rearranged(numbers, x);
    }
    EXPECT_TRUE(equals(x.a, x.h)) << "seed " << seed << ":" << x.text;
  }
}

TEST(join, random_programs_of_joins_and_views) { run_random_programs(9000, 60); }

TEST(join, wide_indices_change_nothing) {
  const wide_indices wide;
  run_random_programs(9100, 15);
}

}  // namespace
