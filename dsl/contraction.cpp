// Sums of products over named axes, as products of matrices or as sums that fuse; tensordot and inner by these.
#include "dsl/einsum.hpp"
#include "dsl/product_internal.hpp"
#include "dsl/reduce_internal.hpp"
#include "dsl/shape_ops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace sinter {

using jit::op;

namespace {

using label_list = std::vector<int>;

bool contains(std::span<const int> labels, int label) { return std::ranges::find(labels, label) != labels.end(); }

std::int64_t extent_of(const term& t, int label) {
  return t.x.extents()[static_cast<int>(std::ranges::find(t.labels, label) - t.labels.begin())];
}

/// The axes of a product by what becomes of them. Those of both operands that stay are a stack of matrices.
struct roles {
  label_list stack, rows, summed, columns;
};

roles roles_of(const term& a, const term& b, std::span<const int> kept) {
  roles r;
  for (const int label : a.labels) {
    if (!b.has(label)) r.rows.push_back(label);
    else (contains(kept, label) ? r.stack : r.summed).push_back(label);
  }
  for (const int label : b.labels)
    if (!a.has(label)) r.columns.push_back(label);
  return r;
}

double volume(const term& t, const label_list& labels) {
  double v = 1;
  for (const int label : labels) v *= static_cast<double>(extent_of(t, label));
  return v;
}

label_list joined(std::initializer_list<const label_list*> lists) {
  label_list all;
  for (const label_list* l : lists) all.insert(all.end(), l->begin(), l->end());
  return all;
}

/// t with an axis for each of `labels`: of extent 1 for those that it lacks.
array spread(const term& t, const label_list& labels, const place& at) {
  label_list own, missing;
  for (std::size_t k = 0; k < labels.size(); ++k)
    t.has(labels[k]) ? own.push_back(labels[k]) : missing.push_back(static_cast<int>(k));
  return expand_dims(arranged(t, own, at), axes(std::span<const int>(missing)), at);
}

/// The axes named by `stack`, and one axis each for `first` and `second` together.
array joined_axes(const term& t, const label_list& stack, const label_list& first, const label_list& second,
                  const place& at) {
  shape extents;
  for (const int label : stack) extents.append(extent_of(t, label));
  for (const label_list* part : {&first, &second})
    extents.append(std::accumulate(part->begin(), part->end(), std::int64_t{1},
                                   [&](std::int64_t n, int label) { return n * extent_of(t, label); }));
  return reshape(arranged(t, joined({&stack, &first, &second}), at), extents, at);
}

/// The same. Axes that follow each other in memory are joined there, and the matrix is read by columns if need be.
array as_matrices(const term& t, const label_list& stack, const label_list& first, const label_list& second,
                  const place& at) {
  const bool by_columns = contains(first, t.labels.back());
  return by_columns ? swapaxes(joined_axes(t, stack, second, first, at), -1, -2, at)
                    : joined_axes(t, stack, first, second, at);
}

term product_by_library(const term& a, const term& b, const roles& r, std::string_view operation, const place& at) {
  shape extents;
  for (const label_list* part : {&r.stack, &r.rows})
    for (const int label : *part) extents.append(extent_of(a, label));
  for (const int label : r.columns) append_extent(extents, extent_of(b, label), operation, at);
  const array c = matrix_product(as_matrices(a, r.stack, r.rows, r.summed, at),
                                 as_matrices(b, r.stack, r.summed, r.columns, at), operation, at, &extents);
  return {c, joined({&r.stack, &r.rows, &r.columns})};
}

/// What a term of at most 16 axes can be spread to.
void check_rank(std::size_t axes_needed, std::string_view operation, const place& at) {
  if (axes_needed > max_rank)
    throw_shape_error(fmt::format("{}: {} different axes, of at most {}", operation, axes_needed, max_rank), at,
                      "sum over some of them before");
}

}  // namespace

bool term::has(int label) const { return contains(labels, label); }

array arranged(const term& t, std::span<const int> labels, const place& at) {
  label_list order;
  for (const int label : labels)
    order.push_back(static_cast<int>(std::ranges::find(t.labels, label) - t.labels.begin()));
  return transpose(t.x, axes(std::span<const int>(order)), at);
}

term contract(const term& a, const term& b, std::span<const int> kept, std::string_view operation, const place& at) {
  const roles r = roles_of(a, b, kept);
  // The operand whose axes come first in the result is the left one: that spares a transposition.
  for (const int label : kept) {
    if (contains(r.rows, label)) break;
    if (contains(r.columns, label)) return contract(b, a, kept, operation, at);
  }
  const dtype type = jit::promote(a.x.type(), b.x.type(), operation, at);
  const double stack = volume(a, r.stack), n = volume(a, r.rows), k = volume(a, r.summed), m = volume(b, r.columns);
  constexpr double most = 0x1p62;
  if (!r.summed.empty() && std::max({n, k, m}) < most &&
      is_for_library(a.x, b.x, stack, static_cast<std::int64_t>(n), static_cast<std::int64_t>(k),
                     static_cast<std::int64_t>(m), type, operation, at))
    return product_by_library(a, b, r, operation, at);
  const label_list result = joined({&r.stack, &r.rows, &r.columns}), every = joined({&result, &r.summed});
  check_rank(every.size(), operation, at);
  const array x = spread(a, every, at), y = spread(b, every, at);
  if (r.summed.empty()) return {record(op::multiply, x, y, at), result};
  const factors f = factors_of(x, y, operation, at);
  const std::uint32_t bits = (std::uint32_t{1} << every.size()) - (std::uint32_t{1} << result.size());
  return {sum_of_products(f.a, f.b, bits, f.type, at), result};
}

namespace {

[[noreturn]] void throw_differ(const array& a, int of_a, const array& b, int of_b, std::string_view operation,
                               const place& at) {
  throw_shape_error(fmt::format("{}: shapes {} and {}: axis {} of the first has {} elements, axis {} of the second {}",
                                operation, to_string(a.extents()), to_string(b.extents()), of_a, a.extents()[of_a],
                                of_b, b.extents()[of_b]),
                    at, "the axes that are summed over go in pairs of the same extent");
}

}  // namespace

array contracted_axes(const array& a, const array& b, const axes& of_a, const axes& of_b, std::string_view operation,
                      const place& at) {
  const std::vector<int> left = checked_axes(of_a, a.rank(), operation, at),
                         right = checked_axes(of_b, b.rank(), operation, at);
  if (left.size() != right.size())
    throw_shape_error(fmt::format("{}: {} axes of the first operand, {} of the second", operation, left.size(),
                                  right.size()),
                      at, "the axes that are summed over go in pairs");
  term x{a, label_list(static_cast<std::size_t>(a.rank()))}, y{b, label_list(static_cast<std::size_t>(b.rank()))};
  std::iota(x.labels.begin(), x.labels.end(), 0);
  std::iota(y.labels.begin(), y.labels.end(), max_rank);
  for (std::size_t k = 0; k < left.size(); ++k) {
    if (a.extents()[left[k]] != b.extents()[right[k]]) throw_differ(a, left[k], b, right[k], operation, at);
    y.labels[static_cast<std::size_t>(right[k])] = left[k];
  }
  label_list kept;
  for (const int label : x.labels)
    if (!y.has(label)) kept.push_back(label);
  for (const int label : y.labels)
    if (!x.has(label)) kept.push_back(label);
  check_rank(kept.size(), operation, at);
  return arranged(contract(x, y, kept, operation, at), kept, at);
}

array tensordot(const array& a, const array& b, int count, place at) {
  if (count < 0 || count > std::min(a.rank(), b.rank()))
    throw_shape_error(fmt::format("tensordot: shapes {} and {} don't both have {} axes to sum over",
                                  to_string(a.extents()), to_string(b.extents()), count),
                      at);
  std::vector<int> left(static_cast<std::size_t>(count)), right = left;
  std::iota(left.begin(), left.end(), a.rank() - count);
  std::iota(right.begin(), right.end(), 0);
  return contracted_axes(a, b, axes(std::span<const int>(left)), axes(std::span<const int>(right)), "tensordot", at);
}

array tensordot(const array& a, const array& b, const axes& of_a, const axes& of_b, place at) {
  return contracted_axes(a, b, of_a, of_b, "tensordot", at);
}

array inner(const array& a, const array& b, place at) {
  if (a.rank() == 0 || b.rank() == 0) return record(op::multiply, a, b, at);
  return contracted_axes(a, b, -1, -1, "inner", at);
}

}  // namespace sinter
