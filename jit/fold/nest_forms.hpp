// What is known of the numbers of a nest's statements.
#pragma once

#include "jit/fold/nest.hpp"

#include <algorithm>

namespace sinter::jit {

inline bool any_not_zero(const std::vector<std::int64_t>& list) {
  return std::ranges::any_of(list, [](std::int64_t c) { return c != 0; });
}

/// Whether it changes with loops around the nest.
inline bool turns(const nest_form& f) { return f.column_outer >= 0 || any_not_zero(f.outer); }
/// Whether it changes at all, where it is known.
inline bool moves(const nest_form& f) {
  return f.column || turns(f) || any_not_zero(f.loops) || any_not_zero(f.own);
}
inline bool is_constant(const nest_form& f) { return !f.anywhere && !moves(f); }

/// Whether they are known to be the same number.
inline bool same_form(const nest_form& a, const nest_form& b) {
  return !a.anywhere && !b.anywhere && a.constant == b.constant && a.outer == b.outer && a.loops == b.loops &&
         a.own == b.own && a.column == b.column && a.column_loop == b.column_loop && a.column_outer == b.column_outer;
}

inline std::int64_t greatest(const table_column& column) {
  return column->empty() ? 0 : *std::ranges::max_element(*column);
}

/// Whether the places that m maps positions along its axis of `from` to all lie inside of an axis of n elements.
inline bool lies_inside(const axis_map& m, const shape& from, std::int64_t n) {
  const std::int64_t last = m.offset + (m.axis < 0 ? 0 : m.step * (from[m.axis] - 1));
  return std::min(m.offset, last) >= 0 && std::max(m.offset, last) < n;
}

}  // namespace sinter::jit
