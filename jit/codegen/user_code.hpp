// The user's elementwise kernels of one generated source: each in a namespace of its own, with its placeholders' types
// and preamble, the user's text under #line so that messages speak of the user's own lines.
#pragma once

#include "jit/codegen/dialect.hpp"
#include "jit/cache/key.hpp"

#include <string>
#include <vector>

namespace sinter::jit {

class user_code {
 public:
  explicit user_code(kernel_list parts);
  std::string source(dialect d) const;
  /// "squared_diff::apply": what a call is spelled.
  std::string function_of(const user_kernel& u) const;

 private:
  void add(const user_kernel* kernel);

  std::vector<const user_kernel*> kernels_;
  std::vector<std::string> spaces_;
};

}  // namespace sinter::jit
