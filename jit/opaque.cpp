#include "jit/opaque.hpp"

#include "jit/epoch_map.hpp"

#include <unordered_map>

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

/// What is found below roots, operands first. No references are counted meanwhile: those there are tell who reads what.
class below_roots {
 public:
  void add(node* n) {
    if (is_opaque(n->code) || is_opaque_result(n)) {
      places_[n] = order_.size();
      order_.push_back({n, {}});
    } else if (!places_.empty() && is_elementwise(n->code)) {
      for (std::size_t k = 0; k < n->operand_count; ++k)
        if (node_ref instead = absorbed(n, k)) return put(n, n->operands()[k], std::move(instead));
    }
  }

  std::vector<opaque_step> take() {
    std::vector<opaque_step> steps;
    for (step& s : order_)
      if (s.n) steps.push_back({node_ref::share(s.n), std::move(s.instead)});
    return steps;
  }

 private:
  struct step {
    node* n;  ///< null: it is part of another one now
    node_ref instead;
  };

  /// What stands for `n` when a call absorbs it along with operand k; null: none does.
  node_ref absorbed(const node* n, std::size_t k) {
    node* const x = n->operands()[k];
    const auto at = places_.find(x);
    if (at == places_.end() || x->references.load(std::memory_order_acquire) != 1) return {};
    node* const result = order_[at->second].instead ? order_[at->second].instead.get() : x;
    if (!is_opaque_result(result) || result->operands()[0]->code != op::launch) return {};
    return result->operands()[0]->facts->launch->absorb(result, n, k);
  }

  void put(node* n, node* operand, node_ref instead) {
    order_[places_.at(operand)].n = nullptr;
    if (is_opaque_result(operand)) order_[places_.at(operand->operands()[0])].n = nullptr;
    places_[n] = order_.size();
    order_.push_back({n, std::move(instead)});
  }

  std::vector<step> order_;
  std::unordered_map<const node*, std::size_t> places_;
};

}  // namespace

std::vector<opaque_step> opaque_below(std::span<node* const> roots) {
  if (!has_opaque_below(roots)) return {};
  below_roots found;
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
      found.add(n);
      stack.pop_back();
    }
  }
  return found.take();
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
