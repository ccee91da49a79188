// Kernels compiled in the background while something slower does their work. The background is held where a test has to
// see that; results are right at any time.
#include "jit/background.hpp"
#include "jit/substitute.hpp"
#include "tests/backend/cache_process.hpp"
#include "tests/backend/expect.hpp"

#include <sinter/cache.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <thread>

#include <sys/stat.h>

using namespace sinter;
using namespace sinter_test;

namespace {

class compile_later : public testing::Test {
 protected:
  void SetUp() override {
    if (executor == "interpreter") GTEST_SKIP() << "the interpreter has nothing to compile";
    set_compile_mode(compile_mode::async);
  }
  void TearDown() override {
    jit::wait_for_background();
    set_compile_mode(compile_mode::sync);
    set_wide_index(false);
  }
};

array numbers(std::int64_t n) { return counting(f32, {n}).to_device(); }

TEST_F(compile_later, the_mode_is_what_was_set) {
  EXPECT_EQ(get_compile_mode(), compile_mode::async);
  set_compile_mode(compile_mode::sync);
  EXPECT_EQ(get_compile_mode(), compile_mode::sync);
}

TEST_F(compile_later, small_work_is_interpreted_meanwhile) {
  if (executor == "cuda") GTEST_SKIP() << "there is no interpreter of cuda kernels";
  const array x = numbers(100);
  const auto expression = [&] { return x * 2 - x / 4 + 100; };
  std::optional<jit::background_hold> held(std::in_place);
  for (int k = 0; k < 3; ++k) {
    const array y = expression();
    const statistics s = counted([&] { eval(y); });
    EXPECT_EQ(s.substitutes, 1u);
    EXPECT_EQ(s.launches, 1u);
    EXPECT_EQ(y(8).item<float>(), 114.f);
  }
  const std::uint64_t before = stats().compiles;
  held.reset();
  jit::wait_for_background();
  EXPECT_LE(stats().compiles - before, 2u) << "the expression, and the reads of one element: each once";
  const array y = expression();
  const statistics s = counted([&] { eval(y); });
  EXPECT_EQ(s.substitutes, 0u);
  EXPECT_EQ(s.compiles, 0u);
  EXPECT_EQ(y(8).item<float>(), 114.f);
}

TEST_F(compile_later, several_kernels_of_one_evaluation_are_interpreted_meanwhile) {
  if (executor == "cuda") GTEST_SKIP() << "there is no interpreter of cuda kernels";
  const array x = numbers(50);
  const jit::background_hold held;
  const array centred = x - sum(x) / 50, y = centred / (max(x) + 3) + 41, z = exp(x * 0) + 6;
  eval(y, z);
  EXPECT_EQ(y(0).item<float>(), -24.5f / 52 + 41);
  EXPECT_EQ(z(3).item<float>(), 7.f);
}

TEST_F(compile_later, large_work_waits_for_its_kernel) {
  const array x = numbers(1 << 21), y = abs(x * 2 - x / 8 + 101);
  const jit::background_hold held;  // would keep it waiting for ever
  const statistics s = counted([&] { eval(y); });
  EXPECT_EQ(s.substitutes, 0u);
  EXPECT_EQ(s.compiles, 1u);
}

// The kernel of rows inside a larger array does for rows that are all of one.
TEST_F(compile_later, a_kernel_that_knows_less_of_the_layout_is_used_meanwhile) {
  constexpr std::int64_t rows = 1024, columns = 2048;
  const array wide = counting(f32, {rows, columns + 8}).to_device(), whole = counting(f32, {rows, columns}).to_device();
  eval(wide, whole);
  const auto expression = [](const array& a) { return a * 3 + 17 - a / 2; };
  const array first = expression(wide(all, range(0, columns)));
  eval(first);
  jit::wait_for_background();
  const array y = expression(whole), again = expression(whole);
  std::optional<jit::background_hold> held(std::in_place);
  const statistics s = counted([&] { eval(y); });
  EXPECT_EQ(s.substitutes, 1u);
  EXPECT_EQ(s.compiles, 0u);
  held.reset();
  jit::wait_for_background();
  const statistics later = counted([&] { eval(again); });
  EXPECT_EQ(later.substitutes, 0u);
  EXPECT_EQ(later.compiles, 0u);
  const std::vector<float> got = y.to_vector<float>(), better = again.to_vector<float>();
  const std::vector<float> x = whole.to_vector<float>();
  for (std::size_t k = 0; k < got.size(); k += 4097) {
    EXPECT_NEAR(got[k], x[k] * 3 + 17 - x[k] / 2, 1e-6 * (1 + x[k]));
    EXPECT_NEAR(better[k], got[k], 1e-6 * (1 + x[k]));
  }
}

TEST_F(compile_later, updates_in_place_have_substitutes) {
  constexpr std::int64_t rows = 1024, columns = 2048;
  array before = counting(f32, {rows, columns}).to_device(), x = counting(f32, {rows, columns}).to_device();
  eval(before, x);
  // By 3.25, in words that no other test has made a kernel of.
  const auto grow = [](array& a) { a *= where(a < -7.5f, a, 3.25f); };
  jit::current_options().layout = jit::layout_knowledge::unmerged;
  grow(before);
  eval(before);
  jit::wait_for_background();
  jit::current_options().layout = jit::layout_knowledge::all;
  const std::uint64_t bytes = stats().bytes_in_use;
  std::optional<jit::background_hold> held(std::in_place);
  grow(x);
  const statistics s = counted([&] { eval(x); });
  EXPECT_EQ(s.substitutes, 1u);
  EXPECT_EQ(s.compiles, 0u);
  EXPECT_EQ(stats().bytes_in_use, bytes) << "still in place";
  held.reset();
  jit::wait_for_background();
  grow(x);
  EXPECT_EQ(counted([&] { eval(x); }).substitutes, 0u);
  const std::vector<float> values = x.to_vector<float>();
  for (std::size_t k = 0; k < values.size(); k += 4097)
    EXPECT_EQ(values[k], static_cast<float>(k) * 3.25f * 3.25f) << k;
}

TEST_F(compile_later, wider_indices_are_used_meanwhile) {
  if (executor != "cuda") GTEST_SKIP() << "indices of host kernels are always wide";
  const array x = numbers(1000);
  const auto expression = [&] { return x * 5 - 43; };
  set_wide_index(true);
  eval(expression());
  set_wide_index(false);
  const jit::background_hold held;
  const array y = expression();
  EXPECT_EQ(counted([&] { eval(y); }).substitutes, 1u);
  EXPECT_EQ(y.to_vector<float>()[9], 2.f);
}

TEST_F(compile_later, user_kernels_wait_where_nothing_can_stand_in) {
  const elementwise k("later", "T x", "T y", "y = x * 3 + 47");
  const array x = numbers(10), y = k(x);
  const jit::background_hold held;
  const statistics s = counted([&] { eval(y); });
  EXPECT_EQ(s.substitutes, 0u);
  EXPECT_EQ(y.to_vector<float>()[1], 50.f);
  const elementwise bad("worse", "T x", "T y", "y = x * nowhere");
  const array z = bad(x);
  for (int k2 = 0; k2 < 2; ++k2) EXPECT_THROW(eval(z), compile_error);
}

TEST_F(compile_later, precompile_waits) {
  const array x = numbers(100), y = x * 2 + 53 - abs(x);
  const jit::background_hold held;
  precompile(y);
  EXPECT_EQ(counted([&] { eval(y); }).substitutes, 0u);
}

TEST_F(compile_later, threads_get_right_results_at_any_time) {
  const array x = numbers(64);
  std::vector<std::thread> threads;
  std::vector<int> wrong(8, 0);
  for (std::size_t t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int k = 0; k < 6; ++k) {
        array y = x * 2;
        for (int j = 0; j < k; ++j) y = abs(y) + 1;
        const std::vector<float> got = y.to_vector<float>();
        for (std::size_t i = 0; i < got.size(); ++i)
          wrong[t] += got[i] != static_cast<float>(2 * i) + static_cast<float>(k);
      }
    });
  for (std::thread& t : threads) t.join();
  for (const int w : wrong) EXPECT_EQ(w, 0);
}

/// Results of launches of many kinds of layout.
std::vector<std::vector<float>> many_layouts() {
  const array a = counting(f32, {6, 8, 4}).to_device(), row = counting(f32, {8, 1}).to_device(), v = numbers(4);
  eval(a, row, v);
  array b = a * 1, c = zeros({3, 8, 4}, f32);
  b(all, range(1, -1), all) = a(all, range(0, -2), all) - a(all, range(2, end), all);
  c(range(end, begin, -1), all, 0) += a(range(0, 3), all, 1);
  const std::vector<array> all_of_them{
      a + row * v,
      transpose(a, {2, 0, 1}) * 2 - v(all, newaxis, newaxis),
      a(range(end, begin, -2), range(1, 7, 3), all) + 1,
      concat({a, a(range(0, 2), all, all) * 3}) + v,
      a(array{5, 0, 0}, all, all) - row,
      roll(a, 3, 1) + flip(a, 2),
      b,
      c,
      sum(a * v, 1),
      cumsum(a, 2) - a,
      reshape(a, {8, 24}) + arange(24).astype(f32),
      where(a > 90, a, 0 * v - 1),
      broadcast_to(v, {3, 4}) * 1,
  };
  std::vector<std::vector<float>> values;
  for (const array& x : all_of_them) values.push_back(x.to_vector<float>());
  return values;
}

TEST(substitutes, give_the_same_values) {
  const jit::options before = jit::current_options();
  struct finally {
    const jit::options& old;
    ~finally() { jit::current_options() = old; }
  } restore{before};
  const auto want = many_layouts();
  EXPECT_EQ(want[0][5], 6.f);  // a(0, 1, 1) + row(1) * v(1)
  EXPECT_EQ(want[2][0], 165.f);
  for (std::size_t k = 0; k < jit::substitute_count; ++k) {
    jit::current_options() = jit::less_specialised(before, k);
    EXPECT_EQ(many_layouts(), want) << k;
  }
}

// ---- whole processes ----

class kept_later : public kept {
 protected:
  void SetUp() override {
    kept::SetUp();
    if (executor == "cuda") GTEST_SKIP() << "nothing stands in for the first kernel of an expression on cuda";
  }
  std::string compiler(const std::string& first) const {
    std::string path = scratch.path() + "/cxx";
    write_file(path, "#!/bin/sh\n" + first + "\nexec c++ \"$@\"\n");
    chmod(path.c_str(), 0755);
    return path;
  }
};

TEST_F(kept_later, what_the_background_compiles_is_kept) {
  const process_result r = run({{"TEST_KERNELS", "3"}, {"SINTER_COMPILE", "async"}, {"TEST_ASYNC", "1"}});
  ASSERT_TRUE(r.good()) << r.output;
  EXPECT_EQ(r.count("RESULT right=1\n"), 2) << r.output;
  EXPECT_EQ(r.number("substitutes_at_first"), 3u);
  EXPECT_EQ(r.number("substitutes"), 3u) << "none once they are compiled";
  EXPECT_EQ(kernel_files(folder).size(), 3u);
  const process_result next = run({{"TEST_KERNELS", "3"}, {"TEST_ASYNC", "1"}});
  EXPECT_EQ(next.number("substitutes"), 0u) << "found on disk";
  EXPECT_EQ(next.number("compiles"), 0u);
}

TEST_F(kept_later, the_variable_turns_it_on) {
  const process_result r = run({{"TEST_KERNELS", "1"}, {"SINTER_COMPILE", "async"}, {"SINTER_STATS", "1"}});
  ASSERT_TRUE(r.good()) << r.output;
  EXPECT_EQ(r["right"], "1");
  EXPECT_EQ(r.count(" 1 substitutes"), 1) << r.output;
}

TEST_F(kept_later, failures_are_told_once_and_work_goes_on) {
  const process_result r =
      run({{"TEST_KERNELS", "1"}, {"TEST_ASYNC", "1"}, {"SINTER_CXX", compiler("echo no code today; exit 1")}});
  ASSERT_TRUE(r.good()) << r.output;
  EXPECT_EQ(r.count("RESULT right=1\n"), 2);
  EXPECT_EQ(r.number("substitutes"), 2u);
  EXPECT_EQ(r.count("sinter: compiling in the background: "), 1) << r.output;
  EXPECT_EQ(r.count("no code today"), 1) << r.output;
}

TEST_F(kept_later, a_program_may_end_while_kernels_are_compiled) {
  const process_result r = run({{"TEST_KERNELS", "4"},
                                {"TEST_ASYNC", "1"},
                                {"TEST_LEAVE", "1"},
                                {"SINTER_CXX", compiler("sleep 0.3")}});
  ASSERT_TRUE(r.good()) << r.output;
  EXPECT_EQ(r["right"], "1");
  EXPECT_LE(kernel_files(folder).size(), 4u);
  EXPECT_TRUE(run({{"TEST_KERNELS", "4"}}).good());
}

}  // namespace
