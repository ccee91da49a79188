// Loops whose bodies need whole arrays, with loops in them; and few operations that may wait for each other.
#include "dsl/options.hpp"
#include "tests/backend/plain_loop.hpp"

#include <algorithm>

using namespace sinter;
using namespace sinter_test;

namespace {

using fold_repeat = fold;

/// Few pending operations while it lives.
class few_pending {
 public:
  explicit few_pending(std::int64_t operations) : before_(get_recording_limits()) {
    set_recording_limits({.operations = operations});
  }
  ~few_pending() { set_recording_limits(before_); }
  few_pending(const few_pending&) = delete;
  few_pending& operator=(const few_pending&) = delete;

 private:
  recording_limits before_;
};

void smooth(array& u) { u(range(1, -1)) = (u(range(0, -2)) + u(range(2, end))) * 0.5; }
void smooth(plain<double>& u) {
  const plain<double> old = u;
  for (std::size_t k = 1; k + 1 < u.values.size(); ++k) u.values[k] = (old.values[k - 1] + old.values[k + 1]) * 0.5;
}

TEST_F(fold_repeat, a_loop_of_a_few_smoothing_steps_in_each_step_is_one_submission) {
  plain<double> x = scattered_values<double>({50}), sums({50});
  array u = x.made(), v = sums.made();
  EXPECT_EQ(launches_of(
                [&] {
                  for (int t = 0; t < 40; ++t) {
                    for (int s = 0; s < 3; ++s) smooth(u);
                    v = v + u;
                  }
                },
                u, v),
            1u);
  for (int t = 0; t < 40; ++t) {
    for (int s = 0; s < 3; ++s) smooth(x);
    for (int k = 0; k < 50; ++k) sums(k) += x(k);
  }
  EXPECT_TRUE(equals(u, x));
  EXPECT_TRUE(equals(v, sums));
}

TEST_F(fold_repeat, several_arrays_in_a_vector_are_one_submission) {
  std::vector<array> us;
  std::vector<plain<double>> want;
  for (int k = 0; k < 6; ++k) {
    want.push_back(scattered_values<double>({30}, k + 1));
    us.push_back(want.back().made());
  }
  EXPECT_LE(counted([&] {
              for (int t = 0; t < 30; ++t)
                for (array& u : us) smooth(u);
              for (array& u : us) eval(u);
            }).launches,
            6u);
  for (int t = 0; t < 30; ++t)
    for (plain<double>& u : want) smooth(u);
  for (std::size_t k = 0; k < us.size(); ++k) EXPECT_TRUE(equals(us[k], want[k]));
}

TEST_F(fold_repeat, whole_rows_begun_in_one_loop_and_added_to_in_another) {
  plain<double> x = scattered_values<double>({12, 9}), y = scattered_values<double>({9, 14}, 2), product({12, 14}),
                doubled({12, 14});
  const array a = x.made(), b = y.made();
  array c = product.made(), d = doubled.made();
  const auto loop = [&] {
    for (int i = 0; i < 12; ++i) {
      c(i, all) = 0;
      for (int k = 0; k < 9; ++k) c(i, all) += a(i, k) * b(k, all);
      d(i, all) = c(i, all) * 2;
    }
  };
  EXPECT_EQ(launches_of(loop, c, d), 1u);
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j < 14; ++j) {
      for (int k = 0; k < 9; ++k) product(i, j) += x(i, k) * y(k, j);
      doubled(i, j) = product(i, j) * 2;
    }
  EXPECT_TRUE(equals(c, product));
  EXPECT_TRUE(equals(d, doubled));
}

TEST_F(fold_repeat, few_operations_may_wait_for_each_other) {
  for (const std::int64_t limit : {2, 7, 30}) {
    const few_pending only(limit);
    plain<double> x = scattered_values<double>({20, 8}), s({8});
    array a = x.made() * 1, sums = s.made();
    const auto steps = [](auto& p, auto& total) {
      for (int t = 0; t < 20; ++t) {
        for (int i = 1; i < 20; ++i)
          for (int j = 0; j < 8; ++j) p(i, j) = p(i - 1, j) * 0.5 + p(i, j);
        for (int j = 0; j < 8; ++j)
          for (int k = 0; k < 3; ++k) total(j) += p(k, j) * 0.25 - total(j) * 0.125;
      }
    };
    steps(a, sums);
    steps(x, s);
    EXPECT_TRUE(equals(a, x)) << limit;
    EXPECT_TRUE(equals(sums, s)) << limit;
  }
}

// A loop inside, whose iterations are independent, stays one: its body is not written out.
TEST_F(fold_repeat, loops_with_lanes_inside_a_repeated_body) {
  plain<double> x = scattered_values<double>({9, 40}), w = scattered_values<double>({9}, 2);
  array u = x.made();
  const array weights = w.made();
  EXPECT_EQ(launches_of(
                [&] {
                  for (int t = 0; t < 30; ++t) {
                    for (int i = 0; i < 9; ++i) u(i, 0) = u(i, 38) * weights(i);
                    for (int i = 0; i < 9; ++i)
                      for (int j = 0; j < 3; ++j) u(i, 10) += u(i, j) * 0.125;
                    u(all, range(1, -1)) = (u(all, range(0, -2)) + u(all, range(2, end))) * 0.5;
                  }
                },
                u),
            1u);
  for (int t = 0; t < 30; ++t) {
    for (int i = 0; i < 9; ++i) x(i, 0) = x(i, 38) * w(i);
    for (int i = 0; i < 9; ++i)
      for (int j = 0; j < 3; ++j) x(i, 10) += x(i, j) * 0.125;
    plain<double> old = x;
    for (int i = 0; i < 9; ++i)
      for (int j = 1; j < 39; ++j) x(i, j) = (old(i, j - 1) + old(i, j + 1)) * 0.5;
  }
  EXPECT_TRUE(equals(u, x));
}

// What no progression describes is a row of a table per step: factors, places, and how often a loop inside runs.
TEST_F(fold_repeat, tables_read_by_the_steps) {
  const std::vector<int> place{3, 17, 4, 4, 29, 11, 0}, often{9, 0, 12, 8, 8, 14, 11, 5, 13, 7, 10};
  const std::vector<double> factor{0.3, 0.71, -0.2, 0.9, 0.123, 0.5, -0.77, 0.01};
  for (const int steps : {6, 40, 300}) {
    plain<double> x = scattered_values<double>({30}), y = scattered_values<double>({14}, 3);
    array u = x.made(), v = y.made();
    const auto of = [](const auto& list, int t) { return list[static_cast<std::size_t>(t * t + t / 3) % list.size()]; };
    const std::uint64_t launches = launches_of(
        [&] {
          for (int t = 0; t < steps; ++t) {
            smooth(u);
            u(of(place, t)) += v(t % 2) * of(factor, t);
            for (int k = 0; k < of(often, t); ++k) v(k) = v(k) * 0.5 + u(k + 1);
          }
        },
        u, v);
    if (steps > 6) { EXPECT_EQ(launches, 1u) << steps; }
    for (int t = 0; t < steps; ++t) {
      smooth(x);
      x(of(place, t)) += y(t % 2) * of(factor, t);
      for (int k = 0; k < of(often, t); ++k) y(k) = y(k) * 0.5 + x(k + 1);
    }
    EXPECT_TRUE(equals(u, x)) << steps;
    EXPECT_TRUE(equals(v, y)) << steps;
  }
}

TEST_F(fold_repeat, steps_of_lengths_of_their_own_are_one_submission) {
  plain<double> dt = scattered_values<double>({400}, 5);
  for (double& d : dt.values) d /= 200;
  plain<double> x = scattered_values<double>({64});
  array u = x.made();
  EXPECT_EQ(launches_of(
                [&] {
                  for (int t = 0; t < 400; ++t)
                    u(range(1, -1)) += (u(range(0, -2)) - 2 * u(range(1, -1)) + u(range(2, end))) * dt(t);
                },
                u),
            1u);
  for (int t = 0; t < 400; ++t) {
    plain<double> old = x;
    for (int k = 1; k < 63; ++k) x(k) = old(k) + (old(k - 1) - 2 * old(k) + old(k + 1)) * dt(t);
  }
  EXPECT_TRUE(equals(u, x));
}

// Found by the fuzzer: a loop of no iterations beside others (seed 703175).
TEST_F(fold_repeat, triangles_that_end_empty) {
  plain<float> x = scattered_values<float>({4, 6, 5}), d = scattered_values<float>({6, 6}, 2);
  array v = x.made();
  const array w = d.made();
  for (int t = 0; t < 6; ++t) {
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 5 - t; ++k) v(i + 1, t, range(1, 4)) = w(k + 1, k);
    v(1, 1, 0) = max(v);
  }
  for (int t = 0; t < 6; ++t) {
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 5 - t; ++k)
        for (int j = 1; j < 4; ++j) x(i + 1, t, j) = d(k + 1, k);
    x(1, 1, 0) = *std::ranges::max_element(x.values);
  }
  EXPECT_TRUE(equals(v, x));
}

}  // namespace
