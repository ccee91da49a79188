// What replays of compiled functions share: plans of loops that run by themselves, graphs of many launches, counts.
#include "dsl/libraries.hpp"
#include "dsl/sort.hpp"
#include "tests/backend/compiled.hpp"

#include <thread>

using namespace sinter;
using namespace sinter_test;

namespace {

array heat(array u, const array& forcing, int steps) {
  for (int t = 0; t < steps; ++t)
    u(range(1, -1)) += 0.125f * (u(range(2, end)) + u(range(0, -2)) - 2 * u(range(1, -1))) + forcing(range(1, -1));
  return u;
}

TEST(compile_replay, loops_are_planned_once_and_hold_no_memory_between_replays) {
  const auto f = [](array u, array g) { return heat(u, g, 90); };
  auto step = compile(f);
  const array u = evaluated(ramp(3000)), g = evaluated(ramp(3000) * 0.001f);
  step(u, g);
  step(u, g);
  const std::uint64_t before = stats().bytes_in_use;
  const statistics s = counted([&] { step(u, g); });
  EXPECT_EQ(stats().bytes_in_use, before);
  EXPECT_LT(s.cache_hits, s.launches) << "the loop looks up no kernels";
  for (int k = 1; k < 5; ++k) {
    const array x = evaluated(u * static_cast<float>(k)), y = evaluated(g * static_cast<float>(-k));
    EXPECT_TRUE(equals(step(x, y), from_device(f(x, y)))) << k;
  }
}

TEST(compile_replay, loops_that_count_begin_at_0_each_time) {
  const auto f = [](array u) {
    for (int t = 0; t < 70; ++t)
      u(range(1, -1)) += 0.125f * (u(range(2, end)) - u(range(0, -2))) + static_cast<float>(t);
    return u;
  };
  auto step = compile(f);
  for (int k = 1; k < 5; ++k) {
    const array x = evaluated(ramp(2000) * static_cast<float>(k));
    EXPECT_TRUE(equals(step(x), from_device(f(x)))) << k;
  }
}

TEST(compile_replay, donated_states_of_loops) {
  const array g = evaluated(ramp(3000) * 0.001f);
  auto step = compile([](array u, array forcing) { return heat(u, forcing, 40); });
  array u = evaluated(ramp(3000)), plain = evaluated(ramp(3000));
  for (int k = 0; k < 4; ++k) {
    u = step(std::move(u), g);
    plain = evaluated(heat(plain, g, 40));
    EXPECT_TRUE(equals(u, from_device(plain))) << k;
  }
}

TEST(compile_replay, two_loops_and_what_is_between) {
  const auto f = [](array u, array g) { return heat(heat(u, g, 40) * 2, g - 1, 50) + u; };
  auto step = compile(f);
  for (int k = 1; k < 4; ++k) {
    const array x = evaluated(ramp(1000) * static_cast<float>(k)), y = evaluated(ramp(1000) * 0.001f);
    EXPECT_TRUE(equals(step(x, y), from_device(f(x, y)))) << k;
  }
}

TEST(compile_replay, loops_in_several_threads) {
  const auto f = [](array u, array g) { return heat(u, g, 50); };
  auto step = compile(f);
  const array g = evaluated(ramp(1500) * 0.001f);
  std::vector<array> in;
  std::vector<host_array> want, found(8);
  for (int k = 0; k < 8; ++k) {
    in.push_back(evaluated(ramp(1500) * static_cast<float>(k)));
    want.push_back(from_device(f(in.back(), g)));
  }
  step(in[0], g);
  std::vector<std::thread> threads;
  for (std::size_t k = 0; k < 8; ++k)
    threads.emplace_back([&, k] {
      for (int again = 0; again < 5; ++again) found[k] = from_device(step(in[k], g));
    });
  for (std::thread& t : threads) t.join();
  for (std::size_t k = 0; k < 8; ++k) EXPECT_EQ(difference(found[k], want[k]), "") << k;
}

/// `count` launches, each of which needs the one before.
array chain(array x, int count) {
  for (int k = 0; k < count; ++k) {
    x = x * 0.5f + static_cast<float>(k % 17);
    eval(x);
  }
  return x;
}

TEST(compile_replay, a_thousand_launches_and_ten_thousand) {
  for (const int count : {1000, 10000}) {
    auto step = compile([count](array x) { return chain(x, count); });
    for (int again = 0; again < 5; ++again) {  // one by one, then as a graph, then with other arguments
      std::vector<float> start(100), want(100);
      for (std::size_t k = 0; k < 100; ++k) {
        start[k] = want[k] = static_cast<float>(static_cast<int>(k) * (again + 1));
        for (int j = 0; j < count; ++j) want[k] = want[k] * 0.5f + static_cast<float>(j % 17);
      }
      const array x = host_array(start, {100}).to_device();
      EXPECT_TRUE(equals(step(x), want)) << count << ", " << again;
    }
    const array x = evaluated(ramp(100));
    EXPECT_EQ(counted([&] { step(x); }).launches, static_cast<std::uint64_t>(count));
  }
}

TEST(compile_replay, library_calls_among_launches) {
  const array w = evaluated(reshape(ramp(40 * 40), {40, 40}) * 0.001f);
  const auto f = [&](array x) {
    for (int k = 0; k < 5; ++k) x = exp(matmul(x, w) * -0.01f) + topk(x, 3).values(all, range(0, 1));
    return x;
  };
  auto step = compile(f);
  for (int k = 1; k < 5; ++k) {
    const array x = evaluated(reshape(ramp(40 * 40), {40, 40}) * (0.001f * static_cast<float>(k)));
    EXPECT_TRUE(equals(step(x), from_device(f(x)), {.rtol = 1e-5, .atol = 1e-5})) << k;
  }
}

TEST(compile_replay, are_counted) {
  auto step = compile([](array x) { return x + 1; });
  const array x = evaluated(ramp(10));
  EXPECT_EQ(counted([&] { step(x), step(x), step(x); }).replays, 3u);
  EXPECT_EQ(counted([&] { eval(x + 2); }).replays, 0u);
  EXPECT_EQ(step.replays(), 3u);
}

}  // namespace
