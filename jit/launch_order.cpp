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

bool launch_order::arrange(const plan& p, const std::deque<lowered>& l, bool all, std::vector<decision>& decided) {
  order_.clear();
  const auto count = static_cast<std::uint32_t>(p.count);
  if (!overwrites(p)) {
    for (std::uint32_t g = 0; g < count; ++g) order_.push_back(g);
    return true;
  }
  collect_edges(p, l);
  waits_for_.assign(count, 0);
  is_placed_.assign(count, false);
  ready_.clear();
  for (const edge& e : edges_) ++waits_for_[e.after];
  std::ranges::sort(edges_, {}, &edge::before);
  for (std::uint32_t g = 0; g < count; ++g)
    if (waits_for_[g] == 0) ready_.push_back(g);
  const std::size_t before = decided.size();
  for (;;) {
    put_in_order(p);
    if (order_.size() == count) return decided.size() == before;
    if (!give_memory(p, all, decided)) throw_internal_error("launches wait for each other");
  }
}

/// All that wait for nothing, and who waited for them.
void launch_order::put_in_order(const plan& p) {
  const auto takes = [&](std::uint32_t g) {
    return std::ranges::any_of(p.groups()[g].outputs, [](const target& t) { return t.giver != nullptr; });
  };
  // What overwrites memory comes as late as it can: until then a failure leaves everything as it was.
  const auto later = [&](std::uint32_t a, std::uint32_t b) { return std::pair(takes(a), a) > std::pair(takes(b), b); };
  std::ranges::make_heap(ready_, later);
  while (!ready_.empty()) {
    std::ranges::pop_heap(ready_, later);
    const std::uint32_t g = ready_.back();
    ready_.pop_back();
    order_.push_back(g);
    is_placed_[g] = true;
    for (const edge& e : std::ranges::equal_range(edges_, g, {}, &edge::before))
      if (--waits_for_[e.after] == 0) {
        ready_.push_back(e.after);
        std::ranges::push_heap(ready_, later);
      }
  }
}

/// Decides that one of those who wait for readers of the memory that they are to take over gets memory of its own, or
/// all of them. The order goes on as if it had, so that other circles are found at once: a new plan for each takes
/// long.
bool launch_order::give_memory(const plan& p, bool all, std::vector<decision>& decided) {
  const std::size_t before = decided.size();
  for (std::uint32_t g = 0; g < p.count; ++g)
    for (const target& t : p.groups()[g].outputs) {
      if (is_placed_[g] || !t.giver) continue;
      bool waited = false;
      std::erase_if(edges_, [&](const edge& e) {
        const bool frees = e.taker == t.n && !is_placed_[e.before];
        if (frees && --waits_for_[e.after] == 0) ready_.push_back(e.after);
        waited |= frees;
        return frees;
      });
      if (!waited) continue;
      decided.push_back({t.n, decision::what::copy});
      if (!all) return true;
    }
  return decided.size() > before;
}

namespace {

constexpr std::uint32_t no_use = 0xffffffffu;

}  // namespace

void launch_order::note_use(epoch_map& of_memory, const node* memory, std::uint32_t group) {
  epoch_map::entry& e = of_memory.at(memory);
  const std::uint32_t next = of_memory.holds(e) ? e.value : no_use;
  if (next != no_use && uses_[next].group == group) return;
  of_memory.set(e, memory, 0, static_cast<std::uint32_t>(uses_.size()));
  uses_.push_back({group, next});
}

template <class F>
void launch_order::each_use(epoch_map& of_memory, const node* memory, F&& f) {
  const std::uint32_t* first = of_memory.find(memory);
  for (std::uint32_t u = first ? *first : no_use; u != no_use; u = uses_[u].next) f(uses_[u].group);
}

/// Per array: its writers in the plan's order, then its readers, then whoever takes its memory over. Readers of one
/// array don't look at each other, of whom there may be thousands.
void launch_order::collect_edges(const plan& p, const std::deque<lowered>& l) {
  edges_.clear();
  uses_.clear();
  writers_.clear();
  readers_.clear();
  const auto connect = [&](std::uint32_t before, std::uint32_t after, const node* taker = nullptr) {
    if (before != after) edges_.push_back({before, after, taker});
  };
  for (std::uint32_t g = 0; g < p.count; ++g)
    for (const target& t : p.groups()[g].outputs) {
      each_use(writers_, t.n, [&](std::uint32_t w) { connect(w, g); });
      note_use(writers_, t.n, g);
    }
  for (std::uint32_t g = 0; g < p.count; ++g)
    for (const pending_pointer& q : l[g].pointers) {
      if (l[g].ir.parameters[q.parameter].kind != parameter_kind::input) continue;
      each_use(writers_, q.source, [&](std::uint32_t w) { connect(w, g); });
      note_use(readers_, q.source, g);
    }
  for (std::uint32_t g = 0; g < p.count; ++g)
    for (const target& t : p.groups()[g].outputs)
      if (t.giver)
        for (epoch_map* uses : {&writers_, &readers_})
          each_use(*uses, t.giver, [&](std::uint32_t u) { connect(u, g, t.n); });
}

}  // namespace sinter::jit
