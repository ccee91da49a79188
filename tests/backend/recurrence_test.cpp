// Recurrences: loops whose elements need those of iterations before. Every loop is written a second time in plain C++.
#include "tests/backend/plain_loop.hpp"

#include <cmath>

using namespace sinter;
using namespace sinter_test;

namespace {

using recurrence = fold;

TEST_F(recurrence, an_element_from_the_one_before_is_one_launch) {
  plain<double> x = scattered_values<double>({300}), line = scattered_values<double>({300}, 3);
  const array a = x.made();
  array l = line.made();
  const auto loop = [&] {
    for (int i = 1; i < 300; ++i) l(i) = l(i - 1) * 0.5 + a(i);
  };
  EXPECT_EQ(launches_of(loop, l), 1u);
  for (int i = 1; i < 300; ++i) line(i) = line(i - 1) * 0.5 + x(i);
  EXPECT_TRUE(equals(l, line));
}

TEST_F(recurrence, from_the_two_before) {
  plain<std::int64_t> want({90});
  want(1) = 1;
  array f = want.made();
  const auto loop = [&] {
    for (int i = 2; i < 90; ++i) f(i) = f(i - 1) + f(i - 2);
  };
  EXPECT_EQ(launches_of(loop, f), 1u);
  for (int i = 2; i < 90; ++i) want(i) = want(i - 1) + want(i - 2);
  EXPECT_TRUE(equals(f, want));
}

TEST_F(recurrence, begins_in_an_array_that_is_not_there_yet) {
  array f = zeros({80}, i64);
  f(1) = 1;
  for (int i = 2; i < 80; ++i) f(i) = f(i - 1) + f(i - 2);
  plain<std::int64_t> want({80});
  want(1) = 1;
  for (int i = 2; i < 80; ++i) want(i) = want(i - 1) + want(i - 2);
  EXPECT_TRUE(equals(f, want));
}

TEST_F(recurrence, rows_and_columns_whole) {
  plain<double> x = scattered_values<double>({40, 19}), y = scattered_values<double>({40}, 2), rows = x, columns = x;
  const array a = x.made(), b = y.made();
  array r = a * 1, c = a * 1;
  eval(r, c);
  const auto down = [&] {
    for (int i = 1; i < 40; ++i) r(i, all) = r(i - 1, all) * b(i) - a(i, all);
  };
  const auto across = [&] {
    for (int j = 17; j >= 0; --j) c(all, j) = c(all, j + 1) * 0.25 + a(all, j);
  };
  EXPECT_EQ(launches_of(down, r), 1u);
  EXPECT_EQ(launches_of(across, c), 1u);
  for (int i = 1; i < 40; ++i)
    for (int j = 0; j < 19; ++j) rows(i, j) = rows(i - 1, j) * y(i) - x(i, j);
  for (int j = 17; j >= 0; --j)
    for (int i = 0; i < 40; ++i) columns(i, j) = columns(i, j + 1) * 0.25 + x(i, j);
  EXPECT_TRUE(equals(r, rows));
  EXPECT_TRUE(equals(c, columns));
}

TEST_F(recurrence, element_by_element_with_another_loop_in_or_around_it) {
  plain<double> inner = scattered_values<double>({30, 21}), outer = scattered_values<double>({21, 30}, 4);
  array in = inner.made(), out = outer.made();
  const auto inside = [](auto& a) {
    for (int i = 1; i < 30; ++i)
      for (int j = 0; j < 21; ++j) a(i, j) = a(i - 1, j) * 0.5 + a(i, j);
  };
  const auto around = [](auto& a) {
    for (int j = 0; j < 21; ++j)
      for (int i = 3; i < 30; i += 3) a(j, i) = a(j, i - 3) - a(j, i);
  };
  EXPECT_EQ(launches_of([&] { inside(in); }, in), 1u);
  EXPECT_EQ(launches_of([&] { around(out); }, out), 1u);
  inside(inner);
  around(outer);
  EXPECT_TRUE(equals(in, inner));
  EXPECT_TRUE(equals(out, outer));
}

TEST_F(recurrence, several_arrays_that_need_each_other) {
  plain<double> x = scattered_values<double>({120}), y = scattered_values<double>({120}, 2);
  array a = x.made(), b = y.made();
  const auto loop = [](auto& p, auto& q) {
    for (int i = 1; i < 120; ++i) {
      p(i) = q(i - 1) * 0.5 + p(i);
      q(i) = p(i) - q(i - 1) * 0.25;
    }
  };
  EXPECT_EQ(launches_of([&] { loop(a, b); }, a, b), 1u);
  loop(x, y);
  EXPECT_TRUE(equals(a, x));
  EXPECT_TRUE(equals(b, y));
}

TEST_F(recurrence, with_a_value_that_stays_in_its_place) {
  plain<double> x = scattered_values<double>({150}), total({1});
  array a = x.made(), s = total.made();
  const auto loop = [](auto& p, auto& sum) {
    for (int i = 1; i < 150; ++i) {
      p(i) = p(i - 1) * 0.5 + sum(0) * 0.125 + p(0);
      sum(0) += p(i);
    }
  };
  loop(a, s);
  loop(x, total);
  EXPECT_TRUE(equals(a, x));
  EXPECT_TRUE(equals(s, total));
}

TEST_F(recurrence, two_places_of_one_array_in_turns) {
  plain<double> x = scattered_values<double>({101});
  array a = x.made();
  const auto loop = [](auto& p) {
    for (int i = 1; i < 50; ++i) {
      p(2 * i) = p(2 * i - 1) * 0.5 + 1;
      p(2 * i + 1) = p(2 * i) - p(2 * i - 2);
    }
  };
  loop(a);
  loop(x);
  EXPECT_TRUE(equals(a, x));
}

TEST_F(recurrence, a_copy_keeps_what_it_was) {
  plain<double> x = scattered_values<double>({200}), want = x;
  array a = x.made();
  const array before = a;
  for (int i = 1; i < 200; ++i) a(i) = a(i - 1) * 0.5 + 1;
  for (int i = 1; i < 200; ++i) want(i) = want(i - 1) * 0.5 + 1;
  EXPECT_TRUE(equals(a, want));
  EXPECT_TRUE(equals(before, x));
}

TEST_F(recurrence, old_elements_ahead_and_new_ones_behind) {
  plain<double> x = scattered_values<double>({140});
  array a = x.made();
  const auto relax = [](auto& p) {
    for (int i = 1; i < 139; ++i) p(i) = (p(i - 1) + p(i + 1)) * 0.5;
  };
  relax(a);
  relax(x);
  EXPECT_TRUE(equals(a, x));
}

TEST_F(recurrence, a_sum_inside_each_iteration) {
  plain<double> w = scattered_values<double>({9}), x = scattered_values<double>({60, 7}, 2);
  const array v = w.made();
  array a = x.made();
  const auto loop = [](auto& weights, auto& p) {
    for (int i = 1; i < 60; ++i)
      for (int j = 0; j < 7; ++j)
        for (int k = 0; k < 9; ++k) p(i, j) += p(i - 1, j) * weights(k) * 0.001;
  };
  loop(v, a);
  loop(w, x);
  EXPECT_TRUE(equals(a, x));
}

TEST_F(recurrence, in_a_loop_of_time_steps) {
  plain<double> x = scattered_values<double>({25, 40});
  array a = x.made();
  const auto steps = [](auto& p) {
    for (int t = 0; t < 12; ++t)
      for (int i = 1; i < 25; ++i)
        for (int j = 0; j < 40; ++j) p(i, j) = p(i - 1, j) * 0.5 + p(i, j) * 0.25;
  };
  const auto sweeps = [](auto& p) {
    for (int t = 0; t < 12; ++t) {
      for (int i = 1; i < 25; ++i)
        for (int j = 0; j < 40; ++j) p(i, j) = p(i - 1, j) * 0.5 + p(i, j) * 0.25;
      for (int j = 1; j < 40; ++j)
        for (int i = 0; i < 25; ++i) p(i, j) = p(i, j - 1) * 0.5 - p(i, j);
    }
  };
  steps(a);
  sweeps(a);
  steps(x);
  sweeps(x);
  EXPECT_TRUE(equals(a, x));
}

TEST_F(recurrence, feeds_what_is_recorded_after_it) {
  plain<double> x = scattered_values<double>({64, 5}), want = x;
  array a = x.made();
  for (int i = 1; i < 64; ++i) a(i, all) = a(i - 1, all) * 0.5 + a(i, all);
  const array twice = a * 2, last = a(-1, all) + 1;
  eval(a, twice, last);
  plain<double> doubled({64, 5}), end({5});
  for (int j = 0; j < 5; ++j) {
    for (int i = 1; i < 64; ++i) want(i, j) = want(i - 1, j) * 0.5 + want(i, j);
    for (int i = 0; i < 64; ++i) doubled(i, j) = want(i, j) * 2;
    end(j) = want(63, j) + 1;
  }
  EXPECT_TRUE(equals(a, want));
  EXPECT_TRUE(equals(twice, doubled));
  EXPECT_TRUE(equals(last, end));
}

TEST_F(recurrence, makes_an_array_from_its_first_row) {
  plain<float> x = scattered_values<float>({33}), want({50, 33});
  const array first = x.made();
  array u = zeros({50, 33}, f32);
  u(0, all) = first;
  for (int t = 1; t < 50; ++t) u(t, all) = u(t - 1, all) * 0.75 + t;
  for (int j = 0; j < 33; ++j) {
    want(0, j) = x(j);
    for (int t = 1; t < 50; ++t) want(t, j) = want(t - 1, j) * 0.75f + static_cast<float>(t);
  }
  EXPECT_TRUE(equals(u, want));
}

TEST_F(recurrence, at_places_of_a_flat_array) {
  plain<double> x = scattered_values<double>({30 * 11});
  array a = x.made();
  const auto loop = [](auto& p) {
    for (int i = 1; i < 30; ++i)
      for (int j = 0; j < 11; ++j) p(i * 11 + j) = p(i * 11 + j - 11) * 0.5 + p(i * 11 + j);
  };
  loop(a);
  loop(x);
  EXPECT_TRUE(equals(a, x));
}

TEST_F(recurrence, longer_distances_than_are_kept) {
  plain<double> x = scattered_values<double>({90});
  array a = x.made();
  const auto loop = [](auto& p) {
    for (int i = 20; i < 90; ++i) p(i) = p(i - 20) * 0.5 + p(i - 3);
  };
  loop(a);
  loop(x);
  EXPECT_TRUE(equals(a, x));
}

template <class T>
void of_type(T step) {
  plain<T> x = scattered_values<T>({70});
  array a = x.made();
  for (int i = 2; i < 70; ++i) a(i) = minimum(a(i - 1) + step, a(i) * step - a(i - 2));
  for (int i = 2; i < 70; ++i) {
    const T up = static_cast<T>(x(i - 1) + step), other = static_cast<T>(x(i) * step - x(i - 2));
    x(i) = up < other ? up : other;
  }
  EXPECT_TRUE(equals(a, x));
}

TEST_F(recurrence, numbers_of_all_kinds) {
  of_type<float>(3);
  of_type<std::int8_t>(3);
  of_type<std::int32_t>(-2);
  of_type<std::int64_t>(2);
  plain<complex128> z({40}, complex128{0.5, -0.25});
  array c = z.made();
  for (int i = 1; i < 40; ++i) c(i) = c(i - 1) + c(i);
  for (int i = 1; i < 40; ++i) z(i) = complex128{z(i - 1).re + z(i).re, z(i - 1).im + z(i).im};
  EXPECT_TRUE(equals(c, z));
}

TEST_F(recurrence, explain_says_how_it_runs) {
  array a = scattered_values<double>({300, 8}).made();
  for (int i = 1; i < 300; ++i) a(i, all) = a(i - 1, all) * 0.5 + 1;
  const std::string text = explain(a);
  EXPECT_NE(text.find("for t0 in [0, 299): in order, in each of 8 lanes, each result stored on the way"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("1 launch(es)"), std::string::npos) << text;
}

}  // namespace
