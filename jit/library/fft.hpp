// Discrete Fourier transforms as calls beside the graph: FFTW on the cpu device, cuFFT on CUDA devices. Both are opened
// when first used; where they are missing, recording a transform is an error that names the library and its package.
#pragma once

#include "jit/library/call.hpp"

#include <cstdint>
#include <string>

namespace sinter::jit {

enum class transform : std::uint8_t {
  complex,       ///< c64 or c128 -> the same
  real_to_half,  ///< f32 or f64 [.., n] -> c64 or c128 [.., n / 2 + 1]: the rest of the last axis mirrors it
  half_to_real,  ///< the other way, over one axis
};

/// As many as one call transforms.
constexpr int most_fft_axes = 3;

/// Over the last `axes` axes of arrays in C order, all others being a batch: sums of x[j] exp(-+2 pi i j k / n), not
/// scaled.
struct fft_task {
  transform how = transform::complex;
  bool forward = true;  ///< whether the sign is minus; real_to_half always is forward, half_to_real never
  bool is_double = false;
  int axes = 1;
  std::int64_t lengths[most_fft_axes] = {};  ///< of the signal, the last axis last
  std::int64_t batch = 1;

  friend bool operator==(const fft_task&, const fft_task&) = default;
};

/// Of FFTW in single or double precision, or cuFFT: why it can't be used; empty when it can.
const std::string& fftw_absence(bool is_double);
const std::string& cufft_absence();

void transform_on_host(const fft_task& t, const void* source, void* result, library_run& r);
void transform_on_cuda(const fft_task& t, const void* source, void* result, library_run& r);

/// x has the dtype that `how` takes. `length` is that of the last axis of the result of half_to_real. device_error when
/// there is no library for x's device.
node_ref record_fft(node* x, transform how, bool forward, int axes, std::int64_t length, const place& at);

}  // namespace sinter::jit
