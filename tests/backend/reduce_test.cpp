// Reductions against loops over the same elements on the host: every dtype, any axes, any layout.
#include "tests/backend/plain_reduce.hpp"

using namespace sinter;
using namespace sinter_test;

namespace {

/// An array made at random, some axes of it, and the same elements on the device in one of the layouts.
struct subject {
  host_array x;
  std::uint32_t bits = 0;
  axes over;
  array on_device;
  std::string name;
};

using maker = host_array (*)(dtype, const shape&, std::uint32_t);

subject subject_of(dtype type, std::uint32_t seed, maker make) {
  lcg g(seed * 15u + static_cast<std::uint32_t>(type));
  subject s;
  const shape extents = random_shape(g);
  s.x = make(type, extents, g.next());
  s.bits = static_cast<std::uint32_t>(g.below(std::uint64_t{1} << extents.rank()));
  if (g.below(3) == 0) s.bits = (std::uint32_t{1} << extents.rank()) - 1;
  s.over = listed_axes(s.bits, extents.rank(), g);
  const layout way = all_layouts[g.below(std::size(all_layouts))];
  s.on_device = laid_out(s.x, way, 0);
  s.name = std::string(to_string(type)) + to_string(extents) + ", axes " + std::to_string(s.bits) + ", " +
           sinter_test::to_string(way) + ", seed " + std::to_string(seed);
  return s;
}

template <class F>
void for_subjects(std::uint32_t count, maker make, F&& f) {
  for (const dtype type : every_type)
    for (std::uint32_t seed = 1; seed <= rounds(count); ++seed) f(subject_of(type, seed, make));
}

host_array with_kept_axes(const host_array& reduced, const subject& s) {
  return reshaped(reduced, groups_of(s.x.extents, s.bits).kept);
}

// ---- Exact results ----

TEST(reductions, sums_of_every_dtype) {
  for_subjects(64, small_numbers, [](const subject& s) {
    const dtype type = wide_type(s.x.type);
    const host_array want = reduced_by(s.x, s.bits, type, [&](const auto& v) { return rounded_value(total(v), type); });
    const array got = sum(s.on_device, s.over);
    EXPECT_EQ(got.type(), type) << s.name;
    EXPECT_TRUE(equals(got, want)) << s.name;
    if (executor != "interpreter") return;
    EXPECT_TRUE(equals(sum(s.on_device, s.over, keepdims), with_kept_axes(want, s))) << s.name;
  });
}

TEST(reductions, products_of_every_dtype) {
  for_subjects(48, small_factors, [](const subject& s) {
    if (groups_of(s.x.extents, s.bits).extents.size() * 40 < s.x.size()) return;  // others leave their range
    const dtype type = wide_type(s.x.type);
    const host_array want =
        reduced_by(s.x, s.bits, type, [&](const auto& v) { return rounded_value(product(v), type); });
    EXPECT_TRUE(equals(prod(s.on_device, s.over), want)) << s.name;
    EXPECT_TRUE(equals(prod(s.on_device, s.over, keepdims), with_kept_axes(want, s))) << s.name;
  });
}

TEST(reductions, truth_and_counts_of_every_dtype) {
  for_subjects(32, small_numbers, [](const subject& s) {
    const auto count = [](const auto& v) {
      return value{static_cast<long double>(std::count_if(v.begin(), v.end(), is_true)), 0};
    };
    const auto some = [](const auto& v) { return value{std::any_of(v.begin(), v.end(), is_true) ? 1.0L : 0, 0}; };
    const auto every = [](const auto& v) { return value{std::all_of(v.begin(), v.end(), is_true) ? 1.0L : 0, 0}; };
    const array number = count_nonzero(s.on_device, s.over), any = any_true(s.on_device, s.over),
                whole = all_true(s.on_device, s.over);
    eval(number, any, whole);
    EXPECT_TRUE(equals(number, reduced_by(s.x, s.bits, i64, count))) << s.name;
    EXPECT_TRUE(equals(any, reduced_by(s.x, s.bits, boolean, some))) << s.name;
    EXPECT_TRUE(equals(whole, reduced_by(s.x, s.bits, boolean, every))) << s.name;
  });
}

/// Small numbers, and NaN among those of reals.
host_array with_nan(dtype type, const shape& extents, std::uint32_t seed) {
  host_array out = small_numbers(type, extents, seed);
  lcg g(seed + 1);
  for (std::int64_t k = 0; k < out.size(); ++k)
    if (is_real(type) && g.below(9) == 0) out.set(k, {std::numeric_limits<long double>::quiet_NaN(), 0});
  return out;
}

TEST(reductions, extremes_of_every_dtype_with_ties_and_nan) {
  for (const maker make : {small_numbers, with_nan})
    for_subjects(48, make, [](const subject& s) {
      if (is_complex(s.x.type) || leaves_nothing(s.x.extents, s.bits)) return;
      const array low = min(s.on_device, s.over), high = max(s.on_device, s.over);
      eval(low, high);
      EXPECT_EQ(low.type(), s.x.type) << s.name;
      EXPECT_TRUE(equals(low, reduced_by(s.x, s.bits, s.x.type, least))) << s.name;
      EXPECT_TRUE(equals(high, reduced_by(s.x, s.bits, s.x.type, greatest))) << s.name;
    });
}

TEST(reductions, extremes_at_the_limits_of_every_dtype) {
  for (const dtype type : every_type) {
    if (is_complex(type) || type == boolean) continue;
    const host_array x = samples(type, 20);
    const array y = reshape(x.to_device(), {-1});
    const host_array flat = reshaped(x, {x.size()});
    EXPECT_TRUE(equals(max(y), reduced_by(flat, 1, type, greatest))) << to_string(type);
    EXPECT_TRUE(equals(min(y), reduced_by(flat, 1, type, least))) << to_string(type);
    host_array finite = flat;
    for (std::int64_t k = 0; k < finite.size(); ++k)
      if (is_nan(finite.get(k))) finite.set(k, {0, 0});
    EXPECT_TRUE(equals(max(finite.to_device()), reduced_by(finite, 1, type, greatest))) << to_string(type);
    EXPECT_TRUE(equals(min(finite.to_device()), reduced_by(finite, 1, type, least))) << to_string(type);
  }
}

TEST(reductions, positions_of_extremes_are_the_first) {
  for (const maker make : {small_numbers, with_nan})
    for_subjects(40, make, [](const subject& s) {
      if (is_complex(s.x.type) || s.x.size() == 0) return;
      const auto first_least = [](const auto& v) { return value{static_cast<long double>(place_of_extreme(v, 1)), 0}; };
      const auto first_greatest = [](const auto& v) {
        return value{static_cast<long double>(place_of_extreme(v, -1)), 0};
      };
      for (int axis = 0; axis < s.x.extents.rank(); ++axis) {
        const std::uint32_t bit = std::uint32_t{1} << axis;
        EXPECT_TRUE(equals(argmin(s.on_device, axis), reduced_by(s.x, bit, i64, first_least))) << s.name << axis;
        EXPECT_TRUE(equals(argmax(s.on_device, axis), reduced_by(s.x, bit, i64, first_greatest))) << s.name << axis;
      }
      const std::uint32_t every = (std::uint32_t{1} << s.x.extents.rank()) - 1;
      EXPECT_TRUE(equals(argmin(s.on_device), reduced_by(s.x, every, i64, first_least))) << s.name;
      EXPECT_TRUE(equals(argmax(s.on_device), reduced_by(s.x, every, i64, first_greatest))) << s.name;
    });
}

TEST(reductions, positions_in_long_arrays) {
  host_array x(f32, {300007});
  for (const std::int64_t at : {std::int64_t{0}, std::int64_t{1}, std::int64_t{4097}, x.size() - 1}) {
    x.set(at, {2, 0});
    x.set(x.size() / 2 + at / 2, {2, 0});  // an equal one behind it, or itself
    EXPECT_EQ(argmax(x.to_device()).item<std::int64_t>(), at);
    EXPECT_EQ(argmin(x.to_device() * -1).item<std::int64_t>(), at);
    x = host_array(f32, {300007});
  }
  EXPECT_EQ(argmax(x.to_device()).item<std::int64_t>(), 0);
}

TEST(reductions, integers_wrap) {
  host_array x(i64, {5}), y(u64, {3});
  for (std::int64_t k = 0; k < 5; ++k) x.set(k, {0x1p62L, 0});
  for (std::int64_t k = 0; k < 3; ++k) y.set(k, {0x1.8p63L, 0});
  EXPECT_EQ(sum(x.to_device()).item<std::int64_t>(), std::int64_t{1} << 62);
  EXPECT_EQ(prod(x.to_device()).item<std::int64_t>(), 0);
  EXPECT_EQ(sum(y.to_device()).item<std::uint64_t>(), std::uint64_t{1} << 62);
  EXPECT_EQ(sum(x.to_device(), {.type = i32}).item<std::int32_t>(), 0);
}

// ---- Rounded results ----

TEST(reductions, means_of_every_dtype) {
  for_subjects(40, small_numbers, [](const subject& s) {
    const array got = mean(s.on_device, s.over);
    EXPECT_EQ(got.type(), inexact_type(s.x.type)) << s.name;
    EXPECT_EQ(beyond_ulps(got, s.x, s.bits, 1, average_of), "") << s.name;
  });
}

double step_of(dtype type) {
  switch (type) {
    case f16:
      return 0x1p-10;
    case bf16:
      return 0x1p-7;
    case f32:
      return 0x1p-23;
    default:
      return 0x1p-52;
  }
}

TEST(reductions, variances_of_every_dtype) {
  for_subjects(40, small_numbers, [](const subject& s) {
    const dtype type = real_type(s.x.type);
    // Where means of parts are merged in f64, their rounding (of numbers up to 40) shows in small variances.
    const tolerance close{4 * step_of(type), type == f64 ? 40 * 40 * 4 * 0x1p-52 : 0, false};
    for (const int ddof : {0, 1}) {
      const array got = var(s.on_device, {.over = s.over, .ddof = ddof});
      const array deviation = stddev(s.on_device, {.over = s.over, .ddof = ddof});
      eval(got, deviation);
      EXPECT_EQ(got.type(), type) << s.name;
      const host_array want = reduced_by(s.x, s.bits, f64, [&](const auto& v) { return variance_of(v, ddof); });
      EXPECT_TRUE(equals(got, want, close)) << s.name << ", ddof " << ddof;
      host_array root = from_device(got.astype(f64));
      for (std::int64_t k = 0; k < root.size(); ++k) root.set(k, {std::sqrt(root.get(k).re), 0});
      EXPECT_TRUE(equals(deviation, root, {2 * step_of(type), 0, false})) << s.name << ", ddof " << ddof;
    }
  });
}

/// `center` and numbers within 1 of it.
host_array around(double center, std::int64_t n, dtype type) {
  host_array out(type, {n});
  lcg g(5);
  for (std::int64_t k = 0; k < n; ++k)
    out.set(k, rounded_value({center + static_cast<long double>(g.below(2048)) / 1024 - 1, 0}, type));
  return out;
}

// sum(x^2) - sum(x)^2 / n has no digit left of these.
TEST(reductions, variances_far_from_zero_keep_their_digits) {
  for (const std::int64_t n : {std::int64_t{33}, std::int64_t{5000}, std::int64_t{200001}}) {
    const host_array x = around(1e9, n, f64), y = around(1e4, n, f32);
    const tolerance close{1e-7, 0, false}, closer{1e-5, 0, false};
    const auto variance = [](const auto& v) { return variance_of(v); };
    EXPECT_TRUE(equals(var(x.to_device()), reduced_by(x, 1, f64, variance), close)) << n;
    EXPECT_TRUE(equals(var(y.to_device()), reduced_by(y, 1, f64, variance), closer)) << n;
    const array everything = ones({n}, boolean);
    EXPECT_TRUE(equals(var(x.to_device(), {.where = everything}), reduced_by(x, 1, f64, variance), close)) << n;
    EXPECT_TRUE(equals(var(y.to_device(), {.where = everything}), reduced_by(y, 1, f64, variance), closer)) << n;
  }
}

TEST(reductions, variances_with_nan_and_infinities_are_nan) {
  const array x = host_array(std::vector<float>{1, not_a_number, infinity, 2, 3, 4}, {3, 2}).to_device();
  const std::vector<float> want{not_a_number, not_a_number, 0.25f};
  EXPECT_TRUE(equals(var(x, 1), want));
  EXPECT_TRUE(equals(var(x.astype(f64), 1), host_array(std::vector<double>(want.begin(), want.end()))));
}

TEST(reductions, long_sums_are_accurate) {
  for (const std::int64_t n : {std::int64_t{1000}, std::int64_t{65537}, std::int64_t{1000003}}) {
    const array tenths = full({n}, 0.1f, f32);
    const long double want = static_cast<long double>(0.1f) * static_cast<long double>(n);
    EXPECT_LE(distance_in_ulps(sum(tenths * 1).item<float>(), want, f32), 1u) << n;
    EXPECT_LE(distance_in_ulps(mean(tenths * 1).item<float>(), 0.1f, f32), 1u) << n;
    const array doubles = full({n}, 0.1, f64);
    const long double wide = static_cast<long double>(0.1) * static_cast<long double>(n);
    EXPECT_LE(distance_in_ulps(sum(doubles * 1).item<double>(), wide, f64), 4u) << n;
  }
  // In f16 these would stop at 2048, where 1 is half of a step.
  EXPECT_EQ(sum(ones({3000}, f16) * 1).item<float>(), 3000);
  EXPECT_EQ(sum(ones({40, 512}, bf16) * 1, 1).to_vector<bfloat16>()[7], bfloat16(512.0f));
  // Past f16: each sum rounds to infinity, the mean does not.
  EXPECT_EQ(sum(full({3}, 60000, f16)).item<float>(), infinity);
  EXPECT_EQ(mean(full({3}, 60000, f16)).item<float>(), 60000);
}

TEST(reductions, large_numbers_that_cancel_in_f64_leave_the_small_ones) {
  std::vector<double> x{1e17};
  for (int k = 0; k < 1000; ++k) x.push_back(1);
  x.push_back(-1e17);
  EXPECT_EQ(sum(host_array(x).to_device()).item<double>(), 1000);
}

// ---- Options ----

TEST(reductions, masks_of_any_layout_choose_what_counts) {
  for (const dtype type : every_type)
    for (std::uint32_t seed = 1; seed <= rounds(40); ++seed) {
      const subject s = subject_of(type, seed, small_numbers);
      const host_array mask = random_mask(s.x.extents, 2, seed + 40);
      const array where = laid_out(mask, all_layouts[seed % std::size(all_layouts)], 1);
      host_array chosen = s.x;
      for (std::int64_t k = 0; k < chosen.size(); ++k)
        if (!is_true(mask.get(k))) chosen.set(k, {0, 0});
      const dtype wide = wide_type(type);
      const auto sums = [&](const auto& v) { return rounded_value(total(v), wide); };
      EXPECT_TRUE(equals(sum(s.on_device, {.over = s.over, .where = where}), reduced_by(chosen, s.bits, wide, sums)))
          << s.name;
      const host_array counts = reduced_by(mask, s.bits, i64, total), totals = reduced_by(chosen, s.bits, c128, total);
      const host_array got = from_device(mean(s.on_device, {.over = s.over, .where = where}));
      ASSERT_EQ(to_string(got.extents), to_string(totals.extents)) << s.name;
      for (std::int64_t k = 0; k < got.size(); ++k) {
        const value t = totals.get(k), m = got.get(k);
        const long double n = counts.get(k).re;
        EXPECT_LE(distance_in_ulps(m.re, t.re / n, real_type(got.type)), 1u) << s.name << ", element " << k;
      }
    }
}

TEST(reductions, masked_extremes_and_variances) {
  const host_array x = small_numbers(f32, {9, 40}, 3), mask = random_mask({9, 40}, 3, 4);
  const array a = x.to_device(), where = mask.to_device();
  host_array low = x, high = x;
  for (std::int64_t k = 0; k < x.size(); ++k)
    if (!is_true(mask.get(k))) low.set(k, {3, 0}), high.set(k, {-3, 0});
  EXPECT_TRUE(equals(min(a, {.over = 0, .where = where, .initial = 3}), reduced_by(low, 1, f32, [](auto v) {
                       v.push_back({3, 0});
                       return least(v);
                     })));
  EXPECT_TRUE(equals(max(a, {.over = 1, .where = where, .initial = -3}), reduced_by(high, 2, f32, [](auto v) {
                       v.push_back({-3, 0});
                       return greatest(v);
                     })));
  const array got = var(a, {.over = 1, .where = where, .ddof = 1});
  for (std::int64_t r = 0; r < 9; ++r) {
    std::vector<value> chosen;
    for (std::int64_t k = 40 * r; k < 40 * r + 40; ++k)
      if (is_true(mask.get(k))) chosen.push_back(x.get(k));
    EXPECT_LE(distance_in_ulps(got(r).item<float>(), variance_of(chosen, 1).re, f32), 4u) << r;
  }
}

TEST(reductions, without_nan) {
  for (const dtype type : real_types)
    for (std::uint32_t seed = 1; seed <= rounds(40); ++seed) {
      const subject s = subject_of(type, seed, with_nan);
      const auto rest = [](const std::vector<value>& v) {
        std::vector<value> out;
        std::copy_if(v.begin(), v.end(), std::back_inserter(out), [](const value& x) { return !is_nan(x); });
        return out;
      };
      const value nan{std::numeric_limits<long double>::quiet_NaN(), 0};
      const auto low = [&](const auto& v) { return rest(v).empty() ? nan : least(rest(v)); };
      const auto high = [&](const auto& v) { return rest(v).empty() ? nan : greatest(rest(v)); };
      EXPECT_TRUE(
          equals(nansum(s.on_device, s.over),
                 reduced_by(s.x, s.bits, type, [&](const auto& v) { return rounded_value(total(rest(v)), type); })))
          << s.name;
      EXPECT_EQ(beyond_ulps(nanmean(s.on_device, s.over), s.x, s.bits, 1,
                            [&](const auto& v) { return rest(v).empty() ? nan : average_of(rest(v)); }),
                "")
          << s.name;
      if (leaves_nothing(s.x.extents, s.bits)) continue;
      EXPECT_TRUE(equals(nanmin(s.on_device, s.over), reduced_by(s.x, s.bits, type, low))) << s.name;
      EXPECT_TRUE(equals(nanmax(s.on_device, s.over), reduced_by(s.x, s.bits, type, high))) << s.name;
    }
}

// ---- Index arithmetic ----

TEST(reductions, sixty_four_bit_index_arithmetic_changes_nothing) {
  const wide_indices forced;
  const host_array x = small_numbers(f32, {37, 210}, 6);
  EXPECT_TRUE(equals(sum(x.to_device(), 1), reduced_by(x, 2, f32, total)));
  EXPECT_TRUE(equals(sum(x.to_device(), 0), reduced_by(x, 1, f32, total)));
  EXPECT_TRUE(equals(max(x.to_device()), reduced_by(x, 3, f32, greatest)));
}

}  // namespace
