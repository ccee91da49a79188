// Writes at computed places by name, and what is counted with them, against plain loops.
#include "tests/backend/expect.hpp"

#include <algorithm>
#include <cmath>

using namespace sinter;
using namespace sinter_test;

namespace {

using integers = std::vector<std::int32_t>;

/// Writes in a fixed order while it lives.
class fixed_order {
 public:
  fixed_order() { set_deterministic(true); }
  ~fixed_order() { set_deterministic(false); }
  fixed_order(const fixed_order&) = delete;
  fixed_order& operator=(const fixed_order&) = delete;
};

TEST(scatter, each_function_along_the_first_axis) {
  const array i{2, 0, -2, 2}, v{3, 4, 5, 6};
  array a = full({4}, 10, i32), b = a, c = a, least = full({4}, 4, i32), most = least;
  sinter::scatter(a, i, v);
  scatter_add(b, i, v);
  scatter_multiply(c, i, v);
  scatter_min(least, i, v);
  scatter_max(most, i, v);
  EXPECT_EQ(counted([&] { eval(a, b, c, least, most); }).synchronizations, 0u);
  EXPECT_TRUE(equals(a, integers{4, 10, 6, 10}));
  EXPECT_TRUE(equals(b, integers{14, 10, 24, 10}));
  EXPECT_TRUE(equals(c, integers{40, 10, 900, 10}));
  EXPECT_TRUE(equals(least, integers{4, 4, 3, 4}));
  EXPECT_TRUE(equals(most, integers{4, 4, 6, 4}));
}

TEST(scatter, along_every_axis_with_index_arrays_of_any_rank) {
  const host_array start = counting(i32, {3, 4, 5});
  const std::vector<std::int64_t> places{1, 0, 1, -1};
  for (int axis = -3; axis < 3; ++axis) {
    const int k = axis < 0 ? axis + 3 : axis;
    shape of_values = start.extents;
    of_values[k] = 4;
    host_array want = start;
    shape value_extents;  // [.., 2, 2, ..]
    for (int j = 0; j < 3; ++j) {
      if (j == k) value_extents.append(2);
      value_extents.append(j == k ? 2 : start.extents[j]);
    }
    array a = start.to_device();
    scatter_add(a, array(places, {2, 2}), counting(i32, value_extents).to_device(), axis);
    for (std::int64_t n = 0; n < of_values.size(); ++n) {
      std::int64_t at[3], rest = n;
      for (int j = 2; j >= 0; --j) {
        at[j] = rest % of_values[j];
        rest /= of_values[j];
      }
      const std::int64_t p = places[static_cast<std::size_t>(at[k])];
      at[k] = p < 0 ? p + start.extents[k] : p;
      const std::int64_t flat = (at[0] * 4 + at[1]) * 5 + at[2];
      want.set(flat, {want.get(flat).re + static_cast<long double>(n), 0});
    }
    EXPECT_TRUE(equals(a, want)) << axis;
  }
}

TEST(scatter, values_are_numbers_or_broadcast) {
  array a = zeros({3, 2}, f32), b = a;
  scatter_add(a, array{0, 2, 0}, 1.5);
  sinter::scatter(b, array{1, 0}, array{7, 8}, 1);
  EXPECT_TRUE(equals(a, host_array(std::vector<float>{3, 3, 0, 0, 1.5f, 1.5f}, {3, 2})));
  EXPECT_TRUE(equals(b, host_array(std::vector<float>{8, 7, 8, 7, 8, 7}, {3, 2})));
}

TEST(scatter, put_along_axis_undoes_take_along_axis) {
  const array x = counting(i32, {3, 4}).to_device() * 7 % 12;
  const array order = array(std::vector<std::int64_t>{2, 0, -1, 1, 3, 2, 1, 0, 0, 1, 2, 3}, {3, 4});
  array back = zeros({3, 4}, i32);
  put_along_axis(back, order, take_along_axis(x, order, 1), 1);
  EXPECT_TRUE(equals(back, from_device(x)));
  array columns = zeros({3, 4}, i32);
  put_along_axis(columns, array{{1, -1, 0, 1}}, array{{5, 6, 7, 8}}, 0);
  EXPECT_TRUE(equals(columns, host_array(integers{0, 0, 7, 0, 5, 0, 0, 8, 0, 6, 0, 0}, {3, 4})));
}

TEST(scatter, put_along_axis_leaves_the_last_of_equal_indices) {
  array a = zeros({2, 3}, i32), b = a;
  put_along_axis(a, array{{1, 1, 2, 1}, {0, 0, 0, 2}}, counting(i32, {2, 4}).to_device() + 1, 1);
  put_along_axis(b, array{{0, 0}}, array{{4}, {5}}, 1);  // one index row for both
  EXPECT_TRUE(equals(a, host_array(integers{0, 4, 3, 7, 0, 8}, {2, 3})));
  EXPECT_TRUE(equals(b, host_array(integers{4, 0, 0, 5, 0, 0}, {2, 3})));
}

TEST(scatter, put_counts_in_c_order) {
  array a = zeros({2, 3}, i32);
  put(a, array{{5, 1}, {-6, 1}}, array{{1, 2}, {3, 4}});
  EXPECT_TRUE(equals(a, host_array(integers{3, 4, 0, 0, 0, 1}, {2, 3})));
}

TEST(scatter, bad_arguments_are_refused_and_change_nothing) {
  array a = zeros({2, 3}, i32);
  const array before = a, i{0, 1};
  const char* here = "scatter_test.cpp";
  EXPECT_TRUE(throws<shape_error>([&] { scatter_add(a, i, 1, 2); }, {"scatter_add", here}));
  EXPECT_TRUE(throws<shape_error>([&] { scatter_add(a, i, zeros({3, 2}, i32)); }, {"[3, 2]", "[2, 3]", here}));
  EXPECT_TRUE(throws<type_error>([&] { scatter_min(a, i, 0.5); }, {"scatter_min", "i32", here}));
  EXPECT_TRUE(throws<type_error>([&] { sinter::scatter(a, zeros({2}), 1); }, {"f64", here}));
  EXPECT_TRUE(throws<shape_error>([&] { put_along_axis(a, i, 1, 0); }, {"rank", here}));
  EXPECT_TRUE(throws<shape_error>([&] { put_along_axis(a, zeros({3, 1}, i32), 1, 1); }, {"[3, 1]", "[2, 3]", here}));
  EXPECT_TRUE(throws<type_error>([&] { put(a, a > 0, 1); }, {"bool", here}));
  EXPECT_TRUE(throws<type_error>([&] { bincount(zeros({2}), 3); }, {"bincount", here}));
  EXPECT_TRUE(throws<shape_error>([&] { bincount(i, -1); }, {"bincount", here}));
  EXPECT_TRUE(throws<shape_error>([&] { bincount(i, zeros({3}), 3); }, {"[2]", "[3]", here}));
  EXPECT_TRUE(throws<shape_error>([&] { histogram(a, 0, 0, 1); }, {"0 intervals", here}));
  EXPECT_TRUE(throws<shape_error>([&] { histogram(a, 3, 1, 1); }, {"1", here}));
  EXPECT_TRUE(throws<shape_error>([&] { histogram(a, 3, 0, not_a_number); }, {here}));
  EXPECT_TRUE(throws<type_error>([&] { histogram(zeros({2}, c64), 3, 0, 1); }, {"c64", here}));
  EXPECT_EQ(a.node(), before.node());
}

TEST(scatter, bad_places_are_told_and_dropped) {
  array a = zeros({3}, i32), b = zeros({2, 3}, i32);
  scatter_max(a, array{1, 3}, 9);
  put_along_axis(b, array{{0}, {-4}}, 5, 1);
  for (const array* x : {&a, &b}) {
    eval(*x);
    EXPECT_TRUE(throws<index_error>([] { synchronize(); }, {"scatter_test.cpp"}));
  }
  EXPECT_TRUE(equals(a, integers{0, 9, 0}));
  EXPECT_TRUE(equals(b, host_array(integers{5, 0, 0, 0, 0, 0}, {2, 3})));
}

// ---- In a fixed order ----

TEST(scatter, fixed_orders_give_the_same_numbers) {
  const fixed_order on;
  array sums = full({5}, 1.5), differences = sums, products = full({5}, 2.0), quotients = full({5}, 64.0);
  const array i{3, -2, 0, 3, 3};
  const array v{1.0, 2.0, 4.0, 8.0, 2.0};
  sums(i) += v;
  differences(i) -= v;
  products(i) *= v;
  quotients(i) /= v;
  EXPECT_TRUE(equals(sums, std::vector<double>{5.5, 1.5, 1.5, 14.5, 1.5}));
  EXPECT_TRUE(equals(differences, std::vector<double>{-2.5, 1.5, 1.5, -11.5, 1.5}));
  EXPECT_TRUE(equals(products, std::vector<double>{8, 2, 2, 64, 2}));
  EXPECT_TRUE(equals(quotients, std::vector<double>{16, 64, 64, 2, 64}));
}

TEST(scatter, fixed_orders_among_other_axes) {
  const std::int64_t n = 4;
  host_array want = counting(f64, {2, 3, 4, 3});
  array near = want.to_device(), apart = near, any_order = near, any_order_apart = near;
  const array i{0, 2, 2, -3}, j{1, 0, 0, 1}, v = counting(f64, {2, n, 3}).to_device(),
                                             w = counting(f64, {n, 2, 4}).to_device();
  any_order(all, i, j) += v;
  any_order_apart(all, i, all, j) += w;
  {
    const fixed_order on;
    near(all, i, j) += v;
    apart(all, i, all, j) += w;
  }
  host_array want_apart = want;
  const std::int64_t rows[] = {0, 2, 2, 0}, columns[] = {1, 0, 0, 1};
  for (std::int64_t a = 0; a < 2; ++a)
    for (std::int64_t k = 0; k < n; ++k) {
      for (std::int64_t b = 0; b < 3; ++b) {
        const std::int64_t to = ((a * 3 + rows[k]) * 4 + columns[k]) * 3 + b;
        want.set(to, {want.get(to).re + static_cast<long double>((a * n + k) * 3 + b), 0});
      }
      for (std::int64_t b = 0; b < 4; ++b) {
        const std::int64_t to = ((a * 3 + rows[k]) * 4 + b) * 3 + columns[k];
        want_apart.set(to, {want_apart.get(to).re + static_cast<long double>((k * 2 + a) * 4 + b), 0});
      }
    }
  EXPECT_TRUE(equals(near, want));
  EXPECT_TRUE(equals(any_order, want));
  EXPECT_TRUE(equals(apart, want_apart));
  EXPECT_TRUE(equals(any_order_apart, want_apart));
}

TEST(scatter, fixed_orders_leave_other_elements_bit_for_bit_and_tell_bad_indices) {
  const fixed_order on;
  array a{-0.0, 1.0, -0.0, double(infinity)};
  a(array{1, 9, -5}) += array{1.0, 2.0, 3.0};
  eval(a);
  EXPECT_TRUE(throws<index_error>([] { synchronize(); }, {"scatter_test.cpp"}));
  EXPECT_TRUE(equals(a, std::vector<double>{-0.0, 2, -0.0, double(infinity)}, {0, 0, true}));
}

TEST(scatter, products_of_wide_complex_numbers) {
  array z = full({3}, complex128{0, 2}), q = z;
  const array i{1, 1, 2}, v = make_complex(array{0.0, 2.0, 1.0}, array{1.0, 0.0, 0.0});
  z(i) *= v;
  q(i) /= v;
  EXPECT_TRUE(equals(z, std::vector<complex128>{{0, 2}, {-4, 0}, {0, 2}}));
  EXPECT_TRUE(equals(q, std::vector<complex128>{{0, 2}, {1, 0}, {0, 2}}));
}

// ---- Counting ----

TEST(scatter, bincount_counts_and_weighs) {
  const array x{{1, 3, 1}, {0, 1, 3}}, w{{1.0, 0.5, 2.0}, {4.0, 8.0, 0.25}};
  EXPECT_TRUE(equals(bincount(x, 5), std::vector<std::int64_t>{1, 3, 0, 2, 0}));
  EXPECT_TRUE(equals(bincount(x.astype(u8), w, 4), std::vector<double>{4, 11, 0, 0.75}));
  EXPECT_TRUE(
      equals(bincount(x, make_complex(w, -w), 4), std::vector<complex128>{{4, -4}, {11, -11}, {0, 0}, {0.75, -0.75}}));
  EXPECT_TRUE(equals(bincount(zeros({0}, i32), 2), std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(bincount(zeros({0}, i32), 0).extents(), (shape{0}));
  for (const int bad : {-1, 4})
    EXPECT_TRUE(throws<index_error>(
        [&] {
          bincount(array{0, bad}, 4).to_vector<std::int64_t>();
        },
        {"scatter_test.cpp"}));
}

/// Compares with the edges, as histograms are defined.
std::vector<std::int64_t> counted_plainly(const std::vector<double>& x, const std::vector<double>& edges) {
  std::vector<std::int64_t> counts(edges.size() - 1);
  for (const double v : x) {
    if (!(v >= edges.front() && v <= edges.back())) continue;
    const auto above = std::upper_bound(edges.begin(), edges.end(), v) - edges.begin();
    ++counts[static_cast<std::size_t>(std::min<std::ptrdiff_t>(above - 1, std::ssize(counts) - 1))];
  }
  return counts;
}

TEST(scatter, histograms_put_every_value_between_its_edges) {
  lcg numbers(5);
  struct intervals {
    std::int64_t bins;
    double low, high;
  };
  for (const intervals& each : {intervals{1, 0, 1}, {7, 0, 1}, {10, 0.1, 0.7}, {49, -3, 1e-3}, {1000, 1e9, 1e9 + 1}}) {
    const std::int64_t bins = each.bins;
    const double low = each.low, high = each.high;
    const std::vector<double> edges = histogram_edges(bins, low, high).to_vector<double>();
    EXPECT_EQ(edges.front(), low);
    EXPECT_EQ(edges.back(), high);
    std::vector<double> x{low,
                          high,
                          std::nextafter(high, 2 * high),
                          std::nextafter(low, low - 1),
                          double(not_a_number),
                          double(infinity),
                          -double(infinity)};
    for (const double e : edges)  // where rounding decides
      for (const double v : {e, std::nextafter(e, low), std::nextafter(e, high)}) x.push_back(v);
    for (int k = 0; k < 2000; ++k)
      x.push_back(low + (high - low) * (static_cast<double>(numbers.below(1 << 20)) / (1 << 19) - 0.5));
    const statistics added = counted([&] {
      const array h = histogram(array(x), bins, low, high);
      EXPECT_TRUE(equals(h, counted_plainly(x, edges))) << bins << " from " << low << " to " << high;
    });
    EXPECT_LE(added.launches, 3u);
  }
}

TEST(scatter, histograms_of_other_dtypes_and_with_weights) {
  const array x = arange(12), w = x * 0.5;
  EXPECT_TRUE(equals(histogram(x, 3, 0, 9), std::vector<std::int64_t>{3, 3, 4}));
  EXPECT_TRUE(equals(histogram(reshape(x.astype(u8), {3, 4}), 2, 1, 11), std::vector<std::int64_t>{5, 6}));
  EXPECT_TRUE(equals(histogram(x.astype(f16), w, 3, 0, 9), std::vector<double>{1.5, 6, 15}));
  EXPECT_TRUE(equals(histogram(x > 5, 2, 0, 1), std::vector<std::int64_t>{6, 6}));
}

// Found by a newcomer: values of a wider dtype wrapped before they were compared.
TEST(scatter, operations_with_wider_values_are_those_of_a_range) {
  const array wide{300, -300, 128, 3}, places{0, 1, 2, 3}, start = array{100, -100, 7, 50}.astype(i8);
  const auto check = [&](auto write) {
    array at_places = start, in_range = start;
    write(at_places(places), wide);
    write(in_range(range(0, 4)), wide);
    EXPECT_TRUE(equals(at_places, from_device(in_range)));
  };
  check([](auto&& a, const array& x) { std::move(a).set_minimum(x); });
  check([](auto&& a, const array& x) { std::move(a).set_maximum(x); });
  check([](auto&& a, const array& x) { std::move(a) /= x; });
  check([](auto&& a, const array& x) { std::move(a) %= x; });
  check([](auto&& a, const array& x) { std::move(a) <<= x; });
  check([](auto&& a, const array& x) { std::move(a) >>= x; });
  check([](auto&& a, const array& x) { std::move(a) += x; });
  check([](auto&& a, const array& x) { std::move(a) *= x; });
  array b = full({2}, 5, i8), c = full({1}, 2, f16);
  scatter_min(b, array{0, 1, 0}, array{128, 300, 4});
  EXPECT_TRUE(equals(b, std::vector<std::int8_t>{4, 5}));
  c(array{0, 0}) /= array{0.5, 0.25};
  EXPECT_TRUE(equals(c.astype(f32), std::vector<float>{16}));
}

// Found by a newcomer: plans that never ended.
TEST(scatter, gathers_from_the_new_version_are_planned_beside_the_write) {
  const auto check = [](auto change, auto read) {
    array a = ones({4, 4}, f32) + 1;
    eval(a);
    change(a);
    const array g = read(a);
    eval(a, g);
    array want = ones({4, 4}, f32) + 1;
    change(want);
    eval(want);
    EXPECT_TRUE(equals(a, from_device(want)));
    EXPECT_TRUE(equals(g, from_device(read(want))));
  };
  check([](array& a) { a(array{0}, range(1)) += 1; }, [](const array& a) { return a(all, array{1}); });
  check([](array& a) { a(range(1), array{0}) += 1; }, [](const array& a) { return a(array{1}); });
  check([](array& a) { a(array{0, 1}, range(1)) = 1; }, [](const array& a) { return take(a, array{1}, 1); });
  check([](array& a) { a(range(0, 2)) = a(range(2, 4)) * 3 + 1; }, [](const array& a) { return a(range(1, 3)) + 1; });
}

}  // namespace
