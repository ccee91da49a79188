// Whose memory a value may take over: nobody needs it once the roots are computed.
#include "jit/fuse_internal.hpp"

#include "jit/loops.hpp"
#include "jit/region.hpp"
#include "runtime/foreign.hpp"

#include <algorithm>

namespace sinter::jit {

namespace {

// How much of an expression is searched for an array that could give its memory to the result.
constexpr std::size_t most_nodes_for_giver = 64;
// What a launch costs in bytes of memory traffic: about 4 us at 4 TB/s.
constexpr std::int64_t bytes_a_launch_takes = std::int64_t{8} << 20;

}  // namespace

bool planner::only_leads_on(const item& i) {
  return !i.stored && !i.wanted && i.releases && i.n->references.load(std::memory_order_acquire) == i.references;
}

/// Writes of several domains are several launches; a small array is sooner written anew in one. Regions that overlap
/// in part would have to be written one after another.
bool planner::worth_in_place(const item& i) {
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
void planner::find_releases() {
  leaves_.clear();
  taken_.clear();
  for (std::size_t k = items_.size(); k-- > 0;) {
    item& i = items_[k];
    i.releases = i.wanted || i.n->references.load(std::memory_order_acquire) == i.references;
    if (!i.releases) continue;
    for (std::size_t o = 0; o < i.n->operand_count; ++o)
      count_reference(i.n->operands()[o], 1, moves_elements(i.n, o));
    if (i.n->code == op::iterate)  // the loop's body goes with it
      for (const auto& [x, count] : i.n->facts->loop->held) count_reference(x, count, i.n->facts->loop->moves);
  }
}

void planner::count_reference(const node* x, std::uint32_t count, bool moved) {
  if (!x->values()) {
    if (const std::uint32_t* known = where_.find(x)) items_[*known].references += count;
    return;
  }
  epoch_map::entry& e = leaves_.at(x);
  const bool known = leaves_.holds(e);
  leaves_.set(e, x, 0, known ? e.value + count : count, (known ? e.extra : 0) | (moved ? is_moved : 0));
}

/// Whether nothing but `taker` will need the memory of `giver` after this evaluation.
bool planner::may_take(const node* taker, const node* giver) {
  if (is_decided(taker, decision::what::copy) || giver->owner == nullptr) return false;
  if (!giver->values()) {
    const item& i = items_[at(giver)];
    return i.stored && !i.wanted && i.releases && !taken_.find(giver);
  }
  epoch_map::entry& e = leaves_.at(giver);
  return leaves_.holds(e) && (e.extra & is_taken) == 0 &&
         e.value == giver->references.load(std::memory_order_acquire) &&
         is_exclusive(*giver->values());
}

void planner::take(node* giver) {
  if (!giver->values()) return taken_.set(taken_.at(giver), giver, 0, 1);
  epoch_map::entry& e = leaves_.at(giver);
  leaves_.set(e, giver, 0, e.value, e.extra | is_taken);
}

/// An array of the same form that only this value is computed from, element by element: it gives its memory.
node* planner::last_reader_of(const item& i) {
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

bool planner::gives_whole(const node* taker, const node* x) {
  if (size_of(x->type) != size_of(taker->type) || x->owner != taker->owner || !may_take(taker, x)) return false;
  const bool alone = stored_count_ == 1;
  if (!x->values()) {
    const item& s = items_[at(x)];
    return s.moved_uses == 0 && (alone || s.direct_uses == 1);
  }
  const epoch_map::entry& e = leaves_.at(x);
  return (e.extra & is_moved) == 0 && (alone || e.value == 1);
}

bool planner::is_decided(const node* n, decision::what how) {
  return decided_.find(n, static_cast<std::uint32_t>(how)) != nullptr;
}

}  // namespace sinter::jit
