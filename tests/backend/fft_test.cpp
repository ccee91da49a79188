// Fourier transforms against sums of n products in long double. Without the library of the device they run on, these
// tests are skipped, but for those of what then happens.
#include "dsl/fft.hpp"
#include "dsl/libraries.hpp"
#include "jit/library/fft.hpp"
#include "tests/backend/corners.hpp"

#include <cmath>
#include <numbers>

using namespace sinter;
using namespace sinter_test;

namespace {

constexpr dtype every_type[] = {boolean, i8, i32, u64, f16, bf16, f32, f64, c64, c128};

std::string absence() {
  if (executor == "cuda") return jit::cufft_absence();
  return jit::fftw_absence(false) + jit::fftw_absence(true);
}

class transforms : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = absence(); !why.empty()) GTEST_SKIP() << why;
  }
};

bool is_single(dtype type) { return type == c64 || type == f32 || type == f16 || type == bf16; }
dtype complex_type(dtype type) { return is_single(type) ? c64 : c128; }
dtype real_type(dtype type) { return is_single(type) ? f32 : f64; }

host_array small_signal(dtype type, const shape& extents, std::uint32_t seed) {
  host_array x(type, extents);
  lcg g(seed);
  const auto number = [&] {
    if (type == boolean) return static_cast<long double>(g.below(2));
    const auto whole = static_cast<long double>(g.below(100));
    if (kind_of(type) == kind::unsigned_integer) return whole;
    return is_integer_or_bool(type) ? whole - 50 : (whole - 50) / 32;
  };
  for (std::int64_t k = 0; k < x.size(); ++k) {
    value v{number(), 0};
    if (is_complex(type)) v.im = number();
    x.set(k, v);
  }
  return x;
}

/// Sum over j of x[j] exp(sign 2 pi i j k / n), scaled, along one axis of a c128 array whose lines are cut or continued
/// to n. `kept`: of the results; the rest isn't computed.
host_array summed(const host_array& x, int axis, std::int64_t n, int sign, long double scale, std::int64_t kept) {
  shape extents = x.extents;
  extents[axis] = kept;
  host_array out(c128, extents);
  std::vector<value> circle(static_cast<std::size_t>(n));
  for (std::int64_t m = 0; m < n; ++m) {
    const long double angle =
        2 * std::numbers::pi_v<long double> * static_cast<long double>(m) / static_cast<long double>(n);
    circle[static_cast<std::size_t>(m)] = {std::cos(angle), static_cast<long double>(sign) * std::sin(angle)};
  }
  std::int64_t inner = 1;
  for (int k = axis + 1; k < x.extents.rank(); ++k) inner *= x.extents[k];
  const std::int64_t length = x.extents[axis], used = std::min(length, n);
  for (std::int64_t to = 0; to < out.size(); ++to) {
    const std::int64_t i = to % inner, k = to / inner % kept, o = to / inner / kept;
    long double re = 0, im = 0;
    for (std::int64_t j = 0; j < used; ++j) {
      const value a = x.get((o * length + j) * inner + i), w = circle[static_cast<std::size_t>(j * k % n)];
      re += a.re * w.re - a.im * w.im;
      im += a.re * w.im + a.im * w.re;
    }
    out.set(to, {re * scale, im * scale});
  }
  return out;
}

host_array as_c128(const host_array& x) {
  host_array out(c128, x.extents);
  for (std::int64_t k = 0; k < x.size(); ++k) out.set(k, x.get(k));
  return out;
}

host_array real_parts(const host_array& x) {
  host_array out(f64, x.extents);
  for (std::int64_t k = 0; k < x.size(); ++k) out.set(k, {x.get(k).re, 0});
  return out;
}

/// The whole line of n elements that a half stands for: what mirrors is conjugated, and imaginary parts of what mirrors
/// itself are left out.
host_array whole_line(const host_array& half, int axis, std::int64_t n) {
  shape extents = half.extents;
  extents[axis] = n;
  host_array out(c128, extents);
  std::int64_t inner = 1;
  for (int k = axis + 1; k < extents.rank(); ++k) inner *= extents[k];
  const std::int64_t length = half.extents[axis];
  for (std::int64_t to = 0; to < out.size(); ++to) {
    const std::int64_t i = to % inner, k = to / inner % n, o = to / inner / n, mirror = k <= n / 2 ? k : n - k;
    value v = mirror < length ? half.get((o * length + mirror) * inner + i) : value{};
    if (mirror == 0 || 2 * mirror == n) v.im = 0;
    if (k > n / 2) v.im = -v.im;
    out.set(to, v);
  }
  return out;
}

long double scale_of(fft::norm how, bool forward, std::int64_t n) {
  const auto count = static_cast<long double>(n);
  if (how == fft::norm::ortho) return 1 / std::sqrt(count);
  return (how == fft::norm::forward) == forward ? 1 / count : 1;
}

/// Errors grow with the largest results, not with each.
tolerance near(const host_array& want, bool single) {
  long double largest = 0;
  for (std::int64_t k = 0; k < want.size(); ++k)
    largest = std::max(largest, std::hypot(want.get(k).re, want.get(k).im));
  return {.rtol = 0, .atol = static_cast<double>(largest) * (single ? 2e-6 : 4e-15)};
}

testing::AssertionResult is_near(const array& got, const host_array& want, bool single) {
  return equals(got, want, near(want, single));
}

constexpr fft::norm every_norm[] = {fft::norm::backward, fft::norm::ortho, fft::norm::forward};

TEST_F(transforms, are_sums_of_waves_for_every_dtype_and_length) {
  for (const dtype type : every_type)
    for (std::int64_t n : {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 30, 64, 97, 210, 211}) {
      const host_array x = small_signal(type, {2, n}, static_cast<std::uint32_t>(n));
      const array a = x.to_device();
      const fft::norm how = every_norm[static_cast<std::size_t>(n % 3)];
      const std::string name = std::string(to_string(type)) + " " + std::to_string(n);
      const array forward = fft::fft(a, {.scale = how}), inverse = fft::ifft(a, {.scale = how});
      EXPECT_EQ(forward.type(), complex_type(type)) << name;
      EXPECT_TRUE(is_near(forward, summed(as_c128(x), 1, n, -1, scale_of(how, true, n), n), is_single(type))) << name;
      EXPECT_TRUE(is_near(inverse, summed(as_c128(x), 1, n, 1, scale_of(how, false, n), n), is_single(type))) << name;
      if (is_complex(type)) continue;
      const array half = fft::rfft(a, {.scale = how});
      EXPECT_EQ(half.type(), complex_type(type)) << name;
      EXPECT_TRUE(is_near(half, summed(as_c128(x), 1, n, -1, scale_of(how, true, n), n / 2 + 1), is_single(type)))
          << name;
    }
}

TEST_F(transforms, take_any_axis_of_any_layout) {
  const shape extents{3, 4, 5};
  for (const dtype type : {f32, f64, c64, c128})
    for (const layout way : all_layouts) {
      const host_array x = small_signal(type, extents, 5);
      const array a = laid_out(x, way, 0);
      for (int axis = 0; axis < 3; ++axis) {
        const std::int64_t n = extents[axis];
        const std::string name =
            std::string(to_string(type)) + ", axis " + std::to_string(axis) + ", " + sinter_test::to_string(way);
        EXPECT_TRUE(is_near(fft::fft(a, {.axis = axis}), summed(as_c128(x), axis, n, -1, 1, n), is_single(type)))
            << name;
        if (is_complex(type)) continue;
        EXPECT_TRUE(
            is_near(fft::rfft(a, {.axis = axis - 3}), summed(as_c128(x), axis, n, -1, 1, n / 2 + 1), is_single(type)))
            << name;
      }
    }
}

TEST_F(transforms, of_other_lengths_cut_and_continue) {
  const host_array x = small_signal(f64, {3, 10}, 2);
  for (std::int64_t n : {1, 4, 9, 11, 25}) {
    EXPECT_TRUE(is_near(fft::fft(x.to_device(), {.n = n}), summed(as_c128(x), 1, n, -1, 1, n), false)) << n;
    EXPECT_TRUE(is_near(fft::rfft(x.to_device(), {.n = n}), summed(as_c128(x), 1, n, -1, 1, n / 2 + 1), false)) << n;
    EXPECT_TRUE(is_near(fft::fft(x.to_device(), {.n = n, .axis = 0}), summed(as_c128(x), 0, n, -1, 1, n), false)) << n;
  }
}

TEST_F(transforms, of_halves_are_real) {
  for (const dtype type : {c64, c128, f32})
    for (std::int64_t n : {1, 2, 3, 8, 9, 30, 31, 40}) {
      const host_array half = small_signal(type, {4, 16}, static_cast<std::uint32_t>(n));
      for (int axis : {0, 1}) {
        const host_array line = whole_line(half, axis, n);
        const std::string name =
            std::string(to_string(type)) + " " + std::to_string(n) + ", axis " + std::to_string(axis);
        const array a = laid_out(half, layout::transposed, 0);
        const array got = fft::irfft(a, {.n = n, .axis = axis});
        EXPECT_EQ(got.type(), real_type(type));
        const auto count = static_cast<long double>(n);
        EXPECT_TRUE(is_near(got, real_parts(summed(line, axis, n, 1, 1 / count, n)), is_single(type))) << name;
        EXPECT_TRUE(
            is_near(fft::hfft(a, {.n = n, .axis = axis}), real_parts(summed(line, axis, n, -1, 1, n)), is_single(type)))
            << name;
      }
    }
  EXPECT_EQ(to_string(fft::irfft(ones({5, 9})).extents()), "[5, 16]");
  const host_array x = small_signal(f64, {12}, 1);
  EXPECT_TRUE(is_near(fft::hfft(fft::ihfft(x.to_device())), x, false));
}

TEST_F(transforms, over_several_axes_are_transforms_over_each) {
  const shape extents{2, 3, 4, 5};
  const host_array x = small_signal(f32, extents, 8);
  const array a = x.to_device();
  host_array want = as_c128(x);
  for (int axis : {3, 2}) want = summed(want, axis, extents[axis], -1, 1, extents[axis]);
  EXPECT_TRUE(is_near(fft::fft2(a), want, true));
  EXPECT_TRUE(is_near(fft::fftn(a, {.lengths = shape{4, 5}}), want, true));
  for (int axis : {1, 0}) want = summed(want, axis, extents[axis], -1, 1, extents[axis]);
  EXPECT_TRUE(is_near(fft::fftn(a), want, true));
  EXPECT_TRUE(is_near(fft::ifftn(fft::fftn(a)), as_c128(x), true));
  EXPECT_TRUE(is_near(fft::irfftn(fft::rfftn(a), {.lengths = extents}), real_parts(x), true));

  host_array half = summed(as_c128(x), 1, 3, -1, 1, 2);  // the last listed axis is the halved one
  half = summed(half, 3, 7, -1, 1, 7);
  EXPECT_TRUE(is_near(fft::rfftn(a, {.lengths = shape{7, 3}, .over = {3, 1}}), half, true));
}

TEST_F(transforms, of_halves_over_several_axes_end_with_the_halved_one) {
  const host_array x = small_signal(c128, {3, 4, 5}, 8);  // mirrors nothing
  host_array want = summed(x, 0, 3, 1, 1.0L / 3, 3);
  want = summed(want, 1, 4, 1, 1.0L / 4, 4);
  want = real_parts(summed(whole_line(want, 2, 8), 2, 8, 1, 1.0L / 8, 8));
  EXPECT_TRUE(is_near(fft::irfftn(x.to_device()), want, false));
}

TEST_F(transforms, of_long_signals_and_many_short_ones_come_back) {
  for (std::int64_t n : {100003, 1 << 18, 360360}) {
    const host_array x = small_signal(f64, {n}, 3);
    EXPECT_TRUE(equals(fft::irfft(fft::rfft(x.to_device()), {.n = n}), x, {.atol = 1e-13})) << n;
  }
  const host_array many = small_signal(f32, {5000, 6}, 3);
  EXPECT_TRUE(equals(fft::irfft(fft::rfft(many.to_device())), many, {.atol = 1e-5}));
  const host_array image = small_signal(f32, {300, 217}, 3);
  EXPECT_TRUE(equals(real(fft::ifft2(fft::fft2(image.to_device()))), image, {.atol = 1e-5}));
}

TEST_F(transforms, are_calls_between_launches) {
  const array x = linspace(0, 1, 1000);
  eval(x);
  EXPECT_EQ(counted([&] { eval(fft::fft(x * 2 + 1) * 3); }).launches, 3);
  EXPECT_EQ(counted([&] { eval(abs(fft::ifft(x))); }).launches, 3);  // complex numbers of x; 1 / n and abs together
  EXPECT_EQ(counted([&] { eval(fft::rfft(x)); }).launches, 1);
  const std::string text = explain(fft::rfft(x));
  EXPECT_NE(text.find("fft: real to complex of 1000, f64 forward, batch of 1"), std::string::npos) << text;
}

TEST_F(transforms, leave_what_they_read) {
  const host_array x = small_signal(c128, {4, 9}, 3);
  const array a = x.to_device(), real_numbers = fft::irfft(a), whole = fft::ifftn(a);
  eval(real_numbers, whole);
  EXPECT_TRUE(equals(a, x));
  const host_array image = small_signal(f64, {8, 6}, 4);
  const array b = image.to_device();
  eval(fft::rfft2(b), fft::rfft(b, {.axis = 0}));
  EXPECT_TRUE(equals(b, image));
}

TEST_F(transforms, of_nothing_give_nothing) {
  EXPECT_EQ(to_string(fft::fft(zeros({0, 4})).extents()), "[0, 4]");
  EXPECT_EQ(from_device(fft::fft(zeros({0, 4}))).size(), 0);
  EXPECT_EQ(from_device(fft::irfft(zeros({3, 0, 4}))).size(), 0);
  EXPECT_TRUE(equals(abs(fft::fft(zeros({2, 0}), {.n = 3})), host_array(f64, {2, 3})));
}

TEST_F(transforms, refuse_what_makes_no_sense) {
  const array x = ones({3, 4});
  EXPECT_THROW(fft::fft(x, {.n = 0}), shape_error);
  EXPECT_THROW(fft::fft(x, {.axis = 2}), shape_error);
  EXPECT_THROW(fft::fft(array(1.0)), shape_error);
  EXPECT_THROW(fft::fft(ones({3, 0})), shape_error);
  EXPECT_THROW(fft::irfft(ones({3, 1})), shape_error);
  EXPECT_THROW(fft::rfft(ones({3}, c64)), type_error);
  EXPECT_THROW(fft::fftn(x, {.over = {0, 0}}), shape_error);
  EXPECT_THROW(fft::fftn(x, {.lengths = shape{2, 2, 2}}), shape_error);
  EXPECT_THROW(fft::fft2(x, {.lengths = shape{2}}), shape_error);
  EXPECT_THROW(fft::fft2(ones({3})), shape_error);
  EXPECT_THROW(for_loop(2, x, [&](const array& s) { return s + abs(fft::fft(x)); }), type_error);
  const std::string line = "fft_test.cpp:" + std::to_string(__LINE__ + 2);
  try {
    fft::rfft2(x, {.lengths = shape{0, 2}});
    FAIL() << "a transform of no elements";
  } catch (const shape_error& e) { EXPECT_NE(std::string(e.what()).find(line), std::string::npos) << e.what(); }
}

TEST(transforms_without_libraries, name_what_is_missing) {
  struct hidden {
    hidden() { set_use_libraries(false); }
    ~hidden() { set_use_libraries(true); }
  } const libraries;
  const std::string line = "fft_test.cpp:" + std::to_string(__LINE__ + 2);
  try {
    fft::fft(ones({4}));
    FAIL() << "there is no library";
  } catch (const device_error& e) {
    EXPECT_NE(std::string(e.what()).find(executor == "cuda" ? "cuFFT" : "FFTW"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find(line), std::string::npos) << e.what();
  }
}

TEST(frequencies, count_up_and_then_from_below) {
  EXPECT_TRUE(
      equals(fft::fftfreq(8, 0.1), std::vector<double>{0, 1.25, 2.5, 3.75, -5, -3.75, -2.5, -1.25}, {1e-15, 0}));
  EXPECT_TRUE(equals(fft::fftfreq(5), std::vector<double>{0, 0.2, 0.4, -0.4, -0.2}, {1e-15, 0}));
  EXPECT_TRUE(equals(fft::rfftfreq(5, 2, f32), std::vector<float>{0, 0.1f, 0.2f}, {1e-6, 0}));
  EXPECT_TRUE(equals(fft::rfftfreq(4), std::vector<double>{0, 0.25, 0.5}));
  EXPECT_THROW(fft::fftfreq(0), shape_error);
  EXPECT_THROW(fft::fftfreq(4, 1, i32), type_error);
}

TEST(frequencies, shift_to_the_middle_and_back) {
  EXPECT_TRUE(equals(fft::fftshift(arange(5)), std::vector<std::int64_t>{3, 4, 0, 1, 2}));
  EXPECT_TRUE(equals(fft::fftshift(arange(4)), std::vector<std::int64_t>{2, 3, 0, 1}));
  const array x = reshape(arange(35), {5, 7});
  EXPECT_TRUE(equals(fft::ifftshift(fft::fftshift(x)), from_device(x)));
  EXPECT_TRUE(equals(fft::ifftshift(fft::fftshift(x, 1), {-1}), from_device(x)));
  EXPECT_TRUE(equals(fft::fftshift(x, 0)(2, all), from_device(x(0, all))));
  EXPECT_THROW(fft::fftshift(x, 2), shape_error);
}

}  // namespace
