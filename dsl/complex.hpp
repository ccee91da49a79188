// Opt-in: std::complex as an element type: `array{std::complex(1.f, 2.f)}`, `a * std::complex(0., 1.)`.
#pragma once

#include "array.hpp"

#include <complex>

namespace sinter {

template <> struct dtype_of_type<std::complex<float>> : fixed_dtype<dtype::c64> {};
template <> struct dtype_of_type<std::complex<double>> : fixed_dtype<dtype::c128> {};

/// A number for `full` and the like; operators take std::complex as it is.
template <class T>
constexpr scalar number(const std::complex<T>& z) {
  return complex128{static_cast<double>(z.real()), static_cast<double>(z.imag())};
}

}  // namespace sinter
