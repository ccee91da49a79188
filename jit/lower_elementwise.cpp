// Numbers, and operations on the elements of one place.
#include "jit/lower_internal.hpp"

#include <cstring>

namespace sinter::jit {

namespace {
constexpr std::uint32_t scalar_key = 0xfffffffeu;  // of memo_, in place of a map
}  // namespace

value lowering::lower_scalar(node* n) {
  epoch_map::entry& e = memo_.at(n, scalar_key);
  std::uint32_t p;
  if (memo_.holds(e)) {
    p = e.value;
  } else {
    p = parameter(parameter_kind::scalar, n->type);
    write_scalar(out_->numbers.slots[p], n->number, n->type);
    scalar_lines_.resize(p + 1);
    scalar_lines_[p] = n->site.line;
    memo_.set(e, n, scalar_key, p);
  }
  return emit_pure(make_inst(op::scalar, n->type, p));
}

/// A C++ number that a recorded function is called with: each call has another one.
value lowering::lower_argument(node* n) {
  const std::uint32_t p = parameter(parameter_kind::scalar, n->type);
  out_->numbers.slots[p] = {};
  out_->pending_numbers.push_back({p, n});
  return emit_pure(make_inst(op::scalar, n->type, p));
}

value lowering::lower_elementwise(node* n, std::uint32_t map) {
  inst i{n->code, n->type};
  int k = 0;
  if (n->facts && n->facts->conditional) return lower_choice(n, map);
  below_tails_ += n->code == op::erfc;
  for (node* x : n->operands()) i.arg[k++] = lower_value(x, broadcast_map(map, n->extents, x->extents));
  below_tails_ -= n->code == op::erfc;
  return i.code == op::multiply && is_real(i.type) ? product(i) : emit_pure(i);
}

/// Signs of factors are the product's, in exact terms: so f(x * y) and f(-x * y) have a product in common.
value lowering::product(inst i) {
  bool negative = false;
  for (value* a : {&i.arg[0], &i.arg[1]}) {
    const inst& x = graph_[raw(*a)];
    if (x.code != op::negative || x.type != i.type) continue;
    *a = x.arg[0];
    negative = !negative;
  }
  for (const int k : {0, 1})
    if (below_tails_ > 0 && graph_[raw(i.arg[k])].code == op::scalar) i.arg[k] = common_factor(i.arg[k], i.arg[1 - k]);
  const value v = emit_pure(i);
  return negative ? emit_pure(make_inst(op::negative, i.type, 0, v)) : v;
}

/// Below erfc(), a number that `other` is multiplied by: the one it has been multiplied by, if that is of the same line
/// and value, as the constant of a distribution function is that is called for x and -x. What erfc(x) and erfc(-x) share
/// is most of their time (prelude.cuh). All else of numbers' values is no part of a kernel, there and everywhere.
value lowering::common_factor(value number, value other) {
  const std::uint32_t p = graph_[raw(number)].attr;
  if (p >= scalar_lines_.size() || scalar_lines_[p] == 0) return number;
  const std::uint64_t h = mix(mix(raw(other), scalar_lines_[p]), out_->numbers.slots[p].as_u64);
  epoch_map::entry& e = factors_seen_.at(reinterpret_cast<const void*>(h), raw(other));
  if (!factors_seen_.holds(e)) {
    factors_seen_.set(e, reinterpret_cast<const void*>(h), raw(other), raw(number));
    return number;
  }
  const inst& known = graph_[e.value];
  const bool same = known.type == graph_[raw(number)].type && scalar_lines_[known.attr] == scalar_lines_[p] &&
                    std::memcmp(&out_->numbers.slots[known.attr], &out_->numbers.slots[p], sizeof(slot)) == 0;
  return same ? value{e.value} : number;
}

}  // namespace sinter::jit
