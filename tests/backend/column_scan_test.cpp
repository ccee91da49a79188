// Scans along columns in tiles of rows (jit/codegen/emit_column_scans.cpp): columns of one tile and of many, a few of
// them and more than a tile is wide, on every dtype, beside what stands before and after a scan.
#include "tests/backend/plain_reduce.hpp"

using namespace sinter;
using namespace sinter_test;

namespace {

std::vector<int> mixed(std::int64_t count, std::uint32_t seed, int limit) {
  lcg g(seed);
  std::vector<int> v(static_cast<std::size_t>(count));
  for (int& x : v) x = static_cast<int>(g.below(static_cast<std::uint64_t>(limit))) - limit / 3;
  return v;
}

/// Running sums along the middle of [a, n, b].
template <class T>
std::vector<T> running(const std::vector<T>& v, std::int64_t a, std::int64_t n, std::int64_t b) {
  std::vector<T> out(v.size());
  for (std::int64_t i = 0; i < a; ++i)
    for (std::int64_t j = 0; j < b; ++j) {
      T sum = 0;
      for (std::int64_t k = 0; k < n; ++k) {
        const auto at = static_cast<std::size_t>((i * n + k) * b + j);
        out[at] = sum += v[at];
      }
    }
  return out;
}

TEST(column_scans, of_all_heights_and_widths) {
  for (const auto& [n, b] : {std::pair{32, 1}, {33, 2}, {600, 70}, {2000, 3}, {5000, 33}, {129, 1000}, {128, 128},
                             {3000, 129}, {20011, 7}, {1025, 515}, {65, 4100}, {100003, 2}, {40, 31}})
    for (const std::int64_t a : {1, 3}) {
      const std::vector<int> v = mixed(a * n * b, static_cast<std::uint32_t>(n + b), 1000);
      const array x = reshape(array(v), {a, n, b});
      eval(x);
      const std::vector<std::int64_t> wide(v.begin(), v.end());
      const statistics added = counted([&] {
        EXPECT_TRUE(equals(cumsum(x, 1), host_array(running(wide, a, n, b), {a, n, b})))
            << a << " x " << n << " x " << b;
      });
      EXPECT_EQ(added.launches, 1u);
    }
}

TEST(column_scans, on_every_dtype) {
  for (const dtype type : every_type)
    for (const shape& s : {shape{300, 37}, shape{2, 400, 8}, shape{150, 200}}) {
      const host_array x = small_numbers(type, s, 7);
      const int axis = s.rank() - 2;
      const dtype sum = wide_type(type);
      const std::string name = std::string(to_string(type)) + to_string(s);
      EXPECT_TRUE(equals(cumsum(x.to_device(), axis),
                         scanned_by(x, axis, sum, [&](const auto& v) { return rounded_value(total(v), sum); })))
          << name;
      if (is_complex(type)) continue;
      const array high = cummax(x.to_device(), axis), low = cummin(x.to_device(), axis);
      eval(high, low);
      EXPECT_TRUE(equals(high, scanned_by(x, axis, type, greatest))) << name;
      EXPECT_TRUE(equals(low, scanned_by(x, axis, type, least))) << name;
    }
}

TEST(column_scans, with_expressions_before_between_and_after) {
  const std::int64_t n = 1500, b = 90;
  const std::vector<int> v = mixed(n * b, 1, 50), w = mixed(b, 2, 9), h = mixed(n, 3, 5);
  const array x = reshape(array(v), {n, b}), column = array(w), row = array(h);
  eval(x);
  std::vector<std::int64_t> before, weights;
  for (std::int64_t k = 0; k < n * b; ++k)
    before.push_back(std::int64_t{v[static_cast<std::size_t>(k)]} * w[static_cast<std::size_t>(k % b)] +
                     h[static_cast<std::size_t>(k / b)]);
  std::vector<std::int64_t> once = running(before, 1, n, b);
  for (std::int64_t k = 0; k < n * b; ++k) {
    std::int64_t& sum = once[static_cast<std::size_t>(k)];
    sum = sum % 1000 + h[static_cast<std::size_t>(k / b)];
  }
  std::vector<std::int64_t> twice = running(once, 1, n, b);
  for (std::int64_t k = 0; k < n * b; ++k)
    twice[static_cast<std::size_t>(k)] -= k % b + w[static_cast<std::size_t>(k % b)];
  const array first = cumsum(x * column + row(all, newaxis), 0) % 1000 + row(all, newaxis);
  const array second = cumsum(first, 0) - arange(b) - column;
  eval(first, second);
  EXPECT_TRUE(equals(first, host_array(once, {n, b})));
  EXPECT_TRUE(equals(second, host_array(twice, {n, b})));
  EXPECT_TRUE(equals(cumsum(row(all, newaxis) + zeros({n, b}, i32), 0)(range(0, 7), all) + 0,
                     host_array([&] {
                       std::vector<std::int64_t> sums;
                       std::int64_t sum = 0;
                       for (std::int64_t i = 0; i < 7; ++i) {
                         sum += h[static_cast<std::size_t>(i)];
                         sums.insert(sums.end(), static_cast<std::size_t>(b), sum);
                       }
                       return sums;
                     }(), {7, b})));
}

TEST(column_scans, of_pads_joins_views_and_in_place) {
  const std::int64_t n = 700, b = 60;
  const std::vector<int> v = mixed(n * b, 1, 100);
  array x = reshape(array(v), {n, b}).astype(i64);
  eval(x);
  std::vector<std::int64_t> backwards, shifted, wide(v.begin(), v.end());
  for (std::int64_t k = n; k-- > 0;)
    for (std::int64_t j = 0; j < b; j += 2) backwards.push_back(v[static_cast<std::size_t>(k * b + j)]);
  for (std::int64_t k = 0; k < n; ++k)
    for (std::int64_t j = 0; j < b; ++j) shifted.push_back(k < 5 ? 0 : v[static_cast<std::size_t>((k - 5) * b + j)]);
  EXPECT_TRUE(equals(cumsum(x(range(end, begin, -1), range(0, end, 2)), 0),
                     host_array(running(backwards, 1, n, b / 2), {n, b / 2})));
  EXPECT_TRUE(equals(cumsum(concat({zeros({5, b}, i64), x(range(0, -5), all)}, 0), 0),
                     host_array(running(shifted, 1, n, b), {n, b})));
  x = cumsum(x, 0) * 2;
  std::vector<std::int64_t> doubled = running(wide, 1, n, b);
  for (std::int64_t& s : doubled) s *= 2;
  EXPECT_TRUE(equals(x, host_array(doubled, {n, b})));
}

TEST(column_scans, of_floats_in_a_fixed_order_and_again_and_again) {
  const std::int64_t n = 3000, b = 40;
  const std::vector<int> v = mixed(n * b, 4, 1 << 20);
  std::vector<double> parts;
  for (const int k : v) parts.push_back(k / 1048576.0);
  const array x = reshape(array(parts), {n, b});
  const host_array want = host_array(running(parts, 1, n, b), {n, b});
  for (int k = 0; k < 5; ++k) EXPECT_TRUE(equals(cumsum(x, 0), want, {1e-13, 1e-10}));
  set_deterministic(true);
  const array once = cumsum(x, 0), again = cumsum(x + 0, 0);
  EXPECT_TRUE(equals(once, want, {1e-13, 1e-10}));
  EXPECT_TRUE(equals(once, from_device(again)));
  set_deterministic(false);
}

// What their tiles find takes places of one size, whatever the sizes of their accumulators.
TEST(column_scans, of_sums_and_extremes_in_one_launch) {
  const std::int64_t n = 1500, b = 90;
  const std::vector<int> v = mixed(n * b, 9, 1000);
  const array x = reshape(array(v), {n, b}).astype(f32);
  eval(x);
  const std::vector<float> plain(v.begin(), v.end());
  std::vector<float> highest = plain;
  for (std::size_t k = static_cast<std::size_t>(b); k < highest.size(); ++k)
    highest[k] = std::max(highest[k], highest[k - static_cast<std::size_t>(b)]);
  const host_array sums = host_array(running(plain, 1, n, b), {n, b}), most = host_array(highest, {n, b});
  for (int order = 0; order < 2; ++order) {
    const array added = cumsum(x, 0), largest = cummax(x, 0);
    if (order == 0) eval(added, largest);
    else eval(largest, added);
    EXPECT_TRUE(equals(added, sums)) << order;
    EXPECT_TRUE(equals(largest, most)) << order;
  }
}

}  // namespace
