// Loops long enough for their statements to be expected, which are then only compared with what is expected; and
// statements among them that look the same and are not.
#include "tests/backend/plain_loop.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

using namespace sinter;
using namespace sinter_test;

namespace {

using fold_expected = fold;

constexpr int n = 40;  // n * n statements are several lists of a trace

TEST_F(fold_expected, copies_kept_in_the_middle_stay_as_they_were) {
  plain<double> x = scattered_values<double>({n}), y({n});
  const array a = x.made();
  array c = zeros({n});
  std::vector<array> kept;
  std::vector<plain<double>> kept_plainly;
  for (int t = 0; t < n; ++t)
    for (int i = 0; i < n; ++i) {
      c(i) = c(i) + a(i) * t;
      y(i) = y(i) + x(i) * t;
      if (i != (t * 7) % n || t % 3 != 0) continue;
      kept.push_back(c);
      kept_plainly.push_back(y);
    }
  EXPECT_TRUE(equals(c, y));
  ASSERT_EQ(kept.size(), 14u);
  for (std::size_t k = 0; k < kept.size(); ++k) EXPECT_TRUE(equals(kept[k], kept_plainly[k])) << k;
}

TEST_F(fold_expected, views_kept_in_the_middle_stay_as_they_were) {
  plain<double> x = scattered_values<double>({n}), y({n});
  const array a = x.made();
  array c = zeros({n}), kept;
  double kept_plainly = 0;
  for (int t = 0; t < n; ++t)
    for (int i = 0; i < n; ++i) {
      c(i) = a(i) * (t + 1);
      y(i) = x(i) * (t + 1);
      if (t != 31 || i != 23) continue;
      kept = c(23) + c(22);
      kept_plainly = y(23) + y(22);
    }
  EXPECT_EQ(kept.item<double>(), kept_plainly);
  EXPECT_TRUE(equals(c, y));
}

TEST_F(fold_expected, one_variable_in_the_places_of_two) {
  plain<double> x = scattered_values<double>({n}), y = scattered_values<double>({n}, 2), want({n, n});
  const array a = x.made(), b = y.made();
  array c = zeros({n, n});
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      const bool same = i == 30 && j > 20;
      c(i, j) = a(i) * (same ? a : b)(j);
      want(i, j) = x(i) * (same ? x : y)(j);
    }
  EXPECT_TRUE(equals(c, want));
}

TEST_F(fold_expected, the_written_variable_in_the_place_of_a_read_one) {
  plain<double> x = scattered_values<double>({n}), want({n});
  const array a = x.made();
  array c = zeros({n});
  for (int t = 0; t < n; ++t)
    for (int i = 0; i < n; ++i) {
      const int from = n - 1 - i;
      const bool own = t == 30 && i > 15;
      c(i) = own ? c(from) * 0.5 : a(from) * 0.5;
      want(i) = own ? want(from) * 0.5 : x(from) * 0.5;
    }
  EXPECT_TRUE(equals(c, want));
}

TEST_F(fold_expected, one_operation_where_there_were_two) {
  plain<double> x = scattered_values<double>({n}), want({n, n});
  const array a = x.made();
  array c = zeros({n, n});
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      const array left = a(i) + 1.0;
      if (j % 17 == 16) c(i, j) = left * left;
      else c(i, j) = left * (a(i) + 1.0);
      want(i, j) = (x(i) + 1.0) * (x(i) + 1.0);
    }
  EXPECT_TRUE(equals(c, want));
}

TEST_F(fold_expected, several_arrays_one_after_another) {
  plain<double> x = scattered_values<double>({n});
  const array a = x.made();
  std::vector<array> c(5, zeros({n}));
  std::vector<plain<double>> want(5, plain<double>({n}));
  for (int t = 0; t < 8; ++t)
    for (int i = 0; i < n; ++i)
      for (std::size_t k = 0; k < c.size(); ++k) {
        c[k](i) += a((i + t) % n) * static_cast<double>(k);
        want[k](i) += x((i + t) % n) * static_cast<double>(k);
      }
  for (std::size_t k = 0; k < c.size(); ++k) EXPECT_TRUE(equals(c[k], want[k])) << k;
}

TEST_F(fold_expected, variables_that_end_in_the_loop) {
  plain<double> x = scattered_values<double>({n}), want({n});
  const array a = x.made();
  array c = zeros({n});
  for (int t = 0; t < n; ++t) {
    array scaled = zeros({n});
    for (int i = 0; i < n; ++i) scaled(i) = a(i) * t;
    for (int i = 0; i < n; ++i) c(i) += scaled(n - 1 - i);
    for (int i = 0; i < n; ++i) want(i) += x(n - 1 - i) * t;
  }
  EXPECT_TRUE(equals(c, want));
}

TEST_F(fold_expected, whole_variables_in_turn) {
  plain<double> x = scattered_values<double>({n}), y = scattered_values<double>({n}, 2);
  array u = x.made(), v = y.made(), before;
  plain<double> before_plainly({n});
  for (int t = 0; t < 1500; ++t) {
    before = u;
    array next = (u + v) * 0.5;
    u = v;
    v = next;
    before_plainly = x;
    for (int i = 0; i < n; ++i) {
      const double now = (x(i) + y(i)) * 0.5;
      x(i) = y(i);
      y(i) = now;
    }
  }
  EXPECT_TRUE(equals(u, x));
  EXPECT_TRUE(equals(v, y));
  EXPECT_TRUE(equals(before, before_plainly));
}

TEST_F(fold_expected, a_number_read_before_and_after_its_variable_is_written) {
  plain<double> x = scattered_values<double>({n}), y = scattered_values<double>({n}, 2);
  array a = x.made(), b = y.made();
  const std::uint64_t launches = launches_of(
      [&] {
        for (int t = 0; t < 1000; ++t) {
          a = a + 0.25 * (b - a * 0.5);
          b = b - 0.125 * a;
        }
      },
      a, b);
  for (int t = 0; t < 1000; ++t)
    for (int i = 0; i < n; ++i) {
      x(i) = x(i) + 0.25 * (y(i) - x(i) * 0.5);
      y(i) = y(i) - 0.125 * x(i);
    }
  EXPECT_EQ(launches, 1u);
  EXPECT_TRUE(equals(a, x));
  EXPECT_TRUE(equals(b, y));
}

TEST_F(fold_expected, another_output_and_another_kernel_at_times) {
  const elementwise both("sum_and_difference", "T x, T y", "T s, T d", "s = x + y; d = x - y");
  const elementwise sum("only_sum", "T x, T y", "T s", "s = x + y");
  const elementwise product("only_product", "T x, T y", "T s", "s = x * y");
  plain<double> x = scattered_values<double>({n}), want({n, n}), of_one({n, n});
  const array a = x.made();
  array c = zeros({n, n}), d = zeros({n, n});
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      const auto [s, t] = both.results<2>(a(i), a(j));
      const bool other = i == 37 && j % 5 == 1;
      c(i, j) = other ? t : s;
      want(i, j) = other ? x(i) - x(j) : x(i) + x(j);
      d(i, j) = other ? product(a(i), a(j)) : sum(a(i), a(j));
      of_one(i, j) = other ? x(i) * x(j) : x(i) + x(j);
    }
  EXPECT_TRUE(equals(c, want));
  EXPECT_TRUE(equals(d, of_one));
}

TEST_F(fold_expected, loops_of_expected_statements_are_one_launch) {
  plain<double> x = scattered_values<double>({n}), want({n, n});
  const array a = x.made();
  array c = zeros({n, n});
  const std::uint64_t launches = launches_of(
      [&] {
        for (int i = 0; i < n; ++i)
          for (int j = 0; j < n; ++j) c(i, j) = (a(i) - a(j)) * (a(i) - a(j));
      },
      c);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) want(i, j) = (x(i) - x(j)) * (x(i) - x(j));
  EXPECT_EQ(launches, 1u);
  EXPECT_TRUE(equals(c, want));
}

// Small bit patterns look like whole numbers, and are part of a statement's structure.
TEST_F(fold_expected, numbers_that_look_like_others) {
  const std::array<double, 7> numbers = {1.0, 0.0, -0.0, 0.5, std::numeric_limits<double>::denorm_min(), 3e-320,
                                         -std::numeric_limits<double>::infinity()};
  plain<double> want({n, n});
  array c = ones({n, n});
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      const double x = i < 25 ? 1.0 : numbers[static_cast<std::size_t>(i * 3 + j) % numbers.size()];
      c(i, j) = c(i, j) * x;
      want(i, j) = x;
    }
  EXPECT_TRUE(equals(c, want));
}

}  // namespace
