// Random numbers against plain C++ that follows dsl/random.hpp: the same bits on every executor, whatever is asked for.
#include "dsl/random.hpp"
#include "tests/backend/expect.hpp"
#include "tests/backend/plain_random.hpp"

using namespace sinter;
using namespace sinter_test;

namespace {

constexpr std::uint64_t seed = 0x123456789abcdef5;
const plain_stream stream(seed);

array key() { return random::key(seed); }

// ---- Bits ----

// Q01: the block of counter 0 under key 0 is Random123's first known answer (the others: tests/unit/philox_test.cpp).
TEST(random, bits_are_philox_words) {
  EXPECT_TRUE(equals(random::bits(random::key(0), {4}),
                     std::vector<std::uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_TRUE(equals(random::bits(random::key(0), {2}, u64),
                     std::vector<std::uint64_t>{0xe169c58d6627e8d5, 0x9b00dbd8bc57ac4c}));
  constexpr std::size_t n = 5003;
  EXPECT_TRUE(equals(random::bits(key(), {n}), each(n, [](std::size_t i) { return stream.word32(i); })));
  EXPECT_TRUE(equals(random::bits(key(), {n}, u64), each(n, [](std::size_t i) { return stream.word64(i); })));
  EXPECT_TRUE(equals(random::bits(key(), {n}, u8),
                     each(n, [](std::size_t i) { return static_cast<std::uint8_t>(stream.word32(i)); })));
  EXPECT_TRUE(equals(random::bits(key(), {n}, u16),
                     each(n, [](std::size_t i) { return static_cast<std::uint16_t>(stream.word32(i)); })));
}

// Written down, so that the bits cannot change unnoticed together with the reference.
TEST(random, a_table_of_values_that_never_change) {
  const array k = random::key(42);
  EXPECT_TRUE(equals(random::uniform(k, {4}, f32),
                     std::vector<float>{0x1.39d5ep-1f, 0x1.dfd524p-2f, 0x1.2bf5p-4f, 0x1.5d0accp-2f}));
  EXPECT_TRUE(equals(random::randint(k, {6}, -1000, 1000), std::vector<std::int64_t>{-63, -319, -346, -92, 316, 547}));
  EXPECT_TRUE(equals(random::split(k, 2), std::vector<std::uint64_t>{0x852e586665fe70a6, 0xb11de8b56bef1d5a}));
  EXPECT_EQ(random::fold_in(k, 3).item<std::uint64_t>(), 0x39c6bd081b0af4ecu);
}

TEST(random, keys_come_from_words_of_their_own) {
  EXPECT_EQ(key().item<std::uint64_t>(), seed);
  EXPECT_TRUE(equals(random::split(key(), 3), each(3, [](std::size_t k) { return plain_split(seed, k); })));
  const array more = random::split(random::split(key(), 3), 2);
  EXPECT_TRUE(equals(
      more, host_array(each(6, [](std::size_t k) { return plain_split(plain_split(seed, k / 2), k % 2); }), {3, 2})));
  EXPECT_EQ(random::fold_in(key(), 7).item<std::uint64_t>(), plain_fold(seed, 7));
  EXPECT_EQ(random::fold_in(key(), -1).item<std::uint64_t>(), plain_fold(seed, ~std::uint64_t{0}));
  EXPECT_TRUE(equals(random::fold_in(key(), array{3, -4}),
                     std::vector<std::uint64_t>{plain_fold(seed, 3), plain_fold(seed, std::uint64_t{0} - 4)}));
  EXPECT_TRUE(
      equals(random::fold_in(random::split(key(), 2), arange(2)(all, newaxis)),
             host_array(each(4, [](std::size_t k) { return plain_fold(plain_split(seed, k % 2), k / 2); }), {2, 2})));
}

TEST(random, several_keys_draw_for_themselves) {
  const array keys = random::split(key(), 3);
  const auto want = each(3 * 5, [](std::size_t k) { return plain_stream(plain_split(seed, k / 5)).word32(k % 5); });
  EXPECT_TRUE(equals(random::bits(keys, {5}), host_array(want, {3, 5})));
  EXPECT_TRUE(
      equals(random::bits(keys), each(3, [](std::size_t k) { return plain_stream(plain_split(seed, k)).word32(0); })));
  EXPECT_EQ(random::uniform(keys, {2, 4}, f32).extents(), (shape{3, 2, 4}));
}

// ---- Distributions ----

TEST(random, uniform_numbers_are_exact) {
  constexpr std::size_t n = 4099;
  EXPECT_TRUE(equals(random::uniform(key(), {n}, f32),
                     each(n, [](std::size_t i) { return static_cast<float>(stream.uniform(i, 24)); })));
  EXPECT_TRUE(equals(random::uniform(key(), {n}), each(n, [](std::size_t i) { return stream.uniform(i, 53); })));
  EXPECT_TRUE(equals(random::uniform(key(), {n}, f16),
                     each(n, [](std::size_t i) { return float16(static_cast<float>(stream.uniform(i, 11))); })));
  EXPECT_TRUE(equals(random::uniform(key(), {n}, bf16),
                     each(n, [](std::size_t i) { return bfloat16(static_cast<float>(stream.uniform(i, 8))); })));
}

// A product, rounded, and a sum, rounded: fused into one rounding, they would differ.
TEST(random, uniform_numbers_of_other_intervals_have_the_same_bits_everywhere) {
  constexpr std::size_t n = 4099;
  for (const auto& [low, high] :
       {std::pair{-3.7f, 11.3f}, {0.0f, 7.1f}, {1.0f, 2.0f}, {-1e-3f, 1e3f}, {-2.0f, -1.0f}}) {
    const float width = high - low;
    EXPECT_TRUE(equals(random::uniform(key(), {n}, f32, low, high),
                       each(n,
                            [&](std::size_t i) {
                              const volatile float scaled = static_cast<float>(stream.uniform(i, 24)) * width;
                              return std::min(low + scaled, std::nextafter(high, -infinity));
                            })))
        << low;
    EXPECT_TRUE(equals(random::uniform(key(), {n}, f64, low, high),
                       each(n,
                            [&](std::size_t i) {
                              const volatile double scaled = stream.uniform(i, 53) * (double{high} - double{low});
                              return std::min(low + scaled, std::nextafter(double{high}, -1e300));
                            })))
        << low;
  }
}

TEST(random, uniform_never_gives_the_upper_end) {
  constexpr std::int64_t n = 1 << 18;
  for (const dtype t : {f16, bf16, f32, f64}) {
    for (const auto& [low, high] :
         {std::pair{0.0, 1.0}, {1.0, 2.0}, {-1.0, 0.0}, {-2.0, -1.0}, {1000.0, 1001.0}, {-60000.0, 1.0}}) {
      if (t == bf16 && low == 1000) continue;  // one number
      const array x = random::uniform(key(), {n}, t, low, high);
      EXPECT_TRUE(all_true(x >= low && x < high).item<bool>()) << to_string(t) << ' ' << low;
      EXPECT_GT(max(x).item<double>(), low + (high - low) * 0.45) << to_string(t) << ' ' << low;
    }
  }
}

TEST(random, two_neighbours_are_an_interval_of_one_number) {
  EXPECT_TRUE(equals(random::uniform(key(), {3}, f32, 1, 1 + 0x1p-23), std::vector<float>{1, 1, 1}));
  EXPECT_TRUE(equals(random::uniform(key(), {2}, f16, -1 - 0x1p-10, -1),
                     std::vector<float16>{float16(-1 - 0x1p-10f), float16(-1 - 0x1p-10f)}));
  EXPECT_TRUE(equals(random::uniform(key(), {2}, bf16, 1 - 0x1p-8, 1),
                     std::vector<bfloat16>{bfloat16(1 - 0x1p-8f), bfloat16(1 - 0x1p-8f)}));
}

TEST(random, normal_numbers_are_box_and_mullers) {
  constexpr std::size_t n = 4099;
  const auto want = [&](bool wide, double mean, double stddev) {
    return host_array(
        each(n, [&](std::size_t i) { return static_cast<double>(stream.normal(i, wide) * stddev + mean); }));
  };
  EXPECT_TRUE(equals(random::normal(key(), {n}, f32), want(false, 0, 1), {2e-6, 2e-6}));
  EXPECT_TRUE(equals(random::normal(key(), {n}), want(true, 0, 1), {4e-15, 4e-15}));
  EXPECT_TRUE(equals(random::normal(key(), {n}, f64, -3, 0.25), want(true, -3, 0.25), {4e-15, 4e-15}));
  EXPECT_TRUE(equals(random::normal(key(), {n}, f32, 10, 0), host_array(std::vector<float>(n, 10.0f))));
  EXPECT_TRUE(equals(random::normal(key(), {n}, f16), want(false, 0, 1), {0x1p-11 * 1.01, 1e-5}));
  EXPECT_TRUE(equals(random::normal(key(), {n}, bf16), want(false, 0, 1), {0x1p-8 * 1.01, 1e-5}));
}

TEST(random, complex_normal_numbers_are_pairs) {
  constexpr std::size_t n = 1031;
  const auto want = [&](bool wide) {
    return host_array(each(n, [&](std::size_t i) {
      const long double half = std::sqrt(0.5L);
      return complex128{static_cast<double>(stream.normal(2 * i, wide) * half),
                        static_cast<double>(stream.normal(2 * i + 1, wide) * half)};
    }));
  };
  EXPECT_TRUE(equals(random::normal(key(), {n}, c64), want(false), {2e-6, 2e-6}));
  EXPECT_TRUE(equals(random::normal(key(), {n}, c128), want(true), {4e-15, 4e-15}));
}

TEST(random, exponential_numbers) {
  constexpr std::size_t n = 4099;
  for (const bool wide : {false, true}) {
    const double close = wide ? 4e-15 : 4e-7;
    EXPECT_TRUE(equals(
        random::exponential(key(), {n}, wide ? f64 : f32, 2.5),
        host_array(each(n, [&](std::size_t i) { return static_cast<double>(2.5L * stream.exponential(i, wide)); })),
        {close, close}));
  }
}

template <class T>
void expect_integers(T low, T high) {
  constexpr std::size_t n = 1031;
  const auto width = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  EXPECT_TRUE(equals(
      random::randint(key(), {n}, low, high, dtype_of<T>),
      each(n, [&](std::size_t i) { return static_cast<T>(static_cast<std::uint64_t>(low) + stream.below(i, width)); })))
      << +low << ' ' << +high;
}

TEST(random, integers_of_any_range) {
  expect_integers<std::int64_t>(0, 1);
  expect_integers<std::int64_t>(-3, 4);
  expect_integers<std::int64_t>(0, std::int64_t{1} << 32);
  expect_integers<std::int64_t>(0, (std::int64_t{1} << 32) + 1);
  expect_integers<std::int64_t>(-12345678901234567, 98765432109876543);
  expect_integers<std::int64_t>(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
  expect_integers<std::uint64_t>(1, std::numeric_limits<std::uint64_t>::max());
  expect_integers<std::int32_t>(std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max());
  expect_integers<std::uint32_t>(0, 3u << 30);
  expect_integers<std::int8_t>(-128, 127);
  expect_integers<std::uint16_t>(7, 8);
  const array bytes = random::randint(key(), {100000}, 0, 256, u8),
              signs = random::randint(key(), {100000}, -128, 128, i8);
  EXPECT_EQ(max(bytes).item<int>(), 255);
  EXPECT_EQ(min(signs).item<int>(), -128);
  EXPECT_EQ(max(signs).item<int>(), 127);
}

TEST(random, booleans_of_a_probability) {
  constexpr std::size_t n = 4099;
  for (const double p : {0.0, 1e-3, 0.25, 0.5, 0.9, 1.0}) {
    const array x = random::bernoulli(key(), p, {n});
    EXPECT_EQ(x.type(), boolean);
    EXPECT_TRUE(equals(x.astype(u8), each(n,
                                          [&](std::size_t i) {
                                            return static_cast<std::uint8_t>(static_cast<long double>(stream.word64(
                                                                                 i)) < 18446744073709551616.0L * p);
                                          })))
        << p;
  }
}

// ---- Shapes ----

TEST(random, elements_depend_on_their_number_only) {
  const array flat = random::uniform(key(), {60}, f32);
  for (const shape& s : {shape{60}, shape{3, 20}, shape{2, 3, 10}, shape{60, 1}, shape{1, 5, 12}})
    EXPECT_TRUE(equals(reshape(random::uniform(key(), s, f32), {60}), from_device(flat))) << to_string(s);
  EXPECT_TRUE(equals(random::uniform(key(), {7}, f32), from_device(flat(range(0, 7)))));
  // Vector code has a logarithm and a cosine of its own: the last bits may differ.
  const array normal = random::normal(key(), {61});
  EXPECT_TRUE(equals(random::normal(key(), {7}), from_device(normal(range(0, 7))), {4e-15, 4e-15}));
  EXPECT_EQ(random::uniform(key(), {}, f32).extents(), shape{});
  EXPECT_TRUE(equals(random::uniform(key(), {}, f32), from_device(random::uniform(key(), {5}, f32)(0))));
  for (const shape& s : {shape{0}, shape{3, 0}}) {
    EXPECT_EQ(random::uniform(key(), s).size(), 0);
    EXPECT_TRUE(random::normal(key(), s, f32).to_vector<float>().empty());
  }
}

TEST(random, parts_agree_with_the_whole_and_compute_only_themselves) {
  const array x = random::uniform(key(), {40, 50});
  const host_array whole = from_device(random::uniform(key(), {40, 50}));
  EXPECT_TRUE(equals(x(3, all), reshaped(picked(whole, 0, {3}), {50})));
  EXPECT_TRUE(
      equals(x(range(end, begin, -3), 7),
             reshaped(picked(picked(whole, 0, {39, 36, 33, 30, 27, 24, 21, 18, 15, 12, 9, 6, 3, 0}), 1, {7}), {14})));
  EXPECT_TRUE(equals(x(array{5, 5, -1}, all), picked(whole, 0, {5, 5, 39})));
  EXPECT_TRUE(equals(transpose(x)(0, all), reshaped(picked(whole, 1, {0}), {40})));
  // More elements than any memory holds: the last ones of 2^50.
  const std::int64_t huge = std::int64_t{1} << 50;
  const array far = random::bits(key(), {huge})(range(huge - 5, huge));
  EXPECT_TRUE(
      equals(far, each(5, [&](std::size_t k) { return stream.word32(static_cast<std::uint64_t>(huge) - 5 + k); })));
  const array table = random::uniform(key(), {huge / 1024, 1024}, f32);
  EXPECT_EQ(table(huge / 1024 - 1, 1023).item<float>(),
            static_cast<float>(stream.uniform(static_cast<std::uint64_t>(huge) - 1, 24)));
}

TEST(random, wide_indices_draw_the_same) {
  const host_array x = from_device(random::uniform(key(), {1000}, f32));
  const wide_indices on;
  EXPECT_TRUE(equals(random::uniform(key(), {1000}, f32), x));
}

}  // namespace
