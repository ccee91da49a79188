// Kinds of loops that random programs found to be wrong, or without end.
#include "tests/backend/plain_loop.hpp"

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
  plain<double> x = scattered_values<double>({4}), y = scattered_values<double>({4}, 2), z = scattered_values<double>({4}, 3);
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

}  // namespace
