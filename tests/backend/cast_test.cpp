// Conversions between all pairs of dtypes at corner values. Floats truncate and saturate to integers (NaN: 0), integers
// wrap, bool is x != 0, numbers round to the nearest, once; of a complex number a real dtype takes the real part.
#include "tests/backend/corners.hpp"

using namespace sinter;
using namespace sinter_test;

namespace {

dtype part_of(dtype type) { return type == c64 ? f32 : type == c128 ? f64 : type; }

/// The low bits of a whole number, as a number of an integer dtype.
long double wrapped(long double x, dtype type) {
  const long double range = std::ldexp(1.0L, static_cast<int>(8 * size_of(type)));
  long double low = std::fmod(x, range);
  if (low < 0) low += range;
  return kind_of(type) == kind::signed_integer && low >= range / 2 ? low - range : low;
}

long double saturated(long double x, dtype type) {
  if (std::isnan(x)) return 0;
  const bool is_signed = kind_of(type) == kind::signed_integer;
  const long double above = std::ldexp(1.0L, static_cast<int>(8 * size_of(type)) - (is_signed ? 1 : 0));
  return std::min(std::max(std::trunc(x), is_signed ? -above : 0), above - 1);
}

value cast(const value& x, dtype from, dtype to) {
  if (to == boolean) return {x.re != 0 || x.im != 0 ? 1.0L : 0.0L, 0};
  if (is_integer(to)) return {is_integer_or_bool(from) ? wrapped(x.re, to) : saturated(x.re, to), 0};
  if (is_real(to)) return {rounded(x.re, to), 0};
  return {rounded(x.re, part_of(to)), rounded(x.im, part_of(to))};
}

/// Corners of the source, and numbers at the edges of every other dtype that the source can hold.
host_array sources(dtype type) {
  if (is_complex(type)) {
    const host_array parts = samples(part_of(type), 20);
    host_array out(type, parts.extents);
    for (std::int64_t k = 0; k < out.size(); ++k)
      out.set(k, {parts.get(k).re, parts.get((k * 7 + 3) % parts.size()).re});
    return out;
  }
  const host_array usual = samples(type, 20);
  std::vector<long double> all_values;
  for (std::int64_t k = 0; k < usual.size(); ++k) all_values.push_back(usual.get(k).re);
  if (is_real(type)) {
    for (int power : {7, 8, 10, 11, 15, 16, 24, 31, 32, 53, 63, 64})
      for (long double sign : {1.0L, -1.0L})
        for (long double offset : {-1.0L, -0.5L, 0.0L, 0.5L, 1.0L, 1.5L})
          all_values.push_back(rounded(sign * (std::ldexp(1.0L, power) + offset), type));
    // Ties of narrower floats, and numbers just beside them.
    for (long double step : {0x1p-8L, 0x1p-9L, 0x1p-11L, 0x1p-12L, 0x1p-24L, 0x1p-25L})
      for (long double off : {0.0L, 0x1p-40L, -0x1p-40L}) all_values.push_back(rounded(1 + 3 * step + off, type));
    for (long double x :
         {65504.0L, 65519.0L, 65520.0L, 0x1p-24L, 0x1p-25L, 0x1.8p-25L, 0x1.fep127L, 0x1.ffp127L, 0x1p-149L})
      all_values.push_back(rounded(x, type));
  } else if (size_of(type) == 8) {
    for (int power : {24, 25, 53, 54, 62})
      for (std::int64_t offset : {-3, -1, 0, 1, 3, 5})
        all_values.push_back(static_cast<long double>((std::int64_t{1} << power) + offset));
  }
  host_array out(type, {static_cast<std::int64_t>(all_values.size())});
  for (std::size_t k = 0; k < all_values.size(); ++k) out.set(static_cast<std::int64_t>(k), {all_values[k], 0});
  return out;
}

class casts : public testing::TestWithParam<int> {};

TEST_P(casts, to_every_dtype) {
  const auto from = static_cast<dtype>(GetParam());
  const host_array x = sources(from);
  const array on_device = x.to_device();
  std::vector<array> out;
  for (int k = 0; k < dtype_count; ++k) out.push_back(on_device.astype(static_cast<dtype>(k)));
  EXPECT_LE(counted([&] { eval_all(out); }).launches, 1u);
  for (int k = 0; k < dtype_count; ++k) {
    const auto to = static_cast<dtype>(k);
    ASSERT_EQ(out[static_cast<std::size_t>(k)].type(), to);
    host_array want(to, x.extents);
    for (std::int64_t i = 0; i < x.size(); ++i) want.set(i, cast(x.get(i), from, to));
    const std::string d = difference(from_device(out[static_cast<std::size_t>(k)]), want, {0, 0, true});
    EXPECT_EQ(d, "") << to_string(from) << " to " << to_string(to);
  }
}

INSTANTIATE_TEST_SUITE_P(from, casts, testing::Range(0, dtype_count),
                         [](const auto& tested) { return std::string(to_string(static_cast<dtype>(tested.param))); });

TEST(cast, a_cast_between_two_operations_is_neither_left_out_nor_moved) {
  const array x{300, -1, 255, 256};
  EXPECT_TRUE(equals((x.astype(u8) + 1).astype(i32), std::vector<std::int32_t>{45, 0, 0, 1}));
  EXPECT_TRUE(
      equals(array{1.75, -1.75, 1e300}.astype(f32).astype(i32).astype(f64), std::vector<double>{1, -1, 2147483647}));
  EXPECT_TRUE(equals(array{16777217}.astype(f32).astype(i32), std::vector<std::int32_t>{16777216}));
}

TEST(cast, compound_assignment_keeps_the_dtype_on_its_left) {
  array x{1, 2};
  x += array{std::int64_t{1} << 32 | 5, std::int64_t{-7}};
  EXPECT_EQ(x.type(), i32);
  EXPECT_TRUE(equals(x, std::vector<std::int32_t>{6, -5}));
  EXPECT_TRUE(throws<type_error>([&] { x += 0.5; }, {"i32", "cast_test.cpp"}));
  EXPECT_TRUE(equals(x, std::vector<std::int32_t>{6, -5}));
  array y{1.f};
  y *= array{0.1};
  EXPECT_EQ(y.type(), f32);
}

// Found by the fuzzer: compilers turn this into one truncation, which keeps the sign of -0.5.
TEST(cast, integers_made_of_small_negative_reals_are_zero_without_a_sign) {
  for (const dtype real : {f16, bf16, f32, f64})
    for (const dtype whole : {i8, i16, i32, i64}) {
      const array x = full({40}, -0.5, real).astype(f64), there_and_back = x.astype(whole).astype(real);
      EXPECT_FALSE(any_true(signbit(there_and_back)).item<bool>()) << to_string(real) << " " << to_string(whole);
      eval(x);
      EXPECT_EQ(sum(copysign(ones({40}), x.astype(whole))).item<double>(), 40) << to_string(whole);
    }
}

}  // namespace
