// compile(f): what functions may capture and do, when a call records, what becomes of its arguments' memory, threads.
#include "tests/backend/compiled.hpp"

#include <thread>

using namespace sinter;
using namespace sinter_test;

namespace {

std::uint64_t memory_in_use() { return stats().bytes_in_use; }

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
  EXPECT_TRUE(throws<type_error>([&] { reads(x); }, {"compile()", "compile_call_test.cpp", "if_else"}));
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
  EXPECT_TRUE(throws<type_error>([&] { keeps_evaluated(x); }, {"kept outside", "compile_call_test.cpp"}));
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
    EXPECT_TRUE(
        throws<index_error>([&] { static_cast<void>(bad.to_vector<float>()); }, {"77", "compile_call_test.cpp"}));
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
