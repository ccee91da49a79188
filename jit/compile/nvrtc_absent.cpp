// Stands for NVRTC in a library built without the CUDA headers.
#include "jit/compile/compiler.hpp"
#include "runtime/error.hpp"

namespace sinter::jit {
namespace {

constexpr const char* reason = "sinter was built without the CUDA headers";

}  // namespace

image compile_cuda(const compile_request&) { throw device_error(std::string("no NVRTC: ") + reason); }

compiled_program compile_cuda_program(const compile_request&, std::span<const std::string>) {
  throw device_error(std::string("no NVRTC: ") + reason);
}

std::string nvrtc_version(std::string* why) {
  if (why != nullptr) *why = reason;
  return {};
}

std::string nvrtc_identity(std::string&) { return {}; }
std::string opened_nvrtc_identity() { return {}; }

}  // namespace sinter::jit
