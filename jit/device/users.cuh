// What CUDA has built in and a user's elementwise kernel may call, for the host. As in complex.cuh, sections
// are taken only when the kernel's own text or `needs` names them.

//@host isnan needs is_nan
template <class T>
static inline bool isnan(T x) { return is_nan(x); }

//@host isinf needs is_inf
template <class T>
static inline bool isinf(T x) { return is_inf(x); }

//@host isfinite needs is_finite
template <class T>
static inline bool isfinite(T x) { return is_finite(x); }

//@host signbit
template <class T>
static inline bool signbit(T x) { return sign_bit(x); }

//@host min
template <class A, class B>
static inline auto min(A a, B b) { return smaller<decltype(a + b)>(a, b); }

//@host max
template <class A, class B>
static inline auto max(A a, B b) { return larger<decltype(a + b)>(a, b); }

//@host abs
template <class T>
static inline auto abs(T x) { return absolute(x + T(0)); }

//@ abs with complex needs absolute
template <class T>
SINTER_FUNCTION T abs(complex<T> z) { return absolute(z); }

//@ pow with complex needs power
template <class T>
SINTER_FUNCTION complex<T> pow(complex<T> base, complex<T> exponent) { return power(base, exponent); }

//@host rsqrtf
static inline float rsqrtf(float x) { return 1 / sqrtf(x); }

//@host rsqrt
static inline double rsqrt(double x) { return 1 / sqrt(x); }
//@host rsqrt with float
static inline float rsqrt(float x) { return 1 / sqrtf(x); }

//@host printf
extern "C" int printf(const char* format, ...);

/// As in C: it says what failed, and ends the program.
//@host assert
extern "C" [[noreturn]] void __assert_fail(const char*, const char*, unsigned int, const char*) noexcept;
#define assert(...) \
  (static_cast<bool>(__VA_ARGS__) ? static_cast<void>(0) : __assert_fail(#__VA_ARGS__, __FILE__, __LINE__, ""))

//@host __trap
#define __trap() __builtin_trap()

//@cuda atomicAdd
SINTER_FUNCTION long long atomicAdd(long long* at, long long x) {
  return static_cast<long long>(atomicAdd(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(x)));
}

//@host atomicAdd needs change_at
template <class T, class U>
static inline T atomicAdd(T* at, U x) {
  return change_at(at, [x](T old) { return static_cast<T>(old + static_cast<T>(x)); });
}
//@host atomicSub needs change_at
template <class T, class U>
static inline T atomicSub(T* at, U x) {
  return change_at(at, [x](T old) { return static_cast<T>(old - static_cast<T>(x)); });
}
//@host atomicMin needs change_at
template <class T, class U>
static inline T atomicMin(T* at, U x) {
  return change_at(at, [x](T old) { return static_cast<T>(x) < old ? static_cast<T>(x) : old; });
}
//@host atomicMax needs change_at
template <class T, class U>
static inline T atomicMax(T* at, U x) {
  return change_at(at, [x](T old) { return old < static_cast<T>(x) ? static_cast<T>(x) : old; });
}
//@host atomicAnd needs change_at
template <class T, class U>
static inline T atomicAnd(T* at, U x) {
  return change_at(at, [x](T old) { return static_cast<T>(old & static_cast<T>(x)); });
}
//@host atomicOr needs change_at
template <class T, class U>
static inline T atomicOr(T* at, U x) {
  return change_at(at, [x](T old) { return static_cast<T>(old | static_cast<T>(x)); });
}
//@host atomicXor needs change_at
template <class T, class U>
static inline T atomicXor(T* at, U x) {
  return change_at(at, [x](T old) { return static_cast<T>(old ^ static_cast<T>(x)); });
}
//@host atomicExch needs change_at
template <class T, class U>
static inline T atomicExch(T* at, U x) {
  return change_at(at, [x](T) { return static_cast<T>(x); });
}
//@host atomicInc needs change_at
static inline unsigned atomicInc(unsigned* at, unsigned most) {
  return change_at(at, [most](unsigned old) { return old >= most ? 0u : old + 1; });
}
//@host atomicDec needs change_at
static inline unsigned atomicDec(unsigned* at, unsigned most) {
  return change_at(at, [most](unsigned old) { return old == 0 || old > most ? most : old - 1; });
}
//@host atomicCAS needs change_at
template <class T, class U, class V>
static inline T atomicCAS(T* at, U expected, V wanted) {
  return change_at(at, [&](T old) { return old == static_cast<T>(expected) ? static_cast<T>(wanted) : old; });
}
