// Whole programs of reductions at a small size: softmax, means of rings, k-means, a smoothness cost. References: NumPy.
#include "tests/backend/expect.hpp"

using namespace sinter;
using namespace sinter_test;

namespace {

// ---- NPBench, deep_learning/softmax ----

host_array logits() { return lcg_reals(f32, {2, 4, 16, 16}, 421, 0, 1, 0xb685ec74); }

TEST(case_row_program, softmax_step_by_step) {
  run_matrix({.inputs = {logits()},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array e = exp(in[0] - max(in[0], -1, keepdims));
                return {e / sum(e, -1, keepdims)};
              },
              .outputs = {close_to("P10.r", f32, 4e-06, 1e-07)},
              .launches = 1,
              .independent_axis = 0,
              .retype = {{f32, f64}}});
}

TEST(case_row_program, softmax_by_name) {
  run_matrix({.inputs = {logits()},
              .body = [](const std::vector<array>& in) -> std::vector<array> { return {softmax(in[0])}; },
              .outputs = {close_to("P10.r", f32, 4e-06, 1e-07)},
              .launches = 1,
              .independent_axis = 1,
              .retype = {{f32, f64}}});
}

// Along the first axis of a transposed array: the same rows.
TEST(case_row_program, softmax_of_columns) {
  run_matrix({.inputs = {logits()},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array t = transpose(in[0], {3, 0, 1, 2}), e = exp(t - max(t, 0, keepdims));
                return {transpose(e / sum(e, 0, keepdims), {1, 2, 3, 0}), exp(log_softmax(in[0]))};
              },
              .outputs = {close_to("P10.r", f32, 4e-06, 1e-07), close_to("P10.r", f32, 4e-06, 1e-07)},
              .independent_axis = 2,
              .retype = {{f32, f64}}});
}

// ---- NPBench, azimint_naive: the mean of the points in each of 50 rings ----

constexpr std::int64_t rings = 50;

std::vector<host_array> points() {
  return {lcg_reals(f64, {5000}, 428, 0, 1, 0xbed8e9ee), lcg_reals(f64, {5000}, 429, 0, 1, 0x5b0a2660)};
}

/// Each point twice, in another order: the means stay.
std::vector<host_array> points_twice() {
  std::vector<std::int64_t> order;
  for (std::int64_t k = 0; k < 10'000; ++k) order.push_back(k * 7 % 5000);
  std::vector<host_array> out = points();
  for (host_array& x : out) x = picked(x, 0, order);
  return out;
}

/// Of twice as many points, too, of which a thread keeps twice as many: on cuda a kernel of its own.
void check_rings(matrix_case c) {
  run_matrix(c);
  c.inputs = points_twice();
  run_matrix(c);
}

TEST(case_row_program, ring_means_as_masked_reductions_of_one_plane) {
  check_rings({.inputs = points(),
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array data = in[0], r = in[1], furthest = max(r), ring = arange(rings)(all, newaxis);
                const array is_inside = furthest * ring / rings <= r && r < furthest * (ring + 1) / rings;
                return {sum(where(is_inside, data, 0), 1) / count_nonzero(is_inside, 1)};
              },
              .outputs = {close_to("P14.r", f64, 1e-10, 1e-10)},
              .launches_when_pending = false,
              .layouts = few_layouts});
}

TEST(case_row_program, ring_means_one_by_one) {
  const auto body = [](const std::vector<array>& in) -> std::vector<array> {
    const array data = in[0], r = in[1], furthest = max(r);
    std::vector<array> means;
    for (std::int64_t k = 0; k < rings; ++k)
      means.push_back(mean(data, {.where = furthest * k / rings <= r && r < furthest * (k + 1) / rings}));
    return {stack(means)};
  };
  check_rings({.inputs = points(),
              .body = body,
              .outputs = {close_to("P14.r", f64, 1e-10, 1e-10)},
              .layouts = few_layouts});
  // No more than one for each ring, one for the furthest point and one for the join.
  const array data = points()[0].to_device(), r = points()[1].to_device();
  EXPECT_LE(counted([&] { eval_all(body({data, r})); }).launches, static_cast<std::uint64_t>(rings) + 2);
}

TEST(case_row_program, ring_means_by_adding_at_the_ring_of_each_point) {
  check_rings({.inputs = points(),
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array data = in[0], r = in[1], furthest = max(r);
                array ring = floor(r / furthest * rings).astype(i64);
                // The quotient may round past an edge.
                ring -= (r < furthest * ring / rings).astype(i64);
                ring += (r >= furthest * (ring + 1) / rings).astype(i64);
                // The furthest point is in no ring: it has a place behind them.
                const range all_rings(begin, rings);
                return {bincount(ring, data, rings + 1)(all_rings) / bincount(ring, rings + 1)(all_rings)};
              },
              .outputs = {close_to("P14.r", f64, 1e-10, 1e-10)},
              .layouts = few_layouts});
}

TEST(case_row_program, a_ring_without_points_has_no_mean) {
  const array data{1.0, 2.0, 4.0}, r{0.0, 3.0, 4.0}, ring = arange(4)(all, newaxis);
  const array is_inside = ring <= r && r < ring + 1;
  const array means = sum(where(is_inside, data, 0), 1) / count_nonzero(is_inside, 1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(equals(means, std::vector<double>{1, nan, nan, 2}));
  EXPECT_TRUE(
      equals(mean(broadcast_to(data, {4, 3}), {.over = 1, .where = is_inside}), std::vector<double>{1, nan, nan, 2}));
}

// ---- CuPy, examples/kmeans/kmeans.py ----

constexpr std::int64_t clusters = 5;

/// Which centre is nearest to each point.
array nearest(const array& x, const array& centres) {
  return argmin(sqrt(sum(square(x(all, newaxis, all) - centres(newaxis)), 2)), 1);
}

/// The mean of each cluster's points.
array centres_of(const array& x, const array& cluster) {
  const array mask = cluster == arange(clusters)(all, newaxis);
  return sum(where(mask(all, all, newaxis), x, 0), 1) / count_nonzero(mask, 1)(all, newaxis);
}

TEST(case_row_program, k_means) {
  run_matrix({.inputs = {lcg_reals(f32, {600, 2}, 440, -2, 2, 0x7f90e3f6)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array x = in[0];
                array centres = x(range(begin, clusters)), cluster = zeros({x.extent(0)}, i64);
                for (int round = 0; round < 8; ++round) {
                  const array next = nearest(x, centres);
                  if (all_true(next == cluster).item<bool>()) break;
                  cluster = next;
                  statement(cluster, centres);
                  centres = centres_of(x, cluster);
                  statement(centres, cluster);
                }
                return {centres, cluster};
              },
              // No point is within rounding of two centres.
              .outputs = {close_to("P23.c", f32, 2e-05, 1e-05), exactly("P23.p", i64)},
              .retype = {{f32, f64}},
              .layouts = few_layouts});
}

/// The same, the counts in the shape of the sums: they share a launch.
array centres_with_counts(const array& x, const array& cluster) {
  const array mask = cluster == arange(clusters)(all, newaxis),
              each = broadcast_to(mask(all, all, newaxis), {clusters, x.extent(0), x.extent(1)});
  return sum(where(each, x, 0), 1) / count_nonzero(each, 1);
}

/// Three rounds, each evaluated cluster by centre; `launches`: of one.
void check_rounds(array (*next_centres)(const array&, const array&), std::uint64_t launches) {
  const array x = lcg_reals(f32, {600, 2}, 440, -2, 2, 0x7f90e3f6).to_device();
  array centres = x(range(begin, clusters)) * 1, cluster;
  eval(centres);
  for (int round = 0; round < 3; ++round) {
    const statistics added = counted([&] {
      cluster = nearest(x, centres);
      eval(cluster);
      centres = next_centres(x, cluster);
      eval(centres);
    });
    EXPECT_LE(added.launches, launches) << round;
    EXPECT_LE(added.compiles, round == 0 ? added.launches : 0u) << round;
  }
  EXPECT_TRUE(equals(centres, from_device(centres_of(x, cluster)), {1e-6, 1e-6, false}));
}

TEST(case_row_program, a_round_of_k_means_is_a_launch_for_each_evaluation) {
  check_rounds(centres_with_counts, 2);
  check_rounds(centres_of, 2);  // the counts [k] run over other rows than the sums [k, 2]: a stage more
}

// ---- Gradient descent on a periodic grid, its cost kept in every turn ----

constexpr double smoothness = 0.2, rate = 0.15;

struct smooth_turn {
  array x, cost;
};

/// One turn from x towards a smooth grid near y.
smooth_turn smoothed(const array& x, const array& y) {
  const range first(begin, 1), last(-1, end), but_first(1, end), but_last(begin, -1);
  const array east = concat({x(all, but_first), x(all, first)}, 1), west = concat({x(all, last), x(all, but_last)}, 1),
              south = concat({x(but_first), x(first)}), north = concat({x(last), x(but_last)});
  return {x - 2 * rate * ((x - y) + smoothness * (4 * x - east - west - south - north)),
          sum(square(x - y) + smoothness * (square(east - x) + square(south - x)))};
}

TEST(case_row_program, thirty_turns_of_smoothing_and_their_costs) {
  run_matrix({.inputs = {lcg_reals(f32, {32, 40}, 450, -1, 1, 0xfd1a7193)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array x = in[0];
                std::vector<array> costs;
                for (int turn = 0; turn < 30; ++turn) {
                  const smooth_turn next = smoothed(x, in[0]);
                  costs.push_back(next.cost);
                  x = next.x;
                  statement(x, next.cost);
                }
                return {x, stack(costs)};
              },
              .outputs = {close_to("P27.x", f32, 2e-05, 1e-04), close_to("P27.cost", f32, 2e-05, 1e-04)},
              .retype = {{f32, f64}},
              .layouts = few_layouts});
}

TEST(case_row_program, a_turn_of_smoothing_and_its_cost_are_one_launch) {
  const array y = lcg_reals(f32, {32, 40}, 450, -1, 1, 0xfd1a7193).to_device();
  array x = y;
  for (int turn = 0; turn < 3; ++turn) {
    const smooth_turn next = smoothed(x, y);
    const statistics added = counted([&] { eval(next.x, next.cost); });
    EXPECT_EQ(added.launches, 1u) << turn;
    // In the first turn x is y, which makes another kernel.
    EXPECT_LE(added.compiles, turn <= 1 ? added.launches : 0u) << turn;
    x = next.x;
  }
}

}  // namespace
