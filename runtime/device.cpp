// Where new arrays live.
#include "runtime/backend.hpp"
#include "runtime/error.hpp"
#include "runtime/log.hpp"

#include <atomic>

namespace sinter::runtime {
namespace {

std::atomic<device*> chosen{nullptr};

/// What the environment asks for. The CUDA driver isn't touched unless it is a candidate.
device& choose() {
  const std::string& wish = environment().device;
  if (wish == "cpu") return cpu();
  if (cuda_count() > 0) return cuda(0);
  if (wish == "cuda") throw device_error("SINTER_DEVICE=cuda, but there is no CUDA device: " + cuda_absence());
  log_once(level::info, "default device", "arrays live on the cpu device: " + cuda_absence());
  return cpu();
}

}  // namespace

device& default_device() {
  if (device* d = chosen.load(std::memory_order_acquire)) return *d;
  device* none = nullptr;
  device& found = choose();
  // A set_default_device of another thread, meanwhile, stands.
  return chosen.compare_exchange_strong(none, &found, std::memory_order_acq_rel) ? found : *none;
}

void set_default_device(device& d) { chosen.store(&d, std::memory_order_release); }

}  // namespace sinter::runtime
