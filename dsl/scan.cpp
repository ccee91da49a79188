#include "dsl/scan.hpp"

#include "dsl/join.hpp"
#include "dsl/reduce_internal.hpp"
#include "dsl/shape_ops.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sinter {

using jit::axis_map;
using jit::op;

namespace {

array scanned(op code, const array& x, const scan_options& o, std::string_view operation, const place& at) {
  const array cast = o.type ? convert(x, *o.type, at) : x;
  const array from = o.axis ? cast : ravel(cast, at);
  const int axis = o.axis ? checked_axis(*o.axis, x.rank(), operation, at) : 0;
  if (code == op::scan_min || code == op::scan_max) check_order(from, 0, operation, at);
  const array found = wrap(jit::record_scan(code, input_of(from, at), axis, at));
  return o.type ? convert(found, *o.type, at) : found;
}

/// Elements first .. first + count of an axis.
array stretch(const array& x, int axis, std::int64_t first, std::int64_t count, const place& at) {
  axis_map map[max_rank];
  shape extents = x.extents();
  for (int k = 0; k < x.rank(); ++k) map[k] = {0, 1, k};
  map[axis].offset = first;
  extents[axis] = count;
  return view(x, {map, static_cast<std::size_t>(x.rank())}, extents, at);
}

/// What diff puts beside x: a single element goes along the whole side.
array beside(const array& edge, const array& x, int axis, const place& at) {
  if (edge.rank() != 0) return edge;
  shape side = x.extents();
  side[axis] = 1;
  return wrap(jit::make_broadcast(edge.node(), side, at));
}

array with_edges(const array& x, const maybe<array>& before, const maybe<array>& after, int axis, const place& at) {
  if (!before && !after) return x;
  std::vector<array> pieces;
  if (before) pieces.push_back(beside(*before, x, axis, at));
  pieces.push_back(x);
  if (after) pieces.push_back(beside(*after, x, axis, at));
  return concat(pieces, axis, at);
}

}  // namespace

#define SINTER_SCAN(name, code)                                                        \
  array name(const array& x, int axis, place at) {                                     \
    return scanned(op::code, x, scan_options{.axis = axis}, #name, at);                \
  }                                                                                    \
  array name(const array& x, place at) { return scanned(op::code, x, {}, #name, at); } \
  array name(const array& x, const scan_options& options, place at) { return scanned(op::code, x, options, #name, at); }
SINTER_SCAN(cumsum, scan_sum)
SINTER_SCAN(cumprod, scan_prod)
SINTER_SCAN(cummax, scan_max)
SINTER_SCAN(cummin, scan_min)
#undef SINTER_SCAN

array diff(const array& x, int n, int axis, place at) { return diff(x, n, axis, {}, {}, at); }

array diff(const array& x, int n, int axis, const maybe<array>& prepend, const maybe<array>& append, place at) {
  if (n < 0) throw_shape_error(fmt::format("diff: {} times", n), at);
  const int along = checked_axis(axis, x.rank(), "diff", at);
  if (n == 0) return x;
  array y = with_edges(x, prepend, append, along, at);
  const op code = y.type() == boolean ? op::not_equal : op::subtract;
  for (int k = 0; k < n && y.extents()[along] > 0; ++k) {
    const std::int64_t count = y.extents()[along] - 1;
    const array left = stretch(y, along, 0, count, at),
                right = stretch(y, along, std::min<std::int64_t>(count, 1), count, at);
    y = record(code, right, left, at);
  }
  return y;
}

}  // namespace sinter
