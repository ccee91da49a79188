// What is left of many elements: the reference's sums, products and extremes, of elements one after another, so that
// scans are made of them, too; and moments. Everything is exact where every order of the elements gives the same, and
// else as far off as README.md allows: sums of f32 add up in f64, those of f64 compensate, results round once.
#pragma once

#include "tests/fuzz/step.hpp"
#include "tests/fuzz/values.hpp"

namespace sinter_test::fuzz {

/// A sum of reals.
class real_total {
 public:
  void add(long double x, double error);
  /// Rounded to `t` from what it is accumulated in; `stepwise`: after each step. Throws unpredictable near overflow.
  cell result(sinter::dtype t, bool stepwise = false) const;

 private:
  long double sum_ = 0, lost_ = 0, magnitude_ = 0, error_ = 0;
  std::int64_t count_ = 0;
  bool up_ = false, down_ = false, nan_ = false;
  int unit_ = 100000;  ///< all are multiples of 2^unit
};

/// A product of reals, or of complex numbers that are whole.
class number_product {
 public:
  void add(const cell& c);
  /// Throws unpredictable near overflow, for numbers that aren't finite or exact, and for other complex ones.
  cell result(sinter::dtype t, bool stepwise = false) const;

 private:
  cell real_value(sinter::dtype t, bool stepwise) const;

  value product_ = {1, 0};
  long double bound_ = 1;
  std::int64_t count_ = 0;
  int bits_ = 0, exponents_ = 0;
  bool zero_ = false, whole_ = true, fine_ = true;
};

/// The least or greatest, and where it is first; NaN wins.
class extreme {
 public:
  extreme(bool least, bool real) : least_(least), real_(real) {}
  void add(const cell& c);
  cell result() const;
  std::int64_t position() const { return at_; }

 private:
  bool least_, real_, soft_ = false;
  value best_;
  std::int64_t at_ = -1, count_ = 0;
  double error_ = 0;
};

/// Sum, product, least or greatest of elements of one dtype, which sums and products of integers widen.
class running_result {
 public:
  /// `op` is sum, prod, min or max.
  running_result(reduction op, sinter::dtype t);
  void add(const cell& c);
  cell result() const { return found(false); }
  /// In any order, each step rounded to the dtype: what scatter does.
  cell stepwise() const { return found(true); }
  /// For further computation: if it had to be rounded, one may not count on that.
  cell kept() const;

 private:
  cell found(bool stepwise) const;

  reduction op_;
  sinter::dtype type_;
  std::uint64_t whole_;
  real_total re_, im_;
  number_product product_;
  extreme extreme_;
};

/// The elements of a moment: of `type`, given in the dtype to compute in.
struct sample {
  std::vector<cell> cells;
  sinter::dtype type;
  bool masked;
};

/// What an operation of reals or complex numbers computes in, and the dtype of its result.
sinter::dtype working_type(sinter::dtype t);
sinter::dtype inexact_type(sinter::dtype t);

cell mean_of(const sample& s);
/// Variance, or its root.
cell variance_of(const sample& s, std::int64_t ddof, bool root);

/// The root of a number that is no less than 0; an operation of the reals of `t`.
cell root_of(const cell& c, sinter::dtype t);
/// Converted to a narrower dtype of the same kind, or the same.
cell narrowed(cell c, sinter::dtype from, sinter::dtype to);

}  // namespace sinter_test::fuzz
