#include "jit/lone_call.hpp"

#include "jit/build.hpp"
#include "jit/faults.hpp"
#include "jit/interpret.hpp"
#include "jit/loops.hpp"
#include "jit/lower.hpp"
#include "jit/schedule.hpp"
#include "jit/user_kernel.hpp"
#include "runtime/foreign.hpp"
#include "runtime/stream.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sinter::jit {

namespace {

using runtime::buffer;

// Threads of a kernel with code around its loop: what a large GPU runs at once, so that they are few.
constexpr std::int64_t threads_of_block = 256, most_blocks = 1056;

class evaluated_values final : public stored_values {
 public:
  bool contains(const node* n) const override { return n->values() != nullptr; }
};

node* base_of(const node* n, std::size_t k) { return n->operands()[base_operand(*n, k)]; }

/// One run of a kernel, on operands that have values.
class lone_run {
 public:
  lone_run(node* n, const options& how)
      : n_(n), u_(*n->facts->kernel), where_(n->owner ? *n->owner : runtime::default_device()), how_(how) {}

  std::vector<reference<buffer>> run() {
    const bool anything = n_->extents.size() > 0;
    places_ = lower_lone_call(n_, how_, where_.kind() == runtime::device_kind::cuda, lowered_);
    cached_kernel* kernel = nullptr;
    if (anything) {  // fails before anything is written
      const jit::kernel* parts[] = {&lowered_.ir};
      kernel = &ready_kernel(parts, where_, how_);
    }
    for (std::size_t k = 0; k < places_.size(); ++k) memory_.push_back(memory_of(k));
    const auto place = [this](const node* n) { return place_of(n); };
    if (kernel) launch(*kernel, lowered_, place, shape_of_launch());
    return std::move(memory_);
  }

 private:
  reference<buffer> memory_of(std::size_t k) const {
    const node& place = *places_[k];
    const auto bytes = static_cast<std::size_t>(checked_bytes(place.extents, place.type));
    if (!u_.outputs[k].is_raw)
      return reference<buffer>(make_buffer(where_, bytes, {place.type, place.extents, n_->site}));
    node* old = base_of(n_, k);
    buffer* values = old->values();
    const bool own = old->references.load(std::memory_order_acquire) == 1 &&
                     is_exclusive(*values) && old->owner == &where_;
    return own ? reference<buffer>::share(values) : copy_of(old);
  }

  /// A copy, made by a launch: of a view of all of it.
  reference<buffer> copy_of(node* x) const {
    reference<buffer> memory(make_buffer(where_, static_cast<std::size_t>(checked_bytes(x->extents, x->type)),
                                         {x->type, x->extents, n_->site}));
    if (x->extents.size() == 0) return memory;
    auto facts = std::make_unique<attribute>();
    for (int axis = 0; axis < x->extents.rank(); ++axis)
      facts->view.push_back(x->extents[axis] == 1 ? axis_map{} : axis_map{0, 1, axis});
    const node_ref place = new_node(op::buffer, x->type, x->extents, n_->site);
    const node_ref same = new_node(op::view, x->type, x->extents, n_->site, std::move(facts));
    add_operand(*same, node_ref::share(x));
    group g;
    g.outputs.push_back({.n = place.get(), .value = same.get()});
    lowered copying;
    lower(g, evaluated_values(), how_, where_.kind() == runtime::device_kind::cuda, copying);
    const auto place_of = [&](const node* n) { return n == place.get() ? memory.get() : n->values(); };
    const jit::kernel* parts[] = {&copying.ir};
    const arguments& a = copying.numbers;
    launch(ready_kernel(parts, where_, how_), copying, place_of, schedule(a.rows, a.inner, copying.ir.lanes, a.cost));
    return memory;
  }

  template <class Place>
  void launch(const cached_kernel& kernel, lowered& l, const Place& place_of,
              const runtime::launch_shape& shape) const {
    bind_pointers(
        l, [](void* place, const node* n) -> void* { return (*static_cast<const Place*>(place))(n)->data; },
        const_cast<Place*>(&place_of));
    std::vector<slot>& slots = l.numbers.slots;
    if (!l.check_sites.empty()) {
      slots[slots.size() - 2].as_pointer = where_.fault_address();
      slots[slots.size() - 1].as_i64 = register_launch(l.check_sites);
    }
    std::vector<void*> pointers;
    for (slot& s : slots) pointers.push_back(&s);
    runtime::bump(runtime::count().launches);
    runtime::memory_use use(where_);
    if (use.is_noted())
      for (const pending_pointer& q : l.pointers) {
        if (l.ir.parameters[q.parameter].kind == parameter_kind::output) use.writes(*place_of(q.source));
        else use.reads(*place_of(q.source));
      }
    start(kernel, pointers, shape);
    use.finished();
  }

  void start(const cached_kernel& kernel, const std::vector<void*>& pointers,
             const runtime::launch_shape& shape) const {
    if (kernel.function) return where_.launch(*kernel.function, pointers, shape);
    runtime::parallel_for(shape, [&](std::int64_t r0, std::int64_t r1, std::int64_t i0, std::int64_t i1) {
      interpret(kernel.parts[0], pointers.data(), r0, r1, i0, i1);
    });
  }

  runtime::launch_shape shape_of_launch() const {
    const arguments& a = lowered_.numbers;
    runtime::launch_shape s = schedule(a.rows, a.inner, lowered_.ir.lanes, a.cost);
    if (!u_.loop.is_there() || where_.kind() == runtime::device_kind::cpu) return s;
    const std::int64_t blocks = (a.rows * a.inner + threads_of_block - 1) / threads_of_block;
    s.grid[0] = static_cast<std::uint32_t>(std::min(blocks, most_blocks));
    s.grid[1] = s.grid[2] = s.block[1] = s.block[2] = 1;
    s.block[0] = threads_of_block;
    return s;
  }

  buffer* place_of(const node* n) const {
    for (std::size_t k = 0; k < places_.size(); ++k)
      if (places_[k].get() == n) return memory_[k].get();
    return n->values();
  }

  node* n_;
  const user_kernel& u_;
  runtime::device& where_;
  const options& how_;
  std::vector<node_ref> places_;  ///< by output: where it goes
  std::vector<reference<buffer>> memory_;
  lowered lowered_;
};

bool is_number_or_position(const node* x) {
  while (!x->values() && (x->code == op::view || x->code == op::reshape)) x = x->operands()[0];
  return !x->values() && (x->code == op::scalar || x->code == op::iota);
}

}  // namespace

std::vector<node*> operands_in_memory(const node& n) {
  std::vector<node*> list;
  for (std::size_t k = 0; k < n.operand_count; ++k)
    if (reads_anywhere(&n, k) || !is_number_or_position(n.operands()[k])) list.push_back(n.operands()[k]);
  return list;
}

std::vector<node_ref> lower_lone_call(node* n, const options& how, bool for_cuda, lowered& out) {
  const user_kernel& u = *n->facts->kernel;
  std::vector<node_ref> results, places;
  group g;
  std::vector<node*> written;
  for (std::size_t k = 0; k < u.outputs.size(); ++k) {
    const bool raw = u.outputs[k].is_raw;
    const shape& extents = raw ? base_of(n, k)->extents : n->extents;
    places.push_back(new_node(op::buffer, u.output_types[k], extents, n->site));
    written.push_back(raw ? places.back().get() : nullptr);
    if (raw) continue;
    auto facts = std::make_unique<attribute>();
    facts->output = static_cast<std::int32_t>(k);
    results.push_back(new_node(op::result, u.output_types[k], extents, n->site, std::move(facts)));
    add_operand(*results.back(), node_ref::share(n));
    g.outputs.push_back({.n = places.back().get(), .value = results.back().get()});
  }
  g.part = box{shape{}, n->extents};
  for (int axis = 0; axis < n->extents.rank(); ++axis) g.part->first.append(0);
  g.lone = n;
  g.written = written;
  if (n->extents.size() > 0) lower(g, evaluated_values(), how, for_cuda, out);
  return places;
}

void run_lone_call(node* n, const options& how) {
  runtime::bump(runtime::count().evaluations);
  n->facts->loop->after = lone_run(n, how).run();
}

std::string describe_lone_call(const node& n) {
  const user_kernel& u = *n.facts->kernel;
  return fmt::format("{} of {} at {}:{} runs alone: {}\n", u.name, sinter::to_string(n.extents), n.site.file,
                     n.site.line, u.reason_to_run_alone());
}

}  // namespace sinter::jit
