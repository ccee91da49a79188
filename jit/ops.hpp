// Operations: the enumeration and table made from ops.def.
#pragma once

#include <cstdint>
#include <string_view>

namespace sinter::jit {

/// How an operation finds its dtypes; see typing.hpp.
enum class rule : std::uint8_t {
  none, number, orderable, magnitude, inexact, real, rounding, complex, part, pair, equality, compare, test, test_real,
  logical, bits, shift, words, choice, reduce_sum, reduce_order, reduce_index, reduce_spread
};

enum class op : std::uint8_t {
#define SINTER_OP(id, arity, rule, commutes, cost, text) id,
#include "ops.def"
  count_
};

struct op_info {
  std::string_view name;
  std::uint8_t arity;
  rule typing;
  bool commutes;
  std::uint8_t cost;
  std::string_view text;
};

inline constexpr op_info op_table[] = {
#define SINTER_OP(id, arity, rule_, commutes, cost, text) {#id, arity, rule::rule_, commutes, cost, text},
#include "ops.def"
};

constexpr const op_info& info(op code) { return op_table[static_cast<int>(code)]; }
/// Whether each element of the result needs just the same element of each operand.
constexpr bool is_elementwise(op code) { return code >= op::add && code <= op::convert; }
/// Whether it is a call of a user's kernel that fuses with what surrounds it.
constexpr bool is_fused_call(op code) { return code == op::call || code == op::raw_call; }
constexpr bool is_reduction(op code) { return code >= op::reduce_sum && code <= op::reduce_call; }
constexpr bool is_scan(op code) { return code >= op::scan_sum && code <= op::scan_max; }

}  // namespace sinter::jit
