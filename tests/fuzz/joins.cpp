// Arrays put together and taken apart.
#include "tests/fuzz/places.hpp"
#include "tests/fuzz/reference.hpp"

#include <algorithm>

namespace sinter_test::fuzz {

using namespace sinter;

namespace {

using positions = std::vector<std::int64_t>;

int checked_axis(std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) throw refused{refused::shape};
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::int64_t flat_of(const positions& at, const shape& extents) {
  std::int64_t flat = 0;
  for (int k = 0; k < extents.rank(); ++k) flat = flat * extents[k] + at[static_cast<std::size_t>(k)];
  return flat;
}

positions positions_of(std::int64_t flat, const shape& extents) {
  positions at(static_cast<std::size_t>(extents.rank()));
  for (int k = extents.rank(); k-- > 0;) {
    at[static_cast<std::size_t>(k)] = flat % extents[k];
    flat /= extents[k];
  }
  return at;
}

/// Of one rank; both complaints when both are right.
variable end_to_end(const std::vector<variable>& parts, std::int64_t axis_given) {
  unsigned bad = 0;
  dtype type = parts[0].h.type;
  shape to = parts[0].h.extents;
  int axis = 0;
  try {
    for (const variable& p : parts) type = promote(type, p.h.type);
  } catch (const refused& r) { bad |= r.kinds; }
  if (to.rank() == 0 || axis_given < -to.rank() || axis_given >= to.rank()) bad |= refused::shape;
  else axis = checked_axis(axis_given, to.rank());
  for (std::size_t p = 1; p < parts.size(); ++p) {
    const shape& other = parts[p].h.extents;
    if (other.rank() != to.rank()) bad |= refused::shape;
    for (int k = 0; k < to.rank() && other.rank() == to.rank(); ++k)
      if (k != axis && other[k] != to[k]) bad |= refused::shape;
    if ((bad & refused::shape) == 0) to[axis] += other[axis];
  }
  if (bad != 0) throw refused{bad};
  variable out(type, to);
  std::int64_t start = 0;
  for (const variable& p : parts) {
    const variable from = cast(p, type);
    if (!from.exact()) out.soften();
    for (std::int64_t k = 0; k < from.size(); ++k) {
      positions at = positions_of(k, from.h.extents);
      at[static_cast<std::size_t>(axis)] += start;
      out.set(flat_of(at, to), from.get(k));
    }
    start += from.h.extents[axis];
  }
  return out;
}

variable in_shape(variable x, const shape& to) {
  x.h.extents = to;
  return x;
}

variable with_axis(const variable& x, int axis) {
  shape to;
  for (int k = 0; k <= x.h.extents.rank(); ++k) to.append(k == axis ? 1 : x.h.extents[k < axis ? k : k - 1]);
  return in_shape(x, to);
}

variable stacked(std::vector<variable> parts, std::int64_t axis) {
  unsigned bad = 0;
  const shape extents = parts[0].h.extents;
  for (const variable& p : parts)
    if (p.h.extents != extents) bad = refused::shape;
  if (axis < -extents.rank() - 1 || axis > extents.rank()) bad = refused::shape;
  if (bad != 0) {
    try {
      dtype type = parts[0].h.type;
      for (const variable& p : parts) type = promote(type, p.h.type);
    } catch (const refused& r) { bad |= r.kinds; }
    throw refused{bad};
  }
  const int k = checked_axis(axis, extents.rank() + 1);
  for (variable& p : parts) p = with_axis(p, k);
  return end_to_end(parts, k);
}

/// NumPy's hstack, vstack and dstack: ranks below what they need are filled up.
variable stacked_as_numpy(verb how, std::vector<variable> parts) {
  for (variable& p : parts) {
    if (p.h.extents.rank() == 0) p = in_shape(p, {1});
    if (how == verb::vstack && p.h.extents.rank() == 1) p = with_axis(p, 0);
    if (how == verb::dstack && p.h.extents.rank() == 1) p = with_axis(p, 0);
    if (how == verb::dstack && p.h.extents.rank() == 2) p = with_axis(p, 2);
  }
  if (how == verb::hstack) return end_to_end(parts, parts[0].h.extents.rank() == 1 ? 0 : 1);
  return end_to_end(parts, how == verb::vstack ? 0 : 2);
}

std::int64_t modulo(std::int64_t a, std::int64_t n) { return (a % n + n) % n; }

/// Which element of an axis of n stands at position k (k < 0 and k >= n: in the padding); -1: the constant.
std::int64_t source_of(std::int64_t k, std::int64_t n, int mode) {
  if (k >= 0 && k < n) return k;
  switch (mode) {
    case 0: return -1;
    case 1: return k < 0 ? 0 : n - 1;
    case 2: {
      if (n == 1) return 0;
      const std::int64_t m = modulo(k, 2 * n - 2);
      return m < n ? m : 2 * n - 2 - m;
    }
    case 3: {
      const std::int64_t m = modulo(k, 2 * n);
      return m < n ? m : 2 * n - 1 - m;
    }
    default: return modulo(k, n);
  }
}

/// numbers: before and after each axis, or a single pair; or, where `flag`, one width.
variable padded(const step& s, const variable& x) {
  const shape& extents = x.h.extents;
  const int rank = extents.rank(), mode = s.code;
  positions widths = s.numbers;
  if (s.flag) widths = {s.numbers[0], s.numbers[0]};
  if (std::any_of(widths.begin(), widths.end(), [](std::int64_t w) { return w < 0; })) throw refused{refused::shape};
  if (widths.size() == 2) {
    for (int k = 1; k < rank; ++k) widths.insert(widths.end(), {widths[0], widths[1]});
    if (rank == 0) throw unpredictable{};
  }
  if (std::ssize(widths) != 2 * rank) throw refused{refused::shape};
  const auto width = [&](int k, int side) { return widths[static_cast<std::size_t>(2 * k + side)]; };
  shape to;
  for (int k = 0; k < rank; ++k) {
    if (mode != 0 && extents[k] == 0 && width(k, 0) + width(k, 1) > 0) throw refused{refused::shape};
    to.append(extents[k] + width(k, 0) + width(k, 1));
  }
  if (mode == 0) check_range(s.value, x.h.type);
  if (to.size() > 2 * most_elements) throw unpredictable{};
  const value constant = mode == 0 ? cast({s.value.x, 0}, s.value.type, x.h.type) : value{};
  variable out(x.h.type, to);
  if (!x.exact()) out.soften();
  for (std::int64_t k = 0; k < out.size(); ++k) {
    positions at = positions_of(k, to);
    bool outside = false;
    for (int axis = 0; axis < rank; ++axis) {
      std::int64_t& p = at[static_cast<std::size_t>(axis)];
      p = source_of(p - width(axis, 0), extents[axis], mode);
      outside |= p < 0;
    }
    out.set(k, outside ? cell{constant, 0} : x.get(flat_of(at, extents)));
  }
  return out;
}

variable part_of(const step& s, const variable& x) {
  const shape& extents = x.h.extents;
  const int axis = checked_axis(s.numbers[1], extents.rank());
  const std::int64_t sections = s.numbers[0], n = extents[axis];
  if (sections < 1 || (!s.flag && n % sections != 0)) throw refused{refused::shape};
  const std::int64_t part = modulo(s.numbers[2], sections), longer = n % sections;
  const std::int64_t start = part * (n / sections) + std::min(part, longer);
  shape to = extents;
  to[axis] = n / sections + (part < longer ? 1 : 0);
  return read(x, mapped(extents, to, [&](positions at) {
                at[static_cast<std::size_t>(axis)] += start;
                return at;
              }));
}

}  // namespace

variable joined(const step& s, pool variables) {
  std::vector<variable> parts;
  for (int k : s.from) parts.push_back(variables[static_cast<std::size_t>(k)]);
  switch (s.what) {
    case verb::pad: return padded(s, parts[0]);
    case verb::split: return part_of(s, parts[0]);
    case verb::concat: return end_to_end(parts, s.numbers[0]);
    case verb::stack: return stacked(std::move(parts), s.numbers[0]);
    default: return stacked_as_numpy(s.what, std::move(parts));
  }
}

}  // namespace sinter_test::fuzz
