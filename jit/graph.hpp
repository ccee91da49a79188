// The lazy array graph: one node per recorded operation, alive as long as some array or node needs it.
// Nodes never change once made, except that an evaluated node gains a buffer and lets its operands go.
#pragma once

#include "jit/ops.hpp"
#include "jit/short_list.hpp"
#include "runtime/memory.hpp"
#include "runtime/pool.hpp"
#include "runtime/shape.hpp"
#include "runtime/types.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sinter::jit {

using runtime::reference;

/// Affine map of one source axis: its index = offset + step * index along result axis `axis`; axis < 0: offset alone.
struct axis_map {
  std::int64_t offset = 0, step = 0;
  std::int32_t axis = -1;
  friend bool operator==(const axis_map&, const axis_map&) = default;
};

using axis_maps = short_list<axis_map, max_rank>;

/// Where a gather's source index comes from, per source axis: result axis `axis`, or (axis < 0) the values of index
/// array `operand`. Index arrays broadcast together; the result axes of the broadcast shape start at `first_axis`.
struct gather_axis {
  std::int32_t axis = -1;
  std::int32_t operand = -1;
};

using gather_axes = short_list<gather_axis, max_rank>;

struct user_kernel;  // jit/user_kernel.hpp
struct loop_body;    // jit/loops.hpp
class opaque_call;   // jit/opaque.hpp
class statement_trace;  // jit/fold/trace_recorder.hpp

/// The rare facts of a node, by op: view, update, gather, scatter, join, reductions, scans, call.
/// The lists are last, so that what an operation has of them is next to the rest.
struct attribute {
  std::int32_t first_axis = 0;        ///< gather, scatter: axis where the index arrays' shape starts
  std::int32_t axis = 0;              ///< join, scan: along which
  op combine = op::buffer;            ///< scatter: how a new value meets the old one (add, ...); buffer: replaces it
  bool conditional = false;           ///< scatter: the last operand says which values are written; select: what isn't
                                      ///< chosen isn't read
  std::uint32_t reduced = 0;          ///< reductions: bit k set when source axis k is reduced
  bool keep_dims = false;             ///< reductions: reduced axes stay with extent 1
  std::int32_t output = 0;            ///< result: which output of the call or launch, which state of the loop
                                      ///< (output_of())
  const user_kernel* kernel = nullptr;        ///< call, reduce_call
  std::shared_ptr<const loop_body> loop;      ///< iterate, repeat
  std::shared_ptr<const opaque_call> launch;  ///< launch
  std::shared_ptr<statement_trace> trace;     ///< trace; traced: `output` is the variable's slot
  axis_maps view;                     ///< view, update: one per source axis, over the result's (the new values') axes
  gather_axes gather;                 ///< gather, scatter: one per source axis, likewise

  attribute() noexcept {}  // user-provided, or make_unique would clear the lists' room first
  explicit attribute(std::span<const axis_map> map) : view(map) {}
  static void* operator new(std::size_t) { return runtime::pool<attribute>::take(); }
  static void operator delete(void* memory) noexcept { runtime::pool<attribute>::give(memory); }
};

struct node {
  node(op code_, dtype type_, const shape& extents_, const place& at, std::unique_ptr<attribute>&& facts_ = nullptr)
      : code(code_), type(type_), facts(std::move(facts_)), site(at), extents(extents_) {}

  static void* operator new(std::size_t) { return runtime::pool<node>::take(); }
  static void operator delete(void* memory) noexcept { runtime::pool<node>::give(memory); }

  runtime::reference_count references;
  op code;
  dtype type;
  std::uint16_t operand_count = 0;
  bool is_statement = false;      ///< update: as written by a program, not looked through yet (resolve())
  bool has_statements = false;    ///< it is one, or depends on one
  bool is_listed = false;         ///< among the statements of a trace
  std::uint16_t widest_join = 0;  ///< no join that it is, or depends on, has more operands; capped
  std::atomic<runtime::buffer*> computed{nullptr};  ///< C-order values, once there
  runtime::device* owner = nullptr;                 ///< null: constant everywhere (scalars, what is made of them)
  node* few[3] = {};                                ///< operands, when there are at most 3
  std::unique_ptr<node*[]> many;                    ///< operands, when there are more
  std::unique_ptr<attribute> facts;
  sinter::scalar number;                            ///< op::scalar
  place site;
  node* next = nullptr;                             ///< links nodes waiting to be freed
  std::uint32_t depth = 0;                          ///< pending nodes on the longest way down, at recording
  std::int64_t needed_bytes = 0;                    ///< of evaluated arrays read along that way, at most
  shape extents;

  std::span<node* const> operands() const { return {operand_count > 3 ? many.get() : few, operand_count}; }
  runtime::buffer* values() const { return computed.load(std::memory_order_acquire); }
};
using node_ref = reference<node>;

/// Of a result; the first one's may have no facts.
inline std::size_t output_of(const node* n) { return n->facts ? static_cast<std::size_t>(n->facts->output) : 0; }

inline void retain(node* n) noexcept { n->references.add(); }
/// Frees `n` and what only it holds. Iterative: a chain of any length is freed without recursion.
void destroy(node* n) noexcept;
inline void release(node* n) noexcept {
  if (n->references.drop()) destroy(n);
}

/// An update as a program writes it: like make_update, but nothing is left out or looked through before resolve(), so
/// that loops of such statements look alike.
node_ref make_statement(node* base, node_ref values, std::unique_ptr<attribute> facts, const place& at);

/// Gives `n` its values and lets its operands go; a constant then belongs to the values' device. May run while other
/// threads record with `n`; whoever reads operands() of pending nodes beside that must not run at the same time.
void settle(node* n, reference<runtime::buffer> values) noexcept;

/// A new node. Operands are retained. The device is that of the operands; device_error when there are several. Past the
/// limits of what may be pending (options), evaluates the deepest operand first.
node_ref make_node(op code, dtype type, const shape& extents, std::span<node* const> operands, const place& at,
                   std::unique_ptr<attribute> facts = nullptr);

/// The same in steps, without counting references twice, which takes as long as all the rest: new_node(), which isn't
/// part of the graph yet; add_operand() for each; record_node().
inline node_ref new_node(op code, dtype type, const shape& extents, const place& at,
                         std::unique_ptr<attribute>&& facts = nullptr) {
  return node_ref(new node(code, type, extents, at, std::move(facts)));
}
void add_operand_to_many(node& n, node_ref x);
inline void add_operand(node& n, node_ref x) {
  if (n.operand_count >= 3) return add_operand_to_many(n, std::move(x));
  n.few[n.operand_count++] = x.leave();
}
void enter(node& n);
inline node_ref record_node(node_ref n) {
  enter(*n);
  return n;
}

/// Values already in memory (C order).
node_ref make_buffer_node(reference<runtime::buffer> values, dtype type, const shape& extents, const place& at);
/// A 0-d constant of `type`; type_error when `number` does not fit: an integer out of range, a float for an integer.
/// Floats round to `type`, and overflow to infinity.
node_ref make_scalar(const sinter::scalar& number, dtype type, const place& at);

/// View of `source` by one axis_map per source axis. Views of views compose here.
node_ref make_view(node* source, std::span<const axis_map> map, const shape& extents, const place& at);
/// The same; facts->view is the map.
node_ref make_view(node_ref source, std::unique_ptr<attribute>&& facts, const shape& extents, const place& at);
/// Same elements, other shape; throws shape_error when sizes differ. Reshapes of reshapes compose, identities vanish.
node_ref make_reshape(node* source, const shape& extents, const place& at);
/// `source` repeated along new or unit axes to `extents`; returns the source itself when nothing changes.
node_ref make_broadcast(node_ref source, const shape& extents, const place& at);
inline node_ref make_broadcast(node* source, const shape& extents, const place& at) {
  return make_broadcast(node_ref::share(source), extents, at);
}
node_ref make_convert(node* source, dtype type, const place& at);

/// `base` with the elements at facts->view (one axis_map per base axis over the axes of `values`, each of which moves
/// one base axis) replaced by `values`, of the same dtype. Updates that a later one covers are left out.
node_ref make_update(node* base, node_ref values, std::unique_ptr<attribute> facts, const place& at);
inline node_ref make_update(node* base, node* values, std::span<const axis_map> region, const place& at) {
  return make_update(base, node_ref::share(values), std::make_unique<attribute>(region), at);
}
/// `base` with `values` written at computed places. `facts` as for a gather of `base` that has the shape of `values`;
/// operands 2, 3, ... are the index arrays, then, when facts->conditional, a boolean array of the values' shape. Where
/// indices repeat, facts->combine must not mind the order; replaced values must be equal. Values of another dtype than
/// the base's are combined in theirs.
node_ref make_scatter(node* base, node* values, std::span<node* const> indices, std::unique_ptr<attribute> facts,
                      const place& at);
/// The pieces, of one dtype, end to end along `axis`; they agree in the other extents.
node_ref make_join(std::span<node* const> pieces, int axis, const place& at);

/// The pending part of the graph under `roots`: "%2 = add %0, %1   f32[3, 4]  file:line" per node, operands first.
std::string to_string(std::span<node* const> roots);

/// Evaluates and returns values on `d`.
node_ref move_to(node* source, runtime::device& d, const place& at);

}  // namespace sinter::jit
