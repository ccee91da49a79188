// for_each_chunk: the same results as in one call, whatever the chunks, and what happens when something is thrown.
#include "dsl/transfer.hpp"
#include "tests/backend/expect.hpp"
#include "tests/backend/pieces.hpp"

#include <numeric>
#include <stdexcept>

using namespace sinter;
using namespace sinter_test;

namespace {

std::vector<float> ramp(std::size_t n) {
  std::vector<float> x(n);
  std::iota(x.begin(), x.end(), 0.0f);
  return x;
}

TEST(for_each_chunk, does_what_one_call_does) {
  const piece_size small(512);
  const std::vector<float> x = ramp(1000 * 7);
  for (const std::int64_t rows : {1, 3, 100, 999, 1000, 5000, 0}) {
    std::vector<float> y(x.size(), -1);
    for_each_chunk({std::span(x), {1000, 7}}, {y, {1000, 7}}, [](const array& c) { return c * 2 + 1; }, {.rows = rows});
    for (std::size_t k = 0; k < x.size(); ++k) ASSERT_EQ(y[k], x[k] * 2 + 1) << rows;
  }
}

TEST(for_each_chunk, takes_several_inputs_and_outputs_in_any_layout) {
  const piece_size small(512);
  std::vector<double> x(600), z(200), sums(200);
  std::iota(x.begin(), x.end(), 0.0);
  std::iota(z.begin(), z.end(), 1000.0);
  std::vector<double> products(600, -1);
  int calls = 0;
  for_each_chunk({{x.data(), {200, 3}, {1, 200}}, z},                            // by columns; [200]
                 {{products.data() + 597, {200, 3}, {-3, 1}}, sums},             // the last row first; [200]
                 [&](std::span<const array> in) {
                   ++calls;
                   const array p = in[0] * in[1](all, newaxis);
                   return std::vector<array>{p, sum(p, 1)};
                 },
                 {.rows = 64});
  EXPECT_EQ(calls, 4);
  for (std::size_t i = 0; i < 200; ++i) {
    double total = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      const double p = x[i + 200 * j] * z[i];
      ASSERT_EQ(products[(199 - i) * 3 + j], p);
      total += p;
    }
    ASSERT_EQ(sums[i], total);
  }
}

TEST(for_each_chunk, without_outputs_the_body_keeps_what_it_likes) {
  const std::vector<float> x = ramp(1000);
  array total = zeros({}, f64);
  for_each_chunk({x}, {},
                 [&](std::span<const array> in) {
                   total += sum(in[0].astype(f64));
                   eval(total);
                 },
                 {.rows = 300});
  EXPECT_EQ(total.item<double>(), 499500.0);
}

TEST(for_each_chunk, pinned_memory_goes_both_ways) {
  pinned_vector<std::int32_t> x(100000), y(100000);
  std::iota(x.begin(), x.end(), 0);
  for_each_chunk(std::span(x.begin(), x.end()), std::span(y.begin(), y.end()), [](const array& c) { return c ^ 1; },
                 {.rows = 7000});
  for (std::size_t k = 0; k < y.size(); ++k) ASSERT_EQ(y[k], static_cast<std::int32_t>(k ^ 1));
}

TEST(for_each_chunk, tells_how_far_it_is) {
  const std::vector<float> x = ramp(1000);
  std::vector<float> y(1000, -1);
  std::vector<std::int64_t> told;
  for_each_chunk(x, y, [](const array& c) { return -c; }, {.rows = 300}, [&](std::int64_t done, std::int64_t total) {
    EXPECT_EQ(total, 1000);
    told.push_back(done);
    for (std::int64_t k = 0; k < done; ++k)
      ASSERT_EQ(y[static_cast<std::size_t>(k)], -static_cast<float>(k));  // there already
  });
  EXPECT_EQ(told, (std::vector<std::int64_t>{300, 600, 900, 1000}));
}

TEST(for_each_chunk, what_is_thrown_ends_it_and_leaves_what_was_done) {
  const piece_size small(64);
  const std::vector<float> x = ramp(1000);
  std::vector<float> y(1000, -1);
  const auto double_it = [](const array& c) { return c * 2; };
  EXPECT_THROW(for_each_chunk(x, y, double_it, {.rows = 100},
                              [](std::int64_t done, std::int64_t) {
                                if (done == 400) throw std::runtime_error("enough");
                              }),
               std::runtime_error);
  for (std::size_t k = 0; k < 400; ++k) ASSERT_EQ(y[k], 2 * x[k]);
  int calls = 0;
  const auto third = [&](const array& c) {
    if (++calls == 3) throw std::runtime_error("no more");
    return c * 3;
  };
  EXPECT_THROW(for_each_chunk(x, y, third, {.rows = 100}), std::runtime_error);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(y[0], 0.0f);
  EXPECT_EQ(y[99], 3 * 99.0f);
  // And the device goes on.
  for_each_chunk(x, y, double_it, {.rows = 100});
  EXPECT_EQ(y[999], 2 * 999.0f);
}

TEST(for_each_chunk, no_rows_are_no_calls) {
  std::vector<float> y;
  int calls = 0;
  for_each_chunk(std::span<const float>(), y, [&](const array& c) {
    ++calls;
    return c;
  });
  EXPECT_EQ(calls, 0);
}

TEST(for_each_chunk, bad_extents_and_dtypes_are_errors) {
  const std::vector<float> x = ramp(10);
  std::vector<float> y(10), shorter(9);
  std::vector<double> wide(10);
  const auto same = [](const array& c) { return c; };
  EXPECT_THROW(for_each_chunk(x, shorter, same), shape_error);
  EXPECT_THROW(for_each_chunk(x, wide, same), type_error);
  EXPECT_THROW(for_each_chunk(x, y, [](const array& c) { return sum(c); }), shape_error);
  EXPECT_THROW(for_each_chunk(x, y, same, {.rows = -1}), shape_error);
  EXPECT_THROW(for_each_chunk({x.data(), shape{}}, y, same), shape_error);
  EXPECT_THROW(for_each_chunk({x}, {y}, [](std::span<const array>) { return std::vector<array>{}; }), shape_error);
}

TEST(for_each_chunk, a_bad_index_is_an_error_at_the_end) {
  const std::vector<std::int64_t> ids{0, 1, 2, 3, 40, 5};
  std::vector<float> y(6, -1);
  const array table = from_host(ramp(10));
  EXPECT_THROW(for_each_chunk(ids, y, [&](const array& c) { return table(c); }, {.rows = 2}), index_error);
  EXPECT_EQ(y, (std::vector<float>{0, 1, 2, 3, 0, 5}));
}

}  // namespace
