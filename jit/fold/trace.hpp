// The trace of statements that wait, folded: the same statements as a tree of loops.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace sinter::jit {

/// The values a parameter takes in the rows of a table loop, relative to the first; equal contents are one object.
using table_column = std::shared_ptr<const std::vector<std::int64_t>>;

/// A number that depends on the counters of the loops around it: constant + sum of coefficients[l] * counter[l], loops
/// numbered from the outermost, plus the row of `column` that loop `column_loop` has come to. Arithmetic wraps.
struct traced_number {
  std::int64_t constant = 0;
  std::vector<std::int64_t> coefficients;  ///< one per loop around it
  table_column column;                     ///< null when affine
  std::int32_t column_loop = -1;           ///< the loop whose counter selects the row
};

/// A statement with its parameters, or a loop over items; in the order in which they run.
struct trace_item {
  std::int32_t statement = -1;             ///< its structure; negative: a loop
  std::vector<traced_number> parameters;   ///< of the statement
  traced_number count;                     ///< of the loop; 0 or less: it has no iterations
  std::vector<trace_item> body;            ///< of the loop

  bool is_loop() const { return statement < 0; }
};

}  // namespace sinter::jit
