// Operations that fusion can't look into and that run before what needs their results is planned: loops of whole-array
// operations (op::repeat), users' raw kernels (op::launch), string kernels that run alone (op::lone_call).
#pragma once

#include "jit/graph.hpp"

#include <span>
#include <vector>

namespace sinter::jit {

inline bool is_opaque(op code) { return code == op::repeat || code == op::launch || code == op::lone_call; }
inline bool is_opaque_result(const node* n) {
  return n->code == op::result && n->operand_count > 0 && is_opaque(n->operands()[0]->code);
}

/// The pending ones that `roots` need, and their results, each after what it needs itself. Held: evaluating one may let
/// go of others.
std::vector<node_ref> opaque_below(std::span<node* const> roots);

struct options;  // jit/engine.hpp

/// Runs one that is like a recorded one, but for its operands, which are in memory: what it gives, by output.
/// `originals`: its operands when it was recorded, where the body of a loop refers to them; else null.
std::vector<reference<runtime::buffer>> run_again(node* n, std::span<node* const> originals, const options& how,
                                                  const place& at);

}  // namespace sinter::jit
