// The CUDA device and its compiler; what needs a GPU is skipped without one.
#include "jit/compile/compiler.hpp"
#include "runtime/backend.hpp"
#include "runtime/error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <thread>
#include <vector>

using namespace sinter;

namespace {

constexpr const char* axpy_source = R"(
extern "C" __global__ void axpy(const float* x, float* y, float a, long long n) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (long long)blockDim.x)
    y[i] += a * x[i];
}
)";

jit::compile_request request(const char* name, const char* source, const std::string& target = "sm_90") {
  jit::compile_request r;
  r.name = name;
  r.source = source;
  r.target = target;
  return r;
}

bool is_elf(const jit::image& image) { return image.size() > 4 && std::memcmp(image.data(), "\177ELF", 4) == 0; }

class nvrtc : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (jit::nvrtc_version(&why).empty()) GTEST_SKIP() << why;
  }
};

class cuda_device : public testing::Test {
 protected:
  void SetUp() override {
    if (runtime::cuda_count() == 0) GTEST_SKIP() << runtime::cuda_absence();
    gpu = &runtime::cuda(0);
  }
  runtime::device* gpu = nullptr;
};

}  // namespace

TEST_F(nvrtc, a_kernel_compiles_to_a_cubin_in_every_mode) {
  for (const jit::math_mode math : {jit::math_mode::standard, jit::math_mode::strict, jit::math_mode::fast}) {
    jit::compile_request r = request("axpy", axpy_source);
    r.math = math;
    EXPECT_TRUE(is_elf(jit::compile_cuda(r)));
  }
}

TEST_F(nvrtc, its_identity_is_remembered_as_long_as_the_library_is_the_same_file) {
  std::string memo;
  const std::string identity = jit::nvrtc_identity(memo);
  EXPECT_NE(identity.find("libnvrtc"), std::string::npos);
  ASSERT_NE(memo, "");
  std::string again = memo;
  EXPECT_EQ(jit::nvrtc_identity(again), identity);
  EXPECT_EQ(again, memo);
  std::string stale = memo;  // the file's time, at the very end, has changed
  stale[stale.size() - 2] = stale[stale.size() - 2] == '0' ? '1' : '0';
  EXPECT_EQ(jit::nvrtc_identity(stale), identity);
  EXPECT_EQ(stale, memo);
  std::string nonsense = "nonsense";
  EXPECT_EQ(jit::nvrtc_identity(nonsense), identity);
  EXPECT_EQ(jit::opened_nvrtc_identity(), identity);
}

TEST(nvrtc_memo, DISABLED_other_process) {
  std::string memo = std::getenv("TEST_MEMO") == nullptr ? "" : std::getenv("TEST_MEMO");
  std::printf("IDENTITY %s\n", jit::nvrtc_identity(memo).c_str());
  std::ifstream maps("/proc/self/maps");
  const std::string text{std::istreambuf_iterator<char>(maps), {}};
  std::printf("OPENED %d\n", text.find("libnvrtc") != text.npos);
}

TEST_F(nvrtc, a_process_that_remembers_it_does_not_open_the_library) {
  std::string memo;
  const std::string identity = jit::nvrtc_identity(memo);
  for (const bool remembers : {true, false}) {
    setenv("TEST_MEMO", remembers ? memo.c_str() : "", 1);
    std::FILE* pipe = popen(
        "exec /proc/$PPID/exe --gtest_filter=nvrtc_memo.DISABLED_other_process --gtest_also_run_disabled_tests", "r");
    ASSERT_NE(pipe, nullptr);
    std::string text;
    char part[4096];
    for (std::size_t n; (n = std::fread(part, 1, sizeof part, pipe)) > 0;) text.append(part, n);
    pclose(pipe);
    EXPECT_NE(text.find("IDENTITY " + identity + "\n"), std::string::npos) << text;
    EXPECT_NE(text.find(remembers ? "OPENED 0" : "OPENED 1"), std::string::npos) << text;
  }
  unsetenv("TEST_MEMO");
}

TEST_F(nvrtc, ptx_can_be_asked_for) {
  const jit::image image = jit::compile_cuda(request("axpy", axpy_source, "compute_80"));
  const std::string text(reinterpret_cast<const char*>(image.data()), image.size());
  EXPECT_NE(text.find(".target sm_80"), std::string::npos);
}

TEST_F(nvrtc, a_gpu_newer_than_the_compiler_gets_ptx) {
  const jit::image image = jit::compile_cuda(request("axpy", axpy_source, "sm_999"));
  const std::string text(reinterpret_cast<const char*>(image.data()), image.size());
  EXPECT_NE(text.find(".entry axpy"), std::string::npos);
  EXPECT_EQ(text.back(), '\0');
}

TEST_F(nvrtc, a_gpu_too_old_for_the_compiler_is_a_device_error) {
  EXPECT_THROW(jit::compile_cuda(request("axpy", axpy_source, "sm_20")), device_error);
}

TEST_F(nvrtc, an_error_shows_the_users_text_at_its_own_line) {
  try {
    jit::compile_cuda(request("broken", "#line 7 \"user.cu\"\nextern \"C\" __global__ void broken() { oops = 1; }\n"));
    FAIL() << "compiled";
  } catch (const compile_error& e) {
    EXPECT_TRUE(std::string(e.what()).starts_with("kernel broken does not compile\n")) << e.what();
    EXPECT_NE(e.log().find("user.cu(7)"), std::string::npos) << e.log();
    EXPECT_NE(e.options().find("--gpu-architecture=sm_90"), std::string::npos);
  }
}

TEST_F(nvrtc, an_unknown_option_is_a_compile_error_that_names_it) {
  jit::compile_request r = request("axpy", axpy_source);
  r.options = {"--no-such-option"};
  try {
    jit::compile_cuda(r);
    FAIL() << "compiled";
  } catch (const compile_error& e) { EXPECT_NE(e.log().find("no-such-option"), std::string::npos) << e.log(); }
}

TEST(cuda, without_a_gpu_the_reason_is_told) {
  if (runtime::cuda_count() != 0) GTEST_SKIP() << "there is a GPU";
  EXPECT_NE(runtime::cuda_absence(), "");
  try {
    runtime::cuda(0);
    FAIL() << "got a device";
  } catch (const device_error& e) { EXPECT_NE(std::string(e.what()).find(runtime::cuda_absence()), std::string::npos); }
}

TEST_F(cuda_device, is_named_and_numbered) {
  EXPECT_EQ(gpu->name(), "cuda:0");
  EXPECT_TRUE(gpu->target().starts_with("sm_"));
  EXPECT_EQ(runtime::cuda_absence(), "");
  EXPECT_THROW(runtime::cuda(runtime::cuda_count()), device_error);
}

TEST_F(cuda_device, data_comes_back_as_it_went) {
  for (const std::size_t bytes : {1u, 5000u, 70000u, 50000000u}) {
    std::vector<unsigned char> from(bytes), back(bytes);
    for (std::size_t k = 0; k < bytes; ++k) from[k] = static_cast<unsigned char>(k * 7);
    void* memory = gpu->allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 256, 0u);
    const std::vector<unsigned char> expected = from;
    gpu->copy_from_host(memory, from.data(), bytes);
    std::fill(from.begin(), from.end(), static_cast<unsigned char>(0));  // free to change on return
    gpu->copy_to_host(back.data(), memory, bytes);
    gpu->release(memory, bytes);
    EXPECT_TRUE(back == expected) << bytes;
  }
}

TEST_F(cuda_device, a_compiled_kernel_runs_from_any_thread) {
  const auto f = gpu->load(jit::compile_cuda(request("axpy", axpy_source, gpu->target())), "axpy");
  const auto run = [&] {
    std::int64_t n = 100000;
    std::vector<float> x(static_cast<std::size_t>(n), 3.0f), y(x.size(), 1.0f);
    const std::size_t bytes = x.size() * sizeof(float);
    void *dx = gpu->allocate(bytes), *dy = gpu->allocate(bytes);
    gpu->copy_from_host(dx, x.data(), bytes);
    gpu->copy_from_host(dy, y.data(), bytes);
    float a = 2.0f;
    const std::array<void*, 4> arguments{&dx, &dy, &a, &n};
    runtime::launch_shape shape;
    shape.grid[0] = 100;
    shape.block[0] = 256;
    gpu->launch(*f, arguments, shape);
    gpu->copy_to_host(y.data(), dy, bytes);
    gpu->release(dx, bytes);
    gpu->release(dy, bytes);
    EXPECT_EQ(y, std::vector<float>(x.size(), 7.0f));
  };
  run();
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) threads.emplace_back(run);
  for (std::thread& t : threads) t.join();
}

TEST_F(cuda_device, ptx_is_loaded_too) {
  const std::string ptx = ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry nothing() { ret; }\n";
  const auto bytes = std::as_bytes(std::span(ptx.c_str(), ptx.size() + 1));
  gpu->launch(*gpu->load(bytes, "nothing"), {}, {});
  gpu->synchronize();
  EXPECT_THROW(gpu->load(bytes, "something"), device_error);
}

TEST_F(cuda_device, a_kernel_may_use_more_than_48_kib_of_dynamic_shared_memory) {
  constexpr const char* source = R"(
extern "C" __global__ void fill(float* y) {
  extern __shared__ float s[];
  for (int i = threadIdx.x; i < 15000; i += blockDim.x) s[i] = i;
  __syncthreads();
  if (threadIdx.x == 0) *y = s[14999];
}
)";
  const auto f = gpu->load(jit::compile_cuda(request("fill", source, gpu->target())), "fill");
  void* memory = gpu->allocate(4);
  const std::array<void*, 1> arguments{&memory};
  runtime::launch_shape shape;
  shape.block[0] = 128;
  shape.shared_bytes = 60000;
  gpu->launch(*f, arguments, shape);
  float y = 0;
  gpu->copy_to_host(&y, memory, 4);
  gpu->release(memory, 4);
  EXPECT_EQ(y, 14999.0f);
}

TEST_F(cuda_device, a_fault_written_by_a_kernel_is_taken_once) {
  constexpr const char* source = R"(
struct index_fault { int set, ordinal; long long launch, index, size, position; };
extern "C" __global__ void complain(index_fault* f) {
  if (atomicCAS_system(&f->set, 0, 1) != 0) return;
  f->ordinal = 2;
  f->launch = 3;
  f->index = -4;
  f->size = 5;
  f->position = 6;
  __threadfence();
  atomicExch(&f->set, 2);
}
)";
  const auto f = gpu->load(jit::compile_cuda(request("complain", source, gpu->target())), "complain");
  void* record = gpu->fault_address();
  const std::array<void*, 1> arguments{&record};
  runtime::launch_shape shape;
  shape.block[0] = 64;
  gpu->launch(*f, arguments, shape);
  gpu->synchronize();
  runtime::index_fault fault;
  ASSERT_TRUE(gpu->take_fault(fault));
  EXPECT_EQ(fault.ordinal, 2);
  EXPECT_EQ(fault.index, -4);
  EXPECT_EQ(fault.position, 6);
  EXPECT_FALSE(gpu->take_fault(fault));
}

TEST_F(cuda_device, an_impossible_launch_is_a_device_error_with_the_drivers_code) {
  const auto f = gpu->load(jit::compile_cuda(request("axpy", axpy_source, gpu->target())), "axpy");
  void* x = nullptr;
  void* y = nullptr;
  float a = 0;
  std::int64_t n = 0;
  const std::array<void*, 4> arguments{&x, &y, &a, &n};
  runtime::launch_shape shape;
  shape.block[0] = 5000;
  try {
    gpu->launch(*f, arguments, shape);
    FAIL() << "launched";
  } catch (const device_error& e) { EXPECT_EQ(e.code(), 1) << e.what(); }
}

TEST_F(cuda_device, an_absurd_size_throws_out_of_memory_and_the_device_goes_on) {
  EXPECT_THROW(gpu->allocate(std::size_t{1} << 46), out_of_memory);
  void* memory = gpu->allocate(1000);
  gpu->release(memory, 1000);
  gpu->synchronize();
}

TEST_F(cuda_device, an_image_that_is_none_is_a_device_error) {
  const std::string nonsense = "not a cubin";
  EXPECT_THROW(gpu->load(std::as_bytes(std::span(nonsense)), "f"), device_error);
}
