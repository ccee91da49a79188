#include "jit/opaque.hpp"

#include "jit/epoch_map.hpp"

namespace sinter::jit {

namespace {

/// Most evaluations have none.
bool has_opaque_below(std::span<node* const> roots) {
  static thread_local std::vector<const node*> stack;
  static thread_local epoch_map seen;
  seen.clear();
  stack.assign(roots.begin(), roots.end());
  while (!stack.empty()) {
    const node* n = stack.back();
    stack.pop_back();
    if (n->values() || seen.find(n)) continue;
    if (is_opaque(n->code) || is_opaque_result(n)) return true;
    seen.set(seen.at(n), n, 0, 1);
    stack.insert(stack.end(), n->operands().begin(), n->operands().end());
  }
  return false;
}

}  // namespace

std::vector<node_ref> opaque_below(std::span<node* const> roots) {
  std::vector<node_ref> order;
  if (!has_opaque_below(roots)) return order;
  std::vector<std::pair<node*, std::size_t>> stack;
  epoch_map seen;
  for (node* r : roots) {
    stack.assign(1, {r, 0});
    while (!stack.empty()) {
      auto& [n, next] = stack.back();
      if (n->values() || (next == 0 && seen.find(n))) {
        stack.pop_back();
        continue;
      }
      if (next == 0) seen.set(seen.at(n), n, 0, 1);
      if (next < n->operand_count) {
        node* x = n->operands()[next++];
        stack.push_back({x, 0});
        continue;
      }
      if (is_opaque(n->code) || is_opaque_result(n)) order.push_back(node_ref::share(n));
      stack.pop_back();
    }
  }
  return order;
}

namespace {

/// What is left of a call that has run: others may be about to run the same.
class finished_call final : public opaque_call {
 public:
  explicit finished_call(std::vector<reference<runtime::buffer>> memory) { after = std::move(memory); }
  std::string_view name() const override { return "finished call"; }
  std::string describe() const override { return "finished call"; }
  std::vector<reference<runtime::buffer>> run(const node&) const override {
    throw_internal_error("a call is run twice");
  }
};

}  // namespace

void run_launch(node* n) {
  n->facts->launch = std::make_shared<finished_call>(n->facts->launch->run(*n));
  settle(n, reference<runtime::buffer>(runtime::make_buffer(n->owner ? *n->owner : runtime::default_device(), 0)));
}

}  // namespace sinter::jit
