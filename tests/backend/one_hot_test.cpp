// Products with one-hot matrices, and reductions of them, against plain loops. They are recorded as gathers.
#include "tests/backend/mirrored.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

using namespace sinter;
using namespace sinter_test;

namespace {

using indices = std::vector<std::int64_t>;

constexpr std::int64_t depth = 5, columns = 3;
/// In range and repeated; too large; negative, which means no element here.
const indices mixed{2, 0, 5, -1, 2, 4, 100, -5, 1};
const indices unsigned_ones{2, 0, 5, 200, 2, 4, 100, 255, 1};

/// Small numbers that every dtype but bool holds, also as f16 sums.
host_array numbers(dtype type, const shape& extents) {
  host_array x(type, extents);
  const bool negative_too = kind_of(type) != kind::unsigned_integer && type != boolean;
  for (std::int64_t k = 0; k < x.size(); ++k)
    x.set(k, {type == boolean ? static_cast<long double>(k % 3 == 0) : static_cast<long double>(k * 7 % 13 + 1) -
                                                                           (negative_too ? 8 : 0), 0});
  return x;
}

host_array of_type(dtype type, const indices& list) { return converted(host_array(list), type); }

/// Sum over v of (j == first + step * v) * w[v, :], as [j, columns of w].
host_array dense_product(const indices& j, const host_array& w, dtype type, std::int64_t first = 0,
                         std::int64_t step = 1) {
  const std::int64_t rows = w.extents[0], width = w.extents[1];
  host_array out(type, {static_cast<std::int64_t>(j.size()), width});
  for (std::size_t i = 0; i < j.size(); ++i)
    for (std::int64_t c = 0; c < width; ++c) {
      long double total = 0;
      for (std::int64_t v = 0; v < rows; ++v)
        if (j[i] == first + step * v) total += w.get(v * width + c).re;
      out.set(static_cast<std::int64_t>(i) * width + c, {total, 0});
    }
  return out;
}

array product(const array& hot, const array& w, keepdims_t keep = {}) {
  return sum(hot(all, all, newaxis) * w(newaxis, all, all), 1, keep);
}

void expect_one_launch(const array& a, const host_array& want, place at = place::here()) {
  SCOPED_TRACE(at.line);
  EXPECT_EQ(a.type(), want.type);
  EXPECT_EQ(counted([&] { eval(a); }).launches, 1u);
  EXPECT_TRUE(equals(a, want));
}

/// x reduced along `axis`: f(elements along it).
template <class F>
host_array reduced(const host_array& x, int axis, dtype type, F f) {
  shape kept = x.extents;
  kept[axis] = 1;
  std::vector<host_array> slices;
  for (std::int64_t k = 0; k < x.extents[axis]; ++k) slices.push_back(picked(x, axis, {k}));
  host_array out(type, kept);
  for (std::int64_t k = 0; k < out.size(); ++k) {
    std::vector<long double> along;
    for (const host_array& s : slices) along.push_back(s.get(k).re);
    out.set(k, {f(along), 0});
  }
  return out;
}

constexpr dtype sum_type(dtype t) {
  if (t == boolean || kind_of(t) == kind::signed_integer) return i64;
  return kind_of(t) == kind::unsigned_integer ? u64 : t;
}

TEST(one_hot_product, indices_of_every_integer_dtype) {
  const host_array w = numbers(f32, {depth, columns});
  for (const dtype type : {i8, i16, i32, i64, u8, u16, u32, u64}) {
    SCOPED_TRACE(to_string(type));
    const indices& list = kind_of(type) == kind::unsigned_integer ? unsigned_ones : mixed;
    const array j = of_type(type, list).to_device();
    expect_one_launch(product(one_hot(j, depth), w.to_device()), dense_product(list, w, f32));
  }
}

TEST(one_hot_product, values_of_every_kind_of_dtype) {
  const array j = of_type(i32, mixed).to_device();
  for (const dtype type : {boolean, i8, i32, i64, u16, u64, f16, bf16, f32, f64, c64, c128}) {
    SCOPED_TRACE(to_string(type));
    const host_array w = numbers(type, {depth, columns});
    expect_one_launch(product(one_hot(j, depth, type), w.to_device()), dense_product(mixed, w, sum_type(type)));
  }
}

TEST(one_hot_product, operands_of_two_dtypes_promote) {
  const array j = of_type(i64, mixed).to_device(), hot = j(all, newaxis) == arange(depth);
  const host_array w = numbers(i8, {depth, columns}), x = numbers(f16, {depth, columns});
  expect_one_launch(product(hot, w.to_device()), dense_product(mixed, w, i64));
  expect_one_launch(product(hot.astype(f64), x.to_device()), dense_product(mixed, x, f64));
  expect_one_launch(product(hot.astype(u8), w.to_device()), dense_product(mixed, w, i64));
}

TEST(one_hot_product, all_layouts_of_the_operands) {
  const host_array w = numbers(f32, {depth, columns});
  run_matrix({.inputs = {of_type(i32, mixed), w},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                return {product(one_hot(in[0], in[1].extents()[0]), in[1])};
              },
              .outputs = {exactly(dense_product(mixed, w, f32))},
              .independent_axis = 0,
              .tables = {1},
              .retype = {{f32, f64}}});
}

TEST(one_hot_product, keepdims_and_transposed) {
  const host_array w = numbers(f32, {depth, columns}), want = dense_product(mixed, w, f32);
  const array j = of_type(i32, mixed).to_device(), hot = one_hot(j, depth), turned = transpose(w.to_device());
  const auto n = static_cast<std::int64_t>(mixed.size());
  expect_one_launch(product(hot, w.to_device(), keepdims), reshaped(want, {n, 1, columns}));
  const array from_right = sum(turned(all, all, newaxis) * transpose(hot)(newaxis, all, all), 1);  // [columns, n]
  EXPECT_EQ(from_right.extents(), (shape{columns, n}));
  expect_one_launch(transpose(from_right), want);
}

TEST(one_hot_product, ramps_that_start_elsewhere_step_and_turn_around) {
  const indices list{3, 5, 9, 11, -1, 12, 4, 1, 13};
  const array j = of_type(i32, list).to_device(), column = j(all, newaxis);
  const host_array w = numbers(f32, {depth, columns});
  const array values = w.to_device();
  expect_one_launch(product(column == arange(3, 3 + depth), values), dense_product(list, w, f32, 3));
  expect_one_launch(product(column == arange(1, 1 + 2 * depth, 2), values), dense_product(list, w, f32, 1, 2));
  expect_one_launch(product(column == 5 - arange(depth), values), dense_product(list, w, f32, 5, -1));
  expect_one_launch(product(column == arange(13, 13 - 4 * depth, -4), values), dense_product(list, w, f32, 13, -4));
  const array backwards = one_hot(j, 2 * depth)(all, range(end, begin, -2));  // classes 9, 7, 5, 3, 1
  expect_one_launch(product(backwards, values), dense_product(list, w, f32, 9, -2));
}

TEST(one_hot_product, indices_at_the_ends_of_their_dtypes) {
  const std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  const indices list{least, most, least + 1, -3, 0, 1, most - 2, 3};
  const array j = array(list), column = j(all, newaxis);
  const host_array w = numbers(f64, {depth, columns});
  expect_one_launch(product(column == arange(-3, depth - 3), w.to_device()), dense_product(list, w, f64, -3));
  expect_one_launch(product(column == arange(least, least + depth), w.to_device()),
                    dense_product(list, w, f64, least));
  expect_one_launch(product(column == arange(-3, 3 * depth - 3, 3), w.to_device()),
                    dense_product(list, w, f64, -3, 3));
  const array large(std::vector<std::uint64_t>{~std::uint64_t{0}, 1, 4, std::uint64_t{1} << 63});
  expect_one_launch(product(one_hot(large, depth), w.to_device()), dense_product({-1, 1, 4, -1}, w, f64));
}

TEST(one_hot_product, ranks_from_zero_to_three) {
  const host_array w = numbers(f32, {depth, columns});
  const array values = w.to_device(), column = values(all, 1);
  const indices list{4, -1, 5, 0, 1, 1, 3, 2, 7, 0, 2, 4};
  const host_array flat = dense_product(list, w, f32);
  host_array of_column(f32, {12});
  for (std::int64_t k = 0; k < 12; ++k) of_column.set(k, flat.get(k * columns + 1));
  const array j = array(list);
  expect_one_launch(sum(one_hot(array(4), depth) * column, 0), reshaped(row(of_column, 0), {}));
  expect_one_launch(sum(one_hot(j, depth) * column, 1), of_column);
  expect_one_launch(sum(one_hot(reshape(j, {3, 4}), depth)(all, all, all, newaxis) * values, 2),
                    reshaped(flat, {3, 4, columns}));
  expect_one_launch(sum(one_hot(reshape(j, {2, 3, 2}), depth)(ellipsis, newaxis) * values, 3, keepdims),
                    reshaped(flat, {2, 3, 2, 1, columns}));
  expect_one_launch(product(reshape(one_hot(reshape(j, {3, 4}), depth), {12, depth}), values), flat);
}

TEST(one_hot_product, each_batch_has_a_table_of_its_own) {
  const indices list{4, -1, 0, 2, 2, 5, 1, 3};  // [2, 4]
  const host_array w = numbers(f32, {2, depth, columns});
  host_array want(f32, {2, 4, columns});
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t t = 0; t < 4; ++t)
      for (std::int64_t c = 0; c < columns; ++c) {
        const std::int64_t v = list[static_cast<std::size_t>(b * 4 + t)];
        if (v >= 0 && v < depth) want.set((b * 4 + t) * columns + c, w.get((b * depth + v) * columns + c));
      }
  const array hot = one_hot(reshape(array(list), {2, 4}), depth);
  expect_one_launch(sum(hot(all, all, all, newaxis) * w.to_device()(all, newaxis, all, all), 2), want);
}

TEST(one_hot_product, pending_operands_and_factors_are_computed_within) {
  const host_array w = numbers(i32, {depth, columns});
  const array j = (of_type(i32, mixed).to_device() * 2 - 2) / 2 + 1, values = w.to_device() * 3 + 1;
  host_array scaled = w;
  for (std::int64_t k = 0; k < w.size(); ++k) scaled.set(k, {w.get(k).re * 6 + 2, 0});
  expect_one_launch(2 * product(one_hot(j, depth, i32), values), dense_product(mixed, scaled, i64));
  expect_one_launch(sum(one_hot(j, depth, i32)(all, all, newaxis) * values * 2, 1), dense_product(mixed, scaled, i64));
}

TEST(one_hot_product, further_axes_are_summed) {
  const host_array w = numbers(f64, {depth, columns}), rows = dense_product(mixed, w, f64);
  host_array totals(f64, {columns}), total(f64, {});
  for (std::int64_t k = 0; k < rows.size(); ++k) {
    totals.set(k % columns, {totals.get(k % columns).re + rows.get(k).re, 0});
    total.set(0, {total.get(0).re + rows.get(k).re, 0});
  }
  const array dense = one_hot(array(mixed), depth, f64)(all, all, newaxis) * w.to_device()(newaxis, all, all);
  EXPECT_TRUE(equals(sum(dense, {0, 1}), totals));
  EXPECT_TRUE(equals(sum(dense, {0, 1}, keepdims), reshaped(totals, {1, 1, columns})));
  EXPECT_TRUE(equals(sum(dense), total));
}

using elements = std::vector<long double>;

void check_along(const mirrored& hot, const mirrored& weighted, int axis) {
  const auto total = [](const elements& x) { return std::accumulate(x.begin(), x.end(), 0.0L); };
  const auto largest = [](const elements& x) { return *std::ranges::max_element(x); };
  const auto first_largest = [](const elements& x) {
    return static_cast<long double>(std::ranges::max_element(x) - x.begin());
  };
  EXPECT_TRUE(equals(sum(weighted.a, axis, keepdims), reduced(weighted.h, axis, i64, total)));
  EXPECT_TRUE(equals(sum(hot.a, axis, keepdims), reduced(hot.h, axis, i64, total)));
  EXPECT_TRUE(equals(max(hot.a, axis, keepdims), reduced(hot.h, axis, i32, largest)));
  EXPECT_TRUE(equals(argmax(hot.a, axis, keepdims), reduced(hot.h, axis, i64, first_largest)));
}

TEST(one_hot_product, random_views_along_random_axes) {
  const int programs = executor == "interpreter" ? 2000 : 5;
  for (int k = 0; k < programs; ++k) {
    const std::uint64_t seed = 7919u * static_cast<std::uint64_t>(testing::GTEST_FLAG(random_seed)) + 31 +
                               static_cast<std::uint64_t>(k);
    view_program p(seed);
    indices list;
    for (std::int64_t n = 2 + p.below(4); n > 0; --n) list.push_back(p.below(8) - 1);
    const std::int64_t classes = 2 + p.below(5);
    mirrored hot{one_hot(array(list), classes, i32),
                 host_array(i32, {static_cast<std::int64_t>(list.size()), classes}), "one_hot"};
    for (std::int64_t n = 0; n < hot.h.size(); ++n)
      hot.h.set(n, {static_cast<long double>(list[static_cast<std::size_t>(n / classes)] == n % classes), 0});
    for (std::int64_t steps = p.below(3); steps > 0; --steps) hot = p.step(hot);
    if (hot.h.size() == 0 || hot.h.extents.rank() == 0) continue;
    const mirrored factor = p.source(hot.h.extents);
    mirrored weighted{hot.a * factor.a, hot.h, ""};
    for (std::int64_t n = 0; n < hot.h.size(); ++n) weighted.h.set(n, {hot.h.get(n).re * factor.h.get(n).re, 0});
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + hot.text + " by " + factor.text);
    check_along(hot, weighted, static_cast<int>(p.below(hot.h.extents.rank())));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(one_hot_choice, picks_the_chosen_elements) {
  const host_array w = numbers(f32, {depth, columns});
  const array j = array(mixed), hot = j(all, newaxis) == arange(depth), column = w.to_device()(all, 0);
  host_array chosen(f32, {static_cast<std::int64_t>(mixed.size())}), positive(boolean, chosen.extents);
  const host_array rows = dense_product(mixed, w, f32);
  for (std::int64_t k = 0; k < chosen.size(); ++k) {
    chosen.set(k, rows.get(k * columns));
    positive.set(k, {static_cast<long double>(rows.get(k * columns).re > 0), 0});
  }
  expect_one_launch(sum(where(hot, column, 0), 1), chosen);
  expect_one_launch(any_true(hot && column > 0, 1), positive);
}

TEST(one_hot_choice, elements_that_are_not_picked_leave_no_trace) {
  const array w{not_a_number, 1.f, -infinity, 2.f, infinity}, j{1, 3, 7, 4};
  EXPECT_TRUE(equals(sum(one_hot(j, depth) * w, 1), std::vector<float>{1, 2, 0, infinity}));
}

TEST(one_hot_rows, position_and_presence_of_the_one) {
  const auto n = static_cast<std::int64_t>(mixed.size());
  host_array places(i64, {n}), present(boolean, {n});
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t v = mixed[static_cast<std::size_t>(k)];
    if (v < 0 || v >= depth) continue;
    places.set(k, {static_cast<long double>(v), 0});
    present.set(k, {1, 0});
  }
  const array j = of_type(i16, mixed).to_device();
  for (const dtype type : {boolean, u8, f16, f64}) {
    SCOPED_TRACE(to_string(type));
    const array hot = one_hot(j, depth, type);
    expect_one_launch(argmax(hot, 1), places);
    expect_one_launch(argmax(hot, 1, keepdims), reshaped(places, {n, 1}));
    expect_one_launch(max(hot, 1), converted(present, type));
    expect_one_launch(any_true(hot, -1), present);
    expect_one_launch(sum(hot, 1), converted(present, sum_type(type)));
    expect_one_launch(count_nonzero(hot, 1, keepdims), reshaped(converted(present, i64), {n, 1}));
  }
  expect_one_launch(argmax(transpose(one_hot(j, depth)), 0), places);
}

TEST(one_hot_rows, columns_of_the_matrix_are_still_counted) {
  const array counts = sum(one_hot(array(mixed), depth, i32), 0);
  EXPECT_TRUE(equals(counts, std::vector<std::int64_t>{1, 1, 2, 0, 1}));
  EXPECT_TRUE(equals(argmax(one_hot(array(mixed), depth), 0), std::vector<std::int64_t>{1, 8, 0, 0, 5}));
}

}  // namespace
