// Loops of statements fold into launches: what the statements may be. Views, reductions, joins, scatters, masks.
#include "tests/backend/plain_loop.hpp"

#include <cmath>
#include <functional>

using namespace sinter;
using namespace sinter_test;

namespace {

using fold_body = fold;

TEST_F(fold_body, views_as_first_values) {
  const plain<double> x = scattered_values<double>({6, 8});
  const auto at = [&](int i, int j) { return x.values[static_cast<std::size_t>(i * 8 + j)]; };
  struct form {
    const char* name;
    std::function<array(const array&)> view;
    std::function<double(int, int)> element;  // of [4, 5]
  };
  const form forms[] = {{"slice", [](const array& a) { return a(range(1, 5), range(2, 7)); },
                         [&](int i, int j) { return at(i + 1, j + 2); }},
                        {"steps", [](const array& a) { return a(range(0, 4), range(7, 2, -1)); },
                         [&](int i, int j) { return at(i, 7 - j); }},
                        {"transposed", [](const array& a) { return transpose(a)(range(0, 4), range(1, 6)); },
                         [&](int i, int j) { return at(j + 1, i); }},
                        {"reshaped",
                         [](const array& a) {
                           return reshape(reshape(a, {48})(range(0, 20)), {4, 5});
                         },
                         [&](int i, int j) { return at((i * 5 + j) / 8, (i * 5 + j) % 8); }},
                        {"broadcast",
                         [](const array& a) {
                           return broadcast_to(a(2, range(0, 5)), {4, 5});
                         },
                         [&](int, int j) { return at(2, j); }},
                        {"pending", [](const array& a) { return (a * 2)(range(0, 4), range(0, 5)); },
                         [&](int i, int j) { return at(i, j) * 2; }},
                        {"flipped", [](const array& a) { return flip(a(range(0, 4), range(0, 5)), 0); },
                         [&](int i, int j) { return at(3 - i, j); }}};
  for (const form& f : forms) {
    SCOPED_TRACE(f.name);
    const array a = x.made();
    array c = f.view(a), d = zeros({4, 5});
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 5; ++j) {
        d(i, j) = c(i, j) - i;
        c(i, j) = c(i, j) * 3 + j;
      }
    plain<double> want_c({4, 5}), want_d({4, 5});
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 5; ++j) {
        want_d(i, j) = f.element(i, j) - i;
        want_c(i, j) = f.element(i, j) * 3 + j;
      }
    EXPECT_TRUE(equals(c, want_c));
    EXPECT_TRUE(equals(d, want_d));
    EXPECT_TRUE(equals(a, x));
  }
}

TEST_F(fold_body, rows_columns_and_blocks) {
  plain<double> x = scattered_values<double>({12, 10}), want({12, 10}), blocks({12, 10});
  const array a = x.made();
  array c = zeros({12, 10}), b = zeros({12, 10}), columns = zeros({10, 12});
  eval(c, b, columns);
  EXPECT_EQ(launches_of(
                [&] {
                  for (int i = 0; i < 12; ++i) c(i, all) = a(11 - i, all) * i;
                },
                c),
            1u);
  EXPECT_EQ(launches_of(
                [&] {
                  for (int j = 0; j < 10; ++j) columns(j, all) = a(all, j) + j;
                },
                columns),
            1u);
  for (int i = 0; i < 12; i += 3)
    for (int j = 0; j < 10; j += 5)
      b(range(i, i + 3), range(j, j + 5)) = a(range(i, i + 3), range(j, j + 5)) * (i + j) + a(i, j);
  plain<double> turned({10, 12});
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j < 10; ++j) {
      want(i, j) = x(11 - i, j) * i;
      turned(j, i) = x(i, j) + j;
      blocks(i, j) = x(i, j) * (i / 3 * 3 + j / 5 * 5) + x(i / 3 * 3, j / 5 * 5);
    }
  EXPECT_TRUE(equals(c, want));
  EXPECT_TRUE(equals(columns, turned));
  EXPECT_TRUE(equals(b, blocks));
}

TEST_F(fold_body, windows_that_overlap) {
  plain<double> x = scattered_values<double>({30}), want({30}), own = x;
  const array a = x.made();
  array c = zeros({30}), o = x.made();
  for (int i = 0; i < 27; ++i) c(range(i, i + 3)) += a(range(i, i + 3)) * (i + 1);
  for (int i = 0; i < 27; ++i) o(range(i, i + 3)) = o(range(i + 1, i + 4)) + 1;
  for (int i = 0; i < 27; ++i)
    for (int k = i; k < i + 3; ++k) want(k) += x(k) * (i + 1);
  for (int i = 0; i < 27; ++i) {
    const plain<double> old = own;
    for (int k = i; k < i + 3; ++k) own(k) = old.values[static_cast<std::size_t>(k + 1)] + 1;
  }
  EXPECT_TRUE(equals(c, want));
  EXPECT_TRUE(equals(o, own));
}

TEST_F(fold_body, string_kernels) {
  const elementwise squared_diff{"squared_diff", "T x, T y", "T z", "z = (x - y) * (x - y)"};
  plain<float> x = scattered_values<float>({12}), y = scattered_values<float>({9}, 2), want({12, 9});
  const array a = x.made(), b = y.made();
  array c = zeros({12, 9}, f32);
  eval(c);
  const auto record = [&] {
    for (int i = 0; i < 12; ++i)
      for (int j = 0; j < 9; ++j) c(i, j) = squared_diff(a(i), b(j)) + 1;
  };
  EXPECT_EQ(launches_of(record, c), 1u);
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j < 9; ++j) want(i, j) = (x(i) - y(j)) * (x(i) - y(j)) + 1;
  EXPECT_TRUE(equals(c, want));
}

TEST_F(fold_body, reductions) {
  plain<std::int64_t> x = scattered_values<std::int64_t>({10, 7}), sums({10}), greatest({10}), places({10}),
                      state = scattered_values<std::int64_t>({8}, 3);
  const array a = x.made();
  array s = zeros({10}, i64), g = s, p = s, t = state.made();
  eval(s, g, p);
  EXPECT_EQ(launches_of(
                [&] {
                  for (int i = 0; i < 10; ++i) s(i) = sum(a(i, all)) * i;
                },
                s),
            1u);
  for (int i = 0; i < 10; ++i) {
    g(i) = max(a(i, range(1, -1))) - min(a(i, all));
    p(9 - i) = argmax(a(i, all));
  }
  for (int k = 0; k < 6; ++k) {
    t -= sum(t) / 8;
    t(k) = max(t) + k;
  }
  for (int i = 0; i < 10; ++i) {
    std::int64_t low = x(i, 0), high = x(i, 1);
    for (int j = 0; j < 7; ++j) {
      sums(i) += x(i, j);
      low = std::min(low, x(i, j));
      if (j > 0 && j < 6) high = std::max(high, x(i, j));
      if (x(i, j) > x(i, places(9 - i))) places(9 - i) = j;
    }
    sums(i) *= i;
    greatest(i) = high - low;
  }
  for (int k = 0; k < 6; ++k) {
    std::int64_t total = 0;
    for (int i = 0; i < 8; ++i) total += state(i);
    for (int i = 0; i < 8; ++i) state(i) -= total / 8;
    std::int64_t most = state(0);
    for (int i = 0; i < 8; ++i) most = std::max(most, state(i));
    state(k) = most + k;
  }
  EXPECT_TRUE(equals(s, sums));
  EXPECT_TRUE(equals(g, greatest));
  EXPECT_TRUE(equals(p, places));
  EXPECT_TRUE(equals(t, state));
}

TEST_F(fold_body, scans_along_rows) {
  plain<std::int64_t> x = scattered_values<std::int64_t>({9, 6}), want({9, 6});
  const array a = x.made();
  array c = zeros({9, 6}, i64);
  for (int i = 0; i < 9; ++i) c(i, all) = cumsum(a(8 - i, all), 0);
  for (int i = 0; i < 9; ++i)
    for (int j = 0; j < 6; ++j) want(i, j) = x(8 - i, j) + (j > 0 ? want(i, j - 1) : 0);
  EXPECT_TRUE(equals(c, want));
}

TEST_F(fold_body, joins) {
  plain<double> x = scattered_values<double>({10, 6}), want({10, 8}), pairs({10, 2, 6});
  const array a = x.made();
  array c = zeros({10, 8}), p = zeros({10, 2, 6}), ring = x.made();
  for (int i = 0; i < 10; ++i) {
    c(i, all) = concat({a(i, range(4, 6)), a(i, all) * 2}, 0);
    p(i, ellipsis) = stack({a(i, all), a(9 - i, all)}, 0);
  }
  for (int t = 0; t < 7; ++t) ring = concat({ring(range(1, end), all), ring(range(0, 1), all) + t}, 0);
  for (int i = 0; i < 10; ++i)
    for (int j = 0; j < 8; ++j) {
      want(i, j) = j < 2 ? x(i, 4 + j) : x(i, j - 2) * 2;
      if (j < 6) pairs(i, 0, j) = x(i, j);
      if (j < 6) pairs(i, 1, j) = x(9 - i, j);
    }
  plain<double> turned = x;
  for (int t = 0; t < 7; ++t) {
    const plain<double> old = turned;
    for (int i = 0; i < 10; ++i)
      for (int j = 0; j < 6; ++j)
        turned(i, j) =
            i < 9 ? old.values[static_cast<std::size_t>((i + 1) * 6 + j)] : old.values[static_cast<std::size_t>(j)] + t;
  }
  EXPECT_TRUE(equals(c, want));
  EXPECT_TRUE(equals(p, pairs));
  EXPECT_TRUE(equals(ring, turned));
}

TEST_F(fold_body, rows_joined_one_after_another) {
  plain<float> w = scattered_values<float>({40, 5}), want({60, 5});
  plain<std::int64_t> ids({60});
  for (int k = 0; k < 60; ++k) ids(k) = k * k % 40;
  const array table = w.made(), at = ids.made();
  array h = table(at(0), all)(newaxis, all);
  for (int k = 1; k < 60; ++k) h = concat({h, table(at(k), all)(newaxis, all)}, 0);
  for (int k = 0; k < 60; ++k)
    for (int j = 0; j < 5; ++j) want(k, j) = w(ids(k), j);
  EXPECT_TRUE(equals(h, want));
}

TEST_F(fold_body, scatters) {
  plain<double> x = scattered_values<double>({8, 5}), want({20}), last({20});
  plain<std::int64_t> at({8, 5});
  for (int i = 0; i < 8; ++i)
    for (int k = 0; k < 5; ++k) at(i, k) = (i * 3 + k * k * 7) % 20;
  const array a = x.made(), i = at.made();
  array sums = zeros({20}), l = zeros({20});
  for (int r = 0; r < 8; ++r) {
    sums(i(r, all)) += a(r, all) * 0.5;
    l(i(r, all)) = a(r, all) + r;
  }
  for (int r = 0; r < 8; ++r)
    for (int k = 0; k < 5; ++k) {
      want(at(r, k)) += x(r, k) * 0.5;
      last(at(r, k)) = x(r, k) + r;
    }
  EXPECT_TRUE(equals(sums, host_array(want.values), {1e-14, 0, false}));  // in any order within a statement
  EXPECT_TRUE(equals(l, last));
}

TEST_F(fold_body, masks_and_choices) {
  plain<double> x = scattered_values<double>({16}), y = x, rows = scattered_values<double>({6, 7}, 4);
  array a = x.made(), b = a, r = rows.made();
  for (int t = 0; t < 12; ++t) {
    a(a > 20 + t) *= 0.5;
    a(t) += 1;
    b = where(b % 2.0 < 1, b + t, b * 0.75);
  }
  for (int k = 0; k < 6; ++k) r(k, all) = where(r(k, all) > 10 * k, r(k, all) - 1, r(5 - k, all));
  for (int t = 0; t < 12; ++t) {
    for (int k = 0; k < 16; ++k)
      if (x(k) > 20 + t) x(k) *= 0.5;
    x(t) += 1;
    for (int k = 0; k < 16; ++k) y(k) = std::fmod(y(k), 2.0) < 1 ? y(k) + t : y(k) * 0.75;
  }
  for (int k = 0; k < 6; ++k)
    for (int j = 0; j < 7; ++j) rows(k, j) = rows(k, j) > 10 * k ? rows(k, j) - 1 : rows(5 - k, j);
  EXPECT_TRUE(equals(a, x));
  EXPECT_TRUE(equals(b, y));
  EXPECT_TRUE(equals(r, rows));
}

TEST_F(fold_body, stencils) {
  plain<double> u = scattered_values<double>({14, 15}), line = scattered_values<double>({50}, 2);
  array a = u.made(), l = line.made();
  constexpr range in(1, -1), low(0, -2), high(2, end);
  for (int t = 0; t < 25; ++t) {
    a(in, in) = (a(low, in) + a(high, in) + a(in, low) + a(in, high)) * 0.25;
    l(range(2, -2)) += (l(range(0, -4)) - l(range(4, end))) * 0.1;
  }
  for (int t = 0; t < 25; ++t) {
    plain<double> old = u, before = line;
    for (int i = 1; i < 13; ++i)
      for (int j = 1; j < 14; ++j) u(i, j) = (old(i - 1, j) + old(i + 1, j) + old(i, j - 1) + old(i, j + 1)) * 0.25;
    for (int i = 2; i < 48; ++i) line(i) += (before(i - 2) - before(i + 2)) * 0.1;
  }
  EXPECT_TRUE(equals(a, u));
  EXPECT_TRUE(equals(l, line));
}

TEST_F(fold_body, shifts_in_all_directions) {
  for (const int rows : {-3, -1, 0, 2})
    for (const int columns : {-2, 0, 1, 3}) {
      SCOPED_TRACE(testing::Message() << rows << ", " << columns);
      plain<std::int64_t> x = scattered_values<std::int64_t>({11, 12});
      array a = x.made();
      for (int t = 0; t < 9; ++t)
        a(range(3, 8), range(3, 9)) = a(range(3 + rows, 8 + rows), range(3 + columns, 9 + columns)) + 1;
      for (int t = 0; t < 9; ++t) {
        plain<std::int64_t> old = x;
        for (int i = 3; i < 8; ++i)
          for (int j = 3; j < 9; ++j) x(i, j) = old(i + rows, j + columns) + 1;
      }
      EXPECT_TRUE(equals(a, x));
    }
}

TEST_F(fold_body, whole_arrays_and_conversions) {
  plain<std::int32_t> x = scattered_values<std::int32_t>({21});
  plain<double> y = scattered_values<double>({21}, 2);
  array a = x.made(), b = y.made();
  const auto record = [&] {
    for (int t = 0; t < 50; ++t) {
      a = (b * 0.5).astype(i32) + a % 7;
      b = sqrt(abs(b)) + a;
    }
  };
  EXPECT_EQ(launches_of(record, a, b), 1u);
  for (int t = 0; t < 50; ++t)
    for (int i = 0; i < 21; ++i) {
      x(i) = static_cast<std::int32_t>(y(i) * 0.5) + x(i) % 7;
      y(i) = std::sqrt(std::abs(y(i))) + x(i);
    }
  EXPECT_TRUE(equals(a, x));
  EXPECT_TRUE(equals(b, y));
}

TEST_F(fold_body, statements_of_different_ranks) {
  plain<double> m = scattered_values<double>({9, 9}), v = scattered_values<double>({9}, 2);
  double s = 0;
  array a = m.made(), b = v.made(), t = zeros({});
  for (int k = 0; k < 9; ++k) {
    b = b + a(k, all);
    a(all, k) = b * 0.5;
    t += b(k);
    a(k, k) = t;
  }
  for (int k = 0; k < 9; ++k) {
    for (int i = 0; i < 9; ++i) v(i) += m(k, i);
    for (int i = 0; i < 9; ++i) m(i, k) = v(i) * 0.5;
    s += v(k);
    m(k, k) = s;
  }
  EXPECT_TRUE(equals(a, m));
  EXPECT_TRUE(equals(b, v));
  EXPECT_EQ(t.item<double>(), s);
}

TEST_F(fold_body, ramps) {
  array a = zeros({12, 5}, i64);
  eval(a);
  EXPECT_EQ(launches_of(
                [&] {
                  for (int i = 0; i < 12; ++i) a(i, all) = arange(5) * i + 2;
                },
                a),
            1u);
  plain<std::int64_t> want({12, 5});
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j < 5; ++j) want(i, j) = j * i + 2;
  EXPECT_TRUE(equals(a, want));
}

TEST_F(fold_body, loops_inside_kernels) {
  plain<std::int64_t> x = scattered_values<std::int64_t>({10});
  array a = x.made();
  for (int t = 0; t < 10; ++t) a(t) = for_loop(t, a(t), [&](const array& s) { return s * 2 + 1; });
  for (int t = 0; t < 10; ++t)
    for (int k = 0; k < t; ++k) x(t) = x(t) * 2 + 1;
  EXPECT_TRUE(equals(a, x));
}

TEST_F(fold_body, empty_and_single_arrays) {
  array none = zeros({0, 4}), one = full({1, 1}, 2.0);
  for (int t = 0; t < 20; ++t) {
    none = none * 2 + t;
    one(0, 0) = one(0, 0) * 0.5 + t;
  }
  double want = 2;
  for (int t = 0; t < 20; ++t) want = want * 0.5 + t;
  EXPECT_EQ(none.extents(), (shape{0, 4}));
  EXPECT_TRUE(equals(none, host_array(f64, {0, 4})));
  EXPECT_EQ(one.item<double>(), want);
}

}  // namespace
