// What is made of reductions, against long double on the host: softmax, norms, averages, products of matrices; and how
// many launches they take.
#include "tests/backend/plain_reduce.hpp"

#include <array>

using namespace sinter;
using namespace sinter_test;

namespace {

/// Numbers from -8 to 8 in steps of 1/64.
host_array logits(dtype type, const shape& extents, std::uint32_t seed) {
  host_array out(type, extents);
  lcg g(seed);
  for (std::int64_t k = 0; k < out.size(); ++k)
    out.set(k, rounded_value({static_cast<long double>(g.below(1025)) / 64 - 8, 0}, type));
  return out;
}

value log_of_sum(const std::vector<value>& x) {
  const long double high = greatest(x).re;
  long double s = 0;
  for (const value& v : x) s += std::exp(v.re - high);
  return {high + std::log(s), 0};
}

double relative_error_of(dtype type) {
  switch (type) {
    case f16:
      return 0x1p-10;
    case bf16:
      return 0x1p-7;
    case f32:
      return 2e-6;
    default:
      return 1e-14;
  }
}

TEST(rows, softmax_and_logsumexp_of_rows_columns_and_all) {
  for (const dtype type : real_types)
    for (const shape& extents : {shape{7, 33}, shape{5, 1000}, shape{64, 3}, shape{2, 9, 17}, shape{1, 1}}) {
      const host_array x = logits(type, extents, 9);
      const double rtol = relative_error_of(type);
      const tolerance close{rtol, 0, false}, near{rtol, rtol * 16, false};
      for (int axis = 0; axis < extents.rank(); ++axis) {
        const groups g = groups_of(extents, std::uint32_t{1} << axis);
        host_array sums(f64, g.extents), parts(f64, extents), logarithms(f64, extents);
        for (std::size_t k = 0; k < g.members.size(); ++k) {
          std::vector<value> line;
          for (const std::int64_t n : g.members[k]) line.push_back(x.get(n));
          const value s = log_of_sum(line);
          sums.set(static_cast<std::int64_t>(k), s);
          for (const std::int64_t n : g.members[k]) {
            logarithms.set(n, {x.get(n).re - s.re, 0});
            parts.set(n, {std::exp(x.get(n).re - s.re), 0});
          }
        }
        const array a = laid_out(x, all_layouts[static_cast<std::size_t>(axis)], 0);
        const std::string name = to_string(type) + to_string(extents) + ", axis " + std::to_string(axis);
        const array log_sum = logsumexp(a, axis), share = softmax(a, axis), log_share = log_softmax(a, axis);
        eval(log_sum, share, log_share);
        EXPECT_TRUE(equals(log_sum, sums, near)) << name;
        // The smallest parts are subnormal in f16.
        EXPECT_TRUE(equals(share, parts, type == f16 ? tolerance{rtol, 1e-7, false} : close)) << name;
        EXPECT_TRUE(equals(log_share, logarithms, near)) << name;
      }
    }
}

TEST(rows, logsumexp_of_infinities_and_nan) {
  const float inf = infinity, nan = not_a_number;
  const array x =
      host_array(std::vector<float>{-inf, -inf, inf, 1, nan, 1, -inf, 3, inf, nan, inf, -inf}, {6, 2}).to_device();
  EXPECT_TRUE(equals(logsumexp(x, 1), std::vector<float>{-inf, inf, nan, 3, nan, inf}));
  EXPECT_TRUE(equals(logsumexp(full({3}, 1e30f, f32)), host_array(std::vector<float>{1e30f}, {})));
}

TEST(rows, norms) {
  for (const dtype type : every_type) {
    const host_array x = small_numbers(type, {6, 50}, 12);
    const array a = x.to_device();
    const auto size = [](const value& v) { return std::hypot(v.re, v.im); };
    const auto norm_of = [&](double p) {
      return [=](const std::vector<value>& v) {
        long double s = 0;
        for (const value& e : v) s += p == 0 ? (is_true(e) ? 1 : 0) : std::pow(size(e), static_cast<long double>(p));
        return value{p == 0 ? s : std::pow(s, 1 / static_cast<long double>(p)), 0};
      };
    };
    const tolerance close{relative_error_of(real_type(type)), 0, false};
    for (const std::uint32_t bits : {1u, 2u, 3u}) {
      constexpr double orders[] = {0, 1, 2, 3, 1.5};
      const axes over = bits == 3 ? axes() : axes(static_cast<int>(bits) - 1);
      std::vector<array> got;
      for (const double p : orders) got.push_back(norm(a, p, over));
      eval_all(got);
      for (std::size_t k = 0; k < got.size(); ++k) {
        const host_array want = reduced_by(x, bits, f64, norm_of(orders[k]));
        EXPECT_EQ(got[k].type(), real_type(type));
        EXPECT_TRUE(equals(got[k], want, close)) << to_string(type) << ", ord " << orders[k];
      }
    }
    const auto extreme_size = [&](std::vector<value> v, int sign) {
      for (value& e : v) e = {size(e), 0};
      return sign > 0 ? greatest(v) : least(v);
    };
    const array high = norm(a, infinity, 1), low = norm(a, -infinity, 1);
    eval(high, low);
    const auto want_of = [&](int sign) {
      return reduced_by(x, 2, f64, [&](const auto& v) { return extreme_size(v, sign); });
    };
    EXPECT_TRUE(equals(high, want_of(1), close)) << to_string(type);
    EXPECT_TRUE(equals(low, want_of(-1), close)) << to_string(type);
  }
}

TEST(rows, averages_and_ranges) {
  for (const dtype type : {i32, u8, f16, f32, f64, c64}) {
    const host_array x = small_numbers(type, {8, 21}, 2), w = small_numbers(u8, {21}, 3);
    const host_array got = from_device(average(x.to_device(), w.to_device(), 1));
    for (std::int64_t r = 0; r < 8; ++r) {
      value s;
      long double weight = 0;
      for (std::int64_t k = 0; k < 21; ++k) {
        const value v = x.get(21 * r + k);
        const long double f = w.get(k).re;
        s = {s.re + f * v.re, s.im + f * v.im};
        weight += f;
      }
      EXPECT_LE(distance_in_ulps(got.get(r).re, s.re / weight, real_type(got.type)), 1u) << to_string(type) << r;
      EXPECT_LE(distance_in_ulps(got.get(r).im, s.im / weight, real_type(got.type)), 1u) << to_string(type) << r;
    }
    if (is_complex(type)) continue;
    EXPECT_TRUE(equals(ptp(x.to_device(), 0), reduced_by(x, 1, type,
                                                         [](const auto& v) {
                                                           return value{greatest(v).re - least(v).re, 0};
                                                         })))
        << to_string(type);
  }
}

/// [n, k] times [k, m], as long double.
host_array plain_product(const host_array& a, const host_array& b, dtype type) {
  const std::int64_t n = a.extents[0], k = a.extents[1], m = b.extents[1];
  host_array out(type, {n, m});
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < m; ++j) {
      value s;
      for (std::int64_t l = 0; l < k; ++l) {
        const value x = a.get(i * k + l), y = b.get(l * m + j);
        s = {s.re + x.re * y.re - x.im * y.im, s.im + x.re * y.im + x.im * y.re};
      }
      out.set(i * m + j, type == boolean ? value{is_true(s) ? 1.0L : 0, 0} : rounded_value(s, type));
    }
  return out;
}

TEST(rows, products_of_matrices_and_vectors) {
  for (const dtype type : every_type) {
    if (type == i8 || type == u8) continue;  // these wrap
    for (const auto& [n, k, m] : {std::array<std::int64_t, 3>{5, 7, 3}, {1, 40, 1}, {17, 1, 9}, {33, 20, 31}}) {
      const host_array a = small_numbers(type, {n, k}, 5), b = small_numbers(type, {k, m}, 6);
      const host_array want = plain_product(a, b, type);
      const array x = laid_out(a, layout::transposed, 0), y = b.to_device();
      const std::string name = to_string(type) + to_string(want.extents);
      const array product = matmul(x, y), stacked = matmul(x(newaxis), y), column = dot(x, y(all, 0)),
                  row_product = matmul(x(0), y), element = dot(x(0), y(all, 0));
      eval(product, stacked, column, row_product, element);
      const host_array first_row = picked(want, 0, {0});
      EXPECT_TRUE(equals(product, want)) << name;
      EXPECT_TRUE(equals(stacked, reshaped(want, {1, n, m}))) << name;
      EXPECT_TRUE(equals(column, reshaped(picked(want, 1, {0}), {n}))) << name;
      EXPECT_TRUE(equals(row_product, reshaped(first_row, {m}))) << name;
      EXPECT_TRUE(equals(element, reshaped(picked(first_row, 1, {0}), {}))) << name;
    }
  }
}

TEST(rows, traces) {
  const host_array x = small_numbers(i32, {4, 6, 3}, 8);
  for (const int offset : {-3, -1, 0, 2, 5}) {
    host_array want(i64, {3});
    for (std::int64_t c = 0; c < 3; ++c) {
      long double s = 0;
      for (std::int64_t r = 0; r < 4; ++r)
        if (r + offset >= 0 && r + offset < 6) s += x.get((r * 6 + r + offset) * 3 + c).re;
      want.set(c, {s, 0});
    }
    EXPECT_TRUE(equals(trace(x.to_device(), offset), want)) << offset;
  }
}

// ---- One read, one launch ----

TEST(rows, rows_are_one_launch) {
  const array x = logits(f32, {40, 700}, 4).to_device(), y = logits(f32, {40, 700}, 5).to_device();
  const auto launches_of = [](const auto& results) { return counted([&] { eval_all(results); }).launches; };
  EXPECT_EQ(launches_of(std::vector<array>{softmax(x * 2)}), 1u);
  EXPECT_EQ(launches_of(std::vector<array>{log_softmax(x)}), 1u);
  EXPECT_EQ(launches_of(std::vector<array>{logsumexp(x + y, 1)}), 1u);
  EXPECT_EQ(launches_of(std::vector<array>{mean(x, 1), var(x, 1), max(x, 1), argmax(x, 1)}), 1u);
  EXPECT_EQ(launches_of(std::vector<array>{(x - mean(x, 1, keepdims)) / stddev(x, 1, keepdims)}), 1u);
  EXPECT_EQ(launches_of(std::vector<array>{nanmax(x, 1), average(x, y, 1), norm(y, 2, 1)}), 1u);
}

TEST(rows, another_shape_compiles_nothing) {
  const array x = logits(f32, {40, 700}, 4).to_device(), y = logits(f32, {30, 900}, 5).to_device();
  eval(softmax(x));
  EXPECT_EQ(counted([&] { eval(softmax(y)); }).compiles, 0u);
}

/// So many that each is a thread's; rows are moved, and joined along the axis that isn't reduced.
TEST(rows, short_rows_of_other_elements) {
  const std::int64_t n = 40001;
  const array x = remainder(arange(n * 6) * 7919, 1009).astype(f32);
  const array rows_of_six = reshape(x, {n, 6}) * 1;
  eval(rows_of_six);
  const std::vector<float> v = rows_of_six.to_vector<float>();
  const auto sum_of = [&](std::int64_t row) {
    float total = 0;
    for (std::int64_t k = 0; k < 6; ++k) total += v[static_cast<std::size_t>((row + n) % n * 6 + k)];
    return total;
  };
  const auto expect_moved = [&](const array& got, std::int64_t by) {
    const std::vector<float> sums = got.to_vector<float>();
    for (std::int64_t row = 0; row < n; ++row)
      ASSERT_EQ(sums[static_cast<std::size_t>(row)], sum_of(row + by)) << row << " by " << by;
  };
  expect_moved(sum(rows_of_six, 1), 0);
  expect_moved(sum(roll(rows_of_six, 1, 0), 1), -1);
  expect_moved(sum(concat({rows_of_six(range(1, end), all), rows_of_six(range(0, 1), all)}, 0), 1), 1);
  const array ids = remainder(arange(n * 6), 5), table = array(std::vector<float>{1, 2, 4, 8, 16}, {5});
  EXPECT_EQ(sum(table(reshape(ids, {n, 6}) * 1), 1).extent(0), n);
  synchronize();
  EXPECT_EQ(sum(broadcast_to(max(rows_of_six, 0, keepdims), {3, 6}), 1).extent(0), 3);
}

/// So many that a thread may take several, also the last of which there is no whole number.
TEST(rows, short_rows_in_great_number) {
  const std::int64_t n = (std::int64_t{1} << 20) + 77;
  const std::vector<std::int64_t> widths{1, 2, 3, 5};
  for (const std::int64_t width : widths) {
    const array x = reshape(remainder(arange(n * width) * 7919, 1009), {n, width}).astype(f32);
    eval(x);
    const std::vector<float> v = x.to_vector<float>(), sums = sum(square(x), 1).to_vector<float>();
    array y = x * 1;
    eval(y);
    y(all, 0) += max(y, 1);  // in place
    const std::vector<float> changed = y.to_vector<float>();
    for (std::int64_t row = 0; row < n; ++row) {
      double total = 0;
      float most = 0;
      for (std::int64_t k = row * width; k < (row + 1) * width; ++k) {
        const float element = v[static_cast<std::size_t>(k)];
        total += static_cast<double>(element * element);
        most = std::max(most, element);
      }
      ASSERT_EQ(sums[static_cast<std::size_t>(row)], static_cast<float>(total)) << row << " of " << width;
      const auto first = static_cast<std::size_t>(row * width);
      ASSERT_EQ(changed[first], v[first] + most) << row << " of " << width;
    }
  }
}

}  // namespace
