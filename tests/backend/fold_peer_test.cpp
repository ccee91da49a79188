// Loops that other lazy array libraries got wrong, by their issue trackers, as loops of statements and inside kernels.
#include "tests/backend/plain_loop.hpp"

#include <chrono>
#include <tuple>

using namespace sinter;
using namespace sinter_test;

namespace {

using fold_peer = fold;

// drjit-core: gather and scatter of one array in a loop, "dirty after evaluation".
TEST_F(fold_peer, scatter_then_gather_the_same_array) {
  plain<double> x = scattered_values<double>({30}), got({20});
  plain<std::int64_t> to({20, 5}), from({20, 5});
  for (int t = 0; t < 20; ++t)
    for (int k = 0; k < 5; ++k) {
      to(t, k) = (t * 7 + k * 11) % 30;
      from(t, k) = (t * 13 + k * 5) % 30;
    }
  array a = x.made(), c = zeros({20});
  const array i = to.made(), j = from.made();
  for (int t = 0; t < 20; ++t) {
    a(i(t, all)) = arange(5) * 0.5 + t;
    c(t) = sum(a(j(t, all)));
    a(t) = c(t) * 0.25;
    if (t == 11) eval(c);
  }
  for (int t = 0; t < 20; ++t) {
    for (int k = 0; k < 5; ++k) x(to(t, k)) = k * 0.5 + t;
    for (int k = 0; k < 5; ++k) got(t) += x(from(t, k));
    x(t) = got(t) * 0.25;
  }
  EXPECT_TRUE(equals(c, host_array(got.values), {1e-13, 0, false}));
  EXPECT_TRUE(equals(a, host_array(x.values), {1e-13, 0, false}));
}

// mitsuba3, drjit-core: two scatters to one target in a loop.
TEST_F(fold_peer, two_scatters_to_one_target) {
  plain<std::int64_t> x({24}), first({12, 4}), second({12, 4});
  for (int t = 0; t < 12; ++t)
    for (int k = 0; k < 4; ++k) {
      first(t, k) = (t * 5 + k * 7) % 24;
      second(t, k) = (t * 11 + k) % 24;
    }
  const array i = first.made(), j = second.made();
  array a = x.made();
  for (int t = 0; t < 12; ++t) {
    a(i(t, all)) += 1 + t;
    a(j(t, all)) = arange(4) * 100;
  }
  for (int t = 0; t < 12; ++t) {
    for (int k = 0; k < 4; ++k) x(first(t, k)) += 1 + t;
    for (int k = 0; k < 4; ++k) x(second(t, k)) = k * 100;
  }
  EXPECT_TRUE(equals(a, x));
}

TEST_F(fold_peer, writes_to_views_that_overlap) {
  plain<std::int64_t> x({6, 6});
  array a = x.made();
  for (int t = 0; t < 25; ++t) {
    a(range(0, 4), range(1, 5)) += t;
    a(range(2, 6), t % 3) = a(range(0, 4), t % 3 + 2) * 2;
    a(t % 6, all) -= 1;
  }
  for (int t = 0; t < 25; ++t) {
    for (int i = 0; i < 4; ++i)
      for (int j = 1; j < 5; ++j) x(i, j) += t;
    plain<std::int64_t> old = x;
    for (int i = 2; i < 6; ++i) x(i, t % 3) = old(i - 2, t % 3 + 2) * 2;
    for (int j = 0; j < 6; ++j) x(t % 6, j) -= 1;
  }
  EXPECT_TRUE(equals(a, x));
}

// drjit-core: a gather of a gather under masks lost one of them.
TEST_F(fold_peer, gathers_of_gathers_under_conditions) {
  plain<double> x = scattered_values<double>({20}), want({15});
  plain<std::int64_t> j({18}), k({15});
  for (int t = 0; t < 18; ++t) j(t) = t % 4 == 0 ? 1000 : t * 7 % 20;
  for (int t = 0; t < 15; ++t) k(t) = t % 5 == 0 ? -1000 : t * 5 % 18;
  const array a = x.made() * 2, at = j.made(), then = k.made();
  array c = zeros({15});
  for (int t = 0; t < 15; ++t) {
    const array outer = where(then(t) >= 0, then(t), 0), inner = at(outer);
    c(t) = where(then(t) >= 0 && inner < 20, a(where(inner < 20, inner, 0)), -1.0);
  }
  for (int t = 0; t < 15; ++t) want(t) = k(t) >= 0 && j(k(t)) < 20 ? x(j(k(t))) * 2 : -1;
  EXPECT_TRUE(equals(c, want));
}

// drjit-core: indexing into shared expressions took time that doubled with each.
TEST_F(fold_peer, shared_expressions_below_an_index_take_linear_time) {
  const auto started = std::chrono::steady_clock::now();
  plain<double> x = scattered_values<double>({16});
  array a = x.made();
  plain<std::int64_t> order({16});
  for (int i = 0; i < 16; ++i) order(i) = i * 5 % 16;
  const array i = order.made();
  for (int t = 0; t < 30; ++t) a = (a + a(i)) * 0.5;
  for (int t = 0; t < 30; ++t) {
    plain<double> old = x;
    for (int k = 0; k < 16; ++k) x(k) = (old(k) + old(order(k))) * 0.5;
  }
  EXPECT_TRUE(equals(a, x));
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count(), 20);
}

// drjit-core, mitsuba3: loops whose state is a number while their only effect is a write to an array.
TEST_F(fold_peer, a_counter_alone_and_a_write) {
  plain<std::int64_t> want({9});
  array n = zeros({}, i64), c = zeros({9}, i64);
  for (int t = 0; t < 9; ++t) {
    c(t) = n * n;
    n += 2;
  }
  for (int t = 0; t < 9; ++t) want(t) = 4 * t * t;
  EXPECT_TRUE(equals(c, want));
  EXPECT_EQ(n.item<std::int64_t>(), 18);
}

TEST_F(fold_peer, a_counter_that_says_where_to_write) {
  plain<double> want({12});
  array n = zeros({}, i64), c = zeros({12});
  for (int t = 0; t < 6; ++t) {
    c(n) = 0.5 * t + 1;
    n = (n + 5) % 12;
  }
  for (int t = 0; t < 6; ++t) want(t * 5 % 12) = 0.5 * t + 1;
  EXPECT_TRUE(equals(c, want));
}

// XLA: an update in place that is shifted read its own output.
TEST_F(fold_peer, shifted_updates_of_all_ranks) {
  for (int shift = -3; shift <= 3; ++shift) {
    SCOPED_TRACE(shift);
    plain<double> line = scattered_values<double>({20}), plane = scattered_values<double>({9, 10}, 2),
                  space = scattered_values<double>({7, 8, 9}, 3);
    array u = line.made(), v = plane.made(), w = space.made();
    const range to(3, -3), from = shift == 3 ? range(6, end) : range(3 + shift, shift - 3);
    for (int t = 0; t < 12; ++t) {
      u(to) = u(from) + 1;
      v(to, to) = v(from, to) + v(to, from) * 0.5;
      w(to, to, to) = w(from, from, to) - w(to, to, from) * 0.25;
    }
    for (int t = 0; t < 12; ++t) {
      plain<double> a = line, b = plane, c = space;
      for (int i = 3; i < 17; ++i) line(i) = a(i + shift) + 1;
      for (int i = 3; i < 6; ++i)
        for (int j = 3; j < 7; ++j) plane(i, j) = b(i + shift, j) + b(i, j + shift) * 0.5;
      for (int i = 3; i < 4; ++i)
        for (int j = 3; j < 5; ++j)
          for (int k = 3; k < 6; ++k) space(i, j, k) = c(i + shift, j + shift, k) - c(i, j, k + shift) * 0.25;
    }
    EXPECT_TRUE(equals(u, line));
    EXPECT_TRUE(equals(v, plane));
    EXPECT_TRUE(equals(w, space));
  }
}

// mitsuba3: a loop that is recorded, and one that is run, disagreed.
TEST_F(fold_peer, recorded_evaluated_and_in_a_kernel_agree) {
  plain<double> x = scattered_values<double>({13});
  array recorded = x.made(), evaluated = recorded;
  const array in_a_kernel = for_loop(20, recorded, [](const array& t, const array& s) { return s * 0.5 + t * 3; });
  for (int t = 0; t < 20; ++t) recorded = recorded * 0.5 + t * 3;
  for (int t = 0; t < 20; ++t) {
    evaluated = evaluated * 0.5 + t * 3;
    eval(evaluated);
  }
  for (int t = 0; t < 20; ++t)
    for (int i = 0; i < 13; ++i) x(i) = x(i) * 0.5 + t * 3;
  EXPECT_TRUE(equals(recorded, x));
  EXPECT_TRUE(equals(evaluated, x));
  EXPECT_TRUE(equals(in_a_kernel, x));
}

// drjit-core: a statement of a loop that keeps the old value overwrote it too early.
TEST_F(fold_peer, previous_and_current) {
  plain<double> now = scattered_values<double>({8}), before({8});
  array current = now.made(), previous = zeros({8});
  for (int t = 0; t < 25; ++t) {
    const array next = current(range(end, begin, -1)) * 0.5 + previous;
    previous = current;
    current = next;
    current(t % 8) = previous(7 - t % 8);
  }
  for (int t = 0; t < 25; ++t) {
    plain<double> next({8});
    for (int i = 0; i < 8; ++i) next(i) = now(7 - i) * 0.5 + before(i);
    before = now;
    now = next;
    now(t % 8) = before(7 - t % 8);
  }
  EXPECT_TRUE(equals(current, now));
  EXPECT_TRUE(equals(previous, before));
}

}  // namespace
