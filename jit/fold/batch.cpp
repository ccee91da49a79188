#include "jit/fold/batch.hpp"

#include "jit/fold/batch_nest.hpp"
#include "jit/fold/trace_recorder.hpp"
#include "jit/graph_internal.hpp"
#include "runtime/backend.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sinter::jit {

namespace {

// Fewer operands are as well chosen between, or each stored in its place: that is one launch, too. (On a cpu, warm, 16
// sums batched take as long as 16 apart, 24 rows likewise; the kernel of a batch is the same for any number of them.)
constexpr std::size_t least_operands = 16, least_repeats = 8;
// Different operands that are repeated one after another.
constexpr std::size_t longest_period = 8;
// Larger arrays aren't worth a launch less each: parts of one memory all live as long as any of them.
constexpr std::int64_t most_bytes_of_part = std::int64_t{256} << 10;

/// Whether it is, or depends on, a join of that many operands.
bool is_wide(const node* n) { return n->widest_join >= least_operands; }

std::string site_text(const node* n) { return fmt::format("{}:{}", n->site.file, n->site.line); }

void note(const std::string& line) {
  if (folding_notes* notes = folding_notes::wanted()) notes->text += line + "\n";
}

/// As many repetitions of `period` different operands as follow from `begin` on, and may be computed at once.
std::size_t repetitions(const operand_table& t, std::size_t begin, std::size_t period) {
  std::size_t end = begin + period, most = t.size();
  if (end > t.size()) return 0;
  for (std::size_t k = begin; k < end; ++k) {
    if (t.too_large(k)) return 0;
    most = std::min(most, most_at_once(t.structure_of(k)));
  }
  while (end < t.size() && end - begin < most * period && t.alike(end, end - period)) ++end;
  return std::min((end - begin) / period, most);
}

/// Sequences of operands that repeat.
struct repeated {
  std::size_t begin, period, times;
};

/// The sequence that begins here; `times` is 0 when it isn't repeated often enough.
repeated find_repeated(const operand_table& t, std::size_t begin) {
  for (std::size_t period = 1; period <= longest_period; ++period) {
    const std::size_t times = repetitions(t, begin, period);
    if (times >= least_repeats && period * times >= least_operands) return {begin, period, times};
  }
  return {begin, 1, 0};
}

/// Why nothing is batched from `begin` on.
std::string_view why_apart(const operand_table& t, std::size_t begin) {
  const std::size_t other = begin + 1 < t.size() ? begin + 1 : begin - 1;
  if (!t.alike(begin, other)) return t.difference(begin, other);
  if (most_at_once(t.structure_of(begin)) < least_operands) return "computed at once, they might take too much memory";
  return "too few of them in a row are alike";
}

// ---- joins ----

/// The operands of a batch, [n, extents...], end to end along their axis.
node_ref end_to_end(const node_ref& batch, int axis, const place& at) {
  const shape& from = batch->extents;
  const std::int64_t n = from[0], extent = from[axis + 1];
  std::vector<axis_map> map(static_cast<std::size_t>(from.rank()));
  shape apart, joined;
  for (int k = 1; k < from.rank(); ++k) {
    if (k - 1 == axis) {
      map[0] = {0, 1, apart.rank()};
      apart.append(n);
    }
    joined.append(k - 1 == axis ? n * extent : from[k]);
    if (k - 1 == axis && extent == 1) continue;  // the batch takes its place
    map[static_cast<std::size_t>(k)] = {0, 1, apart.rank()};
    apart.append(from[k]);
  }
  const node_ref moved = make_view(batch.get(), map, apart, at);
  return make_reshape(moved.get(), joined, at);
}

class join_batcher {
 public:
  explicit join_batcher(std::span<node* const> roots) {
    for (node* r : roots) note_root(r);
    count_uses(roots);
    stack_.assign(roots.begin(), roots.end());
    while (!stack_.empty()) {
      node* n = stack_.back();
      stack_.pop_back();
      if (n->values() || !is_wide(n) || done_.find(n)) continue;
      done_.set(done_.at(n), n, 0, 1);
      if (n->code == op::join) rewrite(n);
      stack_.insert(stack_.end(), n->operands().begin(), n->operands().end());
    }
    for (node* r : roots)
      if (!r->values() && r->code == op::reshape && rewritten_.find(r)) reshapes_.push_back(r);
  }

  std::vector<node*>& reshapes() { return reshapes_; }

 private:
  void note_root(node* r) {
    runtime::device* d = owner_of(r);
    if (d && where_ && d != where_) several_devices_ = true;
    if (d) where_ = d;
  }

  /// How often each join is used: those used more than once are operands of their own.
  void count_uses(std::span<node* const> roots) {
    for (node* r : roots) uses_.set(uses_.at(r), r, 0, 2);
    stack_.assign(roots.begin(), roots.end());
    epoch_map seen;
    while (!stack_.empty()) {
      node* n = stack_.back();
      stack_.pop_back();
      if (n->values() || !is_wide(n) || seen.find(n)) continue;
      seen.set(seen.at(n), n, 0, 1);
      for (node* x : n->operands()) {
        if (x->values()) continue;
        if (x->code == op::join) {
          epoch_map::entry& e = uses_.at(x);
          uses_.set(e, x, 0, uses_.holds(e) ? e.value + 1 : 1);
        }
        stack_.push_back(x);
      }
    }
  }

  bool is_part_of(const node* n, int axis) {
    if (n->code != op::join || n->values() || n->facts->axis != axis) return false;
    const std::uint32_t* uses = uses_.find(n);
    return !uses || *uses <= 1;
  }

  /// The operands of a join, and of those that it is made of.
  std::vector<node*> flattened(node* join) {
    const int axis = join->facts->axis;
    std::vector<node*> pieces, open(join->operands().rbegin(), join->operands().rend());
    while (!open.empty()) {
      node* n = open.back();
      open.pop_back();
      if (is_part_of(n, axis)) open.insert(open.end(), n->operands().rbegin(), n->operands().rend());
      else pieces.push_back(n);
    }
    return pieces;
  }

  void rewrite(node* join) {
    const std::vector<node*> pieces = flattened(join);
    if (pieces.size() < least_operands) return;
    runtime::device* where = owner_of(join);
    if (!where && several_devices_) return;
    device_ = where ? where : where_ ? where_ : &runtime::default_device();
    table_.describe(pieces);
    why_.clear();
    batched_ = 0;
    const std::vector<node_ref> fewer = batched_pieces(join);
    note(fmt::format("join of {} at {}: {}", pieces.size(), site_text(join), outcome(pieces.size(), fewer.size())));
    if (batched_ == 0) return;
    std::vector<node*> list;
    for (const node_ref& p : fewer) list.push_back(p.get());
    const node_ref whole = make_join(list, join->facts->axis, join->site);
    for (node* x : join->operands()) held_.push_back(node_ref::share(x));
    rewritten_.set(rewritten_.at(join), join, 0, 1);
    const bool shared = whole->references.load(std::memory_order_acquire) > 1 + (fewer.size() == 1);
    become(join, shared && !whole->values() ? same_values(whole.get(), join->site).get() : whole.get());
  }

  static node_ref same_values(node* n, const place& at) {
    auto facts = std::make_unique<attribute>();
    for (int k = 0; k < n->extents.rank(); ++k) facts->view.push_back({0, 1, k});
    normalize(facts->view, n->extents);
    return make_node(op::view, n->type, n->extents, {&n, 1}, at, std::move(facts));
  }

  std::vector<node_ref> batched_pieces(const node* join) {
    std::vector<node_ref> fewer;
    for (std::size_t k = 0; k < table_.size();) {
      const repeated r = find_repeated(table_, k);
      if (r.times > 0)
        if (node_ref batch = batched(r, join)) {
          fewer.push_back(std::move(batch));
          batched_ += r.period * r.times;
          k += r.period * r.times;
          continue;
        }
      if (r.times == 0 && why_.empty()) why_ = why_apart(table_, k);
      for (const std::size_t end = k + std::max<std::size_t>(r.period * r.times, 1); k < end; ++k)
        fewer.push_back(node_ref::share(table_[k]));
    }
    return fewer;
  }

  node_ref batched(const repeated& r, const node* join) {
    const int axis = join->facts->axis;
    std::vector<node_ref> held;
    std::vector<node*> members;
    for (std::size_t k = 0; k < r.period; ++k) {
      held.push_back(batch_expression(table_, {r.begin + k, r.period, r.times}, *device_, why_));
      if (!held.back()) return {};
      members.push_back(held.back().get());
    }
    const node_ref batch = r.period == 1 ? held[0] : make_join(members, axis + 1, join->site);
    return end_to_end(batch, axis, join->site);
  }

  std::string outcome(std::size_t pieces, std::size_t left) const {
    if (batched_ == 0) return fmt::format("not batched: {}", why_);
    std::string text = fmt::format("{} batched", batched_ == pieces ? "all" : fmt::format("{}", batched_));
    if (left > 1) text += fmt::format(", {} left to join", left);
    if (batched_ < pieces && !why_.empty()) text += fmt::format(" ({})", why_);
    return text;
  }

  runtime::device* where_ = nullptr;
  runtime::device* device_ = nullptr;
  bool several_devices_ = false;
  operand_table table_;
  epoch_map uses_, done_, rewritten_;
  std::vector<node*> stack_;
  std::vector<node*> reshapes_;
  std::vector<node_ref> held_;  ///< until the end, so that no node gets the address of another
  std::string why_;
  std::size_t batched_ = 0;
};

}  // namespace

std::vector<node*> batch_joins(std::span<node* const> roots) {
  if (std::ranges::none_of(roots, [](const node* r) { return is_wide(r) && !r->values(); })) return {};
  return std::move(join_batcher(roots).reshapes());
}

// ---- the arrays of one evaluation ----

namespace {

bool may_be_part(const node* n) {
  const std::int64_t bytes = n->extents.size() * size_of(n->type);
  return !n->values() && bytes > 0 && bytes <= most_bytes_of_part && n->extents.rank() < max_rank;
}

/// Element `k` of a batch.
node_ref row_of(node* whole, std::int64_t k, const place& at) {
  std::vector<axis_map> map{{k, 0, -1}};
  shape extents;
  for (int a = 1; a < whole->extents.rank(); ++a) {
    map.push_back({0, 1, a - 1});
    extents.append(whole->extents[a]);
  }
  return make_view(whole, map, extents, at);
}

}  // namespace

batched_roots::batched_roots(std::span<node* const> roots) : roots_(roots) {
  if (roots.size() >= least_operands) find_alike(roots);
  if (const std::vector<node*> reshapes = batch_joins(roots_); !reshapes.empty()) take_reshaped(reshapes);
}

/// Evaluates what they are reshapes of: reductions in them run in rows, then.
void batched_roots::take_reshaped(std::span<node* const> reshapes) {
  if (own_.empty()) own_.assign(roots_.begin(), roots_.end());
  for (node* r : reshapes) {
    node* from = r->operands()[0];
    if (from->values()) continue;
    reshaped_.push_back({node_ref::share(r), node_ref::share(from)});
    std::ranges::replace(own_, r, from);
  }
  roots_ = own_;
}

void batched_roots::find_alike(std::span<node* const> roots) {
  epoch_map seen;
  std::vector<node*> small;
  for (node* r : roots)
    if (may_be_part(r) && !seen.find(r)) {
      seen.set(seen.at(r), r, 0, 1);
      small.push_back(r);
    }
  operand_table table;
  table.describe(small);
  if (table.size() < least_operands) return;
  std::string why;
  for (std::size_t k = 0; k < table.size();) {
    const repeated r = find_repeated(table, k);
    const std::size_t end = k + std::max<std::size_t>(r.period * r.times, 1);
    for (std::size_t m = k; m < k + r.period && r.times > 0; ++m) {
      runtime::device* d = owner_of(table[m]);
      node_ref whole = batch_expression(table, {m, r.period, r.times}, d ? *d : runtime::default_device(), why);
      if (!whole || whole->values()) continue;
      batch b{std::move(whole), {}};
      for (std::size_t j = 0; j < r.times; ++j) b.arrays.push_back(node_ref::share(table[m + j * r.period]));
      note(fmt::format("{} arrays, the first at {}: batched, parts of one", r.times, site_text(table[m])));
      batches_.push_back(std::move(b));
    }
    k = end;
  }
  if (batches_.empty()) {
    if (why.empty()) why = why_apart(table, 0);
    return note(fmt::format("{} arrays, the first at {}: not batched: {}", table.size(), site_text(table[0]), why));
  }
  seen.clear();
  for (const batch& b : batches_) {
    own_.push_back(b.whole.get());
    for (std::size_t k = 0; k < b.arrays.size(); ++k) {
      node* n = b.arrays[k].get();
      become(n, row_of(b.whole.get(), static_cast<std::int64_t>(k), n->site).get());
      seen.set(seen.at(n), n, 0, 1);
    }
  }
  for (node* r : roots)
    if (!seen.find(r)) own_.push_back(r);
  roots_ = own_;
}

std::vector<node*> batched_roots::hand_out() {
  std::vector<node*> left;
  for (const auto& [n, from] : reshaped_)
    if (!n->values()) settle(n.get(), runtime::reference<runtime::buffer>::share(from->values()));
  for (const batch& b : batches_) {
    runtime::buffer* all = b.whole->values();
    const bool own = all->references.load(std::memory_order_acquire) == 1 &&
                     b.whole->references.load(std::memory_order_acquire) == 1 + b.arrays.size();
    const std::size_t bytes = static_cast<std::size_t>(b.arrays[0]->extents.size() * size_of(b.whole->type));
    for (std::size_t k = 0; k < b.arrays.size(); ++k) {
      node* n = b.arrays[k].get();
      if (!own) left.push_back(n);
      else settle(n, runtime::reference<runtime::buffer>(runtime::make_part(*all, k * bytes, bytes)));
    }
  }
  return left;
}

}  // namespace sinter::jit
