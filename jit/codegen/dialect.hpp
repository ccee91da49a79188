// The two languages kernels are written in, and what dtypes are called in both.
#pragma once

#include "runtime/types.hpp"

#include <string_view>

namespace sinter::jit {

/// CUDA C++ for NVRTC, or C++17 without headers for the system's compiler.
enum class dialect : unsigned char { cuda, host };

/// The type of an element in memory.
constexpr std::string_view c_type(dtype t) {
  constexpr std::string_view names[dtype_count] = {
      "bool", "signed char", "short", "int", "long long", "unsigned char", "unsigned short", "unsigned int",
      "unsigned long long", "float16", "bfloat16", "float", "double", "complex<float>", "complex<double>"};
  return names[static_cast<int>(t)];
}

/// The type of a value in a register: f16 and bf16 are held as float, rounded after each operation.
constexpr std::string_view register_type(dtype t) {
  return t == dtype::f16 || t == dtype::bf16 ? std::string_view("float") : c_type(t);
}

/// What follows the name of a libm function ("sin" + "f") that computes in t's register type. Complex functions are
/// overloads without suffix.
constexpr std::string_view math_suffix(dtype t) { return register_type(t) == "float" ? "f" : ""; }

/// The function that rounds a float or double register to t's own grid; empty for dtypes that have their own type.
constexpr std::string_view rounding_function(dtype t) {
  return t == dtype::f16 ? "round_float16" : t == dtype::bf16 ? "round_bfloat16" : "";
}

/// The function that makes an element in memory from a register; empty where they are the same type.
constexpr std::string_view storing_function(dtype t) {
  return t == dtype::f16 ? "to_float16" : t == dtype::bf16 ? "to_bfloat16" : "";
}

}  // namespace sinter::jit
