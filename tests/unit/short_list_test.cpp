// Lists held in place.
#include "jit/short_list.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace {

using namespace sinter;

struct pair {
  int first = 7, second = 8;
  friend bool operator==(const pair&, const pair&) = default;
};
using pairs = jit::short_list<pair, 4>;

TEST(short_list, holds_what_is_put_into_it) {
  pairs a;
  EXPECT_TRUE(a.empty());
  a.push_back({1, 2});
  a.append(std::vector<pair>{{3, 4}, {5, 6}});
  EXPECT_EQ(a, (std::vector<pair>{{1, 2}, {3, 4}, {5, 6}}));
  const pairs b = a, c{{1, 2}};
  EXPECT_EQ(a, b);
  EXPECT_FALSE(a == c);
  a = c;
  EXPECT_EQ(a.size(), 1u);
  EXPECT_EQ(b[2], (pair{5, 6}));
  a.clear();
  EXPECT_EQ(a, pairs());
}

TEST(short_list, grows_by_values_as_they_are_made) {
  pairs a(2);
  EXPECT_EQ(a, (std::vector<pair>{{7, 8}, {7, 8}}));
  a[0] = {1, 2};
  a.resize(1);
  a.resize(3);
  EXPECT_EQ(a, (std::vector<pair>{{1, 2}, {7, 8}, {7, 8}}));
}

TEST(short_list, has_no_more_room_than_it_says) {
  pairs a(4);
  EXPECT_THROW(a.push_back({}), internal_error);
  EXPECT_THROW(a.append(std::vector<pair>(1)), internal_error);
  EXPECT_THROW(a.resize(5), internal_error);
  EXPECT_THROW(pairs(std::vector<pair>(5)), internal_error);
  EXPECT_EQ(a.size(), 4u);
}

}  // namespace
