// The cpu device: everything has happened when a call returns, except that kernels run on the pool's threads.
#include "runtime/backend.hpp"
#include "runtime/error.hpp"
#include "runtime/host/blocks.hpp"
#include "runtime/host/machine.hpp"
#include "runtime/host/pool.hpp"
#include "runtime/host/shared_object.hpp"
#include "runtime/host/stream.hpp"
#include "runtime/module.hpp"

#include <cstring>

#include <dlfcn.h>
#include <fmt/format.h>

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
  cpu_device() { usual_.hold(); }
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
  void copy_on_device(void* to, const void* from, std::size_t bytes) override { copy_bytes(to, from, bytes); }
  void synchronize() override {}

  std::unique_ptr<function> load(std::span<const std::byte> image, const std::string& entry) override;
  void launch(function& f, std::span<void* const> arguments, const launch_shape& shape) override;

  std::unique_ptr<module> load_module(std::span<const std::byte>, const std::string& name) override {
    throw device_error(fmt::format("cpu: {}: images for CUDA devices can't run here", name));
  }
  processor_facts processors() override { return {pool::instance().size(), std::int64_t{227} << 10}; }

  stream& default_stream() override { return usual_; }
  std::unique_ptr<moment> make_moment(bool) override { return std::make_unique<clock_moment>(); }

 protected:
  std::unique_ptr<stream> new_stream(int priority) override { return std::make_unique<prompt_stream>(*this, priority); }
  std::unique_ptr<stream> foreign_stream(void*) override {
    throw device_error("cpu: it has no streams of other libraries");
  }

  memory_state memory() override { return {blocks_.kept_bytes(), free_memory(), memory_limit()}; }
  void trim(std::size_t keep) override { blocks_.trim(keep); }

 private:
  block_pool blocks_;
  prompt_stream usual_{*this, 0};
};

std::unique_ptr<function> cpu_device::load(std::span<const std::byte> image, const std::string& entry) {
  void* library = open_shared_object(image, entry);
  void* symbol = dlsym(library, entry.c_str());
  if (symbol == nullptr) {
    const char* reason = dlerror();
    const std::string what = fmt::format("cpu: the loaded image has no kernel {}: {}", entry,
                                         reason == nullptr ? "no reason given" : reason);
    dlclose(library);
    throw device_error(what);
  }
  return std::make_unique<host_function>(library, reinterpret_cast<host_kernel>(symbol));
}

void cpu_device::launch(function& f, std::span<void* const> arguments, const launch_shape& shape) {
  const host_kernel code = static_cast<host_function&>(f).code();
  parallel_for(shape, [&](std::int64_t row_begin, std::int64_t row_end, std::int64_t begin, std::int64_t end) {
    code(arguments.data(), row_begin, row_end, begin, end);
  });
}

}  // namespace

device& cpu() {
  static cpu_device* const d = new cpu_device;  // never destroyed: arrays with static storage outlive other statics
  return *d;
}

}  // namespace sinter::runtime
