// Reductions of broadcasts, whose results share what they read: of sizes that fill tiles of results and that don't,
// with views, masks, gathers, and values from before and after the loop.
#include "tests/backend/plain_reduce.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

using namespace sinter;
using namespace sinter_test;

namespace {

/// Whole numbers from -8 to 8: what is made of few of them is exact in any order.
std::vector<double> whole_numbers(std::int64_t count, std::uint32_t seed) {
  std::vector<double> out;
  lcg g(seed);
  for (std::int64_t k = 0; k < count; ++k) out.push_back(static_cast<double>(g.below(17)) - 8);
  return out;
}

struct matrix {
  std::int64_t rows, columns;
  std::vector<double> at;
  matrix(std::int64_t r, std::int64_t c, std::uint32_t seed) : rows(r), columns(c), at(whole_numbers(r * c, seed)) {}
  double operator()(std::int64_t i, std::int64_t k) const { return at[static_cast<std::size_t>(i * columns + k)]; }
  array on_device(dtype type) const {
    array a = array(at, {rows, columns}).astype(type);
    eval(a);
    return a;
  }
};

/// f(i, j, k) summed over k, for all i and j.
std::vector<double> sums(std::int64_t n, std::int64_t m, std::int64_t trips,
                         const std::function<double(std::int64_t, std::int64_t, std::int64_t)>& f) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < m; ++j) {
      double total = 0;
      for (std::int64_t k = 0; k < trips; ++k) total += f(i, j, k);
      out.push_back(total);
    }
  return out;
}

/// The first place where they differ; -1 for none.
std::int64_t first_difference(const array& got, const std::vector<double>& want) {
  const std::vector<double> have = got.astype(f64).to_vector<double>();
  if (have.size() != want.size()) return 0;
  for (std::size_t k = 0; k < want.size(); ++k)
    if (!(have[k] == want[k])) return static_cast<std::int64_t>(k);
  return -1;
}

array rows_of(const array& x) { return x(all, newaxis, all); }
array columns_of(const array& x) { return x(newaxis, all, all); }

TEST(tiles, squared_distances_of_each_dtype) {
  for (const dtype type : {f32, f64, i32, f16}) {
    const matrix x(391, 29, 1), y(387, 29, 2);
    const array d = sum(square(rows_of(x.on_device(type)) - columns_of(y.on_device(type))), 2);
    const auto square_of = [&](auto i, auto j, auto k) { return (x(i, k) - y(j, k)) * (x(i, k) - y(j, k)); };
    std::vector<double> want = sums(391, 387, 29, square_of);
    if (type == f16) want = array(want).astype(f16).astype(f64).to_vector<double>();
    EXPECT_EQ(first_difference(d, want), -1) << to_string(type);
  }
}

TEST(tiles, sizes_at_the_edges_of_tiles_and_chunks) {
  const std::int64_t sizes[][3] = {{512, 512, 16}, {513, 513, 17}, {449, 640, 15}, {512, 257, 33},
                                   {16, 33000, 9}, {70, 90, 5003}, {1100, 1030, 9}};
  for (const auto& [n, m, trips] : sizes) {
    const matrix x(n, trips, 3), y(m, trips, 4);
    const array d = sum(rows_of(x.on_device(f32)) * columns_of(y.on_device(f32)), 2);
    EXPECT_EQ(first_difference(d, sums(n, m, trips, [&](auto i, auto j, auto k) { return x(i, k) * y(j, k); })), -1)
        << n << " x " << m << " x " << trips;
  }
}

TEST(tiles, operands_that_lie_along_columns_and_backwards) {
  const matrix x(29, 515, 5), y(530, 29, 6);
  const array a = x.on_device(f32)(all, all, newaxis);
  const array b = transpose(y.on_device(f32))(range(end, begin, -1), newaxis, all);
  const auto product = [&](auto i, auto j, auto k) { return x(k, i) * y(j, 28 - k); };
  EXPECT_EQ(first_difference(sum(a * b, 0), sums(515, 530, 29, product)), -1);
}

TEST(tiles, extremes_and_where_they_are) {
  const matrix x(391, 29, 7), y(387, 29, 8);
  const array apart = abs(rows_of(x.on_device(f32)) - columns_of(y.on_device(f32)));
  const array most = max(apart, 2), where_least = argmin(apart, 2);
  eval(most, where_least);
  std::vector<double> high, at;
  for (std::int64_t i = 0; i < 391; ++i)
    for (std::int64_t j = 0; j < 387; ++j) {
      double greatest = 0, least = 1e9, place = 0;
      for (std::int64_t k = 0; k < 29; ++k) {
        const double d = std::abs(x(i, k) - y(j, k));
        greatest = std::max(greatest, d);
        if (d < least) place = static_cast<double>(k);
        least = std::min(least, d);
      }
      high.push_back(greatest);
      at.push_back(place);
    }
  EXPECT_EQ(first_difference(most, high), -1);
  EXPECT_EQ(first_difference(where_least, at), -1);
}

/// So many results that a thread takes as many as there are registers for.
TEST(tiles, extremes_of_few_values_for_many_results) {
  const std::int64_t n = 2081, m = 2118;
  const matrix x(n, 3, 18), y(m, 3, 19);
  const array most = max(rows_of(x.on_device(f32)) * columns_of(y.on_device(f32)), 2);
  std::vector<double> high;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < m; ++j)
      high.push_back(std::max({x(i, 0) * y(j, 0), x(i, 1) * y(j, 1), x(i, 2) * y(j, 2)}));
  EXPECT_EQ(first_difference(most, high), -1);
}

TEST(tiles, several_axes_stay_and_several_are_reduced) {
  const matrix x(3 * 150, 8 * 9, 9), y(3 * 260, 8 * 9, 10);
  const array a = reshape(x.on_device(f32), {3, 150, 8, 9}), b = reshape(y.on_device(f32), {3, 260, 8, 9});
  const array d = sum(a(all, all, newaxis, all, all) * b(all, newaxis, all, range(end, begin, -1), all), {3, 4});
  std::vector<double> want;
  for (std::int64_t batch = 0; batch < 3; ++batch) {
    const std::vector<double> of_batch = sums(150, 260, 72, [&](auto i, auto j, auto k) {
      return x(batch * 150 + i, k) * y(batch * 260 + j, (7 - k / 9) * 9 + k % 9);
    });
    want.insert(want.end(), of_batch.begin(), of_batch.end());
  }
  EXPECT_EQ(first_difference(d, want), -1);
}

TEST(tiles, gathered_rows_masks_and_values_around_the_loop) {
  const matrix x(391, 29, 11), y(387, 29, 12), weights(391, 1, 13), bias(391, 387, 14);
  const array rows = (arange(391) * 7) % 391;
  const array a = x.on_device(f32)(rows, all)(all, newaxis, all), b = columns_of(y.on_device(f32));
  const array w = reshape(weights.on_device(f32), {391, 1});
  const array d = sum(where(a > b, a * b, w(all, all, newaxis)), 2) * 2 + bias.on_device(f32) - w;
  std::vector<double> want = sums(391, 387, 29, [&](auto i, auto j, auto k) {
    const double p = x(i * 7 % 391, k), q = y(j, k);
    return p > q ? p * q : weights(i, 0);
  });
  for (std::int64_t i = 0; i < 391; ++i)
    for (std::int64_t j = 0; j < 387; ++j) {
      double& r = want[static_cast<std::size_t>(i * 387 + j)];
      r = r * 2 + bias(i, j) - weights(i, 0);
    }
  EXPECT_EQ(first_difference(d, want), -1);
}

TEST(tiles, a_bad_index_into_rows_is_reported) {
  const matrix x(391, 29, 11), y(387, 29, 12);
  array rows = arange(391);
  rows(200) = 1000;
  eval(rows);
  const array d = sum(x.on_device(f32)(rows, all)(all, newaxis, all) * columns_of(y.on_device(f32)), 2);
  EXPECT_THROW(d.to_vector<float>(), index_error);
  const array good = sum(x.on_device(f32)(all, newaxis, all) * columns_of(y.on_device(f32)), 2);
  const std::vector<double> first = sums(1, 1, 29, [&](auto i, auto j, auto k) { return x(i, k) * y(j, k); });
  EXPECT_EQ(good(0, 0).item<float>(), static_cast<float>(first[0]));
}

/// Sums over all pairs of one list's elements and another's: several at once, in pieces.
TEST(tiles, sums_over_pairs) {
  for (const std::int64_t n : {std::int64_t{1024}, std::int64_t{2307}, std::int64_t{5000}}) {
    const std::int64_t m = 4100;
    const matrix x(n, 1, 15), y(m, 1, 16), mass(m, 1, 17);
    const auto line = [](const matrix& a) { return reshape(a.on_device(f32), {a.rows}); };
    const array apart = line(y)(newaxis, all) - line(x)(all, newaxis), weight = line(mass)(newaxis, all);
    const array force = sum(apart * weight, 1), energy = sum(square(apart), 1), nearest = min(abs(apart), 1),
                which = argmin(abs(apart), 1);
    eval(force, energy, nearest, which);
    std::vector<double> forces, energies, distances, places;
    for (std::int64_t i = 0; i < n; ++i) {
      double f = 0, e = 0, least = 1e9, place = 0;
      for (std::int64_t j = 0; j < m; ++j) {
        const double d = y(j, 0) - x(i, 0);
        f += d * mass(j, 0);
        e += d * d;
        if (std::abs(d) < least) place = static_cast<double>(j);
        least = std::min(least, std::abs(d));
      }
      forces.push_back(f);
      energies.push_back(e);
      distances.push_back(least);
      places.push_back(place);
    }
    EXPECT_EQ(first_difference(force, forces), -1) << n;
    EXPECT_EQ(first_difference(energy, energies), -1) << n;
    EXPECT_EQ(first_difference(nearest, distances), -1) << n;
    EXPECT_EQ(first_difference(which, places), -1) << n;
  }
}

/// Groups of 16 are summed in the values' own dtype, and those in f64: far closer than one after another.
TEST(tiles, long_sums_keep_their_digits) {
  constexpr std::int64_t n = 192, m = 192, trips = 700;
  array x = random::uniform(random::key(1), {n, trips}, f32), y = random::uniform(random::key(2), {m, trips}, f32);
  eval(x, y);
  const std::vector<float> a = x.to_vector<float>(), b = y.to_vector<float>();
  const std::vector<float> got = sum(rows_of(x) * columns_of(y), 2).to_vector<float>();
  for (std::int64_t i = 0; i < n; i += 37)
    for (std::int64_t j = 0; j < m; j += 41) {
      double want = 0;
      for (std::int64_t k = 0; k < trips; ++k)
        want += double{a[static_cast<std::size_t>(i * trips + k)]} * b[static_cast<std::size_t>(j * trips + k)];
      EXPECT_NEAR(got[static_cast<std::size_t>(i * m + j)], want, 3e-7 * want) << i << ", " << j;
    }
}

TEST(tiles, f_of_x_and_of_minus_x) {
  const std::vector<float> points{-30, -9.5f, -3, -0.5f, -1e-20f, -0.0f, 0, 1e-20f, 0.25f, 1, 4, 9.5f, 30};
  const array x(points, {13});
  const array direct = erfc(x * 0.7f), opposite = erfc(-x * 0.7f);
  eval(direct, opposite);
  const std::vector<float> a = direct.to_vector<float>(), b = opposite.to_vector<float>();
  for (std::size_t k = 0; k < points.size(); ++k) {
    const double y = static_cast<double>(points[k] * 0.7f);
    EXPECT_NEAR(a[k], std::erfc(y), 5e-7 * std::erfc(y) + 1e-44) << points[k];
    EXPECT_NEAR(b[k], std::erfc(-y), 5e-7 * std::erfc(-y) + 1e-44) << points[k];
  }
}

}  // namespace
