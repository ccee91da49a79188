// Loops of statements that programs interrupt: by reading, evaluating, failing; in several threads; and very long ones.
#include "tests/backend/plain_loop.hpp"

#include <fstream>
#include <thread>

using namespace sinter;
using namespace sinter_test;

namespace {

using fold_program = fold;

/// Of this process, in bytes.
double resident() {
  std::ifstream in("/proc/self/statm");
  double total = 0, pages = 0;
  in >> total >> pages;
  return pages * 4096;
}

TEST_F(fold_program, values_read_in_the_loop) {
  plain<double> x = scattered_values<double>({20});
  array a = x.made();
  for (int i = 1; i < 20; ++i) {
    a(i) = a(i) + a(i - 1) * 0.5;
    if (a(i).item<double>() > 50) a(i) -= 50;
  }
  for (int i = 1; i < 20; ++i) {
    x(i) += x(i - 1) * 0.5;
    if (x(i) > 50) x(i) -= 50;
  }
  EXPECT_TRUE(equals(a, x));
}

TEST_F(fold_program, values_of_others_read_in_the_loop) {
  plain<double> x = scattered_values<double>({20}), want({20});
  array a = x.made(), c = zeros({20}), total = zeros({});
  double sum_of = 0, seen = 0;
  for (int i = 0; i < 20; ++i) {
    c(i) = a(i) * 2;
    total += a(i);
    if (i % 6 == 5) seen += total.item<double>();
  }
  double seen_plainly = 0;
  for (int i = 0; i < 20; ++i) {
    want(i) = x(i) * 2;
    sum_of += x(i);
    if (i % 6 == 5) seen_plainly += sum_of;
  }
  EXPECT_EQ(seen, seen_plainly);
  EXPECT_TRUE(equals(c, want));
}

TEST_F(fold_program, evaluations_in_the_middle) {
  for (const int every : {1, 2, 7, 10, 33}) {
    SCOPED_TRACE(every);
    plain<double> x = scattered_values<double>({30}), y({30});
    array a = x.made(), b = zeros({30});
    for (int t = 0; t < 60; ++t) {
      a(t % 30) += 0.5 * t;
      b = b + a;
      if (t % every == 0) eval(b);
    }
    for (int t = 0; t < 60; ++t) {
      x(t % 30) += 0.5 * t;
      for (int i = 0; i < 30; ++i) y(i) += x(i);
    }
    EXPECT_TRUE(equals(a, x));
    EXPECT_TRUE(equals(b, y));
  }
}

TEST_F(fold_program, only_what_is_asked_for) {
  plain<double> x = scattered_values<double>({40}), want({40});
  const array a = x.made();
  array c = zeros({40}), unused = zeros({40});
  for (int i = 0; i < 40; ++i) {
    c(i) = a(i) + 1;
    unused(i) = a(i) * 2;
  }
  EXPECT_EQ(c(7).item<double>(), x(7) + 1);
  for (int i = 0; i < 40; ++i) want(i) = x(i) + 1;
  EXPECT_TRUE(equals(c, want));
  for (int i = 0; i < 40; ++i) want(i) = x(i) * 2;
  EXPECT_TRUE(equals(unused, want));
}

TEST_F(fold_program, nothing_is_launched_for_what_nobody_reads) {
  const array a = scattered_values<double>({40}).made();
  EXPECT_EQ(counted([&] {
              array c = zeros({40});
              for (int i = 0; i < 40; ++i) c(i) = a(i) + 1;
            }).launches,
            0u);
}

TEST_F(fold_program, the_same_loop_again_and_again) {
  plain<double> x = scattered_values<double>({30});
  array a = x.made();
  const auto once = [&](auto& to, int turn) {
    for (int i = 1; i < 30; ++i) to(i) = to(i) * 0.5 + (i + turn);
  };
  once(a, 0);
  eval(a);
  const statistics later = counted([&] {
    for (int turn = 1; turn < 6; ++turn) {
      once(a, turn);
      eval(a);
    }
  });
  EXPECT_EQ(later.compiles, 0u);
  EXPECT_EQ(later.launches, 5u);
  for (int turn = 0; turn < 6; ++turn) once(x, turn);
  EXPECT_TRUE(equals(a, x));
}

TEST_F(fold_program, other_extents_need_no_other_kernel) {
  const auto run = [](int n, int m) {
    plain<double> x = scattered_values<double>({n}), y = scattered_values<double>({m}, 2), want({n, m});
    const array a = x.made(), b = y.made();
    array c = zeros({n, m});
    eval(c);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < m; ++j) c(i, j) = a(i) * b(j) + 0.5;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < m; ++j) want(i, j) = x(i) * y(j) + 0.5;
    EXPECT_TRUE(equals(c, want)) << n << ", " << m;
  };
  run(40, 30);
  EXPECT_EQ(counted([&] {
              run(31, 29);
              run(64, 17);
            }).compiles,
            0u);
}

TEST_F(fold_program, indices_out_of_range_throw_at_their_line) {
  plain<double> x = scattered_values<double>({10});
  array a = x.made();
  const array first = a;
  const auto bad = [&] {
    for (int i = 0; i < 12; ++i) a(i) = first(i % 10) + 1;
  };
  const std::string line = "fold_program_test.cpp:" + std::to_string(place::here().line - 2);
  EXPECT_TRUE(throws<index_error>(bad, {line, "10"}));
  for (int i = 0; i < 10; ++i) x(i) += 1;
  EXPECT_TRUE(equals(a, x));
  EXPECT_TRUE(equals(first, scattered_values<double>({10})));
}

TEST_F(fold_program, shapes_that_do_not_fit_throw_at_their_line) {
  plain<double> x = scattered_values<double>({10, 3});
  array a = x.made();
  const auto bad = [&] {
    for (int i = 0; i < 10; ++i) a(i, all) = arange(i < 6 ? 3 : 4) + i;
  };
  EXPECT_TRUE(throws<shape_error>(bad, {"fold_program_test.cpp"}));
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 3; ++j) x(i, j) = j + i;
  EXPECT_TRUE(equals(a, x));
}

TEST_F(fold_program, computed_indices_out_of_range_are_told_when_read) {
  const array x = scattered_values<double>({10}).made();
  plain<std::int64_t> at({20});
  for (int i = 0; i < 20; ++i) at(i) = i % 10;
  at(13) = 10;
  const array k = at.made();
  array c = zeros({20});
  for (int i = 0; i < 20; ++i) c(i) = x(k(i));
  EXPECT_TRUE(throws<index_error>([&] { c.to_vector<double>(); }, {"fold_program_test.cpp", "10"}));
  array d = zeros({20});
  for (int i = 0; i < 13; ++i) d(i) = x(k(i));
  EXPECT_EQ(d(3).item<double>(), scattered_values<double>({10}).values[3]);
}

TEST_F(fold_program, two_threads_with_loops_of_their_own) {
  const auto work = [](int seed) {
    bool right = true;
    for (int turn = 0; turn < 5; ++turn) {
      plain<double> x = scattered_values<double>({25}, seed + turn), want({25, 25});
      array a = x.made(), c = zeros({25, 25});
      for (int t = 0; t < 30; ++t) a = a * 0.5 + t;
      for (int i = 0; i < 25; ++i)
        for (int j = 0; j < 25; ++j) c(i, j) = a(i) - a(j) * seed;
      for (int t = 0; t < 30; ++t)
        for (int i = 0; i < 25; ++i) x(i) = x(i) * 0.5 + t;
      for (int i = 0; i < 25; ++i)
        for (int j = 0; j < 25; ++j) want(i, j) = x(i) - x(j) * seed;
      right = right && equals(c, want);
    }
    return right;
  };
  bool other = false;
  std::thread second([&] { other = work(100); });
  const bool own = work(1);
  second.join();
  EXPECT_TRUE(own);
  EXPECT_TRUE(other);
}

TEST_F(fold_program, a_loop_recorded_in_one_thread_and_read_in_another) {
  plain<double> x = scattered_values<double>({25});
  array a = x.made();
  for (int t = 0; t < 700; ++t) a(t % 25) += t;
  for (int t = 0; t < 700; ++t) x(t % 25) += t;
  bool right = false;
  std::thread([&] { right = equals(a, x); }).join();
  EXPECT_TRUE(right);
  for (int t = 0; t < 50; ++t) a(t % 25) -= 2.5;
  for (int t = 0; t < 50; ++t) x(t % 25) -= 2.5;
  EXPECT_TRUE(equals(a, x));
}

TEST_F(fold_program, a_shared_array_written_in_two_threads) {
  plain<double> x = scattered_values<double>({25});
  array shared = x.made();
  for (int t = 0; t < 600; ++t) shared(t % 25) += 0.5;
  for (int t = 0; t < 600; ++t) x(t % 25) += 0.5;
  const auto work = [](array a, plain<double> want, double step) {
    for (int t = 0; t < 600; ++t) a(t % 25) = a(t % 25) * 0.5 + step;
    for (int t = 0; t < 600; ++t) want(t % 25) = want(t % 25) * 0.5 + step;
    return static_cast<bool>(equals(a, want));
  };
  bool other = false;
  std::thread second([&, copy = shared] { other = work(copy, x, 1.5); });
  const bool own = work(shared, x, 2.5);
  second.join();
  EXPECT_TRUE(own);
  EXPECT_TRUE(other);
  EXPECT_TRUE(equals(shared, x));
}

TEST_F(fold_program, a_million_statements_need_little_memory) {
  plain<float> x = scattered_values<float>({1000}), y = scattered_values<float>({1000}, 2);
  const array a = x.made(), b = y.made();
  array c = zeros({1000, 1000}, f32);
  eval(c);
  const double before = resident();
  for (int i = 0; i < 1000; ++i)
    for (int j = 0; j < 1000; ++j) c(i, j) = square(a(i) - b(j));
  EXPECT_LT(resident() - before, 8e6);
  EXPECT_EQ(counted([&] { eval(c); }).launches, 1u);
  const std::vector<float> got = c.to_vector<float>();
  for (const int k : {0, 1, 999, 1000, 123456, 777777, 999999}) {
    const float d = x(k / 1000) - y(k % 1000);
    EXPECT_EQ(got[static_cast<std::size_t>(k)], d * d) << k;
  }
}

TEST_F(fold_program, statements_that_do_not_fold_need_bounded_memory) {
  constexpr int n = 64;
  plain<double> x = scattered_values<double>({n});
  array a = x.made();
  lcg one(7), two(7);
  const auto step = [](auto& to, lcg& random) {
    const int i = static_cast<int>(random.below(n)), j = static_cast<int>(random.below(n));
    switch (random.below(4)) {
      case 0:
        to(i) = to(j) * 0.5;
        return;
      case 1:
        to(i) = to(i) + to(j);
        return;
      case 2:
        to(i) -= to(j) * 0.25 + 1;
        return;
      default:
        to(i) = static_cast<double>(random.below(100)) * 0.37;
        return;
    }
  };
  const double before = resident();
  for (int t = 0; t < 600; ++t) step(a, one);
  eval(a);
  EXPECT_LT(resident() - before, 3e8);
  for (int t = 0; t < 600; ++t) step(x, two);
  EXPECT_TRUE(equals(a, x));
}

}  // namespace
