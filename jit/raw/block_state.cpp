#include "jit/raw/block_state.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace sinter::jit {

// ---- fiber_pool ----

fiber_pool::fiber_pool(std::size_t most, void (*body)(void*)) : stacks_(most), body_(body) {}

fiber* fiber_pool::take() {
  if (idle_.empty()) {
    auto f = std::make_unique<fiber>();
    f->number = fibers_.size();
    f->registers.stack = &f->stack;
    idle_.push_back(f.get());
    fibers_.push_back(std::move(f));
  }
  fiber* const f = idle_.back();
  idle_.pop_back();
  if (!std::exchange(f->prepared, true)) stacks_.prepare(f->registers, f->number, body_, f);
  return f;
}

void fiber_pool::abandon_all() {
  idle_.clear();
  for (auto k = fibers_.size(); k-- > 0;) {
    fibers_[k]->prepared = false;
    fibers_[k]->state = waiting::no;
    idle_.push_back(fibers_[k].get());
  }
}

// ---- block_state ----

void block_state::start(const raw_extents& block, emulation::uint3 at, std::uint64_t block_number) {
  loop.next = loop.exited = 0;
  loop.count = static_cast<unsigned>(block.count());
  loop.tracked = false;
  loop.index = {0, 0, 0};
  index = at;
  number = block_number;
  first_ready = last_ready = nullptr;
  at_barrier.clear();
  for_grid.clear();
}

void block_state::track(unsigned rank) {
  if (loop.tracked) return;
  // Nobody has waited before: all threads before this one have run to their ends.
  loop.tracked = true;
  loop.exited = rank;
  for (unsigned w = 0; w < 32; ++w) {
    const unsigned first = w * 32, before = rank > first ? std::min(rank - first, 32u) : 0;
    const unsigned real = loop.count > first ? std::min(loop.count - first, 32u) : 0;
    const auto low_bits = [](unsigned n) { return n == 32 ? ~0u : (1u << n) - 1; };
    loop.exited_bits[w] = low_bits(before) | ~low_bits(real);  // lanes that aren't there count as exited, too
  }
  const std::size_t count = (loop.count + 31) / 32;
  if (warps.size() < count) warps.resize(count);
  for (warp& w : warps) w.arrived = w.asking = 0;
}

void block_state::make_ready(fiber* f) {
  f->state = waiting::no;
  f->next = nullptr;
  (last_ready == nullptr ? first_ready : last_ready->next) = f;
  last_ready = f;
}

fiber* block_state::pop_ready() {
  fiber* const f = first_ready;
  if (f == nullptr) return nullptr;
  first_ready = f->next;
  if (first_ready == nullptr) last_ready = nullptr;
  return f;
}

void block_state::release_barrier(fiber* last) {
  const auto here = static_cast<int>(at_barrier.size());
  const int result = kind == emulation::barrier_kind::count ? votes
                     : kind == emulation::barrier_kind::all ? votes == here
                                                            : votes != 0;
  for (fiber* f : at_barrier) {
    f->result = static_cast<emulation::word>(result);
    if (f != last) make_ready(f);
    else f->state = waiting::no;
  }
  at_barrier.clear();
}

bool block_state::complete_exchange(warp& w, unsigned number_of_warp, int which, fiber* last) {
  const lane& mine = w.lanes[which];
  const unsigned missing = mine.mask & ~w.arrived & ~loop.exited_bits[number_of_warp];
  if (missing != 0) return false;
  const unsigned group = mine.mask & w.arrived;
  emulation::word values[32] = {}, extras[32] = {}, results[32] = {};
  for (unsigned rest = group; rest != 0; rest &= rest - 1) {
    const int k = std::countr_zero(rest);
    if (w.lanes[k].mask != mine.mask || w.lanes[k].combine != mine.combine) return false;
    values[k] = w.lanes[k].value;
    extras[k] = w.lanes[k].extra;
  }
  mine.combine(group, values, extras, results);
  for (unsigned rest = group; rest != 0; rest &= rest - 1) {
    const int k = std::countr_zero(rest);
    fiber* const f = w.lanes[k].who;
    f->result = results[k];
    if (f != last) make_ready(f);
    else f->state = waiting::no;
  }
  w.arrived &= ~group;
  return true;
}

void block_state::complete_active_mask(warp& w, fiber* last) {
  for (unsigned rest = w.asking; rest != 0; rest &= rest - 1) {
    fiber* const f = w.lanes[std::countr_zero(rest)].who;
    f->result = w.asking;
    if (f != last) make_ready(f);
    else f->state = waiting::no;
  }
  w.asking = 0;
}

bool block_state::advance() {
  if (!loop.tracked) return false;
  if (!at_barrier.empty() && at_barrier.size() == alive()) release_barrier(nullptr);
  const std::size_t count = (loop.count + 31) / 32;
  for (std::size_t k = 0; k < count; ++k)
    for (unsigned rest = warps[k].arrived; rest != 0; rest &= rest - 1) {
      const int which = std::countr_zero(rest);
      if ((warps[k].arrived >> which & 1) != 0) complete_exchange(warps[k], static_cast<unsigned>(k), which, nullptr);
    }
  if (first_ready != nullptr) return true;
  for (std::size_t k = 0; k < count; ++k)
    if (warps[k].asking != 0) complete_active_mask(warps[k], nullptr);
  return first_ready != nullptr;
}

}  // namespace sinter::jit
