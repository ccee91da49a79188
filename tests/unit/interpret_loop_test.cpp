// The interpreter's loops on kernels built by hand: reductions, scans, stores in loops, and the two ways it runs them.
#include "tests/unit/kernel_builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

using namespace sinter_test;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

using doubles = std::vector<double>;
using floats = std::vector<float>;
using bytes = std::vector<std::int8_t>;
using wides = std::vector<std::int64_t>;
using naturals = std::vector<std::uint8_t>;

// ---- reductions ----

/// The reduction of one row x.
template <class R, class T>
R reduced(op code, const std::vector<T>& x, dtype to = dtype_of<R>) {
  R out{};
  kernel_builder b{1};
  const value l = b.loop(to, {static_cast<std::int64_t>(x.size())});
  const value v = b.load(dtype_of<T>, x, b.form({{1}}));
  b.store(to, &out, b.form({{0}}), b.reduce_and_end(code, to, v, l));
  b.run();
  return out;
}

TEST(interpret_loop, sums_keep_what_single_additions_lose) {
  EXPECT_EQ(reduced<double>(op::reduce_sum, doubles{1, 1e100, 1, -1e100}), 2);
  EXPECT_EQ(reduced<double>(op::reduce_sum, doubles{inf, 1, 2}), inf);
  EXPECT_EQ(reduced<float>(op::reduce_sum, floats{1e8f, 1, -1e8f}), 1);
  EXPECT_EQ(reduced<float16>(op::reduce_sum, std::vector<float16>(3000, float16(1.0f))), float16(3000.0f));
  EXPECT_EQ(reduced<complex128>(op::reduce_sum, std::vector<complex128>{{1, 1e100}, {2, 1}, {3, -1e100}}),
            (complex128{6, 1}));
}

TEST(interpret_loop, integer_sums_and_products_wrap) {
  EXPECT_EQ(reduced<std::int64_t>(op::reduce_sum, wides{INT64_MAX, 1}), INT64_MIN);
  EXPECT_EQ(reduced<std::int64_t>(op::reduce_prod, wides{INT64_MAX, 2}), -2);
  EXPECT_EQ(reduced<std::int64_t>(op::reduce_sum, bytes{100, 100}), 200);
  EXPECT_EQ(reduced<std::int64_t>(op::reduce_sum, wides{}), 0);
  EXPECT_EQ(reduced<double>(op::reduce_prod, doubles{}), 1);
}

TEST(interpret_loop, reductions_let_nan_win_and_find_the_first) {
  EXPECT_TRUE(std::isnan(reduced<double>(op::reduce_max, doubles{1, nan, 3})));
  EXPECT_EQ(reduced<double>(op::reduce_min, doubles{3, 1, 2}), 1);
  EXPECT_EQ(reduced<std::int64_t>(op::reduce_argmax, doubles{1, 3, 3, 2}), 1);
  EXPECT_EQ(reduced<std::int64_t>(op::reduce_argmin, doubles{3, nan, 1, nan}), 1);
  EXPECT_EQ(reduced<std::int64_t>(op::reduce_argmin, naturals{9, 4, 4}), 1);
}

TEST(interpret_loop, loops_nest_and_run_all_lanes_together) {
  // out[i] = max over j of sum over k of a[j, k] + i, more elements than a block has
  constexpr std::int64_t n = 600;
  doubles a(12), out(n);
  std::iota(a.begin(), a.end(), 0.0);
  kernel_builder b{n};
  const value outer = b.loop(f64, {3});
  const value inner = b.loop(f64, {4});
  const value x = b.load(f64, a, b.form({{1, 4}, {2}}));
  const value i = b.add(op::convert, f64, {b.add(op::index, i64, {}, b.form({{0}}))});
  const value sum = b.reduce_and_end(op::reduce_sum, f64, b.add(op::add, f64, {x, i}), inner);
  b.store(f64, out.data(), b.form({{0}}), b.reduce_and_end(op::reduce_max, f64, sum, outer));
  b.run();
  for (std::int64_t k = 0; k < n; ++k)
    EXPECT_EQ(out[static_cast<std::size_t>(k)], 8 + 9 + 10 + 11 + 4 * static_cast<double>(k));
}

TEST(interpret_loop, positions_in_loops_over_several_dims_are_row_major) {
  std::int64_t out = -1;
  const doubles a = {1, 2, 3, 4, 9, 5};
  kernel_builder b{1};
  const value l = b.loop(i64, {2, 3});
  const value x = b.load(f64, a, b.form({{1, 3}, {2}}));
  b.store(i64, &out, b.form({{0}}), b.reduce_and_end(op::reduce_argmax, i64, x, l));
  b.run();
  EXPECT_EQ(out, 4);
}

/// Every element's reduction in a domain of `width`: out[i] = code over [j, k] of x[i, j, k].
template <class R>
std::vector<R> reduced_each(op code, const doubles& x, std::int64_t width, std::int64_t outer, std::int64_t inner) {
  std::vector<R> out(static_cast<std::size_t>(width));
  kernel_builder b{width};
  const value l = b.loop(dtype_of<R>, {outer, inner});
  const value v = b.load(f64, x, b.form({{0, outer * inner}, {1, inner}, {2}}));
  b.store(dtype_of<R>, out.data(), b.form({{0}}), b.reduce_and_end(code, dtype_of<R>, v, l));
  b.run();
  return out;
}

/// All bits of what there is of `got`.
template <class T>
void expect_start(const std::vector<T>& all, const std::vector<T>& got) {
  ASSERT_FALSE(got.empty());
  EXPECT_EQ(std::memcmp(all.data(), got.data(), got.size() * sizeof(T)), 0) << got.size() << " elements";
}

/// A few elements take loops along lanes, many take them one iteration after another.
TEST(interpret_loop, reductions_are_the_same_however_many_elements_there_are) {
  for (const std::int64_t outer : {1, 3})
    for (const std::int64_t inner : {1, 2, 15, 255, 256, 257, 600}) {
      const std::int64_t n = outer * inner;
      doubles x(static_cast<std::size_t>(300 * n));
      for (std::size_t k = 0; k < x.size(); ++k) x[k] = std::sin(static_cast<double>(k * k % 1009)) * 1e3;
      const auto start = [&](std::int64_t i) { return x.begin() + i * n; };
      for (std::int64_t i = 0; i < 300; i += 7)  // the greatest twice, so that the first counts
        *(start(i) + n - 1) = *std::max_element(start(i), start(i) + n);
      if (n > 4) x[static_cast<std::size_t>(2 * n + 3)] = nan;
      const doubles sums = reduced_each<double>(op::reduce_sum, x, 300, outer, inner);
      const doubles least = reduced_each<double>(op::reduce_min, x, 300, outer, inner);
      const doubles spread = reduced_each<double>(op::reduce_plain_sum, x, 300, outer, inner);
      const wides greatest = reduced_each<std::int64_t>(op::reduce_argmax, x, 300, outer, inner);
      for (const std::int64_t width : {1, 2, 20}) {
        expect_start(sums, reduced_each<double>(op::reduce_sum, x, width, outer, inner));
        expect_start(least, reduced_each<double>(op::reduce_min, x, width, outer, inner));
        expect_start(spread, reduced_each<double>(op::reduce_plain_sum, x, width, outer, inner));
        expect_start(greatest, reduced_each<std::int64_t>(op::reduce_argmax, x, width, outer, inner));
      }
      for (std::int64_t i = 0; i < 300; ++i) {
        if (i == 2 && n > 4) {
          EXPECT_EQ(greatest[2], 3);
          EXPECT_TRUE(std::isnan(least[2]) && std::isnan(sums[2]) && std::isnan(spread[2]));
          continue;
        }
        const auto at = static_cast<std::size_t>(i);
        EXPECT_EQ(greatest[at], std::max_element(start(i), start(i) + n) - start(i));
        EXPECT_EQ(least[at], *std::min_element(start(i), start(i) + n));
        EXPECT_NEAR(sums[at], std::accumulate(start(i), start(i) + n, 0.0), 1e-9);
      }
    }
}

TEST(interpret_loop, reductions_share_a_loop_and_later_loops_use_them) {
  // softmax of rows in place of y, its greatest element's position, and how many elements are above the mean
  for (const std::int64_t rows : {1, 3, 20, 300}) {
    constexpr std::int64_t n = 300;
    doubles x(static_cast<std::size_t>(rows * n)), y(x.size(), -1);
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = std::cos(static_cast<double>(k * k % 997)) * 8;
    wides first(static_cast<std::size_t>(rows)), above(static_cast<std::size_t>(rows));
    kernel_builder b{rows};
    const std::uint32_t element = b.form({{0, n}, {1}}), row = b.form({{0}});
    const value l = b.loop(f64, {n});
    const value v = b.load(f64, x, element);
    const value greatest = b.add(op::reduce_max, f64, {v, l}), place = b.add(op::reduce_argmax, i64, {v, l});
    const value mean = b.add(op::divide, f64, {b.reduce_and_end(op::reduce_sum, f64, v, l), b.scalar(f64, 1.0 * n)});
    const value m = b.loop_again(l);
    const value w = b.load(f64, x, element);
    const value large = b.add(op::reduce_sum, i64, {b.add(op::greater, boolean, {w, mean}), m});
    const value e = b.add(op::exp, f64, {b.add(op::subtract, f64, {w, greatest})});
    const value total = b.reduce_and_end(op::reduce_sum, f64, e, m);
    const value s = b.loop_again(l);
    const value again = b.add(op::exp, f64, {b.add(op::subtract, f64, {b.load(f64, x, element), greatest})});
    b.store(f64, y.data(), element, b.add(op::divide, f64, {again, total}));
    b.end(s);
    b.store(i64, first.data(), row, place);
    b.store(i64, above.data(), row, large);
    b.run();
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto start = x.begin() + i * n, stop = start + n;
      const auto top = std::max_element(start, stop);
      EXPECT_EQ(first[static_cast<std::size_t>(i)], top - start);
      const double middle = std::accumulate(start, stop, 0.0) / n;
      EXPECT_EQ(above[static_cast<std::size_t>(i)], std::count_if(start, stop, [&](double z) { return z > middle; }));
      double sum = 0;
      for (auto z = start; z != stop; ++z) sum += std::exp(*z - *top);
      for (auto z = start; z != stop; ++z)
        EXPECT_NEAR(y[static_cast<std::size_t>(z - x.begin())], std::exp(*z - *top) / sum, 1e-15);
    }
  }
}

TEST(interpret_loop, loops_in_loops_use_values_from_around_them) {
  // out[i] = sum over j of (j + 1) * (max over k of a[i, j, k] - a[i, j, 0]); the longest loop is the inner, the outer
  for (const auto& [width, outer, inner] : {std::array<std::int64_t, 3>{1, 3, 700}, {1, 700, 3}, {1, 257, 40},
                                            {5, 2, 30}, {300, 3, 4}, {1, 1, 1}, {2, 20, 20}}) {
    doubles a(static_cast<std::size_t>(width * outer * inner)), out(static_cast<std::size_t>(width), -1);
    for (std::size_t k = 0; k < a.size(); ++k) a[k] = static_cast<double>(k * k % 1013);
    kernel_builder b{width};
    const value one = b.scalar(f64, 1.0);
    const value l = b.loop(f64, {outer});
    const value factor =
        b.add(op::add, f64, {b.add(op::convert, f64, {b.add(op::index, i64, {}, b.form({{1}}))}), one});
    const value first = b.load(f64, a, b.form({{0, outer * inner}, {1, inner}}));
    const value m = b.loop(f64, {inner});
    const value x = b.load(f64, a, b.form({{0, outer * inner}, {1, inner}, {2}}));
    const value most = b.reduce_and_end(op::reduce_max, f64, b.add(op::subtract, f64, {x, first}), m);
    const value sum = b.reduce_and_end(op::reduce_sum, f64, b.add(op::multiply, f64, {most, factor}), l);
    b.store(f64, out.data(), b.form({{0}}), sum);
    b.run();
    for (std::int64_t i = 0; i < width; ++i) {
      double wanted = 0;
      for (std::int64_t j = 0; j < outer; ++j) {
        const auto start = a.begin() + (i * outer + j) * inner;
        wanted += static_cast<double>(j + 1) * (*std::max_element(start, start + inner) - *start);
      }
      EXPECT_EQ(out[static_cast<std::size_t>(i)], wanted) << width << " " << outer << " " << inner << ", element " << i;
    }
  }
}

TEST(interpret_loop, indices_checked_before_a_loop_hold_for_all_its_iterations) {
  // out[i] = sum over j of a[rows[i], j], a bad row giving 0 and a fault
  const wides rows = {2, -1, 5, 0};
  doubles a(3 * 300), out(4, -1);
  std::iota(a.begin(), a.end(), 0.0);
  runtime::index_fault fault;
  kernel_builder b{4};
  const value row = b.bound(b.load(i64, rows, b.form({{0}})), 3);
  const value l = b.loop(f64, {300});
  const value good = b.add(op::in_range, boolean, {row});
  const value x = b.load(f64, a, b.form({{row, 300}, {1}}), good);
  b.store(f64, out.data(), b.form({{0}}), b.reduce_and_end(op::reduce_sum, f64, x, l));
  b.report_to(fault, 1);
  b.run();
  const auto sum = [&](std::int64_t r) { return std::accumulate(a.begin() + r * 300, a.begin() + r * 300 + 300, 0.0); };
  EXPECT_EQ(out, (doubles{sum(2), sum(2), 0, sum(0)}));
  EXPECT_EQ(fault.index, 5);
  EXPECT_EQ(fault.position, 2);
}

TEST(interpret_loop, faults_in_a_loop_name_the_element_of_the_domain) {
  for (const std::int64_t width : {3, 30}) {
    wides at(static_cast<std::size_t>(width * 40), 1), out(static_cast<std::size_t>(width));
    at[2 * 40 + 33] = -9;
    runtime::index_fault fault;
    kernel_builder b{width};
    const value l = b.loop(i64, {40});
    const value j = b.bound(b.load(i64, at, b.form({{0, 40}, {1}})), 4);
    b.store(i64, out.data(), b.form({{0}}), b.reduce_and_end(op::reduce_sum, i64, j, l));
    b.report_to(fault, 1);
    b.run();
    EXPECT_EQ(fault.index, -9);
    EXPECT_EQ(fault.position, 2);
    EXPECT_EQ(out[2], 39);
  }
}

// ---- scans ----

/// The scan of each row of x.
template <class R, class T>
std::vector<R> scanned(op code, const std::vector<T>& x, std::int64_t rows, std::initializer_list<std::int64_t> extents,
                       dtype to = dtype_of<R>) {
  const auto n = static_cast<std::int64_t>(x.size()) / rows;
  std::vector<R> out(x.size());
  kernel_builder b{rows};
  const value l = b.loop(to, extents);
  const std::uint32_t along = extents.size() == 1 ? b.form({{0, n}, {1}})
                                                  : b.form({{0, n}, {1, *(extents.end() - 1)}, {2}});
  b.store(to, out.data(), along, b.add(code, to, {b.load(dtype_of<T>, x, along), l}));
  b.end(l);
  b.run();
  return out;
}

TEST(interpret_loop, scans_give_what_the_reduction_would_up_to_each_iteration) {
  EXPECT_EQ(scanned<std::int64_t>(op::scan_sum, bytes{100, 100, -5}, 1, {3}), (wides{100, 200, 195}));
  EXPECT_EQ(scanned<double>(op::scan_prod, doubles{2, 3, -4}, 1, {3}), (doubles{2, 6, -24}));
  EXPECT_EQ(scanned<double>(op::scan_max, doubles{3, 1, 4, 1, 5}, 1, {5}), (doubles{3, 3, 4, 4, 5}));
  EXPECT_EQ(scanned<std::uint8_t>(op::scan_min, naturals{3, 1, 4, 0}, 2, {2}), (naturals{3, 1, 4, 0}));
  EXPECT_EQ(scanned<double>(op::scan_sum, doubles{1e100, 1, -1e100, 1}, 1, {4})[3], 2);
  EXPECT_EQ(scanned<float16>(op::scan_sum, std::vector<float16>(3000, float16(1.0f)), 1, {3000})[2999],
            float16(3000.0f));
  const doubles least = scanned<double>(op::scan_min, doubles{3, nan, 1}, 1, {3});
  EXPECT_EQ(least[0], 3);
  EXPECT_TRUE(std::isnan(least[1]) && std::isnan(least[2]));
}

TEST(interpret_loop, scans_run_through_blocks_and_dims_and_start_anew_in_each_row) {
  for (const std::int64_t rows : {1, 2, 40, 300}) {
    wides x(static_cast<std::size_t>(rows * 600)), wanted(x.size());
    for (std::size_t k = 0; k < x.size(); ++k) {
      x[k] = static_cast<std::int64_t>(k * k % 101) - 50;
      wanted[k] = x[k] + (k % 600 == 0 ? 0 : wanted[k - 1]);
    }
    EXPECT_EQ(scanned<std::int64_t>(op::scan_sum, x, rows, {600}), wanted);
    EXPECT_EQ(scanned<std::int64_t>(op::scan_sum, x, rows, {2, 300}), wanted);
  }
}

TEST(interpret_loop, a_scan_in_an_inner_loop_starts_anew_each_time) {
  // running[j, k]: greatest of a[j, 0..k]; out = max over j of the sum over k of it
  const doubles a = {1, 5, 2, 9, 3, 4};
  doubles running(6), out(1);
  kernel_builder b{1};
  const value outer = b.loop(f64, {2}), inner = b.loop(f64, {3});
  const std::uint32_t element = b.form({{1, 3}, {2}});
  const value most = b.add(op::scan_max, f64, {b.load(f64, a, element), inner});
  b.store(f64, running.data(), element, most);
  const value sum = b.reduce_and_end(op::reduce_sum, f64, most, inner);
  b.store(f64, out.data(), b.form({{0}}), b.reduce_and_end(op::reduce_max, f64, sum, outer));
  b.run();
  EXPECT_EQ(running, (doubles{1, 5, 5, 9, 9, 9}));
  EXPECT_EQ(out[0], 27);
}

TEST(interpret_loop, loops_without_iterations_give_the_identities) {
  for (const std::int64_t width : {1, 40}) {
    doubles out(static_cast<std::size_t>(width), -1), x(1);
    kernel_builder b{width};
    const value l = b.loop(f64, {3, 0});
    const value v = b.load(f64, x, b.form({{1}}));
    b.store(f64, x.data(), b.form({{2}}), b.scalar(f64, 7.0));
    const value product = b.reduce_and_end(op::reduce_prod, f64, v, l);
    b.store(f64, out.data(), b.form({{0}}), product);
    b.run();
    EXPECT_EQ(out, doubles(static_cast<std::size_t>(width), 1));
    EXPECT_EQ(x[0], 0);
  }
}

}  // namespace
