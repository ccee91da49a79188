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
