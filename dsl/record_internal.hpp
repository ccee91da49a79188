// What the .cpp files of dsl/ share: from arrays and operands to recorded nodes. Not installed.
#pragma once

#include "dsl/array.hpp"
#include "dsl/axes.hpp"
#include "jit/typing.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sinter {

inline array wrap(jit::node_ref n) { return array::adopt(n.leave()); }
/// The node of an array that is not needed any more.
inline jit::node_ref unwrap(array&& a) {
  jit::node* n = a.leave();
  return n ? jit::node_ref(n) : jit::node_ref::share(a.node());
}

inline jit::input input_of(const operand& x) { return {x.node(), x.number(), x.at(), nullptr}; }
/// For what uses x once only: a temporary array is taken apart.
inline jit::input last_input_of(const operand& x) { return {x.node(), x.number(), x.at(), x.spare()}; }
inline jit::input input_of(const array& x, const place& at) { return {x.node(), {}, at, nullptr}; }
inline jit::input input_of(const scalar& x, const place& at) { return {nullptr, x, at, nullptr}; }

inline array record(jit::op code, const operand& a) {
  const jit::input in[] = {input_of(a)};
  return wrap(jit::record(code, in, a.at()));
}
inline array record(jit::op code, const array& x, const place& at) {
  const jit::input in[] = {input_of(x, at)};
  return wrap(jit::record(code, in, at));
}
/// For the operations themselves: a and b are used once only.
inline array record_last(jit::op code, const operand& a, const operand& b) {
  const jit::input in[] = {last_input_of(a), last_input_of(b)};
  return wrap(jit::record(code, in, a.at()));
}
inline array record(jit::op code, const operand& a, const operand& b) {
  const jit::input in[] = {input_of(a), input_of(b)};
  return wrap(jit::record(code, in, a.at()));
}
/// For functions made of several operations, which all report the line of the call: arrays and numbers as inputs.
inline array record(jit::op code, const jit::input& a, const jit::input& b, const place& at) {
  const jit::input in[] = {a, b};
  return wrap(jit::record(code, in, at));
}
/// `a` where `condition` holds, else `b`.
inline array choose(const array& condition, const jit::input& a, const jit::input& b, const place& at) {
  const jit::input in[] = {input_of(condition, at), a, b};
  return wrap(jit::record(jit::op::select, in, at));
}
inline array record(jit::op code, const array& a, const scalar& b, const place& at) {
  return record(code, input_of(a, at), input_of(b, at), at);
}
inline array record(jit::op code, const array& a, const array& b, const place& at) {
  return record(code, input_of(a, at), input_of(b, at), at);
}

inline array convert(const array& x, dtype type, const place& at) {
  return wrap(jit::make_convert(x.node(), type, at));
}
/// x itself, or as f64 when it counts integers or truth.
inline array as_inexact(const array& x, const place& at) {
  return is_integer_or_bool(x.type()) ? convert(x, f64, at) : x;
}
/// A 0-d constant.
inline array constant(const scalar& number, dtype type, const place& at) {
  return wrap(jit::make_scalar(number, type, at));
}
/// The positions 0, 1, ... n - 1: i64 [n].
array iota(std::int64_t n, const place& at);

/// `axis` counted from the front. Throws shape_error naming `operation` outside [-rank, rank).
int checked_axis(int axis, int rank, std::string_view operation, const place& at);
/// The listed axes, each counted from the front. Throws shape_error for bad and repeated ones.
std::vector<int> checked_axes(const axes& list, int rank, std::string_view operation, const place& at);
/// The same as a set of bits; all of them when the list says so.
std::uint32_t axis_bits(const axes& list, int rank, std::string_view operation, const place& at);
/// Appends an extent; shape_error at `at` when it is negative or the rank would pass the limit.
void append_extent(shape& extents, std::int64_t extent, std::string_view operation, const place& at);

/// View of x by one map per axis of x.
array view(const array& x, std::span<const jit::axis_map> map, const shape& extents, const place& at);

/// Throws type_error when an array of `to` can't take values of `from`: conversions go within a kind or upwards, bool <
/// unsigned < signed < real < complex (NumPy's "same kind").
void check_kind(dtype to, dtype from, std::string_view operation, const place& at, std::string_view hint);

/// Which axis an index array reads.
struct indexed_axis {
  int axis;
  const array* values;
};
/// Elements of x at index arrays. The axes of their common shape come before axis `first` of the other axes of x.
/// Throws type_error for indices that aren't integers, shape_error when they don't broadcast, index_error when an axis
/// without elements is read.
array gather(const array& x, std::span<const indexed_axis> indexed, int first, const place& at);

}  // namespace sinter
