// Streams and events: what arrays make wait for what, memory that several streams use, errors found by whom. Where work
// of streams overlaps (cuda), a hazard test fails when its wait is left out: a slow launch is in the way of what must
// not be overtaken.
#include "tests/backend/expect.hpp"

#include <sinter/elementwise.hpp>
#include <sinter/raw_kernel.hpp>
#include <sinter/scan.hpp>
#include <sinter/stream.hpp>

#include "runtime/stream.hpp"

#include <cstdint>
#include <thread>

using namespace sinter;
using namespace sinter_test;

namespace {

bool overlaps() { return default_device().is_cuda(); }
/// Steps of a chain that keep one thread of a GPU busy for some 50 ms.
std::int32_t many_steps() { return overlaps() ? 20'000'000 : 1000; }

const elementwise& chain() {
  static const elementwise k{"chain", "uint32 x, int32 steps", "uint32 y",
                             "y = x; for (int k = 0; k < steps; ++k) y = y * 1664525u + 1013904223u"};
  return k;
}
/// Evaluated on the current stream; done much later.
array slow(std::uint32_t seed) {
  const array y = chain()(array{seed}, many_steps());
  eval(y);
  return y;
}
std::uint32_t slow_result(std::uint32_t seed) {
  for (std::int32_t k = 0; k < many_steps(); ++k) seed = seed * 1664525u + 1013904223u;
  return seed;
}

std::vector<std::uint32_t> all_of(std::size_t n, std::uint32_t value) { return std::vector<std::uint32_t>(n, value); }
array filled(std::int64_t n, std::uint32_t value) {
  const array a = full({n}, value, u32);
  eval(a);
  return a;
}

/// Compiles what the hazards launch, so that no compiler gives the slow launch time to end.
void warm_up() {
  const array x = filled(1000, 1) + slow(1);
  array a = filled(1000, 1);
  eval(x, a);
  a += std::uint32_t{1};
  eval(a);
  synchronize();
}

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

// ---- What launches of a device share ----

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

// ---- Faults ----

array bad(int index) { return array{10, 20, 30}(array{index}); }

TEST(stream, a_bad_index_is_told_to_who_waits_for_its_stream) {
  const stream a, b;
  array x, y;
  {
    const scoped_stream on(a);
    x = bad(7);
    eval(x);
  }
  {
    const scoped_stream on(b);
    y = array{1, 2} + 1;
    EXPECT_NO_THROW(eval(y));
    EXPECT_NO_THROW(b.synchronize());
    EXPECT_TRUE(equals(y, std::vector<std::int32_t>{2, 3}));
  }
  EXPECT_TRUE(throws<index_error>([&] { a.synchronize(); }, {"7", "stream_test.cpp"}));
  EXPECT_NO_THROW(synchronize());
}

TEST(stream, a_bad_index_is_told_to_who_uses_the_array_elsewhere) {
  const stream a, b, c;
  array x, y;
  {
    const scoped_stream on(a);
    x = bad(8);
    eval(x);
  }
  {
    const scoped_stream on(b);
    y = x + 1;
    eval(y);
  }
  {
    const scoped_stream on(c);  // waits for b alone
    EXPECT_TRUE(throws<index_error>([&] { (y * 2).to_vector<std::int32_t>(); }, {"8"}));
  }
  EXPECT_NO_THROW(synchronize());
}

TEST(stream, a_bad_index_of_an_ended_stream_is_told) {
  {
    const stream gone;
    const scoped_stream on(gone);
    eval(bad(9));
  }
  EXPECT_TRUE(throws<index_error>([] { synchronize(); }, {"9"}));
  EXPECT_NO_THROW(synchronize());
}

// ---- Events ----

TEST(event, comes_when_its_stream_is_done) {
  const stream a;
  event before, after;
  EXPECT_FALSE(before.is_recorded());
  before.record(a);
  {
    const scoped_stream on(a);
    slow(1);
  }
  after.record(a);
  after.synchronize();
  EXPECT_TRUE(before.query());
  EXPECT_TRUE(after.query());
  EXPECT_TRUE(a.query());
  EXPECT_GE(after.milliseconds_since(before), 0.0);
  EXPECT_LE(before.milliseconds_since(after), 0.0);
}

TEST(event, without_a_stream_marks_the_current_one) {
  const stream a;
  event e;
  {
    const scoped_stream on(a);
    e.record();
  }
  event other = std::move(e);
  EXPECT_FALSE(e.is_recorded());
  other.synchronize();
  EXPECT_TRUE(other.query());
  other.record(a);
  EXPECT_NO_THROW(default_stream().wait(other));
}

TEST(event, that_is_not_recorded_is_an_error_of_the_line) {
  const stream a;
  event none, some;
  some.record(a);
  const std::initializer_list<std::string> words = {"not recorded", "stream_test.cpp", "hint"};
  EXPECT_TRUE(throws<device_error>([&] { static_cast<void>(none.query()); }, words));
  EXPECT_TRUE(throws<device_error>([&] { none.synchronize(); }, words));
  EXPECT_TRUE(throws<device_error>([&] { static_cast<void>(none.milliseconds_since(some)); }, words));
  EXPECT_TRUE(throws<device_error>([&] { static_cast<void>(some.milliseconds_since(none)); }, words));
  EXPECT_TRUE(throws<device_error>([&] { a.wait(none); }, words));
}

TEST(event, of_another_device_gives_no_time) {
  if (!overlaps()) GTEST_SKIP() << "needs a second device: the default one is cpu";
  event here, there;
  here.record(default_stream());
  there.record(default_stream(cpu()));
  EXPECT_TRUE(throws<device_error>([&] { static_cast<void>(here.milliseconds_since(there)); }, {"cpu", "cuda:0"}));
  EXPECT_NO_THROW(default_stream().wait(there));
  EXPECT_NO_THROW(default_stream(cpu()).wait(here));
}

TEST(event, hands_a_fault_on) {
  const stream a, b;
  event e;
  {
    const scoped_stream on(a);
    eval(bad(12));
  }
  e.record(a);
  b.wait(e);
  EXPECT_TRUE(throws<index_error>([&] { b.synchronize(); }, {"12"}));
}

// ---- Other libraries' streams ----

TEST(stream, of_another_library_needs_a_handle) {
  const auto wrap = [](void* native) { return [native] { stream::wrap(default_device(), native); }; };
  EXPECT_TRUE(throws<device_error>(wrap(nullptr), {"stream::wrap", "stream_test.cpp"}));
  EXPECT_TRUE(throws<device_error>([] { stream::wrap(cpu(), nullptr); }, {"cpu", "stream_test.cpp"}));
}

TEST(stream, of_another_library_orders_our_work) {
  if (!overlaps()) GTEST_SKIP() << "the cpu device has no streams of other libraries";
  warm_up();
  const stream owner{stream_options{.priority = -1}};
  EXPECT_EQ(owner.priority(), -1);
  {
    const stream wrapped = stream::wrap(default_device(), owner.native());
    EXPECT_EQ(wrapped.native(), owner.native());
    EXPECT_NE(wrapped, owner);
    const scoped_stream on(wrapped);
    const array x = slow(13);
    EXPECT_TRUE(equals(x + std::uint32_t{1}, all_of(1, slow_result(13) + 1)));
    EXPECT_EQ(wrapped.impl().waits(), 0u);
  }
  owner.synchronize();  // it isn't destroyed with the wrapper
  EXPECT_TRUE(owner.query());
}

}  // namespace
