// Where arrays live and kernels run, and counters of what was done.
#pragma once

#include "runtime/stats.hpp"
#include "runtime/types.hpp"

#include <string>

namespace sinter::runtime { class device; }

namespace sinter {

/// A handle of a device: the host's processors or a GPU. A value; compares by identity.
class device {
 public:
  explicit device(runtime::device& d) : impl_(&d) {}
  std::string name() const;  ///< "cpu", "cuda:0"
  bool is_cuda() const;
  runtime::device& impl() const { return *impl_; }  ///< for the library
  friend bool operator==(const device&, const device&) = default;

 private:
  runtime::device* impl_;
};

device cpu();
/// Throws device_error, with the reason, when there is no such GPU.
device cuda(int ordinal = 0, place at = place::here());
/// The number of GPUs; 0 where there are none.
int cuda_count();

/// Where new arrays live: the last set_default_device, else SINTER_DEVICE, else a GPU when present, else cpu.
device default_device();
void set_default_device(const device& d);

/// What the library did so far in this process.
statistics stats();

}  // namespace sinter
