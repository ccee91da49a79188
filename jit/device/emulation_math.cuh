// CUDA C++ for a host compiler, continued: math functions. libm is declared, not included. Raw kernels
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

/// y with erfc(y) = p for 0 < p < 1/2, erf(y) = x for |x| < 1: from an estimate right to three digits (Winitzki,
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
//@raw
