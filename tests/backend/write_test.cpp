// Writes through selections against plain loops: views of every kind, index arrays, masks, on lazy and computed arrays.
#include "tests/backend/expect.hpp"

#include <cmath>
#include <utility>

using namespace sinter;
using namespace sinter_test;

namespace {

using integers = std::vector<std::int32_t>;
const range backwards(end, begin, -1);

/// 0, 1, 2, ... as i32, once to write to and once as plain numbers.
struct pair {
  explicit pair(const shape& s) : a(counting(i32, s).to_device()), extents(s) {
    for (std::int64_t k = 0; k < extents.size(); ++k) h.push_back(static_cast<std::int32_t>(k));
  }
  std::int32_t& at(std::int64_t i, std::int64_t j) { return h[static_cast<std::size_t>(i * extents[1] + j)]; }
  std::int32_t& at(std::int64_t i, std::int64_t j, std::int64_t k) {
    return h[static_cast<std::size_t>((i * extents[1] + j) * extents[2] + k)];
  }
  testing::AssertionResult agrees() const { return equals(a, host_array(h, extents)); }

  array a;
  integers h;
  shape extents;
};

TEST(write, ints_and_ranges_of_either_sign) {
  pair p({6, 8});
  p.a(1) = 100;
  p.a(all, -1) = 200;
  p.a(range(2, end, 2), range(6, 0, -3)) = 300;
  p.a(-1, 0) = 400;
  p.a(backwards, 2) = array{500, 501, 502, 503, 504, 505};
  p.a(range(4, 2), all) = 600;  // nothing
  for (int j = 0; j < 8; ++j) p.at(1, j) = 100;
  for (int i = 0; i < 6; ++i) p.at(i, 7) = 200;
  for (int i = 2; i < 6; i += 2) p.at(i, 6) = p.at(i, 3) = 300;
  p.at(5, 0) = 400;
  for (int i = 0; i < 6; ++i) p.at(5 - i, 2) = 500 + i;
  EXPECT_TRUE(p.agrees());
}

TEST(write, new_axes_and_ellipses) {
  pair p({3, 4, 5});
  p.a(ellipsis, 0) = 1;
  p.a(newaxis, 1, newaxis, all, range(1, 3)) += counting(i32, {1, 1, 4, 1}).to_device() * 10;
  p.a(2, ellipsis, newaxis) = counting(i32, {5, 1}).to_device();
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) p.at(i, j, 0) = 1;
  for (int j = 0; j < 4; ++j)
    for (int k = 1; k < 3; ++k) p.at(1, j, k) += 10 * j;
  for (int j = 0; j < 4; ++j)
    for (int k = 0; k < 5; ++k) p.at(2, j, k) = k;
  EXPECT_TRUE(p.agrees());
}

TEST(write, whole_arrays_keep_their_dtype_and_shape) {
  array a = zeros({2, 3}, f32), n(7);
  a(all, all) = array{1, 2, 3};
  a(ellipsis) *= 2;
  n(ellipsis) = 9;
  EXPECT_EQ(a.type(), f32);
  EXPECT_TRUE(equals(a, host_array(std::vector<float>{2, 4, 6, 2, 4, 6}, {2, 3})));
  EXPECT_EQ(n.item<int>(), 9);
}

TEST(write, values_broadcast_and_lose_leading_unit_axes) {
  pair p({4, 3});
  p.a(range(0, 2)) = array{10, 20, 30};
  p.a(3) = array{{5, 6, 7}};
  p.a(range(1, 3), all) += array{{100}, {200}};
  for (int j = 0; j < 3; ++j) {
    p.at(0, j) = p.at(1, j) = 10 * (j + 1);
    p.at(3, j) = 5 + j;
    p.at(1, j) += 100;
    p.at(2, j) += 200;
  }
  EXPECT_TRUE(p.agrees());
}

TEST(write, index_arrays_of_all_arrangements) {
  pair p({4, 5, 6});
  const array i{3, 0, -2}, j{{1}, {-1}};
  p.a(i) += 1000;                                                      // rows
  p.a(all, array{0, 2}, range(1, 3)) = -1;                             // in the middle of ranges
  p.a(i, all, array{0, 5, 5}) = -2;                                    // separated: the axis of the indices comes first
  p.a(1, array{4, 3}, backwards) = counting(i32, {2, 6}).to_device();  // an int beside them
  p.a(range(2, 4), j, array{2, 3, 4}) -= 7;                            // two that broadcast, [2, 3]
  for (int x = 0; x < 5; ++x)
    for (int y = 0; y < 6; ++y)
      for (const int r : {3, 0, 2}) p.at(r, x, y) += 1000;
  for (int r = 0; r < 4; ++r)
    for (const int x : {0, 2}) p.at(r, x, 1) = p.at(r, x, 2) = -1;
  for (int x = 0; x < 5; ++x) p.at(3, x, 0) = p.at(0, x, 5) = p.at(2, x, 5) = -2;
  for (int y = 0; y < 6; ++y) {
    p.at(1, 4, 5 - y) = y;
    p.at(1, 3, 5 - y) = 6 + y;
  }
  for (int r = 2; r < 4; ++r)
    for (const int x : {1, 4})
      for (int y = 2; y < 5; ++y) p.at(r, x, y) -= 7;
  EXPECT_TRUE(p.agrees());
}

TEST(write, of_repeated_indices_the_last_value_stays) {
  const std::int64_t n = 3000;
  const array i = arange(n) * 7919 % 50, v = arange(n).astype(i32);
  array a = full({50}, -1, i32), rows = full({4, 3}, -1, i32);
  a(i) = v;
  rows(array{1, 3, 1, 1}, all) = counting(i32, {4, 3}).to_device();
  integers want(50, -1);
  for (std::int64_t k = 0; k < n; ++k) want[static_cast<std::size_t>(k * 7919 % 50)] = static_cast<std::int32_t>(k);
  EXPECT_TRUE(equals(a, want));
  EXPECT_TRUE(equals(rows, host_array(integers{-1, -1, -1, 9, 10, 11, -1, -1, -1, 3, 4, 5}, {4, 3})));
}

TEST(write, repeated_indices_accumulate_along_other_axes_too) {
  array a = zeros({2, 3}, i64), least = full({3}, 100), all_bits = zeros({3}, u8);
  a(all, array{2, 0, 2}) += array{{1, 10, 100}, {2, 20, 200}};
  a(array{0, 0, 0}, array{1, 1, 1}) -= 5;
  least(array{0, 1, 0, 0}).set_minimum(array{7, 300, 3, 9});
  all_bits(array{2, 2, 0}) |= array{1, 6, 8}.astype(u8);
  EXPECT_TRUE(equals(a, host_array(std::vector<std::int64_t>{10, -15, 101, 20, 0, 202}, {2, 3})));
  EXPECT_TRUE(equals(least, std::vector<std::int64_t>{3, 100, 100}));
  EXPECT_TRUE(equals(all_bits, std::vector<std::uint8_t>{8, 0, 7}));
}

TEST(write, masks_of_rank_1_and_2_and_of_some_axes) {
  pair p({3, 4, 5});
  const array rows = booleans({1, 0, 1}, {3}).to_device(), columns = booleans({0, 1, 1, 0}, {4}).to_device();
  const array m = counting(i32, {3, 4}).to_device() % 3 == 1;
  p.a(p.a % 7 == 0) = -1;                          // of all axes
  p.a(rows) *= 2;                                  // of the first
  p.a(all, columns, range(0, 2)) = array{70, 71};  // in the middle
  p.a(m, -1) += 1000;                              // of the first two, beside an int
  p.a(0, all, array{0, 3}) = 5;
  p.a(m) = counting(i32, {4, 5}).to_device();  // a value for each true element
  p.a(1, columns) -= array{{1}, {2}};
  for (auto& x : p.h) x = x % 7 == 0 ? -1 : x;
  for (int j = 0; j < 4; ++j)
    for (int k = 0; k < 5; ++k) {
      p.at(0, j, k) *= 2;
      p.at(2, j, k) *= 2;
    }
  for (int i = 0; i < 3; ++i)
    for (const int j : {1, 2}) {
      p.at(i, j, 0) = 70;
      p.at(i, j, 1) = 71;
    }
  const auto chosen = [](int i, int j) { return (i * 4 + j) % 3 == 1; };
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j)
      if (chosen(i, j)) p.at(i, j, 4) += 1000;
  for (int j = 0; j < 4; ++j) p.at(0, j, 0) = p.at(0, j, 3) = 5;
  std::int32_t next = 0;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j)
      for (int k = 0; chosen(i, j) && k < 5; ++k) p.at(i, j, k) = next++;
  for (int k = 0; k < 5; ++k) {
    p.at(1, 1, k) -= 1;
    p.at(1, 2, k) -= 2;
  }
  EXPECT_TRUE(p.agrees());
}

TEST(write, a_mask_separated_from_an_int_selects_with_its_axis_first) {
  pair p({2, 3, 4});
  const array m = booleans({1, 0, 1, 1}, {4}).to_device();
  p.a(1, all, m) = array{100, 200, 300};  // [count, 3]
  p.a(0, all, m) += array{{1}, {2}, {3}};
  for (int j = 0; j < 3; ++j) {
    int k = 0;
    for (const int c : {0, 2, 3}) {
      p.at(1, j, c) = 100 * (j + 1);
      p.at(0, j, c) += ++k;
    }
  }
  EXPECT_TRUE(p.agrees());
}

TEST(write, masks_are_read_as_they_are_written) {
  const array x = counting(i32, {3, 4}).to_device(), m = x % 5 == 2;
  EXPECT_TRUE(equals(x(m), integers{2, 7}));
  EXPECT_TRUE(equals(x(x > 100), integers{}));
  EXPECT_TRUE(equals(x(booleans({0, 1, 1}, {3}).to_device(), 3), integers{7, 11}));
  EXPECT_TRUE(equals(x(all, booleans({1, 0, 0, 1}, {4}).to_device()), host_array(integers{0, 3, 4, 7, 8, 11}, {3, 2})));
  array y = x;
  y(m) = x(m) * 10;
  EXPECT_TRUE(equals(y, host_array(integers{0, 1, 20, 3, 4, 5, 6, 70, 8, 9, 10, 11}, {3, 4})));
}

TEST(write, a_mask_with_nothing_true_writes_nothing) {
  array a = counting(i32, {4}).to_device();
  const array none = a > 100;
  a(none) = 9;
  a(none) = array(std::vector<std::int32_t>{});
  a(none) += array(std::vector<std::int32_t>{});
  EXPECT_TRUE(equals(a, integers{0, 1, 2, 3}));
}

TEST(write, assignment_through_a_mask_waits_for_nothing) {
  array a = counting(f32, {1000}).to_device();
  eval(a);
  const statistics added = counted([&] {
    a(a > 500) = 0;
    a(a > 100) *= 2;
    a(a < 3).set_maximum(3);
  });
  EXPECT_EQ(added.synchronizations, 0u);
  EXPECT_EQ(added.launches, 0u);
  EXPECT_LE(counted([&] { eval(a); }).launches, 1u);
  EXPECT_EQ(a(400).item<float>(), 800);
  EXPECT_EQ(a(501).item<float>(), 0 + 3);
  EXPECT_EQ(a(2).item<float>(), 3);
}

TEST(write, values_that_broadcast_along_a_masks_count_wait_for_nothing) {
  pair p({2, 3, 4});
  const array rows = booleans({0, 1, 1}, {3}).to_device(), last = booleans({1, 0, 0, 1}, {4}).to_device();
  const array m = booleans({1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0}, {3, 4}).to_device();
  const array first{100, 200}, wide = counting(i32, {2, 1, 4}).to_device() + 1;
  EXPECT_EQ(counted([&] {
              p.a(all, rows) += wide;                   // [2, count, 4]
              p.a(all, m) -= reshape(first, {2, 1});    // [2, count]
              p.a(1, all, last) = array{7, 8, 9};       // separated from the int: [count, 3]
              p.a(newaxis, last(range(0, 2)), 0) *= 2;  // [1, count, 4]
            }).synchronizations,
            0u);
  for (int i = 0; i < 2; ++i)
    for (int j = 1; j < 3; ++j)
      for (int k = 0; k < 4; ++k) p.at(i, j, k) += 4 * i + k + 1;
  for (int i = 0; i < 2; ++i)
    for (const int k : {0, 3, 4, 9, 10}) p.at(i, 0, k) -= 100 * (i + 1);
  for (int j = 0; j < 3; ++j) p.at(1, j, 0) = p.at(1, j, 3) = 7 + j;
  for (int k = 0; k < 4; ++k) p.at(0, 0, k) *= 2;
  EXPECT_TRUE(p.agrees());
}

TEST(write, nothing_is_launched_until_somebody_asks) {
  array a = zeros({100, 4}, f32), b = counting(f32, {100}).to_device();
  const array i = array{5, 5, 7};
  eval(a, b);
  const statistics recording = counted([&] {
    a(all, 0) = b;
    a(all, 1) += a(all, 0) * 2;
    a(i, 3) += 1;
  });
  EXPECT_EQ(recording.launches, 0u);
  EXPECT_EQ(recording.synchronizations, 0u);
  EXPECT_LE(counted([&] { eval(a); }).launches, 3u);
  EXPECT_EQ(a(5, 3).item<float>(), 2);
  EXPECT_EQ(a(99, 1).item<float>(), 198);
}

TEST(write, every_operator_on_floats_and_integers) {
  array x{8.0, 8.0, 8.0}, n{12, 12, 12};
  x(0) += 1;
  x(0) -= 3;
  x(0) *= 5;
  x(0) /= 4;
  x(1) %= 5;
  x(2).set_minimum(2.5);
  x(range(1, 3)).set_maximum(2.75);
  n(0) /= 5;
  n(0) <<= 4;
  n(0) >>= 1;
  n(1) %= 7;
  n(1) ^= 3;
  n(2) &= 9;
  n(2) |= 2;
  EXPECT_TRUE(equals(x, std::vector<double>{7.5, 3, 2.75}));
  EXPECT_TRUE(equals(n, integers{16, 6, 10}));
}

TEST(write, booleans_and_complex_numbers) {
  array b = booleans({1, 0, 1, 0}, {4}).to_device();
  b(array{1, 2}) ^= b(0);
  b(3) |= true;
  b(0) = false;
  array z = zeros({3}, c64);
  z(1) = complex64{1, 2};
  z(array{1, 1, 2}) *= complex64{0, 1};
  EXPECT_TRUE(equals(b, booleans({0, 1, 0, 1}, {4})));
  EXPECT_TRUE(equals(z, std::vector<complex64>{{0, 0}, {-1, -2}, {0, 0}}));
}

TEST(write, values_convert_within_their_kind) {
  array n = zeros({3}, i32), x = zeros({3}, f16), z = zeros({3}, c64), small = zeros({2}, u8);
  n(0) = array(std::int64_t{1} << 32 | 5);
  n(array{1, 2}) = booleans({1, 0}, {2}).to_device();
  x(all) = array{1, 2, 3};
  x(1) += array(0.25);
  z(range(0, 2)) = x(range(1, 3));
  small(array{0, 1, 0}) += array{200, 3, 100}.astype(u16);
  EXPECT_TRUE(equals(n, integers{5, 1, 0}));
  EXPECT_TRUE(equals(x.astype(f32), std::vector<float>{1, 2.25f, 3}));
  EXPECT_TRUE(equals(z, std::vector<complex64>{{2.25f, 0}, {3, 0}, {0, 0}}));
  EXPECT_TRUE(equals(small, std::vector<std::uint8_t>{44, 3}));
}

// ---- Values stay values ----

TEST(write, copies_and_snapshots_keep_what_they_had) {
  for (const bool computed : {false, true}) {
    array a = counting(i32, {3, 2}).to_device() + 0;
    if (computed) eval(a);
    const array copy = a, s = a(all, 0);
    auto kept = a(array{2, 0}, 1), masked = a(a > 3);
    const array doubled = a * 2;
    a(all, 0) = 1;
    a(array{2, 0}, 1) += 100;
    EXPECT_TRUE(equals(copy, host_array(integers{0, 1, 2, 3, 4, 5}, {3, 2})));
    EXPECT_TRUE(equals(s, integers{0, 2, 4}));
    EXPECT_TRUE(equals(kept, integers{5, 1}));
    EXPECT_TRUE(equals(masked, integers{4, 5}));
    EXPECT_TRUE(equals(doubled, host_array(integers{0, 2, 4, 6, 8, 10}, {3, 2})));
    EXPECT_TRUE(equals(a, host_array(integers{1, 101, 1, 3, 1, 105}, {3, 2})));
  }
}

TEST(write, a_written_copy_leaves_the_original) {
  const array a = counting(i32, {4}).to_device();
  eval(a);
  array b = a;
  b(0) = 9;
  array c = b;
  c(array{1, 1}) += 5;
  eval(b, c);
  EXPECT_TRUE(equals(a, integers{0, 1, 2, 3}));
  EXPECT_TRUE(equals(b, integers{9, 1, 2, 3}));
  EXPECT_TRUE(equals(c, integers{9, 11, 2, 3}));
}

TEST(write, an_array_is_written_from_itself) {
  pair p({4, 4});
  p.a(all, 0) = p.a(all, 1);
  p.a(range(1, 4)) = p.a(range(0, 3));  // shifted: the right side is read before
  p.a(all, all) = transpose(p.a);
  p.a(0) += p.a(backwards, 0);
  p.a(array{0, 1}, all) = p.a(array{1, 0}, all);  // swapped rows
  integers h = p.h;
  const auto at = [&](int i, int j) -> std::int32_t& { return h[static_cast<std::size_t>(i * 4 + j)]; };
  for (int i = 0; i < 4; ++i) at(i, 0) = at(i, 1);
  for (int i = 3; i > 0; --i)
    for (int j = 0; j < 4; ++j) at(i, j) = at(i - 1, j);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < i; ++j) std::swap(at(i, j), at(j, i));
  const integers column{at(3, 0), at(2, 0), at(1, 0), at(0, 0)};
  for (int j = 0; j < 4; ++j) at(0, j) += column[static_cast<std::size_t>(j)];
  for (int j = 0; j < 4; ++j) std::swap(at(0, j), at(1, j));
  EXPECT_TRUE(equals(p.a, host_array(h, {4, 4})));
}

TEST(write, an_array_is_its_own_index_and_mask) {
  array a{3, 1, 2, 0}, m = booleans({1, 0, 1}, {3}).to_device();
  a(a) = array{10, 20, 30, 40};
  m(m) = false;
  EXPECT_TRUE(equals(a, integers{40, 20, 30, 10}));
  EXPECT_TRUE(equals(m, booleans({0, 0, 0}, {3})));
}

TEST(write, what_is_written_may_die_before_it_is_computed) {
  array a = zeros({3}, i32);
  {
    const array values{7, 8}, places{2, 0};
    a(places) = values * 2;
    array other = a;
    other(1) = 100;
  }
  EXPECT_TRUE(equals(a, integers{16, 0, 14}));
}

TEST(write, variables_in_vectors_swapped_and_moved) {
  std::vector<array> v{counting(i32, {2}).to_device(), zeros({2}, i32)};
  v[0](0) = 5;
  v[1](1) = v[0](0) + 1;
  std::swap(v[0], v[1]);
  v[0](0) += 10;
  array moved = std::move(v[1]);
  moved(1) = 3;
  v.push_back(v[0]);
  v.back()(1) = 0;
  EXPECT_TRUE(equals(v[0], integers{10, 6}));
  EXPECT_TRUE(equals(moved, integers{5, 3}));
  EXPECT_TRUE(equals(v[2], integers{10, 0}));
}

TEST(write, the_right_side_of_a_function_may_assign_to_the_array) {
  array a{1, 2, 3};
  a(0).set_maximum((a = array{0, 20, 30}, 7));
  EXPECT_TRUE(equals(a, integers{7, 20, 30}));
  EXPECT_TRUE(throws<shape_error>([&] { a(0).set_maximum((a = array{1, 2}, 7)); }, {"[3]", "[2]", "write_test.cpp"}));
  EXPECT_TRUE(equals(a, integers{1, 2}));
}

TEST(write, constants_are_written_to) {
  array a = zeros({2, 3}), b = arange(5), c(2.5), d = a;
  a(0, 1) = 4;
  b(array{-1, 0}) *= 3;
  c(ellipsis) += 1;
  EXPECT_TRUE(equals(a, host_array(std::vector<double>{0, 4, 0, 0, 0, 0}, {2, 3})));
  EXPECT_TRUE(equals(b, std::vector<std::int64_t>{0, 1, 2, 3, 12}));
  EXPECT_EQ(c.item<double>(), 3.5);
  EXPECT_TRUE(equals(d, host_array(std::vector<double>(6, 0.0), {2, 3})));
}

// ---- What goes wrong ----

/// f() throws E with these words, and a keeps its node.
template <class E, class F>
testing::AssertionResult refuses(const array& a, F&& f, std::initializer_list<std::string> words) {
  const array before = a;
  testing::AssertionResult r = throws<E>(f, words);
  if (r && a.node() != before.node()) return testing::AssertionFailure() << "the array changed";
  return r;
}

TEST(write, errors_leave_the_array_as_it_was) {
  array a = counting(i32, {3, 4}).to_device(), u = zeros({2}, u8), b = booleans({1, 0}, {2}).to_device(),
        nothing = zeros({0, 2});
  const array m = a > 3, i{0, 0};
  const char* here = "write_test.cpp";
  EXPECT_TRUE(refuses<shape_error>(a, [&] { a(0) = array{1, 2, 3}; }, {"[3]", "[4]", here}));
  EXPECT_TRUE(refuses<shape_error>(a, [&] { a(all, 0) += zeros({2, 3}, i32); }, {"[2, 3]", "[3]", here}));
  EXPECT_TRUE(refuses<shape_error>(a, [&] { a(i) = zeros({3, 4}, i32); }, {"[3, 4]", "[2, 4]", here}));
  EXPECT_TRUE(refuses<shape_error>(a, [&] { a(m) = array{1, 2, 3}; }, {"[3]", "[8]", "8 true", here}));
  EXPECT_TRUE(refuses<shape_error>(a, [&] { a(booleans({1}, {1, 1}).to_device()) = 1; }, {"[1, 1]", "[3, 4]", here}));
  EXPECT_TRUE(refuses<shape_error>(a, [&] { a(array(true)) = 1; }, {"rank 0", here}));
  EXPECT_TRUE(refuses<type_error>(a, [&] { a(0) = 1.5; }, {"i32", here}));
  EXPECT_TRUE(refuses<type_error>(a, [&] { a(0) = zeros({4}, f32); }, {"i32", "f32", here}));
  EXPECT_TRUE(refuses<type_error>(a, [&] { a(0) *= 0.5; }, {"*=", "i32", "f64", here}));
  EXPECT_TRUE(refuses<type_error>(a, [&] { a(i) += zeros({4}, f32); }, {"+=", "i32", "f32", here}));
  EXPECT_TRUE(refuses<type_error>(a, [&] { a(i) &= 0.5; }, {here}));
  EXPECT_TRUE(refuses<type_error>(a, [&] { a(m) = 0.5; }, {here}));
  EXPECT_TRUE(refuses<type_error>(a, [&] { a(zeros({2}, f32)) = 1; }, {"f32", here}));
  EXPECT_TRUE(refuses<type_error>(u, [&] { u(0) = 256; }, {"256", "u8", here}));
  EXPECT_TRUE(refuses<type_error>(u, [&] { u(i) += -1; }, {"-1", "u8", here}));
  EXPECT_TRUE(refuses<type_error>(b, [&] { b(0) = 2; }, {"bool", here}));
  EXPECT_TRUE(refuses<type_error>(b, [&] { b(i) -= true; }, {"bool", here}));
  EXPECT_TRUE(refuses<index_error>(a, [&] { a(3) = 1; }, {"3", here}));
  EXPECT_TRUE(refuses<index_error>(a, [&] { a(0, 0, 0) = 1; }, {"too many", here}));
  EXPECT_TRUE(refuses<index_error>(a, [&] { a(m, 0) = 1; }, {"too many", here}));
  EXPECT_TRUE(refuses<index_error>(nothing, [&] { nothing(i) = 1; }, {"no elements", here}));
}

TEST(write, bad_indices_write_nothing_and_are_told) {
  array a = counting(i32, {4}).to_device(), b = a, c = a;
  a(array{1, 4, -5, 3}) = array{10, 11, 12, 13};
  b(array{0, 9, 0}) += 100;
  c(array{2, 2, 7}) = array{1, 20, 3};
  for (const array* x : {&a, &b, &c}) {
    eval(*x);
    EXPECT_TRUE(throws<index_error>([] { synchronize(); }, {"write_test.cpp"}));
    EXPECT_NO_THROW(synchronize());
  }
  EXPECT_TRUE(equals(a, integers{0, 10, 2, 13}));
  EXPECT_TRUE(equals(b, integers{200, 1, 2, 3}));
  EXPECT_TRUE(equals(c, integers{0, 1, 20, 3}));
}

}  // namespace
