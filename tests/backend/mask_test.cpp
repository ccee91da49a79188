// Elements picked by their values, against loops over the same values on the host.
#include "tests/backend/corners.hpp"

#include <algorithm>
#include <cmath>

using namespace sinter;
using namespace sinter_test;

namespace {

constexpr dtype every_type[] = {boolean, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128};
/// Around the powers of 8 where the tree of counts gets another level, and where a descent is cut in two.
constexpr std::int64_t sizes[] = {0, 1, 7, 8, 9, 63, 64, 65, 511, 512, 513, 5000, 100003};

bool is_true(const value& v) { return v.re != 0 || v.im != 0; }
bool is_nan(const value& v) { return std::isnan(v.re) || std::isnan(v.im); }

std::vector<std::int64_t> true_positions(const host_array& x) {
  std::vector<std::int64_t> out;
  for (std::int64_t k = 0; k < x.size(); ++k)
    if (is_true(x.get(k))) out.push_back(k);
  return out;
}

/// Row by row, where the true elements of x are: i64 [count, rank].
host_array true_places(const host_array& x) {
  const std::vector<std::int64_t> positions = true_positions(x);
  const int rank = x.extents.rank();
  host_array out(i64, {static_cast<std::int64_t>(positions.size()), rank});
  for (std::size_t n = 0; n < positions.size(); ++n) {
    std::int64_t rest = positions[n];
    for (int k = rank - 1; k >= 0; --k) {
      out.set(static_cast<std::int64_t>(n) * rank + k, {static_cast<long double>(rest % x.extents[k]), 0});
      rest /= x.extents[k];
    }
  }
  return out;
}

host_array column(const host_array& rows, std::int64_t k) {
  host_array out(rows.type, {rows.extents[0]});
  for (std::int64_t n = 0; n < rows.extents[0]; ++n) out.set(n, rows.get(n * rows.extents[1] + k));
  return out;
}

/// True at about one in `spacing` elements; each of them true for 1.
host_array random_mask(const shape& extents, std::uint64_t spacing, std::uint32_t seed) {
  host_array out(boolean, extents);
  lcg g(seed);
  for (std::int64_t k = 0; k < out.size(); ++k) out.set(k, {g.below(spacing) == 0 ? 1.0L : 0.0L, 0});
  return out;
}

/// Small numbers of any dtype, many of them equal.
host_array small_numbers(dtype type, const shape& extents, std::uint32_t seed) {
  host_array out(type, extents);
  lcg g(seed);
  const auto whole = [&](std::uint64_t below) {
    const auto n = static_cast<long double>(g.below(below));
    return kind_of(type) == kind::unsigned_integer ? n : n - std::floor(static_cast<long double>(below) / 2);
  };
  for (std::int64_t k = 0; k < out.size(); ++k) {
    if (type == boolean) out.set(k, {static_cast<long double>(g.below(2)), 0});
    else if (is_complex(type)) out.set(k, {whole(7) / 2, whole(7) / 2});
    else out.set(k, {is_real(type) ? whole(41) / 4 : whole(41), 0});
  }
  return out;
}

host_array joined(const host_array& a, const host_array& b) {
  host_array out(a.type, {a.size() + b.size()});
  std::copy(b.bytes.begin(), b.bytes.end(), std::copy(a.bytes.begin(), a.bytes.end(), out.bytes.begin()));
  return out;
}

/// Elements k of the list `order` of x, along its only axis.
host_array at_positions(const host_array& x, const std::vector<std::int64_t>& order) { return picked(x, 0, order); }

host_array mixed(const host_array& x, std::uint32_t seed) {
  std::vector<std::int64_t> order;
  for (std::int64_t k = 0; k < x.size(); ++k) order.push_back(k);
  lcg g(seed);
  for (std::size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[g.below(k)]);
  return at_positions(x, order);
}

// ---- flatnonzero ----

TEST(masks, positions_of_true_elements_for_every_size) {
  for (const std::int64_t n : sizes)
    for (const std::uint64_t spacing : {std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{200}}) {
      const host_array mask = random_mask({n}, spacing, static_cast<std::uint32_t>(n) + 5);
      const array found = flatnonzero(mask.to_device());
      EXPECT_EQ(found.type(), i64);
      EXPECT_TRUE(equals(found, true_positions(mask))) << n << " elements, one of " << spacing << " true";
    }
}

TEST(masks, all_true_and_all_false) {
  for (const std::int64_t n : sizes) {
    const host_array filled = random_mask({n}, 1, 3);
    EXPECT_TRUE(equals(flatnonzero(filled.to_device()), true_positions(filled))) << n;
    EXPECT_EQ(true_positions(filled).size(), static_cast<std::size_t>(n));
    const array none = flatnonzero(host_array(boolean, {n}).to_device());
    EXPECT_EQ(to_string(none.extents()), "[0]") << n;
    EXPECT_EQ(none.type(), i64);
    EXPECT_TRUE(none.to_vector<std::int64_t>().empty());
  }
}

TEST(masks, a_single_true_element_is_found_anywhere) {
  for (const std::int64_t n : sizes)
    for (const std::int64_t at : {std::int64_t{0}, n / 3, n / 2, n - 1}) {
      if (n == 0) continue;
      host_array mask(boolean, {n});
      mask.set(at, {1, 0});
      EXPECT_TRUE(equals(flatnonzero(mask.to_device()), std::vector<std::int64_t>{at})) << at << " of " << n;
    }
}

// A group of the tree that ends within the last parent must not lend its neighbours' counts.
TEST(masks, true_elements_at_both_ends_only) {
  for (std::int64_t n = 2; n < 140; ++n) {
    host_array mask(boolean, {n});
    mask.set(0, {1, 0});
    mask.set(n - 1, {1, 0});
    ASSERT_TRUE(equals(flatnonzero(mask.to_device()), std::vector<std::int64_t>{0, n - 1})) << n;
  }
}

TEST(masks, every_dtype_is_true_where_it_is_not_zero) {
  for (const dtype type : every_type) {
    const host_array x = small_numbers(type, {300}, 11);
    ASSERT_LT(true_positions(x).size(), 300u) << to_string(type);
    EXPECT_TRUE(equals(flatnonzero(x.to_device()), true_positions(x))) << to_string(type);
  }
  for (const dtype type : real_types) {
    const host_array x = samples(type, 100);  // with NaN, which isn't zero, and -0, which is
    EXPECT_TRUE(equals(flatnonzero(x.to_device()), true_positions(x))) << to_string(type);
  }
  const host_array z(std::vector<complex64>{{0, 0}, {0, 1}, {-0.0f, 0}, {not_a_number, 0}, {0, not_a_number}, {2, 0}});
  EXPECT_TRUE(equals(flatnonzero(z.to_device()), std::vector<std::int64_t>{1, 3, 4, 5}));
}

TEST(masks, positions_are_the_same_with_64_bit_index_arithmetic) {
  const wide_indices forced;
  const host_array mask = random_mask({5000}, 3, 21);
  EXPECT_TRUE(equals(flatnonzero(mask.to_device()), true_positions(mask)));
}

TEST(masks, the_count_is_the_only_wait) {
  const array mask = random_mask({100003}, 3, 8).to_device();
  const statistics added = counted([&] { flatnonzero(mask); });
  EXPECT_EQ(added.synchronizations, 1u);
  EXPECT_LE(added.bytes_to_host, 8u);
  EXPECT_EQ(added.bytes_to_device, 0u);
}

// ---- nonzero, argwhere ----

const shape ranked[] = {{5}, {3, 7}, {1, 1}, {4, 1, 9}, {2, 3, 4, 5}, {17, 33}, {0, 3}, {3, 0}, {2, 0, 2}};

TEST(masks, indices_along_every_axis) {
  for (const shape& s : ranked) {
    const host_array x = random_mask(s, 3, 9), places = true_places(x);
    const std::vector<array> found = nonzero(x.to_device());
    ASSERT_EQ(found.size(), static_cast<std::size_t>(s.rank())) << to_string(s);
    for (std::size_t k = 0; k < found.size(); ++k) {
      EXPECT_EQ(found[k].type(), i64);
      EXPECT_TRUE(equals(found[k], column(places, static_cast<std::int64_t>(k)))) << to_string(s) << ", axis " << k;
    }
    const array rows = argwhere(x.to_device());
    EXPECT_EQ(rows.type(), i64);
    EXPECT_TRUE(equals(rows, places)) << to_string(s);
    EXPECT_TRUE(equals(flatnonzero(x.to_device()), true_positions(x))) << to_string(s);
  }
}

TEST(masks, arrays_without_axes_count_as_one_element) {
  for (const double number : {0.0, 2.5}) {
    const std::vector<std::int64_t> want(number == 0 ? 0 : 1, 0);
    const std::vector<array> found = nonzero(array(number));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_TRUE(equals(found[0], want)) << number;
    EXPECT_TRUE(equals(flatnonzero(array(number)), want)) << number;
    const shape rows{static_cast<std::int64_t>(want.size()), 0};
    EXPECT_EQ(to_string(argwhere(array(number)).extents()), to_string(rows));
    EXPECT_TRUE(equals(compress(array{true}, array(number)), std::vector<double>{number}));
    EXPECT_TRUE(equals(unique(array(number)), std::vector<double>{number}));
  }
}

TEST(masks, the_indices_read_the_elements) {
  const host_array h = small_numbers(i32, {13, 17}, 4);
  const array x = h.to_device();
  const std::vector<array> at = nonzero(x > 3);
  host_array mask(boolean, h.extents);
  for (std::int64_t k = 0; k < h.size(); ++k) mask.set(k, {h.get(k).re > 3 ? 1.0L : 0.0L, 0});
  const host_array want = at_positions(reshaped(h, {h.size()}), true_positions(mask));
  ASSERT_GT(want.size(), 10);
  EXPECT_TRUE(equals(x(at[0], at[1]), want));
  EXPECT_TRUE(equals(take(x, flatnonzero(x > 3)) * 1, want));
}

TEST(masks, views_and_pending_values) {
  const host_array h = small_numbers(i16, {19, 24}, 6);
  const array x = h.to_device();
  const auto check = [](const array& lazy, const char* what) {
    const host_array values = from_device(lazy * 1);  // lazy itself stays as it is
    EXPECT_TRUE(equals(argwhere(lazy), true_places(values))) << what;
    EXPECT_TRUE(equals(flatnonzero(lazy), true_positions(values))) << what;
  };
  check(transpose(x), "transposed");
  check(x(range(end, begin, -2), range(3, -4)), "reversed and cut");
  check(x(all, 5), "a column");
  check(broadcast_to(x(3), {6, 24}), "broadcast");
  check(x(array{3, 3, -1}, all), "gathered");
  check(x * x - 4, "computed");
  check(sum(x, 1) / 8, "reduced");
  check(zeros({40, 3}, i32), "nothing but a constant");
  check(ones({40, 3}, i32), "nothing but a constant");
  check(arange(700) % 7, "a sequence");
}

TEST(masks, the_values_found_are_those_of_the_call) {
  array x = host_array(std::vector<std::int32_t>{1, 0, 2, 0}).to_device();
  const array found = flatnonzero(x);
  x += 1;
  EXPECT_TRUE(equals(found, std::vector<std::int64_t>{0, 2}));
  EXPECT_TRUE(equals(flatnonzero(x), std::vector<std::int64_t>{0, 1, 2, 3}));
}

// ---- compress ----

TEST(masks, slices_where_the_mask_is_true) {
  const host_array h = counting(f32, {4, 9, 3});
  const array x = h.to_device();
  for (int axis = 0; axis < 3; ++axis) {
    const host_array mask = random_mask({h.extents[axis]}, 2, static_cast<std::uint32_t>(axis) + 1);
    const host_array want = picked(h, axis, true_positions(mask));
    EXPECT_TRUE(equals(compress(mask.to_device(), x, axis), want)) << axis;
    EXPECT_TRUE(equals(compress(mask.to_device(), x * 1, axis - 3) + 0, want)) << axis;
  }
  const host_array mask = random_mask({108}, 3, 7);
  EXPECT_TRUE(equals(compress(mask.to_device(), x), at_positions(reshaped(h, {108}), true_positions(mask))));
  EXPECT_EQ(compress(mask.to_device(), x).type(), f32);
}

TEST(masks, a_short_mask_ends_in_false) {
  const array x = counting(i32, {2, 5}).to_device();
  EXPECT_TRUE(equals(compress(array{false, true}, x, 1), host_array(std::vector<std::int32_t>{1, 6}, {2, 1})));
  EXPECT_TRUE(equals(compress(array{true, false, true}, x), std::vector<std::int32_t>{0, 2}));
  const array none = host_array(boolean, {0}).to_device();
  EXPECT_EQ(to_string(compress(none, x, 1).extents()), "[2, 0]");
  EXPECT_EQ(to_string(compress(none, x).extents()), "[0]");
  EXPECT_EQ(to_string(compress(array{false, false}, x, 0).extents()), "[0, 5]");
  EXPECT_EQ(to_string(compress(none, host_array(f64, {0, 3}).to_device(), 0).extents()), "[0, 3]");
}

TEST(masks, a_mask_must_fit) {
  const array x = counting(i32, {2, 5}).to_device();
  EXPECT_TRUE(throws<type_error>([&] { compress(array{1, 0}, x, 0); }, {"compress", "i32", "mask_test.cpp"}));
  EXPECT_TRUE(throws<type_error>([&] { compress(array{1.0f, 0.0f}, x); }, {"f32"}));
  EXPECT_TRUE(throws<shape_error>([&] { compress(array{true, false, true}, x, 0); }, {"3", "2", "mask_test.cpp"}));
  EXPECT_TRUE(throws<shape_error>([&] { compress(ones({11}, boolean), x); }, {"11", "10", "mask_test.cpp"}));
  EXPECT_TRUE(throws<shape_error>([&] { compress(ones({2, 5}, boolean), x, 0); }, {"[2, 5]", "mask_test.cpp"}));
  EXPECT_TRUE(throws<shape_error>([&] { compress(ones({}, boolean), x, 0); }, {"[]", "mask_test.cpp"}));
  EXPECT_TRUE(throws<shape_error>([&] { compress(array{true}, x, 2); }, {"compress", "2", "mask_test.cpp"}));
  EXPECT_TRUE(throws<shape_error>([&] { compress(array{true}, array(1.0), 0); }, {"compress", "mask_test.cpp"}));
}

TEST(masks, a_bad_index_met_before_is_told) {
  const array x = counting(i32, {4}).to_device();
  const array bad = x(host_array(std::vector<std::int64_t>{1, 9}).to_device());
  EXPECT_TRUE(throws<index_error>([&] { flatnonzero(bad); }, {"9", "mask_test.cpp"}));
  EXPECT_TRUE(equals(flatnonzero(x), std::vector<std::int64_t>{1, 2, 3}));
}

// ---- unique ----

bool comes_before(const value& a, const value& b) {
  if (is_nan(a) || is_nan(b)) return !is_nan(a) && is_nan(b);
  return a.re != b.re ? a.re < b.re : a.im < b.im;
}
bool are_equal(const value& a, const value& b) {
  return is_nan(a) ? is_nan(b) : a.re == b.re && a.im == b.im;
}

/// Empty when `got` has the different values of x in order, else what is wrong.
std::string unlike_unique(const array& got, const host_array& x) {
  std::vector<value> want;
  for (std::int64_t k = 0; k < x.size(); ++k) want.push_back(x.get(k));
  std::stable_sort(want.begin(), want.end(), comes_before);
  want.erase(std::unique(want.begin(), want.end(), are_equal), want.end());
  if (got.type() != x.type) return std::string("the dtype is ") + to_string(got.type());
  const host_array found = from_device(got);
  if (found.extents != shape{static_cast<std::int64_t>(want.size())})
    return "shape " + to_string(found.extents) + " for " + std::to_string(want.size()) + " values";
  for (std::size_t k = 0; k < want.size(); ++k)
    if (const value v = found.get(static_cast<std::int64_t>(k)); !are_equal(v, want[k]))
      return "element " + std::to_string(k) + ": " + to_text(v, x.type) + ", not " + to_text(want[k], x.type);
  return {};
}

TEST(masks, different_values_of_every_dtype) {
  for (const dtype type : every_type)
    for (const int n : {0, 1, 2, 3, 37}) {
      const host_array x = small_numbers(type, {n}, static_cast<std::uint32_t>(n) + 1);
      EXPECT_EQ(unlike_unique(unique(x.to_device()), x), "") << to_string(type) << ", " << n << " elements";
    }
}

// Sorting pads with the greatest value, which may be one of the array, or not.
TEST(masks, different_values_among_the_least_and_the_greatest) {
  for (const dtype type : every_type) {
    if (is_complex(type)) continue;
    host_array x = type == boolean ? small_numbers(type, {30}, 2) : samples(type, 30);
    x = reshaped(x, {x.size()});
    for (const host_array& twice : {mixed(joined(x, x), 3), mixed(joined(x, small_numbers(type, {11}, 8)), 4)})
      EXPECT_EQ(unlike_unique(unique(twice.to_device()), twice), "") << to_string(type);
  }
}

TEST(masks, different_values_for_every_size) {
  for (const std::int64_t n : sizes) {
    const host_array x = small_numbers(f32, {n}, 5);
    host_array wide(u32, {n});  // nearly all of them different
    lcg g(77);
    for (std::int64_t k = 0; k < n; ++k) wide.set(k, {static_cast<long double>(g.next()), 0});
    EXPECT_EQ(unlike_unique(unique(x.to_device()), x), "") << n;
    EXPECT_EQ(unlike_unique(unique(wide.to_device()), wide), "") << n;
  }
}

TEST(masks, nan_is_one_value_and_the_last) {
  const array x{not_a_number, 1.0f, infinity, not_a_number, -infinity, 1.0f, not_a_number};
  EXPECT_TRUE(equals(unique(x), std::vector<float>{-infinity, 1, infinity, not_a_number}));
  EXPECT_TRUE(equals(unique(full({9}, not_a_number, f64)), std::vector<double>{not_a_number}));
  EXPECT_TRUE(equals(unique(array{not_a_number}), std::vector<float>{not_a_number}));
  const host_array z(std::vector<complex128>{
      {1, not_a_number}, {2, 1}, {not_a_number, 0}, {2, -1}, {-1, 5}, {2, 1}, {-infinity, infinity}, {2, infinity}});
  EXPECT_EQ(unlike_unique(unique(z.to_device()), z), "");
  EXPECT_EQ(to_string(unique(z.to_device()).extents()), "[6]");
}

TEST(masks, both_zeros_are_one_value) {
  const array x{0.0, -0.0, 1.0, -0.0, 0.0};
  EXPECT_TRUE(equals(unique(x), std::vector<double>{0, 1}));
  const host_array z(std::vector<complex64>{{-0.0f, 1}, {0, 1}, {0, -0.0f}, {0, 0}});
  EXPECT_EQ(to_string(unique(z.to_device()).extents()), "[2]");
}

TEST(masks, different_values_of_views_and_pending_values) {
  const host_array h = small_numbers(i16, {6, 5, 4}, 6);
  const array x = h.to_device();
  EXPECT_EQ(unlike_unique(unique(x), h), "");
  EXPECT_EQ(unlike_unique(unique(transpose(x, {2, 0, 1})), h), "");
  const array part = x(range(end, begin, -2), 3), computed = x * x - 3;
  EXPECT_EQ(unlike_unique(unique(part), from_device(part + 0)), "");
  EXPECT_EQ(unlike_unique(unique(computed), from_device(computed + 0)), "");
  EXPECT_TRUE(equals(unique(ones({4, 30}, u8)), std::vector<std::uint8_t>{1}));
  EXPECT_TRUE(equals(unique(arange(70) / 7) * 2, std::vector<std::int64_t>{0, 2, 4, 6, 8, 10, 12, 14, 16, 18}));
  EXPECT_EQ(to_string(unique(zeros({3, 0, 2}, c64)).extents()), "[0]");
}

TEST(masks, values_in_order_and_in_reverse_order_stay_right) {
  const array up = arange(1000);
  EXPECT_TRUE(equals(unique(up), from_device(up + 0)));
  EXPECT_TRUE(equals(unique(flip(up)), from_device(up + 0)));
}

TEST(masks, sorting_another_size_compiles_nothing) {
  unique(small_numbers(c64, {100}, 1).to_device());
  flatnonzero(random_mask({2000}, 5, 1).to_device());  // a tree of more levels, which is a kernel of its own
  const statistics added = counted([&] { unique(small_numbers(c64, {2000}, 1).to_device()); });
  EXPECT_GT(added.launches, 33u) << "66 stages";
  EXPECT_EQ(added.compiles, 0u);
}

TEST(masks, different_real_numbers_take_one_sort) {
  const array x = small_numbers(u16, {2000}, 1).to_device();
  const statistics added = counted([&] { eval(unique(x)); });
  EXPECT_LE(added.launches, 8u) << "the sort, the count of different ones, their places, the values";
}

}  // namespace
