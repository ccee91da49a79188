// Reductions over all axes, one or several: sum(x), sum(x, 1), sum(x, {0, 2}, keepdims). [.., k, ..] -> [.., ..]; with
// `keepdims` reduced axes stay with extent 1. All are lazy: they record and launch nothing. A bad or repeated axis is a
// shape_error at the line of the call.
#pragma once

#include "array.hpp"
#include "axes.hpp"

namespace sinter {

/// Whether reduced axes stay, with extent 1.
struct keepdims_t {
  bool on = false;
};
inline constexpr keepdims_t keepdims{true};

/// Integers and booleans widen to 64 bit; f16 and bf16 accumulate in f32. 0 and 1 over no elements.
array sum(const array& x, const axes& over = {}, keepdims_t keep = {}, place at = place::here());
array prod(const array& x, const axes& over = {}, keepdims_t keep = {}, place at = place::here());
/// In x's dtype; NaN wins. Throws shape_error over no elements, type_error for complex numbers.
array min(const array& x, const axes& over = {}, keepdims_t keep = {}, place at = place::here());
array max(const array& x, const axes& over = {}, keepdims_t keep = {}, place at = place::here());
/// In x's dtype, divided in f64; integers and booleans give f64. NaN over no elements.
array mean(const array& x, const axes& over = {}, keepdims_t keep = {}, place at = place::here());
/// Whether any, or every, element isn't zero: boolean. (`all` is the index, hence the names.)
array any_true(const array& x, const axes& over = {}, keepdims_t keep = {}, place at = place::here());
array all_true(const array& x, const axes& over = {}, keepdims_t keep = {}, place at = place::here());
/// How many elements aren't zero: i64.
array count_nonzero(const array& x, const axes& over = {}, keepdims_t keep = {}, place at = place::here());

/// The position of the smallest, or largest, element along `axis`: i64; the first of equals, the first NaN if there is
/// one. Throws shape_error over no elements, type_error for complex numbers.
array argmin(const array& x, int axis, keepdims_t keep = {}, place at = place::here());
array argmax(const array& x, int axis, keepdims_t keep = {}, place at = place::here());
/// The position in C order among all elements.
array argmin(const array& x, keepdims_t keep = {}, place at = place::here());
array argmax(const array& x, keepdims_t keep = {}, place at = place::here());

}  // namespace sinter
