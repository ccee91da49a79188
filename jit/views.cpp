// Views: affine maps of indices over one source. A view of a view is one view; a view of an update that reads only new
// elements, or only old ones, is a view of those.
#include "jit/fold/foreseen.hpp"
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
    const axis_map& m = map[static_cast<std::size_t>(k)];
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
axis_maps compose(const axis_maps& inner, const axis_maps& outer) {
  axis_maps both = inner;
  for (axis_map& m : both) {
    if (m.axis < 0) continue;
    const axis_map& o = outer[static_cast<std::size_t>(m.axis)];
    m = {m.offset + m.step * o.offset, m.step * o.step, o.axis};
  }
  return both;
}

/// Whether `to` is `from` with unit axes added and removed only; then `map` views one as the other.
bool differs_by_unit_axes(const shape& from, const shape& to, axis_maps& map) {
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

/// What a view of `updated`, a pending update of `base`, reads: base, or values, and `map` changed to read that; null
/// when it needs both.
node* see_through_update(const node* updated, node* base, node* values, axis_maps& map, const shape& extents) {
  if (updated->is_statement) return nullptr;
  const axis_maps& region = updated->facts->view;
  if (extents.size() == 0 || disjoint(region, values->extents, map, extents)) return base;
  if (!contains(region, values->extents, map, extents)) return nullptr;
  if (!owner_of(values) && owner_of(updated)) return nullptr;  // a constant would lose the array's device
  axis_maps inside(static_cast<std::size_t>(values->extents.rank()));
  for (std::size_t k = 0; k < region.size(); ++k) {
    const axis_map& r = region[k];
    if (r.axis < 0) continue;
    inside[static_cast<std::size_t>(r.axis)] = {(map[k].offset - r.offset) / r.step, map[k].step / r.step, map[k].axis};
  }
  map = inside;
  return values;
}

/// A constant spread over an array's shape, as zeros() makes it: an array like others, which may be written to.
bool is_constant_array(const node* n) {
  return n->code == op::view && n->operand_count == 1 && n->operands()[0]->code == op::scalar;
}

/// What a view of `n` reads instead, when that is a pending view or update: `map` then reads it. Else null.
node* see_through(const node* n, axis_maps& map, const shape& extents) {
  if (is_constant_array(n)) return nullptr;
  if (const auto source = held_operands(n, op::view); !source.empty()) {
    map = compose(n->facts->view, map);
    return source[0];
  }
  const auto both = held_operands(n, op::update);
  return both.empty() ? nullptr : see_through_update(n, both[0], both[1], map, extents);
}

/// Leads `view` through pending views and updates below it as far as one view can read the same.
void follow(node& view) {
  node* at = view.few[0];
  {
    const auto operands_held = hold_operands();
    while (node* below = see_through(at, view.facts->view, view.extents)) {
      normalize(view.facts->view, view.extents);
      at = below;
    }
    retain(at);
  }
  release(std::exchange(view.few[0], at));
}

bool is_identity(const node& view) { return is_identity(view.facts->view, view.few[0]->extents, view.extents); }

/// Whether `map` takes one element of an array with axes: then it is a checked view in normal form, and no identity.
bool is_element(std::span<const axis_map> map, const shape& source, const shape& extents) {
  if (extents.rank() != 0 || source.rank() == 0 || static_cast<int>(map.size()) != source.rank()) return false;
  for (int k = 0; k < source.rank(); ++k) {
    const axis_map& m = map[static_cast<std::size_t>(k)];
    if (m.axis != -1 || m.step != 0 || m.offset < 0 || m.offset >= source[k]) return false;
  }
  return true;
}

}  // namespace

node_ref make_view(node_ref source, std::unique_ptr<attribute>&& facts, const shape& extents, const place& at) {
  if (!is_element(facts->view, source->extents, extents)) {
    check_view(source->extents, facts->view, extents);
    normalize(facts->view, extents);
    if (is_identity(facts->view, source->extents, extents)) return source;
  }
  const op below = source->is_statement ? op::buffer : source->code;  // statements aren't looked through
  if (foreseer* const f = foreseer::now(); f && below != op::view && below != op::update)
    if (node* const again = f->view(source, facts->view, extents, at)) return node_ref(again);
  node_ref view = new_node(op::view, source->type, extents, at, std::move(facts));
  add_operand(*view, std::move(source));
  if (below == op::view || below == op::update) {
    follow(*view);
    if (is_identity(*view)) return node_ref::share(view->few[0]);
  }
  return record_node(std::move(view));
}

node_ref make_view(node* source, std::span<const axis_map> map, const shape& extents, const place& at) {
  return make_view(node_ref::share(source), std::make_unique<attribute>(map), extents, at);
}

node_ref make_reshape(node* source, const shape& extents, const place& at) {
  if (source->extents == extents) return node_ref::share(source);
  if (source->extents.size() != extents.size())
    throw_shape_error(fmt::format("reshape: shape {} ({} elements) into {} ({} elements)", to_string(source->extents),
                                  source->extents.size(), to_string(extents), extents.size()),
                      at);
  if (runtime::buffer* values = source->values())
    return make_buffer_node(reference<runtime::buffer>::share(values), source->type, extents, at);
  axis_maps map;
  if (differs_by_unit_axes(source->extents, extents, map)) return make_view(source, map, extents, at);
  if (const node_ref base = pending_operand(source, op::reshape)) return make_reshape(base.get(), extents, at);
  return make_node(op::reshape, source->type, extents, {&source, 1}, at);
}

node_ref make_broadcast(node_ref source, const shape& extents, const place& at) {
  const shape& from = source->extents;
  if (from == extents) return source;
  shape common;
  if (!broadcast_into(from, extents, common) || common != extents)
    throw_shape_error(fmt::format("broadcast: shape {} does not broadcast to {}", to_string(from), to_string(extents)),
                      at);
  axis_maps map;
  const int added = extents.rank() - from.rank();
  for (int k = 0; k < from.rank(); ++k)
    map.push_back(from[k] == extents[k + added] ? axis_map{0, 1, k + added} : axis_map{});
  return make_view(source.get(), map, extents, at);
}

}  // namespace sinter::jit
