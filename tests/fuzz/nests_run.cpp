// Random loops of statements, run by the library and plainly.
#include "dsl/sinter.hpp"
#include "tests/fuzz/nests.hpp"
#include "tests/support/host_array.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <utility>

namespace sinter_test::fuzz {

namespace {

using sinter::array;
using statement_kind = loop_statement::kind;
using term_kind = loop_term::kind;

/// The plain side of an array.
template <class T>
struct plain_array {
  std::vector<int> extents;
  std::vector<T> values;
  std::size_t place(const std::vector<std::int64_t>& at) const {
    std::int64_t flat = 0;
    for (std::size_t k = 0; k < extents.size(); ++k) flat = flat * extents[k] + at[k];
    return static_cast<std::size_t>(flat);
  }
};

template <class T>
T combined(term_kind how, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    if (how == term_kind::add) return static_cast<T>(x + y);
    if (how == term_kind::subtract) return static_cast<T>(x - y);
    if (how == term_kind::multiply) return static_cast<T>(x * y);
  } else {
    if (how == term_kind::add) return a + b;
    if (how == term_kind::subtract) return a - b;
    if (how == term_kind::multiply) return a * b;
    if (how == term_kind::least && (std::isnan(a) || std::isnan(b))) return std::isnan(a) ? a : b;
  }
  if (how == term_kind::least) return a < b ? a : b;
  return a < b ? b : a;
}

array combined(term_kind how, const array& a, const array& b) {
  switch (how) {
    case term_kind::add:
      return a + b;
    case term_kind::subtract:
      return a - b;
    case term_kind::multiply:
      return a * b;
    case term_kind::least:
      return minimum(a, b);
    default:
      return where(a < b, b, a);
  }
}

/// first, first + step, ..: `length` of them.
sinter::range part(std::int64_t first, int length, int step) {
  const std::int64_t after = first + length * step;
  return after < 0 ? sinter::range(first, sinter::begin, step) : sinter::range(first, after, step);
}

template <class T>
class loops_run {
 public:
  explicit loops_run(const loop_program& p) {
    std::mt19937 random(17);
    for (std::size_t k = 0; k < p.extents.size(); ++k) {
      plain_array<T> x{p.extents[k], {}};
      sinter::shape extents;
      std::size_t size = 1;
      for (const int e : x.extents) extents.append(e), size *= static_cast<std::size_t>(e);
      for (std::size_t i = 0; i < size; ++i)
        x.values.push_back(static_cast<T>(static_cast<double>(random() % 64) * 0.25));
      array a(x.values.data(), sinter::dtype_of<T>, extents);
      if (p.same_as[k] >= 0) {
        const auto other = static_cast<std::size_t>(p.same_as[k]);
        x = plain_[other];
        a = arrays_[other];
      }
      if (p.computed_late[k]) a = a * 1;
      plain_.push_back(x);
      arrays_.push_back(a);
    }
  }

  std::optional<std::string> run(const loop_program& p) {
    try {
      run(p.items);
      for (std::size_t k = 0; k < arrays_.size(); ++k)
        if (std::string d = difference(arrays_[k], plain_[k]); !d.empty()) return fmt::format("v{}: {}", k, d);
      for (const auto& [a, x] : kept_)
        if (std::string d = difference(a, x); !d.empty()) return "a copy that was kept: " + d;
    } catch (const std::exception& e) { return fmt::format("threw: {}", e.what()); }
    return std::nullopt;
  }

 private:
  std::int64_t number(const loop_number& n) const {
    std::int64_t x = n.constant;
    for (std::size_t l = 0; l < counters_.size(); ++l) x += n.per_loop[l] * counters_[l];
    if (n.table_loop >= 0 && !n.table.empty())
      x += n.table[static_cast<std::size_t>(counters_[static_cast<std::size_t>(n.table_loop)]) % n.table.size()];
    return x;
  }
  std::vector<std::int64_t> place(const std::vector<loop_number>& at) const {
    std::vector<std::int64_t> list;
    for (const loop_number& n : at) list.push_back(number(n));
    return list;
  }

  void run(const std::vector<loop_item>& items) {
    for (const loop_item& item : items) {
      if (!item.is_loop) {
        run(item.statement);
        continue;
      }
      const std::int64_t n = number(item.count);
      counters_.push_back(0);
      for (std::int64_t t = 0; t < n; ++t) {
        counters_.back() = t;
        run(item.body);
      }
      counters_.pop_back();
    }
  }

  array& of_library(int k) { return arrays_[static_cast<std::size_t>(k)]; }
  plain_array<T>& of_plain(int k) { return plain_[static_cast<std::size_t>(k)]; }

  void run(const loop_statement& s) {
    switch (s.what) {
      case statement_kind::copy:
        of_library(s.target) = of_library(s.other);
        of_plain(s.target) = of_plain(s.other);
        return;
      case statement_kind::swap:
        std::swap(of_library(s.target), of_library(s.other));
        std::swap(of_plain(s.target), of_plain(s.other));
        return;
      case statement_kind::keep:
        if (number(s.when) == 0 && kept_.size() < 20) kept_.emplace_back(of_library(s.target), of_plain(s.target));
        return;
      case statement_kind::evaluate:
        if (number(s.when) == 0) eval(of_library(s.target));
        return;
      default:
        break;
    }
    record(s);
    execute(s);
  }

  // ---- the library ----

  array read(const loop_statement& s, std::size_t term) {
    const loop_term& t = s.terms[term];
    switch (t.what) {
      case term_kind::element:
        return element_of(t.array, place(t.at));
      case term_kind::part: {
        if (s.what == statement_kind::whole) return of_library(t.array);
        return part_of(t.array, place(t.at), part(number(t.number), s.length, t.step));
      }
      case term_kind::number:
        return single(static_cast<T>(number(t.number)));
      case term_kind::fraction:
        return single(static_cast<T>(static_cast<double>(number(t.number)) * 0.3));
      default: {
        return combined(t.what, read(s, static_cast<std::size_t>(t.a)), read(s, static_cast<std::size_t>(t.b)));
      }
    }
  }
  static array single(T x) { return full({}, x, sinter::dtype_of<T>); }
  array element_of(int k, const std::vector<std::int64_t>& at) {
    const array& a = of_library(k);
    if (at.empty()) return a;
    if (at.size() == 1) return a(at[0]);
    if (at.size() == 2) return a(at[0], at[1]);
    return a(at[0], at[1], at[2]);
  }
  array part_of(int k, const std::vector<std::int64_t>& at, const sinter::range& last) {
    const array& a = of_library(k);
    if (at.empty()) return a(last);
    if (at.size() == 1) return a(at[0], last);
    return a(at[0], at[1], last);
  }

  void record(const loop_statement& s) {
    array& a = of_library(s.target);
    const array x = s.what == statement_kind::reduce ? max(of_library(s.other)) : read(s, s.terms.size() - 1);
    const std::vector<std::int64_t> at = place(s.at);
    const auto write = [&](auto&& selected) {
      if (s.adds) std::move(selected) += x;
      else std::move(selected) = x;
    };
    if (s.what == statement_kind::whole) {
      if (s.adds) a += x;
      else a = broadcast_to(x, a.extents());
    } else if (s.what == statement_kind::part) {
      const sinter::range last = part(number(s.first), s.length, s.step);
      if (at.empty()) write(a(last));
      else if (at.size() == 1) write(a(at[0], last));
      else write(a(at[0], at[1], last));
    } else if (at.empty()) {
      write(a(sinter::ellipsis));
    } else if (at.size() == 1) {
      write(a(at[0]));
    } else if (at.size() == 2) {
      write(a(at[0], at[1]));
    } else {
      write(a(at[0], at[1], at[2]));
    }
  }

  // ---- plain loops ----

  T value(const loop_statement& s, std::size_t term, std::int64_t k) {
    const loop_term& t = s.terms[term];
    switch (t.what) {
      case term_kind::element:
        return of_plain(t.array).values[of_plain(t.array).place(place(t.at))];
      case term_kind::part: {
        if (s.what == statement_kind::whole) return of_plain(t.array).values[static_cast<std::size_t>(k)];
        std::vector<std::int64_t> at = place(t.at);
        at.push_back(number(t.number) + k * t.step);
        return of_plain(t.array).values[of_plain(t.array).place(at)];
      }
      case term_kind::number:
        return static_cast<T>(number(t.number));
      case term_kind::fraction:
        return static_cast<T>(static_cast<double>(number(t.number)) * 0.3);
      default:
        return combined(t.what, value(s, static_cast<std::size_t>(t.a), k), value(s, static_cast<std::size_t>(t.b), k));
    }
  }

  void execute(const loop_statement& s) {
    plain_array<T>& a = of_plain(s.target);
    std::vector<std::size_t> places;
    if (s.what == statement_kind::whole) {
      for (std::size_t k = 0; k < a.values.size(); ++k) places.push_back(k);
    } else if (s.what == statement_kind::part) {
      for (std::int64_t k = 0; k < s.length; ++k) {
        std::vector<std::int64_t> at = place(s.at);
        at.push_back(number(s.first) + k * s.step);
        places.push_back(a.place(at));
      }
    } else {
      places.push_back(a.place(place(s.at)));
    }
    std::vector<T> fresh;  // all is read before anything is written
    for (std::size_t k = 0; k < places.size(); ++k) {
      T x;
      if (s.what == statement_kind::reduce) {
        x = of_plain(s.other).values[0];
        for (const T y : of_plain(s.other).values) x = y > x || y != y ? y : x;
      } else {
        x = value(s, s.terms.size() - 1, static_cast<std::int64_t>(k));
      }
      fresh.push_back(s.adds ? combined(term_kind::add, a.values[places[k]], x) : x);
    }
    for (std::size_t k = 0; k < places.size(); ++k) a.values[places[k]] = fresh[k];
  }

  static std::string difference(const array& got, const plain_array<T>& want) {
    const host_array values = from_device(got);
    if (values.size() != static_cast<std::int64_t>(want.values.size())) return "another shape";
    for (std::size_t k = 0; k < want.values.size(); ++k) {
      T x;
      std::memcpy(&x, values.at(static_cast<std::int64_t>(k)), sizeof(T));
      const T y = want.values[k];
      if (x == y || (x != x && y != y)) continue;
      return fmt::format("element {} of {} is {}, not {}", k, to_string(got.extents()), x, y);
    }
    return {};
  }

  std::vector<std::int64_t> counters_;
  std::vector<array> arrays_;
  std::vector<plain_array<T>> plain_;
  std::vector<std::pair<array, plain_array<T>>> kept_;
};

}  // namespace

std::optional<std::string> failure_of(const loop_program& p) {
  const struct restore {
    sinter::recording_limits before = sinter::get_recording_limits();
    ~restore() { sinter::set_recording_limits(before); }
  } at_the_end;
  if (p.most_pending > 0) sinter::set_recording_limits({.operations = p.most_pending});
  switch (p.element) {
    case 0:
      return loops_run<double>(p).run(p);
    case 1:
      return loops_run<float>(p).run(p);
    case 2:
      return loops_run<std::int64_t>(p).run(p);
    default:
      return loops_run<std::int32_t>(p).run(p);
  }
}

}  // namespace sinter_test::fuzz
