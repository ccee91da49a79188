// Which statements of a nest depend on each other, and across what.
#include "jit/fold/integer_system.hpp"
#include "jit/fold/nest_forms.hpp"

namespace sinter::jit {

namespace {

bool is_injective(const table_column& column) {
  std::vector<std::int64_t> sorted = *column;
  std::ranges::sort(sorted);
  return std::ranges::adjacent_find(sorted) == sorted.end();
}

}  // namespace

/// One instance of a statement, as unknowns of a system: its loops' counters, then the elements of its own axes.
struct loop_nest_analysis::instance {
  std::size_t first;
  const nest_statement* s;

  instance(integer_system& system, const loop_nest_analysis& nest, const nest_statement& statement)
      : first(system.unknowns()), s(&statement) {
    for (std::size_t k = 0; k < s->loops.size() + static_cast<std::size_t>(s->own.rank()); ++k) system.add_unknown();
    for (std::size_t l = 0; l < s->loops.size(); ++l) {
      const nest_loop& loop = nest.loops_[s->loops[l]];
      system.at_least_zero(unit(first + l, 1, 0));
      linear_form below;  // count - 1 - counter
      below.constant = loop.count.constant - 1 + (loop.count.column ? greatest(loop.count.column) : 0);
      for (std::size_t k = 0, o = 0; k < nest.around_.size(); ++k)
        if (nest.around_[k].counter)
          below.constant +=
              std::max<std::int64_t>(loop.count.outer[o++], 0) * std::max<std::int64_t>(nest.around_[k].most - 1, 0);
      below.coefficients.assign(first + l + 1, 0);
      for (std::size_t k = 0; k < loop.around.size() && k < loop.count.loops.size(); ++k)
        below.coefficients[first + k] += loop.count.loops[k];
      below.coefficients[first + l] -= 1;
      system.at_least_zero(std::move(below));
    }
    for (int a = 0; a < s->own.rank(); ++a) {
      system.at_least_zero(unit(own(a), 1, 0));
      system.at_least_zero(unit(own(a), -1, s->own[a] - 1));
    }
  }
  std::size_t own(int axis) const { return first + s->loops.size() + static_cast<std::size_t>(axis); }
  static linear_form unit(std::size_t unknown, std::int64_t factor, std::int64_t constant) {
    linear_form f{constant, std::vector<std::int64_t>(unknown + 1)};
    f.coefficients[unknown] = factor;
    return f;
  }
  void add(linear_form& to, const nest_form& f, std::int64_t sign) const {
    to.coefficients.resize(std::max(to.coefficients.size(), own(s->own.rank())));
    to.constant += sign * f.constant;
    for (std::size_t l = 0; l < f.loops.size() && l < s->loops.size(); ++l)
      to.coefficients[first + l] += sign * f.loops[l];
    for (std::size_t a = 0; a < f.own.size(); ++a) to.coefficients[own(static_cast<int>(a))] += sign * f.own[a];
  }
};

namespace {

linear_form difference(std::size_t a, std::size_t b, std::int64_t constant) {
  linear_form f{constant, std::vector<std::int64_t>(std::max(a, b) + 1)};
  f.coefficients[a] += 1;
  f.coefficients[b] -= 1;
  return f;
}

template <class Instance>
void touch_alike(integer_system& system, const Instance& a, const nest_access& x, const Instance& b,
                 const nest_access& y) {
  for (std::size_t k = 0; k < x.at.size(); ++k) {
    const nest_form &f = x.at[k], &g = y.at[k];
    if (f.anywhere || g.anywhere || f.outer != g.outer) continue;
    const bool same_row = f.column && f.column_outer >= 0 && f.column == g.column && f.column_outer == g.column_outer;
    if ((f.column || g.column) && !same_row) {
      if (f.column != g.column || f.column_loop < 0 || g.column_loop < 0 || !is_injective(f.column)) continue;
      nest_form rest_f = f, rest_g = g;
      rest_f.column = rest_g.column = nullptr;
      rest_f.column_loop = rest_g.column_loop = -1;
      if (is_constant(rest_f) && is_constant(rest_g) && f.constant == g.constant)
        system.equal_zero(difference(a.first + static_cast<std::size_t>(f.column_loop),
                                     b.first + static_cast<std::size_t>(g.column_loop), 0));
      continue;
    }
    linear_form equal;
    a.add(equal, f, 1);
    b.add(equal, g, -1);
    system.equal_zero(std::move(equal));
  }
}

bool possible(const integer_system& s) { return s.has_solution() != integer_system::answer::no; }

}  // namespace

/// Whether `a` may write with w what `b` reads with r later, at different places of the candidate (-1: at any).
bool loop_nest_analysis::may_flow(const nest_statement& a, const nest_access& w, const nest_statement& b,
                                  const nest_access& r, std::int32_t candidate) const {
  if (w.slot != r.slot) return false;
  std::size_t common = 0;
  while (common < a.loops.size() && common < b.loops.size() && a.loops[common] == b.loops[common]) ++common;
  const bool comes_before = &a < &b;  // in one vector
  for (std::size_t level = 0; level <= common; ++level) {
    if (level == common && !comes_before) break;
    for (const std::int64_t side : {1, -1}) {
      integer_system system(0);
      const instance x(system, *this, a), y(system, *this, b);
      touch_alike(system, x, w, y, r);
      for (std::size_t l = 0; l < level; ++l) system.equal_zero(difference(x.first + l, y.first + l, 0));
      if (level < common) system.at_least_zero(difference(y.first + level, x.first + level, -1));
      // All lanes found before are equal: what differs there has been ruled out.
      if (candidate >= 0) {
        const lane_candidate& c = candidates_[static_cast<std::size_t>(candidate)];
        const std::size_t i = x.first + c.coordinate[static_cast<std::size_t>(&a - statements_.data())];
        const std::size_t j = y.first + c.coordinate[static_cast<std::size_t>(&b - statements_.data())];
        system.at_least_zero(side > 0 ? difference(i, j, -1) : difference(j, i, -1));
      } else {
        for (const lane_candidate& c : candidates_)
          system.equal_zero(difference(x.first + c.coordinate[static_cast<std::size_t>(&a - statements_.data())],
                                       y.first + c.coordinate[static_cast<std::size_t>(&b - statements_.data())], 0));
      }
      if (possible(system)) return true;
      if (candidate < 0) break;
    }
  }
  return false;
}

/// Whether both may touch one element at different places of the candidate.
bool loop_nest_analysis::may_meet(const nest_statement& a, const nest_access& x, const nest_statement& b,
                                  const nest_access& y, std::size_t candidate) const {
  if (x.slot != y.slot) return false;
  for (const std::int64_t side : {1, -1}) {
    integer_system system(0);
    const instance i(system, *this, a), j(system, *this, b);
    touch_alike(system, i, x, j, y);
    const lane_candidate& c = candidates_[candidate];
    const std::size_t p = i.first + c.coordinate[static_cast<std::size_t>(&a - statements_.data())];
    const std::size_t q = j.first + c.coordinate[static_cast<std::size_t>(&b - statements_.data())];
    system.at_least_zero(side > 0 ? difference(p, q, -1) : difference(q, p, -1));
    if (possible(system)) return true;
  }
  return false;
}

/// Whether both may touch one element, b in an iteration of the outermost loop before that of a.
bool loop_nest_analysis::may_meet_before(const nest_statement& a, const nest_access& x, const nest_statement& b,
                                         const nest_access& y) const {
  if (x.slot != y.slot) return false;
  integer_system system(0);
  const instance i(system, *this, a), j(system, *this, b);
  touch_alike(system, i, x, j, y);
  system.at_least_zero(difference(i.first, j.first, -1));
  return possible(system);
}

bool loop_nest_analysis::may_cut(const trace_item& loop, std::size_t cut) const {
  constexpr std::size_t most_statements = 16;  // all pairs are compared
  if (!is_described_ || statements_.size() > most_statements) return false;
  std::size_t before = 0;  // statements of the items up to there
  const auto count = [&](auto& self, const trace_item& item) -> void {
    if (!item.is_loop()) before += 1;
    else if (loops_[loop_of(item)].most > 0)
      for (const trace_item& inner : item.body) self(self, inner);
  };
  for (std::size_t k = 0; k < cut; ++k) count(count, loop.body[k]);
  for (std::size_t p = 0; p < before; ++p)
    for (std::size_t q = before; q < statements_.size(); ++q) {
      const nest_statement &a = statements_[p], &b = statements_[q];
      if (may_meet_before(a, a.write, b, b.write)) return false;
      for (const nest_access& r : a.reads)
        if (may_meet_before(a, r, b, b.write)) return false;
      for (const nest_access& r : b.reads)
        if (may_meet_before(a, a.write, b, r)) return false;
    }
  return true;
}

bool loop_nest_analysis::crosses(std::size_t candidate) const {
  for (const nest_statement& a : statements_)
    for (const nest_statement& b : statements_) {
      if (&a <= &b && may_meet(a, a.write, b, b.write, candidate)) return true;
      for (const nest_access& r : b.reads)
        if (may_flow(a, a.write, b, r, static_cast<std::int32_t>(candidate))) return true;
    }
  return false;
}

/// Whether different cells of a variable are different places.
bool loop_nest_analysis::cells_apart() const {
  for (std::size_t i = 0; i < cells_.size(); ++i)
    for (std::size_t j = i + 1; j < cells_.size(); ++j) {
      if (cells_[i].slot != cells_[j].slot) continue;
      shape over = lanes_;
      if (recurrence_ >= 0) over.append(recurrence()->most);
      integer_system system(static_cast<std::size_t>(over.rank()) * 2);
      for (int side = 0; side < 2; ++side)
        for (int a = 0; a < over.rank(); ++a) {
          const auto unknown = static_cast<std::size_t>(side * over.rank() + a);
          system.at_least_zero(instance::unit(unknown, 1, 0));
          system.at_least_zero(instance::unit(unknown, -1, over[a] - 1));
        }
      for (std::size_t k = 0; k < cells_[i].at.size(); ++k) {
        const nest_form &f = cells_[i].at[k], &g = cells_[j].at[k];
        if (f.column || g.column || f.outer != g.outer) continue;
        linear_form equal{f.constant - g.constant, std::vector<std::int64_t>(system.unknowns())};
        for (std::size_t a = 0; a < f.own.size(); ++a) {
          equal.coefficients[a] += f.own[a];
          equal.coefficients[f.own.size() + a] -= g.own[a];
        }
        system.equal_zero(std::move(equal));
      }
      if (possible(system)) return false;
    }
  return true;
}

}  // namespace sinter::jit
