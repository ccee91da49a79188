// Random numbers as samples of their distributions: moments, distances of distribution functions, counts. Keys are
// fixed, so that a test passes always or never; bounds are such that a right generator fails for one key of 10^4 or
// fewer.
#include "dsl/random.hpp"
#include "tests/backend/expect.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

using namespace sinter;
using namespace sinter_test;

namespace {

/// Kolmogorov and Smirnov: sqrt(n) times the largest distance of the sample's distribution function from `cdf`; above
/// 2.23 with probability 1e-4.
double ks_distance(std::vector<double> x, const std::function<double(double)>& cdf) {
  std::sort(x.begin(), x.end());
  const auto n = static_cast<double>(x.size());
  double largest = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double f = cdf(x[k]), rank = static_cast<double>(k);
    largest = std::max({largest, f - rank / n, (rank + 1) / n - f});
  }
  return std::sqrt(n) * largest;
}

double normal_cdf(double x) { return 0.5 * std::erfc(-x * std::sqrt(0.5)); }

/// Pearson's sum for counts that should all be equal, less its mean, over its standard deviation: about normal.
double chi_square(const std::vector<std::int64_t>& counts) {
  double n = 0, sum = 0;
  for (const std::int64_t c : counts) n += static_cast<double>(c);
  const double want = n / static_cast<double>(counts.size()), freedom = static_cast<double>(counts.size()) - 1;
  for (const std::int64_t c : counts) sum += (static_cast<double>(c) - want) * (static_cast<double>(c) - want) / want;
  return (sum - freedom) / std::sqrt(2 * freedom);
}

constexpr std::int64_t n = 200000;
const double root_n = std::sqrt(static_cast<double>(n));

std::vector<double> sample(const array& x) { return x.astype(f64).to_vector<double>(); }

TEST(random_statistics, uniform_numbers_spread_evenly) {
  for (const dtype t : {f32, f64}) {
    const array x = random::uniform(random::key(1), {n}, t, -2, 3);
    EXPECT_LT(ks_distance(sample(x), [](double v) { return (v + 2) / 5; }), 2.2) << to_string(t);
    EXPECT_NEAR(mean(x.astype(f64)).item<double>(), 0.5, 4 * 5 / std::sqrt(12) / root_n) << to_string(t);
  }
  for (const dtype t : {f16, bf16}) {  // as even as 11 and 8 bits can be
    const array x = random::uniform(random::key(2), {n}, t);
    const std::int64_t steps = t == f16 ? 2048 : 256;
    const array counts = bincount((x.astype(f32) * static_cast<float>(steps)).astype(i64), steps);
    EXPECT_LT(std::abs(chi_square(counts.to_vector<std::int64_t>())), 4) << to_string(t);
  }
}

TEST(random_statistics, neighbours_in_position_and_in_key_do_not_go_together) {
  const array x = random::uniform(random::key(3), {n});
  const auto pairs_even = [](const array& a, const array& b) {
    const array cell = (a * 32).astype(i64) * 32 + (b * 32).astype(i64);
    return std::abs(chi_square(bincount(cell, 1024).to_vector<std::int64_t>()));
  };
  for (const int step : {1, 2, 3, 4, 5, 64}) EXPECT_LT(pairs_even(x(range(0, -step)), x(range(step, end))), 4) << step;
  EXPECT_LT(pairs_even(x, random::uniform(random::key(4), {n})), 4);
  EXPECT_LT(pairs_even(x, random::uniform(random::fold_in(random::key(3), 0), {n})), 4);
  EXPECT_LT(pairs_even(random::uniform(random::split(random::key(3), n)), x), 4);
  EXPECT_LT(pairs_even(random::uniform(random::fold_in(random::key(3), arange(n))), x), 4);
}

TEST(random_statistics, every_bit_is_fair) {
  const std::vector<std::uint64_t> words = random::bits(random::key(5), {n}, u64).to_vector<std::uint64_t>();
  for (int bit = 0; bit < 64; ++bit) {
    const auto ones = std::ranges::count_if(words, [&](std::uint64_t w) { return (w >> bit & 1) != 0; });
    EXPECT_NEAR(static_cast<double>(ones), n / 2.0, 4 * root_n / 2) << bit;
  }
}

TEST(random_statistics, normal_numbers_are_normal) {
  for (const dtype t : {f32, f64}) {
    const array x = random::normal(random::key(6), {n}, t, 1, 2);
    const std::vector<double> values = sample(x);
    EXPECT_LT(ks_distance(values, [](double v) { return normal_cdf((v - 1) / 2); }), 2.2) << to_string(t);
    const array z = (x.astype(f64) - 1) / 2;
    EXPECT_NEAR(mean(z).item<double>(), 0, 4 / root_n) << to_string(t);
    EXPECT_NEAR(mean(z * z).item<double>(), 1, 4 * std::sqrt(2) / root_n) << to_string(t);
    EXPECT_NEAR(mean(z * z * z).item<double>(), 0, 4 * std::sqrt(15) / root_n) << to_string(t);
    EXPECT_NEAR(mean(square(z * z)).item<double>(), 3, 4 * std::sqrt(96) / root_n) << to_string(t);
    // Cosine and sine of a pair: independent.
    EXPECT_NEAR(mean(z(range(0, end, 2)) * z(range(1, end, 2))).item<double>(), 0, 4 * std::sqrt(2) / root_n);
  }
  for (const dtype t : {f16, bf16}) {
    const array x = random::normal(random::key(7), {n}, t);
    EXPECT_NEAR(mean(square(x.astype(f64))).item<double>(), 1, 4 * std::sqrt(2) / root_n + 2e-3) << to_string(t);
  }
}

// Far out, where too few bits would cut the distribution off: 10^7 numbers, of which 573, 5.7 and 0.05 are beyond.
TEST(random_statistics, normal_numbers_have_tails) {
  if (executor == "interpreter") GTEST_SKIP() << "too many numbers for the interpreter";
  const array x = abs(random::normal(random::key(8), {10000000}, f32));
  const double beyond_4 = sum((x > 4).astype(i64)).item<double>(), beyond_5 = sum((x > 5).astype(i64)).item<double>();
  EXPECT_NEAR(beyond_4, 633.4, 4 * std::sqrt(633.4));
  EXPECT_NEAR(beyond_5, 5.7, 4 * std::sqrt(5.7));
}

TEST(random_statistics, complex_normal_numbers_have_unit_power_and_no_direction) {
  const array z = random::normal(random::key(9), {n}, c128, 0, 3);
  EXPECT_NEAR(mean(square(abs(z))).item<double>(), 9, 4 * 9 / root_n);
  EXPECT_LT(ks_distance(real(z).to_vector<double>(), [](double v) { return normal_cdf(v / 3 * std::sqrt(2)); }), 2.2);
  EXPECT_LT(ks_distance(angle(z).to_vector<double>(), [](double v) { return v / (2 * 3.141592653589793) + 0.5; }), 2.2);
}

TEST(random_statistics, exponential_numbers_are_exponential) {
  for (const dtype t : {f32, f64})
    EXPECT_LT(ks_distance(sample(random::exponential(random::key(10), {n}, t, 4)),
                          [](double v) { return 1 - std::exp(-v / 4); }),
              2.2)
        << to_string(t);
}

TEST(random_statistics, bernoulli_frequencies) {
  for (const double p : {0.001, 0.3, 0.5, 0.99})
    EXPECT_NEAR(mean(random::bernoulli(random::key(11), p, {n}).astype(f64)).item<double>(), p,
                4 * std::sqrt(p * (1 - p)) / root_n)
        << p;
}

// Catalogue Q04.
TEST(random_statistics, integers_are_equally_likely) {
  const array x = random::randint(random::key(12), {700000}, -3, 4);
  const std::vector<std::int64_t> counts = bincount(x + 3, 7).to_vector<std::int64_t>();
  double sum = 0;
  for (const std::int64_t c : counts) {
    EXPECT_NEAR(static_cast<double>(c), 100000, 1500);
    sum += (static_cast<double>(c) - 100000) * (static_cast<double>(c) - 100000) / 100000;
  }
  EXPECT_LT(sum, 27);
  EXPECT_TRUE(
      all_true(random::randint(random::key(13), {n}, 0, std::int64_t{1} << 31) < (std::int64_t{1} << 31)).item<bool>());
  const array thirds = random::randint(random::key(14), {1000000}, 0, 3u << 30, u32) / (1u << 30);
  for (const std::int64_t c : bincount(thirds, 3).to_vector<std::int64_t>())
    EXPECT_NEAR(static_cast<double>(c), 1e6 / 3, 2000);
}

TEST(random_statistics, integers_of_more_than_32_bits_are_equally_likely) {
  const std::uint64_t range = std::uint64_t{3} << 62;  // modulo 2^64, the lowest third would come twice as often
  const array x = random::randint(random::key(15), {n}, 0u, range, u64);
  const std::vector<std::int64_t> counts = bincount(x >> 58, 48).to_vector<std::int64_t>();
  EXPECT_LT(std::abs(chi_square(counts)), 4);
}

// Catalogue Q10: a loop that reuses its draw would have variance 40000.
TEST(random_statistics, random_walks_spread_like_their_square_root) {
  const array walkers = random::split(random::key(16), 100000);
  const array place = for_loop(200, zeros({100000}, i64), [&](const array& t, const array& x) {
    return x + if_else(random::bernoulli(random::fold_in(walkers, t)), array(1), array(-1));
  });
  EXPECT_EQ(counted([&] { eval(place); }).launches, 1u);
  const array as_real = place.astype(f64);
  EXPECT_NEAR(var(as_real).item<double>(), 200, 4.5);
  EXPECT_LT(std::abs(mean(as_real).item<double>()), 0.23);
}

// ---- Orders and choices ----

// Catalogue Q11.
TEST(random_statistics, permutations_hold_every_number_once) {
  for (const std::int64_t size : {0, 1, 2, 3, 8, 255, 256, 257, 512, 513, 1000, 10000}) {
    const array p = random::permutation(random::key(17), size);
    EXPECT_EQ(p.type(), i64);
    std::vector<std::int64_t> found = p.to_vector<std::int64_t>(), want = arange(size).to_vector<std::int64_t>();
    EXPECT_TRUE(size < 8 || found != want) << size;
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, want) << size;
  }
}

TEST(random_statistics, small_permutations_are_equally_likely) {
  const array firsts = random::permutation(random::split(random::key(18), 5000), 8)(all, 0);
  for (const std::int64_t c : bincount(firsts, 8).to_vector<std::int64_t>())
    EXPECT_NEAR(static_cast<double>(c), 625, 120);
  const array p = random::permutation(random::split(random::key(19), 24000), 4);
  const array number = p(all, 0) * 64 + p(all, 1) * 16 + p(all, 2) * 4 + p(all, 3);
  std::vector<std::int64_t> counts;
  for (const std::int64_t c : bincount(number, 256).to_vector<std::int64_t>())
    if (c != 0) counts.push_back(c);
  ASSERT_EQ(counts.size(), 24u);
  EXPECT_LT(std::abs(chi_square(counts)), 4);
}

TEST(random_statistics, large_permutations_look_random) {
  constexpr std::int64_t size = 300, keys = 2000;
  const array p = random::permutation(random::split(random::key(20), keys), size);
  for (const std::int64_t place : {0, 1, 127, 150, 299}) {
    const auto counts = bincount(p(all, place), size).to_vector<std::int64_t>();
    EXPECT_LT(std::abs(chi_square(counts)), 4) << place;
  }
  // Fixed points are Poisson with mean 1; ascents are half of all neighbours.
  const double fixed = mean(sum((p == arange(size)).astype(f64), 1)).item<double>();
  EXPECT_NEAR(fixed, 1, 4 / std::sqrt(2000.0));
  const double ascents = mean((p(all, range(1, end)) > p(all, range(0, -1))).astype(f64)).item<double>();
  EXPECT_NEAR(ascents, 0.5, 4 * std::sqrt(1.0 / (12.0 * size * keys)));
  // Where two neighbours go has nothing to do with each other, up to their not being equal.
  const array cells = p(all, 10) / 30 * 10 + p(all, 11) / 30;
  EXPECT_LT(std::abs(chi_square(bincount(cells, 100).to_vector<std::int64_t>())), 4);
}

TEST(random_statistics, choices_with_replacement) {
  const array x = array{10.0, 20.0, 30.0, 40.0};
  const array c = random::choice(random::key(21), x, {1000, 40});
  EXPECT_EQ(c.extents(), (shape{1000, 40}));
  for (const double v : {10.0, 20.0, 30.0, 40.0})
    EXPECT_NEAR(mean((c == v).astype(f64)).item<double>(), 0.25, 4 * std::sqrt(3.0 / 16 / 40000));
}

TEST(random_statistics, choices_with_weights) {
  const array weights = array{1.0, 0.0, 3.0, 4.0, 0.0};
  const array c = random::choice(random::key(22), 5, {80000}, {.p = weights});
  const std::vector<std::int64_t> counts = bincount(c, 5).to_vector<std::int64_t>();
  const double want[] = {0.125, 0, 0.375, 0.5, 0};
  for (std::size_t k = 0; k < 5; ++k)
    EXPECT_NEAR(static_cast<double>(counts[k]), 80000 * want[k], 4 * std::sqrt(80000 * want[k] * (1 - want[k]))) << k;
}

TEST(random_statistics, choices_without_replacement_are_different) {
  for (const std::int64_t size : {10, 1000}) {
    std::vector<std::int64_t> c =
        random::choice(random::key(23), size, {size / 2}, {.replace = false}).to_vector<std::int64_t>();
    std::sort(c.begin(), c.end());
    EXPECT_EQ(std::adjacent_find(c.begin(), c.end()), c.end()) << size;
    EXPECT_TRUE(c.front() >= 0 && c.back() < size) << size;
  }
}

TEST(random_statistics, weighted_choices_without_replacement_follow_the_weights_one_after_another) {
  const array weights = array{1.0, 2.0, 0.0, 5.0};
  constexpr int rounds = 4000;
  int first[4] = {}, second_after_last[4] = {};
  for (int k = 0; k < rounds; ++k) {
    const auto c = random::choice(random::key(static_cast<std::uint64_t>(k)), 4, {3}, {.replace = false, .p = weights})
                       .to_vector<std::int64_t>();
    ++first[c[0]];
    if (c[0] == 3) ++second_after_last[c[1]];
    EXPECT_EQ(c[0] + c[1] + c[2], 4) << k;  // 0, 1 and 3 in some order
  }
  EXPECT_NEAR(first[0], rounds / 8.0, 4 * std::sqrt(rounds * 7 / 64.0));
  EXPECT_NEAR(first[1], rounds / 4.0, 4 * std::sqrt(rounds * 3 / 16.0));
  const double then = first[3];
  EXPECT_NEAR(second_after_last[0], then / 3, 4 * std::sqrt(then * 2 / 9));
}

}  // namespace
