// Statements that are foreseen operation by operation: what a program does in the middle of one, holds on to, or does
// otherwise than in the iteration before.
#include "tests/backend/plain_loop.hpp"

#include <cstdint>
#include <thread>
#include <vector>

using namespace sinter;
using namespace sinter_test;

namespace {

using fold_foreseen = fold;

constexpr int n = 40;

TEST_F(fold_foreseen, values_kept_before_the_write_stay_as_they_were) {
  plain<double> x = scattered_values<double>({n}), want({n, n});
  const array a = x.made();
  array c = zeros({n, n});
  std::vector<array> kept;
  std::vector<double> kept_plainly;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      const array once = a(i), old = c(i, j), next = once * 2.0 + old;
      if ((i * 31 + j) % 97 == 0) {
        kept.push_back(once);
        kept.push_back(old);
        kept.push_back(next);
        for (const double v : {x(i), want(i, j), x(i) * 2 + want(i, j)}) kept_plainly.push_back(v);
      }
      c(i, j) = next;
      want(i, j) = x(i) * 2 + want(i, j);
      if (j > 0 && i > 0) {  // reads what the statement before has written
        c(i, j) += c(i, j - 1);
        want(i, j) += want(i, j - 1);
      }
    }
  EXPECT_TRUE(equals(c, want));
  for (std::size_t k = 0; k < kept.size(); ++k) EXPECT_EQ(kept[k].item<double>(), kept_plainly[k]) << k;
}

TEST_F(fold_foreseen, what_throws_in_the_middle_leaves_the_array_as_it_was) {
  plain<double> x = scattered_values<double>({n}), want({n, n});
  const array a = x.made();
  array c = zeros({n, n});
  int caught = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      const int k = i == 25 && j % 5 == 3 ? n : j;
      try {
        c(i, j) = a(i) * a(k);
      } catch (const index_error&) {
        ++caught;
        continue;
      }
      want(i, j) = x(i) * x(j);
    }
  EXPECT_EQ(caught, 8);
  EXPECT_TRUE(equals(c, want));
}

TEST_F(fold_foreseen, evaluation_and_reads_in_the_middle) {
  plain<double> x = scattered_values<double>({n}), want({n, n});
  const array a = x.made();
  array c = zeros({n, n});
  double seen = 0, seen_plainly = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      const array once = a(j) + 1;
      if (i == 20 && j % 13 == 5) eval(once);
      if (i == 30 && j % 13 == 5) {
        seen += c(i, j - 1).item<double>();
        seen_plainly += want(i, j - 1);
      }
      c(i, j) = once * a(i);
      want(i, j) = (x(j) + 1) * x(i);
    }
  EXPECT_EQ(seen, seen_plainly);
  EXPECT_TRUE(equals(c, want));
}

TEST_F(fold_foreseen, statements_begun_alike_end_differently) {
  plain<double> x = scattered_values<double>({n}), want({n, n}), other({n, n});
  const array a = x.made();
  array c = zeros({n, n}), d = zeros({n, n});
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      (j % 7 == 3 ? d : c)(i, j) = j % 11 == 4 ? a(i) - a(j) : a(i) * a(j);
      (j % 7 == 3 ? other : want)(i, j) = j % 11 == 4 ? x(i) - x(j) : x(i) * x(j);
    }
  EXPECT_TRUE(equals(c, want));
  EXPECT_TRUE(equals(d, other));
}

TEST_F(fold_foreseen, imperfect_nests_of_several_statements_and_numbers) {
  plain<double> x = scattered_values<double>({n}), want({n, n}), sums({n});
  const array a = x.made();
  array c = zeros({n, n}), s = ones({n});
  for (int i = 0; i < n; ++i) {
    s(i) = 0.5 * i;
    sums(i) = 0.5 * i;
    for (int j = 0; j < n; ++j) {
      c(i, j) = a(j) * (i + 0.25 * j) - 3.0;
      s(i) += c(i, j) * a(j);
      want(i, j) = x(j) * (i + 0.25 * j) - 3.0;
      sums(i) += want(i, j) * x(j);
    }
  }
  EXPECT_TRUE(equals(c, want));
  EXPECT_TRUE(equals(s, sums));
}

TEST_F(fold_foreseen, ranges_whose_lengths_change) {
  plain<double> x = scattered_values<double>({n}), want({n, n});
  const array a = x.made();
  array c = zeros({n, n});
  for (int t = 0; t < 20; ++t)
    for (int i = 0; i < n; ++i) {
      const int length = t < 15 ? 10 : 10 + i % 5, from = (i + t) % 20;
      c(i, range(from, from + length)) += a(range(0, length)) * 2.0;
      for (int k = 0; k < length; ++k) want(i, from + k) += x(k) * 2.0;
    }
  EXPECT_TRUE(equals(c, want));
}

TEST_F(fold_foreseen, a_copy_read_by_another_thread_meanwhile) {
  plain<double> x = scattered_values<double>({n}), want({n, n});
  const array a = x.made();
  array c = zeros({n, n});
  std::vector<double> seen, seen_plainly;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      c(i, j) = a(i) * a(j);
      want(i, j) = x(i) * x(j);
      if (i % 13 != 9 || j != 17) continue;
      double got = 0;
      std::thread([copy = c, i, &got] { got = (copy(i, 17) + copy(i, 16)).item<double>(); }).join();
      seen.push_back(got);
      seen_plainly.push_back(want(i, 17) + want(i, 16));
    }
  EXPECT_EQ(seen, seen_plainly);
  EXPECT_TRUE(equals(c, want));
}

TEST_F(fold_foreseen, all_statements_are_counted) {
  const array a = scattered_values<double>({n}).made();
  const elementwise squared_diff{"squared_diff", "T x, T y", "T z", "z = (x - y) * (x - y)"};
  array c = zeros({n, n}, f64);
  const statistics before = stats();
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) c(i, j) = squared_diff(a(i), a(j));
  eval(c);
  const statistics after = stats();
  EXPECT_EQ(after.statements - before.statements, static_cast<std::uint64_t>(n) * n);
  EXPECT_EQ(after.folded - before.folded, static_cast<std::uint64_t>(n) * n);
  EXPECT_EQ(after.launches - before.launches, 1u);
}

}  // namespace
