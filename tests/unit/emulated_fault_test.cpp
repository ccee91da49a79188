// CUDA kernels on the host: what is an error, and what the error says.
#include "tests/unit/emulated_support.hpp"

using namespace sinter_test;

namespace {

using emulated_fault = emulated;

compile_error failure_of(const std::string& text, std::vector<std::string> expressions = {},
                         std::vector<std::string> options = {}) {
  try {
    compile(text, std::move(expressions), std::move(options));
  } catch (const compile_error& e) {
    return e;
  }
  ADD_FAILURE() << "compiles: " << text;
  return compile_error("", "", "", "");
}

TEST_F(emulated_fault, a_barrier_that_others_never_reach) {
  const module_ptr m = compile(R"(__global__ void k(int* x) {
  if (threadIdx.x < 16)
    __syncthreads();
  else
    x[threadIdx.x] = __shfl_sync(0xffffffffu, 1, 0);
}
__global__ void two(int* x) {
  if (threadIdx.x % 2) __syncthreads();
  else
    __syncthreads();
}
__global__ void fine(int* x) { __syncthreads(); x[threadIdx.x] = 7; })");
  std::vector<int> x(64);
  const std::string text = fault_of(m, "k", {5}, {32}, 0, x.data());
  EXPECT_TRUE(contains(text, "raw kernel k, block (0, 0, 0): threads wait for others that never come")) << text;
  EXPECT_TRUE(contains(text, "16 threads wait at __syncthreads, user.cu:3 (threads 0-15)")) << text;
  EXPECT_TRUE(contains(text, "16 threads wait at __shfl_sync, user.cu:5 (threads 16-31)")) << text;
  EXPECT_TRUE(contains(text, "at model.cpp:21 in step()")) << text;
  const std::string different = fault_of(m, "two", {1}, {64}, 0, x.data());
  EXPECT_TRUE(contains(different, "wait at different barriers")) << different;
  EXPECT_TRUE(contains(different, "line 8") && contains(different, "line 10")) << different;
  run(m, "fine", {1}, {64}, 0, x.data());  // nothing is left of the faults
  EXPECT_EQ(x[63], 7);
}

TEST_F(emulated_fault, barriers_of_one_line_are_two) {
  const module_ptr m = compile(R"(__global__ void k(int* x) {
  if (threadIdx.x % 2) __syncthreads(); else __syncthreads();
}
#define PAIR(a, b) if (threadIdx.x % 2) x[0] = __syncthreads_count(a); else x[0] = __syncthreads_count(b)
__global__ void counted(int* x) { PAIR((threadIdx.x, 1), 2); }
template <int n> __device__ int meet(int v) { ::__syncthreads(); return __syncthreads_or(v == n); }
__global__ void fine(int* x) {
  x[threadIdx.x] = 0; __syncthreads(); x[threadIdx.x] += threadIdx.x; __syncthreads(); int v = x[31 - threadIdx.x];
  for (int k = 0; k < 3; ++k) { __syncthreads(); x[threadIdx.x] = v + meet<1>(k) ; __syncthreads(); }
})");
  std::vector<int> x(64);
  const std::string text = fault_of(m, "k", {1}, {64}, 0, x.data());
  EXPECT_TRUE(contains(text, "wait at different barriers")) << text;
  EXPECT_TRUE(contains(text, "others at another __syncthreads of line 2")) << text;
  const std::string counts = fault_of(m, "counted", {1}, {32}, 0, x.data());
  EXPECT_TRUE(contains(counts, "others at another __syncthreads_count of line 5")) << counts;
  run(m, "fine", {1}, {32}, 0, x.data());
  EXPECT_EQ(x[3], 28);
}

TEST_F(emulated_fault, lanes_that_others_never_reach) {
  const module_ptr m = compile(R"(__global__ void alone(int* x) {
  if (threadIdx.x == 3) x[0] = __shfl_sync(0xffffffffu, 1, 0);
  else __syncthreads();
}
__global__ void unnamed(int* x) {
  if (threadIdx.x >= 4) x[0] = __ballot_sync(0xfu, 1);
})");
  std::vector<int> x(64);
  EXPECT_TRUE(contains(fault_of(m, "alone", {1}, {32}, 0, x.data()), "1 threads wait at __shfl_sync, user.cu:2"));
  const std::string text = fault_of(m, "unnamed", {1}, {32}, 0, x.data());
  EXPECT_TRUE(contains(text, "__ballot_sync is called by lane 4, which its mask 0x0000000f does not name")) << text;
}

TEST_F(emulated_fault, assertions_and_traps) {
  const module_ptr m = compile(R"(#include <assert.h>
__global__ void k(int* x) {
  assert(x[blockIdx.x] != 3);
}
__global__ void t() {
  __trap();
})");
  std::vector<int> x{0, 1, 3, 3};
  const std::string text = fault_of(m, "k", {4}, {1, 2}, 0, x.data());
  EXPECT_TRUE(contains(text, "block (2, 0, 0): assertion `x[blockIdx.x] != 3` failed")) << text;
  EXPECT_TRUE(contains(text, "\n  at user.cu:3, thread (0, 0, 0)")) << text;
  EXPECT_TRUE(contains(fault_of(m, "t", {1}, {1}, 0), "__trap() was called\n  at user.cu:6"));
}

TEST_F(emulated_fault, indices_outside_shared_memory_in_checked_builds) {
  const std::string text = R"(__global__ void fixed(float* x, int n) {
  __shared__ float tile[4][8];
  x[0] = tile[1][n];
}
__global__ void sized(float* x, int n) {
  extern __shared__ float s[];
  s[n] = 1;
  x[0] = s[n];
}
__constant__ int c[3];
__global__ void constants(int* x, int n) { x[0] = c[n]; }
__global__ void fresh(float* x) {
  __shared__ float s[4]; extern __shared__ float d[];
  if (x[3] == 5) s[1] = x[2];  // so that no compiler thinks that nothing is ever written
  x[0] = s[1]; x[1] = d[1];
})";
  const module_ptr m = compile(text, {}, {"-DSINTER_CHECKED"});
  std::vector<float> x(4);
  std::vector<int> y(4);
  run(m, "fixed", {1}, {1}, 0, x.data(), 7);
  const std::string fixed = fault_of(m, "fixed", {1}, {1}, 0, x.data(), 8);
  EXPECT_TRUE(contains(fixed, "index 8 is outside an array of type 'float")) << fixed;
  EXPECT_TRUE(contains(fixed, "[8]'\n  at user.cu:3")) << fixed;
  EXPECT_TRUE(contains(fault_of(m, "fixed", {1}, {1}, 0, x.data(), -1), "index -1 is outside"));
  run(m, "sized", {1}, {1}, 40, x.data(), 9);
  const std::string sized = fault_of(m, "sized", {1}, {1}, 40, x.data(), 10);
  EXPECT_TRUE(contains(sized, "index 10 is outside dynamic shared memory: 40 bytes were asked for")) << sized;
  EXPECT_TRUE(contains(sized, "user.cu:7")) << sized;
  EXPECT_TRUE(contains(fault_of(m, "constants", {1}, {1}, 0, y.data(), 3), "index 3 is outside an array"));
  run(m, "fresh", {1}, {1}, 16, x.data());
  EXPECT_TRUE(x[0] != x[0] && x[1] != x[1]) << "shared memory has no values of its own";
}

TEST_F(emulated_fault, writes_next_to_dynamic_shared_memory_in_every_build) {
  const module_ptr m = compile(R"(__global__ void k(int n) {
  extern __shared__ unsigned char s[];
  int* p = reinterpret_cast<int*>(s);
  p[n] = 3;
})");
  run(m, "k", {1}, {1}, 40, 9);
  const std::string text = fault_of(m, "k", {1}, {1}, 40, 10);
  EXPECT_TRUE(contains(text, "written outside dynamic shared memory, of which 40 bytes were asked for")) << text;
  EXPECT_TRUE(contains(fault_of(m, "k", {1}, {1}, 40, -1), "written outside"));
}

TEST_F(emulated_fault, what_the_device_refuses) {
  const module_ptr m = compile("__global__ void k() {}");
  EXPECT_TRUE(contains(fault_of(m, "k", {1}, {1025}, 0), "raw kernel k: a block of 1025 x 1 x 1 threads"));
  EXPECT_TRUE(contains(fault_of(m, "k", {1}, {32, 33}, 0), "a block of 32 x 33"));
  EXPECT_TRUE(contains(fault_of(m, "k", {1}, {1, 1, 65}, 0), "64 along z"));
  EXPECT_TRUE(contains(fault_of(m, "k", {1}, {0}, 0), "a block of 0"));
  EXPECT_TRUE(contains(fault_of(m, "k", {1, 65536}, {1}, 0), "a grid of 1 x 65536"));
  EXPECT_TRUE(contains(fault_of(m, "k", {1}, {1}, 227 * 1024 + 1), "a block may have 232448 of shared memory"));
  const compile_error e = failure_of("__global__ void k() { __shared__ volatile char s[50000]; s[threadIdx.x] = 0; }");
  EXPECT_TRUE(contains(e.what(), "too much shared memory")) << e.what();
}

TEST_F(emulated_fault, compile_errors_show_the_users_text) {
  const std::string text =
      "__global__ void k(float* x) {\n  extern __shared__ float s[];\n\t  x[0] = missing + 1;\n}\n";
  const compile_error e = failure_of(text, {}, {"-DN=3"});
  EXPECT_TRUE(contains(e.what(), "kernel user.cu does not compile\n")) << e.what();
  EXPECT_TRUE(contains(e.what(), "user.cu:3:")) << e.what();
  EXPECT_TRUE(contains(e.what(), "    3 | \t  x[0] = missing + 1;\n      | \t         ^")) << e.what();
  EXPECT_TRUE(contains(e.what(), "at model.cpp:17 in step()")) << e.what();
  EXPECT_TRUE(contains(e.options(), "-DN=3"));
  EXPECT_TRUE(contains(e.source(), "missing + 1"));
  EXPECT_TRUE(contains(e.log(), "missing"));
  EXPECT_FALSE(contains(e.log(), "emulation")) << e.log();
  EXPECT_STREQ(failure_of(text, {}, {"-DN=3"}).what(), e.what());

  const compile_error expression = failure_of("template <class T> __global__ void k(T*) {}", {"q<float>"});
  EXPECT_TRUE(contains(expression.what(), "name expression q<float>")) << expression.what();
  EXPECT_TRUE(contains(failure_of("int x;", {}, {"-fast"}).what(), "unrecognized option -fast"));
  EXPECT_TRUE(contains(failure_of("#if N != 2\n#error \"precision not supported\"\n#endif", {}, {"-DN=3"}).what(),
                       "precision not supported"));
}

TEST_F(emulated_fault, what_is_not_supported_is_named) {
  const auto says = [](const char* body, const char* what) {
    const std::string text = std::string("\n__global__ void k(int* x) {\n") + body + "\n}\n";
    const compile_error e = failure_of(text);
    EXPECT_TRUE(contains(e.what(), what)) << e.what();
    EXPECT_TRUE(contains(e.what(), "user.cu:3")) << e.what();
  };
  says("asm volatile(\"mov.u32 %0, %laneid;\" : \"=r\"(x[0]));", "inline PTX (asm) is not supported by the cpu device");
  says("__asm__(\"exit;\");", "inline PTX (asm) is not supported");
  says("cudaTextureObject_t t = 0;", "textures (cudaTextureObject_t) are not supported");
  says("cudaSurfaceObject_t t = 0;", "surfaces (cudaSurfaceObject_t) are not supported");
  says("k<<<1, 1>>>(x);", "dynamic parallelism (<<<...>>>) is not supported");
  EXPECT_TRUE(contains(failure_of("\n#include <mma.h>\n").what(), "tensor cores (mma.h) is not supported"));
  EXPECT_TRUE(contains(failure_of("#include <cub/cub.cuh>\n").what(), "cub/cub.cuh is not supported"));
  EXPECT_TRUE(contains(failure_of("__global__ void __cluster_dims__(2, 1, 1) k() {}").what(), "thread block clusters"));
  compile("#if 0\n__global__ void k() { asm(\"exit;\"); }\n#include <mma.h>\n#endif\n");  // not compiled, no error
}

}  // namespace
