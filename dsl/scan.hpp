// Running sums, products and extremes along an axis, and differences of neighbours. All are lazy: they record and
// launch nothing. Bad axes are a shape_error at the line of the call.
#pragma once

#include "array.hpp"
#include "maybe.hpp"

namespace sinter {

/// What scans take by name: cumsum(x, {.axis = 1, .type = f64}).
struct scan_options {
  maybe<int> axis = {};    ///< without: over x in C order, [size]
  maybe<dtype> type = {};  ///< x is converted to it first; sums and products stay in it: they don't widen
};

/// Element k is the sum, or product, of elements 0 .. k along `axis`: the shape of x. Integers and booleans widen to 64
/// bit: i64, u64 for unsigned ones; f16 and bf16 are computed in f32 and rounded once.
/// x is read once, and one launch does it all. On cuda, long rows are scanned by many blocks at once, and the order in
/// which f64 sums meet, so their last bit, may differ from run to run; set_deterministic fixes it, with a block a row.
array cumsum(const array& x, int axis, place at = place::here());
array cumprod(const array& x, int axis, place at = place::here());
/// Of x in C order: [..] -> [size]. [1] for an array without axes.
array cumsum(const array& x, place at = place::here());
array cumprod(const array& x, place at = place::here());
array cumsum(const array& x, const scan_options& options, place at = place::here());
array cumprod(const array& x, const scan_options& options, place at = place::here());

/// Element k is the greatest, or least, of elements 0 .. k: in x's dtype. Everything after a NaN is NaN. type_error for
/// complex numbers.
array cummax(const array& x, int axis, place at = place::here());
array cummin(const array& x, int axis, place at = place::here());
array cummax(const array& x, place at = place::here());
array cummin(const array& x, place at = place::here());
array cummax(const array& x, const scan_options& options, place at = place::here());
array cummin(const array& x, const scan_options& options, place at = place::here());

/// x[k + 1] - x[k] along `axis`, `n` times over: [.., m, ..] -> [.., max(m - n, 0), ..], in x's dtype (the common dtype
/// with what is put around it); integers wrap, booleans give whether neighbours differ. Elementwise: it fuses.
/// Throws shape_error for negative n and arrays without axes.
/// `prepend` and `append` are put around x along the axis first: arrays that fit there (shape_error), or [] for one
/// element each. {}: nothing.
array diff(const array& x, int n = 1, int axis = -1, place at = place::here());
array diff(const array& x, int n, int axis, const maybe<array>& prepend, const maybe<array>& append = {},
           place at = place::here());

}  // namespace sinter
