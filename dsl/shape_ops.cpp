#include "dsl/shape_ops.hpp"

#include "dsl/record_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace sinter {

namespace {

using jit::axis_map;

/// Result axis k is axis order[k] of x.
array permute(const array& x, std::span<const int> order, const place& at) {
  axis_map map[max_rank];
  shape extents;
  for (int k = 0; k < x.rank(); ++k) {
    const int from = order[static_cast<std::size_t>(k)];
    map[from] = {0, 1, k};
    extents.append(x.extents()[from]);
  }
  return view(x, {map, static_cast<std::size_t>(x.rank())}, extents, at);
}

std::vector<int> own_order(int rank) {
  std::vector<int> order;
  for (int k = 0; k < rank; ++k) order.push_back(k);
  return order;
}

array flip_bits(const array& x, std::uint32_t bits, const place& at) {
  axis_map map[max_rank];
  for (int k = 0; k < x.rank(); ++k) map[k] = bits >> k & 1u ? axis_map{x.extents()[k] - 1, -1, k} : axis_map{0, 1, k};
  return view(x, {map, static_cast<std::size_t>(x.rank())}, x.extents(), at);
}

std::string listed(std::span<const std::int64_t> extents) { return fmt::format("[{}]", fmt::join(extents, ", ")); }

void check_integers(const array& indices, std::string_view operation, const place& at) {
  if (!is_integer(indices.type()))
    throw_type_error(fmt::format("{}: indices are {}, not integers", operation, to_string(indices.type())), at,
                     "indices.astype(i64)");
}

}  // namespace

array view(const array& x, std::span<const axis_map> map, const shape& extents, const place& at) {
  return wrap(jit::make_view(x.node(), map, extents, at));
}

array reshape(const array& x, std::initializer_list<std::int64_t> extents, place at) {
  const std::span<const std::int64_t> wanted(extents.begin(), extents.size());
  shape to;
  int open = -1;
  std::int64_t known = 1;
  for (std::int64_t n : wanted) {
    if (n == -1 && open >= 0)
      throw_shape_error("reshape: only one extent may be -1, not those of " + listed(wanted), at);
    if (n == -1) open = to.rank();
    append_extent(to, n == -1 ? 0 : n, "reshape", at);
    if (n == -1 || known == 0) continue;
    if (n > std::numeric_limits<std::int64_t>::max() / known)
      throw_shape_error("reshape: shape " + listed(wanted) + " is too large", at);
    known *= n;
  }
  if (open >= 0) {
    if (known == 0 || x.size() % known != 0)
      throw_shape_error(
          fmt::format("reshape: shape {} ({} elements) into {}", to_string(x.extents()), x.size(), listed(wanted)), at);
    to[open] = x.size() / known;
  }
  return reshape(x, to, at);
}

array reshape(const array& x, const shape& extents, place at) { return wrap(jit::make_reshape(x.node(), extents, at)); }

array ravel(const array& x, place at) { return reshape(x, shape{x.size()}, at); }

array transpose(const array& x, const axes& order, place at) {
  std::vector<int> list;
  if (order.all()) {
    list = own_order(x.rank());
    std::reverse(list.begin(), list.end());
  } else {
    list = checked_axes(order, x.rank(), "transpose", at);
    if (static_cast<int>(list.size()) != x.rank())
      throw_shape_error(fmt::format("transpose: {} axes named of an array of rank {}", list.size(), x.rank()), at);
  }
  return permute(x, list, at);
}

array swapaxes(const array& x, int a, int b, place at) {
  std::vector<int> order = own_order(x.rank());
  std::swap(order[static_cast<std::size_t>(checked_axis(a, x.rank(), "swapaxes", at))],
            order[static_cast<std::size_t>(checked_axis(b, x.rank(), "swapaxes", at))]);
  return permute(x, order, at);
}

array moveaxis(const array& x, const axes& from, const axes& to, place at) {
  const std::vector<int> source = checked_axes(from, x.rank(), "moveaxis", at);
  const std::vector<int> target = checked_axes(to, x.rank(), "moveaxis", at);
  if (source.size() != target.size())
    throw_shape_error(fmt::format("moveaxis: {} axes to {} positions", source.size(), target.size()), at);
  std::vector<int> order(static_cast<std::size_t>(x.rank()), -1);
  for (std::size_t k = 0; k < source.size(); ++k) order[static_cast<std::size_t>(target[k])] = source[k];
  int next = 0;
  for (int& axis : order) {
    if (axis >= 0) continue;
    while (std::find(source.begin(), source.end(), next) != source.end()) ++next;
    axis = next++;
  }
  return permute(x, order, at);
}

array broadcast_to(const array& x, const shape& extents, place at) {
  shape common;
  if (!broadcast_into(x.extents(), extents, common) || common != extents)
    throw_shape_error(
        fmt::format("broadcast_to: shape {} does not broadcast to {}", to_string(x.extents()), to_string(extents)), at);
  checked_bytes(extents, x.type(), at);
  return wrap(jit::make_broadcast(x.node(), extents, at));
}

array expand_dims(const array& x, const axes& positions, place at) {
  const int rank = x.rank() + static_cast<int>(positions.list().size());
  if (rank > max_rank)
    throw_shape_error(fmt::format("expand_dims: the result would have {} axes, more than {}", rank, max_rank), at);
  const std::vector<int> added = checked_axes(positions, rank, "expand_dims", at);
  axis_map map[max_rank];
  shape extents;
  int from = 0;
  for (int k = 0; k < rank; ++k) {
    const bool is_new = std::find(added.begin(), added.end(), k) != added.end();
    extents.append(is_new ? 1 : x.extents()[from]);
    if (!is_new) map[from++] = {0, 1, k};
  }
  return view(x, {map, static_cast<std::size_t>(x.rank())}, extents, at);
}

array squeeze(const array& x, const axes& which, place at) {
  const std::uint32_t bits = axis_bits(which, x.rank(), "squeeze", at);
  axis_map map[max_rank];
  shape extents;
  for (int k = 0; k < x.rank(); ++k) {
    const std::int64_t n = x.extents()[k];
    const bool named = bits >> k & 1u;
    if (named && n != 1 && !which.all())
      throw_shape_error(fmt::format("squeeze: axis {} of shape {} has extent {}, not 1", k, to_string(x.extents()), n),
                        at);
    if (named && n == 1) continue;
    map[k] = {0, 1, extents.rank()};
    extents.append(n);
  }
  return view(x, {map, static_cast<std::size_t>(x.rank())}, extents, at);
}

array flip(const array& x, const axes& over, place at) {
  return flip_bits(x, axis_bits(over, x.rank(), "flip", at), at);
}

array rot90(const array& x, int turns, const axes& plane, place at) {
  const std::vector<int> axis = checked_axes(plane, x.rank(), "rot90", at);
  if (axis.size() != 2) throw_shape_error(fmt::format("rot90: a plane has 2 axes, not {}", axis.size()), at);
  const std::uint32_t first = std::uint32_t{1} << axis[0], second = std::uint32_t{1} << axis[1];
  switch ((turns % 4 + 4) % 4) {
    case 0:
      return x;
    case 1:
      return swapaxes(flip_bits(x, second, at), axis[0], axis[1], at);
    case 2:
      return flip_bits(x, first | second, at);
    default:
      return flip_bits(swapaxes(x, axis[0], axis[1], at), second, at);
  }
}

array diagonal(const array& x, int offset, int axis1, int axis2, place at) {
  const int row = checked_axis(axis1, x.rank(), "diagonal", at), column = checked_axis(axis2, x.rank(), "diagonal", at);
  if (row == column) throw_shape_error(fmt::format("diagonal: axis {} is named twice", axis2), at);
  axis_map map[max_rank];
  shape extents;
  for (int k = 0; k < x.rank(); ++k) {
    if (k == row || k == column) continue;
    map[k] = {0, 1, extents.rank()};
    extents.append(x.extents()[k]);
  }
  const std::int64_t first_row = offset < 0 ? -std::int64_t{offset} : 0, first_column = offset > 0 ? offset : 0;
  map[row] = {first_row, 1, extents.rank()};
  map[column] = {first_column, 1, extents.rank()};
  const std::int64_t length = std::min(x.extents()[row] - first_row, x.extents()[column] - first_column);
  extents.append(std::max<std::int64_t>(length, 0));
  return view(x, {map, static_cast<std::size_t>(x.rank())}, extents, at);
}

array take(const array& x, const array& indices, int axis, place at) {
  check_integers(indices, "take", at);
  const int k = checked_axis(axis, x.rank(), "take", at);
  const indexed_axis indexed[] = {{k, &indices}};
  return gather(x, indexed, k, at);
}

array take(const array& x, const array& indices, place at) { return take(ravel(x, at), indices, 0, at); }

array take_along_axis(const array& x, const array& indices, int axis, place at) {
  check_integers(indices, "take_along_axis", at);
  const int k = checked_axis(axis, x.rank(), "take_along_axis", at);
  if (indices.rank() != x.rank())
    throw_shape_error(
        fmt::format("take_along_axis: an array of rank {} with indices of rank {}", x.rank(), indices.rank()), at);
  // Both broadcast along the other axes.
  shape from = x.extents(), to = indices.extents(), common;
  from[k] = to[k] = 1;
  if (!broadcast_into(from, to, common))
    throw_shape_error(fmt::format("take_along_axis: shapes {} and {} do not broadcast outside axis {}",
                                  to_string(x.extents()), to_string(indices.extents()), k),
                      at);
  from = to = common;
  from[k] = x.extents()[k];
  to[k] = indices.extents()[k];
  const array source = broadcast_to(x, from, at), positions = broadcast_to(indices, to, at);
  if (to.size() > 0 && from[k] == 0) throw_index_error(fmt::format("take_along_axis: axis {} has no elements", k), at);
  auto facts = std::make_unique<jit::attribute>();
  for (int a = 0; a < x.rank(); ++a)
    facts->gather.push_back(a == k ? jit::gather_axis{-1, 1} : jit::gather_axis{a, -1});
  jit::node* operands[] = {source.node(), positions.node()};
  return wrap(jit::make_node(jit::op::gather, x.type(), to, operands, at, std::move(facts)));
}

}  // namespace sinter
