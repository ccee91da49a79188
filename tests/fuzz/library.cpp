#include "tests/fuzz/library.hpp"

#include "dsl/sinter.hpp"
#include "tests/fuzz/operations.hpp"

#include <array>
#include <stdexcept>

namespace sinter_test::fuzz {

using namespace sinter;

namespace {

array call(unary op, const array& x) {
  switch (op) {
#define X(name) \
  case unary::name: return sinter::name(x);
    SINTER_FUZZ_UNARY(X)
#undef X
  }
  throw std::logic_error("no such operation");
}

array quotient(const operand& a, const operand& b) { return a / b; }

array call(binary op, const operand& a, const operand& b) {
  switch (op) {
#define X(name) \
  case binary::name: return name(a, b);
    SINTER_FUZZ_BINARY(X)
#undef X
  }
  throw std::logic_error("no such operation");
}

/// The number as an operand of its C++ type.
template <class F>
decltype(auto) with_number(const number& n, F f) {
  if (n.type == boolean) return f(operand(n.x != 0));
  if (n.type == i64) return f(operand(static_cast<std::int64_t>(n.x)));
  return f(operand(n.x));
}

/// A pending array of the same values.
array delayed(const array& x) { return x.type() == boolean ? logical_or(x, false) : x + 0; }

/// The indices of a statement, and the arrays that they refer to.
class index_list {
 public:
  index_list(const step& s, std::vector<array>& variables) {
    held_.reserve(s.picks.size());
    for (const pick& p : s.picks) add(p, variables);
    if (list_.empty()) list_.push_back(ellipsis);
  }
  const index& operator[](std::size_t k) const { return k < list_.size() ? list_[k] : no_index; }
  const array& array_at(std::size_t k) const { return list_[k].values(); }

 private:
  void add(const pick& p, std::vector<array>& variables) {
    switch (p.what) {
      case pick::kind::integer: list_.push_back(p.integer); return;
      case pick::kind::whole: list_.push_back(all); return;
      case pick::kind::unit: list_.push_back(newaxis); return;
      case pick::kind::rest: list_.push_back(ellipsis); return;
      case pick::kind::slice: {
        const position first = p.first ? position(*p.first) : p.step >= 0 ? position(begin) : position(end_t{});
        const position last = p.last ? position(*p.last) : p.step >= 0 ? position(end_t{}) : position(begin);
        list_.push_back(range(first, last, p.step));
        return;
      }
      case pick::kind::array: {
        const array values = p.values.to_device();
        held_.push_back(p.pending ? delayed(values) : values);
        list_.push_back(held_.back());
        return;
      }
      // A copy: the variable may be the target of a write.
      case pick::kind::variable:
        held_.push_back(variables[static_cast<std::size_t>(p.integer)]);
        list_.push_back(held_.back());
        return;
    }
  }

  std::vector<array> held_;
  std::vector<index> list_;
};

selection select(array& x, const index_list& l) {
  return x(l[0], l[1], l[2], l[3], l[4], l[5], l[6], l[7], l[8], l[9]);
}

void write_to(selection&& to, write how, const operand& x) {
  switch (how) {
    case write::set: static_cast<selection&&>(to) = x; return;
    case write::add: static_cast<selection&&>(to) += x; return;
    case write::subtract: static_cast<selection&&>(to) -= x; return;
    case write::multiply: static_cast<selection&&>(to) *= x; return;
    case write::divide: static_cast<selection&&>(to) /= x; return;
    case write::modulo: static_cast<selection&&>(to) %= x; return;
    case write::bit_and: static_cast<selection&&>(to) &= x; return;
    case write::bit_or: static_cast<selection&&>(to) |= x; return;
    case write::bit_xor: static_cast<selection&&>(to) ^= x; return;
    case write::shift_left: static_cast<selection&&>(to) <<= x; return;
    case write::shift_right: static_cast<selection&&>(to) >>= x; return;
    case write::minimum: static_cast<selection&&>(to).set_minimum(x); return;
    case write::maximum: static_cast<selection&&>(to).set_maximum(x); return;
  }
}

void compound(binary op, array& to, const operand& x) {
  switch (op) {
    case binary::add: to += x; return;
    case binary::subtract: to -= x; return;
    case binary::multiply: to *= x; return;
    case binary::quotient: to /= x; return;
    case binary::fmod: to %= x; return;
    case binary::bitwise_and: to &= x; return;
    case binary::bitwise_or: to |= x; return;
    case binary::bitwise_xor: to ^= x; return;
    case binary::bitwise_left_shift: to <<= x; return;
    default: to >>= x; return;
  }
}

array string_kernel(const step& s, std::vector<array>& variables) {
  static const elementwise smaller{"smaller_of", "T x, T y", "T z", "z = x < y ? x : y"};
  static const elementwise parts{"parts_of", "f64 x", "f64 whole, f64 part", "whole = floor(x); part = x - whole;"};
  static const sinter::reduction above{"above", "T x", "i64 count", "x > 0", "a + b", "", "0"};
  const array& x = variables[static_cast<std::size_t>(s.from[0])];
  if (s.code == 3)
    return s.numbers.empty() ? above(x, axes{}, keepdims_t{s.flag}) : above(x, axes_of(s.numbers), keepdims_t{s.flag});
  if (s.code == 0) return smaller(x, variables[static_cast<std::size_t>(s.from[1])]);
  return parts.results<2>(x)[s.code == 1 ? 0 : 1];
}

}  // namespace

std::vector<array> library::operands(const step& s) {
  std::vector<array> out;
  for (int k : s.from) out.push_back((*this)[k]);
  return out;
}

array library::reshaped(const step& s) {
  const array& x = (*this)[s.from[0]];
  const auto at = [&](std::size_t k) { return static_cast<int>(s.numbers.at(k)); };
  switch (s.what) {
    case verb::reshape: return reshape(x, s.extents);
    case verb::ravel: return ravel(x);
    case verb::transpose: return transpose(x, axes_of(s.numbers));
    case verb::swapaxes: return swapaxes(x, at(0), at(1));
    case verb::moveaxis: return moveaxis(x, at(0), at(1));
    case verb::broadcast: return sinter::broadcast_to(x, s.extents);
    case verb::expand_dims: return expand_dims(x, at(0));
    case verb::squeeze: return squeeze(x);
    case verb::flip: return flip(x, axes_of(s.numbers));
    case verb::diagonal: return diagonal(x, at(0), at(1), at(2));
    case verb::rot90: return rot90(x, at(0), {at(1), at(2)});
    case verb::roll: return s.flag ? roll(x, s.numbers[0]) : roll(x, s.numbers[0], at(1));
    case verb::repeat: return s.flag ? repeat(x, s.numbers[0]) : repeat(x, s.numbers[0], at(1));
    default: break;
  }
  switch (s.numbers.size()) {
    case 1: return tile(x, {s.numbers[0]});
    case 2: return tile(x, {s.numbers[0], s.numbers[1]});
    default: return tile(x, {s.numbers[0], s.numbers[1], s.numbers[2]});
  }
}

array library::joined(const step& s) {
  const std::vector<array> parts = operands(s);
  const auto axis = s.numbers.empty() ? 0 : static_cast<int>(s.numbers[0]);
  switch (s.what) {
    case verb::concat: return concat(parts, axis);
    case verb::stack: return stack(parts, axis);
    case verb::hstack: return hstack(parts);
    case verb::vstack: return vstack(parts);
    case verb::dstack: return dstack(parts);
    case verb::split: {
      const auto along = static_cast<int>(s.numbers[1]);
      const std::vector<array> list =
          s.flag ? array_split(parts[0], s.numbers[0], along) : split(parts[0], s.numbers[0], along);
      const std::int64_t n = s.numbers[0];
      return list.at(static_cast<std::size_t>((s.numbers[2] % n + n) % n));
    }
    default: break;
  }
  const auto mode = static_cast<pad_mode>(s.code);
  if (s.flag) return with_number(s.value, [&](const operand& x) { return pad(parts[0], s.numbers[0], mode, x); });
  std::vector<pad_width> widths;
  for (std::size_t k = 0; k + 1 < s.numbers.size(); k += 2) widths.push_back({s.numbers[k], s.numbers[k + 1]});
  return with_number(s.value, [&](const operand& x) { return pad(parts[0], widths, mode, x); });
}

array library::result_of(const step& s) {
  const auto v = [&](std::size_t k) -> array& { return (*this)[s.from.at(k)]; };
  const auto axis = s.numbers.empty() ? 0 : static_cast<int>(s.numbers[0]);
  switch (s.what) {
    case verb::make: return s.data.to_device();
    case verb::full: return full(s.extents, scalar_of(s.value), s.type);
    case verb::ramp: return reshape(arange(s.extents.size()), s.extents).astype(s.type);
    case verb::copy: return v(0);
    case verb::unary_call: return call(static_cast<unary>(s.code), v(0));
    case verb::binary_call: return call(static_cast<binary>(s.code), v(0), v(1));
    case verb::with_number:
      return with_number(s.value, [&](const operand& n) {
        return s.flag ? call(static_cast<binary>(s.code), n, v(0)) : call(static_cast<binary>(s.code), v(0), n);
      });
    case verb::choose:
      if (!s.use_value) return sinter::where(v(0), v(1), v(2));
      return with_number(s.value, [&](const operand& n) { return sinter::where(v(0), v(1), n); });
    case verb::clip: return clip(v(0), s.numbers[0], s.numbers[1]);
    case verb::convert: return v(0).astype(s.type);
    case verb::string_kernel: return string_kernel(s, arrays_);
    case verb::index: {
      const index_list l(s, arrays_);
      const array& x = v(0);
      return x(l[0], l[1], l[2], l[3], l[4], l[5], l[6], l[7], l[8], l[9]);
    }
    case verb::take: {
      const index_list l(s, arrays_);
      return s.flag ? take(v(0), l.array_at(0)) : take(v(0), l.array_at(0), axis);
    }
    case verb::take_along_axis: return take_along_axis(v(0), index_list(s, arrays_).array_at(0), axis);
    case verb::reduce:
    case verb::scan:
    case verb::difference:
    case verb::exponential:
    case verb::product: return along_rows(s);
    case verb::nonzero: {
      const std::vector<array> lists = nonzero(v(0));
      return lists.at(static_cast<std::size_t>(s.numbers[0]) % lists.size());
    }
    case verb::flatnonzero: return flatnonzero(v(0));
    case verb::argwhere: return argwhere(v(0));
    case verb::compress: return s.flag ? compress(v(0), v(1)) : compress(v(0), v(1), axis);
    case verb::unique: return unique(v(0));
    case verb::bincount: return bincount(v(0), s.numbers[0]);
    default: return s.what >= verb::concat ? joined(s) : reshaped(s);
  }
}

void library::assign(const step& s) {
  const index_list l(s, arrays_);
  array& to = (*this)[s.from[0]];
  const auto how = static_cast<write>(s.code);
  if (s.use_value) return with_number(s.value, [&](const operand& n) { write_to(select(to, l), how, n); });
  array& x = (*this)[s.from.at(1)];
  if (!s.as_selection) return write_to(select(to, l), how, x);
  // The operator = of a selection is one of its own.
  if (how == write::set) select(to, l) = x(ellipsis);
  else write_to(select(to, l), how, x(ellipsis));
}

void library::scatter(const step& s) {
  const index_list l(s, arrays_);
  array& to = (*this)[s.from[0]];
  const array& indices = l.array_at(0);
  const auto axis = s.numbers.empty() ? 0 : static_cast<int>(s.numbers[0]);
  const auto run = [&](const operand& x) {
    if (s.what == verb::put) return put(to, indices, x);
    if (s.what == verb::put_along_axis) return put_along_axis(to, indices, x, axis);
    switch (static_cast<write>(s.code)) {
      case write::set: return sinter::scatter(to, indices, x, axis);
      case write::add: return scatter_add(to, indices, x, axis);
      case write::multiply: return scatter_multiply(to, indices, x, axis);
      case write::minimum: return scatter_min(to, indices, x, axis);
      default: return scatter_max(to, indices, x, axis);
    }
  };
  if (s.use_value) return with_number(s.value, run);
  run((*this)[s.from.at(1)]);
}

void library::run(const step& s) {
  const auto v = [&](std::size_t k) -> array& { return (*this)[s.from.at(k)]; };
  switch (s.what) {
    case verb::swap: std::swap(v(0), v(1)); return;
    case verb::drop: v(0) = array(); return;
    case verb::evaluate: {
      const std::vector<array> list = operands(s);
      eval_all(std::span<const array>(list));
      return;
    }
    case verb::check: return;
    case verb::compound:
      if (s.use_value) with_number(s.value, [&](const operand& n) { compound(static_cast<binary>(s.code), v(0), n); });
      else compound(static_cast<binary>(s.code), v(0), v(1));
      return;
    case verb::assign: return assign(s);
    case verb::scatter:
    case verb::put_along_axis:
    case verb::put: return scatter(s);
    default: (*this)[s.result] = result_of(s);
  }
}

void library::settle() { eval_all(std::span<const array>(arrays_)); }

}  // namespace sinter_test::fuzz
