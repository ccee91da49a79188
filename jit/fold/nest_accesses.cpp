// Which elements of its variables each statement of a nest reads and writes.
#include "jit/fold/nest_forms.hpp"

namespace sinter::jit {

namespace {

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

bool loop_nest_analysis::describe(nest_statement& s) {
  const statement_structure& t = *s.structure;
  for (const traced_number& n : s.item->parameters) s.numbers.push_back(form_of(n));
  const statement_node& root = t.nodes.back();
  s.own = root.extents;
  if (t.updates()) s.own = t.nodes[t.operands_of(root)[1]].extents;
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
    case op::trail:
    case op::launch:
    case op::state:
    case op::trace:
    case op::traced:
    case op::raw_call:  // lanes would be axes of what it indexes
    case op::lone_call:
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

}  // namespace sinter::jit
