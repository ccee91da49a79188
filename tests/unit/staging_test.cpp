// Staging against a device that does nothing before it is waited for: a piece used again too early, or an event that
// doesn't stand for what it should, gives wrong values.
#include "runtime/staging.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <list>
#include <numeric>
#include <set>
#include <stdexcept>
#include <vector>

using namespace sinter;
using namespace sinter::runtime;

namespace {

class lazy_engine final : public copy_engine {
 public:
  void* allocate_pinned(std::size_t bytes) override {
    void* const memory = ::operator new(bytes);
    pinned_.insert(memory);
    most_pinned = std::max(most_pinned, pinned_.size());
    return memory;
  }
  void release_pinned(void* memory, std::size_t) noexcept override {
    pinned_.erase(memory);
    ::operator delete(memory);
  }
  event make_event() override {
    events_.push_back({});
    return &events_.back();
  }
  void release_event(event) noexcept override {}
  void start(lane way, void* to, const void* from, std::size_t bytes) override {
    if (--starts_left == 0) throw std::runtime_error("the device is lost");
    lanes_[static_cast<int>(way)].push_back([=] { std::memcpy(to, from, bytes); });
  }
  void mark(lane way, event e) override {
    auto* const m = static_cast<mark_of*>(e);
    *m = {static_cast<int>(way), done_[static_cast<int>(way)] + lanes_[static_cast<int>(way)].size()};
  }
  bool is_done(event e) override {
    const auto* const m = static_cast<mark_of*>(e);
    return m->way < 0 || done_[m->way] >= m->position;
  }
  void wait(event e) override {
    const auto* const m = static_cast<mark_of*>(e);
    while (!is_done(e)) step(m->way);
  }
  void join(event e) override { wait(e); }

  /// One copy of a lane.
  bool step(int way) {
    if (lanes_[way].empty()) return false;
    lanes_[way].front()();
    lanes_[way].pop_front();
    ++done_[way];
    return true;
  }
  void run_all() {
    while (step(0) || step(1)) {}
  }
  std::size_t pinned() const { return pinned_.size(); }

  std::size_t most_pinned = 0;
  int starts_left = -1;  ///< until it fails; negative: never

 private:
  struct mark_of {
    int way = -1;
    std::size_t position = 0;
  };
  std::list<mark_of> events_;
  std::list<std::function<void()>> lanes_[2];
  std::size_t done_[2] = {};
  std::set<void*> pinned_;
};

class staging_test : public testing::Test {
 protected:
  void SetUp() override { before_ = staging().piece_bytes.exchange(40); }
  void TearDown() override { staging().piece_bytes = before_; }

  static std::vector<std::int32_t> ramp(std::size_t n) {
    std::vector<std::int32_t> x(n);
    std::iota(x.begin(), x.end(), 0);
    return x;
  }
  template <class T>
  static host_region region(const std::vector<T>& x) {
    return contiguous_region(x.data(), x.size() * sizeof(T));
  }

  lazy_engine engine;
  staging_pieces pieces{engine};

 private:
  std::size_t before_ = 0;
};

TEST_F(staging_test, copies_in_are_staged_when_the_call_returns) {
  for (const std::size_t n : {1u, 10u, 11u, 95u, 1000u}) {
    std::vector<std::int32_t> x = ramp(n), device(n, -1);
    pieces.copy_in(device.data(), region(x));
    std::ranges::fill(x, -2);
    engine.run_all();
    EXPECT_EQ(device, ramp(n));
  }
  EXPECT_EQ(engine.most_pinned, static_cast<std::size_t>(staging_size::pieces));
}

TEST_F(staging_test, copies_out_arrive_when_waited_for) {
  const std::vector<std::int32_t> device = ramp(1000);
  std::vector<std::int32_t> x(1000, -1);
  const auto t = pieces.start_copy_out(region(x), device.data());
  EXPECT_EQ(std::ranges::count(x, -1), 1000);
  EXPECT_FALSE(t->is_done());
  t->wait();
  EXPECT_EQ(x, device);
  EXPECT_TRUE(t->is_done());
}

TEST_F(staging_test, is_done_empties_what_has_arrived_and_never_waits) {
  const std::vector<std::int32_t> device = ramp(100);
  std::vector<std::int32_t> x(100, -1);
  const auto t = pieces.start_copy_out(region(x), device.data());
  EXPECT_FALSE(t->is_done());
  EXPECT_EQ(x[0], -1);
  EXPECT_TRUE(engine.step(1));
  EXPECT_FALSE(t->is_done());
  EXPECT_EQ(x[9], 9);
  EXPECT_EQ(x[10], -1);
  for (int k = 0; k < 20 && !t->is_done(); ++k) engine.step(1);
  EXPECT_TRUE(t->is_done());
  EXPECT_EQ(x, device);
}

TEST_F(staging_test, many_copies_out_at_once_share_few_pieces) {
  const std::vector<std::int32_t> device = ramp(500);
  std::vector<std::vector<std::int32_t>> all(10, std::vector<std::int32_t>(500, -1));
  std::vector<std::unique_ptr<transfer>> copies;
  for (auto& x : all) copies.push_back(pieces.start_copy_out(region(x), device.data()));
  EXPECT_LE(engine.most_pinned, static_cast<std::size_t>(staging_size::pieces) + 9);  // each has one at least
  for (std::size_t k = copies.size(); k-- > 0;) copies[k]->wait();                     // the last first
  for (const auto& x : all) EXPECT_EQ(x, device);
  EXPECT_LE(engine.pinned(), static_cast<std::size_t>(staging_size::pieces));
}

TEST_F(staging_test, a_copy_out_that_is_let_go_of_is_complete) {
  const std::vector<std::int32_t> device = ramp(500);
  std::vector<std::int32_t> x(500, -1);
  pieces.start_copy_out(region(x), device.data()).reset();
  EXPECT_EQ(x, device);
}

TEST_F(staging_test, joining_starts_all_of_a_copy_out) {
  std::vector<std::int32_t> device = ramp(500), x(500, -1);
  const auto t = pieces.start_copy_out(region(x), device.data());
  t->join();
  std::ranges::fill(device, -5);  // what the device does next
  t->wait();
  EXPECT_EQ(x, ramp(500));
}

TEST_F(staging_test, strided_memory_is_gathered_and_scattered) {
  const std::vector<std::int32_t> x = ramp(600);
  const std::int64_t strides[] = {-80, 4};  // 30 rows of 20, the last first; 7 of each
  std::vector<std::int32_t> device(210, -1), back(600, -1);
  pieces.copy_in(device.data(), strided_region(x.data() + 580, i32, {30, 7}, strides));
  engine.run_all();
  for (std::size_t k = 0; k < 210; ++k) ASSERT_EQ(device[k], x[580 - 20 * (k / 7) + k % 7]);
  pieces.start_copy_out(strided_region(back.data() + 580, i32, {30, 7}, strides), device.data())->wait();
  for (std::size_t k = 0; k < 600; ++k) ASSERT_EQ(back[k], k % 20 < 7 ? x[k] : -1);
}

TEST_F(staging_test, a_failing_device_leaves_no_piece_behind) {
  const std::vector<std::int32_t> x = ramp(500);
  std::vector<std::int32_t> device(500), back(500);
  engine.starts_left = 6;
  EXPECT_THROW(pieces.copy_in(device.data(), region(x)), std::runtime_error);
  engine.starts_left = 3;
  EXPECT_THROW(pieces.start_copy_out(region(back), x.data()), std::runtime_error);
  engine.starts_left = -1;
  pieces.start_copy_out(region(back), x.data())->wait();
  EXPECT_EQ(back, x);
  engine.run_all();
  pieces.trim();
  EXPECT_EQ(engine.pinned(), 0u);
}

TEST(host_region, axes_that_continue_each_other_are_one) {
  const std::int64_t c_order[] = {48, 16, 4}, rows[] = {96, 16, 4}, backwards[] = {-48, -16, -4};
  float x[1] = {};
  EXPECT_TRUE(strided_region(x, f32, {2, 3, 4}, c_order).is_contiguous());
  EXPECT_EQ(strided_region(x, f32, {2, 3, 4}, rows).rank, 2);
  EXPECT_EQ(strided_region(x, f32, {2, 3, 4}, backwards).rank, 1);
  EXPECT_EQ(strided_region(x, f32, {1, 3, 1}, rows).rank, 1);
  EXPECT_EQ(strided_region(x, f32, {}, {}).rank, 0);
  EXPECT_EQ(strided_region(x, f32, {2, 0, 4}, c_order).size(), 0);
}

}  // namespace
