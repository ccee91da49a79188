// Loops whose bodies need whole arrays, with loops in them; and few operations that may wait for each other.
#include "dsl/options.hpp"
#include "tests/backend/plain_loop.hpp"

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

}  // namespace
