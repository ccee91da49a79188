#include "jit/planning.hpp"

#include "jit/split.hpp"

#include <algorithm>

namespace sinter::jit {

namespace {

// A copy that one plan needs gives the memory to others in the next one. After so many plans, all that wait for each
// other are copied; then all whatsoever: no plan is made more often.
constexpr int plans_with_few_copies = 3, plans_with_some_copies = 5;

// Plans made for the sake of kernels that would be too large.
constexpr int most_cuts = 32;

}  // namespace

runtime::device& device_of(const group& g) { return g.owner() ? *g.owner() : runtime::default_device(); }

bool planning::run(std::span<node* const> roots, const options& how, bool in_stages) {
  decided_.clear();
  int plans = 0, cuts = 0;
  for (;;) {
    values.clear();
    fuse(roots, how, decided_, groups);
    split_at_pieces(groups);
    for (std::size_t g = 0; g < groups.count; ++g)
      for (const target& t : groups.pool[g].outputs) values.add(t.n, g, t.giver);
    for (const node* r : roots)
      if (planned_values::entry* e = values.find(r)) e->wanted = true;
    if (!lower_groups(how, cuts < most_cuts)) ++cuts;
    else if (is_settled(++plans)) break;
  }
  bundle(how, in_stages);
  return groups.count > 0;
}

/// Whether the plan can run; else decided_ has more for the next one.
bool planning::is_settled(int plans) {
  const bool settled = settle_conflicts() && order.arrange(groups, lowered, plans > plans_with_few_copies, decided_);
  if (!settled && plans > plans_with_some_copies)
    for (const group& g : groups.groups())
      for (const target& t : g.outputs)
        if (t.giver) decided_.push_back({t.n, decision::what::copy});
  return settled;
}

/// False: there would be kernels too large, and decided_ says what to store instead.
bool planning::lower_groups(const options& how, bool bounded) {
  const std::size_t before = decided_.size();
  while (lowered.size() < groups.count) lowered.emplace_back();
  for (std::size_t g = 0; g < groups.count; ++g) {
    const group& what = groups.pool[g];
    lowered[g].pointers.clear();
    lowered[g].conflicts.clear();
    if (what.domain().size() == 0) continue;
    values.current = g;
    const bool for_cuda = device_of(what).kind() == runtime::device_kind::cuda;
    lower(what, values, how, for_cuda, lowered[g], bounded);
    const node* oversized = lowered[g].oversized;
    if (!oversized) continue;
    if (is_decided(oversized)) lower(what, values, how, for_cuda, lowered[g]);  // nothing helps
    else decided_.push_back({oversized, decision::what::cut});
  }
  return decided_.size() == before;
}

void planning::lower_again(std::size_t k, const options& how, jit::lowered& out) {
  const group& what = groups.pool[order[k]];
  values.current = order[k];
  lower(what, values, how, device_of(what).kind() == runtime::device_kind::cuda, out);
}

bool planning::is_decided(const node* n) const {
  return std::ranges::any_of(decided_, [n](const decision& d) { return d.n == n; });
}

/// True when no launch reads what it overwrites; else the next plan makes a copy: of the new values when they are few.
bool planning::settle_conflicts() {
  const std::size_t before = decided_.size();
  for (std::size_t g = 0; g < groups.count; ++g)
    for (const std::uint32_t k : lowered[g].conflicts) {
      const target& t = groups.pool[g].outputs[k];
      const bool few = t.value->extents.size() * 2 <= t.n->extents.size();
      const bool computed = !t.value->values() && !groups.in_memory.find(t.value) && t.value->code != op::scalar;
      const bool stores = few && computed && t.where && t.where->code == op::update && !is_decided(t.value);
      decided_.push_back({stores ? t.value : t.n, stores ? decision::what::store : decision::what::copy});
    }
  return decided_.size() == before;
}

}  // namespace sinter::jit
