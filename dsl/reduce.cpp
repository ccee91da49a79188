#include "dsl/reduce.hpp"

#include "dsl/reduce_internal.hpp"
#include "dsl/shape_ops.hpp"

#include <fmt/format.h>

#include <limits>

namespace sinter {

using jit::op;

void check_order(const array& x, std::uint32_t axes, std::string_view operation, const place& at) {
  if (is_complex(x.type()))
    throw_type_error(fmt::format("{}: not defined for {}", operation, to_string(x.type())), at,
                     "take real(x), imag(x) or abs(x)");
  bool none = false;
  std::int64_t results = 1;
  for (int k = 0; k < x.rank(); ++k) {
    const std::int64_t n = x.extents()[k];
    if (axes >> k & 1u) none |= n == 0;
    else results = n == 0 ? 0 : results;
  }
  if (none && results > 0)
    throw_shape_error(
        fmt::format("{}: shape {} has no elements along the reduced axes", operation, to_string(x.extents())), at,
        "only sums, products, any and all of nothing have a value");
}

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// ---- What all functions with options do ----

/// What a function has a use for, besides axes.
struct uses {
  bool type = false, initial = false, ddof = false;
};

/// A reduction about to be recorded: x cast to the dtype asked for, axes and mask checked.
struct request {
  array x;
  std::uint32_t axes;
  bool keep;
  maybe<array> where = {};  ///< of x's shape
};

array checked_mask(const array& mask, const array& x, std::string_view operation, const place& at) {
  if (mask.type() != boolean)
    throw_type_error(fmt::format("{}: where is {}, not bool", operation, to_string(mask.type())), at, "where != 0");
  shape common;
  if (!broadcast_into(mask.extents(), x.extents(), common) || common != x.extents())
    throw_shape_error(fmt::format("{}: where of shape {} does not broadcast to {}", operation,
                                  to_string(mask.extents()), to_string(x.extents())),
                      at);
  return wrap(jit::make_broadcast(mask.node(), common, at));
}

request prepared(const array& x, const reduce_options& o, const uses& used, std::string_view operation,
                 const place& at) {
  const auto refuse = [&](const char* what) { throw_type_error(fmt::format("{}: takes no {}", operation, what), at); };
  if (o.type && !used.type) refuse("type");
  if (o.initial && !used.initial) refuse("initial");
  if (o.ddof != 0 && !used.ddof) refuse("ddof");
  request r{o.type ? convert(x, *o.type, at) : x, axis_bits(o.over, x.rank(), operation, at), o.keep.on};
  if (o.where) r.where = checked_mask(*o.where, x, operation, at);
  return r;
}

/// x with `instead` in place of the elements that don't count.
array counted(const array& x, const request& r, const jit::input& instead, const place& at) {
  return r.where ? choose(*r.where, input_of(x, at), instead, at) : x;
}

/// How many elements count: a number, or f64 by result.
array count_of(const request& r, bool keep, const place& at) {
  if (r.where) return convert(reduced(op::reduce_sum, *r.where, r.axes, keep, at), f64, at);
  double count = 1;
  for (int k = 0; k < r.x.rank(); ++k)
    if (r.axes >> k & 1u) count *= static_cast<double>(r.x.extents()[k]);
  return constant(count, f64, at);
}

array widest(const array& x, const place& at) { return convert(x, is_complex(x.type()) ? c128 : f64, at); }

// ---- Sums, products, extremes ----

array reduce(op code, const array& x, const axes& over, keepdims_t keep, std::string_view operation, const place& at) {
  return reduced(code, x, axis_bits(over, x.rank(), operation, at), keep.on, at);
}

/// Sum or product. `combine` takes two parts of it, `identity` is that of none.
array accumulate(op code, op combine, int identity, const array& x, const reduce_options& o, std::string_view operation,
                 const place& at) {
  request r = prepared(x, o, {.type = true, .initial = true}, operation, at);
  const dtype type = r.x.type();
  // Half precision rounds once, after the initial value is in.
  if (o.initial && size_of(type) == 2 && is_real(type)) r.x = convert(r.x, f32, at);
  array total = reduced(code, counted(r.x, r, input_of(scalar(identity), at), at), r.axes, r.keep, at);
  const dtype result = o.type ? *o.type : is_inexact(type) ? type : total.type();
  if (o.initial) {
    const array start = constant(*o.initial, total.type() == f32 ? f32 : result, at);
    total = record(combine, total, convert(start, total.type(), at), at);
  }
  return convert(total, result, at);
}

array extreme(op code, const array& x, const axes& over, keepdims_t keep, std::string_view operation, const place& at) {
  const std::uint32_t bits = axis_bits(over, x.rank(), operation, at);
  check_order(x, bits, operation, at);
  return reduced(code, x, bits, keep.on, at);
}

array extreme(op code, op combine, const array& x, const reduce_options& o, std::string_view operation,
              const place& at) {
  const request r = prepared(x, o, {.type = true, .initial = true}, operation, at);
  if (o.where && !o.initial)
    throw_shape_error(fmt::format("{}: with where, no elements may be left", operation), at,
                      "an initial value is the result then: {.where = .., .initial = ..}");
  if (!o.initial) {
    check_order(r.x, r.axes, operation, at);
    return reduced(code, r.x, r.axes, r.keep, at);
  }
  check_order(r.x, 0, operation, at);
  const array start = constant(*o.initial, r.x.type(), at);
  if (r.x.size() == 0) {
    const array sums = reduced(op::reduce_any, r.x, r.axes, r.keep, at);  // for its shape
    return wrap(jit::make_broadcast(start.node(), sums.extents(), at));
  }
  const array found = reduced(code, counted(r.x, r, input_of(start, at), at), r.axes, r.keep, at);
  return record(combine, found, start, at);
}

/// Whether any, or every, element that counts is true; `identity` is what none gives.
array truth(op code, bool identity, const array& x, const reduce_options& o, std::string_view operation,
            const place& at) {
  const request r = prepared(x, o, {}, operation, at);
  const array is_true = convert(x, boolean, at);
  return reduced(code, counted(is_true, r, input_of(scalar(identity), at), at), r.axes, r.keep, at);
}

// ---- Moments ----

/// Squared distances from the mean, summed: f64.
array deviations(const request& r, const place& at) {
  if (is_complex(r.x.type())) {
    const request re{record(op::real_part, r.x, at), r.axes, r.keep},
        im{record(op::imag_part, r.x, at), r.axes, r.keep};
    return record(op::add, deviations(re, at), deviations(im, at), at);
  }
  const array from = convert(r.x, working_type(r.x.type()), at);
  return convert(reduced(op::reduce_deviations, from, r.axes, r.keep, at), f64, at);
}

/// The same for the elements that count, in two steps.
array masked_deviations(const request& r, const place& at) {
  const jit::input zero = input_of(scalar(0), at);
  const array wide = widest(r.x, at);
  const array total = reduced(op::reduce_sum, counted(wide, r, zero, at), r.axes, true, at);
  const array center = record(op::divide, total, count_of(r, true, at), at);
  const array distance = counted(record(op::subtract, wide, center, at), r, zero, at);
  array squares = record(op::square, record(op::real_part, distance, at), at);
  if (is_complex(wide.type()))
    squares = record(op::add, squares, record(op::square, record(op::imag_part, distance, at), at), at);
  return reduced(op::reduce_sum, squares, r.axes, r.keep, at);
}

/// In f64, not yet rounded to the dtype of the result.
array variance(const request& r, int ddof, const place& at) {
  const array squares = r.where ? masked_deviations(r, at) : deviations(r, at);
  array count = count_of(r, r.keep, at);
  if (ddof != 0) count = record(op::maximum, record(op::subtract, count, ddof, at), 0, at);
  return record(op::divide, squares, count, at);
}

dtype variance_type(const request& r) { return part_type(inexact_type(r.x.type())); }

// ---- Positions ----

array along_axis(op code, const array& x, int axis, keepdims_t keep, std::string_view operation, const place& at) {
  const std::uint32_t bit = std::uint32_t{1} << checked_axis(axis, x.rank(), operation, at);
  check_order(x, bit, operation, at);
  return reduced(code, x, bit, keep.on, at);
}

array in_flat_order(op code, const array& x, keepdims_t keep, std::string_view operation, const place& at) {
  check_order(x, (std::uint32_t{1} << x.rank()) - 1, operation, at);
  const array found = reduced(code, ravel(x, at), 1, false, at);
  shape kept;
  for (int k = 0; k < x.rank() && keep.on; ++k) kept.append(1);
  return wrap(jit::make_reshape(found.node(), kept, at));
}

}  // namespace

// ---- Sums, products, extremes, truth ----

template <int>
array sum(const array& x, const axes& over, keepdims_t keep, place at) {
  return reduce(op::reduce_sum, x, over, keep, "sum", at);
}
template <int>
array prod(const array& x, const axes& over, keepdims_t keep, place at) {
  return reduce(op::reduce_prod, x, over, keep, "prod", at);
}
template <int>
array min(const array& x, const axes& over, keepdims_t keep, place at) {
  return extreme(op::reduce_min, x, over, keep, "min", at);
}
template <int>
array max(const array& x, const axes& over, keepdims_t keep, place at) {
  return extreme(op::reduce_max, x, over, keep, "max", at);
}
template <int>
array any_true(const array& x, const axes& over, keepdims_t keep, place at) {
  return reduce(op::reduce_any, x, over, keep, "any_true", at);
}
template <int>
array all_true(const array& x, const axes& over, keepdims_t keep, place at) {
  return reduce(op::reduce_all, x, over, keep, "all_true", at);
}
template <int>
array count_nonzero(const array& x, const axes& over, keepdims_t keep, place at) {
  return reduce(op::reduce_sum, convert(x, boolean, at), over, keep, "count_nonzero", at);
}

array ptp(const array& x, const axes& over, keepdims_t keep, place at) {
  const array high = extreme(op::reduce_max, x, over, keep, "ptp", at);
  return record(op::subtract, high, extreme(op::reduce_min, x, over, keep, "ptp", at), at);
}

array sum(const array& x, const reduce_options& options, place at) {
  return accumulate(op::reduce_sum, op::add, 0, x, options, "sum", at);
}
array prod(const array& x, const reduce_options& options, place at) {
  return accumulate(op::reduce_prod, op::multiply, 1, x, options, "prod", at);
}
array min(const array& x, const reduce_options& options, place at) {
  return extreme(op::reduce_min, op::minimum, x, options, "min", at);
}
array max(const array& x, const reduce_options& options, place at) {
  return extreme(op::reduce_max, op::maximum, x, options, "max", at);
}
array any_true(const array& x, const reduce_options& options, place at) {
  return truth(op::reduce_any, false, x, options, "any_true", at);
}
array all_true(const array& x, const reduce_options& options, place at) {
  return truth(op::reduce_all, true, x, options, "all_true", at);
}
array count_nonzero(const array& x, const reduce_options& options, place at) {
  return truth(op::reduce_sum, false, x, options, "count_nonzero", at);
}

// ---- Means and moments ----

template <int>
array mean(const array& x, const axes& over, keepdims_t keep, place at) {
  return mean(x, reduce_options{.over = over, .keep = keep}, at);
}
template <int>
array var(const array& x, const axes& over, keepdims_t keep, place at) {
  return var(x, reduce_options{.over = over, .keep = keep}, at);
}
template <int>
array stddev(const array& x, const axes& over, keepdims_t keep, place at) {
  return stddev(x, reduce_options{.over = over, .keep = keep}, at);
}

array mean(const array& x, const reduce_options& options, place at) {
  const request r = prepared(x, options, {.type = true}, "mean", at);
  const array from = convert(r.x, working_type(r.x.type()), at);
  const array total = reduced(op::reduce_sum, counted(from, r, input_of(scalar(0), at), at), r.axes, r.keep, at);
  const array quotient = record(op::divide, widest(total, at), count_of(r, r.keep, at), at);
  return convert(quotient, inexact_type(r.x.type()), at);
}
array var(const array& x, const reduce_options& options, place at) {
  const request r = prepared(x, options, {.type = true, .ddof = true}, "var", at);
  return convert(variance(r, options.ddof, at), variance_type(r), at);
}
array stddev(const array& x, const reduce_options& options, place at) {
  const request r = prepared(x, options, {.type = true, .ddof = true}, "stddev", at);
  return convert(record(op::sqrt, variance(r, options.ddof, at), at), variance_type(r), at);
}

#define SINTER_OVER_AXES(name) template array name<0>(const array&, const axes&, keepdims_t, place);
SINTER_OVER_AXES(sum)
SINTER_OVER_AXES(prod)
SINTER_OVER_AXES(min)
SINTER_OVER_AXES(max)
SINTER_OVER_AXES(mean)
SINTER_OVER_AXES(var)
SINTER_OVER_AXES(stddev)
SINTER_OVER_AXES(any_true)
SINTER_OVER_AXES(all_true)
SINTER_OVER_AXES(count_nonzero)
#undef SINTER_OVER_AXES

namespace {

/// Weights in x's shape: as they are, or along the only axis of the average.
array spread(const array& weights, const array& x, const axes& over, const place& at) {
  if (weights.extents() == x.extents()) return weights;
  if (weights.rank() != 1 || over.list().size() != 1)
    throw_shape_error(
        fmt::format("average: weights of shape {} for {}", to_string(weights.extents()), to_string(x.extents())), at,
        "weights have the shape of x, or are [n] for one axis of extent n");
  const int axis = checked_axis(over.list()[0], x.rank(), "average", at);
  if (weights.size() != x.extents()[axis])
    throw_shape_error(
        fmt::format("average: {} weights for {} elements along axis {}", weights.size(), x.extents()[axis], axis), at);
  const jit::axis_map map[] = {{0, 1, axis}};
  return view(weights, map, x.extents(), at);
}

}  // namespace

std::pair<array, array> average_with_sum(const array& x, const array& weights, const axes& over, keepdims_t keep,
                                         place at) {
  const std::uint32_t bits = axis_bits(over, x.rank(), "average", at);
  const dtype type = inexact_type(jit::promote(x.type(), weights.type(), "average", at));
  const dtype work = working_type(type);
  const array w = convert(spread(weights, x, over, at), work, at);
  const array weighted = record(op::multiply, convert(x, work, at), w, at);
  const array total = widest(reduced(op::reduce_sum, weighted, bits, keep.on, at), at);
  const array weight = widest(reduced(op::reduce_sum, w, bits, keep.on, at), at);
  return {convert(record(op::divide, total, weight, at), type, at), convert(weight, type, at)};
}

array average(const array& x, const array& weights, const axes& over, keepdims_t keep, place at) {
  return average_with_sum(x, weights, over, keep, at).first;
}

// ---- Positions ----

array argmin(const array& x, int axis, keepdims_t keep, place at) {
  return along_axis(op::reduce_argmin, x, axis, keep, "argmin", at);
}
array argmax(const array& x, int axis, keepdims_t keep, place at) {
  return along_axis(op::reduce_argmax, x, axis, keep, "argmax", at);
}
array argmin(const array& x, keepdims_t keep, place at) {
  return in_flat_order(op::reduce_argmin, x, keep, "argmin", at);
}
array argmax(const array& x, keepdims_t keep, place at) {
  return in_flat_order(op::reduce_argmax, x, keep, "argmax", at);
}

// ---- Without NaN ----

namespace {

/// Options that leave NaN out; integers have none.
reduce_options without_nan(const array& x, const axes& over, keepdims_t keep, const place& at) {
  reduce_options o{.over = over, .keep = keep};
  if (is_inexact(x.type())) o.where = record(op::logical_not, record(op::isnan, x, at), at);
  return o;
}

/// `worst` stands in for NaN; where that is all there is, the result is NaN again.
array extreme_without_nan(op code, double worst, const array& x, const axes& over, keepdims_t keep,
                          std::string_view operation, const place& at) {
  const std::uint32_t bits = axis_bits(over, x.rank(), operation, at);
  check_order(x, bits, operation, at);
  if (!is_inexact(x.type())) return reduced(code, x, bits, keep.on, at);
  const array nan = record(op::isnan, x, at);
  const array rest = choose(nan, input_of(scalar(worst), at), input_of(x, at), at);
  const jit::input none = input_of(scalar(std::numeric_limits<double>::quiet_NaN()), at);
  return choose(reduced(op::reduce_all, nan, bits, keep.on, at), none,
                input_of(reduced(code, rest, bits, keep.on, at), at), at);
}

}  // namespace

array nansum(const array& x, const axes& over, keepdims_t keep, place at) {
  return accumulate(op::reduce_sum, op::add, 0, x, without_nan(x, over, keep, at), "nansum", at);
}
array nanprod(const array& x, const axes& over, keepdims_t keep, place at) {
  return accumulate(op::reduce_prod, op::multiply, 1, x, without_nan(x, over, keep, at), "nanprod", at);
}
array nanmin(const array& x, const axes& over, keepdims_t keep, place at) {
  return extreme_without_nan(op::reduce_min, infinity, x, over, keep, "nanmin", at);
}
array nanmax(const array& x, const axes& over, keepdims_t keep, place at) {
  return extreme_without_nan(op::reduce_max, -infinity, x, over, keep, "nanmax", at);
}
array nanmean(const array& x, const axes& over, keepdims_t keep, place at) {
  axis_bits(over, x.rank(), "nanmean", at);
  return mean(x, without_nan(x, over, keep, at), at);
}

// ---- Exponentials ----

array logsumexp(const array& x, const axes& over, keepdims_t keep, place at) {
  const std::uint32_t bits = axis_bits(over, x.rank(), "logsumexp", at);
  check_order(x, 0, "logsumexp", at);
  const array from = convert(x, working_type(x.type()), at);
  if (x.size() == 0)  // no maximum: the logarithm of a sum of nothing
    return convert(record(op::log, reduced(op::reduce_sum, from, bits, keep.on, at), at), inexact_type(x.type()), at);
  const array high = reduced(op::reduce_max, from, bits, true, at);
  // An infinite maximum would make infinity - infinity of itself.
  const array shift = choose(record(op::isfinite, high, at), input_of(high, at), input_of(scalar(0), at), at);
  const array part = record(op::exp, record(op::subtract, from, shift, at), at);
  const array logarithm = record(op::log, reduced(op::reduce_sum, part, bits, true, at), at);
  const array result = convert(record(op::add, logarithm, shift, at), inexact_type(x.type()), at);
  return keep.on || bits == 0 ? result : squeeze(result, over, at);
}

namespace {

/// x less its maximum along the axes, in the dtype to compute in; exp() of it, and the sums of that.
struct exponentials {
  array shifted, parts, sums;
};

exponentials exponentials_of(const array& x, const axes& over, std::string_view operation, const place& at) {
  const std::uint32_t bits = axis_bits(over, x.rank(), operation, at);
  check_order(x, x.size() == 0 ? 0 : bits, operation, at);
  const array from = convert(x, working_type(x.type()), at);
  const array high = x.size() == 0 ? constant(0, from.type(), at) : reduced(op::reduce_max, from, bits, true, at);
  const array shifted = record(op::subtract, from, high, at), parts = record(op::exp, shifted, at);
  return {shifted, parts, reduced(op::reduce_sum, parts, bits, true, at)};
}

}  // namespace

array softmax(const array& x, const axes& over, place at) {
  const exponentials e = exponentials_of(x, over, "softmax", at);
  return convert(record(op::divide, e.parts, e.sums, at), inexact_type(x.type()), at);
}

array log_softmax(const array& x, const axes& over, place at) {
  const exponentials e = exponentials_of(x, over, "log_softmax", at);
  return convert(record(op::subtract, e.shifted, record(op::log, e.sums, at), at), inexact_type(x.type()), at);
}

}  // namespace sinter
