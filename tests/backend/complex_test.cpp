// Complex numbers against std::complex.
#include "tests/backend/expect.hpp"

#include "dsl/complex.hpp"

#include <complex>

using namespace sinter;
using namespace sinter_test;

namespace {

template <class T>
struct precision;
template <>
struct precision<float> {
  static constexpr double close = 4e-6;
};
template <>
struct precision<double> {
  static constexpr double close = 1e-14;
};

template <class T>
std::vector<std::complex<T>> points() {
  std::vector<std::complex<T>> out;
  for (T re : {T{-2.5}, T{-1}, T{-0.25}, T{0.5}, T{1}, T{3}})
    for (T im : {T{-3}, T{-0.5}, T{0.25}, T{1}, T{2}}) out.emplace_back(re, im);
  return out;
}

template <class T>
class complex_numbers : public testing::Test {};
using parts = testing::Types<float, double>;
TYPED_TEST_SUITE(complex_numbers, parts);

template <class T>
void check_functions() {
  using z = std::complex<T>;
  using function = std::pair<array, z (*)(const z&)>;
  const std::vector<z> x = points<T>();
  const array a{std::span<const z>(x)};
  const function functions[] = {{a + 1, [](const z& v) { return v + T{1}; }},
                                {a * a, [](const z& v) { return v * v; }},
                                {-a, [](const z& v) { return -v; }},
                                {1 / a, [](const z& v) { return T{1} / v; }},
                                {a / (a + 4), [](const z& v) { return v / (v + T{4}); }},
                                {conj(a), [](const z& v) { return std::conj(v); }},
                                {square(a), [](const z& v) { return v * v; }},
                                {reciprocal(a), [](const z& v) { return T{1} / v; }},
                                {sqrt(a), [](const z& v) { return std::sqrt(v); }},
                                {exp(a), [](const z& v) { return std::exp(v); }},
                                {log(a), [](const z& v) { return std::log(v); }},
                                {log10(a), [](const z& v) { return std::log10(v); }},
                                {sin(a), [](const z& v) { return std::sin(v); }},
                                {cos(a), [](const z& v) { return std::cos(v); }},
                                {tan(a), [](const z& v) { return std::tan(v); }},
                                {asin(a), [](const z& v) { return std::asin(v); }},
                                {acos(a), [](const z& v) { return std::acos(v); }},
                                {atan(a), [](const z& v) { return std::atan(v); }},
                                {sinh(a), [](const z& v) { return std::sinh(v); }},
                                {cosh(a), [](const z& v) { return std::cosh(v); }},
                                {tanh(a), [](const z& v) { return std::tanh(v); }},
                                {asinh(a), [](const z& v) { return std::asinh(v); }},
                                {acosh(a), [](const z& v) { return std::acosh(v); }},
                                {atanh(a), [](const z& v) { return std::atanh(v); }},
                                {pow(a, 2), [](const z& v) { return std::pow(v, T{2}); }},
                                {rsqrt(a), [](const z& v) { return T{1} / std::sqrt(v); }}};
  std::vector<array> out;
  for (const auto& [result, right] : functions) out.push_back(result);
  eval_all(out);
  int row = 0;
  for (const auto& [result, right] : functions) {
    ASSERT_EQ(result.type(), dtype_of<z>) << row;
    const host_array got = from_device(result);
    for (std::size_t k = 0; k < x.size(); ++k) {
      const value g = got.get(static_cast<std::int64_t>(k));
      const z want = right(x[k]), have(static_cast<T>(g.re), static_cast<T>(g.im));
      EXPECT_LE(std::abs(have - want), precision<T>::close * std::max(T{1}, std::abs(want)))
          << "function " << row << " of " << x[k] << " is " << have << ", not " << want;
    }
    ++row;
  }
}

TYPED_TEST(complex_numbers, functions) { check_functions<TypeParam>(); }

TYPED_TEST(complex_numbers, parts_and_comparisons) {
  using T = TypeParam;
  using z = std::complex<T>;
  const array a{z(3, -4), z(0, 2), z(-1, 0)};
  EXPECT_TRUE(equals(real(a), std::vector<T>{3, 0, -1}));
  EXPECT_TRUE(equals(imag(a), std::vector<T>{-4, 2, 0}));
  EXPECT_TRUE(equals(abs(a), std::vector<T>{5, 2, 1}));
  EXPECT_TRUE(equals(angle(a), std::vector<T>{std::atan2(T{-4}, T{3}), std::atan2(T{2}, T{0}), std::atan2(T{0}, T{-1})},
                     {precision<T>::close, 0, false}));
  EXPECT_TRUE(equals(a == conj(a), booleans({0, 0, 1}, {3})));
  EXPECT_TRUE(equals(a != z(0, 2), booleans({1, 0, 1}, {3})));
  EXPECT_TRUE(equals(make_complex(real(a), imag(a)), from_device(a)));
  EXPECT_TRUE(equals(where(imag(a) > 0, a, 0), std::vector<z>{z(0), z(0, 2), z(0)}));
  EXPECT_TRUE(equals(a && true, booleans({1, 1, 1}, {3})));
  EXPECT_TRUE(equals(sum(a), host_array(std::vector<z>{z(2, -2)}, {})));
  EXPECT_TRUE(throws<type_error>([&] { a < a; }, {"complex_test.cpp"}));
  EXPECT_TRUE(throws<type_error>([&] { minimum(a, a); }));
  EXPECT_TRUE(throws<type_error>([&] { max(a); }));
}

TEST(complex_numbers_and_nan, tests_look_at_both_parts) {
  using z = std::complex<float>;
  const array a{z(1, not_a_number), z(infinity, 0), z(1, 2), z(not_a_number, -infinity)};
  EXPECT_TRUE(equals(isnan(a), booleans({1, 0, 0, 1}, {4})));
  EXPECT_TRUE(equals(isinf(a), booleans({0, 1, 0, 1}, {4})));
  EXPECT_TRUE(equals(isfinite(a), booleans({0, 0, 1, 0}, {4})));
  EXPECT_TRUE(equals(nan_to_num(a)(0), host_array(std::vector<z>{z(1, 0)}, {})));
}

TEST(complex_numbers_and_size, quotients_of_large_and_small_numbers_do_not_overflow) {
  using z = std::complex<float>;
  const array a{z(1e30f, 1e30f), z(1e-30f, 1e-30f)};
  EXPECT_TRUE(equals(a / a, std::vector<z>{z(1, 0), z(1, 0)}, {1e-6, 1e-6, false}));
  EXPECT_TRUE(equals(abs(a), std::vector<float>{1.41421356e30f, 1.41421356e-30f}, {1e-6, 0, false}));
}

}  // namespace
