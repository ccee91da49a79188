// Sorting, and what is found in sorted values. Not part of sinter.hpp.
//
// Of any real dtype; complex numbers have no order (type_error). NaN, whatever its sign, counts as greater than all
// other numbers: last in ascending order, first in descending order. -0.0 and 0.0 are equal. Sorts are stable: equal
// elements keep their order, also in descending order. A bad axis is a shape_error at the line of the call. All are
// lazy: they record and launch nothing. A sort reads its operand from memory and isn't fused with others; what is made
// of its result is. Inside the body of a loop in a kernel (while_loop, for_loop), sorts are a type_error.
#pragma once

#include "array.hpp"
#include "axes.hpp"
#include "reduce.hpp"

#include <initializer_list>
#include <span>

namespace sinter {

enum class sort_order : unsigned char { ascending, descending };

/// Elements in order along `axis`: [.., n, ..] -> the same shape and dtype. (Equal numbers that differ in their bits,
/// -0.0 and 0.0, come in an order of their own: -0.0 counts as the smaller one.)
array sort(const array& x, int axis = -1, sort_order how = sort_order::ascending, place at = place::here());
/// Where the elements of sort() are along `axis`: i64, the shape of x. take_along_axis(x, argsort(x), -1) is sorted.
array argsort(const array& x, int axis = -1, sort_order how = sort_order::ascending, place at = place::here());

struct top_elements {
  array values;   ///< in x's dtype
  array indices;  ///< i64: where they are along the axis
};
/// The k largest elements along `axis`, the largest first (sort_order::ascending: the smallest, the smallest first); of
/// equal ones those that come first: [.., n, ..] -> [.., k, ..]. Few of long rows are found without sorting the others.
/// shape_error unless 0 <= k <= n.
top_elements topk(const array& x, std::int64_t k, int axis = -1, sort_order how = sort_order::descending,
                  place at = place::here());

/// Elements along `axis` in such an order that the one at `kth` is where sort() puts it, those before it are not
/// greater, those after it not less; kth may count from the end (-1: the last). NumPy's partition: how the others lie
/// on their side is unspecified, but the same on all devices. The shape and dtype of x; shape_error for a kth out of
/// range.
array partition(const array& x, std::int64_t kth, int axis = -1, place at = place::here());
/// Where the elements of a partition are along `axis`: i64, the shape of x. take_along_axis(x, argpartition(x, k), -1)
/// is one.
array argpartition(const array& x, std::int64_t kth, int axis = -1, place at = place::here());

enum class side : unsigned char { left, right };
/// Where values could be inserted in `sorted` [n], which is in ascending order, to keep that: how many of its elements
/// are less than each value (side::left), or not greater (side::right). i64 in 0 .. n, the shape of `values`. Both are
/// compared in their common dtype. A binary search of log2(n) + 1 reads in the kernel that uses it. shape_error unless
/// `sorted` has one axis.
array searchsorted(const array& sorted, const operand& values, side where = side::left);

/// Between two neighbours at distance t from the lower one: lower + t * (upper - lower); one of them; their mean; or
/// the nearer one, of two equally near ones that at an even position.
enum class interpolation : unsigned char { linear, lower, upper, midpoint, nearest };

/// The value below which the share q, in 0 .. 1, of the elements lies: at position q * (n - 1) of the n elements in
/// ascending order. Over the axes, all by default: [.., n, ..] -> [.., ..]. Integers and booleans give f64, others
/// stay; f16 and bf16 are computed in f32. NaN where one of the elements is. shape_error over no elements, and for
/// other q. One sort, however many q; several q are a new first axis of the result: {q..} -> [k, .., ..].
array quantile(const array& x, double q, const axes& over = {}, keepdims_t keep = {},
               interpolation between = interpolation::linear, place at = place::here());
array quantile(const array& x, std::initializer_list<double> q, const axes& over = {}, keepdims_t keep = {},
               interpolation between = interpolation::linear, place at = place::here());
array quantile(const array& x, std::span<const double> q, const axes& over = {}, keepdims_t keep = {},
               interpolation between = interpolation::linear, place at = place::here());
/// The same of percentages: 0 .. 100.
array percentile(const array& x, double q, const axes& over = {}, keepdims_t keep = {},
                 interpolation between = interpolation::linear, place at = place::here());
array percentile(const array& x, std::initializer_list<double> q, const axes& over = {}, keepdims_t keep = {},
                 interpolation between = interpolation::linear, place at = place::here());
/// quantile(x, 0.5): the middle element, or the mean of both.
array median(const array& x, const axes& over = {}, keepdims_t keep = {}, place at = place::here());

}  // namespace sinter
