// Every function of one array, in every dtype its rule allows, at corner values and many others, against the standard
// library's functions in long double.
#include "tests/backend/corners.hpp"

#include <numbers>

using namespace sinter;
using namespace sinter_test;

namespace {

using unary = array (*)(const array&);
using truth = long double (*)(long double);

struct function {
  const char* name;
  unary apply;
  truth right;
  bound error;
  bool same_zero = false;  ///< f(0) is 0 and f(-0) is -0
};

// Bounds: the host's vector functions (libmvec) promise 4 ulps; where CUDA's promise is weaker, CUDA's (CUDA C++
// Programming Guide, "Mathematical Functions").
constexpr bound exact{0, 0}, nearest{1, 1}, vectorised{4, 4};

#define FUNCTION(name, right, error, same_zero)                                                               \
  {                                                                                                           \
#name, [](const array& x) { return name(x); }, [](long double x) -> long double { return right; }, error, \
                                                                                                    same_zero \
  }

const function functions[] = {
    FUNCTION(positive, x, exact, true),
    FUNCTION(negative, -x, exact, false),
    FUNCTION(square, x* x, nearest, false),
    FUNCTION(sign, std::isnan(x) ? x : static_cast<long double>((x > 0) - (x < 0)), exact, false),
    FUNCTION(conj, x, exact, true),
    FUNCTION(real, x, exact, true),
    FUNCTION(abs, std::abs(x), exact, false),
    FUNCTION(floor, std::floor(x), exact, true),
    FUNCTION(ceil, std::ceil(x), exact, true),
    FUNCTION(trunc, std::trunc(x), exact, true),
    FUNCTION(round, std::nearbyint(x), exact, true),
    FUNCTION(reciprocal, 1 / x, nearest, false),
    FUNCTION(sqrt, std::sqrt(x), nearest, true),
    FUNCTION(rsqrt, 1 / std::sqrt(x), (bound{2, 2}), false),
    FUNCTION(cbrt, std::cbrt(x), vectorised, true),
    FUNCTION(exp, std::exp(x), vectorised, false),
    FUNCTION(exp2, std::exp2(x), vectorised, false),
    FUNCTION(expm1, std::expm1(x), vectorised, true),
    FUNCTION(log, std::log(x), vectorised, false),
    FUNCTION(log2, std::log2(x), vectorised, false),
    FUNCTION(log10, std::log10(x), vectorised, false),
    FUNCTION(log1p, std::log1p(x), vectorised, true),
    FUNCTION(sin, std::sin(x), vectorised, true),
    FUNCTION(cos, std::cos(x), vectorised, false),
    FUNCTION(tan, std::tan(x), vectorised, true),
    FUNCTION(asin, std::asin(x), vectorised, true),
    FUNCTION(acos, std::acos(x), vectorised, false),
    FUNCTION(atan, std::atan(x), vectorised, true),
    FUNCTION(sinh, std::sinh(x), vectorised, true),
    FUNCTION(cosh, std::cosh(x), vectorised, false),
    FUNCTION(tanh, std::tanh(x), vectorised, true),
    FUNCTION(asinh, std::asinh(x), vectorised, true),
    FUNCTION(acosh, std::acosh(x), vectorised, false),
    FUNCTION(atanh, std::atanh(x), vectorised, true),
    FUNCTION(erf, std::erf(x), vectorised, true),
    FUNCTION(erfc, std::erfc(x), (bound{4, 5}), false),
    // Near its zeros and between its poles no library promises relative accuracy.
    FUNCTION(lgamma, std::lgamma(x), (bound{6, 6, 8}), false),
    FUNCTION(tgamma, std::tgamma(x), (bound{11, 10}), false),
    // exp(-x) overflows before the smallest numbers that 1 / (1 + exp(-x)) could reach.
    FUNCTION(sigmoid, 1 / (1 + std::exp(-x)), (bound{5, 5, 0x1p-100}), false),
    FUNCTION(deg2rad, x*(std::numbers::pi_v<long double> / 180), (bound{2, 2, 0, 2}), true),
    FUNCTION(rad2deg, x*(180 / std::numbers::pi_v<long double>), (bound{2, 2, 0, 2}), true),
    FUNCTION(angle,
             std::isnan(x)     ? x
             : std::signbit(x) ? std::numbers::pi_v<long double>
                               : 0.0L,
             nearest, false),
    FUNCTION(imag, x == x ? 0 : 0, exact, false),
    FUNCTION(isnan, std::isnan(x), exact, false),
    FUNCTION(isinf, std::isinf(x), exact, false),
    FUNCTION(isfinite, std::isfinite(x), exact, false),
    FUNCTION(signbit, std::signbit(x), exact, false),
    FUNCTION(logical_not, x == 0, exact, false),
};
#undef FUNCTION

/// Arguments at which no answer can be asked for.
bool is_open(const std::string& name, long double x) {
  if (name == "signbit") return std::isnan(x);  // the sign of NaN means nothing, and may change on the way
  // Between these poles CUDA promises no bound, and other libraries none either.
  return name == "lgamma" && x > -11.01L && x < -2.26L;
}

std::string wrong_at(const function& f, long double x, long double got, dtype type) {
  const long double want = f.right(x);
  const std::string where_it_was = std::string(f.name) + "(" + to_text({x, 0}, f64) + ") is ";
  if (const std::string far = beyond(f.error, got, want, type); !far.empty()) return where_it_was + far;
  if (f.same_zero && x == 0 && std::signbit(got) != std::signbit(x)) return where_it_was + "0 of the other sign";
  return {};
}

class unary_functions : public testing::TestWithParam<dtype> {};

TEST_P(unary_functions, of_reals_are_as_close_as_promised) {
  const dtype type = GetParam();
  const host_array x = samples(type, 400);
  const array on_device = x.to_device();
  std::vector<array> out;
  for (const function& f : functions) out.push_back(f.apply(on_device));
  eval_all(out);
  for (std::size_t k = 0; k < out.size(); ++k) {
    const host_array got = from_device(out[k]);
    int failures = 0;
    for (std::int64_t i = 0; i < x.size() && failures < 5; ++i) {
      const long double at = x.get(i).re;
      if (is_open(functions[k].name, at)) continue;
      const dtype result = is_real(got.type) ? got.type : f64;
      const std::string fault = wrong_at(functions[k], at, got.get(i).re, result);
      if (fault.empty()) continue;
      ++failures;
      ADD_FAILURE() << fault;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(dtypes, unary_functions, testing::ValuesIn(real_types),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

TEST(unary, integers_and_booleans_become_f64_where_a_function_is_not_whole) {
  std::vector<array> out;
  std::vector<host_array> inputs;
  for (dtype type : {boolean, i8, i16, i32, i64, u8, u16, u32, u64}) {
    // All of one length, so that they share launches.
    const host_array all_samples = samples(type, 20);
    std::vector<std::int64_t> first;
    for (std::int64_t k = 0; k < 22; ++k) first.push_back(k);
    inputs.push_back(picked(all_samples, 0, first));
    const array x = inputs.back().to_device();
    out.insert(out.end(), {sqrt(x), atan(x), reciprocal(x)});
  }
  eval_all(out);
  for (std::size_t k = 0; k < out.size(); ++k) {
    EXPECT_EQ(out[k].type(), f64);
    const host_array got = from_device(out[k]);
    for (std::int64_t i = 0; i < got.size(); ++i) {
      // What the function gets is the integer as f64.
      const long double x = static_cast<double>(inputs[k / 3].get(i).re);
      const long double want = k % 3 == 0 ? std::sqrt(x) : k % 3 == 1 ? std::atan(x) : 1 / x;
      EXPECT_EQ(beyond(vectorised, got.get(i).re, want, f64), "") << to_string(inputs[k / 3].type) << " " << k % 3;
    }
  }
}

template <class T>
std::vector<T> each(const std::vector<T>& x, T (*f)(T)) {
  std::vector<T> out;
  for (T v : x) out.push_back(f(v));
  return out;
}

template <class T>
void check_integer_functions() {
  SCOPED_TRACE(to_string(dtype_of<T>));
  using wide = std::make_unsigned_t<T>;
  std::vector<T> x;
  for (long double v : integer_corners(dtype_of<T>)) x.push_back(static_cast<T>(v));
  const array a{std::span<const T>(x)};
  const std::vector<array> same{positive(a), floor(a), ceil(a), trunc(a), round(a), conj(a), real(a), nan_to_num(a)};
  const array minus = negative(a), squared = square(a), signs = sign(a), magnitude = abs(a),
              inverted = bitwise_invert(a);
  const std::vector<array> tests{isnan(a), isinf(a), isfinite(a), signbit(a), logical_not(a)};
  eval(minus, squared, signs, magnitude, inverted, tests[0], tests[1], tests[2], tests[3], tests[4]);
  for (const array& s : same) EXPECT_TRUE(equals(s, x));
  EXPECT_TRUE(equals(imag(a), std::vector<T>(x.size(), 0)));
  EXPECT_TRUE(equals(minus, each<T>(x, [](T v) { return static_cast<T>(wide{0} - static_cast<wide>(v)); })));
  EXPECT_TRUE(equals(squared, each<T>(x, [](T v) {
                       return static_cast<T>(static_cast<std::uint64_t>(v) * static_cast<std::uint64_t>(v));
                     })));
  EXPECT_TRUE(equals(signs, each<T>(x, [](T v) { return static_cast<T>((v > 0) - (v < T{0})); })));
  EXPECT_TRUE(
      equals(magnitude, each<T>(x, [](T v) { return v < T{0} ? static_cast<T>(wide{0} - static_cast<wide>(v)) : v; })));
  EXPECT_TRUE(equals(inverted, each<T>(x, [](T v) { return static_cast<T>(~v); })));
  std::vector<std::uint8_t> no(x.size(), 0), yes(x.size(), 1), negative_ones, zero_ones;
  for (T v : x) {
    negative_ones.push_back(v < T{0});
    zero_ones.push_back(v == T{0});
  }
  const shape n{static_cast<std::int64_t>(x.size())};
  EXPECT_TRUE(equals(tests[0], booleans(no, n)));
  EXPECT_TRUE(equals(tests[1], booleans(no, n)));
  EXPECT_TRUE(equals(tests[2], booleans(yes, n)));
  EXPECT_TRUE(equals(tests[3], booleans(negative_ones, n)));
  EXPECT_TRUE(equals(tests[4], booleans(zero_ones, n)));
}

TEST(unary, functions_of_integers_stay_in_their_dtype) {
  check_integer_functions<std::int8_t>();
  check_integer_functions<std::int16_t>();
  check_integer_functions<std::int32_t>();
  check_integer_functions<std::int64_t>();
  check_integer_functions<std::uint8_t>();
  check_integer_functions<std::uint16_t>();
  check_integer_functions<std::uint32_t>();
  check_integer_functions<std::uint64_t>();
}

TEST(unary, functions_of_booleans) {
  const array b = booleans({0, 1}, {2}).to_device();
  EXPECT_TRUE(equals(positive(b), booleans({0, 1}, {2})));
  EXPECT_TRUE(equals(logical_not(b), booleans({1, 0}, {2})));
  EXPECT_TRUE(equals(bitwise_invert(b), booleans({1, 0}, {2})));
  EXPECT_TRUE(equals(abs(b), booleans({0, 1}, {2})));
  EXPECT_TRUE(equals(floor(b), booleans({0, 1}, {2})));
  EXPECT_TRUE(throws<type_error>([&] { negative(b); }, {"negative", "bool", "unary_test.cpp"}));
  EXPECT_TRUE(throws<type_error>([&] { sign(b); }, {"sign", "bool"}));
}

TEST(unary, what_a_dtype_has_no_meaning_for_is_refused_at_the_line) {
  const array f = ones({2}, f32), z = full({2}, complex128{1, 2});
  EXPECT_TRUE(throws<type_error>([&] { bitwise_invert(f); }, {"f32", "unary_test.cpp"}));
  for (unary apply :
       {unary([](const array& x) { return floor(x); }), unary([](const array& x) { return sign(x); }),
        unary([](const array& x) { return cbrt(x); }), unary([](const array& x) { return exp2(x); }),
        unary([](const array& x) { return expm1(x); }), unary([](const array& x) { return log1p(x); }),
        unary([](const array& x) { return erf(x); }), unary([](const array& x) { return lgamma(x); }),
        unary([](const array& x) { return signbit(x); }), unary([](const array& x) { return deg2rad(x); })})
    EXPECT_TRUE(throws<type_error>([&] { apply(z); }, {"c128"}));
}

TEST(unary, nan_to_num_replaces_nan_and_infinities) {
  const array x{not_a_number, infinity, -infinity, -2.5f};
  const float most = std::numeric_limits<float>::max();
  EXPECT_TRUE(equals(nan_to_num(x), std::vector<float>{0, most, -most, -2.5f}));
  EXPECT_TRUE(equals(nan_to_num(x, 7), std::vector<float>{7, most, -most, -2.5f}));
  EXPECT_TRUE(equals(nan_to_num(x, 7, 8, 9), std::vector<float>{7, 8, 9, -2.5f}));
  EXPECT_TRUE(equals(nan_to_num(x.astype(f16)).astype(f32), std::vector<float>{0, 65504, -65504, -2.5f}));
}

}  // namespace
