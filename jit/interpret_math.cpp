// Elementwise arithmetic of the interpreter.
#include "jit/interpret_internal.hpp"
#include "jit/philox.hpp"

#include <cmath>
#include <functional>
#include <string>

namespace sinter::jit::interpreter {

namespace {

// ---- integers ----

template <class T>
T negated(T x) { return static_cast<T>(std::uint64_t{0} - static_cast<std::uint64_t>(x)); }

template <class T>
bool is_negative(T x) {
  if constexpr (std::is_signed_v<T>) return x < 0;
  else return false;
}

/// Applies f to both as unsigned numbers, which wrap.
template <class T, class F>
T wrapping(T a, T b, F f) { return static_cast<T>(f(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b))); }

template <class T>
T quotient(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return negated(a);
  return a / b;
}

template <class T>
T modulo(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return 0;
  return a % b;
}

template <class T>
T floor_quotient(T a, T b) {
  const T q = quotient(a, b);
  if constexpr (std::is_signed_v<T>)
    if (modulo(a, b) != 0 && (a < 0) != (b < 0)) return q - 1;
  return q;
}

template <class T>
T floor_remainder(T a, T b) {
  const T r = modulo(a, b);
  if constexpr (std::is_signed_v<T>)
    if (r != 0 && (r < 0) != (b < 0)) return r + b;
  return r;
}

template <class T>
T integer_power(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0 && base == -1) return exponent % 2 == 0 ? 1 : -1;
    if (exponent < 0) return base == 1 ? 1 : 0;
  }
  std::uint64_t result = 1, square = static_cast<std::uint64_t>(base);
  for (auto rest = static_cast<std::uint64_t>(exponent); rest != 0; rest >>= 1) {
    if ((rest & 1) != 0) result *= square;
    square *= square;
  }
  return static_cast<T>(result);
}

template <class T>
bool shift(op code, int count, int bits, T* out, const T* a, const std::uint64_t* by) {
  const auto width = static_cast<std::uint64_t>(bits);
  if (code == op::shift_left) {
    map(count, out, [&](T x, std::uint64_t n) { return n < width ? static_cast<std::uint64_t>(x) << n : 0; }, a, by);
  } else {
    map(
        count, out, [&](T x, std::uint64_t n) { return n < width        ? x >> n
                                                       : is_negative(x) ? negated(T{1})
                                                                        : T{0}; }, a,
        by);
  }
  return true;
}

template <class T>
bool integer_binary(op code, int n, T* out, const T* a, const T* b) {
  const auto wrapped = [&](auto f) {
    map(n, out, [f](T x, T y) { return wrapping(x, y, f); }, a, b);
    return true;
  };
  const auto plain = [&](auto f) { return map(n, out, f, a, b), true; };
  switch (code) {
    case op::add: return wrapped([](std::uint64_t x, std::uint64_t y) { return x + y; });
    case op::subtract: return wrapped([](std::uint64_t x, std::uint64_t y) { return x - y; });
    case op::multiply: return wrapped([](std::uint64_t x, std::uint64_t y) { return x * y; });
    case op::divide: return plain(quotient<T>);
    case op::modulo: return plain(modulo<T>);
    case op::floor_divide: return plain(floor_quotient<T>);
    case op::remainder: return plain(floor_remainder<T>);
    case op::power: return plain(integer_power<T>);
    case op::minimum:
    case op::fmin: return plain([](T x, T y) { return y < x ? y : x; });
    case op::maximum:
    case op::fmax: return plain([](T x, T y) { return y > x ? y : x; });
    case op::bit_and: return plain([](T x, T y) { return x & y; });
    case op::bit_or: return plain([](T x, T y) { return x | y; });
    case op::bit_xor: return plain([](T x, T y) { return x ^ y; });
    default: return false;
  }
}

template <class T>
bool integer_unary(op code, int n, T* out, const T* a) {
  const auto plain = [&](auto f) { return map(n, out, f, a), true; };
  switch (code) {
    case op::negative: return plain(negated<T>);
    case op::absolute: return plain([](T x) { return is_negative(x) ? negated(x) : x; });
    case op::sign: return plain([](T x) { return x == 0 ? T{0} : is_negative(x) ? negated(T{1}) : T{1}; });
    case op::square: return plain([](T x) { return wrapping(x, x, std::multiplies<>()); });
    case op::bit_not: return plain([](T x) { return ~x; });
    case op::floor:
    case op::ceil:
    case op::trunc:
    case op::round:
    case op::conj:
    case op::real_part: return plain([](T x) { return x; });
    case op::imag_part: return plain([](T) { return T{0}; });
    default: return false;
  }
}

// ---- reals ----

template <class T>
T floor_quotient_of_reals(T a, T b) {
  if (b == 0) return a / b;
  const T rest = std::fmod(a, b);
  T q = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) q -= 1;
  if (q == 0) return std::copysign(T{0}, a / b);
  const T whole = std::floor(q);
  return q - whole > T(0.5) ? whole + 1 : whole;
}

template <class T>
T floor_remainder_of_reals(T a, T b) {
  const T rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(T{0}, b);
  return (b < 0) != (rest < 0) ? rest + b : rest;
}

template <class T>
T log_add_exp(T a, T b) {
  if (a == b) return a + std::log(T{2});  // infinities, too
  return a > b ? a + std::log1p(std::exp(b - a)) : b + std::log1p(std::exp(a - b));
}

/// The neighbour among the numbers of a 16-bit format with sign and magnitude.
template <class Format>
float next_in_format(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return a + b;
  if (a == b) return b;
  Format f(a);
  if (a == 0) f.bits = b > 0 ? 0x0001 : 0x8001;
  else f.bits = static_cast<std::uint16_t>((a < b) == (a > 0) ? f.bits + 1 : f.bits - 1);
  return static_cast<float>(f);
}

template <class T>
T next_after(dtype t, T a, T b) {
  if (t == dtype::f16) return static_cast<T>(next_in_format<float16>(static_cast<float>(a), static_cast<float>(b)));
  if (t == dtype::bf16) return static_cast<T>(next_in_format<bfloat16>(static_cast<float>(a), static_cast<float>(b)));
  return std::nextafter(a, b);
}

template <class T>
bool real_binary(op code, dtype t, int n, T* out, const T* a, const T* b) {
  const auto plain = [&](auto f) { return map(n, out, f, a, b), true; };
  switch (code) {
    case op::add: return plain([](T x, T y) { return x + y; });
    case op::subtract: return plain([](T x, T y) { return x - y; });
    case op::multiply: return plain([](T x, T y) { return x * y; });
    case op::divide: return plain([](T x, T y) { return x / y; });
    case op::modulo: return plain([](T x, T y) { return std::fmod(x, y); });
    case op::floor_divide: return plain(floor_quotient_of_reals<T>);
    case op::remainder: return plain(floor_remainder_of_reals<T>);
    case op::power: return plain([](T x, T y) { return std::pow(x, y); });
    case op::minimum: return plain([](T x, T y) { return x < y || std::isnan(x) ? x : y; });
    case op::maximum: return plain([](T x, T y) { return x > y || std::isnan(x) ? x : y; });
    case op::fmin: return plain([](T x, T y) { return x < y || std::isnan(y) ? x : y; });
    case op::fmax: return plain([](T x, T y) { return x > y || std::isnan(y) ? x : y; });
    case op::atan2: return plain([](T x, T y) { return std::atan2(x, y); });
    case op::hypot: return plain([](T x, T y) { return std::hypot(x, y); });
    case op::copysign: return plain([](T x, T y) { return std::copysign(x, y); });
    case op::nextafter: return plain([t](T x, T y) { return next_after(t, x, y); });
    case op::logaddexp: return plain(log_add_exp<T>);
    default: return false;
  }
}

template <class T>
bool real_transcendental(op code, int n, T* out, const T* a) {
  const auto plain = [&](auto f) { return map(n, out, f, a), true; };
  switch (code) {
    case op::cbrt: return plain([](T x) { return std::cbrt(x); });
    case op::exp2: return plain([](T x) { return std::exp2(x); });
    case op::expm1: return plain([](T x) { return std::expm1(x); });
    case op::log2: return plain([](T x) { return std::log2(x); });
    case op::log1p: return plain([](T x) { return std::log1p(x); });
    case op::erf: return plain([](T x) { return std::erf(x); });
    case op::erfc: return plain([](T x) { return std::erfc(x); });
    case op::lgamma: return plain([](T x) { return std::lgamma(x); });
    case op::tgamma: return plain([](T x) { return std::tgamma(x); });
    case op::floor: return plain([](T x) { return std::floor(x); });
    case op::ceil: return plain([](T x) { return std::ceil(x); });
    case op::trunc: return plain([](T x) { return std::trunc(x); });
    case op::round: return plain([](T x) { return std::rint(x); });
    default: return false;
  }
}

template <class T>
bool real_unary(op code, int n, T* out, const T* a) {
  const auto plain = [&](auto f) { return map(n, out, f, a), true; };
  constexpr T pi = T(3.14159265358979323846);
  switch (code) {
    case op::negative: return plain([](T x) { return -x; });
    case op::absolute: return plain([](T x) { return std::fabs(x); });
    case op::sign: return plain([](T x) { return std::isnan(x) ? x : static_cast<T>((x > 0) - (x < 0)); });
    case op::square: return plain([](T x) { return x * x; });
    case op::reciprocal: return plain([](T x) { return 1 / x; });
    case op::rsqrt: return plain([](T x) { return 1 / std::sqrt(x); });
    case op::conj:
    case op::real_part: return plain([](T x) { return x; });
    case op::imag_part: return plain([](T) { return T{0}; });
    case op::arg: return plain([](T x) { return std::isnan(x) ? x : std::signbit(x) ? pi : T{0}; });
    default: return real_transcendental(code, n, out, a);
  }
}

// ---- complex ----

/// Without the recovery of infinities that C's operator has, as NumPy and generated code do.
template <class T>
std::complex<T> product(std::complex<T> a, std::complex<T> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// Smith's algorithm.
template <class T>
std::complex<T> ratio(std::complex<T> a, std::complex<T> b) {
  const T c = std::fabs(b.real()), d = std::fabs(b.imag());
  if (c == 0 && d == 0) return {a.real() / c, a.imag() / c};
  if (c >= d) {
    const T r = b.imag() / b.real(), divisor = b.real() + b.imag() * r;
    return {(a.real() + a.imag() * r) / divisor, (a.imag() - a.real() * r) / divisor};
  }
  const T r = b.real() / b.imag(), divisor = b.real() * r + b.imag();
  return {(a.real() * r + a.imag()) / divisor, (a.imag() * r - a.real()) / divisor};
}

/// Small whole exponents by multiplication, which is exact where the result is.
template <class T>
std::complex<T> complex_power(std::complex<T> base, std::complex<T> exponent) {
  using complex = std::complex<T>;
  const T e = exponent.real();
  if (exponent == complex(0)) return complex(1);
  if (base == complex(0)) return e > 0 ? complex(0) : ratio(complex(1), base);
  if (exponent.imag() != 0 || std::fabs(e) >= 100 || std::floor(e) != e)
    return std::exp(product(std::log(base), exponent));
  complex result(1), square = base;
  for (int rest = static_cast<int>(std::fabs(e)); rest != 0; rest >>= 1) {
    if ((rest & 1) != 0) result = product(result, square);
    square = product(square, square);
  }
  return e < 0 ? ratio(complex(1), result) : result;
}

template <class C>
bool complex_binary(op code, int n, C* out, const C* a, const C* b) {
  const auto plain = [&](auto f) { return map(n, out, f, a, b), true; };
  using T = typename C::value_type;
  switch (code) {
    case op::add: return plain([](C x, C y) { return x + y; });
    case op::subtract: return plain([](C x, C y) { return x - y; });
    case op::multiply: return plain(product<T>);
    case op::divide: return plain(ratio<T>);
    case op::power: return plain(complex_power<T>);
    default: return false;
  }
}

template <class C>
bool complex_unary(op code, int n, C* out, const C* a) {
  using T = typename C::value_type;
  const auto plain = [&](auto f) { return map(n, out, f, a), true; };
  switch (code) {
    case op::negative: return plain([](C x) { return -x; });
    case op::square: return plain([](C x) { return product(x, x); });
    case op::reciprocal: return plain([](C x) { return ratio(C(1), x); });
    case op::rsqrt: return plain([](C x) { return ratio(C(1), std::sqrt(x)); });
    case op::log2: return plain([](C x) { return std::log(x) * T(1.4426950408889634); });
    case op::conj: return plain([](C x) { return std::conj(x); });
    default: return false;
  }
}

/// The parts of a complex number: real results.
template <class C, class T>
bool complex_parts(op code, int n, T* out, const C* a) {
  const auto plain = [&](auto f) { return map(n, out, f, a), true; };
  switch (code) {
    case op::absolute: return plain([](C x) { return std::hypot(x.real(), x.imag()); });
    case op::real_part: return plain([](C x) { return x.real(); });
    case op::imag_part: return plain([](C x) { return x.imag(); });
    case op::arg: return plain([](C x) { return std::atan2(x.imag(), x.real()); });
    default: return false;
  }
}

// ---- reals and complex ----

template <class T>
bool inexact_unary(op code, int n, T* out, const T* a) {
  const auto plain = [&](auto f) { return map(n, out, f, a), true; };
  switch (code) {
    case op::sqrt: return plain([](T x) { return std::sqrt(x); });
    case op::exp: return plain([](T x) { return std::exp(x); });
    case op::log: return plain([](T x) { return std::log(x); });
    case op::log10: return plain([](T x) { return std::log10(x); });
    case op::sin: return plain([](T x) { return std::sin(x); });
    case op::cos: return plain([](T x) { return std::cos(x); });
    case op::tan: return plain([](T x) { return std::tan(x); });
    case op::asin: return plain([](T x) { return std::asin(x); });
    case op::acos: return plain([](T x) { return std::acos(x); });
    case op::atan: return plain([](T x) { return std::atan(x); });
    case op::sinh: return plain([](T x) { return std::sinh(x); });
    case op::cosh: return plain([](T x) { return std::cosh(x); });
    case op::tanh: return plain([](T x) { return std::tanh(x); });
    case op::asinh: return plain([](T x) { return std::asinh(x); });
    case op::acosh: return plain([](T x) { return std::acosh(x); });
    case op::atanh: return plain([](T x) { return std::atanh(x); });
    default: return false;
  }
}

// ---- boolean results ----

template <class T>
bool compare(op code, int n, bool* out, const T* a, const T* b) {
  const auto plain = [&](auto f) { return map(n, out, f, a, b), true; };
  switch (code) {
    case op::equal: return plain([](T x, T y) { return x == y; });
    case op::not_equal: return plain([](T x, T y) { return x != y; });
    case op::logical_and: return plain([](T x, T y) { return x != T(0) && y != T(0); });
    case op::logical_or: return plain([](T x, T y) { return x != T(0) || y != T(0); });
    case op::logical_xor: return plain([](T x, T y) { return (x != T(0)) != (y != T(0)); });
    default: break;
  }
  if constexpr (!is_complex_lane<T>) {
    switch (code) {
      case op::less: return plain([](T x, T y) { return x < y; });
      case op::less_equal: return plain([](T x, T y) { return x <= y; });
      case op::greater: return plain([](T x, T y) { return x > y; });
      case op::greater_equal: return plain([](T x, T y) { return x >= y; });
      default: break;
    }
  }
  return false;
}

template <class T, class F>
bool any_part(T x, F f) {
  if constexpr (is_complex_lane<T>) return f(x.real()) || f(x.imag());
  else if constexpr (std::is_floating_point_v<T>) return f(x);
  else return false;
}

template <class T>
bool test(op code, int n, bool* out, const T* a) {
  const auto plain = [&](auto f) { return map(n, out, f, a), true; };
  switch (code) {
    case op::logical_not: return plain([](T x) { return x == T(0); });
    case op::isnan: return plain([](T x) { return any_part(x, [](auto p) { return std::isnan(p); }); });
    case op::isinf: return plain([](T x) { return any_part(x, [](auto p) { return std::isinf(p); }); });
    case op::isfinite: return plain([](T x) { return !any_part(x, [](auto p) { return !std::isfinite(p); }); });
    case op::signbit:
      if constexpr (std::is_floating_point_v<T>) return plain([](T x) { return std::signbit(x); });
      else if constexpr (is_integer_lane<T>) return plain(is_negative<T>);
      else return plain([](T) { return false; });
    default: return false;
  }
}

// ---- dispatch ----

template <class T>
bool arithmetic(const inst& i, T* out, const T* a, const T* b, int n) {
  const bool binary = info(i.code).arity == 2;
  if constexpr (is_complex_lane<T>) {
    if (binary) return complex_binary(i.code, n, out, a, b);
    return complex_unary(i.code, n, out, a) || inexact_unary(i.code, n, out, a);
  } else if constexpr (std::is_floating_point_v<T>) {
    if (binary) return real_binary(i.code, i.type, n, out, a, b);
    return real_unary(i.code, n, out, a) || inexact_unary(i.code, n, out, a);
  } else {
    return binary ? integer_binary(i.code, n, out, a, b) : integer_unary(i.code, n, out, a);
  }
}

/// Boolean arithmetic is that of 0 and 1, where all but 0 is true; but not-x flips only the one bit.
bool boolean_arithmetic(const inst& i, bool* out, const bool* a, const bool* b, int n) {
  std::uint64_t wide[3][block] = {};
  for (int l = 0; l < n; ++l) {
    wide[1][l] = a[l];
    wide[2][l] = b != nullptr && b[l];
  }
  if (!arithmetic<std::uint64_t>(i, wide[0], wide[1], wide[2], n)) return false;
  map(n, out, [&](std::uint64_t x) { return i.code == op::bit_not ? (x & 1) != 0 : x != 0; }, wide[0]);
  return true;
}

bool gives_boolean(rule r) {
  return r == rule::equality || r == rule::compare || r == rule::test || r == rule::test_real || r == rule::logical;
}

template <class T>
bool evaluate_lanes(const inst& i, dtype from, void* out, const void* const (&args)[3], int n) {
  const auto* a = static_cast<const T*>(args[0]);
  const auto* b = static_cast<const T*>(args[1]);
  if (gives_boolean(info(i.code).typing)) {
    auto* truth = static_cast<bool*>(out);
    return info(i.code).arity == 2 ? compare(i.code, n, truth, a, b) : test(i.code, n, truth, a);
  }
  if (i.code == op::select) {
    const auto* c = static_cast<const T*>(args[2]);
    map(n, static_cast<T*>(out), [](bool p, T x, T y) { return p ? x : y; }, static_cast<const bool*>(args[0]), b, c);
    return true;
  }
  if constexpr (std::is_same_v<T, std::uint64_t>) {
    if (info(i.code).typing == rule::words) {
      const auto* c = static_cast<const T*>(args[2]);
      if (i.code == op::random32) map(n, static_cast<T*>(out), philox::word32, a, b, c);
      else map(n, static_cast<T*>(out), philox::word64, a, b, c);
      return true;
    }
  }
  if constexpr (is_integer_lane<T>) {
    if (i.code == op::shift_left || i.code == op::shift_right)
      return shift(i.code, n, static_cast<int>(8 * size_of(from)), static_cast<T*>(out), a,
                   static_cast<const std::uint64_t*>(args[1]));
  }
  if constexpr (is_complex_lane<T>) {
    if (!is_complex(i.type)) return complex_parts(i.code, n, static_cast<typename T::value_type*>(out), a);
  }
  if constexpr (std::is_same_v<T, bool>) return boolean_arithmetic(i, static_cast<bool*>(out), a, b, n);
  else return arithmetic<T>(i, static_cast<T*>(out), a, b, n);
}

template <class T>
bool make_complex(void* out, const void* const (&args)[3], int n) {
  map(n, static_cast<std::complex<T>*>(out), [](T re, T im) { return std::complex<T>(re, im); },
      static_cast<const T*>(args[0]), static_cast<const T*>(args[1]));
  return true;
}

}  // namespace

std::complex<double> multiply(std::complex<double> a, std::complex<double> b) { return product(a, b); }

void evaluate(const inst& i, dtype from, void* out, const void* const (&args)[3], int count) {
  const bool done = i.code != op::make_complex ? with_lane(from, [&]<class T>(std::type_identity<T>) {
    return evaluate_lanes<T>(i, from, out, args, count);
  }) : i.type == c64 ? make_complex<float>(out, args, count) : make_complex<double>(out, args, count);
  if (!done)
    throw_internal_error("the interpreter has no " + std::string(info(i.code).name) + " of " + to_string(from));
  settle(i.type, out, count);
}

}  // namespace sinter::jit::interpreter
