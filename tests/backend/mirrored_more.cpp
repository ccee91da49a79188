// The rest of the random operations: axes that come, go and change places, and picked elements.
#include "tests/backend/mirrored.hpp"

#include <algorithm>

namespace sinter_test {

using namespace sinter;

namespace {

using positions = std::vector<std::int64_t>;

constexpr int most_axes = 6;
constexpr std::int64_t most_elements = 4000;

std::size_t at_(int k) { return static_cast<std::size_t>(k); }

std::string call(const char* name, std::initializer_list<std::int64_t> arguments) {
  std::string text = std::string(".") + name + "(";
  for (std::int64_t k : arguments) text += std::to_string(k) + " ";
  return text + ")";
}

}  // namespace

mirrored view_program::swapped(const mirrored& x) {
  const int rank = x.h.extents.rank();
  if (rank == 0) return x;
  const auto p = static_cast<int>(below(rank)), q = static_cast<int>(below(rank));
  shape to = x.h.extents;
  std::swap(to[p], to[q]);
  const host_array h = remapped(x.h, to, [&](positions at) {
    std::swap(at[at_(p)], at[at_(q)]);
    return at;
  });
  return {swapaxes(x.a, signed_axis(p, rank), signed_axis(q, rank)), h, x.text + call("swapaxes", {p, q})};
}

mirrored view_program::moved(const mirrored& x) {
  const int rank = x.h.extents.rank();
  if (rank == 0) return x;
  const auto from_axis = static_cast<int>(below(rank)), to_axis = static_cast<int>(below(rank));
  std::vector<int> order;
  for (int k = 0; k < rank; ++k)
    if (k != from_axis) order.push_back(k);
  order.insert(order.begin() + to_axis, from_axis);
  shape to;
  for (int k : order) to.append(x.h.extents[k]);
  const host_array h = remapped(x.h, to, [&](const positions& at) {
    positions from(at.size());
    for (std::size_t k = 0; k < at.size(); ++k) from[at_(order[k])] = at[k];
    return from;
  });
  return {moveaxis(x.a, from_axis, signed_axis(to_axis, rank)), h, x.text + call("moveaxis", {from_axis, to_axis})};
}

mirrored view_program::expanded(const mirrored& x) {
  const int rank = x.h.extents.rank();
  if (rank >= most_axes) return x;
  const auto added = static_cast<int>(below(rank + 1));
  shape to;
  for (int k = 0; k <= rank; ++k) to.append(k == added ? 1 : x.h.extents[k < added ? k : k - 1]);
  return {expand_dims(x.a, signed_axis(added, rank + 1)), reshaped(x.h, to), x.text + call("expand_dims", {added})};
}

mirrored view_program::squeezed(const mirrored& x) {
  shape to;
  for (std::int64_t n : x.h.extents)
    if (n != 1) to.append(n);
  return {squeeze(x.a), reshaped(x.h, to), x.text + ".squeeze()"};
}

mirrored view_program::diagonal_(const mirrored& x) {
  const int rank = x.h.extents.rank();
  if (rank < 2) return x;
  const std::vector<int> plane = shuffled(rank);
  const int row = plane[0], column = plane[1];
  const auto offset = static_cast<int>(below(7)) - 3;
  const std::int64_t first_row = std::max(-offset, 0), first_column = std::max(offset, 0);
  shape to;
  for (int k = 0; k < rank; ++k)
    if (k != row && k != column) to.append(x.h.extents[k]);
  to.append(std::max<std::int64_t>(0, std::min(x.h.extents[row] - first_row, x.h.extents[column] - first_column)));
  const host_array h = remapped(x.h, to, [&](const positions& at) {
    positions from;
    std::size_t next = 0;
    for (int k = 0; k < rank; ++k)
      from.push_back(k == row ? first_row + at.back() : k == column ? first_column + at.back() : at[next++]);
    return from;
  });
  return {diagonal(x.a, offset, signed_axis(row, rank), signed_axis(column, rank)), h,
          x.text + call("diagonal", {offset, row, column})};
}

mirrored view_program::rotated(const mirrored& x) {
  const int rank = x.h.extents.rank();
  if (rank < 2) return x;
  const std::vector<int> plane = shuffled(rank);
  const auto p = at_(plane[0]), q = at_(plane[1]);
  const auto turns = static_cast<int>(below(9)) - 4;
  host_array h = x.h;
  // A quarter turn: what was the last of the second axis becomes the first of the first.
  for (int turn = 0; turn < (turns % 4 + 4) % 4; ++turn) {
    shape to = h.extents;
    std::swap(to[plane[0]], to[plane[1]]);
    h = remapped(h, to, [&](positions at) {
      const std::int64_t i = at[p], j = at[q];
      at[p] = j;
      at[q] = h.extents[plane[1]] - 1 - i;
      return at;
    });
  }
  return {rot90(x.a, turns, {plane[0], plane[1]}), h, x.text + call("rot90", {turns, plane[0], plane[1]})};
}

mirrored view_program::taken(const mirrored& x) {
  const int rank = x.h.extents.rank();
  if (x.h.size() == 0 || rank == 0) return x;
  const auto axis = static_cast<int>(below(rank));
  const host_array values = random_indices(random_shape(static_cast<int>(below(3)), true), x.h.extents[axis]);
  if (x.h.size() / x.h.extents[axis] * values.size() > most_elements) return x;
  std::vector<plain_index> list(at_(axis), {plain_index::kind::slice});
  list.push_back({.what = plain_index::kind::array, .values = values});
  return {take(x.a, laid_out(values, layout::mixed, static_cast<std::size_t>(below(5))), signed_axis(axis, rank)),
          read_plainly(x.h, list), x.text + call("take", {axis}) + to_string(values.extents)};
}

mirrored view_program::taken_along(const mirrored& x) {
  const int rank = x.h.extents.rank();
  if (x.h.size() == 0 || rank == 0) return x;
  const auto axis = static_cast<int>(below(rank));
  shape extents;
  for (int k = 0; k < rank; ++k) extents.append(k == axis ? below(5) : below(3) == 0 ? 1 : x.h.extents[k]);
  const host_array values = random_indices(extents, x.h.extents[axis]);
  shape to = x.h.extents;
  to[axis] = extents[axis];
  const host_array h = remapped(x.h, to, [&](positions at) {
    std::int64_t flat = 0;
    for (int k = 0; k < rank; ++k) flat = flat * extents[k] + (extents[k] == 1 ? 0 : at[at_(k)]);
    const auto chosen = static_cast<std::int64_t>(values.get(flat).re);
    at[at_(axis)] = chosen < 0 ? chosen + x.h.extents[axis] : chosen;
    return at;
  });
  return {take_along_axis(x.a, values.to_device(), signed_axis(axis, rank)), h,
          x.text + call("take_along_axis", {axis}) + to_string(extents)};
}

}  // namespace sinter_test
