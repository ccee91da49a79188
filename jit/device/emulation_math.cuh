// CUDA C++ for a host compiler, continued: math functions and intrinsics. libm is declared, not included. Raw kernels
// get all of it; of what stands in sections (prelude.cuh; `//@raw` ends one), string kernels get what they name.

#ifndef SINTER_WITH_LIBRARY
#define SINTER_LIBM1(name) \
  extern "C" double name(double) noexcept; \
  extern "C" float name##f(float) noexcept; \
  static inline float name(float x) { return name##f(x); }
#define SINTER_LIBM2(name) \
  extern "C" double name(double, double) noexcept; \
  extern "C" float name##f(float, float) noexcept; \
  static inline float name(float x, float y) { return name##f(x, y); }

SINTER_LIBM1(fabs)
SINTER_LIBM1(floor)
SINTER_LIBM1(ceil)
SINTER_LIBM1(trunc)
SINTER_LIBM1(rint)
SINTER_LIBM1(nearbyint)
SINTER_LIBM1(round)
SINTER_LIBM1(sqrt)
SINTER_LIBM1(cbrt)
SINTER_LIBM1(exp)
SINTER_LIBM1(exp2)
SINTER_LIBM1(expm1)
SINTER_LIBM1(log)
SINTER_LIBM1(log2)
SINTER_LIBM1(log10)
SINTER_LIBM1(log1p)
SINTER_LIBM1(sin)
SINTER_LIBM1(cos)
SINTER_LIBM1(tan)
SINTER_LIBM1(asin)
SINTER_LIBM1(acos)
SINTER_LIBM1(atan)
SINTER_LIBM1(sinh)
SINTER_LIBM1(cosh)
SINTER_LIBM1(tanh)
SINTER_LIBM1(asinh)
SINTER_LIBM1(acosh)
SINTER_LIBM1(atanh)
SINTER_LIBM1(erf)
SINTER_LIBM1(erfc)
SINTER_LIBM1(lgamma)
SINTER_LIBM1(tgamma)
SINTER_LIBM2(atan2)
SINTER_LIBM2(hypot)
SINTER_LIBM2(pow)
SINTER_LIBM2(copysign)
SINTER_LIBM2(nextafter)
SINTER_LIBM2(fmod)
SINTER_LIBM2(remainder)
SINTER_LIBM2(fmin)
SINTER_LIBM2(fmax)
SINTER_LIBM2(fdim)
#undef SINTER_LIBM1
#undef SINTER_LIBM2

extern "C" double exp10(double) noexcept;
extern "C" float exp10f(float) noexcept;
extern "C" double fma(double, double, double) noexcept;
extern "C" float fmaf(float, float, float) noexcept;
extern "C" double j0(double) noexcept;
extern "C" float j0f(float) noexcept;
extern "C" double j1(double) noexcept;
extern "C" float j1f(float) noexcept;
extern "C" double y0(double) noexcept;
extern "C" float y0f(float) noexcept;
extern "C" double y1(double) noexcept;
extern "C" float y1f(float) noexcept;
extern "C" int abs(int) noexcept;
static inline float fma(float x, float y, float z) { return fmaf(x, y, z); }
static inline float abs(float x) { return __builtin_fabsf(x); }
static inline double abs(double x) { return __builtin_fabs(x); }
static inline long abs(long x) { return x < 0 ? -x : x; }
static inline long long abs(long long x) { return x < 0 ? -x : x; }

//@host sincos
extern "C" void sincos(double, double*, double*) noexcept;
//@host sincosf __sincosf
extern "C" void sincosf(float, float*, float*) noexcept;
//@host frexp frexpf
extern "C" double frexp(double, int*) noexcept;
extern "C" float frexpf(float, int*) noexcept;
static inline float frexp(float x, int* e) { return frexpf(x, e); }
//@host ldexp ldexpf
extern "C" double ldexp(double, int) noexcept;
extern "C" float ldexpf(float, int) noexcept;
static inline float ldexp(float x, int e) { return ldexpf(x, e); }
//@host scalbn scalbnf
extern "C" double scalbn(double, int) noexcept;
extern "C" float scalbnf(float, int) noexcept;
static inline float scalbn(float x, int e) { return scalbnf(x, e); }
//@host modf modff
extern "C" double modf(double, double*) noexcept;
extern "C" float modff(float, float*) noexcept;
static inline float modf(float x, float* whole) { return modff(x, whole); }
//@host remquo remquof
extern "C" double remquo(double, double, int*) noexcept;
extern "C" float remquof(float, float, int*) noexcept;
//@host ilogb ilogbf
extern "C" int ilogb(double) noexcept;
extern "C" int ilogbf(float) noexcept;
static inline int ilogb(float x) { return ilogbf(x); }
//@host logb logbf
extern "C" double logb(double) noexcept;
extern "C" float logbf(float) noexcept;
static inline float logb(float x) { return logbf(x); }
//@host lrint lrintf
extern "C" long lrint(double) noexcept;
extern "C" long lrintf(float) noexcept;
//@host lround lroundf
extern "C" long lround(double) noexcept;
extern "C" long lroundf(float) noexcept;
//@host llrint llrintf
extern "C" long long llrint(double) noexcept;
extern "C" long long llrintf(float) noexcept;
//@host llround llroundf
extern "C" long long llround(double) noexcept;
extern "C" long long llroundf(float) noexcept;
//@host labs
extern "C" long labs(long) noexcept;
//@host llabs
extern "C" long long llabs(long long) noexcept;
//@raw

static inline bool isnan(float x) { return __builtin_isnan(x); }
static inline bool isnan(double x) { return __builtin_isnan(x); }
static inline bool isinf(float x) { return __builtin_isinf(x); }
static inline bool isinf(double x) { return __builtin_isinf(x); }
static inline bool isfinite(float x) { return __builtin_isfinite(x); }
static inline bool isfinite(double x) { return __builtin_isfinite(x); }
static inline bool signbit(float x) { return __builtin_signbit(x); }
static inline bool signbit(double x) { return __builtin_signbit(x); }
#endif  // SINTER_WITH_LIBRARY

static inline float exp10(float x) { return exp10f(x); }
static inline float rsqrtf(float x) { return 1 / sqrtf(x); }
static inline double rsqrt(double x) { return 1 / sqrt(x); }
static inline float rsqrt(float x) { return 1 / sqrtf(x); }

//@host sincos
static inline void sincos(float x, float* s, float* c) {
  *s = sinf(x);
  *c = cosf(x);
}
//@host rcbrtf
static inline float rcbrtf(float x) { return 1 / cbrtf(x); }
//@host rcbrt
static inline double rcbrt(double x) { return 1 / cbrt(x); }
static inline float rcbrt(float x) { return 1 / cbrtf(x); }

/// By the remainder to the nearest even number, which is exact, as multiples of 1/2 then are.
//@host half_turns
static inline double half_turns(double x) { return x - 2 * rint(x / 2); }
//@host sinpi
static inline double sinpi(double x) {
  const double turns = half_turns(x), beyond = copysign(1.0, turns) - turns;
  return sin(3.141592653589793 * (fabs(turns) > 0.5 ? beyond : turns));
}
static inline float sinpi(float x) { return static_cast<float>(sinpi(static_cast<double>(x))); }
//@host cospi
static inline double cospi(double x) { return sin(3.141592653589793 * (0.5 - fabs(half_turns(x)))); }
static inline float cospi(float x) { return static_cast<float>(cospi(static_cast<double>(x))); }
//@host sinpif
static inline float sinpif(float x) { return sinpi(x); }
//@host cospif
static inline float cospif(float x) { return cospi(x); }
//@host sincospif
static inline void sincospif(float x, float* s, float* c) { *s = sinpif(x); *c = cospif(x); }
//@host sincospi
static inline void sincospi(double x, double* s, double* c) { *s = sinpi(x); *c = cospi(x); }
//@host rhypotf
static inline float rhypotf(float x, float y) { return 1 / hypotf(x, y); }
//@host rhypot
static inline double rhypot(double x, double y) { return 1 / hypot(x, y); }
//@host norm3df
static inline float norm3df(float x, float y, float z) { return hypotf(hypotf(x, y), z); }
//@host norm3d
static inline double norm3d(double x, double y, double z) { return hypot(hypot(x, y), z); }
//@host rnorm3df
static inline float rnorm3df(float x, float y, float z) { return 1 / norm3df(x, y, z); }
//@host rnorm3d
static inline double rnorm3d(double x, double y, double z) { return 1 / norm3d(x, y, z); }
//@host norm4df
static inline float norm4df(float x, float y, float z, float w) { return hypotf(norm3df(x, y, z), w); }
//@host norm4d
static inline double norm4d(double x, double y, double z, double w) { return hypot(norm3d(x, y, z), w); }
//@host normcdff
static inline float normcdff(float x) { return 0.5f * erfcf(-0.70710678f * x); }
//@host normcdf
static inline double normcdf(double x) { return 0.5 * erfc(-0.7071067811865476 * x); }

/// y with erfc(y) = p for 0 < p < 1/2, erf(y) = x for |x| < 1: from an estimate that is right to three digits (Winitzki,
/// "A handy approximation for the error function and its inverse", 2008) by Halley's method.
//@host erf_estimate
static inline double erf_estimate(double log_of_rest) {
  const double a = 0.147, half = 2 / (3.141592653589793 * a) + log_of_rest / 2;
  return sqrt(sqrt(half * half - log_of_rest / a) - half);
}
//@host erfcinv
static inline double erfcinv(double p) {
  if (!(p > 0 && p < 2)) return p == 0 ? __builtin_inf() : p == 2 ? -__builtin_inf() : __builtin_nan("");
  const bool upper = p > 1;
  const double q = upper ? 2 - p : p;
  double y = erf_estimate(log(q) + log(2 - q));
  for (int k = 0; k < 4; ++k) {
    const double step = (erfc(y) - q) / (-1.1283791670955126 * exp(-y * y));
    y -= step / (1 + y * step);
  }
  return upper ? -y : y;
}
//@host erfinv
static inline double erfinv(double x) {
  if (fabs(x) >= 0.5) return copysign(erfcinv(1 - fabs(x)), x);
  if (x == 0) return x;
  double y = copysign(erf_estimate(log1p(-x * x)), x);
  if (fabs(x) < 1e-3) y = 0.886226925452758 * x;
  for (int k = 0; k < 4; ++k) {
    const double step = (erf(y) - x) / (1.1283791670955126 * exp(-y * y));
    y -= step / (1 + y * step);
  }
  return y;
}
//@host erfinvf
static inline float erfinvf(float x) { return static_cast<float>(erfinv(static_cast<double>(x))); }
//@host erfcinvf
static inline float erfcinvf(float x) { return static_cast<float>(erfcinv(static_cast<double>(x))); }
//@host normcdfinv
static inline double normcdfinv(double p) { return -1.4142135623730951 * erfcinv(2 * p); }
//@host normcdfinvf
static inline float normcdfinvf(float p) { return static_cast<float>(normcdfinv(static_cast<double>(p))); }
//@raw

// ---- min and max: overloads as CUDA has them, so that mixed arguments mean the same ----

namespace sinter_emulation {
template <class T>
constexpr T lesser(T a, T b) { return b < a ? b : a; }
template <class T>
constexpr T larger(T a, T b) { return a < b ? b : a; }
}  // namespace sinter_emulation

#define SINTER_EXTREMES(T, A, B) \
  static inline constexpr T min(A a, B b) { return sinter_emulation::lesser<T>(a, b); } \
  static inline constexpr T max(A a, B b) { return sinter_emulation::larger<T>(a, b); }
#define SINTER_MIXED(T, A, B) SINTER_EXTREMES(T, A, B) SINTER_EXTREMES(T, B, A)
SINTER_EXTREMES(int, int, int)
SINTER_EXTREMES(unsigned int, unsigned int, unsigned int)
SINTER_EXTREMES(long, long, long)
SINTER_EXTREMES(unsigned long, unsigned long, unsigned long)
SINTER_EXTREMES(long long, long long, long long)
SINTER_EXTREMES(unsigned long long, unsigned long long, unsigned long long)
SINTER_MIXED(unsigned int, int, unsigned int)
SINTER_MIXED(unsigned long, long, unsigned long)
SINTER_MIXED(unsigned long long, long long, unsigned long long)
#undef SINTER_EXTREMES
#undef SINTER_MIXED
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }
static inline double min(float a, double b) { return fmin(static_cast<double>(a), b); }
static inline double max(float a, double b) { return fmax(static_cast<double>(a), b); }
static inline double min(double a, float b) { return fmin(a, static_cast<double>(b)); }
static inline double max(double a, float b) { return fmax(a, static_cast<double>(b)); }
//@host umin needs min
static inline unsigned int umin(unsigned int a, unsigned int b) { return min(a, b); }
//@host umax needs max
static inline unsigned int umax(unsigned int a, unsigned int b) { return max(a, b); }

// ---- Intrinsics: the exact functions stand in for the approximate ones ----

//@host fdividef
static inline float fdividef(float x, float y) { return x / y; }
//@host __fdividef
static inline float __fdividef(float x, float y) { return x / y; }
/// Macros, since glibc has functions of some of these names.
//@host __expf
#define __expf expf
//@host __exp10f
#define __exp10f exp10f
//@host __logf
#define __logf logf
//@host __log2f
#define __log2f log2f
//@host __log10f
#define __log10f log10f
//@host __powf
#define __powf powf
//@host __sinf
#define __sinf sinf
//@host __cosf
#define __cosf cosf
//@host __tanf
#define __tanf tanf
//@host __tanhf
#define __tanhf tanhf
//@host __sincosf
#define __sincosf sincosf
//@host __saturatef
static inline float __saturatef(float x) { return x > 0 ? x < 1 ? x : 1.0f : 0.0f; }
//@host __frcp_rn
static inline float __frcp_rn(float x) { return 1 / x; }
//@host __fsqrt_rn
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
//@host __frsqrt_rn needs rsqrtf
static inline float __frsqrt_rn(float x) { return rsqrtf(x); }
//@host __drcp_rn
static inline double __drcp_rn(double x) { return 1 / x; }
//@host __dsqrt_rn
static inline double __dsqrt_rn(double x) { return sqrt(x); }

/// Rounded on their own: `volatile` keeps the compiler from making a multiplication part of a sum.
//@host sinter_rounded
#define sinter_rounded(name, T, expression) \
  static inline T name(T x, T y) { volatile T result = expression; return result; }
//@host __fadd_rn
sinter_rounded(__fadd_rn, float, x + y)
//@host __fsub_rn
sinter_rounded(__fsub_rn, float, x - y)
//@host __fmul_rn
sinter_rounded(__fmul_rn, float, x * y)
//@host __fdiv_rn
sinter_rounded(__fdiv_rn, float, x / y)
//@host __dadd_rn
sinter_rounded(__dadd_rn, double, x + y)
//@host __dsub_rn
sinter_rounded(__dsub_rn, double, x - y)
//@host __dmul_rn
sinter_rounded(__dmul_rn, double, x * y)
//@host __ddiv_rn
sinter_rounded(__ddiv_rn, double, x / y)
//@raw
#undef sinter_rounded
//@host __fmaf_rn
static inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
//@host __fma_rn
static inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }

//@host __popc
static inline int __popc(unsigned int x) { return __builtin_popcount(x); }
//@host __popcll
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
//@host __clz
static inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned int>(x)); }
//@host __clzll
static inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
//@host __ffs
static inline int __ffs(int x) { return __builtin_ffs(x); }
//@host __ffsll
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
//@host __brev
static inline unsigned int __brev(unsigned int x) {
  x = (x & 0x55555555u) << 1 | (x >> 1 & 0x55555555u);
  x = (x & 0x33333333u) << 2 | (x >> 2 & 0x33333333u);
  x = (x & 0x0f0f0f0fu) << 4 | (x >> 4 & 0x0f0f0f0fu);
  return __builtin_bswap32(x);
}
//@host __brevll
static inline unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned int>(x))) << 32 |
         __brev(static_cast<unsigned int>(x >> 32));
}
//@host __byte_perm
static inline unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int select) {
  const unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
  unsigned int result = 0;
  for (int k = 0; k < 4; ++k)
    result |= static_cast<unsigned int>(bytes >> 8 * (select >> 4 * k & 7) & 0xff) << 8 * k;
  return result;
}
//@host __funnelshift_l
static inline unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int n) {
  return static_cast<unsigned int>((static_cast<unsigned long long>(high) << 32 | low) << n % 32 >> 32);
}
//@host __funnelshift_r
static inline unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int n) {
  return static_cast<unsigned int>((static_cast<unsigned long long>(high) << 32 | low) >> n % 32);
}
//@host __umulhi
static inline unsigned int __umulhi(unsigned int x, unsigned int y) {
  return static_cast<unsigned int>(static_cast<unsigned long long>(x) * y >> 32);
}
//@host __mulhi
static inline int __mulhi(int x, int y) { return static_cast<int>(static_cast<long long>(x) * y >> 32); }
//@host __umul64hi
static inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(x) * y >> 64);
}
//@host __mul64hi
static inline long long __mul64hi(long long x, long long y) {
  return static_cast<long long>(static_cast<__int128>(x) * y >> 64);
}
//@host __mul24
static inline int __mul24(int x, int y) { return static_cast<int>(static_cast<unsigned>(x << 8 >> 8) * (y << 8 >> 8)); }
//@host __umul24
static inline unsigned int __umul24(unsigned int x, unsigned int y) { return (x & 0xffffffu) * (y & 0xffffffu); }
//@host __sad
static inline unsigned int __sad(int x, int y, unsigned int z) {
  return z + (x > y ? static_cast<unsigned int>(x) - static_cast<unsigned int>(y)
                    : static_cast<unsigned int>(y) - static_cast<unsigned int>(x));
}
/// Four or two small numbers in one word, and dot products of four.
//@host __vadd4
static inline unsigned int __vadd4(unsigned int x, unsigned int y) {
  return ((x & 0x7f7f7f7fu) + (y & 0x7f7f7f7fu)) ^ ((x ^ y) & 0x80808080u);
}
//@host __vsub4
static inline unsigned int __vsub4(unsigned int x, unsigned int y) {
  return ((x | 0x80808080u) - (y & 0x7f7f7f7fu)) ^ ((x ^ ~y) & 0x80808080u);
}
//@host __vadd2
static inline unsigned int __vadd2(unsigned int x, unsigned int y) {
  return ((x & 0x7fff7fffu) + (y & 0x7fff7fffu)) ^ ((x ^ y) & 0x80008000u);
}
//@host __vsub2
static inline unsigned int __vsub2(unsigned int x, unsigned int y) {
  return ((x | 0x80008000u) - (y & 0x7fff7fffu)) ^ ((x ^ ~y) & 0x80008000u);
}
//@host __dp4a
static inline int __dp4a(int x, int y, int sum) {
  unsigned int total = static_cast<unsigned int>(sum);
  for (int k = 0; k < 32; k += 8)
    total += static_cast<unsigned int>(static_cast<signed char>(x >> k) * static_cast<signed char>(y >> k));
  return static_cast<int>(total);
}
static inline unsigned int __dp4a(unsigned int x, unsigned int y, unsigned int sum) {
  for (int k = 0; k < 32; k += 8) sum += (x >> k & 0xffu) * (y >> k & 0xffu);
  return sum;
}
//@host __usad
static inline unsigned int __usad(unsigned int x, unsigned int y, unsigned int z) {
  return z + (x > y ? x - y : y - x);
}

//@host __float_as_int
static inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
//@host __float_as_uint
static inline unsigned int __float_as_uint(float x) {
  return __builtin_bit_cast(unsigned int, x);
}
//@host __int_as_float
static inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
//@host __uint_as_float
static inline float __uint_as_float(unsigned int x) {
  return __builtin_bit_cast(float, x);
}
//@host __double_as_longlong
static inline long long __double_as_longlong(double x) {
  return __builtin_bit_cast(long long, x);
}
//@host __longlong_as_double
static inline double __longlong_as_double(long long x) {
  return __builtin_bit_cast(double, x);
}
//@host __double2hiint
static inline int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
//@host __double2loint
static inline int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }
//@host __hiloint2double
static inline double __hiloint2double(int high, int low) {
  const auto upper = static_cast<unsigned long long>(static_cast<unsigned int>(high));
  return __longlong_as_double(static_cast<long long>(upper << 32 | static_cast<unsigned int>(low)));
}

/// Conversions saturate, and make 0 of NaN, as the device's do.
//@host saturated_to
template <class To, class From>
static inline To saturated_to(From x) {
  constexpr int bits = 8 * sizeof(To) - (static_cast<To>(-1) > 0 ? 0 : 1);
  constexpr To most = static_cast<To>(~0ull >> (64 - bits));
  constexpr To smallest = static_cast<To>(-1) > 0 ? To(0) : static_cast<To>(-most - 1);
  if (__builtin_isnan(x)) return 0;
  if (x <= static_cast<From>(smallest)) return smallest;
  if (x >= static_cast<From>(most)) return most;
  return static_cast<To>(x);
}
//@host sinter_conversions
#define sinter_conversions(name, To, From, nearest, down, up, zero) \
  static inline To name##_rn(From x) { return saturated_to<To>(nearest(x)); } \
  static inline To name##_rd(From x) { return saturated_to<To>(down(x)); } \
  static inline To name##_ru(From x) { return saturated_to<To>(up(x)); } \
  static inline To name##_rz(From x) { return saturated_to<To>(zero(x)); }
//@host __float2int_rn __float2int_rd __float2int_ru __float2int_rz
sinter_conversions(__float2int, int, float, rintf, floorf, ceilf, truncf)
//@host __float2uint_rn __float2uint_rd __float2uint_ru __float2uint_rz
sinter_conversions(__float2uint, unsigned int, float, rintf, floorf, ceilf, truncf)
//@host __float2ll_rn __float2ll_rd __float2ll_ru __float2ll_rz
sinter_conversions(__float2ll, long long, float, rintf, floorf, ceilf, truncf)
//@host __float2ull_rn __float2ull_rd __float2ull_ru __float2ull_rz
sinter_conversions(__float2ull, unsigned long long, float, rintf, floorf, ceilf, truncf)
//@host __double2int_rn __double2int_rd __double2int_ru __double2int_rz
sinter_conversions(__double2int, int, double, rint, floor, ceil, trunc)
//@host __double2uint_rn __double2uint_rd __double2uint_ru __double2uint_rz
sinter_conversions(__double2uint, unsigned int, double, rint, floor, ceil, trunc)
//@host __double2ll_rn __double2ll_rd __double2ll_ru __double2ll_rz
sinter_conversions(__double2ll, long long, double, rint, floor, ceil, trunc)
//@host __double2ull_rn __double2ull_rd __double2ull_ru __double2ull_rz
sinter_conversions(__double2ull, unsigned long long, double, rint, floor, ceil, trunc)
//@raw
#undef sinter_conversions
//@host __int2float_rn
static inline float __int2float_rn(int x) { return static_cast<float>(x); }
//@host __uint2float_rn
static inline float __uint2float_rn(unsigned int x) { return static_cast<float>(x); }
//@host __int2double_rn
static inline double __int2double_rn(int x) { return x; }
//@host __uint2double_rn
static inline double __uint2double_rn(unsigned int x) { return x; }
//@host __double2float_rn
static inline float __double2float_rn(double x) { return static_cast<float>(x); }
//@host __ll2float_rn
static inline float __ll2float_rn(long long x) { return static_cast<float>(x); }
//@host __ll2double_rn
static inline double __ll2double_rn(long long x) { return static_cast<double>(x); }

//@raw
// ---- Loads and stores with cache hints ----

//@host __ldg
template <class T> static inline T __ldg(const T* at) { return *at; }
//@host __ldcg
template <class T> static inline T __ldcg(const T* at) { return *at; }
//@host __ldca
template <class T> static inline T __ldca(const T* at) { return *at; }
//@host __ldcs
template <class T> static inline T __ldcs(const T* at) { return *at; }
//@host __ldcv
template <class T> static inline T __ldcv(const T* at) { return *const_cast<const volatile T*>(at); }
//@host __stcg
template <class T> static inline void __stcg(T* at, T x) { *at = x; }
//@host __stcs
template <class T> static inline void __stcs(T* at, T x) { *at = x; }
//@host __stwb
template <class T> static inline void __stwb(T* at, T x) { *at = x; }
//@host __stwt
template <class T> static inline void __stwt(T* at, T x) { *at = x; }
