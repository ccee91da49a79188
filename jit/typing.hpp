// dtype rules: what an elementwise operation or a reduction takes and gives (the rules of README.md, "dtypes").
//   Same kind: the wider. Mixed-sign integers: the next signed type holding both; u64 with a signed type is an error.
//   Integer with float: the float. f16 with bf16: f32. Complex wins, with the width of the widest part.
//   A C++ number adopts the array's dtype when its kind fits (else i64, f64, c128); it must be in range.
#pragma once

#include "jit/graph.hpp"

#include <string_view>
#include <utility>

namespace sinter::jit {

/// An operand of a recorded operation: an array's node, or a C++ number that has no dtype of its own yet.
struct input {
  node* array = nullptr;  ///< null: `number`
  sinter::scalar number;
  place site;
  node** spare = nullptr;  ///< where a temporary holds `array`, when the operation may take that reference over
};

/// The operand's node; a temporary gives its reference away.
inline node_ref held(const input& x) {
  node* given = x.spare ? std::exchange(*x.spare, nullptr) : nullptr;
  return given ? node_ref(given) : node_ref::share(x.array);
}

/// The dtype both convert to; throws type_error naming `operation` when there is none.
dtype promote(dtype a, dtype b, std::string_view operation, const place& at);

/// The common dtype of operands, C++ numbers adopting it.
dtype common_type(std::span<const input> operands, std::string_view operation, const place& at);

/// The shape all operands have (those of rank 0 aside), or null when they must broadcast.
inline const shape* shared_extents(std::span<const input> operands) {
  static constexpr shape single;
  const shape* common = &single;
  for (const input& x : operands) {
    if (!x.array || x.array->extents.rank() == 0) continue;
    if (common == &single) common = &x.array->extents;
    else if (*common != x.array->extents) return nullptr;
  }
  return common;
}

/// The shape all operands broadcast to; throws shape_error naming `operation`, both shapes and where they come from.
shape broadcast_extents(std::span<const input> operands, std::string_view operation, const place& at);

/// Records an elementwise operation: finds dtypes by the op's rule, converts and broadcasts operands, checks shapes.
/// Throws type_error, shape_error or device_error at the operands' lines. Launches nothing.
node_ref record(op code, std::span<const input> operands, const place& at);

/// Records a reduction over the axes of `axes` (bit set); `result_type` from the op's rule.
/// Throws shape_error for an empty minimum, maximum, argmin or argmax.
node_ref record_reduction(op code, const input& source, std::uint32_t axes, bool keep_dims, const place& at);

/// Records a scan along `axis`: the shape of the source, dtypes as for the reduction of the same name.
node_ref record_scan(op code, const input& source, int axis, const place& at);

}  // namespace sinter::jit
