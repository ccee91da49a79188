// The compilers behind the executors: source text in, loadable image out.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sinter::jit {

enum class math_mode : unsigned char { standard, strict, fast };

struct compile_request {
  std::string name;    ///< the kernel's entry point, for messages
  std::string source;
  std::string target;  ///< "sm_90"; ignored by the host compiler, which aims at this processor
  math_mode math = math_mode::standard;
  std::vector<std::string> options;  ///< the user's own, passed through last
  bool large = false;  ///< many operations: prefer compile time over the last percent
};

/// What `device::load` takes: a cubin, or the path of a shared object.
using image = std::vector<std::byte>;

/// NVRTC (opened at run time). Throws compile_error; device_error when there is no NVRTC, naming the places looked at.
image compile_cuda(const compile_request& r);
/// "13.0", or empty when NVRTC can't be opened; `why`, when given, then says where it was looked for.
std::string nvrtc_version(std::string* why = nullptr);

/// The system's C++ compiler. Throws compile_error. The shared object is written below the temporary directory, and
/// removed by whoever loads it.
image compile_host(const compile_request& r);
/// The command of the host compiler ("c++", SINTER_CXX, ...), or empty when there is none.
const std::string& host_compiler();

}  // namespace sinter::jit
