// Which stored values share a launch.
#include "jit/fuse_internal.hpp"

#include <algorithm>

namespace sinter::jit {

namespace {

constexpr std::size_t most_outputs = 32;

// Launches in which a value's operations are counted, to see whether it has room in one.
constexpr int most_tries = 4;

// How much of an expression is searched for a reduction.
constexpr std::size_t most_nodes_for_reduction = 64;

/// Whether a domain, without the looped axes, is that of rows with these extents, extents of 1 left out.
bool is_rows(const shape& domain, const shape& rows, std::uint32_t looped = 0) {
  shape longs;
  for (int k = 0; k < domain.rank(); ++k)
    if (domain[k] != 1 && (looped >> k & 1u) == 0) longs.append(domain[k]);
  return longs == rows;
}

}  // namespace

/// Stored values of one domain, level and device share a launch while the limits allow.
void planner::group_stored() {
  open_.clear();
  counted_.clear();
  stored_count_ = std::ranges::count_if(items_, [](const item& i) { return i.stored || i.wanted; });
  for (std::size_t k = 0; k < items_.size(); ++k) {
    const item& i = items_[k];
    if (!i.stored && !i.wanted) continue;
    if (i.stored) plan_->in_memory.set(plan_->in_memory.at(i.n), i.n, 0, 1);
    if (i.n->code == op::scatter || writes_trail(i)) place_written(i);
    else if (i.n->code == op::join && place_join(i.n, i.level)) continue;
    else if (i.n->code != op::update || !place_update(i))
      place({i.n, i.n, nullptr, last_reader_of(i)}, i.level, i.alone);
  }
  std::ranges::stable_sort(plan_->groups(), {}, &group::level);
}

/// The base of a scatter, or of what a loop stores on the way, is copied first when its memory can't be taken over.
void planner::place_written(const item& i) {
  node *base = i.n->operands()[0], *values = i.n->operands()[1];
  const bool takes = may_take(i.n, base);
  if (takes) take(base);
  else place({i.n, base}, i.level - 1, nullptr);
  place({i.n, values, i.n, takes ? base : nullptr}, i.level, nullptr);
}

bool planner::pieces_alike(const node* n) {
  return std::ranges::all_of(n->operands(), [n](const node* x) { return x->extents == n->operands()[0]->extents; });
}

/// Each piece computed by itself and stored in its place, where that is one launch: nothing asks what is where.
bool planner::place_join(node* n, std::uint32_t level) {
  if (!pieces_alike(n)) return false;
  const shape& first = n->operands()[0]->extents;
  std::int64_t start = 0;
  for (node* piece : n->operands()) {
    place({n, piece, n, nullptr, start}, level, nullptr);
    start += first[n->facts->axis];
  }
  return true;
}

/// In place: only what a chain of updates writes is computed. False when the memory below it is needed further on.
bool planner::place_update(const item& i) {
  links_.clear();
  node* below = i.n;
  do {
    links_.push_back(below);
    below = below->operands()[0];
  } while (below->code == op::update && !below->values() && only_leads_on(items_[at(below)]));
  if (!may_take(i.n, below) || !worth_in_place(i)) return false;
  take(below);
  for (std::size_t k = links_.size(); k-- > 0;)
    place({i.n, links_[k]->operands()[1], links_[k], below}, i.level, nullptr);
  return true;
}

void planner::place(target t, std::uint32_t level, const node* alone) {
  open_group* fits = nullptr;
  open_group asked{0, 0, 0, alone};
  count_target(t, asked.operations, asked.inputs);
  const bool loops = has_loops(t);
  if (loops) t.looped = looped_axes(items_[at(t.value)]);
  int tries = 0;
  for (std::size_t k = open_.size(); k-- > 0 && !fits;)  // the newest is likeliest to read what it reads
    if (may_join(open_[k], t, level, asked) && joins(open_[k], t, asked, tries)) fits = &open_[k];
  if (!fits) {
    plan_->add_group(level);
    asked.index = plan_->count - 1;
    open_.push_back(asked);
    fits = &open_.back();
  }
  group& g = plan_->pool[fits->index];
  if (g.has_loops && !loops) t.looped = looped_like(g, t.value->extents);
  if (loops && !g.has_loops)
    for (target& other : g.outputs)
      other.looped = other.value->extents == t.value->extents ? t.looped : looped_in(t, other.value->extents);
  g.has_loops |= loops;
  g.outputs.push_back(t);
  if (open_.size() > 64) open_.erase(open_.begin());
}

/// Upper bounds of what a target's value takes.
void planner::count_target(const target& t, std::int32_t& operations, std::int32_t& inputs) {
  operations = inputs = 0;
  const auto add = [&](const node* n) {
    const bool computed = !n->values() && (n == t.n || !items_[at(n)].stored);
    operations += computed ? items_[at(n)].operations : 1;
    inputs += computed ? items_[at(n)].inputs : 1;
  };
  add(t.value);
  if (t.where && t.where->code == op::scatter)
    for (const node* x : t.where->operands().subspan(2)) add(x);
}

void planner::walk_target(const target& t) {
  if (t.value == t.n) walk_.insert(walk_.end(), t.n->operands().begin(), t.n->operands().end());
  else walk_.push_back(t.value);
  if (t.where && t.where->code == op::scatter)
    walk_.insert(walk_.end(), t.where->operands().begin() + 2, t.where->operands().end());
}

/// Whether reductions or scans run in the launch of this target.
bool planner::has_loops(const target& t) {
  if (t.value->values()) return false;
  const item& i = items_[at(t.value)];
  return i.reduces && (t.value == t.n || !i.stored);
}

/// The axes that loops of the group run along over arrays of these extents: targets, or what is reduced. 0: none do.
std::uint32_t planner::looped_like(const group& g, const shape& extents) {
  for (const target& other : g.outputs)
    if (other.looped != 0 && other.value->extents == extents) return other.looped;
  for (const target& other : g.outputs)
    if (const std::uint32_t axes = has_loops(other) ? looped_in(other, extents) : 0) return axes;
  return 0;
}

/// Likewise for the reductions inside a target, so that what they read can be stored on the way.
std::uint32_t planner::looped_in(const target& t, const shape& extents) {
  const shape domain = group::domain_around(t);
  walk_.assign(1, t.value);
  for (std::size_t k = 0; k < walk_.size() && k < most_nodes_for_reduction; ++k) {
    node* n = walk_[k];
    if (is_reduction(n->code) && n->operands()[0]->extents == extents &&
        is_rows(extents, domain, n->facts->reduced))
      return n->facts->reduced;
    for (node* x : n->operands())
      if (!x->values() && !items_[at(x)].stored) walk_.push_back(x);
  }
  return 0;
}

/// Whether an op::iterate runs for each element of this target.
bool planner::iterates(const target& t) {
  if (t.value->values()) return false;
  const item& i = items_[at(t.value)];
  return i.iterates != item::no_loop && (t.value == t.n || !i.stored);
}

/// The op::iterate that stores this target on the way, if one does.
const node* planner::loop_of(const target& t) { return has_loops(t) ? items_[at(t.value)].loop : nullptr; }

/// Whether a target can be computed over the domain of a group, by loops or without. Loops of op::iterate don't stand
/// beside loops that threads share, but in them.
bool planner::same_domain(const group& g, const target& t) {
  const bool loops = has_loops(t);
  if (std::ranges::any_of(g.outputs, [&](const target& other) { return loop_of(other) != loop_of(t); })) return false;
  const shape& extents = t.value->extents;
  if (!g.has_loops && !loops) return g.outputs[0].value->extents == extents;
  if (!g.has_loops) {
    const shape& there = g.outputs[0].value->extents;
    if (std::ranges::any_of(g.outputs, [this](const target& other) { return iterates(other); }))
      return there == extents ? t.looped != 0 : looped_in(t, there) != 0;
    return there == extents || is_rows(there, group::domain_around(t)) || looped_in(t, there) != 0;
  }
  if (loops) return g.domain() == group::domain_around(t);
  return looped_like(g, extents) != 0 || (!iterates(t) && is_rows(extents, g.domain()));
}

/// Whether a target may be computed in the launch `o`, however much that would take.
bool planner::may_join(const open_group& o, const target& t, std::uint32_t level, const open_group& asked) {
  const group& g = plan_->pool[o.index];
  return g.level == level && g.owner() == t.n->owner && g.outputs.size() < most_outputs && o.alone == asked.alone &&
         same_domain(g, t);
}

bool planner::fits_limits(std::int32_t operations, std::int32_t inputs) const {
  return operations <= how_.max_operations && inputs <= how_.max_inputs;
}

/// Whether the launch `o` with the target stays within the limits; its counts then include it. What both need counts
/// once, which takes a walk: one of the few `tries`.
bool planner::joins(open_group& o, const target& t, const open_group& asked, int& tries) {
  if (fits_limits(o.operations + asked.operations, o.inputs + asked.inputs)) {
    o.operations += asked.operations;
    o.inputs += asked.inputs;
    return true;
  }
  if (++tries > most_tries) return false;
  count_outputs(o);
  std::int32_t operations, inputs;
  walk_.clear();
  walk_target(t);
  if (!count_walk(operations, inputs, &o)) return false;
  operations += o.counted_operations;
  inputs += o.counted_inputs;
  if (!fits_limits(operations, inputs)) return false;
  o.operations = operations;
  o.inputs = inputs;
  return true;
}

/// Notes all nodes that the group's outputs need.
void planner::count_outputs(open_group& o) {
  const auto number = static_cast<std::uint32_t>(o.index);
  const group& g = plan_->pool[o.index];
  for (; o.counted < g.outputs.size(); ++o.counted) {
    walk_.clear();
    walk_target(g.outputs[o.counted]);
    for (std::size_t k = 0; k < walk_.size(); ++k) {
      ++plan_->visits;
      node* n = walk_[k];
      epoch_map::entry& e = counted_.at(n, number);
      if (counted_.holds(e)) continue;
      counted_.set(e, n, number, 1);
      tally(n, o.counted_operations, o.counted_inputs);
    }
  }
}

}  // namespace sinter::jit
