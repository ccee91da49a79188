// Lowering: a group of nodes over one domain -> kernel IR, and apart from it the numbers of this launch.
// Runs at every evaluation (it is as cheap as hashing the graph would be), so nothing here builds text or allocates once
// its buffers have grown.
#pragma once

#include "jit/engine.hpp"
#include "jit/graph.hpp"
#include "jit/ir.hpp"
#include "jit/linear.hpp"

#include <span>
#include <vector>

namespace sinter::jit {

/// A pointer parameter waiting for memory: the values of `source`, `offset` elements in.
struct pending_pointer {
  std::uint32_t parameter;
  node* source;
  std::int64_t offset;
  bool aligned_steps;  ///< every other term of the access is a multiple of the vector length
};

/// Everything about one launch but the compiled function.
struct lowered {
  kernel ir;
  arguments numbers;
  std::vector<pending_pointer> pointers;
  std::vector<place> check_sites;  ///< by check ordinal: where the index was written
  int lanes = 1;                   ///< elements of the inner dim a cuda thread takes at once
};

/// What lowering asks about a node: whether its values are in memory (or will be, from an earlier group).
class stored_values {
 public:
  virtual bool contains(const node* n) const = 0;

 protected:
  ~stored_values() = default;
};

/// Lowers `outputs`, all of one shape, to one kernel. `for_cuda` allows 32-bit indices and whole-vector access.
void lower(std::span<node* const> outputs, const stored_values& stored, const options& how, bool for_cuda, lowered& out);

/// Once memory is known: fills in pointers and which of them may be accessed in whole vectors.
void bind_pointers(lowered& l, void* (*memory_of)(void* context, const node* n), void* context);

}  // namespace sinter::jit
