#include "dsl/reduce.hpp"

#include "dsl/record_internal.hpp"

namespace sinter {

using jit::op;

namespace {

array reduce(op code, const array& x, const axes& over, keepdims_t keep, std::string_view operation, const place& at) {
  return wrap(jit::record_reduction(code, input_of(x, at), axis_bits(over, x.rank(), operation, at), keep.on, at));
}

array along_axis(op code, const array& x, int axis, keepdims_t keep, std::string_view operation, const place& at) {
  const int k = checked_axis(axis, x.rank(), operation, at);
  return wrap(jit::record_reduction(code, input_of(x, at), std::uint32_t{1} << k, keep.on, at));
}

array in_flat_order(op code, const array& x, keepdims_t keep, const place& at) {
  const jit::node_ref flat = jit::make_reshape(x.node(), shape{x.size()}, at);
  const jit::node_ref found = jit::record_reduction(code, {flat.get(), {}, at}, 1, false, at);
  shape kept;
  for (int k = 0; k < x.rank() && keep.on; ++k) kept.append(1);
  return wrap(jit::make_reshape(found.get(), kept, at));
}

/// The dtype a mean's sum is computed in: f16 would overflow, integers lose nothing in f64.
dtype sum_type(dtype type) {
  if (is_integer_or_bool(type)) return f64;
  return size_of(type) == 2 ? f32 : type;
}

}  // namespace

#define SINTER_REDUCTION(name, code)                                        \
  array name(const array& x, const axes& over, keepdims_t keep, place at) { \
    return reduce(op::code, x, over, keep, #name, at);                      \
  }
SINTER_REDUCTION(sum, reduce_sum)
SINTER_REDUCTION(prod, reduce_prod)
SINTER_REDUCTION(min, reduce_min)
SINTER_REDUCTION(max, reduce_max)
SINTER_REDUCTION(any_true, reduce_any)
SINTER_REDUCTION(all_true, reduce_all)
#undef SINTER_REDUCTION

array mean(const array& x, const axes& over, keepdims_t keep, place at) {
  const std::uint32_t bits = axis_bits(over, x.rank(), "mean", at);
  double count = 1;
  for (int k = 0; k < x.rank(); ++k)
    if (bits >> k & 1u) count *= static_cast<double>(x.extents()[k]);
  const array from = convert(x, sum_type(x.type()), at);
  const array total = wrap(jit::record_reduction(op::reduce_sum, input_of(from, at), bits, keep.on, at));
  const array wide = convert(total, is_complex(x.type()) ? c128 : f64, at);
  return convert(record(op::divide, wide, count, at), is_integer_or_bool(x.type()) ? f64 : x.type(), at);
}

array count_nonzero(const array& x, const axes& over, keepdims_t keep, place at) {
  return reduce(op::reduce_sum, convert(x, boolean, at), over, keep, "count_nonzero", at);
}

array argmin(const array& x, int axis, keepdims_t keep, place at) {
  return along_axis(op::reduce_argmin, x, axis, keep, "argmin", at);
}
array argmax(const array& x, int axis, keepdims_t keep, place at) {
  return along_axis(op::reduce_argmax, x, axis, keep, "argmax", at);
}
array argmin(const array& x, keepdims_t keep, place at) { return in_flat_order(op::reduce_argmin, x, keep, at); }
array argmax(const array& x, keepdims_t keep, place at) { return in_flat_order(op::reduce_argmax, x, keep, at); }

}  // namespace sinter
