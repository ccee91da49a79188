#include "tests/fuzz/reference.hpp"

#include "tests/fuzz/places.hpp"
#include "tests/fuzz/rows.hpp"

#include <algorithm>
#include <stdexcept>

namespace sinter_test::fuzz {

using namespace sinter;

namespace {

variable filled(const step& s) {
  check_range(s.value, s.type);
  if (level(s.value.type) > level(s.type)) throw unpredictable{};
  variable out(s.type, s.extents);
  const value v = cast({s.value.x, 0}, s.value.type, s.type);
  for (std::int64_t k = 0; k < out.size(); ++k) out.set(k, {v, 0});
  return out;
}

variable counted_up(const step& s) {
  variable out(s.type, s.extents);
  for (std::int64_t k = 0; k < out.size(); ++k) out.set(k, {cast({static_cast<long double>(k), 0}, i64, s.type), 0});
  return out;
}

/// "T x" -> "i64 count": how many are above 0.
variable counted_above(const step& s, const variable& x) {
  const grouped groups = groups_of(s.numbers, x.h.extents, s.flag);
  if (!x.exact() || is_complex(x.h.type)) throw unpredictable{};
  variable out(i64, groups.extents);
  for (std::size_t k = 0; k < groups.members.size(); ++k) {
    const auto above = [&](std::int64_t m) { return x.h.get(m).re > 0; };
    out.set(static_cast<std::int64_t>(k),
            {{static_cast<long double>(std::ranges::count_if(groups.members[k], above)), 0}});
  }
  return out;
}

}  // namespace

variable compounded(binary op, const variable& target, const term& x) {
  unsigned bad = 0;
  try {
    if (x.x && broadcast(target.h.extents, x.x->h.extents) != target.h.extents) bad |= refused::shape;
  } catch (const refused& r) { bad |= r.kinds; }
  try {
    if (rank_of_kind(types_of(op, {&target}, x).result) > rank_of_kind(target.h.type)) bad |= refused::type;
  } catch (const refused& r) { bad |= r.kinds; }
  if (bad != 0) throw refused{bad};
  return cast(apply(op, {&target}, x), target.h.type);
}

variable called(const step& s, pool variables) {
  const variable& x = variables[static_cast<std::size_t>(s.from[0])];
  if (s.code == 0) {  // "T x, T y" -> "T z": x < y ? x : y
    const variable& y = variables[static_cast<std::size_t>(s.from[1])];
    if (x.h.type != y.h.type) throw refused{refused::type};
    if (is_complex(x.h.type)) throw unpredictable{};  // it doesn't compile, which is told when it is evaluated
    const variable smaller = apply(binary::less, {&x}, {&y});
    return where(smaller, {&x}, {&y});
  }
  if (s.code == 3) return counted_above(s, x);
  if (x.h.type != f64) throw refused{refused::type};
  const variable whole = apply(unary::floor, x);
  return s.code == 1 ? whole : apply(binary::subtract, {&x}, {&whole});
}

variable reference::result_of(const step& s) const {
  const auto term_of = [&](std::size_t k) { return term{&operand(s, k)}; };
  switch (s.what) {
    case verb::make: return s.data;
    case verb::full: return filled(s);
    case verb::ramp: return counted_up(s);
    case verb::copy: return operand(s, 0);
    case verb::unary_call: return apply(static_cast<unary>(s.code), operand(s, 0));
    case verb::binary_call: return apply(static_cast<binary>(s.code), term_of(0), term_of(1));
    case verb::with_number:
      return s.flag ? apply(static_cast<binary>(s.code), {nullptr, s.value}, term_of(0))
                    : apply(static_cast<binary>(s.code), term_of(0), {nullptr, s.value});
    case verb::choose: return where(operand(s, 0), term_of(1), s.use_value ? term{nullptr, s.value} : term_of(2));
    case verb::clip: {
      const term low{nullptr, {i64, static_cast<double>(s.numbers[0])}};
      const term high{nullptr, {i64, static_cast<double>(s.numbers[1])}};
      const variable above = apply(binary::maximum, term_of(0), low);
      return apply(binary::minimum, {&above}, high);
    }
    case verb::convert: return cast(operand(s, 0), s.type);
    case verb::string_kernel: return called(s, variables_);
    case verb::index:
    case verb::take:
    case verb::take_along_axis: return read_by_index(s, variables_);
    case verb::concat:
    case verb::stack:
    case verb::hstack:
    case verb::vstack:
    case verb::dstack:
    case verb::pad:
    case verb::split: return joined(s, variables_);
    case verb::reduce: return reduced(s, variables_);
    case verb::scan: return scanned(s, operand(s, 0));
    case verb::difference: return differences(s, variables_);
    case verb::exponential: return shared(s, operand(s, 0));
    case verb::product: return multiplied(s, variables_);
    case verb::nonzero:
    case verb::flatnonzero:
    case verb::argwhere:
    case verb::compress:
    case verb::unique:
    case verb::bincount: return picked_by_value(s, variables_);
    default: return read(operand(s, 0), shown(s, operand(s, 0).h.extents));
  }
}

void reference::execute(const step& s) {
  const auto slot = [&](std::size_t k) -> variable& { return variables_[static_cast<std::size_t>(s.from.at(k))]; };
  switch (s.what) {
    case verb::swap: std::swap(slot(0), slot(1)); return;
    case verb::drop: slot(0) = variable(f32, {0}); return;
    case verb::evaluate:
    case verb::check: return;
    case verb::compound: {
      const term right = s.use_value ? term{nullptr, s.value} : term{&slot(1)};
      slot(0) = compounded(static_cast<binary>(s.code), slot(0), right);
      return;
    }
    case verb::assign:
    case verb::scatter:
    case verb::put_along_axis:
    case verb::put: slot(0) = written(s, variables_); return;
    default: break;
  }
  variable result = result_of(s);
  std::int64_t longest = s.from.empty() ? most_long_elements : 0;
  for (int k : s.from) longest = std::max(longest, (*this)[k].size());
  if (result.size() > size_limit(longest) || result.h.extents.rank() > most_axes) throw unpredictable{};
  variables_[static_cast<std::size_t>(s.result)] = std::move(result);
}

outcome reference::run(const step& s) {
  try {
    execute(s);
  } catch (const unpredictable&) { return {true, 0}; } catch (const refused& r) {
    return {false, r.kinds};
  } catch (const std::out_of_range&) { return {true, 0}; }  // a statement that has been cut too short
  return {};
}

}  // namespace sinter_test::fuzz
