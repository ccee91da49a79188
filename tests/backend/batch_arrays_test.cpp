// The arrays of one evaluation that differ in numbers alone: computed together, and values of their own afterwards.
#include "tests/backend/plain_loop.hpp"

#include <string>
#include <vector>

using namespace sinter;
using namespace sinter_test;

namespace {

using batch_arrays = fold;

std::uint64_t launches_of_all(const std::vector<array>& arrays) {
  return counted([&] { eval_all(arrays); }).launches;
}

TEST_F(batch_arrays, rows_of_a_table_are_one_launch) {
  constexpr int n = 200, width = 5;
  const plain<float> table = scattered_values<float>({90, width});
  const array w = table.made();
  std::vector<array> rows;
  for (int k = 0; k < n; ++k) rows.push_back(w(k * k % 90, all) * 0.5f);
  EXPECT_EQ(launches_of_all(rows), 1u);
  for (int k = 0; k < n; ++k) {
    EXPECT_TRUE(rows[static_cast<std::size_t>(k)].is_evaluated());
    plain<float> want({width});
    for (int j = 0; j < width; ++j) want(j) = plain<float>(table)(k * k % 90, j) * 0.5f;
    EXPECT_TRUE(equals(rows[static_cast<std::size_t>(k)], want)) << k;
  }
}

TEST_F(batch_arrays, parts_of_one_memory_are_values_of_their_own) {
  const array x = arange(400).astype(f32);
  eval(x);
  std::vector<array> parts;
  for (int k = 0; k < 40; ++k) parts.push_back(x(range(10 * k, 10 * k + 10)) + 1);
  EXPECT_EQ(launches_of_all(parts), 1u);
  const array kept = parts[7];
  parts[7](3) = -5;  // a copy: `kept` sees the values before
  parts[8](all) *= 2;
  parts[9] += 1;     // in place
  eval(parts[7], parts[8], parts[9]);
  for (int k = 0; k < 40; ++k) {
    plain<float> want({10});
    for (int j = 0; j < 10; ++j) {
      want(j) = static_cast<float>(10 * k + j + 1);
      if (k == 7 && j == 3) want(j) = -5;
      if (k == 8) want(j) *= 2;
      if (k == 9) want(j) += 1;
    }
    EXPECT_TRUE(equals(parts[static_cast<std::size_t>(k)], want)) << k;
  }
  EXPECT_EQ(kept(3).item<float>(), 74);
  const array last = parts.back();
  parts.clear();  // one part keeps the memory of all alive
  EXPECT_EQ(last(9).item<float>(), 400);
  EXPECT_TRUE(equals(x(range(0, 3)), std::vector<float>{0, 1, 2}));
}

TEST_F(batch_arrays, reductions_and_numbers) {
  const plain<int> x = scattered_values<int>({60, 8});
  const array a = x.made();
  std::vector<array> all_of_them;
  for (int k = 0; k < 60; ++k) {
    all_of_them.push_back(sum(a(k, all)) + k);
    all_of_them.push_back(max(a(k, range(2, 5))));
  }
  EXPECT_LE(launches_of_all(all_of_them), 2u);
  for (int k = 0; k < 60; ++k) {
    std::int64_t total = k;
    int most = 0;
    for (int j = 0; j < 8; ++j) {
      total += plain<int>(x)(k, j);
      if (j >= 2 && j < 5) most = std::max(most, plain<int>(x)(k, j));
    }
    EXPECT_EQ(all_of_them[static_cast<std::size_t>(2 * k)].item<std::int64_t>(), total);
    EXPECT_EQ(all_of_them[static_cast<std::size_t>(2 * k + 1)].item<std::int32_t>(), most);
  }
}

TEST_F(batch_arrays, arrays_listed_twice_evaluated_or_made_of_each_other) {
  const array x = arange(50).astype(f64);
  std::vector<array> list;
  for (int k = 0; k < 50; ++k) list.push_back(x(k) * 2);
  eval(list[4]);
  list.push_back(list[3]);
  list.push_back(list[4]);
  array sum_of = list[0];
  for (int k = 1; k < 50; ++k) sum_of = sum_of + list[static_cast<std::size_t>(k)];
  list.push_back(sum_of);
  array chain = x(1);
  for (int k = 0; k < 40; ++k) list.push_back(chain = chain + x(k));
  eval_all(list);
  for (int k = 0; k < 50; ++k) EXPECT_EQ(list[static_cast<std::size_t>(k)].item<double>(), 2.0 * k);
  EXPECT_EQ(list[50].item<double>(), 6);
  EXPECT_EQ(list[51].item<double>(), 8);
  EXPECT_EQ(list[52].item<double>(), 2450);
  double want = 1;
  for (int k = 0; k < 40; ++k) EXPECT_EQ(list[static_cast<std::size_t>(53 + k)].item<double>(), want += k);
}

TEST_F(batch_arrays, all_rows_of_an_array_are_copies) {
  const plain<int> x = scattered_values<int>({40, 3});
  const array a = x.made(), pending = a * 2;
  std::vector<array> rows, later;
  for (int k = 0; k < 40; ++k) {
    rows.push_back(a(k, all));
    later.push_back(pending(k, all));
  }
  eval_all(rows);
  eval_all(later);
  rows[5](0) = 1000;
  later[5](0) = 1000;
  eval(rows[5], later[5]);
  EXPECT_TRUE(equals(a, x));
  EXPECT_EQ(pending(5, 0).item<std::int32_t>(), 2 * plain<int>(x)(5, 0));
  EXPECT_EQ(rows[5](0).item<std::int32_t>(), 1000);
  EXPECT_EQ(later[6](1).item<std::int32_t>(), 2 * plain<int>(x)(6, 1));
}

TEST_F(batch_arrays, explained_first_and_evaluated_one_by_one) {
  const array x = arange(40);
  std::vector<array> list;
  for (int k = 0; k < 40; ++k) list.push_back(x(k) * k);
  std::vector<const array*> pointers;
  for (const array& a : list) pointers.push_back(&a);
  const std::string text = explain_all(pointers);
  EXPECT_NE(text.find("40 arrays, the first at "), std::string::npos);
  EXPECT_NE(text.find("1 launch(es)"), std::string::npos);
  EXPECT_EQ(list[3].item<std::int64_t>(), 9);
  EXPECT_EQ(launches_of_all(list), 1u);
  for (int k = 0; k < 40; ++k) EXPECT_EQ(list[static_cast<std::size_t>(k)].item<std::int64_t>(), k * k);
}

TEST_F(batch_arrays, joins_in_arrays) {
  const plain<int> x = scattered_values<int>({50, 6});
  const array a = x.made();
  std::vector<array> list;
  for (int k = 0; k < 50; ++k) list.push_back(concat({a(k, range(3, 6)), a(k, range(0, 3))}) + k);
  EXPECT_EQ(launches_of_all(list), 1u);
  for (int k = 0; k < 50; ++k) {
    plain<int> want({6});
    for (int j = 0; j < 6; ++j) want(j) = plain<int>(x)(k, (j + 3) % 6) + k;
    EXPECT_TRUE(equals(list[static_cast<std::size_t>(k)], want));
  }
}

}  // namespace
