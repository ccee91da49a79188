// The naive interpreter: what every statement of a program must do, one element at a time on the host.
#pragma once

#include "tests/fuzz/operations.hpp"
#include "tests/fuzz/step.hpp"
#include "tests/fuzz/values.hpp"

#include <algorithm>
#include <span>

namespace sinter_test::fuzz {

inline constexpr int variable_count = 9;
inline constexpr std::int64_t most_elements = 6000;
/// A variable has more elements only if it is made of one that has; then as many, and some.
inline constexpr std::int64_t most_long_elements = 72000;
inline constexpr std::int64_t most_products = 400000;  ///< of one product of matrices
constexpr std::int64_t size_limit(std::int64_t operand) {
  return operand <= most_elements ? most_elements : std::min(operand, most_long_elements) + most_elements;
}
inline constexpr int most_axes = 5;

struct outcome {
  bool skipped = false;  ///< its result can't be told: leave it out
  unsigned errors = 0;   ///< what the library must throw, any of; 0: nothing
};

/// The variables of a program, from the first statement on.
class reference {
 public:
  /// Runs one statement; where that fails all variables are as they were.
  outcome run(const step& s);
  const variable& operator[](int k) const { return variables_[static_cast<std::size_t>(k)]; }

 private:
  void execute(const step& s);
  variable result_of(const step& s) const;
  const variable& operand(const step& s, std::size_t k) const { return (*this)[s.from.at(k)]; }

  variable variables_[variable_count];
};

// Parts of it; all throw refused or unpredictable.
using pool = std::span<const variable>;
variable joined(const step& s, pool variables);
variable reduced(const step& s, pool variables);
variable scanned(const step& s, const variable& x);
variable differences(const step& s, pool variables);
/// softmax and its logarithm.
variable shared(const step& s, const variable& x);
variable multiplied(const step& s, pool variables);
variable picked_by_value(const step& s, pool variables);
/// The target of assign, scatter, put or put_along_axis afterwards.
variable written(const step& s, pool variables);
variable read_by_index(const step& s, pool variables);
variable called(const step& s, pool variables);
/// target op= x, whole.
variable compounded(binary op, const variable& target, const term& x);

}  // namespace sinter_test::fuzz
