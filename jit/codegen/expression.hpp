// The text of one instruction's value, and the names that generated code uses.
#pragma once

#include "jit/codegen/dialect.hpp"
#include "jit/ir.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sinter::jit {

/// Names by role: inputs a0.., outputs out0.., scalars c0.., extents n0.., strides s0.., values v0...
class name_table {
 public:
  explicit name_table(const kernel& k);
  const std::string& parameter(std::uint32_t p) const { return parameters_[p]; }
  /// The name it has among a function's parameters, where fixed ones go by their numbers.
  const std::string& declared(std::uint32_t p) const { return declared_[p]; }
  /// Scalars go by their parameter's name, what each lane has its own of by its place in an array: "v3[lane]".
  std::string value(jit::value v) const;
  std::string_view suffix(jit::value v) const { return arrays_[raw(v)] ? place_ : ""; }
  /// "[lane]" unless said otherwise.
  void set_place(std::string_view place) { place_ = place; }
  bool is_array(jit::value v) const { return arrays_[raw(v)]; }
  void set_array(jit::value v, bool is = true) { arrays_[raw(v)] = is; }
  /// "d3", unless it is called otherwise for a while.
  const std::string& dim(std::uint32_t d) const { return dims_[d]; }
  std::string call_dim(std::uint32_t d, std::string name) { return std::exchange(dims_[d], std::move(name)); }
  /// A form's text, the innermost counter of the domain spelled `inner`.
  std::string form(std::uint32_t f, std::string_view inner) const;

 private:
  const kernel& k_;
  std::vector<std::string> parameters_, declared_, dims_;
  std::vector<bool> arrays_;
  std::string_view place_ = "[lane]";
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

/// The accumulator (jit/device/accumulate.cuh) of a reduction, but for a user's, or of a scan.
std::string accumulator_type(const kernel& k, const inst& reduce);

}  // namespace sinter::jit
