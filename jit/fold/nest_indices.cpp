// Indices of a nest's statements, as arrays over its lanes, and operations that read at them.
#include "jit/fold/nest_builder.hpp"

#include "jit/fold/nest_forms.hpp"
#include "jit/graph_internal.hpp"
#include "jit/loops.hpp"
#include "runtime/backend.hpp"
#include "runtime/error.hpp"
#include "runtime/stream.hpp"

namespace sinter::jit {

node_ref nest_builder::number(std::int64_t x) const { return make_scalar(scalar(x), dtype::i64, site_); }

node_ref nest_builder::sum(node_ref a, const node_ref& b) const { return a ? apply(op::add, a, b) : b; }

node_ref nest_builder::times(const node_ref& a, std::int64_t factor) const {
  return factor == 1 ? a : apply(op::multiply, a, number(factor));
}

/// 0, 1, .. n - 1 along an axis of `rank`.
node_ref nest_builder::along(int axis, int rank, std::int64_t n) {
  const node_ref plain = make_node(op::iota, dtype::i64, shape{n}, {}, site_);
  shape to;
  for (int k = 0; k < rank; ++k) to.append(k == axis ? n : 1);
  const axis_map map[] = {{0, 1, axis}};
  return make_view(plain.get(), map, to, site_);
}

node_ref nest_builder::table(const table_column& column) {
  for (const auto& [known, n] : tables_)
    if (known == column.get()) return n;
  const std::size_t bytes = column->size() * sizeof(std::int64_t);
  reference<runtime::buffer> memory(runtime::make_buffer(where_, bytes));
  runtime::copy_from_host(*memory, column->data(), bytes);
  node_ref n = make_buffer_node(std::move(memory), dtype::i64, shape{static_cast<std::int64_t>(column->size())}, site_);
  tables_.push_back({column.get(), n});
  return n;
}

/// Numbers of a table that aren't all whole: [lanes], f64.
node_ref nest_builder::number_table(const nest_form& f, const nest_statement& s) {
  std::vector<double> numbers;
  for (const std::int64_t x : *f.column) numbers.push_back(number_of(f.constant + x));
  const std::size_t bytes = numbers.size() * sizeof(double);
  reference<runtime::buffer> memory(runtime::make_buffer(where_, bytes));
  runtime::copy_from_host(*memory, numbers.data(), bytes);
  const node_ref rows =
      make_buffer_node(std::move(memory), dtype::f64, shape{static_cast<std::int64_t>(numbers.size())}, site_);
  const node_ref row = f.column_outer >= 0
                           ? outer_counter(f.column_outer)
                           : counter_of(s.loops[static_cast<std::size_t>(f.column_loop)], nest_.loop_lanes(s));
  auto facts = std::make_unique<attribute>();
  facts->gather.push_back({-1, 1});
  node* operands[] = {rows.get(), row.get()};
  return make_node(op::gather, dtype::f64, row->extents, operands, site_, std::move(facts));
}

/// What a loop counts, over lanes: along its own lane, or the iteration that a loop inside them has come to.
node_ref nest_builder::counter_of(std::uint32_t loop, int rank) {
  const nest_loop& l = nest_.loops()[loop];
  if (l.lane >= 0) return along(l.lane, rank, nest_.lanes()[l.lane]);
  for (const open_loop& o : open_)
    if (o.loop == loop) return o.counter;
  throw_internal_error("a counter outside of its loop");
}

/// What the k-th of the outer loops that have a counter counts.
node_ref nest_builder::outer_counter(std::int32_t k) const {
  for (const outer_loop& o : nest_.around())
    if (o.counter && k-- == 0) return o.counter;
  throw_internal_error("a counter of no outer loop");
}

/// The form's values: i64, of `rank` axes. Lanes that are loops come first, own axes, of extents `own`, from first_own
/// on. Without a statement, the form's own axes are those of a cell.
node_ref nest_builder::index(const nest_form& f, const nest_statement* s, int rank, int first_own, const shape& own) {
  node_ref total;
  for (std::size_t k = 0, o = 0; k < nest_.around().size() && o < f.outer.size(); ++k) {
    if (!nest_.around()[k].counter) continue;
    if (f.outer[o] != 0) total = sum(total, times(nest_.around()[k].counter, f.outer[o]));
    ++o;
  }
  if (s)
    for (std::size_t l = 0; l < f.loops.size() && l < s->loops.size(); ++l)
      if (f.loops[l] != 0) total = sum(total, times(counter_of(s->loops[l], rank), f.loops[l]));
  for (std::size_t a = 0; a < f.own.size(); ++a) {
    if (f.own[a] == 0) continue;
    const int axis = first_own + static_cast<int>(a);
    total = sum(total, times(along(axis, rank, own[static_cast<int>(a)]), f.own[a]));
  }
  if (f.column) {
    const node_ref rows = table(f.column);
    node_ref row;
    if (f.column_outer >= 0) {
      row = outer_counter(f.column_outer);
    } else if (s) {
      row = counter_of(s->loops[static_cast<std::size_t>(f.column_loop)], rank);
    } else {
      row = along(f.column_loop, rank, nest_.lanes()[f.column_loop]);
    }
    auto facts = std::make_unique<attribute>();
    facts->gather.push_back({-1, 1});
    node* operands[] = {rows.get(), row.get()};
    total = sum(total, make_node(op::gather, dtype::i64, row->extents, operands, site_, std::move(facts)));
  }
  if (!total || f.constant != 0) total = sum(total, number(f.constant));
  return total;
}

// ---- operations that read ----

/// `source` seen through the statement's view n, whose offsets may move with lanes and loops.
lane_value nest_builder::viewed(const nest_statement& s, const statement_node& n, const lane_value& source,
                                std::span<const nest_form> offsets) {
  const int lanes = nest_.loop_lanes(s), own = n.extents.rank();
  const axis_maps& view = n.facts->view;
  shape extents;
  std::vector<axis_map> map(static_cast<std::size_t>(lanes));
  bool simple = true;
  std::uint32_t used = 0;
  for (int k = 0; k < lanes; ++k) {
    extents.append(source.value->extents[k]);
    map[static_cast<std::size_t>(k)] = {0, 1, k};
  }
  for (int k = 0; k < own; ++k) extents.append(n.extents[k]);
  for (std::size_t k = 0; k < view.size(); ++k) {
    axis_map m{offsets[k].constant, view[k].step, view[k].axis < 0 ? -1 : view[k].axis + lanes};
    if (moves(offsets[k])) {
      int axis = -1;
      std::int64_t step = 0;
      for (std::size_t l = 0; l < offsets[k].loops.size(); ++l) {
        if (offsets[k].loops[l] == 0) continue;
        const std::int32_t lane = nest_.loops()[s.loops[l]].lane;
        if (lane < 0 || axis >= 0) simple = false;
        axis = lane;
        step = offsets[k].loops[l];
      }
      simple &= !offsets[k].column && m.axis < 0 && axis >= 0 && !turns(offsets[k]);
      if (!simple) break;
      simple = (used >> axis & 1u) == 0 && source.value->extents[axis] == 1;
      used |= 1u << axis;
      m = {offsets[k].constant, step, axis};
      extents[axis] = nest_.lanes()[axis];
      map[static_cast<std::size_t>(axis)] = {};  // the source doesn't move along this lane
    }
    map.push_back(m);
  }
  const node_ref guard = guard_of(s, lanes + own, guarded_part::read);
  for (std::size_t k = 0; k < view.size() && simple && guard; ++k)
    simple = lies_inside(map[k + static_cast<std::size_t>(lanes)], extents,
                         source.value->extents[lanes + static_cast<int>(k)]);
  if (simple) return {make_view(source.value.get(), map, extents, n.site), own};
  // Every axis of the source by an index of its own.
  auto facts = std::make_unique<attribute>();
  std::vector<node_ref> indices;
  const int rank = lanes + own;
  for (int k = 0; k < lanes; ++k) {
    facts->gather.push_back({-1, static_cast<std::int32_t>(indices.size()) + 1});
    const std::int64_t e = source.value->extents[k];
    indices.push_back(e == 1 ? number(0) : along(k, rank, e));
  }
  for (std::size_t k = 0; k < view.size(); ++k) {
    nest_form f = offsets[k];
    f.own.assign(static_cast<std::size_t>(own), 0);
    if (view[k].axis >= 0) f.own[static_cast<std::size_t>(view[k].axis)] = view[k].step;
    facts->gather.push_back({-1, static_cast<std::int32_t>(indices.size()) + 1});
    indices.push_back(index(f, &s, rank, lanes, n.extents));
  }
  keep_inside(indices, guard);
  // The common shape of the indices has to have all axes.
  shape whole;
  for (int k = 0; k < rank; ++k) whole.append(1);
  for (const node_ref& i : indices) {
    shape joined;
    SINTER_CHECK(broadcast_into(whole, i->extents, joined));
    whole = joined;
  }
  for (int k = 0; k < own; ++k) whole[lanes + k] = n.extents[k];
  if (indices.empty()) return {make_broadcast(source.value.get(), whole, n.site), own};
  indices[0] = make_broadcast(indices[0].get(), whole, n.site);
  std::vector<node*> operands{source.value.get()};
  for (const node_ref& i : indices) operands.push_back(i.get());
  return {make_node(op::gather, n.type, whole, operands, n.site, std::move(facts)), own};
}

/// Operations that know axes: the lanes come in front.
lane_value nest_builder::moved(const nest_statement& s, const statement_node& n) {
  const int lanes = nest_.loop_lanes(s), own = n.extents.rank();
  std::vector<lane_value> values;
  shape extents;
  for (int k = 0; k < lanes; ++k) extents.append(1);
  for (const std::uint32_t o : s.structure->operands_of(n)) {
    values.push_back(value_of(s, o));
    for (int k = 0; k < lanes; ++k) extents[k] = std::max(extents[k], values.back().value->extents[k]);
  }
  for (int k = 0; k < own; ++k) extents.append(n.extents[k]);
  if (n.code == op::iota) {
    node_ref plain = make_node(op::iota, n.type, n.extents, {}, n.site);
    return {with_axes(plain, 0, own, own + lanes), own};
  }
  std::vector<node_ref> held;
  std::vector<node*> operands;
  for (const lane_value& v : values) {
    shape wanted = v.value->extents;
    for (int k = 0; k < lanes; ++k) wanted[k] = extents[k];
    held.push_back(make_broadcast(v.value.get(), wanted, n.site));
  }
  for (const node_ref& h : held) operands.push_back(h.get());
  if (n.code == op::reshape) return {make_reshape(operands[0], extents, n.site), own};
  auto facts = std::make_unique<attribute>(*n.facts);
  facts->axis += lanes;
  facts->reduced <<= lanes;
  if (n.code == op::join) return {make_join(operands, facts->axis, n.site), own};
  return {make_node(n.code, n.type, extents, operands, n.site, std::move(facts)), own};
}

/// A gather with all axes of its source indexed: those that were slices by their own positions.
lane_value nest_builder::gathered(const nest_statement& s, const statement_node& n) {
  const int lanes = nest_.loop_lanes(s), own = n.extents.rank(), rank = lanes + own;
  const std::span<const std::uint32_t> operands = s.structure->operands_of(n);
  const lane_value source = value_of(s, operands[0]);
  int index_rank = 0;
  for (const gather_axis& g : n.facts->gather)
    if (g.axis < 0)
      index_rank =
          std::max(index_rank, s.structure->nodes[operands[static_cast<std::size_t>(g.operand)]].extents.rank());
  auto facts = std::make_unique<attribute>();
  std::vector<node_ref> indices;
  const auto add = [&](node_ref i) {
    facts->gather.push_back({-1, static_cast<std::int32_t>(indices.size()) + 1});
    indices.push_back(std::move(i));
  };
  for (int k = 0; k < lanes; ++k)
    add(source.value->extents[k] == 1 ? number(0) : along(k, rank, source.value->extents[k]));
  for (const gather_axis& g : n.facts->gather) {
    if (g.axis >= 0) {
      add(along(lanes + g.axis, rank, n.extents[g.axis]));
      continue;
    }
    const lane_value i = value_of(s, operands[static_cast<std::size_t>(g.operand)]);
    // Its own axes lie at first_axis .. first_axis + index_rank of the result's, right-aligned.
    shape to;
    std::vector<axis_map> map;
    for (int k = 0; k < rank; ++k) to.append(1);
    const int at = lanes + n.facts->first_axis + index_rank - i.own;
    for (int k = 0; k < lanes + i.own; ++k) {
      const int axis = k < lanes ? k : at + k - lanes;
      to[axis] = i.value->extents[k];
      map.push_back({0, 1, axis});
    }
    add(make_view(i.value.get(), map, to, n.site));
  }
  keep_inside(indices, guard_of(s, rank, guarded_part::read));
  shape whole;
  for (int k = 0; k < rank; ++k) whole.append(k < lanes ? 1 : n.extents[k - lanes]);
  for (const node_ref& i : indices) {
    shape joined;
    SINTER_CHECK(broadcast_into(whole, i->extents, joined));
    whole = joined;
  }
  indices[0] = make_broadcast(indices[0].get(), whole, n.site);
  std::vector<node*> all{source.value.get()};
  for (const node_ref& i : indices) all.push_back(i.get());
  return {make_node(op::gather, n.type, whole, all, n.site, std::move(facts)), own};
}

}  // namespace sinter::jit
