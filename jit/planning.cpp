#include "jit/planning.hpp"

#include "jit/split.hpp"
#include "jit/user_kernel.hpp"

#include <algorithm>

namespace sinter::jit {

namespace {

// Launches this small cost more than their work; side by side they cost one launch. (An H200 takes some 8 us of a
// thousand blocks, launching them included.)
constexpr std::int64_t most_elements_beside_others = std::int64_t{1} << 20;
constexpr int most_cost_beside_others = 1 << 20;  // of one element's loops
constexpr std::size_t most_parts = 8;
// What a compiler handles in little time, and a kernel's 4 KiB of parameters hold.
constexpr std::size_t most_instructions_of_parts = 256, most_instructions_of_domain = 2048,
                      most_parameters_of_parts = 400;

// A copy that one plan needs gives the memory to others in the next one. After so many plans, all that wait for each
// other are copied; then all whatsoever: no plan is made more often.
constexpr int plans_with_few_copies = 3, plans_with_some_copies = 5;

// Plans made for the sake of kernels that would be too large.
constexpr int most_cuts = 32;

// Blocks of 256 threads that are a launch's worth of work.
constexpr std::int64_t most_blocks_beside_others = 4096;

/// Compiler options of a user's kernel are meant for it alone.
bool has_options(const kernel& k) {
  return std::ranges::any_of(k.calls, [](const call& c) { return !c.kernel->options.empty(); });
}

/// Whether a kernel may be one part of several, however small: parts have blocks of one size, and no pieces to wait
/// for.
bool can_be_part(const kernel& k) {
  if (k.over == distribution::transposed) return false;
  return k.over == distribution::elements || (k.split == 0 && k.threads == 256 && k.staged.empty());
}

bool is_large(const group& g, const lowered& l) {
  if (l.ir.loops.empty()) return g.domain().size() > most_elements_beside_others;
  return l.numbers.blocks > most_blocks_beside_others || l.numbers.cost > most_cost_beside_others;
}

}  // namespace

runtime::device& device_of(const group& g) { return g.owner() ? *g.owner() : runtime::default_device(); }

bool planning::run(std::span<node* const> roots, const options& how) {
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
  bundle();
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

/// Puts groups that follow each other into one launch: parts of one domain, and small groups that are independent.
void planning::bundle() {
  launches.clear();
  for (std::size_t k = 0; k < groups.count; ++k) {
    if (launches.empty() || !fits_beside(launches.back(), k)) launches.push_back({k, 0});
    ++launches.back().count;
  }
}

bool planning::fits_beside(const launch_range& before, std::size_t k) const {
  const group &g = groups.pool[order[k]], &first = groups.pool[order[before.first]];
  if (g.domain().size() == 0 || first.domain().size() == 0) return false;
  const bool same_domain = g.beside_previous && order[k] > 0 && order[k - 1] == order[k] - 1;
  if (!same_domain && (g.level != first.level || g.owner() != first.owner() || before.count >= most_parts))
    return false;
  std::size_t instructions = 0, parameters = 0;
  for (std::size_t j = before.first; j <= k; ++j) {
    const group& other = groups.pool[order[j]];
    if (has_options(lowered[order[j]].ir) || !can_be_part(lowered[order[j]].ir)) return false;
    const bool large = is_large(other, lowered[order[j]]);
    if (!same_domain && (large || (j < k && depends(order[k], order[j])))) return false;
    instructions += lowered[order[j]].ir.body.size();
    parameters += lowered[order[j]].ir.parameters.size();
  }
  return instructions <= (same_domain ? most_instructions_of_domain : most_instructions_of_parts) &&
         parameters <= most_parameters_of_parts;
}

/// Whether group `later` reads or overwrites what `earlier` writes, or overwrites what it reads.
bool planning::depends(std::size_t later, std::size_t earlier) const {
  const auto writes = [this](std::size_t g, const node* n) {
    return std::ranges::any_of(groups.pool[g].outputs, [n](const target& t) { return t.n == n || t.giver == n; });
  };
  const auto reads_what = [&](std::size_t reader, std::size_t writer) {
    return std::ranges::any_of(lowered[reader].pointers, [&](const pending_pointer& p) {
      return lowered[reader].ir.parameters[p.parameter].kind == parameter_kind::input && writes(writer, p.source);
    });
  };
  return reads_what(later, earlier) || reads_what(earlier, later);
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
