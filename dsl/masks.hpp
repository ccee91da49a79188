// Elements picked by their values. The result's size is not known before the values are: every function here evaluates
// what it needs and waits for a number from the device; the results are lazy again.
#pragma once

#include "array.hpp"

#include <vector>

namespace sinter {

/// The positions of the elements that aren't zero, in C order: one i64 [count] for each axis of x; so that
/// x(nonzero(x)[0], ..) are those elements. Of rank 0: as if [1].
std::vector<array> nonzero(const array& x, place at = place::here());
/// The same as positions in C order: i64 [count].
array flatnonzero(const array& x, place at = place::here());
/// The same as rows: i64 [count, rank].
array argwhere(const array& x, place at = place::here());

/// The slices of x along `axis` where `mask` (boolean [n]; shorter ones count as followed by false) is true:
/// [.., n, ..] -> [.., count, ..]. Without `axis`, of x in C order. Throws shape_error for a mask that is not of rank 1
/// or is longer, type_error for one that isn't boolean.
array compress(const array& mask, const array& x, int axis, place at = place::here());
array compress(const array& mask, const array& x, place at = place::here());

/// The different values of x in ascending order (complex numbers by real, then imaginary part; NaN last, once):
/// [count], in x's dtype.
array unique(const array& x, place at = place::here());

}  // namespace sinter
