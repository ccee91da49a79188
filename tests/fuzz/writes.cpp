// Reads and writes through indices.
#include "tests/fuzz/places.hpp"
#include "tests/fuzz/reference.hpp"
#include "tests/fuzz/totals.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace sinter_test::fuzz {

using namespace sinter;

namespace {

const variable& at(pool variables, int k) { return variables[static_cast<std::size_t>(k)]; }

resolved_pick resolved(const pick& p, pool variables) {
  if (p.what == pick::kind::array) return {&p, p.values};
  if (p.what != pick::kind::variable) return {&p, {}};
  const variable& v = at(variables, static_cast<int>(p.integer));
  if (!v.exact() && is_integer_or_bool(v.h.type)) throw unpredictable{};
  return {&p, v.h};
}

std::vector<resolved_pick> resolved(const std::vector<pick>& picks, pool variables) {
  std::vector<resolved_pick> out;
  for (const pick& p : picks) out.push_back(resolved(p, variables));
  return out;
}

int checked_axis(std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) throw refused{refused::shape};
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

/// The only index array of a statement.
resolved_pick index_array(const step& s, pool variables) {
  const pick& p = s.picks.at(0);
  if (p.what != pick::kind::array && p.what != pick::kind::variable) throw unpredictable{};
  const resolved_pick r = resolved(p, variables);
  if (r.values.type == boolean) throw unpredictable{};
  if (!is_integer(r.values.type)) throw refused{refused::type};
  return r;
}

/// Indices along one axis, as picks.
places along(const shape& extents, const step& s, pool variables) {
  const resolved_pick indices = index_array(s, variables);
  const pick rest{};
  std::vector<resolved_pick> picks(static_cast<std::size_t>(checked_axis(s.numbers[0], extents.rank())), {&rest, {}});
  picks.push_back(indices);
  return selected(extents, picks);
}

/// Indices into the elements in C order.
places flat_places(const shape& extents, const step& s, pool variables) {
  const resolved_pick indices = index_array(s, variables);
  return selected({extents.size()}, {indices});
}

places along_axis(const shape& extents, const step& s, pool variables) {
  const host_array values = index_array(s, variables).values;
  const int axis = checked_axis(s.numbers[0], extents.rank());
  if (values.extents.rank() != extents.rank()) throw refused{refused::shape};
  shape to = extents;
  to[axis] = values.extents[axis];
  for (int k = 0; k < to.rank(); ++k)
    if (k != axis && values.extents[k] != extents[k] && values.extents[k] != 1) throw unpredictable{};
  return mapped(extents, to, [&](std::vector<std::int64_t> position) {
    std::int64_t flat = 0;
    for (int k = 0; k < to.rank(); ++k)
      flat = flat * values.extents[k] + (values.extents[k] == 1 ? 0 : position[static_cast<std::size_t>(k)]);
    const auto n = static_cast<std::int64_t>(values.get(flat).re);
    if (n < -extents[axis] || n >= extents[axis]) throw unpredictable{};
    position[static_cast<std::size_t>(axis)] = n < 0 ? n + extents[axis] : n;
    return position;
  });
}

constexpr binary operation_of[] = {binary::add,
                                   binary::add,
                                   binary::subtract,
                                   binary::multiply,
                                   binary::quotient,
                                   binary::fmod,
                                   binary::bitwise_and,
                                   binary::bitwise_or,
                                   binary::bitwise_xor,
                                   binary::bitwise_left_shift,
                                   binary::bitwise_right_shift,
                                   binary::minimum,
                                   binary::maximum};

/// Whether op= computes the same in the target's dtype as in the common one.
bool wraps_alike(write how) { return how >= write::add && how <= write::multiply; }
bool is_bits(write how) { return how >= write::bit_and && how <= write::bit_xor; }

/// As in NumPy, values may have more axes than the selection when those are of extent 1.
shape without_leading_ones(const shape& extents, int rank) {
  shape out;
  for (int k = 0; k < extents.rank(); ++k)
    if (out.rank() > 0 || extents[k] != 1 || extents.rank() - k <= rank) out.append(extents[k]);
  return out;
}

/// The right side in the target's dtype, [selection]. Throws what the statement must throw.
variable right_side(const step& s, write how, const variable& target, const shape& selection, pool variables) {
  const dtype t = target.h.type;
  const term right = s.use_value ? term{nullptr, s.value} : term{&at(variables, s.from.at(1))};
  unsigned bad = 0;
  variable source = right.x ? *right.x : variable{};
  if (right.x) {
    source.h.extents = without_leading_ones(source.h.extents, selection.rank());
    try {
      if (broadcast(source.h.extents, selection) != selection) bad |= refused::shape;
    } catch (const refused&) { bad |= refused::shape; }
  }
  try {
    if (right.x && rank_of_kind(right.x->h.type) > rank_of_kind(t)) throw refused{refused::type};
    if (!right.x && level(right.n.type) > level(t)) throw refused{refused::type};
    if (!right.x) check_range(right.n, t);
    if (how != write::set) {
      const binary_types types = types_of(operation_of[static_cast<int>(how)], {&target}, right);
      if (rank_of_kind(types.result) > rank_of_kind(t)) throw refused{refused::type};
      // Whether the right side converts before or the result after can be seen in other operations.
      const bool alike = types.result == t || ((wraps_alike(how) || is_bits(how)) && is_integer(t));
      if (!alike) throw unpredictable{};
    }
  } catch (const refused& r) { bad |= r.kinds; }
  if (bad != 0) throw refused{bad};
  if (right.x) return broadcast_to(cast(source, t), selection);
  host_array one(t, {});
  one.set(0, cast({right.n.x, 0}, right.n.type, t));
  return broadcast_to(one, selection);
}

/// Several values for one element, combined in any order.
cell accumulated(write how, cell now, const std::vector<cell>& values, dtype t, bool& soft) {
  const binary op = operation_of[static_cast<int>(how)];
  const bool ordered =
      how == write::divide || how == write::modulo || how == write::shift_left || how == write::shift_right;
  if (values.size() > 1 && ordered) throw unpredictable{};
  if (values.size() == 1 || !is_inexact(t) || how >= write::minimum) {
    for (const cell& v : values) now = combine(op, now, v, {t, t, t}, soft);
    return now;
  }
  running_result all(how == write::multiply ? reduction::prod : reduction::sum, t);
  all.add(now);
  for (cell v : values) {
    if (how == write::subtract) v.v = {-v.v.re, -v.v.im};
    all.add(v);
  }
  return all.stepwise();
}

}  // namespace

variable read_by_index(const step& s, pool variables) {
  const variable& x = at(variables, s.from.at(0));
  if (s.what == verb::index) return read(x, selected(x.h.extents, resolved(s.picks, variables)));
  if (s.what == verb::take_along_axis) return read(x, along_axis(x.h.extents, s, variables));
  return read(x, s.flag ? flat_places(x.h.extents, s, variables) : along(x.h.extents, s, variables));
}

variable written(const step& s, pool variables) {
  const variable& target = at(variables, s.from.at(0));
  const shape& extents = target.h.extents;
  const auto how = static_cast<write>(s.code);
  const places where = s.what == verb::assign    ? selected(extents, resolved(s.picks, variables))
                       : s.what == verb::scatter ? along(extents, s, variables)
                       : s.what == verb::put     ? flat_places(extents, s, variables)
                                                 : along_axis(extents, s, variables);
  const variable values = right_side(s, how, target, where.extents, variables);
  if (values.size() > 4 * size_limit(target.size())) throw unpredictable{};
  if (!(values.exact() && target.exact()) && how > write::multiply) throw unpredictable{};
  variable out = target;
  if (!values.exact()) out.soften();
  if (how == write::set) {
    for (std::int64_t k = 0; k < values.size(); ++k) out.set(where.flat[static_cast<std::size_t>(k)], values.get(k));
    return out;
  }
  std::map<std::int64_t, std::vector<cell>> by_element;
  for (std::int64_t k = 0; k < values.size(); ++k)
    by_element[where.flat[static_cast<std::size_t>(k)]].push_back(values.get(k));
  bool soft = false;
  for (const auto& [k, list] : by_element) out.set(k, accumulated(how, target.get(k), list, target.h.type, soft));
  if (soft && is_inexact(target.h.type)) out.soften();
  return out;
}

}  // namespace sinter_test::fuzz
