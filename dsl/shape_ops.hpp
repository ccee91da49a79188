// Other shapes of the same elements, and elements picked by index. All are lazy views: no copy, no launch of their own.
// Bad axes and shapes that don't fit throw shape_error at the line of the call.
#pragma once

#include "array.hpp"
#include "axes.hpp"

#include <initializer_list>
#include <utility>

namespace sinter {

/// The same elements in C order in another shape; one extent may be -1: found from the others.
array reshape(const array& x, std::initializer_list<std::int64_t> extents, place at = place::here());
array reshape(const array& x, const shape& extents, place at = place::here());
/// [..] -> [n], C order.
array ravel(const array& x, place at = place::here());
/// Axes in another order: result axis k is axis order[k] of x. Without `order`, reversed.
array transpose(const array& x, const axes& order = {}, place at = place::here());
array swapaxes(const array& x, int a, int b, place at = place::here());
/// Axes `from` moved to the positions `to`; the others keep their order.
array moveaxis(const array& x, const axes& from, const axes& to, place at = place::here());

/// Repeated along new leading axes and axes of extent 1, to exactly `extents`.
array broadcast_to(const array& x, const shape& extents, place at = place::here());
/// New axes of extent 1, at these positions of the result.
array expand_dims(const array& x, const axes& positions, place at = place::here());
/// Without these axes of extent 1; without `which`, without any such axis.
array squeeze(const array& x, const axes& which = {}, place at = place::here());

/// Elements in reverse order along the axes; without `over`, along all.
array flip(const array& x, const axes& over = {}, place at = place::here());
/// Rotated `turns` times by 90 degrees in the plane of two axes, from the first to the second.
array rot90(const array& x, int turns = 1, const axes& plane = {0, 1}, place at = place::here());
/// The diagonal `offset` above the main one of two axes, as the last axis of the result.
array diagonal(const array& x, int offset = 0, int axis1 = 0, int axis2 = 1, place at = place::here());

/// Elements at `indices` along `axis`: [.., n, ..], [k..] -> [.., k.., ..]. Without `axis`, of x in C order. Indices
/// are integers (else type_error), negative ones from the end; bad ones throw index_error when the values are read.
array take(const array& x, const array& indices, int axis, place at = place::here());
array take(const array& x, const array& indices, place at = place::here());
/// result[i, j] = x[i, indices[i, j]] for axis 1, and so on. `indices` has the rank of x and broadcasts with it
/// elsewhere.
array take_along_axis(const array& x, const array& indices, int axis, place at = place::here());

}  // namespace sinter
