// Progressions compared by their formulas and by listing their elements.
#include "jit/region.hpp"

#include <gtest/gtest.h>

#include <set>

namespace {

using sinter::jit::axis_map;
using sinter::jit::contains;
using sinter::jit::disjoint;
using sinter::jit::progression;

std::set<std::int64_t> elements(const progression& p) {
  std::set<std::int64_t> out;
  for (std::int64_t k = 0; k < p.count; ++k) out.insert(p.first + p.step * k);
  return out;
}

TEST(region, progressions_meet_exactly_when_they_share_an_element) {
  for (std::int64_t step_a = 1; step_a <= 6; ++step_a)
    for (std::int64_t step_b = 1; step_b <= 6; ++step_b)
      for (std::int64_t first_b = -7; first_b <= 9; ++first_b)
        for (std::int64_t count_a = 1; count_a <= 4; ++count_a)
          for (std::int64_t count_b = 1; count_b <= 4; ++count_b) {
            const progression a{2, step_a, count_a}, b{first_b, step_b, count_b};
            const std::set<std::int64_t> in_a = elements(a), in_b = elements(b);
            bool meets = false, within = true;
            for (const std::int64_t x : in_b) {
              meets |= in_a.contains(x);
              within &= in_a.contains(x);
            }
            ASSERT_EQ(disjoint(a, b), !meets)
                << step_a << " " << step_b << " " << first_b << " " << count_a << " " << count_b;
            if (count_a > 1) { ASSERT_EQ(contains(a, b), within) << step_a << " " << step_b << " " << first_b; }
          }
}

TEST(region, huge_progressions_do_not_overflow) {
  const std::int64_t far = std::int64_t{1} << 61;
  EXPECT_TRUE(disjoint(progression{0, 6, far / 6}, progression{3, 12, far / 12}));
  EXPECT_FALSE(disjoint(progression{0, 6, far / 6}, progression{3, 9, far / 9}));
  EXPECT_FALSE(disjoint(progression{1, 1000003, far / 1000003}, progression{2, 999983, far / 999983}));
  EXPECT_TRUE(contains(progression{0, 2, far / 2}, progression{far / 2, 4, 1000}));
}

TEST(region, a_map_takes_what_it_says_in_ascending_order) {
  const progression down = taken(axis_map{9, -3, 0}, {4});
  EXPECT_EQ(elements(down), (std::set<std::int64_t>{0, 3, 6, 9}));
  EXPECT_EQ(taken(axis_map{5, 7, 0}, {1}).last(), 5);
  EXPECT_EQ(taken(axis_map{5, 0, -1}, {4}).count, 1);
}

}  // namespace
