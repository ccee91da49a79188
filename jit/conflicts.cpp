// A launch may write to memory it reads only when no element of it meets another's: each index of a write, along some
// axis, differs from every index of the read, or it is the very element that the same thread reads.
#include "jit/lower_internal.hpp"
#include "jit/region.hpp"

#include <algorithm>
#include <numeric>

namespace sinter::jit {

bool lowering::same_element(std::uint32_t a, std::uint32_t b) const {
  for (int k = 0; k < maps_[a].rank; ++k) {
    const linear f = map_form(a, k), g = map_form(b, k);
    if (f.constant != g.constant || !lin_.equal_terms(f, g)) return false;
    for (const linear_term& t : lin_.terms(f))
      if (!atoms_[t.atom].is_dim) return false;
  }
  return true;
}

/// Along some axis, the indices of both are apart; each is seen as all that its terms could be, independently.
bool lowering::never_meet(std::uint32_t a, std::uint32_t b) const {
  const auto taken_by = [this](const linear& f) {
    std::int64_t step = 0;
    for (const linear_term& t : lin_.terms(f)) step = std::gcd(step, t.factor);
    const index_range r = range_of(f);
    return step == 0 ? progression{r.low, 1, 1} : progression{r.low, step, (r.high - r.low) / step + 1};
  };
  for (int k = 0; k < maps_[a].rank; ++k)
    if (disjoint(taken_by(map_form(a, k)), taken_by(map_form(b, k)))) return true;
  return false;
}

void lowering::find_conflicts() {
  for (pending_store& store : stores_) {
    if (!store.to.giver) continue;
    const bool affine = !store.to.where || store.to.where->code == op::update;
    bool conflicts = false;
    for (const recorded_load& l : loads_) {
      if (l.from != store.to.giver) continue;
      const bool anywhere = l.map == recorded_load::anywhere;
      if (!anywhere && never_meet(store.map, l.map)) continue;
      if (!anywhere && affine && same_element(store.map, l.map)) {
        aliased_.push_back(store.to.giver);
        store.aliased = true;
        continue;
      }
      conflicts = true;
    }
    if (conflicts) out_->conflicts.push_back(store.number);
  }
}

/// Tells the compiler of pointers that reach the same elements.
void lowering::mark_aliases() {
  for (const node* giver : aliased_)
    for (std::size_t a = 0; a < out_->pointers.size(); ++a) {
      const pending_pointer& p = out_->pointers[a];
      const bool writes = out_->ir.parameters[p.parameter].kind == parameter_kind::output;
      const bool takes = writes && std::ranges::any_of(stores_, [&](const pending_store& s) {
                           return s.to.n == p.source && s.to.giver == giver;
                         });
      if (takes || p.source == giver) out_->ir.parameters[p.parameter].aliased = 1;
    }
}

}  // namespace sinter::jit
