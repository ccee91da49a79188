// What users of other lazy array libraries reported, each a test named after its symptom: graphs that grow, memory that
// isn't given back, wrong results of fusion, aliasing, in-place writes and views.
#include "tests/backend/expect.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

using namespace sinter;
using namespace sinter_test;

namespace {

const range backwards(end, begin, -1);

constexpr recording_limits unlimited{.operations = std::int64_t{1} << 60, .bytes = std::int64_t{1} << 60};

std::uint64_t bytes_in_use() { return stats().bytes_in_use; }

array ramp(std::int64_t n, dtype type = f32) { return counting(type, {n}).to_device(); }

/// Holds as much memory as was ever in use, so that whatever else is allocated shows in the peak. Where that is too
/// much to hold, nothing shows.
class at_the_peak {
 public:
  at_the_peak() {
    const auto missing = static_cast<std::int64_t>(stats().peak_bytes - stats().bytes_in_use);
    if (executor == "cuda") filler_ = full({missing}, 0, u8);
    else if (missing < std::int64_t{1} << 29)
      filler_ = array(std::vector<std::uint8_t>(static_cast<std::size_t>(missing)));
    eval(filler_);
    before_ = stats().peak_bytes;
  }
  std::uint64_t more() const { return stats().peak_bytes - before_; }

 private:
  array filler_;
  std::uint64_t before_ = 0;
};

// drjit#60, mitsuba3#369: the number of operations, and the time, grew with every iteration.
TEST(peer_symptom, ten_thousand_steps_without_an_evaluation_stay_bounded) {
  const recording few({.operations = 200});
  const std::uint64_t start = bytes_in_use();
  array x = ramp(200), u = ramp(200);
  std::uint64_t most = 0;
  const statistics added = counted([&] {
    for (int k = 0; k < 10'000; ++k) {
      x = x * 0.5f + 1.f;
      u(range(1, -1)) = u(range(2, end)) * 0.5f + u(range(begin, -2)) * 0.5f;
      most = std::max(most, bytes_in_use() - start);
    }
  });
  EXPECT_GE(added.launches, 50u) << "what is recorded past the limit is evaluated";
  EXPECT_LE(most, 8u * 800u);
  EXPECT_TRUE(equals(x, std::vector<float>(200, 2.f)));
  EXPECT_TRUE(equals(u, counting(f32, {200}))) << "a line stays a line";
}

// mlx#797, #810, #1462: the stack ended, when evaluating or when releasing.
TEST(peer_symptom, two_million_pending_operations_are_dropped) {
  const recording no_limits(unlimited);
  array x = ramp(4), u = ramp(4);
  for (int k = 0; k < 1'000'000; ++k) {
    x = x + 1;
    u(range(1, end)) = u(range(begin, -1));
  }
  EXPECT_FALSE(x.is_evaluated());
  EXPECT_FALSE(u.is_evaluated());
  x = array();
  u = array();
}

TEST(peer_symptom, half_a_million_operations_are_evaluated) {
  array x = ramp(4, f64);
  for (int k = 0; k < 500'000; ++k) x = x + 1;
  EXPECT_TRUE(equals(x, std::vector<double>{500000, 500001, 500002, 500003}));
}

TEST(peer_symptom, twenty_thousand_pending_writes_are_evaluated) {
  const recording no_limits(unlimited);
  array u = zeros({8}, i32);
  for (int k = 0; k < 20'000; ++k) u(k % 8) += k;
  std::vector<std::int32_t> want(8);
  for (int k = 0; k < 20'000; ++k) want[static_cast<std::size_t>(k % 8)] += k;
  EXPECT_TRUE(equals(u, want));
}

// mlx#1499: memory exploded.
TEST(peer_symptom, temporaries_of_a_loop_take_no_more_than_three_times_what_lives) {
  const std::int64_t n = 100'000;
  array x = ramp(n), y = ramp(n);
  eval(x, y);
  const at_the_peak watched;
  for (int k = 0; k < 20; ++k) {
    const array a = x + y, b = a * 0.5f, c = sqrt(abs(b) + 1);
    x = c - b;
    y(range(1, end)) = x(range(begin, -1)) + a(range(1, end)) * 0.25f;
    eval(x, y);
  }
  EXPECT_LE(watched.more(), 2u * 2u * 4u * static_cast<std::uint64_t>(n));
  EXPECT_TRUE(all_true(isfinite(y)).item<bool>());
}

// arrayfire#1709: buffers that only the pending sum needs.
TEST(peer_symptom, a_sum_of_many_large_arrays_fits_a_budget) {
  const std::int64_t n = 64 * 1024, size = n * 4;
  const recording few({.bytes = 8 * size});
  const std::uint64_t start = bytes_in_use();
  std::uint64_t most = 0;
  array sum_of_all = zeros({n}, i32);
  for (int k = 0; k < 100; ++k) {
    const array next = full({n}, k, i32) + arange(n, i32);
    eval(next);
    sum_of_all += next;
    most = std::max(most, bytes_in_use() - start);
  }
  EXPECT_LE(most, static_cast<std::uint64_t>(12 * size));
  EXPECT_EQ(sum_of_all(3).item<std::int32_t>(), 4950 + 300);
  EXPECT_EQ(sum_of_all(-1).item<std::int32_t>(), static_cast<std::int32_t>(4950 + 100 * (n - 1)));
}

// arrayfire#2478, mitsuba drjit#87: memory that grew with every +=.
TEST(peer_symptom, a_thousand_turns_leave_no_bytes_behind) {
  const std::uint64_t start = bytes_in_use();
  {
    array x = ramp(500), hits = zeros({10}, i64);
    const array i = arange(500) % 10;
    eval(x, hits, i);
    const std::uint64_t inside = bytes_in_use();
    for (int k = 0; k < 1000; ++k) {
      x += 1;
      x(range(begin, end, 2)) -= 1;
      hits(i) += 1;
      if (k % 7 == 0) eval(x, hits);
      if (k % 100 == 0) {
        EXPECT_THROW(x(range(0, 3)) = ramp(4), shape_error);
        const array dropped = concat({x, x * 2});
      }
    }
    eval(x, hits);
    EXPECT_EQ(bytes_in_use(), inside);
    EXPECT_TRUE(equals(hits, std::vector<std::int64_t>(10, 50'000)));
    EXPECT_EQ(x(3).item<float>(), 1003.f);
  }
  EXPECT_EQ(bytes_in_use(), start);
}

// arrayfire#3085: a second buffer.
TEST(peer_symptom, a_multiplication_in_place_needs_one_buffer) {
  array a = ramp(100'000);
  eval(a);
  const at_the_peak watched;
  a *= 2;
  eval(a);
  EXPECT_LE(watched.more(), 64u);
  EXPECT_EQ(a(99'999).item<float>(), 199'998.f);
}

TEST(peer_symptom, writes_into_an_array_that_nobody_else_holds_need_no_memory) {
  array a = counting(f32, {1000, 100}).to_device();
  const array x = ramp(1000), i = arange(50) * 7 % 100;
  eval(a, x, i);
  const at_the_peak watched;
  a(all, 0) += x;
  eval(a);
  a(range(1, end, 3), range(end, begin, -2)) *= 2;
  eval(a);
  a(5) = 1;
  eval(a);
  a(all, i) -= 1;
  eval(a);
  a(a < 0) = 0;
  eval(a);
  EXPECT_LE(watched.more(), 64u);
  EXPECT_EQ(a(7, 0).item<float>(), 700.f + 7.f - 1.f);
}

// drjit-core#46: a variable needed by two kernels of different sizes.
TEST(peer_symptom, one_array_read_by_outputs_of_different_sizes) {
  const array x = ramp(64, i64) * 3, wide = x(newaxis, all) + ramp(50, i64)(all, newaxis), total = sum(x);
  array written = x;
  written(range(0, 2)) = total;
  eval(x, wide, total, written);
  EXPECT_EQ(x(63).item<std::int64_t>(), 189);
  EXPECT_EQ(wide(49, 63).item<std::int64_t>(), 189 + 49);
  EXPECT_EQ(total.item<std::int64_t>(), 6048);
  EXPECT_TRUE(equals(written(range(0, 3)), std::vector<std::int64_t>{6048, 6048, 6}));
}

// drjit-core#67, #178: the mask of a gather of a gather was lost.
TEST(peer_symptom, gathers_of_gathers_at_masked_indices_that_are_out_of_range) {
  const array x = ramp(10, i32) * 10;
  const array i{9, 50, 3, -70}, i_good = i < 10 && i >= 0, j{2, 99, 0, 3}, j_good = j < 4;
  const array once = where(i_good, x(where(i_good, i, 0)), -1), twice = where(j_good, once(where(j_good, j, 0)), -2);
  EXPECT_TRUE(equals(twice, std::vector<std::int32_t>{30, -2, 90, -1}));
  EXPECT_TRUE(equals(x(i(i_good))(array{1, 0}), std::vector<std::int32_t>{30, 90}));
  EXPECT_NO_THROW(synchronize());
}

// drjit-core#159: exponential re-indexing.
TEST(peer_symptom, shared_writes_behind_a_gather_take_linear_time) {
  array x = ramp(16, i64);
  for (int k = 0; k < 30; ++k) {
    x = x + x;
    x(range(1, end)) = x(range(begin, -1)) + x(range(1, end));
  }
  std::vector<std::int64_t> want(16);
  for (std::size_t k = 0; k < 16; ++k) want[k] = static_cast<std::int64_t>(k);
  for (int k = 0; k < 30; ++k) {
    for (std::int64_t& v : want) v *= 2;
    for (std::size_t p = 15; p > 0; --p) want[p] += want[p - 1];
  }
  EXPECT_TRUE(equals(x(array{3, 15}), std::vector<std::int64_t>{want[3], want[15]}));
}

/// a(i) op= v in the lanes of a mask; the other lanes' indices are out of range.
void check_masked_lanes(dtype type) {
  host_array x(type, {6}), base(type, {5});
  for (std::int64_t k = 0; k < 6; ++k) x.set(k, {type == boolean ? 1.0L : static_cast<long double>(k + 1), 0});
  for (std::int64_t k = 0; k < 5; ++k) base.set(k, {type == boolean ? 0.0L : 4.0L, 0});
  const array i{0, 1'000'000, 2, 2, -77, 4}, good = i < 5 && i >= 0, v = x.to_device();
  array assigned = base.to_device(), sums = assigned, low = assigned, high = assigned;
  assigned(i(good)) = v(good);
  host_array want = base, want_sums = base, want_low = base, want_high = base;
  for (const auto& [place, value_there] : {std::pair{0, 1}, {2, 4}, {4, 6}})
    want.set(place, {type == boolean ? 1.0L : static_cast<long double>(value_there), 0});
  EXPECT_TRUE(equals(assigned, want)) << to_string(type);
  if (type != boolean) {
    sums(i(good)) += v(good);
    for (const auto& [place, total] : {std::pair{0, 5}, {2, 11}, {4, 10}})
      want_sums.set(place, {static_cast<long double>(total), 0});
    EXPECT_TRUE(equals(sums, want_sums)) << to_string(type);
  }
  if (type != boolean && !is_complex(type)) {
    low(i(good)).set_minimum(v(good));
    high(i(good)).set_maximum(v(good));
    for (const auto& [place, least, most] : {std::tuple{0, 1, 4}, {2, 3, 4}, {4, 4, 6}}) {
      want_low.set(place, {static_cast<long double>(least), 0});
      want_high.set(place, {static_cast<long double>(most), 0});
    }
    EXPECT_TRUE(equals(low, want_low)) << to_string(type);
    EXPECT_TRUE(equals(high, want_high)) << to_string(type);
  }
  EXPECT_NO_THROW(synchronize()) << to_string(type);
}

// drjit-core#134, #191, #192, drjit#503: masked lanes wrote, strides of four bytes for every dtype.
TEST(peer_symptom, masked_lanes_write_nothing_whatever_their_index) {
  for (const dtype type : {boolean, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128})
    check_masked_lanes(type);
}

// mlx#946, #950: results that share parts, one of them also needed elsewhere.
TEST(peer_symptom, two_results_that_share_parts_and_a_third_reader) {
  const array x = ramp(100, f64), shared = x * x + 1, a = sqrt(shared) - x, b = shared / (x + 1);
  array c = shared;
  c(range(begin, end, 2)) = b(range(begin, end, 2));
  eval(a, b);
  EXPECT_TRUE(equals(shared(array{0, 3}), std::vector<double>{1, 10}));
  EXPECT_TRUE(equals(c(range(2, 5)), std::vector<double>{5.0 / 3, 10, 17.0 / 5}, {1e-15, 0, false}));
  EXPECT_NEAR(a(3).item<double>(), std::sqrt(10.0) - 3, 1e-14);
}

// mlx#812: a buffer given to the result while a strided view still reads it.
TEST(peer_symptom, a_view_of_an_array_that_is_then_replaced) {
  array x = ramp(10, i32);
  eval(x);
  const array y = x(range(begin, end, 2));
  x = x * 100;
  eval(x);
  x(all) += 1;
  eval(x);
  EXPECT_TRUE(equals(y, std::vector<std::int32_t>{0, 2, 4, 6, 8}));
  EXPECT_EQ(x(9).item<std::int32_t>(), 901);
}

// mlx#3716, #3720, #4528: negative strides inside compiled kernels.
TEST(peer_symptom, reversed_views_under_every_kind_of_operation) {
  const host_array h = counting(i32, {6, 7});
  const array a = h.to_device();
  const auto check = [](const char* what, const array& view, const array& copy) {
    array written = view * 1, written_copy = copy;
    written(backwards, range(end, begin, -2)) += view(all, range(begin, end, 2));
    written_copy(backwards, range(end, begin, -2)) += copy(all, range(begin, end, 2));
    const std::vector<array> of_view{view * 2 - 1,
                                     sum(view, 0),
                                     sum(view, 1),
                                     max(view),
                                     argmax(view % 5, 0),
                                     concat({view, view(backwards)}),
                                     take(view, array{1, -1}, 0),
                                     pad(view, 1),
                                     reshape(view, {-1}),
                                     written};
    const std::vector<array> of_copy{copy * 2 - 1,
                                     sum(copy, 0),
                                     sum(copy, 1),
                                     max(copy),
                                     argmax(copy % 5, 0),
                                     concat({copy, copy(backwards)}),
                                     take(copy, array{1, -1}, 0),
                                     pad(copy, 1),
                                     reshape(copy, {-1}),
                                     written_copy};
    eval_all(of_view);
    for (std::size_t k = 0; k < of_view.size(); ++k)
      EXPECT_TRUE(equals(of_view[k], from_device(of_copy[k]))) << what << ", result " << k;
  };
  const auto copied = [](const array& view) { return from_device(view).to_device(); };
  for (const array& view : {array(a(backwards)), array(a(all, backwards)), transpose(a)(range(end, begin, -2)),
                            array(a(backwards, backwards)), array(a(range(4, begin, -3), range(end, 1, -1)))})
    check(to_string(view.extents()).c_str(), view, copied(view));
  EXPECT_TRUE(equals(copied(a(backwards)), picked(h, 0, {5, 4, 3, 2, 1, 0})));
}

// mlx#3676, #3483: additions to strided slices destroyed their neighbours.
TEST(peer_symptom, additions_to_strided_slices) {
  array a = ramp(9, i32), m = counting(i32, {3, 4}).to_device();
  a(range(1, end, 2)) += array{100, 200, 300, 400};
  m(all, range(1, 3)) += m(all, range(0, 2));
  EXPECT_TRUE(equals(a, std::vector<std::int32_t>{0, 101, 2, 203, 4, 305, 6, 407, 8}));
  EXPECT_TRUE(equals(m, host_array(std::vector<std::int32_t>{0, 1, 3, 3, 4, 9, 11, 7, 8, 17, 19, 11}, {3, 4})));
}

// mlx#3880: a stale start, where the device computes the place.
TEST(peer_symptom, a_place_that_the_device_counts_up) {
  array a = zeros({20}, i64), i = array(scalar(0));
  for (int k = 0; k < 20; ++k) {
    a(i) = i * i;
    i += 1;
    if (k % 6 == 5) eval(a);
  }
  std::vector<std::int64_t> want;
  for (std::int64_t k = 0; k < 20; ++k) want.push_back(k * k);
  EXPECT_TRUE(equals(a, want));
}

// mlx#2208, #1050: writes that did not arrive, or did not broadcast.
TEST(peer_symptom, a_number_and_a_row_written_into_rows) {
  array a = counting(i32, {4, 3}).to_device();
  a(2) = 0;
  a(range(1, 3)) += array{10, 20, 30};
  EXPECT_TRUE(equals(a, host_array(std::vector<std::int32_t>{0, 1, 2, 13, 24, 35, 10, 20, 30, 9, 10, 11}, {4, 3})));
}

// arrayfire#3660, #3671: an array and its transpose in one expression.
TEST(peer_symptom, an_array_and_its_transpose_and_another_shape_of_it) {
  array a = counting(f32, {5, 5}).to_device();
  a(all, 0) = a(0, all);  // 0 1 2 3 4 along both edges
  const array sums = a + transpose(a), mixed = a * transpose(a) + reshape(ravel(a), {5, 5});
  eval(sums, mixed);
  const auto element = [](std::int64_t i, std::int64_t j) { return static_cast<float>(j == 0 ? i : i * 5 + j); };
  host_array want_sums(f32, {5, 5}), want_mixed(f32, {5, 5});
  for (std::int64_t i = 0; i < 5; ++i)
    for (std::int64_t j = 0; j < 5; ++j) {
      want_sums.set(i * 5 + j, {element(i, j) + element(j, i), 0});
      want_mixed.set(i * 5 + j, {element(i, j) * element(j, i) + element(i, j), 0});
    }
  EXPECT_TRUE(equals(sums, want_sums));
  EXPECT_TRUE(equals(mixed, want_mixed));
}

// arrayfire#3232, #1604, #421, #397: nested shapes and offsets.
TEST(peer_symptom, writes_into_reshapes_of_slices_of_reshapes) {
  array x = ramp(48, i32), outer = reshape(x, {2, 24}), inner = reshape(outer(all, range(1, 19)), {9, 4});
  inner(range(1, end, 2), range(end, begin, -1)) *= -1;
  outer(all, range(1, 19)) = reshape(inner, {2, 18});
  x = reshape(outer, {48});
  host_array want = counting(i32, {48});
  for (std::int64_t k = 0; k < 36; ++k)
    if (k / 4 % 2 == 1) want.set(k / 18 * 24 + 1 + k % 18, {static_cast<long double>(-(k / 18 * 24 + 1 + k % 18)), 0});
  EXPECT_TRUE(equals(x, want));
}

// arrayfire#2533, #1764, #350, #3534.
TEST(peer_symptom, slice_assignment_leaves_the_copy_alone) {
  for (const bool is_evaluated : {true, false}) {
    array a = ramp(6, i32) * 1;
    if (is_evaluated) eval(a);
    const array b = a, part = a(range(1, 4));
    a(range(2, 5)) = -1;
    a(array{0}) = -2;
    a(a == 5) = -3;
    eval(a);
    EXPECT_TRUE(equals(b, counting(i32, {6})));
    EXPECT_TRUE(equals(part, std::vector<std::int32_t>{1, 2, 3}));
    EXPECT_TRUE(equals(a, std::vector<std::int32_t>{-2, 1, -1, -1, -1, -3}));
  }
}

// arrayfire#1678: the host waited.
TEST(peer_symptom, writes_through_a_mask_do_not_wait) {
  array a = ramp(1000);
  const array b = ramp(1000) * 2;
  eval(a, b);
  EXPECT_EQ(counted([&] {
              a(a > 500) = 0;
              a(a == 3) += 1;
              a(a < 7 && a > 5) = b(6);
              eval(a);
            }).synchronizations,
            0u);
  EXPECT_TRUE(equals(a(range(0, 8)), std::vector<float>{0, 1, 2, 4, 4, 5, 12, 7}));
}

// pytorch inductor#193661: the strides were ignored.
TEST(peer_symptom, argmax_of_turned_and_reversed_expressions) {
  array a = counting(i32, {3, 5}).to_device() * 7 % 11;  // 0 7 3 10 6 | 2 9 5 1 8 | 4 0 7 3 10
  a(1, 4) = 20;
  EXPECT_TRUE(equals(argmax(transpose(a) + 1, 0), std::vector<std::int64_t>{3, 4, 4}));
  EXPECT_TRUE(equals(argmax(a(all, backwards) * 2, 1), std::vector<std::int64_t>{1, 0, 0}));
  EXPECT_TRUE(equals(argmax(transpose(a)(range(end, begin, -2)), 1), std::vector<std::int64_t>{1, 2, 2}));
  EXPECT_EQ(argmax(a(backwards)).item<std::int64_t>(), 9);
}

/// Writes in a fixed order while it lives.
class deterministic_writes {
 public:
  deterministic_writes() : before_(get_deterministic()) { set_deterministic(true); }
  ~deterministic_writes() { set_deterministic(before_); }
  deterministic_writes(const deterministic_writes&) = delete;
  deterministic_writes& operator=(const deterministic_writes&) = delete;

 private:
  bool before_;
};

// cupy, jax and pytorch users: sums at indices whose last bits differ from run to run.
TEST(peer_symptom, sums_at_indices_can_be_made_to_have_the_same_bits_every_time) {
  const deterministic_writes on;
  const std::int64_t n = 5000;
  const array x = lcg_reals(f32, {12, 9}, 141, -1, 1, 0xcf310766).to_device();
  const array v = take(x, arange(n) % 108) * (arange(n) % 71).astype(f32), i = arange(n) * 7 % 5;
  eval(v, i);
  const host_array values = from_device(v);
  std::vector<double> want(5);
  for (std::int64_t k = 0; k < n; ++k)
    want[static_cast<std::size_t>(k * 7 % 5)] += static_cast<double>(values.get(k).re);
  host_array first;
  for (int round = 0; round < 5; ++round) {
    array a = zeros({5}, f32);
    a(i) += v;
    if (round == 0) first = from_device(a);
    EXPECT_EQ(from_device(a).bytes, first.bytes) << round;
    EXPECT_TRUE(equals(a, host_array(want), {1e-4, 1e-2, false})) << round;
  }
}

// mlx#2647, #2648: other outputs of the same operations.
TEST(peer_symptom, the_same_operations_with_other_sets_of_results) {
  for (int round = 0; round < 2; ++round)
    for (const int which : {0, 1, 2, 3}) {
      array x = ramp(50, i32), a = x * 5;
      a(range(0, 10)) -= 3;
      const array b = a * a;
      if (which == 0) eval(a);
      if (which == 1) eval(a, b);
      if (which == 2) eval(b, a);
      if (which == 3) eval(b, b);
      EXPECT_TRUE(equals(a(range(9, 11)), std::vector<std::int32_t>{42, 50})) << which;
      EXPECT_TRUE(equals(b(range(9, 11)), std::vector<std::int32_t>{1764, 2500})) << which;
    }
}

}  // namespace
