// A user's elementwise kernel given as strings, parsed; and its use in the graph.
#pragma once

#include "jit/typing.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sinter::jit {

struct user_parameter {
  std::string type;  ///< a dtype's name, or one letter: a placeholder bound at the call
  std::string name;
  bool is_placeholder() const { return type.size() == 1; }
};

/// Interned: parsed and bound kernels are never freed, so plain pointers to them stay good.
struct user_kernel : std::enable_shared_from_this<user_kernel> {
  std::string name, body, preamble;
  std::vector<user_parameter> inputs, outputs;
  std::vector<std::string> options;
  place site;
  std::uint64_t identity = 0;  ///< equal text and equal bound dtypes, equal identity, within the process

  // bound at a call (a copy of the kernel per combination of dtypes, interned)
  std::vector<dtype> input_types, output_types;
  std::vector<std::pair<char, dtype>> placeholders;
};

/// Parses and checks the strings; throws type_error for unknown dtypes and keywords, error for names that aren't
/// identifiers, are keywords or are used twice. Compiles nothing.
std::shared_ptr<const user_kernel> parse_user_kernel(std::string_view name, std::string_view inputs,
                                                     std::string_view outputs, std::string_view body,
                                                     std::string_view preamble, std::vector<std::string> options,
                                                     const place& at);

/// Records a call; one node per output. Placeholders bind to the arrays' dtypes, then numbers adopt them; a placeholder
/// that only numbers carry binds to their common C++ dtype (bool, i64, f64, c128).
/// Throws type_error (array of another dtype, unbound placeholder) or shape_error.
std::vector<node_ref> record_call(const std::shared_ptr<const user_kernel>& kernel, std::span<const input> operands,
                                  const place& at);

}  // namespace sinter::jit
