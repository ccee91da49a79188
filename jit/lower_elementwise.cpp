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
    p = scalar_parameter(n);
    memo_.set(e, n, scalar_key, p);
  }
  return emit_pure(make_inst(op::scalar, n->type, p));
}

/// One for all numbers of a value that were written at one line, as a function's constant is when it is called several
/// times: what is computed with it is then seen to be the same.
std::uint32_t lowering::scalar_parameter(const node* n) {
  slot s{};
  write_scalar(s, n->number, n->type);
  std::uint64_t words[2];
  std::memcpy(words, &s, sizeof words);
  const std::uint64_t h = mix(mix(mix(n->site.line, static_cast<std::uint64_t>(n->type)), words[0]), words[1]);
  for (auto tag = static_cast<std::uint32_t>(h);; ++tag) {
    epoch_map::entry& e = numbers_.at(reinterpret_cast<const void*>(h), tag);
    if (!numbers_.holds(e)) {
      const std::uint32_t p = parameter(parameter_kind::scalar, n->type);
      out_->numbers.slots[p] = s;
      numbers_.set(e, reinterpret_cast<const void*>(h), tag, p);
      return p;
    }
    const bool same_type = out_->ir.parameters[e.value].type == n->type;
    if (same_type && std::memcmp(&out_->numbers.slots[e.value], &s, sizeof s) == 0) return e.value;
  }
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
  for (node* x : n->operands()) i.arg[k++] = lower_value(x, broadcast_map(map, n->extents, x->extents));
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
  const value v = emit_pure(i);
  return negative ? emit_pure(make_inst(op::negative, i.type, 0, v)) : v;
}

}  // namespace sinter::jit
