#include "jit/launch_order.hpp"

#include <algorithm>
#include <utility>

namespace sinter::jit {

namespace {

bool overwrites(const plan& p) {
  for (const group& g : p.groups())
    for (const target& t : g.outputs)
      if (t.giver) return true;
  return false;
}

}  // namespace

bool launch_order::arrange(const plan& p, const std::deque<lowered>& l, std::vector<decision>& decided) {
  order_.clear();
  const auto count = static_cast<std::uint32_t>(p.count);
  if (!overwrites(p)) {
    for (std::uint32_t g = 0; g < count; ++g) order_.push_back(g);
    return true;
  }
  collect_edges(p, l);
  waits_for_.assign(count, 0);
  for (const edge& e : edges_) ++waits_for_[e.after];
  std::vector<std::uint32_t> ready;  // a heap: the plan's order wherever nothing speaks against it
  const auto takes = [&](std::uint32_t g) {
    return std::ranges::any_of(p.groups()[g].outputs, [](const target& t) { return t.giver != nullptr; });
  };
  // What overwrites memory comes as late as it can: until then a failure leaves everything as it was.
  const auto later = [&](std::uint32_t a, std::uint32_t b) { return std::pair(takes(a), a) > std::pair(takes(b), b); };
  const auto add_ready = [&](std::uint32_t g) {
    ready.push_back(g);
    std::ranges::push_heap(ready, later);
  };
  std::ranges::sort(edges_, {}, &edge::before);
  for (std::uint32_t g = 0; g < count; ++g)
    if (waits_for_[g] == 0) add_ready(g);
  while (!ready.empty()) {
    std::ranges::pop_heap(ready, later);
    const std::uint32_t g = ready.back();
    ready.pop_back();
    order_.push_back(g);
    for (const edge& e : std::ranges::equal_range(edges_, g, {}, &edge::before))
      if (--waits_for_[e.after] == 0) add_ready(e.after);
  }
  if (order_.size() == count) return true;
  for (std::uint32_t g = 0; g < count; ++g)
    for (const target& t : p.groups()[g].outputs)
      if (waits_for_[g] > 0 && t.giver) {
        decided.push_back({t.n, decision::what::copy});
        return false;
      }
  throw_internal_error("launches wait for each other");
}

void launch_order::note_use(const node* memory, std::uint32_t group, bool writes) {
  epoch_map::entry& e = of_memory_.at(memory);
  const std::uint32_t next = of_memory_.holds(e) ? e.value : 0xffffffffu;
  of_memory_.set(e, memory, 0, static_cast<std::uint32_t>(uses_.size()));
  uses_.push_back({group, next, writes});
}

/// Per array: its writers in the plan's order, then its readers, then whoever takes its memory over.
void launch_order::collect_edges(const plan& p, const std::deque<lowered>& l) {
  edges_.clear();
  uses_.clear();
  of_memory_.clear();
  const auto connect = [&](std::uint32_t before, std::uint32_t after) {
    if (before != after) edges_.push_back({before, after});
  };
  const auto each_use = [&](const node* memory, auto f) {
    const std::uint32_t* first = of_memory_.find(memory);
    for (std::uint32_t u = first ? *first : 0xffffffffu; u != 0xffffffffu; u = uses_[u].next) f(uses_[u]);
  };
  for (std::uint32_t g = 0; g < p.count; ++g)
    for (const target& t : p.groups()[g].outputs) {
      each_use(t.n, [&](const use& u) { connect(u.group, g); });
      note_use(t.n, g, true);
    }
  for (std::uint32_t g = 0; g < p.count; ++g)
    for (const pending_pointer& q : l[g].pointers) {
      if (l[g].ir.parameters[q.parameter].kind != parameter_kind::input) continue;
      each_use(q.source, [&](const use& u) {
        if (u.writes) connect(u.group, g);
      });
      note_use(q.source, g, false);
    }
  for (std::uint32_t g = 0; g < p.count; ++g)
    for (const target& t : p.groups()[g].outputs)
      if (t.giver) each_use(t.giver, [&](const use& u) { connect(u.group, g); });
}

}  // namespace sinter::jit
