// What users of other libraries reported of their caches, as far as other tests don't have it: counters that are right
// at each step, numbers and steps without end, several devices, compilers that refuse.
#include "jit/cache/memory.hpp"
#include "tests/backend/cache_process.hpp"
#include "tests/backend/expect.hpp"

#include <sinter/cache.hpp>
#include <sinter/raw_kernel.hpp>

#include <gtest/gtest.h>

using namespace sinter;
using namespace sinter_test;

namespace {

array numbers(std::int64_t n) { return counting(f32, {n}).to_device(); }

// mlx#1761: more misses than anybody expected.
// cupy#9313; cuda-python#1785
TEST(cache_symptom, counters_are_right_at_each_step) {
  const array x = numbers(40);
  for (int k = 0; k < 5; ++k) {
    const array y = (x + 211) * x - k;
    const statistics s = counted([&] { eval(y); });
    EXPECT_EQ(s.launches, 1u);
    EXPECT_EQ(s.compiles + s.disk_hits, k == 0 ? 1u : 0u) << k;
    EXPECT_EQ(s.cache_hits, k == 0 ? 0u : 1u) << k;
  }
}

// mlx#3964, #3992: each new number was searched for among all that came before.
TEST(cache_symptom, ten_thousand_numbers_make_one_kernel) {
  const array x = numbers(8);
  eval(x * 1.5f + 223);
  const std::size_t kernels = jit::all_kernels().size();
  const statistics s = counted([&] {
    for (int k = 0; k < 10000; ++k) eval(x * (static_cast<float>(k) + 0.25f) + 223);
  });
  EXPECT_EQ(s.compiles, 0u);
  EXPECT_EQ(s.cache_hits, 10000u);
  EXPECT_EQ(jit::all_kernels().size(), kernels);
}

// arrayfire-rust#262: 200 steps of one addition left 100 kernels behind.
TEST(cache_symptom, steps_of_one_addition_make_few_kernels) {
  array b = numbers(16);
  eval(b);
  const std::size_t kernels = jit::all_kernels().size();
  for (int k = 0; k < 200; ++k) {
    b = b + 0.5f;
    if (k % 3 == 0) eval(b);
  }
  EXPECT_EQ(b.to_vector<float>()[2], 102.f);
  EXPECT_LE(jit::all_kernels().size() - kernels, 3u);
}

// Bohrium#33, #192: planning again, and looking for kernels on disk, at each flush.
TEST(cache_symptom, warm_flushes_find_everything_in_memory) {
  const array x = numbers(32);
  const auto block = [&] {
    array y = x;
    for (int k = 0; k < 5; ++k) y = abs(y - 227) * 0.5f;
    return y;
  };
  eval(block());
  const std::size_t kernels = jit::all_kernels().size();
  const statistics s = counted([&] {
    for (int k = 0; k < 20000; ++k) eval(block());
  });
  EXPECT_EQ(s.launches, 20000u);
  EXPECT_EQ(s.cache_hits, 20000u);
  EXPECT_EQ(s.compiles + s.disk_hits + s.bundle_hits + s.misses_absent + s.load_microseconds, 0u);
  EXPECT_EQ(jit::all_kernels().size(), kernels);
}

// Mitsuba drjit#59: a kernel whose compilation sometimes took a hundred times as long. What makes it so is a compiler's
// input that differs: here it never does. (bench first_result_of_a_process shows how long the same kernel takes again
// and again.)
TEST(cache_symptom, a_kernel_compiled_again_and_again_is_the_same_text) {
  if (executor == "interpreter") GTEST_SKIP() << "the interpreter has no text";
  const auto text = [] {
    const array x = numbers(10), state = x * 3;
    const std::string all = explain(for_loop(7, x, [&](const array& i, const array& s) { return s * 2 + state - i; }));
    return all.substr(all.find("#"));
  };
  const std::string first = text();
  EXPECT_GT(first.size(), 200u);
  for (int k = 0; k < 50; ++k) ASSERT_EQ(text(), first) << k;
}

// arrayfire#2467, cupy#3193: devices of one kind share what is compiled, each with a module of its own.
TEST(cache_symptom, two_devices_of_one_kind_share_their_kernels) {
  if (executor != "cuda" || cuda_count() < 2) GTEST_SKIP() << "needs two GPUs";
  const array x = numbers(10), y = x.to(cuda(0)), z = x.to(cuda(1));
  const statistics s = counted([&] {
    for (int k = 0; k < 3; ++k) {
      EXPECT_EQ((y * 2 + 229 + k).to_vector<float>()[3], static_cast<float>(235 + k));
      EXPECT_EQ((z * 2 + 229 + k).to_vector<float>()[3], static_cast<float>(235 + k));
    }
  });
  EXPECT_LE(s.compiles, cache_mode::memory == get_cache().mode ? 2u : 1u);
  EXPECT_EQ(s.launches, 6u);
}

// arrayfire#2856: an option that the compiler doesn't know.
TEST(cache_symptom, an_option_the_compiler_refuses_is_named) {
  if (executor == "interpreter") GTEST_SKIP() << "the interpreter has no options";
  const elementwise k("bad_option", "T x", "T y", "y = x", {.options = {"--no-such-option-at-all"}});
  EXPECT_TRUE(throws<compile_error>([&] { eval(k(numbers(3))); }, {"bad_option", "no-such-option-at-all"}));
  const raw_kernel r{"bad_option", "__global__ void bad_option() {}", {.options = {"--no-such-option-at-all"}}};
  EXPECT_TRUE(throws<compile_error>([&] { r(for_each(1)); }, {"bad_option", "no-such-option-at-all"}));
}

// arrayfire#1838: one switch without compiled code, with equal results.
TEST(cache_symptom, compiling_can_be_switched_off) {
  if (executor != "host") GTEST_SKIP() << "about the cpu device's two ways";
  const array x = numbers(100), y = sqrt(x * 4 + 1) - 233, z = sum(x);
  set_cpu_executor(cpu_executor::interpreter);
  const statistics s = counted([&] { eval(y, z); });
  set_cpu_executor(cpu_executor::compiler);
  EXPECT_EQ(s.compile_microseconds, 0u);
  EXPECT_EQ(y.to_vector<float>(), (sqrt(x * 4 + 1) - 233).to_vector<float>());
  EXPECT_EQ(z.item<float>(), 4950.f);
}

}  // namespace
