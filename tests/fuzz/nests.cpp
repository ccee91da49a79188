// Random loops of statements: how they come about, how failing ones are made smaller, and what they look like.
#include "tests/fuzz/nests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace sinter_test::fuzz {

namespace {

using statement_kind = loop_statement::kind;
using term_kind = loop_term::kind;

constexpr int array_count = 5;

std::int64_t value_of(const loop_number& n, const std::vector<int>& counters) {
  std::int64_t x = n.constant;
  for (std::size_t l = 0; l < counters.size(); ++l) x += n.per_loop[l] * counters[l];
  if (n.table_loop >= 0 && !n.table.empty())
    x += n.table[static_cast<std::size_t>(counters[static_cast<std::size_t>(n.table_loop)]) % n.table.size()];
  return x;
}

class maker {
 public:
  explicit maker(std::uint64_t seed) : random_(seed * 0x9e3779b97f4a7c15ull + 5) {}

  loop_program make() {
    p_.element = once_in(2) ? 0 : static_cast<int>(below(4));
    for (int k = 0; k < array_count; ++k) {
      p_.extents.push_back(once_in(3) && k > 0 ? p_.extents[static_cast<std::size_t>(below(k))] : some_extents());
      int same = -1;
      for (int other = 0; other < k; ++other)
        if (p_.extents[static_cast<std::size_t>(other)] == p_.extents.back() && once_in(4)) same = other;
      p_.same_as.push_back(same);
      p_.computed_late.push_back(once_in(4));
    }
    for (auto n = 1 + below(3); n > 0; --n) {
      budget_ = once_in(8) ? 1500 : 200;
      std::vector<std::vector<int>> instances{{}};
      p_.items.push_back(loop(instances));
    }
    if (once_in(4)) p_.most_pending = static_cast<int>(2 + below(60));
    return p_;
  }

 private:
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }
  bool once_in(std::int64_t n) { return below(n) == 0; }
  const std::vector<int>& extents_of(int k) const { return p_.extents[static_cast<std::size_t>(k)]; }

  std::vector<int> some_extents() {
    std::vector<int> e;
    static constexpr int ranks[] = {0, 1, 1, 1, 2, 2, 2, 3};
    for (int rank = ranks[below(8)]; rank > 0; --rank) e.push_back(static_cast<int>(once_in(12) ? 1 : 3 + below(9)));
    return e;
  }

  /// A number that lies in [0, n) in all instances.
  loop_number index(int n, const std::vector<std::vector<int>>& instances) {
    loop_number i;
    const std::size_t depth = instances[0].size();
    if (depth > 0 && !once_in(8))
      for (int more = once_in(4) ? 2 : 1; more > 0; --more)
        i.per_loop[static_cast<std::size_t>(below(static_cast<std::int64_t>(depth)))] =
            once_in(4) ? static_cast<int>(below(5) - 2) : 1;
    if (depth > 0 && once_in(7)) {
      i.table_loop = static_cast<int>(below(static_cast<std::int64_t>(depth)));
      const bool apart = once_in(2);
      for (int k = 0; k < 1 + below(40); ++k) i.table.push_back(apart ? k : static_cast<int>(below(n)));
      std::shuffle(i.table.begin(), i.table.end(), random_);
    }
    for (;;) {
      std::int64_t low = value_of(i, instances[0]), high = low;
      for (const std::vector<int>& at : instances) {
        low = std::min(low, value_of(i, at));
        high = std::max(high, value_of(i, at));
      }
      if (high - low < n) {
        i.constant -= static_cast<int>(low);
        i.constant += static_cast<int>(once_in(2) ? below(n - (high - low))
                                                  : std::min<std::int64_t>(below(2), n - 1 - (high - low)));
        return i;
      }
      const auto l = static_cast<std::size_t>(below(deepest_nest));
      i.per_loop[l] = 0;
      if (once_in(2)) i.table_loop = -1;
    }
  }

  std::vector<loop_number> indices(const std::vector<int>& extents, std::size_t axes,
                                   const std::vector<std::vector<int>>& instances) {
    std::vector<loop_number> list;
    for (std::size_t k = 0; k < axes; ++k) list.push_back(index(extents[k], instances));
    return list;
  }

  loop_number any_number(const std::vector<std::vector<int>>& instances) {
    loop_number n;
    n.constant = static_cast<int>(below(9)) - 4;
    for (std::size_t l = 0; l < instances[0].size(); ++l)
      if (once_in(4)) n.per_loop[l] = static_cast<int>(below(5)) - 2;
    if (!instances[0].empty() && once_in(6)) {
      n.table_loop = static_cast<int>(below(static_cast<std::int64_t>(instances[0].size())));
      for (int k = 0; k < 30; ++k) n.table.push_back(static_cast<int>(below(100)));
    }
    return n;
  }

  loop_term leaf(const loop_statement& s, const std::vector<std::vector<int>>& instances) {
    loop_term t;
    const bool own = once_in(3);
    t.array = own ? s.target : static_cast<int>(below(array_count));
    const std::vector<int>& e = extents_of(t.array);
    if (s.what == statement_kind::whole) {
      t.what = term_kind::part;
      if (e != extents_of(s.target)) t.array = s.target;
      return t;
    }
    if (once_in(4)) {
      t.what = once_in(2) ? term_kind::number : term_kind::fraction;
      t.number = any_number(instances);
      return t;
    }
    if (s.what == statement_kind::part && !once_in(4) && !e.empty() && e.back() >= s.length) {
      t.what = term_kind::part;
      t.at = indices(e, e.size() - 1, instances);
      t.step = once_in(3) ? -1 : 1;
      if (once_in(4) && 2 * s.length - 1 <= e.back()) t.step *= 2;
      const int reach = (s.length - 1) * std::abs(t.step);
      t.number = index(e.back() - reach, instances);
      if (t.step < 0) t.number.constant += reach;
      return t;
    }
    t.what = term_kind::element;
    t.at = indices(e, e.size(), instances);
    // Often near what is written.
    if (e == extents_of(s.target) && s.what == statement_kind::element && once_in(3)) {
      t.at = s.at;
      for (std::size_t k = 0; k < t.at.size(); ++k)
        if (once_in(2)) shift(t.at[k], e[k], instances);
    }
    return t;
  }

  void shift(loop_number& n, int extent, const std::vector<std::vector<int>>& instances) {
    loop_number other = n;
    other.constant += static_cast<int>(below(5)) - 2;
    for (const std::vector<int>& at : instances)
      if (value_of(other, at) < 0 || value_of(other, at) >= extent) return;
    n = other;
  }

  loop_statement statement(const std::vector<std::vector<int>>& instances) {
    loop_statement s;
    s.target = static_cast<int>(below(array_count));
    const std::vector<int>& e = extents_of(s.target);
    static constexpr statement_kind kinds[] = {
        statement_kind::element, statement_kind::element, statement_kind::element, statement_kind::element,
        statement_kind::element, statement_kind::part,    statement_kind::part,    statement_kind::whole,
        statement_kind::copy,    statement_kind::swap,    statement_kind::reduce,  statement_kind::keep,
        statement_kind::evaluate};
    s.what = kinds[below(13)];
    if ((s.what == statement_kind::keep || s.what == statement_kind::evaluate) && !once_in(3))
      s.what = statement_kind::element;
    if (s.what == statement_kind::part && e.empty()) s.what = statement_kind::element;
    if (s.what == statement_kind::copy || s.what == statement_kind::swap) {
      s.other = static_cast<int>(below(array_count));
      if (extents_of(s.other) == e && s.other != s.target) return s;
      s.what = statement_kind::element;
    }
    if (s.what == statement_kind::keep || s.what == statement_kind::evaluate) {
      s.when = any_number(instances);
      return s;
    }
    s.adds = once_in(3);
    if (s.what == statement_kind::part) {
      s.length = static_cast<int>(1 + below(e.back()));
      if (once_in(4) && 2 * s.length - 1 <= e.back()) s.step = 2;
      s.at = indices(e, e.size() - 1, instances);
      s.first = index(e.back() - (s.length - 1) * s.step, instances);
    } else if (s.what != statement_kind::whole) {
      s.at = indices(e, e.size(), instances);
    }
    if (s.what == statement_kind::reduce) {
      s.other = static_cast<int>(below(array_count));
      return s;
    }
    for (auto n = 1 + below(3); n > 0; --n) s.terms.push_back(leaf(s, instances));
    for (std::size_t k = s.terms.size(); k > 1 || (s.terms.size() == 1 && once_in(2)); --k) {
      loop_term t;
      static constexpr term_kind operations[] = {term_kind::add, term_kind::subtract, term_kind::multiply,
                                                 term_kind::least, term_kind::choose};
      t.what = operations[below(5)];
      t.a = static_cast<int>(s.terms.size() - 1);
      t.b = static_cast<int>(below(static_cast<std::int64_t>(s.terms.size())));
      s.terms.push_back(t);
      if (k == 1) break;
    }
    return s;
  }

  std::vector<std::vector<int>> inside(const std::vector<std::vector<int>>& instances, const loop_number& count) {
    std::vector<std::vector<int>> all;
    for (const std::vector<int>& at : instances)
      for (int t = 0; t < value_of(count, at); ++t) {
        all.push_back(at);
        all.back().push_back(t);
      }
    return all;
  }

  loop_item loop(const std::vector<std::vector<int>>& instances) {
    loop_item item;
    item.is_loop = true;
    std::vector<std::vector<int>> all;
    const std::int64_t most = std::max<std::int64_t>(budget_ / static_cast<std::int64_t>(instances.size()), 1);
    do {
      item.count = {};
      item.count.constant = static_cast<int>(1 + below(std::min<std::int64_t>(most, budget_ > 1000 ? 600 : 24)));
      if (!instances[0].empty() && once_in(3))
        item.count.per_loop[static_cast<std::size_t>(below(static_cast<std::int64_t>(instances[0].size())))] =
            once_in(2) ? 1 : -1;
      all = inside(instances, item.count);
    } while (all.empty() || static_cast<std::int64_t>(all.size()) > 2 * budget_);
    const auto depth = static_cast<int>(all[0].size());
    for (auto n = 1 + below(3); n > 0; --n) {
      loop_item inner;
      if (depth < deepest_nest && once_in(depth == 1 ? 2 : 3)) inner = loop(all);
      else inner.statement = statement(all);
      item.body.push_back(inner);
    }
    return item;
  }

  std::mt19937_64 random_;
  loop_program p_;
  std::int64_t budget_ = 0;
};

// ---- smaller ones ----

/// Every program that is a little smaller.
void smaller(const std::vector<loop_item>& items, std::vector<std::vector<loop_item>>& out) {
  for (std::size_t k = 0; k < items.size(); ++k) {
    std::vector<loop_item> less = items;
    less.erase(less.begin() + static_cast<std::ptrdiff_t>(k));
    out.push_back(less);
    const loop_item& item = items[k];
    if (!item.is_loop) {
      if (item.statement.terms.size() > 1) {
        less = items;
        less[k].statement.terms.pop_back();
        out.push_back(less);
      }
      continue;
    }
    for (const int fewer : {item.count.constant / 2, item.count.constant - 1}) {
      if (fewer < 1 || fewer >= item.count.constant) continue;
      less = items;
      less[k].count.constant = fewer;
      out.push_back(less);
    }
    std::vector<std::vector<loop_item>> bodies;
    smaller(item.body, bodies);
    for (std::vector<loop_item>& body : bodies) {
      if (body.empty()) continue;
      less = items;
      less[k].body = std::move(body);
      out.push_back(less);
    }
  }
}

// ---- text ----

std::string text_of(const loop_number& n) {
  std::string out;
  for (int l = 0; l < deepest_nest; ++l)
    if (n.per_loop[l] != 0) out += fmt::format("{}{} * t{}", out.empty() ? "" : " + ", n.per_loop[l], l);
  if (n.table_loop >= 0 && !n.table.empty())
    out += fmt::format("{}std::vector{{{}}}[t{} % {}]", out.empty() ? "" : " + ", fmt::join(n.table, ", "),
                       n.table_loop, n.table.size());
  if (n.constant != 0 || out.empty()) out += fmt::format("{}{}", out.empty() ? "" : " + ", n.constant);
  return out;
}

std::string place_of(const std::vector<loop_number>& at, const std::string& last) {
  std::string out;
  for (const loop_number& n : at) out += (out.empty() ? "" : ", ") + text_of(n);
  if (!last.empty()) out += (out.empty() ? "" : ", ") + last;
  return out.empty() ? "ellipsis" : out;
}

std::string part_of(const loop_number& first, int length, int step) {
  return fmt::format("part({}, {}, {})", text_of(first), length, step);
}

std::string text_of(const loop_statement& s, std::size_t term) {
  const loop_term& t = s.terms[term];
  const auto both = [&](const char* how) {
    return fmt::format(fmt::runtime(how), text_of(s, static_cast<std::size_t>(t.a)),
                       text_of(s, static_cast<std::size_t>(t.b)));
  };
  switch (t.what) {
    case term_kind::element:
      return fmt::format("v{}({})", t.array, place_of(t.at, ""));
    case term_kind::part:
      if (s.what == statement_kind::whole) return fmt::format("v{}", t.array);
      return fmt::format("v{}({})", t.array, place_of(t.at, part_of(t.number, s.length, t.step)));
    case term_kind::number:
      return fmt::format("number({})", text_of(t.number));
    case term_kind::fraction:
      return fmt::format("fraction({})", text_of(t.number));
    case term_kind::add:
      return both("({} + {})");
    case term_kind::subtract:
      return both("({} - {})");
    case term_kind::multiply:
      return both("({} * {})");
    case term_kind::least:
      return both("minimum({}, {})");
    default:
      return both("where({0} < {1}, {1}, {0})");
  }
}

std::string text_of(const loop_statement& s) {
  const char* how = s.adds ? "+=" : "=";
  switch (s.what) {
    case statement_kind::copy:
      return fmt::format("v{} = v{};", s.target, s.other);
    case statement_kind::swap:
      return fmt::format("std::swap(v{}, v{});", s.target, s.other);
    case statement_kind::keep:
      return fmt::format("if (({}) == 0) kept.push_back(v{});", text_of(s.when), s.target);
    case statement_kind::evaluate:
      return fmt::format("if (({}) == 0) eval(v{});", text_of(s.when), s.target);
    case statement_kind::whole:
      return fmt::format("v{} {} {};", s.target, how, text_of(s, s.terms.size() - 1));
    case statement_kind::reduce:
      return fmt::format("v{}({}) {} max(v{});", s.target, place_of(s.at, ""), how, s.other);
    case statement_kind::part:
      return fmt::format("v{}({}) {} {};", s.target, place_of(s.at, part_of(s.first, s.length, s.step)), how,
                         text_of(s, s.terms.size() - 1));
    default:
      return fmt::format("v{}({}) {} {};", s.target, place_of(s.at, ""), how, text_of(s, s.terms.size() - 1));
  }
}

void write(const std::vector<loop_item>& items, int depth, std::string& out) {
  const std::string indent(static_cast<std::size_t>(2 + 2 * depth), ' ');
  for (const loop_item& item : items) {
    if (!item.is_loop) {
      out += indent + text_of(item.statement) + "\n";
      continue;
    }
    out += fmt::format("{0}for (int t{1} = 0; t{1} < {2}; ++t{1}) {{\n", indent, depth, text_of(item.count));
    write(item.body, depth + 1, out);
    out += indent + "}\n";
  }
}

}  // namespace

loop_program random_loops(std::uint64_t seed) { return maker(seed).make(); }

loop_program shrunk(loop_program p, double seconds) {
  const auto started = std::chrono::steady_clock::now();
  for (bool again = true; again;) {
    again = false;
    std::vector<std::vector<loop_item>> list;
    smaller(p.items, list);
    for (std::vector<loop_item>& items : list) {
      if (std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count() > seconds) return p;
      loop_program candidate = p;
      candidate.items = std::move(items);
      if (!failure_of(candidate)) continue;
      p = std::move(candidate);
      again = true;
      break;
    }
  }
  return p;
}

std::string to_text(const loop_program& p) {
  static constexpr const char* names[] = {"f64", "f32", "i64", "i32"};
  std::string out;
  if (p.most_pending > 0) out += fmt::format("  set_recording_limits({{.operations = {}}});\n", p.most_pending);
  for (std::size_t k = 0; k < p.extents.size(); ++k) {
    out += fmt::format("  array v{} = ", k);
    if (p.same_as[k] >= 0) out += fmt::format("v{}", p.same_as[k]);
    else out += fmt::format("values({}, {{{}}})", names[p.element], fmt::join(p.extents[k], ", "));
    out += p.computed_late[k] ? " * 1;\n" : ";\n";
  }
  write(p.items, 0, out);
  return out;
}

}  // namespace sinter_test::fuzz
