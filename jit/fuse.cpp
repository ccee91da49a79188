#include "jit/fuse_internal.hpp"

#include "jit/loops.hpp"
#include "jit/user_kernel.hpp"
#include "runtime/error.hpp"
#include "runtime/own.hpp"

#include <algorithm>

namespace sinter::jit {

namespace {

// A value read through several different views is computed once per view; past this many operations it is stored.
constexpr int most_recomputed_operations = 64;
// An expression repeated along a broadcast axis is computed per element of the result; past this cost it is stored.
constexpr int most_repeated_cost = 256;

}  // namespace

void planner::run(std::span<node* const> roots, const options& how, std::span<const decision> decided, plan& out) {
  how_ = how;
  decided_.clear();
  for (const decision& d : decided) {
    const auto what = static_cast<std::uint32_t>(d.how);
    decided_.set(decided_.at(d.n, what), d.n, what, 1);
  }
  plan_ = &out;
  items_.clear();
  where_.clear();
  now_ = 0;
  for (node* r : roots) collect(r);
  count_uses();
  for (node* r : roots)
    if (!r->values()) items_[at(r)].wanted = true;
  // Each time round something more is stored, or nothing is left to do.
  for (std::size_t rounds = 0; rounds <= 2 * items_.size() + 2; ++rounds) {
    stale_ = false;
    for (std::uint32_t k = 0; k < items_.size(); ++k) weigh(k);
    if (!stale_ && !store_shared_rows()) break;
  }
  find_releases();
  group_stored();
}

/// Appends n and all it needs that isn't in memory, operands first.
void planner::collect(node* root) {
  if (root->values() || where_.find(root)) return;
  std::vector<std::pair<node*, std::uint32_t>>& stack = stack_;
  stack.assign(1, {root, 0});
  while (!stack.empty()) {
    auto& [n, next] = stack.back();
    if (n->code == op::state)
      throw_type_error("a state of a loop is read while the loop is recorded: it has no value yet",
                       stack.size() > 1 ? stack[stack.size() - 2].first->site : n->site,
                       "make it one more state of the loop, and read that after the loop");
    if (next == 0 && where_.find(n)) {
      stack.pop_back();
      continue;
    }
    if (next < n->operand_count) {
      node* x = n->operands()[next++];
      if (!x->values() && !where_.find(x)) stack.push_back({x, 0});
      continue;
    }
    epoch_map::entry& e = where_.at(n);
    if (!where_.holds(e)) {
      where_.set(e, n, 0, static_cast<std::uint32_t>(items_.size()));
      items_.emplace_back(n);
      plan_->has_pieces |= n->code == op::update || n->code == op::join;
    }
    stack.pop_back();
  }
}

bool planner::moves_elements(const node* user, std::size_t operand) {
  if (user->code == op::iterate && operand >= user->facts->loop->states.size() && user->facts->loop->moves) return true;
  const bool same = reads_own_element(user, operand) || (user->code == op::update && operand == 0);
  return !same || user->extents != user->operands()[operand]->extents;
}

/// Whether an operand is computed for a part of its user alone.
bool planner::is_piece(const node* user, std::size_t operand) {
  return user->code == op::join || ((user->code == op::update || user->code == op::scatter) && operand == 1);
}

void planner::count_uses() {
  for (const item& i : items_)
    for (std::size_t k = 0; k < i.n->operand_count; ++k) {
      const node* x = i.n->operands()[k];
      if (x->values()) continue;
      item& source = items_[at(x)];
      const bool moved = moves_elements(i.n, k);
      ++(moved ? source.moved_uses : source.direct_uses);
      source.shifted_uses += !keeps_rows(i.n, k);
      source.repeated |= moved && !is_piece(i.n, k) && i.n->extents.size() > x->extents.size();
    }
}

/// Everything about item k that its operands decide; stores operands where fusing them would cost too much.
void planner::weigh(std::uint32_t k) {
  item& i = items_[k];
  i.home = {};
  ++plan_->visits;
  if (is_weighed(i)) return;
  const item_weights before = i;
  weigh_anew(i);
  i.weighed = ++now_;
  // A view also tells its users of what is below it.
  if (static_cast<const item_weights&>(i) != before || i.n->code == op::view || i.n->code == op::reshape)
    i.changed = i.weighed;
}

/// Whether weighing it again would find the same.
bool planner::is_weighed(const item& i) {
  return i.weighed != 0 && std::ranges::none_of(i.n->operands(), [&](const node* x) {
    return !x->values() && items_[at(x)].changed > i.weighed;
  });
}

void planner::weigh_anew(item& i) {
  if (is_decided(i.n, decision::what::store)) mark(i, cut_reason::overlap);
  if (is_decided(i.n, decision::what::cut)) mark(i, cut_reason::operations);
  if (i.n->code == op::scatter) mark(i, cut_reason::scatter);
  if (writes_trail(i)) mark(i, cut_reason::loop);
  keep_options_apart(i);
  store_read_anywhere(i);
  open_rows(i);
  sum_operands(i);
  if (i.n->code == op::join && i.wanted && pieces_alike(i.n)) return;  // pieces are placed one by one
  if (i.operations > how_.max_operations || i.inputs > how_.max_inputs) {
    count_exactly(i);
    while (i.operations > how_.max_operations || i.inputs > how_.max_inputs) {
      if (!cut_largest_operand(i)) break;
      open_rows(i);
      sum_operands(i);
      count_exactly(i);
    }
  }
  store_if_costly(i);
}

/// Compiler options hold for a whole launch: a call that has some runs alone, between stored operands and results.
void planner::keep_options_apart(item& i) {
  if ((is_fused_call(i.n->code) || i.n->code == op::reduce_call) && !i.n->facts->kernel->options.empty())
    for (node* x : i.n->operands()) store(x, cut_reason::options);
  if (i.n->code != op::result || i.n->operands()[0]->code == op::iterate) return;
  if (i.n->operands()[0]->facts->kernel->options.empty()) return;
  i.alone = i.n->operands()[0];
  mark(i, cut_reason::options);
}

/// What a string kernel reads anywhere is read from memory.
void planner::store_read_anywhere(item& i) {
  if (i.n->code != op::raw_call && i.n->code != op::iterate) return;
  for (std::size_t k = 0; k < i.n->operand_count; ++k) {
    node* x = i.n->operands()[k];
    const bool whole = i.n->code == op::raw_call
                           ? reads_anywhere(i.n, k)
                           : std::ranges::find(i.n->facts->loop->whole, x) != i.n->facts->loop->whole.end();
    if (!whole || x->values() || items_[at(x)].stored) continue;
    const node* viewed = x->code == op::view ? x->operands()[0] : nullptr;
    if (viewed && in_memory(viewed)) continue;  // strides tell where its elements are
    stale_ = true;
    mark(items_[at(x)], cut_reason::raw);
  }
}

void planner::sum_operands(item& i) {
  i.operations = own_operations(i.n);
  i.inputs = 0;
  i.work = 0;
  i.cost = info(i.n->code).cost;
  i.level = 0;
  for (node* x : i.n->operands()) {
    const item* s = x->values() ? nullptr : &items_[at(x)];
    const bool chooses = i.n->code == op::join || i.n->code == op::update;
    const std::int32_t work = !s || s->stored ? 1 : s->work;
    i.work = std::min(chooses ? std::max(i.work, work) : i.work + work, 1 << 28);
    if (!s || s->stored) {
      ++i.inputs;
      ++i.operations;
      i.level = std::max(i.level, s ? s->level + 1 : 0);
      continue;
    }
    i.operations = std::min(i.operations + s->operations, 1 << 28);
    i.inputs = std::min(i.inputs + s->inputs, 1 << 28);
    i.cost = std::min(i.cost + s->cost, 1 << 28);
    i.level = std::max(i.level, s->level);
  }
  i.work += i.n->code == op::join || i.n->code == op::update ? 1 : own_operations(i.n);
  if (i.n->code == op::iterate) i.work = i.cost = 1 << 20;  // nobody wants to run it twice
  if (i.n->code == op::scatter || writes_trail(i)) ++i.level;  // after the launch that may have to copy the base
}

/// Instructions for the node itself: also for asking where among its pieces an element lies.
std::int32_t planner::own_operations(const node* n) {
  if (n->code == op::update) return 2 + 2 * n->extents.rank();
  if (n->code == op::scalar) return 0;
  if (n->code == op::reduce_deviations) return 24;
  if (n->code == op::iterate) return 8 + n->facts->loop->operations;
  if (is_reduction(n->code)) return 8;  // a loop costs a compiler more than an instruction
  return n->code == op::join ? 4 * n->operand_count : 1;
}

/// Adds what a node takes by itself to the counts, and its operands, where it is computed, to walk_.
void planner::tally(node* n, std::int32_t& operations, std::int32_t& inputs) {
  if (in_memory(n)) {
    ++operations;
    ++inputs;
    return;
  }
  operations += own_operations(n);
  walk_.insert(walk_.end(), n->operands().begin(), n->operands().end());
}

/// What the nodes of walk_ need together, each value counted once, but for what the group `beside` has counted; false
/// when that is far past the limits.
bool planner::count_walk(std::int32_t& operations, std::int32_t& inputs, const open_group* beside) {
  seen_.clear();
  operations = inputs = 0;
  for (std::size_t k = 0; k < walk_.size(); ++k) {
    if (operations > 2 * how_.max_operations) return false;
    ++plan_->visits;
    node* n = walk_[k];
    if (beside && counted_.find(n, static_cast<std::uint32_t>(beside->index))) continue;
    epoch_map::entry& e = seen_.at(n);
    if (seen_.holds(e)) continue;
    seen_.set(e, n, 0, 1);
    tally(n, operations, inputs);
  }
  return true;
}

/// The sums of sum_operands() count shared operands twice.
void planner::count_exactly(item& i) {
  walk_.assign(i.n->operands().begin(), i.n->operands().end());
  std::int32_t operations, inputs;
  if (!count_walk(operations, inputs)) return;  // the upper bound decides as well
  i.operations = operations + own_operations(i.n);
  i.inputs = inputs;
}

/// Stores the operand that takes the most operations; views of it stay with the consumer.
bool planner::cut_largest_operand(item& i) {
  node* largest = nullptr;
  std::int32_t most = -1;
  for (node* x : i.n->operands()) {
    const item* s = storable(x);
    if (!s || s->operations <= most) continue;
    most = s->operations;
    largest = x;
  }
  return largest && store(largest, i.operations > how_.max_operations ? cut_reason::operations : cut_reason::inputs);
}

/// Stores x, or what it is a view of. False when that can't be.
bool planner::store(node* x, cut_reason why) {
  item* s = storable(x);
  if (!s) return false;
  stale_ |= s->n != x || s->direct_uses + s->moved_uses > 1;  // others have been weighed with it inside
  mark(*s, why);
  return true;
}

item* planner::storable(node* x) {
  while (!x->values()) {
    item& s = items_[at(x)];
    if (s.stored || x->code == op::scalar || x->code == op::iota) return nullptr;
    if (is_fused_call(x->code) || x->code == op::reduce_call || x->code == op::iterate) return nullptr;
    if (x->code != op::view && x->code != op::reshape) return &s;
    x = x->operands()[0];
  }
  return nullptr;
}

void planner::store_if_costly(item& i) {
  if (is_fused_call(i.n->code) || i.n->code == op::reduce_call || i.n->code == op::iterate || i.n->code == op::scalar)
    return;
  const bool computes = i.n->code != op::view && i.n->code != op::reshape && i.n->code != op::gather &&
                        i.n->code != op::join;
  if (!computes) return;
  if (i.reduces) {  // computed once a row by whoever reads it, unless they read different rows
    const std::uint32_t places = i.shifted_uses + (i.wanted || i.direct_uses + i.moved_uses > i.shifted_uses);
    if (i.shifted_uses > 0 && places > 1) mark(i, i.scans ? cut_reason::scan : cut_reason::reduction);
    return;
  }
  const std::uint32_t readers = i.moved_uses + (i.direct_uses > 0);
  if (readers > 1 && i.moved_uses > 0 &&
      static_cast<std::int64_t>(i.work) * (readers - 1) > most_recomputed_operations)
    return mark(i, cut_reason::recompute);
  if (i.repeated && i.cost > most_repeated_cost) mark(i, cut_reason::recompute);
}

void planner::mark(item& i, cut_reason why) {
  if (i.stored) return;
  i.stored = true;
  i.changed = ++now_;
  if (!i.wanted) plan_->cuts.push_back({i.n, why});
}

std::string_view to_string(cut_reason r) {
  switch (r) {
    case cut_reason::operations: return "operations: the kernel would pass the limit of instructions";
    case cut_reason::inputs: return "inputs: the kernel would read more arrays than the limit";
    case cut_reason::recompute: return "recompute: several views of it would each compute it again";
    case cut_reason::options: return "options: a string kernel with compiler options of its own runs alone";
    case cut_reason::raw: return "raw: a string kernel reads any of its elements, which takes memory";
    case cut_reason::scatter: return "scatter: written at computed places, which takes memory";
    case cut_reason::overlap: return "overlap: other elements of what it is written to are read for it";
    case cut_reason::reduction: return "reduction: those who read its result don't run over the same rows";
    case cut_reason::loop: return "loop: each element runs it once, where its result is stored";
    case cut_reason::scan: return "scan: its result is read elsewhere than where it is found";
  }
  return "";
}

void fuse(std::span<node* const> roots, const options& how, std::span<const decision> decided, plan& out) {
  out.clear();
  runtime::own_of_thread<planner>().run(roots, how, decided, out);
}

}  // namespace sinter::jit
