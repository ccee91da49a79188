// compile(f): the same values as without, for the launches alone; signatures, donation, errors, memory.
#include "dsl/compile.hpp"

#include "dsl/raw_kernel.hpp"
#include "dsl/sort.hpp"
#include "dsl/stream.hpp"
#include "dsl/struct_state.hpp"
#include "tests/backend/expect.hpp"

#include <thread>

using namespace sinter;
using namespace sinter_test;

struct heat_state {
  array u, total;
};
BOOST_HANA_ADAPT_STRUCT(heat_state, u, total);

namespace {

array ramp(std::int64_t n, dtype type = f32) { return counting(type, {n}).to_device(); }

array evaluated(array x) {
  eval(x);
  return x;
}

std::uint64_t memory_in_use() { return stats().bytes_in_use; }

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

array diffused(array u) {
  u(range(1, -1)) += 0.1f * (u(range(2, end)) + u(range(0, -2)) - 2 * u(range(1, -1)));
  return u;
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

// ---- Captures ----

TEST(compile, captured_arrays_are_constants) {
  array c = evaluated(ramp(6));
  auto step = compile([&](array x) { return x + c; });
  const array x = evaluated(ones({6}, f32));
  EXPECT_EQ(step(x)(5).item<float>(), 6.0f);
  c += 100;
  eval(c);
  EXPECT_EQ(step(x)(5).item<float>(), 6.0f);
}

TEST(compile, arrays_made_inside_are_constants_that_stay_what_they_are) {
  auto step = compile([](array x) {
    array t = ones({6}, f32);
    eval(t);
    t += x;
    t(0) = 9.0f;
    return t;
  });
  const array x = evaluated(ramp(6));
  for (int k = 0; k < 3; ++k) EXPECT_TRUE(equals(step(x), std::vector<float>{9, 2, 3, 4, 5, 6}));
}

TEST(compile, values_inside_are_refused) {
  const array x = evaluated(ramp(6));
  auto reads = compile([](array v) { return v * v(0).item<float>(); });
  EXPECT_TRUE(throws<type_error>([&] { reads(x); }, {"compile()", "compile_test.cpp", "if_else"}));
  auto masks = compile([](array v) { return v(v > 2); });
  EXPECT_TRUE(throws<type_error>([&] { masks(x); }, {"compile()"}));
  auto knows = compile([](array v) { return v * sum(ones({3}, f32)).item<float>(); });
  EXPECT_EQ(knows(x)(5).item<float>(), 15.0f);
}

TEST(compile, what_is_kept_outside_is_refused) {
  const array x = evaluated(ramp(6));
  array lazily, computed;
  auto keeps = compile([&](array v) {
    lazily = v + 1;
    return v * 2;
  });
  EXPECT_TRUE(throws<type_error>([&] { keeps(x); }, {"kept outside"}));
  EXPECT_EQ(keeps.recordings(), 0u);
  EXPECT_EQ(lazily.to_vector<float>().size(), 6u);  // of any value
  auto keeps_evaluated = compile([&](array v) {
    computed = v + 1;
    eval(computed);
    return v * 2;
  });
  EXPECT_TRUE(throws<type_error>([&] { keeps_evaluated(x); }, {"kept outside", "compile_test.cpp"}));
  EXPECT_EQ(computed.to_vector<float>().size(), 6u);
}

TEST(compile, exceptions_leave_no_recording) {
  bool fails = true;
  auto step = compile([&](array v) {
    array w = v + 1;
    eval(w);
    if (fails) throw std::runtime_error("not now");
    return w;
  });
  const array x = evaluated(ramp(6));
  EXPECT_THROW(step(x), std::runtime_error);
  EXPECT_EQ(step.recordings(), 0u);
  fails = false;
  EXPECT_EQ(step(x)(5).item<float>(), 6.0f);
}

TEST(compile, evaluations_inside_are_part_of_it) {
  auto step = compile([](array v) {
    array w = v + 1;
    eval(w);
    array z = w * w;
    eval(z, w);
    return z + w;
  });
  const array x = evaluated(ramp(6));
  step(x);
  const array y = evaluated(x * 2);
  EXPECT_TRUE(equals(step(y), from_device((y + 1) * (y + 1) + y + 1)));
}

TEST(compile, one_inside_another) {
  auto inner = compile([](array v) { return v * 2; });
  auto outer = compile([&](array v) { return inner(inner(v)) + 1; });
  const array x = evaluated(ramp(6));
  outer(x);
  EXPECT_EQ(counted([&] { EXPECT_EQ(outer(x)(5).item<float>(), 21.0f); }).launches, 2u);  // with that of (5)
  EXPECT_EQ(inner.recordings(), 0u);
}

// ---- Faults ----

TEST(compile, bad_indices_name_the_line_that_recorded_them) {
  auto step = compile([](array x, array i) { return x(i); });
  const array x = evaluated(ramp(10));
  EXPECT_EQ(step(x, array{1, 2})(1).item<float>(), 2.0f);
  for (int k = 0; k < 2; ++k) {
    const array bad = step(x, array{1, 77});
    EXPECT_TRUE(throws<index_error>([&] { static_cast<void>(bad.to_vector<float>()); }, {"77", "compile_test.cpp"}));
  }
  EXPECT_EQ(step.recordings(), 1u);
}

// ---- Signatures ----

TEST(compile, records_again_for_other_dtypes_shapes_and_options) {
  auto step = compile([](array x) { return x + 1; });
  step(ramp(4));
  step(ramp(4));
  EXPECT_EQ(step.recordings(), 1u);
  step(ramp(5));
  EXPECT_NE(step.explain().find("[5]"), std::string::npos) << step.explain();
  EXPECT_NE(step.explain().find("instead of"), std::string::npos) << step.explain();
  step(ramp(4, f64));
  step(reshape(ramp(4), {2, 2}));
  EXPECT_EQ(step.recordings(), 4u);
  {
    const wide_indices wide;
    step(ramp(4));
    EXPECT_EQ(step.recordings(), 5u);
  }
  step(ramp(4));
  EXPECT_EQ(step.recordings(), 5u);
  EXPECT_EQ(step.replays(), 7u);
}

TEST(compile, many_signatures_are_bounded) {
  auto step = compile([](array x) { return x + 1; });
  for (std::int64_t n = 1; n <= 70; ++n) EXPECT_EQ(step(ramp(n)).size(), n);
  EXPECT_EQ(step.recordings(), 70u);
  step(ramp(70));
  EXPECT_EQ(step.recordings(), 70u);
  step(ramp(1));
  EXPECT_EQ(step.recordings(), 71u);
}

TEST(compile, prepare_records_and_launches_nothing) {
  auto step = compile([](array x, array dt) { return x + dt; });
  const statistics added = counted([&] { step.prepare(zeros({1000}, f32), 1.0f); });
  EXPECT_EQ(added.launches, 0u);
  EXPECT_EQ(step.recordings(), 1u);
  const array x = evaluated(ramp(1000));
  EXPECT_EQ(counted([&] { step(x, 2.0f); }).compiles, 0u);
  EXPECT_EQ(step.recordings(), 1u);
}

// ---- Costs and memory ----

TEST(compile, a_replay_launches_and_records_nothing_but_results) {
  auto step = compile([](array x, array y) { return sqrt(x) * y + x; });
  const array x = evaluated(ramp(100)), y = evaluated(ramp(100) + 1);
  step(x, y);
  const statistics added = counted([&] { step(x, y); });
  EXPECT_EQ(added.launches, 1u);
  EXPECT_EQ(added.evaluations, 0u);
  EXPECT_EQ(added.compiles, 0u);
  EXPECT_EQ(added.recorded, 1u);
}

TEST(compile, donated_memory_is_the_results) {
  auto step = compile(diffused);
  array u = evaluated(square(ramp(1 << 16)));
  array want = u;
  for (int k = 0; k < 4; ++k) want = diffused(want);
  u = step(std::move(u));
  u = step(std::move(u));
  const std::uint64_t before = memory_in_use();
  u = step(std::move(u));
  EXPECT_EQ(memory_in_use(), before);
  u = step(std::move(u));
  EXPECT_TRUE(equals(u, from_device(want)));

  auto scale = compile([](array x) { return x * 2; });
  array x = evaluated(ramp(1 << 20));
  x = scale(std::move(x));
  const std::uint64_t in_use = memory_in_use();
  x = scale(std::move(x));
  EXPECT_EQ(memory_in_use(), in_use);
  EXPECT_EQ(x(3).item<float>(), 12.0f);
}

TEST(compile, donated_variables_are_emptied) {
  auto step = compile([](array u, array v) { return u + v; }, {.donate = {0}});
  array u = evaluated(ramp(10)), v = evaluated(ramp(10));
  const array sum = step(u, v);
  EXPECT_EQ(u.size(), 0);
  EXPECT_EQ(v.size(), 10);
  EXPECT_EQ(sum(9).item<float>(), 18.0f);
  const array w = evaluated(ramp(10));
  EXPECT_EQ(step(w, w)(9).item<float>(), 18.0f);
  EXPECT_EQ(w(9).item<float>(), 9.0f);
  array seen = evaluated(ramp(10));
  const array other = seen;
  EXPECT_EQ(step(seen, v)(9).item<float>(), 18.0f);
  EXPECT_EQ(other(9).item<float>(), 9.0f);
}

TEST(compile, nothing_is_kept_between_calls) {
  const std::uint64_t before = memory_in_use();
  {
    auto step = compile([](array x) { return std::tuple{sum(exp(x), 1) - cumsum(x, {.axis = 1})(all, -1), x * 2}; });
    const array x = evaluated(reshape(ramp(1 << 16), {256, 256}) * 0.001f);
    const std::uint64_t with_x = memory_in_use();
    for (int k = 0; k < 5; ++k) {
      step(x);
      EXPECT_EQ(memory_in_use(), with_x);
    }
  }
  EXPECT_EQ(memory_in_use(), before);
}

TEST(compile, threads_share_recordings) {
  auto step = compile([](array x, array s) { return sum(x * s) + x(0); });
  std::vector<std::thread> threads;
  std::vector<double> found(8);
  for (std::size_t t = 0; t < found.size(); ++t)
    threads.emplace_back([&, t] {
      const array x = evaluated(ramp(1000, f64));
      for (int k = 0; k < 20; ++k) found[t] += step(x, static_cast<double>(t)).item<double>();
    });
  for (std::thread& t : threads) t.join();
  for (std::size_t t = 0; t < found.size(); ++t) EXPECT_EQ(found[t], 20 * 499500.0 * static_cast<double>(t));
  EXPECT_EQ(step.recordings(), 1u);
}

TEST(compile, copies_share_recordings) {
  auto step = compile([](array x) { return x + 1; });
  auto other = step;
  step(ramp(3));
  other(ramp(3));
  EXPECT_EQ(other.recordings(), 1u);
}

}  // namespace
