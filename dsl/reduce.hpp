// Reductions over all axes, one or several: sum(x), sum(x, 1), sum(x, {0, 2}, keepdims). [.., k, ..] -> [.., ..]; with
// `keepdims` reduced axes stay with extent 1. All are lazy: they record and launch nothing; evaluated, a reduction is
// one launch with what it is computed from, and with other reductions of the same elements. Reductions of f16 and bf16
// are computed in f32 or wider and rounded once; sums of f32 add up in f64. A bad or repeated axis is a shape_error at
// the line of the call, a dtype that an operation isn't defined for a type_error.
#pragma once

#include "array.hpp"
#include "axes.hpp"
#include "maybe.hpp"

#include <utility>

namespace sinter {

/// Whether reduced axes stay, with extent 1.
struct keepdims_t {
  bool on = false;
};
inline constexpr keepdims_t keepdims{true};

/// Can't be made of anything, so that braces without names are axes: sum(x, {0, 2}).
struct by_name_only {
  explicit by_name_only() = default;
};

/// What reductions take by name: sum(x, {.over = 1, .where = x > 0}). What a function has no use for is a type_error.
struct reduce_options {
  by_name_only options = by_name_only();
  axes over = {};
  keepdims_t keep = {};
  /// Boolean (else type_error), broadcast to x's shape (else shape_error): only elements where it is true count.
  maybe<array> where = {};
  /// For sum, prod, min, max, mean, var, stddev: x is converted to it first. Sums and products stay in it: they don't
  /// widen.
  maybe<dtype> type = {};
  /// For sum, prod, min, max: one more number that counts. type_error when the result's dtype doesn't hold it.
  maybe<scalar> initial = {};
  /// For var, stddev: what is taken off the number of elements before it divides.
  int ddof = 0;
};

// Functions that take options by name, too, are templates where they take axes: of two that fit, compilers choose the
// one that is no template, and g++ 12 thinks that {.ddof = 1} fits axes. They are compiled with the library.

/// Integers and booleans widen to 64 bit: i64, u64 for unsigned ones; others stay. 0 and 1 over no elements.
template <int = 0>
array sum(const array& x, const axes& over = {}, keepdims_t keep = {}, place at = place::here());
template <int = 0>
array prod(const array& x, const axes& over = {}, keepdims_t keep = {}, place at = place::here());
array sum(const array& x, const reduce_options& options, place at = place::here());
array prod(const array& x, const reduce_options& options, place at = place::here());

/// In x's dtype; NaN wins. type_error for complex numbers. shape_error over no elements; with options, also for `where`
/// without `initial`: nothing may be left. With `initial` the extreme of no elements is that.
template <int = 0>
array min(const array& x, const axes& over = {}, keepdims_t keep = {}, place at = place::here());
template <int = 0>
array max(const array& x, const axes& over = {}, keepdims_t keep = {}, place at = place::here());
array min(const array& x, const reduce_options& options, place at = place::here());
array max(const array& x, const reduce_options& options, place at = place::here());
/// max(x) - min(x), in x's dtype; integers wrap. Errors as for max; type_error for booleans.
array ptp(const array& x, const axes& over = {}, keepdims_t keep = {}, place at = place::here());

/// In x's dtype: the sum, rounded to it, is divided in f64; integers and booleans give f64. NaN over no elements. With
/// `where`, the mean of the elements that count.
template <int = 0>
array mean(const array& x, const axes& over = {}, keepdims_t keep = {}, place at = place::here());
array mean(const array& x, const reduce_options& options, place at = place::here());
/// Variance and standard deviation: the mean of |x - mean(x)|^2, and its root. (`std` is a namespace, hence the name.)
/// In x's dtype, integers and booleans in f64; real for complex numbers (c64: f32, c128: f64), whose parts' variances
/// add up. With `ddof` the sum of n squares is divided by max(n - ddof, 0): NaN or infinity when that is 0. One read of
/// x, by sums of x - x[first] and of its square in f64: Chan, Golub and LeVeque, "Algorithms for computing the sample
/// variance" (The American Statistician 37, 1983); with `where`, two: the mean first, then the squares, both in f64.
template <int = 0>
array var(const array& x, const axes& over = {}, keepdims_t keep = {}, place at = place::here());
template <int = 0>
array stddev(const array& x, const axes& over = {}, keepdims_t keep = {}, place at = place::here());
array var(const array& x, const reduce_options& options, place at = place::here());
array stddev(const array& x, const reduce_options& options, place at = place::here());

/// sum(x * weights) / sum(weights). `weights` has x's shape, or is [n] for the only axis, of extent n, of `over` (else
/// shape_error). In the common dtype of both (type_error when there is none); integers and booleans give f64. NaN or
/// infinity when the weights sum to 0.
array average(const array& x, const array& weights, const axes& over = {}, keepdims_t keep = {},
              place at = place::here());
/// {average, sum of the weights}, both of one shape and dtype.
std::pair<array, array> average_with_sum(const array& x, const array& weights, const axes& over = {},
                                         keepdims_t keep = {}, place at = place::here());

/// Whether any, or every, element isn't zero: boolean. (`all` is the index, hence the names.) NaN isn't zero. False and
/// true over no elements.
template <int = 0>
array any_true(const array& x, const axes& over = {}, keepdims_t keep = {}, place at = place::here());
template <int = 0>
array all_true(const array& x, const axes& over = {}, keepdims_t keep = {}, place at = place::here());
array any_true(const array& x, const reduce_options& options, place at = place::here());
array all_true(const array& x, const reduce_options& options, place at = place::here());
/// How many elements aren't zero: i64.
template <int = 0>
array count_nonzero(const array& x, const axes& over = {}, keepdims_t keep = {}, place at = place::here());
array count_nonzero(const array& x, const reduce_options& options, place at = place::here());

/// The position of the smallest, or largest, element along `axis`: i64; the first of equals, the first NaN if there is
/// one. Throws shape_error over no elements, type_error for complex numbers. (Several axes have no one position.)
array argmin(const array& x, int axis, keepdims_t keep = {}, place at = place::here());
array argmax(const array& x, int axis, keepdims_t keep = {}, place at = place::here());
/// The position in C order among all elements.
array argmin(const array& x, keepdims_t keep = {}, place at = place::here());
array argmax(const array& x, keepdims_t keep = {}, place at = place::here());

/// Without the elements that are NaN. Dtypes as for the functions without "nan". Where every element is NaN: 0, 1, NaN,
/// NaN, NaN. (For more, name what counts: var(x, {.where = !isnan(x)}).)
array nansum(const array& x, const axes& over = {}, keepdims_t keep = {}, place at = place::here());
array nanprod(const array& x, const axes& over = {}, keepdims_t keep = {}, place at = place::here());
array nanmin(const array& x, const axes& over = {}, keepdims_t keep = {}, place at = place::here());
array nanmax(const array& x, const axes& over = {}, keepdims_t keep = {}, place at = place::here());
array nanmean(const array& x, const axes& over = {}, keepdims_t keep = {}, place at = place::here());

/// log(sum(exp(x))) without overflow: max + log(sum(exp(x - max))). In x's dtype; integers and booleans give f64;
/// type_error for complex numbers. -infinity where all elements are, and over none; infinity where one is; NaN wins.
array logsumexp(const array& x, const axes& over = {}, keepdims_t keep = {}, place at = place::here());
/// exp(x) / sum(exp(x)), and its logarithm, along the axes: both shifted by the maximum, so that neither overflows.
/// Shape of x, one launch; dtypes and errors as for logsumexp. NaN where the maximum is infinite or NaN.
array softmax(const array& x, const axes& over = -1, place at = place::here());
array log_softmax(const array& x, const axes& over = -1, place at = place::here());

}  // namespace sinter
