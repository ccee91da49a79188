// Modules of CUDA devices: users' own kernels.
#pragma once

#include "runtime/cuda/driver.hpp"
#include "runtime/module.hpp"

namespace sinter::runtime::gpu {

/// What modules need of their device.
class owner {
 public:
  virtual const driver& api() const = 0;
  virtual const std::string& device_name() const = 0;
  /// The handle of the thread's current stream.
  virtual CUstream current_handle() = 0;
  virtual int attribute(CUdevice_attribute which) const = 0;
  /// Makes the device's context the thread's, if it isn't.
  virtual void bind() = 0;
  /// The same when the thread may have been given another one behind our back.
  virtual void bind_again() = 0;
  /// Unloads a module once nothing that runs can be of it.
  virtual void unload(CUmodule m) noexcept = 0;

  /// Runs `call`; once more when the thread turns out to have been given another context.
  template <class Call>
  CUresult bound(Call&& call) {
    bind();
    const CUresult result = call();
    if (result != CUDA_ERROR_INVALID_CONTEXT && result != CUDA_ERROR_INVALID_HANDLE) [[likely]]
      return result;
    bind_again();
    return call();
  }

 protected:
  ~owner() = default;
};

/// Loads an image: cubin, PTX or fatbin. device_error, with the driver's log, when it is none of them or doesn't fit.
CUmodule load_image(owner& where, std::span<const std::byte> image, const std::string& name);
/// How many blocks of a kernel run on a multiprocessor at the same time.
int resident_blocks(owner& where, CUfunction code, int threads, std::size_t shared_bytes);
std::unique_ptr<module> load_module(owner& where, std::span<const std::byte> image, const std::string& name);

}  // namespace sinter::runtime::gpu
