// The cpu device: its threads, its memory, its compiler.
#include "jit/compile/compiler.hpp"
#include "runtime/backend.hpp"
#include "runtime/error.hpp"
#include "runtime/host/blocks.hpp"
#include "runtime/host/machine.hpp"
#include "runtime/host/pool.hpp"
#include "runtime/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

using namespace sinter;
using runtime::launch_shape;

namespace {

launch_shape domain(std::int64_t rows, std::int64_t inner, int cost = 1) {
  launch_shape s;
  s.rows = rows;
  s.inner = inner;
  s.cost = cost;
  return s;
}

/// Runs over a domain and counts the visits of each element; true when all are 1.
bool visits_each_once(std::int64_t rows, std::int64_t inner, int cost = 1) {
  std::vector<std::uint8_t> visits(static_cast<std::size_t>(rows * inner));
  runtime::parallel_for(domain(rows, inner, cost),
                        [&](std::int64_t r0, std::int64_t r1, std::int64_t begin, std::int64_t end) {
                          for (std::int64_t r = r0; r < r1; ++r)
                            for (std::int64_t i = begin; i < end; ++i)
                              ++visits[static_cast<std::size_t>(r * inner + i)];
                        });
  return std::accumulate(visits.begin(), visits.end(), std::int64_t{0}) == rows * inner &&
         std::find(visits.begin(), visits.end(), 0) == visits.end();
}

}  // namespace

// ---- pool ----

TEST(parallel_for, visits_every_element_of_any_shape_once) {
  for (const std::int64_t rows : {1, 2, 3, 7, 63, 64, 65, 1000})
    for (const std::int64_t inner : {1, 2, 63, 64, 65, 1000, 4097})
      for (const int cost : {1, 20, 1000000})
        EXPECT_TRUE(visits_each_once(rows, inner, cost)) << rows << " x " << inner;
  EXPECT_TRUE(visits_each_once(1, 1000003));
  EXPECT_TRUE(visits_each_once(1000003, 1));
}

TEST(parallel_for, an_empty_domain_calls_nothing) {
  const auto never = [](std::int64_t, std::int64_t, std::int64_t, std::int64_t) { ADD_FAILURE(); };
  runtime::parallel_for(domain(0, 5), never);
  runtime::parallel_for(domain(5, 0), never);
}

TEST(parallel_for, cuts_the_inner_loop_at_multiples_of_64) {
  runtime::parallel_for(domain(1, 1000003), [](std::int64_t, std::int64_t, std::int64_t begin, std::int64_t end) {
    EXPECT_EQ(begin % 64, 0);
    EXPECT_TRUE(end % 64 == 0 || end == 1000003);
  });
}

TEST(parallel_for, little_work_runs_in_one_call_on_the_caller) {
  int calls = 0;
  const std::thread::id caller = std::this_thread::get_id();
  runtime::parallel_for(domain(10, 100), [&](std::int64_t, std::int64_t, std::int64_t, std::int64_t) {
    ++calls;
    EXPECT_EQ(std::this_thread::get_id(), caller);
  });
  EXPECT_EQ(calls, 1);
}

TEST(parallel_for, many_threads_may_call_at_once) {
  std::atomic<int> good{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&] {
      for (int k = 0; k < 50; ++k) good += visits_each_once(3, 20000 + k, 8);
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(good, 200);
}

TEST(parallel_for, may_be_called_from_within_a_body) {
  std::atomic<std::int64_t> sum{0};
  runtime::parallel_for(domain(4, 20000), [&](std::int64_t r0, std::int64_t r1, std::int64_t b0, std::int64_t e0) {
    runtime::parallel_for(domain(r1 - r0, e0 - b0, 100), [&](std::int64_t r, std::int64_t s, std::int64_t b,
                                                             std::int64_t e) { sum += (s - r) * (e - b); });
  });
  EXPECT_EQ(sum, 80000);
}

TEST(pool, runs_each_chunk_once_with_more_threads_than_processors) {
  runtime::pool p(runtime::processor_count() + 6);
  for (int round = 0; round < 300; ++round) {
    std::array<std::atomic<int>, 37> visits{};
    p.run(std::ssize(visits), &visits, [](void* context, std::int64_t k) {
      ++(*static_cast<std::array<std::atomic<int>, 37>*>(context))[static_cast<std::size_t>(k)];
    });
    for (const auto& v : visits) ASSERT_EQ(v, 1);
    if (round % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // also from sleep
  }
}

TEST(pool, a_pool_of_one_thread_works_on_the_caller) {
  runtime::pool p(1);
  EXPECT_EQ(p.size(), 1);
  int calls = 0;
  p.run(5, &calls, [](void* context, std::int64_t) { ++*static_cast<int*>(context); });
  EXPECT_EQ(calls, 5);
}

// ---- memory ----

TEST(blocks, sizes_waste_at_most_a_quarter_above_4_kib) {
  for (std::size_t bytes = 1; bytes < (std::size_t{1} << 40); bytes += bytes / 7 + 1) {
    const std::size_t size = runtime::block_size(bytes);
    ASSERT_GE(size, bytes);
    ASSERT_EQ(size % 256, 0u);
    ASSERT_EQ(runtime::block_size(size), size);
    ASSERT_TRUE(bytes <= 4096 || size - bytes <= bytes / 4 + 1) << bytes;
  }
}

TEST(blocks, a_released_block_is_used_again) {
  runtime::block_pool p(std::size_t{64} << 20);
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{10000}, std::size_t{5} << 20}) {
    void* first = p.allocate(bytes);
    std::memset(first, 1, bytes);
    p.release(first, bytes);
    void* second = p.allocate(bytes);
    EXPECT_EQ(second, first);
    p.release(second, bytes);
  }
}

TEST(blocks, what_is_kept_stays_within_the_limit_and_the_oldest_goes_first) {
  runtime::block_pool p(3 * 8192);
  std::vector<void*> memory;
  for (int k = 0; k < 4; ++k) memory.push_back(p.allocate(8192));
  for (void* m : memory) p.release(m, 8192);
  EXPECT_EQ(p.kept_bytes(), 3u * 8192);
  EXPECT_EQ(p.allocate(8192), memory[3]);
  EXPECT_EQ(p.allocate(8192), memory[2]);
  EXPECT_EQ(p.allocate(8192), memory[1]);
  EXPECT_EQ(p.kept_bytes(), 0u);
  for (int k = 1; k < 4; ++k) p.release(memory[static_cast<std::size_t>(k)], 8192);
}

TEST(blocks, blocks_larger_than_the_limit_are_given_back_at_once) {
  runtime::block_pool p(1 << 20);
  p.release(p.allocate(std::size_t{8} << 20), std::size_t{8} << 20);
  EXPECT_EQ(p.kept_bytes(), 0u);
}

TEST(cpu_device, memory_is_aligned_to_256_bytes) {
  for (const std::size_t bytes : {1u, 300u, 5000u, 5000000u}) {
    void* memory = runtime::cpu().allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 256, 0u);
    runtime::cpu().release(memory, bytes);
  }
}

TEST(cpu_device, an_absurd_size_throws_out_of_memory) {
  EXPECT_THROW(runtime::cpu().allocate(std::size_t{1} << 60), out_of_memory);
}

TEST(cpu_device, copies_large_and_small) {
  for (const std::size_t bytes : {0u, 5u, 5000000u}) {
    std::vector<unsigned char> from(bytes), to(bytes), back(bytes);
    for (std::size_t k = 0; k < bytes; ++k) from[k] = static_cast<unsigned char>(k * 7);
    runtime::cpu().copy_from_host(to.data(), from.data(), bytes);
    runtime::cpu().copy_to_host(back.data(), to.data(), bytes);
    EXPECT_EQ(back, from);
  }
}

TEST(cpu_device, a_fault_is_taken_once) {
  runtime::device& d = runtime::cpu();
  *d.fault_address() = {2, 2, 3, 4, 5, 6};
  runtime::index_fault f;
  ASSERT_TRUE(d.take_fault(f));
  EXPECT_EQ(f.ordinal, 2);
  EXPECT_EQ(f.launch, 3);
  EXPECT_EQ(f.index, 4);
  EXPECT_EQ(f.position, 6);
  EXPECT_FALSE(d.take_fault(f));
}

TEST(buffer, counts_bytes_while_it_lives) {
  const statistics before = runtime::snapshot();
  runtime::buffer* b = runtime::make_buffer(runtime::cpu(), 1000);
  EXPECT_EQ(runtime::snapshot().bytes_in_use - before.bytes_in_use, 1000u);
  runtime::retain(b);
  runtime::release(b);
  EXPECT_EQ(runtime::snapshot().bytes_in_use - before.bytes_in_use, 1000u);
  runtime::release(b);
  EXPECT_EQ(runtime::snapshot().bytes_in_use, before.bytes_in_use);
  EXPECT_GE(runtime::snapshot().peak_bytes, before.bytes_in_use + 1000);
}

TEST(buffer, of_zero_bytes_has_no_memory) {
  const runtime::reference<runtime::buffer> b(runtime::make_buffer(runtime::cpu(), 0));
  EXPECT_EQ(b->data, nullptr);
}

// ---- compiler ----

namespace {

constexpr const char* twice_source = R"(
extern "C" {
#pragma omp declare simd notinbranch
double exp(double) noexcept;
}
extern "C" void twice(void* const* a, long r0, long r1, long begin, long end) {
  const double* x = *(const double* const*)a[0];
  double* y = *(double* const*)a[1];
  const long inner = *(const long*)a[2];
  for (long r = r0; r < r1; ++r) {
#pragma omp simd
    for (long i = begin; i < end; ++i) y[r * inner + i] = 2 * x[r * inner + i] + exp(x[r * inner + i]) * 0;
  }
}
)";

class host_compiler : public testing::Test {
 protected:
  void SetUp() override {
    if (jit::host_compiler().empty()) GTEST_SKIP() << "no host compiler";
  }
};

jit::compile_request request(const char* name, const char* source) {
  jit::compile_request r;
  r.name = name;
  r.source = source;
  return r;
}

}  // namespace

TEST_F(host_compiler, a_kernel_compiles_loads_and_runs_in_every_mode) {
  for (const jit::math_mode math : {jit::math_mode::standard, jit::math_mode::strict, jit::math_mode::fast})
    for (const bool large : {false, true}) {
      jit::compile_request r = request("twice", twice_source);
      r.math = math;
      r.large = large;
      const jit::image image = jit::compile_host(r);
      const auto f = runtime::cpu().load(image, "twice");

      std::int64_t inner = 50000;
      std::vector<double> x(static_cast<std::size_t>(2 * inner)), y(x.size());
      std::iota(x.begin(), x.end(), -100.0);
      for (double& v : x) v /= 1000;
      const double* from = x.data();
      double* to = y.data();
      const std::array<void*, 3> arguments{&from, &to, &inner};
      runtime::cpu().launch(*f, arguments, domain(2, inner));
      for (std::size_t k = 0; k < x.size(); ++k) ASSERT_DOUBLE_EQ(y[k], 2 * x[k]);
    }
}

TEST_F(host_compiler, an_error_shows_the_users_text_at_its_own_line) {
  const char* source = "#line 7 \"user.cpp\"\nextern \"C\" int broken() { return oops; }\n";
  try {
    jit::compile_host(request("broken", source));
    FAIL() << "compiled";
  } catch (const compile_error& e) {
    EXPECT_TRUE(std::string(e.what()).starts_with("kernel broken does not compile\n")) << e.what();
    EXPECT_NE(e.log().find("user.cpp:7"), std::string::npos) << e.log();
    EXPECT_EQ(e.source(), source);
    EXPECT_NE(e.options().find("-std=c++17"), std::string::npos);
  }
  EXPECT_NO_THROW(runtime::cpu().load(jit::compile_host(request("twice", twice_source)), "twice"));
}

TEST_F(host_compiler, the_users_options_come_along) {
  jit::compile_request r = request("defined", "extern \"C\" int defined() { return VALUE; }\n");
  EXPECT_THROW(jit::compile_host(r), compile_error);
  r.options = {"-DVALUE=3"};
  EXPECT_NO_THROW(runtime::cpu().load(jit::compile_host(r), "defined"));
}

TEST_F(host_compiler, a_missing_entry_is_a_device_error) {
  EXPECT_THROW(runtime::cpu().load(jit::compile_host(request("twice", twice_source)), "thrice"), device_error);
}

TEST_F(host_compiler, several_threads_compile_at_once) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back(
        [] { EXPECT_NO_THROW(runtime::cpu().load(jit::compile_host(request("twice", twice_source)), "twice")); });
  for (std::thread& t : threads) t.join();
}

// The loader takes libraries of one path for one, and a closed descriptor's number is used again.
TEST_F(host_compiler, images_loaded_one_after_another_stay_apart) {
  std::vector<std::unique_ptr<runtime::function>> loaded;
  for (int k = 0; k < 4; ++k) {
    const std::string source = "extern \"C\" void f(void* const* a, long, long, long, long) { **(int**)a[0] = " +
                               std::to_string(k) + "; }\n";
    loaded.push_back(runtime::cpu().load(jit::compile_host(request("f", source.c_str())), "f"));
  }
  for (int k = 0; k < 4; ++k) {
    int found = -1;
    int* to = &found;
    const std::array<void*, 1> arguments{&to};
    runtime::cpu().launch(*loaded[static_cast<std::size_t>(k)], arguments, domain(1, 1));
    EXPECT_EQ(found, k);
  }
}

TEST(cpu_device, an_image_that_is_no_shared_object_is_a_device_error) {
  const std::string nonsense = "no shared object";
  EXPECT_THROW(runtime::cpu().load(std::as_bytes(std::span(nonsense)), "f"), device_error);
  EXPECT_THROW(runtime::cpu().load({}, "f"), device_error);
}
