// cuBLAS. Its few entry points are declared here, so that its headers needn't be there; their types and numbers are
// part of the library's binary interface.
#include "jit/engine.hpp"
#include "jit/library/gemm.hpp"
#include "runtime/backend.hpp"
#include "runtime/library.hpp"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <mutex>

namespace sinter::jit {

namespace {

struct cublas_context;
using handle = cublas_context*;

// cublasOperation_t, cublasGemmAlgo_t, cublasMath_t
constexpr int no_transposition = 0, transposition = 1, any_algorithm = -1, full_precision_sums = 16;

template <class Integer>
using gemm_function = int(handle, int trans_a, int trans_b, Integer m, Integer n, Integer k, const void* alpha,
                          const void* a, int a_type, Integer a_stride, long long a_next, const void* b, int b_type,
                          Integer b_stride, long long b_next, const void* beta, void* c, int c_type, Integer c_stride,
                          long long c_next, Integer count, int compute_type, int algorithm);

struct cublas {
  cublas();

  runtime::library library{"cuBLAS",
                           runtime::cuda_library_names("cublas", {13, 12, 11}),
                           "the CUDA toolkit's cuBLAS (Debian, Ubuntu: libcublas12)",
                           {"cublasCreate_v2", "cublasSetStream_v2", "cublasSetMathMode",
                            "cublasGemmStridedBatchedEx"}};
  int (*create)(handle*) = nullptr;
  int (*set_stream)(handle, void*) = nullptr;
  int (*set_math_mode)(handle, int) = nullptr;
  const char* (*status_text)(int) = nullptr;  ///< null in versions before 11.4
  gemm_function<int>* gemm = nullptr;
  gemm_function<std::int64_t>* wide_gemm = nullptr;  ///< null in versions before 12
  std::mutex guard;
  std::map<void*, handle> handles;  ///< by stream: each has a workspace, which work on its stream may be using
};

cublas::cublas() {
  create = library.find<int(handle*)>("cublasCreate_v2");
  set_stream = library.find<int(handle, void*)>("cublasSetStream_v2");
  set_math_mode = library.find<int(handle, int)>("cublasSetMathMode");
  status_text = library.find<const char*(int)>("cublasGetStatusString");
  gemm = library.find<gemm_function<int>>("cublasGemmStridedBatchedEx");
  wide_gemm = library.find<gemm_function<std::int64_t>>("cublasGemmStridedBatchedEx_64");
}

cublas& opened() {
  static cublas* const l = new cublas;  // never destroyed: used until the very end
  return *l;
}

void check(const cublas& l, int status, const library_run& r, std::string_view what) {
  if (status == 0) [[likely]]
    return;
  r.fail(what, fmt::format("{} ({})", l.status_text ? l.status_text(status) : "cuBLAS failed", status), status);
}

/// The handle of this stream; its guard is held.
handle handle_of(cublas& l, void* stream, const library_run& r) {
  handle& h = l.handles[stream];
  if (!h) {
    handle made = nullptr;
    check(l, l.create(&made), r, "cublasCreate");
    h = made;
    check(l, l.set_math_mode(h, full_precision_sums), r, "cublasSetMathMode");
  }
  check(l, l.set_stream(h, stream), r, "cublasSetStream");
  return h;
}

/// A dtype as cudaDataType and cublasComputeType_t name it, and its 1 and 0.
struct number_type {
  int data, compute;
  const void *one, *zero;
};

number_type type_of(dtype type) {
  static constexpr float f32_numbers[] = {1, 0};
  static constexpr double f64_numbers[] = {1, 0};
  static constexpr complex64 c64_numbers[] = {{1, 0}, {0, 0}};
  static constexpr complex128 c128_numbers[] = {{1, 0}, {0, 0}};
  constexpr int compute_f32 = 68, compute_tf32 = 77, compute_f64 = 70;
  const int single = current_options().tf32 ? compute_tf32 : compute_f32;
  switch (type) {
    case dtype::f16: return {2, compute_f32, f32_numbers, f32_numbers + 1};
    case dtype::bf16: return {14, compute_f32, f32_numbers, f32_numbers + 1};
    case dtype::f32: return {0, single, f32_numbers, f32_numbers + 1};
    case dtype::f64: return {1, compute_f64, f64_numbers, f64_numbers + 1};
    case dtype::c64: return {4, single, c64_numbers, c64_numbers + 1};
    default: return {5, compute_f64, c128_numbers, c128_numbers + 1};
  }
}

// cuBLAS stores matrices by columns: what is asked for is the transposed product, of b's transpose and a's.
template <class Integer>
int multiply(gemm_function<Integer>* f, handle h, const blas_product& p, const library_run& r) {
  const number_type t = type_of(r.outputs[0].type);
  const auto address = [&](const void* data, std::int64_t offset) {
    return static_cast<const std::byte*>(data) + offset * size_of(r.outputs[0].type);
  };
  const auto n = static_cast<Integer>(p.n), m = static_cast<Integer>(p.m), k = static_cast<Integer>(p.k);
  const auto trans = [](const blas_matrix& x) { return x.transposed ? transposition : no_transposition; };
  return f(h, trans(p.b), trans(p.a), m, n, k, t.one, address(r.inputs[1].data, p.b.offset), t.data,
           static_cast<Integer>(p.b.stride), p.b.next, address(r.inputs[0].data, p.a.offset), t.data,
           static_cast<Integer>(p.a.stride), p.a.next, t.zero,
           const_cast<std::byte*>(address(r.outputs[0].data, p.c.offset)), t.data, static_cast<Integer>(p.c.stride),
           p.c.next, static_cast<Integer>(p.count), t.compute, any_algorithm);
}

}  // namespace

std::string cublas_absence(dtype type, std::int64_t longest) {
  if (!is_inexact(type)) return fmt::format("cuBLAS doesn't multiply {}", to_string(type));
  const cublas& l = opened();
  if (l.library && !l.wide_gemm && longest > std::numeric_limits<int>::max()) return "this cuBLAS counts in 32 bits";
  return l.library.absence();
}

void start_cublas_products(std::span<const blas_product> all, const library_run& r) {
  void* const stream = r.where.native_stream();
  cublas& l = opened();
  const std::lock_guard held(l.guard);  // calls only ask for work
  const handle h = handle_of(l, stream, r);
  for (const blas_product& p : all) {
    const int status = l.wide_gemm ? multiply(l.wide_gemm, h, p, r) : multiply(l.gemm, h, p, r);
    check(l, status, r, "cublasGemmStridedBatchedEx");
  }
}

}  // namespace sinter::jit
