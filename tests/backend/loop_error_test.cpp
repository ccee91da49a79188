// Loops inside kernels that must fail without harm, at the line that wrote them; and those that nearly do.
#include "tests/backend/expect.hpp"

#include <cstdio>
#include <filesystem>
#include <tuple>

using namespace sinter;
using namespace sinter_test;

namespace {

/// The line of the call, as an error message has it.
std::string this_line(place at = place::here()) { return "loop_error_test.cpp:" + std::to_string(at.line); }

TEST(loop_error, a_loop_that_does_not_end_is_an_error_of_its_line) {
  const array x{1.0, -1.0, 2.0};
  std::string line;
  array kept = x * 2;
  const array y = (line = this_line(), while_loop(
                                           kept, [](const array& s) { return s > 0; },
                                           [](const array& s) { return s + 1; }, {.limit = 1000}));
  EXPECT_TRUE(throws<loop_error>([&] { y.to_vector<double>(); }, {"1000", line}));
  EXPECT_TRUE(equals(kept, std::vector<double>{2, -2, 4}));
  EXPECT_NO_THROW(synchronize());
  EXPECT_TRUE(equals(while_loop(
                         array{60, 3}, [](const array& s) { return s <= 100; }, [](const array& s) { return s * 2; }),
                     std::vector<std::int32_t>{120, 192}));
}

TEST(loop_error, limits_count_exactly) {
  const auto run = [](std::int64_t needed, std::int64_t limit) {
    return while_loop(
        array{std::int64_t{0}, std::int64_t{0}}, [=](const array& s) { return s < needed; },
        [](const array& s) { return s + 1; }, {.limit = limit});
  };
  for (const std::int64_t n : {0, 1, 2, 17}) {
    EXPECT_TRUE(equals(run(n, n), std::vector<std::int64_t>{n, n})) << n;
    EXPECT_TRUE(throws<loop_error>([&] { run(n + 1, n).to_vector<std::int64_t>(); }, {std::to_string(n)})) << n;
  }
  for (const std::int64_t large :
       {std::int64_t{1} << 31, std::int64_t{1} << 40, std::numeric_limits<std::int64_t>::max()})
    EXPECT_TRUE(equals(run(5, large), std::vector<std::int64_t>{5, 5})) << large;
}

TEST(loop_error, only_the_inner_loop_of_some_elements_fails) {
  const array x{1, 0, 3};
  std::string line;
  const auto below_ten = [](const array& s) { return s < 10; };
  const auto twice = [](const array& s) { return s * 2; };
  const array y = for_loop(
      2, x, [&](const array& s) { return (line = this_line(), while_loop(s, below_ten, twice, {.limit = 64})); });
  EXPECT_TRUE(throws<loop_error>([&] { y.to_vector<std::int32_t>(); }, {"64", line, "element 1"}));
  EXPECT_TRUE(equals(y(range(0, 3, 2)), std::vector<std::int32_t>{16, 12}));
}

TEST(loop_error, bad_indices_in_bodies_name_their_line) {
  const array x{10, 20, 30};
  std::string line;
  const array y = for_loop(3, array{0, 1}, [&](const array& i, const array& s) {
    return (line = this_line(), x(s)) * 0 + s + i.astype(i32);
  });
  EXPECT_TRUE(
      equals(for_loop(2, array{0, 1}, [&](const array& i, const array& s) { return x(s) * 0 + s + i.astype(i32); }),
             std::vector<std::int32_t>{1, 2}));
  EXPECT_NO_THROW(synchronize());
  EXPECT_NO_THROW(eval(y));
  EXPECT_NO_THROW(synchronize());
  const array z = for_loop(4, array{0, 1}, [&](const array& i, const array& s) {
    return (line = this_line(), x(s)) * 0 + s + i.astype(i32);
  });
  EXPECT_TRUE(throws<index_error>([&] { z.to_vector<std::int32_t>(); }, {line}));
}

// Elements that have left the loop don't read any more (drjit-core#446).
TEST(loop_error, elements_that_have_left_read_nothing) {
  const array x = arange(10), first{0, 5, 9, 10};
  const auto [i, total] = while_loop(
      std::tuple{first, zeros({4}, i64)}, [](const auto& s) { return std::get<0>(s) < 10; },
      [&](const auto& s) {
        const auto& [at, t] = s;
        return std::tuple{at + 1, t + x(at)};
      });
  EXPECT_TRUE(equals(total, std::vector<std::int64_t>{45, 35, 9, 0}));
  EXPECT_NO_THROW(synchronize());
}

// An array around the loop that the body assigns to has been made of states, which are nothing after it.
TEST(loop_error, what_a_body_keeps_for_itself_is_told_at_its_line_when_read) {
  array total = zeros({3}, f64);
  const array before = total;
  std::string line;
  const array y = while_loop(
      array{1.0, 2.0, 3.0}, [](const array& s) { return s < 9; },
      [&](const array& s) {
        line = this_line(), total += s;
        return s + 1;
      });
  EXPECT_TRUE(throws<type_error>([&] { total.to_vector<double>(); }, {line, "one more state"}));
  EXPECT_TRUE(equals(y, std::vector<double>{9, 9, 9}));
  EXPECT_TRUE(equals(before, std::vector<double>{0, 0, 0}));
  total = before + 1;
  EXPECT_TRUE(equals(total, std::vector<double>{1, 1, 1}));
}

TEST(loop_error, states_that_change_their_kind_are_told_at_their_lines) {
  const array x{1.0, 2.0};
  const auto below = [](const array& s) { return s < 9; };
  std::string line;
  EXPECT_TRUE(throws<type_error>(
      [&] { while_loop(x, below, [&](const array& s) { return (line = this_line(), s + 1).astype(f32); }); },
      {"while_loop: state 0 is f64, but the body makes it f32", "loop_error_test.cpp"}));
  EXPECT_TRUE(throws<shape_error>([&] { while_loop(x, below, [&](const array& s) {
                                          return s + ones({4, 2});
                                        }); },
                                  {"[2]", "[4, 2]", "loop_error_test.cpp"}));
  EXPECT_TRUE(throws<type_error>(
      [&] {
        while_loop(
            x, [](const array& s) { return s * 2; }, [](const array& s) { return s + 1; });
      },
      {"the condition is f64, not boolean", "loop_error_test.cpp"}));
  EXPECT_TRUE(throws<type_error>([&] { while_loop(x, below, [&](const array& s) { return s + s(0).item<double>(); }); },
                                 {"a state of a loop is read", "loop_error_test.cpp"}));
}

/// Run by the test below in a process of its own: what is logged is decided once a process.
TEST(loop_error, DISABLED_reads_in_a_loop) {
  double sum = 0;
  array total = zeros({}, f64), other = zeros({}, f64);
  const statistics c = counted([&] {
    for (int t = 0; t < 40; ++t) {
      total = total + t;
      other = other + 1;
      std::printf("%s%d\n", t == 0 ? "LINE " : "", __LINE__ + 1);
      sum += total.item<double>();
      if (t % 8 == 7) sum += other.item<double>();  // not yet often
    }
  });
  EXPECT_EQ(sum, 10660 + 120);
  EXPECT_EQ(c.flushes, 45u);
}

// Each read evaluates what has been recorded: legal, counted, and named once.
TEST(loop_error, reads_in_a_loop_of_statements_are_told_once) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command = "env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX SINTER_LOG=info '" + self +
                              "' --gtest_filter=loop_error.DISABLED_reads_in_a_loop --gtest_also_run_disabled_tests" +
                              (executor.empty() ? "" : " --executor=" + executor) + " 2>&1";
  std::FILE* const child = ::popen(command.c_str(), "r");
  ASSERT_NE(child, nullptr);
  std::string text;
  for (int c; (c = std::fgetc(child)) != EOF;) text += static_cast<char>(c);
  EXPECT_EQ(::pclose(child), 0) << text;
  int line = 0;
  ASSERT_NE(text.find("LINE "), std::string::npos) << text;
  ASSERT_EQ(std::sscanf(text.c_str() + text.find("LINE "), "LINE %d", &line), 1) << text;
  std::size_t told = 0;
  for (std::size_t at = 0; (at = text.find("before it was computed", at)) != std::string::npos; ++at) ++told;
  EXPECT_EQ(told, 1u) << text;
  EXPECT_NE(text.find("loop_error_test.cpp:" + std::to_string(line) + ": read 8 times before it was computed"),
            std::string::npos)
      << text;
}

TEST(loop_error, large_arrays) {
  if (executor != "cuda") GTEST_SKIP() << "2^31 elements take the host too long";
  const std::int64_t n = (std::int64_t{1} << 31) + 1000;
  const array x = (arange(n) % 101).astype(u8);
  const array y = while_loop(
      x, [](const array& s) { return s < 100; }, [](const array& s) { return s + 50; });
  EXPECT_EQ(counted([&] { eval(y); }).launches, 1u);
  std::vector<std::uint8_t> want;
  for (std::int64_t k = n - 10; k < n; ++k) {
    auto v = static_cast<std::uint8_t>(k % 101);
    while (v < 100) v = static_cast<std::uint8_t>(v + 50);
    want.push_back(v);
  }
  EXPECT_TRUE(equals(y(range(n - 10, n)), want));
}

}  // namespace
