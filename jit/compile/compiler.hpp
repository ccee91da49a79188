// The compilers behind the executors: source text in, loadable image out.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sinter::jit {

enum class math_mode : unsigned char { standard, strict, fast };

struct compile_request {
  std::string name;    ///< the kernel's entry point, for messages
  std::string source;
  std::string target;  ///< "sm_90", "compute_80" (PTX); host: host_target(), or "x86-64-v3"
  math_mode math = math_mode::standard;
  std::vector<std::string> options;  ///< the user's own, passed through last
  bool large = false;  ///< many operations: prefer compile time over the last percent
};

/// What `device::load` takes: a cubin (or PTX), or a shared object.
using image = std::vector<std::byte>;

/// NVRTC (opened at run time). Throws compile_error; device_error when there is no NVRTC, naming the places looked at.
image compile_cuda(const compile_request& r);

/// What a compiler says besides the code it makes.
struct program_notes {
  std::string log;                                           ///< warnings
  std::vector<std::pair<std::string, std::string>> symbols;  ///< by expression, the symbol that it is in the code
};
struct compiled_program : program_notes {
  image code;
};
/// The same for a source whose kernels are named by C++ expressions ("f", "k<float, 4>"). Templates are compiled for
/// those alone.
compiled_program compile_cuda_program(const compile_request& r, std::span<const std::string> expressions);
/// "13.0", or empty when NVRTC can't be opened; `why`, when given, then says where it was looked for.
std::string nvrtc_version(std::string* why = nullptr);

/// The system's C++ compiler. Throws compile_error.
image compile_host(const compile_request& r);
/// The same, with what it said. Of symbols it has none to tell.
compiled_program compile_host_program(const compile_request& r);
/// The command of the host compiler ("c++", SINTER_CXX, ...), or empty when there is none.
const std::string& host_compiler();

/// What decides, besides a request, what the compilers make: their files' names, sizes and times, and their fixed
/// options. Neither compiler is run or opened for it; empty where there is none. Finding NVRTC may take opening it:
/// `memo`, a text to keep for later processes (empty at first), saves that.
std::string host_compiler_identity();
std::string nvrtc_identity(std::string& memo);
/// The same, looked at anew, of the compilers as they are now; NVRTC as it was opened.
std::string host_compiler_identity_now();
std::string opened_nvrtc_identity();
/// This processor, as far as it decides which instructions it knows: "x86_64 GenuineIntel 6.143 1f09ab2c77e0a1b2".
const std::string& host_target();
/// Whether this processor runs what was compiled for that target: its own, or a level ("x86-64-v3").
bool runs_here(const std::string& target);

}  // namespace sinter::jit
