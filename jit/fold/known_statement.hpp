// A quick look at a statement that is expected to be like an earlier one, as almost all statements of a loop are.
#pragma once

#include "jit/fold/statement.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace sinter::jit {

/// Which node has the values of each slot after the statements so far, and back.
class slot_nodes {
 public:
  struct entry {
    node* n = nullptr;
    std::uint32_t reads = 0;  ///< operands of statements before, which still live, that are n
  };

  /// The slot whose values `n` has, or -1.
  std::int64_t slot_of(const node* n) {
    std::uint32_t& guess = guesses_[place_of(n)];
    if (has(guess, n)) return guess;
    return search(n, guess);
  }
  void set(std::int64_t slot, node* n) {
    const auto s = static_cast<std::size_t>(slot);
    if (s >= entries_.size()) entries_.resize(s + 1);
    entries_[s] = {n, 0};
    guesses_[place_of(n)] = static_cast<std::uint32_t>(s);
  }
  void forget(std::int64_t slot) {
    if (slot < size()) entries_[static_cast<std::size_t>(slot)] = {};
  }
  entry& at(std::int64_t slot) { return entries_[static_cast<std::size_t>(slot)]; }
  bool has(std::int64_t slot, const node* n) { return slot < size() && at(slot).n == n; }
  std::int64_t size() const { return static_cast<std::int64_t>(entries_.size()); }
  void clear() { entries_.clear(); }

 private:
  static std::size_t place_of(const node* n) {
    return reinterpret_cast<std::uintptr_t>(n) * 0x9e3779b97f4a7c15ull >> 56;
  }
  std::int64_t search(const node* n, std::uint32_t& guess) const;

  std::vector<entry> entries_;
  std::array<std::uint32_t, 256> guesses_{};  // by address of the node; as good as what entries_ has there
};

/// A structure, laid out for comparing statements with it: no tables, no hashes, some tens of instructions a node.
class known_statement {
 public:
  explicit known_statement(const statement_structure& s);

  /// What matches() finds out.
  struct findings {
    std::vector<std::int64_t> parameters;  ///< as describe() has them, and room for the target's slot; maybe more
    std::vector<std::int64_t> dying;       ///< slots of variables that nobody can read after this statement
    std::int64_t base = -1;                ///< the slot that an update changes
    std::vector<node*> nodes;              ///< room to work in
  };

  /// Has to be called before matches() with these findings.
  void make_room(findings& found) const;

  /// Whether `root` has this structure, where each variable is the node of a slot, nobody but the statement holds one
  /// of its operations, and nobody but it, statements before and the trace the base of an update. Then describing it
  /// would come to this very structure and the same parameters, its operations can't be of interest to anyone later,
  /// and the base's slot can be overwritten. False says nothing. For the holder of hold_operands().
  bool matches(node* root, slot_nodes& slots, findings& found);

  /// How many parameters there are with the target's slot, the last.
  std::size_t parameters() const { return parameters_; }

 private:
  friend class foreseen_statement;

  /// What an operation has beside operands.
  enum class beside : std::uint8_t { nothing, number, offsets, kernel, facts };

  struct part {
    op code;
    dtype type;
    std::uint16_t operand_count;
    bool is_variable, is_base = false;
    beside has;
    std::uint32_t uses = 0;  ///< operands of the statement's operations that are this node
    std::uint32_t first_edge, parameter;
    const statement_node* what;
    std::int64_t slot = std::int64_t{1} << 62;  ///< of a variable: which it was last time, so that its shape is right
  };
  /// An operand: a part, met for the first time or again.
  struct edge {
    std::uint32_t to;
    bool again;
  };

  static beside beside_operands(const statement_node& n);
  static bool is_like(const part& p, const node& n);
  static bool is_beside(const part& p, const node& n, std::int64_t* parameters);
  static bool is_map(const part& p, const axis_maps& map, std::int64_t* parameters);
  static bool is_beside_rarely(const part& p, const node& n, std::int64_t* parameters);
  static bool has_moved(part& p, const node* n, slot_nodes& slots);
  bool variables_differ(node* const* nodes) const;

  std::vector<part> parts_;  ///< the root first, operands after what uses them
  std::vector<edge> edges_;
  std::vector<std::uint32_t> variables_;  ///< which of the parts
  std::size_t parameters_;
  bool updates_;
  bool is_comparable_ = true;
};

}  // namespace sinter::jit
