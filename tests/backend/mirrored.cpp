#include "tests/backend/mirrored.hpp"

#include <algorithm>
#include <numeric>

namespace sinter_test {

using namespace sinter;

namespace {

using positions = std::vector<std::int64_t>;

constexpr std::int64_t most_elements = 4000;
constexpr int most_axes = 6;

std::size_t at_(int k) { return static_cast<std::size_t>(k); }

std::string listed(const std::vector<int>& list) {
  std::string text;
  for (int k : list) text += (text.empty() ? "{" : ", ") + std::to_string(k);
  return (text.empty() ? "{" : text) + "}";
}

axes named(const std::vector<int>& list) { return axes(std::span<const int>(list)); }

}  // namespace

shape view_program::random_shape(int rank, bool may_be_empty) {
  shape out;
  for (int k = 0; k < rank; ++k) {
    const bool is_empty = may_be_empty && below(25) == 0;
    out.append(is_empty ? 0 : rank >= 4 ? 1 + below(4) : 1 + below(7));
  }
  return out;
}

std::vector<int> view_program::shuffled(int count) {
  std::vector<int> out(at_(count));
  std::iota(out.begin(), out.end(), 0);
  std::shuffle(out.begin(), out.end(), random_);
  return out;
}

mirrored view_program::source() { return source(random_shape(static_cast<int>(below(6)), true)); }

mirrored view_program::source(const shape& extents) {
  const host_array h = counting(i32, extents);
  const layout way = all_layouts[at_(static_cast<int>(below(std::ssize(all_layouts))))];
  const auto number = static_cast<std::size_t>(below(5));
  return {laid_out(h, way, number), h, "source " + to_string(extents) + " " + to_string(way)};
}

host_array view_program::random_indices(const shape& extents, std::int64_t n) {
  static constexpr dtype types[] = {i8, i16, i32, i64, u8, u16, u32, u64};
  const dtype type = types[below(8)];
  const bool is_signed = kind_of(type) == kind::signed_integer;
  host_array out(type, extents);
  for (std::int64_t k = 0; k < out.size(); ++k)
    out.set(k, {static_cast<long double>(is_signed ? below(2 * n) - n : below(n)), 0});
  return out;
}

mirrored view_program::step(const mirrored& x) {
  using operation = mirrored (view_program::*)(const mirrored&);
  static constexpr operation operations[] = {
      &view_program::indexed,    &view_program::indexed,  &view_program::indexed,    &view_program::reshaped_,
      &view_program::transposed, &view_program::flipped,  &view_program::broadcast,  &view_program::swapped,
      &view_program::moved,      &view_program::expanded, &view_program::squeezed,   &view_program::diagonal_,
      &view_program::rotated,    &view_program::taken,    &view_program::taken_along};
  return (this->*operations[below(std::ssize(operations))])(x);
}

mirrored view_program::combined(const mirrored& x) {
  shape extents;
  const auto dropped = static_cast<int>(below(x.h.extents.rank() + 1));
  for (int k = dropped; k < x.h.extents.rank(); ++k) extents.append(below(2) == 0 ? 1 : x.h.extents[k]);
  mirrored other = source(extents);
  const bool adds = below(2) == 0;
  mirrored out{adds ? x.a + other.a : x.a - other.a, x.h, x.text + (adds ? " + " : " - ") + other.text};
  const host_array spread = remapped(other.h, x.h.extents, [&](const positions& at) {
    positions from;
    for (int k = 0; k < extents.rank(); ++k) from.push_back(extents[k] == 1 ? 0 : at[at_(k + dropped)]);
    return from;
  });
  for (std::int64_t k = 0; k < out.h.size(); ++k) {
    const long double y = spread.get(k).re;
    out.h.set(k, {x.h.get(k).re + (adds ? y : -y), 0});
  }
  return out;
}

mirrored view_program::indexed(const mirrored& x) {
  const int rank = x.h.extents.rank();
  const shape common = random_shape(static_cast<int>(below(3)), false);
  std::vector<plain_index> plain;
  std::vector<sinter::index> list;
  std::vector<array> arrays;  // what the index list points at
  arrays.reserve(max_rank);
  std::string text = "(";
  const auto add = [&](plain_index p, const sinter::index& i, const std::string& part) {
    plain.push_back(std::move(p));
    list.push_back(i);
    text += part + ", ";
  };
  const bool with_arrays = below(3) == 0;
  int result_rank = common.rank();
  const auto skipped = static_cast<int>(below(rank + 1));  // axes left to an ellipsis, or to nothing
  const auto rest_at = static_cast<int>(below(2)) * (rank - skipped);
  const bool at_front = rest_at == 0 && skipped > 0;
  int axis = 0;
  const auto add_rest = [&] {
    add({plain_index::kind::rest}, ellipsis, "...");
    axis += skipped;
    result_rank += skipped;
  };
  if (at_front) add_rest();
  const int end = at_front ? rank : rank - skipped;
  while (axis < end) {
    const std::int64_t n = x.h.extents[axis];
    const std::int64_t choice = below(with_arrays ? 5 : 3);
    if (below(6) == 0 && result_rank < most_axes) {
      add({plain_index::kind::unit}, newaxis, "newaxis");
      ++result_rank;
    }
    if (choice == 0 && n > 0) {
      const std::int64_t k = below(2 * n) - n;
      add({plain_index::kind::integer, k}, k, std::to_string(k));
    } else if (choice >= 3 && n > 0) {
      // Of the common shape with axes collapsed, or without its first ones.
      shape extents;
      for (int k = static_cast<int>(below(common.rank() + 1)); k < common.rank(); ++k)
        extents.append(below(3) == 0 ? 1 : common[k]);
      const host_array values = random_indices(extents, n);
      arrays.push_back(laid_out(values, below(2) == 0 ? layout::evaluated : layout::mixed, arrays.size()));
      add({.what = plain_index::kind::array, .values = values}, arrays.back(),
          std::string(to_string(values.type)) + to_string(extents));
    } else {
      static constexpr std::int64_t steps[] = {1, 1, 2, 3, -1, -1, -2, -5};
      plain_index p{.what = plain_index::kind::slice, .step = steps[below(8)]};
      if (below(3) != 0) p.first = below(2 * n + 3) - n - 1;
      if (below(3) != 0) p.last = below(2 * n + 3) - n - 1;
      const position first = p.first ? position(*p.first) : p.step > 0 ? position(begin) : position(end_t{});
      const position last = p.last ? position(*p.last) : p.step > 0 ? position(end_t{}) : position(begin);
      add(p, range(first, last, p.step),
          (p.first ? std::to_string(*p.first) : "") + ":" + (p.last ? std::to_string(*p.last) : "") + ":" +
              std::to_string(p.step));
      ++result_rank;
    }
    ++axis;
  }
  if (!at_front && skipped > 0 && below(2) == 0) add_rest();
  return {read_through(x.a, list), read_plainly(x.h, plain), x.text + text + ")"};
}

mirrored view_program::reshaped_(const mirrored& x) {
  shape to;
  if (x.h.size() == 0) {
    to = shape{below(4), 0, below(3)};
  } else {
    for (std::int64_t rest = x.h.size(); rest > 1 || below(3) == 0;) {
      std::int64_t factor = 1 + below(std::min<std::int64_t>(rest, 12));
      while (rest % factor != 0) --factor;
      if (to.rank() == most_axes - 1) factor = rest;
      to.append(factor);
      rest /= factor;
      if (to.rank() == most_axes) break;
    }
  }
  return {reshape(x.a, to), reshaped(x.h, to), x.text + ".reshape" + to_string(to)};
}

mirrored view_program::transposed(const mirrored& x) {
  const std::vector<int> order = shuffled(x.h.extents.rank());
  if (order.empty()) return x;
  std::vector<int> written = order;
  for (int& k : written) k = signed_axis(k, x.h.extents.rank());
  shape to;
  for (int k : order) to.append(x.h.extents[k]);
  const host_array h = remapped(x.h, to, [&](const positions& at) {
    positions from(at.size());
    for (std::size_t k = 0; k < at.size(); ++k) from[at_(order[k])] = at[k];
    return from;
  });
  return {transpose(x.a, named(written)), h, x.text + ".transpose" + listed(written)};
}

mirrored view_program::flipped(const mirrored& x) {
  std::vector<int> over = shuffled(x.h.extents.rank());
  over.resize(at_(static_cast<int>(below(std::ssize(over) + 1))));
  const host_array h = remapped(x.h, x.h.extents, [&](positions at) {
    for (int k : over) at[at_(k)] = x.h.extents[k] - 1 - at[at_(k)];
    return at;
  });
  return {flip(x.a, named(over)), h, x.text + ".flip" + listed(over)};
}

mirrored view_program::broadcast(const mirrored& x) {
  const int rank = x.h.extents.rank();
  shape to = random_shape(static_cast<int>(below(std::max(1, most_axes - rank))), false);
  const int added = to.rank();
  for (std::int64_t n : x.h.extents) to.append(n == 1 ? 1 + below(4) : n);
  if (to.size() > most_elements) return x;
  const host_array h = remapped(x.h, to, [&](const positions& at) {
    positions from;
    for (int k = 0; k < rank; ++k) from.push_back(x.h.extents[k] == 1 ? 0 : at[at_(k + added)]);
    return from;
  });
  return {broadcast_to(x.a, to), h, x.text + ".broadcast" + to_string(to)};
}

}  // namespace sinter_test
