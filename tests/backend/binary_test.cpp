// Operators and functions of two arrays, in every dtype their rules allow, at all pairs of corner values, against plain
// C++.
#include "tests/backend/corners.hpp"

#include <bit>
#include <type_traits>

using namespace sinter;
using namespace sinter_test;

namespace {

// ---- Integers: the rules of the library in a few lines, wrapping in unsigned arithmetic ----

template <class T>
struct integers {
  static constexpr int bits = 8 * static_cast<int>(sizeof(T));
  static std::uint64_t wide(T x) { return static_cast<std::uint64_t>(x); }
  static T add(T a, T b) { return static_cast<T>(wide(a) + wide(b)); }
  static T subtract(T a, T b) { return static_cast<T>(wide(a) - wide(b)); }
  static T multiply(T a, T b) { return static_cast<T>(wide(a) * wide(b)); }
  static bool is_minus_one(T b) { return std::is_signed_v<T> && b == static_cast<T>(-1); }
  static T divide(T a, T b) { return b == 0 ? T{0} : is_minus_one(b) ? subtract(0, a) : static_cast<T>(a / b); }
  static T modulo(T a, T b) { return b == 0 || is_minus_one(b) ? T{0} : static_cast<T>(a % b); }
  static bool rounds_up(T a, T b) { return modulo(a, b) != 0 && ((a < T{0}) != (b < T{0})); }
  static T floor_divide(T a, T b) { return static_cast<T>(rounds_up(a, b) ? divide(a, b) - 1 : divide(a, b)); }
  static T remainder(T a, T b) { return static_cast<T>(rounds_up(a, b) ? modulo(a, b) + b : modulo(a, b)); }
  static T left(T a, T n) { return n < T{0} || wide(n) >= bits ? T{0} : static_cast<T>(wide(a) << n); }
  static T right(T a, T n) {
    if (n < T{0} || wide(n) >= bits) return static_cast<T>(a < T{0} ? -1 : 0);
    return static_cast<T>(a >> n);
  }
  static T power(T a, T n) {
    if (n < T{0}) return static_cast<T>(a == 1 ? 1 : !is_minus_one(a) ? 0 : n % 2 == 0 ? 1 : -1);
    std::uint64_t result = 1, square = wide(a);
    for (std::uint64_t rest = wide(n); rest != 0; rest /= 2) {
      if (rest % 2 != 0) result *= square;
      square *= square;
    }
    return static_cast<T>(result);
  }
};

template <class T>
void check_integer_operators() {
  SCOPED_TRACE(to_string(dtype_of<T>));
  using rules = integers<T>;
  const auto [first, second] = corner_pairs(dtype_of<T>);
  const array a = first.to_device(), b = second.to_device();
  const std::pair<array, T (*)(T, T)> same[] = {{a + b, rules::add},
                                                {a - b, rules::subtract},
                                                {a * b, rules::multiply},
                                                {a / b, rules::divide},
                                                {a % b, rules::modulo},
                                                {fmod(a, b), rules::modulo},
                                                {floor_divide(a, b), rules::floor_divide},
                                                {remainder(a, b), rules::remainder},
                                                {pow(a, b), rules::power},
                                                {a & b, [](T x, T y) { return static_cast<T>(x & y); }},
                                                {a | b, [](T x, T y) { return static_cast<T>(x | y); }},
                                                {a ^ b, [](T x, T y) { return static_cast<T>(x ^ y); }},
                                                {a << b, rules::left},
                                                {a >> b, rules::right},
                                                {minimum(a, b), [](T x, T y) { return x < y ? x : y; }},
                                                {maximum(a, b), [](T x, T y) { return x < y ? y : x; }},
                                                {fmin(a, b), [](T x, T y) { return x < y ? x : y; }},
                                                {fmax(a, b), [](T x, T y) { return x < y ? y : x; }},
                                                {where(a, b, a), [](T x, T y) { return x != 0 ? y : x; }}};
  const std::pair<array, bool (*)(T, T)> tests[] = {{a == b, [](T x, T y) { return x == y; }},
                                                    {a != b, [](T x, T y) { return x != y; }},
                                                    {a < b, [](T x, T y) { return x < y; }},
                                                    {a <= b, [](T x, T y) { return x <= y; }},
                                                    {a > b, [](T x, T y) { return x > y; }},
                                                    {a >= b, [](T x, T y) { return x >= y; }},
                                                    {a && b, [](T x, T y) { return x != 0 && y != 0; }},
                                                    {a || b, [](T x, T y) { return x != 0 || y != 0; }},
                                                    {logical_xor(a, b), [](T x, T y) { return (x != 0) != (y != 0); }}};
  std::vector<array> out;
  for (const auto& [result, rule] : same) out.push_back(result);
  for (const auto& [result, rule] : tests) out.push_back(result);
  EXPECT_EQ(counted([&] { eval_all(out); }).launches, 1u);

  const auto number = [](const host_array& x, std::int64_t k) { return static_cast<T>(x.get(k).re); };
  int row = 0;
  for (const auto& [result, rule] : same) {
    host_array want(dtype_of<T>, first.extents);
    for (std::int64_t k = 0; k < want.size(); ++k)
      want.set(k, {static_cast<long double>(rule(number(first, k), number(second, k))), 0});
    EXPECT_EQ(result.type(), dtype_of<T>);
    EXPECT_TRUE(equals(result, want)) << "operation " << row << " of `same`";
    ++row;
  }
  row = 0;
  for (const auto& [result, rule] : tests) {
    host_array want(boolean, first.extents);
    for (std::int64_t k = 0; k < want.size(); ++k)
      want.set(k, {static_cast<long double>(rule(number(first, k), number(second, k))), 0});
    EXPECT_TRUE(equals(result, want)) << "operation " << row << " of `tests`";
    ++row;
  }
}

TEST(binary, operators_of_signed_integers) {
  check_integer_operators<std::int8_t>();
  check_integer_operators<std::int16_t>();
  check_integer_operators<std::int32_t>();
  check_integer_operators<std::int64_t>();
}

TEST(binary, operators_of_unsigned_integers) {
  check_integer_operators<std::uint8_t>();
  check_integer_operators<std::uint16_t>();
  check_integer_operators<std::uint32_t>();
  check_integer_operators<std::uint64_t>();
}

TEST(binary, operators_of_booleans) {
  const array a = booleans({0, 0, 1, 1}, {4}).to_device(), b = booleans({0, 1, 0, 1}, {4}).to_device();
  const std::pair<array, std::vector<std::uint8_t>> table[] = {
      {a & b, {0, 0, 0, 1}},         {a | b, {0, 1, 1, 1}},
      {a ^ b, {0, 1, 1, 0}},         {a + b, {0, 1, 1, 1}},
      {a * b, {0, 0, 0, 1}},         {a == b, {1, 0, 0, 1}},
      {a != b, {0, 1, 1, 0}},        {a < b, {0, 1, 0, 0}},
      {a >= b, {1, 0, 1, 1}},        {minimum(a, b), {0, 0, 0, 1}},
      {maximum(a, b), {0, 1, 1, 1}}, {a && b, {0, 0, 0, 1}},
      {a || b, {0, 1, 1, 1}},        {logical_xor(a, b), {0, 1, 1, 0}},
      {where(a, b, a), {0, 0, 0, 1}}};
  std::vector<array> out;
  for (const auto& [result, want] : table) out.push_back(result);
  eval_all(out);
  int row = 0;
  for (const auto& [result, want] : table) EXPECT_TRUE(equals(result, booleans(want, {4}))) << "row " << row++;
  EXPECT_TRUE(throws<type_error>([&] { a - b; }, {"bool", "binary_test.cpp"}));
  EXPECT_TRUE(throws<type_error>([&] { a << b; }, {"bool"}));
}

// ---- Reals ----

using truth = long double (*)(long double, long double);

struct real_operation {
  const char* name;
  array result;
  truth right;
  bound error;
  bool same_zeros = true;  ///< the sign of a zero is part of the answer
};

long double floor_quotient(long double a, long double b) {
  if (b == 0) return a / b;
  const long double rest = std::fmod(a, b);
  // Exact: what is left is taken off before dividing.
  return std::nearbyint((a - rest) / b) - (rest != 0 && std::signbit(rest) != std::signbit(b) ? 1 : 0);
}

long double floor_rest(long double a, long double b) {
  const long double rest = std::fmod(a, b);
  return rest != 0 && std::signbit(rest) != std::signbit(b) ? rest + b : rest;
}

long double log_of_sum(long double a, long double b) {
  const long double most = std::max(a, b);
  if (std::isnan(a) || std::isnan(b)) return a + b;
  return a == b ? a + std::log(2.0L) : most + std::log1p(std::exp(-std::abs(a - b)));
}

class real_operators : public testing::TestWithParam<dtype> {};

/// f(x, y) in C++'s own arithmetic of the dtype; f16 and bf16 in float, rounded after.
template <class F>
long double in_own_arithmetic(F f, long double x, long double y, dtype type) {
  if (type == f64) return f(static_cast<double>(x), static_cast<double>(y));
  const float result = f(static_cast<float>(x), static_cast<float>(y));
  return type == f32 ? result : rounded(result, type);
}

TEST_P(real_operators, round_once) {
  const dtype type = GetParam();
  const auto [first, second] = corner_pairs(type);
  const array a = first.to_device(), b = second.to_device();
  const array results[] = {a + b, a - b, a * b, a / b};
  eval(results[0], results[1], results[2], results[3]);
  host_array want[4];
  for (host_array& w : want) w = first;
  for (std::int64_t k = 0; k < first.size(); ++k) {
    const long double x = first.get(k).re, y = second.get(k).re;
    want[0].set(k, {in_own_arithmetic([](auto p, auto q) { return p + q; }, x, y, type), 0});
    want[1].set(k, {in_own_arithmetic([](auto p, auto q) { return p - q; }, x, y, type), 0});
    want[2].set(k, {in_own_arithmetic([](auto p, auto q) { return p * q; }, x, y, type), 0});
    want[3].set(k, {in_own_arithmetic([](auto p, auto q) { return p / q; }, x, y, type), 0});
  }
  for (int k = 0; k < 4; ++k)
    EXPECT_TRUE(equals(results[k], want[k], {0, 0, true})) << "operation " << k << " of + - * /";
}

TEST_P(real_operators, are_exact_or_as_close_as_promised) {
  const dtype type = GetParam();
  const auto [first, second] = corner_pairs(type);
  const array a = first.to_device(), b = second.to_device();
  // One step: the long double of the reference may itself be a rounding away from a tie.
  constexpr bound exact{0, 0, 0, 0}, nearest{1, 1}, vectorised{4, 4};
  using real = long double;
  const real_operation operations[] = {
      {"%", a % b, [](real x, real y) { return std::fmod(x, y); }, exact},
      {"remainder", remainder(a, b), floor_rest, nearest, false},
      {"minimum", minimum(a, b), [](real x, real y) { return std::isnan(x)            ? x
                                                             : std::isnan(y) || y < x ? y
                                                                                      : x; },
       exact, false},
      {"maximum", maximum(a, b), [](real x, real y) { return std::isnan(x)            ? x
                                                             : std::isnan(y) || y > x ? y
                                                                                      : x; },
       exact, false},
      {"fmin", fmin(a, b), [](real x, real y) { return std::fmin(x, y); }, exact, false},
      {"fmax", fmax(a, b), [](real x, real y) { return std::fmax(x, y); }, exact, false},
      {"copysign", copysign(a, b), [](real x, real y) { return std::copysign(x, y); }, exact},
      {"hypot", hypot(a, b), [](real x, real y) { return std::hypot(x, y); }, vectorised},
      {"atan2", atan2(a, b), [](real x, real y) { return std::atan2(x, y); }, vectorised},
      {"pow", pow(a, b), [](real x, real y) { return std::pow(x, y); }, vectorised},
      {"logaddexp", logaddexp(a, b), log_of_sum, {4, 4, 2}, false},
      {"clip", clip(a, -1, b),
       [](real x, real y) {
         const real above = std::isnan(x) || x > -1 ? x : -1;
         return std::isnan(above) ? above : std::isnan(y) || y < above ? y : above;
       },
       exact, false},
      {"where", where(b, a, 5), [](real x, real y) { return y != 0 ? x : 5; }, exact}};
  std::vector<array> out;
  for (const real_operation& o : operations) out.push_back(o.result);
  eval_all(out);
  for (const real_operation& o : operations) {
    ASSERT_EQ(o.result.type(), type) << o.name;
    const host_array got = from_device(o.result);
    int failures = 0;
    for (std::int64_t k = 0; k < got.size() && failures < 5; ++k) {
      const real x = first.get(k).re, y = second.get(k).re, g = got.get(k).re, want = o.right(x, y);
      const bool other_zero =
          o.same_zeros && g == 0 && rounded(want, type) == 0 && std::signbit(g) != std::signbit(want);
      const std::string far = beyond(o.error, g, want, type);
      // The sign that copysign takes from a NaN means nothing.
      const bool is_open = std::string(o.name) == "copysign" && std::isnan(y);
      if ((far.empty() && !other_zero) || is_open) continue;
      ++failures;
      ADD_FAILURE() << o.name << " of " << to_text({x, 0}, f64) << " and " << to_text({y, 0}, f64) << " is "
                    << (other_zero ? "0 of the other sign" : far);
    }
  }
}

TEST_P(real_operators, floor_divide_rounds_the_exact_quotient_down) {
  const dtype type = GetParam();
  const auto [first, second] = corner_pairs(type);
  const host_array got = from_device(floor_divide(first.to_device(), second.to_device()));
  for (std::int64_t k = 0; k < got.size(); ++k) {
    const long double x = first.get(k).re, y = second.get(k).re;
    const long double size = std::abs(x / y);
    // Past this the reference's own quotient is no longer exact.
    if (size > 0x1p60L && std::isfinite(size)) continue;
    if (std::isfinite(x) && std::isinf(y)) continue;  // the next test's
    // Where the dtype still tells whole numbers apart, the answer is the right one; beyond, its neighbour is as good.
    const bound error = size < 0x1p8L ? bound{0, 0, 0, 0} : bound{1, 1};
    EXPECT_EQ(beyond(error, got.get(k).re, rounded(floor_quotient(x, y), type), type), "")
        << to_text({x, 0}, f64) << " and " << to_text({y, 0}, f64);
  }
}

TEST_P(real_operators, floor_divide_of_numbers_by_infinity) {
  const array x = array{1.f, -1.f, 0.f}.astype(GetParam());
  EXPECT_TRUE(equals(floor_divide(x, infinity).astype(f32), std::vector<float>{0, -1, 0}));
  EXPECT_TRUE(equals(floor_divide(x, -infinity).astype(f32), std::vector<float>{-1, 0, 0}));
}

TEST_P(real_operators, comparisons_are_false_with_nan) {
  const auto [first, second] = corner_pairs(GetParam());
  const array a = first.to_device(), b = second.to_device();
  using real = long double;
  const std::pair<array, bool (*)(real, real)> tests[] = {{a == b, [](real x, real y) { return x == y; }},
                                                          {a != b, [](real x, real y) { return x != y; }},
                                                          {a < b, [](real x, real y) { return x < y; }},
                                                          {a <= b, [](real x, real y) { return x <= y; }},
                                                          {a > b, [](real x, real y) { return x > y; }},
                                                          {a >= b, [](real x, real y) { return x >= y; }},
                                                          {a && b, [](real x, real y) { return x != 0 && y != 0; }},
                                                          {a || b, [](real x, real y) { return x != 0 || y != 0; }}};
  std::vector<array> out;
  for (const auto& [result, rule] : tests) out.push_back(result);
  eval_all(out);
  for (std::size_t t = 0; t < out.size(); ++t) {
    host_array want(boolean, first.extents);
    for (std::int64_t k = 0; k < want.size(); ++k)
      want.set(k, {static_cast<real>(tests[t].second(first.get(k).re, second.get(k).re)), 0});
    EXPECT_TRUE(equals(out[t], want)) << "test " << t;
  }
}

TEST_P(real_operators, nextafter_steps_to_the_neighbour_of_the_dtype) {
  const dtype type = GetParam();
  const auto [first, second] = corner_pairs(type);
  const host_array got = from_device(nextafter(first.to_device(), second.to_device()));
  for (std::int64_t k = 0; k < got.size(); ++k) {
    const long double x = first.get(k).re, y = second.get(k).re, g = got.get(k).re;
    if (std::isnan(x) || std::isnan(y)) EXPECT_TRUE(std::isnan(g));
    else if (x == y) EXPECT_EQ(g, y);
    else
      EXPECT_TRUE(distance_in_ulps(x, g, type) == 1 && (g > x) == (y > x))
          << to_text({x, 0}, f64) << " to " << to_text({g, 0}, f64);
  }
}

INSTANTIATE_TEST_SUITE_P(dtypes, real_operators, testing::ValuesIn(real_types),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

TEST(binary, mixed_dtypes_meet_in_the_documented_one) {
  const auto one = [](dtype type) { return ones({1}, type); };
  const struct {
    dtype a, b, sum;
  } table[] = {{i8, i16, i16},   {u8, i8, i16},     {u16, i8, i32},   {u32, i32, i64}, {i64, f32, f32},
               {u64, f16, f16},  {boolean, i8, i8}, {f16, bf16, f32}, {f32, f64, f64}, {f32, c64, c64},
               {f64, c64, c128}, {i64, c64, c64},   {u8, u64, u64}};
  for (const auto& [a, b, sum] : table) {
    EXPECT_EQ((one(a) + one(b)).type(), sum) << to_string(a) << " + " << to_string(b);
    EXPECT_EQ((one(b) + one(a)).type(), sum) << to_string(b) << " + " << to_string(a);
  }
  EXPECT_TRUE(throws<type_error>([&] { one(u64) + one(i8); }, {"u64", "i8", "binary_test.cpp"}));
  EXPECT_EQ((one(f32) * 2.0).type(), f32);
  EXPECT_EQ((one(i32) * 2.5).type(), f64);
  EXPECT_EQ((one(i8) + 100).type(), i8);
  EXPECT_TRUE(throws<type_error>([&] { one(i8) + 300; }, {"300", "i8"}));
  EXPECT_TRUE(throws<type_error>([&] { one(u8) - (-1); }, {"-1", "u8"}));
}

// tvm#20281, nautilus#312: constants were folded in another arithmetic than the device's.
TEST(binary, numbers_in_the_source_and_numbers_in_memory_give_the_same) {
  for (dtype type : {i32, u64, f32, f64}) {
    const host_array values = samples(type, 0);
    const array x = values.to_device();
    std::vector<array> literal, stored;
    for (const std::int64_t k : {1, 2, 5}) {
      const value v = values.get(k);
      const array from_memory = picked(values, 0, {k}).to_device();
      const scalar number = is_real(type) ? scalar(static_cast<double>(v.re))
                            : type == u64 ? scalar(static_cast<std::uint64_t>(v.re))
                                          : scalar(static_cast<std::int64_t>(v.re));
      const array constant = full({}, number, type);
      for (const auto& [out, c] : {std::pair(&literal, constant), std::pair(&stored, from_memory)})
        out->insert(out->end(), {x + c, c - x, x * c, c / x, x % c, floor_divide(c, x), minimum(x, c)});
    }
    eval_all(literal);
    eval_all(stored);
    for (std::size_t k = 0; k < literal.size(); ++k)
      EXPECT_TRUE(equals(literal[k], from_device(stored[k]), {0, 0, true})) << to_string(type) << " " << k;
  }
}

}  // namespace
