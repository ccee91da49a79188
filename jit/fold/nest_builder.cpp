#include "jit/fold/nest_builder.hpp"

#include "jit/fold/nest_forms.hpp"
#include "jit/fold/trace_recorder.hpp"
#include "jit/graph_internal.hpp"
#include "jit/loops.hpp"
#include "jit/typing.hpp"
#include "runtime/error.hpp"

namespace sinter::jit {

nest_builder::nest_builder(const loop_nest_analysis& nest, std::vector<node_ref>& variables, runtime::device& where)
    : nest_(nest),
      variables_(variables),
      before_(variables),
      where_(where),
      cells_(nest.cells().size()),
      earlier_(nest.cells().size()) {
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

/// The states of a loop: cells that are written in it, and of those that move what they were in iterations before.
struct nest_builder::carried_states {
  std::uint32_t loop;
  std::vector<std::uint32_t> cells;
  std::vector<node_ref> first;
  std::shared_ptr<loop_body> body;

  /// How many states a cell has: of one that moves, at least what it was in the last iteration, which its trail is of.
  static std::size_t states_of(const nest_cell& c) {
    return c.moves ? static_cast<std::size_t>(std::max(c.back, 1)) : 1;
  }
};

/// A loop inside each lane carries the cells that are written in it.
void nest_builder::iterate(const trace_item& item) {
  carried_states c{nest_.loop_of(item), {}, {}, {}};
  const nest_loop& l = nest_.loops()[c.loop];
  for (const nest_statement& s : nest_.statements())
    if (std::ranges::find(s.loops, c.loop) != s.loops.end() &&
        std::ranges::find(c.cells, static_cast<std::uint32_t>(s.write.cell)) == c.cells.end())
      c.cells.push_back(static_cast<std::uint32_t>(s.write.cell));
  if (c.cells.empty()) return;  // loops in it have no iterations
  begin_states(c);
  c.body->count = l.most;
  open_.push_back({c.loop, c.body->counter});
  {
    const unfinished_values states_until_then;
    if (moves(l.count)) {
      nest_statement outside{};  // the loops around, as a statement sees them
      outside.loops = l.around;
      c.body->condition = apply(op::less, c.body->counter, index(l.count, &outside, nest_.lanes().rank(), 0, {}));
    }
    run_inside(item);
  }
  open_.pop_back();
  const bool recurs = &l == nest_.recurrence();
  for (const std::uint32_t k : c.cells) {
    c.body->next.push_back(cells_[k]);
    if (!recurs || !nest_.cells()[k].moves) continue;
    const std::vector<node_ref>& earlier = earlier_[k];
    c.body->next.insert(c.body->next.end(), earlier.begin(), earlier.end() - 1);
  }
  std::vector<node*> states;
  for (const node_ref& n : c.first) states.push_back(n.get());
  after_states(c, record_loop(c.body, states, "loop", site_));
}

void nest_builder::begin_states(carried_states& c) {
  const bool recurs = &nest_.loops()[c.loop] == nest_.recurrence();
  const auto of = [&](std::uint32_t k) {
    return recurs ? carried_states::states_of(nest_.cells()[k]) : std::size_t{1};
  };
  for (const std::uint32_t k : c.cells)
    for (std::size_t s = 0; s < of(k); ++s) {
      const bool earlier = recurs && nest_.cells()[k].moves;
      const node_ref x = earlier ? before_first(nest_.cells()[k], static_cast<std::int32_t>(s) + 1) : cell(k);
      c.first.push_back(spread(x, nest_.lanes()));
    }
  std::vector<node*> states;
  for (const node_ref& n : c.first) states.push_back(n.get());
  c.body = begin_loop(states, "loop", site_);
  std::size_t next = 0;
  for (const std::uint32_t k : c.cells) {
    const auto state = c.body->states.begin() + static_cast<std::ptrdiff_t>(next);
    if (recurs && nest_.cells()[k].moves) {
      earlier_[k].assign(state, state + static_cast<std::ptrdiff_t>(of(k)));
      cells_[k] = {};  // what the array holds there, until something is assigned
    } else {
      cells_[k] = *state;
    }
    next += of(k);
  }
}

/// What cells are after the loop; those that move are what they were after each iteration. In a loop that stores these
/// on the way, the others are the last of what they were.
void nest_builder::after_states(const carried_states& c, std::span<const node_ref> after) {
  const bool recurs = &nest_.loops()[c.loop] == nest_.recurrence();
  std::size_t next = 0;
  for (const std::uint32_t k : c.cells) {
    const std::size_t state = next;
    const node_ref& last = after[state];
    cells_[k] = last;
    next += recurs ? carried_states::states_of(nest_.cells()[k]) : 1;
    if (!recurs || (!nest_.cells()[k].moves && !c.body->changes(state))) continue;
    cells_[k] = record_trail(*c.body, state, last, site_);
    if (nest_.cells()[k].moves) continue;
    axis_maps map;
    for (int a = 0; a < last->extents.rank(); ++a) map.push_back({0, 1, a});
    map.push_back({c.body->count - 1, 0, -1});
    cells_[k] = make_view(cells_[k].get(), map, last->extents, site_);
  }
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

/// Whether the statement runs in a lane: loops that are lanes run to their maximum, others may have no iterations.
/// Null: always.
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
    const node_ref in = apply(op::less, here, index(l.count, &outside, rank, 0, {}));
    guard = guard ? apply(op::logical_and, guard, in) : in;
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

node_ref nest_builder::apply(op code, const node_ref& a, const node_ref& b) const {
  const input both[] = {{a.get(), {}, site_}, {b.get(), {}, site_}};
  return record(code, both, site_);
}

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
  if (const nest_access* r = read_of(s, node); r && r->cell >= 0) {
    const auto k = static_cast<std::uint32_t>(r->cell);
    return cell_as(s, n, r->back > 0 ? earlier_[k][static_cast<std::size_t>(r->back) - 1] : cell(k));
  }
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
        x = scalar(number_of(n, 0, f.constant));
        break;
      case kind::complex:
        x = scalar(complex128{number_of(n, 0, f.constant), number_of(n, 1, s.numbers[n.parameter + 1].constant)});
        break;
      case kind::truth:
        x = scalar(f.constant != 0);
        break;
      default:
        x = n.type == dtype::u64 ? scalar(static_cast<std::uint64_t>(f.constant)) : scalar(f.constant);
        break;
    }
    return of_all_lanes(s, make_scalar(x, n.type, n.site));
  }
  SINTER_CHECK(is_real_number || is_integer(n.type));
  if (is_real_number && f.column) return of_all_lanes(s, make_convert(number_table(f, s).get(), n.type, n.site));
  return of_all_lanes(s, make_convert(index(f, &s, nest_.loop_lanes(s), 0, {}).get(), n.type, n.site));
}

/// A number for each lane, or the same one for all: the iteration of a loop inside the lanes has no axes.
lane_value nest_builder::of_all_lanes(const nest_statement& s, const node_ref& number) const {
  if (number->extents.rank() > 0) return {number, 0};
  shape ones;
  for (int k = 0; k < nest_.loop_lanes(s); ++k) ones.append(1);
  return {spread(number, ones), 0};
}
}  // namespace sinter::jit
