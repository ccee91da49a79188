// Makes a user's CUDA C++ ready for a host compiler: the little that macros can't do (jit/device/emulation.cuh does the
// rest). Line for line the text stays what it was, so that messages fit it.
//
//   - After the definition of each __global__ function that is no template comes its registration. It stands where the
//     function does, so `#if` and namespaces apply to both.
//   - `extern __shared__ T s[];` becomes a reference to the block's dynamic shared memory.
//   - asm and <<< become macros that say they are not supported; CUDA's own headers, and those that would clash with
//     what is built in, are left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sinter::jit {

struct host_ready_text {
  std::string text;
  std::vector<std::string> kernels;  ///< with namespaces; also those that `#if` leaves out
  bool with_groups = false;          ///< cooperative_groups.h was included
  bool with_half = false;            ///< cuda_fp16.h or cuda_bf16.h was included
  bool with_library = false;         ///< headers of the C++ library that need its <cmath> were included
  bool with_std_complex = false;     ///< <complex> was
  bool says_complex = false;         ///< the word is in it
};

/// `checked`: indices into dynamic shared memory are compared with its size, where the text allows.
host_ready_text make_host_ready(std::string_view text, bool checked);

/// Without the spaces that don't matter: "k<float,double>" for "k< float, double >".
std::string without_spaces(std::string_view expression);

}  // namespace sinter::jit
