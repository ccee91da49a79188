#include "runtime/cuda/driver.hpp"

#include "runtime/error.hpp"

#include <atomic>
#include <cstdlib>
#include <initializer_list>

#include <dlfcn.h>
#include <fmt/format.h>

namespace sinter::runtime::gpu {
namespace {

std::atomic<bool> process_ends{false};

struct entry_point {
  const char* symbol;
  void** to;
};

/// Fills the table; the first symbol that is missing, or null.
const char* find_entries(void* library, driver& api) {
#define SINTER_TEXT_OF(x) #x
#define SINTER_TEXT(x) SINTER_TEXT_OF(x)
#define SINTER_ENTRY(name) {SINTER_TEXT(name), reinterpret_cast<void**>(&api.name)},
  const entry_point entries[] = {SINTER_CUDA_ENTRIES(SINTER_ENTRY) SINTER_CUDA_STREAM_ENTRIES(SINTER_ENTRY)};
  const std::initializer_list<entry_point> may_lack = {SINTER_CUDA_NEW_ENTRIES(SINTER_ENTRY)};
#undef SINTER_ENTRY
#undef SINTER_TEXT
#undef SINTER_TEXT_OF
  for (const entry_point& e : entries) {
    *e.to = dlsym(library, e.symbol);
    if (*e.to == nullptr) return e.symbol;
  }
  for (const entry_point& e : may_lack) *e.to = dlsym(library, e.symbol);
  // One signature under two names, of which older drivers have the second only.
  for (const char* name : {"cuEventElapsedTime_v2", "cuEventElapsedTime"})
    if (api.cuEventElapsedTime == nullptr)
      *reinterpret_cast<void**>(&api.cuEventElapsedTime) = dlsym(library, name);
  return nullptr;
}

void* open_library(std::string& failure) {
  // The second is where Windows' subsystem for Linux keeps it, outside of the loader's path.
  for (const char* name : {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"}) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    const char* reason = dlerror();
    if (failure.empty()) failure = reason == nullptr ? name : reason;
  }
  return nullptr;
}

driver_state look() {
  driver_state s;
  std::string failure;
  void* library = open_library(failure);
  if (library == nullptr) {
    s.absence = fmt::format("no CUDA driver: {}", failure);
    return s;
  }
  if (const char* missing = find_entries(library, s.api)) {
    s.absence = fmt::format("the CUDA driver is too old: it has no {}", missing);
    return s;
  }
  CUresult result = s.api.cuInit(0);
  // Registered after the driver's own preparations, so it runs before they are undone.
  std::atexit([] { process_ends.store(true, std::memory_order_relaxed); });
  if (result == CUDA_SUCCESS) result = s.api.cuDeviceGetCount(&s.devices);
  if (result != CUDA_SUCCESS) {
    s.devices = 0;
    s.absence = fmt::format("the CUDA driver can't start: {}", describe(s.api, result));
  } else if (s.devices == 0) {
    s.absence = "the CUDA driver finds no GPU";
  }
  return s;
}

}  // namespace

const driver_state& open_driver() {
  static const driver_state* const s = new driver_state(look());  // never destroyed, like the devices
  return *s;
}

bool ending() noexcept { return process_ends.load(std::memory_order_relaxed); }

std::string describe(const driver& api, CUresult result) {
  const char *name = nullptr, *text = nullptr;
  if (api.cuGetErrorName(result, &name) != CUDA_SUCCESS || name == nullptr) name = "unknown CUDA error";
  if (api.cuGetErrorString(result, &text) != CUDA_SUCCESS || text == nullptr) text = "no description";
  return fmt::format("{} ({}): {}", name, static_cast<int>(result), text);
}

void fail(const driver& api, CUresult result, const char* what) {
  std::string message = fmt::format("{}: {}", what, describe(api, result));
  if (result == CUDA_ERROR_OUT_OF_MEMORY) throw out_of_memory(std::move(message));
  throw device_error(std::move(message), static_cast<int>(result));
}

}  // namespace sinter::runtime::gpu
