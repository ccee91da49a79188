// Complex numbers of raw kernels, as users of CuPy write them: complex<T> without a header. CUDA C++ as it is: the same
// text serves NVRTC.

template <class T>
struct complex {
  T re, im;
  using value_type = T;
  __host__ __device__ constexpr complex(T real_part = T(0), T imaginary_part = T(0))
      : re(real_part), im(imaginary_part) {}
  template <class U>
  __host__ __device__ constexpr explicit complex(const complex<U>& z)
      : re(static_cast<T>(z.re)), im(static_cast<T>(z.im)) {}
  __host__ __device__ constexpr T real() const { return re; }
  __host__ __device__ constexpr T imag() const { return im; }
  __host__ __device__ void real(T x) { re = x; }
  __host__ __device__ void imag(T x) { im = x; }
  __host__ __device__ complex& operator+=(complex z) { re += z.re; im += z.im; return *this; }
  __host__ __device__ complex& operator-=(complex z) { re -= z.re; im -= z.im; return *this; }
  __host__ __device__ complex& operator*=(complex z) { return *this = *this * z; }
  __host__ __device__ complex& operator/=(complex z) { return *this = *this / z; }

  // Friends, so that numbers convert.
  __host__ __device__ friend constexpr complex operator+(complex a, complex b) { return {a.re + b.re, a.im + b.im}; }
  __host__ __device__ friend constexpr complex operator-(complex a, complex b) { return {a.re - b.re, a.im - b.im}; }
  __host__ __device__ friend constexpr complex operator*(complex a, complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  /// Smith's division: no square that overflows.
  __host__ __device__ friend complex operator/(complex a, complex b) {
    if (fabs(b.re) >= fabs(b.im)) {
      const T ratio = b.im / b.re, size = b.re + b.im * ratio;
      return {(a.re + a.im * ratio) / size, (a.im - a.re * ratio) / size};
    }
    const T ratio = b.re / b.im, size = b.re * ratio + b.im;
    return {(a.re * ratio + a.im) / size, (a.im * ratio - a.re) / size};
  }
  __host__ __device__ friend constexpr complex operator+(complex a) { return a; }
  __host__ __device__ friend constexpr complex operator-(complex a) { return {-a.re, -a.im}; }
  __host__ __device__ friend constexpr bool operator==(complex a, complex b) { return a.re == b.re && a.im == b.im; }
  __host__ __device__ friend constexpr bool operator!=(complex a, complex b) { return !(a == b); }
};

template <class T> __host__ __device__ constexpr T real(complex<T> z) { return z.re; }
template <class T> __host__ __device__ constexpr T imag(complex<T> z) { return z.im; }
template <class T> __host__ __device__ constexpr complex<T> conj(complex<T> z) { return {z.re, -z.im}; }
template <class T> __host__ __device__ constexpr T norm(complex<T> z) { return z.re * z.re + z.im * z.im; }
template <class T> __host__ __device__ T abs(complex<T> z) { return hypot(z.re, z.im); }
template <class T> __host__ __device__ T arg(complex<T> z) { return atan2(z.im, z.re); }
template <class T>
__host__ __device__ complex<T> polar(T size, T angle) { return {size * cos(angle), size * sin(angle)}; }
template <class T> __host__ __device__ complex<T> exp(complex<T> z) { return polar(T(exp(z.re)), z.im); }
template <class T> __host__ __device__ complex<T> log(complex<T> z) { return {T(log(abs(z))), arg(z)}; }
template <class T>
__host__ __device__ complex<T> sqrt(complex<T> z) {
  if (z.re == 0 && z.im == 0) return {T(0), z.im};
  const T larger = sqrt((fabs(z.re) + abs(z)) / 2), smaller = z.im / (2 * larger);
  return z.re < 0 ? complex<T>(fabs(smaller), copysign(larger, z.im)) : complex<T>(larger, smaller);
}

#ifdef SINTER_EMULATION
namespace sinter_emulation {
template <> inline constexpr int element_code<complex<float>> = 13;
template <> inline constexpr int element_code<complex<double>> = 14;
}  // namespace sinter_emulation
#endif
