#include "dsl/linear_algebra.hpp"

#include "dsl/product_internal.hpp"
#include "dsl/reduce_internal.hpp"
#include "dsl/shape_ops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sinter {

using jit::op;

namespace {

/// Sums of products over axis `axis` of both, broadcast.
array contracted(const array& a, const array& b, int axis, dtype type, const place& at) {
  const int rank = std::max(a.rank(), b.rank());
  return sum_of_products(a, b, std::uint32_t{1} << (axis + rank), type, at);
}

/// The matrix's rows, or its columns, or the vector's elements: what matmul pairs up.
std::int64_t length(const array& x, int axis_of_matrix) {
  const shape& extents = x.extents();
  return x.rank() == 1 ? extents[0] : extents[x.rank() + axis_of_matrix];
}

array product(const array& a, const array& b, std::string_view operation, const place& at) {
  const auto fail = [&](const std::string& why) {
    throw_shape_error(
        fmt::format("{}: shapes {} and {}: {}", operation, to_string(a.extents()), to_string(b.extents()), why), at);
  };
  if (a.rank() == 0 || b.rank() == 0) fail("arrays without axes are no matrices");
  const std::int64_t columns = length(a, -1), rows = length(b, -2);
  if (columns != rows) fail(fmt::format("rows of {} elements, columns of {}", columns, rows));
  if (a.rank() > 1 && b.rank() > 1) return matrix_product(a, b, operation, at);
  const factors f = factors_of(a, b, operation, at);
  if (b.rank() == 1) return contracted(f.a, f.b, -1, f.type, at);
  return contracted(expand_dims(f.a, -1, at), f.b, -2, f.type, at);
}

array magnitude(const array& x, const place& at) { return record(op::absolute, x, at); }

array squared_magnitude(const array& x, const place& at) {
  const array re = record(op::square, record(op::real_part, x, at), at);
  if (!is_complex(x.type())) return re;
  return record(op::add, re, record(op::square, record(op::imag_part, x, at), at), at);
}

/// The norm of numbers in the dtype to compute in.
array size_along(const array& x, double ord, std::uint32_t bits, bool keep, const place& at) {
  if (ord == 2) return record(op::sqrt, reduced(op::reduce_sum, squared_magnitude(x, at), bits, keep, at), at);
  if (ord == 0) return reduced(op::reduce_sum, convert(x, boolean, at), bits, keep, at);
  const array m = magnitude(x, at);
  if (ord == 1) return reduced(op::reduce_sum, m, bits, keep, at);
  if (std::isinf(ord)) {
    check_order(m, bits, "norm", at);
    return reduced(ord > 0 ? op::reduce_max : op::reduce_min, m, bits, keep, at);
  }
  const array total = reduced(op::reduce_sum, record(op::power, m, ord, at), bits, keep, at);
  return record(op::power, total, 1 / ord, at);
}

}  // namespace

array matmul(const array& a, const array& b, place at) { return product(a, b, "matmul", at); }

array dot(const array& a, const array& b, place at) {
  if (a.rank() == 0 || b.rank() == 0) return record(op::multiply, a, b, at);
  if (b.rank() <= 2) return product(a, b, "dot", at);
  return contracted_axes(a, b, -1, -2, "dot", at);
}

array vdot(const array& a, const array& b, place at) {
  if (a.size() != b.size())
    throw_shape_error(fmt::format("vdot: shapes {} and {}: {} and {} elements", to_string(a.extents()),
                                  to_string(b.extents()), a.size(), b.size()),
                      at);
  const factors f = factors_of(ravel(a, at), ravel(b, at), "vdot", at);
  return contracted(record(op::conj, f.a, at), f.b, -1, f.type, at);
}

array outer(const array& a, const array& b, place at) {
  const shape column{a.size(), 1}, row{1, b.size()};
  return record(op::multiply, reshape(a, column, at), reshape(b, row, at), at);
}

array trace(const array& x, int offset, int axis1, int axis2, place at) {
  for (int axis : {axis1, axis2}) checked_axis(axis, x.rank(), "trace", at);
  const array line = diagonal(x, offset, axis1, axis2, at);
  return reduced(op::reduce_sum, line, std::uint32_t{1} << (line.rank() - 1), false, at);
}

array norm(const array& x, double ord, const axes& over, keepdims_t keep, place at) {
  const std::uint32_t bits = axis_bits(over, x.rank(), "norm", at);
  const array work = convert(x, working_type(x.type()), at);
  return convert(size_along(work, ord, bits, keep.on, at), part_type(inexact_type(x.type())), at);
}

}  // namespace sinter
