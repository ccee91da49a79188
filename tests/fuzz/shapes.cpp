// Shape operations as maps of positions.
#include "tests/fuzz/places.hpp"

#include <algorithm>

namespace sinter_test::fuzz {

using namespace sinter;

namespace {

using positions = std::vector<std::int64_t>;

std::size_t at_(int k) { return static_cast<std::size_t>(k); }

[[noreturn]] void refuse() { throw refused{refused::shape}; }

int axis_of(std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) refuse();
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::vector<int> axes_of(const positions& list, int rank) {
  std::vector<int> out;
  for (std::int64_t k : list) {
    const int axis = axis_of(k, rank);
    if (std::find(out.begin(), out.end(), axis) != out.end()) refuse();
    out.push_back(axis);
  }
  return out;
}

places same_order(const shape& extents, const shape& to) {
  if (extents.size() != to.size()) refuse();
  places out{to, {}};
  for (std::int64_t k = 0; k < to.size(); ++k) out.flat.push_back(k);
  return out;
}

/// Result axis k is axis order[k].
places reordered(const shape& from, const std::vector<int>& order) {
  if (std::ssize(order) != from.rank()) refuse();
  shape to;
  for (int k : order) to.append(from[k]);
  return mapped(from, to, [&](const positions& at) {
    positions out(at.size());
    for (std::size_t k = 0; k < at.size(); ++k) out[at_(order[k])] = at[k];
    return out;
  });
}

places moved(const step& s, const shape& from) {
  const int rank = from.rank(), source = axis_of(s.numbers[0], rank), target = axis_of(s.numbers[1], rank);
  std::vector<int> order;
  for (int k = 0; k < rank; ++k)
    if (k != source) order.push_back(k);
  order.insert(order.begin() + target, source);
  return reordered(from, order);
}

places swapped(const step& s, const shape& from) {
  std::vector<int> order;
  for (int k = 0; k < from.rank(); ++k) order.push_back(k);
  std::swap(order[at_(axis_of(s.numbers[0], from.rank()))], order[at_(axis_of(s.numbers[1], from.rank()))]);
  return reordered(from, order);
}

places expanded(const step& s, const shape& from) {
  const int added = axis_of(s.numbers[0], from.rank() + 1);
  shape to;
  for (int k = 0; k <= from.rank(); ++k) to.append(k == added ? 1 : from[k < added ? k : k - 1]);
  return same_order(from, to);
}

places squeezed(const shape& from) {
  shape to;
  for (std::int64_t n : from)
    if (n != 1) to.append(n);
  return same_order(from, to);
}

places flipped(const step& s, const shape& from) {
  const std::vector<int> over = axes_of(s.numbers, from.rank());
  return mapped(from, from, [&](positions at) {
    for (int k : over) at[at_(k)] = from[k] - 1 - at[at_(k)];
    return at;
  });
}

places diagonal_of(const step& s, const shape& from) {
  const std::vector<int> plane = axes_of({s.numbers[1], s.numbers[2]}, from.rank());
  const std::int64_t first_row = std::max<std::int64_t>(-s.numbers[0], 0);
  const std::int64_t first_column = std::max<std::int64_t>(s.numbers[0], 0);
  shape to;
  for (int k = 0; k < from.rank(); ++k)
    if (k != plane[0] && k != plane[1]) to.append(from[k]);
  to.append(std::max<std::int64_t>(0, std::min(from[plane[0]] - first_row, from[plane[1]] - first_column)));
  return mapped(from, to, [&](const positions& at) {
    positions out;
    std::size_t next = 0;
    for (int k = 0; k < from.rank(); ++k)
      out.push_back(k == plane[0] ? first_row + at.back() : k == plane[1] ? first_column + at.back() : at[next++]);
    return out;
  });
}

places rotated(const step& s, const shape& from) {
  const std::vector<int> plane = axes_of({s.numbers[1], s.numbers[2]}, from.rank());
  const std::int64_t turns = (s.numbers[0] % 4 + 4) % 4;
  const int p = plane[0], q = plane[1];
  shape to = from;
  if (turns % 2 == 1) std::swap(to[p], to[q]);
  return mapped(from, to, [&](positions at) {
    const std::int64_t i = at[at_(p)], j = at[at_(q)];
    if (turns == 1) at[at_(p)] = j, at[at_(q)] = from[q] - 1 - i;
    if (turns == 2) at[at_(p)] = from[p] - 1 - i, at[at_(q)] = from[q] - 1 - j;
    if (turns == 3) at[at_(p)] = from[p] - 1 - j, at[at_(q)] = i;
    return at;
  });
}

std::int64_t modulo(std::int64_t a, std::int64_t n) { return (a % n + n) % n; }

places rolled(const step& s, const shape& from) {
  if (s.flag) {
    places out{from, {}};
    for (std::int64_t k = 0; k < from.size(); ++k) out.flat.push_back(modulo(k - s.numbers[0], from.size()));
    return out;
  }
  const int axis = axis_of(s.numbers[1], from.rank());
  return mapped(from, from, [&](positions at) {
    at[at_(axis)] = modulo(at[at_(axis)] - s.numbers[0], from[axis]);
    return at;
  });
}

places tiled(const step& s, const shape& from) {
  const int rank = std::max(from.rank(), static_cast<int>(s.numbers.size()));
  shape source, to;
  for (int k = 0; k < rank; ++k) {
    const int axis = k - rank + from.rank(), number = k - rank + static_cast<int>(s.numbers.size());
    source.append(axis < 0 ? 1 : from[axis]);
    to.append(source[k] * (number < 0 ? 1 : s.numbers[at_(number)]));
  }
  return mapped(source, to, [&](positions at) {
    for (int k = 0; k < rank; ++k) at[at_(k)] %= source[k];
    return at;
  });
}

places repeated(const step& s, const shape& from) {
  if (s.flag) {
    places out{{from.size() * s.numbers[0]}, {}};
    for (std::int64_t k = 0; k < out.extents.size(); ++k) out.flat.push_back(k / s.numbers[0]);
    return out;
  }
  const int axis = axis_of(s.numbers[1], from.rank());
  shape to = from;
  to[axis] *= s.numbers[0];
  return mapped(from, to, [&](positions at) {
    at[at_(axis)] /= s.numbers[0];
    return at;
  });
}

places repeated_to(const shape& from, const shape& to) {
  if (broadcast(from, to) != to) refuse();
  places out{to, {}};
  for (std::int64_t k = 0; k < to.size(); ++k) out.flat.push_back(broadcast_position(from, to, k));
  return out;
}

}  // namespace

places shown(const step& s, const shape& extents) {
  switch (s.what) {
    case verb::reshape: return same_order(extents, s.extents);
    case verb::ravel: return same_order(extents, {extents.size()});
    case verb::transpose: return reordered(extents, axes_of(s.numbers, extents.rank()));
    case verb::swapaxes: return swapped(s, extents);
    case verb::moveaxis: return moved(s, extents);
    case verb::broadcast: return repeated_to(extents, s.extents);
    case verb::expand_dims: return expanded(s, extents);
    case verb::squeeze: return squeezed(extents);
    case verb::flip: return flipped(s, extents);
    case verb::diagonal: return diagonal_of(s, extents);
    case verb::rot90: return rotated(s, extents);
    case verb::roll: return rolled(s, extents);
    case verb::tile: return tiled(s, extents);
    case verb::repeat: return repeated(s, extents);
    default: throw unpredictable{};
  }
}

}  // namespace sinter_test::fuzz
