#include "jit/recorder.hpp"

#include "jit/fold/batch.hpp"
#include "jit/fold/trace_recorder.hpp"
#include "jit/lone_call.hpp"
#include "jit/loops.hpp"
#include "jit/opaque.hpp"
#include "runtime/error.hpp"

#include <algorithm>
#include <atomic>

namespace sinter::jit {

thread_local constinit recorder* recorder::current_ = nullptr;

namespace {

constexpr std::uintptr_t step_of_addresses = 256;

/// Addresses are given out once in a process, so that arrays of different recordings can't be mistaken.
std::uintptr_t next_address(std::atomic<std::uintptr_t>& next, std::size_t bytes) {
  return next.fetch_add((bytes / step_of_addresses + 2) * step_of_addresses, std::memory_order_relaxed);
}

std::uintptr_t new_address(bool is_number, std::size_t bytes) {
  static std::atomic<std::uintptr_t> arrays{first_recorded_address}, numbers{first_recorded_number};
  return next_address(is_number ? numbers : arrays, bytes);
}

std::size_t bytes_of(const shape& extents, dtype type) {
  return static_cast<std::size_t>(checked_bytes(extents, type));
}

}  // namespace

void refuse_recorded(const node* n, const place& at) {
  if (!is_recorded(n->values())) return;
  throw_type_error("a value is wanted in a function that is being recorded: compile() calls it with arrays that have "
                   "none yet",
                   at, "return the array, and read it after the call; if_else, while_loop and where choose by values");
}

recorder::recorder(const place& at) : at_(at), out_(std::make_shared<recording>()) { close_statements(); }

recorder::~recorder() {
  held_.clear();
  out_.reset();
  for (const stand_in& s : stand_ins_) {
    if (!s.life || s.life->references.load(std::memory_order_acquire) == 1) continue;
    s.memory->data = nullptr;
    try {
      reference<buffer> own(make_buffer(*s.memory->owner, s.memory->bytes));
      s.memory->data = own->data;
      release(std::exchange(s.memory->whole, own.leave()));
    } catch (const error&) {
      // No room: whoever reads it gets to know.
    }
  }
}

reference<buffer> recorder::stand_in_for(recorded_memory&& what, std::uintptr_t address, const place& site) {
  reference<buffer> life(new buffer{what.where, nullptr, 0});
  reference<buffer> memory(new buffer{what.where, reinterpret_cast<void*>(address), what.bytes});
  retain(life.get());
  memory->whole = life.get();
  by_address_[address] = static_cast<std::uint32_t>(out_->memory.size());
  stand_ins_.push_back({std::move(life), memory.get(), site});
  first_step_.push_back(static_cast<std::uint32_t>(out_->steps.size()));
  out_->memory.push_back(std::move(what));
  return memory;
}

node_ref recorder::add_argument(const recorded_argument& a) {
  using origin = recorded_memory::origin;
  const std::size_t bytes = bytes_of(a.extents, a.type);
  const auto number = static_cast<std::uint32_t>(out_->memory.size());  // arguments come first
  reference<buffer> memory = stand_in_for({a.is_number ? origin::number : origin::argument, a.where, bytes, number},
                                          new_address(a.is_number, bytes), at_);
  if (!a.is_donated) held_.push_back(memory);
  node_ref n = make_buffer_node(std::move(memory), a.type, a.extents, at_);
  if (a.is_number) n->owner = nullptr;
  return n;
}

reference<buffer> recorder::new_memory(device& where, std::size_t bytes, const node& n) {
  return stand_in_for({.how = recorded_memory::origin::made,
                       .where = &where,
                       .bytes = bytes,
                       .use = {n.type, n.extents, n.site}},
                      new_address(false, bytes), n.site);
}

memory_ref recorder::find(const buffer* b) const {
  const auto address = reinterpret_cast<std::uintptr_t>(b->data);
  auto at = by_address_.upper_bound(address);
  SINTER_CHECK(at != by_address_.begin());
  --at;
  return {at->second, address - at->first};
}

/// Where the values of `b` are at a replay: it is used.
memory_ref recorder::use(buffer* b) {
  memory_ref found;
  if (is_recorded(b)) {
    found = find(b);
  } else if (const auto known = constants_.find(b); known != constants_.end()) {
    found.memory = known->second;
  } else {
    found.memory = constants_[b] = static_cast<std::uint32_t>(out_->memory.size());
    out_->memory.push_back(
        {recorded_memory::origin::constant, b->owner, b->bytes, 0, true, reference<buffer>::share(b)});
    stand_ins_.push_back({{}, nullptr, at_});
    first_step_.push_back(0);
  }
  out_->memory[found.memory].is_used = true;
  return found;
}

void recorder::add_launch(device& where, cached_kernel& kernel) {
  recorded_step step;
  step.where = &where;
  step.kernel = &kernel;
  out_->steps.push_back(std::move(step));
}

/// Whether `root` is computed from arguments.
bool recorder::depends(node* root) {
  std::vector<const node*> stack{root};
  epoch_map seen;
  seen.set(seen.at(root), root, 0, 1);
  while (!stack.empty()) {
    const node* n = stack.back();
    stack.pop_back();
    if (const buffer* b = n->values()) {
      if (is_recorded(b)) return true;
      continue;
    }
    for (node* x : n->operands()) {
      if (seen.find(x)) continue;
      seen.set(seen.at(x), x, 0, 1);
      stack.push_back(x);
    }
  }
  return false;
}

/// Each replay reads captured arrays: none may be overwritten.
void recorder::hold_constants(std::span<node* const> roots) {
  std::vector<const node*> stack(roots.begin(), roots.end());
  epoch_map seen;
  while (!stack.empty()) {
    const node* n = stack.back();
    stack.pop_back();
    if (seen.find(n)) continue;
    seen.set(seen.at(n), n, 0, 1);
    if (buffer* b = n->values()) {
      if (!is_recorded(b)) held_.push_back(reference<buffer>::share(b));
      continue;
    }
    stack.insert(stack.end(), n->operands().begin(), n->operands().end());
  }
}

void recorder::evaluate(std::span<node* const> roots, const place& at) {
  resolve(roots);
  std::vector<node*> own, others;
  for (node* r : roots)
    if (!r->values()) (depends(r) ? own : others).push_back(r);
  if (!others.empty()) {
    const scope run_them(nullptr);
    jit::evaluate(others, at);
  }
  if (own.empty()) return;
  batched_roots batched(own);
  run(batched.roots(), at);
  if (const std::vector<node*> left = batched.hand_out(); !left.empty()) run(left, at);
}

void recorder::run(std::span<node* const> roots, const place& at) {
  run_calls(roots, at);
  hold_constants(roots);
  evaluation e;
  options how = current_options();
  how.compiling = compile_mode::sync;  // what is replayed is worth waiting for
  if (!e.plan(roots, how)) return;
  e.prepare(how);
  e.record(*this);
  e.publish();
}

/// As run_opaque().
void recorder::run_calls(std::span<node* const> roots, const place& at) {
  for (opaque_step& held : opaque_below(roots)) {
    const opaque_step step = std::move(held);
    const node_ref& n = step.n;
    if (n->values()) continue;
    if (step.instead) {
      evaluate(std::vector<node*>{step.instead.get()}, at);
      settle(n.get(), reference<buffer>::share(step.instead->values()));
    } else if (!is_opaque(n->code)) {
      if (depends(n.get())) settle_call_result(n.get());
      else evaluate(std::vector<node*>{n.get()}, at);
    } else if (depends(n.get()) && !calls_.contains(n.get())) {
      if (n->code == op::lone_call) evaluate(operands_in_memory(*n), at);
      else if (n->code == op::launch) evaluate(n->facts->launch->needs(*n), at);
      else evaluate(std::vector<node*>(n->operands().begin(), n->operands().end()), at);
      add_call(n.get());
    }
  }
}

void recorder::add_call(node* n) {
  auto call = std::make_unique<recorded_call>();
  call->like = node_ref::share(n);
  for (node* x : n->operands()) {
    recorded_call::operand o;
    node* stored = x;
    for (; !stored->values() && stored->operand_count == 1 && depends(stored); stored = stored->operands()[0])
      o.views.push_back({stored->code, stored->type, stored->extents,
                         stored->facts ? std::make_shared<const attribute>(*stored->facts) : nullptr});
    std::ranges::reverse(o.views);
    o.type = stored->type;
    o.extents = stored->extents;
    if (is_recorded(stored->values())) o.from = use(stored->values());
    if (o.from.memory == memory_ref::none || n->code == op::repeat) o.original = node_ref::share(x);
    call->operands.push_back(std::move(o));
  }
  calls_[n] = out_->steps.size();
  recorded_step step;
  step.where = n->owner ? n->owner : &runtime::default_device();
  step.call = std::move(call);
  device& where = *step.where;
  out_->steps.push_back(std::move(step));
  settle(n, stand_in_for({recorded_memory::origin::given, &where, 0}, new_address(false, 0), n->site));
}

/// `n` is a result of a call that is a step already.
void recorder::settle_call_result(node* n) {
  recorded_call& call = *out_->steps[calls_.at(n->operands()[0])].call;
  const std::size_t number = output_of(n);
  for (const recorded_call::output& o : call.outputs)
    if (o.number == number && stand_ins_[o.memory].life->references.load(std::memory_order_acquire) > 1)
      return settle(n, reference<buffer>::share(stand_ins_[o.memory].memory));
  device& where = n->owner ? *n->owner : runtime::default_device();
  const std::size_t bytes = bytes_of(n->extents, n->type);
  call.outputs.push_back({number, static_cast<std::uint32_t>(out_->memory.size())});
  settle(n, stand_in_for({recorded_memory::origin::given, &where, bytes}, new_address(false, bytes), n->site));
}

std::shared_ptr<const recording> recorder::finish(std::vector<node_ref>&& results) {
  std::vector<node*> roots;
  for (const node_ref& r : results) roots.push_back(r.get());
  evaluate(roots, at_);
  for (node* r : roots) out_->results.push_back({use(r->values()), r->type, r->extents, r->site});
  roots.clear();
  results.clear();
  held_.clear();
  forget_originals();
  close_statements();
  check_nothing_is_kept();
  find_lifetimes();
  return std::move(out_);
}

/// Bodies of loops refer to arrays around them, which from now on stand for each replay's.
void recorder::forget_originals() {
  const auto forget = [](node* n) {
    if (n && is_recorded(n->values())) release(n->computed.exchange(make_buffer(*n->values()->owner, 0)));
  };
  for (recorded_step& step : out_->steps) {
    if (!step.call) continue;
    forget(step.call->like.get());
    for (recorded_call::operand& o : step.call->operands) forget(o.original.get());
  }
}

void recorder::check_nothing_is_kept() {
  for (std::size_t k = 0; k < stand_ins_.size(); ++k) {
    const stand_in& s = stand_ins_[k];
    if (!s.life || s.life->references.load(std::memory_order_acquire) == 1) continue;
    const bool is_argument = out_->memory[k].how <= recorded_memory::origin::number;
    throw_type_error(is_argument ? "an argument of a compiled function, or what was computed from it, is kept outside"
                                 : "what a compiled function computed is kept outside",
                     s.site,
                     "the function runs once, when it is recorded: return what it computes, and write to no captured "
                     "variable");
  }
}

void recorder::find_lifetimes() {
  constexpr std::uint32_t never = 0xffffffffu;
  std::vector<std::uint32_t> last(out_->memory.size(), never);
  std::vector<recorded_step>& steps = out_->steps;
  for (std::uint32_t k = 0; k < steps.size(); ++k) {
    for (recorded_part& part : steps[k].parts) {
      for (const memory_ref& m : part.pointers) last[m.memory] = k;
      if (!part.code.check_sites.empty()) part.faults = keep_launch(part.code.check_sites);
    }
    if (!steps[k].call) continue;
    for (const recorded_call::operand& o : steps[k].call->operands)
      if (o.from.memory != memory_ref::none) last[o.from.memory] = k;
    for (const recorded_call::output& o : steps[k].call->outputs) last[o.memory] = k;
  }
  for (const recorded_result& r : out_->results) last[r.from.memory] = never;
  for (std::uint32_t m = 0; m < out_->memory.size(); ++m) {
    const recorded_memory& what = out_->memory[m];
    if (what.how == recorded_memory::origin::made)
      (first_step_[m] < steps.size() ? steps[first_step_[m]].makes : out_->made_last).push_back(m);
    if (last[m] != never && what.how != recorded_memory::origin::constant) steps[last[m]].drops.push_back(m);
  }
}

}  // namespace sinter::jit
