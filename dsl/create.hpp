// New arrays from nothing: constants, sequences, grids. All are lazy, take no memory until evaluated on their own, and
// adopt the device of the arrays they meet. Arrays from host values: the constructors of `array`.
#pragma once

#include "array.hpp"

#include <initializer_list>
#include <span>
#include <vector>

namespace sinter {

array zeros(const shape& extents, dtype type = f64, place at = place::here());
array ones(const shape& extents, dtype type = f64, place at = place::here());
/// Every element `value`; without `type` in the number's dtype (i64, f64, bool, c128). type_error when it doesn't fit.
array full(const shape& extents, const scalar& value, place at = place::here());
array full(const shape& extents, const scalar& value, dtype type, place at = place::here());
/// With the shape and dtype of `x`, whose values don't matter.
array zeros_like(const array& x, place at = place::here());
array ones_like(const array& x, place at = place::here());
array full_like(const array& x, const scalar& value, place at = place::here());

/// start, start + step, ... before stop: [ceil((stop - start) / step)], [0] when stop is on the wrong side. i64 for
/// whole numbers, f64 when one is a float, or `type`. Throws shape_error for a step of 0 or a length beyond limits.
array arange(const scalar& stop, place at = place::here());
array arange(const scalar& stop, dtype type, place at = place::here());
array arange(const scalar& start, const scalar& stop, place at = place::here());
array arange(const scalar& start, const scalar& stop, dtype type, place at = place::here());
array arange(const scalar& start, const scalar& stop, const scalar& step, place at = place::here());
array arange(const scalar& start, const scalar& stop, const scalar& step, dtype type, place at = place::here());
/// `count` evenly spaced numbers from start to stop, both exact: [count]. Without `endpoint`, stop isn't among them.
/// Integer dtypes round down.
array linspace(double start, double stop, std::int64_t count = 50, bool endpoint = true, dtype type = f64,
               place at = place::here());

/// Ones on the diagonal `k` above the main one (below for negative k), zeros elsewhere: [n, m]; [n, n] without m.
array eye(std::int64_t n, dtype type = f64, place at = place::here());
array eye(std::int64_t n, std::int64_t m, int k = 0, dtype type = f64, place at = place::here());
/// Ones at and below the diagonal k, zeros above: [n, m].
array tri(std::int64_t n, dtype type = f64, place at = place::here());
array tri(std::int64_t n, std::int64_t m, int k = 0, dtype type = f64, place at = place::here());
/// The last two axes of x, zero above, or below, the diagonal k. Throws shape_error below rank 2.
array tril(const array& x, int k = 0, place at = place::here());
array triu(const array& x, int k = 0, place at = place::here());

/// [..] integers -> [.., depth]: 1 at the position of the integer, else 0; all 0 for integers outside [0, depth).
array one_hot(const array& indices, std::int64_t depth, dtype type = f32, place at = place::here());

/// Whether the first array runs along columns (NumPy's default) or along rows.
enum class grid_order : unsigned char { xy, ij };
/// The grid of some coordinates, one array each: [n], [m] -> [m, n] (xy) or [n, m] (ij). Throws shape_error unless all
/// are of rank 0 or 1.
std::vector<array> meshgrid(std::initializer_list<array> coordinates, grid_order order = grid_order::xy,
                            place at = place::here());
std::vector<array> meshgrid(std::span<const array> coordinates, grid_order order = grid_order::xy,
                            place at = place::here());

}  // namespace sinter
