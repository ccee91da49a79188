// Kinds of loops that random programs found to be wrong, or without end.
#include "tests/backend/plain_loop.hpp"
#include "tests/support/executor.hpp"

#include <algorithm>

using namespace sinter;
using namespace sinter_test;

namespace {

using fold_fuzzed = fold;

TEST_F(fold_fuzzed, a_recurrence_beside_a_number_that_stays_what_an_earlier_loop_made_it) {
  plain<double> x = scattered_values<double>({12}), y = scattered_values<double>({8}, 2), z({8});
  array a = x.made(), b = y.made(), c = zeros({8});
  const auto run = [](auto& p, auto& q, auto& r) {
    for (int t = 0; t < 6; ++t) p(0) = p(0) * 0.5 + p(3);
    for (int t = 0; t < 6; ++t) {
      for (int s = 0; s < 4; ++s) p(0) = p(0);
      q(t + 1) = q(t) * 0.5 + p(0);
      r(t) = p(0);
    }
  };
  run(x, y, z);
  run(a, b, c);
  EXPECT_TRUE(equals(a, x));
  EXPECT_TRUE(equals(b, y));
  EXPECT_TRUE(equals(c, z));
}

TEST_F(fold_fuzzed, loops_of_lanes_that_each_read_what_the_ones_before_made) {
  plain<double> x = scattered_values<double>({4}), y = scattered_values<double>({4}, 2),
                z = scattered_values<double>({4}, 3);
  array a = x.made(), b = y.made(), c = z.made();
  const auto run = [](auto& p, auto& q, auto& r) {
    for (int u = 0; u < 6; ++u) {
      for (int t = 0; t < 12; ++t) {
        p(1) += p(3) * 0.5 + q(0) * 0.25;
        for (int s = 0; s < t % 3 + 2; ++s) q(0) = p(1) * 0.5 - q(0) * 0.25;
        r(2) = r(2) * 0.5 + q(0) * p(1);
      }
      for (int t = 0; t < 7; ++t) {
        p(3) = p(3) * 0.5 + r(2);
        q(1) += p(3) * 0.25 + r(2);
        r(2) = q(1) * 0.5;
      }
    }
  };
  run(x, y, z);
  run(a, b, c);
  EXPECT_TRUE(equals(a, x));
  EXPECT_TRUE(equals(b, y));
  EXPECT_TRUE(equals(c, z));
}

TEST_F(fold_fuzzed, places_doubled_and_mirrored_more_often_than_a_number_has_bits) {
  plain<float> x = scattered_values<float>({7}), y = scattered_values<float>({3, 2}, 2);
  array a = x.made(), b = y.made();
  for (int t = 0; t < 11; ++t)
    for (int s = 0; s < 2; ++s)
      for (int u = 0; u < 3; ++u) {
        b(u, s) = b(u, s);  // keeps the steps of `a` from being a loop of their own
        a(range(0, 4)) = a(range(6, begin, -2)) + 3;
        const plain<float> before = x;
        for (int k = 0; k < 4; ++k) x(k) = before.values[static_cast<std::size_t>(6 - 2 * k)] + 3;
      }
  EXPECT_TRUE(equals(a, x));
  EXPECT_TRUE(equals(b, y));
}

TEST_F(fold_fuzzed, a_recurrence_that_begins_where_another_statement_writes) {
  plain<double> x = scattered_values<double>({9}), y = scattered_values<double>({5}, 2);
  array a = x.made(), b = y.made();
  const auto run = [](auto& p, auto& q) {
    for (int t = 0; t < 6; ++t) {
      for (int s = 0; s < t + 1; ++s) p(1) = q(s % 5) + 100;
      p(t + 2) = p(t) * 0.5;
    }
  };
  run(x, y);
  run(a, b);
  EXPECT_TRUE(equals(a, x));
}

TEST_F(fold_fuzzed, values_assigned_again_after_others_have_read_them) {
  plain<double> x = scattered_values<double>({8}), y({8}), z({8});
  array a = x.made(), b = zeros({8}), c = zeros({8});
  const auto run = [](auto& p, auto& q, auto& r, auto&& twice) {
    for (int t = 0; t < 40; ++t) {
      auto w = twice(p, t);
      q(t % 8) = w(1) + w(2);
      p = w;
      r(t * 3 % 8) += p(3) - q(t % 8);
    }
  };
  run(x, y, z, [](plain<double> p, int t) {
    p(t % 8) = p((t + 1) % 8) * 0.5;
    return p;
  });
  run(a, b, c, [](array p, int t) {
    p(t % 8) = p((t + 1) % 8) * 0.5;
    return p;
  });
  EXPECT_TRUE(equals(a, x));
  EXPECT_TRUE(equals(b, y));
  EXPECT_TRUE(equals(c, z));
}

TEST_F(fold_fuzzed, one_element_written_as_a_row_and_read_as_a_number) {
  plain<double> x = scattered_values<double>({4, 10}), y = scattered_values<double>({4, 9}, 2);
  array a = x.made(), b = y.made();
  for (int t = 0; t < 6; ++t)
    for (int s = 0; s < t % 3 + 3; ++s) {
      for (int u = 0; u < 1 - s; ++u) {
        b(0, range(0, 4)) = b(3, range(8, 4, -1)) * 0.5;
        for (int k = 0; k < 4; ++k) y(0, k) = y(3, 8 - k) * 0.5;
      }
      a(1, range(1, 2, 2)) += maximum(a(1, 1), a(1, 2)) * 0.5;
      x(1, 1) += std::max(x(1, 1), x(1, 2)) * 0.5;
    }
  EXPECT_TRUE(equals(a, x));
  EXPECT_TRUE(equals(b, y));
}

TEST_F(fold_fuzzed, updates_that_read_both_neighbours_of_updates) {
  plain<double> x = scattered_values<double>({64});
  array a = x.made();
  for (int t = 0; t < 30; ++t) {
    array b = a;  // statements of different kinds, so that they are written out
    if (t % 3 == 0) b(range(1, 63)) = a(range(0, 62)) * 0.5 + a(range(2, 64)) * 0.25;
    else if (t % 3 == 1) b(range(2, 60)) = a(range(0, 58)) * 0.5 + a(range(5, 63));
    else b(range(0, 50)) = a(range(7, 57)) - a(range(14, 64)) * 0.5;
    a = b;
    const plain<double> y = x;
    const auto at = [&](int k) { return y.values[static_cast<std::size_t>(k)]; };
    if (t % 3 == 0)
      for (int k = 1; k < 63; ++k) x(k) = at(k - 1) * 0.5 + at(k + 1) * 0.25;
    else if (t % 3 == 1)
      for (int k = 2; k < 60; ++k) x(k) = at(k - 2) * 0.5 + at(k + 3);
    else
      for (int k = 0; k < 50; ++k) x(k) = at(k + 7) - at(k + 14) * 0.5;
  }
  EXPECT_TRUE(equals(a, x));
}

TEST_F(fold_fuzzed, twenty_thousand_scattered_updates_end) {
  // Each launch is a kernel of its own, whose compilation takes longer than all the rest: fewer where there is one.
  const int statements = executor == "interpreter" ? 20000 : 600;
  constexpr int n = 1000;
  plain<double> x = scattered_values<double>({n}), y = scattered_values<double>({n}, 2);
  const array a = x.made();
  array c = y.made();
  lcg random(3);
  for (int t = 0; t < statements; ++t) {
    const auto i = static_cast<int>(random.below(n)), j = static_cast<int>(random.below(n)),
               k = static_cast<int>(random.below(n));
    switch (random.below(3)) {
      case 0: c(i) = a(j) * 0.5 + c(k) * 0.25; y(i) = x(j) * 0.5 + y(k) * 0.25; break;
      case 1: c(i) += a(j) * 0.5; y(i) += x(j) * 0.5; break;
      default: c(i) = c(j) * 0.5 - c(k) * 0.25; y(i) = y(j) * 0.5 - y(k) * 0.25;
    }
  }
  EXPECT_LT(launches_of([] {}, c), static_cast<std::uint64_t>(statements / 4));
  EXPECT_TRUE(equals(c, y));
}

}  // namespace
