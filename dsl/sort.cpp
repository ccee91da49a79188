#include "dsl/sort.hpp"

#include "dsl/create.hpp"
#include "dsl/join.hpp"
#include "dsl/loops.hpp"
#include "dsl/reduce_internal.hpp"
#include "dsl/shape_ops.hpp"
#include "dsl/sort_internal.hpp"
#include "jit/library/sort.hpp"
#include "jit/loops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

namespace sinter {

using jit::axis_map;
using jit::op;

namespace {

/// With so few elements, positions and counts fit i32, which is faster than i64.
constexpr std::int64_t most_narrow = std::int64_t{1} << 30;

/// What can't be sorted is an error, told of `operation`.
void check_sortable(const array& x, std::string_view operation, const place& at) {
  if (is_complex(x.type()))
    throw_type_error(
        fmt::format("{}: not defined for {}: complex numbers have no order", operation, to_string(x.type())), at,
        "real(x), imag(x) and abs(x) have one");
  if (jit::is_recording_body())
    throw_type_error(fmt::format("{}: can't run in the body of a loop inside a kernel", operation), at,
                     "do it before the loop, or loop on the host");
}

/// The axis moved to the end.
array with_last(const array& x, int axis, const place& at) { return moveaxis(x, axis, -1, at); }
array with_last_back(const array& x, int axis, const place& at) { return moveaxis(x, -1, axis, at); }

std::vector<array> sorted_along(const array& x, int axis, const jit::sort_request& how, std::string_view operation,
                                const place& at) {
  check_sortable(x, operation, at);
  const array rows = with_last(x, axis, at);
  std::vector<array> results;
  for (jit::node_ref& n : jit::record_sort(rows.node(), how, at))
    results.push_back(with_last_back(wrap(std::move(n)), axis, at));
  return results;
}

bool descends(sort_order how) { return how == sort_order::descending; }

}  // namespace

array sort(const array& x, int axis, sort_order how, place at) {
  const int k = checked_axis(axis, x.rank(), "sort", at);
  return sorted_along(x, k, {.descending = descends(how), .values = true, .kept = x.extents()[k]}, "sort", at)[0];
}

array argsort(const array& x, int axis, sort_order how, place at) {
  const int k = checked_axis(axis, x.rank(), "argsort", at);
  return sorted_along(x, k, {.descending = descends(how), .positions = true, .kept = x.extents()[k]}, "argsort", at)[0];
}

top_elements topk(const array& x, std::int64_t k, int axis, sort_order how, place at) {
  const int along = checked_axis(axis, x.rank(), "topk", at);
  if (k < 0 || k > x.extents()[along])
    throw_shape_error(fmt::format("topk: {} of {} elements (axis {} of shape {})", k, x.extents()[along], along,
                                  to_string(x.extents())),
                      at);
  const std::vector<array> found =
      sorted_along(x, along, {.descending = descends(how), .values = true, .positions = true, .kept = k}, "topk", at);
  return {found[0], found[1]};
}

namespace {

/// The axis to be partitioned; shape_error when it has no element `kth`.
int partitioned_axis(const array& x, std::int64_t kth, int axis, std::string_view operation, const place& at) {
  const int along = checked_axis(axis, x.rank(), operation, at);
  const std::int64_t n = x.extents()[along];
  if (kth < -n || kth >= n)
    throw_shape_error(fmt::format("{}: element {} of {} (axis {} of shape {})", operation, kth, n, along,
                                  to_string(x.extents())),
                      at);
  return along;
}

}  // namespace

// In order is partitioned at any place, and takes no longer than three passes that count, place and move.
array partition(const array& x, std::int64_t kth, int axis, place at) {
  const int along = partitioned_axis(x, kth, axis, "partition", at);
  return sorted_along(x, along, {.values = true, .kept = x.extents()[along]}, "partition", at)[0];
}

array argpartition(const array& x, std::int64_t kth, int axis, place at) {
  const int along = partitioned_axis(x, kth, axis, "argpartition", at);
  return sorted_along(x, along, {.positions = true, .kept = x.extents()[along]}, "argpartition", at)[0];
}

array sorted(const array& x, const place& at) { return sort(x, 0, sort_order::ascending, at); }

// ---- Comparing and searching ----

namespace {

array both_true(const array& a, const array& b, const place& at) { return record(op::logical_and, a, b, at); }
array either_true(const array& a, const array& b, const place& at) { return record(op::logical_or, a, b, at); }
array not_true(const array& x, const place& at) { return record(op::logical_not, x, at); }
array not_nan(const array& x, const place& at) { return not_true(record(op::isnan, x, at), at); }

}  // namespace

array precedes(const array& a, const array& b, const place& at) {
  if (is_integer_or_bool(a.type())) return record(op::less, a, b, at);
  if (is_real(a.type()))  // a number that isn't greater or equal is less, or meets NaN
    return both_true(not_nan(a, at), not_true(record(op::greater_equal, a, b, at), at), at);
  const array re_a = record(op::real_part, a, at), re_b = record(op::real_part, b, at);
  const array im_a = record(op::imag_part, a, at), im_b = record(op::imag_part, b, at);
  const array by_imag = both_true(record(op::equal, re_a, re_b, at), record(op::less, im_a, im_b, at), at);
  const array less = either_true(record(op::less, re_a, re_b, at), by_imag, at);
  return both_true(not_nan(a, at), either_true(record(op::isnan, b, at), less, at), at);
}

array places_among(const array& ascending, const array& x, bool with_equal, const place& at) {
  using open_range = std::pair<array, array>;
  const std::int64_t n = ascending.size();
  if (n == 0) return zeros(x.extents(), i64, at);
  const dtype type = n <= most_narrow ? i32 : i64;
  const open_range whole{zeros(x.extents(), type, at), full(x.extents(), n, type, at)};
  const auto halved = [&](const array&, const open_range& r) {
    const array middle = record(op::shift_right, record(op::add, r.first, r.second, at), 1, at);
    // A range that is empty stays so, but is looked at again.
    const array met = take(ascending, record(op::minimum, middle, n - 1, at), 0, at);
    const array passed = with_equal ? not_true(precedes(x, met, at), at) : precedes(met, x, at);
    const array is_open = record(op::less, r.first, r.second, at);
    const array up = both_true(is_open, passed, at), down = both_true(is_open, not_true(passed, at), at);
    return open_range{choose(up, input_of(record(op::add, middle, 1, at), at), input_of(r.first, at), at),
                      choose(down, input_of(middle, at), input_of(r.second, at), at)};
  };
  const auto steps = static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(n)));
  return convert(for_loop(steps, whole, halved, at).first, i64, at);
}

array searchsorted(const array& sorted, const operand& values, side where) {
  const place& at = values.at();
  if (sorted.rank() != 1)
    throw_shape_error(
        fmt::format("searchsorted: the sorted values have shape {}, not one axis", to_string(sorted.extents())), at,
        "ravel(x) has one");
  if (is_complex(sorted.type())) check_sortable(sorted, "searchsorted", at);
  const jit::input both[] = {input_of(sorted, at), input_of(values)};
  const dtype type = jit::common_type(both, "searchsorted", at);
  const array x = values.node() ? wrap(jit::node_ref::share(values.node())) : constant(values.number(), type, at);
  if (is_complex(x.type())) check_sortable(x, "searchsorted", at);
  return places_among(convert(sorted, type, at), convert(x, type, at), where == side::right, at);
}

// ---- Quantiles ----

namespace {

void check_share(double q, double most, std::string_view operation, const place& at) {
  if (!(q >= 0 && q <= most)) throw_shape_error(fmt::format("{}: {} is not in 0 .. {}", operation, q, most), at);
}

/// The reduced axes as one, the last: [.., n].
array rows_of(const array& x, std::uint32_t reduced_axes, const place& at) {
  std::vector<int> order;
  shape extents;
  std::int64_t length = 1;
  for (int k = 0; k < x.rank(); ++k) {
    if ((reduced_axes >> k & 1u) != 0) continue;
    order.push_back(k);
    append_extent(extents, x.extents()[k], "quantile", at);
  }
  for (int k = 0; k < x.rank(); ++k) {
    if ((reduced_axes >> k & 1u) == 0) continue;
    order.push_back(k);
    length *= x.extents()[k];
  }
  const array moved = x.rank() > 0 ? transpose(x, axes(std::span<const int>(order)), at) : x;
  append_extent(extents, length, "quantile", at);
  return reshape(moved, extents, at);
}

/// Quantiles of rows in ascending order, in the dtype they are computed in.
class ordered_rows {
 public:
  ordered_rows(const array& x, const place& at) : rows_(x), n_(x.extents()[x.rank() - 1]), at_(at) {}

  array at_share(double q, interpolation between) const {
    const double position = q * static_cast<double>(n_ - 1);
    const auto below = std::min(static_cast<std::int64_t>(position), n_ - 1);
    const double t = position - static_cast<double>(below);
    const array found = t > 0 ? after(below, t, between) : element(below);
    if (!is_real(rows_.type())) return found;
    const array last = element(n_ - 1);  // NaN if any is
    return choose(record(op::isnan, last, at_), input_of(last, at_), input_of(found, at_), at_);
  }

 private:
  array element(std::int64_t k) const {
    const int last = rows_.rank() - 1;
    axis_map map[max_rank];
    shape extents;
    for (int j = 0; j < last; ++j) {
      map[j] = {0, 1, j};
      append_extent(extents, rows_.extents()[j], "quantile", at_);
    }
    map[last] = {k, 0, -1};
    return view(rows_, {map, static_cast<std::size_t>(last + 1)}, extents, at_);
  }

  /// The share t, in 0 .. 1, of the way from element `below` to the next.
  array after(std::int64_t below, double t, interpolation between) const {
    const array a = element(below), b = element(below + 1);
    switch (between) {
      case interpolation::lower:
        return a;
      case interpolation::upper:
        return b;
      case interpolation::nearest:
        return t < 0.5 || (t == 0.5 && below % 2 == 0) ? a : b;
      case interpolation::midpoint:
        t = 0.5;
        break;
      case interpolation::linear:
        break;
    }
    // Weighted, so that the difference of large numbers doesn't overflow; and not past either by rounding.
    const array mixed = record(op::add, record(op::multiply, a, 1 - t, at_), record(op::multiply, b, t, at_), at_);
    return record(op::minimum, record(op::maximum, mixed, a, at_), b, at_);
  }

  array rows_;
  std::int64_t n_;
  place at_;
};

std::vector<array> quantiles(const array& x, std::span<const double> q, double scale, const axes& over, keepdims_t keep,
                             interpolation between, std::string_view operation, const place& at) {
  check_sortable(x, operation, at);
  const std::uint32_t bits = axis_bits(over, x.rank(), operation, at);
  check_order(x, bits, operation, at);
  for (double share : q) check_share(share, scale, operation, at);
  const dtype type = inexact_type(x.type());
  const array rows = rows_of(x, bits, at);
  const array in_order = sort(rows, -1, sort_order::ascending, at);
  const ordered_rows found(convert(in_order, working_type(x.type()), at), at);
  shape kept;
  for (int k = 0; k < x.rank(); ++k)
    if (keep.on || (bits >> k & 1u) == 0)
      append_extent(kept, (bits >> k & 1u) != 0 ? 1 : x.extents()[k], operation, at);
  std::vector<array> results;
  for (double share : q)
    results.push_back(reshape(convert(found.at_share(share / scale, between), type, at), kept, at));
  return results;
}

array one_quantile(const array& x, double q, double scale, const axes& over, keepdims_t keep, interpolation between,
                   std::string_view operation, const place& at) {
  return quantiles(x, {&q, 1}, scale, over, keep, between, operation, at)[0];
}

array several_quantiles(const array& x, std::span<const double> q, double scale, const axes& over, keepdims_t keep,
                        interpolation between, std::string_view operation, const place& at) {
  if (q.empty()) throw_shape_error(fmt::format("{}: of no shares", operation), at);
  return stack(std::span<const array>(quantiles(x, q, scale, over, keep, between, operation, at)), 0, at);
}

std::span<const double> span_of(std::initializer_list<double> q) { return {q.begin(), q.size()}; }

}  // namespace

array quantile(const array& x, double q, const axes& over, keepdims_t keep, interpolation between, place at) {
  return one_quantile(x, q, 1, over, keep, between, "quantile", at);
}

array quantile(const array& x, std::initializer_list<double> q, const axes& over, keepdims_t keep,
               interpolation between, place at) {
  return several_quantiles(x, span_of(q), 1, over, keep, between, "quantile", at);
}

array quantile(const array& x, std::span<const double> q, const axes& over, keepdims_t keep, interpolation between,
               place at) {
  return several_quantiles(x, q, 1, over, keep, between, "quantile", at);
}

array percentile(const array& x, double q, const axes& over, keepdims_t keep, interpolation between, place at) {
  return one_quantile(x, q, 100, over, keep, between, "percentile", at);
}

array percentile(const array& x, std::initializer_list<double> q, const axes& over, keepdims_t keep,
                 interpolation between, place at) {
  return several_quantiles(x, span_of(q), 100, over, keep, between, "percentile", at);
}

array median(const array& x, const axes& over, keepdims_t keep, place at) {
  return one_quantile(x, 0.5, 1, over, keep, interpolation::linear, "median", at);
}

}  // namespace sinter
