// for_loop with bodies of whole-array operations: shifts, reductions, scans, writes to parts of a state.
#include "tests/backend/plain_loop.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

using namespace sinter;
using namespace sinter_test;

namespace {

using loop_whole = fold;

TEST_F(loop_whole, shifted_into_itself) {
  for (const std::int64_t count : {0, 1, 2, 5, 40})
    for (const std::int64_t n : {2, 9, 200}) {
      plain<double> x = scattered_values<double>({n});
      const array start = x.made();
      const array y = for_loop(count, start, [](const array& s) {
        array u = s;
        u(range(1, end)) = s(range(0, -1));
        return u;
      });
      EXPECT_LE(counted([&] { eval(y); }).launches, 1u);
      EXPECT_TRUE(equals(start, x));
      for (std::int64_t t = 0; t < count; ++t) std::shift_right(x.values.begin(), x.values.end(), 1);
      EXPECT_TRUE(equals(y, x)) << n << " " << count;
    }
}

TEST_F(loop_whole, a_stencil_of_two_states_with_the_counter) {
  plain<float> a = scattered_values<float>({6, 30}), b = scattered_values<float>({6, 30}, 2);
  const auto [u, v] = for_loop(12, std::tuple{a.made(), b.made()}, [](const array& t, const auto& s) {
    const auto& [p, q] = s;
    array next = p;
    next(all, range(1, -1)) = (q(all, range(0, -2)) + q(all, range(2, end))) * 0.5f;
    next(t % 6, 0) += 1;
    return std::tuple{next, p};
  });
  for (int t = 0; t < 12; ++t) {
    plain<float> next = a;
    for (int i = 0; i < 6; ++i)
      for (int j = 1; j < 29; ++j) next(i, j) = (b(i, j - 1) + b(i, j + 1)) * 0.5f;
    next(t % 6, 0) += 1;
    b = a;
    a = next;
  }
  EXPECT_TRUE(equals(u, a));
  EXPECT_TRUE(equals(v, b));
}

TEST_F(loop_whole, reductions_scans_gathers_and_scatters) {
  std::vector<std::int64_t> want{3, 1, 4, 1, 5, 9, 2, 6};
  const array x = for_loop(7, array(want), [](const array& s) {
    array counts = s * 0;
    scatter_add(counts, s % 8, 1);
    return (s(range(end, begin, -1)) + cumsum(s) + sum(counts) + max(s) + counts) % 101;
  });
  for (int t = 0; t < 7; ++t) {
    std::vector<std::int64_t> counts(8), sums(8), next(8);
    for (const std::int64_t v : want) ++counts[static_cast<std::size_t>(v % 8)];
    std::partial_sum(want.begin(), want.end(), sums.begin());
    for (std::size_t k = 0; k < 8; ++k)
      next[k] = (want[7 - k] + sums[k] + 8 + *std::max_element(want.begin(), want.end()) + counts[k]) % 101;
    want = next;
  }
  EXPECT_TRUE(equals(x, want));
}

TEST_F(loop_whole, loops_of_elements_inside_and_around) {
  std::vector<std::int64_t> want{7, 2, 9, 4, 30};
  const array x = for_loop(3, array(want), [](const array& s) {
    const array halved = while_loop(
        s, [](const array& v) { return v > 4; }, [](const array& v) { return v / 2; });
    return halved + s(range(end, begin, -1));
  });
  for (int t = 0; t < 3; ++t) {
    std::vector<std::int64_t> next(5);
    for (std::size_t k = 0; k < 5; ++k) {
      std::int64_t v = want[k];
      while (v > 4) v /= 2;
      next[k] = v + want[4 - k];
    }
    want = next;
  }
  EXPECT_TRUE(equals(x, want));
  const auto inner = [](const array& s) {
    return for_loop(2, s, [](const array& v) { return v(range(end, begin, -1)); });
  };
  EXPECT_TRUE(throws<type_error>([&] { for_loop(2, x, inner); }, {"other elements of a state", "(view)"}));
}

TEST_F(loop_whole, captured_arrays_may_not_be_written) {
  array outside = zeros({4}, f64);
  EXPECT_TRUE(throws<type_error>(
      [&] {
        for_loop(3, ones({4}), [&](const array& s) {
          outside(0) = s(1);
          return s;
        });
      },
      {"the body writes to an array"}));
  EXPECT_TRUE(throws<type_error>(
      [&] {
        while_loop(
            ones({4}), [](const array& s) { return s < 9; },
            [](const array& s) {
              array own = s;
              own(0) = 3;
              return own;
            });
      },
      {"the body writes to an array"}));
  EXPECT_TRUE(equals(outside, std::vector<double>(4)));
}

}  // namespace
