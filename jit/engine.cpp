#include "jit/engine.hpp"

#include "jit/build.hpp"
#include "jit/faults.hpp"
#include "jit/fold/trace_recorder.hpp"
#include "jit/interpret.hpp"
#include "jit/loops.hpp"
#include "jit/planning.hpp"
#include "jit/schedule.hpp"
#include "jit/scratch.hpp"
#include "runtime/log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace sinter::jit {

namespace {

using runtime::buffer;
using runtime::device;

/// One launch of an evaluation, lowered and compiled.
struct prepared {
  device* where;
  cached_kernel* kernel;        ///< null: nothing to compute (no elements)
  std::uint32_t first_to_drop;  ///< of the entries nobody needs after this launch
};

/// Memory that launches of a loop write to, again and again.
class spare_memory {
 public:
  reference<buffer> take(device& where, std::size_t bytes) {
    for (const reference<buffer>& b : all_)
      if (b->bytes == bytes && b->references.load(std::memory_order_acquire) == 1) return b;
    all_.push_back(reference<buffer>(make_buffer(where, bytes)));
    return all_.back();
  }

 private:
  std::vector<reference<buffer>> all_;
};

/// The state of one evaluation; each thread keeps one, so that a warm evaluation allocates nothing.
class evaluation {
 public:
  /// False: everything is computed already.
  bool plan(std::span<node* const> roots, const options& how) { return plan_.run(roots, how); }

  /// Everything that can fail for the user's reasons, before anything runs.
  void prepare(const options& how) {
    if (runtime::wants(runtime::dump::groups)) dump_groups();
    launches_.clear();
    for (const launch_range& l : plan_.launches) {
      prepared p{&device_of(group_at(l.first)), nullptr, planned_values::none};
      parts_.clear();
      for (std::size_t k = l.first; k < l.first + l.count; ++k) {
        parts_.push_back(&lowered_at(k).ir);
        note_uses(k, launches_.size());
      }
      if (group_at(l.first).domain().size() > 0) p.kernel = &ready_kernel(parts_, *p.where, how);
      launches_.push_back(p);
    }
    for (std::uint32_t k = 0; k < plan_.values.entries.size(); ++k) {
      planned_values::entry& e = plan_.values.entries[k];
      if (!e.wanted) e.next_to_drop = std::exchange(launches_[e.last_use].first_to_drop, k);
    }
  }

  void launch() {
    bool overwrites = false;
    for (std::size_t l = 0; l < launches_.size(); ++l) {
      // Once something is overwritten there is no way back: what can still fail comes before.
      if (!overwrites && overwrites_memory(plan_.launches[l])) {
        overwrites = true;
        for (std::size_t later = l; later < launches_.size(); ++later) provide_memory(plan_.launches[later]);
      }
      provide_memory(plan_.launches[l]);
      if (launches_[l].kernel) start(launches_[l], plan_.launches[l]);
      for (std::uint32_t d = launches_[l].first_to_drop; d != planned_values::none;
           d = plan_.values.entries[d].next_to_drop)
        plan_.values.entries[d].memory = {};
    }
  }

  void publish() {
    for (planned_values::entry& e : plan_.values.entries) {
      if (e.wanted) settle(e.n, std::move(e.memory));
    }
  }

  /// Once more what launch() did, on other memory: placeholders stand for `stand_ins`, and what is written gets memory of
  /// `spare`. Into `list`, unless that is null.
  void launch_again(std::vector<std::pair<const node*, buffer*>> stand_ins, spare_memory& spare,
                    runtime::launch_list* list) {
    plan_.values.stand_ins = std::move(stand_ins);
    for (planned_values::entry& e : plan_.values.entries) e.memory = {};
    spare_ = &spare;
    list_ = list;
    for (std::size_t l = 0; l < launches_.size(); ++l) {
      provide_memory(plan_.launches[l]);
      if (launches_[l].kernel) start(launches_[l], plan_.launches[l]);
    }
    spare_ = nullptr;
    list_ = nullptr;
  }

  reference<buffer> memory_of(const node* n) const {
    const planned_values::entry* e = plan_.values.find(n);
    return e ? e->memory : reference<buffer>();
  }

  /// Lets go of everything but the storage.
  void reset() { plan_.values.clear(); }

 private:
  const group& group_at(std::size_t k) const { return plan_.groups.pool[plan_.order[k]]; }
  lowered& lowered_at(std::size_t k) { return plan_.lowered[plan_.order[k]]; }

  void note_uses(std::size_t k, std::size_t launch) {
    const auto use = [&](const node* n) {
      if (planned_values::entry* e = plan_.values.find(n)) e->last_use = std::max(e->last_use, launch);
    };
    for (const pending_pointer& q : lowered_at(k).pointers) use(q.source);
    for (const target& t : group_at(k).outputs) {
      use(t.n);
      use(t.giver);
    }
  }

  bool overwrites_memory(const launch_range& l) const {
    for (std::size_t k = l.first; k < l.first + l.count; ++k)
      for (const target& t : group_at(k).outputs)
        if (t.giver) return true;
    return false;
  }

  /// Memory for what a launch writes, if it has none yet.
  void provide_memory(const launch_range& l) {
    for (std::size_t k = l.first; k < l.first + l.count; ++k)
      for (const target& t : group_at(k).outputs) {
        planned_values::entry& e = *plan_.values.find(t.n);
        if (e.memory) continue;
        if (e.giver) {
          planned_values::entry* giver = plan_.values.find(e.giver);
          e.memory = giver ? giver->memory : reference<buffer>::share(plan_.values.buffer_of(e.giver));
          continue;
        }
        const auto bytes = static_cast<std::size_t>(checked_bytes(t.n->extents, t.n->type));
        e.memory = spare_ ? spare_->take(device_of(group_at(k)), bytes)
                          : reference<buffer>(make_buffer(device_of(group_at(k)), bytes));
      }
  }

  void bind(device& where, lowered& l) {
    bind_pointers(
        l, [](void* v, const node* n) { return static_cast<planned_values*>(v)->memory_of(n); }, &plan_.values);
    if (l.ir.split) bind_workspace(where, l);
    if (l.check_sites.empty()) return;
    const std::size_t count = l.numbers.slots.size();  // the fault record and the launch's number come last
    l.numbers.slots[count - 2].as_pointer = where.fault_address();
    l.numbers.slots[count - 1].as_i64 = register_launch(l.check_sites);
  }

  void bind_workspace(device& where, lowered& l) {
    scratch_ = scratch_of(where, l.numbers.workspace_bytes, l.numbers.ticket_count);
    for (std::size_t k = 0; k < l.ir.parameters.size(); ++k) {
      slot& s = l.numbers.slots[k];
      if (l.ir.parameters[k].kind == parameter_kind::workspace) s.as_pointer = scratch_.workspace;
      if (l.ir.parameters[k].kind == parameter_kind::tickets) s.as_pointer = scratch_.tickets;
      if (l.ir.parameters[k].kind == parameter_kind::phase) phase_ = &s;
    }
  }

  void start(const prepared& p, const launch_range& l) {
    const struct release {
      scratch& s;
      ~release() { s = {}; }
    } after_launch{scratch_};
    for (std::size_t k = l.first; k < l.first + l.count; ++k) bind(*p.where, lowered_at(k));
    if (!spare_) runtime::bump(runtime::count().launches);
    if (p.kernel->function && p.where->kind() == runtime::device_kind::cuda && l.count > 1) return start_parts(p, l);
    for (std::size_t k = l.first; k < l.first + l.count; ++k) {
      lowered& part = lowered_at(k);
      std::int64_t number = static_cast<std::int64_t>(k - l.first);
      pointers_.clear();
      if (p.kernel->function && l.count > 1) pointers_.push_back(&number);
      for (slot& s : part.numbers.slots) pointers_.push_back(&s);
      const runtime::launch_shape shape = shape_of(part);
      if (!p.kernel->function) start_interpreter(p.kernel->parts[k - l.first], shape);
      else if (part.ir.split && p.where->kind() == runtime::device_kind::cpu) start_pieces(p, part, shape);
      else issue(*p.where, *p.kernel->function, shape);
    }
  }

  void issue(device& where, runtime::function& f, const runtime::launch_shape& shape) {
    if (list_) list_->add(f, pointers_, shape);
    else where.launch(f, pointers_, shape);
  }

  static runtime::launch_shape shape_of(const lowered& l) {
    const arguments& a = l.numbers;
    if (l.ir.over == distribution::elements) return schedule(a.rows, a.inner, l.ir.lanes, a.cost);
    return schedule_loops(a, l.ir.threads);
  }

  /// Host: the pieces first, beside each other, then what needs them all.
  void start_pieces(const prepared& p, const lowered& l, const runtime::launch_shape& shape) {
    runtime::launch_shape pieces = shape;
    pieces.cost = static_cast<int>(std::max<std::int64_t>(shape.cost / l.numbers.pieces, 1));
    pieces.rows = shape.rows * l.numbers.pieces;
    if (l.ir.over == distribution::rows) {
      pieces.rows *= shape.inner;
      pieces.inner = 1;
    }
    phase_->as_i64 = static_cast<std::int64_t>(launch_phase::piece);
    p.where->launch(*p.kernel->function, pointers_, pieces);
    phase_->as_i64 = static_cast<std::int64_t>(launch_phase::rest);
    p.where->launch(*p.kernel->function, pointers_, shape);
  }

  void start_interpreter(const kernel& ir, const runtime::launch_shape& shape) {
    void* const* arguments = pointers_.data();
    runtime::parallel_for(shape, [&ir, arguments](std::int64_t r0, std::int64_t r1, std::int64_t i0, std::int64_t i1) {
      interpret(ir, arguments, r0, r1, i0, i1);
    });
  }

  /// One cuda launch: every part has blocks of its own, and is told how they lie over its domain.
  void start_parts(const prepared& p, const launch_range& l) {
    constexpr int threads = 256;
    shapes_.assign(l.count * 3, 0);
    pointers_.clear();
    runtime::launch_shape all;
    all.block[0] = threads;
    all.grid[0] = 0;
    for (std::size_t k = 0; k < l.count; ++k) {
      lowered& part = lowered_at(l.first + k);
      const arguments& a = part.numbers;
      const bool loops = part.ir.over != distribution::elements;
      const runtime::launch_shape own =
          loops ? schedule_loops(a, threads) : schedule(a.rows, a.inner, part.ir.lanes, a.cost, threads);
      const int numbers[] = {static_cast<int>(own.grid[0]), static_cast<int>(own.grid[1]),
                             std::countr_zero(own.block[0])};
      for (std::size_t j = 0; j < 3; ++j) {
        shapes_[3 * k + j] = numbers[j];
        pointers_.push_back(&shapes_[3 * k + j]);
      }
      for (slot& s : part.numbers.slots) pointers_.push_back(&s);
      all.grid[0] += own.grid[0] * own.grid[1];
    }
    issue(*p.where, *p.kernel->function, all);
  }

  void dump_groups() const {
    for (const group& g : plan_.groups.groups())
      runtime::log(runtime::level::silent, fmt::format("group of level {}: {} output(s) of {}", g.level,
                                                       g.outputs.size(), sinter::to_string(g.domain())));
    for (const cut& c : plan_.groups.cuts)
      runtime::log(runtime::level::silent, fmt::format("cut at {} ({}:{}): {}", info(c.at->code).name, c.at->site.file,
                                                       c.at->site.line, to_string(c.why)));
  }

  planning plan_;
  std::vector<prepared> launches_;
  std::vector<const kernel*> parts_;
  std::vector<void*> pointers_;
  std::vector<int> shapes_;  ///< of the parts of one cuda launch
  scratch scratch_;          ///< of the launch about to be asked for
  slot* phase_ = nullptr;    ///< of the host kernel about to run in pieces
  spare_memory* spare_ = nullptr;           ///< of a loop that launches again and again
  runtime::launch_list* list_ = nullptr;    ///< likewise: where its launches go
};

// ---- loops of whole-array operations ----

/// Runs the body of an op::repeat.
class repeated_run {
 public:
  repeated_run(node* n, const place& at) : body_(*n->facts->loop), where_(device_of_states(n)) {
    for (std::size_t k = 0; k < body_.states.size(); ++k) {
      now_.push_back(reference<buffer>::share(n->operands()[k]->values()));
      placeholders_.push_back(body_.states[k].get());
      next_.push_back(body_.next[k]);
    }
    if (body_.counter->references.load(std::memory_order_acquire) > 1) count_iterations(at);
    // What they hold is told launch by launch.
    for (node* p : placeholders_)
      if (!p->values()) settle(p, reference<buffer>(make_buffer(where_, 0)));
    for (const node_ref& x : next_) roots_.push_back(x.get());
  }

  void run(const options& how) {
    computes_ = work_.plan(roots_, how);
    if (computes_) work_.prepare(how);
    runtime::bump(runtime::count().launches);
    std::int64_t done = 0;
    for (; done < std::min<std::int64_t>(body_.count, first_ones); ++done) step(nullptr);
    if (body_.count - done >= least_in_lists) done += run_lists(body_.count - done);
    for (; done < body_.count; ++done) step(nullptr);
    now_.resize(body_.states.size());
    body_.after = now_;
  }

 private:
  // The first iterations find the memory that all others use.
  static constexpr std::int64_t first_ones = 4, least_in_lists = 32, most_in_list = 128;

  static device& device_of_states(node* n) { return *n->operands()[0]->values()->owner; }

  /// The iteration's number is one more state.
  void count_iterations(const place& at) {
    const std::int64_t zero = 0;
    reference<buffer> memory(make_buffer(where_, sizeof zero));
    where_.copy_from_host(memory->data, &zero, sizeof zero);
    now_.push_back(std::move(memory));
    placeholders_.push_back(body_.counter.get());
    const input in[] = {{body_.counter.get(), {}, at}, {nullptr, scalar(1), at}};
    next_.push_back(record(op::add, in, at));
  }

  void step(runtime::launch_list* list) {
    std::vector<std::pair<const node*, buffer*>> stand_ins;
    for (std::size_t k = 0; k < now_.size(); ++k) stand_ins.push_back({placeholders_[k], now_[k].get()});
    if (computes_) work_.launch_again(std::move(stand_ins), spare_, list);
    std::vector<reference<buffer>> after;
    for (const node_ref& n : next_) {
      const auto same = std::ranges::find(placeholders_, n.get());
      if (same != placeholders_.end()) after.push_back(now_[static_cast<std::size_t>(same - placeholders_.begin())]);
      else if (runtime::buffer* known = n->values()) after.push_back(reference<buffer>::share(known));
      else after.push_back(work_.memory_of(n.get()));
    }
    now_ = std::move(after);
  }

  /// Iterations in lists that the device starts as a whole: each list ends with the states in the memory that it began with,
  /// so that it can be started again. How many were run.
  std::int64_t run_lists(std::int64_t most) {
    if (!computes_) return 0;
    const std::unique_ptr<runtime::launch_list> list = where_.make_launch_list();
    if (!list) return 0;
    std::vector<buffer*> begin;
    for (const reference<buffer>& b : now_) begin.push_back(b.get());
    std::int64_t length = 0, whole = 0;
    while (length < std::min(most_in_list, most)) {
      step(list.get());
      ++length;
      if (same_memory(begin)) {
        whole = length;
        if (2 * length > most_in_list) break;
      }
    }
    if (length != whole) {  // what comes after the last return to the beginning: once
      list->start();
      return length;
    }
    const std::int64_t times = most / whole;
    for (std::int64_t k = 0; k < times; ++k) list->start();
    return times * whole;
  }

  bool same_memory(const std::vector<buffer*>& other) const {
    return std::ranges::equal(now_, other, [](const auto& a, const buffer* b) { return a.get() == b; });
  }

  const loop_body& body_;
  device& where_;
  evaluation work_;
  spare_memory spare_;
  std::vector<node*> placeholders_, roots_;
  std::vector<node_ref> next_;
  std::vector<reference<buffer>> now_;  ///< by state
  bool computes_ = false;
};

}  // namespace

options& current_options() {
  static options o;
  return o;
}

void run_repeats(std::span<node* const> roots, const options& how, const place& at) {
  std::vector<node*> stack(roots.begin(), roots.end());
  std::vector<node_ref> loops, results;  // held: evaluating one may let go of others
  epoch_map seen;
  while (!stack.empty()) {
    node* n = stack.back();
    stack.pop_back();
    if (n->values() || seen.find(n)) continue;
    seen.set(seen.at(n), n, 0, 1);
    if (n->code == op::repeat) {
      loops.push_back(node_ref::share(n));
      continue;  // evaluating its operands finds what is below
    }
    if (n->code == op::result && n->operands()[0]->code == op::repeat) results.push_back(node_ref::share(n));
    stack.insert(stack.end(), n->operands().begin(), n->operands().end());
  }
  for (const node_ref& n : loops) {
    if (!n->facts->loop->after.empty()) continue;
    evaluate(n->operands(), at);
    repeated_run(n.get(), at).run(how);
  }
  for (const node_ref& n : results) {
    if (n->values()) continue;
    const auto which = static_cast<std::size_t>(n->facts->output);
    settle(n.get(), n->operands()[0]->facts->loop->after[which]);
  }
}

void evaluate(std::span<node* const> roots, const place& at) {
  bool pending = false;
  for (const node* r : roots) pending |= !r->values();
  if (!pending) return;
  resolve(roots);
  run_repeats(roots, current_options(), at);
  static thread_local evaluation e;
  struct finally {
    ~finally() { e.reset(); }
  } reset_at_the_end;
  if (runtime::wants(runtime::dump::graph)) runtime::log(runtime::level::silent, "\n" + to_string(roots));
  const options how = current_options();
  if (!e.plan(roots, how)) return;
  runtime::bump(runtime::count().evaluations);
  e.prepare(how);
  e.launch();
  e.publish();
}

void synchronize(device& d) {
  runtime::bump(runtime::count().synchronizations);
  d.synchronize();
  throw_on_fault(d);
}

void read(node* n, void* to, std::size_t bytes, const place& at) {
  evaluate({&n, 1}, at);
  if (bytes == 0) return;
  buffer* b = n->values();
  SINTER_CHECK(b && b->bytes >= bytes);
  runtime::bump(runtime::count().synchronizations);
  runtime::bump(runtime::count().bytes_to_host, bytes);
  b->owner->copy_to_host(to, b->data, bytes);
  throw_on_fault(*b->owner);
}

}  // namespace sinter::jit
