#include "jit/fold/nest.hpp"

#include "jit/fold/integer_system.hpp"
#include "runtime/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sinter::jit {

namespace {

bool operator==(const nest_form& a, const nest_form& b) {
  return !a.anywhere && !b.anywhere && a.constant == b.constant && a.outer == b.outer && a.loops == b.loops &&
         a.own == b.own && a.column == b.column && a.column_loop == b.column_loop;
}

bool is_constant(const nest_form& f) {
  return !f.anywhere && !f.column && std::ranges::all_of(f.outer, [](std::int64_t c) { return c == 0; }) &&
         std::ranges::all_of(f.loops, [](std::int64_t c) { return c == 0; }) &&
         std::ranges::all_of(f.own, [](std::int64_t c) { return c == 0; });
}

std::int64_t greatest(const table_column& column) { return column->empty() ? 0 : *std::ranges::max_element(*column); }

bool is_injective(const table_column& column) {
  std::vector<std::int64_t> sorted = *column;
  std::ranges::sort(sorted);
  return std::ranges::adjacent_find(sorted) == sorted.end();
}

/// Reads of a variable element by element see the element of the statement, so that their axes are its own.
std::vector<bool> aligned_nodes(const statement_structure& s) {
  std::vector<bool> aligned(s.nodes.size(), true);
  for (std::size_t k = s.nodes.size(); k-- > 0;) {
    const statement_node& n = s.nodes[k];
    const bool passes = is_elementwise(n.code) || n.code == op::call || n.code == op::result || n.code == op::update;
    for (const std::uint32_t o : s.operands_of(n))
      if (!aligned[k] || !passes) aligned[o] = false;
  }
  return aligned;
}

}  // namespace

loop_nest_analysis::loop_nest_analysis(const trace_item& item,
                                       const std::vector<std::unique_ptr<statement_structure>>& structures,
                                       std::span<const outer_loop> around)
    : structures_(structures), around_(around.begin(), around.end()) {
  std::vector<std::uint32_t> inside;
  collect(item, inside);
}

bool loop_nest_analysis::refuse(std::string why) {
  if (why_.empty()) why_ = std::move(why);
  return false;
}

std::uint32_t loop_nest_analysis::loop_of(const trace_item& item) const {
  for (std::uint32_t k = 0; k < loops_.size(); ++k)
    if (loops_[k].item == &item) return k;
  throw_internal_error("a loop outside of its nest");
}

std::uint32_t loop_nest_analysis::statement_of(const trace_item& item) const {
  for (std::uint32_t k = 0; k < statements_.size(); ++k)
    if (statements_[k].item == &item) return k;
  throw_internal_error("a statement outside of its nest");
}

void loop_nest_analysis::collect(const trace_item& item, std::vector<std::uint32_t>& around) {
  if (!item.is_loop()) {
    nest_statement s{&item, structures_[static_cast<std::size_t>(item.statement)].get(), around, {}, {}, {}, {}};
    statements_.push_back(std::move(s));
    return;
  }
  nest_loop l{&item, around, form_of(item.count)};
  l.most = l.count.constant;
  for (std::size_t k = 0; k < around.size(); ++k)
    l.most += std::max<std::int64_t>(l.count.loops[k], 0) * std::max<std::int64_t>(loops_[around[k]].most - 1, 0);
  for (std::size_t k = 0, o = 0; k < around_.size(); ++k)
    if (around_[k].counter)
      l.most += std::max<std::int64_t>(l.count.outer[o++], 0) * std::max<std::int64_t>(around_[k].most - 1, 0);
  if (l.count.column) l.most += greatest(l.count.column);
  l.most = std::max<std::int64_t>(l.most, 0);
  loops_.push_back(l);
  if (l.most == 0) return;  // what is in it never runs
  around.push_back(static_cast<std::uint32_t>(loops_.size() - 1));
  for (const trace_item& inner : item.body) collect(inner, around);
  around.pop_back();
}

nest_form loop_nest_analysis::form_of(const traced_number& n) const {
  nest_form f;
  f.constant = n.constant;
  for (std::size_t l = 0; l < n.coefficients.size(); ++l) {
    if (l >= around_.size()) f.loops.push_back(n.coefficients[l]);
    else if (around_[l].counter) f.outer.push_back(n.coefficients[l]);
    else f.constant += n.coefficients[l] * around_[l].now;
  }
  if (!n.column) return f;
  const auto known = static_cast<std::int32_t>(around_.size());
  if (n.column_loop < known) {
    const outer_loop& o = around_[static_cast<std::size_t>(n.column_loop)];
    if (o.counter) f.anywhere = true;
    else f.constant += (*n.column)[static_cast<std::size_t>(o.now)];
  } else {
    f.column = n.column;
    f.column_loop = n.column_loop - known;
  }
  return f;
}

nest_form loop_nest_analysis::zero_form() const {
  nest_form f;
  for (const outer_loop& o : around_)
    if (o.counter) f.outer.push_back(0);
  return f;
}

// ---- accesses ----

bool loop_nest_analysis::describe(nest_statement& s) {
  const statement_structure& t = *s.structure;
  for (const traced_number& n : s.item->parameters) s.numbers.push_back(form_of(n));
  const statement_node& root = t.nodes.back();
  s.own = root.extents;
  if (t.updates()) s.own = t.nodes[t.operands_of(root)[1]].extents;
  for (const nest_form& f : s.numbers)
    if (f.anywhere) return refuse("a table is read by a loop around it");
  for (const statement_node& n : t.nodes)
    if (n.is_variable && !is_constant(s.numbers[n.parameter]))
      return refuse("its variables are others in each iteration");
  for (std::size_t k = 0; k < t.nodes.size(); ++k)
    if (!can_have_lanes(s, t.nodes[k], k + 1 == t.nodes.size()))
      return refuse("an operation in it can't be done for all iterations at once");
  if (!is_constant(s.numbers.back())) return refuse("it assigns to another variable in each iteration");
  describe_write(s);
  describe_reads(s);
  return true;
}

/// Whether the operation is known for many iterations at once, and its number as an affine one of their counters.
bool loop_nest_analysis::can_have_lanes(const nest_statement& s, const statement_node& n, bool is_root) const {
  if (n.is_variable) return true;
  switch (n.code) {
    case op::scatter:
    case op::iterate:
    case op::repeat:
    case op::state:
    case op::trace:
    case op::traced:
      return false;
    case op::update:
      return is_root;
    case op::scalar:
      break;
    default:
      return true;
  }
  const nest_form& f = s.numbers[n.parameter];
  if (is_constant(f)) return !is_complex(n.type) || is_constant(s.numbers[n.parameter + 1]);
  if (is_complex(n.type) || n.type == dtype::boolean) return false;
  if (!is_real(n.type)) return true;
  const bool steps = std::ranges::any_of(f.loops, [](std::int64_t c) { return c != 0; });
  const bool turns = std::ranges::any_of(f.outer, [](std::int64_t c) { return c != 0; });
  if (f.column) return !steps && !turns;
  std::int64_t low = f.constant, high = f.constant;
  for (std::size_t l = 0; l < f.loops.size() && l < s.loops.size(); ++l) {
    const std::int64_t most = std::max<std::int64_t>(loops_[s.loops[l]].most - 1, 0);
    if (std::abs(f.loops[l]) > most_whole / std::max<std::int64_t>(most, 1)) return false;
    (f.loops[l] < 0 ? low : high) += f.loops[l] * most;
  }
  for (std::size_t k = 0, o = 0; k < around_.size(); ++k) {
    if (!around_[k].counter) continue;
    const std::int64_t most = std::max<std::int64_t>(around_[k].most - 1, 0), step = f.outer[o++];
    if (std::abs(step) > most_whole / std::max<std::int64_t>(most, 1)) return false;
    (step < 0 ? low : high) += step * most;
  }
  return low >= -most_whole && high <= most_whole;  // else it is bits that happen to progress
}

void loop_nest_analysis::describe_write(nest_statement& s) {
  const statement_structure& t = *s.structure;
  const statement_node& root = t.nodes.back();
  s.write.slot = s.numbers.back().constant;
  const auto rank = static_cast<std::size_t>(s.own.rank());
  for (int k = 0; k < root.extents.rank(); ++k) {
    nest_form f = zero_form();
    f.own.assign(rank, 0);
    f.loops.assign(s.loops.size(), 0);
    if (t.updates()) {
      const axis_map& m = root.facts->view[static_cast<std::size_t>(k)];
      f = s.numbers[root.parameter + static_cast<std::uint32_t>(k)];
      f.own.assign(rank, 0);
      if (m.axis >= 0) f.own[static_cast<std::size_t>(m.axis)] = m.step;
    } else {
      f.own[static_cast<std::size_t>(k)] = 1;
    }
    s.write.at.push_back(std::move(f));
  }
}

void loop_nest_analysis::describe_reads(nest_statement& s) {
  const statement_structure& t = *s.structure;
  const std::vector<bool> aligned = aligned_nodes(t);
  const auto rank = s.own.rank();
  // Axis k of a node that is aligned, as an own axis; -1 where it is repeated.
  const auto own_axis = [&](const statement_node& n, int k) {
    const int axis = k + rank - n.extents.rank();
    return axis >= 0 && n.extents[k] == s.own[axis] && n.extents[k] != 1 ? axis : -1;
  };
  const auto plain = [&] {
    nest_form f = zero_form();
    f.loops.assign(s.loops.size(), 0);
    f.own.assign(static_cast<std::size_t>(rank), 0);
    return f;
  };
  const auto along = [&](const statement_node& n, int k, bool is_aligned, std::int64_t step, nest_form f) {
    f.own.assign(static_cast<std::size_t>(rank), 0);
    if (n.extents[k] == 1 || step == 0) return f;
    const int axis = is_aligned ? own_axis(n, k) : -1;
    if (axis < 0) f.anywhere = true;
    else f.own[static_cast<std::size_t>(axis)] = step;
    return f;
  };
  for (std::uint32_t k = 0; k < t.nodes.size(); ++k) {
    const statement_node& n = t.nodes[k];
    const std::span<const std::uint32_t> operands = t.operands_of(n);
    for (std::size_t o = 0; o < operands.size(); ++o) {
      const statement_node& v = t.nodes[operands[o]];
      if (!v.is_variable || (n.code == op::update && o == 0)) continue;
      nest_access a{s.numbers[v.parameter].constant, {}, n.code == op::view ? k : operands[o], -1};
      for (int axis = 0; axis < v.extents.rank(); ++axis) {
        if (n.code == op::view) {
          const axis_map& m = n.facts->view[static_cast<std::size_t>(axis)];
          nest_form f = s.numbers[n.parameter + static_cast<std::uint32_t>(axis)];
          f.own.assign(static_cast<std::size_t>(rank), 0);
          a.at.push_back(m.axis < 0 ? f : along(n, m.axis, aligned[k], m.step, std::move(f)));
        } else {
          a.at.push_back(along(v, axis, aligned[operands[o]], 1, plain()));
        }
      }
      s.reads.push_back(std::move(a));
    }
  }
  const statement_node& root = t.nodes.back();
  if (!root.is_variable) return;
  nest_access a{s.numbers[root.parameter].constant, {}, static_cast<std::uint32_t>(t.nodes.size() - 1), -1};
  for (int axis = 0; axis < root.extents.rank(); ++axis) a.at.push_back(along(root, axis, true, 1, plain()));
  s.reads.push_back(std::move(a));
}

// ---- dependences ----

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
    if (f.column || g.column) {
      if (f.column != g.column || !is_injective(f.column)) continue;
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

bool loop_nest_analysis::crosses(std::size_t candidate) const {
  for (const nest_statement& a : statements_)
    for (const nest_statement& b : statements_) {
      if (&a <= &b && may_meet(a, a.write, b, b.write, candidate)) return true;
      for (const nest_access& r : b.reads)
        if (may_flow(a, a.write, b, r, static_cast<std::int32_t>(candidate))) return true;
    }
  return false;
}

// ---- lanes ----

std::vector<std::uint32_t> loop_nest_analysis::common_loops() const {
  std::vector<std::uint32_t> common = statements_[0].loops;
  for (const nest_statement& s : statements_) {
    std::size_t k = 0;
    while (k < common.size() && k < s.loops.size() && common[k] == s.loops[k]) ++k;
    common.resize(k);
  }
  return common;
}

/// The loops around everything, and what is left of loops and axes in each statement, place by place, when that is alike.
bool loop_nest_analysis::candidates() {
  const std::vector<std::uint32_t> common = common_loops();
  for (std::uint32_t l = 0; l < common.size(); ++l)
    candidates_.push_back({std::vector<std::uint32_t>(statements_.size(), l), loops_[common[l]].most});
  const auto rest = [&](const nest_statement& s) {
    return s.loops.size() - common.size() + static_cast<std::size_t>(s.own.rank());
  };
  const auto extent = [&](const nest_statement& s, std::size_t coordinate) {
    return coordinate < s.loops.size() ? loops_[s.loops[coordinate]].most
                                       : s.own[static_cast<int>(coordinate - s.loops.size())];
  };
  const bool alike =
      std::ranges::all_of(statements_, [&](const nest_statement& s) { return rest(s) == rest(statements_[0]); });
  if (!alike) {
    for (const nest_statement& s : statements_)
      if (s.own.size() != 1 || s.own.rank() != 0) return refuse("its statements have different shapes");
    return true;
  }
  for (std::size_t k = 0; k < rest(statements_[0]); ++k) {
    const auto at = static_cast<std::uint32_t>(common.size() + k);
    const std::int64_t n = extent(statements_[0], at);
    bool equal = true;
    for (const nest_statement& s : statements_) equal &= extent(s, at) == n;
    if (equal) candidates_.push_back({std::vector<std::uint32_t>(statements_.size(), at), n});
  }
  return true;
}

/// Lanes that are there in some iterations of a loop inside them only: whether they run at all has to be known outside.
bool loop_nest_analysis::drop_lanes_of_varying_extent(std::vector<bool>& keep) const {
  const auto is_lane = [&](std::size_t statement, std::uint32_t coordinate) {
    for (std::size_t c = 0; c < candidates_.size(); ++c)
      if (keep[c] && candidates_[c].coordinate[statement] == coordinate) return true;
    return false;
  };
  bool dropped = false;
  for (std::size_t c = 0; c < candidates_.size(); ++c)
    for (std::size_t k = 0; k < statements_.size() && keep[c]; ++k) {
      const std::uint32_t coordinate = candidates_[c].coordinate[k];
      if (coordinate >= statements_[k].loops.size()) continue;
      const nest_form& count = loops_[statements_[k].loops[coordinate]].count;
      for (std::uint32_t l = 0; l < count.loops.size() && l < coordinate; ++l)
        if (count.loops[l] != 0 && !is_lane(k, l)) keep[c] = false;
      if (count.column && !is_lane(k, static_cast<std::uint32_t>(count.column_loop))) keep[c] = false;
      dropped |= !keep[c];
    }
  return dropped;
}

bool loop_nest_analysis::find_lanes() {
  if (statements_.empty()) return true;
  for (nest_statement& s : statements_)
    if (!describe(s)) return false;
  if (!candidates()) return false;
  std::vector<bool> keep;
  for (std::size_t c = 0; c < candidates_.size(); ++c) keep.push_back(!crosses(c));
  while (drop_lanes_of_varying_extent(keep)) {}
  std::vector<lane_candidate> lanes;
  for (std::size_t c = 0; c < candidates_.size(); ++c)
    if (keep[c]) lanes.push_back(candidates_[c]);
  candidates_ = lanes;
  if (candidates_.size() > static_cast<std::size_t>(max_rank)) return refuse("it has too many loops");
  for (const lane_candidate& c : candidates_) {
    const int axis = lanes_.rank();
    lanes_.append(c.extent);
    for (std::size_t k = 0; k < statements_.size(); ++k)
      if (c.coordinate[k] < statements_[k].loops.size()) loops_[statements_[k].loops[c.coordinate[k]]].lane = axis;
  }
  // Own axes are the last lanes, all of them.
  for (std::size_t k = 0; k < statements_.size(); ++k) {
    const nest_statement& s = statements_[k];
    for (int a = 0; a < s.own.rank(); ++a) {
      const auto wanted = s.loops.size() + static_cast<std::size_t>(a);
      const std::size_t lane = static_cast<std::size_t>(lanes_.rank() - s.own.rank() + a);
      if (s.own.rank() > lanes_.rank() || candidates_[lane].coordinate[k] != wanted)
        return refuse("elements depend on each other from one iteration to the next");
    }
    for (std::uint32_t l : s.loops)
      if (const int lane = loops_[l].lane; lane >= 0 && lane >= lanes_.rank() - s.own.rank())
        return refuse("its loops are nested differently for its statements");
  }
  return find_cells();
}

/// An access over lanes alone; nothing when its place moves with loops inside a lane.
std::optional<std::vector<nest_form>> loop_nest_analysis::over_lanes(const nest_statement& s,
                                                                     const nest_access& a) const {
  std::vector<nest_form> out;
  for (const nest_form& f : a.at) {
    if (f.anywhere) return std::nullopt;
    nest_form g;
    g.constant = f.constant;
    g.outer = f.outer;
    g.own.assign(static_cast<std::size_t>(lanes_.rank()), 0);
    for (std::size_t l = 0; l < f.loops.size() && l < s.loops.size(); ++l) {
      if (f.loops[l] == 0) continue;
      const std::int32_t lane = loops_[s.loops[l]].lane;
      if (lane < 0) return std::nullopt;
      g.own[static_cast<std::size_t>(lane)] += f.loops[l];
    }
    for (std::size_t k = 0; k < f.own.size(); ++k) g.own[k + static_cast<std::size_t>(loop_lanes(s))] += f.own[k];
    if (f.column) {
      g.column = f.column;
      g.column_loop = loops_[s.loops[static_cast<std::size_t>(f.column_loop)]].lane;
      if (g.column_loop < 0) return std::nullopt;
    }
    out.push_back(std::move(g));
  }
  return out;
}

bool loop_nest_analysis::is_known_outside(const nest_loop& l) const {
  for (std::size_t k = 0; k < l.around.size() && k < l.count.loops.size(); ++k)
    if (l.count.loops[k] != 0 && loops_[l.around[k]].lane < 0) return false;
  return !l.count.column || loops_[l.around[static_cast<std::size_t>(l.count.column_loop)]].lane >= 0;
}

/// Whether a lane may find only while it runs that the statement has no iterations.
bool loop_nest_analysis::may_be_idle(const nest_statement& s) const {
  return std::ranges::any_of(s.loops, [&](std::uint32_t l) { return !is_known_outside(loops_[l]); });
}

/// Whether what the statement writes lies inside of its variable for all lanes, those that it doesn't run in, too.
bool loop_nest_analysis::lies_inside(const nest_statement& s, std::span<const nest_form> over_lanes) const {
  for (std::size_t axis = 0; axis < over_lanes.size(); ++axis) {
    const nest_form& f = over_lanes[axis];
    if (f.column || std::ranges::any_of(f.outer, [](std::int64_t c) { return c != 0; })) return false;
    std::int64_t low = f.constant, high = f.constant;
    for (std::size_t a = 0; a < f.own.size(); ++a)
      (f.own[a] < 0 ? low : high) += f.own[a] * std::max<std::int64_t>(lanes_[static_cast<int>(a)] - 1, 0);
    if (low < 0 || high >= s.structure->nodes.back().extents[static_cast<int>(axis)]) return false;
  }
  return true;
}

bool loop_nest_analysis::find_cells() {
  const auto cell_at = [&](std::int64_t slot, const std::vector<nest_form>& at) {
    for (std::size_t k = 0; k < cells_.size(); ++k)
      if (cells_[k].slot == slot &&
          std::ranges::equal(cells_[k].at, at, [](const auto& a, const auto& b) { return a == b; }))
        return static_cast<std::int32_t>(k);
    return std::int32_t{-1};
  };
  for (nest_statement& s : statements_) {
    const auto at = over_lanes(s, s.write);
    if (!at) return refuse("what it writes moves along with a loop whose iterations depend on each other");
    if (may_be_idle(s) && !lies_inside(s, *at)) return refuse("it may write nothing, in a place that isn't there");
    s.write.cell = cell_at(s.write.slot, *at);
    if (s.write.cell >= 0) continue;
    s.write.cell = static_cast<std::int32_t>(cells_.size());
    cells_.push_back({s.write.slot, *at});
  }
  if (!cells_apart()) return refuse("places that it writes may be the same");
  for (nest_statement& s : statements_)
    for (nest_access& r : s.reads) {
      if (const auto at = over_lanes(s, r)) r.cell = cell_at(r.slot, *at);
      if (r.cell >= 0) continue;
      for (const nest_statement& w : statements_)
        if (may_flow(w, w.write, s, r, -1)) return refuse("it reads what an earlier iteration wrote elsewhere");
    }
  return true;
}

/// Whether different cells of a variable are different places.
bool loop_nest_analysis::cells_apart() const {
  for (std::size_t i = 0; i < cells_.size(); ++i)
    for (std::size_t j = i + 1; j < cells_.size(); ++j) {
      if (cells_[i].slot != cells_[j].slot) continue;
      integer_system system(static_cast<std::size_t>(lanes_.rank()) * 2);
      for (int side = 0; side < 2; ++side)
        for (int a = 0; a < lanes_.rank(); ++a) {
          const auto unknown = static_cast<std::size_t>(side * lanes_.rank() + a);
          system.at_least_zero(instance::unit(unknown, 1, 0));
          system.at_least_zero(instance::unit(unknown, -1, lanes_[a] - 1));
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
