// Products of matrices by a BLAS: cuBLAS on cuda, any with the C interface on the cpu device. Both are opened at run
// time. f32 accumulates in f32 (on cuda with TF32 factors when options ask for it), f16 and bf16, on cuda only, in f32.
#pragma once

#include "jit/library/call.hpp"

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
};

/// `count` products c = a b of [n, k] and [k, m].
struct blas_product {
  std::int64_t n = 0, m = 0, k = 0, count = 1;
  blas_matrix a, b, c;
};

/// Whether a matrix of these extents and strides can be read in place; how.
bool is_blas_matrix(std::int64_t rows, std::int64_t columns, std::int64_t row_stride, std::int64_t column_stride,
                    blas_matrix& out);

/// All products of two stacks, in as few calls as their layouts allow. The result is in C order.
std::vector<blas_product> plan_products(const memory_layout& a, const memory_layout& b, const shape& result);

/// Entry points of the two libraries; used by gemm.cpp only.
std::string host_blas_absence(dtype type, std::int64_t longest);
void start_host_products(std::span<const blas_product> all, const library_run& r);
std::string cublas_absence(dtype type, std::int64_t longest);
void start_cublas_products(std::span<const blas_product> all, const library_run& r);

}  // namespace sinter::jit
