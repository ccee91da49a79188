// CUDA C++ for a host compiler, continued: math functions and intrinsics. libm is declared, not included.

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
SINTER_LIBM1(logb)
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

extern "C" {
double exp10(double) noexcept;
float exp10f(float) noexcept;
double j0(double) noexcept;
float j0f(float) noexcept;
double j1(double) noexcept;
float j1f(float) noexcept;
double y0(double) noexcept;
float y0f(float) noexcept;
double y1(double) noexcept;
float y1f(float) noexcept;
void sincos(double, double*, double*) noexcept;
void sincosf(float, float*, float*) noexcept;
double fma(double, double, double) noexcept;
float fmaf(float, float, float) noexcept;
double frexp(double, int*) noexcept;
float frexpf(float, int*) noexcept;
double ldexp(double, int) noexcept;
float ldexpf(float, int) noexcept;
double scalbn(double, int) noexcept;
float scalbnf(float, int) noexcept;
double modf(double, double*) noexcept;
float modff(float, float*) noexcept;
double remquo(double, double, int*) noexcept;
float remquof(float, float, int*) noexcept;
int ilogb(double) noexcept;
int ilogbf(float) noexcept;
long lrint(double) noexcept;
long lrintf(float) noexcept;
long lround(double) noexcept;
long lroundf(float) noexcept;
long long llrint(double) noexcept;
long long llrintf(float) noexcept;
long long llround(double) noexcept;
long long llroundf(float) noexcept;
int abs(int) noexcept;
long labs(long) noexcept;
long long llabs(long long) noexcept;
}

static inline float fma(float x, float y, float z) { return fmaf(x, y, z); }
static inline float frexp(float x, int* e) { return frexpf(x, e); }
static inline float ldexp(float x, int e) { return ldexpf(x, e); }
static inline float scalbn(float x, int e) { return scalbnf(x, e); }
static inline float modf(float x, float* whole) { return modff(x, whole); }
static inline int ilogb(float x) { return ilogbf(x); }
static inline float abs(float x) { return __builtin_fabsf(x); }
static inline double abs(double x) { return __builtin_fabs(x); }
static inline long abs(long x) { return x < 0 ? -x : x; }
static inline long long abs(long long x) { return x < 0 ? -x : x; }

static inline bool isnan(float x) { return __builtin_isnan(x); }
static inline bool isnan(double x) { return __builtin_isnan(x); }
static inline bool isinf(float x) { return __builtin_isinf(x); }
static inline bool isinf(double x) { return __builtin_isinf(x); }
static inline bool isfinite(float x) { return __builtin_isfinite(x); }
static inline bool isfinite(double x) { return __builtin_isfinite(x); }
static inline bool signbit(float x) { return __builtin_signbit(x); }
static inline bool signbit(double x) { return __builtin_signbit(x); }

#ifndef INFINITY
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#endif
#endif  // SINTER_WITH_LIBRARY

static inline float exp10(float x) { return exp10f(x); }
static inline void sincos(float x, float* s, float* c) { sincosf(x, s, c); }
static inline float rsqrtf(float x) { return 1 / sqrtf(x); }
static inline double rsqrt(double x) { return 1 / sqrt(x); }
static inline float rsqrt(float x) { return 1 / sqrtf(x); }
static inline float rcbrtf(float x) { return 1 / cbrtf(x); }
static inline double rcbrt(double x) { return 1 / cbrt(x); }
static inline double sinpi(double x) { return sin(3.141592653589793 * fmod(x, 2.0)); }
static inline double cospi(double x) { return cos(3.141592653589793 * fmod(x, 2.0)); }
static inline float sinpif(float x) { return static_cast<float>(sinpi(static_cast<double>(x))); }
static inline float cospif(float x) { return static_cast<float>(cospi(static_cast<double>(x))); }
static inline void sincospif(float x, float* s, float* c) { *s = sinpif(x); *c = cospif(x); }
static inline void sincospi(double x, double* s, double* c) { *s = sinpi(x); *c = cospi(x); }
static inline float rhypotf(float x, float y) { return 1 / hypotf(x, y); }
static inline double rhypot(double x, double y) { return 1 / hypot(x, y); }
static inline float norm3df(float x, float y, float z) { return hypotf(hypotf(x, y), z); }
static inline double norm3d(double x, double y, double z) { return hypot(hypot(x, y), z); }
static inline float rnorm3df(float x, float y, float z) { return 1 / norm3df(x, y, z); }
static inline double rnorm3d(double x, double y, double z) { return 1 / norm3d(x, y, z); }
static inline float norm4df(float x, float y, float z, float w) { return hypotf(norm3df(x, y, z), w); }
static inline double norm4d(double x, double y, double z, double w) { return hypot(norm3d(x, y, z), w); }
static inline float normcdff(float x) { return 0.5f * erfcf(-0.70710678f * x); }
static inline double normcdf(double x) { return 0.5 * erfc(-0.7071067811865476 * x); }

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
static inline unsigned int umin(unsigned int a, unsigned int b) { return min(a, b); }
static inline unsigned int umax(unsigned int a, unsigned int b) { return max(a, b); }

// ---- Intrinsics: the exact functions stand in for the approximate ones ----

// Macros, since glibc has functions of some of these names.
#define __fdividef(x, y) (static_cast<float>(x) / static_cast<float>(y))
#define fdividef(x, y) (static_cast<float>(x) / static_cast<float>(y))
#define __expf expf
#define __exp10f exp10f
#define __logf logf
#define __log2f log2f
#define __log10f log10f
#define __powf powf
#define __sinf sinf
#define __cosf cosf
#define __tanf tanf
#define __tanhf tanhf
#define __sincosf sincosf
static inline float __saturatef(float x) { return x > 0 ? x < 1 ? x : 1.0f : 0.0f; }
static inline float __frcp_rn(float x) { return 1 / x; }
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
static inline float __frsqrt_rn(float x) { return rsqrtf(x); }
static inline double __drcp_rn(double x) { return 1 / x; }
static inline double __dsqrt_rn(double x) { return sqrt(x); }

/// Rounded on their own: `volatile` keeps the compiler from making a multiplication part of a sum.
#define SINTER_ROUNDED(name, T, expression) \
  static inline T name(T x, T y) { volatile T result = expression; return result; }
SINTER_ROUNDED(__fadd_rn, float, x + y)
SINTER_ROUNDED(__fsub_rn, float, x - y)
SINTER_ROUNDED(__fmul_rn, float, x * y)
SINTER_ROUNDED(__fdiv_rn, float, x / y)
SINTER_ROUNDED(__dadd_rn, double, x + y)
SINTER_ROUNDED(__dsub_rn, double, x - y)
SINTER_ROUNDED(__dmul_rn, double, x * y)
SINTER_ROUNDED(__ddiv_rn, double, x / y)
#undef SINTER_ROUNDED
static inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
static inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }

static inline int __popc(unsigned int x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned int>(x)); }
static inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned int __brev(unsigned int x) {
  x = (x & 0x55555555u) << 1 | (x >> 1 & 0x55555555u);
  x = (x & 0x33333333u) << 2 | (x >> 2 & 0x33333333u);
  x = (x & 0x0f0f0f0fu) << 4 | (x >> 4 & 0x0f0f0f0fu);
  return __builtin_bswap32(x);
}
static inline unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned int>(x))) << 32 |
         __brev(static_cast<unsigned int>(x >> 32));
}
static inline unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int select) {
  const unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
  unsigned int result = 0;
  for (int k = 0; k < 4; ++k)
    result |= static_cast<unsigned int>(bytes >> 8 * (select >> 4 * k & 7) & 0xff) << 8 * k;
  return result;
}
static inline unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int n) {
  return static_cast<unsigned int>((static_cast<unsigned long long>(high) << 32 | low) << n % 32 >> 32);
}
static inline unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int n) {
  return static_cast<unsigned int>((static_cast<unsigned long long>(high) << 32 | low) >> n % 32);
}
static inline unsigned int __umulhi(unsigned int x, unsigned int y) {
  return static_cast<unsigned int>(static_cast<unsigned long long>(x) * y >> 32);
}
static inline int __mulhi(int x, int y) { return static_cast<int>(static_cast<long long>(x) * y >> 32); }
static inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(x) * y >> 64);
}
static inline long long __mul64hi(long long x, long long y) {
  return static_cast<long long>(static_cast<__int128>(x) * y >> 64);
}
static inline int __mul24(int x, int y) { return static_cast<int>(static_cast<unsigned>(x << 8 >> 8) * (y << 8 >> 8)); }
static inline unsigned int __umul24(unsigned int x, unsigned int y) { return (x & 0xffffffu) * (y & 0xffffffu); }
static inline unsigned int __sad(int x, int y, unsigned int z) {
  return z + (x > y ? static_cast<unsigned int>(x) - static_cast<unsigned int>(y)
                    : static_cast<unsigned int>(y) - static_cast<unsigned int>(x));
}
static inline unsigned int __usad(unsigned int x, unsigned int y, unsigned int z) {
  return z + (x > y ? x - y : y - x);
}

static inline int __float_as_int(float x) { return sinter_emulation::from_word<int>(sinter_emulation::to_word(x)); }
static inline unsigned int __float_as_uint(float x) {
  return sinter_emulation::from_word<unsigned int>(sinter_emulation::to_word(x));
}
static inline float __int_as_float(int x) { return sinter_emulation::from_word<float>(sinter_emulation::to_word(x)); }
static inline float __uint_as_float(unsigned int x) {
  return sinter_emulation::from_word<float>(sinter_emulation::to_word(x));
}
static inline long long __double_as_longlong(double x) {
  return sinter_emulation::from_word<long long>(sinter_emulation::to_word(x));
}
static inline double __longlong_as_double(long long x) {
  return sinter_emulation::from_word<double>(sinter_emulation::to_word(x));
}
static inline int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
static inline int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }
static inline double __hiloint2double(int high, int low) {
  const auto upper = static_cast<unsigned long long>(static_cast<unsigned int>(high));
  return __longlong_as_double(static_cast<long long>(upper << 32 | static_cast<unsigned int>(low)));
}

/// Conversions saturate, and make 0 of NaN, as the device's do.
namespace sinter_emulation {
template <class To, class From>
static inline To saturated(From x) {
  constexpr int bits = 8 * sizeof(To) - (static_cast<To>(-1) > 0 ? 0 : 1);
  constexpr To most = static_cast<To>(~0ull >> (64 - bits));
  constexpr To smallest = static_cast<To>(-1) > 0 ? To(0) : static_cast<To>(-most - 1);
  if (__builtin_isnan(x)) return 0;
  if (x <= static_cast<From>(smallest)) return smallest;
  if (x >= static_cast<From>(most)) return most;
  return static_cast<To>(x);
}
}  // namespace sinter_emulation
#define SINTER_CONVERT(name, To, From, nearest, down, up, zero) \
  static inline To name##_rn(From x) { return sinter_emulation::saturated<To>(nearest(x)); } \
  static inline To name##_rd(From x) { return sinter_emulation::saturated<To>(down(x)); } \
  static inline To name##_ru(From x) { return sinter_emulation::saturated<To>(up(x)); } \
  static inline To name##_rz(From x) { return sinter_emulation::saturated<To>(zero(x)); }
SINTER_CONVERT(__float2int, int, float, rintf, floorf, ceilf, truncf)
SINTER_CONVERT(__float2uint, unsigned int, float, rintf, floorf, ceilf, truncf)
SINTER_CONVERT(__float2ll, long long, float, rintf, floorf, ceilf, truncf)
SINTER_CONVERT(__float2ull, unsigned long long, float, rintf, floorf, ceilf, truncf)
SINTER_CONVERT(__double2int, int, double, rint, floor, ceil, trunc)
SINTER_CONVERT(__double2uint, unsigned int, double, rint, floor, ceil, trunc)
SINTER_CONVERT(__double2ll, long long, double, rint, floor, ceil, trunc)
SINTER_CONVERT(__double2ull, unsigned long long, double, rint, floor, ceil, trunc)
#undef SINTER_CONVERT
static inline float __int2float_rn(int x) { return static_cast<float>(x); }
static inline float __uint2float_rn(unsigned int x) { return static_cast<float>(x); }
static inline double __int2double_rn(int x) { return x; }
static inline double __uint2double_rn(unsigned int x) { return x; }
static inline float __double2float_rn(double x) { return static_cast<float>(x); }
static inline float __ll2float_rn(long long x) { return static_cast<float>(x); }
static inline double __ll2double_rn(long long x) { return static_cast<double>(x); }

// ---- Loads and stores with cache hints ----

template <class T> static inline T __ldg(const T* at) { return *at; }
template <class T> static inline T __ldcg(const T* at) { return *at; }
template <class T> static inline T __ldca(const T* at) { return *at; }
template <class T> static inline T __ldcs(const T* at) { return *at; }
template <class T> static inline T __ldcv(const T* at) { return *const_cast<const volatile T*>(at); }
template <class T> static inline void __stcg(T* at, T x) { *at = x; }
template <class T> static inline void __stcs(T* at, T x) { *at = x; }
template <class T> static inline void __stwb(T* at, T x) { *at = x; }
template <class T> static inline void __stwt(T* at, T x) { *at = x; }

// ---- math_constants.h ----

#define CUDART_INF_F __builtin_inff()
#define CUDART_NAN_F __builtin_nanf("")
#define CUDART_PI_F 3.141592654f
#define CUDART_MAX_NORMAL_F 3.402823466e38f
#define CUDART_INF __builtin_inf()
#define CUDART_NAN __builtin_nan("")
#define CUDART_PI 3.1415926535897931e+0
