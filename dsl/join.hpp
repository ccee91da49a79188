// Arrays put together and taken apart: all are index maps that fuse into what reads them; none copies by itself. They
// record and launch nothing. Bad axes and shapes that don't fit throw shape_error at the line of the call. Arrays of
// different dtypes are joined in their common dtype (type_error when there is none).
#pragma once

#include "array.hpp"
#include "axes.hpp"

#include <initializer_list>
#include <span>
#include <vector>

namespace sinter {

/// Arrays end to end along `axis`: [.., n, ..], [.., m, ..] -> [.., n + m, ..]. The other extents must agree. One array
/// at least, of rank 1 at least.
array concat(std::initializer_list<array> arrays, int axis = 0, place at = place::here());
array concat(std::span<const array> arrays, int axis = 0, place at = place::here());
/// Arrays of one shape along a new axis, at position `axis` of the result: k of [..] -> [.., k, ..].
array stack(std::initializer_list<array> arrays, int axis = 0, place at = place::here());
array stack(std::span<const array> arrays, int axis = 0, place at = place::here());
/// Side by side: along axis 1; along axis 0 for ranks 0 and 1.
array hstack(std::initializer_list<array> arrays, place at = place::here());
array hstack(std::span<const array> arrays, place at = place::here());
/// One below the other: along axis 0; arrays [n] count as [1, n].
array vstack(std::initializer_list<array> arrays, place at = place::here());
array vstack(std::span<const array> arrays, place at = place::here());
/// In depth: along axis 2; arrays [n] count as [1, n, 1], arrays [n, m] as [n, m, 1].
array dstack(std::initializer_list<array> arrays, place at = place::here());
array dstack(std::span<const array> arrays, place at = place::here());

/// What pad puts around: a constant; the edge element; the array mirrored at its edge, without repeating the edge
/// element (reflect) or with (symmetric); the array repeated (wrap).
enum class pad_mode : unsigned char { constant, edge, reflect, symmetric, wrap };
/// Elements put before and after one axis.
struct pad_width {
  std::int64_t before = 0, after = 0;
};
/// [n, ..] -> [before + n + after, ..]. `widths`: one for each axis, or a single one for all of them. Any width is
/// fine: reflect, symmetric and wrap go on periodically. Throws shape_error for negative widths, another number of
/// them, and for an axis without elements that a mode other than constant would have to fill.
array pad(const array& x, std::initializer_list<pad_width> widths, pad_mode mode = pad_mode::constant,
          const operand& value = 0, place at = place::here());
array pad(const array& x, std::span<const pad_width> widths, pad_mode mode = pad_mode::constant,
          const operand& value = 0, place at = place::here());
/// The same width before and after every axis.
array pad(const array& x, std::int64_t width, pad_mode mode = pad_mode::constant, const operand& value = 0,
          place at = place::here());

/// Elements moved by `shift` along `axis`, those that leave at one end entering at the other.
array roll(const array& x, std::int64_t shift, int axis, place at = place::here());
array roll(const array& x, std::initializer_list<std::int64_t> shifts, const axes& over, place at = place::here());
/// Of x in C order, in x's shape.
array roll(const array& x, std::int64_t shift, place at = place::here());

/// x repeated `times[k]` times along axis k; shorter lists count for the last axes, longer ones add axes in front.
array tile(const array& x, std::initializer_list<std::int64_t> times, place at = place::here());
/// Each element `times` times in a row, along `axis`; without `axis`, of x in C order.
array repeat(const array& x, std::int64_t times, int axis, place at = place::here());
array repeat(const array& x, std::int64_t times, place at = place::here());
/// Element k `times[k]` times: [.., n, ..] -> [.., sum of times, ..].
array repeat(const array& x, std::span<const std::int64_t> times, int axis, place at = place::here());

/// `sections` parts of equal length along `axis`. Throws shape_error when they don't come out even.
std::vector<array> split(const array& x, std::int64_t sections, int axis = 0, place at = place::here());
/// Parts [0, p0), [p0, p1), .. [pk, n) along `axis`; positions as in ranges (negative from the end, clipped).
std::vector<array> split(const array& x, std::span<const std::int64_t> positions, int axis = 0,
                         place at = place::here());
/// Parts whose lengths differ by one at most, the longer ones first.
std::vector<array> array_split(const array& x, std::int64_t sections, int axis = 0, place at = place::here());

}  // namespace sinter
