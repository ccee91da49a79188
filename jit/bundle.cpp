// Which groups share a launch: parts of one domain, small groups beside each other, and small groups in stages, each
// of which reads what those before it have stored.
#include "jit/planning.hpp"
#include "jit/user_kernel.hpp"

#include <algorithm>

namespace sinter::jit {

namespace {

// Launches this small cost more than their work; side by side they cost one launch. (An H200 takes some 8 us of a
// thousand blocks, launching them included.)
constexpr std::int64_t most_elements_beside_others = std::int64_t{1} << 20;
constexpr int most_cost_beside_others = 1 << 20;  // of one element's loops
// Blocks of 256 threads that are a launch's worth of work.
constexpr std::int64_t most_blocks_beside_others = 4096;
constexpr std::size_t most_parts = 8;
// What a compiler handles in little time, and a kernel's 4 KiB of parameters hold.
constexpr std::size_t most_instructions_of_parts = 256, most_instructions_of_domain = 2048,
                      most_parameters_of_parts = 400;

// Stages save launches, some 5 us each, and cost schedules of their own: blocks stay until the last stage, with the
// registers of the greediest. What they store stays in memory until then, too.
constexpr std::uint8_t most_stages = 4;
constexpr double most_work_of_stage = 1 << 30;  // operations: some 100 us of a large GPU
constexpr std::int64_t most_elements_of_stage = std::int64_t{1} << 22;

constexpr std::uint16_t threads_of_parts = 256;

/// Compiler options of a user's kernel are meant for it alone.
bool has_options(const kernel& k) {
  return std::ranges::any_of(k.calls, [](const call& c) { return !c.kernel->options.empty(); });
}

bool has_scans(const kernel& k) {
  return std::ranges::any_of(k.body, [](const inst& i) { return is_scan(i.code); });
}

/// Whether loops would run in blocks of 256 threads if they had to.
bool can_fit_blocks(const kernel& k) {
  return k.over == distribution::rows && k.threads > threads_of_parts && !has_scans(k);
}

/// Whether a kernel may be one part of several, however small: parts have blocks of one size, and don't wait for
/// other blocks.
bool can_be_part(const kernel& k) {
  if (k.over == distribution::elements) return k.tables.empty();
  if (k.over == distribution::steps || k.over == distribution::tiles || k.over == distribution::transposed)
    return false;
  if (!k.staged.empty() || (k.split != 0 && has_scans(k))) return false;
  return k.threads == threads_of_parts || can_fit_blocks(k);
}

bool is_large(const group& g, const lowered& l) {
  if (l.ir.loops.empty()) return g.domain().size() > most_elements_beside_others;
  return l.numbers.blocks > most_blocks_beside_others || l.numbers.cost > most_cost_beside_others;
}

bool suits_stages(const group& g, const lowered& l) {
  const auto elements = static_cast<double>(l.numbers.rows) * static_cast<double>(l.numbers.inner);
  if (elements * l.numbers.cost > most_work_of_stage) return false;
  return std::ranges::all_of(g.outputs,
                             [](const target& t) { return t.value->extents.size() <= most_elements_of_stage; });
}

}  // namespace

void planning::bundle(const options& how, bool in_stages) {
  launches.clear();
  for (std::size_t k = 0; k < groups.count; ++k) {
    if (launches.empty() || !joins(launches.back(), k, how, in_stages)) launches.push_back({k, 0});
    ++launches.back().count;
  }
}

/// Makes the k-th group in launch order part of the launch `before`; false: it can't be.
bool planning::joins(const launch_range& before, std::size_t k, const options& how, bool in_stages) {
  const group &g = groups.pool[order[k]], &first = groups.pool[order[before.first]];
  if (g.domain().size() == 0 || first.domain().size() == 0) return false;
  const bool same_domain = g.beside_previous && order[k] > 0 && order[k - 1] == order[k] - 1;
  if (!same_domain && (g.owner() != first.owner() || before.count >= most_parts)) return false;
  std::uint8_t stage = lowered[order[k - 1]].ir.stage;
  if (same_domain && needs_others(before, k)) return false;
  if (!same_domain && !is_beside(before, k)) {
    if (!in_stages || ++stage == most_stages) return false;
  }
  for (std::size_t j = before.first; stage > 0 && j <= k; ++j)
    if (!suits_stages(groups.pool[order[j]], lowered[order[j]])) return false;
  if (!has_room(before, k, same_domain)) return false;
  for (std::size_t j = before.first; j <= k; ++j) fit_blocks(j, how);
  lowered[order[k]].ir.stage = stage;
  return true;
}

/// Whether it is small, needs nothing of what the launch's last stage does, and nothing there needs it.
bool planning::is_beside(const launch_range& before, std::size_t k) const {
  if (is_large(groups.pool[order[k]], lowered[order[k]])) return false;
  const std::uint8_t stage = lowered[order[k - 1]].ir.stage;
  for (std::size_t j = k; j-- > before.first && lowered[order[j]].ir.stage == stage;)
    if (is_large(groups.pool[order[j]], lowered[order[j]]) || depends(order[k], order[j])) return false;
  return true;
}

/// Whether a part of a domain needs, or is needed by, what the launch's last stage does besides the parts before it.
bool planning::needs_others(const launch_range& before, std::size_t k) const {
  const std::uint8_t stage = lowered[order[k - 1]].ir.stage;
  std::size_t j = k;
  while (j > before.first && groups.pool[order[j]].beside_previous && order[j - 1] + 1 == order[j]) --j;
  while (j-- > before.first && lowered[order[j]].ir.stage == stage)
    if (depends(order[k], order[j])) return true;
  return false;
}

bool planning::has_room(const launch_range& before, std::size_t k, bool same_domain) const {
  std::size_t instructions = 0, parameters = 0;
  for (std::size_t j = before.first; j <= k; ++j) {
    const kernel& other = lowered[order[j]].ir;
    if (has_options(other) || !can_be_part(other)) return false;
    instructions += other.body.size();
    parameters += other.parameters.size();
  }
  return instructions <= (same_domain ? most_instructions_of_domain : most_instructions_of_parts) &&
         parameters <= most_parameters_of_parts;
}

/// Whether group `later` reads or overwrites what `earlier` writes, or overwrites what it reads.
bool planning::depends(std::size_t later, std::size_t earlier) const {
  const auto reads_what = [&](std::size_t reader, std::size_t writer) {
    return std::ranges::any_of(lowered[reader].pointers, [&](const pending_pointer& p) {
      return lowered[reader].ir.parameters[p.parameter].kind == parameter_kind::input &&
             std::ranges::any_of(groups.pool[writer].outputs,
                                 [&](const target& t) { return t.n == p.source || t.giver == p.source; });
    });
  };
  const auto writes_same = [&](const target& a) {
    return std::ranges::any_of(groups.pool[earlier].outputs, [&](const target& b) {
      return a.n == b.n || a.giver == b.n || a.n == b.giver || (a.giver && a.giver == b.giver);
    });
  };
  return reads_what(later, earlier) || reads_what(earlier, later) ||
         std::ranges::any_of(groups.pool[later].outputs, writes_same);
}

/// Loops that would have larger blocks get those of a launch's other parts.
void planning::fit_blocks(std::size_t k, const options& how) {
  jit::lowered& l = lowered[order[k]];
  if (!can_fit_blocks(l.ir)) return;
  const std::uint8_t stage = l.ir.stage;
  groups.pool[order[k]].shares_launch = true;
  lower_again(k, how, l);
  l.ir.stage = stage;
  SINTER_CHECK(l.ir.threads == threads_of_parts);
}

}  // namespace sinter::jit
