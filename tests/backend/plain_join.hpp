// What joins, paddings and rolls must give, made by loops that copy element by element.
#pragma once

#include "tests/backend/mirrored.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sinter_test {

using positions = std::vector<std::int64_t>;

inline constexpr sinter::pad_mode periodic_modes[] = {sinter::pad_mode::edge, sinter::pad_mode::reflect,
                                                      sinter::pad_mode::symmetric, sinter::pad_mode::wrap};

/// The arrays end to end, in `type`.
inline host_array joined_plainly(const std::vector<host_array>& arrays, int axis, sinter::dtype type) {
  sinter::shape extents = arrays[0].extents;
  extents[axis] = 0;
  for (const host_array& x : arrays) extents[axis] += x.extents[axis];
  host_array out(type, extents);
  std::int64_t outer = 1, inner = 1, to = 0;
  for (int k = 0; k < axis; ++k) outer *= extents[k];
  for (int k = axis + 1; k < extents.rank(); ++k) inner *= extents[k];
  for (std::int64_t o = 0; o < outer; ++o)
    for (const host_array& x : arrays) {
      const std::int64_t length = x.extents[axis] * inner;
      for (std::int64_t k = 0; k < length; ++k) out.set(to++, x.get(o * length + k));
    }
  return out;
}

/// Which element stands at position i of a padded axis; n > 0.
inline std::int64_t bounced(std::int64_t i, std::int64_t n, sinter::pad_mode mode) {
  if (n == 1 || mode == sinter::pad_mode::edge) return std::clamp(i, std::int64_t{0}, n - 1);
  while (i < 0 || i >= n) {
    if (mode == sinter::pad_mode::wrap) i += i < 0 ? n : -n;
    else if (mode == sinter::pad_mode::reflect) i = i < 0 ? -i : 2 * (n - 1) - i;
    else i = i < 0 ? -1 - i : 2 * n - 1 - i;
  }
  return i;
}

inline host_array padded_plainly(const host_array& x, const std::vector<sinter::pad_width>& widths,
                                 sinter::pad_mode mode) {
  sinter::shape extents = x.extents;
  for (int k = 0; k < extents.rank(); ++k)
    extents[k] += widths[static_cast<std::size_t>(k)].before + widths[static_cast<std::size_t>(k)].after;
  return remapped(x, extents, [&](positions at) {
    for (std::size_t k = 0; k < at.size(); ++k)
      at[k] = bounced(at[k] - widths[k].before, x.extents[static_cast<int>(k)], mode);
    return at;
  });
}

inline host_array padded_plainly(const host_array& x, const std::vector<sinter::pad_width>& widths,
                                 const value& constant) {
  host_array out = x;
  for (int k = 0; k < x.extents.rank(); ++k) {
    sinter::shape before = out.extents, after = out.extents;
    before[k] = widths[static_cast<std::size_t>(k)].before;
    after[k] = widths[static_cast<std::size_t>(k)].after;
    host_array first(x.type, before), last(x.type, after);
    for (std::int64_t i = 0; i < first.size(); ++i) first.set(i, constant);
    for (std::int64_t i = 0; i < last.size(); ++i) last.set(i, constant);
    out = joined_plainly({first, out, last}, k, x.type);
  }
  return out;
}

inline host_array rolled_plainly(const host_array& x, std::int64_t shift, int axis) {
  return remapped(x, x.extents, [&](positions at) {
    const std::int64_t n = x.extents[axis];
    std::int64_t& i = at[static_cast<std::size_t>(axis)];
    i = ((i - shift) % n + n) % n;
    return at;
  });
}

/// i32 elements that tell their positions and which array they are of.
inline host_array numbered(const sinter::shape& extents, int which = 0) {
  host_array x = counting(sinter::i32, extents);
  for (std::int64_t k = 0; k < x.size(); ++k) x.set(k, {x.get(k).re + 1000 * which, 0});
  return x;
}

inline std::vector<sinter::array> to_devices(const std::vector<host_array>& arrays) {
  std::vector<sinter::array> out;
  for (const host_array& x : arrays) out.push_back(x.to_device());
  return out;
}

inline std::uint64_t launches_of(const sinter::array& x) {
  return counted([&] { sinter::eval(x); }).launches;
}

}  // namespace sinter_test
