// Finding elements by their values, made of the library's own lazy operations, so that every device runs it in
// parallel: positions of true elements by a scan and a scatter, different values by sorting.
#include "dsl/masks.hpp"

#include "dsl/create.hpp"
#include "dsl/join.hpp"
#include "dsl/record_internal.hpp"
#include "dsl/scan.hpp"
#include "dsl/shape_ops.hpp"
#include "dsl/sort_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace sinter {

namespace {

using jit::axis_map;
using jit::op;

/// With so few elements, positions and counts (and what is computed of them) fit i32, which is faster than i64.
constexpr std::int64_t most_narrow = std::int64_t{1} << 30;
dtype counting_type(std::int64_t elements) { return elements <= most_narrow ? i32 : i64; }

array choose(const array& condition, const array& a, const array& b, const place& at) {
  return choose(condition, input_of(a, at), input_of(b, at), at);
}

/// Elements first, first + 1, ... of an array of rank 1.
array part(const array& x, std::int64_t first, std::int64_t count, const place& at) {
  const axis_map map[] = {{first, 1, 0}};
  return view(x, map, shape{count}, at);
}

void evaluate(std::span<const array> arrays, const place& at) { eval_all(arrays, at); }
void evaluate(const array& x, const place& at) { eval_all(std::span<const array>(&x, 1), at); }

// ---- Positions of true elements ----

/// Positions in C order of the elements that aren't zero: i64 [count], pending. A scan counts them, which is waited
/// for; each then writes its position where its number says.
array true_positions(const array& x, const place& at) {
  const array mask = ravel(convert(x, boolean, at), at);
  const std::int64_t n = mask.size();
  if (n == 0) return convert(mask, i64, at);
  const array number = cumsum(mask, {.axis = 0, .type = counting_type(n)}, at);
  const array both[] = {mask, number};
  evaluate(x.is_evaluated() ? std::span<const array>(both + 1, 1) : std::span<const array>(both), at);
  const auto total = part(number, n - 1, 1, at).item<std::int64_t>(at);
  const array base = zeros({total}, i64, at);
  if (total == 0) return convert(part(mask, 0, 0, at), i64, at);  // of x: on its device
  auto facts = std::make_unique<jit::attribute>();
  facts->gather = {{-1, 2}};
  facts->conditional = true;
  const array place_of = record(op::subtract, number, 1, at);
  jit::node* const operands[] = {place_of.node(), mask.node()};
  return wrap(jit::make_scatter(base.node(), iota(n, at).node(), operands, std::move(facts), at));
}

/// Positions in C order as one index for each axis of `extents`, the first axis first.
std::vector<array> coordinates(array positions, const shape& extents, const place& at) {
  std::vector<array> out;
  for (int k = extents.rank() - 1; k > 0; --k) {
    const array above = record(op::divide, positions, extents[k], at);  // nothing is negative: as good as rounding down
    out.push_back(record(op::subtract, positions, record(op::multiply, above, extents[k], at), at));
    positions = above;
  }
  out.push_back(positions);
  std::reverse(out.begin(), out.end());
  return out;
}

// ---- Sorting complex numbers ----
// Bitonic merges: whole blocks of 2, 4, 8, ... elements are sorted by comparing each element with one partner a stage.
// The first stage of a merge mirrors the block, so that two ascending halves make one bitonic block and every
// comparison puts the smaller element first. Partners are found by flipping bits of the position: numbers are
// parameters of a kernel, so one kernel does all stages of every size.

/// The partner of position i is i ^ flipped; the lower of both has no bit `half`.
struct stage {
  std::int64_t flipped, half;
};

/// Two stages run in a launch: an element then reads 4 and compares 3 times where two launches would read 2 + 2, write
/// once more and compare twice. A third stage would double both again to save less.
constexpr std::size_t stages_a_launch = 2;

std::vector<stage> sorting_network(std::int64_t size) {
  std::vector<stage> out;
  for (std::int64_t block = 2; block <= size; block *= 2) {
    out.push_back({block - 1, block / 2});
    for (std::int64_t half = block / 4; half > 0; half /= 2) out.push_back({half, half});
  }
  // Stages that compare each element with itself change nothing; a kernel for fewer stages would have to be compiled.
  while (out.size() % stages_a_launch != 0) out.push_back({0, 1});
  return out;
}

/// Each pair of partners in order.
array exchange(const array& values, const array& position, const stage& s, const place& at) {
  const array other = take(values, record(op::bit_xor, position, s.flipped, at), 0, at);
  const array is_lower = record(op::equal, record(op::bit_and, position, s.half, at), 0, at);
  const array lower = choose(is_lower, values, other, at), upper = choose(is_lower, other, values, at);
  return choose(precedes(upper, lower, at), other, values, at);
}

/// x [n] in ascending order, followed by NaN up to a power of two; n > 0. Evaluated: log2(n)^2 / 4 launches.
array sorted_complex(const array& x, const place& at) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto size = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(x.size())));
  array values = x;
  if (size > x.size())
    values = concat({x, full({size - x.size()}, complex128{nan, nan}, x.type(), at)}, 0, at);
  evaluate(values, at);  // all stages read values in memory
  const array position = convert(iota(size, at), counting_type(size), at);
  std::size_t recorded = 0;
  for (const stage& s : sorting_network(size)) {
    values = exchange(values, position, s, at);
    if (++recorded % stages_a_launch == 0) evaluate(values, at);
  }
  return values;
}

void check_mask(const array& mask, std::int64_t available, const place& at) {
  if (mask.type() != boolean)
    throw_type_error(fmt::format("compress: the mask is {}, not bool", to_string(mask.type())), at, "mask != 0");
  if (mask.rank() != 1)
    throw_shape_error(fmt::format("compress: a mask has one axis, not shape {}", to_string(mask.extents())), at,
                      "x(mask) takes masks of more axes");
  if (mask.size() > available)
    throw_shape_error(fmt::format("compress: a mask of {} elements for {}", mask.size(), available), at);
}

}  // namespace

std::vector<array> nonzero(const array& x, place at) {
  // Evaluated here, together: later readers would each descend the tree again, and keep it and x in memory till then.
  std::vector<array> out = coordinates(true_positions(x, at), x.extents(), at);
  evaluate(out, at);
  return out;
}

array flatnonzero(const array& x, place at) {
  array positions = true_positions(x, at);
  evaluate(positions, at);
  return positions;
}

array argwhere(const array& x, place at) {
  const array positions = flatnonzero(x, at);
  if (x.rank() > 0) return stack(coordinates(positions, x.extents(), at), 1, at);
  const axis_map map[1];  // rows without columns
  return view(positions, map, shape{positions.size(), 0}, at);
}

array compress(const array& mask, const array& x, int axis, place at) {
  const int k = checked_axis(axis, x.rank(), "compress", at);
  check_mask(mask, x.extents()[k], at);
  return take(x, flatnonzero(mask, at), k, at);
}

array compress(const array& mask, const array& x, place at) { return compress(mask, ravel(x, at), 0, at); }

array unique(const array& x, place at) {
  const array flat = ravel(x, at);
  const std::int64_t n = flat.size();
  if (n <= 1) return flat;
  const array ordered = is_complex(x.type()) ? sorted_complex(flat, at) : sorted(flat, at);
  const array is_next = precedes(part(ordered, 0, n - 1, at), part(ordered, 1, n - 1, at), at);
  return compress(concat({ones({1}, boolean, at), is_next}, 0, at), ordered, 0, at);
}

}  // namespace sinter
