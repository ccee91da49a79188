// Products of matrices by a BLAS: cuBLAS on cuda, any with the C interface on the cpu device. Both are opened at run
// time. f32 accumulates in f32 (on cuda with TF32 factors when options ask for it), f16 and bf16, on cuda only, in f32.
//
// A product that a factor, an addend, a bias and a ramp follow, and nothing else reads, is one call: by the factor that
// any BLAS takes; by what else there is with cuBLASLt, on cuda (of complex numbers, an addend alone).
#pragma once

#include "jit/library/call.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace sinter::jit {

/// Why d's library can't multiply matrices of `type`, with extents up to `longest`; empty: it can. Opens the library at
/// the first call.
std::string gemm_absence(runtime::device& d, dtype type, std::int64_t longest);

/// Records [.., n, k] times [.., k, m] -> [.., n, m], of one dtype that the library knows; leading axes broadcast to
/// `batch`. The result has the shape `extents`, with as many elements in the same order. Matrices whose rows or columns
/// lie along memory are read where they are.
node_ref record_gemm(node* a, node* b, const shape& batch, const shape& extents, runtime::device& where,
                     const place& at);

// ---- What the libraries are asked for ----

/// A matrix as a BLAS takes it, in row order: row r begins at data + r * stride, or, transposed, column c at data + c *
/// stride. In elements; `next`: from one matrix of a batch to the next.
struct blas_matrix {
  std::int64_t offset = 0, stride = 1, next = 0;
  bool transposed = false;
  bool conjugated = false;  ///< only where it is transposed: no BLAS conjugates alone
  friend bool operator==(const blas_matrix&, const blas_matrix&) = default;
};

/// `count` products c = a b of [n, k] and [k, m].
struct blas_product {
  std::int64_t n = 0, m = 0, k = 0, count = 1;
  blas_matrix a, b, c;
  friend bool operator==(const blas_product&, const blas_product&) = default;
};

/// What becomes of products: ramp(alpha * a b + beta * addend + bias). Neither number is 0 where it is used: a BLAS
/// takes 0 times NaN for 0.
struct product_end {
  enum class ramp_kind : std::uint8_t { none, maximum, fmax };  ///< of it and 0; fmax: NaN becomes 0

  complex128 alpha{1, 0}, beta{0, 0};
  bool has_addend = false;  ///< of the result's shape
  bool has_bias = false;    ///< along the result's last axis
  ramp_kind ramp = ramp_kind::none;

  bool is_plain() const { return !has_addend && !has_bias && ramp == ramp_kind::none; }  ///< for any BLAS
  friend bool operator==(const product_end&, const product_end&) = default;
};

/// What `reader`, operand `k` of which is what `end` gives of products with shape `result`, whose matrices have so many
/// `columns`, adds to it: true, and `end` says so; `addend` is then what is added, or null. False: it is something
/// else. Addends are in memory.
bool extend(product_end& end, const shape& result, std::int64_t columns, const node& reader, std::size_t k,
            node*& addend);

/// Whether a matrix of these extents and strides can be read in place; how.
bool is_blas_matrix(std::int64_t rows, std::int64_t columns, std::int64_t row_stride, std::int64_t column_stride,
                    blas_matrix& out);

/// All products of two stacks, in as few calls as their layouts allow. The result is in C order.
std::vector<blas_product> plan_products(const memory_layout& a, const memory_layout& b, const shape& result);

/// Entry points of the libraries; used by gemm.cpp and each other only.
std::string host_blas_absence(dtype type, std::int64_t longest);
void start_host_products(std::span<const blas_product> all, complex128 alpha, const library_run& r);
std::string cublas_absence(dtype type, std::int64_t longest);
void start_cublas_products(std::span<const blas_product> all, complex128 alpha, const library_run& r);

/// Whether cuBLASLt is there and has a way to do that.
bool cublaslt_can(std::span<const blas_product> all, const product_end& end, dtype type, runtime::device& where);
/// r.inputs are the factors, then the addend and the bias, if there are.
void start_cublaslt_products(std::span<const blas_product> all, const product_end& end, library_run& r);

/// A dtype as cudaDataType names it and cublasComputeType_t what its products are summed in, with the type of factors.
struct cuda_number_type {
  int data, compute, factor;
};
cuda_number_type cuda_type_of(dtype type);
/// A factor of products of `type`.
struct blas_number {
  blas_number(dtype type, complex128 x);
  alignas(16) std::byte bytes[16];
};

}  // namespace sinter::jit
