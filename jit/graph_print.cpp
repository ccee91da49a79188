// The pending graph as text, one node a line, operands before users.
#include "jit/graph.hpp"

#include <fmt/format.h>

#include <unordered_map>

namespace sinter::jit {

namespace {

std::string fact(const node* n) {
  if (n->code == op::scalar) {
    switch (n->number.type) {
      case dtype::boolean: return n->number.as_bool ? " true" : " false";
      case dtype::i64: return fmt::format(" {}", n->number.as_i64);
      case dtype::u64: return fmt::format(" {}", n->number.as_u64);
      case dtype::c128: return fmt::format(" {} + {}i", n->number.as_c128.re, n->number.as_c128.im);
      default: return fmt::format(" {}", n->number.as_f64);
    }
  }
  std::string text;
  if (n->code == op::view)
    for (const axis_map& a : n->facts->view)
      text += a.axis < 0 ? fmt::format(" [{}]", a.offset) : fmt::format(" [{} + {} * i{}]", a.offset, a.step, a.axis);
  if (is_reduction(n->code))
    for (int k = 0; k < max_rank; ++k)
      if (n->facts->reduced >> k & 1) text += fmt::format(" axis {}", k);
  return text;
}

}  // namespace

std::string to_string(std::span<node* const> roots) {
  std::unordered_map<const node*, std::size_t> number;
  std::vector<std::pair<node*, std::size_t>> stack;
  std::string text;
  const auto done = [&](const node* n) { return number.contains(n); };
  for (node* root : roots) {
    stack.assign(1, {root, 0});
    while (!stack.empty()) {
      auto& [n, next] = stack.back();
      const std::size_t operands = n->values() ? 0 : n->operand_count;
      if (!done(n) && next < operands) {
        node* x = n->operands()[next++];
        if (!done(x)) stack.push_back({x, 0});
        continue;
      }
      node* current = n;
      stack.pop_back();
      if (!number.try_emplace(current, number.size()).second) continue;
      std::string line =
          fmt::format("%{} = {}", number.size() - 1, current->values() ? "values" : info(current->code).name);
      for (std::size_t k = 0; k < operands; ++k)
        line += fmt::format("{} %{}", k ? "," : "", number.at(current->operands()[k]));
      if (!current->values()) line += fact(current);
      text += fmt::format("{:<40} {}{}  {}:{}\n", line, to_string(current->type), sinter::to_string(current->extents),
                          current->site.file, current->site.line);
    }
  }
  return text;
}

}  // namespace sinter::jit
