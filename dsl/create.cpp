#include "dsl/create.hpp"

#include "dsl/record_internal.hpp"
#include "dsl/shape_ops.hpp"

#include <fmt/format.h>

#include <cmath>

namespace sinter {

using jit::op;

namespace {

/// Lengths beyond this could not be allocated in any dtype.
constexpr std::int64_t most_elements = std::int64_t{1} << 61;

array filled(const shape& extents, const scalar& value, dtype type, const place& at) {
  checked_bytes(extents, type, at);
  return wrap(jit::make_broadcast(jit::make_scalar(value, type, at).get(), extents, at));
}

dtype natural_type(const scalar& x) { return x.type == u64 && x.as_u64 < std::uint64_t{1} << 63 ? i64 : x.type; }

[[noreturn]] void throw_length(std::string_view operation, const place& at) {
  throw_shape_error(fmt::format("{}: the length is beyond limits", operation), at);
}

std::int64_t whole(const scalar& x, const place& at) {
  if (x.type == boolean) return x.as_bool;
  if (x.type == i64) return x.as_i64;
  if (x.as_u64 >= std::uint64_t{1} << 63) throw_type_error(fmt::format("arange: {} does not fit i64", x.as_u64), at);
  return static_cast<std::int64_t>(x.as_u64);
}

double real_number(const scalar& x, const place& at) {
  switch (x.type) {
    case boolean:
      return x.as_bool ? 1 : 0;
    case i64:
      return static_cast<double>(x.as_i64);
    case u64:
      return static_cast<double>(x.as_u64);
    case f64:
      return x.as_f64;
    default:
      throw_type_error("arange: not defined for complex numbers", at);
  }
}

array whole_range(std::int64_t start, std::int64_t stop, std::int64_t step, dtype type, const place& at) {
  if (step == 0) throw_shape_error("arange: the step is 0", at);
  // Unsigned differences: those of signed numbers may not fit.
  const auto distance = step > 0 ? static_cast<std::uint64_t>(stop) - static_cast<std::uint64_t>(start)
                                 : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(stop);
  const auto pace = step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
  const bool ahead = step > 0 ? start < stop : stop < start;
  const std::uint64_t length = ahead ? (distance - 1) / pace + 1 : 0;
  if (length > static_cast<std::uint64_t>(most_elements)) throw_length("arange", at);
  if (is_integer(type) && length > 0) {  // numbers that the dtype can't hold are errors, never a wrap
    jit::make_scalar(start, type, at);
    jit::make_scalar(start + static_cast<std::int64_t>(length - 1) * step, type, at);
  }
  array x = iota(static_cast<std::int64_t>(length), at);
  if (step != 1) x = record(op::multiply, x, step, at);
  if (start != 0) x = record(op::add, x, start, at);
  return convert(x, type, at);
}

array real_range(double start, double stop, double step, dtype type, const place& at) {
  if (step == 0) throw_shape_error("arange: the step is 0", at);
  const double length = std::ceil((stop - start) / step);
  if (!(length <= static_cast<double>(most_elements))) throw_length("arange", at);
  array x = convert(iota(length > 0 ? static_cast<std::int64_t>(length) : 0, at), f64, at);
  x = record(op::multiply, x, (start + step) - start, at);  // NumPy's step: the rounded distance of the first two
  if (start != 0) x = record(op::add, x, start, at);
  return convert(x, type, at);
}

bool is_whole(const scalar& x) { return is_integer_or_bool(x.type); }

/// Condition [n, m] of row and column numbers.
array band(op comparison, std::int64_t n, std::int64_t m, std::int64_t k, std::string_view operation, const place& at) {
  shape extents;
  append_extent(extents, n, operation, at);
  append_extent(extents, m, operation, at);
  const array rows = reshape(iota(n, at), shape{n, 1}, at), columns = iota(m, at);
  return record(comparison, k == 0 ? rows : record(op::add, rows, k, at), columns, at);
}

array keep_band(const array& x, op comparison, std::int64_t k, std::string_view operation, const place& at) {
  if (x.rank() < 2)
    throw_shape_error(fmt::format("{}: shape {} has no rows and columns", operation, to_string(x.extents())), at);
  const array inside = band(comparison, x.extents()[x.rank() - 2], x.extents()[x.rank() - 1], k, operation, at);
  const jit::input in[] = {input_of(inside, at), input_of(x, at), input_of(scalar(false), at)};
  return wrap(jit::record(op::select, in, at));
}

}  // namespace

array iota(std::int64_t n, const place& at) { return wrap(jit::make_node(op::iota, i64, shape{n}, {}, at)); }

array zeros(const shape& extents, dtype type, place at) { return filled(extents, false, type, at); }
array ones(const shape& extents, dtype type, place at) { return filled(extents, true, type, at); }
array full(const shape& extents, const scalar& value, place at) {
  return filled(extents, value, natural_type(value), at);
}
array full(const shape& extents, const scalar& value, dtype type, place at) { return filled(extents, value, type, at); }
array zeros_like(const array& x, place at) { return filled(x.extents(), false, x.type(), at); }
array ones_like(const array& x, place at) { return filled(x.extents(), true, x.type(), at); }
array full_like(const array& x, const scalar& value, place at) { return filled(x.extents(), value, x.type(), at); }

array arange(const scalar& stop, place at) { return arange(0, stop, 1, at); }
array arange(const scalar& stop, dtype type, place at) { return arange(0, stop, 1, type, at); }
array arange(const scalar& start, const scalar& stop, place at) { return arange(start, stop, 1, at); }
array arange(const scalar& start, const scalar& stop, dtype type, place at) { return arange(start, stop, 1, type, at); }
array arange(const scalar& start, const scalar& stop, const scalar& step, place at) {
  return arange(start, stop, step, is_whole(start) && is_whole(stop) && is_whole(step) ? i64 : f64, at);
}
array arange(const scalar& start, const scalar& stop, const scalar& step, dtype type, place at) {
  if (is_whole(start) && is_whole(stop) && is_whole(step))
    return whole_range(whole(start, at), whole(stop, at), whole(step, at), type, at);
  return real_range(real_number(start, at), real_number(stop, at), real_number(step, at), type, at);
}

array linspace(double start, double stop, std::int64_t count, bool endpoint, dtype type, place at) {
  shape extents;
  append_extent(extents, count, "linspace", at);
  if (count > most_elements) throw_length("linspace", at);
  const auto parts = static_cast<double>(endpoint ? count - 1 : count);
  const double delta = stop - start, step = delta / parts;
  array x = convert(iota(count, at), f64, at);
  if (parts > 0 && step != 0) {
    x = record(op::multiply, x, step, at);
  } else {  // one number only, or a step too small for f64
    if (parts > 0) x = record(op::divide, x, parts, at);
    x = record(op::multiply, x, delta, at);
  }
  x = record(op::add, x, start, at);
  if (endpoint && count > 1) {  // rounding must not miss the end
    const array is_last = record(op::equal, iota(count, at), count - 1, at);
    const jit::input in[] = {input_of(is_last, at), input_of(scalar(stop), at), input_of(x, at)};
    x = wrap(jit::record(op::select, in, at));
  }
  return convert(is_integer(type) ? record(op::floor, x, at) : x, type, at);
}

array eye(std::int64_t n, dtype type, place at) { return eye(n, n, 0, type, at); }
array eye(std::int64_t n, std::int64_t m, int k, dtype type, place at) {
  return convert(band(op::equal, n, m, k, "eye", at), type, at);
}
array tri(std::int64_t n, dtype type, place at) { return tri(n, n, 0, type, at); }
array tri(std::int64_t n, std::int64_t m, int k, dtype type, place at) {
  return convert(band(op::greater_equal, n, m, k, "tri", at), type, at);
}
array tril(const array& x, int k, place at) { return keep_band(x, op::greater_equal, k, "tril", at); }
array triu(const array& x, int k, place at) { return keep_band(x, op::less_equal, k, "triu", at); }

array one_hot(const array& indices, std::int64_t depth, dtype type, place at) {
  if (!is_integer(indices.type()))
    throw_type_error(fmt::format("one_hot: indices are {}, not integers", to_string(indices.type())), at,
                     "indices.astype(i64)");
  shape columns;
  append_extent(columns, depth, "one_hot", at);
  // Unsigned 64-bit indices have no common dtype with i64; others compare as i64.
  const array classes = convert(iota(depth, at), indices.type() == u64 ? u64 : i64, at);
  return convert(record(op::equal, expand_dims(indices, -1, at), classes, at), type, at);
}

std::vector<array> meshgrid(std::initializer_list<array> coordinates, grid_order order, place at) {
  return meshgrid(std::span<const array>(coordinates.begin(), coordinates.size()), order, at);
}

std::vector<array> meshgrid(std::span<const array> coordinates, grid_order order, place at) {
  const auto count = static_cast<int>(coordinates.size());
  // The axis a coordinate runs along: its own number, the first two swapped in xy order.
  const auto axis_of = [&](int k) { return order == grid_order::xy && count > 1 && k < 2 ? 1 - k : k; };
  shape extents;
  for (int axis = 0; axis < count; ++axis) {
    const array& x = coordinates[static_cast<std::size_t>(axis_of(axis))];  // swapping twice changes nothing
    if (x.rank() > 1)
      throw_shape_error(fmt::format("meshgrid: coordinates have one axis, not shape {}", to_string(x.extents())), at);
    append_extent(extents, x.size(), "meshgrid", at);
  }
  std::vector<array> grids;
  for (int k = 0; k < count; ++k) {
    shape own;
    for (int axis = 0; axis < count; ++axis) own.append(axis == axis_of(k) ? extents[axis] : 1);
    grids.push_back(broadcast_to(reshape(coordinates[static_cast<std::size_t>(k)], own, at), extents, at));
  }
  return grids;
}

}  // namespace sinter
