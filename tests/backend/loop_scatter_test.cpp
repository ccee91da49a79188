// Scatters in the bodies of loops inside kernels, against loops of plain C++: element by element, each with its
// iterations in order.
#include "tests/backend/expect.hpp"

#include <tuple>

using namespace sinter;
using namespace sinter_test;

namespace {

using integers = std::vector<std::int64_t>;

std::string this_line(place at = place::here()) { return "loop_scatter_test.cpp:" + std::to_string(at.line); }

/// 2k + 1 or so, but scattered.
std::int64_t next_of(std::int64_t x) { return (x * 5 + 3) % 97; }

TEST(loop_scatter, every_iteration_of_every_element_is_counted) {
  for (const std::int64_t n : {0, 1, 7, 300})
    for (const std::int64_t count : {0, 1, 2, 25}) {
      array seen = zeros({97}, i64);
      const array last = for_loop(count, arange(n), [&](const array& s) {
        scatter_add(seen, s % 97, 1);
        return (s * 5 + 3) % 97;
      });
      integers want(97), at;
      for (std::int64_t k = 0; k < n; ++k) {
        std::int64_t x = k;
        for (std::int64_t t = 0; t < count; ++t) {
          ++want[static_cast<std::size_t>(x % 97)];
          x = next_of(x);
        }
        at.push_back(x);
      }
      EXPECT_TRUE(equals(seen, want)) << n << " " << count;
      EXPECT_TRUE(equals(last, at)) << n << " " << count;
    }
}

TEST(loop_scatter, elements_leave_at_their_own_time) {
  const std::int64_t n = 40;
  array visits = full({200}, 3, i64);
  const array steps = std::get<1>(while_loop(
      std::tuple{arange(n) + 1, zeros({n}, i64)}, [](const auto& s) { return std::get<0>(s) != 1; },
      [&](const auto& s) {
        const auto& [v, count] = s;
        scatter_add(visits, minimum(v, 199), v * 2);
        return std::tuple{if_else(v % 2 == 0, v / 2, 3 * v + 1), count + 1};
      }));
  integers want(200, 3), counts;
  for (std::int64_t k = 1; k <= n; ++k) {
    std::int64_t count = 0;
    for (std::int64_t v = k; v != 1; v = v % 2 == 0 ? v / 2 : 3 * v + 1, ++count)
      want[static_cast<std::size_t>(std::min<std::int64_t>(v, 199))] += v * 2;
    counts.push_back(count);
  }
  EXPECT_TRUE(equals(visits, want));
  EXPECT_TRUE(equals(steps, counts));
}

TEST(loop_scatter, largest_smallest_product_and_the_last) {
  array most = full({8}, -100, i32), least = full({8}, 100, i32), product = full({8}, 1, i32), last = full({8}, -1, i32);
  for_loop(6, arange(10).astype(i32), [&](const array& t, const array& s) {
    const array place = (s * 3 + t.astype(i32)) % 8, value = (s * 7 + t.astype(i32) * 5) % 23;
    scatter_max(most, place, value);
    scatter_min(least, place, value);
    scatter_multiply(product, place, value % 3 + 1);
    scatter(last, place, value);
    return s;
  });
  std::vector<std::int32_t> want_most(8, -100), want_least(8, 100), want_product(8, 1), want_last(8, -1);
  for (std::int32_t s = 0; s < 10; ++s)
    for (std::int32_t t = 0; t < 6; ++t) {
      const auto place = static_cast<std::size_t>((s * 3 + t) % 8);
      const std::int32_t value = (s * 7 + t * 5) % 23;
      want_most[place] = std::max(want_most[place], value);
      want_least[place] = std::min(want_least[place], value);
      want_product[place] = static_cast<std::int32_t>(static_cast<std::uint32_t>(want_product[place]) *
                                                      static_cast<std::uint32_t>(value % 3 + 1));
      want_last[place] = value;
    }
  EXPECT_TRUE(equals(most, want_most));
  EXPECT_TRUE(equals(least, want_least));
  EXPECT_TRUE(equals(product, want_product));
  EXPECT_TRUE(equals(last, want_last));
}

TEST(loop_scatter, where_it_is_chosen) {
  array even = zeros({10}, i64), odd = zeros({10}, i64), deep = zeros({10}, i64);
  const array x = for_loop(12, arange(10), [&](const array& s) {
    return if_else(
        s % 2 == 0,
        [&] {
          scatter_add(even, s, 1);  // odd numbers are too large for an index in the other function
          return s / 2;
        },
        [&] {
          scatter_add(odd, s - 1, s);
          return if_else(
              s > 5,
              [&] {
                scatter(deep, s - 6, s);
                return s - 3;
              },
              [&] { return s + 1; });
        });
  });
  integers want_even(10), want_odd(10), want_deep(10), want;
  for (std::int64_t k = 0; k < 10; ++k) {
    std::int64_t s = k;
    for (int t = 0; t < 12; ++t) {
      if (s % 2 == 0) {
        ++want_even[static_cast<std::size_t>(s)];
        s /= 2;
        continue;
      }
      want_odd[static_cast<std::size_t>(s - 1)] += s;
      if (s > 5) want_deep[static_cast<std::size_t>(s - 6)] = s;
      s = s > 5 ? s - 3 : s + 1;
    }
    want.push_back(s);
  }
  EXPECT_TRUE(equals(even, want_even));
  EXPECT_TRUE(equals(odd, want_odd));
  EXPECT_TRUE(equals(deep, want_deep));
  EXPECT_TRUE(equals(x, want));
}

// Nothing is kept of the iterations: what they write goes to the array from inside the loop.
TEST(loop_scatter, is_one_launch_without_memory_for_the_iterations) {
  array seen = zeros({64}, i32), steps = zeros({64}, i32);
  const array start = arange(1000);
  eval(seen, steps, start);
  const auto c = counted([&] {
    for_loop(1000, start, [&](const array& t, const array& s) {
      scatter_add(seen, (s + t) % 64, 1);
      return s + 1;
    });
    eval(seen);
  });
  EXPECT_EQ(c.launches, 1u);
  std::vector<std::int32_t> want(64);
  for (std::int64_t k = 0; k < 1000; ++k)
    for (std::int64_t t = 0; t < 1000; ++t) ++want[static_cast<std::size_t>((k + 2 * t) % 64)];
  EXPECT_TRUE(equals(seen, want));
}

// Two scatters to one array (mitsuba3#1427, drjit-core#110).
TEST(loop_scatter, two_to_one_array_and_another_loop_after) {
  array sums = zeros({12}, f64);
  const array before = sums;
  const array weights = arange(12).astype(f64) * 0.5;
  const auto walk = [&] {
    return for_loop(5, arange(6), [&](const array& t, const array& s) {
      scatter_add(sums, s, weights(s));
      scatter_add(sums, 11 - s, 0.25);
      return (s + t) % 12;
    });
  };
  std::vector<double> want(12);
  for (int twice = 0; twice < 2; ++twice) {
    walk();
    for (std::int64_t k = 0; k < 6; ++k) {
      std::int64_t s = k;
      for (std::int64_t t = 0; t < 5; ++t) {
        want[static_cast<std::size_t>(s)] += static_cast<double>(s) * 0.5;
        want[static_cast<std::size_t>(11 - s)] += 0.25;
        s = (s + t) % 12;
      }
    }
    EXPECT_TRUE(equals(sums, want)) << twice;
  }
  EXPECT_TRUE(equals(before, std::vector<double>(12)));
}

TEST(loop_scatter, states_of_two_axes_and_of_none) {
  array seen = zeros({5}, i32), single = zeros({4}, i32);
  for_loop(3, reshape(arange(12), {3, 4}), [&](const array& t, const array& s) {
    scatter_add(seen, (s + t) % 5, 1);
    return s * 2;
  });
  for_loop(9, array(std::int64_t{2}), [&](const array& t, const array& s) {
    scatter_add(single, -1 - t % 4, 1);
    return s;
  });
  std::vector<std::int32_t> want(5);
  for (std::int64_t k = 0; k < 12; ++k)
    for (std::int64_t t = 0, s = k; t < 3; ++t, s *= 2) ++want[static_cast<std::size_t>((s + t) % 5)];
  EXPECT_TRUE(equals(seen, want));
  EXPECT_TRUE(equals(single, std::vector<std::int32_t>{2, 2, 2, 3}));
}

TEST(loop_scatter, what_cannot_be_is_an_error_of_its_line_and_changes_nothing) {
  array sums = zeros({6}, i64), table = zeros({2, 3}, i64);
  std::string line;
  const array start = arange(6);
  const auto refused = [&](auto&& body, std::initializer_list<std::string> words) {
    line.clear();
    std::string said;
    try {
      for_loop(3, start, body);
    } catch (const error& e) { said = e.what(); }
    bool all = !said.empty() && said.find(line) != std::string::npos;
    for (const std::string& w : words) all &= said.find(w) != std::string::npos;
    return all ? testing::AssertionSuccess() : testing::AssertionFailure() << said;
  };
  EXPECT_TRUE(refused([&](const array& s) { return (line = this_line(), scatter_add(sums, s, sums(s))), s; }, {"reads the array"}));
  EXPECT_TRUE(refused([&](const array& s) { return (line = this_line(), scatter_add(table, s, 1)), s; }, {"[2, 3]", "ravel"}));
  EXPECT_TRUE(refused([&](const array& s) { return (line = this_line(), scatter_add(sums, s * 0.5, 1)), s; }, {"not integers"}));
  EXPECT_TRUE(refused([&](const array& s) { return (line = this_line(), scatter_add(sums, s, 1.5)), s; }, {"floating-point number", "i64"}));
  EXPECT_TRUE(refused([&](const array& s) { return scatter_add(sums, s, 1), scatter_multiply(sums, s, 2), s; },
                      {"in another way", "scatter_multiply"}));
  EXPECT_TRUE(refused(
      [&](const array& s) {
        array own = s * 1;
        scatter_add(own, s, 1);
        return s;
      },
      {"value of the body", "made before"}));
  EXPECT_TRUE(refused(
      [&](const array& s) {
        return for_loop(2, s, [&](const array& x) { return scatter_add(sums, x, 1), x; });
      },
      {"inside another loop's", "scatter_add"}));
  EXPECT_TRUE(refused([&](const array& s) { return scatter_add(sums, s, 1), s.astype(f32); }, {"state 0 is i64", "f32"}));
  EXPECT_TRUE(equals(sums, integers(6)));
  EXPECT_TRUE(equals(table, host_array(integers(6), {2, 3})));
  for_loop(3, start, [&](const array& s) { return (line = this_line(), scatter_add(sums, s + 1, 1)), s; });
  EXPECT_TRUE(throws<index_error>([&] { sums.to_vector<std::int64_t>(); }, {"6"}));
}

}  // namespace
