// What the functions made of reductions share. Not installed.
#pragma once

#include "dsl/record_internal.hpp"

namespace sinter {

inline array reduced(jit::op code, const array& x, std::uint32_t axes, bool keep, const place& at) {
  return wrap(jit::record_reduction(code, input_of(x, at), axes, keep, at));
}

/// The dtype sums of products and quotients are computed in: f16 would overflow, integers lose nothing in f64.
constexpr dtype working_type(dtype type) {
  if (is_integer_or_bool(type)) return f64;
  return size_of(type) == 2 ? f32 : type;
}
/// The dtype such a result is in.
constexpr dtype inexact_type(dtype type) { return is_integer_or_bool(type) ? f64 : type; }
/// Of real and imaginary parts.
constexpr dtype part_type(dtype type) { return type == c64 ? f32 : type == c128 ? f64 : type; }

/// For operations that need an order: throws type_error for complex numbers, shape_error when the axes hold no
/// elements.
void check_order(const array& x, std::uint32_t axes, std::string_view operation, const place& at);

}  // namespace sinter
