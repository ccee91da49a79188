// Accumulators of reductions. For `reduce_sum` of dtype R and so on, a kernel says
//
//   sum_of<R> total;
//   for (...) { ...; total.add(x); }
//   const R r = total.value();
//
//   reduce_sum     sum_of<R>                  R: the register type of the result; for float the value is a double,
//                                             to be rounded once (to float, or by round_float16)
//   reduce_prod    product_of<R>
//   reduce_min     smallest_of<R>             reduce_max     largest_of<R>
//   reduce_any     any_of                     reduce_all     all_of                      x: bool
//   reduce_argmin  position_of_smallest<T>    reduce_argmax  position_of_largest<T>      T: register type of x;
//                                             add(x, position), positions ascending; value() is a long long
//   reduce_plain_sum                          plain_sum                                x: double
//   scan_sum, scan_prod, scan_min, scan_max   as the reductions of these names; value() after each add(x)
//
// All of them also merge with another of their kind, a.merge(b), and are copied as bytes. What has seen nothing changes
// nothing.

/// Integers wrap; float sums in double; double compensates (Knuth's two-sum).
//@ sum_of
template <class T>
struct sum_of {
  unsigned long long total = 0;
  SINTER_MEMBER void add(T x) { total += static_cast<unsigned long long>(x); }
  SINTER_MEMBER void merge(sum_of other) { total += other.total; }
  SINTER_MEMBER T value() const { return static_cast<T>(total); }
};

//@ sum_of with float
template <>
struct sum_of<float> {
  double total = 0;
  SINTER_MEMBER void add(float x) { total += x; }
  SINTER_MEMBER void merge(sum_of other) { total += other.total; }
  SINTER_MEMBER double value() const { return total; }
};

//@ sum_of with double
template <>
struct sum_of<double> {
  double total = 0, lost = 0;
  SINTER_MEMBER void add(double x) {
    const double next = total + x, part = next - total;
    lost += (total - (next - part)) + (x - part);
    total = next;
  }
  SINTER_MEMBER void merge(sum_of other) {
    add(other.total);
    lost += other.lost;
  }
  SINTER_MEMBER double value() const { return is_finite(total) ? total + lost : total; }
};

//@ part_sum
// Of few numbers, which are added to a sum_of then.
template <class T>
struct part_sum {
  T total = 0;
  SINTER_MEMBER void add(T x) { total += x; }
};

//@ plain_sum
struct plain_sum {
  double total = 0;
  SINTER_MEMBER void add(double x) { total += x; }
  SINTER_MEMBER void merge(plain_sum other) { total += other.total; }
  SINTER_MEMBER double value() const { return total; }
};

//@ sum_of with complex
template <class T>
struct sum_of<complex<T>> {
  sum_of<T> re, im;
  SINTER_MEMBER void add(complex<T> x) {
    re.add(x.re);
    im.add(x.im);
  }
  SINTER_MEMBER void merge(sum_of other) {
    re.merge(other.re);
    im.merge(other.im);
  }
  SINTER_MEMBER complex<T> value() const { return complex<T>(complex<double>(re.value(), im.value())); }
};

//@ product_of
template <class T>
struct product_of {
  unsigned long long total = 1;
  SINTER_MEMBER void add(T x) { total *= static_cast<unsigned long long>(x); }
  SINTER_MEMBER void merge(product_of other) { total *= other.total; }
  SINTER_MEMBER T value() const { return static_cast<T>(total); }
};

//@ product_of with float
template <>
struct product_of<float> {
  double total = 1;
  SINTER_MEMBER void add(float x) { total *= x; }
  SINTER_MEMBER void merge(product_of other) { total *= other.total; }
  SINTER_MEMBER double value() const { return total; }
};

//@ product_of with double
template <>
struct product_of<double> {
  double total = 1;
  SINTER_MEMBER void add(double x) { total *= x; }
  SINTER_MEMBER void merge(product_of other) { total *= other.total; }
  SINTER_MEMBER double value() const { return total; }
};

//@ product_of with complex
template <class T>
struct product_of<complex<T>> {
  complex<double> total = 1;
  SINTER_MEMBER void add(complex<T> x) { total *= complex<double>(x); }
  SINTER_MEMBER void merge(product_of other) { total *= other.total; }
  SINTER_MEMBER complex<T> value() const { return complex<T>(total); }
};

/// Minimum and maximum start from what changes nothing, so that adding is one choice without a branch.
//@ range_of
// The numbers that no other is above or below.
template <class T>
struct range_of {
  static SINTER_MEMBER T greatest() { return static_cast<T>(~0ull >> (64 - 8 * sizeof(T) + (is_signed<T> ? 1 : 0))); }
  static SINTER_MEMBER T least() { return is_signed<T> ? static_cast<T>(~greatest()) : T(0); }
};
template <>
struct range_of<bool> {
  static SINTER_MEMBER bool greatest() { return true; }
  static SINTER_MEMBER bool least() { return false; }
};
//@ range_of with float
template <>
struct range_of<float> {
  static SINTER_MEMBER float greatest() { return float_of(0x7f800000u); }
  static SINTER_MEMBER float least() { return float_of(0xff800000u); }
};
//@ range_of with double
template <>
struct range_of<double> {
  static SINTER_MEMBER double greatest() { return float_of(0x7f800000u); }
  static SINTER_MEMBER double least() { return float_of(0xff800000u); }
};

//@ smallest_of
template <class T>
struct smallest_of {
  T least = range_of<T>::greatest();
  SINTER_MEMBER void add(T x) { least = minimum(x, least); }
  SINTER_MEMBER void merge(smallest_of other) { add(other.least); }
  SINTER_MEMBER T value() const { return least; }
};

//@ largest_of
template <class T>
struct largest_of {
  T most = range_of<T>::least();
  SINTER_MEMBER void add(T x) { most = maximum(x, most); }
  SINTER_MEMBER void merge(largest_of other) { add(other.most); }
  SINTER_MEMBER T value() const { return most; }
};

//@ any_of
struct any_of {
  bool found = false;
  SINTER_MEMBER void add(bool x) { found |= x; }
  SINTER_MEMBER void merge(any_of other) { found |= other.found; }
  SINTER_MEMBER bool value() const { return found; }
};

//@ all_of
struct all_of {
  bool holds = true;
  SINTER_MEMBER void add(bool x) { holds &= x; }
  SINTER_MEMBER void merge(all_of other) { holds &= other.holds; }
  SINTER_MEMBER bool value() const { return holds; }
};

/// The first of equals; the first NaN if there is one. Positions come in ascending order, but for merge(). Where
/// nothing is better than the worst number there is, all are that one, and the first is at 0. P is wide enough for
/// positions.
//@ position_of_smallest
template <class T, class P = long long>
struct position_of_smallest {
  T least = range_of<T>::greatest();
  P at = -1;
  SINTER_MEMBER void add(T x, P position) {
    const bool better = (x < least) | (is_nan(x) & !is_nan(least));
    least = better ? x : least;
    at = better ? position : at;
  }
  SINTER_MEMBER void merge(position_of_smallest other) {
    const bool better = (other.least < least) | (is_nan(other.least) & !is_nan(least));
    const bool equal = (other.least == least) | (is_nan(other.least) & is_nan(least));
    if (better || (equal && other.at < at)) *this = other;
  }
  SINTER_MEMBER long long value() const { return at < 0 ? 0 : at; }
};

//@ position_of_largest
template <class T, class P = long long>
struct position_of_largest {
  T most = range_of<T>::least();
  P at = -1;
  SINTER_MEMBER void add(T x, P position) {
    const bool better = (x > most) | (is_nan(x) & !is_nan(most));
    most = better ? x : most;
    at = better ? position : at;
  }
  SINTER_MEMBER void merge(position_of_largest other) {
    const bool better = (other.most > most) | (is_nan(other.most) & !is_nan(most));
    const bool equal = (other.most == most) | (is_nan(other.most) & is_nan(most));
    if (better || (equal && other.at < at)) *this = other;
  }
  SINTER_MEMBER long long value() const { return at < 0 ? 0 : at; }
};
