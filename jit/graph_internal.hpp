// What the makers of nodes share. Not for others.
#pragma once

#include "jit/graph.hpp"

#include <mutex>

namespace sinter::jit {

/// Held while operands of pending nodes are read: settle() and become() wait, so that no references are needed.
std::unique_lock<std::mutex> hold_operands();
/// The operands of `n` while that is a pending `code`, else none. For the holder of hold_operands().
inline std::span<node* const> held_operands(const node* n, op code) {
  return n->code == code && !n->values() ? n->operands() : std::span<node* const>();
}

/// Operand k of `n` while that is a pending `code`, else null. Safe beside settle().
node_ref pending_operand(node* n, op code, std::size_t k = 0);

/// The device of `n`; a constant gets one when it is evaluated, perhaps by another thread.
inline runtime::device* owner_of(const node* n) {
  return std::atomic_ref(const_cast<node*>(n)->owner).load(std::memory_order_relaxed);
}

/// The device of all of `operands`, null for constants; device_error when there are several.
runtime::device* common_owner(op code, std::span<node* const> operands, const place& at);

/// The operands of `n` while that is a pending `code`, else none. Safe beside settle().
std::vector<node_ref> pending_operands(node* n, op code);

/// `n` computes what `other` does from now on: takes its operation, operands and values.
void become(node* n, node* other);
/// `n` is what slot `slot` has after the statements of `trace`, its node, from now on.
void become_traced(node* n, node* trace, std::int32_t slot);

/// Maps in one form for one meaning: an axis that does not move the index is not named.
inline void normalize(axis_maps& map, const shape& extents) {
  for (axis_map& m : map)
    if (m.axis < 0 || m.step == 0 || extents[m.axis] == 1) m = {m.offset, 0, -1};
}

}  // namespace sinter::jit
