// Random statements that use no indices.
#include "tests/fuzz/generate.hpp"
#include "tests/fuzz/operations.hpp"

#include <algorithm>

namespace sinter_test::fuzz {

using namespace sinter;

void statement_maker::make_data() {
  const dtype type = any_type();
  const host_array data = values(type, any_shape());
  add_result(verb::make, {}).data = data;
}

void statement_maker::make_lazily() {
  const bool counts = once_in(2);
  const dtype type = any_type();
  const shape extents = any_shape();
  const number value = level(type) == 0 ? number{boolean, 1} : number{i64, static_cast<double>(below(5))};
  step& s = add_result(counts ? verb::ramp : verb::full, {});
  s.type = type;
  s.extents = extents;
  s.value = value;
}

void statement_maker::copy_variable() {
  const std::int64_t choice = below(8);
  const int x = some_variable();
  if (choice == 0) add(verb::drop, {any_variable()});
  else if (choice <= 2) add(verb::swap, {x, (x + 1 + static_cast<int>(below(variable_count - 1))) % variable_count});
  else add_result(verb::copy, {x});
}

void statement_maker::unary_operation() {
  add_result(verb::unary_call, {some_variable()}).code = static_cast<int>(below(unary_count));
}

void statement_maker::binary_operation() {
  const int x = some_variable();
  const int code = static_cast<int>(once_in(2) ? below(3) : below(binary_count));
  const int y = partner_of(x);
  add_result(verb::binary_call, once_in(2) ? std::vector<int>{x, y} : std::vector<int>{y, x}).code = code;
}

void statement_maker::number_operation() {
  const int x = some_variable();
  const number value = any_number(at(x).h.type);
  const int code = static_cast<int>(once_in(2) ? below(4) : below(binary_count));
  step& s = add_result(verb::with_number, {x});
  s.code = code;
  s.value = value;
  s.flag = once_in(3);
}

void statement_maker::choose_or_clip() {
  const int x = some_variable();
  if (once_in(4)) {
    const std::int64_t low = below(4) - (kind_of(at(x).h.type) == kind::unsigned_integer ? 0 : 2);
    add_result(verb::clip, {x}).numbers = {low, low + below(4)};
    return;
  }
  const int condition = variable_where([&](const variable& v) {
    try {
      return v.exact() && (v.h.type == boolean || once_in(3)) &&
             broadcast(v.h.extents, extents_of(x)).size() <= size_limit(std::max(v.size(), at(x).size()));
    } catch (const refused&) { return false; }
  });
  const bool use_value = once_in(3);
  const number value = any_number(at(x).h.type);
  std::vector<int> from{condition < 0 ? x : condition, x};
  if (!use_value) from.push_back(partner_of(x));
  step& s = add_result(verb::choose, from);
  s.use_value = use_value;
  s.value = value;
}

void statement_maker::convert() { add_result(verb::convert, {some_variable()}).type = any_type(); }

void statement_maker::string_kernel() {
  if (once_in(3)) return string_reduction();
  const bool takes_doubles = once_in(2);
  const int x = takes_doubles ? variable_where([](const variable& v) { return v.h.type == f64; }) : some_variable();
  if (x < 0) return;
  if (takes_doubles) {
    add_result(verb::string_kernel, {x}).code = 1 + static_cast<int>(below(2));
    return;
  }
  const int y = variable_where([&](const variable& v) { return v.h.type == at(x).h.type; });
  add_result(verb::string_kernel, {x, y});
}

void statement_maker::string_reduction() {
  const int x = some_variable(), rank = extents_of(x).rank();
  const std::vector<std::int64_t> over =
      once_in(4) ? std::vector<std::int64_t>{} : some_axes(rank, 1 + below(rank + 1));
  const bool keep = once_in(3);
  step& s = add_result(verb::string_kernel, {x});
  s.code = 3;
  s.numbers = over;
  s.flag = keep;
}

void statement_maker::compound() {
  const int x = some_variable();
  const bool use_value = once_in(3);
  const number value = any_number(at(x).h.type);
  const int code = static_cast<int>(once_in(2) ? below(3) : below(static_cast<int>(binary::bitwise_right_shift) + 1));
  const int y = variable_where([&](const variable& v) {
    try {
      return rank_of_kind(v.h.type) <= rank_of_kind(at(x).h.type) &&
             broadcast(v.h.extents, extents_of(x)) == extents_of(x);
    } catch (const refused&) { return false; }
  });
  step& s = add(verb::compound, use_value ? std::vector<int>{x} : std::vector<int>{x, y < 0 ? x : y});
  s.use_value = use_value;
  s.value = value;
  s.code = code;
}

void statement_maker::reshape() {
  const int x = some_variable();
  const shape to = factors_of(at(x).size());
  if (once_in(5)) add_result(verb::ravel, {x});
  else add_result(verb::reshape, {x}).extents = to;
}

void statement_maker::reorder() {
  const int x = some_variable(), rank = extents_of(x).rank();
  if (rank == 0) return;
  const std::int64_t choice = below(4);
  const std::vector<std::int64_t> order = some_axes(rank, rank);
  const std::vector<std::int64_t> pair{any_axis(rank), any_axis(rank)};
  step& s = add_result(choice == 0 ? verb::swapaxes : choice == 1 ? verb::moveaxis : verb::transpose, {x});
  s.numbers = choice <= 1 ? pair : order;
}

void statement_maker::axes_added() {
  const int x = some_variable(), rank = extents_of(x).rank();
  const std::int64_t choice = below(3);
  if (choice == 0) {
    add_result(verb::expand_dims, {x}).numbers = {any_axis(rank + 1)};
  } else if (choice == 1) {
    add_result(verb::squeeze, {x});
  } else {
    shape to;
    for (std::int64_t k = below(2); k > 0; --k) to.append(1 + below(3));
    for (std::int64_t n : extents_of(x)) to.append(n == 1 ? 1 + below(4) : n);
    add_result(verb::broadcast, {x}).extents = to;
  }
}

void statement_maker::mirror() {
  const int x = some_variable(), rank = extents_of(x).rank();
  const std::int64_t choice = rank < 2 ? 0 : below(3);
  const std::vector<std::int64_t> over = some_axes(rank, below(rank + 1)), plane = some_axes(rank, 2);
  const std::int64_t turns = below(9) - 4;
  if (choice == 0) {
    add_result(verb::flip, {x}).numbers = over;
    return;
  }
  step& s = add_result(choice == 1 ? verb::diagonal : verb::rot90, {x});
  s.numbers = {turns, plane[0], plane[1]};
}

void statement_maker::repeat() {
  const int x = some_variable(), rank = extents_of(x).rank();
  const std::int64_t choice = below(4), times = below(4), axis = any_axis(rank);
  const bool flat = rank == 0 || once_in(3);
  if (choice == 0) {
    std::vector<std::int64_t> list;
    for (std::int64_t k = 1 + below(3); k > 0; --k) list.push_back(once_in(9) ? 0 : 1 + below(3));
    add_result(verb::tile, {x}).numbers = list;
    return;
  }
  step& s = add_result(choice == 1 ? verb::repeat : verb::roll, {x});
  s.numbers = {choice == 1 ? std::max<std::int64_t>(times, 1) : below(21) - 10, axis};
  s.flag = flat;
}

void statement_maker::join() {
  static constexpr verb ways[] = {verb::concat, verb::concat, verb::concat, verb::stack,
                                  verb::stack,  verb::hstack, verb::vstack, verb::dstack};
  const verb how = ways[below(8)];
  const int x = some_variable(), rank = extents_of(x).rank();
  const std::int64_t axis = how == verb::stack ? any_axis(rank + 1) : any_axis(rank);
  const std::int64_t open = how == verb::hstack   ? 1
                            : how == verb::vstack ? 0
                            : how == verb::dstack ? 2
                            : axis < 0            ? axis + rank
                                                  : axis;
  std::vector<int> from{x};
  for (std::int64_t k = below(3); k > 0; --k) {
    const int y = variable_where([&](const variable& v) {
      if (v.h.extents.rank() != rank || once_in(3)) return false;
      for (int m = 0; m < rank; ++m)
        if (v.h.extents[m] != extents_of(x)[m] && (m != open || how == verb::stack)) return false;
      return true;
    });
    from.push_back(once_in(30) ? any_variable() : y < 0 ? x : y);
  }
  add_result(how, from).numbers = {axis};
}

void statement_maker::pad() {
  const int x = some_variable(), rank = extents_of(x).rank();
  const int mode = level(at(x).h.type) == 0 ? 1 + static_cast<int>(below(4)) : static_cast<int>(below(5));
  const bool single = once_in(3);
  std::vector<std::int64_t> widths{below(4)};
  if (!single) {
    widths.clear();
    for (int k = 0; k < 2 * rank; ++k) widths.push_back(once_in(60) ? -1 : below(once_in(8) ? 12 : 3));
  }
  const bool no_sign = kind_of(at(x).h.type) == kind::unsigned_integer;
  step& s = add_result(verb::pad, {x});
  s.numbers = widths;
  s.flag = single;
  s.code = mode;
  s.value = {i64, static_cast<double>(below(5) - (no_sign ? 0 : 2))};
}

void statement_maker::split() {
  const int x = some_variable(), rank = extents_of(x).rank();
  const std::int64_t axis = any_axis(rank);
  step& s = add_result(verb::split, {x});
  s.numbers = {1 + below(4), axis, below(4)};
  s.flag = !once_in(3);
}

void statement_maker::by_value() {
  static constexpr verb ways[] = {verb::nonzero, verb::flatnonzero, verb::argwhere,
                                  verb::unique,  verb::bincount,    verb::compress};
  const verb how = ways[below(6)];
  const int x = some_variable(), rank = extents_of(x).rank();
  const std::int64_t axis = any_axis(rank);
  if (how == verb::compress) {
    const int y = any_variable();
    const int mask = y == x ? (y + 1) % variable_count : y;
    const bool flat = rank == 0 || once_in(4);
    const std::int64_t n = flat ? at(x).size()
                           : axis < -rank || axis >= rank
                               ? 1
                               : extents_of(x)[static_cast<int>(axis < 0 ? axis + rank : axis)];
    const host_array data = whole_values(boolean, {std::max<std::int64_t>(0, n - (once_in(4) ? 1 : 0))});
    step& made = add(verb::make, {});
    made.result = mask;
    made.data = data;
    step& s = add_result(verb::compress, {mask, x});
    s.numbers = {axis};
    s.flag = flat;
    return;
  }
  step& s = add_result(how, {x});
  s.numbers = {how == verb::bincount ? 13 + below(3) : below(4)};
}

void statement_maker::evaluate() {
  std::vector<int> list;
  for (std::int64_t k = 1 + below(3); k > 0; --k) list.push_back(any_variable());
  add(verb::evaluate, list);
}

void statement_maker::check() { add(verb::check, {any_variable()}); }

/// What must throw, and change nothing.
void statement_maker::mistake() {
  const int x = some_variable(), rank = extents_of(x).rank();
  const dtype type = at(x).h.type;
  pick p;
  switch (below(6)) {
    case 0:  // an int out of range
      p.what = pick::kind::integer;
      p.integer = once_in(2) ? (rank == 0 ? 0 : extents_of(x)[0]) : rank == 0 ? 0 : -extents_of(x)[0] - 1;
      add_result(verb::index, {x}).picks = {p};
      break;
    case 1: {  // a float into integers
      p.what = pick::kind::rest;
      step& s = add(verb::assign, {x});
      s.picks = {p};
      s.code = static_cast<int>(below(4));
      s.use_value = true;
      s.value = {f64, 0.5};
      break;
    }
    case 2: {  // values that don't broadcast to the selection
      p.what = pick::kind::rest;
      step& s = add(verb::assign, {x, any_variable()});
      s.picks = {p};
      s.code = static_cast<int>(below(4));
      break;
    }
    case 3:  // a mask of another shape
      if (rank == 0) break;
      p = array_pick(whole_values(boolean, {extents_of(x)[0] + 1}));
      add_result(verb::index, {x}).picks = {p};
      break;
    case 4: {  // a number out of range, or one index too many
      p.what = pick::kind::integer;
      step& s = add(verb::assign, {x});
      s.picks.assign(is_integer(type) ? 0 : static_cast<std::size_t>(rank) + 1, p);
      s.use_value = true;
      s.value = {i64, size_of(type) < 8 ? 1e15 : -1.0};
      break;
    }
    default: add_result(verb::binary_call, {x, any_variable()}).code = static_cast<int>(below(binary_count));
  }
}

}  // namespace sinter_test::fuzz
