// What arrays take of a device's memory: limits, reports, caches, and pending work that nobody can ask for.
#include "dsl/memory.hpp"
#include "dsl/transfer.hpp"
#include "tests/backend/expect.hpp"

#include <algorithm>
#include <string>

using namespace sinter;
using namespace sinter_test;

namespace {

constexpr std::uint64_t mib = 1u << 20;

/// Arrays of a test may take `bytes` more than there are at its beginning.
class room_for {
 public:
  explicit room_for(std::uint64_t bytes) { set_memory_limit(memory_info().in_use + bytes); }
  ~room_for() { set_memory_limit(0); }
  room_for(const room_for&) = delete;
  room_for& operator=(const room_for&) = delete;
};

/// An evaluated array of so many MiB.
array filled(std::int64_t size_in_mib, float value) {
  array a = full({size_in_mib, 1 << 18}, value, f32) * 1;
  eval(a);
  return a;
}

template <class F>
std::string out_of_memory_text(F&& f) {
  try {
    f();
  } catch (const out_of_memory& e) { return e.what(); }
  return "nothing thrown";
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(memory, info_follows_arrays) {
  reset_peak_memory();
  const memory_statistics before = memory_info();
  EXPECT_EQ(before.peak, before.in_use);
  {
    const array a = filled(8, 1), b = filled(4, 2);
    EXPECT_EQ(memory_info().in_use - before.in_use, 12 * mib);
  }
  const memory_statistics after = memory_info();
  EXPECT_EQ(after.in_use, before.in_use);
  EXPECT_EQ(after.peak, before.in_use + 12 * mib);
  EXPECT_GT(after.total, 0u);
  EXPECT_LE(after.free, after.total);
  EXPECT_EQ(after.limit, 0u);
}

TEST(memory, trimming_gives_back_what_is_cached) {
  // CUDA keeps whole blocks of 32 MiB that small arrays share.
  const std::int64_t size = default_device().is_cuda() ? 256 : 8;
  { const array a = filled(size, 1); }
  synchronize();
  trim_memory();
  EXPECT_LT(memory_info().cached, static_cast<std::size_t>(size) * mib / (default_device().is_cuda() ? 4 : 1));
  const array a = filled(8, 3);
  EXPECT_EQ(a(7, -1).item<float>(), 3.0f);
}

TEST(memory, a_limit_is_kept_and_the_error_tells_what_takes_the_memory) {
  const array a = filled(8, 1);
  const array b = filled(16, 2);  // line of b: the largest
  const room_for more(10 * mib);
  EXPECT_EQ(memory_info().limit, memory_info().in_use + 10 * mib);
  const array c = b + 1;
  const std::string text = out_of_memory_text([&] { eval(c); });
  EXPECT_NE(text.find("no room for 16777216 bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("that set_memory_limit allows"), std::string::npos) << text;
  EXPECT_NE(text.find("16777216 bytes  f32[16, 262144]"), std::string::npos) << text;
  EXPECT_NE(text.find("8388608 bytes  f32[8, 262144]"), std::string::npos) << text;
  EXPECT_LT(text.find("16777216 bytes  f32"), text.find("8388608 bytes  f32")) << text;
  EXPECT_GE(count_of(text, "memory_test.cpp:"), 3u) << text;  // who asked, and who made the two
  // Nothing is lost: with room, the same evaluation goes on.
  EXPECT_FALSE(c.is_evaluated());
  set_memory_limit(0);
  EXPECT_EQ(c(15, 7).item<float>(), 3.0f);
  EXPECT_EQ(b(15, 7).item<float>(), 2.0f);
  EXPECT_EQ(a(7, 7).item<float>(), 1.0f);
}

TEST(memory, a_failed_evaluation_leaves_arrays_as_they_were) {
  array a = filled(8, 1);
  array kept = a;  // so that the update below needs memory of its own
  const room_for more(4 * mib);
  a(all, 0) += 5;
  array sums = sum(a, 1), products = a * a;
  for (int k = 0; k < 3; ++k) EXPECT_THROW(eval(a, sums, products), out_of_memory);
  EXPECT_EQ(memory_info().in_use + 4 * mib, memory_info().limit);  // what was allocated on the way is released
  EXPECT_EQ(kept(3, 0).item<float>(), 1.0f);
  set_memory_limit(0);
  EXPECT_EQ(a(3, 0).item<float>(), 6.0f);
  EXPECT_EQ(products(3, 0).item<float>(), 36.0f);
  EXPECT_EQ(sums(3).item<float>(), 262144.0f + 5);
}

TEST(memory, in_place_updates_need_no_room) {
  array a = filled(8, 1);
  const room_for more(1 * mib);
  for (int k = 0; k < 5; ++k) {
    a *= 2;
    eval(a);
  }
  EXPECT_EQ(a(7, 7).item<float>(), 32.0f);
}

TEST(memory, what_is_cached_makes_room) {
  const room_for more(20 * mib);
  // Of one size after another: none fits what the ones before have left.
  for (std::int64_t k = 1; k <= 16; ++k) {
    const array a = filled(k, static_cast<float>(k));
    EXPECT_EQ(a(k - 1, 5).item<float>(), static_cast<float>(k));
    EXPECT_LE(memory_info().in_use, memory_info().limit);
  }
}

// A pool that looks for memory again and again when a limit leaves hardly any (ArrayFire #2608).
TEST(memory, a_limit_just_above_what_lives_finishes_or_throws) {
  std::vector<array> all;
  std::vector<float> want;
  for (int k = 0; k < 4; ++k) {
    all.push_back(filled(4, static_cast<float>(k)));
    want.push_back(static_cast<float>(k));
  }
  const room_for more(16 * mib / 10);
  int finished = 0, thrown = 0;
  for (int k = 0; k < 40; ++k) {
    const auto i = static_cast<std::size_t>(k % 4), j = static_cast<std::size_t>(k / 3 % 4);
    try {
      if (k % 2 == 0) {  // in place
        all[i] += all[j] * 0.5f;
        eval(all[i]);
        want[i] += want[j] * 0.5f;
      } else {
        const array other = all[i] - all[j];
        eval(other);
      }
      ++finished;
    } catch (const out_of_memory&) { ++thrown; }
    EXPECT_LE(memory_info().in_use, memory_info().limit);
  }
  EXPECT_GE(finished, 20);
  EXPECT_GE(thrown, 10);
  for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(all[k](3, 77).item<float>(), want[k]);
}

// Memory that grows when evaluations fail on their way (MLX #433).
TEST(memory, failures_on_the_way_leave_no_bytes_behind) {
  const array a = filled(4, 1);
  const std::uint64_t at_first = memory_info().in_use;
  const room_for more(10 * mib);  // for two results of three
  for (int k = 0; k < 30; ++k) {
    array x = a * k + 1, y = sqrt(x) + sum(x, 1)(all, newaxis), z = sum(y, 0) + y;
    EXPECT_THROW(eval(x, y, z), out_of_memory);
    EXPECT_EQ(memory_info().in_use, at_first);
  }
}

TEST(memory, copies_into_arrays_keep_to_the_limit) {
  std::vector<float> x(3 << 18, 2.0f);
  const room_for more(2 * mib);
  const std::string text = out_of_memory_text([&] { from_host(x); });
  EXPECT_NE(text.find("no room for 3145728 bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("memory_test.cpp"), std::string::npos) << text;
  EXPECT_THROW(array{x}, out_of_memory);
  x.resize(1 << 18);
  EXPECT_EQ(from_host(x)(77).item<float>(), 2.0f);
}

// ---- Pending work that nobody can ask for ----

/// How much memory 2000 arrays of 256 KiB take that are written to and dropped, `beside` done after each.
template <class Beside>
std::size_t peak_of_dropped_arrays(Beside beside) {
  const std::vector<float> x(1 << 16, 1.0f);
  reset_peak_memory();
  const std::size_t before = memory_info().in_use;
  for (int k = 0; k < 2000; ++k) {
    array a(x);
    a(0) = k;
    a(range(1, 100)) += a(0);
    beside(k);
  }
  return memory_info().peak - before;
}

TEST(memory, dropped_statements_do_not_keep_their_arrays) {
  EXPECT_LE(peak_of_dropped_arrays([](int) {}), 80 * mib);  // of 500
}

TEST(memory, dropped_statements_beside_living_ones_do_not_either) {
  array counter = zeros({4}, f32);
  eval(counter);
  EXPECT_LE(peak_of_dropped_arrays([&](int k) { counter(k % 4) += 1; }), 80 * mib);
  EXPECT_EQ(counter.to_vector<float>(), (std::vector<float>(4, 500)));
}

TEST(memory, dropped_expressions_do_not_keep_their_arrays) {
  const std::vector<float> x(1 << 16, 1.0f);
  reset_peak_memory();
  const std::uint64_t before = memory_info().in_use;
  for (int k = 0; k < 500; ++k) {
    const array a(x);
    const array b = sqrt(a * k + 1), c = sum(b);
  }
  EXPECT_LE(memory_info().peak - before, mib);
}

TEST(memory, dropped_statements_make_room) {
  const std::vector<float> x(1 << 18, 1.0f);  // 1 MiB
  const room_for more(4 * mib);
  for (int k = 0; k < 50; ++k) {
    array a(x);
    a(0) = k;
  }
  array a(x);
  a(0) = 7;
  EXPECT_EQ(a(0).item<float>(), 7.0f);
}

TEST(memory, arrays_that_only_pending_statements_need_are_evaluated_in_time) {
  const recording_limits before = get_recording_limits();
  set_recording_limits({.operations = before.operations, .bytes = 8 << 20});
  const std::vector<float> x(1 << 16, 1.0f);
  array total = zeros({1 << 16}, f32);
  reset_peak_memory();
  const std::uint64_t at_first = memory_info().in_use;
  for (int k = 0; k < 1000; ++k) total += array(x);
  EXPECT_LE(memory_info().peak - at_first, 180 * mib);  // of 250
  set_recording_limits(before);
  EXPECT_EQ(total(5).item<float>(), 1000.0f);
}

}  // namespace
