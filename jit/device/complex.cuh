// Functions of complex numbers, as overloads of libm's names. Their bodies call the same names for reals, so these
// sections are taken only when the kernel's own text, or `needs`, names them (see prelude.cuh).
// The formulas are Kahan's ("Branch cuts for complex elementary functions", 1987): no cancellation, signed zeros kept.

//@ conj
template <class T>
SINTER_FUNCTION T conj(T x) { return x; }

//@ real
template <class T>
SINTER_FUNCTION T real(T x) { return x; }

//@ imag
template <class T>
SINTER_FUNCTION T imag(T) { return 0; }

//@ arg
template <class T>
SINTER_FUNCTION T arg(T x) { return is_nan(x) ? x : sign_bit(x) ? static_cast<T>(3.141592653589793) : T(0); }

//@ make_complex
template <class T>
SINTER_FUNCTION complex<T> make_complex(T re, T im) { return {re, im}; }

//@ is_nan with complex
template <class T>
SINTER_FUNCTION bool is_nan(complex<T> z) { return is_nan(z.re) || is_nan(z.im); }

//@ is_inf with complex
template <class T>
SINTER_FUNCTION bool is_inf(complex<T> z) { return is_inf(z.re) || is_inf(z.im); }

//@ is_finite with complex
template <class T>
SINTER_FUNCTION bool is_finite(complex<T> z) { return is_finite(z.re) && is_finite(z.im); }

//@ real with complex
template <class T>
SINTER_FUNCTION T real(complex<T> z) { return z.re; }

//@ imag with complex
template <class T>
SINTER_FUNCTION T imag(complex<T> z) { return z.im; }

//@ conj with complex
template <class T>
SINTER_FUNCTION complex<T> conj(complex<T> z) { return {z.re, -z.im}; }

//@ arg with complex
template <class T>
SINTER_FUNCTION T arg(complex<T> z) { return atan2(z.im, z.re); }

//@ absolute with complex
template <class T>
SINTER_FUNCTION T absolute(complex<T> z) { return hypot(z.re, z.im); }

//@ divide with complex
template <class T>
SINTER_FUNCTION complex<T> divide(complex<T> a, complex<T> b) { return a / b; }

//@ exp with complex
template <class T>
SINTER_FUNCTION complex<T> exp(complex<T> z) {
  if (z.im == 0) return {exp(z.re), z.im};
  if (is_inf(z.re) && z.re < 0) return {0, 0};
  const T ahead = leap(z.re), size = exp(z.re - ahead), step = exp(ahead);
  return {size * cos(z.im) * step, scaled(sin(z.im), size) * step};
}

//@ log with complex
template <class T>
SINTER_FUNCTION complex<T> log(complex<T> z) {
  T a = fabs(z.re), b = fabs(z.im);
  if (a < b) {
    const T larger_part = b;
    b = a;
    a = larger_part;
  }
  const T angle = atan2(z.im, z.re);
  if (a > T(0.5) && a < T(2)) {
    // |z|^2 - 1 by its own terms, with what rounding loses of the squares, for |z| near 1.
    const T aa = a * a, bb = b * b, lost = fma(a, a, -aa) + fma(b, b, -bb);
    const T most = aa - 1, sum = most + bb, part = sum - most;
    return {T(0.5) * log1p(sum + ((most - (sum - part)) + (bb - part) + lost)), angle};
  }
  const bool huge = a > T(1e30);
  return {huge ? log(hypot(a / 4, b / 4)) + T(1.3862943611198906) : log(hypot(a, b)), angle};
}

//@ log2 with complex needs log
template <class T>
SINTER_FUNCTION complex<T> log2(complex<T> z) {
  const complex<T> natural = log(z);
  return {natural.re * T(1.4426950408889634), natural.im * T(1.4426950408889634)};
}

//@ log10 with complex needs log
template <class T>
SINTER_FUNCTION complex<T> log10(complex<T> z) {
  const complex<T> natural = log(z);
  return {natural.re * T(0.4342944819032518), natural.im * T(0.4342944819032518)};
}

//@ sqrt with complex
template <class T>
SINTER_FUNCTION complex<T> sqrt(complex<T> z) {
  if (z.re == 0 && z.im == 0) return {0, z.im};
  if (is_inf(z.im)) return {fabs(z.im), z.im};
  // Powers of four keep the length from overflowing and subnormal parts from losing bits.
  const T a = fabs(z.re), b = fabs(z.im), most = a > b ? a : b;
  const bool huge = most > T(1e30), tiny = most < T(1e-30);
  const T scale = huge ? T(0.0625) : tiny ? T(0x1p60) : T(1), back = huge ? T(4) : tiny ? T(0x1p-30) : T(1);
  const T x = a * scale, y = b * scale;
  const T larger_part = sqrt((x + hypot(x, y)) / 2), smaller_part = is_inf(z.re) ? T(0) : y / (2 * larger_part);
  if (sign_bit(z.re)) return {smaller_part * back, copysign(larger_part * back, z.im)};
  return {larger_part * back, copysign(smaller_part * back, z.im)};
}

//@ sin with complex
template <class T>
SINTER_FUNCTION complex<T> sin(complex<T> z) {
  const T ahead = leap(fabs(z.im)), step = exp(ahead), y = copysign(fabs(z.im) - ahead, z.im);
  return {scaled(sin(z.re), cosh(y)) * step, scaled(sinh(y), cos(z.re)) * step};
}

//@ cos with complex
template <class T>
SINTER_FUNCTION complex<T> cos(complex<T> z) {
  const T ahead = leap(fabs(z.im)), step = exp(ahead), y = copysign(fabs(z.im) - ahead, z.im);
  return {cos(z.re) * cosh(y) * step, -scaled(sin(z.re), sinh(y)) * step};
}

//@ sinh with complex
template <class T>
SINTER_FUNCTION complex<T> sinh(complex<T> z) {
  const T ahead = leap(fabs(z.re)), step = exp(ahead), x = copysign(fabs(z.re) - ahead, z.re);
  return {scaled(sinh(x), cos(z.im)) * step, scaled(sin(z.im), cosh(x)) * step};
}

//@ cosh with complex
template <class T>
SINTER_FUNCTION complex<T> cosh(complex<T> z) {
  const T ahead = leap(fabs(z.re)), step = exp(ahead), x = copysign(fabs(z.re) - ahead, z.re);
  return {cosh(x) * cos(z.im) * step, scaled(sin(z.im), sinh(x)) * step};
}

//@ tanh with complex
template <class T>
SINTER_FUNCTION complex<T> tanh(complex<T> z) {
  if (fabs(z.re) > 20) {
    const T rest = exp(-fabs(z.re));
    return {copysign(T(1), z.re), is_finite(z.im) ? 4 * sin(z.im) * cos(z.im) * rest * rest : T(0)};
  }
  const T t = tan(z.im), s = sinh(z.re), beta = 1 + t * t, rho = sqrt(1 + s * s), divisor = 1 + beta * s * s;
  return {beta * rho * s / divisor, t / divisor};
}

//@ tan with complex needs tanh
template <class T>
SINTER_FUNCTION complex<T> tan(complex<T> z) {
  const complex<T> turned = tanh(complex<T>(z.im, z.re));
  return {turned.im, turned.re};
}

//@ asin with complex needs sqrt
template <class T>
SINTER_FUNCTION complex<T> asin(complex<T> z) {
  const complex<T> below = sqrt(complex<T>(1 - z.re, -z.im)), above = sqrt(complex<T>(1 + z.re, z.im));
  return {atan2(z.re, below.re * above.re - below.im * above.im),
          copysign(asinh(below.re * above.im - below.im * above.re), z.im)};
}

//@ acos with complex needs sqrt
template <class T>
SINTER_FUNCTION complex<T> acos(complex<T> z) {
  const complex<T> below = sqrt(complex<T>(1 - z.re, -z.im)), above = sqrt(complex<T>(1 + z.re, z.im));
  return {2 * atan2(below.re, above.re), copysign(asinh(above.re * below.im - above.im * below.re), -z.im)};
}

//@ acosh with complex needs sqrt
template <class T>
SINTER_FUNCTION complex<T> acosh(complex<T> z) {
  const complex<T> below = sqrt(complex<T>(z.re - 1, z.im)), above = sqrt(complex<T>(z.re + 1, z.im));
  return {asinh(below.re * above.re + below.im * above.im), 2 * atan2(below.im, above.re)};
}

//@ asinh with complex needs asin
template <class T>
SINTER_FUNCTION complex<T> asinh(complex<T> z) {
  const complex<T> turned = asin(complex<T>(-z.im, z.re));
  return {turned.im, -turned.re};
}

//@ atanh with complex
template <class T>
SINTER_FUNCTION complex<T> atanh(complex<T> z) {
  const T a = fabs(z.re), b = fabs(z.im), quarter_turn = T(1.5707963267948966);
  if (a > T(1e9) || b > T(1e9)) {
    const T size = hypot(a, b);
    return {copysign(is_inf(size) ? T(0) : a / size / size, z.re), copysign(quarter_turn, z.im)};
  }
  const T square = (1 - a) * (1 - a) + b * b;
  const T re = a == 1 && b < T(1e-9) ? log(T(2) / b) / 2 : log1p(4 * a / square) / 4;
  return {copysign(re, z.re), atan2(2 * z.im, (1 - a) * (1 + a) - b * b) / 2};
}

//@ atan with complex needs atanh
template <class T>
SINTER_FUNCTION complex<T> atan(complex<T> z) {
  const complex<T> turned = atanh(complex<T>(-z.im, z.re));
  return {turned.im, -turned.re};
}

//@ power with complex needs exp log
template <class T>
SINTER_FUNCTION complex<T> power(complex<T> base, complex<T> exponent) {
  if (exponent.re == 0 && exponent.im == 0) return 1;
  if (base.re == 0 && base.im == 0) return exponent.re > 0 ? complex<T>(0) : T(1) / base;
  if (exponent.im == 0 && fabs(exponent.re) < 100 && floor(exponent.re) == exponent.re) {
    complex<T> result = 1, square = base;
    for (int rest = static_cast<int>(fabs(exponent.re)); rest != 0; rest >>= 1) {
      if (rest & 1) result *= square;
      square *= square;
    }
    return exponent.re < 0 ? T(1) / result : result;
  }
  return exp(log(base) * exponent);
}
