// Loops of statements fold into launches: numbers that vary, index tables, snapshots, swaps, copies.
#include "tests/backend/plain_loop.hpp"

#include <utility>

using namespace sinter;
using namespace sinter_test;

namespace {

using fold_value = fold;

// ---- numbers that vary ----

template <class T, class F>
void check_numbers(F number) {
  constexpr int n = 40;
  SCOPED_TRACE(to_string(dtype_of<T>));
  plain<T> want({n}), rows({n, 3});
  array c = zeros({n}, dtype_of<T>), r = zeros({n, 3}, dtype_of<T>);
  eval(c, r);
  const auto one = [&] {
    for (int i = 0; i < n; ++i) c(i) = number(i);
  };
  const auto row = [&] {
    for (int i = 0; i < n; ++i) r(i, all) = number(n - i);
  };
  EXPECT_EQ(launches_of(one, c), 1u);
  EXPECT_EQ(launches_of(row, r), 1u);
  for (int i = 0; i < n; ++i) {
    want(i) = static_cast<T>(number(i));
    for (int k = 0; k < 3; ++k) rows(i, k) = static_cast<T>(number(n - i));
  }
  EXPECT_TRUE(equals(c, want));
  EXPECT_TRUE(equals(r, rows));
}

TEST_F(fold_value, numbers_of_all_dtypes) {
  check_numbers<double>([](int i) { return i * 3 - 7; });
  check_numbers<double>([](int i) { return i * 0.1; });
  check_numbers<double>([](int i) { return i % 2 == 0 ? -0.0 : 1e300 * i; });
  check_numbers<double>([](int i) { return i % 3 == 0 ? 5e-324 * i : i * 1e-310; });
  check_numbers<double>([](int i) { return i == 7 ? static_cast<double>(infinity) : i * 1e15; });
  check_numbers<float>([](int i) { return static_cast<float>(i) * 0.1f; });
  check_numbers<float>([](int i) { return i; });
  check_numbers<std::int8_t>([](int i) { return i * 3 - 60; });
  check_numbers<std::int64_t>([](int i) { return std::int64_t{1} << i; });
  check_numbers<std::int64_t>([](int i) { return std::numeric_limits<std::int64_t>::max() - i; });
  check_numbers<std::uint64_t>(
      [](int i) { return std::numeric_limits<std::uint64_t>::max() - static_cast<unsigned>(3 * i); });
  check_numbers<std::uint8_t>([](int i) { return 255 - i; });
}

TEST_F(fold_value, numbers_of_small_floats_booleans_and_complex) {
  constexpr int n = 30;
  array h = zeros({n}, f16), t = zeros({n}, boolean), z = zeros({n}, c128);
  for (int i = 0; i < n; ++i) {
    h(i) = i * 0.25;
    t(i) = i % 3 == 0;
    z(i) = complex128{i * 0.5, 7.0 - i};
  }
  host_array want_h(f16, {n}), want_t(boolean, {n}), want_z(c128, {n});
  for (int i = 0; i < n; ++i) {
    want_h.set(i, {static_cast<long double>(i) * 0.25L, 0});
    want_t.set(i, {static_cast<long double>(i % 3 == 0), 0});
    want_z.set(i, {static_cast<long double>(i) * 0.5L, static_cast<long double>(7 - i)});
  }
  EXPECT_TRUE(equals(h, want_h));
  EXPECT_TRUE(equals(t, want_t));
  EXPECT_TRUE(equals(z, want_z));
}

TEST_F(fold_value, numbers_in_expressions_on_every_level) {
  plain<double> x = scattered_values<double>({9, 8}), want({9, 8});
  const array a = x.made();
  array c = zeros({9, 8});
  eval(c);
  const auto record = [&] {
    for (int i = 0; i < 9; ++i)
      for (int j = 0; j < 8; ++j) c(i, j) = a(i, j) * (0.1 * i) + (j - 3) * a(j, i % 8);
  };
  record();
  for (int i = 0; i < 9; ++i)
    for (int j = 0; j < 8; ++j) want(i, j) = x(i, j) * (0.1 * i) + (j - 3) * x(j, i % 8);
  EXPECT_TRUE(equals(c, want));
}

TEST_F(fold_value, factors_of_time_steps) {
  plain<double> x = scattered_values<double>({33});
  array a = x.made();
  const auto record = [&] {
    for (int t = 0; t < 100; ++t) a = a * (1 - 0.003 * t) + t;
  };
  EXPECT_EQ(launches_of(record, a), 1u);
  for (int t = 0; t < 100; ++t)
    for (int i = 0; i < 33; ++i) x(i) = x(i) * (1 - 0.003 * t) + t;
  EXPECT_TRUE(equals(a, x));
}

// ---- index tables ----

TEST_F(fold_value, permutations_and_repeats) {
  constexpr int n = 50;
  std::vector<int> order, repeated;
  for (int i = 0; i < n; ++i) {
    order.push_back((i * 37 + 11) % n);
    repeated.push_back(i * i % 17);
  }
  plain<double> x = scattered_values<double>({n}), gathered({n}), placed({n}), last({n}), sums({n}), moved = x;
  const array a = x.made();
  array g = zeros({n}), p = g, l = g, s = g, m = a;
  const auto each = [&](auto& from, auto& get, auto& put, auto& over, auto& sum, auto& in_place) {
    for (int i = 0; i < n; ++i) get(i) = from(order[static_cast<std::size_t>(i)]) * 2;
    for (int i = 0; i < n; ++i) put(order[static_cast<std::size_t>(i)]) = from(i) + i;
    for (int i = 0; i < n; ++i) over(repeated[static_cast<std::size_t>(i)]) = from(i);
    for (int i = 0; i < n; ++i) sum(repeated[static_cast<std::size_t>(i)]) += from(i) * 0.37;
    for (int i = 0; i < n; ++i)
      in_place(order[static_cast<std::size_t>(i)]) = in_place(order[static_cast<std::size_t>(i)]) * 0.5 + 1;
  };
  each(x, gathered, placed, last, sums, moved);
  each(a, g, p, l, s, m);
  EXPECT_TRUE(equals(g, gathered));
  EXPECT_TRUE(equals(p, placed));
  EXPECT_TRUE(equals(l, last));
  EXPECT_TRUE(equals(s, sums));
  EXPECT_TRUE(equals(m, moved));
}

TEST_F(fold_value, a_permutation_is_one_launch) {
  plain<double> x = scattered_values<double>({64}), want({64});
  const array a = x.made();
  array c = zeros({64});
  eval(c);
  EXPECT_EQ(launches_of(
                [&] {
                  for (int i = 0; i < 64; ++i) c(i * 29 % 64) = a(i * 7 % 64) + 0.3 * i;
                },
                c),
            1u);
  for (int i = 0; i < 64; ++i) want(i * 29 % 64) = x(i * 7 % 64) + 0.3 * i;
  EXPECT_TRUE(equals(c, want));
}

TEST_F(fold_value, tables_in_nests) {
  plain<double> x = scattered_values<double>({12, 9}), want({12, 9}), sums({12});
  const array a = x.made();
  array c = zeros({12, 9}), s = zeros({12});
  const auto each = [](auto& from, auto& to, auto& sum) {
    for (int i = 0; i < 12; ++i)
      for (int j = 0; j < 9; ++j) to(i * 5 % 12, j) = from(i, j * 4 % 9) + 1;
    for (int i = 0; i < 12; ++i)
      for (int j = 0; j < 9; j += 2) sum(i * 7 % 12) += from(i, j * j % 9);
  };
  each(x, want, sums);
  each(a, c, s);
  EXPECT_TRUE(equals(c, want));
  EXPECT_TRUE(equals(s, sums));
}

TEST_F(fold_value, gathers_at_lazy_indices) {
  plain<double> x = scattered_values<double>({40}), want({40}), rows({10, 4}), picked({10});
  plain<std::int64_t> at({40});
  for (int i = 0; i < 40; ++i) at(i) = i * 23 % 40;
  const array a = x.made(), k = at.made(), m = reshape(a, {10, 4});
  array c = zeros({40}), r = zeros({10, 4}), p = zeros({10});
  eval(c, r, p);
  EXPECT_EQ(launches_of(
                [&] {
                  for (int i = 0; i < 40; ++i) c(i) = a(k(i)) - i;
                },
                c),
            1u);
  for (int i = 0; i < 10; ++i) r(i, all) = m(k(i) % 10, all) * 2;
  for (int i = 0; i < 10; ++i) p(i) = m(i, argmax(m(i, all)));
  for (int i = 0; i < 40; ++i) want(i) = x(at(i)) - i;
  for (int i = 0; i < 10; ++i) {
    picked(i) = x(4 * i);
    for (int j = 0; j < 4; ++j) {
      rows(i, j) = x(at(i) % 10 * 4 + j) * 2;
      picked(i) = std::max(picked(i), x(4 * i + j));
    }
  }
  EXPECT_TRUE(equals(c, want));
  EXPECT_TRUE(equals(r, rows));
  EXPECT_TRUE(equals(p, picked));
}

TEST_F(fold_value, gathers_in_triangles_see_no_other_indices) {
  plain<double> x = scattered_values<double>({12}), want({12, 12});
  plain<std::int64_t> at({12, 12}, 1000);  // what lies above the diagonal is no index
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j <= i; ++j) at(i, j) = (i * 5 + j) % 12;
  const array a = x.made(), k = at.made();
  array c = zeros({12, 12});
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j <= i; ++j) c(i, j) = a(k(i, j)) + 1;
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j <= i; ++j) want(i, j) = x(at(i, j)) + 1;
  EXPECT_TRUE(equals(c, want));
}

// ---- variables that become each other ----

TEST_F(fold_value, snapshots_before_and_in_the_loop) {
  plain<double> x = scattered_values<double>({20}), before = x, y = x;
  array a = x.made(), b = a;
  const array old = a;
  for (int t = 0; t < 30; ++t) {
    a(range(1, end)) += old(range(0, -1)) * 0.5;
    const array now = b;
    b(range(1, end)) += now(range(0, -1)) * 0.5;
  }
  for (int t = 0; t < 30; ++t) {
    for (int i = 1; i < 20; ++i) x(i) += before(i - 1) * 0.5;
    const plain<double> now = y;
    for (int i = 1; i < 20; ++i) y(i) += now.values[static_cast<std::size_t>(i - 1)] * 0.5;
  }
  EXPECT_TRUE(equals(a, x));
  EXPECT_TRUE(equals(b, y));
  EXPECT_TRUE(equals(old, before));
}

TEST_F(fold_value, an_old_value_kept_from_iteration_to_iteration) {
  plain<double> x = scattered_values<double>({15}), previous({15});
  array a = x.made(), old = zeros({15});
  for (int t = 0; t < 40; ++t) {
    const array next = a * 0.9 - old * 0.1;
    old = a;
    a = next;
  }
  for (int t = 0; t < 40; ++t)
    for (int i = 0; i < 15; ++i) {
      const double next = x(i) * 0.9 - previous(i) * 0.1;
      previous(i) = x(i);
      x(i) = next;
    }
  EXPECT_TRUE(equals(a, x));
  EXPECT_TRUE(equals(old, previous));
}

TEST_F(fold_value, swapped_and_rotated_variables) {
  plain<double> x = scattered_values<double>({18}), y = scattered_values<double>({18}, 2),
                z = scattered_values<double>({18}, 3);
  for (const int steps : {39, 40, 41}) {
    SCOPED_TRACE(steps);
    plain<double> p = x, q = y, r = z;
    array a = x.made(), b = y.made(), c = z.made();
    for (int t = 0; t < steps; ++t) {
      b(range(1, -1)) = (a(range(0, -2)) + a(range(2, end))) * 0.5;
      std::swap(a, b);
      for (int i = 1; i < 17; ++i) q(i) = (p(i - 1) + p(i + 1)) * 0.5;
      std::swap(p.values, q.values);
    }
    EXPECT_TRUE(equals(a, p));
    EXPECT_TRUE(equals(b, q));
    for (int t = 0; t < steps; ++t) {
      array d = a + b * 0.5 - c;
      a = b;
      b = c;
      c = d;
      plain<double> s({18});
      for (int i = 0; i < 18; ++i) s(i) = p(i) + q(i) * 0.5 - r(i);
      p = std::exchange(q, std::exchange(r, s));
    }
    EXPECT_TRUE(equals(a, p));
    EXPECT_TRUE(equals(b, q));
    EXPECT_TRUE(equals(c, r));
  }
}

TEST_F(fold_value, fibonacci_numbers) {
  array p{std::int64_t{0}}, q{std::int64_t{1}};
  std::int64_t x = 0, y = 1;
  const auto record = [&] {
    for (int t = 0; t < 80; ++t) {
      const array next = p + q;
      p = q;
      q = next;
    }
  };
  EXPECT_EQ(launches_of(record, p, q), 1u);
  for (int t = 0; t < 80; ++t) x = std::exchange(y, x + y);
  EXPECT_EQ(p.item<std::int64_t>(), x);
  EXPECT_EQ(q.item<std::int64_t>(), y);
}

TEST_F(fold_value, copies_taken_along_the_way) {
  plain<double> x = scattered_values<double>({10});
  array a = x.made();
  std::vector<array> kept;
  std::vector<plain<double>> want;
  for (int t = 0; t < 60; ++t) {
    a(t % 10) = a((t + 3) % 10) * 0.5 + t;
    x(t % 10) = x((t + 3) % 10) * 0.5 + t;
    if (t % 13 == 0) {
      kept.push_back(a);
      want.push_back(x);
    }
  }
  for (std::size_t k = 0; k < kept.size(); ++k) EXPECT_TRUE(equals(kept[k], want[k])) << k;
  EXPECT_TRUE(equals(a, x));
}

TEST_F(fold_value, copies_of_all_iterations) {
  plain<double> x = scattered_values<double>({6});
  array a = x.made();
  std::vector<array> kept;
  for (int t = 0; t < 700; ++t) {
    kept.push_back(a);
    a(t % 6) += 1.5;
  }
  plain<double> y = x;
  for (std::size_t t = 0; t < 700; ++t) {
    if (t % 97 == 0 || t == 699) { EXPECT_TRUE(equals(kept[t], y)) << t; }
    y(t % 6) += 1.5;
  }
  EXPECT_TRUE(equals(a, y));
}

TEST_F(fold_value, a_copy_that_is_written_leaves_the_original) {
  plain<double> x = scattered_values<double>({30}), y = x;
  array a = x.made(), b = a;
  for (int i = 0; i < 29; ++i) {
    b(i) = a(i + 1) * 2;
    if (i == 14) a = b;
  }
  for (int i = 0; i < 29; ++i) {
    y(i) = x(i + 1) * 2;
    if (i == 14) x = y;
  }
  EXPECT_TRUE(equals(a, x));
  EXPECT_TRUE(equals(b, y));
}

TEST_F(fold_value, arrays_that_die) {
  plain<double> x = scattered_values<double>({30}), want({30});
  array c = zeros({30});
  {
    const array a = x.made();
    array scratch = zeros({30});
    for (int i = 0; i < 30; ++i) {
      scratch(i) = a(i) * 3;
      c(i) = scratch(i) - 1;
    }
  }
  for (int t = 0; t < 20; ++t) {
    array scratch = zeros({30});
    for (int i = 0; i < 30; i += 4) scratch(i) = c(i) + t;
    c = c + scratch * 0.5;
  }
  for (int i = 0; i < 30; ++i) want(i) = x(i) * 3 - 1;
  for (int t = 0; t < 20; ++t)
    for (int i = 0; i < 30; i += 4) want(i) = want(i) + (want(i) + t) * 0.5;
  EXPECT_TRUE(equals(c, want));
}

TEST_F(fold_value, the_same_array_as_two_variables) {
  plain<double> x = scattered_values<double>({25}), y = x;
  array a = x.made(), b = a;
  for (int i = 0; i < 25; ++i) a(i) = b(24 - i) + 1;
  for (int i = 0; i < 25; ++i) b(i) = a(24 - i) * 2;
  for (int i = 0; i < 25; ++i) x(i) = y(24 - i) + 1;
  for (int i = 0; i < 25; ++i) y(i) = x(24 - i) * 2;
  EXPECT_TRUE(equals(a, x));
  EXPECT_TRUE(equals(b, y));
}

TEST_F(fold_value, arrays_in_a_container) {
  std::vector<array> layers;
  std::vector<plain<double>> want;
  for (int k = 0; k < 16; ++k) {
    want.push_back(scattered_values<double>({7}, k + 1));
    layers.push_back(want.back().made());
  }
  for (int t = 0; t < 4; ++t)
    for (std::size_t k = 1; k < 16; ++k) {
      layers[k] = layers[k] * 0.5 + layers[k - 1];
      layers[k](t) = k;
      for (int i = 0; i < 7; ++i) want[k](i) = want[k](i) * 0.5 + want[k - 1](i);
      want[k](t) = static_cast<double>(k);
    }
  for (std::size_t k = 0; k < 16; ++k) EXPECT_TRUE(equals(layers[k], want[k])) << k;
}

TEST_F(fold_value, reads_in_a_loop_are_counted) {
  array total = zeros({}, f64);
  const array x = ones({8});
  double last = 0;
  const statistics added = counted([&] {
    for (int t = 0; t < 20; ++t) {
      total = total + x(t % 8);
      if (t % 2 == 1) last = total.item<double>();
    }
    last = total.item<double>();  // nothing is pending any more
  });
  EXPECT_EQ(last, 20);
  EXPECT_EQ(added.flushes, 10u);
}

TEST_F(fold_value, numbers_of_a_loop_around_what_is_viewed) {
  const std::vector<double> factors = {0.5, -1, 3, 0.25, 2, 7, -0.5, 1.5};
  plain<double> x = scattered_values<double>({40}), want({40}), want_table({40});
  const array a = x.made();
  array c = zeros({40}), d = zeros({40});
  for (int t = 0; t < 30; ++t) {
    const array scaled = a * static_cast<double>(t), chosen = a * factors[static_cast<std::size_t>(t * t % 8)];
    for (int i = 0; i < 40; ++i) {
      c(i) += scaled(i);
      d(i) += chosen(39 - i);
    }
  }
  for (int t = 0; t < 30; ++t)
    for (int i = 0; i < 40; ++i) {
      want(i) += x(i) * t;
      want_table(i) += x(39 - i) * factors[static_cast<std::size_t>(t * t % 8)];
    }
  EXPECT_TRUE(equals(c, want));
  EXPECT_TRUE(equals(d, want_table));
}

}  // namespace
