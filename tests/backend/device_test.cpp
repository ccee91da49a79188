// Arrays of two devices in one program: refused where they meet, at the user's line; what each holds stays as it was.
#include "tests/backend/expect.hpp"

#include <sinter/einsum.hpp>
#include <sinter/loops.hpp>
#include <sinter/sort.hpp>
#include <sinter/stream.hpp>

#include <functional>

using namespace sinter;
using namespace sinter_test;

namespace {

array ramp() { return counting(f32, {4}).to_device(); }

std::vector<float> times(float by) { return {0, by, 2 * by, 3 * by}; }

class two_devices : public testing::Test {
 protected:
  void SetUp() override {
    if (executor != "cuda") GTEST_SKIP() << "one device: what arrays of a second one do needs a GPU";
  }

  const array here = ramp(), there = ramp().to(cpu());
};

void expect_refused(const std::function<void()>& call) {
  EXPECT_TRUE(throws<device_error>(call, {"cpu", "cuda:0", "device_test.cpp", ".to("}));
}

TEST_F(two_devices, meet_in_no_expression) {
  expect_refused([&] { here + there; });
  expect_refused([&] { where(there > 1, here, 0); });
  expect_refused([&] { atan2(sqrt(there), here * 2); });
  expect_refused([&] { concat({here, there}); });
  expect_refused([&] { stack({here, there * 2}); });
  expect_refused([&] { here(argsort(there)); });
  expect_refused([&] { take(there, array{0, 1}.to(cuda(0)) + 1, 0); });
  expect_refused([&] { dot(here, there); });
  expect_refused([&] { einsum("i,j->ij", {here, there}); });
  const elementwise sum_of{"sum_of", "T x, T y", "T z", "z = x + y"};
  expect_refused([&] { sum_of(here, there); });
  expect_refused([&] {
    while_loop(
        here, [&](const array& s) { return s < 4; }, [&](const array& s) { return s + there; });
  });
}

TEST_F(two_devices, meet_in_no_update) {
  array x = here, y = there;
  expect_refused([&] { x += there; });
  expect_refused([&] { x(range(0, 2)) = there(range(0, 2)); });
  expect_refused([&] { y(array{1, 2}.to(cuda(0)) + 0) += 1; });
  expect_refused([&] { y(here > 1) = 0; });
  expect_refused([&] { scatter_add(x, array{1, 1}, there(range(0, 2))); });
  EXPECT_TRUE(equals(x, times(1))) << "an update that was refused changes nothing";
  EXPECT_TRUE(equals(y, times(1)));
}

TEST_F(two_devices, numbers_and_constants_belong_to_either) {
  EXPECT_EQ((here + 1).device(), cuda(0));
  EXPECT_EQ((there + 1).device(), cpu());
  EXPECT_EQ((there + ones({4}, f32)).device(), cpu());
  EXPECT_EQ((here * array{2.f, 2.f, 2.f, 2.f}.to(cuda(0))).device(), cuda(0));
  EXPECT_EQ((there + arange(4)).device(), cpu());
}

TEST_F(two_devices, copies_bring_them_together) {
  EXPECT_TRUE(equals(here + there.to(cuda(0)), times(2)));
  const array both = here.to(cpu()) + there;
  EXPECT_EQ(both.device(), cpu());
  EXPECT_TRUE(equals(both, times(2)));
  EXPECT_TRUE(equals((here + 1).to(cpu()) * there.to(cuda(0)).to(cpu()), std::vector<float>{0, 2, 6, 12}));
}

TEST_F(two_devices, evaluate_together) {
  array x = here * 3, y = there * 5;
  eval(x, y);
  EXPECT_TRUE(equals(x, times(3)));
  EXPECT_TRUE(equals(y, times(5)));
}

TEST_F(two_devices, have_streams_of_their_own) {
  const stream of_cpu(cpu());
  const scoped_stream scope(of_cpu);
  EXPECT_TRUE(equals(here * 2, times(2)));  // runs on its own device's stream
  EXPECT_TRUE(equals(there * 2, times(2)));
}

}  // namespace
