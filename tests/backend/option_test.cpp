// Switches of the evaluation: strict arithmetic, wide indices, and what every function owes to fusion.
#include "tests/backend/corners.hpp"

using namespace sinter;
using namespace sinter_test;

namespace {

/// Sets the mode for one test.
class mode {
 public:
  explicit mode(math_mode m) : before_(get_math_mode()) { set_math_mode(m); }
  ~mode() { set_math_mode(before_); }
  mode(const mode&) = delete;
  mode& operator=(const mode&) = delete;

 private:
  math_mode before_;
};

template <class T>
std::vector<T> random_numbers(std::uint32_t seed, int count) {
  std::vector<T> out;
  lcg numbers(seed);
  for (int k = 0; k < count; ++k)
    out.push_back(static_cast<T>(numbers.next()) / T{0x1p31f} * static_cast<T>(1 + numbers.below(1000)) - T{300});
  return out;
}

/// In strict mode + - * / and sqrt have one right answer: that of C++ without contraction (which the volatiles
/// prevent).
template <class T>
void check_strict() {
  const mode strict(math_mode::strict);
  const std::vector<T> x = random_numbers<T>(5, 4001), y = random_numbers<T>(6, 4001), z = random_numbers<T>(7, 4001);
  const array a{std::span<const T>(x)}, b{std::span<const T>(y)}, c{std::span<const T>(z)};
  const array sum = a * b + c, difference_ = c - a * b, mixed = (a * b + c * a) / (b * b - c),
              root = sqrt(a * a + b * b);
  eval(sum, difference_, mixed, root);
  std::vector<T> want[4];
  for (std::size_t k = 0; k < x.size(); ++k) {
    const volatile T xy = x[k] * y[k], zx = z[k] * x[k], yy = y[k] * y[k], xx = x[k] * x[k];
    const volatile T top = xy + zx, bottom = yy - z[k], squares = xx + yy;
    want[0].push_back(xy + z[k]);
    want[1].push_back(z[k] - xy);
    want[2].push_back(top / bottom);
    want[3].push_back(std::sqrt(squares));
  }
  EXPECT_TRUE(equals(sum, want[0]));
  EXPECT_TRUE(equals(difference_, want[1]));
  EXPECT_TRUE(equals(mixed, want[2]));
  EXPECT_TRUE(equals(root, want[3]));
}

TEST(option, strict_arithmetic_is_that_of_ieee_bit_for_bit) {
  check_strict<float>();
  check_strict<double>();
}

TEST(option, standard_arithmetic_may_only_contract) {
  const std::vector<double> x = random_numbers<double>(5, 1000), y = random_numbers<double>(6, 1000);
  const array a{std::span<const double>(x)}, b{std::span<const double>(y)};
  const host_array got = from_device(a * b + a);
  for (std::int64_t k = 0; k < got.size(); ++k) {
    const double p = x[static_cast<std::size_t>(k)], q = y[static_cast<std::size_t>(k)];
    const volatile double product = p * q;
    const double apart = product + p, fused = std::fma(p, q, p), g = static_cast<double>(got.get(k).re);
    EXPECT_TRUE(g == apart || g == fused) << g;
  }
}

TEST(option, fast_arithmetic_is_still_close) {
  const mode fast(math_mode::fast);
  const std::vector<float> x = random_numbers<float>(9, 1000);
  const array a{std::span<const float>(x)};
  std::vector<double> want;
  for (float v : x)
    want.push_back(std::sqrt(std::abs(static_cast<double>(v))) / (1 + static_cast<double>(v) * static_cast<double>(v)));
  EXPECT_TRUE(equals(sqrt(abs(a)) / (1 + a * a), host_array(want), {1e-5, 1e-7, false}));
}

TEST(option, wide_indices_change_nothing_else) {
  const array x = counting(i32, {37, 41}).to_device(), i{5, -1, 0, 36};
  const auto results = [&] {
    return std::vector<array>{x * 2 + transpose(reshape(x, {41, 37})),
                              x(i, range(end, begin, -2)),
                              x(all, newaxis, 3) + 1,
                              sum(x, 1),
                              argmax(x, 0),
                              take_along_axis(x, x % 41, 1),
                              arange(1000) * 3,
                              diagonal(x, 2)};
  };
  const std::vector<array> narrow = results();
  eval_all(narrow);
  const wide_indices forced;
  const std::vector<array> wide = results();
  eval_all(wide);
  for (std::size_t k = 0; k < narrow.size(); ++k) EXPECT_TRUE(equals(wide[k], from_device(narrow[k]))) << k;
}

// cupy#7098: some functions could not be fused.
TEST(option, every_function_fuses_into_a_chain) {
  using step = array (*)(const array&);
  const step steps[] = {[](const array& x) { return positive(x); },
                        [](const array& x) { return negative(x); },
                        [](const array& x) { return square(x); },
                        [](const array& x) { return sign(x); },
                        [](const array& x) { return abs(x); },
                        [](const array& x) { return floor(x); },
                        [](const array& x) { return ceil(x); },
                        [](const array& x) { return trunc(x); },
                        [](const array& x) { return round(x); },
                        [](const array& x) { return reciprocal(x); },
                        [](const array& x) { return sqrt(x); },
                        [](const array& x) { return rsqrt(x); },
                        [](const array& x) { return exp(x); },
                        [](const array& x) { return log(x); },
                        [](const array& x) { return sigmoid(x); },
                        [](const array& x) { return cbrt(x); },
                        [](const array& x) { return erf(x); },
                        [](const array& x) { return lgamma(x); },
                        [](const array& x) { return deg2rad(x); },
                        [](const array& x) { return nan_to_num(x); },
                        [](const array& x) { return clip(x, 0, 1); },
                        [](const array& x) { return lerp(x, 2, 0.5); },
                        [](const array& x) { return divmod(x, 3).first + divmod(x, 3).second; },
                        [](const array& x) { return where(isfinite(x), x, 0); },
                        [](const array& x) { return atan2(x, 2) + hypot(x, 1) + copysign(x, -1) + logaddexp(x, 0); },
                        [](const array& x) { return fmin(x, 3) + fmax(x, 3) + fmod(x, 3) + pow(x, 2); },
                        [](const array& x) { return real(make_complex(x, 1) * make_complex(x, 2)); },
                        [](const array& x) { return x(range(end, begin, -1)); },
                        [](const array& x) {
                          return reshape(reshape(x, {-1, 1}), {-1});
                        },
                        [](const array& x) {
                          return take(x, array{3, 2, 1, 0, 0, 1, 2, 3});
                        },
                        [](const array& x) {
                          return broadcast_to(x(newaxis), {2, 8})(1);
                        },
                        [](const array& x) { return x.astype(f16).astype(f32); }};
  const array x = counting(f32, {8}).to_device();
  int k = 0;
  for (const step& s : steps) {
    const array y = s(x * 0.5f + 1) * 2 - 1;
    EXPECT_EQ(counted([&] { eval(y); }).launches, 1u) << "step " << k;
    const array pieces = s(from_device(x * 0.5f + 1).to_device());
    EXPECT_TRUE(equals(y, from_device(from_device(pieces).to_device() * 2 - 1), {1e-6, 1e-6, false})) << "step " << k;
    ++k;
  }
}

TEST(option, lerp_goes_from_one_end_to_the_other) {
  const array a{1.f, 2.f}, b{3.f, -2.f};
  EXPECT_TRUE(equals(lerp(a, b, 0), std::vector<float>{1, 2}));
  EXPECT_TRUE(equals(lerp(a, b, 1), std::vector<float>{3, -2}));
  EXPECT_TRUE(equals(lerp(a, b, array{0.5f, 0.25f}), std::vector<float>{2, 1}));
}

}  // namespace
