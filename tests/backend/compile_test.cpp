// compile(f): the same values as without, for whatever f does and is given. compile_call_test.cpp: the calls
// themselves.
#include "dsl/raw_kernel.hpp"
#include "dsl/sort.hpp"
#include "dsl/stream.hpp"
#include "dsl/struct_state.hpp"
#include "tests/backend/compiled.hpp"

using namespace sinter;
using namespace sinter_test;

struct heat_state {
  array u, total;
};
BOOST_HANA_ADAPT_STRUCT(heat_state, u, total);

namespace {

/// compile(f) on lazy arguments and f on the same in memory: bit by bit the same, at the recording and at replays.
template <class F, class... A>
void same_compiled(F f, const A&... a) {
  auto step = compile(f);
  const array recorded = step(a...);
  const host_array want = from_device(f(array(a)...));
  EXPECT_TRUE(equals(recorded, want));
  for (int k = 0; k < 2; ++k) EXPECT_TRUE(equals(step(a...), want)) << "replay " << k;
  EXPECT_EQ(step.recordings(), 1u);
  EXPECT_EQ(step.replays(), 3u);
}

// ---- The same values ----

TEST(compile, elementwise_functions) {
  same_compiled([](array x, array y) { return sqrt(x * 2 + 1) - y; }, ramp(1000), ramp(1000) * 0.5f);
}

TEST(compile, reductions_and_what_uses_them) {
  same_compiled(
      [](array z) { return exp(z - max(z, 1, keepdims)) / sum(exp(z - max(z, 1, keepdims)), 1, keepdims); },
      reshape(ramp(600) * 0.01f, {20, 30}));
  same_compiled([](array x) { return sum(x); }, ramp(100000, f64));
  same_compiled([](array x) { return x - mean(x, 0); }, reshape(ramp(6000), {100, 60}));
}

TEST(compile, updates_of_an_argument_leave_the_callers_variable) {
  array u = evaluated(square(ramp(50)));
  const host_array before = from_device(u);
  same_compiled(diffused, u);
  EXPECT_TRUE(equals(u, before));
}

TEST(compile, loops_of_statements_fold_inside) {
  const auto steps = [](array b) {
    for (int t = 0; t < 300; ++t) {
      b(all, 0) += b(all, 2);
      b(all, 2) += b(all, 3);
    }
    return b;
  };
  const array b = evaluated(reshape(ramp(400), {100, 4}));
  same_compiled(steps, b);
  auto step = compile(steps);
  step(b);
  EXPECT_EQ(counted([&] { step(b); }).launches, 1u);
}

TEST(compile, stencil_loops_that_run_by_themselves) {
  const auto steps = [](array u, array forcing) {
    for (int t = 0; t < 60; ++t)
      u(range(1, -1)) += 0.1f * (u(range(2, end)) + u(range(0, -2)) - 2 * u(range(1, -1))) + forcing(range(1, -1));
    return u * 2;
  };
  const array u = evaluated(square(ramp(5000))), g = evaluated(ramp(5000) * 0.001f), h = evaluated(g * 3);
  same_compiled(steps, u, g);
  auto step = compile(steps);
  step(u, g);
  EXPECT_TRUE(equals(step(g, h), from_device(steps(g, h))));  // another forcing than when it was recorded
  EXPECT_TRUE(equals(step(u, h), from_device(steps(u, h))));
  EXPECT_EQ(step.recordings(), 1u);
}

TEST(compile, while_loops_gathers_scatters_and_scans) {
  same_compiled(
      [](array c) {
        return while_loop(
            c * 0, [](const array& s) { return s < 100; }, [&](const array& s) { return s * 2 + c; });
      },
      ramp(100) + 1);
  same_compiled([](array x, array i) { return x(i) + x(9); }, ramp(10), array{3, 1, -1, 0});
  same_compiled(
      [](array x, array i) {
        x(i) += 1.0f;
        return x;
      },
      ramp(10), array{3, 1, 3, 0});
  same_compiled([](array x) { return cumsum(x); }, ramp(5000));
}

TEST(compile, joins_sorts_and_random_numbers) {
  same_compiled([](array x) { return concat({x(range(0, 2)), x, x(range(end, begin, -1))}, 0); }, ramp(20));
  same_compiled([](array x) { return random::uniform(random::key(3), {50}, f32) * x; }, ramp(50));
  const auto draw = [](array key) { return random::uniform(key, {50}, f64); };
  same_compiled(draw, random::key(9));
  auto step = compile(draw);
  step(random::key(1));
  EXPECT_TRUE(equals(step(random::key(2)), from_device(draw(random::key(2)))));
  EXPECT_EQ(step.recordings(), 1u);  // a key is a number
}

TEST(compile, string_and_raw_kernels) {
  if (executor == "interpreter") GTEST_SKIP() << "the interpreter runs no kernels of users";
  const elementwise k{"squared_diff", "T x, T y", "T z", "z = (x - y) * (x - y)"};
  same_compiled([&](array x, array y) { return sqrt(k(x * 2, y)) + 1; }, ramp(100), ramp(100) + 3);
  const raw_kernel<void(in<float>, inout<float>, std::int32_t)> twice{
      "twice",
      R"(extern "C" __global__ void twice(const float* x, float* y, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) y[i] = 2 * x[i] + y[i];
      })"};
  const auto f = [&](array x, array y) {
    x = x + 1;
    twice(for_each(100), x, y, 100);
    return y - x;
  };
  const array x = evaluated(ramp(100)), y = evaluated(ramp(100) * 3);
  same_compiled(f, x, y);
  EXPECT_TRUE(equals(y, from_device(ramp(100) * 3)));
}

TEST(compile, products_and_sorts_of_libraries) {
  const array a = evaluated(reshape(ramp(6000), {60, 100}) * 0.001f), b = evaluated(reshape(ramp(4000), {100, 40}));
  const auto f = [](array x, array y) { return matmul(x + 1, transpose(transpose(y) * 2)) - matmul(x, y); };
  auto step = compile(f);
  for (int k = 0; k < 3; ++k)
    EXPECT_TRUE(equals(step(a, b), from_device(f(a, b)), {.rtol = 1e-5, .atol = 1e-2})) << k;
  EXPECT_EQ(step.recordings(), 1u);
  const auto ordered = [](array x) { return sort(x * -1) + 1; };
  same_compiled(ordered, ramp(5000));
  auto sorts = compile([](array x) { return sort(transpose(x)); });
  for (int k = 1; k < 3; ++k) {
    const array x = evaluated(reshape(ramp(600) * static_cast<float>(-k), {20, 30}));
    EXPECT_TRUE(equals(sorts(x), from_device(sort(evaluated(transpose(x))))));
  }
}

TEST(compile, replays_on_another_stream_wait_for_their_arguments) {
  auto step = compile([](array x) { return cumsum(x * 2) + sum(x); });
  const stream work, other;
  for (int k = 0; k < 6; ++k) {
    array x;
    {
      const scoped_stream on(work);
      x = evaluated(ramp(20000, f64) + k);
    }
    const scoped_stream on(other);
    const array y = step(x);
    EXPECT_EQ(y(0).item<double>(), 199990000.0 + 20002.0 * k);
  }
}

// ---- Arguments and results ----

TEST(compile, numbers_are_parameters) {
  auto step = compile([](array x, array dt) { return x + dt * x; });
  const array x = evaluated(ramp(40));
  for (const float dt : {0.5f, 0.25f, -3.0f}) EXPECT_TRUE(equals(step(x, dt), from_device(x + dt * x)));
  EXPECT_EQ(step.recordings(), 1u);
  EXPECT_EQ(step(x, 0.5).type(), f64);  // an array of its own dtype
  EXPECT_EQ(step.recordings(), 2u);
  auto pick = compile([](array v, array i) { return v(i); });
  EXPECT_EQ(pick(x, 7).item<float>(), 7.0f);
  EXPECT_EQ(pick(x, -1).item<float>(), 39.0f);
  auto same = compile([](array v, array s) { return std::tuple{s, v + s, sum(v) * s}; });
  for (const float s : {2.0f, 3.0f}) {
    const auto [a, b, c] = same(x, s);
    EXPECT_EQ(a.item<float>(), s);
    EXPECT_TRUE(equals(b, from_device(x + s)));
    EXPECT_EQ(c.item<float>(), 780 * s);
  }
  auto cut = compile([](array v, array s) { return concat({v, broadcast_to(s, {3})}, 0)(range(1, end)); });
  cut(x, 1.0f);
  EXPECT_EQ(cut(x, 5.0f)(-1).item<float>(), 5.0f);
}

TEST(compile, numbers_reach_loops_and_kernels_that_want_memory) {
  const auto f = [](array u, array a) {
    for (int t = 0; t < 60; ++t)
      u(range(1, -1)) += a * (u(range(2, end)) + u(range(0, -2)) - 2 * u(range(1, -1)));
    return u;
  };
  auto step = compile(f);
  const array u = evaluated(square(ramp(3000)));
  for (const float a : {0.1f, 0.2f}) EXPECT_TRUE(equals(step(u, a), from_device(f(u, evaluated(array{a})(0)))));
  EXPECT_EQ(step.recordings(), 1u);
}

TEST(compile, static_values_are_part_of_the_signature) {
  auto power = compile([](array x, int n) {
    array y = x;
    for (int k = 1; k < n; ++k) y = y * x;
    return y;
  });
  const array x = evaluated(ramp(5));
  EXPECT_TRUE(equals(power(x, static_value(2)), from_device(x * x)));
  EXPECT_TRUE(equals(power(x, static_value(3)), from_device(x * x * x)));
  EXPECT_TRUE(equals(power(x, static_value(2)), from_device(x * x)));
  EXPECT_EQ(power.recordings(), 2u);
}

TEST(compile, tuples_vectors_and_structs) {
  const array x = evaluated(ramp(30)), y = evaluated(x * 2);
  auto swap = compile([](std::tuple<array, array> s) { return std::pair{std::get<1>(s) + 1, std::get<0>(s)}; });
  for (int k = 0; k < 2; ++k) {
    const auto [a, b] = swap(std::tuple{x, y});
    EXPECT_TRUE(equals(a, from_device(y + 1)));
    EXPECT_TRUE(equals(b, from_device(x)));
  }
  auto heat = compile([](heat_state s) { return heat_state{s.u * 0.5f, s.total + sum(s.u)}; });
  heat_state s{x, array(0.0f).astype(f32)};
  for (int k = 0; k < 3; ++k) s = heat(s);
  EXPECT_TRUE(equals(s.u, from_device(x * 0.125f)));
  EXPECT_EQ(s.total.item<float>(), 435 * 1.75f);
  EXPECT_EQ(heat.recordings(), 1u);
  auto running = compile([](std::vector<array> list) {
    for (std::size_t k = 1; k < list.size(); ++k) list[k] = list[k] + list[k - 1];
    return list;
  });
  for (const std::size_t n : {std::size_t{3}, std::size_t{20}, std::size_t{3}}) {
    const std::vector<array> sums = running(std::vector<array>(n, x));
    ASSERT_EQ(sums.size(), n);
    EXPECT_TRUE(equals(sums[n - 1], from_device(x * static_cast<float>(n))));
  }
  EXPECT_EQ(running.recordings(), 2u);
}

TEST(compile, lazy_views_broadcast_and_empty_arguments) {
  const auto f = [](array a, array b) { return a + b * 2; };
  same_compiled(f, ramp(10) * 3, broadcast_to(ramp(1), {10}));
  const array m = evaluated(reshape(ramp(60), {6, 10}));
  same_compiled(f, m(1, all), m(range(end, begin, -1), all)(2, all));
  same_compiled(f, transpose(m), transpose(m));
  same_compiled(f, zeros({0, 3}, f32), ones({3}, f32));
  same_compiled([](array a) { return sum(a); }, zeros({0}, f32));
  same_compiled(f, zeros({}, f64), ones({2}, f64));
  auto step = compile(f);
  step(m(1, all), m(2, all));
  step(m(all, 1)(range(0, 6)), m(all, 2));
  EXPECT_EQ(counted([&] { step(ramp(10) + 1, ramp(10) * 2); }).evaluations, 1u);  // both arguments together
}

TEST(compile, one_array_in_several_arguments) {
  const auto f = [](array a, array b) {
    a(0) = 5.0f;
    return std::tuple{a, a + b};
  };
  auto step = compile(f);
  array x = evaluated(ramp(8));
  for (int k = 0; k < 3; ++k) {
    const auto [a, b] = step(x, x);
    EXPECT_EQ(a(0).item<float>(), 5.0f);
    EXPECT_EQ(b(0).item<float>(), 5.0f);
    EXPECT_EQ(b(7).item<float>(), 14.0f);
  }
  array y = x;
  const auto [a, b] = step(std::move(y), x);  // seen by x, too: not overwritten
  EXPECT_EQ(x(0).item<float>(), 0.0f);
  EXPECT_EQ(a(0).item<float>(), 5.0f);
}

TEST(compile, results_that_are_arguments_constants_or_alike) {
  const array c = evaluated(ramp(4) + 10);
  auto step = compile([&](array x) { return std::tuple{x, c, c + 1, zeros({2}, f32), reshape(x, {2, 2})}; });
  for (int k = 0; k < 2; ++k) {
    const array x = evaluated(ramp(4) * static_cast<float>(k + 1));
    auto [a, b, d, e, g] = step(x);
    EXPECT_TRUE(equals(a, from_device(x)));
    EXPECT_TRUE(equals(b, from_device(c)));
    EXPECT_TRUE(equals(d, from_device(c + 1)));
    EXPECT_TRUE(equals(e, std::vector<float>{0, 0}));
    EXPECT_TRUE(equals(g, from_device(reshape(x, {2, 2}))));
    b += 1;  // must not reach the constant
    d(0) = 0.0f;
    e(1) = 7.0f;
    eval(b, d, e);
  }
  EXPECT_EQ(step.recordings(), 1u);
}

TEST(compile, many_alike_results_are_parts_of_one_array) {
  auto step = compile([](array x) {
    std::vector<array> rows;
    for (int k = 0; k < 40; ++k) rows.push_back(x(k, all) * 2 + 1);
    return rows;
  });
  for (int k = 1; k < 3; ++k) {
    const array x = evaluated(reshape(ramp(400), {40, 10}) * static_cast<float>(k));
    const std::vector<array> rows = step(x);
    for (int r = 0; r < 40; ++r) EXPECT_TRUE(equals(rows[static_cast<std::size_t>(r)], from_device(x(r, all) * 2 + 1)));
  }
}

}  // namespace
