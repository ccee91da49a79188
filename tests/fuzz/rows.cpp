#include "tests/fuzz/rows.hpp"

#include "tests/fuzz/places.hpp"
#include "tests/fuzz/reference.hpp"
#include "tests/fuzz/totals.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sinter_test::fuzz {

using namespace sinter;

namespace {

constexpr long double infinity = std::numeric_limits<long double>::infinity();
constexpr long double nan_value = std::numeric_limits<long double>::quiet_NaN();

/// How far off exp and log may be, in units of the last place (unary.cpp says the same).
constexpr double units = 8;

int checked_axis(std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) throw refused{refused::shape};
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

// ---- Exponentials ----

/// exp(x - highest) of some numbers, added up.
struct exponentials {
  long double highest = -infinity, sum = 0;
  double worst = 0;  ///< error of what went in
  double steps = 0;  ///< relative error of the sum, in units of the last place
  bool nan = false;
};

exponentials exponentials_of(const std::vector<cell>& cells) {
  exponentials e;
  for (const cell& c : cells) {
    e.nan |= std::isnan(c.v.re);
    e.worst = std::max(e.worst, c.error);
    if (c.v.re > e.highest) e.highest = c.v.re;
  }
  if (e.nan || std::isinf(e.highest)) return e;
  long double weighted = 0;  // x - highest rounds, which exp multiplies by the distance
  for (const cell& c : cells) {
    const long double away = e.highest - c.v.re, part = std::exp(-away);
    e.sum += part;
    if (part > 0) weighted += part * away;
  }
  e.steps = static_cast<double>(weighted / e.sum) + units + 2;
  if (e.worst > 0.25) throw unpredictable{};
  return e;
}

/// Within `error`, computed in `work`, then rounded to `result`.
cell approximately(long double x, double error, dtype work, dtype result) {
  if (std::isfinite(x) && std::abs(x) > largest_of(result) / 4) throw unpredictable{};
  return narrowed({{rounded(x, work), 0}, error + step_at(x, work)}, work, result);
}

cell share_of(const cell& c, const exponentials& e, exponential which, dtype work, dtype result) {
  if (e.nan || std::isinf(e.highest)) return {{nan_value, 0}, 0};
  const long double away = e.highest - c.v.re;
  const bool logarithm = which == exponential::log_softmax;
  if (std::isinf(away)) return {{logarithm ? -infinity : 0, 0}, logarithm ? 0 : zero_of_either_sign};
  if (away > largest_of(work) / 4) throw unpredictable{};
  const double unit = epsilon_of(work), distance = static_cast<double>(away);
  if (logarithm) {
    const long double log_sum = std::log(e.sum), x = -away - log_sum;
    const double steps = distance + e.steps + units * static_cast<double>(log_sum);
    return approximately(x, unit * steps + 2.2 * e.worst, work, result);
  }
  const long double x = std::exp(-away) / e.sum;
  const double relative = unit * (distance + units + e.steps + 2) + 4 * e.worst;
  return approximately(x, static_cast<double>(x) * relative + 8 * step_at(0, work), work, result);
}

}  // namespace

cell logarithm_of_sum(const std::vector<cell>& cells, dtype computed, dtype result) {
  const exponentials e = exponentials_of(cells);
  if (e.nan) return {{nan_value, 0}, 0};
  if (std::isinf(e.highest)) return {{e.highest, 0}, 0};
  const long double log_sum = std::log(e.sum);
  const double steps = e.steps + units * static_cast<double>(log_sum) + 1;
  return approximately(e.highest + log_sum, epsilon_of(computed) * steps + 1.1 * e.worst, computed, result);
}

variable shared(const step& s, const variable& x) {
  unsigned bad = is_complex(x.h.type) ? refused::type : 0u;
  grouped groups;
  try {
    groups = groups_of(s.numbers, x.h.extents, true);
  } catch (const refused& r) { bad |= r.kinds; }
  if (bad != 0) throw refused{bad};
  const dtype work = working_type(x.h.type), result = inexact_type(x.h.type);
  const variable from = cast(x, work);
  variable out(result, x.h.extents);
  for (const auto& members : groups.members) {
    std::vector<cell> cells;
    for (std::int64_t m : members) cells.push_back(from.get(m));
    const exponentials e = exponentials_of(cells);
    for (std::size_t k = 0; k < members.size(); ++k)
      out.set(members[k], share_of(cells[k], e, static_cast<exponential>(s.code), work, result));
  }
  return out;
}

// ---- Scans ----

variable scanned(const step& s, const variable& given) {
  const variable x = s.typed ? cast(given, s.type) : given;
  const auto op = static_cast<running>(s.code);
  const bool adds_up = op == running::cumsum || op == running::cumprod;
  const shape extents = s.flag ? shape{x.size()} : x.h.extents;
  unsigned bad = !adds_up && is_complex(x.h.type) ? refused::type : 0u;
  const std::int64_t given_axis = s.flag ? 0 : s.numbers.at(0);
  if (given_axis < -extents.rank() || given_axis >= extents.rank()) bad |= refused::shape;
  if (bad != 0) throw refused{bad};
  const dtype widened = !adds_up || is_inexact(x.h.type)              ? x.h.type
                        : kind_of(x.h.type) == kind::unsigned_integer ? u64
                                                                      : i64;
  const dtype result = s.typed ? s.type : widened;
  constexpr reduction same[] = {reduction::sum, reduction::prod, reduction::min, reduction::max};
  const variable from = cast(x, widened);
  variable out(result, extents);
  const auto groups = groups_of({given_axis}, extents, true);
  for (const auto& members : groups.members) {
    running_result r(same[s.code], widened);
    for (std::int64_t m : members) {
      r.add(from.get(m));
      cell c = r.result();
      if (result != widened) c.v = cast(c.v, widened, result);
      out.set(m, c);
    }
  }
  return out;
}

// ---- Differences ----

namespace {

/// x with the edges that a statement names; single elements go along the whole side.
variable with_edges(const step& s, int axis, pool variables) {
  std::vector<variable> parts;
  const variable& x = variables[static_cast<std::size_t>(s.from.at(0))];
  std::size_t next = 1;
  const auto edge = [&](int side) {
    if ((s.code & side) == 0) return;
    const variable& given = variables[static_cast<std::size_t>(s.from.at(next++))];
    shape along = x.h.extents;
    along[axis] = 1;
    parts.push_back(given.h.extents.rank() == 0 ? broadcast_to(given, along) : given);
  };
  edge(1);
  parts.push_back(x);
  edge(2);
  step joins;
  joins.what = verb::concat;
  joins.numbers = {axis};
  for (std::size_t k = 0; k < parts.size(); ++k) joins.from.push_back(static_cast<int>(k));
  return joined(joins, parts);
}

/// Elements first .. first + count along an axis.
variable stretch(const variable& x, int axis, std::int64_t first, std::int64_t count) {
  shape to = x.h.extents;
  to[axis] = count;
  return read(x, mapped(x.h.extents, to, [&](std::vector<std::int64_t> at) {
                at[static_cast<std::size_t>(axis)] += first;
                return at;
              }));
}

}  // namespace

variable differences(const step& s, pool variables) {
  const variable& x = variables[static_cast<std::size_t>(s.from.at(0))];
  if (s.amount < 0) throw refused{refused::shape};
  const int axis = checked_axis(s.numbers.at(0), x.h.extents.rank());
  if (s.amount == 0) return x;
  variable y = with_edges(s, axis, variables);
  for (std::int64_t k = 0; k < s.amount && y.h.extents[axis] > 0; ++k) {
    const std::int64_t count = y.h.extents[axis] - 1;
    const variable left = stretch(y, axis, 0, count), right = stretch(y, axis, std::min<std::int64_t>(count, 1), count);
    y = apply(y.h.type == boolean ? binary::not_equal : binary::subtract, {&right}, {&left});
  }
  return y;
}

}  // namespace sinter_test::fuzz
