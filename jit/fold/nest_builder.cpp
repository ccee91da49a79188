#include "jit/fold/nest_builder.hpp"

#include "jit/graph_internal.hpp"
#include "jit/loops.hpp"
#include "jit/typing.hpp"
#include "runtime/backend.hpp"
#include "runtime/error.hpp"

#include <algorithm>
#include <cstring>

namespace sinter::jit {

namespace {

node_ref apply(op code, const node_ref& a, const node_ref& b, const place& at) {
  const input both[] = {{a.get(), {}, at}, {b.get(), {}, at}};
  return record(code, both, at);
}

bool moves(const nest_form& f) {
  return f.column || std::ranges::any_of(f.outer, [](std::int64_t c) { return c != 0; }) ||
         std::ranges::any_of(f.loops, [](std::int64_t c) { return c != 0; }) ||
         std::ranges::any_of(f.own, [](std::int64_t c) { return c != 0; });
}

/// Whether it changes with loops around the nest.
bool turns(const nest_form& f) {
  return std::ranges::any_of(f.outer, [](std::int64_t c) { return c != 0; });
}

scalar whole_scalar(std::int64_t x) { return scalar(x); }

/// Whether the places that m maps positions along its axis of `from` to all lie inside of an axis of n elements.
bool lies_inside(const axis_map& m, const shape& from, std::int64_t n) {
  const std::int64_t last = m.offset + (m.axis < 0 ? 0 : m.step * (from[m.axis] - 1));
  return std::min(m.offset, last) >= 0 && std::max(m.offset, last) < n;
}

}  // namespace

nest_builder::nest_builder(const loop_nest_analysis& nest, std::vector<node_ref>& variables, runtime::device& where)
    : nest_(nest), variables_(variables), before_(variables), where_(where), cells_(nest.cells().size()) {
  if (!nest.statements().empty()) site_ = nest.statements()[0].structure->nodes.back().site;
}

void nest_builder::run(const trace_item& item) {
  enter(item);
  write_back();
}

// ---- control ----

void nest_builder::enter(const trace_item& item) {
  if (!item.is_loop()) return assign(nest_.statements()[nest_.statement_of(item)]);
  const nest_loop& l = nest_.loops()[nest_.loop_of(item)];
  if (l.most == 0) return;
  if (l.lane >= 0) return run_inside(item);
  iterate(item);
}

void nest_builder::run_inside(const trace_item& item) {
  for (const trace_item& inner : item.body) enter(inner);
}

/// A loop inside each lane carries the cells that are written in it.
void nest_builder::iterate(const trace_item& item) {
  const std::uint32_t number = nest_.loop_of(item);
  const nest_loop& l = nest_.loops()[number];
  std::vector<std::uint32_t> carried;
  for (const nest_statement& s : nest_.statements())
    if (std::ranges::find(s.loops, number) != s.loops.end() &&
        std::ranges::find(carried, static_cast<std::uint32_t>(s.write.cell)) == carried.end())
      carried.push_back(static_cast<std::uint32_t>(s.write.cell));
  std::vector<node_ref> first;
  std::vector<node*> states;
  for (const std::uint32_t c : carried) first.push_back(spread(cell(c), nest_.lanes()));
  for (const node_ref& n : first) states.push_back(n.get());
  const std::shared_ptr<loop_body> body = begin_loop(states, "loop", site_);
  body->count = l.most;
  for (std::size_t k = 0; k < carried.size(); ++k) cells_[carried[k]] = body->states[k];
  open_.push_back({number, body->counter});
  if (moves(l.count)) {
    nest_statement outside{};  // the loops around, as a statement sees them
    outside.loops = l.around;
    body->condition = apply(op::less, body->counter, index(l.count, &outside, nest_.lanes().rank(), 0, {}), site_);
  }
  run_inside(item);
  open_.pop_back();
  for (const std::uint32_t c : carried) body->next.push_back(cells_[c]);
  const std::vector<node_ref> after = record_loop(body, states, "loop", site_);
  for (std::size_t k = 0; k < carried.size(); ++k) cells_[carried[k]] = after[k];
}

void nest_builder::assign(const nest_statement& s) {
  const statement_structure& t = *s.structure;
  values_.assign(t.nodes.size(), {});
  site_ = t.nodes.back().site;
  const std::uint32_t what =
      t.updates() ? t.operands_of(t.nodes.back())[1] : static_cast<std::uint32_t>(t.nodes.size() - 1);
  const lane_value v = value_of(s, what);
  node_ref fresh = with_axes(v.value, nest_.loop_lanes(s), v.own, s.own.rank());
  if (const node_ref guard = guard_of(s, nest_.lanes().rank(), guarded_part::assignment)) {
    const node_ref old = cell(static_cast<std::uint32_t>(s.write.cell));
    const input in[] = {{guard.get(), {}, site_}, {fresh.get(), {}, site_}, {old.get(), {}, site_}};
    fresh = record_choice(in, site_);
  }
  cells_[static_cast<std::size_t>(s.write.cell)] = fresh;
}

/// Whether the statement runs in a lane: loops that are lanes run to their maximum, others may have no iterations. Null:
/// always.
node_ref nest_builder::guard_of(const nest_statement& s, int rank, guarded_part what) {
  node_ref guard;
  for (const std::uint32_t loop : s.loops) {
    const nest_loop& l = nest_.loops()[loop];
    if (!moves(l.count)) continue;
    if (what == guarded_part::assignment && l.lane < 0) continue;
    if (what == guarded_part::cell && !nest_.is_known_outside(l)) continue;
    nest_statement outside{};
    outside.loops = l.around;
    const node_ref here = l.lane >= 0 ? along(l.lane, rank, nest_.lanes()[l.lane]) : number(0);
    const node_ref in = apply(op::less, here, index(l.count, &outside, rank, 0, {}), site_);
    guard = guard ? apply(op::logical_and, guard, in, site_) : in;
  }
  return guard;
}

/// An index of its own for every axis of a source, in lanes that do not run at all one that is there.
void nest_builder::keep_inside(std::vector<node_ref>& indices, const node_ref& guard) const {
  if (!guard) return;
  const node_ref zero = number(0);
  for (node_ref& i : indices) {
    const input in[] = {{guard.get(), {}, site_}, {i.get(), {}, site_}, {zero.get(), {}, site_}};
    i = record_choice(in, site_);
  }
}

// ---- values ----

const nest_access* nest_builder::read_of(const nest_statement& s, std::uint32_t node) const {
  for (const nest_access& r : s.reads)
    if (r.node == node) return &r;
  return nullptr;
}

lane_value nest_builder::value_of(const nest_statement& s, std::uint32_t node) {
  if (!values_[node].value) {
    lane_value v = compute(s, node);
    values_[node] = std::move(v);
  }
  return values_[node];
}

lane_value nest_builder::compute(const nest_statement& s, std::uint32_t node) {
  const statement_node& n = s.structure->nodes[node];
  if (const nest_access* r = read_of(s, node); r && r->cell >= 0)
    return cell_as(s, n, cell(static_cast<std::uint32_t>(r->cell)));
  if (n.is_variable) return variable(s, node);
  switch (n.code) {
    case op::scalar:
      return scalar_value(s, n);
    case op::view: {
      const std::uint32_t from = s.structure->operands_of(n)[0];
      const std::span offsets(s.numbers.data() + n.parameter, n.facts->view.size());
      return viewed(s, n, value_of(s, from), offsets);
    }
    case op::gather:
      return gathered(s, n);
    default:
      break;
  }
  if (is_elementwise(n.code) || n.code == op::call || n.code == op::result) return elementwise(s, n);
  return moved(s, n);
}

/// A cell's value with as many own axes as the node has: those that only one of them has are of extent 1.
lane_value nest_builder::cell_as(const nest_statement& s, const statement_node& n, const node_ref& value) const {
  const int lanes = nest_.loop_lanes(s), added = n.extents.rank() - s.own.rank();
  if (added == 0 || value->extents.rank() == 0) return {value, s.own.rank()};
  const shape& from = value->extents;
  shape to;
  for (int k = 0; k < lanes; ++k) to.append(from[k]);
  for (int k = 0; k < n.extents.rank(); ++k) to.append(k < added ? 1 : from[lanes + k - added]);
  std::vector<axis_map> map;
  for (int k = 0; k < from.rank(); ++k) {
    if (k < lanes) map.push_back({0, 1, k});
    else map.push_back(k + added < lanes ? axis_map{} : axis_map{0, 1, k + added});
  }
  return {make_view(value.get(), map, to, site_), n.extents.rank()};
}

lane_value nest_builder::variable(const nest_statement& s, std::uint32_t node) {
  const statement_node& n = s.structure->nodes[node];
  const auto slot = static_cast<std::size_t>(s.numbers[n.parameter].constant);
  const node_ref& held = before_[slot];
  SINTER_CHECK(held.get() != nullptr);
  return {with_axes(held, 0, n.extents.rank(), n.extents.rank() + nest_.loop_lanes(s)), n.extents.rank()};
}

/// Axes of extent 1 between the lanes and a node's own axes, as many as other operands have more own axes.
node_ref nest_builder::with_axes(const node_ref& x, int leading, int own, int wanted_own) const {
  if (own == wanted_own) return x;
  const shape& from = x->extents;
  shape to;
  std::vector<axis_map> map;
  for (int k = 0; k < leading; ++k) to.append(from[k]);
  for (int k = own; k < wanted_own; ++k) to.append(1);
  for (int k = leading; k < from.rank(); ++k) to.append(from[k]);
  for (int k = 0; k < from.rank(); ++k) map.push_back({0, 1, k < leading ? k : k + wanted_own - own});
  return make_view(x.get(), map, to, site_);
}

node_ref nest_builder::spread(const node_ref& x, const shape& to) const { return make_broadcast(x.get(), to, site_); }

lane_value nest_builder::elementwise(const nest_statement& s, const statement_node& n) {
  const int lanes = nest_.loop_lanes(s);
  std::vector<lane_value> values;
  int own = 0;
  for (const std::uint32_t o : s.structure->operands_of(n)) {
    values.push_back(value_of(s, o));
    own = std::max(own, values.back().own);
  }
  std::vector<node_ref> held;
  std::vector<node*> operands;
  shape extents;
  for (const lane_value& v : values) {
    held.push_back(with_axes(v.value, lanes, v.own, own));
    shape joined;
    if (held.size() == 1) joined = held[0]->extents;
    else SINTER_CHECK(broadcast_into(extents, held.back()->extents, joined));
    extents = joined;
  }
  if (held.empty())  // a call of nothing
    for (int k = 0; k < lanes + n.extents.rank(); ++k) extents.append(k < lanes ? 1 : n.extents[k - lanes]);
  for (const node_ref& h : held) operands.push_back(h.get());
  auto facts = n.facts ? std::make_unique<attribute>(*n.facts) : nullptr;
  return {make_node(n.code, n.type, extents, operands, n.site, std::move(facts)), own};
}

/// A number that may change with the loops.
lane_value nest_builder::scalar_value(const nest_statement& s, const statement_node& n) {
  const bool is_real_number = kind_of(n.type) == kind::real;
  const nest_form& f = s.numbers[n.parameter];
  if (!moves(f)) {
    scalar x;
    switch (kind_of(n.type)) {
      case kind::real:
        x = scalar(number_of(f.constant));
        break;
      case kind::complex:
        x = scalar(complex128{number_of(f.constant), number_of(s.numbers[n.parameter + 1].constant)});
        break;
      case kind::truth:
        x = scalar(f.constant != 0);
        break;
      default:
        x = n.type == dtype::u64 ? scalar(static_cast<std::uint64_t>(f.constant)) : scalar(f.constant);
        break;
    }
    const int lanes = nest_.loop_lanes(s);
    shape ones;
    for (int k = 0; k < lanes; ++k) ones.append(1);
    return {make_broadcast(make_scalar(x, n.type, n.site).get(), ones, n.site), 0};
  }
  SINTER_CHECK(is_real_number || is_integer(n.type));
  if (is_real_number && f.column) return {make_convert(number_table(f, s).get(), n.type, n.site), 0};
  return {make_convert(index(f, &s, nest_.loop_lanes(s), 0, {}).get(), n.type, n.site), 0};
}

/// `source` seen through the statement's view n, whose offsets may move with lanes and loops.
lane_value nest_builder::viewed(const nest_statement& s, const statement_node& n, const lane_value& source,
                                std::span<const nest_form> offsets) {
  const int lanes = nest_.loop_lanes(s), own = n.extents.rank();
  const std::vector<axis_map>& view = n.facts->view;
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

// ---- indices ----

node_ref nest_builder::number(std::int64_t x) const { return make_scalar(whole_scalar(x), dtype::i64, site_); }

node_ref nest_builder::sum(node_ref a, const node_ref& b) const { return a ? apply(op::add, a, b, site_) : b; }

node_ref nest_builder::times(const node_ref& a, std::int64_t factor) const {
  return factor == 1 ? a : apply(op::multiply, a, number(factor), site_);
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
  if (bytes > 0) where_.copy_from_host(memory->data, column->data(), bytes);
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
  if (bytes > 0) where_.copy_from_host(memory->data, numbers.data(), bytes);
  const node_ref rows =
      make_buffer_node(std::move(memory), dtype::f64, shape{static_cast<std::int64_t>(numbers.size())}, site_);
  nest_form counter;
  counter.loops.assign(s.loops.size(), 0);
  counter.loops[static_cast<std::size_t>(f.column_loop)] = 1;
  const node_ref row = index(counter, &s, nest_.loop_lanes(s), 0, {});
  auto facts = std::make_unique<attribute>();
  facts->gather.push_back({-1, 1});
  node* operands[] = {rows.get(), row.get()};
  return make_node(op::gather, dtype::f64, row->extents, operands, site_, std::move(facts));
}

/// The form's values: i64, of `rank` axes. Lanes that are loops come first, own axes from first_own on. Without a
/// statement, the form's own axes are lanes.
node_ref nest_builder::index(const nest_form& f, const nest_statement* s, int rank, int first_own, const shape& own) {
  node_ref total;
  const auto counter_of = [&](std::uint32_t loop) -> node_ref {
    const nest_loop& l = nest_.loops()[loop];
    if (l.lane >= 0) return along(l.lane, rank, nest_.lanes()[l.lane]);
    for (const open_loop& o : open_)
      if (o.loop == loop) return o.counter;
    throw_internal_error("a counter outside of its loop");
  };
  for (std::size_t k = 0, o = 0; k < nest_.around().size() && o < f.outer.size(); ++k) {
    if (!nest_.around()[k].counter) continue;
    if (f.outer[o] != 0) total = sum(total, times(nest_.around()[k].counter, f.outer[o]));
    ++o;
  }
  if (s)
    for (std::size_t l = 0; l < f.loops.size() && l < s->loops.size(); ++l)
      if (f.loops[l] != 0) total = sum(total, times(counter_of(s->loops[l]), f.loops[l]));
  for (std::size_t a = 0; a < f.own.size(); ++a) {
    if (f.own[a] == 0) continue;
    const int axis = first_own + static_cast<int>(a);
    const std::int64_t n = s ? own[static_cast<int>(a)] : nest_.lanes()[static_cast<int>(a)];
    total = sum(total, times(along(axis, rank, n), f.own[a]));
  }
  if (f.column) {
    const node_ref rows = table(f.column);
    node_ref row;
    if (s) {
      row = counter_of(s->loops[static_cast<std::size_t>(f.column_loop)]);
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

// ---- cells ----

node_ref& nest_builder::cell(std::uint32_t k) {
  if (!cells_[k]) cells_[k] = first_of(nest_.cells()[k]);
  return cells_[k];
}

/// What the array held there before the nest.
node_ref nest_builder::first_of(const nest_cell& c) {
  const node_ref& held = before_[static_cast<std::size_t>(c.slot)];
  if (held) return read_at(held, c);
  return make_scalar(scalar(false), variable_of(c).type, site_);  // never read
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
    guard = guard ? apply(op::logical_or, guard, g, site_) : g;
  }
  return guard;
}

/// The cell's places as views have them, lanes as axes; nothing when they aren't so simple, or when some lanes that nothing
/// is written for lie outside of the array.
std::optional<std::vector<axis_map>> nest_builder::region_of(const nest_cell& c, const shape& inside,
                                                             bool guarded) const {
  std::vector<axis_map> map;
  std::uint32_t used = 0;
  for (const nest_form& f : c.at) {
    axis_map m{f.constant, 0, -1};
    for (std::size_t a = 0; a < f.own.size(); ++a) {
      if (f.own[a] == 0) continue;
      if (m.axis >= 0 || (used >> a & 1u) != 0) return std::nullopt;
      used |= 1u << a;
      m = {f.constant, f.own[a], static_cast<std::int32_t>(a)};
    }
    if (f.column || turns(f)) return std::nullopt;
    if (guarded && !lies_inside(m, nest_.lanes(), inside[static_cast<int>(map.size())])) return std::nullopt;
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
  auto facts = std::make_unique<attribute>();
  std::vector<node_ref> indices;
  for (const nest_form& f : c.at) {
    facts->gather.push_back({-1, static_cast<std::int32_t>(indices.size()) + 1});
    indices.push_back(index(f, nullptr, lanes.rank(), 0, {}));
  }
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
  const shape& lanes = nest_.lanes();
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
    indices.push_back(index(f, nullptr, lanes.rank(), 0, {}));
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
