// Random numbers inside programs: what fuses, loops, what is drawn once, and what is refused.
#include "dsl/random.hpp"
#include "tests/backend/expect.hpp"
#include "tests/backend/plain_random.hpp"

#include <limits>

using namespace sinter;
using namespace sinter_test;

namespace {

constexpr std::uint64_t seed = 99;
array key() { return random::key(seed); }

// ---- Fusion ----

TEST(random_program, means_of_random_numbers_are_one_launch_without_an_array) {
  const std::uint64_t before = stats().bytes_in_use;
  const array m = mean(random::normal(key(), {1 << 20}));
  EXPECT_EQ(counted([&] { EXPECT_NEAR(m.item<double>(), 0, 4.0 / 1024); }).launches, 1u);
  EXPECT_LT(stats().bytes_in_use - before, std::uint64_t{1} << 16);
}

TEST(random_program, monte_carlo_pi) {
  const array keys = random::split(key());
  const std::int64_t n = 1 << 20;
  const array x = random::uniform(keys(0), {n}, f32), y = random::uniform(keys(1), {n}, f32);
  const array share = mean((x * x + y * y < 1).astype(f64));
  EXPECT_EQ(counted([&] { EXPECT_NEAR(4 * share.item<double>(), 3.141592653589793, 4 * 1.642 / 1024); }).launches, 1u);
}

TEST(random_program, another_key_or_size_needs_no_other_kernel) {
  const auto draw = [](std::uint64_t s, std::int64_t n) { eval(random::normal(random::key(s), {n}, f32, 1, 2)); };
  draw(1, 1000);
  EXPECT_EQ(counted([&] { draw(2, 777); }).compiles, 0u);
}

// Catalogue Q06.
TEST(random_program, what_is_used_twice_is_the_same) {
  const array r = random::uniform(key(), {1000});
  EXPECT_TRUE(all_true(r - r == 0).item<bool>());
  const array two = r * 2, three = r * 3;
  eval(two);
  eval(three);
  EXPECT_TRUE(all_true(two * 0.5 == r).item<bool>());
  EXPECT_TRUE(any_true(r == max(r)).item<bool>());
  EXPECT_EQ(to_string(r), to_string(random::uniform(key(), {1000})));
  const array keys = random::split(key());
  EXPECT_FALSE(any_true(random::uniform(keys(0), {1000}) == random::uniform(keys(1), {1000})).item<bool>());
}

TEST(random_program, evaluated_or_not_it_is_the_same) {
  const array lazy = random::uniform(key(), {10, 30}, f32), kept = random::uniform(key(), {10, 30}, f32);
  eval(kept);
  EXPECT_TRUE(equals(lazy(3, all) + 1, from_device(kept(3, all) + 1)));
  EXPECT_TRUE(equals(sum(lazy, 0), from_device(sum(kept, 0)), {1e-6, 1e-6}));
  const array normal = random::normal(key(), {10, 30}), kept_normal = random::normal(key(), {10, 30});
  eval(kept_normal);
  EXPECT_TRUE(equals(normal(3, all) + 1, from_device(kept_normal(3, all) + 1), {4e-15, 4e-15}));
}

// ---- Loops inside kernels ----

TEST(random_program, elements_draw_in_each_iteration_of_their_loops) {
  // How many uniform numbers it takes until their sum passes 1: e on average.
  constexpr std::size_t n = 3000;
  const array own = random::fold_in(key(), arange(n));
  struct state {
    double sum;
    std::int64_t count;
  };
  const auto [sum_of, count] = while_loop(
      std::pair{zeros({n}), zeros({n}, i64)}, [](const auto& s) { return s.first <= 1; },
      [&](const auto& s) {
        return std::pair{s.first + random::uniform(random::fold_in(own, s.second)), s.second + 1};
      });
  const auto want = each(n, [](std::size_t i) {
    state s{0, 0};
    for (; s.sum <= 1; ++s.count) {
      const std::uint64_t k = plain_fold(plain_fold(seed, i), static_cast<std::uint64_t>(s.count));
      s.sum += plain_stream(k).uniform(0, 53);
    }
    return s.count;
  });
  EXPECT_EQ(counted([&] { eval(count, sum_of); }).launches, 1u);
  EXPECT_TRUE(equals(count, want));
  EXPECT_NEAR(mean(count.astype(f64)).item<double>(), 2.718281828, 4 * 0.875 / std::sqrt(3000.0));
}

TEST(random_program, counters_of_loops_make_keys) {
  constexpr std::size_t n = 500;
  const array x = for_loop(20, zeros({n}, u64), [&](const array& t, const array& s) {
    return s + (random::bits(random::fold_in(key(), t), {n}) & 0xff).astype(u64);
  });
  EXPECT_EQ(counted([&] { eval(x); }).launches, 1u);
  EXPECT_TRUE(equals(x, each(n, [](std::size_t i) {
                       std::uint64_t s = 0;
                       for (std::uint64_t t = 0; t < 20; ++t) s += plain_stream(plain_fold(seed, t)).word32(i) & 0xff;
                       return s;
                     })));
}

TEST(random_program, loops_inside_kernels_may_shuffle_and_choose) {
  const array x = arange(7) * 10;
  const array picked_up = for_loop(5, zeros({4}, i64), [&](const array& t, const array& s) {
    const array own = random::fold_in(random::fold_in(key(), arange(4)), t);
    return s + take(x, random::randint(own, {}, 0, 7), 0);
  });
  EXPECT_TRUE(equals(picked_up, each(4, [](std::size_t i) {
                       std::int64_t s = 0;
                       for (std::uint64_t t = 0; t < 5; ++t)
                         s += 10 *
                              static_cast<std::int64_t>(plain_stream(plain_fold(plain_fold(seed, i), t)).below(0, 7));
                       return s;
                     })));
}

// ---- Loops of statements ----

std::vector<double> walked(std::size_t n, std::uint64_t steps) {
  return each(n, [&](std::size_t i) {
    double s = 0;
    for (std::uint64_t t = 0; t < steps; ++t) s += plain_stream(plain_fold(seed, t)).uniform(i, 53);
    return s;
  });
}

TEST(random_program, loops_of_statements_fold) {
  constexpr std::int64_t n = 300;
  array x = zeros({n});
  const statistics before = stats();
  for (int t = 0; t < 100; ++t) x(all) = x + random::uniform(random::fold_in(key(), t), {n});
  eval(x);
  EXPECT_GE(stats().folded - before.folded, 97u);
  EXPECT_LE(stats().launches - before.launches, 3u);
  EXPECT_TRUE(equals(x, walked(n, 100)));
}

TEST(random_program, loops_of_assignments_fold) {
  constexpr std::int64_t n = 300;
  array x = zeros({n});
  const statistics before = stats();
  for (int t = 0; t < 100; ++t) x = x + random::uniform(random::fold_in(key(), t), {n});
  eval(x);
  EXPECT_LE(stats().launches - before.launches, 20u);
  EXPECT_TRUE(equals(x, walked(n, 100)));
  array y = zeros({n});
  const statistics later = stats();
  for (int t = 0; t < 100; ++t) y += random::uniform(random::fold_in(key(), t), {n});
  eval(y);
  EXPECT_GE(stats().folded - later.folded, 97u);
  EXPECT_TRUE(equals(y, walked(n, 100)));
}

TEST(random_program, updates_of_parts_draw_what_they_write) {
  array x = zeros({20, 6});
  for (int k = 0; k < 20; ++k) x(k, range(1, 4)) = random::uniform(random::fold_in(key(), k), {3});
  std::vector<double> want(120, 0.0);
  for (std::size_t k = 0; k < 20; ++k)
    for (std::size_t i = 0; i < 3; ++i) want[k * 6 + 1 + i] = plain_stream(plain_fold(seed, k)).uniform(i, 53);
  EXPECT_TRUE(equals(x, host_array(want, {20, 6})));
}

// ---- Orders ----

TEST(random_program, parts_of_permutations_agree_with_the_whole) {
  for (const std::int64_t n : {100, 5000}) {
    const std::vector<std::int64_t> whole = random::permutation(key(), n).to_vector<std::int64_t>();
    EXPECT_TRUE(equals(random::permutation(key(), n)(range(end, begin, -7)),
                       each(static_cast<std::size_t>((n + 6) / 7),
                            [&](std::size_t k) { return whole[static_cast<std::size_t>(n) - 1 - 7 * k]; })));
    const array batch = random::permutation(random::fold_in(key(), arange(3)), n);
    EXPECT_TRUE(equals(batch(1, all), from_device(random::permutation(random::fold_in(key(), 1), n))));
  }
  const std::int64_t huge = std::int64_t{1} << 45;
  EXPECT_TRUE(all_true(random::permutation(key(), huge)(range(0, 100)) < huge).item<bool>());
}

TEST(random_program, shuffles_and_choices_are_gathers) {
  const array x = reshape(arange(3 * 1000), {3, 1000});
  const array s = random::shuffle(key(), x, 1);
  EXPECT_TRUE(equals(s, from_device(take(x, random::permutation(key(), 1000), 1))));
  EXPECT_TRUE(equals(random::shuffle(key(), x), from_device(take(x, random::permutation(key(), 3), 0))));
  const array flat = random::shuffle(key(), arange(1000) * 3);
  EXPECT_EQ(counted([&] { eval(flat); }).launches, 1u);
  const array c = random::choice(key(), x, {2, 5}, {.axis = 1});
  EXPECT_EQ(c.extents(), (shape{3, 2, 5}));
  EXPECT_EQ(counted([&] { eval(c); }).launches, 1u);
  EXPECT_TRUE(equals(c(0, all, all), from_device(random::randint(key(), {2, 5}, 0, 1000))));
  EXPECT_EQ(random::choice(key(), x, {}, {.axis = 1}).extents(), shape{3});
  EXPECT_EQ(random::choice(key(), 5, {0}).size(), 0);
  EXPECT_EQ(random::choice(key(), 0, {0}, {.replace = false}).size(), 0);
}

// ---- Errors ----

std::string this_line(place at = place::here()) { return "random_program_test.cpp:" + std::to_string(at.line); }

TEST(random_program, mistakes_are_errors_of_their_line) {
  const array k = key();
  EXPECT_TRUE(throws<type_error>([&] { random::uniform(array(1.0), {3}); }, {"uniform", "key", "f64", this_line()}));
  EXPECT_TRUE(throws<type_error>([&] { random::split(array(1)); }, {"split", "i64", this_line()}));
  EXPECT_TRUE(throws<shape_error>([&] { random::uniform(k, {3, -1}); }, {"-1"}));
  EXPECT_TRUE(throws<shape_error>([&] { random::split(k, -2); }, {"split", "-2", this_line()}));
  EXPECT_TRUE(throws<type_error>([&] { random::uniform(k, {3}, i32); }, {"uniform", "i32", "randint", this_line()}));
  EXPECT_TRUE(throws<type_error>([&] { random::uniform(k, {3}, c64); }, {"uniform", "c64", this_line()}));
  EXPECT_TRUE(throws<shape_error>([&] { random::uniform(k, {3}, f32, 1, 1); }, {"uniform", this_line()}));
  EXPECT_TRUE(throws<shape_error>([&] { random::uniform(k, {3}, f32, 2, 1); }, {"uniform", this_line()}));
  EXPECT_TRUE(throws<shape_error>([&] { random::uniform(k, {3}, f32, 1, 1 + 1e-9); }, {"one f32", this_line()}));
  EXPECT_TRUE(throws<shape_error>([&] { random::uniform(k, {3}, f32, 0, 1e39); }, {"f32", this_line()}));
  EXPECT_TRUE(throws<shape_error>([&] { random::uniform(k, {3}, f32, -3e38, 3e38); }, {"f32", this_line()}));
  EXPECT_TRUE(throws<shape_error>([&] { random::uniform(k, {3}, f64, 0, std::numeric_limits<double>::quiet_NaN()); }));
  EXPECT_TRUE(throws<type_error>([&] { random::normal(k, {3}, boolean); }, {"normal", "bool", this_line()}));
  EXPECT_TRUE(throws<shape_error>([&] { random::normal(k, {3}, f32, 0, -1); }, {"normal", "-1", this_line()}));
  EXPECT_TRUE(throws<shape_error>([&] { random::normal(k, {3}, f32, 1.0 / 0.0); }, {"mean", this_line()}));
  EXPECT_TRUE(throws<type_error>([&] { random::randint(k, {3}, 0, 5, f32); }, {"randint", "f32", this_line()}));
  EXPECT_TRUE(throws<type_error>([&] { random::randint(k, {3}, 0, 5.5); }, {"randint", "high", this_line()}));
  EXPECT_TRUE(throws<shape_error>([&] { random::randint(k, {3}, 5, 5); }, {"randint", "low", this_line()}));
  EXPECT_TRUE(throws<shape_error>([&] { random::randint(k, {3}, 5u, -5); }, {"randint", "low", this_line()}));
  EXPECT_TRUE(throws<type_error>([&] { random::randint(k, {3}, -1, 5, u8); }, {"-1", "u8", this_line()}));
  EXPECT_TRUE(throws<type_error>([&] { random::randint(k, {3}, 0, 257, u8); }, {"256", "u8", this_line()}));
  EXPECT_TRUE(throws<shape_error>([&] { random::bernoulli(k, 1.5); }, {"1.5", this_line()}));
  EXPECT_TRUE(throws<shape_error>([&] { random::bernoulli(k, -0.1); }, {"-0.1", this_line()}));
  EXPECT_TRUE(throws<shape_error>([&] { random::exponential(k, {3}, f32, 0); }, {"scale", this_line()}));
  EXPECT_TRUE(throws<type_error>([&] { random::bits(k, {3}, i32); }, {"bits", "i32", this_line()}));
  EXPECT_TRUE(throws<type_error>([&] { random::fold_in(k, 1.5); }, {"fold_in", "f64", this_line()}));
  EXPECT_TRUE(throws<type_error>([&] { random::fold_in(k, true); }, {"fold_in", "bool", this_line()}));
  EXPECT_TRUE(throws<shape_error>([&] { random::permutation(k, -1); }, {"permutation", "-1", this_line()}));
}

TEST(random_program, impossible_choices_are_errors_of_their_line) {
  const array k = key(), x = arange(4), weights{1.0, 1.0, 0.0, 0.0};
  EXPECT_TRUE(throws<shape_error>([&] { random::choice(k, x, {5}, {.replace = false}); }, {"5 of 4", this_line()}));
  EXPECT_TRUE(throws<shape_error>([&] { random::choice(k, 0, {1}); }, {"choice", this_line()}));
  EXPECT_TRUE(throws<shape_error>([&] { random::choice(k, array(1), {1}); }, {"choice", this_line()}));
  EXPECT_TRUE(throws<shape_error>([&] { random::choice(k, 3, {1}, {.p = weights}); }, {"[4]", "3", this_line()}));
  EXPECT_TRUE(throws<type_error>([&] { random::choice(k, 4, {1}, {.p = x}); }, {"i64", this_line()}));
  EXPECT_TRUE(throws<shape_error>([&] { random::choice(random::split(k), 4); }, {"one key", this_line()}));
  EXPECT_TRUE(throws<shape_error>([&] { random::shuffle(random::split(k), x); }, {"one key", this_line()}));
  EXPECT_TRUE(throws<shape_error>([&] { random::shuffle(k, x, 1); }, {"axis", this_line()}));
  const array few = random::choice(k, x, {3}, {.replace = false, .p = weights});
  EXPECT_TRUE(throws<index_error>([&] { few.to_vector<std::int64_t>(); }));
  const array none = random::choice(k, 4, {3}, {.replace = false, .p = weights});
  EXPECT_TRUE(throws<index_error>([&] { none.to_vector<std::int64_t>(); }));
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
  for (const array& bad : {array{0.0, 0.0}, array{nan, 1.0}, array{-1.0, 2.0}, array{infinite, 1.0}})
    for (const bool replace : {true, false}) {
      const array number = random::choice(k, 2, {1}, {.replace = replace, .p = bad});
      EXPECT_TRUE(throws<index_error>([&] { number.to_vector<std::int64_t>(); },
                                      {"index 2", "random_program_test.cpp"}));
      const array element = random::choice(k, array{5, 6}, {1}, {.replace = replace, .p = bad});
      EXPECT_TRUE(throws<index_error>([&] { element.to_vector<std::int32_t>(); })) << to_string(bad);
    }
  const array sure = random::choice(k, 3, {9}, {.p = array{0.0, 2.0, 0.0}});
  EXPECT_TRUE(all_true(sure == 1).item<bool>());
}

}  // namespace
