// The functions of <cmath>, <algorithm> and <limits> by their names in std, for kernels that say `std::`. Each is the
// function of that name outside.

//@ abs with std
namespace std { using ::abs; }
//@ acos with std
namespace std { using ::acos; }
//@ acosh with std
namespace std { using ::acosh; }
//@ asin with std
namespace std { using ::asin; }
//@ asinh with std
namespace std { using ::asinh; }
//@ atan with std
namespace std { using ::atan; }
//@ atan2 with std
namespace std { using ::atan2; }
//@ atanh with std
namespace std { using ::atanh; }
//@ cbrt with std
namespace std { using ::cbrt; }
//@ ceil with std
namespace std { using ::ceil; }
//@ copysign with std
namespace std { using ::copysign; }
//@ cos with std
namespace std { using ::cos; }
//@ cosh with std
namespace std { using ::cosh; }
//@ erf with std
namespace std { using ::erf; }
//@ erfc with std
namespace std { using ::erfc; }
//@ exp with std
namespace std { using ::exp; }
//@ exp2 with std
namespace std { using ::exp2; }
//@ expm1 with std
namespace std { using ::expm1; }
//@ fabs with std
namespace std { using ::fabs; }
//@ fdim with std
namespace std { using ::fdim; }
//@ floor with std
namespace std { using ::floor; }
//@ fma with std
namespace std { using ::fma; }
//@ fmax with std
namespace std { using ::fmax; }
//@ fmin with std
namespace std { using ::fmin; }
//@ fmod with std
namespace std { using ::fmod; }
//@ frexp with std
namespace std { using ::frexp; }
//@ hypot with std
namespace std { using ::hypot; }
//@ ilogb with std
namespace std { using ::ilogb; }
//@ isfinite with std
namespace std { using ::isfinite; }
//@ isinf with std
namespace std { using ::isinf; }
//@ isnan with std
namespace std { using ::isnan; }
//@ ldexp with std
namespace std { using ::ldexp; }
//@ lgamma with std
namespace std { using ::lgamma; }
//@ llrint with std
namespace std { using ::llrint; }
//@ llround with std
namespace std { using ::llround; }
//@ log with std
namespace std { using ::log; }
//@ log10 with std
namespace std { using ::log10; }
//@ log1p with std
namespace std { using ::log1p; }
//@ log2 with std
namespace std { using ::log2; }
//@ logb with std
namespace std { using ::logb; }
//@ lrint with std
namespace std { using ::lrint; }
//@ lround with std
namespace std { using ::lround; }
//@ modf with std
namespace std { using ::modf; }
//@ nearbyint with std
namespace std { using ::nearbyint; }
//@ nextafter with std
namespace std { using ::nextafter; }
//@ pow with std
namespace std { using ::pow; }
//@ remainder with std
namespace std { using ::remainder; }
//@ remquo with std
namespace std { using ::remquo; }
//@ rint with std
namespace std { using ::rint; }
//@ round with std
namespace std { using ::round; }
//@ scalbn with std
namespace std { using ::scalbn; }
//@ signbit with std
namespace std { using ::signbit; }
//@ sin with std
namespace std { using ::sin; }
//@ sinh with std
namespace std { using ::sinh; }
//@ sqrt with std
namespace std { using ::sqrt; }
//@ tan with std
namespace std { using ::tan; }
//@ tanh with std
namespace std { using ::tanh; }
//@ tgamma with std
namespace std { using ::tgamma; }
//@ trunc with std
namespace std { using ::trunc; }
//@ numeric_limits with std
namespace std { using ::numeric_limits; }
//@host min with std
namespace std { using ::min; }
//@host max with std
namespace std { using ::max; }
//@cuda min with std
namespace std {
template <class T>
SINTER_FUNCTION constexpr T min(const T& a, const T& b) { return b < a ? b : a; }
using ::min;
}  // namespace std
//@cuda max with std
namespace std {
template <class T>
SINTER_FUNCTION constexpr T max(const T& a, const T& b) { return a < b ? b : a; }
using ::max;
}  // namespace std
//@ clamp with std
namespace std {
template <class T>
SINTER_FUNCTION constexpr T clamp(const T& x, const T& low, const T& high) {
  return x < low ? low : high < x ? high : x;
}
}  // namespace std
//@ swap with std
namespace std {
template <class T>
SINTER_FUNCTION constexpr void swap(T& a, T& b) {
  T c = a;
  a = b;
  b = c;
}
}  // namespace std
//@raw
#ifndef SINTER_EMULATION
//@ int8_t with std
namespace std { using ::int8_t; }
//@ int16_t with std
namespace std { using ::int16_t; }
//@ int32_t with std
namespace std { using ::int32_t; }
//@ int64_t with std
namespace std { using ::int64_t; }
//@ uint8_t with std
namespace std { using ::uint8_t; }
//@ uint16_t with std
namespace std { using ::uint16_t; }
//@ uint32_t with std
namespace std { using ::uint32_t; }
//@ uint64_t with std
namespace std { using ::uint64_t; }
//@ ptrdiff_t with std
namespace std { using ::ptrdiff_t; }
//@ size_t with std
namespace std { typedef decltype(sizeof(0)) size_t; }
//@raw
#endif
