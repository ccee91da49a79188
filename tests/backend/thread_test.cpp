// Many threads: recording and evaluating on one cache, with streams of their own and without, arrays that they share.
#include "tests/backend/expect.hpp"

#include <sinter/stream.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <latch>
#include <mutex>
#include <optional>
#include <thread>

using namespace sinter;
using namespace sinter_test;

namespace {

constexpr int count = 64;

/// Runs `body(k)` in 64 threads that begin together; what they threw.
std::string in_threads(const std::function<void(int)>& body) {
  std::latch begin(count);
  std::mutex guard;
  std::string failures;
  std::vector<std::thread> threads;
  for (int k = 0; k < count; ++k)
    threads.emplace_back([&, k] {
      begin.arrive_and_wait();
      try {
        body(k);
      } catch (const std::exception& e) {
        const std::lock_guard lock(guard);
        failures += std::string(e.what()) + "\n";
      }
    });
  for (std::thread& t : threads) t.join();
  return failures;
}

std::vector<std::int64_t> squares_plus(std::int64_t n, std::int64_t by) {
  std::vector<std::int64_t> want;
  for (std::int64_t i = 0; i < n; ++i) want.push_back(i * i + by);
  return want;
}

class threads : public testing::TestWithParam<bool> {
 protected:
  /// A stream of the thread's own while it lives, or none.
  struct current {
    explicit current(bool own) {
      if (!own) return;
      mine.emplace();
      scope.emplace(*mine);
    }
    std::optional<stream> mine;
    std::optional<scoped_stream> scope;
  };
};

// cupy#72, #10080; jitify#10; arrayfire#1801
TEST_P(threads, first_calls_of_one_kernel_compile_it_once) {
  // A program that nothing else here has; one more shape of it where threads have streams.
  const array x = arange(1000, i64) + (GetParam() ? 1 : 0);
  eval(x);
  synchronize();
  std::atomic<int> wrong{0};
  const std::uint64_t before = stats().compiles + stats().disk_hits;
  const std::string failures = in_threads([&](int k) {
    const current on(GetParam());
    array y = GetParam() ? minimum(x * x * 3 - x, x) : maximum(x * x * 5 - x, x);
    y = y + k;
    std::int64_t got = y(10).item<std::int64_t>(), i = 10 + (GetParam() ? 1 : 0);
    wrong += got != (GetParam() ? std::min(i * i * 3 - i, i) : std::max(i * i * 5 - i, i)) + k;
  });
  EXPECT_EQ(failures, "");
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(stats().compiles + stats().disk_hits - before, 1u);
}

TEST_P(threads, share_what_they_read_and_keep_what_they_write) {
  const array x = arange(5000, i64);
  eval(x);
  const std::vector<std::int64_t> want = squares_plus(5000, 0);
  std::atomic<int> wrong{0};
  const std::string failures = in_threads([&](int k) {
    const current on(GetParam());
    array mine = x;  // shares x's memory until it is written
    for (int round = 0; round < 5; ++round) {
      mine = x * x;
      mine += k;
      eval(mine);
      mine(0) = -1;
      const std::vector<std::int64_t> got = mine.to_vector<std::int64_t>();
      for (std::size_t i = 1; i < got.size(); ++i) wrong += got[i] != want[i] + k;
      wrong += got[0] != -1;
    }
  });
  EXPECT_EQ(failures, "");
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(x(4999).item<std::int64_t>(), 4999);
}

TEST_P(threads, reduce_at_the_same_time) {
  const array x = arange(100'000, i64) % 97;
  eval(x);
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < 100'000; ++i) total += i % 97;
  std::atomic<int> wrong{0};
  const std::string failures = in_threads([&](int k) {
    const current on(GetParam());
    for (int round = 0; round < 5; ++round) wrong += sum(x * (k + 1)).item<std::int64_t>() != total * (k + 1);
  });
  EXPECT_EQ(failures, "");
  EXPECT_EQ(wrong, 0);
}

TEST_P(threads, hand_arrays_to_each_other) {
  std::vector<array> made(count);
  const std::string first = in_threads([&](int k) {
    const current on(GetParam());
    made[static_cast<std::size_t>(k)] = arange(1000, i64) * arange(1000, i64) + k;
    if (k % 2) eval(made[static_cast<std::size_t>(k)]);
  });
  EXPECT_EQ(first, "");
  std::atomic<int> wrong{0};
  const std::string second = in_threads([&](int k) {
    const current on(GetParam());
    const int other = (k + 31) % count;
    wrong += (made[static_cast<std::size_t>(other)] - other).to_vector<std::int64_t>() != squares_plus(1000, 0);
  });
  EXPECT_EQ(second, "");
  EXPECT_EQ(wrong, 0);
}

TEST_P(threads, fold_loops_of_their_own) {
  std::atomic<int> wrong{0};
  const std::string failures = in_threads([&](int k) {
    const current on(GetParam());
    array a = zeros({50}, i64);
    for (int i = 0; i < 50; ++i) a(i) = i * i + k;
    wrong += a.to_vector<std::int64_t>() != squares_plus(50, k);
  });
  EXPECT_EQ(failures, "");
  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(with, threads, testing::Bool(),
                         [](const auto& p) { return std::string(p.param ? "own_streams" : "the_default_stream"); });

TEST(threads_of_one_stream, are_one_queue) {
  const stream shared;
  const array x = arange(2000, i64);
  eval(x);
  std::atomic<int> wrong{0};
  const std::string failures = in_threads([&](int k) {
    const scoped_stream on(shared);
    for (int round = 0; round < 5; ++round) wrong += (x * x + k).to_vector<std::int64_t>() != squares_plus(2000, k);
  });
  EXPECT_EQ(failures, "");
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(shared.query());
}

}  // namespace
