#include "jit/fuse.hpp"

#include "jit/epoch_map.hpp"
#include "jit/region.hpp"
#include "jit/user_kernel.hpp"

#include <algorithm>

namespace sinter::jit {

namespace {

// A value read through several different views is computed once per view; past this many operations it is stored.
constexpr int most_recomputed_operations = 64;
// An expression repeated along a broadcast axis is computed per element of the result; past this cost it is stored.
constexpr int most_repeated_cost = 256;
constexpr std::size_t most_outputs = 32;
// How much of an expression is searched for an array that could give its memory to the result.
constexpr std::size_t most_nodes_for_giver = 64;
// What a launch costs in bytes of memory traffic: about 4 us at 4 TB/s.
constexpr std::int64_t bytes_a_launch_takes = std::int64_t{8} << 20;

struct item {
  node* n;
  std::uint32_t direct_uses = 0;   ///< by operations that need just the same element
  std::uint32_t moved_uses = 0;    ///< through views, broadcasts, gathers, reductions
  std::int32_t operations = 1;     ///< upper bound of instructions to compute it from stored values
  std::int32_t inputs = 0;         ///< likewise, stored values read
  std::int32_t work = 0;           ///< instructions that one element runs: of pieces it takes one
  std::int32_t cost = 0;
  std::uint32_t level = 0;         ///< levels of launches before its own
  bool wanted = false;             ///< a root: written to memory, but may be computed within its readers as well
  bool stored = false;             ///< written to memory and read from there
  bool repeated = false;           ///< some use computes its elements several times
  bool reduces = false;            ///< a reduction would run inside a consumer of it
  bool releases = false;           ///< this evaluation ends its use of its operands
  std::uint32_t references = 0;    ///< of n, by operands of items that release
  const node* alone = nullptr;     ///< the call, with compiler options of its own, that it is a result of
};

class planner {
 public:
  void run(std::span<node* const> roots, const options& how, std::span<const decision> decided, plan& out) {
    how_ = how;
    decided_ = decided;
    plan_ = &out;
    items_.clear();
    where_.clear();
    for (node* r : roots) collect(r);
    count_uses();
    for (node* r : roots)
      if (!r->values()) items_[at(r)].wanted = true;
    for (std::uint32_t k = 0; k < items_.size(); ++k) weigh(k);
    find_releases();
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
        plan_->has_pieces |= n->code == op::update || n->code == op::join;
      }
      stack.pop_back();
    }
  }

  static bool moves_elements(const node* user, std::size_t operand) {
    const bool same = is_elementwise(user->code) || user->code == op::call || user->code == op::result ||
                      (user->code == op::update && operand == 0);
    return !same || user->extents != user->operands()[operand]->extents;
  }

  /// Whether an operand is computed for a part of its user alone.
  static bool is_piece(const node* user, std::size_t operand) {
    return user->code == op::join || ((user->code == op::update || user->code == op::scatter) && operand == 1);
  }

  void count_uses() {
    for (const item& i : items_)
      for (std::size_t k = 0; k < i.n->operand_count; ++k) {
        const node* x = i.n->operands()[k];
        if (x->values()) continue;
        item& source = items_[at(x)];
        const bool moved = moves_elements(i.n, k);
        ++(moved ? source.moved_uses : source.direct_uses);
        source.repeated |= moved && !is_piece(i.n, k) && i.n->extents.size() > x->extents.size();
      }
  }

  /// Everything about item k that its operands decide; stores operands where fusing them would cost too much.
  void weigh(std::uint32_t k) {
    item& i = items_[k];
    if (is_decided(i.n, decision::what::store)) mark(i, cut_reason::overlap);
    if (i.n->code == op::scatter) mark(i, cut_reason::scatter);
    keep_options_apart(i);
    sum_operands(i);
    if (i.n->code == op::join && i.wanted && pieces_alike(i.n)) return;  // pieces are placed one by one
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
    i.operations = own_operations(i.n);
    i.inputs = 0;
    i.work = 0;
    i.cost = info(i.n->code).cost;
    i.level = 0;
    i.reduces = is_reduction(i.n->code);
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
      i.reduces |= s->reduces;
    }
    i.work += i.n->code == op::join || i.n->code == op::update ? 1 : own_operations(i.n);
    if (i.n->code == op::scatter) ++i.level;  // after the launch that may have to copy the base
  }

  /// Instructions for the node itself: also for asking where among its pieces an element lies.
  static std::int32_t own_operations(const node* n) {
    if (n->code == op::update) return 2 + 2 * n->extents.rank();
    if (n->code == op::scalar) return 0;
    if (is_reduction(n->code)) return 8;  // a loop costs a compiler more than an instruction
    return n->code == op::join ? 4 * n->operand_count : 1;
  }

  /// What the nodes of walk_ need together, each value counted once; false when that is far past the limits.
  bool count_walk(std::int32_t& operations, std::int32_t& inputs) {
    seen_.clear();
    operations = inputs = 0;
    for (std::size_t k = 0; k < walk_.size(); ++k) {
      if (operations > 2 * how_.max_operations) return false;
      node* n = walk_[k];
      epoch_map::entry& e = seen_.at(n);
      if (seen_.holds(e)) continue;
      seen_.set(e, n, 0, 1);
      if (in_memory(n)) {
        ++operations;
        ++inputs;
        continue;
      }
      operations += own_operations(n);
      for (node* x : n->operands()) walk_.push_back(x);
    }
    return true;
  }

  bool in_memory(const node* n) { return n->values() || items_[at(n)].stored; }

  /// The sums of sum_operands() count shared operands twice.
  void count_exactly(item& i) {
    walk_.assign(i.n->operands().begin(), i.n->operands().end());
    std::int32_t operations, inputs;
    if (!count_walk(operations, inputs)) return;  // the upper bound decides as well
    i.operations = operations + own_operations(i.n);
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
    const bool computes = i.n->code != op::view && i.n->code != op::reshape && i.n->code != op::gather &&
                          i.n->code != op::join;
    if (i.reduces && i.moved_uses > 0) return mark(i, cut_reason::reduction);
    if (!computes) return;
    const std::uint32_t readers = i.moved_uses + (i.direct_uses > 0);
    if (readers > 1 && i.moved_uses > 0 &&
        static_cast<std::int64_t>(i.work) * (readers - 1) > most_recomputed_operations)
      return mark(i, cut_reason::recompute);
    if (i.repeated && i.cost > most_repeated_cost) mark(i, cut_reason::recompute);
  }

  void mark(item& i, cut_reason why) {
    if (i.stored) return;
    i.stored = true;
    if (!i.wanted) plan_->cuts.push_back({i.n, why});
  }

  // ---- groups ----
  /// Stored values of one domain, level and device share a launch while the limits allow.
  void group_stored() {
    open_.clear();
    stored_count_ = std::ranges::count_if(items_, [](const item& i) { return i.stored || i.wanted; });
    for (std::size_t k = 0; k < items_.size(); ++k) {
      const item& i = items_[k];
      if (!i.stored && !i.wanted) continue;
      if (i.stored) plan_->in_memory.set(plan_->in_memory.at(i.n), i.n, 0, 1);
      if (i.n->code == op::scatter) place_scatter(i);
      else if (i.n->code == op::join && place_join(i.n, i.level)) continue;
      else if (i.n->code != op::update || !place_update(i))
        place({i.n, i.n, nullptr, last_reader_of(i)}, i.level, i.alone);
    }
    std::ranges::stable_sort(plan_->groups(), {}, &group::level);
  }

  /// The base of a scatter is copied first when its memory can't be taken over.
  void place_scatter(const item& i) {
    node *base = i.n->operands()[0], *values = i.n->operands()[1];
    const bool takes = may_take(i.n, base);
    if (takes) take(base);
    else place({i.n, base}, i.level - 1, nullptr);
    place({i.n, values, i.n, takes ? base : nullptr}, i.level, nullptr);
  }

  static bool pieces_alike(const node* n) {
    return std::ranges::all_of(n->operands(), [n](const node* x) { return x->extents == n->operands()[0]->extents; });
  }

  /// Each piece computed by itself and stored in its place, where that is one launch: nothing asks what is where.
  bool place_join(node* n, std::uint32_t level) {
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
  bool place_update(const item& i) {
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

  static bool only_leads_on(const item& i) {
    return !i.stored && !i.wanted && i.releases && i.n->references.load(std::memory_order_acquire) == i.references;
  }

  /// Writes of several domains are several launches; a small array is sooner written anew in one. Regions that overlap
  /// in part would have to be written one after another.
  bool worth_in_place(const item& i) {
    int domains = 0;
    for (std::size_t k = 0; k < links_.size(); ++k) {
      const shape& extents = links_[k]->operands()[1]->extents;
      bool known = false;
      for (std::size_t j = 0; j < k; ++j) {
        const node* other = links_[j];
        known |= other->operands()[1]->extents == extents;
        if (!disjoint(links_[k]->facts->view, extents, other->facts->view, other->operands()[1]->extents)) return false;
      }
      domains += !known;
    }
    return domains == 1 || i.operations > how_.max_operations ||
           i.n->extents.size() * size_of(i.n->type) > (domains - 1) * bytes_a_launch_takes;
  }

  /// Which items let go of their operands once the roots are computed: the roots, and those that only such ones use.
  void find_releases() {
    leaves_.clear();
    taken_.clear();
    for (std::size_t k = items_.size(); k-- > 0;) {
      item& i = items_[k];
      i.releases = i.wanted || i.n->references.load(std::memory_order_acquire) == i.references;
      if (!i.releases) continue;
      for (std::size_t o = 0; o < i.n->operand_count; ++o) {
        const node* x = i.n->operands()[o];
        if (!x->values()) {
          ++items_[at(x)].references;
          continue;
        }
        epoch_map::entry& e = leaves_.at(x);
        const bool known = leaves_.holds(e);
        leaves_.set(e, x, 0, known ? e.value + 1 : 1, (known ? e.extra : 0) | (moves_elements(i.n, o) ? is_moved : 0));
      }
    }
  }

  /// Whether nothing but `taker` will need the memory of `giver` after this evaluation.
  bool may_take(const node* taker, const node* giver) {
    if (is_decided(taker, decision::what::copy) || giver->owner == nullptr) return false;
    if (!giver->values()) {
      const item& i = items_[at(giver)];
      return i.stored && !i.wanted && i.releases && !taken_.find(giver);
    }
    epoch_map::entry& e = leaves_.at(giver);
    return leaves_.holds(e) && (e.extra & is_taken) == 0 &&
           e.value == giver->references.load(std::memory_order_acquire) &&
           giver->values()->references.load(std::memory_order_acquire) == 1;
  }

  void take(node* giver) {
    if (!giver->values()) return taken_.set(taken_.at(giver), giver, 0, 1);
    epoch_map::entry& e = leaves_.at(giver);
    leaves_.set(e, giver, 0, e.value, e.extra | is_taken);
  }

  /// An array of the same form that only this value is computed from, element by element: it gives its memory.
  node* last_reader_of(const item& i) {
    walk_.assign(1, i.n);
    for (std::size_t k = 0; k < walk_.size() && k < most_nodes_for_giver; ++k) {
      const node* n = walk_[k];
      if (!is_elementwise(n->code)) continue;
      for (node* x : n->operands()) {
        if (x->extents != i.n->extents) continue;
        if (!in_memory(x)) walk_.push_back(x);
        else if (gives_whole(i.n, x)) {
          take(x);
          return x;
        }
      }
    }
    return nullptr;
  }

  bool gives_whole(const node* taker, const node* x) {
    if (size_of(x->type) != size_of(taker->type) || x->owner != taker->owner || !may_take(taker, x)) return false;
    const bool alone = stored_count_ == 1;
    if (!x->values()) {
      const item& s = items_[at(x)];
      return s.moved_uses == 0 && (alone || s.direct_uses == 1);
    }
    const epoch_map::entry& e = leaves_.at(x);
    return (e.extra & is_moved) == 0 && (alone || e.value == 1);
  }

  bool is_decided(const node* n, decision::what how) const {
    return std::ranges::any_of(decided_, [&](const decision& d) { return d.n == n && d.how == how; });
  }

  void place(const target& t, std::uint32_t level, const node* alone) {
    open_group* fits = nullptr;
    open_group asked{0, 0, 0, alone};
    count_target(t, asked.operations, asked.inputs);
    for (open_group& o : open_)
      if (joins(o, t, level, asked)) fits = &o;
    if (!fits) {
      plan_->add_group(level);
      asked.index = plan_->count - 1;
      open_.push_back(asked);
      fits = &open_.back();
    }
    plan_->pool[fits->index].outputs.push_back(t);
    if (open_.size() > 64) open_.erase(open_.begin());
  }

  /// Upper bounds of what a target's value takes.
  void count_target(const target& t, std::int32_t& operations, std::int32_t& inputs) {
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

  void walk_target(const target& t) {
    if (t.value == t.n) walk_.insert(walk_.end(), t.n->operands().begin(), t.n->operands().end());
    else walk_.push_back(t.value);
    if (t.where && t.where->code == op::scatter)
      walk_.insert(walk_.end(), t.where->operands().begin() + 2, t.where->operands().end());
  }

  /// Whether a target fits into the launch `o`, whose counts then include it.
  bool joins(open_group& o, const target& t, std::uint32_t level, const open_group& asked) {
    const group& g = plan_->pool[o.index];
    if (g.level != level || g.domain() != t.domain() || g.owner() != t.n->owner || g.outputs.size() >= most_outputs ||
        o.alone != asked.alone)
      return false;
    std::int32_t operations = o.operations + asked.operations, inputs = o.inputs + asked.inputs;
    if (operations > how_.max_operations || inputs > how_.max_inputs) {
      walk_.clear();
      for (const target& other : g.outputs) walk_target(other);
      walk_target(t);
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
  std::span<const decision> decided_;
  std::ptrdiff_t stored_count_ = 0;
  static constexpr std::uint32_t is_taken = 1, is_moved = 2;
  epoch_map leaves_;           ///< evaluated operands: references by items that release; extra: taken, moved
  epoch_map taken_;            ///< stored items whose memory is taken over
  std::vector<node*> links_;   ///< a chain of updates, newest first
  std::vector<std::pair<node*, std::uint32_t>> stack_;
};

}  // namespace

std::string_view to_string(cut_reason r) {
  switch (r) {
    case cut_reason::operations: return "operations: the kernel would pass the limit of instructions";
    case cut_reason::inputs: return "inputs: the kernel would read more arrays than the limit";
    case cut_reason::recompute: return "recompute: several views of it would each compute it again";
    case cut_reason::options: return "options: a string kernel with compiler options of its own runs alone";
    case cut_reason::scatter: return "scatter: written at computed places, which takes memory";
    case cut_reason::overlap: return "overlap: other elements of what it is written to are read for it";
    case cut_reason::reduction: return "reduction: its result is read by elements that are not its own";
  }
  return "";
}

void fuse(std::span<node* const> roots, const options& how, std::span<const decision> decided, plan& out) {
  out.clear();
  static thread_local planner p;
  p.run(roots, how, decided, out);
}

}  // namespace sinter::jit
