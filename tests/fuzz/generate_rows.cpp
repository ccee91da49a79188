// Random row programs: several statements that reduce an array, and bring the results back to its elements.
#include "tests/fuzz/generate.hpp"

#include <algorithm>

namespace sinter_test::fuzz {

using namespace sinter;

namespace {

constexpr reduction combining[] = {reduction::sum,    reduction::max,       reduction::min,      reduction::mean,
                                   reduction::argmax, reduction::var,       reduction::any_true, reduction::argmin,
                                   reduction::stddev, reduction::logsumexp, reduction::norm,     reduction::nansum};

bool gives_positions(reduction op) { return op == reduction::argmin || op == reduction::argmax; }

}  // namespace

step& statement_maker::into(int result, verb what, std::vector<int> from) {
  step& s = add(what, std::move(from));
  s.result = result;
  return s;
}

step& statement_maker::reduce_into(int result, reduction op, int x, std::vector<std::int64_t> over, bool keep) {
  step& s = into(result, verb::reduce, {x});
  s.code = static_cast<int>(op);
  if (gives_positions(op) && over.size() > 1) over.resize(1);
  s.numbers = std::move(over);
  s.flag = keep;
  return s;
}

statement_maker::rows statement_maker::some_rows(bool real) {
  const auto fits = [&](const variable& v) {
    return v.h.extents.rank() > 0 && v.size() > 0 && (!real || (is_real(v.h.type) && v.exact()));
  };
  rows r{};
  r.x = newest_ >= 0 && fits(at(newest_)) ? newest_ : variable_where(fits);
  if (r.x < 0 || once_in(3)) {
    static constexpr dtype types[] = {f32, f32, f32, f64, f16, bf16};
    r.x = any_variable();
    r.type = types[below(6)];
    r.extents = once_in(4) ? long_shape() : any_shape();
    if (r.extents.rank() == 0) r.extents = {extents_[0], extents_[1]};
    const host_array data = values(r.type, r.extents);
    into(r.x, verb::make, {}).data = data;
  } else {
    r.type = at(r.x).h.type;
    r.extents = extents_of(r.x);
  }
  r.axis = static_cast<int>(below(r.extents.rank()));
  const int first = any_variable();
  for (int k = 0; k < variable_count; ++k)
    if (const int v = (first + k) % variable_count; v != r.x) r.free.push_back(v);
  return r;
}

/// Less the mean; again along other axes.
void statement_maker::center() {
  const rows r = some_rows(true);
  const int rank = r.extents.rank();
  const int m = r.free[0], y = r.free[1], again = r.free[2], z = r.free[3];
  reduce_into(m, reduction::mean, r.x, some_axes(rank, 1 + below(2)), true);
  apply_into(y, binary::subtract, r.x, m);
  if (once_in(2)) return;
  reduce_into(again, once_in(2) ? reduction::mean : reduction::max, y, some_axes(rank, 1 + below(2)), true);
  apply_into(z, binary::subtract, y, again);
  if (once_in(2)) reduce_into(r.free[4], combining[below(12)], z, some_axes(rank, 1), false);
}

/// softmax or its logarithm, written out.
void statement_maker::share() {
  const rows r = some_rows(true);
  const int high = r.free[0], shifted = r.free[1], parts = r.free[2], total = r.free[3], y = r.free[4];
  const std::vector<std::int64_t> over =
      once_in(4) ? some_axes(r.extents.rank(), 2) : std::vector<std::int64_t>{signed_axis(r.axis, r.extents.rank())};
  reduce_into(high, reduction::max, r.x, over, true);
  apply_into(shifted, binary::subtract, r.x, high);
  apply_into(parts, unary::exp, shifted);
  reduce_into(total, reduction::sum, parts, over, true);
  if (once_in(2)) {
    apply_into(y, binary::quotient, parts, total);
  } else {
    apply_into(r.free[5], unary::log, total);
    apply_into(y, binary::subtract, shifted, r.free[5]);
  }
}

/// Layer norm, written out.
void statement_maker::normalise() {
  const rows r = some_rows(true);
  const int m = r.free[0], c = r.free[1], v = r.free[2], root = r.free[3], y = r.free[4], gain = r.free[5];
  const std::vector<std::int64_t> over = some_axes(r.extents.rank(), once_in(3) ? 2 : 1);
  reduce_into(m, reduction::mean, r.x, over, true);
  apply_into(c, binary::subtract, r.x, m);
  if (once_in(2)) {
    reduce_into(v, reduction::var, r.x, over, true);
  } else {
    apply_into(gain, unary::square, c);
    reduce_into(v, reduction::mean, gain, over, true);
  }
  step& s = into(root, verb::with_number, {v});
  s.code = static_cast<int>(binary::add);
  s.value = {f64, 0.0009765625};
  apply_into(root, unary::sqrt, root);
  apply_into(y, binary::quotient, c, root);
  if (once_in(2)) return;
  const host_array data = values(r.type, {r.extents[r.extents.rank() - 1]});
  into(gain, verb::make, {}).data = data;
  apply_into(y, binary::multiply, y, gain);
}

/// Rows normalised, the position of their greatest element, and what stands there, or in a table.
void statement_maker::find_and_gather() {
  const rows r = some_rows(true);
  const int size = r.free[0], total = r.free[1], y = r.free[2], k = r.free[3], table = r.free[4], z = r.free[5];
  const std::int64_t axis = signed_axis(r.axis, r.extents.rank());
  const bool from_table = once_in(2);
  apply_into(size, unary::abs, r.x);
  reduce_into(total, once_in(2) ? reduction::sum : reduction::max, size, {axis}, true);
  apply_into(y, binary::quotient, r.x, total);
  reduce_into(k, once_in(3) ? reduction::argmin : reduction::argmax, y, {axis}, !from_table);
  pick found;
  found.what = pick::kind::variable;
  found.integer = k;
  if (from_table) {
    const std::int64_t n = r.extents[r.axis];
    const host_array data = values(any_type(), n > 100 || once_in(2) ? shape{n} : shape{n, 3});
    into(table, verb::make, {}).data = data;
    into(z, verb::index, {table}).picks = {found};
    return;
  }
  step& s = into(z, verb::take_along_axis, {once_in(2) ? r.x : y});
  s.picks = {found};
  s.numbers = {axis};
}

/// A reduction of reductions.
void statement_maker::reduce_again() {
  const rows r = some_rows(once_in(2));
  const int rank = r.extents.rank();
  const int first = r.free[0], second = r.free[1], mixed = r.free[2], third = r.free[3];
  const bool keep = once_in(2);
  reduce_into(first, combining[below(12)], r.x, some_axes(rank, rank > 1 ? 1 + below(rank - 1) : 1), keep);
  if (once_in(3) && keep) {
    apply_into(mixed, binary::multiply, r.x, first);
    reduce_into(second, combining[below(12)], mixed, some_axes(rank, 1 + below(rank)), once_in(2));
    return;
  }
  reduce_into(second, combining[below(12)], first,
              keep ? some_axes(rank, 1 + below(rank)) : std::vector<std::int64_t>{}, keep);
  if (once_in(2)) apply_into(third, binary::add, first, second);
}

/// Several at once, of one array, along the same and other axes.
void statement_maker::reduce_together() {
  const rows r = some_rows(once_in(2));
  const int rank = r.extents.rank();
  const bool along_one = once_in(2);
  const std::vector<std::int64_t> over = some_axes(rank, 1 + below(2));
  std::vector<int> made;
  int x = r.x;
  for (std::size_t k = 0; k < static_cast<std::size_t>(2 + below(3)); ++k) {
    const auto op = combining[below(12)];
    reduce_into(r.free[k], op, x, along_one || once_in(3) ? over : some_axes(rank, 1 + below(rank)), once_in(3));
    made.push_back(r.free[k]);
    if (!once_in(4)) continue;
    apply_into(r.free[6], once_in(2) ? unary::abs : unary::square, r.x);
    x = r.free[6];
  }
  if (once_in(3)) made.push_back(any_variable());
  if (!once_in(3)) add(verb::evaluate, made);
}

/// Results along some axes meet the elements, and results along others.
void statement_maker::spread_back() {
  static constexpr binary ways[] = {binary::add, binary::subtract, binary::multiply, binary::maximum, binary::less};
  const rows r = some_rows(once_in(2));
  const int rank = r.extents.rank();
  const int a = r.free[0], b = r.free[1], y = r.free[2], z = r.free[3], total = r.free[4];
  reduce_into(a, combining[below(12)], r.x, some_axes(rank, 1 + below(2)), true);
  reduce_into(b, combining[below(12)], r.x, some_axes(rank, 1 + below(2)), true);
  if (once_in(3)) {  // an outer combination of both
    apply_into(y, ways[below(5)], a, b);
  } else {
    apply_into(y, ways[below(4)], r.x, a);
    apply_into(z, ways[below(5)], y, b);
  }
  if (once_in(2)) reduce_into(total, combining[below(12)], once_in(2) ? y : r.x, some_axes(rank, 1), once_in(2));
}

/// Results written into the array they are of, put beside it, or scattered.
void statement_maker::write_reduced() {
  const rows r = some_rows(once_in(2));
  const int rank = r.extents.rank(), found = r.free[0];
  const std::int64_t way = below(4), axis = signed_axis(r.axis, rank), n = r.extents[r.axis];
  const bool keep = way != 1;
  reduce_into(found, combining[below(12)], r.x, {axis}, keep);
  if (way == 0) {  // from all
    step& s = add(verb::compound, {r.x, found});
    s.code = static_cast<int>(below(3));
  } else if (way == 1) {  // one line along the others
    std::vector<pick> picks(static_cast<std::size_t>(rank));
    pick& line = picks[static_cast<std::size_t>(r.axis)];
    line.what = pick::kind::integer;
    line.integer = below(2) - 1;
    step& s = add(verb::assign, {r.x, found});
    s.picks = picks;
    s.code = static_cast<int>(below(4));
  } else if (way == 2) {
    const bool first = once_in(2);
    into(r.free[1], verb::concat, first ? std::vector<int>{found, r.x} : std::vector<int>{r.x, found}).numbers = {axis};
  } else {
    static constexpr write ways[] = {write::set, write::add, write::maximum};
    const host_array list = indices({1 + below(4)}, n, false);
    step& s = add(verb::scatter, {r.x, found});
    s.picks = {array_pick(list)};
    s.numbers = {axis};
    s.code = static_cast<int>(ways[below(3)]);
  }
  if (once_in(2)) reduce_into(r.free[2], combining[below(12)], r.x, {axis}, once_in(2));
}

/// A scan, and what it is part of.
void statement_maker::run_along() {
  const rows r = some_rows(once_in(2));
  const int rank = r.extents.rank();
  const int running_sums = r.free[0], other = r.free[1], y = r.free[2];
  const std::int64_t axis = signed_axis(r.axis, rank), way = below(5);
  const auto scan_into = [&](int result, int x, running op, std::int64_t along) {
    step& s = into(result, verb::scan, {x});
    s.code = static_cast<int>(op);
    s.numbers = {along};
  };
  const running op = once_in(2) ? running::cumsum : once_in(2) ? running::cummax : running::cummin;
  if (way == 0) {  // from the end
    into(other, verb::flip, {r.x}).numbers = {axis};
    scan_into(running_sums, other, op, axis);
    into(other, verb::flip, {running_sums}).numbers = {axis};
    apply_into(y, binary::subtract, other, r.x);
    return;
  }
  scan_into(running_sums, r.x, op, axis);
  if (way == 1) {
    reduce_into(other, reduction::sum, r.x, {axis}, true);
    apply_into(y, once_in(2) ? binary::quotient : binary::subtract, running_sums, other);
  } else if (way == 2) {
    reduce_into(y, combining[below(12)], running_sums, some_axes(rank, 1 + below(rank)), once_in(2));
  } else if (way == 3) {
    scan_into(y, running_sums, running::cumsum, signed_axis(below(rank), rank));
  } else {
    step& s = into(y, verb::difference, {running_sums});
    s.numbers = {axis};
    s.amount = 1;
  }
}

/// Sums of products, of an array with what is broadcast along it.
void statement_maker::weigh() {
  const rows r = some_rows(false);
  const int rank = r.extents.rank(), weights = r.free[0], terms = r.free[1], total = r.free[2], sums = r.free[3];
  const std::vector<std::int64_t> over = some_axes(rank, 1 + below(rank));
  const host_array data = values(once_in(4) ? any_type() : r.type, narrowed(r.extents));
  into(weights, verb::make, {}).data = data;
  apply_into(terms, binary::multiply, r.x, weights);
  reduce_into(total, reduction::sum, terms, over, false);
  if (once_in(2)) return;
  reduce_into(sums, reduction::sum, r.x, over, false);
  apply_into(r.free[4], binary::divide, total, sums);
}

}  // namespace sinter_test::fuzz
