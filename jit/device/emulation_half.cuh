// CUDA C++ for a host compiler, continued: __half and __nv_bfloat16, for those who include cuda_fp16.h or cuda_bf16.h.
// Arithmetic is that of float, rounded after each operation.

namespace sinter_emulation {

static inline unsigned short half_bits(float x) {
  const unsigned int bits = __float_as_uint(x), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<unsigned short>(sign | 0x7fffu);
  if (magnitude >= 0x477ff000u) return static_cast<unsigned short>(sign | 0x7c00u);
  if (magnitude < 0x38800000u)  // subnormal: adding 0.5, whose last bit weighs 2^-24, rounds
    return static_cast<unsigned short>(sign | (__float_as_uint(__uint_as_float(magnitude) + 0.5f) - 0x3f000000u));
  return static_cast<unsigned short>(sign | (magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13);
}
static inline float half_value(unsigned short bits) {
  const unsigned int magnitude = (bits & 0x7fffu) << 13, sign = (bits & 0x8000u) << 16;
  if (magnitude >= 0x0f800000u) return __uint_as_float(sign | (magnitude + 0x70000000u));
  if (magnitude >= 0x00800000u) return __uint_as_float(sign | (magnitude + 0x38000000u));
  return __uint_as_float(sign | __float_as_uint(static_cast<float>(bits & 0x3ffu) * 0x1p-24f));
}
static inline unsigned short bfloat_bits(float x) {
  const unsigned int bits = __float_as_uint(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fffu;
  return static_cast<unsigned short>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
static inline float bfloat_value(unsigned short bits) { return __uint_as_float(static_cast<unsigned int>(bits) << 16); }

}  // namespace sinter_emulation

#define SINTER_SMALL_FLOAT(name, to_bits, to_value) \
  struct name { \
    unsigned short bits; \
    name() = default; \
    name(float x) : bits(sinter_emulation::to_bits(x)) {} \
    name(double x) : name(static_cast<float>(x)) {} \
    name(int x) : name(static_cast<float>(x)) {} \
    operator float() const { return sinter_emulation::to_value(bits); } \
    name& operator+=(name x) { return *this = name(float(*this) + float(x)); } \
    name& operator-=(name x) { return *this = name(float(*this) - float(x)); } \
    name& operator*=(name x) { return *this = name(float(*this) * float(x)); } \
    name& operator/=(name x) { return *this = name(float(*this) / float(x)); } \
  }; \
  static inline name operator+(name a, name b) { return name(float(a) + float(b)); } \
  static inline name operator-(name a, name b) { return name(float(a) - float(b)); } \
  static inline name operator*(name a, name b) { return name(float(a) * float(b)); } \
  static inline name operator/(name a, name b) { return name(float(a) / float(b)); } \
  static inline name operator-(name a) { return name(-float(a)); } \
  static inline bool operator<(name a, name b) { return float(a) < float(b); } \
  static inline bool operator>(name a, name b) { return float(a) > float(b); } \
  static inline bool operator<=(name a, name b) { return float(a) <= float(b); } \
  static inline bool operator>=(name a, name b) { return float(a) >= float(b); } \
  static inline bool operator==(name a, name b) { return float(a) == float(b); } \
  static inline bool operator!=(name a, name b) { return float(a) != float(b); } \
  static inline name __hadd(name a, name b) { return a + b; } \
  static inline name __hsub(name a, name b) { return a - b; } \
  static inline name __hmul(name a, name b) { return a * b; } \
  static inline name __hdiv(name a, name b) { return a / b; } \
  static inline name __hneg(name a) { return -a; } \
  static inline name __hfma(name a, name b, name c) { return name(fmaf(float(a), float(b), float(c))); } \
  static inline name __hmin(name a, name b) { return name(fminf(float(a), float(b))); } \
  static inline name __hmax(name a, name b) { return name(fmaxf(float(a), float(b))); } \
  static inline bool __hlt(name a, name b) { return a < b; } \
  static inline bool __hgt(name a, name b) { return a > b; } \
  static inline bool __heq(name a, name b) { return a == b; } \
  static inline bool __hisnan(name a) { return isnan(float(a)); }
SINTER_SMALL_FLOAT(__half, half_bits, half_value)
SINTER_SMALL_FLOAT(__nv_bfloat16, bfloat_bits, bfloat_value)
#undef SINTER_SMALL_FLOAT

using half = __half;
using nv_bfloat16 = __nv_bfloat16;
static inline __half __float2half(float x) { return __half(x); }
static inline __half __float2half_rn(float x) { return __half(x); }
static inline float __half2float(__half x) { return float(x); }
static inline __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16(x); }
static inline __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16(x); }
static inline float __bfloat162float(__nv_bfloat16 x) { return float(x); }

namespace sinter_emulation {
template <> inline constexpr int element_code<__half> = 9;
template <> inline constexpr int element_code<__nv_bfloat16> = 10;
}  // namespace sinter_emulation

#define __half2 _Pragma("GCC error \"__half2 is not supported by the cpu device\"") __half
#define __nv_bfloat162 _Pragma("GCC error \"__nv_bfloat162 is not supported by the cpu device\"") __nv_bfloat16
