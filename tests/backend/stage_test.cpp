// Launches of several stages: small groups that need each other's results.
#include "dsl/compile.hpp"
#include "tests/backend/expect.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace sinter;
using namespace sinter_test;

namespace {

std::vector<double> reals(std::size_t n, std::uint64_t seed) {
  std::vector<double> v(n);
  for (double& x : v) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    x = static_cast<double>(seed >> 40) * 0x1p-24;
  }
  return v;
}

/// Means over bins of equal width up to the largest x.
array means_of_bins(const array& x, const array& weight, std::int64_t bins) {
  const array bin = minimum((x / max(x) * static_cast<double>(bins)).astype(i64), bins - 1);
  return bincount(bin, weight, bins) / bincount(bin, bins);
}

std::vector<double> plain_means(const std::vector<double>& x, const std::vector<double>& weight, std::int64_t bins) {
  const double most = *std::max_element(x.begin(), x.end());
  std::vector<double> sums(static_cast<std::size_t>(bins)), counts(sums);
  for (std::size_t k = 0; k < x.size(); ++k) {
    const auto bin = static_cast<std::size_t>(
        std::min<std::int64_t>(static_cast<std::int64_t>(x[k] / most * static_cast<double>(bins)), bins - 1));
    sums[bin] += weight[k];
    counts[bin] += 1;
  }
  for (std::size_t k = 0; k < sums.size(); ++k) sums[k] /= counts[k];
  return sums;
}

TEST(stage, maximum_zeros_counts_and_quotient_are_one_launch) {
  for (const std::size_t n : {1, 1000, 40'000, 1'000'000}) {
    const std::vector<double> x = reals(n, n), weight = reals(n, n + 1);
    const array a(x), w(weight);
    const array y = means_of_bins(a, w, n == 1 ? 1 : 37);
    EXPECT_EQ(counted([&] { eval(y); }).launches, 1u) << n;
    EXPECT_TRUE(equals(y, plain_means(x, weight, n == 1 ? 1 : 37), {1e-12, 0, false})) << n;
  }
}

TEST(stage, explain_says_what_waits) {
  const array a(reals(100, 3));
  const std::string text = explain(means_of_bins(a, a, 4));
  EXPECT_NE(text.find("1 launch(es)"), std::string::npos) << text;
  EXPECT_NE(text.find("stage 2, in the same launch, once all before it is done"), std::string::npos) << text;
  EXPECT_NE(text.find("cut after"), std::string::npos) << text;
}

TEST(stage, a_later_one_reads_what_any_element_of_an_earlier_one_stored) {
  const elementwise turned{"turned", "raw T x", "T y", "y = x[n - 1 - i]"};
  for (const std::int64_t n : {1, 255, 70'000, 300'001}) {
    const array x = arange(n).astype(f64);
    eval(x);
    const array y = turned.sized(n)(sqrt(x) + 1) * 2, z = turned.sized(n)(y - 3);  // three stages
    EXPECT_EQ(counted([&] { eval(z); }).launches, 1u) << n;
    std::vector<double> want(static_cast<std::size_t>(n));
    for (std::size_t k = 0; k < want.size(); ++k) want[k] = 2 * (std::sqrt(static_cast<double>(k)) + 1) - 3;
    EXPECT_TRUE(equals(z, want, {1e-14, 0, false})) << n;
  }
}

TEST(stage, full_reductions_of_several_stages_put_their_pieces_together) {
  const std::size_t n = 500'000;
  const std::vector<double> host = reals(n, 9);
  const array x(host), wide(reals(n / 2, 10));
  const array centre = mean(x), other = max(wide);
  const array spread = sqrt(sum(square(x - centre)) / static_cast<double>(n)), near = sum(abs(wide - other) < 0.5);
  const array far = sum(abs(x - centre) > 1.5 * spread);
  EXPECT_EQ(counted([&] { eval(far, near); }).launches, 1u);
  double total = 0, squares = 0;
  for (const double v : host) total += v;
  for (const double v : host) squares += (v - total / static_cast<double>(n)) * (v - total / static_cast<double>(n));
  const double limit = 1.5 * std::sqrt(squares / static_cast<double>(n));
  std::int64_t count = 0;
  for (const double v : host) count += std::abs(v - total / static_cast<double>(n)) > limit;
  EXPECT_EQ(far.item<std::int64_t>(), count);
  const std::vector<double> all_wide = reals(n / 2, 10);
  const double most = *std::max_element(all_wide.begin(), all_wide.end());
  EXPECT_EQ(near.item<std::int64_t>(), std::ranges::count_if(all_wide, [&](double v) { return most - v < 0.5; }));
  EXPECT_EQ(counted([&] { eval(sum(abs(x - mean(x)))); }).launches, 1u);  // and the counters are zero again
}

TEST(stage, a_later_one_overwrites_what_an_earlier_one_reads) {
  array a(reals(5000, 4));
  eval(a);
  const std::vector<double> before = a.to_vector<double>();
  const array total = sum(a * a);
  a(range(0, 2500)) *= total;
  const array most = max(a);
  EXPECT_LE(counted([&] { eval(a, total, most); }).launches, 2u);
  double sum = 0;
  for (const double v : before) sum += v * v;
  std::vector<double> want = before;
  for (std::size_t k = 0; k < 2500; ++k) want[k] *= sum;
  EXPECT_TRUE(equals(a, want, {1e-12, 0, false}));
  EXPECT_NEAR(most.item<double>(), *std::max_element(want.begin(), want.end()), 1e-9);
}

TEST(stage, fifteen_steps_in_a_row_are_few_launches) {
  const elementwise turned{"turned", "raw T x", "T y", "y = x[n - 1 - i]"};
  array x = arange(1000).astype(f64);
  eval(x);
  for (int k = 0; k < 15; ++k) x = turned.sized(1000)(x) + 1;
  const std::uint64_t launches = counted([&] { eval(x); }).launches;
  EXPECT_GE(launches, 4u);
  EXPECT_LE(launches, 5u);
  std::vector<double> want(1000);
  for (std::size_t k = 0; k < 1000; ++k) want[k] = static_cast<double>(999 - k) + 15;
  EXPECT_TRUE(equals(x, want));
}

TEST(stage, large_arrays_have_launches_of_their_own) {
  const array x = ones({std::int64_t{3} << 21}, f32);
  eval(x);
  const array share = x / sum(x);
  EXPECT_EQ(counted([&] { eval(share); }).launches, 2u);
  EXPECT_EQ((share(0) * static_cast<float>(x.size())).item<float>(), 1.0f);
}

TEST(stage, a_bad_index_is_told_of_the_stage_that_met_it) {
  const array table(reals(100, 5)), x(reals(50, 6));
  const array ids = (x / max(x) * 200).astype(i64);  // the largest is 200
  const array sums = bincount((table(ids) * 4).astype(i64), 5), share = sums / sum(sums);
  eval(share);
  EXPECT_TRUE((throws<index_error>([&] { synchronize(); }, {"100"})));
  EXPECT_EQ(sum(ones({10}, f64) / sum(ones({10}, f64))).item<double>(), 1.0);  // the device goes on
}

TEST(stage, recorded_functions_replay_all_of_them) {
  auto share = compile([](const array& x) { return means_of_bins(x, x * 2, 8); });
  for (std::uint64_t k = 0; k < 6; ++k) {
    const std::vector<double> x = reals(3000, 20 + k);
    const array a(x);
    array y;
    const std::uint64_t launches = counted([&] { y = share(a); }).launches;
    EXPECT_EQ(launches, 1u) << k;
    std::vector<double> twice = x;
    for (double& v : twice) v *= 2;
    EXPECT_TRUE(equals(y, plain_means(x, twice, 8), {1e-12, 0, false})) << k;
  }
}

TEST(stage, reductions_in_larger_blocks_get_those_of_the_others) {
  // 40 rows of 30000: blocks of their own have more threads than those that the quotients run in.
  const std::size_t rows = 40, columns = 30'000;
  const std::vector<double> x = reals(rows * columns, 7);
  const array a(x, {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)});
  const array sums = sum(a, 1), order = argmax(sums / max(sums)), most = sums(order);
  EXPECT_LE(counted([&] { eval(most, order); }).launches, 1u);
  std::vector<double> want(rows);
  for (std::size_t k = 0; k < x.size(); ++k) want[k / columns] += x[k];
  const auto best = std::max_element(want.begin(), want.end());
  EXPECT_EQ(order.item<std::int64_t>(), best - want.begin());
  EXPECT_NEAR(most.item<double>(), *best, 1e-9 * *best);
}

// The second piece of the join reads what the sums write; the first doesn't, and fits beside them.
TEST(stage, pieces_of_a_join_wait_for_what_they_read) {
  const std::int64_t rows = 1000, columns = 300, n = 200'000, picks = 100'000;
  const array m = (arange(rows * columns) % 17).astype(f32), y = (arange(n) % 29).astype(f32);
  const array at = (arange(picks) * 7 % rows).astype(i32), table = reshape(m, {rows, columns});
  array held = table + 0;
  eval(held, y, at);
  std::vector<float> want;
  for (std::int64_t k = 0; k < n; ++k) want.push_back(static_cast<float>(k % 29 + 1));
  for (std::int64_t k = 0; k < picks; ++k) {
    std::int64_t sum_of_row = 0;
    for (std::int64_t j = 0; j < columns; ++j) sum_of_row += (k * 7 % rows * columns + j) % 17;
    want.push_back(static_cast<float>(sum_of_row));
  }
  for (int again = 0; again < 3; ++again) {
    const array sums = sum(held, 1), joined = concat({y + 1.0f, sums(at)}, 0);
    eval(joined);
    EXPECT_TRUE(equals(joined, want));
  }
}

}  // namespace
