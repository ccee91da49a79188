// Expressions side by side: what each computes, apart from the numbers in it, so that equal ones can be told.
#pragma once

#include "jit/epoch_map.hpp"
#include "jit/fold/statement.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sinter::jit {

/// The expressions of one join, or of one evaluation, as structures and parameters. What is in memory, and pending
/// nodes that several of the expressions use, are variables: expressions that are alike share them. So each node is
/// described once, and what is shared is computed once.
class operand_table {
 public:
  void describe(std::span<node* const> operands);

  std::size_t size() const { return operands_.size(); }
  node* operator[](std::size_t k) const { return operands_[k].n; }
  /// Whether two compute the same, from the same variables, with numbers that may differ.
  bool alike(std::size_t i, std::size_t j) const;
  /// Why two aren't alike.
  std::string_view difference(std::size_t i, std::size_t j) const;

  bool too_large(std::size_t k) const { return operands_[k].structure < 0; }
  const statement_structure& structure_of(std::size_t k) const { return structures_[operands_[k].structure]; }
  std::span<const std::int64_t> parameters_of(std::size_t k) const {
    return {parameters_.data() + operands_[k].first, structure_of(k).parameters - 1};
  }
  /// Whether a parameter has to be the same in expressions that are alike: a variable, or part of a complex or boolean
  /// number.
  bool is_rigid(std::size_t k, std::size_t parameter) const {
    return rigid_[static_cast<std::size_t>(operands_[k].structure)][parameter];
  }
  node* variable(std::int64_t slot) const { return variables_[static_cast<std::size_t>(slot)]; }

 private:
  struct operand {
    node* n;
    std::int32_t structure = -1;  ///< -1: too large
    std::size_t first = 0;        ///< of its parameters
  };

  bool mark(node* root, std::uint32_t number);
  std::int64_t slot_of(node* n);
  void note_rigid(std::int32_t structure);

  std::vector<operand> operands_;
  structure_table structures_;
  std::vector<std::vector<bool>> rigid_;    ///< by structure, then parameter
  std::vector<std::int64_t> parameters_;    ///< of all operands
  std::vector<node*> variables_;            ///< by slot
  std::vector<node*> stack_;
  epoch_map users_;  ///< node -> the first operand that it is part of, plus 1; extra: others have it, too
  epoch_map slots_;
};

}  // namespace sinter::jit
