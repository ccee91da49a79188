// Which elements of an array another one shows: the reference's view of indices, shape operations and joins. Each is a
// shape, and for each of its elements, in C order, the position of the element shown.
#pragma once

#include "tests/fuzz/step.hpp"
#include "tests/fuzz/values.hpp"

#include <span>

namespace sinter_test::fuzz {

struct places {
  sinter::shape extents;
  std::vector<std::int64_t> flat;
};

/// What an index array stands for: its values, boolean for a mask.
struct resolved_pick {
  const pick* p;
  host_array values;
};

/// x(picks...) of an array of that shape. Throws refused; unpredictable for index arrays with bad values.
places selected(const sinter::shape& extents, const std::vector<resolved_pick>& picks);
/// Whether two of its elements are one.
bool repeats(const places& p);

/// The element at `from(position)` for each position, one number an axis.
template <class F>
places mapped(const sinter::shape& source, const sinter::shape& to, F from) {
  places out{to, {}};
  std::vector<std::int64_t> at(static_cast<std::size_t>(to.rank()));
  for (std::int64_t k = 0; k < to.size(); ++k) {
    std::int64_t rest = k;
    for (int axis = to.rank(); axis-- > 0;) {
      at[static_cast<std::size_t>(axis)] = rest % to[axis];
      rest /= to[axis];
    }
    const std::vector<std::int64_t> where = from(at);
    std::int64_t flat = 0;
    for (int axis = 0; axis < source.rank(); ++axis) flat = flat * source[axis] + where[static_cast<std::size_t>(axis)];
    out.flat.push_back(flat);
  }
  return out;
}

/// The elements at these places.
variable read(const variable& x, const places& p);

/// A shape operation (step.hpp, verb::reshape to verb::rot90, and roll, tile, repeat). Throws refused.
places shown(const step& s, const sinter::shape& extents);

}  // namespace sinter_test::fuzz
