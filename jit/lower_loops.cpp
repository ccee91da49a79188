// Lowering of loops that elements run by themselves, of choices of what they read, and of indices that are affine in
// counters.
#include "jit/loops.hpp"
#include "jit/lower_internal.hpp"

#include <algorithm>

namespace sinter::jit {

namespace {

// No sum or product of indices below this overflows.
constexpr std::int64_t most_index = std::int64_t{1} << 40;

}  // namespace

value lowering::lower_iterate(node* n, std::uint32_t map) {
  const loop_body& body = *n->facts->loop;
  const bool limited = body.condition && body.limited;
  const std::int64_t trips = std::min(body.count, most_iterations) + (limited ? 1 : 0);
  return lower_iteration(n, map, add_space(space_around(n, map), {&trips, 1}, true));
}

/// Trails are read where their own loop stands: the plan sees to it. `map` has the loop's counter as its last axis.
value lowering::lower_trail(node* n, std::uint32_t map) {
  node* loop = n->operands()[0];
  const linear along = map_form(map, n->extents.rank() - 1);
  SINTER_CHECK(along.constant == 0 && along.count == 1);
  const linear_term t = lin_.terms(along)[0];
  SINTER_CHECK(t.factor == 1 && atoms_[t.atom].is_dim);
  const std::uint32_t space = dims_[atoms_[t.atom].dim].space;
  SINTER_CHECK(space != 0 && spaces_[space].count == 1 && spaces_[space].parent == 0);
  scratch_.clear();
  for (int k = 0; k + 1 < n->extents.rank(); ++k) scratch_.push_back(map_form(map, k));
  const std::uint32_t around = intern(scratch_, value::none);
  const std::uint32_t* known = memo_.find(loop, around);
  if (!known) {
    SINTER_CHECK(spaces_[space].iterate == value::none);
    spaces_[space].serial = true;
    const value end = lower_iteration(loop, around, space);
    spaces_[space].iterate = end;
    memo_.set(memo_.at(loop, around), loop, around, raw(end));
    known = memo_.find(loop, around);
  }
  const iteration& end = iterations_[graph_[*known].attr];
  return call_operands_[end.first + end.states + changing_state(n)];
}

/// The loop of `n`, for the element at `map`, over a space of its own.
value lowering::lower_iteration(node* n, std::uint32_t map, std::uint32_t space) {
  const loop_body& body = *n->facts->loop;
  const auto states = static_cast<std::uint32_t>(body.states.size());
  const bool may_stop = body.condition.get() != nullptr;
  const bool limited = may_stop && body.limited;
  std::vector<value> first(states), list, next;
  for (std::uint32_t k = 0; k < states; ++k) {
    node* x = n->operands()[k];
    first[k] = lower_value(x, broadcast_map(map, n->extents, x->extents));
  }
  open_scope(n, space);
  const std::size_t open = open_states_.size();
  const std::uint32_t own = intern_in_scope(map);
  for (std::uint32_t k = 0; k < states; ++k) {
    value v = first[k];
    if (body.changes(k)) list.push_back(v = emit(make_inst(op::carry, body.states[k]->type,
                                                           static_cast<std::uint32_t>(list.size()), v, value{space})));
    open_states_.push_back({body.states[k].get(), own, v});
  }
  const std::uint32_t counter = dims_[spaces_[space].first].atom;
  open_states_.push_back({body.counter.get(), any_map, index_value(lin_.atom(counter)), counter});
  value proceed = value::none;
  if (may_stop) {
    std::uint32_t limit = check::none;
    if (limited) limit = add_check(body.count, {n->site, true});
    value c = lower_value(body.condition.get(), broadcast_map(own, n->extents, body.condition->extents));
    c = both(maps_[map].predicate, c);  // where nobody wants the result, it might never end
    proceed = emit(make_inst(op::proceed, dtype::boolean, limit, c, value{space}));
    spaces_[space].proceed = proceed;
  }
  for (std::uint32_t k = 0; k < states; ++k)
    if (body.changes(k))
      next.push_back(lower_value(body.next[k].get(), broadcast_map(own, n->extents, body.next[k]->extents)));
  open_states_.resize(open);
  close_scope();
  const auto changing = static_cast<std::uint32_t>(list.size());
  list.insert(list.end(), next.begin(), next.end());
  if (may_stop) list.push_back(proceed);
  iterations_.push_back({static_cast<std::uint32_t>(call_operands_.size()), static_cast<std::uint32_t>(list.size()),
                         changing});
  call_operands_.insert(call_operands_.end(), list.begin(), list.end());
  const auto number = static_cast<std::uint32_t>(iterations_.size() - 1);
  return emit(make_inst(op::iterate, n->type, number, list[0], value{space}));
}

/// The body of `n`, over `space`, is lowered until close_scope().
void lowering::open_scope(node* n, std::uint32_t space) {
  open_scopes_.push_back({space, scope_});
  scope_ = space;
  for (std::size_t k = n->facts->loop->states.size(); k < n->operand_count; ++k) {
    node* x = n->operands()[k];
    from_around_.set(from_around_.at(x, space), x, space, 1);
  }
}

void lowering::close_scope() {
  scope_ = open_scopes_.back().around;
  open_scopes_.pop_back();
}

/// Whether the value is the same in all iterations of the loop that is being lowered. Lowered in each loop that reads
/// it, what loops read of each other would be there as often as there are ways through them.
bool lowering::is_from_around(const node* n, std::uint32_t map) {
  if (!from_around_.find(n, scope_)) return false;
  for (std::uint32_t s = maps_[map].space; s != 0; s = spaces_[s].parent)
    if (s == scope_) return false;
  return true;
}

value lowering::lower_around(node* n, std::uint32_t map) {
  const open_loop_scope inner = open_scopes_.back();
  open_scopes_.pop_back();
  scope_ = inner.around;
  const value v = lower_value(n, intern_in_scope(map));
  open_scopes_.push_back(inner);
  scope_ = inner.space;
  return v;
}

/// The innermost space that `n`, a loop or what is reduced in loops, depends on: not those from which it takes nothing.
std::uint32_t lowering::space_around(const node* n, std::uint32_t map) const {
  std::uint32_t space = maps_[map].space;
  if (open_states_.empty()) return space;
  std::vector<const node*> stack{n};
  std::unordered_set<const node*> seen;
  while (!stack.empty()) {
    const node* x = stack.back();
    stack.pop_back();
    if (!seen.insert(x).second || stored_->contains(x)) continue;
    stack.insert(stack.end(), x->operands().begin(), x->operands().end());
    const auto open = std::ranges::find(open_states_, x, &open_state::placeholder);
    if (open != open_states_.end()) space = innermost(space, space_[raw(open->what)]);
  }
  return space;
}

/// The value of a placeholder, in the loop around that is being lowered.
value lowering::lower_state(node* n, std::uint32_t map) {
  for (std::size_t k = open_states_.size(); k-- > 0;) {
    const open_state& s = open_states_[k];
    if (s.placeholder != n) continue;
    SINTER_CHECK(s.map == any_map || same_forms(s.map, map));
    return s.what;
  }
  throw_internal_error("a loop's state outside of its loop", n->site);
}

/// Which of a loop's states a `result` means, among those that change.
std::uint32_t lowering::changing_state(const node* n) {
  const loop_body& body = *n->operands()[0]->facts->loop;
  std::uint32_t number = 0;
  for (std::size_t k = 0; k < output_of(n); ++k) number += body.changes(k);
  return number;
}

/// What isn't chosen isn't read at computed indices, nor are these checked, and its loops don't run. What both sides
/// need is computed once, whichever is chosen.
value lowering::lower_choice(node* n, std::uint32_t map) {
  node *asked = n->operands()[0], *then = n->operands()[1], *otherwise = n->operands()[2];
  const auto at = [&](const node* x) { return broadcast_map(map, n->extents, x->extents); };
  const value yes = lower_value(asked, at(asked));
  open_choice c{maps_[map].predicate, value::none, value::none, {}};
  std::unordered_set<const node*> in_then, in_otherwise;
  const bool risky_then = reads_at_risk(then, in_then), risky_otherwise = reads_at_risk(otherwise, in_otherwise);
  reads_at_risk(asked, c.needed);
  for (const node* x : in_then)
    if (in_otherwise.contains(x)) c.needed.insert(x);
  if (risky_then) c.yes = both(c.given, yes);
  if (risky_otherwise) c.no = both(c.given, emit_pure(make_inst(op::logical_not, dtype::boolean, 0, yes)));
  choices_.push_back(std::move(c));
  const value on_yes = choices_.back().yes, on_no = choices_.back().no;
  const value a = lower_value(then, risky_then ? with_predicate(at(then), on_yes) : at(then));
  const value b = lower_value(otherwise, risky_otherwise ? with_predicate(at(otherwise), on_no) : at(otherwise));
  choices_.pop_back();
  return emit_pure(make_inst(op::select, n->type, 0, yes, a, b));
}

/// Whether what `root` needs may read at bad indices, or run a loop. `needed`: what it needs in any case.
bool lowering::reads_at_risk(node* root, std::unordered_set<const node*>& needed) const {
  std::vector<std::pair<node*, bool>> stack{{root, true}};
  std::unordered_set<const node*> seen;  // perhaps only in one case
  bool risk = false;
  while (!stack.empty()) {
    const auto [n, always] = stack.back();
    stack.pop_back();
    if (!(always ? needed : seen).insert(n).second || stored_->contains(n)) continue;
    risk = risk || n->code == op::gather || n->code == op::iterate;
    const bool chooses = n->code == op::select && n->facts && n->facts->conditional;
    for (std::size_t k = 0; k < n->operand_count; ++k)
      stack.push_back({n->operands()[k], always && (!chooses || k == 0)});
  }
  return risk;
}

std::uint32_t lowering::with_predicate(std::uint32_t map, value predicate) {
  scratch_.clear();
  for (int k = 0; k < maps_[map].rank; ++k) scratch_.push_back(map_form(map, k));
  return intern(scratch_, predicate);
}

/// The map for a value that is needed whichever side of the open choices is chosen, for others the map itself.
std::uint32_t lowering::needed_map(const node* n, std::uint32_t map) {
  for (std::size_t k = choices_.size(); k-- > 0;) {
    const open_choice& c = choices_[k];
    const value p = maps_[map].predicate;
    if (p != value::none && (p == c.yes || p == c.no) && p != c.given && c.needed.contains(n))
      map = with_predicate(map, c.given);
  }
  return map;
}

bool lowering::same_forms(std::uint32_t a, std::uint32_t b) const {
  if (maps_[a].rank != maps_[b].rank) return false;
  for (int k = 0; k < maps_[a].rank; ++k) {
    const linear f = map_form(a, k), g = map_form(b, k);
    if (f.constant != g.constant || !lin_.equal_terms(f, g)) return false;
  }
  return true;
}

/// The map's forms, seen from inside the loop that is open: what is computed there is not what is computed elsewhere.
std::uint32_t lowering::intern_in_scope(std::uint32_t map) {
  scratch_.clear();
  for (int k = 0; k < maps_[map].rank; ++k) scratch_.push_back(map_form(map, k));
  return intern(scratch_, maps_[map].predicate);
}

/// The values of index array `n` as a form of counters, where that is what they are; nothing where they may be any.
std::optional<linear> lowering::affine_index(node* n, std::uint32_t map) {
  if (stored_->contains(n) || n->type != dtype::i64) return std::nullopt;
  switch (n->code) {
    case op::scalar: return bounded_index(lin_.constant(n->number.as_i64));
    case op::iota: return bounded_index(map_form(map, 0));
    case op::view: return affine_index(n->operands()[0], moved_map(n->facts->view, map));
    case op::state:
      for (std::size_t k = open_states_.size(); k-- > 0;)
        if (open_states_[k].placeholder == n && open_states_[k].map == any_map)
          return bounded_index(lin_.atom(open_states_[k].counter));
      return std::nullopt;
    case op::negative:
    case op::add:
    case op::subtract:
    case op::multiply: return affine_arithmetic(n, map);
    default: return std::nullopt;
  }
}

std::optional<linear> lowering::affine_arithmetic(node* n, std::uint32_t map) {
  linear x[2] = {lin_.constant(0), lin_.constant(0)};
  for (std::size_t k = 0; k < n->operand_count; ++k) {
    node* from = n->operands()[k];
    const std::optional<linear> f = affine_index(from, broadcast_map(map, n->extents, from->extents));
    if (!f) return std::nullopt;
    x[k] = *f;
  }
  if (n->code == op::multiply) {
    if (x[0].count != 0 && x[1].count != 0) return std::nullopt;
    const linear& many = x[0].count != 0 ? x[0] : x[1];
    const std::int64_t times = (x[0].count != 0 ? x[1] : x[0]).constant;
    if (std::abs(times) >= most_index >> 10) return std::nullopt;
    return bounded_index(lin_.affine(0, times, many));
  }
  lin_.start();
  lin_.add(x[0], n->code == op::negative ? -1 : 1);
  if (n->code != op::negative) lin_.add(x[1], n->code == op::subtract ? -1 : 1);
  return bounded_index(lin_.finish());
}

std::optional<linear> lowering::bounded_index(const linear& f) const {
  std::int64_t reach = std::abs(f.constant);
  for (const linear_term& t : lin_.terms(f)) {
    if (std::abs(t.factor) >= most_index || atoms_[t.atom].limit >= most_index >> 20) return std::nullopt;
    if (std::abs(t.factor) > most_index / std::max<std::int64_t>(atoms_[t.atom].limit, 1)) return std::nullopt;
    reach += std::abs(t.factor) * atoms_[t.atom].limit;
  }
  if (reach >= most_index) return std::nullopt;
  return f;
}

/// An index array's values along an axis of `size` elements without a check, where they need none.
std::optional<linear> lowering::index_in_range(node* n, std::uint32_t map, std::int64_t size) {
  const std::optional<linear> f = affine_index(n, map);
  if (!f) return std::nullopt;
  const index_range r = range_of(*f);
  if (r.low >= 0 && r.high < size) return f;
  if (r.low >= -size && r.high < 0) return lin_.affine(size, 1, *f);
  return std::nullopt;
}

}  // namespace sinter::jit
