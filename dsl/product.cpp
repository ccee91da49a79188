// Which products go to a library, and how.
#include "dsl/product_internal.hpp"
#include "dsl/reduce_internal.hpp"
#include "dsl/shape_ops.hpp"
#include "jit/engine.hpp"
#include "jit/library/gemm.hpp"
#include "jit/loops.hpp"
#include "jit/simplify.hpp"
#include "runtime/backend.hpp"
#include "runtime/log.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sinter {

using jit::op;

namespace {

// Thinner matrices are read as fast by a generated kernel, which computes its factors by itself; and a small product is
// over before a library has been called.
constexpr std::int64_t least_extent = 4;
constexpr double least_volume = 32.0 * 32 * 32;

runtime::device& device_of(const array& a, const array& b, std::string_view operation, const place& at) {
  jit::node* const both[] = {a.node(), b.node()};
  return jit::device_of_operands(both, operation, at);
}

/// The dtype a library multiplies in on d: a BLAS of the host has no halves.
dtype library_type(dtype type, const runtime::device& d) {
  return size_of(type) == 2 && d.kind() == runtime::device_kind::cpu ? f32 : type;
}

double volume_of(const shape& extents) {
  double volume = 1;
  for (const std::int64_t n : extents) volume *= static_cast<double>(n);
  return volume;
}

}  // namespace

factors factors_of(const array& a, const array& b, std::string_view operation, const place& at) {
  const dtype type = jit::promote(a.type(), b.type(), operation, at);
  const dtype work = is_integer_or_bool(type) ? type : working_type(type);
  return {convert(a, work, at), convert(b, work, at), type};
}

array sum_of_products(const array& a, const array& b, std::uint32_t bits, dtype type, const place& at) {
  return convert(reduced(op::reduce_sum, record(op::multiply, a, b, at), bits, false, at), type, at);
}

bool is_for_library(const array& a, const array& b, double stack, std::int64_t n, std::int64_t k, std::int64_t m,
                    dtype type, std::string_view operation, const place& at) {
  const double rows = stack * static_cast<double>(n);
  if (!is_inexact(type) || std::min({n, k, m}) < least_extent || stack < 1 ||
      rows * static_cast<double>(k) * static_cast<double>(m) < least_volume)
    return false;
  if (!jit::current_options().use_libraries || jit::is_recording_body()) return false;
  runtime::device& where = device_of(a, b, operation, at);
  const auto longest = std::max({rows, static_cast<double>(k), static_cast<double>(m)});
  if (longest >= static_cast<double>(jit::most_iterations)) return false;
  const std::string absence =
      jit::gemm_absence(where, library_type(type, where), static_cast<std::int64_t>(longest));
  if (absence.empty()) return true;
  if (runtime::environment().use_libraries)
    runtime::log_once(runtime::level::warning, absence,
                      fmt::format("{} at {}:{} and others run as generated kernels, which are slower: {}", operation,
                                  at.file, at.line, absence));
  return false;
}

array matrix_product(const array& a, const array& b, std::string_view operation, const place& at,
                     const shape* extents) {
  const auto shaped = [&](array c) { return extents ? reshape(c, *extents, at) : c; };
  const factors f = factors_of(a, b, operation, at);
  const array left = expand_dims(f.a, -1, at), right = expand_dims(f.b, -3, at);
  const array products = record(op::multiply, left, right, at);
  const int rank = products.rank();
  const std::int64_t n = products.extents()[rank - 3], k = products.extents()[rank - 2],
                     m = products.extents()[rank - 1];
  const std::uint32_t bit = std::uint32_t{1} << (rank - 2);
  shape stack;
  for (int axis = 0; axis < rank - 3; ++axis) stack.append(products.extents()[axis]);
  // A stack times one matrix is one taller matrix.
  const double stacked = volume_of(stack), joined = b.rank() == 2 ? stacked : 1;
  const bool countable = static_cast<double>(n) * joined < static_cast<double>(jit::most_iterations);
  const std::int64_t rows = countable ? n * static_cast<std::int64_t>(joined) : 0;
  if (!is_for_library(a, b, stacked / std::max(joined, 1.0), rows, k, m, f.type, operation, at))
    return shaped(convert(reduced(op::reduce_sum, products, bit, false, at), f.type, at));
  if (jit::node_ref simpler = jit::simplify_reduction(op::reduce_sum, products.node(), bit, false, at))
    return shaped(convert(wrap(std::move(simpler)), f.type, at));  // a one-hot matrix
  runtime::device& where = device_of(a, b, operation, at);
  const dtype work = library_type(f.type, where);
  const array x = convert(a, work, at), y = convert(b, work, at);
  shape result = stack;
  result.append(n);
  result.append(m);
  return convert(wrap(jit::record_gemm(x.node(), y.node(), stack, extents ? *extents : result, where, at)), f.type, at);
}

}  // namespace sinter
