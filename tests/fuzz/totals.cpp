#include "tests/fuzz/totals.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace sinter_test::fuzz {

using namespace sinter;

namespace {

constexpr long double infinity = std::numeric_limits<long double>::infinity();
constexpr long double nan_value = std::numeric_limits<long double>::quiet_NaN();

/// x = m * 2^e with an odd integer m: {bits of m, e}.
struct odd_form {
  int bits, exponent;
};
odd_form odd_form_of(long double x) {
  int exponent = 0;
  const auto whole = static_cast<std::uint64_t>(std::ldexp(std::frexp(std::abs(x), &exponent), 64));
  const int zeros = std::countr_zero(whole);
  return {64 - zeros, exponent - 64 + zeros};
}

/// The bits that sums and products are sure to be accumulated with: f16 and bf16 in f32 or wider, f32 in f64.
int accumulated_digits(dtype t, bool stepwise) { return stepwise ? digits_of(t) : size_of(real_of(t)) == 2 ? 24 : 53; }

/// How far off the accumulated sum of n numbers may be, relative to the sum of their magnitudes.
double accumulated_error(std::int64_t n, dtype t, bool stepwise) {
  const double steps = static_cast<double>(n + 2) * std::ldexp(1.0, -accumulated_digits(t, stepwise));
  return real_of(t) == f64 && !stepwise ? steps * steps : steps;
}

}  // namespace

// ---- Sums ----

void real_total::add(long double x, double error) {
  ++count_;
  error_ += error;
  nan_ |= std::isnan(x);
  up_ |= std::isinf(x) && x > 0;
  down_ |= std::isinf(x) && x < 0;
  if (x == 0 || !std::isfinite(x)) return;
  unit_ = std::min(unit_, odd_form_of(x).exponent);
  magnitude_ += std::abs(x);
  const long double next = sum_ + x;  // what the larger one loses of the smaller is kept apart
  lost_ += std::abs(sum_) < std::abs(x) ? (x - next) + sum_ : (sum_ - next) + x;
  sum_ = next;
}

cell real_total::result(dtype t, bool stepwise) const {
  if (magnitude_ > largest_of(t) / 4) throw unpredictable{};
  if (nan_ || (up_ && down_)) return {{nan_value, 0}, 0};
  if (up_ || down_) return {{up_ ? infinity : -infinity, 0}, 0};
  const auto error = static_cast<double>(error_);
  if (magnitude_ == 0) return {{0, 0}, error + (count_ == 0 ? 0 : zero_of_either_sign)};
  const long double sum = sum_ + lost_;
  if (error == 0 && magnitude_ <= std::ldexp(1.0L, accumulated_digits(t, stepwise) + unit_))
    return {{rounded(sum, t), 0}, sum == 0 ? zero_of_either_sign : 0};
  const double accumulating = static_cast<double>(magnitude_) * (accumulated_error(count_, t, stepwise) + 0x1p-62);
  return {{rounded(sum, t), 0}, error + accumulating + step_at(std::abs(sum) + error, t)};
}

// ---- Products ----

void number_product::add(const cell& c) {
  const value &x = c.v, before = product_;
  ++count_;
  fine_ &= std::isfinite(x.re) && std::isfinite(x.im) && c.error == 0;
  if (!fine_) return;
  product_ = {before.re * x.re - before.im * x.im, before.re * x.im + before.im * x.re};
  whole_ &= x.re == std::trunc(x.re) && x.im == std::trunc(x.im);
  bound_ *= std::abs(x.re) + std::abs(x.im);
  zero_ |= x.re == 0;
  if (x.re == 0) return;
  const odd_form f = odd_form_of(x.re);
  bits_ += f.bits;
  exponents_ += f.bits + std::abs(f.exponent);
}

cell number_product::result(dtype t, bool stepwise) const {
  if (!fine_) throw unpredictable{};
  if (!is_complex(t)) return real_value(t, stepwise);
  if (!whole_ || !(bound_ <= std::ldexp(1.0L, digits_of(t)))) throw unpredictable{};
  const bool some_zero = product_.re == 0 || product_.im == 0;
  return {product_, some_zero && count_ > 0 ? zero_of_either_sign : 0};
}

cell number_product::real_value(dtype t, bool stepwise) const {
  const int digits = accumulated_digits(t, stepwise);
  const int reach = digits == 53 ? 1000 : stepwise && t == f16 ? 14 : 120;
  if (exponents_ > reach) throw unpredictable{};  // some order might overflow
  if (zero_) return {{0, 0}, zero_of_either_sign};
  if (std::abs(product_.re) > largest_of(t) / 4) throw unpredictable{};
  const long double nearest = rounded(product_.re, t);
  if (bits_ <= digits) return {{nearest, 0}, 0};
  const double accumulating =
      static_cast<double>(std::abs(product_.re)) * static_cast<double>(count_ + 1) * std::ldexp(1.0, 1 - digits);
  return {{nearest, 0}, accumulating + step_at(product_.re, t)};
}

// ---- Extremes ----

void extreme::add(const cell& c) {
  const long double x = c.v.re;
  error_ = std::max(error_, c.error);
  if (at_ >= 0) soft_ |= real_ && x == 0 && best_.re == 0 && std::signbit(x) != std::signbit(best_.re);
  const bool better = !std::isnan(best_.re) && (std::isnan(x) || (least_ ? x < best_.re : x > best_.re));
  if (at_ < 0 || better) {
    best_ = c.v;
    at_ = count_;
  }
  ++count_;
}

cell extreme::result() const { return {best_, soft_ ? std::max(error_, zero_of_either_sign) : error_}; }

// ---- All of them ----

running_result::running_result(reduction op, dtype t)
    : op_(op), type_(t), whole_(op == reduction::prod ? 1 : 0), extreme_(op == reduction::min, is_real(t)) {}

void running_result::add(const cell& c) {
  if (op_ == reduction::min || op_ == reduction::max) return extreme_.add(c);
  if (is_integer(type_)) {
    const auto x = static_cast<std::uint64_t>(static_cast<wide>(c.v.re));
    whole_ = op_ == reduction::prod ? whole_ * x : whole_ + x;
    return;
  }
  if (op_ == reduction::prod) return product_.add(c);
  re_.add(c.v.re, c.error);
  if (is_complex(type_)) im_.add(c.v.im, c.error);
}

cell running_result::found(bool stepwise) const {
  if (op_ == reduction::min || op_ == reduction::max) return extreme_.result();
  if (is_integer(type_)) return {wrapped(static_cast<wide>(whole_), type_)};
  if (op_ == reduction::prod) return product_.result(type_, stepwise);
  const cell real = re_.result(real_of(type_), stepwise);
  if (!is_complex(type_)) return real;
  const cell imaginary = im_.result(real_of(type_), stepwise);
  if (!std::isfinite(real.v.re) || !std::isfinite(imaginary.v.re)) throw unpredictable{};
  return {{real.v.re, imaginary.v.re}, std::max(real.error, imaginary.error)};
}

cell running_result::kept() const {
  cell c = result();
  if (!is_inexact(type_) || op_ == reduction::min || op_ == reduction::max || c.error > zero_of_either_sign) return c;
  if (!std::isfinite(c.v.re) || !std::isfinite(c.v.im)) return c;
  const dtype wide_type = is_complex(type_) ? c128 : f64;
  value wider = re_.result(f64).v;
  if (op_ == reduction::prod) wider = product_.result(wide_type).v;
  else if (is_complex(type_)) wider.im = im_.result(f64).v.re;
  if (wider.re != c.v.re || wider.im != c.v.im) c.error += step_at(std::abs(c.v.re) + std::abs(c.v.im), type_);
  return c;
}

// ---- Moments ----

dtype working_type(dtype t) { return is_integer_or_bool(t) ? f64 : size_of(t) == 2 ? f32 : t; }
dtype inexact_type(dtype t) { return is_integer_or_bool(t) ? f64 : t; }

cell narrowed(cell c, dtype from, dtype to) {
  if (from == to) return c;
  const value before = c.v;
  c.v = {rounded(before.re, real_of(to)), rounded(before.im, real_of(to))};
  if (c.error <= zero_of_either_sign) return c;
  if (std::isfinite(before.re) && std::abs(before.re) > largest_of(to) / 4) throw unpredictable{};
  if (std::isfinite(before.re)) c.error += step_at(std::abs(before.re) + std::abs(before.im) + c.error, to);
  return c;
}

cell mean_of(const sample& s) {
  const dtype work = working_type(s.type), result = inexact_type(s.type);
  if (s.cells.empty() && is_complex(work)) throw unpredictable{};
  if (s.cells.empty()) return {{nan_value, 0}, 0};
  running_result sum(reduction::sum, work);
  for (const cell& c : s.cells) sum.add(c);
  const cell total = sum.kept();
  const auto n = static_cast<double>(s.cells.size());
  const value quotient = {static_cast<double>(total.v.re) / n, static_cast<double>(total.v.im) / n};
  cell out{{rounded(quotient.re, real_of(result)), rounded(quotient.im, real_of(result))}, total.error / n};
  const long double size = std::abs(out.v.re) + std::abs(out.v.im);
  if (total.error == zero_of_either_sign) out.error = zero_of_either_sign;
  else if (total.error > 0 && std::isfinite(size)) out.error += 2 * step_at(size + out.error, result);
  return out;
}

namespace {

/// Squared distances from the mean, summed in f64; those of complex numbers are the sums of their parts'.
struct deviations {
  cell sum;
  bool none_certain;  ///< exactly 0
};

deviations part_deviations(const std::vector<long double>& x, const sample& s) {
  long double mean = 0, squares = 0, farthest = 0, spread = 0;
  double error = 0;
  for (const cell& c : s.cells) error = std::max(error, c.error);
  const auto n = static_cast<long double>(x.size());
  for (long double v : x) mean += v / n;
  if (!std::isfinite(mean)) return {{{nan_value, 0}, 0}, false};
  for (long double v : x) {
    const long double away = std::abs(v - mean);
    squares += away * away;
    farthest = std::max(farthest, away);
    spread += away;
  }
  const bool equal = std::ranges::all_of(x, [&](long double v) { return v == x[0]; });
  if (equal) squares = farthest = spread = 0;
  const dtype work = real_of(working_type(s.type));
  if (4 * n * farthest * farthest > largest_of(work) / 4) throw unpredictable{};
  if (equal && error == 0 && !s.masked) return {{{0, 0}, 0}, true};
  // The differences are from any of the numbers, at most 2 `farthest` away; or from a mean that was rounded.
  long double off = 8 * (n + 10) * 0x1p-53L * n * farthest * farthest + 2 * spread * 2 * error + 4 * n * error * error;
  if (s.masked) off += n * std::pow(std::abs(mean) * 0x1p-50L, 2.0L);
  if (work != f64) off += step_at(squares, work);
  return {{{squares, 0}, static_cast<double>(off)}, false};
}

deviations deviations_of(const sample& s) {
  std::vector<long double> re, im;
  for (const cell& c : s.cells) {
    re.push_back(c.v.re);
    if (is_complex(s.type)) im.push_back(c.v.im);
  }
  const deviations real = part_deviations(re, s);
  if (!is_complex(s.type)) return real;
  const deviations imaginary = part_deviations(im, s);
  const cell sum{{real.sum.v.re + imaginary.sum.v.re, 0}, real.sum.error + imaginary.sum.error};
  if (!std::isfinite(sum.v.re)) throw unpredictable{};
  return {sum, real.none_certain && imaginary.none_certain};
}

}  // namespace

cell root_of(const cell& c, dtype t) {
  const double x = static_cast<double>(c.v.re), e = c.error;
  const long double root = t == f64 ? std::sqrt(x) : std::sqrt(static_cast<float>(x));
  if (e <= zero_of_either_sign || !std::isfinite(x)) return {{rounded(root, t), 0}, e};
  const double above = std::sqrt(x + e) - std::sqrt(x), below = std::sqrt(x) - std::sqrt(std::max(x - e, 0.0));
  return {{rounded(root, t), 0}, std::max(above, below) * (1 + 0x1p-40) + step_at(root, t)};
}

cell variance_of(const sample& s, std::int64_t ddof, bool root) {
  const auto n = static_cast<double>(s.cells.size());
  const double divisor = std::max(n - static_cast<double>(ddof), 0.0);
  if (s.cells.empty()) return {{nan_value, 0}, 0};
  const deviations d = deviations_of(s);
  if (!std::isfinite(d.sum.v.re)) return d.sum;
  if (divisor == 0) {
    if (d.none_certain) return {{nan_value, 0}, 0};
    if (static_cast<double>(d.sum.v.re) > d.sum.error) return {{infinity, 0}, 0};
    throw unpredictable{};
  }
  cell found{{d.sum.v.re / divisor, 0}, d.sum.error / divisor};
  if (!d.none_certain) found.error += step_at(found.v.re, f64);
  if (root) found = root_of(found, f64);
  const dtype result = real_of(inexact_type(s.type));
  if (found.v.re > largest_of(result) / 4) throw unpredictable{};
  if (!d.none_certain) found.error += step_at(found.v.re + found.error, result);
  found.v.re = rounded(found.v.re, result);
  return found;
}

}  // namespace sinter_test::fuzz
