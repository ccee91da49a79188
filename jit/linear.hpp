// Index arithmetic of lowering: linear forms over atoms, with the numbers of this launch.
// An atom is a loop counter or a computed index (a gathered one, a quotient). Views act on vectors of forms, so that
// any chain of slices, flips, transposes, broadcasts and reshapes over memory ends as one offset.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sinter::jit {

struct linear_term {
  std::uint32_t atom;
  std::int64_t factor;  ///< never 0
  friend bool operator==(const linear_term&, const linear_term&) = default;
};

/// constant + the sum of `count` terms from `first` in the store's pool.
struct linear {
  std::int64_t constant = 0;
  std::uint32_t first = 0, count = 0;
};

/// Pool of forms' terms; forms never change once made.
class linear_store {
 public:
  void clear() { pool_.clear(); }
  std::span<const linear_term> terms(const linear& f) const { return {pool_.data() + f.first, f.count}; }

  linear constant(std::int64_t c) const { return {c, 0, 0}; }
  linear atom(std::uint32_t a) {
    pool_.push_back({a, 1});
    return {0, static_cast<std::uint32_t>(pool_.size() - 1), 1};
  }
  /// offset + step * f
  linear affine(std::int64_t offset, std::int64_t step, const linear& f);

  /// Sums of several forms: start(), add(...)..., finish().
  void start() { sum_.clear(); sum_constant_ = 0; }
  void add(const linear& f, std::int64_t times);
  void add_atom(std::uint32_t atom, std::int64_t factor);
  linear finish();

  bool equal_terms(const linear& a, const linear& b) const;

 private:
  std::vector<linear_term> pool_;
  std::vector<linear_term> sum_;
  std::int64_t sum_constant_ = 0;
};

}  // namespace sinter::jit
