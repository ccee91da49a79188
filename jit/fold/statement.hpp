// Statements as a trace has them: what they do, apart from the numbers in it.
#pragma once

#include "jit/graph.hpp"

#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace sinter::jit {

/// Of a number that is no part of the structure. Bits of a whole number, which never is.
inline constexpr std::uint64_t no_fixed_number = std::bit_cast<std::uint64_t>(1.0);

/// One operation of a statement. Its numbers are parameters: the slot of a variable, a scalar, the offsets of a view or
/// of an update's region, one per source axis.
struct statement_node {
  op code;
  dtype type;
  bool is_variable = false;  ///< what a slot holds
  std::uint32_t first_operand = 0, operand_count = 0;
  std::uint32_t parameter = 0;  ///< number of the first one
  shape extents = {};
  std::shared_ptr<const attribute> facts = {};
  place site = {};
  std::uint64_t fixed[2] = {};  ///< of a scalar: statement_number
};

/// target slot := the last node's value. When that is an update, its operand 0 is the variable that it changes.
struct statement_structure {
  std::vector<statement_node> nodes;  ///< operands first
  std::vector<std::uint32_t> operands;
  std::uint32_t parameters = 0;  ///< the last one is the target's slot
  bool updates() const { return !nodes.back().is_variable && nodes.back().code == op::update; }
  std::span<const std::uint32_t> operands_of(const statement_node& n) const {
    return {operands.data() + n.first_operand, n.operand_count};
  }
};

/// Whole floats up to here are parameters that may progress; others are their bits.
inline constexpr std::int64_t most_whole = std::int64_t{1} << 50;

/// A real number as a parameter, and back. `exact`: the few small bit patterns that look like whole numbers.
std::int64_t parameter_of(double x, bool& exact);
double number_of(std::int64_t parameter);

/// Of a scalar's numbers the k-th, whose parameter this is.
double number_of(const statement_node& n, int k, std::int64_t parameter);

/// The parameters of a scalar, and what of its number is part of the structure, one word for each real number.
struct statement_number {
  explicit statement_number(const node& n);
  std::int64_t parameters[2] = {};
  std::uint64_t fixed[2] = {};
  int count = 1;
};

/// Structures by what they are; numbers are given out in order.
class structure_table {
 public:
  /// Describes the statement whose value is `root`; `slot_of` is asked for the slot of each node that may be a
  /// variable, and says -1 for those to be looked into. Afterwards parameters() has all numbers but the target's slot.
  template <class Slot>
  std::int32_t describe(node* root, Slot&& slot_of);

  const statement_structure& operator[](std::int32_t number) const {
    return *structures_[static_cast<std::size_t>(number)];
  }
  std::vector<std::int64_t>& parameters() { return parameters_; }
  /// The structure that came after the last one when that came before, or -1; and that it has come again.
  std::int32_t expected() const { return last_ < 0 ? -1 : followed_by_[static_cast<std::size_t>(last_)]; }
  void follow_expected() { last_ = expected(); }
  /// This one has come.
  void follow(std::int32_t number) {
    if (last_ >= 0) followed_by_[static_cast<std::size_t>(last_)] = number;
    last_ = number;
  }
  const std::vector<std::unique_ptr<statement_structure>>& all() const { return structures_; }
  void clear();

 private:
  struct words_hash {
    std::size_t operator()(const std::vector<std::uint64_t>& words) const;
  };

  void word(std::uint64_t w) { words_.push_back(w); }
  void describe_variable(const node* n, std::int64_t slot);
  void describe_operation(const node* n);
  void describe_facts(const node* n);
  std::int32_t intern();
  std::unique_ptr<statement_structure> built() const;

  std::vector<std::uint64_t> words_;  ///< of the statement being described
  std::vector<std::int64_t> parameters_;
  std::vector<const node*> nodes_;
  std::vector<std::uint32_t> first_parameters_;
  std::vector<bool> is_variable_;
  std::vector<std::uint32_t> operands_;
  std::vector<std::unique_ptr<statement_structure>> structures_;
  std::unordered_map<std::vector<std::uint64_t>, std::int32_t, words_hash> numbers_;
  std::vector<const std::vector<std::uint64_t>*> words_of_;  ///< by structure
  std::vector<std::int32_t> followed_by_;                    ///< by structure: what came after it last time
  std::int32_t last_ = -1;

 public:
  /// Parts of describe(): a node that has been described, or npos.
  static constexpr std::uint32_t npos = 0xffffffffu;
  std::uint32_t position_of(const node* n) const {
    for (std::size_t k = nodes_.size(); k-- > 0;)
      if (nodes_[k] == n) return static_cast<std::uint32_t>(k);
    return npos;
  }
};

template <class Slot>
std::int32_t structure_table::describe(node* root, Slot&& slot_of) {
  words_.clear();
  parameters_.clear();
  nodes_.clear();
  first_parameters_.clear();
  is_variable_.clear();
  operands_.clear();
  const auto walk = [&](auto& self, node* n) -> std::uint32_t {
    if (const std::uint32_t known = position_of(n); known != npos) return known;
    if (const std::int64_t slot = slot_of(n); slot >= 0) {
      describe_variable(n, slot);
    } else {
      std::uint32_t own[4];
      std::vector<std::uint32_t> many;
      const std::size_t count = n->operand_count;
      std::uint32_t* list = own;
      if (count > 4) {
        many.resize(count);
        list = many.data();
      }
      for (std::size_t k = 0; k < count; ++k) list[k] = self(self, n->operands()[k]);
      for (std::size_t k = 0; k < count; ++k) {
        operands_.push_back(list[k]);
        word(list[k]);
      }
      describe_operation(n);
    }
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  };
  walk(walk, root);
  return intern();
}

}  // namespace sinter::jit
