// Sums of products.
#include "tests/fuzz/places.hpp"
#include "tests/fuzz/reference.hpp"
#include "tests/fuzz/totals.hpp"

#include <algorithm>

namespace sinter_test::fuzz {

using namespace sinter;

namespace {

/// Two operands in the dtype they are multiplied in, and the dtype of the result.
struct factors {
  variable a, b;
  dtype work, result;
};

factors factors_of(const variable& a, const variable& b) {
  const dtype type = promote(a.h.type, b.h.type);
  const dtype work = is_integer_or_bool(type) ? type : working_type(type);
  return {cast(a, work), cast(b, work), work, type};
}

/// The sum of products of as many elements of both.
cell contracted(const factors& f, const std::vector<std::int64_t>& p, const std::vector<std::int64_t>& q) {
  const dtype widened = is_inexact(f.work) ? f.work : kind_of(f.work) == kind::unsigned_integer ? u64 : i64;
  running_result sum(reduction::sum, widened);
  bool soft = false;
  for (std::size_t k = 0; k < p.size(); ++k)
    sum.add(combine(binary::multiply, f.a.get(p[k]), f.b.get(q[k]), {f.work, f.work, f.work}, soft));
  if (!is_inexact(f.work)) return {cast(sum.result().v, widened, f.result), 0};
  cell c = narrowed(sum.kept(), f.work, f.result);
  if (soft) c.error = std::max(c.error, zero_of_either_sign);
  return c;
}

shape without_last(const shape& x, int count) {
  shape out;
  for (int k = 0; k + count < x.rank(); ++k) out.append(x[k]);
  return out;
}

/// Stacks of matrices; a vector is a row on the left, a column on the right.
variable matrix_product(const variable& a, const variable& b) {
  const shape &left = a.h.extents, &right = b.h.extents;
  unsigned bad = left.rank() == 0 || right.rank() == 0 ? refused::shape : 0u;
  const bool row = left.rank() == 1, column = right.rank() == 1;
  shape stack;
  const auto length = [](const shape& x, int back) { return x[x.rank() == 1 ? 0 : x.rank() - back]; };
  try {
    if (bad == 0 && length(left, 1) != length(right, 2)) bad |= refused::shape;
    stack = broadcast(without_last(left, row ? 1 : 2), without_last(right, column ? 1 : 2));
  } catch (const refused& r) { bad |= r.kinds; }
  try {
    promote(a.h.type, b.h.type);
  } catch (const refused& r) { bad |= r.kinds; }
  if (bad != 0) throw refused{bad};
  const std::int64_t n = row ? 1 : length(left, 2), k = length(left, 1), m = column ? 1 : length(right, 1);
  if (stack.size() * n * m * std::max<std::int64_t>(k, 1) > most_products) throw unpredictable{};
  const factors f = factors_of(a, b);
  shape to = stack;
  if (!row) to.append(n);
  if (!column) to.append(m);
  variable out(f.result, to);
  for (std::int64_t at = 0; at < out.size(); ++at) {
    const std::int64_t matrix = at / (n * m), i = at / m % n, j = at % m;
    const std::int64_t p = broadcast_position(without_last(left, row ? 1 : 2), stack, matrix) * n * k;
    const std::int64_t q = broadcast_position(without_last(right, column ? 1 : 2), stack, matrix) * k * m;
    std::vector<std::int64_t> of_a, of_b;
    for (std::int64_t l = 0; l < k; ++l) of_a.push_back(p + i * k + l), of_b.push_back(q + l * m + j);
    out.set(at, contracted(f, of_a, of_b));
  }
  return out;
}

/// Every line of a along its last axis with every line of b along its last but one (its only one).
variable line_product(const variable& a, const variable& b) {
  const shape &left = a.h.extents, &right = b.h.extents;
  const int across = right.rank() == 1 ? 0 : right.rank() - 2;
  const std::int64_t k = left[left.rank() - 1], m = right.rank() == 1 ? 1 : right[right.rank() - 1];
  unsigned bad = k == right[across] ? 0u : refused::shape;
  try {
    promote(a.h.type, b.h.type);
  } catch (const refused& r) { bad |= r.kinds; }
  shape to = without_last(left, 1);
  for (int d = 0; d < right.rank(); ++d)
    if (d != across) {
      if (to.rank() == max_rank) throw refused{bad | refused::shape};
      to.append(right[d]);
    }
  if (bad != 0) throw refused{bad};
  if (to.size() * std::max<std::int64_t>(k, 1) > most_products) throw unpredictable{};
  const factors f = factors_of(a, b);
  variable out(f.result, to);
  const std::int64_t columns = to.size() / std::max<std::int64_t>(without_last(left, 1).size(), 1);
  for (std::int64_t at = 0; at < out.size(); ++at) {
    const std::int64_t row = at / columns, matrix = at % columns / m, column = at % m;
    std::vector<std::int64_t> of_a, of_b;
    for (std::int64_t l = 0; l < k; ++l) of_a.push_back(row * k + l), of_b.push_back((matrix * k + l) * m + column);
    out.set(at, contracted(f, of_a, of_b));
  }
  return out;
}

variable as_shape(variable x, const shape& extents) {
  x.h.extents = extents;
  return x;
}

variable vector_product(const variable& a, const variable& b) {
  unsigned bad = a.size() == b.size() ? 0u : refused::shape;
  try {
    promote(a.h.type, b.h.type);
  } catch (const refused& r) { bad |= r.kinds; }
  if (bad != 0) throw refused{bad};
  const variable left = is_complex(a.h.type) ? apply(unary::conj, a) : a;
  return matrix_product(as_shape(left, {a.size()}), as_shape(b, {b.size()}));
}

variable diagonal_sum(const step& s, const variable& x) {
  step line;
  line.what = verb::diagonal;
  line.numbers = s.numbers;
  const variable found = read(x, shown(line, x.h.extents));
  step total;
  total.what = verb::reduce;
  total.code = static_cast<int>(reduction::sum);
  total.from = {0};
  total.numbers = {-1};
  return reduced(total, {&found, 1});
}

}  // namespace

variable multiplied(const step& s, pool variables) {
  const variable& a = variables[static_cast<std::size_t>(s.from.at(0))];
  const auto how = static_cast<product>(s.code);
  if (how == product::trace) return diagonal_sum(s, a);
  const variable& b = variables[static_cast<std::size_t>(s.from.at(1))];
  switch (how) {
    case product::matmul: return matrix_product(a, b);
    case product::dot: {
      const bool single = a.h.extents.rank() == 0 || b.h.extents.rank() == 0;
      if (single) return apply(binary::multiply, {&a}, {&b});
      return line_product(a, b);
    }
    case product::vdot: return vector_product(a, b);
    default: {
      const variable column = as_shape(a, {a.size(), 1}), row = as_shape(b, {1, b.size()});
      return apply(binary::multiply, {&column}, {&row});
    }
  }
}

}  // namespace sinter_test::fuzz
