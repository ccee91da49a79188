// The short cut of a trace for statements that are expected: those of loops, nearly all.
//
// Statements are taken in one at a time, as if each were a list of its own for take_in(): first look at what it reads
// and how long, then describe it, then push it to the folder. For a statement like an earlier one (known_statement)
// that is all seen from reference counts: operations that only the statement holds can't be used by others; a variable
// is read later, by whomever, when somebody has its node beside the trace, the statement and those before it, which are
// through; otherwise this was its last use. A statement of which that can't be said, and all after it in the list, take
// the long way.
#include "jit/fold/trace_recorder.hpp"

#include "jit/graph_internal.hpp"

#include <algorithm>

namespace sinter::jit {

/// Pushes statements from the first on, as long as they are as expected. How many.
std::size_t statement_trace::push_expected(std::span<const node_ref> list, std::span<node* const> recorded) {
  const std::unique_lock lock = hold_operands();
  std::size_t count = 0;
  for (; count < list.size(); ++count)
    if (!push_expected(list[count].get(), count + 1 == list.size() ? recorded : std::span<node* const>())) break;
  return count;
}

bool statement_trace::push_expected(node* n, std::span<node* const> recorded) {
  const std::int32_t structure = structures_.expected();
  if (structure < 0) return false;
  const auto number = static_cast<std::size_t>(structure);
  if (number >= known_.size()) known_.resize(number + 1);
  if (!known_[number]) {
    known_[number] = std::make_unique<known_statement>(structures_[structure]);
    known_[number]->make_room(found_);
  }
  known_statement& known = *known_[number];
  if (!known.matches(n, slot_nodes_, found_)) return false;
  std::int64_t target = found_.base;
  // A slot that is written nowhere may have been read by statements before this one, as an array around the trace.
  if (target >= 0 && !slots_[static_cast<std::size_t>(target)].is_written) return false;
  for (const std::int64_t slot : found_.dying) {
    free_slot(slot);
    slot_nodes_.forget(slot);
  }
  if (target < 0) {
    target = new_slot(n, {});
    slots_[static_cast<std::size_t>(target)].is_written = true;
  }
  slot_nodes_.set(target, n);
  structures_.follow_expected();
  if (number >= foreseen_.size()) foreseen_.resize(number + 1);
  if (!recorded.empty() && !foreseen_[number])
    foreseen_[number] = foreseen_statement::make(structure, known, found_.nodes, recorded);
  found_.parameters[known.parameters() - 1] = target;
  folder_.push(structure, {found_.parameters.data(), known.parameters()});
  return true;
}

// ---- Without nodes ----

foreseen_statement* statement_trace::prepared(const std::unique_ptr<foreseen_statement>& s) {
  if (s && s->prepared_for != taken_in_) {
    s->prepare(slot_nodes_, slots_);
    s->prepared_for = taken_in_;
  }
  return s.get();
}

foreseen_statement* statement_trace::foreseen_next() {
  const std::int32_t structure = structures_.expected();
  if (structure < 0 || static_cast<std::size_t>(structure) >= foreseen_.size()) return nullptr;
  return prepared(foreseen_[static_cast<std::size_t>(structure)]);
}

foreseen_statement* statement_trace::foreseen_beginning_with(node& n) {
  constexpr std::size_t most_tried = 32;
  for (std::size_t k = 0; k < std::min(foreseen_.size(), most_tried); ++k)
    if (foreseen_statement* const s = prepared(foreseen_[k]); s && s->meet(n)) return s;
  return nullptr;
}

bool statement_trace::push_foreseen(foreseen_statement& s, const node* base, const node* values,
                                    const axis_maps& region) {
  const std::lock_guard lock(mutex);
  if (is_raised || !s.ends(base, values, region)) return false;
  structures_.follow(s.structure());
  folder_.push(s.structure(), s.parameters());
  return true;
}

// ---- From the list ----

/// Of statements that have been pushed: those that somebody needs become versions, and their operands are let go.
void statement_trace::let_go(std::span<node_ref> list, node* self) {
  for (std::int64_t s = 0; s < slot_nodes_.size(); ++s) {
    node* n = slot_nodes_.at(s).n;
    slot_nodes_.at(s).reads = 0;
    if (!n || !slots_[static_cast<std::size_t>(s)].is_written || n->code == op::traced) continue;
    if (n->references.load(std::memory_order_acquire) == 1) {  // the list alone
      slot_nodes_.forget(s);
      free_slot(s);
      continue;
    }
    become_traced(n, self, static_cast<std::int32_t>(s));
    versions_.push_back({node_ref::share(n), s});
  }
  for (node_ref& n : list) {
    n->is_listed = false;
    n = {};
  }
  std::erase_if(versions_, [&](const version& v) {
    if (v.n->references.load(std::memory_order_acquire) > 1) return false;
    if (slot_nodes_.has(v.slot, v.n.get())) slot_nodes_.forget(v.slot);
    return true;
  });
}

/// After statements that took the long way.
void statement_trace::note_slot_nodes() {
  slot_nodes_.clear();
  for (std::size_t s = 0; s < slots_.size(); ++s)
    if (slots_[s].first && !slots_[s].is_written) slot_nodes_.set(static_cast<std::int64_t>(s), slots_[s].first.get());
  for (const version& v : versions_) slot_nodes_.set(v.slot, v.n.get());
}

}  // namespace sinter::jit
