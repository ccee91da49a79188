// Launches of raw kernels that can't be right are refused before they run; shapes that waste the device are told.
#include "tests/backend/expect.hpp"

#include <sinter/raw_kernel.hpp>

#include <thread>

using namespace sinter;
using namespace sinter_test;

namespace {

const raw_kernel<>& axpy() {
  static const raw_kernel k{"axpy",
                            "extern \"C\" __global__ void axpy(float a, const float* x, float* y, int n) {\n"
                            "  int i = blockDim.x * blockIdx.x + threadIdx.x;\n  if (i < n) y[i] += a * x[i];\n}\n"};
  return k;
}

array ramp(std::int64_t n) { return counting(f32, {n}).to_device(); }

template <class F>
std::string logged(F&& f) {
  testing::internal::CaptureStderr();
  f();
  return testing::internal::GetCapturedStderr();
}

std::size_t lines_with(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// A double where a float is taken (cupy #8485), an array of doubles (#3186), too few and too many.
// K12
TEST(raw_argument, is_checked_before_the_launch) {
  const array x = ramp(4), d = ones({4}, f64);
  array y = ramp(4);
  const std::string file = "raw_argument_test.cpp";
  const statistics added = counted([&] {
    EXPECT_TRUE(
        throws<type_error>([&] { axpy()(for_each(4), 2.0, x, y, 4); }, {"axpy", "argument 0", "float", "f64", file}));
    EXPECT_TRUE(throws<type_error>([&] { axpy()(for_each(4), 2.f, d, y, 4); },
                                   {"axpy", "argument 1", "f64", "astype(f32)", file}));
    EXPECT_TRUE(throws<type_error>([&] { axpy()(for_each(4), 2.f, x, y); }, {"axpy", "takes 4", "3 given", file}));
    EXPECT_TRUE(
        throws<type_error>([&] { axpy()(for_each(4), 2.f, x, y, 4, 5); }, {"axpy", "takes 4", "5 given", file}));
    EXPECT_TRUE(throws<type_error>([&] { axpy()(for_each(4), x, x, y, 4); }, {"argument 0", "array", file}));
    EXPECT_TRUE(throws<type_error>([&] { axpy()(for_each(4), 2.f, 3, y, 4); }, {"argument 1", "pointer", file}));
    EXPECT_TRUE(throws<type_error>([&] { axpy()(for_each(4), nullptr, x, y, 4); }, {"argument 0", "nullptr", file}));
    EXPECT_TRUE(throws<type_error>([&] { axpy()(for_each(4), 2.f, x, y, std::int64_t{1} << 40); },
                                   {"argument 3", "1099511627776"}));
    EXPECT_TRUE(throws<type_error>([&] { axpy()(for_each(4), 2.f, x, y, 4.0); }, {"argument 3"}));
    EXPECT_TRUE(throws<type_error>([&] { axpy()(for_each(4), 2.f, x, x, 4); }, {"argument 2", "only read"}));
    EXPECT_TRUE(throws<type_error>([&] { axpy()(for_each(4), 2.f, inout(y), y, 4); }, {"argument 1", "const"}));
  });
  EXPECT_EQ(added.launches, 0u);
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{0, 1, 2, 3}));
}

TEST(raw_argument, numbers_become_what_the_parameter_is_when_nothing_is_lost) {
  const array x = ramp(4);
  array y = ramp(4);
  axpy()(for_each(4), 2, x, y, std::int64_t{4});
  EXPECT_TRUE(equals(y, std::vector<float>{0, 3, 6, 9}));
  axpy()(for_each(4), -1, in(x), inout(y), 4u);
  EXPECT_TRUE(equals(y, std::vector<float>{0, 2, 4, 6}));
  EXPECT_TRUE(throws<type_error>([&] { axpy()(for_each(4), 16777217, x, y, 4); }, {"argument 0", "16777217"}));
}

TEST(raw_argument, of_a_signature_is_checked_at_its_line) {
  const raw_kernel<void(float, in<float>, inout<float>, int)> typed{
      "axpy", "extern \"C\" __global__ void axpy(float a, const float* x, float* y, int n) { y[0] = a; }"};
  const array x = ones({4}, f64);
  array y = ramp(4);
  EXPECT_TRUE(throws<type_error>([&] { typed(for_each(4), 1.f, x, y, 4); }, {"f64", "f32", "raw_argument_test.cpp"}));
  typed({.grid = {1}, .block = {1}}, 5, y, y, 4);
  EXPECT_EQ(y(0).item<float>(), 5.f);
  const raw_kernel<void(double, in<float>, inout<float>, int)> wrong{
      "axpy", "extern \"C\" __global__ void axpy(float a, const float* x, float* y, int n) { y[0] = a; }"};
  EXPECT_TRUE(throws<type_error>([&] { wrong(for_each(4), 1., y, y, 4); }, {"argument 0", "f64"}));
}

TEST(raw_argument, on_two_devices_is_refused) {
  if (executor != "cuda") GTEST_SKIP() << "one device";
  const array x = ramp(4).to(cpu());
  array y = ramp(4);
  EXPECT_TRUE(throws<device_error>([&] { axpy()(for_each(4), 1.f, x, y, 4); }, {"axpy", "cpu", "cuda:0"}));
}

TEST(raw_argument, in_the_body_of_a_loop_is_refused) {
  EXPECT_TRUE(throws<type_error>(
      [] {
        for_loop(3, ramp(4), [](const array& s) {
          array y = s + 1;
          axpy()(for_each(4), 1.f, s, y, 4);
          return y;
        });
      },
      {"for_loop", "writes"}));
}

TEST(raw_shape, that_no_device_runs_is_refused) {
  const array x = ramp(4);
  array y = ramp(4);
  const auto launch = [&](const launch_shape& s) { axpy()(s, 1.f, x, y, 4); };
  EXPECT_TRUE(throws<shape_error>([&] { launch({.grid = {1}, .block = {2048}}); },
                                  {"axpy", "2048", "1024", "raw_argument_test.cpp"}));
  EXPECT_TRUE(throws<shape_error>([&] { launch({.grid = {1}, .block = {64, 32}}); }, {"2048"}));
  EXPECT_TRUE(throws<shape_error>([&] { launch({.grid = {1}, .block = {0}}); }, {"block"}));
  EXPECT_TRUE(throws<shape_error>([&] { launch({.grid = {-1}, .block = {1}}); }, {"grid"}));
  EXPECT_TRUE(throws<shape_error>([&] { launch({.grid = {1, 70000}, .block = {1}}); }, {"65535"}));
  EXPECT_TRUE(throws<shape_error>([&] { launch(for_each(-3)); }, {"-3"}));
  EXPECT_TRUE(throws<shape_error>([&] { launch({.grid = {1}, .block = {1}, .shared_bytes = -1}); }, {"-1"}));
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{0, 1, 2, 3}));
}

TEST(raw_shape, of_one_thread_a_block_is_told_once_a_line) {
  const array x = ramp(64);
  array y = ramp(64);
  const std::string log = logged([&] {
    for (int k = 0; k < 3; ++k) axpy()({.grid = {64}, .block = {1}}, 1.f, x, y, 64);
  });
  EXPECT_EQ(lines_with(log, "blocks of 1 thread"), 1u) << log;
  EXPECT_NE(log.find("raw kernel axpy"), std::string::npos) << log;
  EXPECT_NE(log.find("raw_argument_test.cpp"), std::string::npos) << log;
  EXPECT_NE(log.find("79 times"), std::string::npos) << log;
  EXPECT_EQ(lines_with(logged([&] { axpy()({.grid = {64}, .block = {1}}, 1.f, x, y, 64); }), "blocks of 1 thread"), 1u);
  EXPECT_EQ(logged([&] { axpy()({.grid = {1}, .block = {1}}, 1.f, x, y, 1); }), "");
}

TEST(raw_shape, of_many_blocks_with_a_part_of_a_warp_is_told) {
  const array x = ramp(10000);
  array y = ramp(10000);
  EXPECT_NE(logged([&] { axpy()({.grid = {100}, .block = {100}}, 1.f, x, y, 10000); }).find("warp of 4: 21%"),
            std::string::npos);
  EXPECT_EQ(logged([&] { axpy()({.grid = {2}, .block = {100}}, 1.f, x, y, 200); }), "");
  EXPECT_EQ(logged([&] { axpy()({.grid = {79}, .block = {128}}, 1.f, x, y, 10000); }), "");
}

TEST(raw_shape, that_leaves_elements_out_is_told) {
  const array x = ramp(1000);
  array y = ramp(1000);
  const std::string log = logged([&] { axpy()({.grid = {3}, .block = {256}}, 1.f, x, y, 1000); });
  EXPECT_NE(log.find("don't cover 1000 elements"), std::string::npos) << log;
  EXPECT_NE(log.find("from element 768 on"), std::string::npos) << log;
  EXPECT_NE(
      logged([&] { axpy()({.grid = {1}, .block = {32}, .elements = 100}, 1.f, x, y, 32); }).find("don't cover 100"),
      std::string::npos);
  EXPECT_EQ(logged([&] { axpy()({.grid = {4}, .block = {256}}, 1.f, x, y, 1000); }), "");
  // A thread of it may do several elements' work.
  const raw_kernel strided{"strided",
                           "__global__ void strided(float* y, int n) {"
                           " for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = i; }"};
  EXPECT_EQ(logged([&] { strided({.grid = {1}, .block = {256}}, y, 1000); }), "");
}

}  // namespace
