// Writing at index arrays and through masks: cases met in the tests and bug reports of other libraries, restated.
// References: NumPy, and for their neighbours plain loops. Repeated indices accumulate in op=, as in numpy.add.at.
#include "tests/backend/corners.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

using namespace sinter;
using namespace sinter_test;

namespace {

const range backwards(end, begin, -1);

// chainer#1920.
TEST(case_scatter, repeated_indices_accumulate_and_the_last_of_them_is_assigned) {
  run_matrix({.inputs = {checked(host_array(std::vector<std::int32_t>{0, 0, 1, 3, 3, 3}), 0xe60d214c)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array a = zeros({4}), b = zeros({4}), c = zeros({4});
                a(in[0]) += 1;
                statement(a, b, c);
                scatter_add(b, in[0], 1);
                statement(a, b, c);
                c(in[0]) = array{5, 6, 7, 8, 9, 10};
                statement(a, b, c);
                return {a, b, c};
              },
              .outputs = {exactly("X04.acc", f64), exactly("X04.acc", f64),
                          exactly(host_array(std::vector<double>{6, 7, 0, 10}))},
              .retype = {{i32, u8}}});
}

// NPBench azimint_hist.
TEST(case_scatter, a_histogram_counted_by_writing_and_by_comparing) {
  run_matrix(
      {.inputs = {lcg_reals(f64, {20000}, 137, 0, 1, 0x67ab698a), lcg_reals(f64, {20000}, 138, 0, 1, 0x8c696c2b)},
       .body = [](const std::vector<array>& in) -> std::vector<array> {
         const array r = in[0], w = in[1], b = minimum((r * 32).astype(i64), 31);
         const array c = bincount(b, 32), s = bincount(b, w, 32);
         statement(b, c, s);
         const array compared = sum(b(newaxis, all) == arange(32)(all, newaxis), 1);
         statement(b, c, s, compared);
         array written = zeros({32}, i64);
         written(b) += 1;
         statement(written);
         return {c, s, s / c, max(abs(c - compared)), written, histogram(r, 32, 0, 1), histogram(r, w, 32, 0, 1)};
       },
       .outputs = {exactly("X06.c", i64), close_to("X06.s", f64, 1e-10, 1e-10), close_to("X06.mean", f64, 1e-10, 1e-10),
                   exactly("X06.diff", i64), exactly("X06.c", i64), exactly("X06.c", i64),
                   close_to("X06.s", f64, 1e-10, 1e-10)},
       .layouts = few_layouts});
}

// CuPy core_tests/test_ndarray_scatter.py; MLX slice_update_add. Views of values are written, then written back.
TEST(case_scatter, strided_and_transposed_views_are_written_at_indices) {
  run_matrix({.inputs = {checked(host_array(std::vector<std::int32_t>{0, 2, 2, 1}), 0xfa19b5d2),
                         checked(host_array(std::vector<float>{1, 2, 3, 4}), 0x8ba71454),
                         checked(host_array(std::vector<std::int32_t>{0, 1, 3}), 0xa5ca691f),
                         checked(host_array(std::vector<std::int32_t>{2, 2, 0}), 0xd5cb5f8d)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array i = in[0], v = in[1], p = in[2], q = in[3];
                array a = zeros({20}, f32), m = zeros({4, 5}, f32), n = zeros({4, 5}, f32);
                array view = a(range(2, end, 3));
                view(i) += v;
                statement(a, m, n, view);
                a(range(2, end, 3)) = view;
                statement(a, m, n);
                array turned = transpose(m);
                turned(p, q) = array{1, 2, 3};
                statement(a, m, n, turned);
                m = transpose(turned);
                array inner = n(backwards, range(begin, end, 2));
                inner(p, q) += 5;
                statement(a, m, n, inner);
                n(backwards, range(begin, end, 2)) = inner;
                statement(a, m, n);
                return {a, m, n};
              },
              .outputs = {exactly("X08.a", f32), exactly("X08.m", f32), exactly("X08.n", f32)},
              .retype = {{i32, i64}}});
}

// drjit-core mem.cpp, 09_safety; array.cpp, 09_write_eval_conflict.
TEST(case_scatter, reads_before_a_write_see_the_old_values_and_reads_after_it_the_new_ones) {
  run_matrix({.inputs = {checked(counting(f32, {5}), 0x68c9c48c)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array a = in[0];
                const array b = a(array{0, 1}) + 10, old = a * 1;
                statement(a, b, old);
                a(array{0, 3}) = array{100, 200};
                statement(a, b, old);
                const array c = a(array{0, 1, 3}) + 10, d = sum(a) - sum(old);
                statement(a, b, old, c, d);
                return {b, old, a, c, d};
              },
              .outputs = {exactly("X09.b", f32), exactly("X09.old", f32), exactly("X09.a", f32), exactly("X09.c", f32),
                          exactly("X09.d", f32)},
              .retype = {{f32, f64}}});
}

// MLX, "irregular strided index and reduce collision"; drjit test_memop.py, test33_scatter_reduce_loop.
TEST(case_scatter, a_hundred_thousand_ones_into_one_bin) {
  run_matrix({.inputs = {checked(counting(i32, {100000}), 0x4e2369f4)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array n = in[0];
                array a = zeros({10}, i32), f = zeros({4});
                a(n * 0 + 3) += 1;
                statement(a, f);
                f(n(range(64)) % 1) += 9;
                statement(a, f);
                return {a, f, bincount(n % 2, 2)};
              },
              .outputs = {exactly("X10.a", i32), exactly("X10.f", f64), exactly("X10.two", i64)},
              .layouts = few_layouts});
}

// from-python-to-numpy, game-of-life; array-api-tests test_setitem_masking; NPBench nbody.
TEST(case_scatter, masks_select_what_is_written) {
  host_array m(boolean, {12, 9}), r(boolean, {12});
  lcg cells(143), rows(144);
  for (std::int64_t k = 0; k < m.size(); ++k) m.set(k, {static_cast<long double>(cells.next() >> 31), 0});
  for (std::int64_t k = 0; k < r.size(); ++k) r.set(k, {static_cast<long double>(rows.next() >> 31), 0});
  run_matrix(
      {.inputs = {lcg_reals(f32, {12, 9}, 141, -1, 1, 0xcf310766), lcg_reals(f32, {12, 9}, 142, -1, 1, 0x704ec48b),
                  checked(m, 0x2db5dee7), checked(r, 0x4865c786)},
       .body = [](const std::vector<array>& in) -> std::vector<array> {
         const array b = in[1], cell = in[2], row = in[3];
         array p = in[0], q = in[0], s = in[0] * in[0], t = in[0];
         p(p < 0) = 0;
         statement(p, q, s, t);
         q(cell) = b(cell);
         statement(p, q, s, t);
         q(!cell) *= 3;
         statement(p, q, s, t);
         s(s > 0.01) = pow(s(s > 0.01), -1.5);
         statement(p, q, s, t);
         t(row) = 7;
         statement(p, q, s, t);
         t(row, 2) = -1;
         statement(p, q, s, t);
         array column = t(all, 0);
         column(row) += 1;
         statement(p, q, s, t, column);
         t(all, 0) = column;
         statement(p, q, s, t);
         return {p, q, s, t};
       },
       .outputs = {close_to("X13.p", f32, 4e-06, 1e-06), close_to("X13.q", f32, 4e-06, 1e-06),
                   close_to("X13.s", f32, 4e-06, 1e-06), close_to("X13.t", f32, 4e-06, 1e-06)},
       .retype = {{f32, f64}}});
}

// Every operation, on every dtype.

enum class how { assign, add, subtract, multiply, divide, modulo, bit_and, bit_or, bit_xor, left, right, least, most };
constexpr how all_hows[] = {how::assign, how::add,     how::subtract, how::multiply, how::divide,
                            how::modulo, how::bit_and, how::bit_or,   how::bit_xor,  how::left,
                            how::right,  how::least,   how::most};
const char* const names[] = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "minimum", "maximum"};

bool takes(dtype type, how h) {
  if (h == how::assign) return true;
  const bool is_bitwise = h == how::bit_and || h == how::bit_or || h == how::bit_xor;
  if (type == boolean) return is_bitwise;
  if (is_integer_or_bool(type)) return true;
  if (is_bitwise || h == how::left || h == how::right) return false;
  return !is_complex(type) || (h != how::modulo && h != how::least && h != how::most);
}

/// `x`, or its combination with the selected elements, written to them.
void write(selection&& to, how h, const array& x) {
  switch (h) {
    case how::assign:
      return std::move(to) = x;
    case how::add:
      return std::move(to) += x;
    case how::subtract:
      return std::move(to) -= x;
    case how::multiply:
      return std::move(to) *= x;
    case how::divide:
      return std::move(to) /= x;
    case how::modulo:
      return std::move(to) %= x;
    case how::bit_and:
      return std::move(to) &= x;
    case how::bit_or:
      return std::move(to) |= x;
    case how::bit_xor:
      return std::move(to) ^= x;
    case how::left:
      return std::move(to) <<= x;
    case how::right:
      return std::move(to) >>= x;
    case how::least:
      return std::move(to).set_minimum(x);
    case how::most:
      return std::move(to).set_maximum(x);
  }
}

/// Of integers that hold both; the result still has to be wrapped.
std::int64_t combined(how h, std::int64_t a, std::int64_t b) {
  switch (h) {
    case how::divide:
      return b == 0 ? 0 : a / b;
    case how::modulo:
      return b == 0 ? 0 : a % b;
    case how::bit_and:
      return a & b;
    case how::bit_or:
      return a | b;
    case how::bit_xor:
      return a ^ b;
    case how::left:
      return a * (std::int64_t{1} << b);
    default:
      return a >> b;
  }
}

value combined(how h, const value& a, const value& b) {
  switch (h) {
    case how::assign:
      return b;
    case how::add:
      return {a.re + b.re, a.im + b.im};
    case how::subtract:
      return {a.re - b.re, a.im - b.im};
    case how::multiply:
      return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    case how::least:
      return {std::min(a.re, b.re), 0};
    case how::most:
      return {std::max(a.re, b.re), 0};
    default:
      break;
  }
  return {static_cast<long double>(combined(h, static_cast<std::int64_t>(a.re), static_cast<std::int64_t>(b.re))), 0};
}

/// Element `at` of x, combined with v in x's dtype. All values are small, so that only integers can wrap.
void combine(host_array& x, std::int64_t at, how h, const value& v) {
  const value old = x.get(at);
  if (h == how::divide && !is_integer_or_bool(x.type)) {
    const long double square = v.re * v.re + v.im * v.im;
    return x.set(at, {(old.re * v.re + old.im * v.im) / square, (old.im * v.re - old.re * v.im) / square});
  }
  if (h == how::modulo && !is_integer_or_bool(x.type)) return x.set(at, {std::fmod(old.re, v.re), 0});
  const value made = combined(h, old, v);
  if (!is_integer_or_bool(x.type)) return x.set(at, made);
  with_element(x.type, [&](auto t) {
    using element = typename decltype(t)::type;
    if constexpr (std::is_integral_v<element>)
      x.set(at, {static_cast<long double>(static_cast<element>(static_cast<std::int64_t>(made.re))), 0});
  });
}

bool is_signed(dtype type) {
  return !is_integer_or_bool(type) || type == i8 || type == i16 || type == i32 || type == i64;
}

/// Small numbers of both signs, where the dtype has them.
host_array targets(dtype type, const shape& s) {
  host_array out(type, s);
  for (std::int64_t k = 0; k < s.size(); ++k) {
    const auto x = static_cast<long double>(type == boolean ? k % 3 == 0 : 8 * (k % 9 + 1));
    out.set(k, {is_signed(type) && k % 2 != 0 ? -x : x, is_complex(type) ? static_cast<long double>(8 * (k % 4)) : 0});
  }
  return out;
}

/// What to write: powers of two, so that every order of operations gives the same in every dtype; 3 and 5 for modulo.
host_array operands(dtype type, const shape& s, how h) {
  host_array out(type, s);
  const bool is_shift = h == how::left || h == how::right;
  for (std::int64_t k = 0; k < s.size(); ++k) {
    const std::int64_t power = type == boolean    ? k % 2
                               : h == how::modulo ? 3 + 2 * (k % 2)
                               : is_shift         ? k % 3
                                                  : std::int64_t{1} << k % 2;
    const bool is_negative = is_signed(type) && !is_shift && k % 5 == 2;
    if (is_complex(type) && k % 3 == 1) out.set(k, {0, static_cast<long double>(power)});
    else out.set(k, {static_cast<long double>(is_negative ? -power : power), 0});
  }
  return out;
}

const dtype every_type[] = {boolean, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128};

/// Arrays written to and what they must be.
class outcomes {
 public:
  void add(const array& got, host_array want, dtype type, how h) {
    got_.push_back(got);
    wanted_.push_back(std::move(want));
    texts_.push_back(std::string(to_string(type)) + " " + names[static_cast<std::size_t>(h)]);
  }
  void evaluate() const { eval_all(got_); }
  void check() const {
    for (std::size_t k = 0; k < got_.size(); ++k) {
      EXPECT_EQ(got_[k].type(), wanted_[k].type) << texts_[k];
      EXPECT_TRUE(equals(got_[k], wanted_[k])) << texts_[k];
    }
  }

 private:
  std::vector<array> got_;
  std::vector<host_array> wanted_;
  std::vector<std::string> texts_;
};

/// f(type, how, outcomes) for every dtype and what it takes; evaluated a dtype at a time, which costs fewer kernels.
template <class F>
void check_every_type_and_how(F&& f) {
  for (const dtype type : every_type) {
    outcomes all_of_type;
    for (const how h : all_hows)
      if (takes(type, h)) f(type, h, all_of_type);
    all_of_type.evaluate();
    all_of_type.check();
  }
}

using places = std::vector<std::int64_t>;

/// The places as an index array of a dtype that takes its turn; negative ones only where it can hold them.
array index_array(const places& list, std::int64_t n, std::size_t turn) {
  const dtype type = integer_types[turn % std::size(integer_types)];
  host_array h(type, {static_cast<std::int64_t>(list.size())});
  for (std::size_t k = 0; k < list.size(); ++k) {
    const std::int64_t p = list[k] < 0 && !is_signed(type) ? list[k] + n : list[k];
    h.set(static_cast<std::int64_t>(k), {static_cast<long double>(p), 0});
  }
  return h.to_device();
}

void add_places(outcomes& out, dtype type, how h, const places& list) {
  const std::size_t turn = static_cast<std::size_t>(h) + static_cast<std::size_t>(type);
  const std::int64_t n = 11;
  host_array want = targets(type, {n});
  const host_array x = operands(type, {static_cast<std::int64_t>(list.size())}, h);
  array a = want.to_device();
  write(a(index_array(list, n, turn)), h, x.to_device());
  for (std::size_t k = 0; k < list.size(); ++k)
    combine(want, list[k] < 0 ? list[k] + n : list[k], h, x.get(static_cast<std::int64_t>(k)));
  out.add(a, std::move(want), type, h);
}

TEST(case_scatter, every_operation_of_every_dtype_at_distinct_indices) {
  check_every_type_and_how([](dtype type, how h, outcomes& out) { add_places(out, type, h, {3, -1, 0, 7, -5, 2}); });
}

TEST(case_scatter, every_operation_of_every_dtype_at_repeated_indices) {
  check_every_type_and_how([](dtype type, how h, outcomes& out) {
    if (h != how::modulo) add_places(out, type, h, {3, 3, 0, -8, 10, 3, 0, -1, 10});  // -8 is 3 again
  });
}

TEST(case_scatter, every_operation_of_every_dtype_drops_what_is_out_of_range_and_tells) {
  for (const dtype type : every_type) {
    outcomes out;
    for (const how h : all_hows) {
      if (!takes(type, h)) continue;
      host_array want = targets(type, {11});
      const host_array x = operands(type, {4}, h);
      array a = want.to_device();
      write(a(array{1, 11, -12, 4}), h, x.to_device());
      combine(want, 1, h, x.get(0));
      combine(want, 4, h, x.get(3));
      out.add(a, std::move(want), type, h);
    }
    out.evaluate();
    EXPECT_TRUE(throws<index_error>([] { synchronize(); }, {"case_scatter_test.cpp"})) << to_string(type);
    out.check();
  }
}

TEST(case_scatter, every_operation_of_every_dtype_through_masks) {
  const host_array mask = booleans({0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 0}, {11});
  check_every_type_and_how([&](dtype type, how h, outcomes& out) {
    const host_array x = operands(type, {4}, h), one = operands(type, {}, h);
    host_array want_each = targets(type, {11}), want_one = want_each;
    array each = want_each.to_device(), same = want_each.to_device();
    write(each(mask.to_device()), h, x.to_device());
    write(same(mask.to_device()), h, one.to_device());
    std::int64_t next = 0;
    for (std::int64_t k = 0; k < 11; ++k)
      if (mask.get(k).re != 0) {
        combine(want_each, k, h, x.get(next++));
        combine(want_one, k, h, one.get(0));
      }
    out.add(each, std::move(want_each), type, h);
    out.add(same, std::move(want_one), type, h);
  });
}

TEST(case_scatter, columns_at_indices_and_grids_of_indices) {
  check_every_type_and_how([](dtype type, how h, outcomes& out) {
    if (h == how::modulo) return;
    const places rows{2, 0, 2}, columns{4, 1};
    host_array want_columns = targets(type, {3, 5}), want_grid = want_columns;
    const host_array x = operands(type, {3, 2}, h), y = operands(type, {2}, h);
    array a = want_columns.to_device(), b = want_columns.to_device();
    write(a(all, array(columns)), h, x.to_device());
    write(b(array(rows)(all, newaxis), array(columns)), h, y.to_device());
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t j = 0; j < 2; ++j) {
        const auto r = static_cast<std::size_t>(i), c = static_cast<std::size_t>(j);
        combine(want_columns, i * 5 + columns[c], h, x.get(i * 2 + j));
        combine(want_grid, rows[r] * 5 + columns[c], h, y.get(j));
      }
    out.add(a, std::move(want_columns), type, h);
    out.add(b, std::move(want_grid), type, h);
  });
}

// Narrow elements share the words that a GPU's atomics work on.
TEST(case_scatter, ten_thousand_additions_to_few_places_of_every_dtype) {
  const std::int64_t n = 10007, bins = 37;
  for (const dtype type : every_type) {
    if (type == boolean) continue;
    host_array want(type, {bins}), x(type, {n}), i(i32, {n});
    lcg numbers(7);
    for (std::int64_t k = 0; k < n; ++k) {
      const std::uint64_t place = numbers.below(static_cast<std::uint64_t>(bins)), sign = numbers.below(2);
      i.set(k, {static_cast<long double>(place), 0});
      const long double v = is_signed(type) && sign == 0 ? -1 : 1;
      x.set(k, {v, is_complex(type) ? -v : 0});
      combine(want, static_cast<std::int64_t>(place), how::add, x.get(k));
    }
    array a = zeros({bins}, type);
    a(i.to_device()) += x.to_device();
    EXPECT_TRUE(equals(a, want)) << to_string(type);
  }
}

TEST(case_scatter, named_writes_along_an_axis) {
  const array i{2, 0, 2}, x = counting(i32, {2, 3, 2}).to_device() + 100;
  array last = counting(i32, {2, 4, 2}).to_device(), sums = last, products = last, low = last, high = last;
  scatter(last, i, x, 1);
  scatter_add(sums, i, x, 1);
  scatter_multiply(products, i, x, 1);
  scatter_min(low, i, -x, -2);
  scatter_max(high, i, x, -2);
  host_array want[5];
  for (host_array& w : want) w = counting(i32, {2, 4, 2});
  for (std::int64_t k = 0; k < 12; ++k) {
    const std::int64_t place[] = {2, 0, 2}, at = k / 6 * 8 + place[k / 2 % 3] * 2 + k % 2;
    const value v{static_cast<long double>(100 + k), 0};
    combine(want[0], at, how::assign, v);
    combine(want[1], at, how::add, v);
    combine(want[2], at, how::multiply, v);
    combine(want[3], at, how::least, {-v.re, 0});
    combine(want[4], at, how::most, v);
  }
  EXPECT_TRUE(equals(last, want[0]));
  EXPECT_TRUE(equals(sums, want[1]));
  EXPECT_TRUE(equals(products, want[2]));
  EXPECT_TRUE(equals(low, want[3]));
  EXPECT_TRUE(equals(high, want[4]));
}

TEST(case_scatter, put_and_put_along_axis_undo_take_and_take_along_axis) {
  const array x = counting(f32, {4, 6}).to_device(), order = argmin(x, 0, keepdims) + (arange(6) * 5 % 4)(newaxis, all);
  array a = zeros({4, 6}, f32), b = zeros({4, 6}, f32);
  put_along_axis(a, order, take_along_axis(x, order, 0), 0);
  const array flat = arange(1, 24, 3);
  put(b, flat, take(x, flat));
  host_array want_a(f32, {4, 6}), want_b(f32, {4, 6});
  for (std::int64_t j = 0; j < 6; ++j) want_a.set(j * 5 % 4 * 6 + j, {static_cast<long double>(j * 5 % 4 * 6 + j), 0});
  for (std::int64_t k = 1; k < 24; k += 3) want_b.set(k, {static_cast<long double>(k), 0});
  EXPECT_TRUE(equals(a, want_a));
  EXPECT_TRUE(equals(b, want_b));
}

TEST(case_scatter, no_indices_write_nothing_and_nan_wins_minimum) {
  array a = counting(f32, {3}).to_device(), b = a;
  a(zeros({0}, i32)) += zeros({0}, f32);
  a(zeros({3}, boolean)) = 7;
  b(array{0, 0, 2}).set_minimum(array{not_a_number, -1.f, 1.f});
  b(array{1}).set_maximum(array{not_a_number});
  EXPECT_TRUE(equals(a, std::vector<float>{0, 1, 2}));
  EXPECT_TRUE(equals(b, std::vector<float>{not_a_number, not_a_number, 1}));
}

}  // namespace
