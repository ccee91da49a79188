// String kernels that run alone: what they write isn't known before they have run, or code of theirs stands around the
// loop over their elements. They run before whatever needs their results is planned.
#pragma once

#include "jit/engine.hpp"
#include "jit/graph.hpp"
#include "jit/lower.hpp"

#include <string>
#include <vector>

namespace sinter::jit {

/// The operands of a lone_call that have to have values before it runs: not numbers and positions.
std::vector<node*> operands_in_memory(const node& n);

/// Lowers a lone_call whose operands have values. The nodes returned stand for the memory of its outputs: fresh for
/// those that aren't raw, for raw ones what holds their elements from before.
std::vector<node_ref> lower_lone_call(node* n, const options& how, bool for_cuda, lowered& out);

/// Runs a pending op::lone_call, whose operands have values; facts->loop->after then holds the memory of its outputs.
/// Raw outputs take over the memory of what they were before when nobody else needs it, and else that of a copy.
void run_lone_call(node* n, const options& how);

/// For explain(): what ran alone, and why.
std::string describe_lone_call(const node& n);

}  // namespace sinter::jit
