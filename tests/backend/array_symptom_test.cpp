// What users of CuPy, Chainer and Warp reported about arrays and expressions around their kernels, each with the small
// program that would show it here. The thread is named beside each.
#include "tests/backend/expect.hpp"

#include <functional>

using namespace sinter;
using namespace sinter_test;

namespace {

struct row {
  const char* thread;
  std::function<void()> program;
};

class array_symptom : public testing::TestWithParam<row> {};

TEST_P(array_symptom, is_not_ours) {
  SCOPED_TRACE(GetParam().thread);
  GetParam().program();
}

const std::vector<row>& rows() {
  static const std::vector<row> all = {
      {"cupy#883, #892: a size past 32 bits",
       [] {
         const array x = broadcast_to(array{std::int8_t{1}}, {1 << 16, 1 << 16});
         EXPECT_EQ(x.size(), 4294967296);
       }},
      {"cupy#2059: a quotient in the dtype asked for",
       [] { EXPECT_TRUE(equals(1.0 / array{std::int16_t{500}}.astype(f64), std::vector<double>{0.002})); }},
      {"cupy#9400: numbers take the dtype of the array, written together or apart",
       [] {
         const array x{1.5f, 2.5f};
         const array fused = x * (2.0 * array{3.0f});
         array factor = 2.0 * array{3.0f};
         eval(factor);
         EXPECT_EQ(fused.type(), f32);
         EXPECT_EQ((x * factor).type(), f32);
         EXPECT_TRUE(equals(fused, std::vector<float>{9, 15}));
       }},
      {"cupy#8536: a number in a formula of f32",
       [] {
         const array x{1.f, 2.f};
         const double h = 2;
         EXPECT_TRUE(equals(1.0 - (x * x) / (h * h), std::vector<float>{0.75f, 0}));
       }},
      {"cupy#10003: comparison with a number of any integer type",
       [] {
         const array x = arange(10);
         const array found[] = {x == std::int8_t{1}, x == std::uint8_t{1}, x == 1, x == std::int64_t{1}, x == 1u};
         for (const array& f : found) {
           EXPECT_EQ(sum(f).item<std::int64_t>(), 1);
           EXPECT_TRUE(f(1).item<bool>());
         }
       }},
      {"cupy#5527, #4909: a complex number as a real one has its real part",
       [] {
         const std::vector<complex128> values{{1, 2}, {3, -4}};
         EXPECT_TRUE(equals(array(values).astype(f64), std::vector<double>{1, 3}));
       }},
      {"cupy#2405: a write to what was broadcast writes every element once",
       [] {
         array b = broadcast_to(array{1.f}, {1000000});
         b += 1;
         EXPECT_EQ(min(b).item<float>(), 2);
         EXPECT_EQ(max(b).item<float>(), 2);
       }},
      {"cupy#5427: one element, taken backwards",
       [] {
         const array x{std::uint16_t{512}, std::uint16_t{3}};
         EXPECT_TRUE(equals(x(range(1, 0, -1)) + std::uint16_t{0}, std::vector<std::uint16_t>{3}));
       }},
      {"cupy#1552, #1601: what is written isn't broadcast",
       [] {
         array y = zeros({4}, f32);
         EXPECT_TRUE(throws<shape_error>([&] { y += ones({3, 4}, f32); }, {"[4]", "[3, 4]"}));
         EXPECT_TRUE(equals(y, std::vector<float>{0, 0, 0, 0}));
       }},
      {"cupy#10158: a reduction into every second element",
       [] {
         array big = zeros({1, 6}, f64);
         big(0, range(0, 6, 2)) = sum(ones({5, 3}, f64), 0);
         EXPECT_TRUE(equals(big(0), std::vector<double>{5, 0, 5, 0, 5, 0}));
       }},
      {"cupy#3116: elements compared with one of their own",
       [] {
         const array x{5, 1, 3, 4, 2};
         EXPECT_EQ(sum(x > x(x.size() / 2)).item<std::int64_t>(), 2);
       }},
      {"cupy#2010: rows and columns give the same sums",
       [] {
         const array x = reshape(arange(512 * 640) % 97, {512, 640});
         EXPECT_EQ(sum(sum(x, 0)).item<std::int64_t>(), sum(sum(x, 1)).item<std::int64_t>());
       }},
      {"cupy#8040: a maximum takes the product along",
       [] {
         const std::uint64_t before = stats().launches;
         EXPECT_EQ(max(array{3, -1, 7} * 2).item<std::int32_t>(), 14);
         EXPECT_EQ(stats().launches - before, 1u);
       }},
      {"cupy#7878: where() takes both branches",
       [] {
         const array x{1.0, -1.0};
         EXPECT_TRUE(equals(where(x > 0, x, 0.01 * x), std::vector<double>{1, -0.01}));
       }},
      {"cupy#9447: how many launches it took",
       [] {
         const array x = ones({100}, f32);
         eval(x);
         const std::uint64_t before = stats().launches;
         eval(sqrt(x * 2 + 1) - 3);
         EXPECT_EQ(stats().launches - before, 1u);
       }},
      {"warp, its list of limitations: rounding and remainders",
       [] {
         EXPECT_TRUE(equals(round(array{0.5, 1.5, -0.5, 2.5}), std::vector<double>{0, 2, 0, 2}));
         EXPECT_EQ(remainder(array{-7}, 2)(0).item<std::int32_t>(), 1);
         EXPECT_EQ((array{-7} % 2)(0).item<std::int32_t>(), -1);
       }},
  };
  return all;
}

INSTANTIATE_TEST_SUITE_P(threads, array_symptom, testing::ValuesIn(rows()),
                         [](const auto& param) { return "row_" + std::to_string(param.index); });

}  // namespace
