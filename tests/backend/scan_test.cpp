// Scans and differences against loops over the same elements on the host: every dtype, any axis, any layout.
#include "tests/backend/plain_reduce.hpp"

using namespace sinter;
using namespace sinter_test;

namespace {

using maker = host_array (*)(dtype, const shape&, std::uint32_t);

/// f(x, the same on the device, axis, name) for every dtype, some shapes and all axes.
template <class F>
void for_lines(std::uint32_t count, maker make, F&& f) {
  for (const dtype type : every_type)
    for (std::uint32_t seed = 1; seed <= rounds(count); ++seed) {
      lcg g(seed * 31u + static_cast<std::uint32_t>(type));
      const shape extents = random_shape(g);
      const host_array x = make(type, extents, g.next());
      const layout way = all_layouts[g.below(std::size(all_layouts))];
      const array a = laid_out(x, way, 0);
      for (int axis = 0; axis < extents.rank(); ++axis)
        f(x, a, axis,
          std::string(to_string(type)) + to_string(extents) + ", axis " + std::to_string(axis) + ", " +
              sinter_test::to_string(way));
    }
}

host_array with_nan(dtype type, const shape& extents, std::uint32_t seed) {
  host_array out = small_numbers(type, extents, seed);
  lcg g(seed + 1);
  for (std::int64_t k = 0; k < out.size(); ++k)
    if (is_real(type) && g.below(12) == 0) out.set(k, {std::numeric_limits<long double>::quiet_NaN(), 0});
  return out;
}

TEST(scans, running_sums_of_every_dtype) {
  for_lines(40, small_numbers, [](const host_array& x, const array& a, int axis, const std::string& name) {
    const dtype type = wide_type(x.type);
    const host_array want = scanned_by(x, axis, type, [&](const auto& v) { return rounded_value(total(v), type); });
    const array got = cumsum(a, axis - x.extents.rank());
    EXPECT_EQ(got.type(), type) << name;
    EXPECT_TRUE(equals(got, want)) << name;
    if (executor != "interpreter") return;
    EXPECT_TRUE(equals(cumsum(a * 1, axis) + 0, want)) << name;
  });
}

TEST(scans, running_products_of_every_dtype) {
  for_lines(32, small_factors, [](const host_array& x, const array& a, int axis, const std::string& name) {
    if (x.extents[axis] > 40) return;
    const dtype type = wide_type(x.type);
    const host_array want = scanned_by(x, axis, type, [&](const auto& v) { return rounded_value(product(v), type); });
    EXPECT_TRUE(equals(cumprod(a, axis), want)) << name;
  });
}

TEST(scans, running_extremes_of_every_dtype_stay_nan) {
  for (const maker make : {small_numbers, with_nan})
    for_lines(32, make, [](const host_array& x, const array& a, int axis, const std::string& name) {
      if (is_complex(x.type)) return;
      const array high = cummax(a, axis), low = cummin(a, axis);
      eval(high, low);
      EXPECT_TRUE(equals(high, scanned_by(x, axis, x.type, greatest))) << name;
      EXPECT_TRUE(equals(low, scanned_by(x, axis, x.type, least))) << name;
    });
}

TEST(scans, extremes_at_the_limits_of_every_dtype) {
  for (const dtype type : every_type) {
    if (is_complex(type) || type == boolean) continue;
    host_array x = samples(type, 30);
    x = reshaped(x, {x.size()});
    for (std::int64_t k = 0; k < x.size(); ++k)
      if (is_nan(x.get(k))) x.set(k, {0, 0});
    EXPECT_TRUE(equals(cummax(x.to_device()), scanned_by(x, 0, type, greatest))) << to_string(type);
    EXPECT_TRUE(equals(cummin(x.to_device()), scanned_by(x, 0, type, least))) << to_string(type);
  }
}

TEST(scans, run_in_c_order_without_an_axis) {
  const host_array x = small_numbers(f32, {5, 4, 7}, 3);
  const host_array flat = reshaped(x, {x.size()});
  const host_array want = scanned_by(flat, 0, f32, total);
  EXPECT_TRUE(equals(cumsum(x.to_device()), want));
  EXPECT_TRUE(equals(cumsum(laid_out(x, layout::transposed, 0)), want));
  EXPECT_TRUE(equals(cumsum(laid_out(x, layout::reversed, 0)), want));
  EXPECT_TRUE(equals(cumsum(array(2.5f)), std::vector<float>{2.5f}));
  EXPECT_EQ(to_string(cumsum(zeros({3, 0, 2})).extents()), "[0]");
  EXPECT_EQ(to_string(cummax(zeros({3, 0, 2}), 1).extents()), "[3, 0, 2]");
}

/// Around the sizes of vectors, warps, blocks and pieces.
constexpr std::int64_t lengths[] = {1, 2, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 4097, 100003};

/// Running sums without the list of elements so far.
host_array long_sums(const host_array& x, dtype type) {
  host_array out(type, x.extents);
  const std::int64_t n = x.extents[1];
  for (std::int64_t row = 0; row < x.extents[0]; ++row) {
    long double s = 0;
    for (std::int64_t k = row * n; k < (row + 1) * n; ++k) out.set(k, {s += x.get(k).re, 0});
  }
  return out;
}

TEST(scans, rows_of_any_length) {
  for (const std::int64_t n : lengths)
    for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{3}}) {
      const host_array x = small_numbers(i32, {rows, n}, static_cast<std::uint32_t>(n));
      const array a = x.to_device();
      const host_array want = long_sums(x, i64);
      EXPECT_TRUE(equals(cumsum(a, 1), want)) << rows << " rows of " << n;
      EXPECT_TRUE(equals(transpose(cumsum(transpose(a) * 1, 0)), want)) << rows << " columns of " << n;
      EXPECT_TRUE(equals(cumsum(a.astype(f64), 1), want)) << rows << " rows of " << n;
    }
}

/// More tiles than blocks run at a time; whole numbers, so that every order of adding gives the same.
TEST(scans, rows_longer_than_all_blocks_take_at_once) {
  for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{3}}) {
    const std::int64_t n = 4000037 / rows;
    const array x = reshape(remainder(arange(rows * n) * 7919, 1009), {rows, n}).astype(f32);
    eval(x);
    const std::vector<float> v = x.to_vector<float>(), sums = cumsum(x, 1).to_vector<float>();
    const std::vector<double> wide = cumsum(x.astype(f64), 1).to_vector<double>();
    double total = 0;
    for (std::int64_t k = 0; k < rows * n; ++k) {
      const auto at = static_cast<std::size_t>(k);
      total = (k % n == 0 ? 0 : total) + static_cast<double>(v[at]);
      ASSERT_EQ(sums[at], static_cast<float>(total)) << k << " of " << rows << " rows";
      ASSERT_EQ(wide[at], total) << k << " of " << rows << " rows";
    }
  }
}

TEST(scans, long_sums_are_accurate) {
  const std::int64_t n = 300007;
  const host_array got = from_device(cumsum(full({n}, 0.1f, f32) * 1, 0));
  long double s = 0;
  std::uint64_t worst = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    s += static_cast<long double>(0.1f);
    worst = std::max(worst, distance_in_ulps(got.get(k).re, s, f32));
  }
  EXPECT_LE(worst, 1u);
  // In f16 it would stop at 2048, where 1 is half of a step.
  const host_array halves = from_device(cumsum(ones({3000}, f16) * 1, 0));
  EXPECT_EQ(halves.get(2999).re, 3000);
  EXPECT_EQ(halves.get(2050).re, rounded(2051, f16));
}

TEST(scans, integers_wrap) {
  const std::vector<std::int64_t> x{std::int64_t{1} << 62, std::int64_t{1} << 62, std::int64_t{1} << 62, 5};
  const std::int64_t least_number = std::numeric_limits<std::int64_t>::min();
  EXPECT_TRUE(equals(cumsum(host_array(x).to_device()),
                     std::vector<std::int64_t>{x[0], least_number, least_number + x[0], least_number + x[0] + 5}));
  EXPECT_TRUE(equals(cumprod(host_array(x).to_device()), std::vector<std::int64_t>{x[0], 0, 0, 0}));
  EXPECT_TRUE(equals(cumsum(full({4}, 100, i32), {.type = u8}), std::vector<std::uint8_t>{100, 200, 44, 144}));
}

TEST(scans, mix_with_their_neighbours) {
  const host_array h = small_numbers(f32, {12, 90}, 7);
  const array x = h.to_device();
  host_array doubled = h;
  for (std::int64_t k = 0; k < h.size(); ++k) doubled.set(k, {h.get(k).re * 2 + 1, 0});
  const host_array sums = scanned_by(doubled, 1, f32, total);
  EXPECT_TRUE(equals(cumsum(x * 2 + 1, 1), sums));
  EXPECT_TRUE(equals(max(cumsum(x * 2 + 1, 1), 1), reduced_by(sums, 2, f32, greatest)));
  EXPECT_TRUE(equals(cumsum(x * 2 + 1, 1)(all, end - 1), reduced_by(doubled, 2, f32, total)));
  EXPECT_TRUE(equals(cumsum(cumsum(x * 2 + 1, 1), 0), scanned_by(sums, 0, f32, total)));
  EXPECT_TRUE(equals(flip(cumsum(flip(x, 1), 1), 1) - x + cumsum(x, 1), [&] {
    host_array want(f32, h.extents);
    for (std::int64_t k = 0; k < h.size(); ++k) {
      long double row = 0;
      for (std::int64_t j = k / 90 * 90; j < k / 90 * 90 + 90; ++j) row += h.get(j).re;
      want.set(k, {row, 0});
    }
    return want;
  }()));
  // Shares of a row's total up to each element.
  const array shares = cumsum(abs(x) + 1, 1) / sum(abs(x) + 1, 1, keepdims);
  EXPECT_TRUE(equals(shares(all, end - 1), std::vector<float>(12, 1.0f), {1e-6, 0, false}));
}

TEST(scans, keep_what_was_there_before_a_write) {
  array x = ones({6}, i32);
  const array before = cumsum(x);
  x(range(2, 4)) = 10;
  EXPECT_TRUE(equals(before, std::vector<std::int64_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(equals(cumsum(x), std::vector<std::int64_t>{1, 2, 12, 22, 23, 24}));
}

TEST(scans, one_launch_for_rows) {
  const array x = small_numbers(f32, {64, 500}, 2).to_device();
  EXPECT_EQ(counted([&] { eval(cumsum(x * x, 1)); }).launches, 1u);
  EXPECT_EQ(counted([&] { eval(cumprod(x, 0)); }).launches, 1u);
}

TEST(scans, sixty_four_bit_index_arithmetic_changes_nothing) {
  const wide_indices forced;
  const host_array x = small_numbers(i16, {21, 310}, 6);
  EXPECT_TRUE(equals(cumsum(x.to_device(), 1), scanned_by(x, 1, i64, total)));
  EXPECT_TRUE(equals(cummin(x.to_device(), 0), scanned_by(x, 0, i16, least)));
}

// ---- Differences ----

/// Neighbours along an axis, once.
host_array plain_diff(const host_array& x, int axis) {
  std::vector<std::int64_t> left, right;
  for (std::int64_t k = 0; k + 1 < x.extents[axis]; ++k) left.push_back(k), right.push_back(k + 1);
  const host_array a = picked(x, axis, left), b = picked(x, axis, right);
  host_array out(x.type, a.extents);
  for (std::int64_t k = 0; k < out.size(); ++k)
    out.set(k, x.type == boolean ? value{a.get(k).re != b.get(k).re ? 1.0L : 0, 0}
                                 : value{b.get(k).re - a.get(k).re, b.get(k).im - a.get(k).im});
  return out;
}

TEST(scans, differences_of_every_dtype) {
  for_lines(24, small_numbers, [](const host_array& x, const array& a, int axis, const std::string& name) {
    if (kind_of(x.type) == kind::unsigned_integer) return;  // these wrap
    const host_array once = plain_diff(x, axis);
    const array got = diff(a, 1, axis);
    EXPECT_EQ(got.type(), x.type) << name;
    EXPECT_TRUE(equals(got, once)) << name;
    EXPECT_TRUE(equals(diff(a, 2, axis), plain_diff(once, axis))) << name;
  });
}

TEST(scans, differences_with_edges_undo_sums) {
  const host_array h = small_numbers(i32, {9, 14}, 5);
  const array x = h.to_device();
  for (int axis = 0; axis < 2; ++axis) {
    EXPECT_TRUE(equals(diff(cumsum(x, axis), 1, axis, array(0)), converted(h, i64))) << axis;
    EXPECT_TRUE(equals(cumsum(diff(x, 1, axis, array(0)), axis), converted(h, i64))) << axis;
  }
  EXPECT_TRUE(equals(diff(array{1, 4, 9}, 1, 0, {}, array{16, 25}), std::vector<std::int32_t>{3, 5, 7, 9}));
  EXPECT_TRUE(equals(diff(array{1, 4, 9}, 2, 0, array{0.0, 0.5}), std::vector<double>{0, 2.5, 2}));
}

TEST(scans, differences_are_one_launch) {
  const array x = small_numbers(f32, {64, 500}, 2).to_device();
  EXPECT_EQ(counted([&] { eval(sum(square(diff(x * 2, 2)), 1)); }).launches, 1u);
}

}  // namespace
