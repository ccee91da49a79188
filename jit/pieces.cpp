// Lowering of arrays made of pieces: which piece an element comes from is a question about its indices, answered here
// when their range leaves no choice, else by the kernel.
#include "jit/lower_internal.hpp"

namespace sinter::jit {

namespace {

// Indices up to here can be multiplied by a step and still be counted in 64 bits.
constexpr std::int64_t most_index = std::int64_t{1} << 36;

}  // namespace

index_range lowering::range_of(const linear& f) const {
  index_range r{f.constant, f.constant};
  for (const linear_term& t : lin_.terms(f)) {
    const std::int64_t reach = t.factor * (atoms_[t.atom].limit - 1);
    (reach < 0 ? r.low : r.high) += reach;
  }
  return r;
}

/// Equal sizes are one parameter, so that equal questions are asked once.
std::uint32_t lowering::size_parameter(std::int64_t size) {
  for (const std::uint32_t p : sizes_)
    if (out_->numbers.slots[p].as_i64 == size) return p;
  sizes_.push_back(parameter(parameter_kind::size, dtype::i64, size));
  return sizes_.back();
}

/// Whether f is in [0, size), and `also` holds. f's terms stand for what they are wherever the kernel asks.
value lowering::inside(const linear& f, std::int64_t size, value also) {
  const value at = index_value(f);
  const std::uint32_t p = size_parameter(size);
  return both(also, emit_pure(make_inst(op::inside, dtype::boolean, p, at)));
}

/// Where along its values' axis an update with `count` elements of `region` has index f: `in` collects the conditions,
/// `coordinate` is right where they hold. False: never.
bool lowering::region_coordinate(const linear& f, const axis_map& region, std::int64_t count, linear& coordinate,
                                 value& in) {
  const std::int64_t step = region.axis < 0 ? 1 : region.step, pace = std::abs(step);
  coordinate = lin_.affine(step < 0 ? region.offset : -region.offset, step < 0 ? -1 : 1, f);
  if (pace > 1) {
    // Divided where it isn't negative; what is left over must be nothing.
    const std::int64_t low = range_of(coordinate).low, whole = low < 0 ? (-low + pace - 1) / pace : 0;
    const linear raised = lin_.affine(whole * pace, 1, coordinate);
    const linear q = quotient(raised, pace, range_of(raised).high / pace + 1);
    lin_.start();
    lin_.add(raised, 1);
    lin_.add(q, -pace);
    const linear rest = lin_.finish();
    if (rest.count != 0) in = inside(rest, 1, in);
    else if (rest.constant != 0) return false;
    coordinate = lin_.affine(-whole, 1, q);
  }
  const index_range r = range_of(coordinate);
  if (r.high < 0 || r.low >= count) return false;
  if (r.low < 0 || r.high >= count) in = inside(coordinate, count, in);
  // Updates of what is read at multiples of their own places, again and again, would go past all numbers: where the
  // conditions hold it is one in [0, count).
  if (r.low < -most_index || r.high > most_index)
    coordinate = lin_.atom(new_atom({.limit = count, .computed = index_value(coordinate)}));
  return true;
}

value lowering::lower_update(node* n, std::uint32_t map) {
  node *base = n->operands()[0], *values = n->operands()[1];
  const value given = maps_[map].predicate;
  std::vector<linear> coordinates(static_cast<std::size_t>(values->extents.rank()), lin_.constant(0));
  value in = value::none;
  for (std::size_t k = 0; k < n->facts->view.size(); ++k) {
    const axis_map& region = n->facts->view[k];
    linear coordinate;
    const std::int64_t count = region.axis < 0 ? 1 : values->extents[region.axis];
    if (!region_coordinate(map_form(map, static_cast<int>(k)), region, count, coordinate, in))
      return lower_value(base, map);
    if (region.axis >= 0) coordinates[static_cast<std::size_t>(region.axis)] = coordinate;
  }
  const value fresh = lower_value(values, intern(coordinates, both(given, in)));
  if (in == value::none) return fresh;
  const value old = lower_value(base, map);
  return emit_pure(make_inst(op::select, n->type, 0, in, fresh, old));
}

value lowering::lower_join(node* n, std::uint32_t map) {
  const int axis = n->facts->axis;
  const value given = maps_[map].predicate;
  const linear along = map_form(map, axis);
  const index_range r = range_of(along);
  std::vector<linear> forms;
  for (int k = 0; k < n->extents.rank(); ++k) forms.push_back(map_form(map, k));
  value result = value::none;
  std::int64_t start = 0;
  for (node* piece : n->operands()) {
    const std::int64_t size = piece->extents[axis], first = start;
    start += size;
    if (first > r.high || start <= r.low) continue;
    const linear here = lin_.affine(-first, 1, along);
    forms[static_cast<std::size_t>(axis)] = here;
    if (first <= r.low && start > r.high) return lower_value(piece, intern(forms, given));
    const value in = inside(here, size, value::none);
    const value v = lower_value(piece, intern(forms, both(given, in)));
    result = result == value::none ? v : emit_pure(make_inst(op::select, n->type, 0, in, v, result));
  }
  if (result != value::none) return result;
  // Asked for where a piece around this join never reads it: any value will do, as long as nothing is loaded.
  node* piece = n->operands()[0];
  forms[static_cast<std::size_t>(axis)] = along;
  const value never = inside(along, piece->extents[axis], value::none);
  return lower_value(piece, intern(forms, both(given, never)));
}

}  // namespace sinter::jit
