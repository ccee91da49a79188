// Random reads and writes through indices.
#include "tests/fuzz/generate.hpp"
#include "tests/fuzz/operations.hpp"
#include "tests/fuzz/places.hpp"

#include <algorithm>

namespace sinter_test::fuzz {

using namespace sinter;

namespace {

constexpr dtype index_types[] = {i32, i64, i8, i16, u8, u16, u32, u64};

std::vector<resolved_pick> resolved(const std::vector<pick>& picks) {
  std::vector<resolved_pick> out;
  for (const pick& p : picks) out.push_back({&p, p.values});
  return out;
}

}  // namespace

/// Indices into an axis of n; `apart`: each element at most once.
host_array statement_maker::indices(const shape& extents, std::int64_t n, bool apart) {
  const dtype type = index_types[n > 127 ? below(2) : below(8)];
  const bool may_be_negative = kind_of(type) == kind::signed_integer;
  host_array out(type, extents);
  std::vector<std::int64_t> order;
  for (std::int64_t k = 0; k < n; ++k) order.push_back(k);
  for (std::size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[data_() % k]);
  for (std::int64_t k = 0; k < out.size(); ++k) {
    const std::uint64_t bits = data_();
    std::int64_t i = apart && k < n ? order[static_cast<std::size_t>(k)]
                                    : static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(n));
    if (may_be_negative && bits >> 60 < 4) i -= n;
    out.set(k, {static_cast<long double>(i), 0});
  }
  return out;
}

pick statement_maker::slice_of(std::int64_t n) {
  static constexpr std::int64_t steps[] = {1, 1, 1, 2, 3, -1, -1, -2, -5};
  pick p;
  p.what = pick::kind::slice;
  p.step = steps[below(9)];
  if (!once_in(3)) p.first = below(2 * n + 3) - n - 1;
  if (!once_in(3)) p.last = below(2 * n + 3) - n - 1;
  if (p.step > 0 && p.first && p.last && *p.first > *p.last) std::swap(*p.first, *p.last);
  return p;
}

pick statement_maker::array_pick(const host_array& values) {
  pick p;
  p.what = pick::kind::array;
  p.values = values;
  p.pending = once_in(3);
  return p;
}

std::vector<pick> statement_maker::picks_for(const shape& extents, bool apart) {
  const bool with_arrays = once_in(2), with_mask = once_in(8);
  shape common;
  for (std::int64_t rank = below(5) == 0 ? 2 : 1; rank > 0; --rank) common.append(once_in(10) ? 0 : 1 + below(5));
  const int rest_at = once_in(4) ? static_cast<int>(below(extents.rank() + 1)) : -1;
  const int skipped = rest_at < 0 ? 0 : static_cast<int>(below(extents.rank() - rest_at + 1));
  std::vector<pick> out;
  const auto simple = [&](pick::kind what) {
    pick p;
    p.what = what;
    out.push_back(p);
  };
  int axis = 0;
  while (axis < extents.rank()) {
    if (axis == rest_at) {
      simple(pick::kind::rest);
      axis += skipped;
      if (axis >= extents.rank()) break;
    }
    const std::int64_t n = extents[axis], choice = below(with_arrays ? 8 : 6);
    if (once_in(9)) simple(pick::kind::unit);
    if (with_mask && once_in(2) && n < 20) {
      out.push_back(array_pick(whole_values(boolean, {n})));
    } else if (choice <= 1 && n > 0) {
      simple(pick::kind::integer);
      out.back().integer = below(2 * n) - n;
    } else if (choice == 2) {
      simple(pick::kind::whole);
    } else if (choice >= 6 && n > 0) {
      shape to;
      for (int k = static_cast<int>(below(common.rank() + 1)) / 2; k < common.rank(); ++k)
        to.append(once_in(4) ? 1 : common[k]);
      if (apart && to.size() > n) to = {1};
      out.push_back(array_pick(indices(to, n, apart)));
    } else {
      out.push_back(slice_of(n));
    }
    ++axis;
    if (once_in(12)) break;  // the rest isn't named
  }
  return out;
}

void statement_maker::read_index() {
  const int x = some_variable();
  add_result(verb::index, {x}).picks = picks_for(extents_of(x), false);
}

void statement_maker::read_mask() {
  const int x = some_variable();
  const int mask =
      variable_where([&](const variable& v) { return v.h.type == boolean && v.h.extents == extents_of(x); });
  pick p = array_pick(whole_values(boolean, extents_of(x)));
  if (mask >= 0) {
    p = {};
    p.what = pick::kind::variable;
    p.integer = mask;
  }
  add_result(verb::index, {x}).picks = {p};
}

void statement_maker::take() {
  const int x = some_variable(), rank = extents_of(x).rank();
  if (at(x).size() == 0 || rank == 0) return;
  if (once_in(3)) {
    const std::int64_t axis = below(rank);
    shape extents;
    for (int k = 0; k < rank; ++k) extents.append(k == axis ? below(5) : once_in(4) ? 1 : extents_of(x)[k]);
    const host_array list = indices(extents, extents_of(x)[static_cast<int>(axis)], false);
    step& s = add_result(verb::take_along_axis, {x});
    s.picks = {array_pick(list)};
    s.numbers = {signed_axis(axis, rank)};
    return;
  }
  const bool flat = once_in(4);
  const std::int64_t axis = below(rank);
  const std::int64_t n = flat ? at(x).size() : extents_of(x)[static_cast<int>(axis)];
  const host_array list = indices(once_in(3) ? shape{2, below(4)} : shape{below(7)}, n, false);
  step& s = add_result(verb::take, {x});
  s.picks = {array_pick(list)};
  s.numbers = {signed_axis(axis, rank)};
  s.flag = flat;
}

int statement_maker::value_for(const shape& selection, dtype target_type, int target) {
  const int found = variable_where([&](const variable& v) {
    try {
      return v.size() > 0 && rank_of_kind(v.h.type) <= rank_of_kind(target_type) &&
             broadcast(v.h.extents, selection) == selection;
    } catch (const refused&) { return false; }
  });
  if (found >= 0 && !once_in(3)) return found;
  int k = any_variable();
  if (k == target) k = (k + 1) % variable_count;
  dtype type = target_type;
  if (once_in(4)) type = any_type();
  const host_array data = values(type, narrowed(selection));
  step& s = add(verb::make, {});
  s.result = k;
  s.data = data;
  return k;
}

/// Adds statement `s` with its right side; statements that make the right side come before it.
void statement_maker::give_value(std::size_t statement, const shape& selection) {
  step s = std::move(made_[statement]);
  made_.erase(made_.begin() + static_cast<std::ptrdiff_t>(statement));
  const dtype type = at(s.from[0]).h.type;
  if (once_in(3)) {
    s.use_value = true;
    s.value = any_number(type);
  } else {
    s.from.push_back(value_for(selection, type, s.from[0]));
    s.as_selection = s.what == verb::assign && once_in(4);
  }
  made_.push_back(std::move(s));
}

void statement_maker::write_index() {
  const int x = some_variable();
  const dtype type = at(x).h.type;
  std::int64_t how = once_in(3) ? 0 : once_in(2) ? 1 + below(3) : below(write_count);
  if (is_inexact(type) && how >= static_cast<int>(write::bit_and) && how <= static_cast<int>(write::shift_right) &&
      !once_in(10))
    how = 1;
  const bool ordered = how == 4 || how == 5 || how == 9 || how == 10;
  step& s = add(verb::assign, {x});
  s.picks = picks_for(extents_of(x), ordered);
  s.code = static_cast<int>(how);
  try {
    give_value(made_.size() - 1, selected(extents_of(x), resolved(s.picks)).extents);
  } catch (const refused&) { made_.clear(); } catch (const unpredictable&) {
    made_.clear();
  }
}

void statement_maker::write_mask() {
  const int x = some_variable(), rank = extents_of(x).rank();
  if (rank == 0) return;
  shape extents;  // of the mask: the first axes
  for (int k = 0; k < rank && (k == 0 || !once_in(3)); ++k) extents.append(extents_of(x)[k]);
  const int mask = variable_where([&](const variable& v) { return v.h.type == boolean && v.h.extents == extents; });
  pick p = array_pick(whole_values(boolean, extents));
  const host_array mask_values = mask < 0 ? p.values : at(mask).h;
  const shape selection = selected(extents_of(x), {{&p, mask_values}}).extents;
  if (mask >= 0) {
    p = {};
    p.what = pick::kind::variable;
    p.integer = mask;
  }
  step& s = add(verb::assign, {x});
  s.picks = {p};
  s.code = static_cast<int>(once_in(2) ? 0 : 1 + below(3));
  give_value(made_.size() - 1, selection);
}

void statement_maker::scatter() {
  static constexpr write ways[] = {write::set, write::add, write::add, write::multiply, write::minimum, write::maximum};
  const int x = some_variable(), rank = extents_of(x).rank();
  if (rank == 0 || at(x).size() == 0) return;
  const std::int64_t kind = below(4), axis = below(rank), n = extents_of(x)[static_cast<int>(axis)];
  step& s = add(kind == 0 ? verb::put : kind == 1 ? verb::put_along_axis : verb::scatter, {x});
  s.numbers = {signed_axis(axis, rank)};
  shape selection;
  if (kind == 0) {
    selection = {below(6)};
    s.picks = {array_pick(indices(selection, at(x).size(), false))};
  } else if (kind == 1) {
    selection = extents_of(x);
    selection[static_cast<int>(axis)] = below(4);
    s.picks = {array_pick(indices(selection, n, false))};
  } else {
    s.code = static_cast<int>(ways[below(6)]);
    const shape list = once_in(4) ? shape{2, below(4)} : shape{below(9)};
    for (int k = 0; k < rank; ++k) {
      if (k != axis) selection.append(extents_of(x)[k]);
      for (int m = 0; k == axis && m < list.rank(); ++m) selection.append(list[m]);
    }
    s.picks = {array_pick(indices(list, n, false))};
  }
  give_value(made_.size() - 1, selection);
}

}  // namespace sinter_test::fuzz
