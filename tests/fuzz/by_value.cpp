// Elements picked by their values.
#include "tests/fuzz/places.hpp"
#include "tests/fuzz/reference.hpp"

#include <algorithm>
#include <cmath>

namespace sinter_test::fuzz {

using namespace sinter;

namespace {

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
