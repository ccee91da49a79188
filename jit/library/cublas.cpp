// cuBLAS. Its few entry points are declared here, so that its headers needn't be there; their types and numbers are
// part of the library's binary interface.
#include "jit/engine.hpp"
#include "jit/library/gemm.hpp"
#include "runtime/backend.hpp"
#include "runtime/library.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <map>
#include <mutex>

namespace sinter::jit {

namespace {

struct cublas_context;
using handle = cublas_context*;

// cublasOperation_t, cublasGemmAlgo_t, cublasMath_t
constexpr int no_transposition = 0, transposition = 1, conjugate_transposition = 2, any_algorithm = -1, full_precision_sums = 16;

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

// cuBLAS stores matrices by columns: what is asked for is the transposed product, of b's transpose and a's.
template <class Integer>
int multiply(gemm_function<Integer>* f, handle h, const blas_product& p, complex128 alpha, const library_run& r) {
  const cuda_number_type t = cuda_type_of(r.outputs[0].type);
  const blas_number factor(r.outputs[0].type, alpha), zero(r.outputs[0].type, {});
  const auto address = [&](const void* data, std::int64_t offset) {
    return static_cast<const std::byte*>(data) + offset * size_of(r.outputs[0].type);
  };
  const auto n = static_cast<Integer>(p.n), m = static_cast<Integer>(p.m), k = static_cast<Integer>(p.k);
  const auto trans = [](const blas_matrix& x) {
    return !x.transposed ? no_transposition : x.conjugated ? conjugate_transposition : transposition;
  };
  return f(h, trans(p.b), trans(p.a), m, n, k, factor.bytes, address(r.inputs[1].data, p.b.offset), t.data,
           static_cast<Integer>(p.b.stride), p.b.next, address(r.inputs[0].data, p.a.offset), t.data,
           static_cast<Integer>(p.a.stride), p.a.next, zero.bytes,
           const_cast<std::byte*>(address(r.outputs[0].data, p.c.offset)), t.data, static_cast<Integer>(p.c.stride),
           p.c.next, static_cast<Integer>(p.count), t.compute, any_algorithm);
}

}  // namespace

cuda_number_type cuda_type_of(dtype type) {
  constexpr int f16 = 2, bf16 = 14, f32 = 0, f64 = 1, c64 = 4, c128 = 5;
  constexpr int sum_f32 = 68, sum_tf32 = 77, sum_f64 = 70;
  const int single = current_options().tf32 ? sum_tf32 : sum_f32;
  switch (type) {
    case dtype::f16: return {f16, sum_f32, f32};
    case dtype::bf16: return {bf16, sum_f32, f32};
    case dtype::f32: return {f32, single, f32};
    case dtype::f64: return {f64, sum_f64, f64};
    case dtype::c64: return {c64, single, c64};
    default: return {c128, sum_f64, c128};
  }
}

blas_number::blas_number(dtype type, complex128 x) : bytes{} {
  const float narrow[] = {static_cast<float>(x.re), static_cast<float>(x.im)};
  const double wide[] = {x.re, x.im};
  const bool is_wide = type == dtype::f64 || type == dtype::c128;
  std::memcpy(bytes, is_wide ? static_cast<const void*>(wide) : narrow, is_wide ? sizeof wide : sizeof narrow);
}

std::string cublas_absence(dtype type, std::int64_t longest) {
  if (!is_inexact(type)) return fmt::format("cuBLAS doesn't multiply {}", to_string(type));
  const cublas& l = opened();
  if (l.library && !l.wide_gemm && longest > std::numeric_limits<int>::max()) return "this cuBLAS counts in 32 bits";
  return l.library.absence();
}

void start_cublas_products(std::span<const blas_product> all, complex128 alpha, const library_run& r) {
  void* const stream = r.where.native_stream();
  cublas& l = opened();
  const std::lock_guard held(l.guard);  // calls only ask for work
  const handle h = handle_of(l, stream, r);
  for (const blas_product& p : all) {
    const int status = l.wide_gemm ? multiply(l.wide_gemm, h, p, alpha, r) : multiply(l.gemm, h, p, alpha, r);
    check(l, status, r, "cublasGemmStridedBatchedEx");
  }
}

}  // namespace sinter::jit
