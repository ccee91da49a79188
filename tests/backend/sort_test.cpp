// Sorting and searching, against merges and counts of the tests' own.
#include "dsl/sort.hpp"
#include "tests/backend/corners.hpp"
#include "tests/support/sort_reference.hpp"

#include <algorithm>
#include <cmath>

using namespace sinter;
using namespace sinter_test;

namespace {

constexpr dtype ordered_types[] = {boolean, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64};

std::string described(const host_array& x, int axis, layout way) {
  return std::string(to_string(x.type)) + to_string(x.extents) + ", axis " + std::to_string(axis) + ", " +
         sinter_test::to_string(way);
}

/// sort, argsort and topk of one array along one axis, both ways.
void check_sorts(const host_array& x, int axis, layout way) {
  const std::string name = described(x, axis, way);
  const array a = laid_out(x, way, 0);
  const std::int64_t some = (x.extents[axis] + 2) / 3;
  for (bool descending : {false, true}) {
    const sort_order how = descending ? sort_order::descending : sort_order::ascending;
    const sorted_reference want = sorted_along(x, axis, descending), first = sorted_along(x, axis, descending, some);
    const array values = sort(a, axis, how), places = argsort(a, axis - x.extents.rank(), how);
    EXPECT_EQ(values.type(), x.type);
    EXPECT_EQ(places.type(), i64);
    EXPECT_TRUE(equals(values, want.values)) << name;
    EXPECT_TRUE(equals(places, want.positions)) << name;
    const top_elements top = topk(a, some, axis, how);
    EXPECT_TRUE(equals(top.values, first.values, {.signed_zeros = true})) << name;
    EXPECT_TRUE(equals(top.indices, first.positions)) << name;
  }
}

TEST(sorting, sorts_every_dtype_along_any_axis_of_any_layout) {
  const shape shapes[] = {{1}, {2}, {40}, {1, 1}, {5, 7}, {7, 1, 5}, {3, 4, 9}, {2, 33, 2, 3}, {600}, {3, 700}};
  std::uint32_t seed = 1;
  for (const dtype type : ordered_types)
    for (const shape& extents : shapes) {
      const host_array x = numbers_to_sort(type, extents, ++seed);
      for (int axis = 0; axis < extents.rank(); ++axis)
        check_sorts(x, axis, all_layouts[(seed + static_cast<unsigned>(axis)) % std::size(all_layouts)]);
    }
}

TEST(sorting, sorts_rows_of_every_length_around_the_sizes_of_blocks) {
  for (std::int64_t n : {31, 32, 33, 255, 256, 257, 511, 512, 513, 1023, 1025, 2047, 2049, 4095, 4096, 4097, 10007}) {
    check_sorts(numbers_to_sort(f32, {2, n}, static_cast<std::uint32_t>(n)), 1, layout::evaluated);
    check_sorts(numbers_to_sort(n % 2 == 0 ? u64 : f64, {n}, static_cast<std::uint32_t>(n)), 0, layout::times_one);
  }
}

TEST(sorting, sorts_one_long_row_with_all_threads) {
  for (const dtype type : {u8, bf16, i32, f32, f64}) {
    check_sorts(numbers_to_sort(type, {200003}, 5), 0, layout::evaluated);
    check_sorts(numbers_to_sort(type, {2, 70001}, 6), 1, layout::evaluated);
  }
}

TEST(sorting, sorts_many_short_rows) {
  check_sorts(numbers_to_sort(f32, {3001, 5}, 9), 1, layout::evaluated);
  check_sorts(numbers_to_sort(i16, {9, 2011}, 9), 0, layout::evaluated);
}

TEST(sorting, keeps_equal_elements_in_their_order) {
  const array zeros_of_both_signs{0.0f, -0.0f, 1.0f, -0.0f, 0.0f};
  EXPECT_TRUE(equals(argsort(zeros_of_both_signs), std::vector<std::int64_t>{0, 1, 3, 4, 2}));
  EXPECT_TRUE(
      equals(argsort(zeros_of_both_signs, 0, sort_order::descending), std::vector<std::int64_t>{2, 0, 1, 3, 4}));
  const array keys{2, 1, 2, 1, 2};
  EXPECT_TRUE(equals(argsort(keys, -1, sort_order::descending), std::vector<std::int64_t>{0, 2, 4, 1, 3}));
}

TEST(sorting, puts_nan_of_any_sign_after_all_numbers) {
  const array x{not_a_number, 1.0f, -not_a_number, -infinity, infinity};
  EXPECT_TRUE(equals(argsort(x), std::vector<std::int64_t>{3, 1, 4, 0, 2}));
  EXPECT_TRUE(equals(argsort(x, -1, sort_order::descending), std::vector<std::int64_t>{0, 2, 4, 1, 3}));
  EXPECT_TRUE(equals(sort(x), std::vector<float>{-infinity, 1, infinity, not_a_number, not_a_number}));
}

TEST(sorting, finds_the_first_few_of_long_rows) {
  struct row {
    shape extents;
    std::int64_t kept;
  };
  const row rows[] = {{{5000}, 1}, {{3, 5000}, 100}, {{40000}, 1024}, {{2, 300000}, 17}, {{1100, 4200}, 5},
                      {{300000}, 2048}, {{70000}, 5000}, {{20000, 300}, 30}};
  std::uint32_t seed = 100;
  for (const row& r : rows)
    for (const dtype type : {f32, i64, u8, bf16}) {
      if (r.extents.size() > 1000000 && type != f32) continue;
      const host_array x = numbers_to_sort(type, r.extents, ++seed);
      const int last = r.extents.rank() - 1;
      for (const bool descending : {true, false}) {
        const sorted_reference want = sorted_along(x, last, descending, r.kept);
        const top_elements top =
            topk(x.to_device(), r.kept, -1, descending ? sort_order::descending : sort_order::ascending);
        EXPECT_TRUE(equals(top.values, want.values, {.signed_zeros = true})) << described(x, last, layout::evaluated);
        EXPECT_TRUE(equals(top.indices, want.positions)) << described(x, last, layout::evaluated);
      }
    }
}

TEST(sorting, finds_the_first_of_equal_elements) {
  host_array same(f32, {200000}), few(f32, {200000});
  for (std::int64_t k = 0; k < same.size(); ++k) {
    same.set(k, {3, 0});
    few.set(k, {static_cast<long double>(k / 7 % 5), 0});
  }
  for (const host_array* x : {&same, &few})
    for (const std::int64_t kept : {1, 1000, 2048}) {
      const sorted_reference want = sorted_along(*x, 0, true, kept);
      EXPECT_TRUE(equals(topk(x->to_device(), kept).indices, want.positions)) << kept;
    }
}

TEST(sorting, partitions_at_any_element) {
  for (const dtype type : {i32, f32, f64, u8, f16})
    for (const std::int64_t kth : {0, 1, 50, 98, 99, -1, -100}) {
      const host_array x = numbers_to_sort(type, {4, 100}, static_cast<std::uint32_t>(kth + 300));
      const sorted_reference want = sorted_along(x, 1, false);
      const array a = x.to_device();
      const host_array values = from_device(partition(a, kth)), places = from_device(argpartition(a, kth));
      const std::int64_t at = kth < 0 ? kth + 100 : kth;
      const auto greater = [](value p, value q) {  // NaN is greater than all numbers
        return std::isnan(q.re) ? false : std::isnan(p.re) || p.re > q.re;
      };
      for (std::int64_t row = 0; row < 4; ++row) {
        std::vector<bool> seen(100);
        const value pivot = want.values.get(row * 100 + at);
        for (std::int64_t k = 0; k < 100; ++k) {
          const auto from = static_cast<std::int64_t>(places.get(row * 100 + k).re);
          ASSERT_TRUE(from >= 0 && from < 100 && !seen[static_cast<std::size_t>(from)]);
          seen[static_cast<std::size_t>(from)] = true;
          for (const value v : {values.get(row * 100 + k), x.get(row * 100 + from)}) {
            EXPECT_FALSE(k <= at && greater(v, pivot)) << to_string(type) << kth;
            EXPECT_FALSE(k >= at && greater(pivot, v)) << to_string(type) << kth;
          }
        }
      }
    }
  const array x = arange(24).astype(f32);
  EXPECT_EQ(to_string(partition(reshape(x, {4, 6}), 2, 0).extents()), "[4, 6]");
  EXPECT_EQ(from_device(argpartition(zeros({0, 3}, f32), 1)).size(), 0);
  EXPECT_THROW(partition(x, 24), shape_error);
  EXPECT_THROW(argpartition(x, -25), shape_error);
  EXPECT_THROW(partition(x.astype(c64), 1), type_error);
}

TEST(sorting, of_nothing_gives_nothing) {
  for (const shape& extents : {shape{0}, shape{3, 0}, shape{0, 3}}) {
    const array x = zeros(extents, f32);
    EXPECT_EQ(from_device(sort(x)).size(), 0);
    EXPECT_EQ(to_string(argsort(x, 0).extents()), to_string(extents));
    EXPECT_EQ(from_device(argsort(x, 0)).size(), 0);
  }
  EXPECT_EQ(to_string(topk(zeros({3, 4}), 0).values.extents()), "[3, 0]");
  EXPECT_EQ(from_device(topk(zeros({3, 4}), 0).indices).size(), 0);
}

TEST(sorting, is_one_call_between_launches) {
  const array x = linspace(0, 1, 1000);
  eval(x);
  const array y = sort(x * x - x) * 2 + 1;
  const statistics s = counted([&] { eval(y); });
  EXPECT_EQ(s.launches, 3);  // what is sorted, the sort, what is made of it
  const std::string text = explain(sort(x - 1));
  EXPECT_NE(text.find("sort of 1 row(s) of 1000 f64"), std::string::npos) << text;
}

TEST(sorting, errors_name_the_line) {
  const array x = ones({3, 4}), z = x.astype(c64);
  EXPECT_THROW(sort(x, 2), shape_error);
  EXPECT_THROW(argsort(array(1.0f)), shape_error);
  EXPECT_THROW(topk(x, 5), shape_error);
  EXPECT_THROW(topk(x, -1), shape_error);
  const std::string line = "sort_test.cpp:" + std::to_string(__LINE__ + 2);
  try {
    sort(z);
    FAIL() << "complex numbers were sorted";
  } catch (const type_error& e) { EXPECT_NE(std::string(e.what()).find(line), std::string::npos) << e.what(); }
  EXPECT_THROW(for_loop(3, x, [&](const array& s) { return s + sort(x); }), type_error);
}

TEST(sorting, works_in_a_host_loop) {
  const host_array numbers = numbers_to_sort(i32, {6, 50}, 3);
  const array x = numbers.to_device();
  array smallest = zeros({6}, i32);
  for (int k = 0; k < 6; ++k) smallest(k) = sort(x(k, all))(0);
  EXPECT_TRUE(equals(smallest, reshaped(sorted_along(numbers, 1, false, 1).values, {6})));
}

// ---- Searching ----

/// How many of the numbers in order are before x, NaN being the last of all.
std::int64_t place_among(const host_array& in_order, long double x, bool with_equal) {
  std::int64_t count = 0;
  for (std::int64_t k = 0; k < in_order.size(); ++k) {
    const long double y = in_order.get(k).re;
    const bool less = !std::isnan(y) && (std::isnan(x) || y < x), same = y == x || (std::isnan(x) && std::isnan(y));
    if (less || (with_equal && same)) ++count;
  }
  return count;
}

TEST(searchsorted, counts_what_is_less_or_not_greater) {
  for (const dtype type : ordered_types)
    for (std::int64_t n : {0, 1, 2, 3, 7, 8, 9, 100, 1000}) {
      const host_array table = sorted_along(numbers_to_sort(type, {n}, 3), 0, false).values;
      const host_array x = numbers_to_sort(type, {13, 5}, 4);
      host_array left(i64, x.extents), right(i64, x.extents);
      for (std::int64_t k = 0; k < x.size(); ++k) {
        left.set(k, {static_cast<long double>(place_among(table, x.get(k).re, false)), 0});
        right.set(k, {static_cast<long double>(place_among(table, x.get(k).re, true)), 0});
      }
      const array t = table.to_device(), a = laid_out(x, layout::transposed, 0);
      EXPECT_TRUE(equals(searchsorted(t, a), left)) << to_string(type) << " " << n;
      EXPECT_TRUE(equals(searchsorted(t, a, side::right), right)) << to_string(type) << " " << n;
    }
}

TEST(searchsorted, a_number_is_compared_in_the_common_dtype) {
  EXPECT_EQ(searchsorted(array{1, 2, 3}, 2.5).item<std::int64_t>(), 2);
  EXPECT_EQ(searchsorted(array{1, 2, 3}, 2).item<std::int64_t>(), 1);
  EXPECT_EQ(searchsorted(array{1.0f, 2.0f, 3.0f}, 2.5, side::right).item<std::int64_t>(), 2);
}

TEST(searchsorted, fuses_with_what_is_around_it) {
  const array table{1.0, 2.0, 4.0}, x{0.5, 1.0, 3.0, 9.0};
  eval(table, x);
  array y;
  const statistics s = counted([&] {
    y = searchsorted(table, x * 2, side::right) * 10;
    eval(y);
  });
  EXPECT_EQ(s.launches, 1);
  EXPECT_TRUE(equals(y, std::vector<std::int64_t>{10, 20, 30, 30}));
  EXPECT_EQ(searchsorted(table, 3).item<std::int64_t>(), 2);
  EXPECT_TRUE(equals(searchsorted(array{1, 3}, array{2.5f, 3.0f}), std::vector<std::int64_t>{1, 1}));
}

TEST(searchsorted, wants_one_axis_and_an_order) {
  EXPECT_THROW(searchsorted(ones({2, 2}), 1.0), shape_error);
  EXPECT_THROW(searchsorted(ones({2}, c64), 1.0), type_error);
  EXPECT_THROW(searchsorted(ones({2}), ones({2}, c64)), type_error);
}

// ---- Quantiles ----

struct gap {
  long double lower, upper, share;
};

/// Where the share q of a row's elements is.
gap gap_at(std::vector<long double> row, double q) {
  const std::vector<std::int64_t> order = order_of(row, false);
  const long double position = static_cast<long double>(q) * static_cast<long double>(row.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const std::size_t above = std::min(below + 1, row.size() - 1);
  return {row[static_cast<std::size_t>(order[below])], row[static_cast<std::size_t>(order[above])],
          position - static_cast<long double>(below)};
}

host_array finite_numbers(dtype type, const shape& extents, std::uint32_t seed) {
  host_array x(type, extents);
  lcg g(seed);
  for (std::int64_t k = 0; k < x.size(); ++k) {
    const auto whole = static_cast<long double>(g.below(type == boolean ? 2 : 100));
    x.set(k, {is_real(type) ? (whole - 50) / 8 : whole, 0});
  }
  return x;
}

/// Over axes 0 and 2 of [a, b, c].
host_array quantiles_of_columns(const host_array& x, double q, dtype type) {
  host_array out(type, {x.extents[1]});
  for (std::int64_t j = 0; j < x.extents[1]; ++j) {
    std::vector<long double> row;
    for (std::int64_t i = 0; i < x.extents[0]; ++i)
      for (std::int64_t k = 0; k < x.extents[2]; ++k)
        row.push_back(x.get((i * x.extents[1] + j) * x.extents[2] + k).re);
    const gap g = gap_at(row, q);
    out.set(j, {rounded(g.lower + g.share * (g.upper - g.lower), type), 0});
  }
  return out;
}

TEST(quantiles, lie_between_neighbours) {
  for (const dtype type : ordered_types) {
    const dtype result = is_real(type) ? type : f64;
    const host_array x = finite_numbers(type, {4, 3, 5}, 7);
    const tolerance near{.rtol = result == f64 ? 1e-14 : result == f32 ? 1e-6 : result == f16 ? 1e-3 : 8e-3};
    for (double q : {0.0, 0.1, 0.25, 0.5, 0.77, 1.0}) {
      const array got = quantile(laid_out(x, layout::transposed, 0), q, {0, 2});
      EXPECT_EQ(got.type(), result);
      EXPECT_TRUE(equals(got, quantiles_of_columns(x, q, result), near)) << to_string(type) << " " << q;
    }
  }
}

TEST(quantiles, come_along_a_first_axis_and_keep_axes) {
  const host_array x = finite_numbers(f64, {6, 5}, 1);
  const array a = x.to_device();
  const array several = quantile(a, {0.25, 0.5}, 1, keepdims);
  EXPECT_EQ(to_string(several.extents()), "[2, 6, 1]");
  EXPECT_TRUE(equals(several(0, all, all), from_device(quantile(a, 0.25, -1, keepdims))));
  EXPECT_TRUE(equals(several(1, all, 0), from_device(median(a, 1))));
  EXPECT_TRUE(equals(percentile(a, {25, 50}, 1, keepdims), from_device(several)));
  EXPECT_EQ(to_string(median(a, {}, keepdims).extents()), "[1, 1]");
  EXPECT_EQ(median(array(3.0)).item<double>(), 3.0);
  const std::vector<double> shares{0, 1};
  EXPECT_TRUE(equals(quantile(array{3, 1, 2}, std::span<const double>(shares)), std::vector<double>{1, 3}));
}

TEST(quantiles, know_other_ways_between) {
  const array x{40, 10, 20, 30};  // at 0.5: position 1.5, at 0.4: 1.2
  EXPECT_EQ(quantile(x, 0.4, {}, {}, interpolation::lower).item<double>(), 20);
  EXPECT_EQ(quantile(x, 0.4, {}, {}, interpolation::upper).item<double>(), 30);
  EXPECT_EQ(quantile(x, 0.4, {}, {}, interpolation::midpoint).item<double>(), 25);
  EXPECT_EQ(quantile(x, 0.4, {}, {}, interpolation::nearest).item<double>(), 20);
  EXPECT_EQ(quantile(x, 0.5, {}, {}, interpolation::nearest).item<double>(), 30);  // position 2 is even
  EXPECT_DOUBLE_EQ(percentile(x, 40).item<double>(), 22);
}

TEST(quantiles, of_nan_are_nan_and_of_infinities_infinite) {
  EXPECT_TRUE(std::isnan(median(array{1.0f, not_a_number, 2.0f}).item<float>()));
  EXPECT_EQ(median(array{infinity, infinity}).item<float>(), infinity);
  EXPECT_EQ(quantile(array{-infinity, 1.0f, 2.0f}, 0).item<float>(), -infinity);
  EXPECT_EQ(median(array{-infinity, 1.0f}).item<float>(), -infinity);
  EXPECT_TRUE(std::isnan(median(array{-infinity, infinity}).item<float>()));
  EXPECT_EQ(median(array{-1.5e308, 1.5e308}).item<double>(), 0);
}

TEST(quantiles, refuse_what_makes_no_sense) {
  const array x = ones({3, 4});
  EXPECT_THROW(quantile(x, 1.5), shape_error);
  EXPECT_THROW(quantile(x, std::nan("")), shape_error);
  EXPECT_THROW(percentile(x, -1), shape_error);
  EXPECT_THROW(median(zeros({0})), shape_error);
  EXPECT_THROW(median(zeros({3, 0}), 1), shape_error);
  EXPECT_THROW(median(x, 2), shape_error);
  EXPECT_THROW(median(ones({3}, c64)), type_error);
  EXPECT_THROW(quantile(x, std::initializer_list<double>{}), shape_error);
  EXPECT_EQ(from_device(median(zeros({0, 3}), 1)).size(), 0);
}

}  // namespace
