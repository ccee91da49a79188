// What users of other lazy array libraries reported about reductions and scans, each a test named after its symptom:
// wrong results of fusion, strides, stale shapes, kernels made again and again, limits of grids and parameters.
#include "tests/backend/expect.hpp"

#include <utility>

using namespace sinter;
using namespace sinter_test;

namespace {

const range backwards(end, begin, -1);

array ramp(std::int64_t n, dtype type = f32) { return counting(type, {n}).to_device(); }

using reducing = array (*)(const array&);

/// Every reduction, scan and row function along the last axis of reals.
const std::pair<const char*, reducing> along_rows[] = {
    {"sum", [](const array& x) { return sum(x, -1); }},
    {"prod", [](const array& x) { return prod(x, -1, keepdims); }},
    {"min", [](const array& x) { return min(x, -1); }},
    {"max", [](const array& x) { return max(x, -1, keepdims); }},
    {"ptp", [](const array& x) { return ptp(x, -1); }},
    {"mean", [](const array& x) { return mean(x, -1); }},
    {"var", [](const array& x) { return var(x, -1); }},
    {"stddev", [](const array& x) { return stddev(x, {.over = -1, .ddof = 1}); }},
    {"any_true", [](const array& x) { return any_true(x > 1, -1); }},
    {"all_true", [](const array& x) { return all_true(x, -1); }},
    {"count_nonzero", [](const array& x) { return count_nonzero(x, -1, keepdims); }},
    {"argmin", [](const array& x) { return argmin(x, -1); }},
    {"argmax", [](const array& x) { return argmax(x, -1, keepdims); }},
    {"nansum", [](const array& x) { return nansum(x, -1); }},
    {"nanmax", [](const array& x) { return nanmax(x, -1); }},
    {"logsumexp", [](const array& x) { return logsumexp(x, -1); }},
    {"softmax", [](const array& x) { return softmax(x); }},
    {"log_softmax", [](const array& x) { return log_softmax(x); }},
    {"norm", [](const array& x) { return norm(x, 2, -1); }},
    {"cumsum", [](const array& x) { return cumsum(x, -1); }},
    {"cumprod", [](const array& x) { return cumprod(x, -1); }},
    {"cummax", [](const array& x) { return cummax(x, -1); }},
    {"cummin", [](const array& x) { return cummin(x, -1); }}};

/// Numbers from -2 to 2 in steps of 1/8, ties among them: their sums are exact.
host_array eighths(const shape& extents, std::uint32_t seed, dtype type = f32) {
  host_array out(type, extents);
  lcg g(seed);
  for (std::int64_t k = 0; k < out.size(); ++k) out.set(k, {static_cast<long double>(g.below(33)) / 8 - 2, 0});
  return out;
}

// mlx#3716, #3720, #4528: negative strides, above all in reductions of columns.
TEST(peer_reduction, reversed_and_turned_views) {
  const array a = eighths({6, 7, 5}, 3, f64).to_device();
  for (const array& view :
       {array(a(backwards)), array(a(all, backwards)), array(a(ellipsis, backwards)), transpose(a)(ellipsis, backwards),
        transpose(a)(range(end, begin, -2)), transpose(a, {1, 0, 2})(backwards, backwards, range(4, begin, -3)),
        array(a(range(4, begin, -3), range(end, 1, -1), all))}) {
    const array copy = from_device(view).to_device();
    for (const auto& [name, f] : along_rows)
      EXPECT_TRUE(equals(f(view), from_device(f(copy)), {1e-12, 1e-12, false}))
          << name << " of " << to_string(view.extents());
    // The same numbers, but read along the columns.
    for (const auto& [name, f] : along_rows)
      EXPECT_TRUE(
          equals(f(transpose(view)), from_device(f(from_device(transpose(view)).to_device())), {1e-12, 1e-12, false}))
          << name << " of columns of " << to_string(view.extents());
  }
}

// cupy#7098, drjit: some functions ended a fused kernel.
TEST(peer_reduction, operations_before_and_after_join_its_launch) {
  const array x = eighths({40, 300}, 5).to_device(), before = (from_device(x * 0.5f + 1)).to_device();
  for (const auto& [name, f] : along_rows) {
    const array y = f(x * 0.5f + 1) * 2 - 1;
    EXPECT_EQ(counted([&] { eval(y); }).launches, 1u) << name;
    const array apart = from_device(f(before)).to_device();
    EXPECT_TRUE(equals(y, from_device(apart * 2 - 1), {1e-5, 1e-5, false})) << name;
  }
}

// drjit#51, arrayfire-rust#262: a kernel for every number.
TEST(peer_reduction, other_numbers_make_no_other_kernels) {
  const array x = eighths({20, 50}, 6, f64).to_device();
  const host_array sums = from_device(sum(x, 1));
  std::uint64_t later = 0;
  for (int k = 1; k <= 50; ++k) {
    const array y = sum(x * k, 1) + k, z = cumsum(x * k, 1), w = argmax(x * k, 1);
    const statistics added = counted([&] { eval(y, z, w); });
    if (k > 2) later += added.compiles;
    EXPECT_EQ(y(7).item<double>(), static_cast<double>(sums.get(7).re) * k + k);
    EXPECT_EQ(z(7, -1).item<double>(), static_cast<double>(sums.get(7).re) * k);
  }
  EXPECT_EQ(later, 0u);
}

// mlx#3201, #2607, #4460: the shape of the first call, after a reduction, a product or a scan.
TEST(peer_reduction, one_program_called_with_many_sizes) {
  for (const std::int64_t n : {1, 2, 127, 128, 0, 1, 129, 2}) {
    const array x = counting(i64, {3, n}).to_device();
    const array sums = sum(x, 1), columns = sum(x, 0), scanned = cumsum(x, 1), product = matmul(x, transpose(x)),
                total = sum(scanned);
    eval(sums, columns, scanned, product, total);
    std::vector<std::int64_t> want_sums(3), want_columns(static_cast<std::size_t>(n));
    host_array want_scanned(i64, {3, n}), want_product(i64, {3, 3});
    std::int64_t want_total = 0;
    for (std::int64_t r = 0; r < 3; ++r)
      for (std::int64_t k = 0; k < n; ++k) {
        want_columns[static_cast<std::size_t>(k)] += r * n + k;
        want_sums[static_cast<std::size_t>(r)] += r * n + k;
        want_scanned.set(r * n + k, {static_cast<long double>(want_sums[static_cast<std::size_t>(r)]), 0});
        want_total += want_sums[static_cast<std::size_t>(r)];
        for (std::int64_t c = 0; c < 3; ++c) {
          const long double so_far = want_product.get(3 * r + c).re;
          want_product.set(3 * r + c, {so_far + static_cast<long double>((r * n + k) * (c * n + k)), 0});
        }
      }
    EXPECT_TRUE(equals(sums, want_sums)) << n;
    EXPECT_TRUE(equals(columns, want_columns)) << n;
    EXPECT_TRUE(equals(scanned, want_scanned)) << n;
    EXPECT_TRUE(equals(product, want_product)) << n;
    EXPECT_EQ(total.item<std::int64_t>(), want_total) << n;
  }
}

// mlx#2647, #2648: other results of the same operations; mlx#946, #950: results that share parts.
TEST(peer_reduction, the_same_reductions_in_other_sets_of_results) {
  const host_array h = counting(i32, {12, 30});
  std::vector<std::int64_t> want_sums;
  std::vector<std::int32_t> want_most;
  for (std::int64_t r = 0; r < 12; ++r) {
    want_sums.push_back(2 * (30 * 30 * r + 435) + 30);
    want_most.push_back(static_cast<std::int32_t>(2 * (30 * r + 29) + 1));
  }
  for (int round = 0; round < 2; ++round)
    for (const int which : {0, 1, 2, 3, 4}) {
      const array x = h.to_device() * 2 + 1, sums = sum(x, 1), most = max(x, 1),
                  rest = x - most(all, newaxis) + sums(all, newaxis);
      if (which == 0) eval(sums);
      if (which == 1) eval(sums, most);
      if (which == 2) eval(most, sums);
      if (which == 3) eval(rest, sums);
      if (which == 4) eval(x, most, rest);
      EXPECT_TRUE(equals(sums, want_sums)) << which;
      EXPECT_TRUE(equals(most, want_most)) << which;
      EXPECT_EQ(rest(3, 4).item<std::int64_t>(), want_sums[3] - want_most[3] + 2 * 94 + 1) << which;
    }
}

/// x with the greatest of its elements at `at` and, equal to it, at `later`.
host_array with_greatest(dtype type, std::int64_t n, long double base, long double greatest, std::int64_t at,
                         std::int64_t later) {
  host_array x(type, {n});
  for (std::int64_t k = 0; k < n; ++k) x.set(k, {base, 0});
  x.set(at, {greatest, 0});
  x.set(later, {greatest, 0});
  return x;
}

// drjit: values and positions packed into 64 bits, which is too few for 64-bit values.
TEST(peer_reduction, positions_of_values_that_differ_in_their_last_bit) {
  struct pair {
    dtype type;
    long double base, greatest;
  };
  const pair pairs[] = {{i64, 0x1p62L, 0x1p62L + 1},
                        {i64, -0x1p63L, -0x1p63L + 1},
                        {u64, 0x1p63L, 0x1p63L + 1},
                        {u64, 0x1p64L - 2, 0x1p64L - 1},
                        {f64, 1, 1 + 0x1p-52L},
                        {f64, -1 - 0x1p-52L, -1},
                        {f32, -1 - 0x1p-23L, -1},
                        {f32, -1e-45L, 0},
                        {i32, -0x1p31L, -0x1p31L + 1},
                        {u32, 0x1p32L - 2, 0x1p32L - 1},
                        {f16, -65504, -65472},
                        {bf16, 1, 1 + 0x1p-7L},
                        {i8, -128, -127},
                        {u8, 254, 255},
                        {boolean, 0, 1}};
  for (const auto& [type, base, greatest] : pairs)
    for (const std::int64_t n : {std::int64_t{5}, std::int64_t{700}, std::int64_t{70'001}}) {
      const std::int64_t at = n * 2 / 3, later = n - 1;
      const array x = with_greatest(type, n, base, greatest, at, later).to_device(),
                  y = with_greatest(type, n, greatest, base, at, later).to_device();
      EXPECT_EQ(argmax(x).item<std::int64_t>(), at) << to_string(type) << n;
      EXPECT_EQ(argmin(y).item<std::int64_t>(), at) << to_string(type) << n;
      EXPECT_EQ(argmin(x).item<std::int64_t>(), 0) << to_string(type) << n;
      EXPECT_TRUE(equals(argmax(reshape(x, {n, 1}), 0), std::vector<std::int64_t>{at})) << to_string(type) << n;
    }
  // Zeros are equal, whatever their signs.
  EXPECT_EQ(argmax(array{-0.f, 0.f}).item<std::int64_t>(), 0);
  EXPECT_EQ(argmin(array{0.0, -0.0}).item<std::int64_t>(), 0);
}

// Users of many: sums of floats whose last bits differ from run to run.
TEST(peer_reduction, sums_have_the_same_bits_every_time) {
  const array x = lcg_reals(f32, {4000}, 195, 100, 101, 0x98e993f6).to_device();
  const array v = take(x, arange(300'007) * 7 % 4000) * (arange(300'007) % 71 - 35).astype(f32),
              rows = reshape(v(range(0, 300'000)), {3, 100'000}) / 3;
  eval(v, rows);
  const auto results = [&] {
    return std::vector<array>{sum(v),       mean(v.astype(f64)), var(v),          sum(rows, 1),
                              sum(rows, 0), cumsum(rows, 1),     logsumexp(rows), softmax(rows, 0)};
  };
  const std::vector<array> first = results();
  eval_all(first);
  for (int round = 0; round < 3; ++round) {
    const std::vector<array> again = results();
    for (std::size_t k = 0; k < first.size(); ++k)
      EXPECT_TRUE(from_device(again[k]).bytes == from_device(first[k]).bytes) << "result " << k << ", round " << round;
  }
}

// arrayfire#1702, #1760: grids past 65535.
TEST(peer_reduction, long_thin_arrays_along_every_axis) {
  for (const shape& s : {shape{1, 70'000, 3}, shape{70'000, 1, 1}, shape{3, 1, 70'000}, shape{70'000, 2, 1}}) {
    const host_array h = counting(i32, s);
    const array a = h.to_device();
    for (int axis = 0; axis < 3; ++axis) {
      shape kept = s;
      kept[axis] = 1;
      host_array sums(i64, kept), most(i32, kept), running(i64, s), last(i64, kept);
      const std::int64_t pace = axis == 2 ? 1 : axis == 1 ? s[2] : s[1] * s[2];
      for (std::int64_t k = 0; k < h.size(); ++k) {
        const std::int64_t to = k / (pace * s[axis]) * pace + k % pace, position = k / pace % s[axis];
        const long double so_far = sums.get(to).re + h.get(k).re;
        sums.set(to, {so_far, 0});
        running.set(k, {so_far, 0});
        most.set(to, {h.get(k).re, 0});  // elements ascend
        last.set(to, {static_cast<long double>(position), 0});
      }
      const std::string name = to_string(s) + ", axis " + std::to_string(axis);
      EXPECT_TRUE(equals(sum(a, axis, keepdims), sums)) << name;
      EXPECT_TRUE(equals(max(a, axis, keepdims), most)) << name;
      EXPECT_TRUE(equals(argmax(a, axis, keepdims), last)) << name;
      EXPECT_TRUE(equals(cumsum(a, axis), running)) << name;
    }
  }
}

/// Checks reductions of a, a vector of n elements with h's values.
void check_vector(const array& a, const host_array& h, const std::string& name) {
  long double total = 0, most = -10;
  std::int64_t at = 0, count = 0;
  host_array running(f64, h.extents);
  for (std::int64_t k = 0; k < h.size(); ++k) {
    const long double v = h.get(k).re;
    running.set(k, {total += v, 0});
    count += v != 0 ? 1 : 0;
    if (v > most) most = v, at = k;
  }
  EXPECT_EQ(sum(a).item<double>(), static_cast<double>(total)) << name;
  EXPECT_EQ(count_nonzero(a).item<std::int64_t>(), count) << name;
  EXPECT_TRUE(equals(cumsum(a), running)) << name;
  if (h.size() == 0) return;
  EXPECT_EQ(max(a).item<double>(), static_cast<double>(most)) << name;
  EXPECT_EQ(argmax(a).item<std::int64_t>(), at) << name;
  EXPECT_NEAR(mean(a).item<double>(), static_cast<double>(total / static_cast<long double>(h.size())), 1e-12) << name;
}

// Lengths around the sizes of warps, blocks and grids, in every layout.
TEST(peer_reduction, lengths_around_powers_of_two_in_every_layout) {
  for (const std::int64_t n : {0, 1, 31, 32, 33, 255, 256, 257, 1023, 1025, 65'535, 65'536, 65'537}) {
    const host_array h = eighths({n}, static_cast<std::uint32_t>(n) + 1, f64);
    for (const layout way : {layout::evaluated, layout::strided, layout::reversed, layout::flipped_pending})
      check_vector(laid_out(h, way, 0), h, std::to_string(n) + ", " + sinter_test::to_string(way));
    // Broadcast: one element, n times.
    host_array same(f64, {n});
    for (std::int64_t k = 0; k < n; ++k) same.set(k, {-0.75L, 0});
    check_vector(broadcast_to(array{-0.75}, {n}), same, std::to_string(n) + ", broadcast");
  }
}

// mlx, "test reduction ops": no elements, beside results that have some.
TEST(peer_reduction, empty_axes_beside_others_in_one_evaluation) {
  const array x = ones({4, 0, 3}, f32), y = ramp(3);
  const array sums = sum(x, 1), means = mean(x, 1), both = sums + prod(x, 1) + y, none = max(x, 0),
              soft = softmax(x, 1), running = cumsum(x, 1), kept = all_true(x, {0, 1}, keepdims),
              spread = var(x, {.over = 1, .ddof = 1});
  eval(sums, means, both, none, soft, running, kept, spread);
  EXPECT_TRUE(equals(sums, host_array(f32, {4, 3})));
  EXPECT_TRUE(equals(means, host_array(std::vector<float>(12, not_a_number), {4, 3})));
  EXPECT_TRUE(equals(spread, host_array(std::vector<float>(12, not_a_number), {4, 3})));
  EXPECT_TRUE(equals(both(2), std::vector<float>{1, 2, 3}));
  EXPECT_EQ(to_string(none.extents()), "[0, 3]");
  EXPECT_EQ(to_string(soft.extents()), "[4, 0, 3]");
  EXPECT_EQ(to_string(running.extents()), "[4, 0, 3]");
  EXPECT_TRUE(equals(kept, booleans({1, 1, 1}, {1, 1, 3})));
  EXPECT_EQ(sum(max(x, 0)).item<float>(), 0.f);
  EXPECT_TRUE(throws<shape_error>([&] { max(x, 1); }, {"peer_reduction_test.cpp", "[4, 0, 3]"}));
  EXPECT_TRUE(throws<shape_error>([&] { argmax(x); }, {"peer_reduction_test.cpp"}));
}

/// Launches of one operation, and operations evaluated as they are recorded, while it lives.
class smallest_limits {
 public:
  smallest_limits() : before_(get_fusion_limits()), recording_({.operations = 1, .bytes = 1}) {
    set_fusion_limits({.operations = 1, .inputs = 1});
  }
  ~smallest_limits() { set_fusion_limits(before_); }
  smallest_limits(const smallest_limits&) = delete;
  smallest_limits& operator=(const smallest_limits&) = delete;

 private:
  fusion_limits before_;
  recording recording_;
};

// arrayfire#3065: endless recursion, found by shrinking the limits.
TEST(peer_reduction, every_limit_at_its_minimum_gives_the_same_results) {
  const auto results = [] {
    const array x = eighths({9, 70}, 8).to_device() * 2 + 1;
    std::vector<array> list{(x - mean(x, 1, keepdims)) / stddev(x, 1, keepdims), sum(transpose(x) * x(all, 0), 1),
                            max(cumsum(x, 1) - sum(x, 0), 0), x(argmax(x, 0) % 9, all), var(max(x, 1))};
    for (const auto& [name, f] : along_rows) list.push_back(f(x * 0.25f) + 1);
    return list;
  };
  const std::vector<array> want = results();
  eval_all(want);
  const smallest_limits limits;
  const std::vector<array> got = results();
  for (std::size_t k = 0; k < want.size(); ++k)
    EXPECT_TRUE(equals(got[k], from_device(want[k]), {2e-5, 1e-5, false})) << k;
}

// arrayfire#2084: more parameters than a launch has, in what is reduced.
TEST(peer_reduction, reductions_of_more_arrays_than_a_launch_has_parameters) {
  std::vector<array> rows;
  for (std::int32_t k = 0; k < 1025; ++k) rows.push_back(array{k, -k, 1025 - k});
  for (const std::size_t count : {1, 63, 64, 65, 127, 128, 129, 512, 1025}) {
    const array x = stack(std::span<const array>(rows.data(), count));
    const array sums = sum(x, 0), most = max(x * 2, 0), at = argmin(x, 0), running = cumsum(x, 0);
    eval(sums, most, at, running);
    const auto n = static_cast<std::int64_t>(count), total = n * (n - 1) / 2;
    EXPECT_TRUE(equals(sums, std::vector<std::int64_t>{total, -total, 1025 * n - total})) << count;
    EXPECT_TRUE(equals(most, std::vector<std::int32_t>{static_cast<std::int32_t>(2 * n - 2), 0, 2050})) << count;
    EXPECT_TRUE(equals(at, std::vector<std::int64_t>{0, n - 1, n - 1})) << count;
    EXPECT_EQ(running(n / 2, 0).item<std::int64_t>(), (n / 2) * (n / 2 + 1) / 2) << count;
  }
}

// arrayfire#2478, mitsuba3#433: memory that grew with every turn, errors in between.
TEST(peer_reduction, three_hundred_turns_leave_no_bytes_behind) {
  const std::uint64_t start = stats().bytes_in_use;
  {
    array x = eighths({30, 40}, 9, f64).to_device(), total = zeros({30}, f64);
    eval(x, total);
    const std::uint64_t inside = stats().bytes_in_use;
    double want = 0;
    for (int k = 0; k < 300; ++k) {
      x = x - mean(x, 1, keepdims) + 1;
      total += sum(x, 1);
      want += 40;
      if (k % 7 == 0) eval(x, total);
      if (k % 50 == 0) {
        EXPECT_THROW(max(x(range(0, 0)), 0), shape_error);
        EXPECT_THROW(sum(x, 2), shape_error);
        const array dropped = cumsum(softmax(x), 1);
      }
    }
    eval(x, total);
    EXPECT_EQ(stats().bytes_in_use, inside);
    EXPECT_NEAR(total(17).item<double>(), want, 1e-8);
  }
  EXPECT_EQ(stats().bytes_in_use, start);
}

// bohrium: the product of a sum of products was an array of its own; arrayfire#1709.
TEST(peer_reduction, what_is_reduced_is_never_in_memory) {
  const std::int64_t n = executor == "interpreter" ? 1000 : 5000;
  const array x = ramp(n), y = ramp(n) * 2;
  eval(x, y);
  const std::uint64_t before = stats().peak_bytes;
  // Room for what was the peak so far, so that more than that shows.
  array filler = full({static_cast<std::int64_t>(before - stats().bytes_in_use)}, 0, u8);
  eval(filler);
  const array distances = sum(abs(x(all, newaxis) - y), 1), close = argmin(abs(x(all, newaxis) - y), 1),
              least = min(square(x(all, newaxis) - y));
  eval(distances, close, least);
  EXPECT_LE(stats().peak_bytes - before, static_cast<std::uint64_t>(n) * 64);
  EXPECT_EQ(close(10).item<std::int64_t>(), 5);
  EXPECT_EQ(close(7).item<std::int64_t>(), 3);
  EXPECT_EQ(least.item<float>(), 0.f);
  EXPECT_EQ(distances(0).item<float>(), static_cast<float>(n * (n - 1)));
}

}  // namespace
