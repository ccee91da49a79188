// A folded trace as the tree that the rest of the library reads.
#pragma once

#include "jit/fold/nest_shape.hpp"
#include "jit/fold/trace.hpp"

#include <vector>

namespace sinter::jit {

/// Loops that surely have one iteration are left out, and so are those that surely have none.
std::vector<trace_item> trace_tree(const nest_list& nests, const table_store& tables);

}  // namespace sinter::jit
