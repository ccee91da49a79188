// The user's kernels of one generated source: each in a namespace of its own, with its placeholders' types and
// preamble, the user's text under #line so that messages speak of the user's own lines.
//
// An elementwise kernel is a function `apply(inputs..., outputs&...)`; one with code around its loop a function
// `run(raw arrays and numbers..., loop)`, which calls `loop(each)`, and that `each(inputs..., outputs&...)`. A
// reduction is a trivially copyable accumulator:
//
//   l2_kernel::accumulation total;   // of nothing
//   total.add(inputs...);            // reduces the map of one more element into it
//   total.merge(other);              // and all that another one has seen; elements in any order
//   total.result(outputs&...);       // with the identity, if there is one, reduced into it once; then the post-map
//
// Map, reduce, identity and post-map are functions, never macros: operands are evaluated once, and what one of them
// names captures nothing in another.
#pragma once

#include "jit/codegen/dialect.hpp"
#include "jit/cache/key.hpp"

#include <string>
#include <vector>

namespace sinter::jit {

class writer;

class user_code {
 public:
  explicit user_code(kernel_list parts);
  std::string source(dialect d) const;
  /// "squared_diff_kernel::apply": what a call is spelled.
  std::string function_of(const user_kernel& u) const;
  /// "histogram_kernel::run": likewise, of a kernel with code around its loop.
  std::string loop_of(const user_kernel& u) const;
  /// "l2_kernel::accumulation": the accumulator of a reduction.
  std::string accumulator_of(const user_kernel& u) const;

  /// "squared_diff_kernel": the namespace of all that is a kernel's own.
  const std::string& space_of(const user_kernel& u) const;

 private:
  void add(const user_kernel* kernel);

  std::vector<const user_kernel*> kernels_;
  std::vector<std::string> spaces_;
};

}  // namespace sinter::jit
