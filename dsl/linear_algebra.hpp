// Products and sizes of vectors and matrices. All are lazy: they record and launch nothing. Operands take their common
// dtype (type_error when there is none), which the result has, too: integers wrap, products of truth are "and", their
// sums "or". Small products, and those of vectors, are sums of broadcast products, which fuse with what they are
// computed from; matrices of floats and complex numbers larger than about 32 x 32 x 32 go to a library (libraries.hpp).
// Shapes that don't fit are a shape_error at the line of the call.
#pragma once

#include "array.hpp"
#include "axes.hpp"
#include "reduce.hpp"

namespace sinter {

/// Matrix product: [n, k], [k, m] -> [n, m]. Leading axes broadcast: [.., n, k], [.., k, m] -> [.., n, m]. A vector on
/// the left is a row, on the right a column, whose axis the result lacks: [k], [.., k, m] -> [.., m]; [.., n, k], [k]
/// -> [.., n]; [k], [k] -> []. Throws shape_error for arrays without axes, and when the k differ.
array matmul(const array& a, const array& b, place at = place::here());
/// The sum of products of vectors, not conjugated: [k], [k] -> []; the product when one has no axes. Of more axes as
/// NumPy's, where matmul pairs up stacks: [i.., k], [k] -> [i..]; [i.., k], [j.., k, m] -> [i.., j.., m].
array dot(const array& a, const array& b, place at = place::here());
/// sum(conj(a) * b) of all elements, in C order: any shapes of one size -> [].
array vdot(const array& a, const array& b, place at = place::here());
/// Every product of an element of a with one of b, both in C order: -> [a.size(), b.size()].
array outer(const array& a, const array& b, place at = place::here());

/// The sum of the diagonal `offset` above the main one of two axes: [.., n, .., m, ..] -> [.., ..]. Dtype as for sum.
array trace(const array& x, int offset = 0, int axis1 = 0, int axis2 = 1, place at = place::here());

/// The size of vectors, from the magnitudes m of the elements along `over` (without: all of them, so that ord 2 is a
/// matrix's Frobenius norm): `ord` 2: sqrt(sum(m^2)); 1: sum(m); infinity: max(m); -infinity: min(m); 0: how many
/// aren't zero; other p: sum(m^p)^(1/p). [.., k, ..] -> [.., ..]. Real: in x's dtype, f32 for c64, f64 for c128,
/// integers and booleans. shape_error for the extremes of no elements. Squares and powers can overflow.
array norm(const array& x, double ord = 2, const axes& over = {}, keepdims_t keep = {}, place at = place::here());

}  // namespace sinter
