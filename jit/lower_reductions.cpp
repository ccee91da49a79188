// Lowering of reductions and scans: loops inside an element, and what they find.
#include "jit/lower_internal.hpp"

namespace sinter::jit {

/// The map of what reduction n, at `map`, reads in its loops over `space`; with `first`, in their first iteration.
std::uint32_t lowering::map_inside(const node* n, std::uint32_t map, std::uint32_t space, bool first) {
  const attribute& facts = *n->facts;
  std::vector<linear> forms;
  int at = 0;
  std::uint32_t dim = spaces_[space].first;
  for (int axis = 0; axis < n->operands()[0]->extents.rank(); ++axis) {
    if (facts.reduced >> axis & 1) {
      const bool counts = !first && n->operands()[0]->extents[axis] != 1;
      forms.push_back(counts ? lin_.atom(dims_[dim++].atom) : lin_.constant(0));
      if (facts.keep_dims) ++at;
    } else {
      forms.push_back(map_form(map, at++));
    }
  }
  return intern(forms, maps_[map].predicate);
}

value lowering::lower_reduction(node* n, std::uint32_t map) {
  const shape& source = n->operands()[0]->extents;
  std::vector<std::int64_t> extents;  // axes of extent 1 count nothing, whatever else is of their rank
  for (int axis = 0; axis < source.rank(); ++axis)
    if ((n->facts->reduced >> axis & 1) && source[axis] != 1) extents.push_back(source[axis]);
  if (extents.empty()) extents.push_back(1);
  // Of nothing: what stands outside of an empty loop must not be read either.
  const bool nothing = std::ranges::find(extents, 0) != extents.end();
  if (nothing && n->code != op::reduce_call)
    return whole_number(n->type, n->code == op::reduce_prod || n->code == op::reduce_all);
  const std::uint32_t space = space_of_loops(space_around(n, map), extents);
  if (n->code == op::reduce_deviations) return lower_deviations(n, map, space);
  const std::uint32_t inside = map_inside(n, map, space, false);
  std::vector<value> values;
  for (node* x : n->operands()) values.push_back(nothing ? whole_number(x->type, 0) : lower_value(x, inside));
  if (n->code != op::reduce_call) return emit_pure(make_inst(n->code, n->type, space, values[0]));
  // The space goes where the arranged instruction has its loop.
  return emit(make_inst(n->code, n->type, add_call(*n->facts->kernel, values), values[0], value{space}));
}

/// One pass over numbers however far from zero (Chan, Golub and LeVeque 1983, "Algorithms for computing the sample
/// variance"): sums of x - s and of its square, in f64, for a shift s among the x, here the first. Since s is one of
/// them, (s - mean)^2 is part of what is summed, and cancelling loses no more than a few digits of f64.
value lowering::lower_deviations(node* n, std::uint32_t map, std::uint32_t space) {
  node* source = n->operands()[0];
  const auto wide = [&](value x) {
    return source->type == dtype::f64 ? x : emit_pure(make_inst(op::convert, dtype::f64, 0, x));
  };
  const auto apply = [this](op code, value a, value b) { return emit_pure(make_inst(code, dtype::f64, 0, a, b)); };
  const value shift = wide(lower_value(source, map_inside(n, map, space, true)));
  const value away = apply(op::subtract, wide(lower_value(source, map_inside(n, map, space, false))), shift);
  const op adds = source->type == dtype::f64 ? op::reduce_sum : op::reduce_plain_sum;  // f32 needs no digits past f64's
  const value sum = emit_pure(make_inst(adds, dtype::f64, space, away));
  const value squares = emit_pure(make_inst(adds, dtype::f64, space, apply(op::multiply, away, away)));
  std::int64_t count = 1;
  for (std::uint32_t d = 0; d < spaces_[space].count; ++d) count *= dims_[spaces_[space].first + d].extent;
  const value mean = apply(op::divide, sum, number(dtype::f64, scalar(static_cast<double>(count))));
  const value spread = apply(op::subtract, squares, apply(op::multiply, sum, mean));
  const value positive = apply(op::maximum, spread, whole_number(dtype::f64, 0));
  // Squares past the range of f64 are infinity, not infinity - infinity.
  const auto is = [this](op code, value a, value b) { return emit_pure(make_inst(code, dtype::boolean, 0, a, b)); };
  const value bounded = is(op::isfinite, squares, value::none);
  const value keep = is(op::logical_or, bounded, is(op::logical_not, is(op::isfinite, sum, value::none), value::none));
  const value found = emit_pure(make_inst(op::select, dtype::f64, 0, keep, positive, squares));
  return n->type == dtype::f64 ? found : emit_pure(make_inst(op::convert, n->type, 0, found));
}

/// Scans are read where their own loop stands: the plan sees to it.
value lowering::lower_scan(node* n, std::uint32_t map) {
  const linear along = map_form(map, n->facts->axis);
  SINTER_CHECK(along.constant == 0 && along.count == 1);
  const linear_term t = lin_.terms(along)[0];
  SINTER_CHECK(t.factor == 1 && atoms_[t.atom].is_dim);
  const raw_dim d = dims_[atoms_[t.atom].dim];
  SINTER_CHECK(d.space != 0 && spaces_[d.space].count == 1 && d.extent == n->extents[n->facts->axis]);
  const value v = lower_value(n->operands()[0], map);
  return emit_pure(make_inst(n->code, n->type, d.space, v));
}

}  // namespace sinter::jit
