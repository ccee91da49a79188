// Reductions.
#include "tests/fuzz/reference.hpp"
#include "tests/fuzz/rows.hpp"
#include "tests/fuzz/totals.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace sinter_test::fuzz {

using namespace sinter;

namespace {

constexpr long double infinity = std::numeric_limits<long double>::infinity();
constexpr long double nan_value = std::numeric_limits<long double>::quiet_NaN();

// ---- Dtypes ----

struct reduced_types {
  dtype computed, result;
};

dtype widened(dtype t) { return !is_integer_or_bool(t) ? t : kind_of(t) == kind::unsigned_integer ? u64 : i64; }

reduced_types types_of(reduction op, dtype t) {
  const auto ordered = [&] {
    if (is_complex(t)) throw refused{refused::type};
  };
  switch (op) {
    case reduction::sum:
    case reduction::prod:
    case reduction::nansum:
    case reduction::nanprod: return {widened(t), widened(t)};
    case reduction::mean:
    case reduction::nanmean: return {working_type(t), inexact_type(t)};
    case reduction::var:
    case reduction::stddev:
    case reduction::norm: return {working_type(t), real_of(inexact_type(t))};
    case reduction::any_true:
    case reduction::all_true: return {boolean, boolean};
    case reduction::count_nonzero: return {boolean, i64};
    case reduction::logsumexp: ordered(); return {working_type(t), inexact_type(t)};
    case reduction::argmin:
    case reduction::argmax: ordered(); return {t, i64};
    case reduction::ptp:
      if (t == boolean) throw refused{refused::type};
      [[fallthrough]];
    default: ordered(); return {t, t};
  }
}

bool wants_elements(const step& s) {
  const auto op = static_cast<reduction>(s.code);
  switch (op) {
    case reduction::min:
    case reduction::max: return !s.use_value;
    case reduction::argmin:
    case reduction::argmax:
    case reduction::ptp:
    case reduction::nanmin:
    case reduction::nanmax: return true;
    case reduction::norm: return std::isinf(norm_orders[s.amount]);
    default: return false;
  }
}

bool ignores_nan(reduction op) { return op >= reduction::nansum && op <= reduction::nanmean; }

/// Whether it may be told for elements that aren't exact.
bool is_continuous(const step& s) {
  const auto op = static_cast<reduction>(s.code);
  if (op == reduction::norm) return norm_orders[s.amount] != 0;
  const bool by_steps =
      (op >= reduction::any_true && op <= reduction::argmax) || op == reduction::prod || op == reduction::nanprod;
  return !by_steps;
}

// ---- One result ----

bool is_nan(const cell& c) { return std::isnan(c.v.re) || std::isnan(c.v.im); }
bool is_true(const cell& c) { return c.v.re != 0; }

running_result accumulated(reduction op, const std::vector<cell>& cells, dtype t) {
  running_result r(op, t);
  for (const cell& c : cells) r.add(c);
  return r;
}

cell position_of(const std::vector<cell>& cells, bool least, dtype t) {
  extreme e(least, is_real(t));
  for (const cell& c : cells) e.add(c);
  return {{static_cast<long double>(e.position()), 0}, 0};
}

cell difference(const cell& high, const cell& low, dtype t) {
  bool soft = false;
  cell c = combine(binary::subtract, high, low, {t, t, t}, soft);
  if (soft) c.error = std::max(c.error, zero_of_either_sign);
  return c;
}

/// In the dtype of the initial value and the total.
cell with_initial(const step& s, const cell& total, dtype t) {
  bool soft = false;
  const cell start{cast({s.value.x, 0}, s.value.type, t), 0};
  const auto op = static_cast<reduction>(s.code);
  const binary how = op == reduction::sum    ? binary::add
                     : op == reduction::prod ? binary::multiply
                     : op == reduction::min  ? binary::minimum
                                             : binary::maximum;
  cell c = combine(how, total, start, {t, t, t}, soft);
  if (soft && is_inexact(t)) c.error = std::max(c.error, zero_of_either_sign);
  return c;
}

/// Sum or product; `t`: as computed, widened; `result`: what it becomes.
cell totalled(const step& s, const std::vector<cell>& cells, dtype t, dtype result) {
  const auto op = static_cast<reduction>(s.code) == reduction::nansum    ? reduction::sum
                  : static_cast<reduction>(s.code) == reduction::nanprod ? reduction::prod
                                                                         : static_cast<reduction>(s.code);
  const bool halves = is_real(t) && size_of(t) == 2;
  if (!s.use_value) {
    const cell c = accumulated(op, cells, t).result();
    return is_integer(t) ? cell{cast(c.v, t, result), 0} : c;
  }
  const dtype work = halves ? f32 : t;
  const cell total = accumulated(op, cells, work).kept();
  const cell c = with_initial(s, total, work);
  return is_integer(t) ? cell{cast(c.v, t, result), 0} : narrowed(c, work, result);
}

/// The magnitude of a number of `t`, or its square.
cell magnitude_of(const cell& c, bool squared, dtype t) {
  const dtype part = real_of(t);
  bool soft = false;
  const auto square = [&](long double x) {
    return combine(binary::multiply, {{x, 0}, c.error}, {{x, 0}, c.error}, {part, part, part}, soft);
  };
  if (!squared && !is_complex(t)) return {{std::abs(c.v.re), 0}, c.error};
  if (squared && !is_complex(t)) return square(c.v.re);
  if (squared) return combine(binary::add, square(c.v.re), square(c.v.im), {part, part, part}, soft);
  variable one(t, {});
  one.set(0, c);
  return apply(unary::abs, one).get(0);
}

cell norm_of(const std::vector<cell>& cells, double order, dtype t, dtype result) {
  const dtype part = real_of(t);
  if (order == 0) {
    const auto counts = [](const cell& c) { return c.v.re != 0 || c.v.im != 0; };
    return {{rounded(static_cast<long double>(std::ranges::count_if(cells, counts)), result), 0}, 0};
  }
  std::vector<cell> parts;
  for (const cell& c : cells) parts.push_back(magnitude_of(c, order == 2, t));
  if (std::isinf(order))
    return narrowed(accumulated(order > 0 ? reduction::max : reduction::min, parts, part).result(), part, result);
  const cell total = accumulated(reduction::sum, parts, part).kept();
  return narrowed(order == 2 ? root_of(total, part) : total, part, result);
}

cell reduce_cells(const step& s, std::vector<cell> cells, const reduced_types& types, dtype from) {
  const dtype t = types.computed;
  const auto op = static_cast<reduction>(s.code);
  if (ignores_nan(op)) std::erase_if(cells, is_nan);
  switch (op) {
    case reduction::sum:
    case reduction::prod:
    case reduction::nansum:
    case reduction::nanprod: return totalled(s, cells, t, types.result);
    case reduction::mean:
    case reduction::nanmean: return mean_of({cells, from, s.masked});
    case reduction::var:
    case reduction::stddev: return variance_of({cells, from, s.masked}, s.amount, op == reduction::stddev);
    case reduction::any_true: return {{std::ranges::any_of(cells, is_true) ? 1.0L : 0.0L, 0}};
    case reduction::all_true: return {{std::ranges::all_of(cells, is_true) ? 1.0L : 0.0L, 0}};
    case reduction::count_nonzero: return accumulated(reduction::sum, cells, i64).result();
    case reduction::logsumexp: return logarithm_of_sum(cells, t, types.result);
    case reduction::norm: return norm_of(cells, norm_orders[s.amount], t, types.result);
    case reduction::argmin:
    case reduction::argmax: return position_of(cells, op == reduction::argmin, t);
    case reduction::ptp:
      return difference(accumulated(reduction::max, cells, t).result(), accumulated(reduction::min, cells, t).result(),
                        t);
    case reduction::nanmin:
    case reduction::nanmax:
      if (cells.empty()) return {{nan_value, 0}, 0};
      return accumulated(op == reduction::nanmin ? reduction::min : reduction::max, cells, t).result();
    default:
      if (!s.use_value) return accumulated(op, cells, t).result();
      if (cells.empty()) return {cast({s.value.x, 0}, s.value.type, t), 0};
      return with_initial(s, accumulated(op, cells, t).result(), t);
  }
}

// ---- What may be asked for ----

unsigned bad_initial(const number& n, dtype result) {
  if (result == boolean && n.type != boolean) throw unpredictable{};  // what of a number is truth isn't said
  if (level(n.type) > level(result)) return refused::type;
  try {
    check_range(n, result);
  } catch (const refused& r) { return r.kinds; }
  return 0;
}

/// Complaints about what is given by name.
unsigned bad_options(const step& s, const shape& extents, dtype result, pool variables) {
  const auto op = static_cast<reduction>(s.code);
  unsigned bad = 0;
  if (s.use_value && !takes_initial(op)) bad |= refused::type;
  if (s.typed && !takes_type(op)) bad |= refused::type;
  if (s.use_value && takes_initial(op)) bad |= bad_initial(s.value, result);
  if (!s.masked) return bad;
  const variable& mask = variables[static_cast<std::size_t>(s.from.at(1))];
  if (mask.h.type != boolean) bad |= refused::type;
  try {
    if (broadcast(mask.h.extents, extents) != extents) bad |= refused::shape;
  } catch (const refused& r) { bad |= r.kinds; }
  if (!s.use_value && takes_initial(op) && op >= reduction::min) bad |= refused::shape;
  return bad;
}

/// Which options the library's functions without options would ignore, or take for something else.
bool has_stray_options(const step& s) {
  const auto op = static_cast<reduction>(s.code);
  const bool by_name = takes_mask(op);
  if (!by_name && (s.masked || s.typed || s.use_value)) return true;
  if (op == reduction::norm) return s.amount < 0 || s.amount >= std::ssize(norm_orders);
  return s.amount != 0 && !takes_ddof(op);
}

}  // namespace

grouped groups_of(const std::vector<std::int64_t>& axes, const shape& from, bool keep) {
  std::set<int> over;
  for (std::int64_t k : axes) {
    if (k < -from.rank() || k >= from.rank()) throw refused{refused::shape};
    if (!over.insert(static_cast<int>(k < 0 ? k + from.rank() : k)).second) throw refused{refused::shape};
  }
  if (axes.empty())
    for (int k = 0; k < from.rank(); ++k) over.insert(k);
  grouped out;
  for (int k = 0; k < from.rank(); ++k) {
    out.kept.append(over.contains(k) ? 1 : from[k]);
    if (!over.contains(k)) out.extents.append(from[k]);
  }
  out.members.resize(static_cast<std::size_t>(out.kept.size()));
  for (std::int64_t k = 0; k < from.size(); ++k)
    out.members[static_cast<std::size_t>(broadcast_position(out.kept, from, k))].push_back(k);
  if (keep) out.extents = out.kept;
  return out;
}

variable reduced(const step& s, pool variables) {
  const auto op = static_cast<reduction>(s.code);
  if (has_stray_options(s)) throw unpredictable{};
  const variable& given = variables[static_cast<std::size_t>(s.from.at(0))];
  const variable x = s.typed ? cast(given, s.type) : given;
  unsigned bad = 0;
  grouped groups;
  reduced_types types{};
  try {
    types = types_of(op, x.h.type);
    if (s.typed && op <= reduction::prod) types.result = s.type;
    bad |= bad_options(s, x.h.extents, types.result, variables);
  } catch (const refused& r) { bad |= r.kinds; }
  try {
    groups = groups_of(s.numbers, x.h.extents, s.flag);
    for (const auto& g : groups.members)
      if (wants_elements(s) && g.empty()) bad |= refused::shape;
  } catch (const refused& r) { bad |= r.kinds; }
  if (bad != 0) throw refused{bad};
  // Along no elements for no results: whether that is an error isn't said.
  if (groups.members.empty() && x.h.extents.rank() > 0 && wants_elements(s)) throw unpredictable{};
  if (!x.exact() && !is_continuous(s)) throw unpredictable{};
  const variable from = cast(x, types.computed);
  const variable mask =
      s.masked ? broadcast_to(variables[static_cast<std::size_t>(s.from[1])], x.h.extents) : variable();
  variable out(types.result, groups.extents);
  for (std::int64_t k = 0; k < out.size(); ++k) {
    std::vector<cell> cells;
    for (std::int64_t m : groups.members[static_cast<std::size_t>(k)])
      if (!s.masked || mask.h.get(m).re != 0) cells.push_back(from.get(m));
    out.set(k, reduce_cells(s, std::move(cells), types, x.h.type));
  }
  return out;
}

}  // namespace sinter_test::fuzz
