// One evaluation: launches planned, kernels found, memory given out, launches started. For engine.cpp and
// run_opaque.cpp.
#pragma once

#include "jit/build.hpp"
#include "jit/cache/settings.hpp"
#include "jit/faults.hpp"
#include "jit/launcher.hpp"
#include "jit/planning.hpp"
#include "jit/steps.hpp"
#include "jit/substitute.hpp"
#include "jit/variants.hpp"
#include "runtime/log.hpp"
#include "runtime/stream.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace sinter::jit {

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
  /// False: everything is computed already. `in_stages`: as planning::run has it.
  bool plan(std::span<node* const> roots, const options& how, bool in_stages = true) {
    return plan_.run(roots, how, in_stages);
  }

  /// Between plan() and prepare(): makes a plan of one kernel run several iterations of the loop around it a launch.
  /// The most that a launch runs then; 1: it can't, and `why` is told.
  std::int64_t make_steps(std::span<const stepped_state> states, std::string_view& why) {
    why = "an iteration is several launches";
    if (plan_.launches.size() != 1 || plan_.launches[0].count != 1 || group_at(0).domain().size() == 0) return 1;
    why = "only GPUs run several";
    if (device_of(group_at(0)).kind() != runtime::device_kind::cuda) return 1;
    return sinter::jit::make_steps(lowered_at(0), states, &why) ? lowered_at(0).ir.steps : 1;
  }
  /// The windows of such launches.
  step_window window() { return window_of(lowered_at(0).ir); }
  void set_steps(std::int64_t steps) { sinter::jit::set_steps(lowered_at(0), steps); }

  /// Everything that can fail for the user's reasons, before anything runs.
  void prepare(const options& how) {
    if (runtime::wants(runtime::dump::groups)) dump_groups();
    launches_.clear();
    new_kernels_.clear();
    for (const launch_range& l : plan_.launches) {
      prepared p{&device_of(group_at(l.first)), nullptr, planned_values::none};
      parts_.clear();
      for (std::size_t k = l.first; k < l.first + l.count; ++k) {
        parts_.push_back(&lowered_at(k).ir);
        note_uses(k, launches_.size());
      }
      if (group_at(l.first).domain().size() > 0) p.kernel = &kernel_for(*p.where, how);
      launches_.push_back(p);
    }
    if (!new_kernels_.empty()) bound_variants(how);
    if (!new_kernels_.empty() && compiles_later(how)) substitute_new(how);
    if (!new_kernels_.empty()) build_all(new_kernels_);
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
    for (const prepared& p : launches_)
      if (p.where->has_streams()) [[unlikely]]
        current_stream(*p.where).close_point();
  }

  /// In place of launch(): tells a recorder of each launch, and has it say what memory is written.
  template <class Recorder>
  void record(Recorder& to) {
    const auto memory_of = [this](const node* n) {
      buffer* known = plan_.values.buffer_of(n);
      return known ? known : plan_.values.find(n)->memory.get();
    };
    for (std::size_t l = 0; l < launches_.size(); ++l) {
      const launch_range& range = plan_.launches[l];
      provide_memory(range, [&](device& where, std::size_t bytes, const node& n) {
        return to.new_memory(where, bytes, n);
      });
      if (!launches_[l].kernel) continue;
      to.add_launch(*launches_[l].where, *launches_[l].kernel);
      for (std::size_t k = range.first; k < range.first + range.count; ++k) to.add_part(lowered_at(k), memory_of);
    }
  }

  void publish() {
    for (planned_values::entry& e : plan_.values.entries) {
      if (e.wanted) settle(e.n, std::move(e.memory));
    }
  }

  /// Once more what launch() did, on other memory: placeholders stand for `stand_ins`, and what is written gets memory
  /// of `spare`. Into `list`, unless that is null; `list_use` then learns what its launches use.
  void launch_again(std::vector<std::pair<const node*, buffer*>> stand_ins, spare_memory& spare,
                    runtime::launch_list* list, runtime::memory_use* list_use) {
    plan_.values.stand_ins = std::move(stand_ins);
    for (planned_values::entry& e : plan_.values.entries) e.memory = {};
    spare_ = &spare;
    launcher_.list = list;
    list_use_ = list_use;
    for (std::size_t l = 0; l < launches_.size(); ++l) {
      provide_memory(plan_.launches[l]);
      if (launches_[l].kernel) start(launches_[l], plan_.launches[l]);
    }
    spare_ = nullptr;
    launcher_.list = nullptr;
  }

  /// After launches again: lets go of all memory, but keeps the plan.
  void forget_memory() {
    plan_.values.stand_ins.clear();
    for (planned_values::entry& e : plan_.values.entries) e.memory = {};
  }

  std::size_t launch_count() const { return launches_.size(); }

  /// Whose memory the plan has `n` take over; null: nobody's.
  const node* giver_of(const node* n) const {
    const planned_values::entry* e = plan_.values.find(n);
    return e ? e->giver : nullptr;
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

  /// The kernel of parts_, ready or noted in new_kernels_.
  cached_kernel& kernel_for(device& where, const options& how) {
    cached_kernel& c = find_kernel(parts_, where, how);
    const bool ready = c.ready.load(std::memory_order_acquire);
    if (ready || std::ranges::find(new_kernels_, &c) != new_kernels_.end()) runtime::bump(runtime::count().cache_hits);
    else new_kernels_.push_back(&c);
    return c;
  }

  /// Takes the least specialised kernel for launches that would add one too many of their expression's.
  void bound_variants(const options& how) {
    if (current_cache_mode() == cache_mode::off) return;
    bool changed = false;
    for (std::size_t l = 0; l < launches_.size(); ++l) {
      const cached_kernel* const wanted = launches_[l].kernel;
      const launch_range& range = plan_.launches[l];
      if (!wanted || wanted->ready.load(std::memory_order_acquire) || range.count > 1) continue;
      if (!wanted->list[0]->loops.empty()) continue;
      plan_.lower_again(range.first, least_specialised(how), slower_);
      const kernel* const part[] = {&slower_.ir};
      if (may_be_added(part, *wanted)) continue;
      launches_[l].kernel = &find_kernel(part, *launches_[l].where, how);
      std::swap(lowered_at(range.first), slower_);
      changed = true;
    }
    if (!changed) return;
    new_kernels_.clear();
    for (const prepared& p : launches_)
      if (p.kernel && !p.kernel->ready.load(std::memory_order_acquire) &&
          std::ranges::find(new_kernels_, p.kernel) == new_kernels_.end())
        new_kernels_.push_back(p.kernel);
  }

  /// Takes something slower for launches whose kernels have to be compiled, where there is such a thing. The others'
  /// stay in new_kernels_.
  void substitute_new(const options& how) {
    new_kernels_.clear();
    for (std::size_t l = 0; l < launches_.size(); ++l) {
      cached_kernel* const wanted = launches_[l].kernel;
      if (!wanted || wanted->ready.load(std::memory_order_acquire)) continue;
      cached_kernel* const slower = slower_kernel(launches_[l], plan_.launches[l], how);
      if (!slower) {
        if (std::ranges::find(new_kernels_, wanted) == new_kernels_.end()) new_kernels_.push_back(wanted);
      } else if (!ready_or_asked(*wanted)) {
        runtime::bump(runtime::count().substitutes);
        launches_[l].kernel = slower;
        if (slower->function) std::swap(lowered_at(plan_.launches[l].first), slower_);
      }
    }
  }

  /// What can do a launch's work at once, with slower_ as its numbers unless it is interpreted; null: nothing.
  cached_kernel* slower_kernel(const prepared& p, const launch_range& l, const options& how) {
    if (p.kernel->key.how == target_kind::host && !has_calls(p.kernel->list) && suits_interpreter(l))
      return &interpreted_kernel(p.kernel->list, *p.where);
    if (l.count > 1) return nullptr;
    for (std::size_t k = 0; k < substitute_count; ++k) {
      plan_.lower_again(l.first, less_specialised(how, k), slower_);
      const kernel* const part[] = {&slower_.ir};
      if (cached_kernel* const c = find_ready_kernel(part, *p.where, how); c && c->function) return c;
    }
    return nullptr;
  }

  bool suits_interpreter(const launch_range& l) {
    double work = 0;
    for (std::size_t k = l.first; k < l.first + l.count; ++k) work += interpreted_work(lowered_at(k).numbers);
    return work <= most_interpreted_work;
  }

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
    provide_memory(l, [this](device& where, std::size_t bytes, const node& n) {
      return spare_ ? spare_->take(where, bytes)
                    : reference<buffer>(make_buffer(where, bytes, {n.type, n.extents, n.site}));
    });
  }

  template <class Make>
  void provide_memory(const launch_range& l, const Make& make) {
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
        e.memory = make(device_of(group_at(k)), bytes, *t.n);
      }
  }

  void bind(device& where, lowered& l) {
    bind_pointers(
        l, [](void* v, const node* n) { return static_cast<planned_values*>(v)->memory_of(n); }, &plan_.values);
    if (l.check_sites.empty()) return;
    const std::size_t count = l.numbers.slots.size();  // the fault record and the launch's number come last
    l.numbers.slots[count - 2].as_pointer = where.fault_address();
    l.numbers.slots[count - 1].as_i64 = register_launch(l.check_sites);
  }

  void start(const prepared& p, const launch_range& l) {
    const struct release {
      launcher& s;
      ~release() { s.release_scratch(); }
    } after_launch{launcher_};
    bound_.clear();
    for (std::size_t k = l.first; k < l.first + l.count; ++k) {
      bind(*p.where, lowered_at(k));
      bound_.push_back({&lowered_at(k).ir, &lowered_at(k).numbers});
    }
    launcher_.bind_scratch(*p.where, bound_);
    if (!spare_) runtime::bump(runtime::count().launches);
    if (!p.where->has_streams()) [[likely]]
      return launcher_.start(*p.where, *p.kernel, bound_);
    runtime::memory_use own(*p.where);
    runtime::memory_use& use = launcher_.list ? *list_use_ : own;
    for (std::size_t k = l.first; k < l.first + l.count; ++k) name_memory(lowered_at(k), use);
    launcher_.start(*p.where, *p.kernel, bound_);
    if (!launcher_.list) use.started();
  }

  void name_memory(const lowered& l, runtime::memory_use& use) const {
    for (const pending_pointer& q : l.pointers) {
      buffer& b = plan_.values.place_of(q.source);
      if (l.ir.parameters[q.parameter].kind == parameter_kind::output) use.writes(b);
      else use.reads(b);
    }
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
  std::vector<cached_kernel*> new_kernels_;  ///< of the launches, those to build
  lowered slower_;                           ///< of a launch, for another kernel than its own
  std::vector<bound_part> bound_;            ///< of the launch about to be asked for
  launcher launcher_;
  spare_memory* spare_ = nullptr;            ///< of a loop that launches again and again
  runtime::memory_use* list_use_ = nullptr;  ///< what the launches of a list use
};

}  // namespace sinter::jit
