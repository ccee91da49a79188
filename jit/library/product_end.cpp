// What follows a product of matrices and can be part of the same call: recognised in the graph.
#include "jit/library/gemm.hpp"

#include <cmath>

namespace sinter::jit {

namespace {

/// The number that `n` is everywhere.
bool is_number(const node* n, complex128& x) {
  if (n->code != op::scalar) return false;
  switch (n->number.type) {
    case dtype::boolean: return x = {n->number.as_bool ? 1.0 : 0.0, 0}, true;
    case dtype::i64: return x = {static_cast<double>(n->number.as_i64), 0}, true;
    case dtype::u64: return x = {static_cast<double>(n->number.as_u64), 0}, true;
    case dtype::f64: return x = {n->number.as_f64, 0}, true;
    default: return x = n->number.as_c128, true;
  }
}

/// Whether it can be a factor: not 0, which BLASs take for "nothing", whatever it is multiplied with.
bool is_factor(complex128 x, dtype type) {
  const bool single = type != dtype::f64 && type != dtype::c128;
  const auto rounded = [&](double part) { return single ? static_cast<double>(static_cast<float>(part)) : part; };
  const double re = rounded(x.re), im = rounded(x.im);
  return std::isfinite(re) && std::isfinite(im) && (re != 0 || im != 0);
}

bool is_in_memory(const node* n, bool through_views) {
  while (!n->values() && (n->code == op::reshape || (through_views && n->code == op::view))) n = n->operands()[0];
  return n->values() != nullptr;
}

bool multiply_by(product_end& end, complex128 x, dtype type) {
  const bool first = end.is_plain() && end.alpha == complex128{1, 0};
  if (!first || !is_factor(x, type)) return false;
  end.alpha = x;
  return true;
}

bool is_bias(const node& x, const shape& result, std::int64_t columns) {
  const int rank = x.extents.rank();
  if (rank == 0 || rank > result.rank()) return false;
  for (int k = 0; k < rank - 1; ++k)
    if (x.extents[k] != 1) return false;
  const std::int64_t last = result[result.rank() - 1];  // of columns, when matrices are given as they are
  return last == columns && x.extents[rank - 1] == columns && is_in_memory(&x, true);
}

/// An array of the result's shape that is in memory, `factor` times.
node* find_addend(node* x, const shape& result, complex128& factor) {
  factor = {1, 0};
  if (!x->values() && x->code == op::multiply) {
    node* const left = x->operands()[0];
    node* const right = x->operands()[1];
    node* const scaled = is_number(left, factor) ? right : is_number(right, factor) ? left : nullptr;
    if (!scaled || scaled->type != x->type || !is_factor(factor, x->type)) return nullptr;
    x = scaled;
  }
  return x->extents == result && is_in_memory(x, false) ? x : nullptr;
}

/// `sign`: of what is added; `turned`: of the product.
bool add(product_end& end, const shape& result, std::int64_t columns, node* x, double sign, bool turned,
         node*& addend) {
  if (end.ramp != product_end::ramp_kind::none) return false;
  if (sign > 0 && !turned && !end.has_bias && is_bias(*x, result, columns)) {
    end.has_bias = true;
    addend = x;
    return true;
  }
  complex128 factor;
  addend = end.has_addend || (turned && end.has_bias) ? nullptr : find_addend(x, result, factor);
  if (!addend) return false;
  end.has_addend = true;
  end.beta = {sign * factor.re, sign * factor.im};
  if (turned) end.alpha = {-end.alpha.re, -end.alpha.im};
  return true;
}

bool ramp(product_end& end, const node* bound, dtype type, product_end::ramp_kind kind) {
  complex128 x;
  if (end.ramp != product_end::ramp_kind::none || !is_real(type) || !is_number(bound, x) || x.re != 0) return false;
  end.ramp = kind;
  return true;
}

}  // namespace

bool extend(product_end& end, const shape& result, std::int64_t columns, const node& reader, std::size_t k,
            node*& addend) {
  addend = nullptr;
  const dtype type = reader.type;
  if (reader.code == op::negative) return multiply_by(end, {-1, 0}, type);
  if (reader.operand_count != 2) return false;
  node* const other = reader.operands()[1 - k];
  complex128 x;
  if (!is_number(other, x) && other->type != type) return false;
  switch (reader.code) {
    case op::multiply: return is_number(other, x) && multiply_by(end, x, type);
    case op::divide:
      return k == 0 && is_real(type) && is_number(other, x) && is_factor(x, type) &&
             multiply_by(end, {1 / x.re, 0}, type);
    case op::add: return add(end, result, columns, other, 1, false, addend);
    case op::subtract: return add(end, result, columns, other, k == 0 ? -1 : 1, k == 1, addend);
    case op::maximum: return ramp(end, other, type, product_end::ramp_kind::maximum);
    case op::fmax: return ramp(end, other, type, product_end::ramp_kind::fmax);
    default: return false;
  }
}

}  // namespace sinter::jit
