// Loops of statements fold into launches: nests of all kinds. Every loop is written a second time in plain C++.
#include "tests/backend/plain_loop.hpp"

using namespace sinter;
using namespace sinter_test;

namespace {

using fold_nest = fold;

TEST_F(fold_nest, one_loop) {
  plain<double> x = scattered_values<double>({60}), want({60});
  const array a = x.made();
  array c = zeros({60});
  EXPECT_EQ(launches_of(
                [&] {
                  for (int i = 0; i < 60; ++i) c(i) = a(i) * 3 + 1;
                },
                c),
            1u);
  for (int i = 0; i < 60; ++i) want(i) = x(i) * 3 + 1;
  EXPECT_TRUE(equals(c, want));
}

TEST_F(fold_nest, two_loops_make_a_broadcast) {
  plain<double> x = scattered_values<double>({30}), y = scattered_values<double>({20}, 2), want({30, 20});
  const array a = x.made(), b = y.made();
  array c = zeros({30, 20});
  const auto record = [&] {
    for (int i = 0; i < 30; ++i)
      for (int j = 0; j < 20; ++j) c(i, j) = square(a(i) - b(j));
  };
  EXPECT_EQ(launches_of(record, c), 1u);
  for (int i = 0; i < 30; ++i)
    for (int j = 0; j < 20; ++j) want(i, j) = (x(i) - y(j)) * (x(i) - y(j));
  EXPECT_TRUE(equals(c, want));
  EXPECT_TRUE(equals(square(a(all, newaxis) - b(newaxis, all)), want));
}

TEST_F(fold_nest, three_and_four_loops) {
  plain<double> x = scattered_values<double>({5, 6}), y = scattered_values<double>({4, 7}, 2), want({5, 4, 6, 7}),
                sums({5, 4, 7});
  const array a = x.made(), b = y.made();
  array c = zeros({5, 4, 6, 7}), s = zeros({5, 4, 7});
  const auto three = [&] {
    for (int i = 0; i < 5; ++i)
      for (int j = 0; j < 4; ++j)
        for (int k = 0; k < 7; ++k) s(i, j, k) = a(i, j) - b(j, k);
  };
  const auto four = [&] {
    for (int i = 0; i < 5; ++i)
      for (int j = 0; j < 4; ++j)
        for (int k = 0; k < 6; ++k)
          for (int l = 0; l < 7; ++l) c(i, j, k, l) = a(i, k) * b(j, l) + i * 10 - l;
  };
  EXPECT_EQ(launches_of(three, s), 1u);
  EXPECT_EQ(launches_of(four, c), 1u);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 4; ++j)
      for (int l = 0; l < 7; ++l) {
        sums(i, j, l) = x(i, j) - y(j, l);
        for (int k = 0; k < 6; ++k) want(i, j, k, l) = x(i, k) * y(j, l) + i * 10 - l;
      }
  EXPECT_TRUE(equals(s, sums));
  EXPECT_TRUE(equals(c, want));
}

/// f(i, j, k) for all of 7 x 8 x 9, the loops in the given order.
template <class F>
void in_order(const int (&order)[3], F f) {
  const int extents[] = {7, 8, 9};
  int at[3];
  for (at[order[0]] = 0; at[order[0]] < extents[order[0]]; ++at[order[0]])
    for (at[order[1]] = 0; at[order[1]] < extents[order[1]]; ++at[order[1]])
      for (at[order[2]] = 0; at[order[2]] < extents[order[2]]; ++at[order[2]]) f(at[0], at[1], at[2]);
}

TEST_F(fold_nest, matrix_products_in_every_order_of_loops) {
  plain<double> x = scattered_values<double>({7, 9}), y = scattered_values<double>({9, 8}, 2);
  const array a = x.made(), b = y.made();
  constexpr int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (const auto& order : orders) {
    SCOPED_TRACE(testing::Message() << order[0] << order[1] << order[2]);
    plain<double> want({7, 8}, 0.25);
    array c = full({7, 8}, 0.25);
    const auto record = [&] { in_order(order, [&](int i, int j, int k) { c(i, j) += a(i, k) * b(k, j); }); };
    EXPECT_EQ(launches_of(record, c), 1u);
    in_order(order, [&](int i, int j, int k) { want(i, j) += x(i, k) * y(k, j); });
    EXPECT_TRUE(equals(c, want));
  }
}

TEST_F(fold_nest, imperfect_nests) {
  plain<double> x = scattered_values<double>({12, 9}), want({12}), norms({12}, -1);
  const array a = x.made();
  array s = zeros({12}), n = full({12}, -1.0);
  const auto record = [&] {
    for (int i = 0; i < 12; ++i) {
      s(i) = i * 0.5;
      for (int k = 0; k < 9; ++k) s(i) += a(i, k) * a(i, k);
      n(i) = s(i) * 2 - 1;
    }
  };
  EXPECT_EQ(launches_of(record, s, n), 1u);
  for (int i = 0; i < 12; ++i) {
    want(i) = i * 0.5;
    for (int k = 0; k < 9; ++k) want(i) += x(i, k) * x(i, k);
    norms(i) = want(i) * 2 - 1;
  }
  EXPECT_TRUE(equals(s, want));
  EXPECT_TRUE(equals(n, norms));
}

TEST_F(fold_nest, imperfect_nests_in_the_middle) {
  plain<double> x = scattered_values<double>({8, 6}), want({8, 5}), rows({8});
  const array a = x.made();
  array c = zeros({8, 5}), r = zeros({8});
  const auto record = [&] {
    for (int i = 0; i < 8; ++i) {
      for (int j = 0; j < 5; ++j) {
        c(i, j) = a(i, j) - a(i, j + 1);
        for (int k = 0; k < 3; ++k) c(i, j) = c(i, j) * 0.5 + a(i, k);
      }
      r(i) = a(i, 0) * 2;
    }
  };
  EXPECT_LE(launches_of(record, c, r), 4u);
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 5; ++j) {
      want(i, j) = x(i, j) - x(i, j + 1);
      for (int k = 0; k < 3; ++k) want(i, j) = want(i, j) * 0.5 + x(i, k);
    }
    rows(i) = x(i, 0) * 2;
  }
  EXPECT_TRUE(equals(c, want));
  EXPECT_TRUE(equals(r, rows));
}

TEST_F(fold_nest, triangles) {
  plain<std::int64_t> lower({25, 25}), upper({25, 25}), inner({25, 25}), anti({25, 25});
  array a = zeros({25, 25}, i64), b = a, c = a, d = a;
  const auto each = [](auto& w, auto& x, auto& y, auto& z) {
    for (int i = 0; i < 25; ++i)
      for (int j = 0; j <= i; ++j) w(i, j) = 1000 * i + j;
    for (int i = 0; i < 25; ++i)
      for (int j = i; j < 25; ++j) x(i, j) = 1000 * i - j;
    for (int i = 1; i < 24; ++i)
      for (int j = 24; j > i; --j) y(j, i) = 100 * i + 3 * j;
    for (int i = 0; i < 25; ++i)
      for (int j = 0; j < 25 - i; ++j) z(i, j + i) = i - j;
  };
  EXPECT_LE(launches_of([&] { each(a, b, c, d); }, a, b, c, d), 4u);
  each(lower, upper, inner, anti);
  EXPECT_TRUE(equals(a, lower));
  EXPECT_TRUE(equals(b, upper));
  EXPECT_TRUE(equals(c, inner));
  EXPECT_TRUE(equals(d, anti));
}

TEST_F(fold_nest, a_triangle_is_one_launch) {
  plain<double> x = scattered_values<double>({20, 20}), want({20, 20}, 7);
  const array a = x.made();
  array c = full({20, 20}, 7.0);
  const auto record = [&] {
    for (int i = 0; i < 20; ++i)
      for (int j = 0; j <= i; ++j) c(i, j) = a(j, i) * 2;
  };
  EXPECT_EQ(launches_of(record, c), 1u);
  for (int i = 0; i < 20; ++i)
    for (int j = 0; j <= i; ++j) want(i, j) = x(j, i) * 2;
  EXPECT_TRUE(equals(c, want));
}

TEST_F(fold_nest, sums_over_triangles) {
  plain<double> x = scattered_values<double>({20, 20}), want({20});
  const array a = x.made();
  array s = zeros({20});
  const auto record = [&] {
    for (int i = 0; i < 20; ++i)
      for (int j = 0; j < i; ++j) s(i) += a(i, j);
  };
  EXPECT_LE(launches_of(record, s), 2u);
  for (int i = 0; i < 20; ++i)
    for (int j = 0; j < i; ++j) want(i) += x(i, j);
  EXPECT_TRUE(equals(s, want));
}

TEST_F(fold_nest, negative_and_wide_steps) {
  plain<double> x = scattered_values<double>({60}), back({60}), wide({60}), both({10, 12});
  const array a = x.made();
  array b = zeros({60}), w = zeros({60}), t = zeros({10, 12});
  const auto each = [](auto& p, auto& q, auto& r, auto& from) {
    for (int i = 59; i >= 0; --i) p(i) = from(59 - i) + i;
    for (int i = 2; i < 60; i += 7) q(i) = from(i / 7) * i;
    for (int i = 9; i >= 0; i -= 3)
      for (int j = 11; j > 0; j -= 2) r(i, j) = from(i + 2 * j) - j;
  };
  each(back, wide, both, x);
  EXPECT_LE(launches_of([&] { each(b, w, t, a); }, b, w, t), 3u);
  EXPECT_TRUE(equals(b, back));
  EXPECT_TRUE(equals(w, wide));
  EXPECT_TRUE(equals(t, both));
}

TEST_F(fold_nest, indices_counted_from_the_end) {
  plain<double> x = scattered_values<double>({40}), want({40});
  const array a = x.made();
  array c = zeros({40});
  EXPECT_EQ(launches_of(
                [&] {
                  for (int i = 1; i <= 40; ++i) c(-i) = a(i - 1) * 2;
                },
                c),
            1u);
  for (int i = 1; i <= 40; ++i) want(40 - i) = x(i - 1) * 2;
  EXPECT_TRUE(equals(c, want));
}

TEST_F(fold_nest, loops_among_other_work) {
  plain<double> x = scattered_values<double>({30}), want({30});
  const array a = x.made();
  array c = zeros({30}), before = a * 2, other = a + 1;
  c(3) = 5.0;
  c = c + before;
  for (int i = 4; i < 25; ++i) c(i) = c(i) * a(i) - 3;
  const array middle = c * 1;
  other(7) += sum(c);
  for (int i = 0; i < 30; ++i) c(i) += other(7) + i;
  c(0) = middle(1);
  want(3) = 5;
  for (int i = 0; i < 30; ++i) want(i) += x(i) * 2;
  for (int i = 4; i < 25; ++i) want(i) = want(i) * x(i) - 3;
  const double second = want(1), total = sum(middle).item<double>();
  const double seventh = x(7) + 1 + total;
  plain<double> half = want;
  for (int i = 0; i < 30; ++i) want(i) += seventh + i;
  want(0) = second;
  EXPECT_TRUE(equals(c, want));
  EXPECT_TRUE(equals(middle, half));
}

TEST_F(fold_nest, two_loops_after_one_another) {
  plain<double> x = scattered_values<double>({40}), want({40}), sums({40});
  const array a = x.made();
  array c = zeros({40}), s = zeros({40});
  const auto each = [](auto& to, auto& sum, auto& from) {
    for (int i = 0; i < 40; ++i) to(i) = from(i) * from(39 - i);
    for (int i = 1; i < 39; ++i) sum(i) = to(i - 1) + to(i + 1);
  };
  each(want, sums, x);
  EXPECT_LE(launches_of([&] { each(c, s, a); }, c, s), 2u);
  EXPECT_TRUE(equals(c, want));
  EXPECT_TRUE(equals(s, sums));
}

TEST_F(fold_nest, statements_on_several_arrays) {
  plain<double> x = scattered_values<double>({50}), p({50}), q({50}, 1), r({50}, 2);
  const array a = x.made();
  array u = zeros({50}), v = ones({50}), w = full({50}, 2.0);
  eval(u, v, w);
  const auto each = [](auto& from, auto& one, auto& two, auto& three) {
    for (int i = 0; i < 50; ++i) {
      one(i) = from(i) + two(i);
      two(i) = one(i) * three(i);
      three(i) -= two(i) * 0.5;
      one(i) *= three(i);
    }
  };
  each(x, p, q, r);
  EXPECT_EQ(launches_of([&] { each(a, u, v, w); }, u, v, w), 1u);
  EXPECT_TRUE(equals(u, p));
  EXPECT_TRUE(equals(v, q));
  EXPECT_TRUE(equals(w, r));
}

TEST_F(fold_nest, time_steps_of_columns) {
  plain<float> b({40, 4});
  for (int i = 0; i < 40; ++i) {
    b(i, 2) = static_cast<float>(i) * 0.37f;
    b(i, 3) = 0.01f;
  }
  array a = b.made();
  const auto record = [&] {
    for (int t = 0; t < 300; ++t) {
      a(all, 0) += a(all, 2);
      a(all, 2) += a(all, 3);
    }
  };
  EXPECT_EQ(launches_of(record, a), 1u);
  for (int t = 0; t < 300; ++t) {
    for (int i = 0; i < 40; ++i) b(i, 0) += b(i, 2);
    for (int i = 0; i < 40; ++i) b(i, 2) += b(i, 3);
  }
  EXPECT_TRUE(equals(a, b));
}

TEST_F(fold_nest, recurrences_along_an_axis) {
  plain<double> x = scattered_values<double>({30, 17}), line = scattered_values<double>({80}, 3);
  array a = x.made(), l = line.made();
  const auto rows = [](auto& to) {
    for (int i = 1; i < 30; ++i)
      for (int j = 0; j < 17; ++j) to(i, j) = to(i - 1, j) * 0.5 + to(i, j);
  };
  const auto first_order = [](auto& to) {
    for (int i = 1; i < 80; ++i) to(i) = to(i - 1) * 0.25 + to(i);
    for (int i = 78; i >= 0; --i) to(i) = to(i + 1) * 0.5 - to(i);
  };
  rows(x);
  first_order(line);
  rows(a);
  first_order(l);
  EXPECT_TRUE(equals(a, x));
  EXPECT_TRUE(equals(l, line));
}

TEST_F(fold_nest, wavefronts_and_longer_distances) {
  plain<double> x = scattered_values<double>({12, 13}), far = scattered_values<double>({64}, 5);
  array a = x.made(), f = far.made();
  const auto each = [](auto& plane, auto& line) {
    for (int i = 1; i < 12; ++i)
      for (int j = 1; j < 13; ++j) plane(i, j) = (plane(i - 1, j) + plane(i, j - 1)) * 0.5 - plane(i - 1, j - 1);
    for (int i = 8; i < 64; ++i) line(i) = line(i - 8) + line(i) * 0.5;
  };
  each(x, far);
  each(a, f);
  EXPECT_TRUE(equals(a, x));
  EXPECT_TRUE(equals(f, far));
}

TEST_F(fold_nest, elements_shifted_in_place) {
  for (const int shift : {-3, -2, -1, 1, 2, 3}) {
    SCOPED_TRACE(shift);
    plain<double> x = scattered_values<double>({40});
    array a = x.made(), backwards = a;
    for (int i = 3; i < 37; ++i) a(i) = a(i + shift) + 1;
    for (int i = 36; i >= 3; --i) backwards(i) = backwards(i + shift) + 1;
    plain<double> y = x;
    for (int i = 3; i < 37; ++i) x(i) = x(i + shift) + 1;
    for (int i = 36; i >= 3; --i) y(i) = y(i + shift) + 1;
    EXPECT_TRUE(equals(a, x));
    EXPECT_TRUE(equals(backwards, y));
  }
}

TEST_F(fold_nest, elimination_and_shortest_paths) {
  plain<double> m = scattered_values<double>({14, 14}), d = scattered_values<double>({13, 13}, 2);
  for (int i = 0; i < 14; ++i) m(i, i) += 3000;
  array a = m.made(), e = d.made();
  for (int k = 0; k < 14; ++k)
    for (int i = k + 1; i < 14; ++i) {
      a(i, k) = a(i, k) / a(k, k);
      for (int j = k + 1; j < 14; ++j) a(i, j) -= a(i, k) * a(k, j);
    }
  for (int k = 0; k < 13; ++k) e = minimum(e, e(all, k)(all, newaxis) + e(k, all));
  for (int k = 0; k < 14; ++k)
    for (int i = k + 1; i < 14; ++i) {
      m(i, k) = m(i, k) / m(k, k);
      for (int j = k + 1; j < 14; ++j) m(i, j) -= m(i, k) * m(k, j);
    }
  for (int k = 0; k < 13; ++k) {
    plain<double> old = d;
    for (int i = 0; i < 13; ++i)
      for (int j = 0; j < 13; ++j) d(i, j) = std::min(old(i, j), old(i, k) + old(k, j));
  }
  EXPECT_TRUE(equals(a, m));
  EXPECT_TRUE(equals(e, d));
}

TEST_F(fold_nest, loops_of_no_and_of_few_iterations) {
  for (const int n : {0, 1, 2, 3, 4, 7, 8, 9}) {
    SCOPED_TRACE(n);
    plain<double> x = scattered_values<double>({10}), want({10, 3}, 4);
    const array a = x.made();
    array c = full({10, 3}, 4.0);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n % 4; ++j) c(i, j) = a(i) * j;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n % 4; ++j) want(i, j) = x(i) * j;
    EXPECT_TRUE(equals(c, want));
  }
}

}  // namespace
