// How many kernels one expression may have. Kernels know of their accesses which strides are 0 or 1 and which dims are
// one, whether 32-bit indices do, and whether threads take vectors (engine.hpp: layout_knowledge and the switches
// beside it). An expression met in ever new layouts would be compiled again and again: past a dozen kernels, the one
// that knows none of this serves all that are new. Loops (reductions, scans) are not bounded: what is known of their
// layout decides in what order floats are combined.
#pragma once

#include "jit/cache/memory.hpp"
#include "jit/engine.hpp"

namespace sinter::jit {

inline constexpr std::size_t most_variants = 12;

/// `how`, knowing nothing.
inline options least_specialised(options how) {
  how.force_wide_index = true;
  how.single_lane = true;
  how.layout = layout_knowledge::none;
  return how;
}

/// Whether there may be a kernel `wanted`, which is new, of the expression whose least specialised kernel would have
/// the parts `general`: counts it then. Thread-safe.
bool may_be_added(kernel_list general, const cached_kernel& wanted);

}  // namespace sinter::jit
