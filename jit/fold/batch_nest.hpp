// One expression for many that are alike: a loop nest of one statement, whose lanes are the batch.
#pragma once

#include "jit/fold/operand_table.hpp"
#include "runtime/backend.hpp"

#include <string>

namespace sinter::jit {

/// Operands of `t`: `count` of them from `first` on, each `stride` behind the one before, all of them alike.
struct operand_run {
  std::size_t first, stride, count;
  std::size_t operator[](std::size_t k) const { return first + k * stride; }
};

/// The values of a run's operands: [count, extents...]. Tables of numbers go to `where`. Null, and `why`, when they
/// can't be computed at once.
node_ref batch_expression(const operand_table& t, const operand_run& run, runtime::device& where, std::string& why);

/// The most operands of a run that may be computed at once, so that what has to be stored on the way isn't much more
/// memory than it would be one after another.
std::size_t most_at_once(const statement_structure& s);

}  // namespace sinter::jit
