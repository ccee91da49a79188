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
inline progression taken(const axis_map& m, const shape& extents) {
  if (m.axis < 0 || m.step == 0 || extents[m.axis] == 1) return {m.offset, 1, 1};
  const std::int64_t count = extents[m.axis];
  if (m.step > 0) return {m.offset, m.step, count};
  return {m.offset + m.step * (count - 1), -m.step, count};
}

/// Whether the two have no element in common. Exact.
bool disjoint(const progression& a, const progression& b);
/// Whether every element of `inner` is one of `outer`. Exact.
inline bool contains(const progression& outer, const progression& inner) {
  if (inner.first < outer.first || inner.last() > outer.last()) return false;
  if (outer.step == 1) return true;  // divisions take long
  if ((inner.first - outer.first) % outer.step != 0) return false;
  return inner.count == 1 || inner.step % outer.step == 0;
}

/// Whether no element of one box of progressions (a product over axes, or a part of it) is in the other.
bool disjoint(std::span<const axis_map> a, const shape& a_extents, std::span<const axis_map> b, const shape& b_extents);
/// Whether every element of `inner` is in `outer`, each of whose axes moves one source axis.
bool contains(std::span<const axis_map> outer, const shape& outer_extents, std::span<const axis_map> inner,
              const shape& inner_extents);

}  // namespace sinter::jit
