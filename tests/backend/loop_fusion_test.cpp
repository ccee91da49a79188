// What is around loops inside kernels, and in them: captured arrays, gathers, choices, string kernels, reductions of
// their results in the same launch, loops beside other work.
#include "tests/backend/plain_reduce.hpp"

#include <cmath>
#include <tuple>
#include <utility>

using namespace sinter;
using namespace sinter_test;

namespace {

/// Doubles until it passes 100.
array doubled(const array& x) {
  return while_loop(
      x, [](const array& s) { return s <= 100; }, [](const array& s) { return s * 2; });
}
std::int64_t doubled(std::int64_t x) {
  while (x <= 100) x *= 2;
  return x;
}

// ---- Captured arrays ----

TEST(loop_capture, stored_pending_broadcast_and_viewed) {
  const array x = arange(12) + 1, table = reshape(x, {3, 4});
  eval(table);
  const std::vector<array> captured{table,
                                    table * 1,
                                    table(range(end, begin, -1), all),
                                    transpose(reshape(x * 1, {4, 3})),
                                    table(all, 0)(all, newaxis),
                                    table(0),
                                    array(std::int64_t{3}),
                                    flip(table * 2, 1)};
  for (std::size_t k = 0; k < captured.size(); ++k) {
    const array& c = captured[k];
    const array y = for_loop(3, zeros({3, 4}, i64), [&](const array& s) { return s * 2 + c; });
    EXPECT_TRUE(equals(y, from_device(broadcast_to(c, {3, 4}) * 7))) << k;
  }
}

TEST(loop_capture, gathers_at_states_and_counters) {
  const std::int64_t n = 100;
  const array next = (arange(n) * 37 + 11) % n;
  for (const bool pending : {false, true}) {
    if (!pending) eval(next);
    const array at = for_loop(9, arange(n), [&](const array& s) { return next(s); });
    std::vector<std::int64_t> want;
    for (std::int64_t k = 0; k < n; ++k) {
      std::int64_t v = k;
      for (int t = 0; t < 9; ++t) v = (v * 37 + 11) % n;
      want.push_back(v);
    }
    EXPECT_TRUE(equals(at, want)) << pending;
  }
  const array x = arange(10).astype(f32);
  EXPECT_TRUE(equals(for_loop(10, zeros({3}, f32), [&](const array& i, const array& s) { return s + x(i); }),
                     std::vector<float>(3, 45)));
  EXPECT_TRUE(equals(for_loop(5, zeros({3}, f32), [&](const array& i, const array& s) { return s + x(2 * i + 1); }),
                     std::vector<float>(3, 25)));
  EXPECT_TRUE(equals(for_loop(5, zeros({3}, f32), [&](const array& i, const array& s) { return s * 10 + x(-1 - i); }),
                     std::vector<float>(3, 98765)));
  EXPECT_TRUE(
      equals(for_loop(4, zeros({2}, f32), [&](const array& i, const array& s) { return s + x(i * i) + x(i % 2); }),
             std::vector<float>(2, 0 + 1 + 4 + 9 + 2)));
}

TEST(loop_capture, rows_at_the_counter) {
  const host_array h = counting(f64, {6, 5});
  const array m = h.to_device();
  std::vector<double> want(5, 0);
  for (std::int64_t i = 0; i < 6; ++i)
    for (std::int64_t j = 0; j < 5; ++j)
      want[static_cast<std::size_t>(j)] = want[static_cast<std::size_t>(j)] * 0.5 + static_cast<double>(i * 5 + j);
  EXPECT_TRUE(
      equals(for_loop(6, zeros({5}), [&](const array& i, const array& s) { return s * 0.5 + m(i, all); }), want));
  EXPECT_TRUE(
      equals(for_loop(6, zeros({5}), [&](const array& i, const array& s) { return s * 0.5 + (m + 0)(i); }), want));
}

TEST(loop_capture, a_product_of_matrices) {
  const host_array a = small_numbers(f64, {7, 9}, 1), b = small_numbers(f64, {9, 5}, 2);
  const array x = a.to_device(), y = b.to_device();
  const array product = for_loop(
      9, zeros({7, 5}), [&](const array& k, const array& s) { return s + x(all, k)(all, newaxis) * y(k, all); });
  EXPECT_EQ(counted([&] { eval(product); }).launches, 1u);
  host_array want(f64, {7, 5});
  for (std::int64_t i = 0; i < 7; ++i)
    for (std::int64_t j = 0; j < 5; ++j) {
      long double s = 0;
      for (std::int64_t k = 0; k < 9; ++k) s += a.get(i * 9 + k).re * b.get(k * 5 + j).re;
      want.set(i * 5 + j, {s, 0});
    }
  EXPECT_TRUE(equals(product, want));
}

TEST(loop_capture, reductions_and_sums_of_all) {
  const array x = arange(20).astype(f64);
  const array y = for_loop(3, x, [&](const array& s) { return s - sum(x) * 0.5 + max(x); });
  std::vector<double> want;
  for (int k = 0; k < 20; ++k) want.push_back(k + 3 * (19 - 95));
  EXPECT_TRUE(equals(y, want));
}

TEST(loop_capture, reductions_that_depend_on_the_counter) {
  const host_array h = counting(f64, {6, 5});
  const array m = h.to_device(), x = arange(4).astype(f64);
  double rows = 0, scaled = 0;
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 5; ++j) rows += i * 5 + j;
    scaled = scaled / 2 + 6 * i;
  }
  EXPECT_TRUE(equals(for_loop(6, zeros({3}), [&](const array& i, const array& s) { return s + sum(m(i, all)); }),
                     std::vector<double>(3, rows)));
  EXPECT_TRUE(equals(for_loop(6, zeros({3}), [&](const array& i, const array& s) { return s / 2 + sum(x * i); }),
                     std::vector<double>(3, scaled)));
  EXPECT_TRUE(equals(for_loop(6, zeros({3}, i64), [&](const array& i, const array& s) { return s + argmax(x == i); }),
                     std::vector<std::int64_t>(3, 1 + 2 + 3)));
}

TEST(loop_capture, conditions_that_look_up) {
  const array next = (arange(30) * 7 + 3) % 30, stop = arange(30) % 4 == 0;
  const auto [at, steps] = while_loop(
      std::tuple{arange(30), zeros({30}, i32)},
      [&](const auto& s) { return !stop(std::get<0>(s)) && std::get<1>(s) < 10; },
      [&](const auto& s) {
        return std::tuple{next(std::get<0>(s)), std::get<1>(s) + 1};
      });
  std::vector<std::int64_t> want;
  for (std::int64_t k = 0; k < 30; ++k) {
    std::int64_t v = k;
    for (int n = 0; v % 4 != 0 && n < 10; ++n) v = (v * 7 + 3) % 30;
    want.push_back(v);
  }
  EXPECT_TRUE(equals(at, want));
}

// The loop reads elsewhere what its result is written over.
TEST(loop_capture, results_written_over_what_is_read) {
  for (const std::int64_t n : {10, 5000}) {
    array x = (arange(n) * 37 + 11) % n;
    eval(x);
    x(all) = for_loop(5, arange(n), [&](const array& s) { return std::as_const(x)(s); });
    array y = (arange(n) * 37 + 11) % n;
    eval(y);
    y = for_loop(5, y, [&](const array& s) { return s + std::as_const(y)(n - 1 - s % n); }) % n;
    std::vector<std::int64_t> first, want, other;
    for (std::int64_t k = 0; k < n; ++k) first.push_back((k * 37 + 11) % n);
    for (std::int64_t k = 0; k < n; ++k) {
      std::int64_t v = k, w = first[static_cast<std::size_t>(k)];
      for (int t = 0; t < 5; ++t) {
        v = first[static_cast<std::size_t>(v)];
        w += first[static_cast<std::size_t>(n - 1 - w % n)];
      }
      want.push_back(v);
      other.push_back(w % n);
    }
    EXPECT_TRUE(equals(x, want)) << n;
    EXPECT_TRUE(equals(y, other)) << n;
  }
}

TEST(loop_capture, time_after_time_in_place) {
  array x = arange(1000).astype(f32);
  for (int t = 0; t < 3; ++t) {
    x(range(0, 500)) = for_loop(2, x(range(0, 500)), [](const array& s) { return s * 2 + 1; });
    eval(x);
  }
  std::vector<float> want;
  for (int k = 0; k < 1000; ++k) {
    float v = static_cast<float>(k);
    for (int t = 0; k < 500 && t < 6; ++t) v = v * 2 + 1;
    want.push_back(v);
  }
  EXPECT_TRUE(equals(x, want));
}

// drjit#58: what the captured variable becomes is not what the loop has read.
TEST(loop_capture, what_is_written_later_is_not_seen) {
  array c{1, 2, 3};
  const array y = for_loop(3, array{0, 0, 0}, [&](const array& s) { return s + c; });
  c(0) = 100;
  c = c * 0;
  EXPECT_TRUE(equals(y, std::vector<std::int32_t>{3, 6, 9}));
  EXPECT_TRUE(equals(c, std::vector<std::int32_t>{0, 0, 0}));
}

TEST(loop_capture, random_looking_numbers_by_element) {
  const array seeds = arange(1000).astype(u32);
  const array bits = for_loop(5, seeds, [](const array& s) { return (s ^ (s << 13)) * 1664525 + 1013904223; });
  std::vector<std::uint32_t> want;
  for (std::uint32_t k = 0; k < 1000; ++k) {
    std::uint32_t v = k;
    for (int t = 0; t < 5; ++t) v = (v ^ (v << 13)) * 1664525u + 1013904223u;
    want.push_back(v);
  }
  EXPECT_TRUE(equals(bits, want));
}

TEST(loop_capture, string_kernels_in_bodies) {
  if (executor == "interpreter") GTEST_SKIP() << "string kernels need a compiler";
  const elementwise step{"step", "T x, T c", "T y", "y = x * x + c"};
  const elementwise halves{"halves", "f64 x", "f64 whole, f64 part", "whole = floor(x); part = x - whole;"};
  const array c{0.25, -1.0, 0.5};
  const array y = for_loop(4, zeros({3}), [&](const array& s) { return step(s, c); });
  std::vector<double> want, parts;
  for (const double v : {0.25, -1.0, 0.5}) {
    double x = 0, z = v * 7.5;
    for (int k = 0; k < 4; ++k) x = x * x + v, z = (z - std::floor(z)) * 3 + std::floor(z) / 2;
    want.push_back(x);
    parts.push_back(z);
  }
  EXPECT_TRUE(equals(y, want, {1e-12, 0, false}));
  const array z = for_loop(4, c * 7.5, [&](const array& s) {
    const auto [whole, part] = halves.results<2>(s);
    return part * 3 + whole / 2;
  });
  EXPECT_TRUE(equals(z, parts, {1e-12, 1e-12, false}));
  EXPECT_EQ(counted([&] { eval(for_loop(4, zeros({3}), [&](const array& s) { return step(s, c); })); }).launches, 1u);
}

// ---- Choices ----

TEST(if_else, what_is_not_chosen_is_not_read) {
  const array x{10, 20, 30}, i{-7, 0, 2, 3, 99};
  const array y = if_else(i >= 0 && i < 3, x(i), -1);
  EXPECT_TRUE(equals(y, std::vector<std::int32_t>{-1, 10, 30, -1, -1}));
  EXPECT_NO_THROW(synchronize());
  const array other = if_else(i < 0 || i >= 3, -1, x(i));
  EXPECT_TRUE(equals(other, std::vector<std::int32_t>{-1, 10, 30, -1, -1}));
  EXPECT_TRUE(
      throws<index_error>([&] { if_else(i >= 0, x(i), 0).to_vector<std::int32_t>(); }, {"loop_fusion_test.cpp"}));
  const array nested = if_else(i >= 0, if_else(i < 3, x(i), i.astype(i32) * 2), -1);
  EXPECT_TRUE(equals(nested, std::vector<std::int32_t>{-1, 10, 30, 6, 198}));
}

TEST(if_else, functions_and_tuples) {
  const array x{1.0, 4.0, -9.0};
  const array root = if_else(
      x > 0, [&] { return sqrt(x); }, [&] { return x * 0; });
  EXPECT_TRUE(equals(root, std::vector<double>{1, 2, 0}));
  const auto [a, b] = if_else(x > 2, std::tuple{x, x + 1}, std::tuple{-x, x * 0});
  EXPECT_TRUE(equals(a, std::vector<double>{-1, 4, 9}));
  EXPECT_TRUE(equals(b, std::vector<double>{0, 5, 0}));
}

TEST(if_else, broadcasts_and_mixes_dtypes_as_where_does) {
  const array column = arange(3)(all, newaxis), row = arange(4).astype(f32);
  const array y = if_else(column > 1, row, column);
  EXPECT_EQ(y.type(), where(column > 1, row, column).type());
  EXPECT_TRUE(equals(y, from_device(where(column > 1, row, column))));
}

// Each choice's value is needed by both sides of the next.
TEST(if_else, a_long_chain_takes_no_more_than_its_length) {
  const array table = arange(64) + 1;
  array v = arange(8);
  std::vector<std::int64_t> want{0, 1, 2, 3, 4, 5, 6, 7};
  for (int k = 0; k < 40; ++k) {
    v = if_else((v >> k % 5) % 2 == 0 && v < 60, table(v), v / 2);
    for (std::int64_t& w : want) w = (w >> k % 5) % 2 == 0 && w < 60 ? w + 1 : w / 2;
  }
  EXPECT_TRUE(equals(v, want));
  array u = arange(8);
  std::vector<std::int64_t> plain{0, 1, 2, 3, 4, 5, 6, 7};
  for (int k = 0; k < 60; ++k) {
    u = if_else(u % 2 == 0, u / 2, 3 * u + 1);
    for (std::int64_t& w : plain) w = w % 2 == 0 ? w / 2 : 3 * w + 1;
  }
  EXPECT_TRUE(equals(u, plain));
}

TEST(if_else, a_loop_that_is_not_chosen_need_not_end) {
  const array x{1, 0, 5, 0};
  const array ends = while_loop(
      x, [](const array& s) { return s < 100; }, [](const array& s) { return s * 2; }, {.limit = 50});
  EXPECT_TRUE(equals(if_else(x > 0, ends, -1), std::vector<std::int32_t>{128, -1, 160, -1}));
  EXPECT_TRUE(equals(if_else(x > 0, ends + 1, ends * 0 - 1)(range(0, 1)), std::vector<std::int32_t>{129}));
}

// ---- Reductions of results, in the same launch ----

TEST(loop_reduction, sums_over_each_axis_and_over_all) {
  const array x = reshape(arange(1, 41), {5, 8});
  std::vector<std::int64_t> rows(5, 0), columns(8, 0), most(5, 0), at(5, 0);
  std::int64_t total = 0;
  for (std::size_t i = 0; i < 5; ++i)
    for (std::size_t j = 0; j < 8; ++j) {
      const std::int64_t v = doubled(static_cast<std::int64_t>(i * 8 + j + 1));
      rows[i] += v, columns[j] += v, total += v;
      if (v > most[i]) most[i] = v, at[i] = static_cast<std::int64_t>(j);
    }
  const auto once = [&](const array& y, const std::vector<std::int64_t>& want, const char* name) {
    EXPECT_EQ(counted([&] { eval(y); }).launches, 1u) << name;
    EXPECT_TRUE(equals(y, want)) << name;
  };
  once(sum(doubled(x), 1), rows, "rows");
  once(sum(doubled(x), 0), columns, "columns");
  once(argmax(doubled(x), 1), at, "argmax");
  once(max(doubled(x), 1), most, "max");
  EXPECT_EQ(sum(doubled(x)).item<std::int64_t>(), total);
  // The result and its sum.
  const array y = doubled(x), s = sum(y, 1);
  EXPECT_EQ(counted([&] { eval(y, s); }).launches, 1u);
  EXPECT_TRUE(equals(s, rows));
  EXPECT_EQ(sum(y).item<std::int64_t>(), total);
}

TEST(loop_reduction, of_many_elements) {
  const std::int64_t n = 50'000;
  const array x = arange(1, n + 1), s = sum(doubled(x));
  std::int64_t want = 0;
  for (std::int64_t k = 1; k <= n; ++k) want += doubled(k);
  EXPECT_EQ(counted([&] { eval(s); }).launches, 1u);
  EXPECT_EQ(s.item<std::int64_t>(), want);
  EXPECT_EQ(argmax(doubled(x)).item<std::int64_t>(), n - 1);
  EXPECT_TRUE(equals(cumsum(doubled(x))(range(0, 3)), std::vector<std::int64_t>{128, 256, 448}));
}

TEST(loop_reduction, of_large_rows_and_columns) {
  const array x = reshape(arange(1, 60001), {200, 300});
  std::vector<std::int64_t> rows(200, 0), columns(300, 0);
  for (std::size_t i = 0; i < 200; ++i)
    for (std::size_t j = 0; j < 300; ++j) {
      const std::int64_t v = doubled(static_cast<std::int64_t>(i * 300 + j + 1));
      rows[i] += v, columns[j] += v;
    }
  EXPECT_TRUE(equals(sum(doubled(x), 1), rows));
  EXPECT_TRUE(equals(sum(doubled(x), 0), columns));
  const array y = doubled(x), share = y.astype(f64) / sum(y, 1, keepdims);
  EXPECT_TRUE(equals(sum(share, 1), std::vector<double>(200, 1), {1e-12, 0, false}));
  EXPECT_TRUE(equals(concat({sum(doubled(x), 1), doubled(arange(1, 4))})(range(198, end)),
                     std::vector<std::int64_t>{rows[198], rows[199], 128, 128, 192}));
}

// What is reduced over one element has rows of its own, beside the loops.
TEST(loop_reduction, over_axes_of_one_element) {
  const array x = reshape(arange(1, 151), {1, 150});
  std::vector<std::int64_t> want;
  for (std::int64_t k = 1; k < 151; ++k) want.push_back(doubled(k));
  const array y = doubled(x), s = sum(y, 0), m = max(doubled(x * 1), 0), last = argmin(y, 0);
  eval(y, s, m, last);
  EXPECT_TRUE(equals(y, host_array(want, {1, 150})));
  EXPECT_TRUE(equals(s, want));
  EXPECT_TRUE(equals(m, want));
  EXPECT_TRUE(equals(last, std::vector<std::int64_t>(150, 0)));
}

TEST(loop_reduction, softmax_of_results) {
  const array x = reshape(arange(1, 25).astype(f64), {4, 6}) / 10;
  const auto run = [&] {
    return while_loop(
        x, [](const array& s) { return s < 1; }, [](const array& s) { return s * 1.5; });
  };
  const array y = softmax(run(), 1);
  std::vector<double> want;
  for (int i = 0; i < 4; ++i) {
    double total = 0, row[6];
    for (int j = 0; j < 6; ++j) {
      double v = (i * 6 + j + 1) / 10.0;
      while (v < 1) v *= 1.5;
      total += row[j] = std::exp(v);
    }
    for (const double e : row) want.push_back(e / total);
  }
  EXPECT_TRUE(equals(y, host_array(want, {4, 6}), {1e-12, 0, false}));
}

TEST(loop_reduction, what_is_reduced_before_is_a_state_after) {
  const array x = reshape(arange(12), {3, 4});
  const array y = doubled(sum(x, 1) + 1);
  EXPECT_TRUE(equals(y, std::vector<std::int64_t>{doubled(7), doubled(23), doubled(39)}));
  const array z = doubled(x + max(x, 1, keepdims) + 1), t = sum(z, 0);
  std::vector<std::int64_t> want(4, 0);
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 4; ++j) want[static_cast<std::size_t>(j)] += doubled(i * 4 + j + i * 4 + 3 + 1);
  EXPECT_TRUE(equals(t, want));
}

TEST(loop_reduction, loops_beside_reductions_in_one_evaluation) {
  const array x = reshape(arange(1, 31), {5, 6}), y = doubled(x), s = sum(x, 1), u = sum(doubled(x * 2), 1), v = x + 1;
  const array w = doubled(arange(1, 6)), all_of_it = sum(x);
  eval(y, s, u, v, w, all_of_it);
  std::vector<std::int64_t> plain, sums(5, 0), twice(5, 0), last;
  for (std::int64_t k = 0; k < 30; ++k) {
    plain.push_back(doubled(k + 1));
    sums[static_cast<std::size_t>(k / 6)] += k + 1;
    twice[static_cast<std::size_t>(k / 6)] += doubled(2 * k + 2);
  }
  for (std::int64_t k = 1; k < 6; ++k) last.push_back(doubled(k));
  EXPECT_TRUE(equals(y, host_array(plain, {5, 6})));
  EXPECT_TRUE(equals(s, sums));
  EXPECT_TRUE(equals(u, twice));
  EXPECT_TRUE(equals(v, from_device(x + 1)));
  EXPECT_TRUE(equals(w, last));
  EXPECT_EQ(all_of_it.item<std::int64_t>(), 465);
}

TEST(loop_reduction, results_broadcast_sliced_and_turned) {
  const array x = arange(1, 7), y = doubled(x);
  std::vector<std::int64_t> want;
  for (std::int64_t i = 1; i < 7; ++i)
    for (std::int64_t j = 1; j < 7; ++j) want.push_back(doubled(i) * 1000 + doubled(j));
  EXPECT_TRUE(equals(y(all, newaxis) * 1000 + y(newaxis, all), host_array(want, {6, 6})));
  EXPECT_TRUE(equals(doubled(x)(range(end, begin, -2)), std::vector<std::int64_t>{doubled(6), doubled(4), doubled(2)}));
  EXPECT_TRUE(equals(doubled(x)(array{5, 0, 5}), std::vector<std::int64_t>{doubled(6), doubled(1), doubled(6)}));
  EXPECT_TRUE(equals(transpose(reshape(doubled(x), {2, 3})) + 0,
                     host_array(std::vector<std::int64_t>{128, 128, 128, 160, 192, 192}, {3, 2})));
  EXPECT_TRUE(
      equals(concat({doubled(x), x}), std::vector<std::int64_t>{128, 128, 192, 128, 160, 192, 1, 2, 3, 4, 5, 6}));
  array z = zeros({8}, i64);
  z(range(1, 7)) = doubled(x);
  z(0) += 5;
  EXPECT_TRUE(equals(z, std::vector<std::int64_t>{5, 128, 128, 192, 128, 160, 192, 0}));
  array bins = zeros({200}, i64);
  bins(doubled(x)) += 1;
  EXPECT_EQ(bins(128).item<std::int64_t>(), 3);
  EXPECT_EQ(bins(192).item<std::int64_t>(), 2);
}

}  // namespace
