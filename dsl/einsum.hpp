// Sums of products over any axes: tensordot, inner, einsum. Lazy, with dtypes as for matmul (linear_algebra.hpp): sums
// over axes of two operands are products of matrices, done by a library when they are large; all else fuses. Opt-in:
// not part of <sinter/sinter.hpp>.
#pragma once

#include "array.hpp"
#include "axes.hpp"

#include <initializer_list>
#include <span>
#include <string_view>

namespace sinter {

/// Sums over the last `count` axes of a and the first `count` of b: [i.., k..], [k.., j..] -> [i.., j..]. With count 0
/// all products. Throws shape_error when these axes differ in extent or aren't there.
array tensordot(const array& a, const array& b, int count = 2, place at = place::here());
/// Sums over axis of_a[0] with of_b[0], of_a[1] with of_b[1], ...; the other axes of a come first, then those of b.
array tensordot(const array& a, const array& b, const axes& of_a, const axes& of_b, place at = place::here());

/// Sums over the last axes: [i.., k], [j.., k] -> [i.., j..]; the product when one has no axes.
array inner(const array& a, const array& b, place at = place::here());

/// The sum that `formula` describes, in Einstein's convention as NumPy reads it: "ij,jk->ik" is a product of matrices.
/// One letter an axis, terms separated by commas, one term an operand. Axes with the same letter go together (1
/// broadcasts); twice in one term: the diagonal. Letters that the result lacks are summed over; without "->" the result
/// has the letters that occur once, in alphabetical order. "..." stands for axes without letters, which broadcast: they
/// come first without "->". Blanks mean nothing.
///
/// Two operands that share summed letters are a product of matrices; of more operands, the two whose product has the
/// fewest operations are multiplied first, and so on. Example: einsum("bij,bkj->bik", {x, y}).
/// Throws type_error for a formula that can't be read, shape_error for operands that it doesn't fit: at the line of the
/// call, with the place in the formula.
array einsum(std::string_view formula, std::initializer_list<array> operands, place at = place::here());
array einsum(std::string_view formula, std::span<const array> operands, place at = place::here());

}  // namespace sinter
