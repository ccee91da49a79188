#include "runtime/cuda/module.hpp"

#include "runtime/error.hpp"

#include <fmt/format.h>

#include <atomic>

namespace sinter::runtime::gpu {

int resident_blocks(owner& where, CUfunction code, int threads, std::size_t shared_bytes) {
  int blocks = 0;
  const driver& cu = where.api();
  check(cu, where.bound([&] {
    return cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, code, threads, shared_bytes);
  }),
        "asking how many blocks of a CUDA kernel fit");
  return blocks;
}

namespace {

constexpr std::uint32_t always_allowed = 48u << 10;  // of static and dynamic shared memory together

class cuda_module_function final : public module_function {
 public:
  cuda_module_function(owner& where, CUfunction code, const std::string& name)
      : where_(where), code_(code), name_(name) {
    facts_ = read_facts();
    allowed_ =
        facts_.shared_bytes < always_allowed ? always_allowed - static_cast<std::uint32_t>(facts_.shared_bytes) : 0;
  }

  void launch(std::span<void* const> arguments, const launch_shape& shape, bool cooperative) override {
    const driver& cu = where_.api();
    if (shape.shared_bytes > allowed_.load(std::memory_order_relaxed)) [[unlikely]]
      allow_shared(shape.shared_bytes);
    void** const list = const_cast<void**>(arguments.data());
    const std::uint32_t *g = shape.grid, *b = shape.block;
    const CUresult result = where_.bound([&] {
      return cooperative ? cu.cuLaunchCooperativeKernel(code_, g[0], g[1], g[2], b[0], b[1], b[2], shape.shared_bytes,
                                                        where_.current_handle(), list)
                         : cu.cuLaunchKernel(code_, g[0], g[1], g[2], b[0], b[1], b[2], shape.shared_bytes,
                                             where_.current_handle(), list, nullptr);
    });
    if (result != CUDA_SUCCESS) [[unlikely]]
      fail(cu, result,
           fmt::format("{}: launching kernel {} of grid [{}], block [{}], {} bytes of dynamic shared memory",
                       where_.device_name(), name_, fmt::join(shape.grid, ", "), fmt::join(shape.block, ", "),
                       shape.shared_bytes)
               .c_str());
  }

  const kernel_facts& facts() override { return facts_; }

  std::optional<std::vector<std::size_t>> parameter_bytes() override {
    const driver& cu = where_.api();
#if CUDA_VERSION >= 12040
    if (cu.cuFuncGetParamInfo == nullptr) return std::nullopt;
    std::vector<std::size_t> sizes;
    for (std::size_t offset = 0, bytes = 0;; sizes.push_back(bytes)) {
      const CUresult result = where_.bound([&] { return cu.cuFuncGetParamInfo(code_, sizes.size(), &offset, &bytes); });
      if (result == CUDA_ERROR_INVALID_VALUE) return sizes;  // there are no more
      check(cu, result, "asking for the parameters of a CUDA kernel");
    }
#else
    static_cast<void>(cu);
    return std::nullopt;
#endif
  }

  int resident_blocks(int threads, std::size_t shared_bytes) override {
    if (shared_bytes > allowed_.load(std::memory_order_relaxed)) allow_shared(static_cast<std::uint32_t>(shared_bytes));
    return gpu::resident_blocks(where_, code_, threads, shared_bytes);
  }

 private:
  int attribute(CUfunction_attribute which) const {
    int value = 0;
    check(where_.api(), where_.bound([&] { return where_.api().cuFuncGetAttribute(&value, which, code_); }),
          "asking for the attributes of a CUDA kernel");
    return value;
  }

  kernel_facts read_facts() const {
    kernel_facts f;
    f.registers = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS);
    f.shared_bytes = attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    f.constant_bytes = attribute(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
    f.local_bytes = attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    f.max_threads = attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    f.ptx_version = attribute(CU_FUNC_ATTRIBUTE_PTX_VERSION);
    f.binary_version = attribute(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
    f.max_dynamic_bytes = where_.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) - f.shared_bytes;
    return f;
  }

  /// Past 48 KiB a kernel has to be allowed what it asks for; all there is, so that this happens once.
  void allow_shared(std::uint32_t bytes) {
    if (bytes > facts_.max_dynamic_bytes)
      throw device_error(
          fmt::format("{}: kernel {} is asked for {} bytes of dynamic shared memory; with the {} bytes that it "
                      "declares, a block can have {}",
                      where_.device_name(), name_, bytes, facts_.shared_bytes, facts_.max_dynamic_bytes));
    const driver& cu = where_.api();
    const auto most = static_cast<int>(facts_.max_dynamic_bytes);
    check(cu, where_.bound([&] {
      return cu.cuFuncSetAttribute(code_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most);
    }),
          "asking for shared memory of a CUDA kernel");
    allowed_.store(static_cast<std::uint32_t>(most), std::memory_order_relaxed);
  }

  owner& where_;
  CUfunction code_;
  std::string name_;
  kernel_facts facts_;
  std::atomic<std::uint32_t> allowed_{0};
};

class cuda_module final : public module {
 public:
  cuda_module(owner& where, CUmodule handle) : where_(where), handle_(handle) {}
  cuda_module(const cuda_module&) = delete;
  cuda_module& operator=(const cuda_module&) = delete;
  ~cuda_module() override { where_.unload(handle_); }

  std::unique_ptr<module_function> find(const std::string& symbol) override {
    CUfunction code = nullptr;
    const CUresult r = where_.bound([&] { return where_.api().cuModuleGetFunction(&code, handle_, symbol.c_str()); });
    if (r == CUDA_ERROR_NOT_FOUND) return nullptr;
    check(where_.api(), r, "looking for a kernel in a CUDA module");
    return std::make_unique<cuda_module_function>(where_, code, symbol);
  }

  variable find_variable(const std::string& symbol) override {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    const CUresult r =
        where_.bound([&] { return where_.api().cuModuleGetGlobal(&address, &bytes, handle_, symbol.c_str()); });
    if (r == CUDA_ERROR_NOT_FOUND) return {};
    check(where_.api(), r, "looking for a variable in a CUDA module");
    return {reinterpret_cast<void*>(address), bytes};
  }

  std::vector<std::string> symbols() override {
    std::vector<std::string> names;
#if CUDA_VERSION >= 12040
    const driver& cu = where_.api();
    if (cu.cuModuleGetFunctionCount == nullptr || cu.cuModuleEnumerateFunctions == nullptr ||
        cu.cuFuncGetName == nullptr)
      return names;
    unsigned count = 0;
    if (where_.bound([&] { return cu.cuModuleGetFunctionCount(&count, handle_); }) != CUDA_SUCCESS) return names;
    std::vector<CUfunction> functions(count);
    if (cu.cuModuleEnumerateFunctions(functions.data(), count, handle_) != CUDA_SUCCESS) return names;
    for (const CUfunction f : functions)
      if (const char* name = nullptr; cu.cuFuncGetName(&name, f) == CUDA_SUCCESS) names.emplace_back(name);
#endif
    return names;
  }

 private:
  owner& where_;
  CUmodule handle_;
};

}  // namespace

CUmodule load_image(owner& where, std::span<const std::byte> image, const std::string& name) {
  // Only intermediate code (PTX), compiled here by the driver, has anything to say.
  char log[4096] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log - 1)};
  CUmodule handle = nullptr;
  const CUresult loaded =
      where.bound([&] { return where.api().cuModuleLoadDataEx(&handle, image.data(), 2, options, values); });
  if (loaded != CUDA_SUCCESS)
    fail(where.api(), loaded,
         fmt::format("{}: loading kernel {}{}{}", where.device_name(), name, log[0] != '\0' ? ": " : "", log).c_str());
  return handle;
}

std::unique_ptr<module> load_module(owner& where, std::span<const std::byte> image, const std::string& name) {
  return std::make_unique<cuda_module>(where, load_image(where, image, name));
}

}  // namespace sinter::runtime::gpu
