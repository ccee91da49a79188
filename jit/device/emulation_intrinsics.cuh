// CUDA C++ for a host compiler, continued: intrinsics. The exact functions stand in for the approximate ones. Sections as
// in emulation_math.cuh.

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
