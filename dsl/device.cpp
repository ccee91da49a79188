#include "dsl/device.hpp"

#include "dsl/array.hpp"
#include "jit/engine.hpp"
#include "runtime/backend.hpp"
#include "runtime/counters.hpp"

#include <atomic>
#include <exception>

namespace sinter {

namespace {

/// Bit k: somebody holds a handle of CUDA device k. Devices nobody asked for need no waiting, and no start of their
/// driver.
std::atomic<std::uint64_t> cuda_handles{0};

}  // namespace

std::string device::name() const { return impl_->name(); }
bool device::is_cuda() const { return impl_->kind() == runtime::device_kind::cuda; }

device cpu() { return device(runtime::cpu()); }

device cuda(int ordinal, place at) {
  try {
    runtime::device& d = runtime::cuda(ordinal);
    cuda_handles.fetch_or(std::uint64_t{1} << (ordinal & 63), std::memory_order_relaxed);
    return device(d);
  } catch (const device_error& e) { throw device_error(error_text(e.what(), at)); }
}

int cuda_count() { return runtime::cuda_count(); }

device default_device() { return device(runtime::default_device()); }
void set_default_device(const device& d) { runtime::set_default_device(d.impl()); }

statistics stats() { return runtime::snapshot(); }

void synchronize() {
  if (runtime::snapshot().peak_bytes == 0) return;  // nothing ever ran: don't start a driver to wait for it
  std::exception_ptr fault;
  const auto wait = [&](runtime::device& d) {
    try {
      jit::synchronize(d);
    } catch (...) {
      if (!fault) fault = std::current_exception();
    }
  };
  wait(runtime::cpu());
  runtime::device& usual = runtime::default_device();
  if (&usual != &runtime::cpu()) wait(usual);
  const std::uint64_t handles = cuda_handles.load(std::memory_order_relaxed);
  for (int k = 0; k < 64; ++k)
    if (handles >> k & 1u && &runtime::cuda(k) != &usual) wait(runtime::cuda(k));
  if (fault) std::rethrow_exception(fault);
}

}  // namespace sinter
