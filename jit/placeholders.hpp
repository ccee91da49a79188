// Expressions recorded over placeholders (0-d op::state), one per operand, and the same with arrays in their places.
#pragma once

#include "jit/typing.hpp"

#include <string_view>
#include <vector>

namespace sinter::jit {

class placeholders {
 public:
  /// For a function called `name`. C++ numbers take the dtype that the operands have in common, arrays keep their own.
  placeholders(std::span<const input> operands, std::string_view name, const place& at);

  const std::vector<node_ref>& nodes() const { return nodes_; }

  /// What `expression` over the placeholders is over the operands, broadcast to their common shape. Throws type_error
  /// where it isn't computed element by element, shape_error when it isn't one value per element.
  node_ref apply(node* expression);

 private:
  node_ref instantiate(node* root);
  node_ref replaced(node* n, const std::vector<node_ref>& operands);

  std::string_view name_;
  const place& at_;
  shape extents_;
  std::vector<node_ref> nodes_, operands_;
};

}  // namespace sinter::jit
