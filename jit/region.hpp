// Which elements a view reads or an update writes, axis by axis: arithmetic progressions, compared exactly.
#pragma once

#include "jit/graph.hpp"

namespace sinter::jit {

/// first, first + step, ...: `count` of them; step > 0.
struct progression {
  std::int64_t first, step, count;
  std::int64_t last() const { return first + step * (count - 1); }
};

/// The indices that `m` takes along its source axis when the result has these extents (none of which is 0).
progression taken(const axis_map& m, const shape& extents);

/// Whether the two have no element in common. Exact.
bool disjoint(const progression& a, const progression& b);
/// Whether every element of `inner` is one of `outer`. Exact.
bool contains(const progression& outer, const progression& inner);

/// Whether no element of one box of progressions (a product over axes, or a part of it) is in the other.
bool disjoint(std::span<const axis_map> a, const shape& a_extents, std::span<const axis_map> b, const shape& b_extents);
/// Whether every element of `inner` is in `outer`, each of whose axes moves one source axis.
bool contains(std::span<const axis_map> outer, const shape& outer_extents, std::span<const axis_map> inner,
              const shape& inner_extents);

}  // namespace sinter::jit
