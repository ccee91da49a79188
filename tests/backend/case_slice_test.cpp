// Writing through slices: cases met in the tests and bug reports of other libraries, restated. References: NumPy, and
// for their neighbours plain loops.
#include "tests/backend/expect.hpp"

#include <algorithm>

using namespace sinter;
using namespace sinter_test;

namespace {

const range backwards(end, begin, -1);

// ml-explore/mlx#3716, #3720: only one element was written.
TEST(case_slice, a_reversed_slice_is_written_from_a_reversed_read) {
  run_matrix({.inputs = {checked(counting(f32, {6}), 0x91e79017), lcg_reals(f32, {5, 7}, 72, -1, 1, 0xaf5bdc6e)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array x = in[0], m = in[1];
                array p = zeros({6}, x.type()), q = zeros({6}, x.type()), u = zeros({5, 7}, m.type());
                p(backwards) = 2 * x(backwards);
                statement(p, q, u);
                q(backwards) += 2 * x(backwards);
                statement(p, q, u);
                u(backwards, all) = m(all, backwards) + 1;
                statement(p, q, u);
                u(all, range(end, begin, -2)) *= 3;
                statement(p, q, u);
                return {p, q, u};
              },
              .outputs = {close_to("S04.p", f32, 1e-06, 1e-06), close_to("S04.q", f32, 1e-06, 1e-06),
                          close_to("S04.u", f32, 1e-06, 1e-06)},
              .retype = {{f32, f64}}});
}

// MLX, "test diagonal", "test as_strided op".
TEST(case_slice, the_diagonal_is_every_eighth_element_of_the_flat_array) {
  run_matrix({.inputs = {lcg_reals(f32, {7, 7}, 81, -1, 1, 0xfd5cd5d9)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array a = in[0];
                const array d = ravel(a)(range(begin, end, 8)) * 2;
                statement(a, d);
                array flat = reshape(a, {-1});
                flat(range(begin, end, 8)) = 0;
                statement(a, d, flat);
                flat(range(1, 42, 8)) += d(range(6));
                statement(a, d, flat);
                a = reshape(flat, a.extents());
                statement(a, d);
                return {d, a};
              },
              .outputs = {close_to("S10.d", f32, 1e-06, 1e-06), close_to("S10.a", f32, 1e-06, 1e-06)},
              .retype = {{f32, f64}}});
}

TEST(case_slice, the_diagonal_written_at_index_arrays_is_the_same) {
  run_matrix({.inputs = {lcg_reals(f32, {7, 7}, 81, -1, 1, 0xfd5cd5d9)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array a = in[0];
                const array d = diagonal(a) * 2, i = arange(7), j = arange(6);
                a(i, i) = 0;
                statement(a, d);
                a(j, j + 1) += d(range(6));
                statement(a, d);
                return {d, a};
              },
              .outputs = {close_to("S10.d", f32, 1e-06, 1e-06), close_to("S10.a", f32, 1e-06, 1e-06)},
              .retype = {{f32, f64}}});
}

/// The positions Python's slice first:last:step picks of n elements.
std::vector<std::int64_t> sliced(std::int64_t n, std::int64_t first, std::int64_t last, std::int64_t step) {
  const std::int64_t low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
  const auto clipped = [&](std::int64_t p) { return std::clamp(p < 0 ? p + n : p, low, high); };
  std::vector<std::int64_t> out;
  const std::int64_t stop = clipped(last);
  for (std::int64_t p = clipped(first); step > 0 ? p < stop : p > stop; p += step) out.push_back(p);
  return out;
}

TEST(case_slice, any_start_stop_and_step_writes_what_it_reads) {
  const std::int64_t n = 7, marks[] = {-9, -7, -6, -2, -1, 0, 1, 3, 6, 7, 9};
  for (const std::int64_t step : {-3, -2, -1, 1, 2, 3})
    for (const std::int64_t first : marks)
      for (const std::int64_t last : marks) {
        const std::vector<std::int64_t> places = sliced(n, first, last, step);
        array a = counting(i32, {n}).to_device();
        const range r(first, last, step);
        ASSERT_EQ(array(a(r)).size(), static_cast<std::int64_t>(places.size()));
        a(r) = a(r) * 10 + arange(static_cast<std::int64_t>(places.size()), i32);
        host_array want = counting(i32, {n});
        for (std::size_t k = 0; k < places.size(); ++k)
          want.set(places[k], {static_cast<long double>(places[k] * 10 + static_cast<std::int64_t>(k)), 0});
        ASSERT_TRUE(equals(a, want)) << first << ":" << last << ":" << step;
      }
}

/// What `write` does to a [2, 3, 4] array of 0, 1, ..; `where` tells of the new element at i, j, k.
template <class Write, class Element>
void check_written(const char* what, Write&& write, Element&& element) {
  array a = counting(i32, {2, 3, 4}).to_device();
  const array before = a;
  write(a);
  host_array want = counting(i32, {2, 3, 4});
  for (std::int64_t n = 0; n < 24; ++n)
    want.set(n, {static_cast<long double>(element(n / 12, n / 4 % 3, n % 4, n)), 0});
  EXPECT_TRUE(equals(a, want)) << what;
  EXPECT_TRUE(equals(before, counting(i32, {2, 3, 4}))) << what;
}

TEST(case_slice, ints_new_axes_and_ellipses_select_what_is_written) {
  check_written(
      "a(1, newaxis, range, end - 1)",
      [](array& a) {
        a(1, newaxis, range(begin, 2), end - 1) = array{{-1, -2}};
      },
      [](auto i, auto j, auto k, auto x) { return i == 1 && j < 2 && k == 3 ? -1 - j : x; });
  check_written(
      "a(ellipsis, 0)",
      [](array& a) {
        a(ellipsis, 0) = -array{{1, 2, 3}, {4, 5, 6}};
      },
      [](auto i, auto j, auto k, auto x) { return k == 0 ? -(i * 3 + j + 1) : x; });
  check_written(
      "a(-1, -1, -1)", [](array& a) { a(-1, -1, -1) -= 100; },
      [](auto, auto, auto, auto x) { return x == 23 ? x - 100 : x; });
  check_written(
      "a(0, ellipsis)", [](array& a) { a(0, ellipsis) <<= 2; },
      [](auto i, auto, auto, auto x) { return i == 0 ? x * 4 : x; });
  check_written(
      "a(all, newaxis)", [](array& a) { a(all, newaxis, all, newaxis, backwards) = a(all, newaxis, all, newaxis); },
      [](auto i, auto j, auto k, auto) { return i * 12 + j * 4 + 3 - k; });
  check_written(
      "a(nothing)", [](array& a) { a(range(2, 2)) = 7; }, [](auto, auto, auto, auto x) { return x; });
  check_written(
      "a(all)", [](array& a) { a(all) = 7; }, [](auto, auto, auto, auto) { return 7; });
}

TEST(case_slice, the_right_side_broadcasts_to_what_is_selected) {
  check_written(
      "a row",
      [](array& a) {
        a(range(0, 1)) += array{100, 200, 300, 400};
      },
      [](auto i, auto, auto k, auto x) { return i == 0 ? x + 100 * (k + 1) : x; });
  check_written(
      "a column",
      [](array& a) {
        a(all, range(1, 3), range(0, 2)) *= array{{-1}, {-2}};
      },
      [](auto, auto j, auto k, auto x) { return j >= 1 && k < 2 ? x * -j : x; });
  check_written(
      "an array of rank 0", [](array& a) { a(1) ^= array(scalar(5)).astype(i32); },
      [](auto i, auto, auto, auto x) { return i == 1 ? x ^ 5 : x; });
  check_written(
      "a row of itself", [](array& a) { a(all, all, range(0, 3)) += a(0, 1, range(1, 4)); },
      [](auto, auto, auto k, auto x) { return k < 3 ? x + 5 + k : x; });
}

TEST(case_slice, a_transposed_array_written_and_turned_back) {
  run_matrix({.inputs = {counting(i32, {4, 5}), counting(i32, {5, 2})},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array t = transpose(in[0]);
                t(all, range(begin, end, 2)) = in[1] * 100;
                statement(t);
                array back = transpose(t);
                statement(t, back);
                back(range(end, begin, -2), 1) -= in[0](range(begin, end, 2), 4);
                statement(t, back);
                return {t, back};
              },
              .outputs = {exactly(host_array(std::vector<std::int32_t>{0,   5,  100, 15, 200, 6,  300, 16, 400, 7,
                                                                       500, 17, 600, 8,  700, 18, 800, 9,  900, 19},
                                             {5, 4})),
                          exactly(host_array(std::vector<std::int32_t>{0,   200, 400, 600, 800, 5,  6 - 14, 7,  8,  9,
                                                                       100, 300, 500, 700, 900, 15, 16 - 4, 17, 18, 19},
                                             {4, 5}))},
              .retype = {{i32, i64}}});
}

TEST(case_slice, arrays_of_sixteen_axes_are_written) {
  const shape s{1, 2, 1, 1, 2, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2};
  array a = counting(i32, s).to_device();
  a(all, 1, ellipsis, backwards) = a(all, 0, ellipsis) * 10;
  host_array want = counting(i32, s);
  for (std::int64_t k = 8; k < 16; ++k) want.set(k, {static_cast<long double>(((k - 8) ^ 1) * 10), 0});
  EXPECT_TRUE(equals(a, want));
}

TEST(case_slice, what_is_written_takes_the_dtype_of_the_array) {
  array floats = zeros({4}, f32), narrow = zeros({3}, i8), flags = zeros({3}, boolean), halves = zeros({2}, f16);
  floats(range(1, 3)) = array{7, 8};
  narrow(all) = array{300, -1, 128};
  flags(range(0, 2)) = array{true, true};
  halves(1) = array(scalar(2049.0));
  EXPECT_TRUE(equals(floats, std::vector<float>{0, 7, 8, 0}));
  EXPECT_TRUE(equals(narrow, std::vector<std::int8_t>{44, -1, -128}));
  EXPECT_TRUE(equals(flags, booleans({1, 1, 0}, {3})));
  EXPECT_TRUE(equals(halves, host_array(std::vector<float>{0, 2048})));
  EXPECT_EQ(floats.type(), f32);
  EXPECT_EQ(narrow.type(), i8);
  EXPECT_EQ(flags.type(), boolean);
  EXPECT_EQ(halves.type(), f16);
}

TEST(case_slice, what_does_not_fit_is_refused_at_its_line_and_changes_nothing) {
  array a = counting(i32, {3, 4}).to_device();
  const char* here = "case_slice_test.cpp";
  EXPECT_TRUE(throws<type_error>([&] { a(0) = array{0.5f}; }, {"f32", "i32", here}));
  EXPECT_TRUE(throws<type_error>([&] { a(0) += 0.5; }, {here}));
  EXPECT_TRUE(throws<type_error>([&] { a(0) = std::int64_t{1} << 40; }, {here}));
  EXPECT_TRUE(throws<shape_error>([&] { a(0) = array{1, 2, 3}; }, {"[3]", "[4]", here}));
  EXPECT_TRUE(throws<shape_error>([&] { a(range(0, 1)) = a; }, {"[3, 4]", "[1, 4]", here}));
  EXPECT_TRUE(throws<index_error>([&] { a(3) = 1; }, {"3", here}));
  EXPECT_TRUE(throws<index_error>([&] { a(0, 0, 0) = 1; }, {"too many", here}));
  EXPECT_TRUE(throws<index_error>([&] { a(all, range(0, 2, 0)) = 1; }, {"step", here}));
  EXPECT_TRUE(equals(a, counting(i32, {3, 4})));
}

}  // namespace
