// The same statements through the library.
#pragma once

#include "dsl/axes.hpp"
#include "tests/fuzz/step.hpp"

namespace sinter_test::fuzz {

sinter::scalar scalar_of(const number& n);
/// The list, even when it is empty.
sinter::axes axes_of(const std::vector<std::int64_t>& list);

/// The arrays of a program.
class library {
 public:
  explicit library(int count) : arrays_(static_cast<std::size_t>(count)) {}
  /// Records one statement; throws what the library throws.
  void run(const step& s);
  sinter::array& operator[](int k) { return arrays_[static_cast<std::size_t>(k)]; }
  /// Evaluates all.
  void settle();

 private:
  sinter::array result_of(const step& s);
  void assign(const step& s);
  void scatter(const step& s);
  sinter::array joined(const step& s);
  sinter::array along_rows(const step& s);
  sinter::array reduced(const step& s);
  sinter::array reduced_by_name(const step& s);
  sinter::array reshaped(const step& s);
  std::vector<sinter::array> operands(const step& s);

  std::vector<sinter::array> arrays_;
};

}  // namespace sinter_test::fuzz
