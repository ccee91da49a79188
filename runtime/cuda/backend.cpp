// The CUDA devices. Work goes to the thread's current stream; nothing waits unless its description says so.
#include "runtime/backend.hpp"
#include "runtime/cuda/driver.hpp"
#include "runtime/cuda/module.hpp"
#include "runtime/cuda/stream.hpp"
#include "runtime/cuda/transfers.hpp"
#include "runtime/error.hpp"
#include "runtime/launch_graph.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <vector>

#include <fmt/format.h>

namespace sinter::runtime {
namespace {

using gpu::driver;

CUdeviceptr address(const void* p) { return reinterpret_cast<CUdeviceptr>(p); }

class cuda_device final : public device, public gpu::owner {
 public:
  cuda_device(const driver& api, int ordinal);

  device_kind kind() const override { return device_kind::cuda; }
  int ordinal() const override { return ordinal_; }
  std::string name() const override { return name_; }
  std::string target() const override { return target_; }

  void* allocate(std::size_t bytes) override;
  void release(void* memory, std::size_t bytes) noexcept override;
  void copy_from_host(void* to, const void* from, std::size_t bytes) override;
  void copy_to_host(void* to, const void* from, std::size_t bytes) override;
  void copy_on_device(void* to, const void* from, std::size_t bytes) override;
  void synchronize() override;
  std::unique_ptr<function> load(std::span<const std::byte> image, const std::string& entry) override;
  void launch(function& f, std::span<void* const> arguments, const launch_shape& shape) override;
  std::unique_ptr<launch_list> make_launch_list() override;
  std::unique_ptr<module> load_module(std::span<const std::byte> image, const std::string& name) override;
  processor_facts processors() override;
  /// Needs no context once there is one: memory is released to the very end.
  stream& default_stream() override {
    if (gpu::cuda_stream* s = usual_.load(std::memory_order_acquire)) return *s;
    bind_again();
    return *usual_.load(std::memory_order_acquire);
  }
  std::unique_ptr<moment> make_moment(bool timed) override {
    return std::make_unique<gpu::cuda_moment>(*this, timed ? nullptr : &supply_);
  }
  std::unique_ptr<transfer> start_copy_in(void* to, const host_region& from) override;
  std::unique_ptr<transfer> start_copy_out(const host_region& to, const void* from) override;
  void* allocate_host(std::size_t bytes) override;
  void release_host(void* memory, std::size_t bytes) noexcept override { transfers_.release_host(memory, bytes); }
  memory_state memory() override;
  void trim(std::size_t keep) override;
  void trim_host() noexcept override { transfers_.trim(); }
  void* native_stream() override {
    bind_again();  // libraries use whatever context the thread has
    return current_handle();
  }

  /// Unloads a module once nothing that runs can be of it. Failures don't matter any more.
  void unload(CUmodule m) noexcept override;
  const driver& api() const override { return cu_; }
  const std::string& device_name() const override { return name_; }
  /// The handle of the thread's current stream; the device is bound.
  CUstream current_handle() override {
    if (this_threads_stream == nullptr) [[likely]]
      return usual_.load(std::memory_order_relaxed)->handle();
    return static_cast<gpu::cuda_stream&>(current_stream(*this)).handle_for_work();
  }
  void start_graph(CUgraphExec g);
  /// Frees a graph once nothing that runs can be of it.
  void retire(CUgraphExec g) noexcept;
  int attribute(CUdevice_attribute which) const override;
  void bind() override;
  void bind_again() override;

 protected:
  std::unique_ptr<stream> new_stream(int priority) override;
  std::unique_ptr<stream> foreign_stream(void* native) override;

 private:
  void start();
  void wait_for_current();
  CUresult try_allocate(CUdeviceptr& memory, std::size_t bytes);
  cuuint64_t pool_bytes(CUmemPool_attribute which);
  /// The current stream's handle; binds the device.
  CUstream started_stream() {
    bind();
    return current_handle();
  }
  void check(CUresult result, const char* what) const { gpu::check(cu_, result, what); }

  const driver& cu_;
  const int ordinal_;
  CUdevice handle_ = 0;
  std::string name_, target_;

  std::once_flag started_;
  CUcontext context_ = nullptr;
  gpu::stream_supply supply_{*this};
  std::atomic<gpu::cuda_stream*> usual_{nullptr};  ///< as long as the device
  CUmemoryPool pool_ = nullptr;  ///< null: a device without stream-ordered memory
  std::vector<CUgraphExec> retired_;         ///< graphs that may still run
  std::mutex retired_guard_;
  gpu::transfers transfers_{*this};
};

class cuda_function final : public function {
 public:
  cuda_function(cuda_device& owner, CUmodule module, CUfunction f) : owner_(owner), module_(module), code_(f) {}
  cuda_function(const cuda_function&) = delete;
  cuda_function& operator=(const cuda_function&) = delete;
  ~cuda_function() override { owner_.unload(module_); }

  /// The function, allowed to be launched with that much dynamic shared memory (if the device has as much).
  CUfunction code(std::uint32_t shared_bytes) {
    if (shared_bytes > allowed_shared_.load(std::memory_order_relaxed)) [[unlikely]]
      allow_all_shared();
    return code_;
  }

  /// How many blocks of axis x a launch has.
  std::uint32_t blocks_of(const launch_shape& shape) {
    return shape.resident ? std::min(shape.grid[0], resident_blocks(shape)) : shape.grid[0];
  }

 private:
  std::uint32_t resident_blocks(const launch_shape& shape) {
    const std::uint64_t of = std::uint64_t{shape.shared_bytes} << 11 | shape.block[0];
    std::uint64_t known = resident_.load(std::memory_order_relaxed);
    if (known >> 32 != of) [[unlikely]] {
      const int each = gpu::resident_blocks(owner_, code(shape.shared_bytes), static_cast<int>(shape.block[0]),
                                            shape.shared_bytes);
      known = of << 32 | static_cast<std::uint32_t>(std::max(each * owner_.processors().processors, 1));
      resident_.store(known, std::memory_order_relaxed);
    }
    return static_cast<std::uint32_t>(known);
  }

  void allow_all_shared() {
    const driver& cu = owner_.api();
    const char* what = "asking for shared memory of a CUDA kernel";
    int in_use = 0;
    gpu::check(cu, cu.cuFuncGetAttribute(&in_use, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, code_), what);
    const int most = owner_.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) - in_use;
    gpu::check(cu, cu.cuFuncSetAttribute(code_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most), what);
    allowed_shared_.store(~0u, std::memory_order_relaxed);
  }

  cuda_device& owner_;
  CUmodule module_;
  CUfunction code_;
  std::atomic<std::uint64_t> resident_{0};  ///< the last answer: of so much shared memory and so many threads
  std::atomic<std::uint32_t> allowed_shared_{16u << 10};  ///< more is asked for first: static use may be most of 48 KiB
};

/// The device whose context this thread was given last.
thread_local const cuda_device* bound_device = nullptr;

cuda_device::cuda_device(const driver& api, int ordinal) : cu_(api), ordinal_(ordinal) {
  check(cu_.cuDeviceGet(&handle_, ordinal), "looking up a CUDA device");
  name_ = fmt::format("cuda:{}", ordinal);
  target_ = fmt::format("sm_{}{}", attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                        attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
}

int cuda_device::attribute(CUdevice_attribute which) const {
  int value = 0;
  check(cu_.cuDeviceGetAttribute(&value, which, handle_), "asking a CUDA device for its properties");
  return value;
}

void cuda_device::bind() {
  if (bound_device != this) [[unlikely]]
    bind_again();
}

void cuda_device::bind_again() {
  std::call_once(started_, [this] { start(); });
  check(cu_.cuCtxSetCurrent(context_), "making the CUDA context current");
  bound_device = this;
}

void cuda_device::start() {
  check(cu_.cuDevicePrimaryCtxRetain(&context_, handle_), "opening the CUDA device");
  check(cu_.cuCtxSetCurrent(context_), "making the CUDA context current");
  if (attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) != 0) {
    check(cu_.cuDeviceGetDefaultMemPool(&pool_, handle_), "looking up the CUDA memory pool");
    cuuint64_t keep = ~cuuint64_t{0};
    check(cu_.cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep),
          "setting up the CUDA memory pool");
    // One stream's allocations don't wait for memory that another's work is about to give back.
    int never = 0;
    check(cu_.cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &never),
          "setting up the CUDA memory pool");
  }
  bound_device = this;  // what follows binds
  try {
    auto made = std::make_unique<gpu::cuda_stream>(*this, *this, supply_, gpu::create_stream(*this, 0), true, 0);
    made->hold();
    usual_.store(made.release(), std::memory_order_release);
  } catch (...) {
    bound_device = nullptr;
    throw;
  }
}

std::unique_ptr<stream> cuda_device::new_stream(int priority) {
  bind();
  return std::make_unique<gpu::cuda_stream>(*this, *this, supply_, gpu::create_stream(*this, priority), true, priority);
}

std::unique_ptr<stream> cuda_device::foreign_stream(void* native) {
  bind();
  const auto handle = static_cast<CUstream>(native);
  gpu::check_foreign_stream(*this, handle, context_);
  return std::make_unique<gpu::cuda_stream>(*this, *this, supply_, handle, false, gpu::priority_of(*this, handle));
}

CUresult cuda_device::try_allocate(CUdeviceptr& memory, std::size_t bytes) {
  return bound([&] {
    return pool_ != nullptr ? cu_.cuMemAllocFromPoolAsync(&memory, bytes, pool_, current_handle())
                            : cu_.cuMemAlloc(&memory, bytes);
  });
}

void* cuda_device::allocate(std::size_t bytes) {
  bytes = (bytes + 3) & ~std::size_t{3};  // kernels combine bytes within their word
  CUdeviceptr memory = 0;
  CUresult result = try_allocate(memory, bytes);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    // Memory freed by work that still runs counts as used, and what the pool keeps may be in pieces of the wrong sizes.
    synchronize();
    if (pool_ != nullptr) check(cu_.cuMemPoolTrimTo(pool_, 0), "trimming the CUDA memory pool");
    result = try_allocate(memory, bytes);
  }
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    std::size_t free = 0, total = 0;
    cu_.cuMemGetInfo(&free, &total);
    throw out_of_memory(
        fmt::format("{}: no room for {} bytes ({} of the device's {} bytes are free; arrays of all "
                    "devices use {} bytes)",
                    name_, bytes, free, total, snapshot().bytes_in_use));
  }
  check(result, "allocating CUDA memory");
  return reinterpret_cast<void*>(memory);
}

void cuda_device::release(void* memory, std::size_t) noexcept {
  if (gpu::ending()) return;
  try {
    bound([&] {
      return pool_ != nullptr ? cu_.cuMemFreeAsync(address(memory), current_handle()) : cu_.cuMemFree(address(memory));
    });
  } catch (const error&) {
    // The context can't be reached: its memory went with it.
  }
}

/// The driver stages so much pageable memory at once. What it copies more slowly than we do, or waits for, is larger.
constexpr std::size_t most_staged_by_driver = std::size_t{64} << 10;

void cuda_device::copy_from_host(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  if (bytes > most_staged_by_driver) {
    const std::unique_ptr<transfer> copy = transfers_.start_in(started_stream(), to, contiguous_region(from, bytes));
    copy->join();
    return copy->wait();
  }
  check(bound([&] { return cu_.cuMemcpyHtoDAsync(address(to), from, bytes, current_handle()); }),
        "copying to the CUDA device");
  if (transfers_.is_pinned(contiguous_region(from, bytes))) wait_for_current();  // read when the device comes to it
}

void cuda_device::copy_to_host(void* to, const void* from, std::size_t bytes) {
  if (bytes > most_staged_by_driver)
    transfers_.start_out(started_stream(), contiguous_region(to, bytes), from)->wait();
  else if (bytes != 0)
    check(bound([&] { return cu_.cuMemcpyDtoHAsync(to, address(from), bytes, current_handle()); }),
          "copying from the CUDA device");
  wait_for_current();
}

std::unique_ptr<transfer> cuda_device::start_copy_in(void* to, const host_region& from) {
  const std::size_t bytes = from.bytes();
  if (bytes > most_staged_by_driver || !from.is_contiguous() || bytes == 0 || transfers_.is_pinned(from))
    return transfers_.start_in(started_stream(), to, from);
  copy_from_host(to, from.data, bytes);
  return nullptr;
}

std::unique_ptr<transfer> cuda_device::start_copy_out(const host_region& to, const void* from) {
  return transfers_.start_out(started_stream(), to, from);
}

void* cuda_device::allocate_host(std::size_t bytes) { return transfers_.allocate_host(bytes); }

cuuint64_t cuda_device::pool_bytes(CUmemPool_attribute which) {
  cuuint64_t bytes = 0;
  if (pool_ != nullptr)
    check(bound([&] { return cu_.cuMemPoolGetAttribute(pool_, which, &bytes); }),
          "asking for the state of CUDA memory");
  return bytes;
}

memory_state cuda_device::memory() {
  memory_state s;
  bind();  // the pool is there from now on
  check(bound([&] { return cu_.cuMemGetInfo(&s.free, &s.total); }), "asking for the state of CUDA memory");
  const cuuint64_t used = pool_bytes(CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
  const cuuint64_t reserved = pool_bytes(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
  s.cached = static_cast<std::size_t>(std::max(reserved, used) - used);
  return s;
}

void cuda_device::trim(std::size_t keep) {
  bind();
  if (pool_ == nullptr) return;
  const cuuint64_t used = pool_bytes(CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
  if (pool_bytes(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) <= used + keep) return;
  check(bound([&] { return cu_.cuMemPoolTrimTo(pool_, used + keep); }), "trimming the CUDA memory pool");
}

void cuda_device::copy_on_device(void* to, const void* from, std::size_t bytes) {
  check(bound([&] { return cu_.cuMemcpyDtoDAsync(address(to), address(from), bytes, current_handle()); }),
        "copying on the CUDA device");
}

void cuda_device::synchronize() {
  std::vector<CUgraphExec> done;
  {
    const std::lock_guard lock(retired_guard_);
    done.swap(retired_);
  }
  default_stream().synchronize();
  if (has_streams()) synchronize_streams();
  for (const CUgraphExec g : done) cu_.cuGraphExecDestroy(g);
}

void cuda_device::wait_for_current() {
  if (!has_streams()) return synchronize();
  check(bound([&] { return cu_.cuStreamSynchronize(current_handle()); }), "waiting for the CUDA device");
}

void cuda_device::start_graph(CUgraphExec g) {
  check(bound([&] { return cu_.cuGraphLaunch(g, current_handle()); }), "starting a list of launches");
}

void cuda_device::retire(CUgraphExec g) noexcept {
  const std::lock_guard lock(retired_guard_);
  retired_.push_back(g);
}

std::unique_ptr<function> cuda_device::load(std::span<const std::byte> image, const std::string& entry) {
  const CUmodule module = gpu::load_image(*this, image, entry);
  CUfunction code = nullptr;
  const CUresult found = cu_.cuModuleGetFunction(&code, module, entry.c_str());
  if (found != CUDA_SUCCESS) {
    cu_.cuModuleUnload(module);
    gpu::fail(cu_, found, fmt::format("{}: the loaded image has no kernel {}", name_, entry).c_str());
  }
  return std::make_unique<cuda_function>(*this, module, code);
}

std::unique_ptr<module> cuda_device::load_module(std::span<const std::byte> image, const std::string& name) {
  return gpu::load_module(*this, image, name);
}

processor_facts cuda_device::processors() {
  return {attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
          attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)};
}

void cuda_device::unload(CUmodule m) noexcept {
  if (gpu::ending()) return;
  try {
    synchronize();
    cu_.cuModuleUnload(m);
  } catch (const error&) {
    // The context can't be reached: its modules went with it.
  }
}

void cuda_device::launch(function& f, std::span<void* const> arguments, const launch_shape& shape) {
  auto& kernel = static_cast<cuda_function&>(f);
  const std::uint32_t *g = shape.grid, *b = shape.block, blocks = kernel.blocks_of(shape), shared = shape.shared_bytes;
  const CUfunction code = kernel.code(shared);
  void** const list = const_cast<void**>(arguments.data());
  const bool waits = shape.cooperative && blocks > 1;
  const CUresult result = bound([&] {
    return waits ? cu_.cuLaunchCooperativeKernel(code, blocks, g[1], g[2], b[0], b[1], b[2], shared, current_handle(), list)
                 : cu_.cuLaunchKernel(code, blocks, g[1], g[2], b[0], b[1], b[2], shared, current_handle(), list, nullptr);
  });
  if (result != CUDA_SUCCESS) [[unlikely]]
    gpu::fail(cu_, result,
              fmt::format("{}: launching a kernel of grid [{}], block [{}], {} bytes of shared memory", name_,
                          fmt::join(shape.grid, ", "), fmt::join(shape.block, ", "), shape.shared_bytes)
                  .c_str());
}

namespace {

/// A graph whose kernels follow each other: between two of them the device needs less than a microsecond.
class cuda_launch_list final : public launch_graph {
 public:
  explicit cuda_launch_list(cuda_device& owner) : owner_(owner) {
    check(owner.api(), owner.api().cuGraphCreate(&graph_, 0), "making a list of launches");
  }
  cuda_launch_list(const cuda_launch_list&) = delete;
  cuda_launch_list& operator=(const cuda_launch_list&) = delete;
  ~cuda_launch_list() override {
    if (gpu::ending()) return;
    owner_.api().cuGraphDestroy(graph_);
    if (ready_) owner_.retire(ready_);
  }

  void add(function& f, std::span<void* const> arguments, const launch_shape& shape) override {
    const CUDA_KERNEL_NODE_PARAMS node = described(f, arguments, shape);
    CUgraphNode added = nullptr;
    const CUgraphNode* before = nodes_.empty() ? nullptr : &nodes_.back();
    check(owner_.api(), owner_.api().cuGraphAddKernelNode(&added, graph_, before, before ? 1 : 0, &node),
          "adding to a list of launches");
    nodes_.push_back(added);
  }

  void change(std::size_t k, function& f, std::span<void* const> arguments, const launch_shape& shape) override {
    const CUDA_KERNEL_NODE_PARAMS node = described(f, arguments, shape);
    check(owner_.api(), owner_.api().cuGraphExecKernelNodeSetParams(ready_, nodes_.at(k), &node),
          "changing a list of launches");
  }

  void start() override {
    if (!ready_) check(owner_.api(), owner_.api().cuGraphInstantiate(&ready_, graph_, 0), "making ready a list of launches");
    owner_.start_graph(ready_);
  }

 private:
  static void check(const driver& api, CUresult result, const char* what) { gpu::check(api, result, what); }

  static CUDA_KERNEL_NODE_PARAMS described(function& f, std::span<void* const> arguments, const launch_shape& shape) {
    auto& kernel = static_cast<cuda_function&>(f);
    CUDA_KERNEL_NODE_PARAMS node{};
    node.func = kernel.code(shape.shared_bytes);
    node.gridDimX = kernel.blocks_of(shape);
    node.gridDimY = shape.grid[1];
    node.gridDimZ = shape.grid[2];
    node.blockDimX = shape.block[0];
    node.blockDimY = shape.block[1];
    node.blockDimZ = shape.block[2];
    node.sharedMemBytes = shape.shared_bytes;
    node.kernelParams = const_cast<void**>(arguments.data());
    return node;
  }

  cuda_device& owner_;
  CUgraph graph_ = nullptr;
  CUgraphExec ready_ = nullptr;
  std::vector<CUgraphNode> nodes_;
};

}  // namespace

std::unique_ptr<launch_list> cuda_device::make_launch_list() {
  bind();
  return std::make_unique<cuda_launch_list>(*this);
}

/// All CUDA devices, never destroyed: arrays with static storage, and the driver's own end, outlive other statics.
const std::vector<cuda_device*>& all_devices() {
  static const auto* const devices = [] {
    auto* made = new std::vector<cuda_device*>;
    const gpu::driver_state& s = gpu::open_driver();
    for (int k = 0; k < s.devices; ++k) made->push_back(new cuda_device(s.api, k));
    return made;
  }();
  return *devices;
}

}  // namespace

int cuda_count() { return gpu::open_driver().devices; }

std::string cuda_absence() { return gpu::open_driver().absence; }

device& cuda(int ordinal) {
  const int count = cuda_count();
  if (count == 0) throw device_error(fmt::format("there is no CUDA device: {}", cuda_absence()));
  if (ordinal < 0 || ordinal >= count)
    throw device_error(
        fmt::format("there is no CUDA device {}: this process sees {}, numbered from 0", ordinal, count));
  return *all_devices()[static_cast<std::size_t>(ordinal)];
}

}  // namespace sinter::runtime
