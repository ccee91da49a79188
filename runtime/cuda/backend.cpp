// The CUDA devices. Work is ordered by one stream each; nothing waits unless its description says so.
#include "runtime/backend.hpp"
#include "runtime/cuda/driver.hpp"
#include "runtime/cuda/module.hpp"
#include "runtime/error.hpp"
#include "runtime/launch_graph.hpp"

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
  index_fault* fault_address() override;
  bool take_fault(index_fault& out) override;

  /// Unloads a module once nothing that runs can be of it. Failures don't matter any more.
  void unload(CUmodule m) noexcept override;
  const driver& api() const override { return cu_; }
  const std::string& device_name() const override { return name_; }
  CUstream stream() const override { return stream_; }
  void start_graph(CUgraphExec g);
  /// Frees a graph once nothing that runs can be of it.
  void retire(CUgraphExec g) noexcept;
  int attribute(CUdevice_attribute which) const override;
  void bind() override;
  void bind_again() override;

 private:
  void start();
  CUresult try_allocate(CUdeviceptr& memory, std::size_t bytes);
  bool copies_late(const void* host) const;
  void check(CUresult result, const char* what) const { gpu::check(cu_, result, what); }

  const driver& cu_;
  const int ordinal_;
  CUdevice handle_ = 0;
  std::string name_, target_;

  std::once_flag started_;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  CUmemoryPool pool_ = nullptr;  ///< null: a device without stream-ordered memory
  CUdeviceptr fault_ = 0;                  ///< an index_fault on the device
  std::atomic<bool> may_have_fault_{false};  ///< a kernel was given fault_ since the last look
  std::mutex fault_guard_;
  std::vector<CUgraphExec> retired_;         ///< graphs that may still run
  std::mutex retired_guard_;
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

 private:
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
  if (stream_ == nullptr) check(cu_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "making a CUDA stream");
  if (attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) != 0) {
    check(cu_.cuDeviceGetDefaultMemPool(&pool_, handle_), "looking up the CUDA memory pool");
    cuuint64_t keep = ~cuuint64_t{0};
    check(cu_.cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep),
          "setting up the CUDA memory pool");
  }
  check(cu_.cuMemAlloc(&fault_, sizeof(index_fault)), "allocating the index fault record");
  const index_fault none;
  check(cu_.cuMemcpyHtoDAsync(fault_, &none, sizeof none, stream_), "clearing the index fault record");
}

CUresult cuda_device::try_allocate(CUdeviceptr& memory, std::size_t bytes) {
  return bound([&] {
    return pool_ != nullptr ? cu_.cuMemAllocFromPoolAsync(&memory, bytes, pool_, stream_)
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
      return pool_ != nullptr ? cu_.cuMemFreeAsync(address(memory), stream_) : cu_.cuMemFree(address(memory));
    });
  } catch (const error&) {
    // The context can't be reached: its memory went with it.
  }
}

/// Whether the driver may read `host` after a copy from it was asked for: it stages pageable memory at once, but
/// leaves memory that it knows (pinned, managed) to the device.
bool cuda_device::copies_late(const void* host) const {
  unsigned int type = 0;  // stays 0 for pageable memory
  CUpointer_attribute wanted = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
  void* found = &type;
  return cu_.cuPointerGetAttributes(1, &wanted, &found, address(host)) == CUDA_SUCCESS && type != 0;
}

void cuda_device::copy_from_host(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  check(bound([&] { return cu_.cuMemcpyHtoDAsync(address(to), from, bytes, stream_); }), "copying to the CUDA device");
  if (copies_late(from)) synchronize();
}

void cuda_device::copy_to_host(void* to, const void* from, std::size_t bytes) {
  if (bytes != 0)
    check(bound([&] { return cu_.cuMemcpyDtoHAsync(to, address(from), bytes, stream_); }),
          "copying from the CUDA device");
  synchronize();
}

void cuda_device::copy_on_device(void* to, const void* from, std::size_t bytes) {
  check(bound([&] { return cu_.cuMemcpyDtoDAsync(address(to), address(from), bytes, stream_); }),
        "copying on the CUDA device");
}

void cuda_device::synchronize() {
  std::vector<CUgraphExec> done;
  {
    const std::lock_guard lock(retired_guard_);
    done.swap(retired_);
  }
  check(bound([&] { return cu_.cuStreamSynchronize(stream_); }), "waiting for the CUDA device");
  for (const CUgraphExec g : done) cu_.cuGraphExecDestroy(g);
}

void cuda_device::start_graph(CUgraphExec g) {
  check(bound([&] { return cu_.cuGraphLaunch(g, stream_); }), "starting a list of launches");
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
    bound([&] { return cu_.cuStreamSynchronize(stream_); });
    cu_.cuModuleUnload(m);
  } catch (const error&) {
    // The context can't be reached: its modules went with it.
  }
}

void cuda_device::launch(function& f, std::span<void* const> arguments, const launch_shape& shape) {
  auto& kernel = static_cast<cuda_function&>(f);
  const CUresult result = bound([&] {
    return cu_.cuLaunchKernel(kernel.code(shape.shared_bytes), shape.grid[0], shape.grid[1], shape.grid[2],
                              shape.block[0], shape.block[1], shape.block[2], shape.shared_bytes, stream_,
                              const_cast<void**>(arguments.data()), nullptr);
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
    CUDA_KERNEL_NODE_PARAMS node{};
    node.func = static_cast<cuda_function&>(f).code(shape.shared_bytes);
    node.gridDimX = shape.grid[0];
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

index_fault* cuda_device::fault_address() {
  bind();
  may_have_fault_.store(true, std::memory_order_release);
  return reinterpret_cast<index_fault*>(fault_);
}

/// The record stays on the device, where kernels claim it with a plain atomic; it is fetched only after launches that
/// were given it, so that other waits cost nothing more.
bool cuda_device::take_fault(index_fault& out) {
  if (!may_have_fault_.load(std::memory_order_acquire)) return false;
  const std::lock_guard lock(fault_guard_);  // of several takers, one gets it
  if (!may_have_fault_.exchange(false, std::memory_order_acq_rel)) return false;
  copy_to_host(&out, reinterpret_cast<const void*>(fault_), sizeof out);
  if (out.set == 0) return false;
  const index_fault none;
  copy_from_host(reinterpret_cast<void*>(fault_), &none, sizeof none);
  return true;
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
