#include "jit/fold/trace_recorder.hpp"

#include "jit/engine.hpp"
#include "jit/graph_internal.hpp"
#include "jit/opaque.hpp"
#include "runtime/counters.hpp"
#include "runtime/log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

namespace sinter::jit {

namespace {

// Larger expressions are variables of their own, so that describing a statement takes bounded time.
constexpr std::uint32_t most_nodes_of_statement = 64;
// Statements are looked at together: at first enough for loops with long bodies to show, then few; and as long as all
// are expected so few that their nodes stay in the nearest cache.
constexpr std::size_t first_statements_at_once = 512, statements_at_once = 64, expected_at_once = 16;
constexpr std::size_t most_ignored = std::size_t{1} << 16;
// Fewer than these are as well computed one by one.
constexpr std::size_t least_statements = 8;
// A trace that does not fold is computed when it takes this much.
constexpr std::size_t most_bytes = std::size_t{64} << 20;

// Traces that are there, of all threads: without any, only statements can be below what is evaluated.
constinit std::atomic<int> traces{0};

bool is_loop_result(const node* n) {
  if (n->code == op::trail) return true;
  if (n->code != op::result || n->operand_count == 0) return false;
  return is_opaque(n->operands()[0]->code) || n->operands()[0]->code == op::iterate;
}
// Threads whose list isn't empty.
constinit std::atomic<int> threads_listing{0};

/// Held while nodes are taken into traces or out of them: one may be listed by a thread and evaluated by another.
std::recursive_mutex& folding() {
  static std::recursive_mutex m;
  return m;
}

}  // namespace

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

bool statement_trace::take_in(std::span<node_ref> list, node* self) {
  const bool fresh = folder_.statements() == 0;
  if (const std::size_t count = push_expected(list); count > 0) {
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
  known_.clear();
  slot_nodes_.clear();
}

// ---- the thread's list ----

namespace {

/// What a thread has recorded and nobody asked for yet.
struct thread_statements {
  std::vector<node_ref> list;
  node_ref trace;  ///< the node of statements folded so far; null: none
  int paused = 0;
  bool is_folding = false;         ///< what is listed is being looked at
  std::uint64_t bytes_in_use = 0;  ///< by arrays of all threads, when may_hold_much() was last asked and true, or less
  /// After statements that did not fold, so many of the next ones are not listed: more from time to time, so that
  /// programs without loops don't pay for them.
  std::size_t ignored = 0, patience = 0;
  std::size_t at_once = statements_at_once;  ///< while there is a trace

  statement_trace* open() {
    if (!trace) return nullptr;
    statement_trace& t = *trace->facts->trace;
    const std::lock_guard lock(t.mutex);
    if (!t.is_raised) return &t;
    trace = {};
    return nullptr;
  }

  thread_statements() { runtime::set_reclaimer(drop_unreachable_statements); }
  ~thread_statements() {
    drop_unreachable();
    let_go();
  }
  thread_statements(const thread_statements&) = delete;
  thread_statements& operator=(const thread_statements&) = delete;

  void add(node* n) {
    list.push_back(node_ref::share(n));
    n->is_listed = true;
    if (list.size() == 1) threads_listing.fetch_add(1, std::memory_order_relaxed);
  }

  void let_go() {
    if (list.empty()) return;
    const std::lock_guard lock(folding());
    for (const node_ref& n : list)
      if (n) n->is_listed = false;
    list.clear();
    threads_listing.fetch_sub(1, std::memory_order_relaxed);
  }

  /// Whether arrays have taken that much memory since this was true the last time.
  bool may_hold_much() {
    const std::uint64_t now = runtime::memory_count().bytes_in_use.load(std::memory_order_relaxed);
    if (now < bytes_in_use) bytes_in_use = now;
    if (now - bytes_in_use <= most_bytes) return false;
    bytes_in_use = now;
    return true;
  }

  /// Forgets what nobody else holds, the last first, since it holds what came before.
  void drop_unreachable() noexcept {
    if (is_folding) return;
    bool dropped = false;
    for (std::size_t k = list.size(); k-- > 0;)
      if (list[k]->references.load(std::memory_order_acquire) == 1) {
        list[k] = {};
        dropped = true;
      }
    if (dropped) {
      std::erase_if(list, [](const node_ref& n) { return !n; });
      if (list.empty()) threads_listing.fetch_sub(1, std::memory_order_relaxed);
    }
    if (list.empty() && trace) drop_unreachable_trace();
  }

  void drop_unreachable_trace() noexcept {
    const std::lock_guard all(folding());
    if (!open()) return;
    const std::shared_ptr<statement_trace> t = trace->facts->trace;
    std::vector<statement_trace::version> versions;  // which hold the trace's node
    {
      const std::lock_guard lock(t->mutex);
      if (!t->is_unreachable(trace.get())) return;
      versions.swap(t->versions());
    }
    trace = {};
  }

  /// Folds what is listed. What doesn't fold stays what it is.
  void fold() {
    if (list.empty() || is_folding) return;
    const struct mark {
      bool& on;
      explicit mark(bool& b) : on(b) { on = true; }
      ~mark() { on = false; }
    } folding_now(is_folding);
    std::unique_lock all(folding());
    // Another thread has needed these already.
    const auto needed = [](const node_ref& n) { return !n->is_listed; };
    if (std::ranges::all_of(list, needed)) return let_go();
    std::erase_if(list, needed);
    statement_trace* t = open();
    if (!t && list.size() < least_statements) return let_go();
    if (!t) {
      trace = make_node(op::trace, dtype::boolean, shape{}, {}, list[0]->site, std::make_unique<attribute>());
      trace->facts->trace = std::make_shared<statement_trace>();
      trace->has_statements = true;
      t = trace->facts->trace.get();
    }
    bool taken;
    {
      const std::lock_guard lock(t->mutex);
      taken = t->take_in(list, trace.get());
    }
    if (taken) runtime::bump(runtime::count().folded, list.size());
    let_go();
    all.unlock();
    patience = taken ? 0 : std::min(2 * patience + first_statements_at_once, most_ignored);
    ignored = patience;
    at_once = t->follows() ? expected_at_once : statements_at_once;
    if (!taken) trace = {};
    else if (t->bytes() > most_bytes || holds_too_much(*t)) compute(*t);
  }

  bool holds_too_much(statement_trace& t) {
    const auto most = static_cast<std::size_t>(current_options().max_pending_bytes);
    const std::size_t bytes = t.bytes_held();
    if (bytes <= most) return false;
    const place& at = trace->site;
    runtime::log(runtime::level::info,
                 fmt::format("{}:{}: {} bytes are kept for pending statements (recording_limits): evaluated", at.file,
                             at.line, bytes));
    return true;
  }

  void compute(statement_trace& t) {
    std::vector<node_ref> held;
    std::vector<node*> versions;
    {
      const std::lock_guard lock(t.mutex);
      for (const statement_trace::version& v : t.versions()) held.push_back(v.n);
    }
    for (const node_ref& n : held) versions.push_back(n.get());
    evaluate(versions, trace->site);
  }
};

thread_statements& statements() {
  static thread_local thread_statements s;
  return s;
}

/// The nodes below `roots` that are, or depend on, statements; operands first.
std::vector<node*> statements_below(std::span<node* const> roots, bool look_everywhere) {
  std::vector<node*> order;
  epoch_map done;
  std::vector<std::pair<node*, std::size_t>> stack;
  for (node* r : roots) stack.push_back({r, 0});
  while (!stack.empty()) {
    const auto [n, next] = stack.back();
    if (n->values() || (!n->has_statements && !look_everywhere) || (next == 0 && done.find(n))) {
      stack.pop_back();
      continue;
    }
    if (next == 0) done.set(done.at(n), n, 0, 1);
    if (next < n->operand_count) {
      ++stack.back().second;
      stack.push_back({n->operands()[next], 0});
      continue;
    }
    order.push_back(n);
    stack.pop_back();
  }
  return order;
}

/// `n`, whose operands are resolved, as it would be recorded now.
node_ref recorded_again(node* n) {
  std::vector<node_ref> operands = pending_operands(n, n->code);
  switch (n->code) {
    case op::view:
      return make_view(operands[0].get(), n->facts->view, n->extents, n->site);
    case op::reshape:
      return make_reshape(operands[0].get(), n->extents, n->site);
    case op::update:
      return make_update(operands[0].get(), operands[1].get(), n->facts->view, n->site);
    default:
      return {};
  }
}

/// The same values as `other`, which others have as well.
node_ref same_as(node* other, const place& at) {
  auto facts = std::make_unique<attribute>();
  for (int k = 0; k < other->extents.rank(); ++k) facts->view.push_back({0, 1, k});
  normalize(facts->view, other->extents);
  return make_node(op::view, other->type, other->extents, {&other, 1}, at, std::move(facts));
}

void resolve_node(node* n) {
  node_ref fresh = recorded_again(n);
  if (!fresh) return;
  // Held by this and as an operand alone, it is gone when n is it.
  const bool shared = !fresh->values() && fresh->references.load(std::memory_order_acquire) > 2;
  become(n, shared ? same_as(fresh.get(), n->site).get() : fresh.get());
}

}  // namespace

void note_statement(node* n) noexcept {
  thread_statements& s = statements();
  if (s.paused > 0 || n->is_listed || n->values() || n->code == op::traced || is_loop_result(n)) return;
  bool fold = false;
  try {
    if (s.ignored > 0) {
      --s.ignored;
      return;
    }
    // Without `n`: what made it still holds the version before.
    const std::size_t most = s.trace ? s.at_once : first_statements_at_once;
    if (s.list.size() >= most || s.may_hold_much()) {
      s.drop_unreachable();
      fold = s.list.size() > most / 2;  // with less, it goes on filling: looking at it costs its length
    }
    if (fold) {
      s.fold();
      n->depth = most_nodes_of_statement;  // what was below it has been folded
    }
    s.add(n);
    runtime::bump(runtime::count().statements);
  } catch (...) {
    s.let_go();  // they are computed one by one
  }
}

void drop_unreachable_statements() noexcept { statements().drop_unreachable(); }

statements_paused::statements_paused() noexcept { ++statements().paused; }
statements_paused::~statements_paused() { --statements().paused; }

void close_statements() {
  thread_statements& own = statements();
  if (own.paused > 0) return;
  own.fold();
  own.ignored = own.patience = 0;
  if (!own.trace) return;
  const std::shared_ptr<statement_trace> t = own.trace->facts->trace;
  {
    const statements_paused nothing_new;
    const std::lock_guard all(folding());
    const std::lock_guard lock(t->mutex);
    if (!std::exchange(t->is_raised, true)) raise_trace(*t);
  }
  own.open();
}

void resolve(std::span<node* const> roots) {
  thread_statements& own = statements();
  if (own.paused > 0) return;
  own.fold();
  own.ignored = own.patience = 0;
  const bool listed_by_others = threads_listing.load(std::memory_order_relaxed) > 0;
  const bool look_everywhere = listed_by_others || traces.load(std::memory_order_relaxed) > 0;
  if (!look_everywhere && std::ranges::none_of(roots, [](const node* r) { return r->has_statements && !r->values(); }))
    return;
  const statements_paused nothing_new;
  const std::lock_guard all(folding());
  for (;;) {
    const std::vector<node*> below = statements_below(roots, look_everywhere);
    bool raised = false;
    for (node* n : below) {
      if (listed_by_others) n->is_listed = false;
      if (n->code != op::trace) continue;
      const std::shared_ptr<statement_trace> t = n->facts->trace;
      const std::lock_guard lock(t->mutex);
      if (std::exchange(t->is_raised, true)) continue;
      raise_trace(*t);
      raised = true;
      break;  // other nodes may be gone
    }
    if (raised) continue;
    for (node* n : below) {
      if (!n->has_statements) continue;
      resolve_node(n);
      n->is_statement = n->has_statements = false;
    }
    break;
  }
  own.open();
}

}  // namespace sinter::jit
