// CUDA kernels on the host: what they compute.
#include "tests/unit/emulated_support.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <thread>

using namespace sinter_test;

namespace {

using emulated_kernel = emulated;

template <class T>
std::vector<T> counted(std::size_t n) {
  std::vector<T> v(n);
  std::iota(v.begin(), v.end(), T(0));
  return v;
}

TEST_F(emulated_kernel, adds_vectors_over_many_blocks) {
  const module_ptr m = compile(R"(
extern "C" __global__ void __launch_bounds__(256) add(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += x[i];
})");
  constexpr int n = 100003;
  const std::vector<float> x = counted<float>(n);
  std::vector<float> y(n, 1.0f);
  run(m, "add", {(n + 255) / 256}, {256}, 0, x.data(), y.data(), n);
  for (std::size_t k = 0; k < n; ++k) ASSERT_EQ(y[k], x[k] + 1.0f) << k;
  run(m, "add", {0}, {256}, 0, x.data(), y.data(), n);  // no block: nothing happens
  EXPECT_EQ(y[5], 6.0f);
}

TEST_F(emulated_kernel, parameters_are_described_exactly) {
  struct pair { float a; double b; };
  const module_ptr m = compile(R"(
struct pair { float a; double b; };
namespace lib { namespace inner {
__global__ void k(const float* x, int* y, unsigned char c, pair p, void* raw, const volatile double* const v, float4 f,
                  const long long n, bool* flag) {}
} }
template <class A, int n> __global__ void t(A* x) { x[0] = n; })", {"t<float, 4>", "t<complex<double>, 1>"});
  const jit::raw_function* k = m->find("lib::inner::k");
  ASSERT_NE(k, nullptr);
  const auto& p = k->parameters;
  ASSERT_EQ(p.size(), 9u);
  EXPECT_EQ(p[0].type, "const float*");
  EXPECT_TRUE(p[0].is_pointer && p[0].is_const && p[0].has_element);
  EXPECT_EQ(p[0].element, f32);
  EXPECT_TRUE(p[1].is_pointer && !p[1].is_const);
  EXPECT_EQ(p[1].element, i32);
  EXPECT_EQ(p[2].element, u8);
  EXPECT_EQ(p[2].bytes, 1u);
  EXPECT_EQ(p[3].bytes, sizeof(pair));
  EXPECT_EQ(p[3].type, "pair");
  EXPECT_FALSE(p[3].has_element);
  EXPECT_TRUE(p[4].is_pointer && !p[4].has_element);
  EXPECT_EQ(p[5].element, f64);
  EXPECT_TRUE(p[5].is_const);
  EXPECT_EQ(p[6].bytes, 16u);
  EXPECT_EQ(p[7].element, i64);
  EXPECT_FALSE(p[7].is_pointer);
  EXPECT_EQ(p[8].element, boolean);
  EXPECT_NE(m->find("t<float,4>"), nullptr);
  EXPECT_EQ(m->find(" & t< float , 4 >"), m->find("t<float,4>"));
  EXPECT_EQ(m->find("t<complex<double>, 1>")->parameters[0].element, c128);
  EXPECT_EQ(m->find("t<float,5>"), nullptr);
  EXPECT_EQ(m->find("k"), nullptr);
}

TEST_F(emulated_kernel, shared_memory_belongs_to_its_block) {
  const module_ptr m = compile(R"(
__global__ void histogram(const unsigned char* x, unsigned int* bins, int n) {
  __shared__ unsigned int mine[256];
  for (int k = threadIdx.x; k < 256; k += blockDim.x) mine[k] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&mine[x[i]], 1);
  __syncthreads();
  for (int k = threadIdx.x; k < 256; k += blockDim.x) atomicAdd(&bins[k], mine[k]);
})");
  constexpr int n = 200000;
  std::vector<unsigned char> x(n);
  std::vector<unsigned> bins(256), expected(256);
  for (std::size_t k = 0; k < n; ++k) ++expected[x[k] = static_cast<unsigned char>(k * k % 251)];
  run(m, "histogram", {37}, {96}, 0, static_cast<const unsigned char*>(x.data()), bins.data(), n);
  EXPECT_EQ(bins, expected);
}

TEST_F(emulated_kernel, transposes_by_tiles) {
  const module_ptr m = compile(R"(
#define TILE 16
__global__ void transpose(const double* in, double* out, int rows, int columns) {
  __shared__ double tile[TILE][TILE + 1];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  if (x < columns && y < rows) tile[threadIdx.y][threadIdx.x] = in[y * columns + x];
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x; y = blockIdx.x * TILE + threadIdx.y;
  if (x < rows && y < columns) out[y * rows + x] = tile[threadIdx.x][threadIdx.y];
})");
  constexpr int rows = 75, columns = 130;
  const std::vector<double> in = counted<double>(rows * columns);
  std::vector<double> out(rows * columns, -1);
  run(m, "transpose", {9, 5}, {16, 16}, 0, in.data(), out.data(), rows, columns);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) ASSERT_EQ(out[c * rows + r], in[r * columns + c]) << r << ", " << c;
}

TEST_F(emulated_kernel, reduces_by_shuffles_and_templates) {
  const module_ptr m = compile(R"(
template <typename T> __device__ __forceinline__ T warp_sum(T v) {
#pragma unroll
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
  return v;
}
template <typename T, int block>
__global__ void total(const T* x, T* sum, int n) {
  static_assert(block % 32 == 0, "whole warps");
  __shared__ T part[block / 32];
  T v = 0;
  for (int i = blockIdx.x * block + threadIdx.x; i < n; i += block * gridDim.x) v += x[i];
  v = warp_sum(v);
  if (threadIdx.x % warpSize == 0) part[threadIdx.x / warpSize] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = warp_sum(threadIdx.x < block / 32 ? part[threadIdx.x] : T(0));
    if (threadIdx.x == 0) atomicAdd(sum, v);
  }
})", {"total<float, 128>", "total<int,256>", "total<double, 1024>"});
  constexpr int n = 10000;
  const auto check = [&]<class T>(const char* name, std::uint32_t block, T zero) {
    const std::vector<T> x = counted<T>(n);
    std::vector<T> sum{zero};
    run(m, name, {3}, {block}, 0, x.data(), sum.data(), n);
    EXPECT_NEAR(static_cast<double>(sum[0]), 49995000.0, sizeof(T) == 4 && T(0.5) != 0 ? 16 : 0) << name;
  };
  check("total<float,128>", 128, 0.0f);
  check("total<int, 256>", 256, 0);
  check("total<double,1024>", 1024, 0.0);
}

TEST_F(emulated_kernel, lanes_exchange_as_cuda_says) {
  const module_ptr m = compile(R"(
__global__ void lanes(int* out) {
  const int t = threadIdx.x;
  int* const mine = out + 16 * t;
  mine[0] = __shfl_sync(~0u, t, 5);
  mine[1] = __shfl_sync(~0u, t, 9, 8);
  mine[2] = __shfl_up_sync(~0u, t, 3);
  mine[3] = __shfl_down_sync(~0u, t, 3, 16);
  mine[4] = __shfl_xor_sync(~0u, t, 17);
  mine[5] = (int)__ballot_sync(~0u, t % 3 == 0);
  mine[6] = __any_sync(~0u, t == 7);
  mine[7] = __all_sync(~0u, t < 31);
  mine[8] = (int)__match_any_sync(~0u, t / 4);
  mine[9] = __reduce_add_sync(~0u, t);
  mine[10] = (int)__reduce_max_sync(~0u, (unsigned)t);
  if (t % 2 == 0) mine[11] = __shfl_xor_sync(0x55555555u, t, 2);
  else mine[11] = (int)__activemask();
  __syncwarp();
  mine[12] = __syncthreads_count(t < 10);
  mine[13] = __syncthreads_and(t < 32) + 2 * __syncthreads_or(t == 40);
  mine[14] = (int)(__shfl_sync(~0u, 1.5 * t, 3) * 2);
})");
  std::vector<int> out(32 * 16);
  run(m, "lanes", {1}, {32}, 0, out.data());
  for (int t = 0; t < 32; ++t) {
    const int* mine = &out[static_cast<std::size_t>(16 * t)];
    EXPECT_EQ(mine[0], 5);
    EXPECT_EQ(mine[1], t / 8 * 8 + 1);
    EXPECT_EQ(mine[2], t < 3 ? t : t - 3);
    EXPECT_EQ(mine[3], t % 16 + 3 < 16 ? t + 3 : t);
    EXPECT_EQ(mine[4], t ^ 17);
    EXPECT_EQ(mine[5], 0x49249249);
    EXPECT_EQ(mine[6], 1);
    EXPECT_EQ(mine[7], 0);
    EXPECT_EQ(mine[8], static_cast<int>(0xfu << t / 4 * 4));
    EXPECT_EQ(mine[9], 496);
    EXPECT_EQ(mine[10], 31);
    EXPECT_EQ(mine[11], t % 2 == 0 ? t ^ 2 : static_cast<int>(0xaaaaaaaau)) << t;
    EXPECT_EQ(mine[12], 10);
    EXPECT_EQ(mine[13], 1);
    EXPECT_EQ(mine[14], 9);
  }
}

TEST_F(emulated_kernel, dynamic_shared_memory) {
  const std::string text = R"(
extern __shared__ int outer[];
namespace n { __device__ int* base() { return outer; } }
__global__ void reverse(int* x) {
  extern __shared__ __align__(16) int s[];
  int* const mine = x + blockIdx.x * blockDim.x;
  s[threadIdx.x] = mine[threadIdx.x];
  __syncthreads();
  mine[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
__global__ void parts(double* out, int n) {
  extern __shared__ unsigned char raw[];
  double* d = reinterpret_cast<double*>(raw);
  int* i = (int*)(d + n);
  d[threadIdx.x] = threadIdx.x * 0.5; i[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = d[n - 1 - threadIdx.x] + i[n - 1 - threadIdx.x] + (&outer[0] == n::base());
}
template <class T> __global__ void typed(T* x) { extern __shared__ T s_of_t[];
  s_of_t[threadIdx.x] = x[threadIdx.x]; __syncthreads();
  x[threadIdx.x] = s_of_t[threadIdx.x ^ 1] + *s_of_t; })";
  for (const bool checked : {false, true}) {
    const std::vector<std::string> options(checked ? 1 : 0, "-DSINTER_CHECKED");
    const module_ptr m = compile(text, {"typed<float>"}, options);
    std::vector<int> x = counted<int>(4 * 100);
    run(m, "reverse", {4}, {100}, 400, x.data());
    EXPECT_EQ(x[0], 99);
    EXPECT_EQ(x[399], 300);
    std::vector<double> out(50);
    run(m, "parts", {1}, {50}, 50 * 12, out.data(), 50);
    EXPECT_EQ(out[0], 49 * 1.5 + 1);
    EXPECT_EQ(out[49], 1);
    std::vector<float> y{1, 2, 3, 4};
    run(m, "typed<float>", {1}, {4}, 16, y.data());
    EXPECT_EQ(y, (std::vector<float>{3, 2, 5, 4}));
    std::vector<int> large = counted<int>(1);
    run(m, "reverse", {1}, {1}, 227 * 1024, large.data());  // no need to ask for more than 48 KiB
  }
}

TEST_F(emulated_kernel, globals_are_found_by_name) {
  const module_ptr m = compile(R"(
__constant__ float weights[5];
__device__ int count = 7;
static __device__ double hidden[3];
namespace lib { __device__ unsigned char table[2][6]; }
__global__ void use(float* out) { out[threadIdx.x] = weights[threadIdx.x] * count;
  atomicAdd(&count, 1); lib::table[1][5] = 9; hidden[2] = 4; }
)", {"&hidden"});
  const jit::raw_global w = m->global("weights"), c = m->global("count"), t = m->global("lib::table");
  ASSERT_EQ(w.bytes, 20u);
  ASSERT_EQ(c.bytes, 4u);
  ASSERT_EQ(t.bytes, 12u);
  const float values[5] = {1, 2, 3, 4, 5};
  std::memcpy(w.address, values, sizeof values);
  std::vector<float> out(5);
  run(m, "use", {1}, {5}, 0, out.data());
  EXPECT_EQ(out[0], 7);
  EXPECT_EQ(out[4], 5 * 11);
  EXPECT_EQ(*static_cast<int*>(c.address), 12);
  EXPECT_EQ(static_cast<unsigned char*>(t.address)[11], 9);
  ASSERT_EQ(m->global("&hidden").bytes, 24u);
  EXPECT_EQ(static_cast<double*>(m->global("hidden").address)[2], 4);
  EXPECT_EQ(m->global("nothing").address, nullptr);
  EXPECT_EQ(m->global("printf").address, nullptr);
  EXPECT_EQ(m->global("use").address, nullptr);
}

TEST_F(emulated_kernel, structs_lambdas_and_complex_numbers) {
  struct many { float v[25]; };
  const module_ptr m = compile(R"(
struct many { float v[25]; };
__global__ void sum(many s, float* out) { float t = 0; for (float v : s.v) t += v; *out = t; }
template <class T> __global__ void square(T* in) { in[threadIdx.x] *= in[threadIdx.x]; }
template <class F> __device__ float twice(F f, float x) { return f(f(x)); }
__global__ void lambda(float* x) { const float a = 3; *x = twice([=] __device__ (float v) { return v * a; }, *x); }
__global__ void math(const complex<float>* z, complex<float>* out) {
  out[0] = z[0] / z[1] + 1.0f; out[1] = sqrt(z[0]) * conj(z[1]); out[2] = abs(z[1]); }
)", {"square<complex<double>>", "square<int>"});
  many s{};
  for (int k = 0; k < 25; ++k) s.v[k] = static_cast<float>(k);
  float out = 0;
  run(m, "sum", {1}, {1}, 0, s, &out);
  EXPECT_EQ(out, 300);
  std::vector<std::complex<double>> z{{1, 2}, {0, 3}};
  run(m, "square<complex<double>>", {1}, {2}, 0, z.data());
  EXPECT_EQ(z[0], (std::complex<double>{-3, 4}));
  EXPECT_EQ(z[1], (std::complex<double>{-9, 0}));
  out = 5;
  run(m, "lambda", {1}, {1}, 0, &out);
  EXPECT_EQ(out, 45);
  const std::vector<std::complex<float>> a{{1, 2}, {3, -4}};
  std::vector<std::complex<float>> r(3);
  run(m, "math", {1}, {1}, 0, a.data(), r.data());
  EXPECT_NEAR(std::abs(r[0] - (a[0] / a[1] + 1.0f)), 0, 1e-6);
  EXPECT_NEAR(std::abs(r[1] - std::sqrt(a[0]) * std::conj(a[1])), 0, 1e-5);
  EXPECT_EQ(r[2], (std::complex<float>{5, 0}));
}

TEST_F(emulated_kernel, intrinsics) {
  const module_ptr m = compile(R"(
#include <cuda_fp16.h>
__global__ void integers(long long* r) {
  r[0] = __popc(0xf0f0u); r[1] = __clz(1); r[2] = __ffs(8); r[3] = __brev(1u); r[4] = __umulhi(~0u, 16u);
  r[5] = min(3, 7u); r[6] = max(-1, 2); r[7] = __float2int_rn(2.5f); r[8] = __float2int_rz(-2.7f);
  r[9] = __float2int_rd(3e9f);
  r[10] = __float_as_int(1.0f); r[11] = __byte_perm(0x33221100u, 0x77665544u, 0x0246u); r[12] = __mul64hi(1ll << 62, 8);
  r[13] = __funnelshift_l(0x80000000u, 1u, 1); r[14] = __clzll(0); r[15] = (long long)__brevll(2ull); r[16] = abs(-5);
  r[17] = __float2uint_rn(-3.0f); r[18] = __sad(-2, 3, 1u);
  r[19] = sizeof(float4) + alignof(float4) + alignof(double2) + sizeof(uchar4) + sizeof(float3);
}
__global__ void reals(double* r) {
  r[0] = rsqrtf(4.0f); r[1] = __fdividef(1.0f, 4); r[2] = __saturatef(1.5f); r[3] = fmaf(2.0f, 3.0f, 1.0f);
  r[4] = __expf(0.0f);
  float s, c; sincosf(0.0f, &s, &c); r[5] = c; r[6] = fminf(1.0f, NAN); r[7] = pow(2.0, 10); r[8] = __ldg(&r[7]);
  float4 v = make_float4(1, 2, 3, 4); r[9] = v.x + v.y + v.z + v.w; r[10] = isinf(INFINITY); r[11] = cospi(1.0);
  __half h = __float2half(1.0f / 3); r[12] = __half2float(h); r[13] = __half2float(h + h);
  r[14] = float(__half(70000.0f));
  r[15] = sqrt(2.0f) == sqrtf(2.0f) && sin(1.0f) == sinf(1.0f); r[16] = hypot(3.0, 4.0); r[17] = erfcf(0.0f);
})");
  std::vector<long long> i(20);
  run(m, "integers", {1}, {1}, 0, i.data());
  EXPECT_EQ(i, (std::vector<long long>{8, 31, 4, 0x80000000ll, 15, 3, 2, 2, -2, 2147483647, 0x3f800000, 0x00224466, 2,
                                       3,
                                       64, 0x4000000000000000ll, 5, 0, 6, 64}));
  std::vector<double> r(18);
  run(m, "reals", {1}, {1}, 0, r.data());
  EXPECT_EQ(r, (std::vector<double>{0.5, 0.25, 1, 7, 1, 1, 1, 1024, 1024, 10, 1, -1, 0.333251953125, 0.66650390625,
                                    INFINITY, 1, 5, 1}));
}

TEST_F(emulated_kernel, atomics) {
  const module_ptr m = compile(R"(
__global__ void all(int* i, unsigned* u, unsigned long long* w, float* f, double* d) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&i[0], t); atomicSub(&i[1], 1); atomicMin(&i[2], -t); atomicMax(&i[3], t); atomicXor(&i[4], t);
  atomicInc(&u[0], 6); atomicDec(&u[1], 6); atomicOr(&u[2], 1u << t % 32); atomicAnd(&u[3], ~(1u << t % 32));
  atomicAdd(w, 1ull << 33); atomicAdd(f, 0.5f); atomicAdd(d, 0.25);
  while (atomicCAS(&i[5], 0, 1) != 0) {}
  i[6] += 1;
  __threadfence();
  atomicExch(&i[5], 0);
})");
  std::vector<int> i(7);
  std::vector<unsigned> u{0, 0, 0, ~0u};
  std::vector<unsigned long long> w(1);
  std::vector<float> f(1);
  std::vector<double> d(1);
  run(m, "all", {64}, {64}, 0, i.data(), u.data(), w.data(), f.data(), d.data());
  EXPECT_EQ(i, (std::vector<int>{4096 * 4095 / 2, -4096, -4095, 4095, 0, 0, 4096}));
  EXPECT_EQ(u, (std::vector<unsigned>{4096 % 7, 7 - 4096 % 7, ~0u, 0}));
  EXPECT_EQ(w[0], 4096ull << 33);
  EXPECT_EQ(f[0], 2048);
  EXPECT_EQ(d[0], 1024);
}

TEST_F(emulated_kernel, threads_that_exited_or_spin_hold_nobody_up) {
  const module_ptr m = compile(R"(
__global__ void early(int* out, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  for (int k = 0; k < 3; ++k) __syncthreads();
  out[i] = __shfl_down_sync(0xffffffffu, i, 1);
  const unsigned mask = __activemask();
  if (i == 0) out[n] = __popc(mask);
}
__global__ void waits_for_another(volatile int* out) {
  __shared__ int flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 0) while (atomicCAS(&flag, 1, 2) != 1) {}
  if (threadIdx.x == 63) atomicExch(&flag, 1);
  __syncthreads();
  if (threadIdx.x == 0) out[0] = flag;
})");
  std::vector<int> out(51);
  run(m, "early", {1}, {128}, 0, out.data(), 50);
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[48], 49);
  EXPECT_EQ(out[50], 32);
  run(m, "waits_for_another", {1}, {64}, 0, static_cast<volatile int*>(out.data()));
  EXPECT_EQ(out[0], 2);
}

TEST_F(emulated_kernel, grids_can_wait_as_a_whole) {
  const module_ptr m = compile(R"(
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void both(const float* x, const float* y, float* z, int n) {
  __shared__ int mine;
  if (threadIdx.x == 0) mine = blockIdx.x;
  const auto grid = cg::this_grid();
  const int step = gridDim.x * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = first; i < n; i += step) z[i] = x[i];
  grid.sync();
  for (int i = first; i < n; i += step) z[n - 1 - i] += y[n - 1 - i];
  cg::sync(grid);
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  float v = tile.shfl(z[tile.thread_rank() % n], 0);
  if (mine != blockIdx.x || v != z[0]) z[0] = -1;
})");
  for (const int n : {100, 10000}) {
    const std::vector<float> x = counted<float>(static_cast<std::size_t>(n)), y(static_cast<std::size_t>(n), 0.5f);
    std::vector<float> z(static_cast<std::size_t>(n));
    const float *px = x.data(), *py = y.data();
    float* pz = z.data();
    int count = n;
    void* const arguments[] = {&px, &py, &pz, &count};
    m->launch(*m->find("both"), {24}, {64}, 0, arguments, true);
    for (std::size_t k = 0; k < z.size(); ++k) ASSERT_EQ(z[k], x[k] + 0.5f) << k;
    EXPECT_TRUE(contains(message_of<device_error>([&] { m->launch(*m->find("both"), {24}, {64}, 0, arguments); }),
                         "cooperative launch only"));
    const std::uint64_t most = emulated_module::most_cooperative_blocks({64});
    const raw_extents too_many{static_cast<std::uint32_t>(most + 1)};
    EXPECT_TRUE(contains(
        message_of<device_error>([&] { m->launch(*m->find("both"), too_many, {64}, 0, arguments, true); }),
        "at most " + std::to_string(most) + " of 64 threads"));
  }
}

TEST_F(emulated_kernel, headers_of_the_library_and_conditions) {
  const module_ptr m = compile(R"(
#include <cmath>
#include <algorithm>
#include <cstdint>
#include "cuda_runtime.h"
#if WIDE
__global__ void k(std::int64_t* x) {
#else
__global__ void k(std::int32_t* x) {
#endif
  *x = std::max(2, 3) + int(sin(0.0f)) + min(4, 5) + int(std::sqrt(16.0));
}
#ifdef NEVER
__global__ void absent(undeclared* x) {}
#endif
#define MAKE(T) extern "C" __global__ void made_##T(T* x) { *x = 1; }
MAKE(float)
const char* text = "__global__ void quoted() {";  /* __global__ void remark() { */
__global__ void after(const char* c = "}") { }
)", {"made_float"}, {"-DWIDE=1", "--gpu-architecture=sm_90", "-lineinfo"});
  std::int64_t x = 0;
  run(m, "k", {1}, {1}, 0, &x);
  EXPECT_EQ(x, 11);
  EXPECT_EQ(m->find("absent"), nullptr);
  EXPECT_EQ(m->find("quoted"), nullptr);
  EXPECT_NE(m->find("after"), nullptr);
  float y = 0;
  run(m, "made_float", {1}, {1}, 0, &y);
  EXPECT_EQ(y, 1);
}

TEST_F(emulated_kernel, local_arrays_as_large_as_the_device_allows) {
  const module_ptr m = compile(R"(
__global__ void k(int* x, int n) {
  volatile char large[500000];
  for (int i = 0; i < n; i += 1000) large[i] = (char)threadIdx.x;
  __syncthreads();
  x[threadIdx.x] = 0;
  for (int i = 0; i < n; i += 1000) x[threadIdx.x] += large[i];
})");
  std::vector<int> x(8);
  run(m, "k", {1}, {8}, 0, x.data(), 500000);
  for (int t = 0; t < 8; ++t) EXPECT_EQ(x[static_cast<std::size_t>(t)], 500 * t);
}

TEST_F(emulated_kernel, equal_sources_are_one_module) {
  const std::string text = "__global__ void k(int* x) { *x = 1; }", other = "__global__ void k(int* x) { *x = 2; }";
  std::vector<module_ptr> loaded(16);
  std::vector<std::thread> threads;
  for (std::size_t k = 0; k < 16; ++k) threads.emplace_back([&, k] { loaded[k] = compile(k % 2 == 0 ? text : other); });
  for (std::thread& t : threads) t.join();
  for (std::size_t k = 0; k < 16; ++k) {
    EXPECT_EQ(loaded[k], loaded[k % 2]);
    int x = 0;
    run(loaded[k], "k", {1}, {1}, 0, &x);
    EXPECT_EQ(x, k % 2 == 0 ? 1 : 2);
  }
  EXPECT_NE(compile(text, {}, {"-DN=1"}), loaded[0]);
}

TEST_F(emulated_kernel, many_threads_may_launch) {
  const module_ptr m = compile(R"(
__global__ void ranks(int* out) {
  __shared__ int s[64];
  s[threadIdx.x] = blockIdx.x;
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = s[63 - threadIdx.x];
})");
  std::vector<std::vector<int>> out(6, std::vector<int>(64 * 200));
  std::vector<std::thread> threads;
  for (auto& o : out) threads.emplace_back([&m, &o] { run(m, "ranks", {200}, {64}, 0, o.data()); });
  for (std::thread& t : threads) t.join();
  for (const auto& o : out)
    for (std::size_t k = 0; k < o.size(); ++k) ASSERT_EQ(o[k], static_cast<int>(k / 64));
}

}  // namespace
