// Writes at computed places, by name. `a` gets a new version; arrays recorded from it before keep the old values. All
// are lazy: they record and launch nothing. Values broadcast to the shape the indices select (shape_error) and convert
// to the dtype of `a` when their kind fits (type_error). Indices are integers (type_error), negative ones from the end;
// bad ones write nothing and throw index_error at the next wait. The order in which repeated indices accumulate isn't
// fixed, nor are the last bits of float sums, unless set_deterministic (options.hpp).
#pragma once

#include "array.hpp"

#include <cstdint>

namespace sinter {

/// a[.., indices, ..] = values along `axis`, and so on: a [.., n, ..], indices [k..], values [.., k.., ..].
void scatter(array& a, const array& indices, const operand& values, int axis = 0, place at = place::here());
void scatter_add(array& a, const array& indices, const operand& values, int axis = 0, place at = place::here());
void scatter_multiply(array& a, const array& indices, const operand& values, int axis = 0, place at = place::here());
void scatter_min(array& a, const array& indices, const operand& values, int axis = 0, place at = place::here());
void scatter_max(array& a, const array& indices, const operand& values, int axis = 0, place at = place::here());

/// a[i, indices[i, j]] = values[i, j] for axis 1, and so on: the inverse of take_along_axis. `indices` has the rank of
/// a and broadcasts with it elsewhere.
void put_along_axis(array& a, const array& indices, const operand& values, int axis, place at = place::here());
/// Element indices[..] of a in C order becomes values[..].
void put(array& a, const array& indices, const operand& values, place at = place::here());

/// How often each of 0 .. length - 1 occurs in x (integers of any shape), or the sum of `weights` (of x's shape) there:
/// i64 [length], or f64 (c128) with weights. Values outside [0, length) are index_errors at the next wait.
array bincount(const array& x, std::int64_t length, place at = place::here());
array bincount(const array& x, const array& weights, std::int64_t length, place at = place::here());

/// Counts of the elements of x in `bins` intervals of equal width from `low` to `high`: i64 [bins], or the sums of
/// weights (of x's shape): f64. The last interval is closed; elements outside, and NaN, count nowhere. Throws
/// shape_error for bins < 1 and for high <= low.
array histogram(const array& x, std::int64_t bins, double low, double high, place at = place::here());
array histogram(const array& x, const array& weights, std::int64_t bins, double low, double high,
                place at = place::here());
/// The bins + 1 edges of those intervals: f64.
array histogram_edges(std::int64_t bins, double low, double high, place at = place::here());

}  // namespace sinter
