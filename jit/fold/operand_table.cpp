#include "jit/fold/operand_table.hpp"

namespace sinter::jit {

namespace {

// Longer expressions gain little: a launch for each of them is mostly work.
constexpr std::size_t most_nodes = 256;

}  // namespace

void operand_table::describe(std::span<node* const> operands) {
  operands_.clear();
  structures_.clear();
  rigid_.clear();
  parameters_.clear();
  variables_.clear();
  users_.clear();
  slots_.clear();
  std::vector<bool> is_small;
  for (node* n : operands) {
    operands_.push_back({n});
    is_small.push_back(mark(n, static_cast<std::uint32_t>(operands_.size())));
  }
  for (std::size_t k = 0; k < operands_.size(); ++k) {
    if (!is_small[k]) continue;
    operand& o = operands_[k];
    o.structure = structures_.describe(o.n, [this](node* n) { return slot_of(n); });
    o.first = parameters_.size();
    const std::vector<std::int64_t>& own = structures_.parameters();
    parameters_.insert(parameters_.end(), own.begin(), own.end());
    note_rigid(o.structure);
  }
}

/// Notes that expression `number` has root and what is below it; false when that is too much.
bool operand_table::mark(node* root, std::uint32_t number) {
  std::size_t count = 0;
  stack_.assign(1, root);
  while (!stack_.empty()) {
    node* n = stack_.back();
    stack_.pop_back();
    if (n->values()) continue;
    epoch_map::entry& e = users_.at(n);
    if (users_.holds(e)) {
      if (e.value != number) e.extra = 1;
      continue;
    }
    users_.set(e, n, 0, number);
    if (++count > most_nodes) return false;
    stack_.insert(stack_.end(), n->operands().begin(), n->operands().end());
  }
  return true;
}

/// The slot of a variable, or -1 for what is looked into.
std::int64_t operand_table::slot_of(node* n) {
  if (!n->values()) {
    const epoch_map::entry& e = users_.at(n);
    if (users_.holds(e) && e.extra == 0) return -1;
  }
  epoch_map::entry& known = slots_.at(n);
  if (!slots_.holds(known)) {
    slots_.set(known, n, 0, static_cast<std::uint32_t>(variables_.size()));
    variables_.push_back(n);
  }
  return known.value;
}

void operand_table::note_rigid(std::int32_t structure) {
  if (static_cast<std::size_t>(structure) < rigid_.size()) return;
  const statement_structure& s = structures_[structure];
  std::vector<bool> rigid(s.parameters);
  for (const statement_node& n : s.nodes) {
    const bool is_number = !n.is_variable && n.code == op::scalar;
    if (n.is_variable || (is_number && (n.type == dtype::boolean || is_complex(n.type)))) rigid[n.parameter] = true;
    if (is_number && is_complex(n.type)) rigid[n.parameter + 1] = true;
  }
  rigid_.push_back(std::move(rigid));
}

bool operand_table::alike(std::size_t i, std::size_t j) const {
  const operand &a = operands_[i], &b = operands_[j];
  if (a.structure < 0 || a.structure != b.structure) return false;
  const std::vector<bool>& rigid = rigid_[static_cast<std::size_t>(a.structure)];
  const std::size_t count = structure_of(i).parameters - 1;
  for (std::size_t p = 0; p < count; ++p)
    if (rigid[p] && parameters_[a.first + p] != parameters_[b.first + p]) return false;
  return true;
}

std::string_view operand_table::difference(std::size_t i, std::size_t j) const {
  const operand &a = operands_[i], &b = operands_[j];
  if (a.structure < 0 || b.structure < 0) return "they have too many operations";
  if (a.n->extents != b.n->extents) return "they have different shapes";
  if (a.structure != b.structure) return "they do different things";
  for (const statement_node& n : structure_of(i).nodes)
    if (n.is_variable && parameters_[a.first + n.parameter] != parameters_[b.first + n.parameter])
      return "they read different arrays";
  return "they have different complex or boolean numbers";
}

}  // namespace sinter::jit
