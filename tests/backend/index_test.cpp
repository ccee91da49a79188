// Reading through indices and views: random programs against plain loops, and the cases worth a name.
#include "tests/backend/mirrored.hpp"

using namespace sinter;
using namespace sinter_test;

namespace {

/// Kernels of random programs differ, and compiling one takes a while: the interpreter runs many more.
int programs(int interpreted, int compiled) { return executor == "interpreter" ? interpreted : compiled; }

/// Another one with --gtest_random_seed.
std::uint64_t base_seed() { return 1000003u * static_cast<std::uint64_t>(testing::GTEST_FLAG(random_seed)) + 17; }

void check(const mirrored& m, std::uint64_t seed) {
  ASSERT_EQ(to_string(m.a.extents()), to_string(m.h.extents)) << "seed " << seed << ": " << m.text;
  try {
    const statistics added = counted([&] { eval(m.a); });
    if (m.h.size() == 0) { ASSERT_EQ(added.launches, 0u) << "seed " << seed << ": " << m.text; }
    ASSERT_TRUE(equals(m.a, m.h)) << "seed " << seed << ": " << m.text;
  } catch (const std::exception& e) { FAIL() << "seed " << seed << ": " << m.text << ": " << e.what(); }
}

TEST(index, random_chains_of_views_and_gathers_read_the_right_elements) {
  for (int k = 0; k < programs(3000, 90); ++k) {
    const std::uint64_t seed = base_seed() + static_cast<std::uint64_t>(k);
    view_program p(seed);
    mirrored m = p.source();
    try {
      for (std::int64_t steps = 1 + p.below(4); steps > 0; --steps) m = p.step(m);
    } catch (const std::exception& e) { FAIL() << "seed " << seed << ", after " << m.text << ": " << e.what(); }
    ASSERT_NO_FATAL_FAILURE(check(m, seed));
  }
}

TEST(index, random_views_of_pending_sums_are_views_of_their_operands) {
  for (int k = 0; k < programs(2000, 60); ++k) {
    const std::uint64_t seed = base_seed() + 500000 + static_cast<std::uint64_t>(k);
    view_program p(seed);
    mirrored m = p.source();
    try {
      for (int round = 0; round < 2; ++round) m = p.step(p.combined(p.step(m)));
    } catch (const std::exception& e) { FAIL() << "seed " << seed << ", after " << m.text << ": " << e.what(); }
    ASSERT_NO_FATAL_FAILURE(check(m, seed));
  }
}

TEST(index, random_programs_give_the_same_with_64_bit_index_arithmetic) {
  const wide_indices forced;
  for (int k = 0; k < programs(500, 15); ++k) {
    const std::uint64_t seed = base_seed() + static_cast<std::uint64_t>(k);
    view_program p(seed);
    mirrored m = p.source();
    for (int round = 0; round < 2; ++round) m = p.step(p.combined(p.step(m)));
    ASSERT_NO_FATAL_FAILURE(check(m, seed));
  }
}

TEST(index, random_shapes_broadcast) {
  for (int k = 0; k < programs(1000, 30); ++k) {
    const std::uint64_t seed = base_seed() + 900000 + static_cast<std::uint64_t>(k);
    view_program p(seed);
    ASSERT_NO_FATAL_FAILURE(check(p.combined(p.combined(p.source())), seed));
  }
}

TEST(index, random_views_are_reduced_without_being_stored) {
  for (int k = 0; k < programs(1000, 20); ++k) {
    const std::uint64_t seed = base_seed() + 1300000 + static_cast<std::uint64_t>(k);
    view_program p(seed);
    mirrored m = p.step(p.combined(p.step(p.source())));
    long double total = 0;
    for (std::int64_t i = 0; i < m.h.size(); ++i) total += m.h.get(i).re;
    host_array want(i64, {});
    want.set(0, {total, 0});
    ASSERT_NO_FATAL_FAILURE(check({sum(m.a), want, "the sum of " + m.text}, seed));
  }
}

// ArrayFire#3660, #3232, #1604: nested reshapes of offset views.
TEST(index, reshapes_of_slices_of_reshapes) {
  const array x = counting(i32, {6, 8}).to_device();
  const array y = reshape(reshape(x, {2, 24})(all, range(1, 19)), {9, 4})(range(1, end, 2), range(end, begin, -1));
  std::vector<std::int32_t> want;
  for (int i = 1; i < 9; i += 2)
    for (int j = 3; j >= 0; --j) {
      const int flat = i * 4 + j;
      want.push_back(flat / 18 * 24 + 1 + flat % 18);
    }
  EXPECT_EQ(counted([&] { eval(y); }).launches, 1u);
  EXPECT_TRUE(equals(y, host_array(want, {4, 4})));
}

// ArrayFire#3660: an array and its transpose in one expression.
TEST(index, an_array_and_its_transpose_in_one_expression) {
  const host_array h = counting(f32, {5, 5});
  const array a = h.to_device(), sum = a + transpose(a),
              mixed = a * transpose(a) + reshape(ravel(a)(range(end, begin, -1)), {5, 5});
  EXPECT_EQ(counted([&] { eval(sum, mixed); }).launches, 1u);
  host_array want_sum = h, want_mixed = h;
  for (std::int64_t k = 0; k < 25; ++k) {
    const auto x = static_cast<float>(k), t = static_cast<float>(k % 5 * 5 + k / 5);
    want_sum.set(k, {x + t, 0});
    want_mixed.set(k, {x * t + static_cast<float>(24 - k), 0});
  }
  EXPECT_TRUE(equals(sum, want_sum));
  EXPECT_TRUE(equals(mixed, want_mixed));
}

// drjit-core#67, #178: a gather of a gather.
TEST(index, gathers_of_gathers_of_views) {
  const array x = counting(i32, {10}).to_device() * 10;
  const array i{9, 7, 5, 3, 1, 0}, j{5, -1, 0, 2};
  const array y = x(i)(range(end, begin, -1))(j) + 1;
  EXPECT_EQ(counted([&] { eval(y); }).launches, 1u);
  EXPECT_TRUE(equals(y, std::vector<std::int32_t>{91, 91, 1, 31}));
}

// drjit-core#159: re-indexing shared nodes took exponential time.
TEST(index, a_deep_graph_of_shared_nodes_behind_a_gather_takes_linear_time) {
  array x = counting(i64, {16}).to_device();
  for (int k = 0; k < 30; ++k) x = x + x;
  const array picked_ones = x(array{3, 1});
  EXPECT_TRUE(equals(picked_ones, std::vector<std::int64_t>{std::int64_t{3} << 30, std::int64_t{1} << 30}));
}

// cupy/fusion_tests: F10 and F12 of its indexing.
TEST(index, ints_new_axes_and_negative_steps_mix) {
  const array x = counting(i32, {2, 3, 4}).to_device();
  EXPECT_TRUE(equals(x(1, newaxis, range(end, begin, -1), newaxis, 2),
                     host_array(std::vector<std::int32_t>{22, 18, 14}, {1, 3, 1})));
  EXPECT_TRUE(equals(x(all, 0, range(end, begin, -1)),
                     host_array(std::vector<std::int32_t>{3, 2, 1, 0, 15, 14, 13, 12}, {2, 4})));
  EXPECT_TRUE(equals(x(-1, ellipsis, end - 1), std::vector<std::int32_t>{15, 19, 23}));
  EXPECT_TRUE(equals(x(begin + 1, begin, range(begin + 1, end - 1)), std::vector<std::int32_t>{13, 14}));
}

TEST(index, bad_indices_are_refused_at_the_line_that_writes_them) {
  const array x = counting(i32, {2, 3, 4}).to_device(), scalar_array(7), matrix = x(0);
  const char* here = "index_test.cpp";
  EXPECT_TRUE(throws<index_error>([&] { matrix(0, 0, 0); }, {"too many", here}));
  EXPECT_TRUE(throws<index_error>([&] { x(-3); }, {"-3", "2", here}));
  EXPECT_TRUE(throws<index_error>([&] { x(3); }, {"3", here}));
  EXPECT_TRUE(throws<index_error>([&] { x(all, 3); }, {"axis 1", here}));
  EXPECT_TRUE(throws<index_error>([&] { scalar_array(0); }, {here}));
  EXPECT_TRUE(throws<index_error>([&] { x(ellipsis, ellipsis); }, {"ellipsis", here}));
  EXPECT_TRUE(throws<index_error>([&] { x(range(0, 2, 0)); }, {"step", here}));
  EXPECT_TRUE(throws<type_error>([&] { x(array{0.5f}); }, {"f32", here}));
  EXPECT_TRUE(throws<shape_error>([&] { x(array{0, 1}, array{0, 1, 2}); }, {"[2]", "[3]", here}));
  EXPECT_TRUE(throws<index_error>([&] { zeros({0, 2}, f32)(array{0}); }, {"no elements", here}));
  EXPECT_TRUE(throws<shape_error>([&] { transpose(x, {0, 0, 1}); }, {here}));
  EXPECT_TRUE(throws<shape_error>([&] { reshape(x, {5, 5}); }, {"24", here}));
  EXPECT_TRUE(throws<shape_error>([&] { squeeze(x, 1); }, {"3", here}));
  EXPECT_TRUE(throws<shape_error>([&] { take(x, array{0}, 3); }, {here}));
}

// ml-explore/mlx#3716: every operation on reversed and transposed views.
TEST(index, operations_on_reversed_and_transposed_views_agree_with_those_on_copies) {
  host_array h(i32, {16, 16});
  lcg numbers(41);
  for (std::int64_t k = 0; k < h.size(); ++k) h.set(k, {static_cast<long double>(numbers.below(2000000)) - 1000000, 0});
  const array x = h.to_device();
  const array views[] = {x(range(end, begin, -1)), x(all, range(end, begin, -1)), transpose(x)(range(end, begin, -2)),
                         x(range(1, end, 3), range(end, begin, -5)), diagonal(x)(range(end, begin, -1))};
  for (const array& v : views) {
    const array copy = from_device(v).to_device();
    const auto results = [](const array& a) {
      return std::vector<array>{a + 1,         a * a,     ~a, a >> 3, abs(a), a % 7, a < 0, where(a > 0, a, -1),
                                a.astype(f32), max(a) - a};
    };
    const std::vector<array> of_view = results(v), of_copy = results(copy);
    eval_all(of_view);
    eval_all(of_copy);
    for (std::size_t k = 0; k < of_view.size(); ++k)
      EXPECT_TRUE(equals(of_view[k], from_device(of_copy[k])))
          << "operation " << k << " on shape " << to_string(v.extents());
    EXPECT_TRUE(equals(argmax(v, -1), from_device(argmax(copy, -1))));
    EXPECT_TRUE(equals(sum(v, 0), from_device(sum(copy, 0))));
  }
}

}  // namespace
