#include "jit/library/call.hpp"

#include "jit/graph_internal.hpp"
#include "jit/loops.hpp"
#include "runtime/backend.hpp"
#include "runtime/counters.hpp"
#include "runtime/error.hpp"
#include "runtime/stream.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sinter::jit {

namespace {

using runtime::buffer;

/// An operand, and what it can be read from.
struct found_operand {
  node* stored = nullptr;    ///< has to have values
  memory_layout layout;      ///< of the operand, in stored's memory
  std::int64_t offset = 0;   ///< of its first element
};

memory_layout contiguous(const node* n) {
  memory_layout m{n->type, n->extents, {}};
  contiguous_strides(n->extents, m.strides);
  return m;
}

/// What holds the same elements in the same order as n: reshapes of what is in memory need no copy. Conjugations are
/// looked through as well, and counted.
node* below_reshapes(node* n, bool& conjugated) {
  for (; !n->values() && (n->code == op::reshape || n->code == op::conj); n = n->operands()[0])
    conjugated ^= n->code == op::conj;
  return n;
}

/// A view is read in its source's memory, but where that has more elements and would be computed for its sake.
found_operand look_through(node* x) {
  found_operand f{x, contiguous(x)};
  node* top = x;
  while (!top->values() && top->code == op::conj) {
    f.layout.conjugated ^= true;
    top = top->operands()[0];
  }
  node* const n = below_reshapes(top, f.layout.conjugated);
  f.stored = n;
  if (n != top || n->values() || n->code != op::view) return f;
  node* source = n->operands()[0];
  if (!source->values() && source->extents.size() > n->extents.size()) return f;
  const memory_layout below = contiguous(source);
  f.stored = below_reshapes(source, f.layout.conjugated);
  std::ranges::fill(f.layout.strides, 0);
  for (int k = 0; k < source->extents.rank(); ++k) {
    const axis_map& m = n->facts->view[static_cast<std::size_t>(k)];
    f.offset += m.offset * below.strides[k];
    if (m.axis >= 0) f.layout.strides[m.axis] += m.step * below.strides[k];
  }
  return f;
}

found_operand find_operand(const library_call& call, std::size_t k, node* x) {
  const found_operand f = look_through(x);
  return f.stored == x || call.takes(k, f.layout) ? f : found_operand{x, contiguous(x)};
}

/// The values of n on `where`.
buffer* memory_on(node* n, runtime::device& where, std::vector<node_ref>& held, const place& at) {
  if (n->values()->owner == &where) return n->values();
  held.push_back(move_to(n, where, at));
  return held.back()->values();
}

}  // namespace

bool memory_layout::is_contiguous() const {
  if (conjugated) return false;
  if (extents.size() == 0) return true;
  std::int64_t wanted[max_rank];
  contiguous_strides(extents, wanted);
  for (int k = 0; k < extents.rank(); ++k)
    if (extents[k] != 1 && strides[k] != wanted[k]) return false;
  return true;
}

void* library_run::scratch(std::size_t bytes) {
  scratch_.push_back(reference<buffer>(make_buffer(where, bytes)));
  if (use_) use_->writes(*scratch_.back());
  return scratch_.back()->data;
}

void library_run::fail(std::string_view what, std::string_view why, int code) const {
  throw device_error(error_text(fmt::format("{}: {}", what, why), at), code);
}

memory_layout library_call::layout_of(std::size_t k, node* x) const { return find_operand(*this, k, x).layout; }

std::vector<node*> library_call::needs(const node& n) const {
  std::vector<node*> stored;
  for (std::size_t k = 0; k < n.operand_count; ++k) stored.push_back(find_operand(*this, k, n.operands()[k]).stored);
  return stored;
}

std::vector<reference<buffer>> library_call::run(const node& n) const {
  runtime::device& where = n.owner ? *n.owner : runtime::default_device();
  runtime::memory_use use(where);
  library_run r(where, n.site, &use);
  std::vector<node_ref> held;
  for (std::size_t k = 0; k < n.operand_count; ++k) {
    const found_operand f = find_operand(*this, k, n.operands()[k]);
    buffer* const from = memory_on(f.stored, where, held, n.site);
    use.reads(*from);
    const auto* first = static_cast<const std::byte*>(from->data);
    r.inputs.push_back({f.layout, first ? first + f.offset * size_of(f.layout.type) : nullptr});
  }
  std::vector<reference<buffer>> memory;
  bool anything = false;
  for (const output& o : outputs()) {
    const auto bytes = static_cast<std::size_t>(checked_bytes(o.extents, o.type));
    memory.push_back(reference<buffer>(make_buffer(where, bytes, {o.type, o.extents, n.site})));
    use.writes(*memory.back());
    r.outputs.push_back({o.type, o.extents, memory.back()->data});
    anything |= bytes > 0;
  }
  if (!anything) return memory;
  runtime::bump(runtime::count().launches);
  start(r);
  use.finished();
  return memory;
}

std::vector<node_ref> record_library_call(std::shared_ptr<const library_call> call, std::span<node* const> operands,
                                          runtime::device& where, const place& at) {
  SINTER_CHECK(!is_recording_body());
  const std::vector<library_call::output> outputs = call->outputs();
  auto facts = std::make_unique<attribute>();
  facts->launch = std::move(call);
  const node_ref n = make_node(op::launch, dtype::boolean, shape{}, operands, at, std::move(facts));
  n->owner = &where;
  std::vector<node_ref> results;
  for (const library_call::output& o : outputs) {
    auto which = std::make_unique<attribute>();
    which->output = static_cast<std::int32_t>(results.size());
    node* call_node = n.get();
    results.push_back(make_node(op::result, o.type, o.extents, {&call_node, 1}, at, std::move(which)));
  }
  return results;
}

runtime::device& device_of_operands(std::span<node* const> operands, std::string_view operation, const place& at) {
  runtime::device* where = nullptr;
  for (const node* x : operands) {
    runtime::device* const d = owner_of(x);
    if (!d || d == where) continue;
    if (where)
      throw device_error(error_text(fmt::format("{}: operands live on {} and on {}", operation, where->name(),
                                                d->name()),
                                    at, "x.to(device) copies an array to a device"));
    where = d;
  }
  return where ? *where : runtime::default_device();
}

}  // namespace sinter::jit
