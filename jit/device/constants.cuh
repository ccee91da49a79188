// Numbers that headers of C, C++ and CUDA name: there without a header. Variables rather than macros, so that users may
// use the names for their own, with `#define`, too. Raw kernels on the host get all that no header has brought.

//@raw
#ifndef SINTER_WITH_LIBRARY
//@ M_E
SINTER_CONSTANT double M_E = 2.7182818284590452354;
//@ M_LOG2E
SINTER_CONSTANT double M_LOG2E = 1.4426950408889634074;
//@ M_LOG10E
SINTER_CONSTANT double M_LOG10E = 0.43429448190325182765;
//@ M_LN2
SINTER_CONSTANT double M_LN2 = 0.69314718055994530942;
//@ M_LN10
SINTER_CONSTANT double M_LN10 = 2.30258509299404568402;
//@ M_PI
SINTER_CONSTANT double M_PI = 3.14159265358979323846;
//@ M_PI_2
SINTER_CONSTANT double M_PI_2 = 1.57079632679489661923;
//@ M_PI_4
SINTER_CONSTANT double M_PI_4 = 0.78539816339744830962;
//@ M_1_PI
SINTER_CONSTANT double M_1_PI = 0.31830988618379067154;
//@ M_2_PI
SINTER_CONSTANT double M_2_PI = 0.63661977236758134308;
//@ M_2_SQRTPI
SINTER_CONSTANT double M_2_SQRTPI = 1.12837916709551257390;
//@ M_SQRT2
SINTER_CONSTANT double M_SQRT2 = 1.41421356237309504880;
//@ M_SQRT1_2
SINTER_CONSTANT double M_SQRT1_2 = 0.70710678118654752440;
//@ INFINITY
SINTER_CONSTANT float INFINITY = __builtin_bit_cast(float, 0x7f800000u);
//@ NAN
SINTER_CONSTANT float NAN = __builtin_bit_cast(float, 0x7fffffffu);
//@ HUGE_VAL
SINTER_CONSTANT double HUGE_VAL = __builtin_bit_cast(double, 0x7ff0000000000000ull);
//@ FLT_EPSILON
SINTER_CONSTANT float FLT_EPSILON = 0x1p-23f;
//@ FLT_MIN
SINTER_CONSTANT float FLT_MIN = 0x1p-126f;
//@ FLT_MAX
SINTER_CONSTANT float FLT_MAX = 0x1.fffffep127f;
//@ DBL_EPSILON
SINTER_CONSTANT double DBL_EPSILON = 0x1p-52;
//@ DBL_MIN
SINTER_CONSTANT double DBL_MIN = 0x1p-1022;
//@ DBL_MAX
SINTER_CONSTANT double DBL_MAX = 0x1.fffffffffffffp1023;
//@ FLT_DIG
SINTER_CONSTANT int FLT_DIG = 6;
//@ DBL_DIG
SINTER_CONSTANT int DBL_DIG = 15;
//@ FLT_MANT_DIG
SINTER_CONSTANT int FLT_MANT_DIG = 24;
//@ DBL_MANT_DIG
SINTER_CONSTANT int DBL_MANT_DIG = 53;
//@ CHAR_BIT
SINTER_CONSTANT int CHAR_BIT = 8;
//@ SCHAR_MIN
SINTER_CONSTANT int SCHAR_MIN = -128;
//@ SCHAR_MAX
SINTER_CONSTANT int SCHAR_MAX = 127;
//@ UCHAR_MAX
SINTER_CONSTANT int UCHAR_MAX = 255;
//@ SHRT_MIN
SINTER_CONSTANT int SHRT_MIN = -32768;
//@ SHRT_MAX
SINTER_CONSTANT int SHRT_MAX = 32767;
//@ USHRT_MAX
SINTER_CONSTANT int USHRT_MAX = 65535;
//@ INT_MIN
SINTER_CONSTANT int INT_MIN = -2147483647 - 1;
//@ INT_MAX
SINTER_CONSTANT int INT_MAX = 2147483647;
//@ UINT_MAX
SINTER_CONSTANT unsigned int UINT_MAX = 4294967295u;
//@ LONG_MIN
SINTER_CONSTANT long LONG_MIN = -9223372036854775807l - 1;
//@ LONG_MAX
SINTER_CONSTANT long LONG_MAX = 9223372036854775807l;
//@ ULONG_MAX
SINTER_CONSTANT unsigned long ULONG_MAX = 18446744073709551615ul;
//@ LLONG_MIN
SINTER_CONSTANT long long LLONG_MIN = -9223372036854775807ll - 1;
//@ LLONG_MAX
SINTER_CONSTANT long long LLONG_MAX = 9223372036854775807ll;
//@ ULLONG_MAX
SINTER_CONSTANT unsigned long long ULLONG_MAX = 18446744073709551615ull;
//@ INT8_MIN
SINTER_CONSTANT int INT8_MIN = -128;
//@ INT8_MAX
SINTER_CONSTANT int INT8_MAX = 127;
//@ UINT8_MAX
SINTER_CONSTANT int UINT8_MAX = 255;
//@ INT16_MIN
SINTER_CONSTANT int INT16_MIN = -32768;
//@ INT16_MAX
SINTER_CONSTANT int INT16_MAX = 32767;
//@ UINT16_MAX
SINTER_CONSTANT int UINT16_MAX = 65535;
//@ INT32_MIN
SINTER_CONSTANT int INT32_MIN = -2147483647 - 1;
//@ INT32_MAX
SINTER_CONSTANT int INT32_MAX = 2147483647;
//@ UINT32_MAX
SINTER_CONSTANT unsigned int UINT32_MAX = 4294967295u;
//@ INT64_MIN
SINTER_CONSTANT long INT64_MIN = -9223372036854775807l - 1;
//@ INT64_MAX
SINTER_CONSTANT long INT64_MAX = 9223372036854775807l;
//@ UINT64_MAX
SINTER_CONSTANT unsigned long UINT64_MAX = 18446744073709551615ul;
//@ SIZE_MAX
SINTER_CONSTANT unsigned long SIZE_MAX = 18446744073709551615ul;
//@raw
#endif

//@ CUDART_INF_F
SINTER_CONSTANT float CUDART_INF_F = __builtin_bit_cast(float, 0x7f800000u);
//@ CUDART_NAN_F
SINTER_CONSTANT float CUDART_NAN_F = __builtin_bit_cast(float, 0x7fffffffu);
//@ CUDART_MAX_NORMAL_F
SINTER_CONSTANT float CUDART_MAX_NORMAL_F = 0x1.fffffep127f;
//@ CUDART_MIN_DENORM_F
SINTER_CONSTANT float CUDART_MIN_DENORM_F = 0x1p-149f;
//@ CUDART_PI_F
SINTER_CONSTANT float CUDART_PI_F = 3.14159265358979f;
//@ CUDART_SQRT_TWO_F
SINTER_CONSTANT float CUDART_SQRT_TWO_F = 1.41421356237310f;
//@ CUDART_INF
SINTER_CONSTANT double CUDART_INF = __builtin_bit_cast(double, 0x7ff0000000000000ull);
//@ CUDART_NAN
SINTER_CONSTANT double CUDART_NAN = __builtin_bit_cast(double, 0xfff8000000000000ull);
//@ CUDART_PI
SINTER_CONSTANT double CUDART_PI = 3.14159265358979323846;
//@ CUDART_PIO2
SINTER_CONSTANT double CUDART_PIO2 = 1.57079632679489661923;
//@ CUDART_SQRT_TWO
SINTER_CONSTANT double CUDART_SQRT_TWO = 1.41421356237309504880;
//@ CUDART_SQRT_HALF
SINTER_CONSTANT double CUDART_SQRT_HALF = 0.70710678118654752440;
//@ CUDART_L2E
SINTER_CONSTANT double CUDART_L2E = 1.4426950408889634074;
//@ CUDART_LN2
SINTER_CONSTANT double CUDART_LN2 = 0.69314718055994530942;
//@raw

/// What std::numeric_limits tells of the numbers that kernels compute with.
//@ numeric_limits
template <class T>
struct numeric_limits {
  static constexpr bool is_specialized = true, is_signed = T(-1) < T(0), is_integer = true, has_infinity = false;
  static constexpr int digits = 8 * sizeof(T) - (is_signed ? 1 : 0);
  static_assert(T(3) / T(2) == T(1), "numeric_limits is there for integers, float and double");
  static SINTER_MEMBER constexpr T max() { return static_cast<T>(~0ull >> (64 - digits)); }
  static SINTER_MEMBER constexpr T min() { return is_signed ? static_cast<T>(-max() - 1) : T(0); }
  static SINTER_MEMBER constexpr T lowest() { return min(); }
  static SINTER_MEMBER constexpr T epsilon() { return T(0); }
  static SINTER_MEMBER constexpr T infinity() { return T(0); }
  static SINTER_MEMBER constexpr T quiet_NaN() { return T(0); }
};
template <class T, class Bits>
struct limits_of_floats {
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, has_infinity = true;
  static constexpr int digits = sizeof(T) == 4 ? 24 : 53;
  static constexpr Bits infinite = (Bits(1) << (8 * sizeof(T) - 1)) - (Bits(1) << (digits - 1));
  static SINTER_MEMBER constexpr T max() { return __builtin_bit_cast(T, infinite - 1); }
  static SINTER_MEMBER constexpr T min() { return __builtin_bit_cast(T, Bits(1) << (digits - 1)); }
  static SINTER_MEMBER constexpr T denorm_min() { return __builtin_bit_cast(T, Bits(1)); }
  static SINTER_MEMBER constexpr T lowest() { return -max(); }
  static SINTER_MEMBER constexpr T epsilon() { return T(1) / static_cast<T>(Bits(1) << (digits - 1)); }
  static SINTER_MEMBER constexpr T infinity() { return __builtin_bit_cast(T, infinite); }
  static SINTER_MEMBER constexpr T quiet_NaN() { return __builtin_bit_cast(T, infinite | Bits(1) << (digits - 2)); }
};
template <>
struct numeric_limits<bool> {
  static constexpr bool is_specialized = true, is_signed = false, is_integer = true, has_infinity = false;
  static constexpr int digits = 1;
  static SINTER_MEMBER constexpr bool max() { return true; }
  static SINTER_MEMBER constexpr bool min() { return false; }
  static SINTER_MEMBER constexpr bool lowest() { return false; }
};
template <>
struct numeric_limits<float> : limits_of_floats<float, unsigned int> {};
template <>
struct numeric_limits<double> : limits_of_floats<double, unsigned long long> {};
//@raw
