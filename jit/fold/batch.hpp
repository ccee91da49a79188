// Pure values that differ in numbers alone, computed together: the operands of a join, and the arrays of an evaluation,
// become one expression with one more axis, along which offsets, indices and numbers vary.
#pragma once

#include "jit/graph.hpp"

#include <span>
#include <utility>
#include <vector>

namespace sinter::jit {

/// Rewrites joins below `roots` whose operands, those of joins inside along the same axis among them, are largely
/// alike: each run of at least 16 that do the same (or repeat a sequence of at most 8 different ones) is one
/// expression. Numbers that progress from one operand to the next become index arithmetic, others a table. What several
/// operands share is computed once, as before. Operands that read different arrays, or that update, scatter or loop
/// inside, stay as they are, and so do those that would take much memory at once or read a large array again and again.
/// For resolve()d graphs, before they are planned; values stay the same. Returns the roots that are but reshapes now.
std::vector<node*> batch_joins(std::span<node* const> roots);

/// The roots of one evaluation, their joins batched. 16 or more that are alike, of at most 256 KiB each, are evaluated
/// as parts of one array, each of which keeps the memory of all alive.
class batched_roots {
 public:
  explicit batched_roots(std::span<node* const> roots);

  /// What to evaluate instead.
  std::span<node* const> roots() const { return roots_; }
  /// Once those have values: gives the arrays theirs. Those left over need an evaluation of their own.
  std::vector<node*> hand_out();

 private:
  struct batch {
    node_ref whole;                ///< [arrays, extents...]
    std::vector<node_ref> arrays;  ///< views of it
  };
  void find_alike(std::span<node* const> roots);
  void take_reshaped(std::span<node* const> reshapes);

  std::span<node* const> roots_;
  std::vector<node*> own_;  ///< what roots_ shows, when it isn't what was given
  std::vector<batch> batches_;
  std::vector<std::pair<node_ref, node_ref>> reshaped_;  ///< roots, and what they have the memory of
};

}  // namespace sinter::jit
