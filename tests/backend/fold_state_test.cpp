// Loops whose iterations need whole arrays of the one before: what stays in place, and what takes turns.
#include "tests/backend/plain_loop.hpp"

using namespace sinter;
using namespace sinter_test;

namespace {

using fold_state = fold;

constexpr range in(1, -1), low(0, -2), high(2, end);

template <class T>
void smooth(plain<T>& u) {
  plain<T> old = u;
  for (std::int64_t i = 1; i + 1 < u.extents[0]; ++i)
    for (std::int64_t j = 1; j + 1 < u.extents[1]; ++j)
      u(i, j) = static_cast<T>((old(i - 1, j) + old(i + 1, j) + old(i, j - 1) + old(i, j + 1)) / 4);
}

/// Rows of many lengths, so that those of the inside begin and end anywhere in a vector.
template <class T>
void check_widths() {
  for (const std::int64_t width : {3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 64}) {
    SCOPED_TRACE(width);
    plain<T> x = scattered_values<T>({9, width});
    array a = x.made();
    for (int t = 0; t < 21; ++t) {
      a(in, in) = (a(low, in) + a(high, in) + a(in, low) + a(in, high)) / T(4);
      smooth(x);
    }
    EXPECT_TRUE(equals(a, x));
  }
}

TEST_F(fold_state, insides_of_any_width) {
  check_widths<float>();
  check_widths<double>();
  check_widths<std::int32_t>();
}

TEST_F(fold_state, what_the_loop_began_with_is_kept) {
  plain<float> x = scattered_values<float>({12, 20});
  array a = x.made();
  const array before = a;
  for (int t = 0; t < 30; ++t) a(in, in) = (a(low, in) + a(high, in) + a(in, low) + a(in, high)) / 4;
  eval(a);
  EXPECT_TRUE(equals(before, x));
  for (int t = 0; t < 30; ++t) smooth(x);
  EXPECT_TRUE(equals(a, x));
}

TEST_F(fold_state, a_second_statement_reads_between_writes) {
  plain<double> x = scattered_values<double>({40});
  array a = x.made();
  for (int t = 0; t < 25; ++t) {
    a(range(1, 20)) = a(range(0, 19)) * 0.5 + a(range(20, 39)) * 0.25;
    a(range(10, 39)) = a(range(11, 40)) * 0.5 - a(range(9, 38)) * 0.125;
  }
  for (int t = 0; t < 25; ++t) {
    plain<double> old = x;
    for (int i = 1; i < 20; ++i) x(i) = old(i - 1) * 0.5 + old(i + 19) * 0.25;
    old = x;
    for (int i = 10; i < 39; ++i) x(i) = old(i + 1) * 0.5 - old(i - 1) * 0.125;
  }
  EXPECT_TRUE(equals(a, x));
}

TEST_F(fold_state, two_parts_written_from_one_state) {
  plain<double> x = scattered_values<double>({6, 30});
  array a = x.made();
  for (int t = 0; t < 25; ++t) {
    const array left = a(all, range(0, 10)) * 0.5 + a(all, range(20, 30)) * 0.25;
    const array right = a(all, range(1, 11)) - a(all, range(10, 20)) * 0.5;
    a(all, range(0, 10)) = left;
    a(all, range(20, 30)) = right;
  }
  for (int t = 0; t < 25; ++t) {
    plain<double> old = x;
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 10; ++j) {
        x(i, j) = old(i, j) * 0.5 + old(i, j + 20) * 0.25;
        x(i, j + 20) = old(i, j + 1) - old(i, j + 10) * 0.5;
      }
  }
  EXPECT_TRUE(equals(a, x));
}

TEST_F(fold_state, two_states_that_read_each_other) {
  plain<float> x = scattered_values<float>({10, 13}), y = scattered_values<float>({10, 13}, 2);
  array e = x.made(), h = y.made();
  for (int t = 0; t < 50; ++t) {
    h(all, range(0, -1)) += (e(all, range(1, end)) - e(all, range(0, -1))) * 0.5f;
    e(all, range(1, -1)) += (h(all, range(1, -1)) - h(all, range(0, -2))) * 0.5f;
  }
  for (int t = 0; t < 50; ++t) {
    for (int i = 0; i < 10; ++i)
      for (int j = 0; j < 12; ++j) y(i, j) += (x(i, j + 1) - x(i, j)) * 0.5f;
    for (int i = 0; i < 10; ++i)
      for (int j = 1; j < 12; ++j) x(i, j) += (y(i, j) - y(i, j - 1)) * 0.5f;
  }
  EXPECT_TRUE(equals(e, x));
  EXPECT_TRUE(equals(h, y));
}

TEST_F(fold_state, states_that_change_places) {
  plain<double> x = scattered_values<double>({9, 11}), y = scattered_values<double>({9, 11}, 2);
  array a = x.made(), b = y.made();
  for (int t = 0; t < 15; ++t) {
    b(in, in) = (a(low, in) + a(high, in) + a(in, low) + a(in, high)) / 4;
    std::swap(a, b);
  }
  for (int t = 0; t < 15; ++t) {
    for (int i = 1; i < 8; ++i)
      for (int j = 1; j < 10; ++j) y(i, j) = (x(i - 1, j) + x(i + 1, j) + x(i, j - 1) + x(i, j + 1)) / 4;
    std::swap(x, y);
  }
  EXPECT_TRUE(equals(a, x));
  EXPECT_TRUE(equals(b, y));
}

TEST_F(fold_state, a_sum_of_what_is_written) {
  plain<double> x = scattered_values<double>({8, 9}), total({8, 9});
  array a = x.made(), sums = zeros({8, 9}, f64);
  for (int t = 0; t < 12; ++t) {
    a(in, in) = (a(low, in) + a(high, in) + a(in, low) + a(in, high)) / 4;
    sums = sums + a;
  }
  for (int t = 0; t < 12; ++t) {
    smooth(x);
    for (std::size_t k = 0; k < x.values.size(); ++k) total.values[k] += x.values[k];
  }
  EXPECT_TRUE(equals(a, x));
  EXPECT_TRUE(equals(sums, total));
}

TEST_F(fold_state, any_number_of_steps) {
  for (const int steps : {1, 3, 4, 5, 35, 36, 37, 132, 133, 261, 300}) {
    SCOPED_TRACE(steps);
    plain<float> x = scattered_values<float>({6, 7});
    array a = x.made();
    for (int t = 0; t < steps; ++t) a(in, in) = (a(low, in) + a(high, in) + a(in, low) + a(in, high)) / 4;
    for (int t = 0; t < steps; ++t) smooth(x);
    EXPECT_TRUE(equals(a, x));
  }
}

}  // namespace
