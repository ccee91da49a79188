// The Omega test without splinters: substitute the equalities away, then eliminate unknowns from the inequalities.
#include "jit/fold/integer_system.hpp"

#include "runtime/error.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

namespace sinter::jit {

namespace {

using answer = integer_system::answer;
__extension__ typedef __int128 wide;  // a sum of two products of numbers within `largest`

constexpr std::int64_t largest = std::int64_t{1} << 61;
constexpr std::size_t most_rows = 400, most_insertions = 2000;  // what is given up there has taken 0.3 ms

bool in_range(wide v) { return -largest <= v && v <= largest; }

/// a / b, rounded down.
std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  const std::int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

/// Rows of numbers, one after another: the constant of a form, then a coefficient for each column.
class row_list {
 public:
  explicit row_list(std::size_t width) : width_(width) {}

  std::size_t size() const { return size_; }
  void reserve(std::size_t rows) { words_.reserve(rows * width_); }
  std::int64_t* operator[](std::size_t k) { return words_.data() + k * width_; }
  const std::int64_t* operator[](std::size_t k) const { return words_.data() + k * width_; }
  void push(const std::int64_t* row) {
    if (words_.size() < (size_ + 1) * width_) words_.resize((size_ + 1) * width_);
    std::copy_n(row, width_, (*this)[size_++]);
  }
  void pop() { --size_; }
  void clear() { size_ = 0; }
  /// The last row takes the place of the k-th.
  void remove(std::size_t k) {
    if (k != --size_) std::copy_n((*this)[size_], width_, (*this)[k]);
  }

 private:
  std::size_t width_, size_ = 0;
  std::vector<std::int64_t> words_;
};

/// What is kept of the rows in which an unknown is eliminated.
enum class shadow {
  exact,  ///< its projection, which has integer points just where the system does; only if it is known exactly
  real,   ///< the projection of the rational points: no solution is lost
  dark,   ///< of that, the part every integer point of which is the projection of one: no solution is added
};

class elimination {
 public:
  elimination(std::size_t unknowns, std::span<const linear_form> equal, std::span<const linear_form> at_least);

  /// Whether the shadow `kept` has integer points; nothing if the exact one is asked for, and more than it is needed.
  std::optional<answer> run(shadow kept);

 private:
  struct choice {
    std::size_t column = 0;  ///< 0: none
    bool exact = false;
  };

  bool import(const linear_form& form);
  void substitute_equality();
  void substitute(std::size_t p);
  void change_unknown(std::size_t p);
  void add_pivot(std::size_t p, std::int64_t sign);
  void insert(std::int64_t* row);
  void merge(const std::int64_t* row, std::uint64_t hash);
  void remove(std::size_t k);
  void take(std::size_t p);
  void put_back();
  void drop_column(std::size_t p);
  choice next_unknown() const;
  void eliminate(std::size_t p, shadow kept);
  bool combine(const std::int64_t* lower, std::int64_t b, const std::int64_t* upper, std::int64_t a, shadow kept);

  std::size_t columns_;  ///< rows use words 0 to columns_ - 1; what is beyond is stale
  std::size_t inserted_ = 0;
  row_list equal_, at_least_, taken_;
  /// Of the rows of at_least_: the sum of their coefficients with the weights of the columns. Opposite rows have
  /// opposite hashes, and a row keeps its hash when a column it does not use is dropped.
  std::vector<std::uint64_t> hashes_, weights_;
  std::vector<std::int64_t> row_, pivot_, bounds_;
  std::optional<answer> settled_;
};

elimination::elimination(std::size_t unknowns, std::span<const linear_form> equal,
                         std::span<const linear_form> at_least)
    : columns_(unknowns + 1),
      equal_(columns_),
      at_least_(columns_),
      taken_(columns_),
      weights_(columns_),
      row_(columns_),
      pivot_(columns_) {
  equal_.reserve(equal.size());
  at_least_.reserve(at_least.size());
  hashes_.reserve(at_least.size());
  taken_.reserve(at_least.size());
  std::uint64_t weight = 1;
  for (std::uint64_t& w : weights_) w = weight *= 0x9e3779b97f4a7c15u;
  bool fits = true;
  for (const linear_form& f : equal) {
    fits = fits && import(f);
    equal_.push(row_.data());
  }
  for (const linear_form& f : at_least) {
    fits = fits && import(f);
    if (fits && !settled_) insert(row_.data());
  }
  if (!fits) settled_ = answer::maybe;
}

/// row_ := form; whether all numbers are in range.
bool elimination::import(const linear_form& form) {
  row_[0] = form.constant;
  std::fill(std::ranges::copy(form.coefficients, row_.begin() + 1).out, row_.end(), 0);
  return std::ranges::all_of(row_, in_range);
}

std::optional<answer> elimination::run(shadow kept) {
  while (!settled_) {
    if (equal_.size() != 0) {
      substitute_equality();
      continue;
    }
    const choice next = next_unknown();
    if (next.column == 0) return answer::yes;  // unknowns without bounds at most
    if (!next.exact && kept == shadow::exact) return {};
    eliminate(next.column, kept);
  }
  return settled_;
}

/// Uses the last equality to express one unknown by the others everywhere. An equality alone has integer solutions
/// unless the greatest common divisor of its coefficients leaves a remainder in the constant.
void elimination::substitute_equality() {
  std::copy_n(equal_[equal_.size() - 1], columns_, pivot_.begin());
  equal_.pop();
  std::int64_t divisor = 0;
  std::size_t p = 0;  // of the smallest coefficient
  for (std::size_t c = 1; c < columns_; ++c) {
    if (pivot_[c] == 0) continue;
    divisor = std::gcd(divisor, pivot_[c]);
    if (p == 0 || std::abs(pivot_[c]) < std::abs(pivot_[p])) p = c;
  }
  if (p == 0 ? pivot_[0] != 0 : pivot_[0] % divisor != 0) settled_ = answer::no;
  if (p == 0 || settled_) return;
  if (divisor != 1)
    for (std::size_t c = 0; c < columns_; ++c) pivot_[c] /= divisor;
  if (std::abs(pivot_[p]) == 1) substitute(p);
  else change_unknown(p);
}

/// x_p has coefficient 1 or -1 in pivot_ == 0, which thereby disappears with it.
void elimination::substitute(std::size_t p) {
  take(p);
  add_pivot(p, -pivot_[p]);
  drop_column(p);
  put_back();
}

/// No coefficient a_c of pivot_ == 0 is 1 or -1: x_p, with the smallest, is replaced by y - the sum of q_c x_c over the
/// others, q_c = floor(a_c / a_p). Integer points correspond one to one, and the coefficients shrink as in Euclid's
/// algorithm. (Pugh's substitution adds an unknown instead.)
void elimination::change_unknown(std::size_t p) {
  take(p);
  equal_.push(pivot_.data());
  const std::int64_t smallest = pivot_[p];
  for (std::size_t c = 0; c < columns_; ++c) pivot_[c] = c == 0 || c == p ? 0 : floor_quotient(pivot_[c], smallest);
  add_pivot(p, -1);
  put_back();
}

/// Adds pivot_, times the coefficient of x_p and `sign`, to each of the equalities and taken inequalities.
void elimination::add_pivot(std::size_t p, std::int64_t sign) {
  for (row_list* rows : {&equal_, &taken_})
    for (std::size_t k = 0; k < rows->size(); ++k) {
      std::int64_t* row = (*rows)[k];
      const wide times = static_cast<wide>(row[p]) * sign;
      for (std::size_t c = 0; c < columns_ && times != 0; ++c) {
        const wide v = row[c] + times * pivot_[c];
        if (!in_range(v)) settled_ = answer::maybe;
        row[c] = static_cast<std::int64_t>(v);
      }
    }
}

/// Moves the inequalities with x_p to taken_.
void elimination::take(std::size_t p) {
  taken_.clear();
  for (std::size_t k = at_least_.size(); k-- > 0;) {
    if (at_least_[k][p] == 0) continue;
    taken_.push(at_least_[k]);
    remove(k);
  }
}

void elimination::put_back() {
  for (std::size_t k = 0; k < taken_.size() && !settled_; ++k) insert(taken_[k]);
}

void elimination::remove(std::size_t k) {
  at_least_.remove(k);
  hashes_[k] = hashes_.back();
  hashes_.pop_back();
}

/// The last column takes the place of column p.
void elimination::drop_column(std::size_t p) {
  --columns_;
  weights_[p] = weights_[columns_];
  for (row_list* rows : {&equal_, &at_least_, &taken_})
    for (std::size_t k = 0; k < rows->size(); ++k) (*rows)[k][p] = (*rows)[k][columns_];
}

/// Adds `row` >= 0, divided by the greatest common divisor of its coefficients and the constant rounded down: no
/// integer point is lost.
void elimination::insert(std::int64_t* row) {
  std::int64_t divisor = 0;
  for (std::size_t c = 1; c < columns_ && divisor != 1; ++c)
    if (row[c] != 0) divisor = std::gcd(divisor, row[c]);
  if (divisor == 0) {
    if (row[0] < 0) settled_ = answer::no;
    return;
  }
  if (++inserted_ > most_insertions) {
    settled_ = answer::maybe;
    return;
  }
  if (divisor != 1) {
    row[0] = floor_quotient(row[0], divisor);
    for (std::size_t c = 1; c < columns_; ++c) row[c] /= divisor;
  }
  std::uint64_t hash = 0;
  for (std::size_t c = 1; c < columns_; ++c) hash += weights_[c] * static_cast<std::uint64_t>(row[c]);
  merge(row, hash);
}

/// Of parallel rows the tightest is kept; two opposite ones may contradict each other, or be an equality.
void elimination::merge(const std::int64_t* row, std::uint64_t hash) {
  const std::size_t none = hashes_.size();
  std::size_t parallel = none, opposite = none;
  for (std::size_t k = 0; k < none; ++k) {
    const std::int64_t* other = at_least_[k];
    if (hashes_[k] == hash && std::equal(row + 1, row + columns_, other + 1)) parallel = k;
    if (hashes_[k] == 0 - hash &&
        std::equal(row + 1, row + columns_, other + 1, [](std::int64_t a, std::int64_t b) { return a == -b; }))
      opposite = k;
  }
  const std::int64_t apart = opposite == none ? 1 : row[0] + at_least_[opposite][0];
  if (apart < 0) {
    settled_ = answer::no;
  } else if (apart == 0) {
    equal_.push(row);
    remove(opposite);
  } else if (parallel != none) {
    at_least_[parallel][0] = std::min(at_least_[parallel][0], row[0]);
  } else if (none == most_rows) {
    settled_ = answer::maybe;
  } else {
    at_least_.push(row);
    hashes_.push_back(hash);
  }
}

/// The unknown to eliminate: one whose projection is exact, that is, where each lower or each upper bound has a unit
/// coefficient; among those the one that leaves the fewest rows, or the first that leaves no more than there are.
elimination::choice elimination::next_unknown() const {
  choice best;
  std::int64_t least = 0;
  for (std::size_t c = 1; c < columns_; ++c) {
    std::int64_t lower = 0, upper = 0, steepest_lower = 0, steepest_upper = 0;
    for (std::size_t k = 0; k < at_least_.size(); ++k) {
      const std::int64_t a = at_least_[k][c];
      lower += a > 0;
      upper += a < 0;
      steepest_lower = std::max(steepest_lower, a);
      steepest_upper = std::max(steepest_upper, -a);
    }
    if (lower == 0 && upper == 0) continue;
    const bool exact = steepest_lower <= 1 || steepest_upper <= 1;
    const std::int64_t added = lower * upper - lower - upper;
    if (exact && added <= 0) return {c, true};
    if (best.column != 0 && (exact != best.exact ? best.exact : added >= least)) continue;
    best = {c, exact};
    least = added;
  }
  return best;
}

/// Fourier-Motzkin elimination: what two opposite bounds of the unknown leave of the others, for all pairs of bounds.
void elimination::eliminate(std::size_t p, shadow kept) {
  take(p);
  bounds_.clear();
  for (std::size_t k = 0; k < taken_.size(); ++k) bounds_.push_back(taken_[k][p]);
  drop_column(p);
  for (std::size_t l = 0; l < taken_.size(); ++l) {
    if (bounds_[l] < 0) continue;
    for (std::size_t u = 0; u < taken_.size(); ++u) {
      if (settled_) return;
      if (bounds_[u] > 0) continue;
      if (combine(taken_[l], bounds_[l], taken_[u], -bounds_[u], kept)) insert(row_.data());
      else settled_ = answer::maybe;
    }
  }
}

/// row_ := what b x + lower >= 0 and -a x + upper >= 0 say without x: a lower + b upper >= 0; whether it is in range.
/// Where that is even (a - 1)(b - 1) or more, the dark shadow, an integer x is between the bounds.
bool elimination::combine(const std::int64_t* lower, std::int64_t b, const std::int64_t* upper, std::int64_t a,
                          shadow kept) {
  const std::int64_t common = std::gcd(a, b);
  for (std::size_t c = 0; c < columns_; ++c) {
    wide v = static_cast<wide>(a / common) * lower[c] + static_cast<wide>(b / common) * upper[c];
    if (c == 0 && kept == shadow::dark) v -= (static_cast<wide>(a - 1) * (b - 1) + common - 1) / common;
    if (!in_range(v)) return false;
    row_[c] = static_cast<std::int64_t>(v);
  }
  return true;
}

}  // namespace

void integer_system::equal_zero(linear_form form) {
  SINTER_CHECK(form.coefficients.size() <= unknowns_);
  equal_.push_back(std::move(form));
}

void integer_system::at_least_zero(linear_form form) {
  SINTER_CHECK(form.coefficients.size() <= unknowns_);
  at_least_.push_back(std::move(form));
}

answer integer_system::has_solution() const {
  elimination real(unknowns_, equal_, at_least_);
  if (const std::optional<answer> settled = real.run(shadow::exact)) return *settled;
  elimination dark = real;
  if (const std::optional<answer> rational = real.run(shadow::real); rational != answer::yes) return *rational;
  return dark.run(shadow::dark) == answer::yes ? answer::yes : answer::maybe;
}

}  // namespace sinter::jit
