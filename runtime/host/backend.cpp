// The cpu device: everything has happened when a call returns, except that kernels run on the pool's threads.
#include "runtime/backend.hpp"
#include "runtime/error.hpp"
#include "runtime/host/blocks.hpp"

#include <atomic>
#include <cstring>
#include <mutex>

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

namespace sinter::runtime {
namespace {

/// A function of a shared object, which stays loaded as long.
class host_function final : public function {
 public:
  host_function(void* library, host_kernel kernel) : library_(library), code_(kernel) {}
  host_function(const host_function&) = delete;
  host_function& operator=(const host_function&) = delete;
  ~host_function() override { dlclose(library_); }
  host_kernel code() const { return code_; }

 private:
  void* library_;
  host_kernel code_;
};

/// Removes a shared object once it is loaded (or can't be), and its folder when that was made for it alone.
void remove_image(const std::string& path) {
  unlink(path.c_str());
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return;
  const std::string folder = path.substr(0, slash);
  const std::size_t above = folder.rfind('/');
  const std::string_view name = std::string_view(folder).substr(above == std::string::npos ? 0 : above + 1);
  if (name.starts_with("sinter-")) rmdir(folder.c_str());  // fails, rightly, while it holds anything
}

std::string loader_message() {
  const char* message = dlerror();
  return message == nullptr ? "no reason given" : message;
}

/// Copies, on several threads when there is enough of it.
void copy_bytes(void* to, const void* from, std::size_t bytes) {
  constexpr std::size_t large = std::size_t{1} << 20;
  if (bytes < large) {
    if (bytes != 0) std::memcpy(to, from, bytes);
    return;
  }
  launch_shape shape;
  shape.inner = static_cast<std::int64_t>(bytes);
  parallel_for(shape, [&](std::int64_t, std::int64_t, std::int64_t begin, std::int64_t end) {
    std::memcpy(static_cast<std::byte*>(to) + begin, static_cast<const std::byte*>(from) + begin,
                static_cast<std::size_t>(end - begin));
  });
}

class cpu_device final : public device {
 public:
  device_kind kind() const override { return device_kind::cpu; }
  int ordinal() const override { return 0; }
  std::string name() const override { return "cpu"; }
  std::string target() const override { return "host"; }

  void* allocate(std::size_t bytes) override {
    void* memory = blocks_.allocate(bytes);
    if (memory == nullptr)
      throw out_of_memory(fmt::format("cpu: no room for {} bytes ({} bytes in use by arrays of all devices)", bytes,
                                      snapshot().bytes_in_use));
    return memory;
  }
  void release(void* memory, std::size_t bytes) noexcept override { blocks_.release(memory, bytes); }

  void copy_from_host(void* to, const void* from, std::size_t bytes) override { copy_bytes(to, from, bytes); }
  void copy_to_host(void* to, const void* from, std::size_t bytes) override { copy_bytes(to, from, bytes); }
  void synchronize() override {}

  std::unique_ptr<function> load(std::span<const std::byte> image, const std::string& entry) override;
  void launch(function& f, std::span<void* const> arguments, const launch_shape& shape) override;

  index_fault* fault_address() override { return &fault_; }
  bool take_fault(index_fault& out) override;

 private:
  block_pool blocks_;
  std::mutex fault_guard_;
  index_fault fault_;
};

std::unique_ptr<function> cpu_device::load(std::span<const std::byte> image, const std::string& entry) {
  std::string path(reinterpret_cast<const char*>(image.data()), image.size());
  if (path.find('/') == std::string::npos) path.insert(0, "./");  // else the loader would search its own places
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const std::string failure = library == nullptr ? loader_message() : std::string{};
  remove_image(path);
  if (library == nullptr)
    throw device_error(
        fmt::format("cpu: kernel {} can't be loaded: {}\n  hint: TMPDIR must name a folder that allows "
                    "programs to run (not mounted noexec)",
                    entry, failure));
  void* symbol = dlsym(library, entry.c_str());
  if (symbol == nullptr) {
    const std::string reason = loader_message();
    dlclose(library);
    throw device_error(fmt::format("cpu: the loaded image has no kernel {}: {}", entry, reason));
  }
  return std::make_unique<host_function>(library, reinterpret_cast<host_kernel>(symbol));
}

void cpu_device::launch(function& f, std::span<void* const> arguments, const launch_shape& shape) {
  const host_kernel code = static_cast<host_function&>(f).code();
  parallel_for(shape, [&](std::int64_t row_begin, std::int64_t row_end, std::int64_t begin, std::int64_t end) {
    code(arguments.data(), row_begin, row_end, begin, end);
  });
}

bool cpu_device::take_fault(index_fault& out) {
  const std::atomic_ref<std::int32_t> set(fault_.set);
  if (set.load(std::memory_order_acquire) == 0) return false;
  const std::lock_guard lock(fault_guard_);  // of several takers, one gets it
  if (set.load(std::memory_order_acquire) == 0) return false;
  out = fault_;
  fault_.ordinal = 0;
  fault_.launch = fault_.index = fault_.size = fault_.position = 0;
  set.store(0, std::memory_order_release);  // last: from here on a kernel may write the next one
  return true;
}

}  // namespace

device& cpu() {
  static cpu_device* const d = new cpu_device;  // never destroyed: arrays with static storage outlive other statics
  return *d;
}

}  // namespace sinter::runtime
