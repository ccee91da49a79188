// Traces of programs' loops folded: they are as long as the program, and the same statements.
#include "tests/unit/folded_program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace {

using sinter::jit::trace_item;
using sinter::jit::traced_number;
using sinter_test::program;
using sinter_test::randoms;

using coefficients = std::vector<std::int64_t>;

void expect_number(const traced_number& n, std::int64_t constant, const coefficients& factors) {
  EXPECT_EQ(n.constant, constant);
  EXPECT_EQ(n.coefficients, factors);
  EXPECT_EQ(n.column, nullptr);
}

std::vector<std::int64_t> permutation(std::int64_t n, std::uint32_t seed) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  return order;
}

// ---- Loops ----

TEST(trace_folder, a_loop_is_one_item_of_one_size) {
  std::size_t bytes = 0;
  for (const std::int64_t n : {10, 100000}) {
    program p;
    for (std::int64_t i = 0; i < n; ++i) {
      p.run(4, {7, 2 * i, 5 - i});
      EXPECT_EQ(p.folder.follows(), i > 2);
    }
    EXPECT_EQ(p.folder.items(), 1u);
    if (bytes == 0) bytes = p.folder.bytes();
    EXPECT_EQ(p.folder.bytes(), bytes);
    const auto items = p.take();
    ASSERT_EQ(items.size(), 1u);
    ASSERT_TRUE(items[0].is_loop());
    expect_number(items[0].count, n, {});
    ASSERT_EQ(items[0].body.size(), 1u);
    const trace_item& s = items[0].body[0];
    EXPECT_EQ(s.statement, 4);
    ASSERT_EQ(s.parameters.size(), 3u);
    expect_number(s.parameters[0], 7, {0});
    expect_number(s.parameters[1], 0, {2});
    expect_number(s.parameters[2], 5, {-1});
  }
}

TEST(trace_folder, two_copies_are_no_loop) {
  program p;
  for (std::int64_t i = 0; i < 2; ++i) p.run(1, {i});
  EXPECT_EQ(p.folder.items(), 2u);
  EXPECT_EQ(p.take().size(), 2u);
}

TEST(trace_folder, four_loops_in_one_another_are_one_nest) {
  program p;
  for (std::int64_t a = 0; a < 5; ++a)
    for (std::int64_t b = 0; b < 4; ++b)
      for (std::int64_t c = 0; c < 6; ++c)
        for (std::int64_t d = 0; d < 3; ++d) p.run(0, {a, 10 * b - c, 3 * d + a, 8});
  const auto items = p.take();
  ASSERT_EQ(items.size(), 1u);
  const trace_item* i = &items[0];
  coefficients zeros;
  for (const std::int64_t count : {5, 4, 6, 3}) {
    ASSERT_TRUE(i->is_loop());
    expect_number(i->count, count, zeros);
    zeros.push_back(0);
    ASSERT_EQ(i->body.size(), 1u);
    i = &i->body[0];
  }
  expect_number(i->parameters[0], 0, {1, 0, 0, 0});
  expect_number(i->parameters[1], 0, {0, 10, -1, 0});
  expect_number(i->parameters[2], 0, {1, 0, 0, 3});
  expect_number(i->parameters[3], 8, {0, 0, 0, 0});
}

TEST(trace_folder, trip_counts_progress_in_triangular_nests) {
  for (const std::int64_t slope : {1, -1, 2, -3}) {
    program p;
    const std::int64_t first = slope > 0 ? 1 : 40;
    for (std::int64_t i = 0; i < 13; ++i)
      for (std::int64_t j = 0; j < first + slope * i; ++j) p.run(1, {i, j});
    const auto items = p.take();
    ASSERT_EQ(items.size(), 1u) << slope;
    expect_number(items[0].count, 13, {});
    ASSERT_EQ(items[0].body.size(), 1u);
    expect_number(items[0].body[0].count, first, {slope});
  }
}

TEST(trace_folder, rows_that_begin_later_each_time_are_one_nest) {
  program p;
  for (std::int64_t i = 0; i < 50; ++i)
    for (std::int64_t j = i; j < 50; ++j) p.run(1, {i, j});
  const auto items = p.take();
  // The last rows have three, two and one statements; those of one and two are predicted, not recognized.
  ASSERT_EQ(items.size(), 1u);
  expect_number(items[0].count, 50, {});
  expect_number(items[0].body[0].count, 50, {-1});
}

TEST(trace_folder, inner_loops_may_run_out_before_the_outer_one) {
  program p;
  for (std::int64_t i = 0; i < 12; ++i) {
    p.run(1, {i});
    for (std::int64_t j = 0; j < 15 - 2 * i; ++j) p.run(2, {i, j});
  }
  const auto items = p.take();
  ASSERT_EQ(items.size(), 1u);
  expect_number(items[0].count, 12, {});
  expect_number(items[0].body.at(1).count, 15, {-2});
}

TEST(trace_folder, imperfect_nests_are_one_item_whatever_the_inner_loop) {
  for (const std::int64_t inner : {1, 2, 3, 4, 500}) {
    program p;
    for (std::int64_t i = 0; i < 30; ++i) {
      p.run(1, {i});
      for (std::int64_t j = 0; j < inner; ++j) p.run(2, {i, j, j + i});
      p.run(3, {i, 2 * i});
    }
    const auto items = p.take();
    ASSERT_EQ(items.size(), 1u) << inner;
    expect_number(items[0].count, 30, {});
  }
}

TEST(trace_folder, outer_iterations_that_begin_as_the_inner_loop_goes_on_are_found) {
  program p;
  for (std::int64_t i = 0; i < 40; ++i)
    for (std::int64_t j = 0; j < 5; ++j) {
      p.run(1, {0});  // the sixth is predicted, but belongs to the next row
      p.run(2, {0, 0});
      p.run(3, {i, j});
    }
  const auto items = p.take();
  ASSERT_EQ(items.size(), 1u);
  expect_number(items[0].count, 40, {});
  ASSERT_EQ(items[0].body.size(), 1u);
  expect_number(items[0].body[0].count, 5, {0});
}

TEST(trace_folder, loops_begin_in_the_middle_of_other_statements) {
  program p;
  for (std::int64_t k = 0; k < 5; ++k) p.run(static_cast<std::int32_t>(k), {k * k});
  p.run(9, {-1, 3});  // like the statements of the loop, but no iteration of it
  for (std::int64_t i = 0; i < 20; ++i)
    for (std::int64_t j = 0; j < 7; ++j) p.run(9, {i, j});
  p.run(9, {77, 77});
  p.run(0, {5});
  const auto items = p.take();
  ASSERT_EQ(items.size(), 9u);
  EXPECT_EQ(std::ranges::count_if(items, &trace_item::is_loop), 1);
  EXPECT_TRUE(items[6].is_loop());
  expect_number(items[6].count, 20, {});
}

TEST(trace_folder, bodies_are_as_long_as_programs_have_them) {
  for (const std::int64_t length : {60, 192, 250}) {
    program p;
    for (std::int64_t t = 0; t < 50; ++t) {
      randoms structures(13);
      for (std::int64_t b = 0; b < length; ++b)
        p.run(static_cast<std::int32_t>(structures.below(length == 60 ? 1 : 5)), {b * b % 17, 7 * b % 13 + t, 3});
    }
    EXPECT_EQ(p.folder.items(), 1u);
    const auto items = p.take();
    ASSERT_EQ(items.size(), 1u) << length;
    expect_number(items[0].count, 50, {});
    EXPECT_EQ(items[0].body.size(), static_cast<std::size_t>(length));
  }
}

TEST(trace_folder, statements_may_have_no_parameters) {
  program p;
  for (int t = 0; t < 100; ++t) {
    p.run(1, {});
    p.run(2, {});
  }
  const auto items = p.take();
  ASSERT_EQ(items.size(), 1u);
  expect_number(items[0].count, 100, {});
}

TEST(trace_folder, progressions_wrap_around) {
  program p;
  const std::uint64_t step = 0x7fffffffffffff01u;
  for (std::uint64_t i = 0; i < 1000; ++i) p.run(1, {static_cast<std::int64_t>(i * step), 1});
  const auto items = p.take();
  ASSERT_EQ(items.size(), 1u);
  expect_number(items[0].body[0].parameters[0], 0, {static_cast<std::int64_t>(step)});
}

TEST(trace_folder, a_folder_is_used_again_after_what_it_held_was_taken) {
  program p;
  EXPECT_TRUE(p.take().empty());
  for (std::int64_t round = 0; round < 20; ++round) {  // ends within an iteration
    for (std::int64_t k = 0; k < 100 + round; ++k) p.run(static_cast<std::int32_t>(k % 3), {k / 3, round});
    EXPECT_LE(p.take().size(), 3u);
  }
}

// ---- Tables ----

TEST(trace_folder, irregular_parameters_are_columns_relative_to_the_first_row) {
  const auto order = permutation(1000, 1);
  program p;
  for (std::int64_t i = 0; i < 1000; ++i) {
    const std::int64_t at = order[static_cast<std::size_t>(i)];
    p.run(1, {5, at, 3 * i, at + 100});
  }
  const auto items = p.take();
  ASSERT_EQ(items.size(), 1u);
  expect_number(items[0].count, 1000, {});
  const auto& parameters = items[0].body.at(0).parameters;
  expect_number(parameters[0], 5, {0});
  expect_number(parameters[2], 0, {3});
  ASSERT_NE(parameters[1].column, nullptr);
  EXPECT_EQ(parameters[1].column, parameters[3].column);
  EXPECT_EQ(parameters[1].column_loop, 0);
  EXPECT_EQ(parameters[1].constant, order[0]);
  EXPECT_EQ(parameters[1].column->at(0), 0);
  EXPECT_EQ(parameters[1].column->at(7), order[7] - order[0]);
}

TEST(trace_folder, three_rows_that_progress_by_accident_do_not_part_a_table) {
  auto order = permutation(400, 14);
  for (const std::size_t at : {30u, 31u, 32u, 100u, 101u, 102u}) order[at] = 5000 + static_cast<std::int64_t>(at);
  program p;
  for (const std::int64_t at : order) p.run(1, {at});
  const auto items = p.take();
  ASSERT_EQ(items.size(), 1u);
  expect_number(items[0].count, 400, {});
}

TEST(trace_folder, a_table_ends_where_progressions_begin) {
  const auto order = permutation(500, 2);
  program p;
  for (const std::int64_t at : order) p.run(1, {at});
  for (std::int64_t i = 0; i < 400; ++i) p.run(1, {i});
  EXPECT_LT(p.folder.bytes(), 600 * sizeof(std::int64_t));
  EXPECT_TRUE(p.folder.follows());
  const auto items = p.take();
  ASSERT_EQ(items.size(), 2u);
  EXPECT_NE(items[0].body.at(0).parameters[0].column, nullptr);
  EXPECT_EQ(items[1].body.at(0).parameters[0].column, nullptr);
}

TEST(trace_folder, the_permutation_of_every_time_step_is_one_shared_table) {
  const auto order = permutation(400, 3);
  for (const bool alone : {false, true}) {
    program p;
    for (std::int64_t t = 0; t < 300; ++t) {
      for (std::int64_t i = 0; i < 400; ++i) p.run(1, {order[static_cast<std::size_t>(i)], i, 10 * t});
      if (!alone) p.run(2, {0});
    }
    EXPECT_TRUE(p.folder.follows());
    EXPECT_LT(p.folder.bytes(), 450 * sizeof(std::int64_t));
    const auto items = p.take();
    ASSERT_EQ(items.size(), 1u) << alone;
    expect_number(items[0].count, 300, {});
    EXPECT_EQ(items[0].body.size(), alone ? 1u : 2u);
    const trace_item& table = items[0].body[0];
    expect_number(table.count, 400, {0});
    EXPECT_EQ(table.body.at(0).parameters[0].column_loop, 1);
    expect_number(table.body.at(0).parameters[2], 0, {10, 0});
  }
}

TEST(trace_folder, a_table_may_have_an_offset_that_progresses_around_it) {
  const auto order = permutation(300, 4);
  program p;
  for (std::int64_t t = 0; t < 10; ++t) {
    for (const std::int64_t at : order) p.run(1, {at + 1000 * t, 4});
    p.run(2, {t});
  }
  const auto items = p.take();
  ASSERT_EQ(items.size(), 1u);
  const traced_number& moved = items[0].body.at(0).body.at(0).parameters[0];
  EXPECT_EQ(moved.coefficients, (coefficients{1000, 0}));
  EXPECT_EQ(moved.column_loop, 1);
}

TEST(trace_folder, a_number_has_one_column_even_when_two_would_do) {
  const auto order = permutation(300, 5);
  program p;
  for (std::int64_t t = 0; t < 40; ++t) {
    for (const std::int64_t at : order) p.run(1, {at + t * t});
    p.run(2, {t * t});
  }
  EXPECT_EQ(p.take().size(), 80u);
}

TEST(trace_folder, rows_of_a_table_have_several_statements) {
  const auto values = permutation(4000, 7);
  for (const std::vector<std::int32_t>& row :
       {std::vector{1, 2, 1}, std::vector{1, 1, 2, 1, 2}, std::vector{3, 1, 1}}) {
    program p;
    for (std::size_t k = 0; k < 4000; ++k) p.run(row[k % row.size()], {values[k], 1});
    EXPECT_EQ(p.folder.items(), 0u);
    const auto items = p.take();
    ASSERT_LE(items.size(), row.size());  // the last row is not whole
    EXPECT_EQ(items[0].body.size(), row.size());
  }
}

TEST(trace_folder, a_scalar_of_each_outer_iteration_makes_a_table_of_loops) {
  const auto scalars = permutation(60, 8);
  program p;
  for (std::int64_t t = 0; t < 60; ++t)
    for (std::int64_t i = 0; i < 1000; ++i) p.run(1, {i, scalars[static_cast<std::size_t>(t)]});
  const auto items = p.take();
  ASSERT_EQ(items.size(), 1u);
  expect_number(items[0].count, 60, {});
  expect_number(items[0].body.at(0).count, 1000, {0});
  const traced_number& scalar = items[0].body[0].body.at(0).parameters[1];
  ASSERT_NE(scalar.column, nullptr);
  EXPECT_EQ(scalar.column_loop, 0);
  EXPECT_EQ(scalar.constant + scalar.column->at(9), scalars[9]);
}

TEST(trace_folder, rows_of_a_sparse_matrix_are_one_table_of_lengths) {
  for (const bool clears : {false, true}) {
    randoms random(9);
    program p;
    std::int64_t k = 0;
    for (std::int64_t row = 0; row < 4000; ++row) {
      if (clears) p.run(2, {row});
      const std::int64_t length = random.below(12);
      for (std::int64_t e = 0; e < length; ++e) p.run(1, {row, k++});
    }
    const auto items = p.take();
    EXPECT_LE(items.size(), 3u) << clears;
    const auto longest = std::ranges::max_element(items, {}, [](const trace_item& i) { return i.count.constant; });
    ASSERT_TRUE(longest->is_loop());
    EXPECT_TRUE(std::ranges::any_of(longest->body, [](const trace_item& i) { return i.is_loop() && i.count.column; }));
  }
}

TEST(trace_folder, sparse_rows_with_column_indices_are_one_table) {
  randoms random(10);
  program p;
  std::int64_t k = 0;
  for (std::int64_t row = 0; row < 3000; ++row)
    for (std::int64_t e = random.below(9); e > 0; --e) p.run(1, {row, k++, random.below(3000)});
  EXPECT_EQ(p.take().size(), 1u);
}

// ---- Traces that do not fold ----

TEST(trace_folder, memory_of_random_traces_is_that_of_their_parameters) {
  for (const std::int32_t structures : {2, 8, 1000}) {
    randoms random(12);
    program p;
    for (int k = 0; k < 30000; ++k)
      p.run(static_cast<std::int32_t>(random.below(structures)),
            {random.below(100), random.below(100), random.below(100)});
    EXPECT_LE(p.folder.bytes(), 30000u * (3 * sizeof(std::int64_t) + 32));
    p.take();
  }
}

TEST(trace_folder, the_thue_morse_word_has_no_three_copies) {
  program p;
  for (std::uint32_t k = 0; k < 20000; ++k) p.run(std::popcount(k) & 1, {1});
  EXPECT_EQ(p.folder.items(), 20000u);
  EXPECT_LE(p.folder.bytes(), 20000u * 48);
  const auto items = p.take();
  EXPECT_TRUE(std::ranges::none_of(items, &trace_item::is_loop));
}

TEST(trace_folder, the_fibonacci_word_has_many) {
  std::vector<std::int32_t> word{0, 1}, before{0};
  while (word.size() < 20000) {
    const std::vector<std::int32_t> shorter = word;
    word.insert(word.end(), before.begin(), before.end());
    before = shorter;
  }
  program p;
  for (const std::int32_t s : word) p.run(s, {1});
  EXPECT_LT(p.folder.items(), 1000u);
  p.take();
}

TEST(trace_folder, loops_that_break_at_their_last_statement_stay_exact) {
  for (const std::int64_t length : {5, 60, 250}) {
    randoms random(11);
    program p;
    for (std::int64_t t = 0; t < 20000 / length; ++t) {
      for (std::int64_t b = 0; b < length - 1; ++b) p.run(static_cast<std::int32_t>(b % 7), {b, t, b * b % 13});
      p.run(static_cast<std::int32_t>(7 + random.below(2)), {random.below(1000)});
    }
    EXPECT_LE(p.folder.bytes(), p.folder.statements() * 64);
    p.take();
  }
}

}  // namespace
