// Arrays assigned from themselves: the right side is what the array was before the statement, however the two regions
// overlap. Cases met in the tests and bug reports of other libraries, restated. References: NumPy, and for their
// neighbours plain loops.
#include "tests/backend/expect.hpp"

#include <algorithm>

using namespace sinter;
using namespace sinter_test;

namespace {

const range backwards(end, begin, -1);
const range but_first(1, end), but_last(begin, -1);

// numpy#16749; nv-legate/cupynumeric#1110: right for eight elements, wrong for twenty thousand.
TEST(case_overlap, an_array_plus_itself_shifted_by_one) {
  run_matrix(
      {.inputs = {checked(counting(i32, {10}), 0x8def7902), lcg_integers(i32, {20000}, 91, -1000, 1000, 0x90918f42),
                  checked(host_array(std::vector<float>(20000, 1.f)), 0x6e7c640b)},
       .body = [](const std::vector<array>& in) -> std::vector<array> {
         array a = in[0], b = in[1], o = in[2];
         a(but_first) += a(but_last);
         statement(a, b, o);
         b(but_first) += b(but_last);
         statement(a, b, o);
         o(but_first) += o(but_last);
         statement(a, b, o);
         o(but_first) *= 0.5f;
         statement(a, b, o);
         return {a, b(range(begin, end, 61)), sum(b), unique(o)};
       },
       .outputs = {exactly("O01.a", i32), exactly("O01.b", i32), exactly("O01.bs", i64), exactly("O01.o", f32)},
       .retype = {{f32, f64}}});
}

// pytorch#101950: a flip done in place too early.
TEST(case_overlap, arrays_reversed_into_themselves) {
  run_matrix({.inputs = {checked(counting(i32, {9}), 0xd4e15634), checked(counting(i32, {10}), 0x8def7902),
                         lcg_integers(i32, {5000}, 93, 0, 99, 0xfcdc9c07)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array p = in[0], q = in[1], r = in[2], s = in[2];
                p(all) = p(backwards);
                statement(p, q, r, s);
                q += q(backwards);
                statement(p, q, r, s);
                r(backwards) += r;
                statement(p, q, r, s);
                s = s(backwards) * 2 + s;
                statement(p, q, r, s);
                return {p, q, r, s};
              },
              .outputs = {exactly("O03.p", i32), exactly("O03.q", i32), exactly("O03.r", i32), exactly("O03.s", i32)},
              .retype = {{i32, i64}}});
}

// cupy#2407: the sum must be 99990000.
TEST(case_overlap, arrays_and_their_transposes) {
  run_matrix(
      {.inputs = {checked(counting(i64, {100, 100}), 0x096bcf51), lcg_reals(f32, {33, 33}, 94, -1, 1, 0xf7a8089d)},
       .body = [](const std::vector<array>& in) -> std::vector<array> {
         array x = in[0], y = in[1], z = reshape(arange(16, f32), {4, 4});
         x += transpose(x);
         statement(x, y, z);
         y -= transpose(y) * 2;
         statement(x, y, z);
         z(all) = transpose(z);
         statement(x, y, z);
         return {sum(x), x(range(begin, end, 11), range(begin, end, 13)), y, z};
       },
       .outputs = {exactly("O04.s", i64), exactly("O04.x", i64), close_to("O04.y", f32, 1e-06, 1e-06),
                   exactly("O04.z", f32)}});
}

// nv-legate/cupynumeric#16, #40; numba#230; ArrayFire assign.cpp, CPP_ASSIGN_TO_INDEXED.
TEST(case_overlap, rows_and_columns_copied_inside_one_array) {
  const std::vector<std::int32_t> x{3, 7, 1, 0, 0, 0, 0, 0, 4, 3, 4, 6, 5, 0, 0, 0};
  run_matrix({.inputs = {checked(counting(i32, {3, 3}), 0xd4e15634), checked(host_array(x, {2, 8}), 0xdfb760e0),
                         lcg_integers(i32, {2, 2, 2}, 95, 0, 99, 0x44b6b7f3)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array p = in[0], q = in[0], r = in[0], s = in[1], c = in[2];
                p(all, 0) = p(all, 2);
                statement(p, q, r, s, c);
                q(range(0, 2)) = q(range(1, 3));
                statement(p, q, r, s, c);
                r(0, range(0, 2)) = r(0, range(1, 3));
                statement(p, q, r, s, c);
                s(1, range(3, 6)) = s(1, range(2, 5));
                statement(p, q, r, s, c);
                c(0) = c(1);
                statement(p, q, r, s, c);
                return {p, q, r, s, c};
              },
              .outputs = {exactly("O05.p", i32), exactly("O05.q", i32), exactly("O05.r", i32), exactly("O05.x", i32),
                          exactly("O05.c", i32)},
              .retype = {{i32, u8}}});
}

// numpy#6166. A view v = x[::-1] of an array that is a value: v[1:] is x[:-1] read from its end, v[:-1] is x[1:].
TEST(case_overlap, a_shifted_sum_from_the_end) {
  run_matrix({.inputs = {checked(counting(i32, {5}), 0x4c6b0437)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array x = in[0], v = x(backwards);
                x(range(-2, begin, -1)) = x(range(-2, begin, -1)) + x(range(end, 0, -1));
                statement(x, v);
                v(but_first) = v(but_first) + v(but_last);
                statement(x, v);
                return {v, x, x(backwards)};
              },
              .outputs = {exactly("O06.v", i32), exactly("O06.x", i32), exactly("O06.v", i32)},
              .retype = {{i32, f32}}});
}

// NPBench cavity_flow, pressure_poisson.
TEST(case_overlap, the_order_of_boundary_writes_decides_the_corners) {
  run_matrix({.inputs = {checked(counting(f32, {5, 6}), 0x4282157d)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array p = in[0];
                p(all, -1) = p(all, -2);
                statement(p);
                p(0, all) = p(1, all);
                statement(p);
                p(all, 0) = p(all, 1);
                statement(p);
                p(-1, all) = 0;
                statement(p);
                return {p};
              },
              .outputs = {exactly("O10.p", f32)},
              .retype = {{f32, f64}}});
}

// numpy#26844.
TEST(case_overlap, an_array_written_at_indices_read_from_it) {
  run_matrix({.inputs = {checked(counting(i64, {10}), 0x5e85e4a4)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array a = in[0], tail = a(range(2, end)), b = a;
                tail(a(range(begin, -2))) = 3;
                statement(a, tail, b);
                a(range(2, end)) = tail;
                statement(a, tail, b);
                b(b(range(begin, -2)) + 2) = 3;
                statement(a, b);
                return {a, b};
              },
              .outputs = {exactly("O12.a", i64), exactly("O12.a", i64)},
              .retype = {{i64, i8}}});
}

// Hillis and Steele's scan.
TEST(case_overlap, a_prefix_sum_by_doubling_strides) {
  run_matrix({.inputs = {lcg_integers(i64, {5000}, 103, -100, 100, 0xe4febdd5)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array a = in[0];
                for (std::int64_t d = 1; d < a.size(); d *= 2) {
                  a(range(d, end)) += a(range(begin, -d));
                  statement(a);
                }
                return {a};
              },
              .outputs = {exactly("O15.a", i64)},
              .retype = {{i64, f64}},
              .layouts = few_layouts});
}

using offsets = std::vector<std::int64_t>;

/// The elements of one axis of n that have a neighbour `shift` before them, and those neighbours.
range targets(std::int64_t n, std::int64_t shift) { return {std::max<std::int64_t>(shift, 0), std::min(n, n + shift)}; }
range sources(std::int64_t n, std::int64_t shift) {
  return {std::max<std::int64_t>(-shift, 0), std::min(n, n - shift)};
}

std::vector<sinter::index> indices(const shape& s, const offsets& shifts, range (*of)(std::int64_t, std::int64_t)) {
  std::vector<sinter::index> list;
  for (int k = 0; k < s.rank(); ++k) list.emplace_back(of(s[k], shifts[static_cast<std::size_t>(k)]));
  return list;
}

/// u(..) = u(.. - shifts) + 1, or +=, in plain loops.
host_array shifted_plus_one(const host_array& u, const offsets& shifts, bool accumulates) {
  host_array out = u;
  for (std::int64_t k = 0; k < u.size(); ++k) {
    std::int64_t rest = k, from = 0, pace = 1;
    bool is_inside = true;
    for (int axis = u.extents.rank(); axis-- > 0;) {
      const std::int64_t n = u.extents[axis], p = rest % n - shifts[static_cast<std::size_t>(axis)];
      is_inside = is_inside && p >= 0 && p < n;
      from += p * pace;
      pace *= n;
      rest /= n;
    }
    if (is_inside) out.set(k, {u.get(from).re + 1 + (accumulates ? u.get(k).re : 0), 0});
  }
  return out;
}

void write(array& u, const std::vector<sinter::index>& to, const array& x, bool accumulates) {
  const auto at = [&](std::size_t k) -> const sinter::index& { return k < to.size() ? to[k] : no_index; };
  if (accumulates) u(at(0), at(1), at(2)) += x;
  else u(at(0), at(1), at(2)) = x;
}

/// One statement, on an array that nobody else holds and on one that was copied before.
void check_shift(const host_array& h, const offsets& shifts, bool accumulates) {
  const host_array want = shifted_plus_one(h, shifts, accumulates);
  const std::vector<sinter::index> to = indices(h.extents, shifts, targets), from = indices(h.extents, shifts, sources);
  std::string text = to_string(h.extents) + (accumulates ? " += shifted by" : " = shifted by");
  for (const std::int64_t s : shifts) text += " " + std::to_string(s);
  array alone = h.to_device(), shared = alone * 1;
  const array copy = shared;
  write(alone, to, read_through(alone, from) + 1, accumulates);
  write(shared, to, read_through(shared, from) + 1, accumulates);
  eval(alone, shared);
  ASSERT_TRUE(equals(alone, want)) << text;
  ASSERT_TRUE(equals(shared, want)) << text << ", copied before";
  ASSERT_TRUE(equals(copy, h)) << text << ": the copy changed";
}

/// Every combination of these shifts.
void check_shifts(const shape& s, const offsets& choices) {
  const host_array h = counting(i32, s);
  std::int64_t count = 1;
  for (int k = 0; k < s.rank(); ++k) count *= static_cast<std::int64_t>(choices.size());
  for (std::int64_t c = 0; c < count; ++c) {
    offsets shifts;
    for (std::int64_t rest = c, k = 0; k < s.rank(); ++k, rest /= static_cast<std::int64_t>(choices.size()))
      shifts.push_back(choices[static_cast<std::size_t>(rest) % choices.size()]);
    ASSERT_NO_FATAL_FAILURE(check_shift(h, shifts, c % 2 == 0));
    if (s.rank() == 3) continue;
    ASSERT_NO_FATAL_FAILURE(check_shift(h, shifts, c % 2 != 0));
  }
}

// xla#49176: a shifted update read its own output.
TEST(case_overlap, every_shift_of_small_arrays) {
  const offsets choices{-3, -2, -1, 0, 1, 2, 3};
  for (const shape& s : {shape{7}, shape{5, 6}, shape{4, 5, 6}}) ASSERT_NO_FATAL_FAILURE(check_shifts(s, choices));
}

// More than one block of threads, one thread of the pool, or one vector.
TEST(case_overlap, some_shifts_of_larger_arrays) {
  ASSERT_NO_FATAL_FAILURE(check_shifts({70001}, {-3, -1, 1, 2}));
  ASSERT_NO_FATAL_FAILURE(check_shifts({130, 257}, {-2, 0, 1}));
  ASSERT_NO_FATAL_FAILURE(check_shifts({17, 18, 70}, {-1, 0, 1}));
}

struct positions {
  std::int64_t first, step;
  range of(std::int64_t count) const {
    // Down to element 0 has no last position that isn't counted from the end.
    const std::int64_t last = first + count * step;
    return last < 0 ? range(first, begin, step) : range(first, last, step);
  }
};

TEST(case_overlap, every_pair_of_strides_and_offsets) {
  const std::int64_t n = 24, count = 6;
  std::vector<positions> list;
  for (const std::int64_t step : {-3, -2, -1, 1, 2, 3})
    for (const std::int64_t low : {0, 1, 2, 5}) list.push_back({step < 0 ? low - step * (count - 1) : low, step});
  for (const positions& to : list)
    for (const positions& from : list) {
      array u = counting(i32, {n}).to_device();
      u(to.of(count)) = u(from.of(count)) * 10;
      host_array want = counting(i32, {n});
      for (std::int64_t k = 0; k < count; ++k)
        want.set(to.first + k * to.step, {static_cast<long double>((from.first + k * from.step) * 10), 0});
      ASSERT_TRUE(equals(u, want)) << to.first << " by " << to.step << " from " << from.first << " by " << from.step;
    }
}

TEST(case_overlap, every_length_reversed_in_place) {
  for (std::int64_t n = 0; n < 40; ++n) {
    array a = counting(i32, {n}).to_device(), b = a;
    a(all) = a(backwards);
    b(backwards) -= b * 2;
    host_array want_a(i32, {n}), want_b(i32, {n});
    for (std::int64_t k = 0; k < n; ++k) {
      want_a.set(k, {static_cast<long double>(n - 1 - k), 0});
      want_b.set(k, {static_cast<long double>(k - 2 * (n - 1 - k)), 0});
    }
    ASSERT_TRUE(equals(a, want_a)) << n;
    ASSERT_TRUE(equals(b, want_b)) << n;
  }
}

TEST(case_overlap, a_row_is_added_to_all_rows_and_itself) {
  for (const std::int64_t row : {0, 2, 3}) {
    array m = counting(i32, {4, 50}).to_device();
    m(all) += m(row);
    host_array want(i32, {4, 50});
    for (std::int64_t k = 0; k < 200; ++k) want.set(k, {static_cast<long double>(k + row * 50 + k % 50), 0});
    EXPECT_TRUE(equals(m, want)) << row;
  }
}

TEST(case_overlap, blocks_of_a_square_turned_over_their_own_places) {
  array m = counting(i32, {6, 6}).to_device();
  m(range(0, 5), range(1, 6)) = transpose(m(range(1, 6), range(0, 5)));
  host_array want = counting(i32, {6, 6});
  for (std::int64_t i = 0; i < 5; ++i)
    for (std::int64_t j = 0; j < 5; ++j) want.set(i * 6 + j + 1, {static_cast<long double>((j + 1) * 6 + i), 0});
  EXPECT_TRUE(equals(m, want));
}

TEST(case_overlap, rows_change_places_through_a_third_variable) {
  run_matrix({.inputs = {counting(i32, {3, 4})},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array m = in[0];
                const array kept = m(0);
                m(0) = m(2);
                statement(m, kept);
                m(2) = kept;
                statement(m, kept);
                m(range(0, 2)) = m(range(1, begin, -1));
                statement(m, kept);
                return {m, kept};
              },
              .outputs = {exactly(host_array(std::vector<std::int32_t>{4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3}, {3, 4})),
                          exactly(host_array(std::vector<std::int32_t>{0, 1, 2, 3}))},
              .retype = {{i32, f32}}});
}

TEST(case_overlap, updates_of_two_arrays_from_each_other) {
  run_matrix({.inputs = {counting(i64, {8}), counting(i64, {8})},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array a = in[0], b = in[1] + 10;
                for (int k = 0; k < 4; ++k) {
                  a(but_first) += b(but_last);
                  statement(a, b);
                  b(but_last) -= a(but_first);
                  statement(a, b);
                }
                return {a, b};
              },
              .outputs =
                  [] {
                    std::int64_t a[8], b[8];
                    for (int k = 0; k < 8; ++k) a[k] = k, b[k] = k + 10;
                    for (int t = 0; t < 4; ++t) {
                      for (int k = 1; k < 8; ++k) a[k] += b[k - 1];
                      for (int k = 0; k < 7; ++k) b[k] -= a[k + 1];
                    }
                    return std::vector<expectation>{exactly(host_array(std::vector<std::int64_t>(a, a + 8))),
                                                    exactly(host_array(std::vector<std::int64_t>(b, b + 8)))};
                  }(),
              .retype = {{i64, i16}}});
}

}  // namespace
