#include "dsl/join.hpp"

#include "dsl/device.hpp"
#include "dsl/record_internal.hpp"
#include "dsl/shape_ops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace sinter {

using jit::axis_map;
using jit::op;

namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

// ---- Parts of one axis ----

/// Elements first, first + step, ... of an axis.
struct run {
  std::int64_t first, step, count;
};

array part(const array& x, int axis, const run& taken, const place& at) {
  if (taken.step == 1 && taken.count == x.extents()[axis]) return x;
  axis_map map[max_rank];
  shape extents = x.extents();
  for (int k = 0; k < x.rank(); ++k) map[k] = {0, 1, k};
  map[axis] = {taken.first, taken.count <= 1 ? 0 : taken.step, axis};
  extents[axis] = taken.count;
  return view(x, {map, static_cast<std::size_t>(x.rank())}, extents, at);
}

/// No elements in another shape; on the device of x, which has none either.
array nothing(const array& x, const shape& extents, const place& at) {
  if (x.extents() == extents) return x;
  const axis_map map[max_rank];
  return view(x, {map, static_cast<std::size_t>(x.rank())}, extents, at);
}

// ---- Joins ----

array join_pieces(std::span<const array> pieces, int axis, const place& at) {
  constexpr std::size_t most = 0x8000;  // a node has fewer than 2^16 operands
  if (pieces.size() > most) {
    std::vector<array> groups;
    for (std::size_t k = 0; k < pieces.size(); k += most)
      groups.push_back(join_pieces(pieces.subspan(k, std::min(most, pieces.size() - k)), axis, at));
    return join_pieces(groups, axis, at);
  }
  if (pieces.size() == 1) return pieces[0];
  std::vector<jit::node*> nodes;
  for (const array& piece : pieces) nodes.push_back(piece.node());
  return wrap(jit::make_join(nodes, axis, at));
}

void check_some(std::span<const array> arrays, std::string_view operation, const place& at) {
  if (arrays.empty()) throw_shape_error(fmt::format("{}: no arrays to join", operation), at);
}

/// The shape of the arrays end to end.
shape joined_extents(std::span<const array> arrays, int axis, std::string_view operation, const place& at) {
  const shape& first = arrays[0].extents();
  shape extents = first;
  extents[axis] = 0;
  for (std::size_t n = 0; n < arrays.size(); ++n) {
    const shape& next = arrays[n].extents();
    const auto fail = [&](const std::string& why) {
      throw_shape_error(fmt::format("{}: shapes {} and {} of arrays 0 and {} {}", operation, to_string(first),
                                    to_string(next), n, why),
                        at);
    };
    if (next.rank() != first.rank()) fail("differ in rank");
    for (int k = 0; k < first.rank(); ++k)
      if (k != axis && next[k] != first[k]) fail(fmt::format("differ along axis {}", k));
    if (next[axis] > largest - extents[axis])
      throw_shape_error(fmt::format("{}: the result is too large", operation), at);
    extents[axis] += next[axis];
  }
  return extents;
}

dtype joined_type(std::span<const array> arrays, std::string_view operation, const place& at) {
  std::vector<jit::input> inputs;
  for (const array& x : arrays) inputs.push_back(input_of(x, at));
  return jit::common_type(inputs, operation, at);
}

array joined(std::span<const array> arrays, int axis, std::string_view operation, const place& at) {
  check_some(arrays, operation, at);
  if (arrays[0].rank() == 0)
    throw_shape_error(fmt::format("{}: arrays without axes have no ends to join", operation), at,
                      "stack(...) joins arrays along a new axis");
  const int along = checked_axis(axis, arrays[0].rank(), operation, at);
  const shape extents = joined_extents(arrays, along, operation, at);
  const dtype type = joined_type(arrays, operation, at);
  checked_bytes(extents, type, at);
  std::vector<array> pieces;
  for (const array& x : arrays)
    if (x.size() > 0) pieces.push_back(convert(x, type, at));
  if (pieces.empty()) return nothing(convert(arrays[0], type, at), extents, at);
  return join_pieces(pieces, along, at);
}

/// With unit axes up to that rank: [n] counts as [1, n] and [1, n, 1], [n, m] as [n, m, 1].
std::vector<array> at_least(std::span<const array> arrays, int rank, const place& at) {
  std::vector<array> out;
  for (const array& x : arrays) {
    shape extents;
    if (x.rank() == 1 && rank > 1) extents.append(1);
    for (std::int64_t n : x.extents()) extents.append(n);
    while (extents.rank() < rank) extents.append(1);
    out.push_back(reshape(x, extents, at));
  }
  return out;
}

std::span<const array> listed(std::initializer_list<array> arrays) { return {arrays.begin(), arrays.size()}; }

}  // namespace

array concat(std::initializer_list<array> arrays, int axis, place at) { return concat(listed(arrays), axis, at); }
array concat(std::span<const array> arrays, int axis, place at) { return joined(arrays, axis, "concat", at); }

array stack(std::initializer_list<array> arrays, int axis, place at) { return stack(listed(arrays), axis, at); }
array stack(std::span<const array> arrays, int axis, place at) {
  check_some(arrays, "stack", at);
  const shape& first = arrays[0].extents();
  if (first.rank() == max_rank)
    throw_shape_error(fmt::format("stack: the result would have more than {} axes", max_rank), at);
  const int along = checked_axis(axis, first.rank() + 1, "stack", at);
  std::vector<array> pieces;
  for (const array& x : arrays) {
    if (x.extents() != first)
      throw_shape_error(fmt::format("stack: shapes {} and {} of arrays 0 and {} differ", to_string(first),
                                    to_string(x.extents()), pieces.size()),
                        at);
    pieces.push_back(expand_dims(x, along, at));
  }
  return joined(pieces, along, "stack", at);
}

array hstack(std::initializer_list<array> arrays, place at) { return hstack(listed(arrays), at); }
array hstack(std::span<const array> arrays, place at) {
  const std::vector<array> pieces = at_least(arrays, 1, at);
  return joined(pieces, !pieces.empty() && pieces[0].rank() > 1 ? 1 : 0, "hstack", at);
}

array vstack(std::initializer_list<array> arrays, place at) { return vstack(listed(arrays), at); }
array vstack(std::span<const array> arrays, place at) { return joined(at_least(arrays, 2, at), 0, "vstack", at); }

array dstack(std::initializer_list<array> arrays, place at) { return dstack(listed(arrays), at); }
array dstack(std::span<const array> arrays, place at) { return joined(at_least(arrays, 3, at), 2, "dstack", at); }

// ---- Padding ----

namespace {

/// More pieces than this are gathers instead: source and compile time grow with the pieces.
constexpr std::size_t most_pieces = 16;

/// A width per axis, and the extents that come out.
struct padding {
  pad_width width[max_rank];
  shape extents;
};

padding checked_padding(const shape& extents, std::span<const pad_width> widths, const place& at) {
  const int rank = extents.rank();
  if (widths.size() != 1 && widths.size() != static_cast<std::size_t>(rank))
    throw_shape_error(fmt::format("pad: {} widths for an array of rank {}", widths.size(), rank), at,
                      "one width {before, after} for all axes, or one for each");
  for (const pad_width& w : widths)
    if (w.before < 0 || w.after < 0)
      throw_shape_error(fmt::format("pad: width {} is negative", std::min(w.before, w.after)), at,
                        "x(range(first, last)) takes elements away");
  padding p;
  for (int k = 0; k < rank; ++k) {
    const pad_width& w = p.width[k] = widths[widths.size() == 1 ? 0 : static_cast<std::size_t>(k)];
    const std::int64_t n = extents[k];
    if (w.before > largest - n || w.after > largest - n - w.before)
      throw_shape_error("pad: the result is too large", at);
    p.extents.append(w.before + n + w.after);
  }
  return p;
}

array filler(const operand& value, dtype type, const place& at) {
  const jit::node* given = value.node();
  if (!given) return constant(value.number(), type, at);
  if (given->extents.rank() != 0)
    throw_shape_error(fmt::format("pad: the value has shape {}, not []", to_string(given->extents)), at);
  check_kind(type, given->type, "pad", at, fmt::format("pad x.astype({})", to_string(given->type)));
  return wrap(jit::make_convert(value.node(), type, at));
}

array pad_constant(const array& x, const padding& p, const operand& value, const place& at) {
  const array fill = filler(value, x.type(), at);
  if (p.extents == x.extents()) return x;
  const array base = wrap(jit::make_broadcast(fill.node(), p.extents, at));
  if (x.size() == 0) return base;
  jit::axis_maps region;
  for (int k = 0; k < x.rank(); ++k) region.push_back({p.width[k].before, 1, k});
  return wrap(jit::make_update(base.node(), x.node(), region, at));
}

/// Positions [from, to) of an axis of n > 1 elements (0 .. n - 1 are its own) as runs of it; stops after too many.
void append_runs(std::vector<run>& runs, std::int64_t from, std::int64_t to, std::int64_t n, pad_mode mode) {
  // Blocks of the same length all along, every other one reversed. Reflected blocks leave out one end.
  const std::int64_t block = mode == pad_mode::reflect ? n - 1 : n;
  while (from < to && runs.size() <= most_pieces) {
    const std::int64_t within = (from % block + block) % block, number = (from - within) / block;
    const std::int64_t count = std::min(block - within, to - from);
    if (mode != pad_mode::wrap && number % 2 != 0) runs.push_back({n - 1 - within, -1, count});
    else runs.push_back({within, 1, count});
    from += count;
  }
}

/// The same as indices, computed: those of positions -before, .. of an axis of n > 1 elements. i64 [total].
array padded_positions(std::int64_t before, std::int64_t total, std::int64_t n, pad_mode mode, const place& at) {
  if (mode == pad_mode::edge)
    return record(op::minimum, record(op::maximum, record(op::subtract, iota(total, at), before, at), 0, at), n - 1,
                  at);
  const std::int64_t period = mode == pad_mode::wrap ? n : mode == pad_mode::reflect ? 2 * (n - 1) : 2 * n;
  const std::int64_t start = (period - before % period) % period;
  const array phase = record(op::remainder, record(op::add, iota(total, at), start, at), period, at);
  if (mode == pad_mode::wrap) return phase;
  const std::int64_t turn = mode == pad_mode::reflect ? period : period - 1;
  return record(op::minimum, phase, record(op::subtract, input_of(turn, at), input_of(phase, at), at), at);
}

/// One axis padded with its own elements. `pieces`: of all axes so far, which multiply.
array pad_axis(const array& x, int axis, const pad_width& w, pad_mode mode, std::size_t& pieces, const place& at) {
  const std::int64_t n = x.extents()[axis], total = w.before + n + w.after;
  if (total == n) return x;
  if (n == 1) return part(x, axis, {0, 0, total}, at);
  std::vector<run> runs;
  if (mode == pad_mode::edge) {
    if (w.before > 0) runs.push_back({0, 0, w.before});
    runs.push_back({0, 1, n});
    if (w.after > 0) runs.push_back({n - 1, 0, w.after});
  } else {
    append_runs(runs, -w.before, 0, n, mode);
    runs.push_back({0, 1, n});
    append_runs(runs, n, n + w.after, n, mode);
  }
  if (pieces * runs.size() > most_pieces) return take(x, padded_positions(w.before, total, n, mode, at), axis, at);
  pieces *= runs.size();
  std::vector<array> parts;
  for (const run& r : runs) parts.push_back(part(x, axis, r, at));
  return join_pieces(parts, axis, at);
}

}  // namespace

array pad(const array& x, std::initializer_list<pad_width> widths, pad_mode mode, const operand& value, place at) {
  return pad(x, std::span<const pad_width>(widths.begin(), widths.size()), mode, value, at);
}

array pad(const array& x, std::int64_t width, pad_mode mode, const operand& value, place at) {
  const pad_width both{width, width};
  return pad(x, std::span<const pad_width>(&both, 1), mode, value, at);
}

array pad(const array& x, std::span<const pad_width> widths, pad_mode mode, const operand& value, place at) {
  const padding p = checked_padding(x.extents(), widths, at);
  checked_bytes(p.extents, x.type(), at);
  if (mode == pad_mode::constant) return pad_constant(x, p, value, at);
  for (int k = 0; k < x.rank(); ++k)
    if (x.extents()[k] == 0 && p.extents[k] > 0)
      throw_shape_error(fmt::format("pad: axis {} of shape {} has no elements to pad with", k, to_string(x.extents())),
                        at, "only pad_mode::constant pads nothing");
  if (x.size() == 0) return nothing(x, p.extents, at);
  array padded = x;
  std::size_t pieces = 1;
  for (int k = 0; k < x.rank(); ++k) padded = pad_axis(padded, k, p.width[k], mode, pieces, at);
  return padded;
}

// ---- Rolling ----

namespace {

/// `shift` within [0, n), n > 0.
std::int64_t wrapped(std::int64_t shift, std::int64_t n) {
  const std::int64_t rest = shift % n;
  return rest < 0 ? rest + n : rest;
}

/// x moved by shift within [0, extent).
array roll_axis(const array& x, std::int64_t shift, int axis, const place& at) {
  if (shift == 0 || x.size() == 0) return x;
  const std::int64_t stay = x.extents()[axis] - shift;
  const array pieces[] = {part(x, axis, {stay, 1, shift}, at), part(x, axis, {0, 1, stay}, at)};
  return join_pieces(pieces, axis, at);
}

}  // namespace

array roll(const array& x, std::int64_t shift, int axis, place at) { return roll(x, {shift}, axes(axis), at); }

array roll(const array& x, std::initializer_list<std::int64_t> shifts, const axes& over, place at) {
  std::vector<int> list(over.list().begin(), over.list().end());
  if (over.all())
    for (int k = 0; k < x.rank(); ++k) list.push_back(k);
  if (shifts.size() != list.size() && shifts.size() != 1 && list.size() != 1)
    throw_shape_error(fmt::format("roll: {} shifts along {} axes", shifts.size(), list.size()), at);
  std::int64_t total[max_rank] = {};
  for (std::size_t k = 0; k < std::max(shifts.size(), list.size()); ++k) {
    if (shifts.size() == 0 || list.empty()) break;
    const int axis = checked_axis(list[list.size() == 1 ? 0 : k], x.rank(), "roll", at);
    const std::int64_t n = x.extents()[axis], shift = shifts.begin()[shifts.size() == 1 ? 0 : k];
    if (n > 0) total[axis] -= n - wrapped(shift, n);  // not + wrapped: that may pass 2^63
    if (total[axis] < 0) total[axis] += n;
  }
  array rolled = x;
  for (int k = 0; k < x.rank(); ++k) rolled = roll_axis(rolled, total[k], k, at);
  return rolled;
}

array roll(const array& x, std::int64_t shift, place at) {
  return reshape(roll(ravel(x, at), shift, 0, at), x.extents(), at);
}

// ---- Repetition ----

namespace {

/// So many copies along a new axis, in front of an old one or behind the last.
struct copies {
  int axis;
  std::int64_t times;
};

/// The extents with those axes among them, of extent 1 or with their copies.
shape inserted(const shape& extents, std::span<const copies> list, bool as_units) {
  shape out;
  for (int k = 0; k <= extents.rank(); ++k) {
    for (const copies& c : list)
      if (c.axis == k) out.append(as_units ? 1 : c.times);
    if (k < extents.rank()) out.append(extents[k]);
  }
  return out;
}

array insert_copies(const array& x, std::span<const copies> list, const place& at) {
  return broadcast_to(reshape(x, inserted(x.extents(), list, true), at), inserted(x.extents(), list, false), at);
}

std::int64_t checked_times(std::int64_t n, std::int64_t times, std::string_view operation, const place& at) {
  if (times < 0) throw_shape_error(fmt::format("{}: {} times is negative", operation, times), at);
  if (n > 0 && times > largest / n) throw_shape_error(fmt::format("{}: the result is too large", operation), at);
  return n * times;
}

/// x with copies along a new axis, which is then merged into a neighbour. Also of rank 16.
array merge_copies(const array& x, const copies& c, const shape& extents, const place& at) {
  if (x.size() == 0) return nothing(x, extents, at);
  if (x.rank() < max_rank) return reshape(insert_copies(x, {&c, 1}, at), extents, at);
  shape halves{1, 1};
  for (int k = 0; k < x.rank(); ++k) halves[k < c.axis ? 0 : 1] *= x.extents()[k];
  const copies between{1, c.times};
  return reshape(insert_copies(reshape(x, halves, at), {&between, 1}, at), extents, at);
}

}  // namespace

array tile(const array& x, std::initializer_list<std::int64_t> times, place at) {
  const auto given = static_cast<int>(std::min(times.size(), std::size_t{max_rank} + 1));
  const int rank = std::max(x.rank(), given);
  if (rank > max_rank) throw_shape_error(fmt::format("tile: the result would have more than {} axes", max_rank), at);
  shape from;
  while (from.rank() < rank - x.rank()) from.append(1);
  for (std::int64_t n : x.extents()) from.append(n);
  shape extents = from;
  std::vector<copies> list;
  for (int k = rank - given; k < rank; ++k) {
    const std::int64_t count = times.begin()[k - (rank - given)];
    extents[k] = checked_times(from[k], count, "tile", at);
    if (count != 1) list.push_back({k, count});
  }
  checked_bytes(extents, x.type(), at);
  array tiled = reshape(x, from, at);
  if (rank + static_cast<int>(list.size()) <= max_rank) return reshape(insert_copies(tiled, list, at), extents, at);
  for (const copies& c : list) {  // too many axes at once
    from[c.axis] = extents[c.axis];
    tiled = merge_copies(tiled, c, from, at);
  }
  return tiled;
}

array repeat(const array& x, std::int64_t times, int axis, place at) {
  const int k = checked_axis(axis, x.rank(), "repeat", at);
  shape extents = x.extents();
  extents[k] = checked_times(extents[k], times, "repeat", at);
  checked_bytes(extents, x.type(), at);
  return times == 1 ? x : merge_copies(x, {k + 1, times}, extents, at);
}

array repeat(const array& x, std::int64_t times, place at) { return repeat(ravel(x, at), times, 0, at); }

array repeat(const array& x, std::span<const std::int64_t> times, int axis, place at) {
  const int k = checked_axis(axis, x.rank(), "repeat", at);
  shape extents = x.extents();
  const std::int64_t n = extents[k];
  if (times.size() != static_cast<std::size_t>(n))
    throw_shape_error(fmt::format("repeat: {} counts for the {} elements of axis {}", times.size(), n, k), at,
                      "repeat(x, times, axis) repeats all elements alike");
  extents[k] = 0;
  for (std::int64_t count : times) {
    if (count < 0) throw_shape_error(fmt::format("repeat: {} times is negative", count), at);
    if (count > largest - extents[k]) throw_shape_error("repeat: the result is too large", at);
    extents[k] += count;
  }
  checked_bytes(extents, i64, at);
  std::vector<std::int64_t> positions;
  for (std::size_t i = 0; i < times.size(); ++i)
    positions.insert(positions.end(), static_cast<std::size_t>(times[i]), static_cast<std::int64_t>(i));
  return take(x, array(positions, at).to(x.device(), at), k, at);
}

// ---- Splitting ----

namespace {

void check_sections(std::int64_t sections, std::string_view operation, const place& at) {
  if (sections < 1) throw_shape_error(fmt::format("{}: into {} sections", operation, sections), at);
}

}  // namespace

std::vector<array> split(const array& x, std::int64_t sections, int axis, place at) {
  const int k = checked_axis(axis, x.rank(), "split", at);
  check_sections(sections, "split", at);
  if (x.extents()[k] % sections != 0)
    throw_shape_error(fmt::format("split: axis {} of shape {} in {} sections does not come out even", k,
                                  to_string(x.extents()), sections),
                      at, "array_split(x, sections, axis) makes parts of different length");
  return array_split(x, sections, axis, at);
}

std::vector<array> split(const array& x, std::span<const std::int64_t> positions, int axis, place at) {
  const int k = checked_axis(axis, x.rank(), "split", at);
  const std::int64_t n = x.extents()[k];
  std::vector<array> parts;
  std::int64_t first = 0;
  const auto end_at = [&](std::int64_t last) {
    parts.push_back(part(x, k, {first, 1, std::max(last - first, std::int64_t{0})}, at));
    first = last;
  };
  for (std::int64_t p : positions) end_at(std::clamp(p < 0 ? p + n : p, std::int64_t{0}, n));
  end_at(n);
  return parts;
}

std::vector<array> array_split(const array& x, std::int64_t sections, int axis, place at) {
  const int k = checked_axis(axis, x.rank(), "array_split", at);
  check_sections(sections, "array_split", at);
  const std::int64_t length = x.extents()[k] / sections, longer = x.extents()[k] % sections;
  std::vector<array> parts;
  std::int64_t first = 0;
  for (std::int64_t i = 0; i < sections; ++i) {
    const std::int64_t count = i < longer ? length + 1 : length;
    parts.push_back(part(x, k, {first, 1, count}, at));
    first += count;
  }
  return parts;
}

}  // namespace sinter
