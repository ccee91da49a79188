// Reductions, and elements picked by their values.
#include "tests/fuzz/places.hpp"
#include "tests/fuzz/reference.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

namespace sinter_test::fuzz {

using namespace sinter;

namespace {

/// Makes an element inexact although its number is certain: the sign of a zero isn't.
constexpr double zero_of_either_sign = 1e-300;

/// x = m * 2^e with an odd integer m: {bits of m, e}.
struct odd_form {
  int bits, exponent;
};
odd_form odd_form_of(long double x) {
  int exponent = 0;
  const auto whole = static_cast<std::uint64_t>(std::ldexp(std::frexp(std::abs(x), &exponent), 64));
  const int zeros = std::countr_zero(whole);
  return {64 - zeros, exponent - 64 + zeros};
}

/// One part of a sum.
cell part_sum(const std::vector<long double>& numbers, const std::vector<cell>& cells, dtype t) {
  long double sum = 0, magnitude = 0, error = 0;
  bool up = false, down = false, nan = false;
  int unit = 100000;
  for (const cell& c : cells) error += c.error;
  for (long double x : numbers) {
    nan |= std::isnan(x);
    up |= std::isinf(x) && x > 0;
    down |= std::isinf(x) && x < 0;
    if (x == 0 || !std::isfinite(x)) continue;
    unit = std::min(unit, odd_form_of(x).exponent);
    sum += x;
    magnitude += std::abs(x);
  }
  const long double infinity = std::numeric_limits<long double>::infinity();
  if (magnitude > largest_of(t) / 4) throw unpredictable{};
  if (nan || (up && down)) return {{std::numeric_limits<long double>::quiet_NaN(), 0}, 0};
  if (up || down) return {{up ? infinity : -infinity, 0}, 0};
  if (magnitude == 0) return {{0, 0}, static_cast<double>(error) + (numbers.empty() ? 0 : zero_of_either_sign)};
  if (error == 0 && magnitude <= std::ldexp(1.0L, digits_of(t) + unit))
    return {{sum, 0}, sum == 0 ? zero_of_either_sign : 0};
  const auto n = static_cast<double>(numbers.size());
  return {{rounded(sum, t), 0}, static_cast<double>(error) + (n + 2) * static_cast<double>(magnitude) * epsilon_of(t)};
}

/// Another number of positions along each axis: those of a reduction's result, and for each the elements it is made of.
struct grouped {
  shape extents;
  std::vector<std::vector<std::int64_t>> members;
};

grouped groups_of(const step& s, const shape& from) {
  std::set<int> over;
  for (std::int64_t k : s.numbers) {
    if (k < -from.rank() || k >= from.rank()) throw refused{refused::shape};
    if (!over.insert(static_cast<int>(k < 0 ? k + from.rank() : k)).second) throw refused{refused::shape};
  }
  if (s.numbers.empty())
    for (int k = 0; k < from.rank(); ++k) over.insert(k);
  grouped out;
  shape kept;
  for (int k = 0; k < from.rank(); ++k) {
    kept.append(over.contains(k) ? 1 : from[k]);
    if (!over.contains(k)) out.extents.append(from[k]);
  }
  out.members.resize(static_cast<std::size_t>(kept.size()));
  for (std::int64_t k = 0; k < from.size(); ++k)
    out.members[static_cast<std::size_t>(broadcast_position(kept, from, k))].push_back(k);
  if (s.flag) out.extents = kept;
  return out;
}

cell whole_sum(const std::vector<cell>& cells, dtype t, bool multiplies) {
  wide total = multiplies ? 1 : 0;
  for (const cell& c : cells) {
    const auto x = static_cast<wide>(c.v.re);
    total = multiplies ? static_cast<wide>(static_cast<std::uint64_t>(total) * static_cast<std::uint64_t>(x))
                       : static_cast<wide>(wrapped(total + x, i64).re);
  }
  return {wrapped(total, t)};
}

cell extreme(const std::vector<cell>& cells, bool least, bool wants_position, bool real) {
  std::size_t best = 0;
  bool soft = false;
  double error = 0;
  for (std::size_t k = 0; k < cells.size(); ++k) {
    const long double x = cells[k].v.re, so_far = cells[best].v.re;
    error = std::max(error, cells[k].error);
    soft |= real && x == 0 && so_far == 0 && std::signbit(x) != std::signbit(so_far);
    if (std::isnan(so_far)) continue;
    if (std::isnan(x) || (least ? x < so_far : x > so_far)) best = k;
  }
  if (wants_position) return {{static_cast<long double>(best), 0}, 0};
  return {cells[best].v, soft ? std::max(error, zero_of_either_sign) : error};
}

cell mean_of(const std::vector<cell>& cells, dtype from) {
  const dtype summed = is_integer_or_bool(from) ? f64 : size_of(from) == 2 ? f32 : from;
  const dtype result = is_integer_or_bool(from) ? f64 : from;
  std::vector<cell> wide_cells = cells;
  for (cell& c : wide_cells) c.v = cast(c.v, from, summed);
  const cell total = sum_of(wide_cells, summed);
  const auto n = static_cast<double>(cells.size());
  if (cells.empty()) return {{std::numeric_limits<long double>::quiet_NaN(), 0}, 0};
  cell out;
  out.v.re = rounded(static_cast<double>(total.v.re) / n, real_of(result));
  if (is_complex(from)) out.v.im = rounded(static_cast<double>(total.v.im) / n, real_of(result));
  out.error = total.error / n;
  const auto size = static_cast<double>(std::abs(out.v.re) + std::abs(out.v.im));
  if (out.error > 0 && std::isfinite(size)) out.error += size * epsilon_of(result) + (result == f16 ? 1e-7 : 1e-300);
  return out;
}

struct reduced_types {
  dtype computed, result;
};

reduced_types types_of(reduction op, dtype t) {
  switch (op) {
    case reduction::sum:
    case reduction::prod: {
      const dtype wide = !is_integer_or_bool(t) ? t : kind_of(t) == kind::unsigned_integer ? u64 : i64;
      return {wide, wide};
    }
    case reduction::mean: return {t, is_integer_or_bool(t) ? f64 : t};
    case reduction::any_true:
    case reduction::all_true: return {boolean, boolean};
    case reduction::count_nonzero: return {boolean, i64};
    default:
      if (is_complex(t)) throw refused{refused::type};
      return {t, op == reduction::argmin || op == reduction::argmax ? i64 : t};
  }
}

bool is_true(const cell& c) { return c.v.re != 0; }

cell reduce_cells(reduction op, const std::vector<cell>& cells, const reduced_types& types) {
  const dtype t = types.computed;
  const bool least = op == reduction::min || op == reduction::argmin;
  switch (op) {
    case reduction::sum:
    case reduction::prod: {
      const bool multiplies = op == reduction::prod;
      if (is_integer(t)) return whole_sum(cells, t, multiplies);
      const dtype wide = size_of(t) == 2 ? f32 : t;  // accumulates there
      cell c = multiplies ? product_of(cells, wide) : sum_of(cells, wide);
      if (wide != t) {
        c.v.re = rounded(c.v.re, t);
        if (c.error > 0) c.error += static_cast<double>(std::abs(c.v.re)) * epsilon_of(t) + 1e-7;
      }
      return c;
    }
    case reduction::mean: return mean_of(cells, t);
    case reduction::any_true: return {{std::ranges::any_of(cells, is_true) ? 1.0L : 0.0L, 0}};
    case reduction::all_true: return {{std::ranges::all_of(cells, is_true) ? 1.0L : 0.0L, 0}};
    case reduction::count_nonzero: return whole_sum(cells, i64, false);
    case reduction::min:
    case reduction::max: return extreme(cells, least, false, is_real(t));
    default: return extreme(cells, least, true, is_real(t));
  }
}

host_array positions(const std::vector<std::int64_t>& list) { return host_array(list); }

/// Ascending, NaN last.
bool precedes(const value& a, const value& b) {
  const auto before = [](long double x, long double y) { return std::isnan(y) ? !std::isnan(x) : x < y; };
  return before(a.re, b.re) || (!before(b.re, a.re) && before(a.im, b.im));
}

variable unique_of(const variable& x) {
  std::vector<value> values;
  bool soft = false;
  for (std::int64_t k = 0; k < x.size(); ++k) {
    values.push_back(x.h.get(k));
    if (is_complex(x.h.type) && (std::isnan(values.back().re) || std::isnan(values.back().im))) throw unpredictable{};
    soft |= values.back().re == 0 && is_inexact(x.h.type);
  }
  std::stable_sort(values.begin(), values.end(), precedes);
  const auto same = [](const value& a, const value& b) { return !precedes(a, b) && !precedes(b, a); };
  values.erase(std::unique(values.begin(), values.end(), same), values.end());
  variable out(x.h.type, {std::ssize(values)});
  for (std::size_t k = 0; k < values.size(); ++k) out.set(static_cast<std::int64_t>(k), {values[k], 0});
  if (soft) out.soften();
  return out;
}

variable compressed(const step& s, const variable& mask, const variable& x) {
  unsigned bad = mask.h.type == boolean ? 0u : refused::type;
  if (mask.h.extents.rank() != 1) bad |= refused::shape;
  const int rank = x.h.extents.rank();
  if (!s.flag && (s.numbers[0] < -rank || s.numbers[0] >= rank)) bad |= refused::shape;
  const int axis = s.flag ? 0 : static_cast<int>(s.numbers[0] < 0 ? s.numbers[0] + rank : s.numbers[0]);
  if (bad == 0 && mask.size() > (s.flag ? x.size() : x.h.extents[axis])) bad |= refused::shape;
  if (bad != 0) throw refused{bad};
  std::vector<std::int64_t> kept;
  for (std::int64_t k = 0; k < mask.size(); ++k)
    if (mask.h.get(k).re != 0) kept.push_back(k);
  const shape from = s.flag ? shape{x.size()} : x.h.extents;
  shape to = from;
  to[axis] = std::ssize(kept);
  return read(x, mapped(from, to, [&](std::vector<std::int64_t> at) {
                std::int64_t& k = at[static_cast<std::size_t>(axis)];
                k = kept[static_cast<std::size_t>(k)];
                return at;
              }));
}

variable counted(const step& s, const variable& x) {
  if (!is_integer(x.h.type)) {
    if (x.h.type == boolean) throw unpredictable{};
    throw refused{refused::type};
  }
  std::vector<std::int64_t> counts(static_cast<std::size_t>(s.numbers[0]), 0);
  for (std::int64_t k = 0; k < x.size(); ++k) {
    const auto n = x.h.get(k).re;
    if (n < 0 || n >= static_cast<long double>(s.numbers[0])) throw unpredictable{};
    ++counts[static_cast<std::size_t>(n)];
  }
  return host_array(counts);
}

}  // namespace

cell sum_of(const std::vector<cell>& numbers, dtype t) {
  std::vector<long double> re, im;
  for (const cell& c : numbers) re.push_back(c.v.re), im.push_back(c.v.im);
  const cell real = part_sum(re, numbers, real_of(t));
  if (!is_complex(t)) return real;
  const cell imaginary = part_sum(im, numbers, real_of(t));
  if (!std::isfinite(real.v.re) || !std::isfinite(imaginary.v.re)) throw unpredictable{};
  return {{real.v.re, imaginary.v.re}, std::max(real.error, imaginary.error)};
}

cell product_of(const std::vector<cell>& numbers, dtype t) {
  if (is_complex(t)) throw unpredictable{};
  long double product = 1;
  int bits = 0, exponents = 0;
  bool exact = true, zero = false;
  for (const cell& c : numbers) {
    if (!std::isfinite(c.v.re) || c.error > 0) throw unpredictable{};
    product *= c.v.re;
    zero |= c.v.re == 0;
    if (c.v.re == 0) continue;
    const odd_form f = odd_form_of(c.v.re);
    bits += f.bits;
    exponents += f.bits + std::abs(f.exponent);
  }
  const int reach = real_of(t) == f16 ? 14 : real_of(t) == f64 ? 1000 : 120;
  if (exponents > reach) throw unpredictable{};  // some order might overflow
  exact = bits <= digits_of(t);
  if (zero) return {{0, 0}, zero_of_either_sign};
  const auto error = static_cast<double>(std::abs(product)) * static_cast<double>(numbers.size() + 1) * epsilon_of(t);
  return {{rounded(product, t), 0}, exact ? 0 : error};
}

variable reduced(const step& s, const variable& x) {
  const auto op = static_cast<reduction>(s.code);
  unsigned bad = 0;
  grouped groups;
  reduced_types types{};
  try {
    types = types_of(op, x.h.type);
  } catch (const refused& r) { bad = r.kinds; }
  try {
    groups = groups_of(s, x.h.extents);
    const bool orders = op == reduction::min || op == reduction::max || op >= reduction::argmin;
    for (const auto& g : groups.members)
      if (orders && g.empty()) bad |= refused::shape;
  } catch (const refused& r) { bad |= r.kinds; }
  if (bad != 0) throw refused{bad};
  // Along no elements for no results: whether that is an error isn't said.
  if (groups.members.empty() && x.h.extents.rank() > 0 && op >= reduction::min) throw unpredictable{};
  const bool continuous = op <= reduction::mean && op != reduction::prod;
  if (!x.exact() && !continuous) throw unpredictable{};
  const variable from = cast(x, types.computed);
  variable out(types.result, groups.extents);
  for (std::int64_t k = 0; k < out.size(); ++k) {
    std::vector<cell> cells;
    for (std::int64_t m : groups.members[static_cast<std::size_t>(k)]) cells.push_back(from.get(m));
    out.set(k, reduce_cells(op, cells, types));
  }
  return out;
}

variable picked_by_value(const step& s, pool variables) {
  const variable& x = variables[static_cast<std::size_t>(s.from[0])];
  if (!x.exact()) throw unpredictable{};
  if (s.what == verb::unique) return unique_of(x);
  if (s.what == verb::bincount) return counted(s, x);
  if (s.what == verb::compress) return compressed(s, x, variables[static_cast<std::size_t>(s.from[1])]);
  const variable truth = cast(x, boolean);
  std::vector<std::int64_t> flat;
  for (std::int64_t k = 0; k < truth.size(); ++k)
    if (truth.h.get(k).re != 0) flat.push_back(k);
  if (s.what == verb::flatnonzero) return positions(flat);
  const shape& extents = x.h.extents;
  if (extents.rank() == 0) throw unpredictable{};
  std::vector<std::vector<std::int64_t>> by_axis(static_cast<std::size_t>(extents.rank()));
  std::vector<std::int64_t> rows(flat.size() * by_axis.size());
  for (std::size_t k = 0; k < flat.size(); ++k) {
    std::int64_t rest = flat[k];
    for (int axis = extents.rank(); axis-- > 0;) {
      rows[k * by_axis.size() + static_cast<std::size_t>(axis)] = rest % extents[axis];
      by_axis[static_cast<std::size_t>(axis)].push_back(rest % extents[axis]);
      rest /= extents[axis];
    }
  }
  if (s.what == verb::argwhere) return host_array(rows, {std::ssize(flat), extents.rank()});
  return positions(by_axis[static_cast<std::size_t>(s.numbers[0] % extents.rank())]);
}

}  // namespace sinter_test::fuzz
