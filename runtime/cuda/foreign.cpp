// Streams and memory of other libraries on CUDA devices.
#include "runtime/foreign.hpp"

#include "runtime/cuda/module.hpp"
#include "runtime/error.hpp"

#include <fmt/format.h>

namespace sinter::runtime {
namespace {

// Devices of kind cuda are owners of modules, too; the two bases don't know each other.
gpu::owner& owner_of(device& d) { return dynamic_cast<gpu::owner&>(d); }

}  // namespace

void follow_stream(device& d, foreign_stream s) {
  if (s == no_stream || d.kind() != device_kind::cuda) return;
  gpu::owner& o = owner_of(d);
  // 1 and 2 are the driver's own handles of the legacy stream and of the thread's.
  auto* const stream = reinterpret_cast<CUstream>(static_cast<std::intptr_t>(s));
  gpu::check(o.api(), o.bound([&] { return o.api().cuStreamSynchronize(stream); }),
             "waiting for another library's CUDA stream");
}

void lead_stream(device& d, foreign_stream s) {
  if (s != no_stream) d.synchronize();
}

void finish(device& d) noexcept {
  try {
    if (d.kind() != device_kind::cuda) return d.synchronize();
    if (gpu::ending()) return;
    gpu::owner& o = owner_of(d);
    o.bound([&] { return o.api().cuCtxSynchronize(); });
  } catch (const error&) {
    // A device that failed does nothing any more.
  }
}

foreign_stream stream_number(device& d) {
  if (d.kind() != device_kind::cuda) return no_stream;
  gpu::owner& o = owner_of(d);
  o.bind();  // starts the device
  return static_cast<foreign_stream>(reinterpret_cast<std::intptr_t>(o.current_handle()));
}

std::string unreachable_reason(device& d, const void* memory) {
  gpu::owner& o = owner_of(d);
  unsigned int type = 0;  // stays 0 for memory that the driver doesn't know
  int ordinal = -1;
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void* found[] = {&type, &ordinal};
  const auto address = reinterpret_cast<CUdeviceptr>(memory);
  gpu::check(o.api(), o.bound([&] { return o.api().cuPointerGetAttributes(2, wanted, found, address); }),
             "asking what a pointer points to");
  if (type == 0)
    return o.attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS) != 0
               ? ""
               : fmt::format("is memory of the host, which {} can't reach", d.name());
  if (type == CU_MEMORYTYPE_DEVICE && ordinal != d.ordinal())
    return fmt::format("is memory of cuda:{}, not of {}", ordinal, d.name());
  return "";
}

}  // namespace sinter::runtime
