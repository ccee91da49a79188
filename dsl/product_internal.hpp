// Products that sum over axes of both operands, for matmul, tensordot, einsum. Not installed.
#pragma once

#include "dsl/record_internal.hpp"

namespace sinter {

/// Both operands in the dtype they are multiplied in, and the dtype of the result.
struct factors {
  array a, b;
  dtype type;
};
factors factors_of(const array& a, const array& b, std::string_view operation, const place& at);

/// Sums over the axes in `bits` of a b, which broadcast: in `type`.
array sum_of_products(const array& a, const array& b, std::uint32_t bits, dtype type, const place& at);

/// Whether a stack of [n, k] times [k, m] is for a library: it is there, knows the dtype, and the product isn't small.
/// Warns, once, when a library is missing.
bool is_for_library(const array& a, const array& b, double stack, std::int64_t n, std::int64_t k, std::int64_t m,
                    dtype type, std::string_view operation, const place& at);

/// [.., n, k], [.., k, m] -> [.., n, m], leading axes broadcast; `type` is the common dtype. By the library when it is
/// for that, else as a sum of products, which fuses. `operation` names the function in errors. `extents`: another shape
/// for the same elements of the result.
array matrix_product(const array& a, const array& b, std::string_view operation, const place& at,
                     const shape* extents = nullptr);

/// Sums over one axis of each; the other axes of a come first, then those of b.
array contracted_axes(const array& a, const array& b, const axes& of_a, const axes& of_b, std::string_view operation,
                      const place& at);

/// An array whose axes have names, all different.
struct term {
  array x;
  std::vector<int> labels;  ///< by axis

  bool has(int label) const;
};
/// The product of both, summed over the labels of both that aren't among `kept`; labels of one of them alone stay. Axes
/// with one label have one extent. Where there is a choice, the axes come as in `kept`.
term contract(const term& a, const term& b, std::span<const int> kept, std::string_view operation, const place& at);
/// Axes in the order of `labels`, which are all that t has.
array arranged(const term& t, std::span<const int> labels, const place& at);

}  // namespace sinter
