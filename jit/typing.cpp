#include "jit/typing.hpp"

#include "jit/fold/foreseen.hpp"
#include "jit/simplify.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>

namespace sinter::jit {

namespace {

constexpr int no_dtype = -1;

constexpr int as_int(dtype t) { return static_cast<int>(t); }

constexpr dtype signed_of_size(std::int64_t bytes) {
  return bytes == 1 ? dtype::i8 : bytes == 2 ? dtype::i16 : bytes == 4 ? dtype::i32 : dtype::i64;
}

constexpr dtype real_part_of(dtype t) { return t == dtype::c64 ? dtype::f32 : t == dtype::c128 ? dtype::f64 : t; }
constexpr dtype complex_of(dtype t) { return real_part_of(t) == dtype::f64 ? dtype::c128 : dtype::c64; }

/// The common dtype of two different ones, or `no_dtype`.
constexpr int promote_different(dtype a, dtype b) {
  if (a == dtype::boolean) return as_int(b);
  if (b == dtype::boolean) return as_int(a);
  const bool a_integer = is_integer(a), b_integer = is_integer(b);
  if (a_integer != b_integer) return as_int(a_integer ? b : a);
  if (!a_integer) {
    if (is_complex(a) || is_complex(b)) {
      const bool wide = real_part_of(a) == dtype::f64 || real_part_of(b) == dtype::f64;
      return as_int(wide ? dtype::c128 : dtype::c64);
    }
    if (size_of(a) == size_of(b)) return as_int(dtype::f32);  // f16 with bf16
    return as_int(size_of(a) > size_of(b) ? a : b);
  }
  if (kind_of(a) == kind_of(b)) return as_int(size_of(a) > size_of(b) ? a : b);
  const dtype s = kind_of(a) == kind::signed_integer ? a : b, u = s == a ? b : a;
  if (size_of(s) > size_of(u)) return as_int(s);
  return u == dtype::u64 ? no_dtype : as_int(signed_of_size(size_of(u) * 2));
}

/// bool < integer < real < complex.
constexpr int level(dtype t) {
  switch (kind_of(t)) {
    case kind::truth: return 0;
    case kind::real: return 2;
    case kind::complex: return 3;
    default: return 1;
  }
}

/// A literal like 3u is no claim to be unsigned: what fits i64 counts as i64.
constexpr dtype dtype_of_number(const scalar& number) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return number.type == dtype::u64 && number.as_u64 <= most ? dtype::i64 : number.type;
}

/// The common dtype of two C++ numbers. One that needs u64 makes it u64: make_scalar then says which does not fit.
constexpr dtype join_numbers(dtype a, dtype b) {
  if (level(a) != level(b)) return level(a) > level(b) ? a : b;
  return a == dtype::u64 ? a : b;
}

constexpr dtype adopt(dtype array, dtype number) {
  if (level(number) <= level(array)) return array;
  if (level(number) == 3 && level(array) == 2) return complex_of(array);
  return number;
}

bool same_place(const place& a, const place& b) { return a.line == b.line && std::strcmp(a.file, b.file) == 0; }

[[noreturn]] void throw_undefined(op code, dtype type, const place& at, std::string_view hint) {
  throw_type_error(fmt::format("{}: not defined for {}", info(code).name, to_string(type)), at, hint);
}

[[noreturn]] void throw_no_broadcast(std::span<const input> operands, std::size_t bad, const shape& so_far,
                                     std::string_view operation, const place& at) {
  const shape& other = operands[bad].array->extents;
  std::string text =
      fmt::format("{}: shapes {} and {} do not broadcast", operation, to_string(so_far), to_string(other));
  const int rank = so_far.rank() > other.rank() ? so_far.rank() : other.rank();
  for (int k = rank - 1; k >= 0; --k) {
    const int a = k - (rank - so_far.rank()), b = k - (rank - other.rank());
    if (a < 0 || b < 0 || so_far[a] == other[b] || so_far[a] == 1 || other[b] == 1) continue;
    text += fmt::format(" (axis {}: {} against {})", k, so_far[a], other[b]);
    break;
  }
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (!operands[k].array || operands[k].array->extents.rank() == 0) continue;
    const place& made = operands[k].array->site;
    if (made.line == 0 || same_place(made, at)) continue;
    const std::string name = operands.size() != 2 ? fmt::format("operand {}", k + 1)
                             : k == 0             ? "left operand"
                                                  : "right operand";
    text += fmt::format("\n  {} from {}:{}", name, made.file, made.line);
  }
  throw_shape_error(text, at, "x(all, newaxis) inserts an axis");
}

/// The operand as an array of dtype `type`.
node_ref as_type(const input& x, dtype type, const place& at) {
  return x.array ? make_convert(x.array, type, at) : make_scalar(x.number, type, at);
}

/// The operand as it is.
node_ref as_array(const input& x, const place& at) {
  return x.array ? node_ref::share(x.array) : make_scalar(x.number, dtype_of_number(x.number), at);
}

dtype own_type(const input& x) { return x.array ? x.array->type : dtype_of_number(x.number); }

/// `number` for every element of `x`.
node_ref constant_like(const input& x, const scalar& number, dtype type, const place& at) {
  return make_broadcast(make_scalar(number, type, at).get(), x.array ? x.array->extents : shape{}, at);
}

/// The node, of operands that are as it takes them; or that of an earlier iteration of a loop, again.
inline node_ref operation(op code, dtype type, const shape& extents, std::span<node_ref> operands, const place& at) {
  if (foreseer* const f = foreseer::now())
    if (node* const again = f->operation(code, type, operands, at)) return node_ref(again);
  node_ref n = new_node(code, type, extents, at);
  for (node_ref& x : operands) add_operand(*n, std::move(x));
  return record_node(std::move(n));
}

/// Makes the node: operand k converted to wanted[k], shapes broadcast.
node_ref apply(op code, std::span<const input> operands, const dtype* wanted, dtype result, const place& at) {
  const shape* shared = shared_extents(operands);
  shape extents;
  if (!shared) {
    extents = broadcast_extents(operands, info(code).name, at);
    checked_bytes(extents, result);
  }
  node_ref converted[3];
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const input& x = operands[k];
    converted[k] = x.array && x.array->type == wanted[k] ? held(x) : as_type(x, wanted[k], at);
  }
  return operation(code, result, shared ? *shared : extents, {converted, operands.size()}, at);
}

node_ref apply(op code, std::span<const input> operands, dtype compute, dtype result, const place& at) {
  const dtype wanted[3] = {compute, compute, compute};
  return apply(code, operands, wanted, result, at);
}

constexpr std::string_view cast_bool = "convert it first: x.astype(i32)";
constexpr std::string_view split_complex = "take real(x), imag(x) or abs(x)";

// ---- One function per rule of ops.hpp, or per few alike. ----

node_ref record_boolean_arithmetic(op code, std::span<const input> operands, const place& at) {
  switch (code) {
    case op::add: return apply(op::logical_or, operands, dtype::boolean, dtype::boolean, at);
    case op::multiply: return apply(op::logical_and, operands, dtype::boolean, dtype::boolean, at);
    case op::square: return as_array(operands[0], at);
    default: throw_undefined(code, dtype::boolean, at, cast_bool);
  }
}

/// Arithmetic on two arrays of one dtype and shape, most of what programs record, needs no rules.
bool is_plain_arithmetic(std::span<const input> operands) {
  if (operands.size() != 2) return false;
  const node *a = operands[0].array, *b = operands[1].array;
  return a && b && a->type == b->type && (is_real(a->type) || is_integer(a->type)) && a->extents == b->extents;
}

node_ref record_number(op code, std::span<const input> operands, const place& at) {
  if (is_plain_arithmetic(operands)) {
    const node* a = operands[0].array;
    node_ref both[] = {held(operands[0]), held(operands[1])};
    return operation(code, a->type, a->extents, both, at);
  }
  const dtype type = common_type(operands, info(code).name, at);
  if (type == dtype::boolean) return record_boolean_arithmetic(code, operands, at);
  if (is_complex(type) && code == op::modulo) throw_undefined(code, type, at, split_complex);
  return apply(code, operands, type, type, at);
}

node_ref record_orderable(op code, std::span<const input> operands, const place& at) {
  const dtype type = common_type(operands, info(code).name, at);
  if (is_complex(type)) throw_undefined(code, type, at, split_complex);
  const bool arithmetic = code == op::floor_divide || code == op::remainder || code == op::sign;
  if (type == dtype::boolean && arithmetic) throw_undefined(code, type, at, cast_bool);
  return apply(code, operands, type, type, at);
}

node_ref record_magnitude(op code, std::span<const input> operands, const place& at) {
  const dtype type = own_type(operands[0]);
  const kind k = kind_of(type);
  if (k == kind::truth || k == kind::unsigned_integer) return as_array(operands[0], at);
  return apply(code, operands, type, real_part_of(type), at);
}

/// Rules `inexact` and `real`: integers compute in f64.
node_ref record_inexact(op code, std::span<const input> operands, bool complex_too, const place& at) {
  dtype type = common_type(operands, info(code).name, at);
  if (is_complex(type) && !complex_too) throw_undefined(code, type, at, split_complex);
  if (is_integer_or_bool(type)) type = dtype::f64;
  return apply(code, operands, type, type, at);
}

node_ref record_rounding(op code, std::span<const input> operands, const place& at) {
  const dtype type = own_type(operands[0]);
  if (is_complex(type)) throw_undefined(code, type, at, split_complex);
  return is_integer_or_bool(type) ? as_array(operands[0], at) : apply(code, operands, type, type, at);
}

node_ref record_conj(op code, std::span<const input> operands, const place& at) {
  const dtype type = own_type(operands[0]);
  return is_complex(type) ? apply(code, operands, type, type, at) : as_array(operands[0], at);
}

node_ref record_part(op code, std::span<const input> operands, const place& at) {
  const input& x = operands[0];
  const dtype type = own_type(x);
  if (is_complex(type)) return apply(code, operands, type, real_part_of(type), at);
  if (code == op::real_part) return as_array(x, at);
  if (code == op::imag_part) return constant_like(x, scalar(false), type, at);
  const input imaginary_and_real[] = {{nullptr, scalar(0), at}, x};  // arg: 0 or pi, and NaN stays NaN
  return record_inexact(op::atan2, imaginary_and_real, false, at);
}

node_ref record_pair(op code, std::span<const input> operands, const place& at) {
  dtype type = common_type(operands, info(code).name, at);
  if (is_complex(type)) throw_undefined(code, type, at, split_complex);
  if (is_integer_or_bool(type)) type = dtype::f64;
  if (size_of(type) == 2) type = dtype::f32;
  return apply(code, operands, type, complex_of(type), at);
}

node_ref record_compare(op code, std::span<const input> operands, const place& at) {
  const dtype type = common_type(operands, info(code).name, at);
  if (is_complex(type) && info(code).typing == rule::compare) throw_undefined(code, type, at, split_complex);
  return apply(code, operands, type, dtype::boolean, at);
}

node_ref record_test(op code, std::span<const input> operands, const place& at) {
  const input& x = operands[0];
  const dtype type = own_type(x);
  if (is_real(type)) return apply(code, operands, type, dtype::boolean, at);
  if (code != op::signbit) {
    if (is_complex(type)) return apply(code, operands, type, dtype::boolean, at);
    return constant_like(x, scalar(code == op::isfinite), dtype::boolean, at);
  }
  if (is_complex(type)) throw_undefined(code, type, at, split_complex);
  if (kind_of(type) != kind::signed_integer) return constant_like(x, scalar(false), dtype::boolean, at);
  const input below_zero[] = {x, {nullptr, scalar(0), at}};
  return apply(op::less, below_zero, type, dtype::boolean, at);
}

constexpr op logical_twin(op code) {
  switch (code) {
    case op::bit_and: return op::logical_and;
    case op::bit_or: return op::logical_or;
    case op::bit_xor: return op::logical_xor;
    default: return op::logical_not;
  }
}

node_ref record_bits(op code, std::span<const input> operands, const place& at) {
  const dtype type = common_type(operands, info(code).name, at);
  if (type == dtype::boolean) return apply(logical_twin(code), operands, type, type, at);
  if (!is_integer(type)) throw_undefined(code, type, at, "only integers and bool have bits: x.astype(i64)");
  return apply(code, operands, type, type, at);
}

node_ref record_shift(op code, std::span<const input> operands, const place& at) {
  for (const input& x : operands)
    if (!is_integer(own_type(x))) throw_undefined(code, own_type(x), at, "only integers shift: x.astype(i32)");
  const dtype type = common_type(operands, info(code).name, at);
  return apply(code, operands, type, type, at);
}

node_ref record_words(op code, std::span<const input> operands, const place& at) {
  return apply(code, operands, dtype::u64, code == op::random32 ? dtype::u32 : dtype::u64, at);
}

node_ref record_choice(op code, std::span<const input> operands, const place& at) {
  const dtype type = common_type(operands.subspan(1), info(code).name, at);
  const dtype wanted[3] = {dtype::boolean, type, type};
  return apply(code, operands, wanted, type, at);
}

// ---- Reductions ----

struct reduction_types {
  dtype source, result;
};

reduction_types types_of_reduction(op code, dtype type, const place& at) {
  switch (info(code).typing) {
    case rule::logical: return {dtype::boolean, dtype::boolean};
    case rule::reduce_sum: {
      const kind k = kind_of(type);
      const dtype wide = k == kind::truth || k == kind::signed_integer ? dtype::i64
                         : k == kind::unsigned_integer                   ? dtype::u64
                                                                         : type;
      return {wide, wide};
    }
    case rule::reduce_spread:
      if (is_complex(type)) throw_undefined(code, type, at, split_complex);
      if (is_integer_or_bool(type)) return {dtype::f64, dtype::f64};
      return {type, type};
    default:
      if (is_complex(type)) throw_undefined(code, type, at, split_complex);
      return {type, info(code).typing == rule::reduce_index ? dtype::i64 : type};
  }
}

shape reduced_extents(const shape& source, std::uint32_t axes, bool keep_dims) {
  shape out;
  for (int k = 0; k < source.rank(); ++k) {
    if (!(axes >> k & 1u)) out.append(source[k]);
    else if (keep_dims) out.append(1);
  }
  return out;
}

bool reduces_nothing(const shape& source, std::uint32_t axes) {
  for (int k = 0; k < source.rank(); ++k)
    if ((axes >> k & 1u) && source[k] == 0) return true;
  return false;
}

}  // namespace

dtype promote(dtype a, dtype b, std::string_view operation, const place& at) {
  if (a == b) return a;
  const int common = promote_different(a, b);
  if (common == no_dtype)
    throw_type_error(fmt::format("{}: no dtype holds both {} and {}", operation, to_string(a), to_string(b)), at,
                     "cast one first: x.astype(i64)");
  return static_cast<dtype>(common);
}

dtype common_type(std::span<const input> operands, std::string_view operation, const place& at) {
  dtype arrays = dtype::boolean, numbers = dtype::boolean;
  bool any_array = false, any_number = false;
  for (const input& x : operands) {
    if (x.array) {
      arrays = any_array ? promote(arrays, x.array->type, operation, at) : x.array->type;
      any_array = true;
    } else {
      const dtype t = dtype_of_number(x.number);
      numbers = any_number ? join_numbers(numbers, t) : t;
      any_number = true;
    }
  }
  if (!any_number) return arrays;
  return any_array ? adopt(arrays, numbers) : numbers;
}

shape broadcast_extents(std::span<const input> operands, std::string_view operation, const place& at) {
  if (const shape* shared = shared_extents(operands)) return *shared;
  shape common;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (!operands[k].array) continue;
    const shape& next = operands[k].array->extents;
    if (common.rank() == 0) {
      common = next;
      continue;
    }
    shape joined;
    if (!broadcast_into(common, next, joined)) throw_no_broadcast(operands, k, common, operation, at);
    common = joined;
  }
  return common;
}

node_ref record(op code, std::span<const input> operands, const place& at) {
  SINTER_CHECK(is_elementwise(code) && operands.size() == info(code).arity);
  switch (info(code).typing) {
    case rule::number: return record_number(code, operands, at);
    case rule::orderable: return record_orderable(code, operands, at);
    case rule::magnitude: return record_magnitude(code, operands, at);
    case rule::inexact: return record_inexact(code, operands, true, at);
    case rule::real: return record_inexact(code, operands, false, at);
    case rule::rounding: return record_rounding(code, operands, at);
    case rule::complex: return record_conj(code, operands, at);
    case rule::part: return record_part(code, operands, at);
    case rule::pair: return record_pair(code, operands, at);
    case rule::equality:
    case rule::compare: return record_compare(code, operands, at);
    case rule::test:
    case rule::test_real: return record_test(code, operands, at);
    case rule::logical: return apply(code, operands, dtype::boolean, dtype::boolean, at);
    case rule::bits: return record_bits(code, operands, at);
    case rule::shift: return record_shift(code, operands, at);
    case rule::words: return record_words(code, operands, at);
    case rule::choice: return record_choice(code, operands, at);
    default: throw_internal_error(fmt::format("record: {} has no elementwise rule", info(code).name));
  }
}

node_ref record_reduction(op code, const input& source, std::uint32_t axes, bool keep_dims, const place& at) {
  SINTER_CHECK(is_reduction(code));
  const reduction_types types = types_of_reduction(code, own_type(source), at);
  const node_ref from = as_type(source, types.source, at);
  const shape& extents = from->extents;
  SINTER_CHECK((axes >> extents.rank()) == 0);
  if (axes == 0) {  // each element alone: it is the result, stands at position 0, or deviates by nothing from itself
    if (code == op::reduce_deviations) {
      const input self{from.get(), {}, at}, both[] = {self, self};
      return record(op::subtract, both, at);
    }
    return info(code).typing != rule::reduce_index ? from
                                                   : constant_like({from.get(), {}, at}, scalar(0), dtype::i64, at);
  }
  if (node_ref simpler = simplify_reduction(code, from.get(), axes, keep_dims, at)) return simpler;
  const shape out = reduced_extents(extents, axes, keep_dims);
  const rule typing = info(code).typing;
  const bool has_identity = typing == rule::reduce_sum || typing == rule::logical || typing == rule::reduce_spread;
  if (!has_identity && reduces_nothing(extents, axes) && out.size() > 0)
    throw_shape_error(fmt::format("{}: shape {} has no elements along the reduced axes", info(code).name,
                                  to_string(extents)),
                      at, "only sums, products, any and all of nothing have a value");
  auto facts = std::make_unique<attribute>();
  facts->reduced = axes;
  facts->keep_dims = keep_dims;
  node* operand = from.get();
  return make_node(code, types.result, out, {&operand, 1}, at, std::move(facts));
}

node_ref record_scan(op code, const input& source, int axis, const place& at) {
  SINTER_CHECK(is_scan(code));
  const reduction_types types = types_of_reduction(code, own_type(source), at);
  const node_ref from = as_type(source, types.source, at);
  const shape& extents = from->extents;
  SINTER_CHECK(axis >= 0 && axis < extents.rank());
  if (extents[axis] <= 1) return from;
  auto facts = std::make_unique<attribute>();
  facts->axis = axis;
  node* operand = from.get();
  return make_node(code, types.result, extents, {&operand, 1}, at, std::move(facts));
}

}  // namespace sinter::jit
