// Random joins of many operands, run by the library and plainly.
#include "dsl/sinter.hpp"
#include "tests/fuzz/batches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace sinter_test::fuzz {

namespace {

using sinter::all;
using sinter::array;
using sinter::newaxis;
using form_kind = batch_form::kind;
using how = batch_program::how;

constexpr int extent = 64, arrays = 3;

template <class T>
struct matrix {
  int rows = 0, columns = 0;
  std::vector<T> values;
  matrix(int r, int c) : rows(r), columns(c), values(static_cast<std::size_t>(r * c)) {}
  T& at(int i, int k) { return values[static_cast<std::size_t>(i * columns + k)]; }
};

sinter::range part(int first, int count, int step) {
  const int after = first + count * step;
  return after < 0 ? sinter::range(first, sinter::begin, step) : sinter::range(first, after, step);
}

template <class T>
class batch_run {
 public:
  explicit batch_run(const batch_program& p) : p_(p) {
    for (int a = 0; a < arrays; ++a) {
      matrix<T> x(extent, extent);
      for (int k = 0; k < extent * extent; ++k)
        x.values[static_cast<std::size_t>(k)] = static_cast<T>((k * 37 + a * 11) % 101 - 50);
      array made(x.values.data(), sinter::dtype_of<T>, sinter::shape{extent, extent});
      made_.push_back(p.pending ? made + 1 : made);
      for (T& v : x.values) v = static_cast<T>(v + (p.pending ? 1 : 0));
      plain_.push_back(std::move(x));
    }
    std::vector<std::int32_t> ids;
    for (int k = 0; k < extent; ++k) ids.push_back(k * 29 % extent - (k % 3 == 0 ? extent : 0));
    ids_ = array(ids.data(), sinter::i32, sinter::shape{extent});
    if (p.pending) ids_ = ids_ + 0;
  }

  std::optional<std::string> failure() {
    std::vector<array> pieces;
    std::vector<matrix<T>> want;
    for (const batch_operand& o : p_.operands) {
      pieces.push_back(recorded(o));
      want.push_back(computed(o));
    }
    if (p_.join == how::evaluated) {
      sinter::eval_all(pieces);
      for (std::size_t k = 0; k < pieces.size(); ++k)
        if (auto bad = difference(pieces[k], want[k])) return fmt::format("array {}: {}", k, *bad);
      return {};
    }
    const bool stacks = p_.join == how::stack;
    array joined = stacks ? sinter::stack(pieces, p_.axis) : joined_as(pieces);
    matrix<T> whole = end_to_end(want);
    if (stacks) {  // a new axis in front of the one that would be joined
      const std::int64_t r = whole.rows, c = whole.columns;
      joined = reshape(joined, {r, c});
    }
    if (p_.join == how::used_twice) {
      joined = joined * 2 + joined_as(pieces);
      for (T& v : whole.values) v = static_cast<T>(v * 3);
    }
    return difference(joined, whole);
  }

 private:
  // ---- the library ----

  array part_of(const batch_form& f, int which, const batch_operand& o, int rows, int columns) const {
    const array& from = made_[static_cast<std::size_t>(which == 0 ? f.a : f.b)];
    const int at = 2 * which;
    return from(part(o.first[at], rows, f.steps[at]), part(o.first[at + 1], columns, f.steps[at + 1]));
  }

  array recorded(const batch_operand& o) const {
    const batch_form& f = p_.forms[static_cast<std::size_t>(o.form)];
    const int rows = f.reduced == 1 || f.reduced == 2 ? 3 : f.rows;
    array x;
    switch (f.what) {
      case form_kind::part:
        x = part_of(f, 0, o, rows, f.columns);
        break;
      case form_kind::two_parts: {
        const array a = part_of(f, 0, o, rows, f.columns), b = part_of(f, 1, o, rows, f.columns);
        x = f.operation == 0 ? a + b : f.operation == 1 ? a - b : a * b;
        break;
      }
      case form_kind::gathered:
        x = made_[static_cast<std::size_t>(f.a)](ids_(o.first[0]), all);
        x = x(part(o.first[1], f.columns, f.steps[1]))(newaxis, all);
        break;
      case form_kind::halves:
        x = sinter::concat({part_of(f, 0, o, rows, 1), part_of(f, 1, o, rows, f.columns - 1)}, 1);
        break;
      case form_kind::number:
        x = sinter::full({f.rows, f.columns}, o.number, sinter::dtype_of<T>);
        break;
    }
    if (f.with_number == 1) x = x + o.number;
    if (f.with_number == 2) x = x * o.number;
    if (f.with_number == 3) x = minimum(x, o.number);
    if (f.reduced == 1) x = max(x, 0, sinter::keepdims);
    if (f.reduced == 2) x = sum(x, 0, sinter::keepdims);
    if (f.reduced == 3) x = cumsum(x, 1);
    return x;
  }

  array joined_as(const std::vector<array>& pieces) const {
    if (p_.join == how::nested) {
      std::vector<array> groups;
      const std::span<const array> list(pieces);
      for (std::size_t k = 0; k < list.size(); k += 5)
        groups.push_back(sinter::concat(list.subspan(k, std::min<std::size_t>(5, list.size() - k)), p_.axis));
      return sinter::concat(groups, p_.axis);
    }
    if (p_.join != how::grow_behind && p_.join != how::grow_before) return sinter::concat(pieces, p_.axis);
    const bool behind = p_.join == how::grow_behind;
    array h = behind ? pieces.front() : pieces.back();
    for (std::size_t k = 1; k < pieces.size(); ++k)
      h = behind ? sinter::concat({h, pieces[k]}, p_.axis)
                 : sinter::concat({pieces[pieces.size() - 1 - k], h}, p_.axis);
    return h;
  }

  // ---- plainly ----

  T element(const batch_form& f, int which, const batch_operand& o, int i, int k) {
    matrix<T>& from = plain_[static_cast<std::size_t>(which == 0 ? f.a : f.b)];
    return from.at(o.first[2 * which] + i * f.steps[2 * which], o.first[2 * which + 1] + k * f.steps[2 * which + 1]);
  }

  T computed_at(const batch_form& f, const batch_operand& o, int i, int k) {
    T x = 0;
    switch (f.what) {
      case form_kind::part:
        x = element(f, 0, o, i, k);
        break;
      case form_kind::two_parts: {
        const T a = element(f, 0, o, i, k), b = element(f, 1, o, i, k);
        x = static_cast<T>(f.operation == 0 ? a + b : f.operation == 1 ? a - b : a * b);
        break;
      }
      case form_kind::gathered:
        x = plain_[static_cast<std::size_t>(f.a)].at(o.first[0] * 29 % extent, o.first[1] + k * f.steps[1]);
        break;
      case form_kind::halves:
        x = k == 0 ? element(f, 0, o, i, 0) : element(f, 1, o, i, k - 1);
        break;
      case form_kind::number:
        x = static_cast<T>(o.number);
        break;
    }
    const T n = static_cast<T>(o.number);
    if (f.with_number == 1) x = static_cast<T>(x + n);
    if (f.with_number == 2) x = static_cast<T>(x * n);
    if (f.with_number == 3) x = std::min(x, n);
    return x;
  }

  matrix<T> computed(const batch_operand& o) {
    const batch_form& f = p_.forms[static_cast<std::size_t>(o.form)];
    matrix<T> out(f.rows, f.columns);
    for (int i = 0; i < f.rows; ++i)
      for (int k = 0; k < f.columns; ++k) {
        T x = computed_at(f, o, i, k);
        for (int j = 1; j < 3 && (f.reduced == 1 || f.reduced == 2); ++j) {
          const T other = computed_at(f, o, j, k);
          x = f.reduced == 1 ? std::max(x, other) : static_cast<T>(x + other);
        }
        if (f.reduced == 3 && k > 0) x = static_cast<T>(x + out.at(i, k - 1));
        out.at(i, k) = x;
      }
    return out;
  }

  matrix<T> end_to_end(std::vector<matrix<T>>& parts) {
    int rows = p_.axis == 0 ? 0 : parts[0].rows, columns = p_.axis == 1 ? 0 : parts[0].columns;
    for (const matrix<T>& m : parts) (p_.axis == 0 ? rows : columns) += p_.axis == 0 ? m.rows : m.columns;
    matrix<T> out(rows, columns);
    int start = 0;
    for (matrix<T>& m : parts) {
      for (int i = 0; i < m.rows; ++i)
        for (int k = 0; k < m.columns; ++k)
          out.at(p_.axis == 0 ? start + i : i, p_.axis == 1 ? start + k : k) = m.at(i, k);
      start += p_.axis == 0 ? m.rows : m.columns;
    }
    return out;
  }

  static std::optional<std::string> difference(const array& got, matrix<T>& want) {
    if (got.type() != sinter::dtype_of<T>) return "another dtype";
    if (got.extents() != sinter::shape{want.rows, want.columns}) return "another shape";
    const std::vector<T> values = got.template to_vector<T>();
    for (int i = 0; i < want.rows; ++i)
      for (int k = 0; k < want.columns; ++k)
        if (const T v = values[static_cast<std::size_t>(i * want.columns + k)]; v != want.at(i, k))
          return fmt::format("element [{}, {}] is {}, not {}", i, k, v, want.at(i, k));
    return {};
  }

  const batch_program& p_;
  std::vector<array> made_;
  std::vector<matrix<T>> plain_;
  array ids_;
};

template <class T>
std::optional<std::string> failure_with(const batch_program& p) {
  try {
    return batch_run<T>(p).failure();
  } catch (const std::exception& e) { return std::string("an exception: ") + e.what(); }
}

}  // namespace

std::optional<std::string> failure_of(const batch_program& p) {
  if (p.element == 0) return failure_with<std::int64_t>(p);
  return p.element == 1 ? failure_with<std::int32_t>(p) : failure_with<double>(p);
}

}  // namespace sinter_test::fuzz
