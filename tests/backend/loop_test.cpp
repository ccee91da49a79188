// Loops inside kernels against loops of plain C++, element by element: trip counts, states, captured arrays, choices,
// limits.
#include "dsl/complex.hpp"
#include "dsl/struct_state.hpp"
#include "tests/backend/plain_reduce.hpp"

#include <complex>
#include <tuple>

using namespace sinter;
using namespace sinter_test;

namespace loop_test {

struct orbit {
  array re, im, n;
};
struct body {
  orbit place;
  array mass;
};

}  // namespace loop_test

BOOST_HANA_ADAPT_STRUCT(loop_test::orbit, re, im, n);
BOOST_HANA_ADAPT_STRUCT(loop_test::body, place, mass);

namespace {

using loop_test::orbit;

std::vector<std::int64_t> collatz_steps(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> steps;
  for (std::int64_t k = first; k < last; ++k) {
    std::int64_t n = 0;
    for (std::int64_t v = k; v != 1; v = v % 2 == 0 ? v / 2 : 3 * v + 1) ++n;
    steps.push_back(n);
  }
  return steps;
}

/// Steps of Collatz's sequences from 1, 2, ... count - 1: the first takes none.
array collatz(std::int64_t count) {
  const std::tuple start{arange(1, count), zeros({count - 1}, i64)};
  return std::get<1>(while_loop(
      start, [](const auto& s) { return std::get<0>(s) != 1; },
      [](const auto& s) {
        const auto& [v, n] = s;
        return std::tuple{if_else(v % 2 == 0, v / 2, 3 * v + 1), n + 1};
      }));
}

// ---- Trip counts ----

TEST(loop, elements_have_their_own_trip_counts) {
  for (const std::int64_t count : {2, 3, 30, 257, 5000}) {
    const array steps = collatz(count);
    EXPECT_EQ(counted([&] { eval(steps); }).launches, 1u) << count;
    EXPECT_TRUE(equals(steps, collatz_steps(1, count))) << count;
  }
}

TEST(loop, a_condition_that_never_holds_changes_nothing) {
  const array x{1, 2, 3}, y = while_loop(
                              x, [](const array&s) { return s < 0; }, [](const array&s) { return s / 0; });
  EXPECT_TRUE(equals(y, std::vector<std::int32_t>{1, 2, 3}));
}

TEST(loop, counted_loops_run_as_often_as_they_say) {
  const array x{1, 2, 3};
  for (const std::int64_t n : {0, 1, 2, 7, 1000}) {
    const array y = for_loop(n, x, [](const array& i, const array& s) { return s + i.astype(i32); });
    const auto sum = static_cast<std::int32_t>(n * (n - 1) / 2);
    EXPECT_TRUE(equals(y, std::vector<std::int32_t>{1 + sum, 2 + sum, 3 + sum})) << n;
    const array without = for_loop(n, x, [](const array& s) { return s + 2; });
    const auto twice = static_cast<std::int32_t>(2 * n);
    EXPECT_TRUE(equals(without, std::vector<std::int32_t>{1 + twice, 2 + twice, 3 + twice})) << n;
  }
}

TEST(loop, another_count_or_size_needs_no_other_kernel) {
  const auto made = [](std::int64_t n, std::int64_t size) {
    return for_loop(n, zeros({size}, i32), [](const array& s) { return s * 3 + 1; });
  };
  eval(made(3, 10));
  EXPECT_EQ(counted([&] { eval(made(50, 1000)); }).compiles, 0u);
}

TEST(loop, a_million_iterations) {
  const array x = for_loop(1'000'000, array(std::uint32_t{1}), [](const array& s) { return s * 1664525 + 1013904223; });
  std::uint32_t want = 1;
  for (int k = 0; k < 1'000'000; ++k) want = want * 1664525u + 1013904223u;
  EXPECT_EQ(x.item<std::uint32_t>(), want);
}

TEST(loop, arrays_without_elements_and_without_axes) {
  const auto run = [](const array& x) {
    return while_loop(
        x, [](const array& s) { return s < 100; }, [](const array& s) { return s * 2; });
  };
  EXPECT_EQ(to_string(run(zeros({3, 0, 2})).extents()), "[3, 0, 2]");
  EXPECT_TRUE(run(zeros({3, 0, 2})).to_vector<double>().empty());
  EXPECT_EQ(run(array(3)).item<std::int32_t>(), 192);
  EXPECT_EQ(run(array(300)).item<std::int32_t>(), 300);
  EXPECT_EQ(to_string(run(array(3)).extents()), "[]");
}

// ---- States ----

// drjit-core#505, #510; nvfuser and others: states that are each other's next.
TEST(loop, states_change_places) {
  const array a{1.0, 10.0}, b{2.0, 20.0}, c{3.0, 30.0};
  for (const std::int64_t n : {0, 1, 2, 3, 4, 7}) {
    double x = 1, y = 2, z = 3;
    for (std::int64_t k = 0; k < n; ++k) std::tie(x, y) = std::tuple{y, x};
    const auto [p, q] = for_loop(n, std::tuple{a, b}, [](const auto& s) {
      return std::tuple{std::get<1>(s), std::get<0>(s)};
    });
    EXPECT_TRUE(equals(p, std::vector<double>{x, 10 * x})) << n;
    EXPECT_TRUE(equals(q, std::vector<double>{y, 10 * y})) << n;

    x = 1, y = 2, z = 3;
    for (std::int64_t k = 0; k < n; ++k) std::tie(x, y, z) = std::tuple{y, z, x};
    const auto [r, s, t] = for_loop(n, std::tuple{a, b, c}, [](const auto& v) {
      return std::tuple{std::get<1>(v), std::get<2>(v), std::get<0>(v)};
    });
    eval(r, s, t);
    EXPECT_TRUE(equals(r, std::vector<double>{x, 10 * x})) << n;
    EXPECT_TRUE(equals(s, std::vector<double>{y, 10 * y})) << n;
    EXPECT_TRUE(equals(t, std::vector<double>{z, 10 * z})) << n;

    x = 1, y = 2, z = 3;
    for (std::int64_t k = 0; k < n; ++k) std::tie(x, y, z) = std::tuple{y, y, x};
    const auto [u, v, w] = for_loop(n, std::tuple{a, b, c}, [](const auto& now) {
      return std::tuple{std::get<1>(now), std::get<1>(now), std::get<0>(now)};
    });
    EXPECT_TRUE(
        equals(u + 100 * v + 10000 * w, std::vector<double>{x + 100 * y + 10000 * z, 10 * (x + 100 * y + 10000 * z)}))
        << n;
  }
}

TEST(loop, states_that_nobody_changes_are_what_they_were) {
  const array a{1, 2, 3}, b{10, 20, 30};
  const auto [x, y] = for_loop(4, std::tuple{a, b}, [](const auto& s) {
    return std::tuple{std::get<0>(s) + std::get<1>(s), std::get<1>(s)};
  });
  EXPECT_TRUE(equals(x, std::vector<std::int32_t>{41, 82, 123}));
  EXPECT_TRUE(equals(y, std::vector<std::int32_t>{10, 20, 30}));
  const array same = for_loop(5, a, [](const array& s) { return s; });
  EXPECT_TRUE(equals(same, std::vector<std::int32_t>{1, 2, 3}));
}

TEST(loop, one_of_several_results_is_enough) {
  const auto run = [] {
    return for_loop(3, std::tuple{array{1, 2}, array{5, 6}}, [](const auto& s) {
      return std::tuple{std::get<0>(s) + 1, std::get<1>(s) * 2};
    });
  };
  EXPECT_TRUE(equals(std::get<1>(run()), std::vector<std::int32_t>{40, 48}));
  EXPECT_TRUE(equals(std::get<0>(run()), std::vector<std::int32_t>{4, 5}));
  // One evaluated, then both used (drjit-core#95, #146).
  const auto [p, q] = run();
  eval(p);
  EXPECT_TRUE(equals(p * 100 + q, std::vector<std::int32_t>{440, 548}));
}

TEST(loop, nested_tuples_pairs_and_std_arrays) {
  const std::tuple start{array{1, 2}, std::pair{array{3, 4}, array{0.5, 0.25}}};
  const auto [a, rest] = for_loop(3, start, [](const auto& s) {
    const auto& [x, pair] = s;
    return std::tuple{x + pair.first, std::pair{pair.first + 1, pair.second * 2}};
  });
  EXPECT_TRUE(equals(a, std::vector<std::int32_t>{1 + 3 + 4 + 5, 2 + 4 + 5 + 6}));
  EXPECT_TRUE(equals(rest.first, std::vector<std::int32_t>{6, 7}));
  EXPECT_TRUE(equals(rest.second, std::vector<double>{4, 2}));
  const std::array<array, 3> fibonacci =
      for_loop(10, std::array{array{1, 0}, array{1, 1}, array{2, 1}}, [](const auto& s) {
        return std::array{s[1], s[2], s[1] + s[2]};
      });
  EXPECT_TRUE(equals(fibonacci[2], std::vector<std::int32_t>{233, 144}));
}

TEST(loop, structs_and_structs_of_structs) {
  const array c{-2.0, -1.0, 0.3, 0.25, 1.0, 3.0};
  const orbit start{zeros({6}), zeros({6}), zeros({6}, i32)};
  const orbit end_of = while_loop(
      start, [](const orbit& s) { return s.re * s.re + s.im * s.im < 4 && s.n < 100; },
      [&](const orbit& s) {
        return orbit{s.re * s.re - s.im * s.im + c, 2 * s.re * s.im + 0.5, s.n + 1};
      });
  std::vector<std::int32_t> want;
  for (const double re : {-2.0, -1.0, 0.3, 0.25, 1.0, 3.0}) {
    std::complex<double> z = 0;
    int n = 0;
    for (; std::norm(z) < 4 && n < 100; ++n) z = z * z + std::complex(re, 0.5);
    want.push_back(n);
  }
  EXPECT_TRUE(equals(end_of.n, want));
  const loop_test::body moved = for_loop(2, loop_test::body{start, ones({6}, f32)}, [](const loop_test::body& b) {
    return loop_test::body{{b.place.re + 1, b.place.im, b.place.n + 3}, b.mass * 2};
  });
  EXPECT_TRUE(equals(moved.place.n, std::vector<std::int32_t>(6, 6)));
  EXPECT_TRUE(equals(moved.place.re, std::vector<double>(6, 2)));
  EXPECT_TRUE(equals(moved.place.im, std::vector<double>(6, 0)));
  EXPECT_TRUE(equals(moved.mass, std::vector<float>(6, 4)));
}

TEST(loop, states_of_different_shapes_broadcast) {
  const array column = arange(3)(all, newaxis), row = arange(4), one = array(std::int64_t{0});
  const auto [sum_of, x, y] = for_loop(5, std::tuple{one, column, row}, [](const auto& s) {
    const auto& [total, a, b] = s;
    return std::tuple{total + a * b, a, b + 1};
  });
  std::vector<std::int64_t> want;
  for (std::int64_t a = 0; a < 3; ++a)
    for (std::int64_t b = 0; b < 4; ++b) want.push_back(a * (5 * b + 10));
  EXPECT_TRUE(equals(sum_of, host_array(want, {3, 4})));
  EXPECT_EQ(to_string(x.extents()), "[3, 4]");
  EXPECT_EQ(to_string(y.extents()), "[3, 4]");
}

template <class T>
void counts_up_to(T first, T step, T limit, const std::string& name) {
  const array x = array(std::vector<T>{first, static_cast<T>(first + step)});
  const array y = while_loop(
      x, [&](const array& s) { return s < static_cast<double>(limit); },
      [&](const array& s) { return s + static_cast<double>(step); });
  const auto want = [&](T v) {
    while (v < limit) v = static_cast<T>(v + step);
    return v;
  };
  EXPECT_EQ(y.type(), dtype_of<T>) << name;
  EXPECT_TRUE(equals(y, std::vector<T>{want(first), want(static_cast<T>(first + step))})) << name;
}

TEST(loop, functions_of_a_choice_may_give_selections) {
  const array x = arange(6), y = x * 10;
  const array z = if_else(x(range(0, 3)) > 1, [&] { return x(range(0, 3)); }, [&] { return y(range(1, 4)); });
  EXPECT_TRUE(equals(z, host_array(std::vector<std::int64_t>{10, 20, 2}, {3})));
}

TEST(loop, states_of_every_real_dtype) {
  for (const dtype type : every_type) {
    if (is_complex(type)) continue;
    // Three times: s becomes s - (s > 2), from 0 .. 4.
    const array x = arange(5).astype(type);
    const array y = for_loop(3, x, [&](const array& s) {
      return if_else(s.astype(i32) > 2, s.astype(i32) - 1, s.astype(i32)).astype(type);
    });
    host_array want(type, {5});
    for (std::int64_t k = 0; k < 5; ++k)
      want.set(k, {type == boolean ? static_cast<long double>(k > 0)
                                   : static_cast<long double>(std::min<std::int64_t>(k, 2)),
                   0});
    EXPECT_EQ(y.type(), type);
    EXPECT_TRUE(equals(y, want)) << to_string(type);
  }
  counts_up_to<float>(0.5f, 0.25f, 3.0f, "f32");
  counts_up_to<double>(-1, 0.5, 3, "f64");
}

TEST(loop, small_integers_wrap_and_halves_round_in_each_iteration) {
  const array bytes = for_loop(3, array{std::int8_t{100}, std::int8_t{-3}}, [](const array& s) { return s + s; });
  EXPECT_TRUE(equals(bytes, std::vector<std::int8_t>{32, -24}));
  const array half = for_loop(5, full({2}, 2048, f16), [](const array& s) { return s + 1; });  // 1 is half of a step
  EXPECT_TRUE(equals(half.astype(f32), std::vector<float>{2048, 2048}));
  const array brain = for_loop(5, full({2}, 256, bf16), [](const array& s) { return s + 1; });
  EXPECT_TRUE(equals(brain.astype(f32), std::vector<float>{256, 256}));
  const array truth = for_loop(3, array{true, false}, [](const array& s) { return !s; });
  EXPECT_TRUE(equals(truth.astype(i32), std::vector<std::int32_t>{0, 1}));
}

TEST(loop, complex_states) {
  const std::vector<std::complex<float>> c{{0.1f, 0.2f}, {1, 1}, {-0.5f, 0.5f}};
  const array start(std::vector<complex64>{{0.1f, 0.2f}, {1, 1}, {-0.5f, 0.5f}});
  const auto [z, n] = while_loop(
      std::tuple{start * 0, zeros({3}, i32)},
      [](const auto& s) { return abs(std::get<0>(s)) < 2 && std::get<1>(s) < 20; },
      [&](const auto& s) {
        return std::tuple{square(std::get<0>(s)) + start, std::get<1>(s) + 1};
      });
  std::vector<std::int32_t> want;
  for (const std::complex<float> at : c) {
    std::complex<float> now = 0;
    int k = 0;
    for (; std::abs(now) < 2 && k < 20; ++k) now = now * now + at;
    want.push_back(k);
  }
  EXPECT_TRUE(equals(n, want));
  EXPECT_EQ(z.type(), c64);
  const array turned = for_loop(4, start, [](const array& s) { return s * std::complex<float>(0, 1); });
  EXPECT_TRUE(equals(turned, from_device(start)));
}

TEST(loop, numbers_as_next_states_take_the_states_dtype) {
  const array x = for_loop(2, array{1.5f, 2.5f}, [](const array&) { return array(7); });
  EXPECT_EQ(x.type(), f32);
  EXPECT_TRUE(equals(x, std::vector<float>{7, 7}));
  EXPECT_TRUE(
      equals(for_loop(0, array{1.5f, 2.5f}, [](const array&) { return array(7); }), std::vector<float>{1.5f, 2.5f}));
}

// ---- Loops in loops ----

TEST(loop, three_deep) {
  // For each x: sum over i < 3 of sum over j < i of the k that double 1 until it passes x + i * j.
  const std::vector<std::int64_t> xs{0, 1, 5, 100};
  const array x = array(xs);
  const array total = for_loop(3, zeros({4}, i64), [&](const array& i, const array& s) {
    const auto [j, sum_of] = while_loop(
        std::tuple{zeros({4}, i64), s}, [&](const auto& t) { return std::get<0>(t) < i; },
        [&](const auto& t) {
          const array bound = x + i * std::get<0>(t);
          const auto [power, k] = while_loop(
              std::tuple{ones({4}, i64), zeros({4}, i64)}, [&](const auto& u) { return std::get<0>(u) <= bound; },
              [](const auto& u) {
                return std::tuple{std::get<0>(u) * 2, std::get<1>(u) + 1};
              });
          return std::tuple{std::get<0>(t) + 1, std::get<1>(t) + k};
        });
    return sum_of;
  });
  std::vector<std::int64_t> want;
  for (const std::int64_t v : xs) {
    std::int64_t s = 0;
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t j = 0; j < i; ++j)
        for (std::int64_t power = 1; power <= v + i * j; power *= 2) ++s;
    want.push_back(s);
  }
  EXPECT_EQ(counted([&] { eval(total); }).launches, 1u);
  EXPECT_TRUE(equals(total, want));
}

TEST(loop, counters_of_two_loops_index_one_table) {
  const host_array h = counting(f64, {6, 7});
  const array table = h.to_device();
  const array total = for_loop(6, zeros({5}), [&](const array& i, const array& s) {
    return for_loop(7, s, [&](const array& j, const array& t) { return t * 0.5 + table(i, j); });
  });
  double want = 0;
  for (std::int64_t k = 0; k < 42; ++k) want = want * 0.5 + static_cast<double>(k);
  EXPECT_TRUE(equals(total, std::vector<double>(5, want)));
}

TEST(loop, an_inner_loop_that_needs_nothing_of_the_outer_one) {
  const array x{1, 2, 3};
  const array y =
      for_loop(2, x, [&](const array& s) { return s + for_loop(3, x, [](const array& t) { return t * 2; }); });
  EXPECT_TRUE(equals(y, std::vector<std::int32_t>{17, 34, 51}));
}

TEST(loop, one_after_another) {
  const array x = arange(50);
  const auto half = [](const array& s) {
    return while_loop(
        s, [](const array& v) { return v > 10; }, [](const array& v) { return v / 2; });
  };
  const array y = half(x), z = half(y * 3) + y;
  EXPECT_EQ(counted([&] { eval(z); }).launches, 1u);
  std::vector<std::int64_t> want;
  const auto host = [](std::int64_t v) {
    while (v > 10) v /= 2;
    return v;
  };
  for (std::int64_t k = 0; k < 50; ++k) want.push_back(host(host(k) * 3) + host(k));
  EXPECT_TRUE(equals(z, want));
}

}  // namespace
