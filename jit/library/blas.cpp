// The cpu device's BLAS: OpenBLAS, BLIS, or another one with the C interface and 32-bit integers.
#include "jit/library/gemm.hpp"
#include "runtime/backend.hpp"
#include "runtime/library.hpp"
#include "runtime/log.hpp"

#include <fmt/format.h>

#include <limits>

namespace sinter::jit {

namespace {

// The C interface's names of row order, and of what is done to a matrix.
constexpr int row_major = 101, no_transposition = 111, transposition = 112,
              conjugate_transposition = 113;

// Smaller products are as well computed by one thread each, many of a batch beside each other.
constexpr double small_product = 64.0 * 64 * 64;

template <class Number>
using real_gemm = void(int order, int trans_a, int trans_b, int n, int m, int k, Number alpha, const Number* a,
                       int stride_a, const Number* b, int stride_b, Number beta, Number* c, int stride_c);
using complex_gemm = void(int order, int trans_a, int trans_b, int n, int m, int k, const void* alpha, const void* a,
                          int stride_a, const void* b, int stride_b, const void* beta, void* c, int stride_c);

struct blas {
  runtime::library library;
  real_gemm<float>* f32;
  real_gemm<double>* f64;
  complex_gemm *c64, *c128;
};

std::vector<std::string> names_to_try() {
  if (const std::string& chosen = runtime::environment().blas; !chosen.empty()) return {chosen};
  return {"libopenblas.so.0", "libblis.so.4", "libblas.so.3", "libcblas.so.3"};
}

blas open_blas() {
  runtime::library l("BLAS", names_to_try(), "libopenblas0-pthread (Debian, Ubuntu)",
                     {"cblas_sgemm", "cblas_dgemm", "cblas_cgemm", "cblas_zgemm"});
  // OpenBLAS has threads of its own, as many as there are processors.
  if (auto* set_threads = l.find<void(int)>("openblas_set_num_threads"); set_threads && runtime::environment().threads)
    set_threads(runtime::environment().threads);
  blas b{std::move(l), nullptr, nullptr, nullptr, nullptr};
  b.f32 = b.library.find<real_gemm<float>>("cblas_sgemm");
  b.f64 = b.library.find<real_gemm<double>>("cblas_dgemm");
  b.c64 = b.library.find<complex_gemm>("cblas_cgemm");
  b.c128 = b.library.find<complex_gemm>("cblas_zgemm");
  return b;
}

const blas& opened() {
  static const blas* const b = new blas(open_blas());  // never destroyed: used until the very end
  return *b;
}

int whole(std::int64_t x) {
  SINTER_CHECK(x <= std::numeric_limits<int>::max());
  return static_cast<int>(x);
}

int operation_on(const blas_matrix& x) {
  return !x.transposed ? no_transposition : x.conjugated ? conjugate_transposition : transposition;
}

/// Calls f, an entry point, with what all of them take, and `alpha` and `beta`.
template <class F, class Number, class Alpha>
void multiply(F* f, const blas_product& p, std::int64_t j, const library_run& r, Alpha alpha, Alpha beta) {
  const Number* a = static_cast<const Number*>(r.inputs[0].data) + p.a.offset + j * p.a.next;
  const Number* b = static_cast<const Number*>(r.inputs[1].data) + p.b.offset + j * p.b.next;
  Number* c = static_cast<Number*>(r.outputs[0].data) + p.c.offset + j * p.c.next;
  f(row_major, operation_on(p.a), operation_on(p.b), whole(p.n), whole(p.m), whole(p.k), alpha, a, whole(p.a.stride), b, whole(p.b.stride), beta, c, whole(p.c.stride));
}

void multiply(const blas_product& p, std::int64_t j, complex128 alpha, const library_run& r) {
  const blas& l = opened();
  const complex64 narrow{static_cast<float>(alpha.re), static_cast<float>(alpha.im)};
  constexpr complex64 zero_c64{};
  constexpr complex128 zero_c128{};
  switch (r.outputs[0].type) {
    case dtype::f32: return multiply<real_gemm<float>, float>(l.f32, p, j, r, narrow.re, 0.0f);
    case dtype::f64: return multiply<real_gemm<double>, double>(l.f64, p, j, r, alpha.re, 0.0);
    case dtype::c64: return multiply<complex_gemm, complex64, const void*>(l.c64, p, j, r, &narrow, &zero_c64);
    default: return multiply<complex_gemm, complex128, const void*>(l.c128, p, j, r, &alpha, &zero_c128);
  }
}

}  // namespace

std::string host_blas_absence(dtype type, std::int64_t longest) {
  if (type != dtype::f32 && type != dtype::f64 && !is_complex(type))
    return fmt::format("a BLAS doesn't multiply {}", to_string(type));
  if (longest > std::numeric_limits<int>::max()) return "a BLAS counts in 32 bits";
  return opened().library.absence();
}

void start_host_products(std::span<const blas_product> all, complex128 alpha, const library_run& r) {
  for (const blas_product& p : all) {
    const double volume = static_cast<double>(p.n) * static_cast<double>(p.m) * static_cast<double>(p.k);
    if (p.count == 1 || volume > small_product) {
      for (std::int64_t j = 0; j < p.count; ++j) multiply(p, j, alpha, r);
      continue;
    }
    runtime::launch_shape shape;
    shape.rows = p.count;
    shape.cost = static_cast<int>(volume / 4) + 1;
    runtime::parallel_for(shape, [&](std::int64_t first, std::int64_t last, std::int64_t, std::int64_t) {
      for (std::int64_t j = first; j < last; ++j) multiply(p, j, alpha, r);
    });
  }
}

}  // namespace sinter::jit
