#include "jit/engine.hpp"

#include "jit/build.hpp"
#include "jit/epoch_map.hpp"
#include "jit/faults.hpp"
#include "jit/fuse.hpp"
#include "jit/interpret.hpp"
#include "jit/lower.hpp"
#include "jit/schedule.hpp"
#include "runtime/log.hpp"

#include <fmt/format.h>

#include <deque>

namespace sinter::jit {

namespace {

using runtime::buffer;
using runtime::device;

/// Values that this evaluation will have computed before group `current`.
class planned_values final : public stored_values {
 public:
  struct entry {
    node* n;
    std::size_t group, last_use;
    reference<buffer> memory;
    bool wanted = false;  ///< a root: stays
    std::uint32_t next_to_drop = none;  ///< the next entry whose last use is the same group's
  };
  static constexpr std::uint32_t none = 0xffffffffu;

  void clear() {
    entries.clear();
    index_.clear();
  }
  void add(node* n, std::size_t group) {
    index_.set(index_.at(n), n, 0, static_cast<std::uint32_t>(entries.size()));
    entries.push_back({n, group, group, {}, false, none});
  }
  entry* find(const node* n) const {
    const std::uint32_t* k = index_.find(n);
    return k ? &entries[*k] : nullptr;
  }
  bool contains(const node* n) const override {
    if (n->values()) return true;
    const entry* e = find(n);
    return e && e->group < current;
  }
  void* memory_of(const node* n) const {
    if (const buffer* b = n->values()) return b->data;
    return find(n)->memory->data;
  }

  mutable std::vector<entry> entries;
  std::size_t current = 0;

 private:
  mutable epoch_map index_;
};

/// One launch of an evaluation, lowered and compiled.
struct prepared {
  device* where;
  cached_kernel* kernel;        ///< null: nothing to compute (no elements)
  std::uint32_t first_to_drop;  ///< of the entries nobody needs after this launch
};

/// The state of one evaluation; each thread keeps one, so that a warm evaluation allocates nothing.
class evaluation {
 public:
  /// False: everything is computed already.
  bool plan_for(std::span<node* const> roots, const options& how) {
    how_ = how;
    values_.clear();
    launches_.clear();
    fuse(roots, how, plan_);
    for (std::size_t g = 0; g < plan_.count; ++g)
      for (node* n : plan_.pool[g].outputs) values_.add(n, g);
    for (const node* r : roots)
      if (planned_values::entry* e = values_.find(r)) e->wanted = true;
    return plan_.count > 0;
  }

  /// Everything that can fail for the user's reasons, before anything runs.
  void prepare() {
    if (runtime::wants(runtime::dump::groups)) dump_groups();
    while (lowered_.size() < plan_.count) lowered_.emplace_back();
    for (std::size_t g = 0; g < plan_.count; ++g) {
      const group& what = plan_.pool[g];
      device* d = what.outputs[0]->owner;
      prepared p{d ? d : &runtime::default_device(), nullptr, planned_values::none};
      if (what.outputs[0]->extents.size() > 0) {
        values_.current = g;
        lower(what.outputs, values_, how_, p.where->kind() == runtime::device_kind::cuda, lowered_[g]);
        p.kernel = &ready_kernel(lowered_[g], *p.where, how_);
        for (const pending_pointer& q : lowered_[g].pointers)
          if (planned_values::entry* e = values_.find(q.source)) e->last_use = g;
      }
      launches_.push_back(p);
    }
    for (std::uint32_t k = 0; k < values_.entries.size(); ++k) {
      planned_values::entry& e = values_.entries[k];
      if (!e.wanted) e.next_to_drop = std::exchange(launches_[e.last_use].first_to_drop, k);
    }
  }

  void launch() {
    for (std::size_t g = 0; g < launches_.size(); ++g) {
      const prepared& p = launches_[g];
      for (const node* n : plan_.pool[g].outputs)
        values_.find(n)->memory = reference<buffer>(
            make_buffer(*p.where, static_cast<std::size_t>(checked_bytes(n->extents, n->type))));
      if (p.kernel) start(p, lowered_[g]);
      for (std::uint32_t k = p.first_to_drop; k != planned_values::none; k = values_.entries[k].next_to_drop)
        values_.entries[k].memory = {};
    }
  }

  void publish() {
    for (planned_values::entry& e : values_.entries) {
      if (e.wanted) settle(e.n, std::move(e.memory));
    }
  }

  /// Lets go of everything but the storage.
  void reset() { values_.clear(); }

 private:
  void start(const prepared& p, lowered& l) {
    bind_pointers(
        l, [](void* v, const node* n) { return static_cast<planned_values*>(v)->memory_of(n); }, &values_);
    if (!l.check_sites.empty()) {
      const std::size_t count = l.numbers.slots.size();  // the fault record and the launch's number come last
      l.numbers.slots[count - 2].as_pointer = p.where->fault_address();
      l.numbers.slots[count - 1].as_i64 = register_launch(l.check_sites);
    }
    pointers_.clear();
    for (slot& s : l.numbers.slots) pointers_.push_back(&s);
    const runtime::launch_shape shape = schedule(l.numbers.rows, l.numbers.inner, l.lanes, l.numbers.cost);
    runtime::bump(runtime::count().launches);
    if (p.kernel->function) return p.where->launch(*p.kernel->function, pointers_, shape);
    const kernel& ir = p.kernel->ir;
    void* const* arguments = pointers_.data();
    runtime::parallel_for(shape, [&ir, arguments](std::int64_t r0, std::int64_t r1, std::int64_t i0, std::int64_t i1) {
      interpret(ir, arguments, r0, r1, i0, i1);
    });
  }

  void dump_groups() const {
    for (const group& g : plan_.groups())
      runtime::log(runtime::level::silent, fmt::format("group of level {}: {} output(s) of {}", g.level, g.outputs.size(),
                                                       sinter::to_string(g.outputs[0]->extents)));
    for (const cut& c : plan_.cuts)
      runtime::log(runtime::level::silent, fmt::format("cut at {} ({}:{}): {}", info(c.at->code).name, c.at->site.file,
                                                       c.at->site.line, to_string(c.why)));
  }

  options how_;
  plan plan_;
  planned_values values_;
  std::vector<prepared> launches_;
  std::deque<lowered> lowered_;
  std::vector<void*> pointers_;
};

}  // namespace

options& current_options() {
  static options o;
  return o;
}

void evaluate(std::span<node* const> roots, const place&) {
  bool pending = false;
  for (const node* r : roots) pending |= !r->values();
  if (!pending) return;
  static thread_local evaluation e;
  struct finally {
    ~finally() { e.reset(); }
  } reset_at_the_end;
  if (runtime::wants(runtime::dump::graph)) runtime::log(runtime::level::silent, "\n" + to_string(roots));
  if (!e.plan_for(roots, current_options())) return;
  runtime::bump(runtime::count().evaluations);
  e.prepare();
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
