// The places that lanes of a nest keep to themselves: read before it, written back after it.
#include "jit/fold/nest_builder.hpp"

#include "jit/fold/nest_forms.hpp"
#include "jit/graph_internal.hpp"
#include "jit/loops.hpp"
#include "runtime/error.hpp"

namespace sinter::jit {

node_ref& nest_builder::cell(std::uint32_t k) {
  if (!cells_[k]) cells_[k] = first_of(nest_.cells()[k]);
  return cells_[k];
}

/// What the array held there before the nest; where a cell that moves has come to.
node_ref nest_builder::first_of(const nest_cell& c) {
  const node_ref& held = before_[static_cast<std::size_t>(c.slot)];
  if (held) return c.moves ? read_now(held, c) : read_at(held, c);
  return make_scalar(scalar(false), variable_of(c).type, site_);  // never read
}

/// What a cell that moves was `back` iterations before the first one, if anybody reads that.
node_ref nest_builder::before_first(const nest_cell& c, std::int32_t back) {
  const node_ref& held = before_[static_cast<std::size_t>(c.slot)];
  if (!held || back > c.back) return make_scalar(scalar(false), variable_of(c).type, site_);
  nest_cell there{c.slot, c.at};
  for (nest_form& f : there.at) {
    f.constant -= back * f.own.back();
    f.own.pop_back();
  }
  return read_at(held, there);
}

/// A node like the cell's variable.
const statement_node& nest_builder::variable_of(const nest_cell& c) const {
  for (const nest_statement& s : nest_.statements())
    if (s.write.slot == c.slot) return s.structure->nodes.back();
  throw_internal_error("a place that nothing writes");
}

/// Whether any statement writes the cell in a lane. Null: some do in each.
node_ref nest_builder::guard_of_cell(const nest_cell& c) {
  node_ref guard;
  for (const nest_statement& s : nest_.statements()) {
    if (&nest_.cells()[static_cast<std::size_t>(s.write.cell)] != &c) continue;
    const node_ref g = guard_of(s, nest_.lanes().rank(), guarded_part::cell);
    if (!g) return {};
    guard = guard ? apply(op::logical_or, guard, g) : g;
  }
  return guard;
}

/// The cell's places as views have them, lanes as axes; nothing when they aren't so simple, or when some lanes that
/// nothing is written for lie outside of the array.
std::optional<std::vector<axis_map>> nest_builder::region_of(const nest_cell& c, const shape& inside,
                                                             bool guarded) const {
  std::vector<axis_map> map;
  std::uint32_t used = 0;
  const shape over = nest_.extents_of(c);
  for (const nest_form& f : c.at) {
    axis_map m{f.constant, 0, -1};
    for (std::size_t a = 0; a < f.own.size(); ++a) {
      if (f.own[a] == 0) continue;
      if (m.axis >= 0 || (used >> a & 1u) != 0) return std::nullopt;
      used |= 1u << a;
      m = {f.constant, f.own[a], static_cast<std::int32_t>(a)};
    }
    if (f.column || turns(f)) return std::nullopt;
    if (guarded && !lies_inside(m, over, inside[static_cast<int>(map.size())])) return std::nullopt;
    map.push_back(m);
  }
  return map;
}

node_ref nest_builder::read_at(const node_ref& from, const nest_cell& c) {
  const shape& lanes = nest_.lanes();
  const node_ref guard = guard_of_cell(c);
  if (const auto map = region_of(c, from->extents, guard.get() != nullptr)) {
    shape extents;
    for (int a = 0; a < lanes.rank(); ++a)
      extents.append(std::ranges::any_of(*map, [a](const axis_map& m) { return m.axis == a; }) ? lanes[a] : 1);
    return make_view(from.get(), *map, extents, site_);
  }
  std::vector<node_ref> indices;
  for (const nest_form& f : c.at) indices.push_back(index(f, nullptr, lanes.rank(), 0, lanes));
  return read_by_indices(from, std::move(indices), guard);
}

/// Where a cell that moves has come to, in its loop.
node_ref nest_builder::read_now(const node_ref& from, const nest_cell& c) {
  const int rank = nest_.lanes().rank();
  const auto loop = static_cast<std::uint32_t>(nest_.recurrence() - nest_.loops().data());
  std::vector<node_ref> indices;
  for (nest_form f : c.at) {
    const std::int64_t step = f.own.back();
    f.own.pop_back();
    const node_ref first = index(f, nullptr, rank, 0, nest_.lanes());
    indices.push_back(step == 0 ? first : sum(first, times(counter_of(loop, rank), step)));
  }
  return read_by_indices(from, std::move(indices), {});
}

node_ref nest_builder::read_by_indices(const node_ref& from, std::vector<node_ref> indices, const node_ref& guard) {
  const shape& lanes = nest_.lanes();
  auto facts = std::make_unique<attribute>();
  for (std::int32_t k = 0; k < static_cast<std::int32_t>(indices.size()); ++k) facts->gather.push_back({-1, k + 1});
  keep_inside(indices, guard);
  indices[0] = spread(indices[0], lanes);
  std::vector<node*> operands{from.get()};
  for (const node_ref& i : indices) operands.push_back(i.get());
  return make_node(op::gather, from->type, lanes, operands, site_, std::move(facts));
}

void nest_builder::write_back() {
  for (std::size_t k = 0; k < cells_.size(); ++k)
    if (cells_[k]) store(nest_.cells()[k], cells_[k]);
}

void nest_builder::store(const nest_cell& c, const node_ref& value) {
  node_ref& held = variables_[static_cast<std::size_t>(c.slot)];
  const shape lanes = nest_.extents_of(c);
  node_ref whole = spread(value, lanes), guard = guard_of_cell(c);
  std::optional<std::vector<axis_map>> region = region_of(c, variable_of(c).extents, guard.get() != nullptr);
  std::vector<axis_map> axes(static_cast<std::size_t>(lanes.rank()));  // of the lanes, as the variable has them
  for (std::size_t k = 0; k < c.at.size() && region; ++k)
    if (const std::int32_t a = (*region)[k].axis; a >= 0)
      axes[static_cast<std::size_t>(a)] = {0, 1, static_cast<std::int32_t>(k)};
  for (int a = 0; a < lanes.rank() && region; ++a)  // lanes that write the same place are told apart by a scatter alone
    if (lanes[a] != 1 && axes[static_cast<std::size_t>(a)].axis < 0) region.reset();
  if (!held) {  // a variable that begins here
    SINTER_CHECK(region.has_value());
    held = make_view(whole.get(), axes, variable_of(c).extents, site_);
    return;
  }
  if (region && guard) {
    const node_ref old = spread(read_at(held, c), lanes);
    const input in[] = {{guard.get(), {}, site_}, {whole.get(), {}, site_}, {old.get(), {}, site_}};
    whole = record_choice(in, site_);
  }
  if (region) {
    held = make_update(held.get(), whole.get(), *region, site_);
    return;
  }
  auto facts = std::make_unique<attribute>();
  std::vector<node_ref> indices;
  for (const nest_form& f : c.at) {
    facts->gather.push_back({-1, static_cast<std::int32_t>(indices.size()) + 2});
    indices.push_back(index(f, nullptr, lanes.rank(), 0, lanes));
  }
  keep_inside(indices, guard);
  indices[0] = spread(indices[0], lanes);
  std::vector<node*> operands;
  for (const node_ref& i : indices) operands.push_back(i.get());
  if (guard) {  // lanes beyond a loop's own count write nothing
    guard = spread(guard, lanes);
    operands.push_back(guard.get());
    facts->conditional = true;
  }
  held = make_scatter(held.get(), whole.get(), operands, std::move(facts), site_);
}

}  // namespace sinter::jit
