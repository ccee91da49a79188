// Folded loops in other words: the same statements in the same order, or in one that gives the same.
#pragma once

#include "jit/fold/nest.hpp"

#include <vector>

namespace sinter::jit {

/// The item, inside of `loop` (loops numbered from the outermost), in that loop's iteration k: without its counter.
trace_item in_iteration(const trace_item& item, std::size_t loop, std::int64_t k);

/// Whether the number depends on the counter of `loop`.
bool depends_on(const traced_number& n, std::size_t loop);

/// The loop as several, one after another, each over some of its body's items: cut wherever no iteration of what is
/// before the cut needs what is after it, or is in its way, in an iteration before. One: nowhere.
std::vector<trace_item> distributed(const trace_item& loop, const loop_nest_analysis& nest);

}  // namespace sinter::jit
