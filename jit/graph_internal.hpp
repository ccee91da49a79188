// What the makers of nodes share. Not for others.
#pragma once

#include "jit/graph.hpp"

#include <mutex>

namespace sinter::jit {

/// Operand k of `n` while that is a pending `code`, else null. Safe beside settle().
node_ref pending_operand(node* n, op code, std::size_t k = 0);

/// The device of `n`; a constant gets one when it is evaluated, perhaps by another thread.
runtime::device* owner_of(const node* n);

/// The device of all of `operands`, null for constants; device_error when there are several.
runtime::device* common_owner(op code, std::span<node* const> operands, const place& at);

/// The operands of `n` while that is a pending `code`, else none. Safe beside settle().
std::vector<node_ref> pending_operands(node* n, op code);

/// `n` computes what `other` does from now on: takes its operation, operands and values.
void become(node* n, node* other);

/// Held while operands of pending nodes are read: settle() and become() wait.
std::unique_lock<std::mutex> hold_operands();

/// Maps in one form for one meaning: an axis that does not move the index is not named.
void normalize(std::vector<axis_map>& map, const shape& extents);

}  // namespace sinter::jit
