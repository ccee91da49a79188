#include "dsl/scatter.hpp"

#include "dsl/create.hpp"
#include "dsl/index_internal.hpp"
#include "dsl/loops_internal.hpp"
#include "dsl/reduce.hpp"
#include "dsl/shape_ops.hpp"
#include "jit/tables.hpp"
#include "jit/engine.hpp"
#include "jit/loops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sinter {

using jit::axis_map;
using jit::op;

namespace {

void check_integers(const array& indices, const writing& w) {
  if (!is_integer(indices.type()))
    throw_type_error(fmt::format("{}: indices are {}, not integers", w.name, to_string(indices.type())), w.at,
                     "indices.astype(i64)");
}

/// The array `a` becomes when values are written at `indices` along `axis`.
array written_along(const array& a, const array& indices, const operand& values, int axis, const writing& w) {
  check_integers(indices, w);
  const int k = checked_axis(axis, a.rank(), w.name, w.at);
  if (jit::is_recording_body()) return loops::scattered_in_body(a, indices, values, w);
  const indexed_axis indexed[] = {{k, &indices}};
  return scattered(a, pick(a.extents(), indexed, k, w.at), input_of(values), w);
}

}  // namespace

#define SINTER_SCATTER(name, code)                                                       \
  void name(array& a, const array& indices, const operand& values, int axis, place at) { \
    a = written_along(a, indices, values, axis, {op::code, #name, at});                  \
  }
SINTER_SCATTER(scatter, buffer)
SINTER_SCATTER(scatter_add, add)
SINTER_SCATTER(scatter_multiply, multiply)
SINTER_SCATTER(scatter_min, minimum)
SINTER_SCATTER(scatter_max, maximum)
#undef SINTER_SCATTER

void put_along_axis(array& a, const array& indices, const operand& values, int axis, place at) {
  const writing w{op::buffer, "put_along_axis", at};
  jit::refuse_write_in_body(at);
  check_integers(indices, w);
  const int k = checked_axis(axis, a.rank(), w.name, at);
  if (indices.rank() != a.rank())
    throw_shape_error(
        fmt::format("put_along_axis: an array of rank {} with indices of rank {}", a.rank(), indices.rank()), at);
  picks p;
  p.along = k;
  p.extents = a.extents();
  p.extents[k] = indices.extents()[k];
  shape common;
  if (!broadcast_into(indices.extents(), p.extents, common) || common != p.extents)
    throw_shape_error(fmt::format("put_along_axis: indices of shape {} do not broadcast to {}, outside axis {}",
                                  to_string(indices.extents()), to_string(a.extents()), k),
                      at);
  if (p.extents.size() > 0 && a.extents()[k] == 0)
    throw_index_error(fmt::format("put_along_axis: axis {} has no elements", k), at);
  p.indices.push_back(broadcast_to(indices, p.extents, at));
  for (int j = 0; j < a.rank(); ++j) p.from.push_back(j == k ? jit::gather_axis{-1, 0} : jit::gather_axis{j, -1});
  a = scattered(a, p, input_of(values), w);
}

void put(array& a, const array& indices, const operand& values, place at) {
  jit::refuse_write_in_body(at);
  const array flat = written_along(ravel(a, at), indices, values, 0, {op::buffer, "put", at});
  a = reshape(flat, a.extents(), at);
}

// ---- Counting ----

namespace {

/// Additions to few places wait for each other. So they go to several tables, which are then added up: as many as stay
/// in a GPU's cache, and still get several values a place. (An H200 counts 2^28 bytes in 29 ms with one table.) A GPU's
/// blocks have tables of their own where there are very many values.
std::int64_t tables_for(const array& positions, std::int64_t length) {
  constexpr std::int64_t most_places = std::int64_t{1} << 18, least_values_a_place = 16, few_values = 1 << 16,
                         most_tables = 1024, most_places_of_block = 1 << 13;
  const std::int64_t values = positions.size();
  const runtime::device* const owner = positions.node()->owner;
  const runtime::device& where = owner ? *owner : runtime::default_device();
  const bool in_blocks = where.kind() == runtime::device_kind::cuda && length <= most_places_of_block;
  if (in_blocks && jit::pays_tables(values, length)) return 1;
  if (length < 1 || values < few_values || jit::current_options().deterministic) return 1;
  return std::clamp<std::int64_t>(std::min(most_places, values / least_values_a_place) / length, 1, most_tables);
}

/// `length` sums of `weights` at `positions`, which have a shape; a bad position is an index_error.
array summed(const array& positions, const jit::input& weights, dtype type, std::int64_t length, const writing& w) {
  const std::int64_t tables = tables_for(positions, length);
  shape extents;
  if (tables > 1) extents.append(tables);
  append_extent(extents, length, w.name, w.at);
  if (tables == 1) {
    const indexed_axis indexed[] = {{0, &positions}};
    return scattered(zeros(extents, type, w.at), pick(extents, indexed, 0, w.at), weights, w);
  }
  const array turns = reshape(iota(positions.size(), w.at), positions.extents(), w.at);
  const array table = record(op::remainder, turns, tables, w.at);
  const indexed_axis indexed[] = {{0, &table}, {1, &positions}};
  const array parts = scattered(zeros(extents, type, w.at), pick(extents, indexed, 0, w.at), weights, w);
  return sum(parts, 0, {}, w.at);
}

/// Integers as positions among `length`: as unsigned numbers, which don't count from the end.
array as_positions(const array& x, const writing& w) {
  if (!is_integer(x.type()))
    throw_type_error(fmt::format("{}: values are {}, not integers", w.name, to_string(x.type())), w.at,
                     "x.astype(i64)");
  return kind_of(x.type()) == kind::signed_integer ? convert(x, u64, w.at) : x;
}

void check_weights(const array& x, const array& weights, const writing& w) {
  if (weights.extents() != x.extents())
    throw_shape_error(fmt::format("{}: values of shape {} with weights of shape {}", w.name, to_string(x.extents()),
                                  to_string(weights.extents())),
                      w.at);
}

void check_intervals(std::int64_t bins, double low, double high, const writing& w) {
  constexpr std::int64_t most = std::int64_t{1} << 60;
  if (bins < 1 || bins > most) throw_shape_error(fmt::format("{}: {} intervals", w.name, bins), w.at);
  if (!(low < high) || !std::isfinite(high - low))
    throw_shape_error(fmt::format("{}: no intervals from {} to {}", w.name, low, high), w.at);
}

/// Of each element of x, the interval it falls into: i64; `bins` for those outside, and NaN.
array interval_of(const array& x, std::int64_t bins, double low, double high, const writing& w) {
  check_intervals(bins, low, high, w);
  if (is_complex(x.type()))
    throw_type_error(fmt::format("{}: not defined for {}", w.name, to_string(x.type())), w.at,
                     "take real(x), imag(x) or abs(x)");
  const place& at = w.at;
  const array v = convert(x, f64, at), edges = histogram_edges(bins, low, high, at);
  const auto edge = [&](const array& i) {
    const indexed_axis indexed[] = {{0, &i}};
    return gather(edges, indexed, 0, at);
  };
  const array inside =
      record(op::logical_and, record(op::greater_equal, v, low, at), record(op::less_equal, v, high, at), at);
  array i = record(op::divide, record(op::subtract, v, low, at), high - low, at);
  i = convert(record(op::multiply, i, static_cast<double>(bins), at), i64, at);
  i = record(op::minimum, record(op::maximum, i, 0, at), bins - 1, at);
  // Rounding may miss by one what comparing with the edges says.
  i = record(op::subtract, i, convert(record(op::less, v, edge(i), at), i64, at), at);
  i = record(op::maximum, i, 0, at);
  const array next = record(op::greater_equal, v, edge(record(op::add, i, 1, at)), at);
  i = record(op::minimum, record(op::add, i, convert(next, i64, at), at), bins - 1, at);
  return choose(inside, input_of(i, at), input_of(scalar(bins), at), at);
}

/// Without the last place, which is for what counts nowhere.
array without_last(const array& x, const place& at) {
  const axis_map map[] = {{0, 1, 0}};
  return view(x, map, shape{x.size() - 1}, at);
}

}  // namespace

array bincount(const array& x, std::int64_t length, place at) {
  const writing w{op::add, "bincount", at};
  return summed(as_positions(x, w), input_of(scalar(1), at), i64, length, w);
}

array bincount(const array& x, const array& weights, std::int64_t length, place at) {
  const writing w{op::add, "bincount", at};
  check_weights(x, weights, w);
  const dtype type = is_complex(weights.type()) ? c128 : f64;
  return summed(as_positions(x, w), input_of(convert(weights, type, at), at), type, length, w);
}

array histogram(const array& x, std::int64_t bins, double low, double high, place at) {
  const writing w{op::add, "histogram", at};
  const array at_bins = interval_of(x, bins, low, high, w);
  return without_last(summed(at_bins, input_of(scalar(1), at), i64, bins + 1, w), at);
}

array histogram(const array& x, const array& weights, std::int64_t bins, double low, double high, place at) {
  const writing w{op::add, "histogram", at};
  check_weights(x, weights, w);
  if (is_complex(weights.type()))
    throw_type_error(fmt::format("histogram: weights of {}", to_string(weights.type())), at, "real numbers weigh");
  const array at_bins = interval_of(x, bins, low, high, w), weight = convert(weights, f64, at);
  return without_last(summed(at_bins, input_of(weight, at), f64, bins + 1, w), at);
}

array histogram_edges(std::int64_t bins, double low, double high, place at) {
  check_intervals(bins, low, high, {op::add, "histogram_edges", at});
  return linspace(low, high, bins + 1, true, f64, at);
}

}  // namespace sinter
