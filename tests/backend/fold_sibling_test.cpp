// Loops of statements in other forms than those of the cases: counters of other kinds, loops left early, several at
// once, arrays that are one another.
#include "tests/backend/plain_loop.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

using namespace sinter;
using namespace sinter_test;

namespace {

using fold_sibling = fold;

template <class T>
void nested(auto& c, auto&& x, auto&& y, int n, int m, int step) {
  for (int i = n - 1; i >= 0; i -= step)
    for (int j = i % 3; j < m; j += 2) c(i, j) = x(i) * static_cast<T>(3) - y(m - 1 - j);
}

template <class T>
void run_nested() {
  for (const int step : {1, 2, 3}) {
    plain<T> x = scattered_values<T>({23}), y = scattered_values<T>({18}, 2), c({23, 18}, static_cast<T>(7));
    array lc = c.made();
    const array lx = x.made(), ly = y.made();
    nested<T>(lc, lx, ly, 23, 18, step);
    nested<T>(c, x, y, 23, 18, step);
    EXPECT_TRUE(equals(lc, c)) << step;
  }
}

// L05 with steps backwards and beginnings that turn.
TEST_F(fold_sibling, nests_backwards_for_all_dtypes) {
  run_nested<double>();
  run_nested<float>();
  run_nested<std::int64_t>();
  run_nested<std::int32_t>();
}

TEST_F(fold_sibling, three_deep_with_bounds_of_two_counters) {
  plain<std::int64_t> x = scattered_values<std::int64_t>({16, 16}), c({16, 16, 16});
  array lc = c.made();
  const array lx = x.made();
  const auto loops = [](auto& to, auto&& from) {
    for (int i = 0; i < 16; ++i)
      for (int j = i; j < 16; j += 3)
        for (int k = j; k >= i; --k) to(i, j, k) += from(i, k) + from(k, j) * 2;
  };
  loops(lc, lx);
  loops(c, x);
  EXPECT_TRUE(equals(lc, c));
}

// L06: rotations of other lengths, and duplicated ones.
TEST_F(fold_sibling, variables_rotated_duplicated_and_exchanged) {
  for (const int steps : {1, 2, 3, 17, 60}) {
    const auto loop = [steps](auto& a, auto& b, auto& c, auto& d) {
      for (int t = 0; t < steps; ++t) {
        auto old = a;
        a = b;
        b = c;
        c = d;
        d = old;
        a(t % 5) += d(0);
        if (t % 4 == 3) b = a;
        if (t % 7 == 6) std::swap(c, d);
      }
    };
    plain<std::int64_t> p[4] = {scattered_values<std::int64_t>({5}, 1), scattered_values<std::int64_t>({5}, 2),
                                scattered_values<std::int64_t>({5}, 3), scattered_values<std::int64_t>({5}, 4)};
    array q[4] = {p[0].made(), p[1].made(), p[2].made(), p[3].made()};
    loop(q[0], q[1], q[2], q[3]);
    loop(p[0], p[1], p[2], p[3]);
    for (int k = 0; k < 4; ++k) EXPECT_TRUE(equals(q[k], p[k])) << steps << " " << k;
  }
}

// L08 with a step that is counted up in floating point, and a loop that ends by a break.
TEST_F(fold_sibling, floating_counters_and_breaks) {
  plain<double> x = scattered_values<double>({40}), v({40});
  array lx = x.made(), lv = v.made();
  int steps = 0;
  for (double t = 0; t < 3; t += 0.0625) {
    lv = lv - lx * t;
    lx = lx + lv * 0.125;
    if (++steps == 37) break;
    if (steps % 10 == 4) continue;
    lx(3) += t;
  }
  steps = 0;
  for (double t = 0; t < 3; t += 0.0625) {
    for (int k = 0; k < 40; ++k) v(k) = v(k) - x(k) * t;
    for (int k = 0; k < 40; ++k) x(k) = x(k) + v(k) * 0.125;
    if (++steps == 37) break;
    if (steps % 10 == 4) continue;
    x(3) += t;
  }
  EXPECT_TRUE(equals(lx, x));
  EXPECT_TRUE(equals(lv, v));
}

// L12: the other axis, forwards and back, and rows of one element.
TEST_F(fold_sibling, sweeps_along_each_axis) {
  for (const int n : {1, 2, 3, 30}) {
    plain<double> x = scattered_values<double>({n, n + 3});
    array a = x.made();
    const auto sweep = [n](auto& u) {
      for (int i = 1; i < n; ++i)
        for (int j = 0; j < n + 3; ++j) u(i, j) = u(i, j) - u(i - 1, j) * 0.25;
      for (int i = n - 2; i >= 0; --i)
        for (int j = 0; j < n + 3; ++j) u(i, j) = u(i, j) - u(i + 1, j) * 0.5;
      for (int j = n + 1; j >= 0; --j)
        for (int i = 0; i < n; ++i) u(i, j) = u(i, j) + u(i, j + 1) * 0.125;
    };
    sweep(a);
    sweep(x);
    EXPECT_TRUE(equals(a, x)) << n;
  }
}

TEST_F(fold_sibling, two_loops_at_once) {
  plain<double> x = scattered_values<double>({50}), y = scattered_values<double>({50}, 2), s({}), r({});
  array lx = x.made(), ly = y.made(), ls = s.made(), lr = r.made();
  for (int i = 0, j = 49; i < 50; ++i, j -= 2) {
    lx(i) = lx(i) * 2;
    if (j >= 0) ly(j) += lx(i);
    ls = ls + ly(i);
    if (i % 2 == 1) lr = lr + ls * 0.5;
  }
  for (int i = 0, j = 49; i < 50; ++i, j -= 2) {
    x(i) = x(i) * 2;
    if (j >= 0) y(j) += x(i);
    s.values[0] = s.values[0] + y(i);
    if (i % 2 == 1) r.values[0] = r.values[0] + s.values[0] * 0.5;
  }
  EXPECT_TRUE(equals(lx, x));
  EXPECT_TRUE(equals(ly, y));
  EXPECT_TRUE(equals(ls, s));
  EXPECT_TRUE(equals(lr, r));
}

TEST_F(fold_sibling, arrays_of_a_vector_that_read_their_neighbours) {
  for (const int count : {1, 2, 9}) {
    std::vector<plain<double>> p;
    std::vector<array> a;
    for (int k = 0; k < count; ++k) {
      p.push_back(scattered_values<double>({7}, k + 1));
      a.push_back(p.back().made());
    }
    const auto loop = [count](auto& list) {
      const auto n = static_cast<std::size_t>(count);
      for (int t = 0; t < 25; ++t)
        for (std::size_t k = 0; k < n; ++k)
          for (int i = 0; i < 7; ++i) list[k](i) = list[k](i) * 0.5 + list[(k + 1) % n](6 - i) * 0.25;
    };
    loop(a);
    loop(p);
    for (int k = 0; k < count; ++k)
      EXPECT_TRUE(equals(a[static_cast<std::size_t>(k)], p[static_cast<std::size_t>(k)])) << count << " " << k;
  }
}

// T01: other distances, several of them, in place in three dimensions.
TEST_F(fold_sibling, stencils_of_other_reach) {
  plain<double> x = scattered_values<double>({8, 9, 10});
  array a = x.made();
  for (int t = 0; t < 15; ++t)
    a(range(2, -1), all, range(1, -3)) = (a(range(0, -3), all, range(1, -3)) - a(range(3, end), all, range(0, -4)) +
                                          a(range(2, -1), all, range(4, end))) *
                                         0.5;
  for (int t = 0; t < 15; ++t) {
    plain<double> o = x;
    for (int i = 2; i < 7; ++i)
      for (int j = 0; j < 9; ++j)
        for (int k = 1; k < 7; ++k) x(i, j, k) = (o(i - 2, j, k) - o(i + 1, j, k - 1) + o(i, j, k + 3)) * 0.5;
  }
  EXPECT_TRUE(equals(a, x));
}

// P20 on a torus, by rolls that are written out as four slices each.
TEST_F(fold_sibling, life_with_edges_that_meet) {
  const int n = 12;
  plain<std::int32_t> z({n, n});
  lcg random(5);
  for (std::int32_t& v : z.values) v = static_cast<std::int32_t>(random.below(2));
  array cells = z.made();
  for (int t = 0; t < 20; ++t) {
    array count = zeros({n, n}, i32);
    for (const int di : {-1, 0, 1})
      for (const int dj : {-1, 0, 1})
        if (di != 0 || dj != 0) count = count + roll(roll(cells, di, 0), dj, 1);
    cells = where(count == 3 || (count == 2 && cells == 1), 1, 0).astype(i32);
  }
  for (int t = 0; t < 20; ++t) {
    plain<std::int32_t> next({n, n});
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        int count = 0;
        for (int di = -1; di <= 1; ++di)
          for (int dj = -1; dj <= 1; ++dj)
            if (di != 0 || dj != 0) count += z((i + di + n) % n, (j + dj + n) % n);
        next(i, j) = count == 3 || (count == 2 && z(i, j) == 1) ? 1 : 0;
      }
    z = next;
  }
  EXPECT_TRUE(equals(cells, z));
}

}  // namespace
