// Time steps over whole arrays that read neighbours, on planes and lines of many windows (jit/steps.hpp), with step
// counts that windows don't divide. Integers: every executor has to have the bits of plain loops.
#include "tests/backend/plain_loop.hpp"
#include "tests/backend/expect.hpp"

#include <algorithm>

using namespace sinter;
using namespace sinter_test;

namespace {

constexpr range inner(1, -1), before(0, -2), after(2, end);

plain<std::int32_t> plane(std::int64_t rows, std::int64_t columns, std::int32_t seed) {
  plain<std::int32_t> p({rows, columns});
  for (std::size_t k = 0; k < p.values.size(); ++k)
    p.values[k] = static_cast<std::int32_t>((k + static_cast<std::size_t>(seed)) * 2654435761u % 1000);
  return p;
}

/// What `step` makes of the elements inside, taken from before the step.
template <class Step>
void plain_steps(plain<std::int32_t>& u, int steps, Step step) {
  for (int t = 0; t < steps; ++t) {
    plain<std::int32_t> old = u;
    for (std::int64_t i = 1; i < u.extents[0] - 1; ++i)
      for (std::int64_t j = 1; j < u.extents[1] - 1; ++j) u(i, j) = step(old, i, j) % 1009;
  }
}

TEST(stencil, planes_of_many_windows) {
  for (const auto& [rows, columns, steps] : {std::tuple{150, 130, 29}, {64, 64, 8}, {5, 300, 43}, {49, 17, 40}}) {
    plain<std::int32_t> want = plane(rows, columns, 1);
    array u = want.made();
    for (int t = 0; t < steps; ++t)
      u(inner, inner) =
          (u(before, inner) + u(after, inner) * 3 + u(inner, before) + u(inner, after) + u(inner, inner)) % 1009;
    plain_steps(want, steps, [](auto& p, std::int64_t i, std::int64_t j) {
      return p(i - 1, j) + p(i + 1, j) * 3 + p(i, j - 1) + p(i, j + 1) + p(i, j);
    });
    EXPECT_TRUE(equals(u, want)) << rows << " " << columns << " " << steps;
  }
}

TEST(stencil, another_array_is_read_at_every_step) {
  plain<std::int32_t> want = plane(100, 120, 1), source = plane(98, 118, 7);
  array u = want.made();
  const array s = source.made();
  for (int t = 0; t < 37; ++t) u(inner, inner) = (u(before, before) + u(after, after) + s) % 1009;
  plain_steps(want, 37, [&](auto& p, std::int64_t i, std::int64_t j) {
    return p(i - 1, j - 1) + p(i + 1, j + 1) + source(i - 1, j - 1);
  });
  EXPECT_TRUE(equals(u, want));
}

TEST(stencil, what_was_taken_before_stays) {
  plain<std::int32_t> want = plane(80, 90, 3);
  array u = want.made();
  const array at_first = u;
  for (int t = 0; t < 33; ++t) u(inner, inner) = (u(before, inner) + u(inner, after)) % 1009;
  EXPECT_TRUE(equals(at_first, want));
  plain_steps(want, 33, [](auto& p, std::int64_t i, std::int64_t j) { return p(i - 1, j) + p(i, j + 1); });
  EXPECT_TRUE(equals(u, want));
}

/// Numbers stay whole and so small that every dtype has them, so that sums are exact in any order.
void same_in(dtype type) {
  const std::int64_t rows = 210, columns = 190;
  plain<std::int32_t> want({rows, columns});
  for (std::size_t k = 0; k < want.values.size(); ++k) want.values[k] = static_cast<std::int32_t>(k * 2654435761u >> 7 & 1);
  array u = want.made().astype(type);
  for (int t = 0; t < 25; ++t)
    u(inner, inner) = maximum(minimum(u(before, inner) + u(after, before) + u(inner, after) - u(inner, inner), 3), 0);
  for (int t = 0; t < 25; ++t) {
    plain<std::int32_t> old = want;
    for (std::int64_t i = 1; i < rows - 1; ++i)
      for (std::int64_t j = 1; j < columns - 1; ++j)
        want(i, j) = std::clamp(old(i - 1, j) + old(i + 1, j - 1) + old(i, j + 1) - old(i, j), 0, 3);
  }
  EXPECT_TRUE(equals(u.astype(i32), want)) << to_string(type);
}

TEST(stencil, planes_of_every_width) {
  for (const dtype type : {i8, i16, i64, f16, bf16, f32, f64}) same_in(type);
}

/// Rows whose ends no vector has, and a domain that begins anywhere.
TEST(stencil, planes_of_odd_places) {
  for (const auto& [rows, columns, top, left] : {std::tuple{130, 131, 3, 5}, {130, 132, 40, 66}, {300, 134, 1, 2}}) {
    plain<std::int32_t> want = plane(rows, columns, 2);
    array u = want.made();
    const range down(top, rows - 2), across(left, columns - 3);
    const range up(top - 1, rows - 3), right(left + 2, columns - 1), at_left(left - 1, columns - 4);
    for (int t = 0; t < 30; ++t) u(down, across) = (u(up, across) + u(down, right) * 3 - u(up, at_left)) % 1009;
    for (int t = 0; t < 30; ++t) {
      plain<std::int32_t> old = want;
      for (std::int64_t i = top; i < rows - 2; ++i)
        for (std::int64_t j = left; j < columns - 3; ++j)
          want(i, j) = (old(i - 1, j) + old(i, j + 2) * 3 - old(i - 1, j - 1)) % 1009;
    }
    EXPECT_TRUE(equals(u, want)) << rows << " " << columns;
  }
}

TEST(stencil, two_lines_that_need_each_other) {
  constexpr std::int64_t n = 9000;
  plain<std::int32_t> a = plane(1, n, 1), b = plane(1, n, 5);
  array u = reshape(a.made(), {n}), v = reshape(b.made(), {n});
  for (int t = 0; t < 75; ++t) {
    const array old = u;
    u(range(2, -2)) = (u(range(0, -4)) + v(range(4, end))) % 1009;
    v(range(2, -2)) = (old(range(2, -2)) - v(range(1, -3))) % 1009;
  }
  for (int t = 0; t < 75; ++t) {
    const plain<std::int32_t> p = a, q = b;
    for (std::size_t k = 2; k < n - 2; ++k) {
      a.values[k] = (p.values[k - 2] + q.values[k + 2]) % 1009;
      b.values[k] = (p.values[k] - q.values[k - 1]) % 1009;
    }
  }
  EXPECT_TRUE(equals(u, a.values));
  EXPECT_TRUE(equals(v, b.values));
}

}  // namespace
