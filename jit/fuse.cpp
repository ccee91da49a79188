#include "jit/fuse.hpp"

#include "jit/epoch_map.hpp"
#include "jit/user_kernel.hpp"

#include <algorithm>

namespace sinter::jit {

namespace {

// A value read through several different views is computed once per view; past this many operations it is stored.
constexpr int most_recomputed_operations = 64;
// An expression repeated along a broadcast axis is computed per element of the result; past this cost it is stored.
constexpr int most_repeated_cost = 256;
constexpr std::size_t most_outputs = 32;

struct item {
  node* n;
  std::uint32_t direct_uses = 0;   ///< by operations that need just the same element
  std::uint32_t moved_uses = 0;    ///< through views, broadcasts, gathers, reductions
  std::int32_t operations = 1;     ///< upper bound of instructions to compute it from stored values
  std::int32_t inputs = 0;         ///< likewise, stored values read
  std::int32_t cost = 0;
  std::uint32_t level = 0;         ///< levels of launches before its own
  bool wanted = false;             ///< a root: written to memory, but may be computed within its readers as well
  bool stored = false;             ///< written to memory and read from there
  bool repeated = false;           ///< some use has more elements than it
  bool reduces = false;            ///< a reduction would run inside a consumer of it
  const node* alone = nullptr;     ///< the call, with compiler options of its own, that it is a result of
};

class planner {
 public:
  void run(std::span<node* const> roots, const options& how, plan& out) {
    how_ = how;
    plan_ = &out;
    items_.clear();
    where_.clear();
    for (node* r : roots) collect(r);
    count_uses();
    for (node* r : roots)
      if (!r->values()) items_[at(r)].wanted = true;
    for (std::uint32_t k = 0; k < items_.size(); ++k) weigh(k);
    group_stored();
  }

 private:
  struct open_group {
    std::size_t index;
    std::int32_t operations, inputs;
    const node* alone;
  };

  std::uint32_t at(const node* n) { return *where_.find(n); }

  /// Appends n and all it needs that isn't in memory, operands first.
  void collect(node* root) {
    if (root->values() || where_.find(root)) return;
    std::vector<std::pair<node*, std::uint32_t>>& stack = stack_;
    stack.assign(1, {root, 0});
    while (!stack.empty()) {
      auto& [n, next] = stack.back();
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
        items_.push_back({n});
      }
      stack.pop_back();
    }
  }

  static bool moves_elements(const node* user, const node* x) {
    return !(is_elementwise(user->code) || user->code == op::call || user->code == op::result) ||
           user->extents != x->extents;
  }

  void count_uses() {
    for (const item& i : items_)
      for (node* x : i.n->operands()) {
        if (x->values()) continue;
        item& source = items_[at(x)];
        const bool moved = moves_elements(i.n, x);
        ++(moved ? source.moved_uses : source.direct_uses);
        source.repeated |= moved && i.n->extents.size() > x->extents.size();
      }
  }

  /// Everything about item k that its operands decide; stores operands where fusing them would cost too much.
  void weigh(std::uint32_t k) {
    item& i = items_[k];
    keep_options_apart(i);
    sum_operands(i);
    if (i.operations > how_.max_operations || i.inputs > how_.max_inputs) {
      count_exactly(i);
      while (i.operations > how_.max_operations || i.inputs > how_.max_inputs) {
        if (!cut_largest_operand(i)) break;
        sum_operands(i);
        count_exactly(i);
      }
    }
    store_if_costly(i);
  }

  /// Compiler options hold for a whole launch: a call that has some runs alone, between stored operands and results.
  void keep_options_apart(item& i) {
    if (i.n->code == op::call && !i.n->facts->kernel->options.empty())
      for (node* x : i.n->operands())
        if (item* s = storable(x)) mark(*s, cut_reason::options);
    if (i.n->code != op::result || i.n->operands()[0]->facts->kernel->options.empty()) return;
    i.alone = i.n->operands()[0];
    mark(i, cut_reason::options);
  }

  void sum_operands(item& i) {
    i.operations = 1;
    i.inputs = 0;
    i.cost = info(i.n->code).cost;
    i.level = 0;
    i.reduces = is_reduction(i.n->code);
    for (node* x : i.n->operands()) {
      const item* s = x->values() ? nullptr : &items_[at(x)];
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
      i.reduces |= s->reduces;
    }
  }

  /// What the nodes of walk_ need together, each value counted once; false when that is far past the limits.
  bool count_walk(std::int32_t& operations, std::int32_t& inputs) {
    seen_.clear();
    const std::size_t roots = walk_.size();
    operations = inputs = 0;
    for (std::size_t k = 0; k < walk_.size(); ++k) {
      if (operations > 2 * how_.max_operations) return false;
      node* n = walk_[k];
      epoch_map::entry& e = seen_.at(n);
      if (seen_.holds(e)) continue;
      seen_.set(e, n, 0, 1);
      ++operations;
      if (k >= roots && (n->values() || items_[at(n)].stored)) {
        ++inputs;
        continue;
      }
      for (node* x : n->operands()) walk_.push_back(x);
    }
    return true;
  }

  /// The sums of sum_operands() count shared operands twice.
  void count_exactly(item& i) {
    walk_.assign(1, i.n);
    std::int32_t operations, inputs;
    if (!count_walk(operations, inputs)) return;  // the upper bound decides as well
    i.operations = operations;
    i.inputs = inputs;
  }

  /// Stores the operand that takes the most operations; views of it stay with the consumer.
  bool cut_largest_operand(item& i) {
    item* largest = nullptr;
    for (node* x : i.n->operands()) {
      item* s = storable(x);
      if (s && (!largest || s->operations > largest->operations)) largest = s;
    }
    if (!largest) return false;
    mark(*largest, i.operations > how_.max_operations ? cut_reason::operations : cut_reason::inputs);
    return true;
  }

  item* storable(node* x) {
    while (!x->values()) {
      item& s = items_[at(x)];
      if (s.stored || x->code == op::scalar || x->code == op::iota) return nullptr;
      if (x->code != op::view && x->code != op::reshape && x->code != op::call) return &s;
      if (x->code == op::call) return nullptr;
      x = x->operands()[0];
    }
    return nullptr;
  }

  void store_if_costly(item& i) {
    if (i.n->code == op::call || i.n->code == op::scalar) return;
    const bool computes = i.n->code != op::view && i.n->code != op::reshape && i.n->code != op::gather;
    if (i.reduces && i.moved_uses > 0) return mark(i, cut_reason::reduction);
    if (!computes) return;
    const std::uint32_t readers = i.moved_uses + (i.direct_uses > 0);
    if (readers > 1 && i.moved_uses > 0 &&
        static_cast<std::int64_t>(i.operations) * (readers - 1) > most_recomputed_operations)
      return mark(i, cut_reason::recompute);
    if (i.repeated && i.cost > most_repeated_cost) mark(i, cut_reason::recompute);
  }

  void mark(item& i, cut_reason why) {
    if (i.stored) return;
    i.stored = true;
    if (!i.wanted) plan_->cuts.push_back({i.n, why});
  }

  /// Stored values of one shape, level and device share a launch while the limits allow.
  void group_stored() {
    open_.clear();
    for (const item& i : items_) {
      if (!i.stored && !i.wanted) continue;
      open_group* fits = nullptr;
      for (open_group& o : open_)
        if (joins(o, i)) fits = &o;
      if (!fits) {
        plan_->add_group(i.level);
        open_.push_back({plan_->count - 1, i.operations, i.inputs, i.alone});
        fits = &open_.back();
      }
      plan_->pool[fits->index].outputs.push_back(i.n);
      if (open_.size() > 64) open_.erase(open_.begin());
    }
    std::ranges::stable_sort(plan_->groups(), {}, &group::level);
  }

  /// Whether i's value fits into the launch `o`, whose counts then include it.
  bool joins(open_group& o, const item& i) {
    const group& g = plan_->pool[o.index];
    if (g.level != i.level || g.outputs[0]->extents != i.n->extents || g.outputs[0]->owner != i.n->owner ||
        g.outputs.size() >= most_outputs || o.alone != i.alone)
      return false;
    std::int32_t operations = o.operations + i.operations, inputs = o.inputs + i.inputs;
    if (operations > how_.max_operations || inputs > how_.max_inputs) {
      walk_.assign(g.outputs.begin(), g.outputs.end());
      walk_.push_back(i.n);
      if (!count_walk(operations, inputs)) return false;
    }
    if (operations > how_.max_operations || inputs > how_.max_inputs) return false;
    o.operations = operations;
    o.inputs = inputs;
    return true;
  }

  options how_;
  plan* plan_ = nullptr;
  std::vector<item> items_;  ///< operands before users
  epoch_map where_;          ///< node -> its item
  epoch_map seen_;
  std::vector<node*> walk_;
  std::vector<open_group> open_;
  std::vector<std::pair<node*, std::uint32_t>> stack_;
};

}  // namespace

std::string_view to_string(cut_reason r) {
  switch (r) {
    case cut_reason::operations: return "operations: the kernel would pass the limit of instructions";
    case cut_reason::inputs: return "inputs: the kernel would read more arrays than the limit";
    case cut_reason::recompute: return "recompute: several views of it would each compute it again";
    case cut_reason::options: return "options: a string kernel with compiler options of its own runs alone";
    case cut_reason::reduction: return "reduction: its result is read by elements that are not its own";
  }
  return "";
}

void fuse(std::span<node* const> roots, const options& how, plan& out) {
  out.clear();
  static thread_local planner p;
  p.run(roots, how, out);
}

}  // namespace sinter::jit
