// Arrays made of others by place: updates (a region replaced), scatters (values written at computed indices), joins.
#include "jit/graph_internal.hpp"
#include "jit/region.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sinter::jit {

namespace {

// An update looks this far down for older ones it covers: enough for the columns and borders of one statement group.
constexpr int most_updates_looked_at = 16;
// More pieces than this are joined in two levels, so that no kernel has to choose between all of them.
constexpr std::size_t most_pieces = 32;

/// Whether `region` takes in all of `base`; then every base axis longer than 1 is moved by a values axis in full.
bool covers(std::span<const axis_map> region, const shape& values, const shape& base) {
  for (int k = 0; k < base.rank(); ++k)
    if (taken(region[static_cast<std::size_t>(k)], values).count != base[k]) return false;
  return true;
}

/// The view of `values` that has each in its place, when they replace the whole of `base`.
node_ref in_place_of_all(node* base, node* values, std::span<const axis_map> region, const place& at) {
  axis_maps map(static_cast<std::size_t>(values->extents.rank()));
  for (std::size_t k = 0; k < region.size(); ++k)
    if (const axis_map& r = region[k]; r.axis >= 0)
      map[static_cast<std::size_t>(r.axis)] = {-r.offset / r.step, r.step, static_cast<std::int32_t>(k)};
  return make_view(values, map, base->extents, at);
}

/// A constant that replaces all of an array stays on the array's device.
node_ref on_device_of(const node* base, node_ref values, const place& at) {
  if (owner_of(values.get()) || !owner_of(base)) return values;
  auto facts = std::make_unique<attribute>();
  for (int k = 0; k < base->extents.rank(); ++k) facts->view.push_back({0, 1, k});
  normalize(facts->view, base->extents);
  node* operand = values.get();
  node_ref held = make_node(op::view, values->type, values->extents, {&operand, 1}, at, std::move(facts));
  held->owner = owner_of(base);
  return held;
}

/// `base` with all of its elements replaced.
node_ref replaced(node* base, node* values, std::span<const axis_map> region, const place& at) {
  node* both[] = {base, values};
  static_cast<void>(common_owner(op::update, both, at));
  return on_device_of(base, in_place_of_all(base, values, region, at), at);
}

struct older_update {
  node_ref update, values;
  bool covered;
};

/// The latest updates of `base`, newest first, down to the last that a write to `region` covers; `below`: under them.
std::vector<older_update> updates_down_to_covered(node* base, std::span<const axis_map> region, const shape& extents,
                                                  node_ref& below) {
  std::vector<older_update> newer;
  if (base->code != op::update) return newer;
  const auto operands_held = hold_operands();
  const auto is_covered = [&](const node* u, const node* values) {
    return contains(region, extents, u->facts->view, values->extents);
  };
  int count = 0, looked = 0;
  for (const node* u = base; looked < most_updates_looked_at && !u->is_statement; ++looked) {
    const auto both = held_operands(u, op::update);
    if (both.empty()) break;
    if (is_covered(u, both[1])) count = looked + 1;
    u = both[0];
  }
  for (node* u = base; count > 0; --count) {
    const auto both = u->operands();
    newer.push_back({node_ref::share(u), node_ref::share(both[1]), is_covered(u, both[1])});
    u = both[0];
    if (count == 1) below = node_ref::share(u);
  }
  return newer;
}

/// `base` without those of its latest updates that a write to `region` covers: their values would never be read.
node_ref without_covered(node* base, std::span<const axis_map> region, const shape& extents) {
  node_ref at;
  const std::vector<older_update> newer = updates_down_to_covered(base, region, extents, at);
  if (newer.empty()) return node_ref::share(base);
  for (std::size_t k = newer.size(); k-- > 0;) {
    const older_update& u = newer[k];
    if (u.covered) continue;
    auto facts = std::make_unique<attribute>();
    facts->view = u.update->facts->view;
    node* operands[] = {at.get(), u.values.get()};
    at = make_node(op::update, at->type, at->extents, operands, u.update->site, std::move(facts));
  }
  return at;
}

void check_region(std::span<const axis_map> region, const shape& base, const shape& values) {
  SINTER_CHECK(static_cast<int>(region.size()) == base.rank());
  std::uint32_t moving = 0;
  for (int k = 0; k < base.rank(); ++k) {
    const axis_map& m = region[static_cast<std::size_t>(k)];
    const progression p = taken(m, values);
    SINTER_CHECK(m.axis < values.rank() && p.first >= 0 && p.last() < base[k]);
    if (p.count == 1) continue;
    SINTER_CHECK((moving >> m.axis & 1) == 0);
    moving |= std::uint32_t{1} << m.axis;
  }
  for (int k = 0; k < values.rank(); ++k) SINTER_CHECK(values[k] == 1 || (moving >> k & 1));
}

/// Whether a write of one value goes to one element of several: a checked region in normal form, that doesn't cover.
bool is_element(std::span<const axis_map> region, const shape& base, const shape& values) {
  if (values.rank() != 0 || static_cast<int>(region.size()) != base.rank()) return false;
  bool several = false;
  for (int k = 0; k < base.rank(); ++k) {
    const axis_map& m = region[static_cast<std::size_t>(k)];
    if (m.axis != -1 || m.step != 0 || m.offset < 0 || m.offset >= base[k]) return false;
    several |= base[k] > 1;
  }
  return several;
}

node_ref join_few(std::span<node* const> pieces, int axis, const place& at) {
  if (pieces.size() == 1) return node_ref::share(pieces[0]);
  shape extents = pieces[0]->extents;
  extents[axis] = 0;
  for (const node* p : pieces) extents[axis] += p->extents[axis];
  auto facts = std::make_unique<attribute>();
  facts->axis = axis;
  return make_node(op::join, pieces[0]->type, extents, pieces, at, std::move(facts));
}

/// The pieces of `n` when it is a pending join along `axis`, else itself.
void append_pieces(node* n, int axis, std::vector<node_ref>& pieces) {
  if (n->code == op::join && n->facts->axis == axis) {
    std::vector<node_ref> own = pending_operands(n, op::join);
    if (!own.empty()) return static_cast<void>(std::ranges::move(own, std::back_inserter(pieces)));
  }
  pieces.push_back(node_ref::share(n));
}

}  // namespace

node_ref make_update(node* base, node_ref values, std::unique_ptr<attribute> facts, const place& at) {
  SINTER_CHECK(base->type == values->type);
  if (values->extents.size() == 0) return node_ref::share(base);
  normalize(facts->view, values->extents);
  check_region(facts->view, base->extents, values->extents);
  if (covers(facts->view, values->extents, base->extents)) return replaced(base, values.get(), facts->view, at);
  node_ref below = without_covered(base, facts->view, values->extents);
  node_ref n = new_node(op::update, base->type, base->extents, at, std::move(facts));
  add_operand(*n, std::move(below));
  add_operand(*n, std::move(values));
  return record_node(std::move(n));
}

node_ref make_statement(node* base, node_ref values, std::unique_ptr<attribute> facts, const place& at) {
  SINTER_CHECK(base->type == values->type);
  if (!is_element(facts->view, base->extents, values->extents)) {
    if (values->extents.size() == 0) return node_ref::share(base);
    normalize(facts->view, values->extents);
    check_region(facts->view, base->extents, values->extents);
    if (covers(facts->view, values->extents, base->extents)) return replaced(base, values.get(), facts->view, at);
  }
  node_ref n = new_node(op::update, base->type, base->extents, at, std::move(facts));
  add_operand(*n, node_ref::share(base));
  add_operand(*n, std::move(values));
  enter(*n);
  n->is_statement = n->has_statements = true;
  return n;
}

node_ref make_scatter(node* base, node* values, std::span<node* const> indices, std::unique_ptr<attribute> facts,
                      const place& at) {
  SINTER_CHECK(static_cast<int>(facts->gather.size()) == base->extents.rank());
  SINTER_CHECK(base->type == values->type || facts->combine != op::buffer);
  if (values->extents.size() == 0) return node_ref::share(base);
  std::vector<node*> operands{base, values};
  operands.insert(operands.end(), indices.begin(), indices.end());
  if (facts->conditional) SINTER_CHECK(operands.back()->type == boolean && operands.back()->extents == values->extents);
  return make_node(op::scatter, base->type, base->extents, operands, at, std::move(facts));
}

node_ref make_join(std::span<node* const> pieces, int axis, const place& at) {
  SINTER_CHECK(!pieces.empty());
  std::vector<node_ref> flat;
  for (node* p : pieces) append_pieces(p, axis, flat);
  if (flat.size() > most_pieces) {
    flat.clear();
    for (node* p : pieces) flat.push_back(node_ref::share(p));
  }
  while (flat.size() > most_pieces) {
    std::vector<node_ref> joined;
    for (std::size_t k = 0; k < flat.size(); k += most_pieces) {
      std::vector<node*> some;
      for (std::size_t j = k; j < std::min(k + most_pieces, flat.size()); ++j) some.push_back(flat[j].get());
      joined.push_back(join_few(some, axis, at));
    }
    flat = std::move(joined);
  }
  std::vector<node*> all;
  for (const node_ref& p : flat) all.push_back(p.get());
  return join_few(all, axis, at);
}

}  // namespace sinter::jit
