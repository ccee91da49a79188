// What users of other lazy array libraries reported about kernels that are too big, parameters that are too many, and
// sizes past a limit; each a test named after its symptom.
#include "tests/backend/expect.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

using namespace sinter;
using namespace sinter_test;

namespace {

const range backwards(end, begin, -1);

/// Launches of one operation while it lives.
class smallest_launches {
 public:
  smallest_launches() : before_(get_fusion_limits()) { set_fusion_limits({.operations = 1, .inputs = 1}); }
  ~smallest_launches() { set_fusion_limits(before_); }
  smallest_launches(const smallest_launches&) = delete;
  smallest_launches& operator=(const smallest_launches&) = delete;

 private:
  fusion_limits before_;
};

array ramp(std::int64_t n, dtype type = f32) { return counting(type, {n}).to_device(); }

const std::size_t counts[] = {1, 50, 63, 64, 500, 511, 512, 513, 4094, 4095, 4096, 4097, 10'000};

/// Term k is [k, 2k, -k].
std::vector<array> terms(std::size_t count) {
  std::vector<array> list;
  for (std::size_t k = 0; k < count; ++k) {
    const auto n = static_cast<std::int32_t>(k);
    list.push_back(array(std::vector<std::int32_t>{n, 2 * n, -n}));
  }
  return list;
}

// arrayfire#2084: more than 4096 bytes of parameters.
TEST(peer_limit, sums_of_more_arrays_than_a_launch_has_parameters) {
  const std::vector<array> all_terms = terms(10'000);
  for (const std::size_t count : counts) {
    array total = zeros({3}, i32);
    for (std::size_t k = 0; k < count; ++k) total += all_terms[k];
    EXPECT_LE(counted([&] { eval(total); }).launches, 2 + count / 32) << count;
    const auto want = static_cast<std::int32_t>(count * (count - 1) / 2);
    EXPECT_TRUE(equals(total, std::vector<std::int32_t>{want, 2 * want, -want})) << count;
  }
}

TEST(peer_limit, joins_of_more_arrays_than_a_launch_has_parameters) {
  const std::vector<array> all_terms = terms(10'000);
  for (const std::size_t count : counts) {
    const std::span<const array> some(all_terms.data(), count);
    const array joined = concat(some) * 2, stacked = stack(some, 1) + 1;
    EXPECT_LE(counted([&] { eval(joined, stacked); }).launches, 4 + count / 16) << count;
    host_array want(i32, {static_cast<std::int64_t>(count) * 3}),
        want_stacked(i32, {3, static_cast<std::int64_t>(count)});
    for (std::int64_t k = 0; k < static_cast<std::int64_t>(count); ++k)
      for (const auto& [c, factor] : {std::pair{0, 1}, {1, 2}, {2, -1}}) {
        want.set(3 * k + c, {static_cast<long double>(2 * factor * k), 0});
        want_stacked.set(c * static_cast<std::int64_t>(count) + k, {static_cast<long double>(factor * k + 1), 0});
      }
    EXPECT_TRUE(equals(joined, want)) << count;
    EXPECT_TRUE(equals(stacked, want_stacked)) << count;
  }
}

TEST(peer_limit, rows_written_from_more_arrays_than_a_launch_has_parameters) {
  const std::size_t count = 1000;
  const std::vector<array> all_terms = terms(count);
  array rows = zeros({static_cast<std::int64_t>(count), 3}, i32),
        places = zeros({static_cast<std::int64_t>(count)}, i32);
  for (std::size_t k = 0; k < count; ++k) {
    rows(k) = all_terms[k];
    places(all_terms[k](range(0, 1))) += all_terms[k](1);
  }
  eval(rows, places);
  host_array want(i32, {static_cast<std::int64_t>(count), 3}), want_places(i32, {static_cast<std::int64_t>(count)});
  for (std::int64_t k = 0; k < static_cast<std::int64_t>(count); ++k) {
    want_places.set(k, {static_cast<long double>(2 * k), 0});
    for (const auto& [c, factor] : {std::pair{0, 1}, {1, 2}, {2, -1}})
      want.set(3 * k + c, {static_cast<long double>(factor * k), 0});
  }
  EXPECT_TRUE(equals(rows, want));
  EXPECT_TRUE(equals(places, want_places));
}

// arrayfire#2436, #2527: an image that the driver refused.
TEST(peer_limit, an_irregular_expression_of_five_thousand_operations) {
  array x = ramp(20, f64);
  std::vector<double> want(20);
  for (std::size_t k = 0; k < 20; ++k) want[k] = static_cast<double>(k);
  lcg numbers(31);
  for (int k = 0; k < 5000; ++k) {
    const std::uint64_t which = numbers.below(5);
    const double c = static_cast<double>(numbers.below(1000)) / 1000;
    if (which == 0) x = x * c;
    if (which == 1) x = abs(x) - c;
    if (which == 2) x = minimum(x, c);
    if (which == 3) x = maximum(x, -c);
    if (which == 4) x = x(backwards) * 0.5;
    std::vector<double> next = want;
    for (std::size_t p = 0; p < 20; ++p) {
      if (which == 0) next[p] = want[p] * c;
      if (which == 1) next[p] = std::abs(want[p]) - c;
      if (which == 2) next[p] = std::min(want[p], c);
      if (which == 3) next[p] = std::max(want[p], -c);
      if (which == 4) next[p] = want[19 - p] * 0.5;
    }
    want = next;
  }
  EXPECT_TRUE(equals(x, want, {1e-12, 1e-12, false}));
}

// arrayfire#2389, #2484: each fits, both together don't.
TEST(peer_limit, two_trees_of_sixty_inputs_meet_and_are_results_themselves) {
  for (const bool are_results : {false, true}) {
    const std::vector<array> leaves = terms(120);
    const auto tree = [&](std::size_t first) {
      std::vector<array> level(leaves.begin() + static_cast<std::ptrdiff_t>(first),
                               leaves.begin() + static_cast<std::ptrdiff_t>(first + 60));
      while (level.size() > 1) {
        std::vector<array> next;
        for (std::size_t k = 0; k + 1 < level.size(); k += 2) next.push_back(level[k] + level[k + 1]);
        if (level.size() % 2 != 0) next.push_back(level.back());
        level = next;
      }
      return level[0];
    };
    const array left = tree(0), right = tree(60);
    array both = left * right;
    both(0) = left(1) - right(2);
    if (are_results) eval(left, right, both);
    else eval(both);
    const std::int32_t l = 59 * 60 / 2, r = l + 3600;
    EXPECT_TRUE(equals(both, std::vector<std::int32_t>{2 * l + r, 4 * l * r, l * r}));
    EXPECT_TRUE(equals(left, std::vector<std::int32_t>{l, 2 * l, -l}));
    EXPECT_TRUE(equals(right, std::vector<std::int32_t>{r, 2 * r, -r}));
  }
}

// arrayfire#1646, #2281, #373, #1942; bohrium#338: failed after about 99 steps.
TEST(peer_limit, a_thousand_steps_of_sums_rows_and_reductions) {
  const array a = counting(i64, {8, 4}).to_device(), y = counting(i64, {3, 8}).to_device();
  array t = zeros({8}, i64), u = t, x = t;
  std::int64_t want_t[8] = {}, want_u[8] = {}, want_x[8] = {};
  for (int k = 0; k < 1000; ++k) {
    t += sum(a, 1);
    u += t;
    x += y(k % 3, all);
    x(range(0, 4)) -= u(range(4, end));
    for (std::int64_t p = 0; p < 8; ++p) {
      want_t[p] += 16 * p + 6;
      want_u[p] += want_t[p];
      want_x[p] += k % 3 * 8 + p;
    }
    for (std::int64_t p = 0; p < 4; ++p) want_x[p] -= want_u[p + 4];
  }
  eval(t, u, x);
  EXPECT_TRUE(equals(t, std::vector<std::int64_t>(want_t, want_t + 8)));
  EXPECT_TRUE(equals(u, std::vector<std::int64_t>(want_u, want_u + 8)));
  EXPECT_TRUE(equals(x, std::vector<std::int64_t>(want_x, want_x + 8)));
}

TEST(peer_limit, a_random_graph_of_a_thousand_inputs) {
  lcg numbers(17);
  std::vector<array> nodes = terms(1000);
  std::vector<std::vector<std::int32_t>> want;
  for (std::int32_t k = 0; k < 1000; ++k) want.push_back({k, 2 * k, -k});
  for (int k = 0; k < 1500; ++k) {
    const auto i = static_cast<std::size_t>(numbers.below(nodes.size())),
               j = static_cast<std::size_t>(numbers.below(nodes.size()));
    array next = nodes[i] ^ nodes[j];
    std::vector<std::int32_t> w(3);
    for (std::size_t c = 0; c < 3; ++c) w[c] = want[i][c] ^ want[j][c];
    if (k % 4 == 0) {
      next(range(0, 2)) = nodes[i](range(1, 3));
      w[0] = want[i][1];
      w[1] = want[i][2];
    }
    nodes.push_back(next);
    want.push_back(w);
  }
  eval_all(nodes);
  for (std::size_t k = 0; k < nodes.size(); ++k) ASSERT_TRUE(equals(nodes[k], want[k])) << k;
}

// arrayfire#1702, #1760: grids past 65535; a reshape and a tile.
TEST(peer_limit, long_thin_arrays_are_written_joined_and_tiled) {
  for (const shape& s : {shape{1, 70'000, 3}, shape{70'000, 1, 1}, shape{3, 1, 70'000}}) {
    array a = counting(i32, s).to_device();
    a(ellipsis, backwards) += a;
    a(0, 0, 0) = -5;
    const array i = array(scalar(s[0] - 1)), tiled = tile(reshape(a, {-1}), {2}), both = concat({a, a}, 2);
    a(i, 0, 0) += 1;
    eval(a, tiled, both);
    const std::int64_t n = s[2];
    const auto element = [&](std::int64_t k) {
      return k == 0 ? -5.0L : static_cast<long double>(k + (k / n * n + (n - 1 - k % n)));
    };
    host_array want(i32, s), want_tiled(i32, {2 * s.size()});
    for (std::int64_t k = 0; k < s.size(); ++k) {
      want.set(k, {element(k) + (k == (s[0] - 1) * s[1] * s[2] ? 1 : 0), 0});
      want_tiled.set(k, {element(k), 0});
      want_tiled.set(k + s.size(), {element(k), 0});
    }
    EXPECT_TRUE(equals(a, want)) << to_string(s);
    EXPECT_TRUE(equals(tiled, want_tiled)) << to_string(s);
    EXPECT_EQ(both.extent(2), 2 * n);
    EXPECT_EQ(both(-1, -1, -1).item<std::int32_t>(), static_cast<std::int32_t>(element(s.size() - 1)));
  }
}

// arrayfire#2608: an endless loop under memory pressure.
TEST(peer_limit, a_byte_limit_below_what_lives_only_costs_launches) {
  const recording tiny({.operations = 8192, .bytes = 1});
  array x = ramp(1000, i64), y = ramp(1000, i64) + 1;
  std::vector<std::int64_t> want_x(1000), want_y(1000);
  for (std::size_t k = 0; k < 1000; ++k) want_y[k] = (want_x[k] = static_cast<std::int64_t>(k)) + 1;
  for (int k = 0; k < 50; ++k) {
    x = x + y;
    y(range(0, 500)) = x(range(500, end)) - x(range(0, 500));
    for (std::size_t p = 0; p < 1000; ++p) want_x[p] += want_y[p];
    for (std::size_t p = 0; p < 500; ++p) want_y[p] = want_x[p + 500] - want_x[p];
  }
  EXPECT_TRUE(equals(x, want_x));
  EXPECT_TRUE(equals(y, want_y));
}

// arrayfire#3065: endless recursion, found by shrinking the limits.
TEST(peer_limit, every_limit_at_its_minimum_gives_the_same_results) {
  const auto results = [] {
    array a = counting(i32, {6, 5}).to_device();
    a(range(1, end)) += a(range(begin, -1));
    a(array{0, 0, 3}, 2) -= 7;
    a(a % 3 == 0) = -1;
    const array c = concat({a, transpose(a)(range(2, 4), range(0, 5))}), p = pad(a, 2, pad_mode::reflect);
    a(all, -1) = sum(c, 1)(range(0, 6));
    return std::vector<array>{a, c, p, roll(c, 3, 0) * 2, bincount(abs(a) % 5, 5)};
  };
  const std::vector<array> want = results();
  eval_all(want);
  const smallest_launches launches;
  const recording smallest({.operations = 1, .bytes = 1});
  const std::vector<array> got = results();
  for (std::size_t k = 0; k < want.size(); ++k) EXPECT_TRUE(equals(got[k], from_device(want[k]))) << k;
}

// mlx#3201, #2607, #4460: the shape of the first call.
TEST(peer_limit, one_program_called_with_many_sizes) {
  for (const std::int64_t n : {1, 2, 127, 128, 0, 1, 129, 2}) {
    array a = ramp(n, i64);
    a(range(1, end)) += a(range(begin, -1));
    const array twice = concat({a, a(backwards)}), total = sum(twice), places = bincount(a % 3, 3);
    eval(twice, total, places);
    std::int64_t want = 0;
    for (std::int64_t k = 0; k < n; ++k) want += k == 0 ? 0 : 4 * k - 2;
    EXPECT_EQ(total.item<std::int64_t>(), want) << n;
    EXPECT_EQ(sum(places).item<std::int64_t>(), n);
    EXPECT_EQ(twice.size(), 2 * n);
  }
}

// mlx#2600, mlxcel#818, #821: many distinct kernels ended the process.
TEST(peer_limit, a_thousand_distinct_kernels) {
  const unsigned count = executor == "interpreter" ? 1024 : 40;
  const array x = ramp(16, i64);
  for (unsigned bits = 0; bits < count; ++bits) {
    array y = x;
    for (unsigned k = 0; k < 10; ++k) {
      if ((bits >> k & 1u) != 0) y = y * 3;
      else y = y + 1;
    }
    std::int64_t want = 15;
    for (unsigned k = 0; k < 10; ++k) want = (bits >> k & 1u) != 0 ? want * 3 : want + 1;
    ASSERT_EQ(y(-1).item<std::int64_t>(), want) << bits;
  }
}

// arrayfire#2127, #3468: chains were evaluated too often.
TEST(peer_limit, a_chain_of_sixty_operations_is_one_launch_and_explain_says_so) {
  array x = ramp(1000);
  for (int k = 0; k < 30; ++k) x = x * 0.5f + 3.f;
  x(range(1, -1)) += 1;
  EXPECT_NE(explain(x).find("1 launch(es)"), std::string::npos) << explain(x);
  EXPECT_EQ(counted([&] { eval(x); }).launches, 1u);
  EXPECT_NEAR(x(5).item<float>(), 7.f, 1e-5f);
}

TEST(peer_limit, a_chain_near_the_byte_limit_is_still_one_launch) {
  const std::int64_t n = 10'000;
  const recording nearly_full({.operations = 8192, .bytes = 4 * n * 5 / 4});  // the source takes 80 %
  array x = ramp(n);
  const statistics added = counted([&] {
    for (int k = 0; k < 30; ++k) x = x * 0.5f + 3.f;
    eval(x);
  });
  EXPECT_EQ(added.launches, 1u);
  EXPECT_NEAR(x(5).item<float>(), 6.f, 1e-5f);
}

// cupy#7098: some functions could not be fused.
TEST(peer_limit, joins_pads_and_writes_fuse_into_a_chain) {
  using step = array (*)(const array&);
  const step steps[] = {[](const array& x) {
                          return concat({x(range(1, end)), x(range(0, 1))});
                        },
                        [](const array& x) {
                          return stack({x, -x})(1);
                        },
                        [](const array& x) {
                          return hstack({x(range(4, end)), x(range(0, 4))});
                        },
                        [](const array& x) {
                          return vstack({x, x})(0);
                        },
                        [](const array& x) {
                          return dstack({x, x})(0, all, 1);
                        },
                        [](const array& x) { return pad(x, 2, pad_mode::constant, 7)(range(1, 9)); },
                        [](const array& x) { return pad(x, 2, pad_mode::edge)(range(1, 9)); },
                        [](const array& x) { return pad(x, 2, pad_mode::reflect)(range(1, 9)); },
                        [](const array& x) { return pad(x, 2, pad_mode::symmetric)(range(1, 9)); },
                        [](const array& x) { return pad(x, 2, pad_mode::wrap)(range(1, 9)); },
                        [](const array& x) { return roll(x, 3, 0); },
                        [](const array& x) { return tile(x, {2})(range(4, 12)); },
                        [](const array& x) { return repeat(x, 2, 0)(range(0, 8)); },
                        [](const array& x) -> array {
                          return split(x, 2)[1](array{0, 1, 2, 3, 3, 2, 1, 0});
                        },
                        [](const array& x) {
                          array y = x;
                          y(range(2, 5)) = 1;
                          return y;
                        },
                        [](const array& x) {
                          array y = x;
                          y(range(begin, end, 2)) += y(range(1, end, 2));
                          return y;
                        }};
  const array x = ramp(8);
  int k = 0;
  for (const step& s : steps) {
    const array y = s(x * 0.5f + 1) * 2 - 1;
    EXPECT_EQ(counted([&] { eval(y); }).launches, 1u) << "step " << k;
    const array pieces = from_device(s(from_device(x * 0.5f + 1).to_device())).to_device();
    EXPECT_TRUE(equals(y, from_device(pieces * 2 - 1))) << "step " << k;
    ++k;
  }
}

// mlx#460, #566, #2681, #3248, #3327; arrayfire#3571; drjit-core pull request 33: past 2^31 elements.
TEST(peer_limit, arrays_of_more_than_two_to_the_31_elements_are_written_joined_and_reduced) {
  if (executor != "cuda") GTEST_SKIP() << "2^31 elements take the host too long";
  const std::int64_t n = (std::int64_t{1} << 31) + 7;
  array a = full({n}, 1, u8);
  a(range(end, begin, -2)) = 2;  // every second from the last: n is odd, so the even places
  a(array{n - 1, n - 2, std::int64_t{1} << 31, std::int64_t{0}}) += 100;
  a(n - 3) = 77;
  EXPECT_TRUE(equals(a(range(n - 8, n)), std::vector<std::uint8_t>{1, 102, 1, 2, 1, 77, 101, 102}));
  EXPECT_TRUE(equals(a(range(0, 3)), std::vector<std::uint8_t>{102, 1, 2}));
  EXPECT_EQ(sum(a(range(n - 1000, n)).astype(i64)).item<std::int64_t>(), 500 + 1000 + 300 + 75);
  const array joined = concat({a(range(1, end)), a(range(0, 9))});
  EXPECT_TRUE(equals(joined(range(n - 4, n + 2)), std::vector<std::uint8_t>{77, 101, 102, 102, 1, 2}));
  array shifted = a;
  shifted(range(1, end)) = a(range(begin, -1));
  EXPECT_TRUE(equals(shifted(range(n - 3, n)), std::vector<std::uint8_t>{1, 77, 101}));
}

TEST(peer_limit, sizes_around_powers_of_two_are_filled_and_counted) {
  if (executor != "cuda") GTEST_SKIP() << "2^31 elements take the host too long";
  const std::int64_t two_31 = std::int64_t{1} << 31;
  for (const std::int64_t n : {two_31 / 2, two_31 - 1, two_31, two_31 + 1, 2 * two_31, 2 * two_31 + 1}) {
    array a = zeros({n}, u8);
    a(range(begin, end, two_31 / 4)) = 1;
    a(-1) += 2;
    const std::int64_t ones = (n + two_31 / 4 - 1) / (two_31 / 4);
    EXPECT_EQ(sum(a(range(begin, end, two_31 / 4))).item<std::uint64_t>(),
              static_cast<std::uint64_t>(ones + ((n - 1) % (two_31 / 4) == 0 ? 2 : 0)))
        << n;
    EXPECT_EQ(a(-1).item<std::uint8_t>(), (n - 1) % (two_31 / 4) == 0 ? 3 : 2) << n;
    EXPECT_EQ(a(n - 2).item<std::uint8_t>(), (n - 2) % (two_31 / 4) == 0 ? 1 : 0) << n;
  }
}

// drjit-core#192: a hash of offsets that was wrong past 2^28.
TEST(peer_limit, additions_at_places_past_two_to_the_28) {
  if (executor != "cuda") GTEST_SKIP() << "2^28 elements take the host too long";
  const std::int64_t n = (std::int64_t{1} << 28) + 100;
  array a = zeros({n}, u16);
  a(n - 1 - arange(100'000) % 50) += 1;
  EXPECT_TRUE(equals(a(range(n - 51, n - 48)), std::vector<std::uint16_t>{0, 2000, 2000}));
}

}  // namespace
