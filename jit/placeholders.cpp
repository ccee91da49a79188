#include "jit/placeholders.hpp"

#include "jit/graph_internal.hpp"
#include "runtime/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace sinter::jit {

placeholders::placeholders(std::span<const input> operands, std::string_view name, const place& at)
    : name_(name), at_(at), extents_(broadcast_extents(operands, name, at)) {
  for (const input& x : operands) {
    const dtype type = x.array ? x.array->type : common_type(operands, name, at);
    operands_.push_back(x.array ? held(x) : make_scalar(x.number, type, x.site));
    nodes_.push_back(make_node(op::state, type, shape{}, {}, x.site));
  }
}

node_ref placeholders::apply(node* expression) {
  if (expression->extents.rank() != 0)
    throw_shape_error(fmt::format("{}: the function gives an array of shape {} for each element", name_,
                                  to_string(expression->extents)),
                      expression->site, "it gives one value: pass arrays that it reads as operands");
  return make_broadcast(instantiate(expression), extents_, at_);
}

/// Operands first, without recursion. What depends on no placeholder stays what it is.
node_ref placeholders::instantiate(node* root) {
  std::unordered_map<const node*, node_ref> done;
  for (std::size_t k = 0; k < nodes_.size(); ++k) done[nodes_[k].get()] = operands_[k];
  struct visit {
    node* n;
    std::vector<node_ref> operands;
    std::size_t next = 0;
  };
  std::vector<visit> stack;
  const auto enter = [&](node* n) { stack.push_back({n, pending_operands(n, n->code)}); };
  if (!done.contains(root)) enter(root);
  while (!stack.empty()) {
    visit& v = stack.back();
    if (v.next < v.operands.size()) {
      node* x = v.operands[v.next++].get();
      if (!done.contains(x)) enter(x);
      continue;
    }
    std::vector<node_ref> now;
    bool depends = false;
    for (const node_ref& x : v.operands) {
      now.push_back(done.at(x.get()));
      depends |= now.back().get() != x.get();
    }
    done[v.n] = depends ? replaced(v.n, now) : node_ref::share(v.n);
    stack.pop_back();
  }
  return done.at(root);
}

node_ref placeholders::replaced(node* n, const std::vector<node_ref>& operands) {
  if (!is_elementwise(n->code) && !is_fused_call(n->code) && n->code != op::result)
    throw_type_error(fmt::format("{}: {} is no operation on single elements", name_, info(n->code).name), n->site,
                     "the function stands for one element; apply it to arrays outside");
  shape extents;
  std::vector<node*> list;
  for (const node_ref& x : operands) {
    shape joined;
    if (!broadcast_into(extents, x->extents, joined))
      throw_shape_error(fmt::format("{}: shapes {} and {} do not broadcast", name_, to_string(extents),
                                    to_string(x->extents)),
                        n->site, "the function stands for one element");
    extents = joined;
    list.push_back(x.get());
  }
  return make_node(n->code, n->type, extents, list, n->site,
                   n->facts ? std::make_unique<attribute>(*n->facts) : nullptr);
}

}  // namespace sinter::jit
