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
//
// All of them also merge with another of their kind: a.merge(b), where b's elements (positions) come after a's, or for
// the arg ones in any order.

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

//@ smallest_of
template <class T>
struct smallest_of {
  T least = T();
  bool any = false;
  SINTER_MEMBER void add(T x) {
    least = any ? minimum(x, least) : x;
    any = true;
  }
  SINTER_MEMBER void merge(smallest_of other) {
    if (other.any) add(other.least);
  }
  SINTER_MEMBER T value() const { return least; }
};

//@ largest_of
template <class T>
struct largest_of {
  T most = T();
  bool any = false;
  SINTER_MEMBER void add(T x) {
    most = any ? maximum(x, most) : x;
    any = true;
  }
  SINTER_MEMBER void merge(largest_of other) {
    if (other.any) add(other.most);
  }
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

//@ position_of_smallest
// The first of equals; the first NaN if there is one.
template <class T>
struct position_of_smallest {
  T least = T();
  long long at = -1;
  SINTER_MEMBER void add(T x, long long position) {
    const bool better = is_nan(least) ? is_nan(x) & (position < at) : is_nan(x) | (x < least);
    if (at < 0 || better || (x == least && position < at)) {
      least = x;
      at = position;
    }
  }
  SINTER_MEMBER void merge(position_of_smallest other) {
    if (other.at >= 0) add(other.least, other.at);
  }
  SINTER_MEMBER long long value() const { return at; }
};

//@ position_of_largest
// The first of equals; the first NaN if there is one.
template <class T>
struct position_of_largest {
  T most = T();
  long long at = -1;
  SINTER_MEMBER void add(T x, long long position) {
    const bool better = is_nan(most) ? is_nan(x) & (position < at) : is_nan(x) | (x > most);
    if (at < 0 || better || (x == most && position < at)) {
      most = x;
      at = position;
    }
  }
  SINTER_MEMBER void merge(position_of_largest other) {
    if (other.at >= 0) add(other.most, other.at);
  }
  SINTER_MEMBER long long value() const { return at; }
};
