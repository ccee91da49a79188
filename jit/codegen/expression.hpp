// The text of one instruction's value, and the names that generated code uses.
#pragma once

#include "jit/codegen/dialect.hpp"
#include "jit/ir.hpp"

#include <string>
#include <vector>

namespace sinter::jit {

/// Names by role: inputs a0.., outputs out0.., scalars c0.., extents n0.., strides s0.., values v0...
class name_table {
 public:
  explicit name_table(const kernel& k);
  const std::string& parameter(std::uint32_t p) const { return parameters_[p]; }
  /// Scalars go by their parameter's name.
  std::string value(jit::value v) const;
  /// A form's text, the innermost counter of the domain spelled `inner`.
  std::string form(std::uint32_t f, std::string_view inner) const;

 private:
  const kernel& k_;
  std::vector<std::string> parameters_;
};

/// Index values are kept in the kernel's index type, all others in their dtype's register type.
std::string value_type(const kernel& k, const inst& i);

/// A value as an operand: its name, widened when it is an index value.
std::string operand(const kernel& k, const name_table& names, value v);

/// The expression that computes instruction `v` (elementwise operations, forms, quotients, results).
std::string expression(const kernel& k, const name_table& names, std::uint32_t v, dialect d);

/// -x.
std::string negation(dtype type, const std::string& x);

/// What atomic instruction `i` makes of the element `old` and the value `fresh` of dtype `in`, both names of registers.
std::string combination(const inst& i, dtype in, const std::string& old, const std::string& fresh);

/// The accumulator (jit/device/accumulate.cuh) of a reduce instruction.
std::string accumulator_type(const kernel& k, const inst& reduce);

}  // namespace sinter::jit
