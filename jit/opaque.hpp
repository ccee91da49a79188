// Operations that fusion can't look into and that run before what needs their results is planned: loops of whole-array
// operations (op::repeat), string kernels that run alone (op::lone_call), and calls of what isn't ours (op::launch):
// users' raw kernels (raw/call.hpp), functions of libraries (library/call.hpp).
#pragma once

#include "jit/graph.hpp"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::jit {

/// What an op::launch does. Nodes share it: what a run leaves behind is the node's.
class opaque_call {
 public:
  virtual ~opaque_call() = default;

  /// For messages: "update", "BLAS gemm".
  virtual std::string_view name() const = 0;
  /// For explain(): "raw kernel update, 4 block(s) of 256 threads".
  virtual std::string describe() const = 0;
  /// What has to have values before `n` runs: its operands, or what they are views of.
  virtual std::vector<node*> needs(const node& n) const { return {n.operands().begin(), n.operands().end()}; }
  /// Runs it; the memory of its outputs. Nothing that anybody can see has changed when it throws.
  virtual std::vector<reference<runtime::buffer>> run(const node& n) const = 0;
  /// `result` is a result of a call like this one, operand `k` of the elementwise `reader`, and read by nothing else:
  /// the result of another call, recorded now, that gives what `reader` is; null where that takes a launch of its own.
  virtual node_ref absorb(node* result, const node* reader, std::size_t k) const {
    return static_cast<void>(result), static_cast<void>(reader), static_cast<void>(k), node_ref();
  }

  /// Of a call that has run: by output, its memory, until the result takes it over.
  mutable std::vector<reference<runtime::buffer>> after = {};
};

inline bool is_opaque(op code) { return code == op::repeat || code == op::launch || code == op::lone_call; }
inline bool is_opaque_result(const node* n) {
  return n->code == op::result && n->operand_count > 0 && is_opaque(n->operands()[0]->code);
}

struct opaque_step {
  node_ref n;        ///< what is opaque, or a result of it, or what a call absorbs
  node_ref instead;  ///< of what a call absorbs: the result of the call that does it as well; else null
};
/// The pending ones that `roots` need, and their results, each after what it needs itself. What a call can do along
/// with its own work, for the only reader of its result, stands in the call's place. Held: evaluating one may let go of
/// others.
std::vector<opaque_step> opaque_below(std::span<node* const> roots);

struct options;  // jit/engine.hpp

/// What a run has planned for those like it.
struct kept_run {
  virtual ~kept_run() = default;
};

/// Runs one that is like a recorded one, but for its operands, which are in memory: what it gives, by output.
/// `originals`: its operands when it was recorded, where the body of a loop refers to them; else null. `kept`: what the
/// last run left for this one. Thread-safe.
std::vector<reference<runtime::buffer>> run_again(node* n, std::span<node* const> originals,
                                                  std::unique_ptr<kept_run>& kept, const options& how, const place& at);

/// What a loop over whole arrays (op::repeat) is, and how many iterations its launches run. What it needs from around
/// it looks as if it were in memory.
std::string describe_repeat(node* n, const options& how);

/// Runs an op::launch, what it needs being there; it then lets go of its operands.
void run_launch(node* n);

}  // namespace sinter::jit
