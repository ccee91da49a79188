// What a trace takes in: which variables statements read and write, and which values are needed after them.
#include "jit/fold/trace_recorder.hpp"

#include "jit/engine.hpp"
#include "jit/graph_internal.hpp"
#include "jit/opaque.hpp"
#include "runtime/counters.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace sinter::jit {

namespace {

// Of all threads: without any, only statements can be below what is evaluated.
constinit std::atomic<int> traces{0};

}  // namespace

bool is_loop_result(const node* n) {
  if (n->code == op::trail) return true;
  if (n->code != op::result || n->operand_count == 0) return false;
  return is_opaque(n->operands()[0]->code) || n->operands()[0]->code == op::iterate;
}

bool statement_trace::are_there() noexcept { return traces.load(std::memory_order_relaxed) > 0; }

statement_trace::statement_trace() noexcept { traces.fetch_add(1, std::memory_order_relaxed); }
statement_trace::~statement_trace() { traces.fetch_sub(1, std::memory_order_relaxed); }

// ---- what is read, and how long ----

std::uint32_t statement_trace::seen_of(node* n) {
  epoch_map::entry& e = where_.at(n);
  if (!where_.holds(e)) {
    where_.set(e, n, 0, static_cast<std::uint32_t>(seen_.size()));
    seen_.push_back({n});
    return static_cast<std::uint32_t>(seen_.size() - 1);
  }
  return e.value;
}

/// What comes out of a loop, or of a raw kernel, is no expression of a statement: its body holds on to what it reads.
bool statement_trace::is_variable(const node* n) const {
  return n->values() || n->code == op::traced || is_loop_result(n);
}

void statement_trace::use(node* n, std::uint32_t statement, bool as_variable) {
  const std::uint32_t at = seen_of(n);
  const bool first = seen_[at].edges++ == 0 && !seen_[at].is_root;
  if (as_variable || is_variable(n) || seen_[at].is_version ||
      (first && ++nodes_of_statement_ > most_nodes_of_statement))
    seen_[at].is_variable = true;
  if (!seen_[at].is_variable && first) {
    seen_[at].touched = statement + 1;
    for (node* x : n->operands()) use(x, statement, false);
    return;
  }
  touch(at, statement);
}

/// Statement `statement` reads what is below seen_[at].
void statement_trace::touch(std::uint32_t at, std::uint32_t statement) {
  if (seen_[at].is_variable) {
    seen_[at].last_read = statement;
    if (seen_[at].last_use != for_ever) seen_[at].last_use = statement;
    return;
  }
  if (seen_[at].touched == statement + 1) return;
  seen_[at].touched = statement + 1;
  node* n = seen_[at].n;
  for (node* x : n->operands()) touch(seen_of(x), statement);
}

void statement_trace::escape(std::uint32_t at) {
  if (seen_[at].escapes) return;
  seen_[at].escapes = true;
  if (seen_[at].is_variable) {
    seen_[at].last_use = for_ever;
    return;
  }
  node* n = seen_[at].n;
  for (node* x : n->operands()) escape(seen_of(x));
}

/// What others than these statements hold on to, and the variables below it, is read later.
void statement_trace::find_escapes() {
  for (std::uint32_t at = 0; at < seen_.size(); ++at) {
    const seen& s = seen_[at];
    if (s.n->references.load(std::memory_order_acquire) <= s.edges + s.held) continue;
    if (!s.is_root) {
      escape(at);
    } else {  // its expression is replaced by the trace
      seen_[at].last_use = for_ever;
    }
  }
}

void statement_trace::look(std::span<const node_ref> list) {
  where_.clear();
  seen_.clear();
  for (const version& v : versions_) {
    const std::uint32_t at = seen_of(v.n.get());
    seen_[at].is_variable = seen_[at].is_version = true;
    seen_[at].slot = v.slot;
    ++seen_[at].held;
  }
  for (std::size_t s = 0; s < slots_.size(); ++s)
    if (node* n = slots_[s].first.get()) {
      const std::uint32_t at = seen_of(n);
      ++seen_[at].held;
      if (seen_[at].is_version || slots_[s].is_written) continue;
      seen_[at].is_variable = true;
      seen_[at].slot = static_cast<std::int64_t>(s);
    }
  for (std::uint32_t k = 0; k < list.size(); ++k) {
    node* n = list[k].get();
    const std::uint32_t own = seen_of(n);
    if (seen_[own].edges > 0 || seen_[own].slot >= 0) {  // as are values that were not listed when they were made
      seen_[own].comes_late = true;
      ++seen_[own].held;
      continue;
    }
    nodes_of_statement_ = 0;
    for (std::size_t o = 0; o < n->operand_count; ++o) use(n->operands()[o], k, n->is_statement && o == 0);
    seen_[own].is_variable = seen_[own].is_version = seen_[own].is_root = true;
    seen_[own].last_use = k;
    ++seen_[own].held;
  }
  find_escapes();
  dying_.assign(list.size(), {});
  for (std::uint32_t at = 0; at < seen_.size(); ++at)
    if (const seen& s = seen_[at]; s.is_variable && s.last_use != for_ever && s.edges + s.is_root > 0)
      dying_[s.last_use].push_back(at);
}

// ---- slots ----

std::int64_t statement_trace::new_slot(const node* like, node_ref first) {
  if (!first)
    for (std::size_t k = free_slots_.size(); k-- > 0;) {
      const std::int64_t s = free_slots_[k];
      const trace_slot& t = slots_[static_cast<std::size_t>(s)];
      if (t.type != like->type || t.extents != like->extents) continue;
      free_slots_.erase(free_slots_.begin() + static_cast<std::ptrdiff_t>(k));
      return s;
    }
  slots_.push_back({like->type, like->extents, std::move(first)});
  return static_cast<std::int64_t>(slots_.size() - 1);
}

void statement_trace::free_slot(std::int64_t slot) { free_slots_.push_back(slot); }

std::int64_t statement_trace::slot_of_outside(node* n) {
  for (std::size_t k = 0; k < slots_.size(); ++k)
    if (slots_[k].first.get() == n && !slots_[k].is_written) return static_cast<std::int64_t>(k);
  return new_slot(n, node_ref::share(n));
}

// ---- statements ----

bool statement_trace::take_in(std::span<node_ref> list, node* self, std::span<node* const> recorded) {
  const bool fresh = folder_.statements() == 0;
  ++taken_in_;
  if (const std::size_t count = push_expected(list, recorded); count > 0) {
    let_go(list.first(count), self);
    list = list.subspan(count);
  }
  follows_ = list.empty();
  if (follows_) return true;
  {
    const std::unique_lock lock = hold_operands();
    look(list);
    for (std::uint32_t k = 0; k < list.size(); ++k)
      if (!seen_[seen_of(list[k].get())].comes_late) push(list[k].get(), k);
  }
  if (fresh && folder_.items() * 2 > folder_.statements()) {
    clear();
    return false;
  }
  std::erase_if(versions_, [&](const version& v) { return seen_[seen_of(v.n.get())].last_use != for_ever; });
  for (const node_ref& n : list) {
    const seen& s = seen_[seen_of(n.get())];
    if (s.last_use != for_ever || s.comes_late) continue;
    become_traced(n.get(), self, static_cast<std::int32_t>(s.slot));
    versions_.push_back({n, s.slot});
  }
  note_slot_nodes();
  return true;
}

void statement_trace::push(node* n, std::uint32_t statement) {
  const std::uint32_t own = seen_of(n);
  node* base = n->is_statement ? n->operands()[0] : nullptr;
  std::int64_t target = -1;
  const auto let_die = [&] {
    for (const std::uint32_t at : dying_[statement])
      if (at != own && seen_[at].slot >= 0 && seen_[at].slot != target) free_slot(seen_[at].slot);
  };
  if (base) target = target_of_update(n, base, statement);
  const std::int32_t structure = structures_.describe(n, [&](node* x) -> std::int64_t {
    if (x == base) return target;
    seen& s = seen_[seen_of(x)];
    if (x == n || !s.is_variable) return -1;
    if (s.slot < 0) s.slot = slot_of_outside(x);
    return s.slot;
  });
  let_die();
  if (!base) target = new_slot(n, {});
  slots_[static_cast<std::size_t>(target)].is_written = true;
  seen_[own].slot = target;
  if (seen_[own].last_use == statement) free_slot(target);  // nobody reads it
  structures_.parameters().push_back(target);
  folder_.push(structure, structures_.parameters());
}

/// The slot of `base`, which the update n changes, when nobody reads base afterwards; else one with the same values.
std::int64_t statement_trace::target_of_update(node* n, node* base, std::uint32_t statement) {
  seen& b = seen_[seen_of(base)];
  if (b.is_version && b.last_use == statement) return b.slot;
  if (b.is_version) {
    const std::int64_t from = b.slot, to = new_slot(n, {});
    push_copy(base, from, to);
    return to;
  }
  // Statements before this one have read it, as later iterations will read what this one writes.
  if (b.slot >= 0 && b.last_read == statement) return std::exchange(b.slot, -1);
  return new_slot(n, node_ref::share(base));
}

/// slot `to` := slot `from`
void statement_trace::push_copy(const node* base, std::int64_t from, std::int64_t to) {
  auto* same = const_cast<node*>(base);
  const std::int32_t structure = structures_.describe(same, [&](node*) { return from; });
  structures_.parameters().push_back(to);
  slots_[static_cast<std::size_t>(to)].is_written = true;
  folder_.push(structure, structures_.parameters());
}

std::size_t statement_trace::bytes_held() const {
  std::vector<bool> lives(slots_.size());
  for (const version& v : versions_) lives[static_cast<std::size_t>(v.slot)] = true;
  std::size_t bytes = 0;
  for (std::size_t k = 0; k < slots_.size(); ++k) {
    const node* n = slots_[k].first.get();
    if (lives[k] || !n || n->references.load(std::memory_order_acquire) > 1) continue;
    const runtime::buffer* b = n->values();
    if (b && b->references.load(std::memory_order_acquire) == 1) bytes += b->bytes;
  }
  return bytes;
}

bool statement_trace::is_unreachable(const node* self) const {
  const auto held_by_us = [](const version& v) { return v.n->references.load(std::memory_order_acquire) == 1; };
  return self->references.load(std::memory_order_acquire) == versions_.size() + 1 &&
         std::ranges::all_of(versions_, held_by_us);
}

void statement_trace::clear() {
  static_cast<void>(folder_.take());
  structures_.clear();
  slots_.clear();
  versions_.clear();
  free_slots_.clear();
  foreseen_.clear();
  known_.clear();
  slot_nodes_.clear();
}

}  // namespace sinter::jit
