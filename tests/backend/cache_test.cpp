// What makes a kernel, and what is only its parameter. Each test uses expressions of its own, so that none finds
// another's kernels in the cache.
#include "tests/backend/expect.hpp"

#include <cmath>
#include <functional>

using namespace sinter;
using namespace sinter_test;

namespace {

std::uint64_t compiles(const std::function<array()>& expression) {
  return counted([&] { eval(expression()); }).compiles;
}

array numbers(std::int64_t n) { return counting(f32, {n}).to_device(); }

// Mitsuba drjit#213: a label inside the kernel made every one of them new.
TEST(cache, the_same_expression_written_twice_compiles_once) {
  const array x = numbers(64);
  EXPECT_EQ(compiles([&] { return sqrt(x * 3 + 11) - x; }), 1u);
  EXPECT_EQ(compiles([&] {
              const array tripled = x * 3;
              return sqrt(tripled + 11) - x;
            }),
            0u);
}

TEST(cache, equal_expressions_of_one_evaluation_compile_once) {
  const array x = numbers(64), y = numbers(32);
  EXPECT_EQ(counted([&] { eval(exp(x - 13) * x, exp(y - 13) * y); }).compiles, 1u);
}

// ml-explore/mlx#3964, mitsuba drjit#51: every new scalar made a kernel.
TEST(cache, another_number_is_no_other_kernel) {
  const array x = numbers(64);
  EXPECT_EQ(compiles([&] { return (x + 1.5f) * 17 - abs(x); }), 1u);
  for (int k = 0; k < 100; ++k) {
    const array y = (x + 0.25f * static_cast<float>(k)) * k - abs(x);
    EXPECT_EQ(counted([&] { eval(y); }).compiles, 0u) << k;
    EXPECT_TRUE(
        equals(y(range(2)), std::vector<float>{0.25f * static_cast<float>(k * k),
                                               (1 + 0.25f * static_cast<float>(k)) * static_cast<float>(k) - 1}));
  }
}

TEST(cache, numbers_with_special_values_are_no_other_kernel) {
  const array x = numbers(64);
  compiles([&] { return x * 19 + 2; });
  for (const float k : {0.f, -0.f, 1.f, -1.f, infinity, not_a_number})
    EXPECT_EQ(compiles([&] { return x * k + k; }), 0u) << k;
}

TEST(cache, numbers_that_happen_to_be_equal_are_no_other_kernel) {
  const array x = numbers(64);
  const auto of = [&](float a, float b) { return x * a + -x * b - x * 23; };
  EXPECT_EQ(compiles([&] { return of(2, 3); }), 1u);
  EXPECT_EQ(compiles([&] { return of(2, 2); }), 0u);
  EXPECT_EQ(compiles([&] { return of(23, 23); }), 0u);
}

// ml-explore/mlx#3201, #2607: shapes of an earlier call.
TEST(cache, another_size_is_no_other_kernel) {
  const auto expression = [](std::int64_t n) { return numbers(n) * 23 + log(numbers(n) + 1); };
  EXPECT_EQ(counted([&] { eval(expression(1000)); }).compiles, 1u);
  for (const std::int64_t n : {2, 3, 127, 128, 129, 1000, 1001, 1002, 1003, 65536, 100003, 0}) {
    const array y = expression(n);
    EXPECT_EQ(counted([&] { eval(y); }).compiles, 0u) << n;
    ASSERT_EQ(y.size(), n);
    if (n < 2) continue;
    const double last = static_cast<double>(n - 1), want = 23 * last + std::log(last + 1);
    EXPECT_NEAR(y(-1).item<float>(), want, 1e-6 * want);
  }
}

TEST(cache, another_shape_of_the_same_rank_is_no_other_kernel) {
  const auto expression = [](std::int64_t n, std::int64_t m) {
    return counting(f32, {n, m}).to_device() * 29 - counting(f32, {m}).to_device();
  };
  EXPECT_EQ(counted([&] { eval(expression(30, 40)); }).compiles, 1u);
  for (const auto& [n, m] : {std::pair{2, 3}, {12, 3}, {3, 12}, {70000, 2}, {2, 70000}, {17, 31}}) {
    const array y = expression(n, m);
    EXPECT_EQ(counted([&] { eval(y); }).compiles, 0u) << n << " x " << m;
    EXPECT_EQ(y(-1, -1).item<float>(), static_cast<float>(n * m - 1) * 29 - static_cast<float>(m - 1));
  }
}

TEST(cache, another_slice_is_no_other_kernel) {
  const array x = numbers(1000);
  const auto expression = [&](std::int64_t first, std::int64_t last, std::int64_t step) {
    return x(range(first, last, step)) * 31 + 1;
  };
  EXPECT_EQ(counted([&] { eval(expression(0, 900, 3)); }).compiles, 1u);
  EXPECT_EQ(counted([&] { eval(expression(1, 905, 3)); }).compiles, 0u);
  const array y = expression(7, 990, 5);
  EXPECT_EQ(counted([&] { eval(y); }).compiles, 0u);
  EXPECT_EQ(y(2).item<float>(), 17.f * 31 + 1);
}

// mitsuba drjit#143: changing addresses of the same data.
TEST(cache, another_buffer_is_no_other_kernel) {
  array kept[20];
  std::uint64_t made = 0;
  for (int k = 0; k < 20; ++k) {
    kept[k] = numbers(64 + k) + k;
    eval(kept[k]);
    const array x = kept[k];
    made += compiles([&] { return sin(x) * 37 + x; });
  }
  EXPECT_EQ(made, 1u);
}

TEST(cache, the_same_array_twice_and_two_arrays_are_told_apart) {
  const array x = numbers(64), y = numbers(64) + 5;
  eval(y);
  const array square_of_one = x * x - 41, product_of_two = x * y - 41;
  eval(square_of_one);
  eval(product_of_two);
  EXPECT_EQ(square_of_one(3).item<float>(), 9.f - 41);
  EXPECT_EQ(product_of_two(3).item<float>(), 24.f - 41);
}

// arrayfire-rust#262: a loop of b = b + 0.02 made a hundred kernels.
TEST(cache, a_loop_that_evaluates_each_step_reuses_its_kernel) {
  array b = numbers(64);
  const statistics added = counted([&] {
    for (int k = 0; k < 50; ++k) {
      b = b + 0.5f;
      b *= 1;
      eval(b);
    }
  });
  EXPECT_LE(added.compiles, 1u);
  EXPECT_EQ(added.launches, 50u);
  EXPECT_EQ(b(2).item<float>(), 27.f);
}

// cumo and others: a cache that grows with the iterations.
TEST(cache, a_loop_leaves_no_memory_behind) {
  const array x = numbers(4096);
  eval(x + 43);
  synchronize();
  const std::uint64_t before = stats().bytes_in_use;
  for (int k = 0; k < 200; ++k) {
    array y = x + 43;
    y *= 2;
    eval(y);
  }
  synchronize();
  EXPECT_EQ(stats().bytes_in_use, before);
}

// ml-explore/mlx#2647, #2648: other outputs of the same graph.
TEST(cache, the_same_graph_with_other_outputs_is_another_kernel) {
  const auto run = [](auto&& choose) {
    const array x = numbers(16), a = x * 47 + 1, b = a - x;
    choose(a, b);
    EXPECT_EQ(a(2).item<float>(), 95.f);
    EXPECT_EQ(b(2).item<float>(), 93.f);
  };
  run([](const array& a, const array&) { eval(a); });
  run([](const array& a, const array& b) { eval(a, b); });
  run([](const array& a, const array& b) { eval(b, a); });
  run([](const array&, const array& b) { eval(b); });
}

// drjit-core#46: one value in outputs of two sizes.
TEST(cache, one_value_in_results_of_two_sizes) {
  const array x = numbers(5) * 53, wide = x(newaxis, all) + numbers(3)(all, newaxis), flat = x + 1;
  eval(wide, flat, x);
  EXPECT_EQ(wide(2, 4).item<float>(), 4 * 53.f + 2);
  EXPECT_EQ(flat(4).item<float>(), 4 * 53.f + 1);
  EXPECT_EQ(x(4).item<float>(), 4 * 53.f);
}

TEST(cache, dtypes_broadcasts_and_ranks_make_kernels_and_repeats_do_not) {
  const auto run = [](const host_array& x, const host_array& y) {
    return counted([&] { eval((x.to_device() + y.to_device()) * 59); }).compiles;
  };
  const auto of = [](dtype type, const shape& extents) { return counting(type, extents); };
  EXPECT_EQ(run(of(i32, {3, 4}), of(i32, {3, 4})), 1u);
  EXPECT_EQ(run(of(i32, {3, 4}), of(i32, {3, 4})), 0u);
  EXPECT_EQ(run(of(i32, {3, 4}), of(i16, {3, 4})), 1u);
  EXPECT_EQ(run(of(i16, {3, 4}), of(i32, {3, 4})), 1u);
  EXPECT_EQ(run(of(i32, {4, 5}), of(i32, {4, 5})), 0u);
  const std::uint64_t by_row = run(of(i32, {4, 5}), of(i32, {5}));
  EXPECT_LE(by_row, 1u);
  EXPECT_EQ(run(of(i32, {7, 9}), of(i32, {9})), 0u);
  EXPECT_LE(run(of(i32, {4, 5}), of(i32, {4, 1})), 1u);
  EXPECT_EQ(run(of(i32, {8, 3}), of(i32, {8, 1})), 0u);
  EXPECT_TRUE(throws<shape_error>([&] { run(of(i32, {2, 5}), of(i32, {4, 5})); }, {"[2, 5]", "[4, 5]"}));
}

TEST(cache, strict_mode_makes_kernels_of_its_own) {
  const array x = numbers(64);
  EXPECT_EQ(compiles([&] { return x * 61 + x; }), 1u);
  set_math_mode(math_mode::strict);
  EXPECT_EQ(get_math_mode(), math_mode::strict);
  EXPECT_LE(compiles([&] { return x * 61 + x; }), 1u);
  set_math_mode(math_mode::standard);
  EXPECT_EQ(compiles([&] { return x * 61 + x; }), 0u);
}

}  // namespace
