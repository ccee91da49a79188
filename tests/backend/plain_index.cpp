// NumPy's indexing, written out: slices as lists of positions, index arrays broadcast by hand.
#include "tests/backend/mirrored.hpp"

#include <algorithm>

namespace sinter_test {

namespace {

using sinter::shape;
using kind = plain_index::kind;
using positions = std::vector<std::int64_t>;

/// What Python's slice(first, last, step) takes of n elements.
positions slice_positions(const plain_index& s, std::int64_t n) {
  const std::int64_t low = s.step > 0 ? 0 : -1, high = s.step > 0 ? n : n - 1;
  const auto clipped = [&](std::int64_t k) { return std::clamp(k < 0 ? k + n : k, low, high); };
  const std::int64_t first = s.first ? clipped(*s.first) : s.step > 0 ? low : high;
  const std::int64_t last = s.last ? clipped(*s.last) : s.step > 0 ? high : low;
  positions out;
  for (std::int64_t k = first; s.step > 0 ? k < last : k > last; k += s.step) out.push_back(k);
  return out;
}

/// The rest of the axes as slices, where the ellipsis stands or at the end.
void write_out_rest(std::vector<plain_index>& list, int rank) {
  const auto names_axis = [](const plain_index& i) { return i.what != kind::unit && i.what != kind::rest; };
  const auto open = static_cast<std::size_t>(rank - std::count_if(list.begin(), list.end(), names_axis));
  const auto rest = std::find_if(list.begin(), list.end(), [](const plain_index& i) { return i.what == kind::rest; });
  const auto at = rest == list.end() ? rest : list.erase(rest);
  list.insert(at, open, plain_index{kind::slice});
}

shape common_shape(const std::vector<plain_index>& list) {
  shape out;
  for (const plain_index& i : list) {
    if (i.what != kind::array) continue;
    const shape before = out;
    if (!sinter::broadcast_into(before, i.values.extents, out)) throw std::logic_error("index arrays do not broadcast");
  }
  return out;
}

/// The element of `values` at the last axes of `at`, broadcast; negative ones from the end of n.
std::int64_t index_at(const host_array& values, std::span<const std::int64_t> at, std::int64_t n) {
  std::int64_t flat = 0;
  const int rank = values.extents.rank(), skipped = static_cast<int>(at.size()) - rank;
  for (int axis = 0; axis < rank; ++axis)
    flat = flat * values.extents[axis] + (values.extents[axis] == 1 ? 0 : at[static_cast<std::size_t>(axis + skipped)]);
  const auto k = static_cast<std::int64_t>(values.get(flat).re);
  return k < 0 ? k + n : k;
}

bool is_advanced(const plain_index& i) { return i.what == kind::array || i.what == kind::integer; }

/// Whether index arrays, ints among them, stand side by side.
bool are_neighbours(const std::vector<plain_index>& list) {
  const auto first = std::find_if(list.begin(), list.end(), is_advanced);
  const auto end = std::find_if(list.rbegin(), list.rend(), is_advanced).base();
  return std::all_of(first, end, is_advanced);
}

}  // namespace

host_array read_plainly(const host_array& x, std::vector<plain_index> list) {
  write_out_rest(list, x.extents.rank());
  const bool has_arrays =
      std::any_of(list.begin(), list.end(), [](const plain_index& i) { return i.what == kind::array; });
  const shape common = common_shape(list);
  const bool in_place = has_arrays && are_neighbours(list);
  shape to;
  int common_axis = -1;  // where the common shape of the index arrays begins in the result
  const auto append_common = [&] {
    if (common_axis >= 0) return;
    common_axis = to.rank();
    for (std::int64_t n : common) to.append(n);
  };
  if (has_arrays && !in_place) append_common();

  struct axis_source {
    positions slice;
    int result_axis = -1;
    std::int64_t fixed = 0;
    const host_array* values = nullptr;
  };
  std::vector<axis_source> sources;
  for (const plain_index& i : list) {
    const auto n = [&] { return x.extents[static_cast<int>(sources.size())]; };
    if (in_place && is_advanced(i)) append_common();
    switch (i.what) {
      case kind::integer:
        sources.push_back({{}, -1, i.integer < 0 ? i.integer + n() : i.integer, nullptr});
        break;
      case kind::slice:
        sources.push_back({slice_positions(i, n()), to.rank(), 0, nullptr});
        to.append(std::ssize(sources.back().slice));
        break;
      case kind::unit:
        to.append(1);
        break;
      case kind::array:
        sources.push_back({{}, -1, 0, &i.values});
        break;
      case kind::rest:
        break;
    }
  }
  return remapped(x, to, [&](const positions& at) {
    positions from;
    for (const axis_source& s : sources) {
      if (s.result_axis >= 0) {
        from.push_back(s.slice[static_cast<std::size_t>(at[static_cast<std::size_t>(s.result_axis)])]);
      } else if (s.values) {
        const std::span<const std::int64_t> part(at.data() + common_axis, static_cast<std::size_t>(common.rank()));
        from.push_back(index_at(*s.values, part, x.extents[static_cast<int>(from.size())]));
      } else {
        from.push_back(s.fixed);
      }
    }
    return from;
  });
}

}  // namespace sinter_test
