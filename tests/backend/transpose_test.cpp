// Arrays whose neighbours in memory aren't neighbours where they are used, large enough for tiles (jit/transposes.cpp):
// extents that no tile divides, all element sizes, several orders in one launch, and what else stands beside them.
#include "tests/backend/expect.hpp"

#include <cstring>
#include <numeric>

using namespace sinter;
using namespace sinter_test;

namespace {

/// Any bytes but for booleans, which are 0 or 1; small whole numbers where they are computed with.
host_array numbers(dtype type, const shape& s, std::uint32_t seed, bool any = false) {
  host_array x(type, s);
  lcg random(seed);
  if (any && type != boolean) {
    for (std::byte& b : x.bytes) b = static_cast<std::byte>(random.next() >> 8);
    return x;
  }
  if (type == boolean) {
    for (std::byte& b : x.bytes) b = static_cast<std::byte>(random.next() >> 8 & 1);
    return x;
  }
  std::vector<int> v(static_cast<std::size_t>(s.size()));
  for (int& k : v) k = static_cast<int>(random.next() >> 8) % 100;
  return converted(host_array(v, s), type);
}

/// x with its axes in another order: axis k of the result is axes[k] of x.
host_array permuted(const host_array& x, const std::vector<int>& axes) {
  shape s;
  std::vector<std::int64_t> steps;
  for (const int a : axes) {
    s.append(x.extents[a]);
    std::int64_t step = 1;
    for (int b = a + 1; b < x.extents.rank(); ++b) step *= x.extents[b];
    steps.push_back(step);
  }
  host_array y(x.type, s);
  std::vector<std::int64_t> at(axes.size());
  for (std::int64_t k = 0; k < y.size(); ++k) {
    std::int64_t rest = k, from = 0;
    for (int d = s.rank(); d-- > 0; rest /= s[d]) from += rest % s[d] * steps[static_cast<std::size_t>(d)];
    std::memcpy(y.at(k), x.at(from), static_cast<std::size_t>(size_of(x.type)));
  }
  return y;
}

std::vector<int> ints(const host_array& x) {
  std::vector<int> v(static_cast<std::size_t>(x.size()));
  std::memcpy(v.data(), x.bytes.data(), x.bytes.size());
  return v;
}

array turned(const array& a, const std::vector<int>& axes) {
  if (axes.size() == 2) return transpose(a, {axes[0], axes[1]});
  if (axes.size() == 3) return transpose(a, {axes[0], axes[1], axes[2]});
  return transpose(a, {axes[0], axes[1], axes[2], axes[3]});
}

/// a and b with axes in these orders, and c as it is, over extents s: one launch, the right sums.
void check_sum(const shape& s, const std::vector<int>& of_a, const std::vector<int>& of_b) {
  SCOPED_TRACE(to_string(s));
  const auto source = [&](const std::vector<int>& axes, std::uint32_t seed) {
    shape own = s;
    for (std::size_t k = 0; k < axes.size(); ++k) own[axes[k]] = s[static_cast<int>(k)];
    return numbers(i32, own, seed);
  };
  const host_array a = source(of_a, 1), b = source(of_b, 2), c = numbers(i32, s, 3);
  std::vector<int> want = ints(c);
  const std::vector<int> pa = ints(permuted(a, of_a)), pb = ints(permuted(b, of_b));
  for (std::size_t k = 0; k < want.size(); ++k) want[k] += 3 * pa[k] - pb[k];
  const array x = a.to_device(), y = b.to_device(), z = c.to_device();
  const statistics added = counted([&] {
    EXPECT_TRUE(equals(turned(x, of_a) * 3 - turned(y, of_b) + z, host_array(want, s)));
  });
  EXPECT_EQ(added.launches, 1u);
}

TEST(transposes, every_order_of_three_axes_beside_every_other) {
  std::vector<int> first{0, 1, 2};
  do {
    std::vector<int> second{2, 0, 1};
    check_sum({67, 71, 73}, first, second);
    second = {1, 0, 2};
    check_sum({5, 417, 133}, first, second);
  } while (std::next_permutation(first.begin(), first.end()));
}

TEST(transposes, orders_of_four_axes) {
  check_sum({19, 23, 29, 33}, {3, 0, 1, 2}, {1, 2, 3, 0});
  check_sum({19, 23, 29, 33}, {2, 3, 0, 1}, {0, 3, 1, 2});
  check_sum({3, 300, 7, 64}, {3, 2, 1, 0}, {0, 1, 3, 2});
}

TEST(transposes, extents_that_no_tile_divides) {
  for (const auto& [n, m] : {std::pair{513, 515}, {64, 4097}, {4097, 64}, {1, 300000}, {300000, 1}, {262147, 2},
                             {3, 100003}, {100003, 3}, {4, 70001}, {70001, 4}, {31, 9001}, {9001, 33}, {16, 20000}})
    check_sum({n, m}, {1, 0}, {1, 0});
}

TEST(transposes, elements_of_every_size) {
  const shape s{521, 517}, t{517, 521};
  for (const dtype type : {boolean, i8, u8, i16, u16, f16, bf16, i32, u32, f32, i64, u64, f64, c64, c128}) {
    const host_array a = numbers(type, t, 1, !is_inexact(type)), b = numbers(type, s, 2, !is_inexact(type)),
                     m = numbers(boolean, t, 3);
    host_array want = permuted(a, {1, 0});
    const host_array chosen = permuted(m, {1, 0});
    const auto size = static_cast<std::size_t>(size_of(type));
    for (std::int64_t k = 0; k < want.size(); ++k)
      if (*chosen.at(k) == std::byte{0}) std::memcpy(want.at(k), b.at(k), size);
    const array x = where(transpose(m.to_device()), transpose(a.to_device()), b.to_device());
    EXPECT_TRUE(equals(x, want)) << to_string(type);
    EXPECT_TRUE(equals(transpose(x), permuted(want, {1, 0}))) << to_string(type);
  }
}

TEST(transposes, steps_offsets_and_flips) {
  const host_array a = numbers(i32, {1100, 1303}, 1);
  const std::vector<int> v = ints(a);
  const array x = a.to_device();
  const array odd = transpose(x(range(1, end, 2), range(3, end, 2)));
  const array y = odd + transpose(x(range(1099, begin, -2), range(650, 0, -1)));
  const std::int64_t n = 650, m = 550;
  std::vector<int> want;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < m; ++j)
      want.push_back(v[static_cast<std::size_t>((1 + 2 * j) * 1303 + 3 + 2 * i)] +
                     v[static_cast<std::size_t>((1099 - 2 * j) * 1303 + 650 - i)]);
  EXPECT_EQ(to_string(y.extents()), to_string(shape{n, m}));
  EXPECT_TRUE(equals(y, host_array(want, {n, m})));
}

TEST(transposes, beside_broadcast_and_gathered_operands) {
  const std::int64_t n = 613, m = 511;
  const host_array a = numbers(i32, {m, n}, 1), table = numbers(i32, {40, m}, 2), row = numbers(i32, {m}, 3),
                   column = numbers(i32, {n}, 4);
  std::vector<int> ids(static_cast<std::size_t>(n));
  for (std::size_t k = 0; k < ids.size(); ++k) ids[k] = static_cast<int>(k * 7 % 80) - 40;
  const std::vector<int> va = ints(a), vt = ints(table), vr = ints(row), vc = ints(column);
  std::vector<int> want;
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
    for (std::size_t j = 0; j < static_cast<std::size_t>(m); ++j)
      want.push_back(va[j * 613 + i] * vr[j] + vc[i] - vt[static_cast<std::size_t>((ids[i] + 40) % 40) * 511 + j] +
                     static_cast<int>(j));
  const array turned_a = transpose(a.to_device()), picked_rows = table.to_device()(array(ids), all);
  const array y = turned_a * row.to_device() + column.to_device()(all, newaxis) - picked_rows + arange(m).astype(i32);
  EXPECT_TRUE(equals(y, host_array(want, {n, m})));
}

TEST(transposes, in_pieces_of_pads_joins_and_rolls) {
  const std::int64_t n = 520, m = 530;
  const host_array a = numbers(i32, {m, n}, 1), b = numbers(i32, {300, m}, 2);
  const array x = transpose(a.to_device()), y = b.to_device();
  const std::vector<int> va = ints(a), vb = ints(b);
  const auto at = [&](std::int64_t i, std::int64_t j) { return va[static_cast<std::size_t>(j * n + i)]; };
  std::vector<int> framed, joined, rolled;
  for (std::int64_t i = -2; i < n + 2; ++i)
    for (std::int64_t j = -2; j < m + 2; ++j) framed.push_back(i < 0 || i >= n || j < 0 || j >= m ? 0 : 2 * at(i, j));
  for (std::int64_t i = 0; i < n + 300; ++i)
    for (std::int64_t j = 0; j < m; ++j)
      joined.push_back((i < n ? at(i, j) : vb[static_cast<std::size_t>((i - n) * m + j)]) + 1);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < m; ++j) rolled.push_back(at(i, j) - at((i + n - 3) % n, (j + m - 5) % m));
  EXPECT_TRUE(equals(pad(x, 2) * 2, host_array(framed, {n + 4, m + 4})));
  EXPECT_TRUE(equals(concat({x, y}, 0) + 1, host_array(joined, {n + 300, m})));
  EXPECT_TRUE(equals(x - roll(x, {3, 5}, {0, 1}), host_array(rolled, {n, m})));
}

TEST(transposes, reshaped_afterwards_and_before) {
  const host_array a = numbers(i32, {60, 70, 72}, 1);
  const array x = a.to_device();
  EXPECT_TRUE(equals(reshape(transpose(x, {2, 0, 1}), {72 * 60, 70}) + 0,
                     reshaped(permuted(a, {2, 0, 1}), {72 * 60, 70})));
  EXPECT_TRUE(equals(transpose(reshape(x, {60 * 7, 10 * 72})) + 0, permuted(reshaped(a, {420, 720}), {1, 0})));
  EXPECT_TRUE(equals(reshape(transpose(x, {1, 0, 2}), {60 * 70 * 72}) + 0,
                     reshaped(permuted(a, {1, 0, 2}), {60 * 70 * 72})));
}

TEST(transposes, written_where_neighbours_are_far_apart) {
  const std::int64_t n = 540, m = 510;
  const host_array a = numbers(i32, {n, m}, 1), b = numbers(i32, {m, n}, 2);
  const std::vector<int> va = ints(a), vb = ints(b);
  array x = b.to_device(), c = zeros({m, n}, i32);
  const array y = a.to_device();
  for (std::int64_t i = 0; i < n; ++i) c(all, i) = y(i, all) * 2;
  x += transpose(y);
  std::vector<int> sums, doubles;
  for (std::int64_t j = 0; j < m; ++j)
    for (std::int64_t i = 0; i < n; ++i) {
      const int v = va[static_cast<std::size_t>(i * m + j)];
      sums.push_back(vb[static_cast<std::size_t>(j * n + i)] + v);
      doubles.push_back(2 * v);
    }
  EXPECT_TRUE(equals(c, host_array(doubles, {m, n})));
  EXPECT_TRUE(equals(x, host_array(sums, {m, n})));
  array square_one = numbers(i32, {520, 520}, 5).to_device();
  const std::vector<int> before = square_one.to_vector<int>();
  square_one += transpose(square_one);
  std::vector<int> both;
  for (std::size_t i = 0; i < 520; ++i)
    for (std::size_t j = 0; j < 520; ++j) both.push_back(before[i * 520 + j] + before[j * 520 + i]);
  EXPECT_TRUE(equals(square_one, host_array(both, {520, 520})));
}

TEST(transposes, in_users_kernels_with_64_bit_indices_and_with_bad_ones) {
  const host_array a = numbers(i32, {515, 530}, 1);
  const array x = a.to_device();
  const elementwise k{"numbered", "T x", "int64 y", "y = x + 1000 * i + _ind.get()[1]"};
  const std::vector<int> v = ints(a);
  std::vector<std::int64_t> want;
  for (std::int64_t i = 0; i < 530; ++i)
    for (std::int64_t j = 0; j < 515; ++j)
      want.push_back(v[static_cast<std::size_t>(j * 530 + i)] + 1000 * (i * 515 + j) + j);
  EXPECT_TRUE(equals(k(transpose(x)), host_array(want, {530, 515})));
  {
    const wide_indices wide;
    EXPECT_TRUE(equals(k(transpose(x)), host_array(want, {530, 515})));
  }
  std::vector<int> ids(515, 0);
  ids[511] = 4000;
  const array bad = transpose(x) + arange(600)(array(ids)).astype(i32);
  try {
    eval(bad);
    synchronize();
    ADD_FAILURE() << "no error";
  } catch (const index_error& e) {
    EXPECT_NE(std::string(e.what()).find("4000"), std::string::npos) << e.what();
  }
}

}  // namespace
