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

// Statements are looked at together: at first enough for loops with long bodies to show, then few; and as long as all
// are expected so few that their nodes stay in the nearest cache.
constexpr std::size_t first_statements_at_once = 512, statements_at_once = 64, expected_at_once = 16;
constexpr std::size_t most_ignored = std::size_t{1} << 16;
// Fewer than these are as well computed one by one.
constexpr std::size_t least_statements = 8;
// A trace that does not fold is computed when it takes this much.
constexpr std::size_t most_bytes = std::size_t{64} << 20;

// Threads whose list isn't empty.
constinit std::atomic<int> threads_listing{0};

/// Held while nodes are taken into traces or out of them: one may be listed by a thread and evaluated by another.
std::recursive_mutex& folding() {
  static std::recursive_mutex m;
  return m;
}

}  // namespace

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
  foreseer foresee;

  statement_trace* open() {
    if (!trace) return nullptr;
    const std::shared_ptr<statement_trace> t = trace->facts->trace;  // its mutex outlives the node's last reference
    const std::lock_guard lock(t->mutex);
    if (!t->is_raised) return t.get();
    close();
    return nullptr;
  }

  void close() noexcept {
    foresee.stop();
    trace = {};
  }

  thread_statements() { runtime::set_reclaimer(drop_unreachable_statements); }
  ~thread_statements() {
    foresee.stop();
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
    close();
  }

  /// Folds what is listed. What doesn't fold stays what it is. `recorded`: the operations of the last statement in
  /// order, when they are known.
  void fold(std::span<node* const> recorded = {}) {
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
      taken = t->take_in(list, trace.get(), recorded);
    }
    if (taken) runtime::bump(runtime::count().folded, list.size());
    let_go();
    all.unlock();
    patience = taken ? 0 : std::min(2 * patience + first_statements_at_once, most_ignored);
    ignored = patience;
    at_once = t->follows() ? expected_at_once : statements_at_once;
    if (!taken) close();
    else if (t->bytes() > most_bytes || holds_too_much(*t)) compute(*t);
    else if (t->follows() || !recorded.empty()) foresee.start(*t);
    else foresee.stop();
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
    s.foresee.note_listed();
    runtime::bump(runtime::count().statements);
  } catch (...) {
    s.let_go();  // they are computed one by one
  }
}

void fold_listed_statements() {
  thread_statements& s = statements();
  try {
    s.fold(s.foresee.recorded());
  } catch (...) {  // whoever records an operation has nothing to do with it: the statements are computed one by one
    s.let_go();
    s.foresee.stop();
  }
}

void drop_unreachable_statements() noexcept { statements().drop_unreachable(); }

statements_paused::statements_paused() noexcept {
  ++statements().paused;
  statements().foresee.stop();
}
statements_paused::~statements_paused() { --statements().paused; }

void close_statements() {
  thread_statements& own = statements();
  if (own.paused > 0) return;
  own.foresee.stop();
  own.fold();
  own.foresee.stop();
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
  own.foresee.stop();
  own.fold();
  own.foresee.stop();
  own.ignored = own.patience = 0;
  const bool listed_by_others = threads_listing.load(std::memory_order_relaxed) > 0;
  const bool look_everywhere = listed_by_others || statement_trace::are_there();
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
