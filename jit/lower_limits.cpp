// Kernels that would be too large: what the group is lowered again without, once that is stored.
#include "jit/lower_internal.hpp"

#include <algorithm>
#include <cstdlib>

namespace sinter::jit {

namespace {

// A value needed at so many places of one kernel is sooner stored.
constexpr std::uint32_t places_to_store = 4;
// What a compiler handles in seconds; more than plans within their limits come to.
constexpr std::size_t most_instructions = 4096, most_instructions_an_operation = 12;
// A GPU's kernel has 4 KiB of them.
constexpr std::size_t most_parameters_on_gpus = 480;

}  // namespace

void lowering::check_instructions() const {
  const auto operations = static_cast<std::size_t>(how_->max_operations);
  if (graph_.size() >= std::max(most_instructions, most_instructions_an_operation * operations))
    throw kernel_too_large{};
}

void lowering::check_parameters() const {
  if (for_cuda_ && out_->ir.parameters.size() > most_parameters_on_gpus) throw kernel_too_large{};
}

void lowering::note_lowered(node* n) {
  epoch_map::entry& e = lowered_where_.at(n);
  if (lowered_where_.holds(e)) {
    ++lowered_nodes_[e.value].places;
    return;
  }
  lowered_where_.set(e, n, 0, static_cast<std::uint32_t>(lowered_nodes_.size()));
  lowered_nodes_.push_back({n, 1});
}

/// The first on the way down that is lowered at several places; else one halfway down.
const node* lowering::best_cut() const {
  const auto can_be_stored = [&](const node* n) {
    const bool target_of =
        std::ranges::any_of(group_->outputs, [n](const target& t) { return t.n == n || t.value == n; });
    return !target_of && n->code != op::scalar && n->code != op::iota && n->code != op::view &&
           n->code != op::reshape && n->code != op::iterate && n->code != op::trail && n->code != op::reduce_call &&
           !is_fused_call(n->code);
  };
  std::uint32_t deepest = 0;
  for (const lowered_node& l : lowered_nodes_) {
    if (l.places >= places_to_store && can_be_stored(l.n)) return l.n;
    deepest = std::max(deepest, l.n->depth);
  }
  const node* best = nullptr;
  const auto distance = [&](const node* n) { return std::abs(std::int64_t{n->depth} * 2 - std::int64_t{deepest}); };
  for (const lowered_node& l : lowered_nodes_)
    if (can_be_stored(l.n) && (!best || distance(l.n) < distance(best))) best = l.n;
  return best;
}

}  // namespace sinter::jit
