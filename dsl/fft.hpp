// Discrete Fourier transforms, with NumPy's conventions. Not part of sinter.hpp.
//
// Computed in the precision of x: f32 and c64 give c64 (or f32), f64 and c128 give c128 (or f64); f16 and bf16 count as
// f32, integers and booleans as f64. Any length, over any axes of arrays of any rank; all other axes are a batch. All
// are lazy: they record and launch nothing. A transform is a call of a library, FFTW on the cpu device, cuFFT on CUDA
// devices, which reads its operand from memory; what it is made of, and scaling and all else that is made of it, fuses
// as usual. The libraries are opened when first used; without them device_error names what to install. Plans are kept.
// A bad axis, a length below 1 are a shape_error at the line of the call, complex numbers where real ones belong a
// type_error. Inside the body of a loop in a kernel (while_loop, for_loop), transforms are a type_error.
#pragma once

#include "array.hpp"
#include "axes.hpp"
#include "maybe.hpp"

#include <initializer_list>

namespace sinter::fft {

/// Which direction of the transform over N elements divides, and by what: the inverse one by N; both by sqrt(N); the
/// forward one by N.
enum class norm : unsigned char { backward, ortho, forward };

/// By name: fft::fft(x, {.n = 64, .axis = 0}).
struct options {
  maybe<std::int64_t> n = {};  ///< the length: x is cut, or continued with zeros; without: x's own
  int axis = -1;
  norm scale = norm::backward;
};

/// y[k] = sum over j of x[j] exp(-2 pi i j k / n): [.., m, ..] -> [.., n, ..], complex.
array fft(const array& x, const options& how = {}, place at = place::here());
/// x[j] = 1/n sum over k of y[k] exp(2 pi i j k / n).
array ifft(const array& x, const options& how = {}, place at = place::here());
/// Of real numbers, the first half of fft(x), which the other one mirrors: [.., m, ..] -> [.., n / 2 + 1, ..], complex.
array rfft(const array& x, const options& how = {}, place at = place::here());
/// The inverse of rfft: real [.., n, ..], n = 2 (m - 1) unless given; x is cut or continued to n / 2 + 1. The imaginary
/// parts of the first, and for even n the last, of these elements don't count.
array irfft(const array& x, const options& how = {}, place at = place::here());
/// Of a signal whose second half mirrors the first: hfft(x) = irfft(conj(x)) * n; n = 2 (m - 1) unless given. Real.
array hfft(const array& x, const options& how = {}, place at = place::here());
/// Its inverse: conj(rfft(x)) / n.
array ihfft(const array& x, const options& how = {}, place at = place::here());

/// By name: fft::fftn(x, {.lengths = {64, 64}, .over = {0, 1}}).
struct options_of_axes {
  maybe<shape> lengths = {};  ///< by axis in `over`; without: x's own
  axes over = {};             ///< without: the last ones, as many as there are lengths; else all
  norm scale = norm::backward;
};

/// Over several axes; rfftn takes the half along the last one of them, irfftn is its inverse.
array fftn(const array& x, const options_of_axes& how = {}, place at = place::here());
array ifftn(const array& x, const options_of_axes& how = {}, place at = place::here());
array rfftn(const array& x, const options_of_axes& how = {}, place at = place::here());
array irfftn(const array& x, const options_of_axes& how = {}, place at = place::here());
/// The same over two axes: the last ones unless given.
array fft2(const array& x, const options_of_axes& how = {}, place at = place::here());
array ifft2(const array& x, const options_of_axes& how = {}, place at = place::here());
array rfft2(const array& x, const options_of_axes& how = {}, place at = place::here());
array irfft2(const array& x, const options_of_axes& how = {}, place at = place::here());

/// The frequencies of fft's elements, for samples `spacing` apart: 0, 1, .., -1 over n * spacing. [n]
array fftfreq(std::int64_t n, double spacing = 1, dtype type = f64, place at = place::here());
/// Of rfft's: 0, 1, .., n / 2 over n * spacing. [n / 2 + 1]
array rfftfreq(std::int64_t n, double spacing = 1, dtype type = f64, place at = place::here());
/// The element of frequency 0 moved to the middle of each axis (all by default), n / 2; and back. Views, no copies.
array fftshift(const array& x, const axes& over = {}, place at = place::here());
array ifftshift(const array& x, const axes& over = {}, place at = place::here());

}  // namespace sinter::fft
