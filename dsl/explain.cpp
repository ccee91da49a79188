#include "dsl/explain.hpp"

#include "jit/engine.hpp"

#include <vector>

namespace sinter {

std::string explain_all(std::span<const array* const> arrays) {
  std::vector<jit::node*> roots;
  for (const array* a : arrays) roots.push_back(a->node());
  return jit::explain(roots);
}

}  // namespace sinter
