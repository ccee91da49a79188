// What generated kernels call and is neither the language's nor libm's. This is not a header: codegen/prelude.cpp takes
// the sections that a kernel needs out of this folder's files, and declares libm for the host (CUDA has it built in).
//
//   `//@ a b` starts a section that provides a and b; `//@cuda a` and `//@host a` are for one dialect only.
//   `with x`  after the names: taken only when x is mentioned, too (overloads for types that the kernel has not).
//   `needs x` names what the text of a section does not show (see complex.cuh).
//   A section comes after those it uses. SINTER_FUNCTION and SINTER_MEMBER stand for the dialect's qualifiers.
//   Lines that begin with `///` speak to readers of these files and are left out.

//@cuda bits_of
SINTER_FUNCTION unsigned bits_of(float x) { return __float_as_uint(x); }
//@cuda bits_of with double
SINTER_FUNCTION unsigned long long bits_of(double x) { return __double_as_longlong(x); }

//@host bits_of
SINTER_FUNCTION unsigned bits_of(float x) { return __builtin_bit_cast(unsigned, x); }
//@host bits_of with double
SINTER_FUNCTION unsigned long long bits_of(double x) { return __builtin_bit_cast(unsigned long long, x); }

//@cuda float_of
SINTER_FUNCTION float float_of(unsigned bits) { return __uint_as_float(bits); }

//@host float_of
SINTER_FUNCTION float float_of(unsigned bits) { return __builtin_bit_cast(float, bits); }

//@ is_signed
template <class T>
constexpr bool is_signed = T(-1) < T(1);

//@ counter_range
// From where on a counter of at most 32 bits stays less than `end`, and doesn't wrap, until it is `way` further.
template <class T>
struct counter_range {
  T least, most;
  SINTER_MEMBER counter_range(long long way, long long end) {
    const long long first = is_signed<T> ? -(1ll << (8 * sizeof(T) - 1)) : 0;
    const long long last = first + ((1ll << 8 * sizeof(T)) - 1);
    const long long down = first - (way < 0 ? way : 0), up = end - 1 - (way > 0 ? way : 0);
    const bool none = down > last || up < down;
    least = static_cast<T>(none ? 1 : down);
    most = static_cast<T>(none ? 0 : up < last ? up : last);
  }
  SINTER_MEMBER bool has(T x) const { return x >= least && x <= most; }
};

/// Tests on bits: comparisons with itself and with infinity may be assumed away when approximations are allowed.
//@ is_nan
template <class T>
SINTER_FUNCTION bool is_nan(T) { return false; }
//@ is_nan with float
SINTER_FUNCTION bool is_nan(float x) { return (bits_of(x) & 0x7fffffffu) > 0x7f800000u; }
//@ is_nan with double
SINTER_FUNCTION bool is_nan(double x) { return (bits_of(x) & 0x7fffffffffffffffull) > 0x7ff0000000000000ull; }

//@ is_inf
template <class T>
SINTER_FUNCTION bool is_inf(T) { return false; }
//@ is_inf with float
SINTER_FUNCTION bool is_inf(float x) { return (bits_of(x) & 0x7fffffffu) == 0x7f800000u; }
//@ is_inf with double
SINTER_FUNCTION bool is_inf(double x) { return (bits_of(x) & 0x7fffffffffffffffull) == 0x7ff0000000000000ull; }

//@ is_finite
template <class T>
SINTER_FUNCTION bool is_finite(T) { return true; }
//@ is_finite with float
SINTER_FUNCTION bool is_finite(float x) { return (bits_of(x) & 0x7fffffffu) < 0x7f800000u; }
//@ is_finite with double
SINTER_FUNCTION bool is_finite(double x) { return (bits_of(x) & 0x7fffffffffffffffull) < 0x7ff0000000000000ull; }

//@ sign_bit
template <class T>
SINTER_FUNCTION bool sign_bit(T x) {
  if constexpr (is_signed<T>) return x < 0;
  else return false;
}
//@ sign_bit with float
SINTER_FUNCTION bool sign_bit(float x) { return bits_of(x) >> 31 != 0; }
//@ sign_bit with double
SINTER_FUNCTION bool sign_bit(double x) { return bits_of(x) >> 63 != 0; }

/// binary16 and bfloat16 in memory; registers hold float. The host's conversions are free of branches, so that loops
/// around them become vector code.
//@ float16 to_float16
struct float16;
SINTER_FUNCTION float to_float(float16 x);
SINTER_FUNCTION float16 to_float16(float x);

struct float16 {
  unsigned short bits;
  float16() = default;
  SINTER_MEMBER float16(float x) { *this = to_float16(x); }
  SINTER_MEMBER operator float() const { return to_float(*this); }
  SINTER_MEMBER float16& operator+=(float x) { return *this = to_float16(to_float(*this) + x); }
  SINTER_MEMBER float16& operator-=(float x) { return *this = to_float16(to_float(*this) - x); }
  SINTER_MEMBER float16& operator*=(float x) { return *this = to_float16(to_float(*this) * x); }
  SINTER_MEMBER float16& operator/=(float x) { return *this = to_float16(to_float(*this) / x); }
};

//@cuda float16 to_float to_float16 with float16
SINTER_FUNCTION float to_float(float16 x) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(x.bits));
  return result;
}

SINTER_FUNCTION float16 to_float16(float x) {
  float16 result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));
  return result;
}

//@host float16 to_float to_float16 with float16
SINTER_FUNCTION float to_float(float16 x) {
  const unsigned magnitude = (x.bits & 0x7fffu) << 13;
  const unsigned biased = magnitude + 0x38000000u + (magnitude >= 0x0f800000u ? 0x38000000u : 0u);
  const float subnormal = static_cast<float>(static_cast<int>(x.bits & 0x3ffu)) * 0x1p-24f;
  const unsigned bits = magnitude < 0x00800000u ? bits_of(subnormal) : biased;
  return float_of(bits | (x.bits & 0x8000u) << 16);
}

SINTER_FUNCTION float16 to_float16(float x) {
  const unsigned sign = bits_of(x) >> 16 & 0x8000u, magnitude = bits_of(x) & 0x7fffffffu;
  const unsigned normal = (magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13;
  // Adding 0.5, whose last bit weighs 2^-24, rounds as a subnormal binary16 number.
  const unsigned subnormal = bits_of(float_of(magnitude) + 0.5f) - 0x3f000000u;
  const unsigned huge = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  const unsigned bits = magnitude < 0x38800000u ? subnormal : magnitude < 0x47800000u ? normal : huge;
  float16 result;
  result.bits = static_cast<unsigned short>(sign | bits);
  return result;
}

//@ bfloat16 to_bfloat16
struct bfloat16;
SINTER_FUNCTION float to_float(bfloat16 x);
SINTER_FUNCTION bfloat16 to_bfloat16(float x);

struct bfloat16 {
  unsigned short bits;
  bfloat16() = default;
  SINTER_MEMBER bfloat16(float x) { *this = to_bfloat16(x); }
  SINTER_MEMBER operator float() const { return to_float(*this); }
  SINTER_MEMBER bfloat16& operator+=(float x) { return *this = to_bfloat16(to_float(*this) + x); }
  SINTER_MEMBER bfloat16& operator-=(float x) { return *this = to_bfloat16(to_float(*this) - x); }
  SINTER_MEMBER bfloat16& operator*=(float x) { return *this = to_bfloat16(to_float(*this) * x); }
  SINTER_MEMBER bfloat16& operator/=(float x) { return *this = to_bfloat16(to_float(*this) / x); }
};

SINTER_FUNCTION float to_float(bfloat16 x) { return float_of(static_cast<unsigned>(x.bits) << 16); }

SINTER_FUNCTION bfloat16 to_bfloat16(float x) {
  const unsigned bits = bits_of(x);
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  bfloat16 result;
  result.bits = static_cast<unsigned short>(nan ? bits >> 16 | 0x40u : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
  return result;
}

//@ odd_float
// To float; an inexact result gets an odd last bit, which keeps a second rounding from landing on a false tie.
SINTER_FUNCTION float odd_float(double x) {
  const float nearest = static_cast<float>(x);
  const double back = nearest;
  const unsigned bits = bits_of(nearest);
  const bool away = (back > x) == (x > 0);
  const bool even_and_inexact = (back < x || back > x) && (bits & 1u) == 0;
  return float_of(even_and_inexact ? (away ? bits - 1 : bits + 1) : bits);
}

/// To the nearest binary16 or bfloat16 number, as a float.
//@ round_float16
SINTER_FUNCTION float round_float16(float x) { return to_float(to_float16(x)); }
//@ round_float16 with double
SINTER_FUNCTION float round_float16(double x) { return to_float(to_float16(odd_float(x))); }

//@ round_bfloat16
SINTER_FUNCTION float round_bfloat16(float x) { return to_float(to_bfloat16(x)); }
//@ round_bfloat16 with double
SINTER_FUNCTION float round_bfloat16(double x) { return to_float(to_bfloat16(odd_float(x))); }

/// The neighbour of a towards b among the numbers of the format.
//@ next_bits
// For a != b, neither of them NaN; bits of a format with sign and magnitude.
SINTER_FUNCTION unsigned next_bits(unsigned bits, bool is_zero, bool up) {
  if (is_zero) return up ? 1u : 0x8001u;
  return up == (bits < 0x8000u) ? bits + 1 : bits - 1;
}

//@ nextafter_float16
SINTER_FUNCTION float nextafter_float16(float a, float b) {
  if (is_nan(a) || is_nan(b)) return a + b;
  if (a == b) return b;
  float16 result = to_float16(a);
  result.bits = static_cast<unsigned short>(next_bits(result.bits, a == 0, a < b));
  return to_float(result);
}

//@ nextafter_bfloat16
SINTER_FUNCTION float nextafter_bfloat16(float a, float b) {
  if (is_nan(a) || is_nan(b)) return a + b;
  if (a == b) return b;
  bfloat16 result = to_bfloat16(a);
  result.bits = static_cast<unsigned short>(next_bits(result.bits, a == 0, a < b));
  return to_float(result);
}

//@ complex
template <class T>
struct alignas(2 * sizeof(T)) complex {
  T re, im;
  complex() = default;
  SINTER_MEMBER complex(T real_part, T imag_part = 0) : re(real_part), im(imag_part) {}
  template <class U>
  SINTER_MEMBER explicit complex(complex<U> z) : re(static_cast<T>(z.re)), im(static_cast<T>(z.im)) {}
  SINTER_MEMBER T real() const { return re; }
  SINTER_MEMBER T imag() const { return im; }

  friend SINTER_MEMBER complex operator+(complex a, complex b) { return {a.re + b.re, a.im + b.im}; }
  friend SINTER_MEMBER complex operator-(complex a, complex b) { return {a.re - b.re, a.im - b.im}; }
  friend SINTER_MEMBER complex operator*(complex a, complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  // Smith's algorithm: divides by the larger part first, so that no square overflows.
  friend SINTER_MEMBER complex operator/(complex a, complex b) {
    const T c = b.re < 0 ? -b.re : b.re, d = b.im < 0 ? -b.im : b.im;
    if (c == 0 && d == 0) return {a.re / T(0), a.im / T(0)};
    if (c >= d) {
      const T ratio = b.im / b.re, divisor = b.re + b.im * ratio;
      return {(a.re + a.im * ratio) / divisor, (a.im - a.re * ratio) / divisor};
    }
    const T ratio = b.re / b.im, divisor = b.re * ratio + b.im;
    return {(a.re * ratio + a.im) / divisor, (a.im * ratio - a.re) / divisor};
  }
  friend SINTER_MEMBER complex operator-(complex a) { return {-a.re, -a.im}; }
  friend SINTER_MEMBER complex operator+(complex a) { return a; }
  friend SINTER_MEMBER bool operator==(complex a, complex b) { return a.re == b.re && a.im == b.im; }
  friend SINTER_MEMBER bool operator!=(complex a, complex b) { return a.re != b.re || a.im != b.im; }
  SINTER_MEMBER complex& operator+=(complex b) { return *this = *this + b; }
  SINTER_MEMBER complex& operator-=(complex b) { return *this = *this - b; }
  SINTER_MEMBER complex& operator*=(complex b) { return *this = *this * b; }
  SINTER_MEMBER complex& operator/=(complex b) { return *this = *this / b; }
};

//@ scaled
// factor * x, where a zero factor wins over infinity.
template <class T>
SINTER_FUNCTION T scaled(T factor, T x) { return factor == 0 ? factor : factor * x; }

//@ leap
// Part of an x so large that e^x could overflow: factor * e^x is then factor * e^(x - leap) * e^leap.
template <class T>
SINTER_FUNCTION T leap(T x) {
  constexpr T part = sizeof(T) == 4 ? 40 : 340;
  return x > 2 * part ? part : 0;
}

//@ negated
template <class T>
SINTER_FUNCTION T negated(T x) { return static_cast<T>(0ull - static_cast<unsigned long long>(x)); }

/// Quotients and remainders. Integers never trap: by zero 0, and the most negative number by -1 wraps. Without
/// branches, so that the host's loops become vector code.
//@ safe_divisor
template <class T>
SINTER_FUNCTION T safe_divisor(T b) { return b == 0 || (is_signed<T> && b == T(-1)) ? T(1) : b; }

//@cuda whole_quotient
template <class T>
SINTER_FUNCTION T whole_quotient(T a, T b) { return static_cast<T>(a / b); }

//@host whole_quotient
// A double holds any int, the rounded quotient of two truncates to the integer one, and vector units can divide
// doubles.
template <class T>
SINTER_FUNCTION T whole_quotient(T a, T b) {
  if constexpr (sizeof(T) < 4 || (sizeof(T) == 4 && is_signed<T>))
    return static_cast<T>(static_cast<int>(static_cast<double>(a) / static_cast<double>(b)));
  else
    return static_cast<T>(a / b);
}

//@ divide
template <class T>
SINTER_FUNCTION T divide(T a, T b) {
  const T quotient = whole_quotient(a, safe_divisor(b));
  if constexpr (is_signed<T>) return b == 0 ? T(0) : b == -1 ? negated(a) : quotient;
  else return b == 0 ? T(0) : quotient;
}
//@ divide with float
SINTER_FUNCTION float divide(float a, float b) { return a / b; }
//@ divide with double
SINTER_FUNCTION double divide(double a, double b) { return a / b; }

//@ modulo
template <class T>
SINTER_FUNCTION T modulo(T a, T b) {
  const T divisor = safe_divisor(b);  // by 1, the rest is the 0 that -1 and 0 give
  return static_cast<T>(a - whole_quotient(a, divisor) * divisor);
}
//@ modulo with float
SINTER_FUNCTION float modulo(float a, float b) { return fmodf(a, b); }
//@ modulo with double
SINTER_FUNCTION double modulo(double a, double b) { return fmod(a, b); }

//@ floor_divide
template <class T>
SINTER_FUNCTION T floor_divide(T a, T b) {
  const T divisor = safe_divisor(b), quotient = whole_quotient(a, divisor);
  if constexpr (is_signed<T>) {
    const T rest = static_cast<T>(a - quotient * divisor);
    const T floor = static_cast<T>(quotient - (rest != 0 && (rest < 0) != (divisor < 0)));
    return b == 0 ? T(0) : b == -1 ? negated(a) : floor;
  } else {
    return b == 0 ? T(0) : quotient;
  }
}
//@ floor_divide with float
SINTER_FUNCTION float floor_divide(float a, float b) {
  if (b == 0) return a / b;
  const float rest = fmodf(a, b);
  float quotient = (a - rest) / b;
  if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return copysignf(0, a / b);
  const float whole = floorf(quotient);
  return quotient - whole > 0.5f ? whole + 1 : whole;
}
//@ floor_divide with double
SINTER_FUNCTION double floor_divide(double a, double b) {
  if (b == 0) return a / b;
  const double rest = fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return copysign(0.0, a / b);
  const double whole = floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

//@ remainder_of
template <class T>
SINTER_FUNCTION T remainder_of(T a, T b) {
  const T divisor = safe_divisor(b), rest = static_cast<T>(a - whole_quotient(a, divisor) * divisor);
  if constexpr (is_signed<T>) return static_cast<T>(rest != 0 && (rest < 0) != (divisor < 0) ? rest + divisor : rest);
  else return rest;
}
//@ remainder_of with float
SINTER_FUNCTION float remainder_of(float a, float b) {
  const float rest = fmodf(a, b);
  if (rest == 0) return copysignf(0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}
//@ remainder_of with double
SINTER_FUNCTION double remainder_of(double a, double b) {
  const double rest = fmod(a, b);
  if (rest == 0) return copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

//@ power
template <class T>
SINTER_FUNCTION T power(T base, T exponent) {
  if constexpr (is_signed<T>) {
    if (exponent < 0) return base == 1 ? 1 : base != -1 ? 0 : exponent % 2 == 0 ? 1 : -1;
  }
  unsigned long long result = 1, square = static_cast<unsigned long long>(base);
  for (auto rest = static_cast<unsigned long long>(exponent); rest != 0; rest >>= 1) {
    if (rest & 1) result *= square;
    square *= square;
  }
  return static_cast<T>(result);
}
//@ power with float
SINTER_FUNCTION float power(float base, float exponent) { return powf(base, exponent); }
//@ power with double
SINTER_FUNCTION double power(double base, double exponent) { return pow(base, exponent); }

/// NaN wins in minimum and maximum, and loses in smaller and larger.
//@ minimum
template <class T>
SINTER_FUNCTION T minimum(T a, T b) { return ((a < b) | is_nan(a)) ? a : b; }

//@ maximum
template <class T>
SINTER_FUNCTION T maximum(T a, T b) { return ((a > b) | is_nan(a)) ? a : b; }

//@cuda minimum with float
// One instruction since sm_80; of zeros, the negative one.
SINTER_FUNCTION float minimum(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float result;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
#else
  return ((a < b) | is_nan(a)) ? a : b;
#endif
}

//@cuda maximum with float
// Of zeros, the positive one.
SINTER_FUNCTION float maximum(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
#else
  return ((a > b) | is_nan(a)) ? a : b;
#endif
}

//@ smaller
template <class T>
SINTER_FUNCTION T smaller(T a, T b) { return ((a < b) | is_nan(b)) ? a : b; }

//@ larger
template <class T>
SINTER_FUNCTION T larger(T a, T b) { return ((a > b) | is_nan(b)) ? a : b; }

//@ absolute
template <class T>
SINTER_FUNCTION T absolute(T x) {
  if constexpr (is_signed<T>) return x < 0 ? negated(x) : x;
  else return x;
}
//@ absolute with float
SINTER_FUNCTION float absolute(float x) { return fabsf(x); }
//@ absolute with double
SINTER_FUNCTION double absolute(double x) { return fabs(x); }

//@ sign_of
template <class T>
SINTER_FUNCTION T sign_of(T x) {
  if constexpr (is_signed<T>) return is_nan(x) ? x : static_cast<T>((x > 0) - (x < 0));
  else return x != 0;
}

//@ reciprocal
template <class T>
SINTER_FUNCTION T reciprocal(T x) { return T(1) / x; }

//@ reciprocal_root with complex needs reciprocal
template <class T>
SINTER_FUNCTION complex<T> reciprocal_root(complex<T> x) { return reciprocal(sqrt(x)); }
//@host reciprocal_root with float
SINTER_FUNCTION float reciprocal_root(float x) { return 1 / sqrtf(x); }
//@host reciprocal_root with double
SINTER_FUNCTION double reciprocal_root(double x) { return 1 / sqrt(x); }
//@cuda reciprocal_root with float
// Within 2 units in the last place, as promised for exp and others; a root and a division take n-body forces 2.5 times
// as long.
SINTER_FUNCTION float reciprocal_root(float x) { return rsqrtf(x); }
//@cuda reciprocal_root with double
SINTER_FUNCTION double reciprocal_root(double x) { return rsqrt(x); }

//@host complementary_erf with float
SINTER_FUNCTION float complementary_erf(float x) { return erfcf(x); }
//@host complementary_erf with double
SINTER_FUNCTION double complementary_erf(double x) { return erfc(x); }
//@cuda complementary_erf with float
// Of x and of -x most of the work is the same, and compilers see it.
SINTER_FUNCTION float complementary_erf(float x) {
  const float tail = erfcf(fabsf(x));
  return x < 0 ? 2 - tail : tail;
}
//@cuda complementary_erf with double
SINTER_FUNCTION double complementary_erf(double x) {
  const double tail = erfc(fabs(x));
  return x < 0 ? 2 - tail : tail;
}

//@ logaddexp with float
SINTER_FUNCTION float logaddexp(float a, float b) {
  const float most = a > b ? a : b, apart = a == b ? 0.0f : fabsf(a - b);
  return most + log1pf(expf(-apart));
}
//@ logaddexp with double
SINTER_FUNCTION double logaddexp(double a, double b) {
  const double most = a > b ? a : b, apart = a == b ? 0.0 : fabs(a - b);
  return most + log1p(exp(-apart));
}
