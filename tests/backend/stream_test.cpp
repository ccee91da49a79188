// Streams: what arrays make wait for what, memory that several streams use, what launches share. Where work of streams
// overlaps (cuda), a hazard test fails when its wait is left out: a slow launch is in the way of what must not be
// overtaken.
#include "tests/backend/slow_stream.hpp"

#include <sinter/raw_kernel.hpp>
#include <sinter/scan.hpp>

#include <cstdint>
#include <stdexcept>
#include <thread>

using namespace sinter;
using namespace sinter_test;

namespace {

// ---- Which stream is current ----

TEST(stream, without_a_scope_the_default_one_is_current) {
  EXPECT_EQ(current_stream(), default_stream());
  EXPECT_EQ(current_stream().device(), default_device());
}

TEST(stream, scopes_nest_and_end_in_turn) {
  const stream a, b;
  EXPECT_NE(a, b);
  {
    const scoped_stream outer(a);
    EXPECT_EQ(current_stream(), a);
    {
      const scoped_stream inner(b);
      EXPECT_EQ(current_stream(), b);
      const scoped_stream back(default_stream());
      EXPECT_EQ(current_stream(), default_stream());
    }
    EXPECT_EQ(current_stream(), a);
  }
  EXPECT_EQ(current_stream(), default_stream());
}

TEST(stream, a_scope_ends_with_an_exception) {
  const stream a;
  EXPECT_THROW(
      {
        const scoped_stream on(a);
        throw std::runtime_error("out of here");
      },
      std::runtime_error);
  EXPECT_EQ(current_stream(), default_stream());
}

TEST(stream, each_thread_has_a_current_one) {
  const stream a;
  const scoped_stream on(a);
  bool usual = false;
  std::thread([&] { usual = current_stream() == default_stream(); }).join();
  EXPECT_TRUE(usual);
}

TEST(stream, of_another_device_hides_nothing) {
  if (!overlaps()) GTEST_SKIP() << "needs a second device: the default one is cpu";
  const stream here, other{cpu()};
  const scoped_stream on(here), also(other);
  EXPECT_EQ(current_stream(), here);
  EXPECT_EQ(current_stream(cpu()), other);
}

TEST(stream, a_scope_keeps_its_stream) {
  const array x = filled(100, 5);
  array y;
  {
    auto* s = new stream;
    const scoped_stream on(*s);
    delete s;
    y = x * std::uint32_t{2};
    eval(y);
  }
  EXPECT_TRUE(equals(y + std::uint32_t{1}, all_of(100, 11)));
}

// ---- Who waits for whom ----

TEST(stream, what_another_stream_made_is_waited_for) {
  warm_up();
  const stream a, b;
  array made, used;
  {
    const scoped_stream on(a);
    made = slow(7);
  }
  {
    const scoped_stream on(b);
    used = made + std::uint32_t{1};
    EXPECT_TRUE(equals(used, all_of(1, slow_result(7) + 1)));
  }
  EXPECT_EQ(b.impl().waits(), 1u);
  EXPECT_EQ(a.impl().waits(), 0u);
}

// cupy#7820
TEST(stream, a_read_waits_for_the_stream_that_made_the_array) {
  warm_up();
  const stream a;
  array made;
  {
    const scoped_stream on(a);
    made = slow(8);
  }
  EXPECT_EQ(made.item<std::uint32_t>(), slow_result(8));
}

TEST(stream, what_was_waited_for_once_is_not_waited_for_again) {
  const stream a, b;
  array x, y;
  {
    const scoped_stream on(a);
    x = filled(100, 1), y = filled(100, 2);
  }
  {
    const scoped_stream on(b);
    EXPECT_TRUE(equals(x + y, all_of(100, 3)));
    const std::uint64_t waits = b.impl().waits();
    EXPECT_GE(waits, 1u);
    EXPECT_TRUE(equals(x * y, all_of(100, 2)));
    EXPECT_EQ(b.impl().waits(), waits);
  }
}

TEST(stream, independent_work_waits_for_nothing) {
  const stream a, b;
  for (const stream& s : {a, b}) {
    const scoped_stream on(s);
    EXPECT_TRUE(equals(filled(1000, 3) * std::uint32_t{2}, all_of(1000, 6)));
  }
  EXPECT_EQ(a.impl().waits() + b.impl().waits(), 0u);
}

TEST(stream, arrays_from_before_the_first_stream_are_waited_for_too) {
  const array x = filled(1000, 4);
  const stream a;
  const scoped_stream on(a);
  EXPECT_TRUE(equals(x + std::uint32_t{1}, all_of(1000, 5)));
  EXPECT_GE(a.impl().waits(), 1u);
}

TEST(stream, an_expression_runs_where_it_is_evaluated) {
  const stream a, b;
  array y;
  {
    const scoped_stream on(a);
    y = arange(100, u32) * std::uint32_t{3};  // recorded only
  }
  {
    const scoped_stream on(b);
    eval(y);
  }
  {
    const scoped_stream on(b);
    const array z = y + std::uint32_t{1};
    eval(z);
  }
  EXPECT_EQ(b.impl().waits(), 0u);  // b made y itself
  {
    const scoped_stream on(a);
    eval(y + std::uint32_t{2});
  }
  EXPECT_EQ(a.impl().waits(), 1u);
}

TEST(stream, a_write_in_place_waits_for_who_still_reads) {
  warm_up();
  const stream a, b;
  array x, y;
  {
    const scoped_stream on(a);
    x = filled(1000, 10);
  }
  {
    const scoped_stream on(b);
    const array late = slow(3);
    y = x + late;
    eval(y);  // begins after `late`
  }
  {
    const scoped_stream on(a);
    x += std::uint32_t{1};
    eval(x);
  }
  EXPECT_GE(a.impl().waits(), 1u);
  EXPECT_TRUE(equals(x, all_of(1000, 11)));
  EXPECT_TRUE(equals(y, all_of(1000, 10 + slow_result(3))));
}

/// cupy/cupy #8068: memory freed on a stream was given to something else while another stream read it.
TEST(stream, memory_that_another_stream_reads_is_not_reused) {
  warm_up();
  for (const std::int64_t n : {1000, 300'000}) {
    const stream a, b;
    array x, y;
    {
      const scoped_stream on(a);
      x = filled(n, 10);
    }
    {
      const scoped_stream on(b);
      y = x + slow(5);
      eval(y);
    }
    {
      const scoped_stream on(a);
      x = array();
      std::vector<array> others;
      for (std::uint32_t k = 0; k < 8; ++k) others.push_back(filled(n, 1000 + k));  // one would get x's memory
      a.synchronize();
    }
    EXPECT_TRUE(equals(y, all_of(static_cast<std::size_t>(n), 10 + slow_result(5))));
  }
}

TEST(stream, memory_freed_by_its_only_stream_is_reused_after_its_work) {
  warm_up();
  const stream a, b;
  array y;
  {
    const scoped_stream on(a);
    const array x = filled(1000, 10);
    y = x + slow(6);
    eval(y);
  }  // x is freed here, outside of any scope
  std::vector<array> others;
  for (std::uint32_t k = 0; k < 8; ++k) others.push_back(filled(1000, k));
  EXPECT_TRUE(equals(y, all_of(1000, 10 + slow_result(6))));
  for (std::uint32_t k = 0; k < 8; ++k) EXPECT_TRUE(equals(others[k], all_of(1000, k)));
}

TEST(stream, parts_of_one_memory_are_ordered) {
  // The results of one evaluation may lie in one memory.
  const stream a, b;
  std::vector<array> parts;
  {
    const scoped_stream on(a);
    for (std::uint32_t k = 0; k < 6; ++k) parts.push_back(arange(50, u32) * k);
    eval_all(parts);
  }
  for (std::size_t k = 0; k < 6; ++k) {
    const scoped_stream on(k % 2 ? a : b);
    parts[k] += std::uint32_t{1};
    eval(parts[k]);
  }
  for (std::uint32_t k = 0; k < 6; ++k) {
    std::vector<std::uint32_t> want;
    for (std::uint32_t i = 0; i < 50; ++i) want.push_back(i * k + 1);
    EXPECT_TRUE(equals(parts[k], want));
  }
}

TEST(stream, what_ended_streams_made_stays_good) {
  warm_up();
  array made;
  {
    const stream gone;
    const scoped_stream on(gone);
    made = slow(9);
  }
  const stream b;
  const scoped_stream on(b);
  EXPECT_TRUE(equals(made + std::uint32_t{1}, all_of(1, slow_result(9) + 1)));
  made = array();  // its only stream has ended
  EXPECT_TRUE(equals(filled(1, 4), all_of(1, 4)));
}

TEST(stream, many_come_and_go) {
  array x = filled(100, 0);
  for (int k = 0; k < 300; ++k) {
    const stream s;
    const scoped_stream on(s);
    x = x + std::uint32_t{1};
    eval(x);
  }
  EXPECT_TRUE(equals(x, all_of(100, 300)));
}

TEST(stream, work_of_another_one_goes_on_meanwhile) {
  if (!overlaps()) GTEST_SKIP() << "on the cpu device work is done when a call returns";
  warm_up();
  const stream busy, b;
  array last;
  const array before(std::vector<std::uint32_t>(1000, 3), {1000});
  EXPECT_TRUE(equals(before + std::uint32_t{1}, all_of(1000, 4)));  // compiles and loads: that waits for all streams
  {
    const scoped_stream on(busy);
    for (std::uint32_t k = 0; k < 20; ++k) last = slow(k);  // much longer than what follows
  }
  {
    const scoped_stream on(b);
    const array copied(std::vector<std::uint32_t>(1000, 3), {1000});
    EXPECT_TRUE(equals(copied + std::uint32_t{1}, all_of(1000, 4)));
  }
  EXPECT_TRUE(b.query());
  EXPECT_FALSE(busy.query());  // nothing above waited for it: copies and reads were b's
  EXPECT_EQ(last.item<std::uint32_t>(), slow_result(19));
  EXPECT_TRUE(busy.query());
}

/// cupy/cupy #5069: threads with streams of their own were given the same memory.
TEST(stream, memory_of_two_threads_is_not_mixed) {
  std::vector<int> right(2);
  const auto fill = [&](std::size_t k, std::uint32_t value) {
    const stream own;
    const scoped_stream on(own);
    for (int round = 0; round < 200; ++round) {
      const array x = full({4096}, value, u32);
      eval(x);
      right[k] += x.to_vector<std::uint32_t>() == all_of(4096, value);
    }
  };
  std::thread other(fill, 1, 456);
  fill(0, 123);
  other.join();
  EXPECT_EQ(right, (std::vector<int>{200, 200}));
}

// ---- What launches of a device share ----

// Each element takes long, so that blocks of several reductions run at the same time.
TEST(stream, slow_reductions_of_two_streams_don_t_share_their_scratch) {
  const std::uint32_t n = 30'000;
  const std::int32_t steps = overlaps() ? 200'000 : 20;
  std::uint32_t factor = 1, offset = 0;  // of all steps: each is an affine map
  for (std::int32_t t = 0; t < steps; ++t) {
    factor *= 1664525u;
    offset = offset * 1664525u + 1013904223u;
  }
  const array x = arange(n, u32);
  eval(x);
  std::vector<stream> streams(4);
  std::vector<array> sums;
  for (std::uint32_t round = 0; round < 5; ++round)
    for (std::uint32_t k = 0; k < streams.size(); ++k) {
      const scoped_stream on(streams[k]);
      sums.push_back(sum(chain()(x + k, steps)));
      eval(sums.back());
    }
  for (std::size_t k = 0; k < sums.size(); ++k) {
    std::uint64_t total = 0;
    for (std::uint32_t i = 0; i < n; ++i)
      total += (i + static_cast<std::uint32_t>(k % streams.size())) * factor + offset;
    EXPECT_EQ(sums[k].item<std::uint64_t>(), total) << k;
  }
}

TEST(stream, reductions_of_two_streams_don_t_share_their_scratch) {
  constexpr std::int64_t n = 3'000'000;
  const array x = arange(n, i64) % 1000;
  eval(x);
  std::vector<stream> streams(4);
  std::vector<array> sums, scans;
  for (int round = 0; round < 5; ++round)
    for (std::size_t k = 0; k < streams.size(); ++k) {
      const scoped_stream on(streams[k]);
      const auto by = static_cast<std::int64_t>(k + 1);
      sums.push_back(sum(x * by));
      scans.push_back(cumsum(x + by)(-1));
      eval(sums.back());
      eval(scans.back());
    }
  const std::int64_t total = n / 1000 * (999 * 1000 / 2);
  for (std::size_t k = 0; k < sums.size(); ++k) {
    const auto by = static_cast<std::int64_t>(k % streams.size() + 1);
    EXPECT_EQ(sums[k].item<std::int64_t>(), total * by);
    EXPECT_EQ(scans[k].item<std::int64_t>(), total + by * n);
  }
}

TEST(stream, loops_of_whole_arrays_hand_on_their_states) {
  // Steps that need each other's neighbours: one list of launches.
  const stream a, b;
  constexpr int n = 64, steps = 200;
  std::vector<double> want(n, 0.0);
  want[0] = 1;
  array u;
  {
    const scoped_stream on(a);
    u = array(want, {n});
    for (int t = 0; t < steps; ++t) u(range(1, -1)) = (u(range(0, -2)) + u(range(2, end))) * 0.5;
    eval(u);
  }
  for (int t = 0; t < steps; ++t) {
    const std::vector<double> old = want;
    for (std::size_t i = 1; i + 1 < n; ++i) want[i] = (old[i - 1] + old[i + 1]) * 0.5;
  }
  const scoped_stream on(b);
  EXPECT_TRUE(equals(u * 1.0, want));
  EXPECT_GE(b.impl().waits(), 1u);
}

// cupy#2159, #4988
TEST(stream, raw_kernels_run_on_the_current_one) {
  warm_up();
  static const raw_kernel<void(in<std::uint32_t>, out<std::uint32_t>, std::int32_t)> twice{"twice", R"(
__global__ void twice(const unsigned* x, unsigned* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}
)"};
  const stream a, b;
  array x, y = zeros({1}, u32);
  {
    const scoped_stream on(a);
    x = slow(11);
  }
  {
    const scoped_stream on(b);
    twice(for_each(1), x, y, 1);
    EXPECT_EQ(b.impl().waits(), 1u);
  }
  EXPECT_TRUE(equals(y, all_of(1, 2 * slow_result(11))));
}

TEST(stream, variables_of_a_program_are_used_in_order) {
  const raw_module m{"counter", R"(
__device__ int total = 0;
extern "C" __global__ void add(int by) {
  for (int k = 0; k < 1000; ++k) total = total + by;
}
)"};
  const raw_kernel<> add = m.get_function("add");
  const stream a, b;
  for (int k = 0; k < 20; ++k) {
    const scoped_stream on(k % 2 ? a : b);
    add(launch_shape{.grid = {1}, .block = {1}}, std::int32_t{1});
  }
  EXPECT_EQ(m.get_global<std::int32_t>("total"), std::vector<std::int32_t>{20'000});
}

}  // namespace
