// Loops inside kernels that must fail without harm, at the line that wrote them; and those that nearly do.
#include "tests/backend/expect.hpp"

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
  const array y = for_loop(2, x, [&](const array& s) {
    return (line = this_line(), while_loop(s, below_ten, twice, {.limit = 64}));
  });
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
