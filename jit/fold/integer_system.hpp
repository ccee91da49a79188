// Systems of linear equalities and inequalities over the integers: whether they have a solution. Two accesses of a
// loop nest touch one location exactly when such a system, of subscripts and loop bounds, has one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sinter::jit {

/// constant + the sum of coefficients[v] * x[v]; coefficients left out at the end are 0.
struct linear_form {
  std::int64_t constant = 0;
  std::vector<std::int64_t> coefficients;
};

/// Equalities (form == 0) and inequalities (form >= 0) over integer unknowns that are otherwise unbounded.
/// The test is Pugh's ("The Omega test: a fast and practical integer programming algorithm for dependence analysis",
/// Supercomputing 1991), without its splinters; the greatest common divisor test within it is described by Banerjee
/// ("Dependence Analysis for Supercomputing", 1988). Its cost does not depend on how far the bounds are apart.
class integer_system {
 public:
  explicit integer_system(std::size_t unknowns) : unknowns_(unknowns) {}

  std::size_t unknowns() const { return unknowns_; }
  /// One more unknown, in none of the forms so far: its number.
  std::size_t add_unknown() { return unknowns_++; }

  void equal_zero(linear_form form);
  void at_least_zero(linear_form form);

  enum class answer { no, yes, maybe };
  /// Whether there is an integer solution. `no` and `yes` are proven; `maybe` where the test stops short of a proof:
  /// there are rational solutions, but none so far from the edges that an integer one must be near (the dark shadow is
  /// empty); numbers grow beyond 2^61; or there are more than 400 inequalities at once, or 2000 on the way.
  answer has_solution() const;

 private:
  std::size_t unknowns_;
  std::vector<linear_form> equal_, at_least_;
};

}  // namespace sinter::jit
