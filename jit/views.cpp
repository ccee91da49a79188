// Views: affine maps of indices over one source. A view of a view is one view; a view of an update that reads only new
// elements, or only old ones, is a view of those.
#include "jit/graph_internal.hpp"
#include "jit/region.hpp"

#include <fmt/format.h>

#include <utility>

namespace sinter::jit {

namespace {

void check_view(const shape& source, std::span<const axis_map> map, const shape& extents) {
  SINTER_CHECK(static_cast<int>(map.size()) == source.rank());
  const bool empty = extents.size() == 0;
  for (int k = 0; k < source.rank(); ++k) {
    const axis_map m = map[static_cast<std::size_t>(k)];
    SINTER_CHECK(m.axis < extents.rank());
    if (empty) continue;
    const std::int64_t last = m.axis < 0 ? m.offset : m.offset + m.step * (extents[m.axis] - 1);
    SINTER_CHECK(0 <= m.offset && m.offset < source[k] && 0 <= last && last < source[k]);
  }
}

bool is_identity(std::span<const axis_map> map, const shape& source, const shape& extents) {
  if (source != extents) return false;
  for (int k = 0; k < source.rank(); ++k) {
    const axis_map& m = map[static_cast<std::size_t>(k)];
    if (m != axis_map{0, 1, k} && (m != axis_map{} || source[k] != 1)) return false;
  }
  return true;
}

/// Indices of the innermost source: `inner` maps from it to a view, `outer` from that view to the result.
std::vector<axis_map> compose(std::span<const axis_map> inner, std::span<const axis_map> outer) {
  std::vector<axis_map> both(inner.begin(), inner.end());
  for (axis_map& m : both) {
    if (m.axis < 0) continue;
    const axis_map& o = outer[static_cast<std::size_t>(m.axis)];
    m = {m.offset + m.step * o.offset, m.step * o.step, o.axis};
  }
  return both;
}

/// Whether `to` is `from` with unit axes added and removed only; then `map` views one as the other.
bool differs_by_unit_axes(const shape& from, const shape& to, std::vector<axis_map>& map) {
  int at = 0;
  map.clear();
  for (const std::int64_t n : from) {
    if (n == 1) {
      map.push_back({});
      continue;
    }
    while (at < to.rank() && to[at] == 1) ++at;
    if (at == to.rank() || to[at] != n) return false;
    map.push_back({0, 1, at++});
  }
  while (at < to.rank() && to[at] == 1) ++at;
  return at == to.rank();
}

/// What a view of `updated`, a pending update, reads: {source, and `map` changed to read that}; null when it needs both.
node_ref see_through_update(node* updated, std::vector<axis_map>& map, const shape& extents) {
  if (updated->is_statement) return {};
  const node_ref base = pending_operand(updated, op::update, 0), values = pending_operand(updated, op::update, 1);
  if (!base || !values) return {};
  const std::vector<axis_map>& region = updated->facts->view;
  if (extents.size() == 0 || disjoint(region, values->extents, map, extents)) return base;
  if (!contains(region, values->extents, map, extents)) return {};
  if (!owner_of(values.get()) && owner_of(updated)) return {};  // a constant would lose the array's device
  std::vector<axis_map> inside(static_cast<std::size_t>(values->extents.rank()));
  for (std::size_t k = 0; k < region.size(); ++k) {
    const axis_map& r = region[k];
    if (r.axis < 0) continue;
    inside[static_cast<std::size_t>(r.axis)] = {(map[k].offset - r.offset) / r.step, map[k].step / r.step, map[k].axis};
  }
  map = std::move(inside);
  return values;
}

/// A constant spread over an array's shape, as zeros() makes it: an array like others, which may be written to.
bool is_constant_array(const node* n) {
  return n->code == op::view && n->operand_count == 1 && n->operands()[0]->code == op::scalar;
}

/// Follows `source` through pending views and updates as far as one view can read the same.
node_ref innermost(node* source, std::vector<axis_map>& map, const shape& extents) {
  node_ref at = node_ref::share(source);
  for (;;) {
    normalize(map, extents);
    if (is_constant_array(at.get())) return at;
    if (node_ref base = pending_operand(at.get(), op::view)) {
      map = compose(at->facts->view, map);
      at = std::move(base);
      continue;
    }
    node_ref seen = see_through_update(at.get(), map, extents);
    if (!seen) return at;
    at = std::move(seen);
  }
}

}  // namespace

void normalize(std::vector<axis_map>& map, const shape& extents) {
  for (axis_map& m : map)
    if (m.axis < 0 || m.step == 0 || extents[m.axis] == 1) m = {m.offset, 0, -1};
}

node_ref make_view(node* source, std::span<const axis_map> map, const shape& extents, const place& at) {
  check_view(source->extents, map, extents);
  auto facts = std::make_unique<attribute>();
  facts->view.assign(map.begin(), map.end());
  const node_ref base = innermost(source, facts->view, extents);
  if (is_identity(facts->view, base->extents, extents)) return base;
  node* operand = base.get();
  return make_node(op::view, source->type, extents, {&operand, 1}, at, std::move(facts));
}

node_ref make_reshape(node* source, const shape& extents, const place& at) {
  if (source->extents == extents) return node_ref::share(source);
  if (source->extents.size() != extents.size())
    throw_shape_error(fmt::format("reshape: shape {} ({} elements) into {} ({} elements)", to_string(source->extents),
                                  source->extents.size(), to_string(extents), extents.size()),
                      at);
  if (runtime::buffer* values = source->values())
    return make_buffer_node(reference<runtime::buffer>::share(values), source->type, extents, at);
  std::vector<axis_map> map;
  if (differs_by_unit_axes(source->extents, extents, map)) return make_view(source, map, extents, at);
  if (const node_ref base = pending_operand(source, op::reshape)) return make_reshape(base.get(), extents, at);
  return make_node(op::reshape, source->type, extents, {&source, 1}, at);
}

node_ref make_broadcast(node* source, const shape& extents, const place& at) {
  const shape& from = source->extents;
  if (from == extents) return node_ref::share(source);
  shape common;
  if (!broadcast_into(from, extents, common) || common != extents)
    throw_shape_error(fmt::format("broadcast: shape {} does not broadcast to {}", to_string(from), to_string(extents)),
                      at);
  std::vector<axis_map> map;
  const int added = extents.rank() - from.rank();
  for (int k = 0; k < from.rank(); ++k)
    map.push_back(from[k] == extents[k + added] ? axis_map{0, 1, k + added} : axis_map{});
  return make_view(source, map, extents, at);
}

}  // namespace sinter::jit
