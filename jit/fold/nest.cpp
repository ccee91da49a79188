#include "jit/fold/nest.hpp"

#include "jit/fold/nest_forms.hpp"
#include "runtime/error.hpp"

namespace sinter::jit {

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
    if (o.counter) {
      f.column = n.column;
      f.column_outer = static_cast<std::int32_t>(std::ranges::count_if(
          std::span(around_).first(static_cast<std::size_t>(n.column_loop)),
          [](const outer_loop& l) { return l.counter.get() != nullptr; }));
    } else {
      f.constant += (*n.column)[static_cast<std::size_t>(o.now)];
    }
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

/// The loops around everything, and what is left of loops and axes in each statement, place by place, when that is
/// alike.
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
    const shape& own = statements_[0].own;
    for (const nest_statement& s : statements_)
      if (s.own != own) return refuse("its statements have different shapes");
    for (int a = 0; a < own.rank(); ++a) {
      std::vector<std::uint32_t> coordinate;
      for (const nest_statement& s : statements_)
        coordinate.push_back(static_cast<std::uint32_t>(s.loops.size() + static_cast<std::size_t>(a)));
      candidates_.push_back({std::move(coordinate), own[a]});
    }
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
      if (count.column_loop >= 0 && !is_lane(k, static_cast<std::uint32_t>(count.column_loop))) keep[c] = false;
      dropped |= !keep[c];
    }
  return dropped;
}

bool loop_nest_analysis::find_lanes() {
  if (statements_.empty()) return true;
  for (nest_statement& s : statements_)
    if (!describe(s)) return false;
  is_described_ = true;
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
  find_recurrence();
  return find_cells();
}

/// The outermost loop inside the lanes, when it is around everything, has as many iterations in all of them, and
/// something that is written moves along it.
void loop_nest_analysis::find_recurrence() {
  const std::vector<std::uint32_t> common = common_loops();
  const auto first = std::ranges::find_if(common, [&](std::uint32_t l) { return loops_[l].lane < 0; });
  if (first == common.end() || loops_[*first].most < 2 || lanes_.rank() == max_rank) return;
  for (std::uint32_t l = 0; l < loops_.size(); ++l)
    if (moves(loops_[l].count) && (l == *first || is_known_outside(loops_[l]))) return;
  const auto place = static_cast<std::size_t>(first - common.begin());
  const bool any = std::ranges::any_of(statements_, [&](const nest_statement& s) {
    return std::ranges::any_of(s.write.at, [&](const nest_form& f) {
      return place < f.loops.size() && f.loops[place] != 0;
    });
  });
  if (any) recurrence_ = static_cast<std::int32_t>(*first);
}

shape loop_nest_analysis::extents_of(const nest_cell& c) const {
  shape e = lanes_;
  if (c.moves) e.append(recurrence()->most);
  return e;
}

/// An access over lanes, and over the recurrence if there is one; nothing when its place moves with other loops inside
/// a lane.
std::optional<std::vector<nest_form>> loop_nest_analysis::over_lanes(const nest_statement& s,
                                                                     const nest_access& a) const {
  std::vector<nest_form> out;
  for (const nest_form& f : a.at) {
    if (f.anywhere) return std::nullopt;
    nest_form g;
    g.constant = f.constant;
    g.outer = f.outer;
    g.own.assign(static_cast<std::size_t>(lanes_.rank() + (recurrence_ >= 0)), 0);
    for (std::size_t l = 0; l < f.loops.size() && l < s.loops.size(); ++l) {
      if (f.loops[l] == 0) continue;
      const bool recurs = static_cast<std::int32_t>(s.loops[l]) == recurrence_;
      const std::int32_t lane = recurs ? lanes_.rank() : loops_[s.loops[l]].lane;
      if (lane < 0) return std::nullopt;
      g.own[static_cast<std::size_t>(lane)] += f.loops[l];
    }
    for (std::size_t k = 0; k < f.own.size(); ++k) g.own[k + static_cast<std::size_t>(loop_lanes(s))] += f.own[k];
    if (f.column) {
      g.column = f.column;
      g.column_outer = f.column_outer;
      if (f.column_loop >= 0) g.column_loop = loops_[s.loops[static_cast<std::size_t>(f.column_loop)]].lane;
      if (g.column_loop < 0 && g.column_outer < 0) return std::nullopt;
    }
    out.push_back(std::move(g));
  }
  return out;
}

bool loop_nest_analysis::is_known_outside(const nest_loop& l) const {
  for (std::size_t k = 0; k < l.around.size() && k < l.count.loops.size(); ++k)
    if (l.count.loops[k] != 0 && loops_[l.around[k]].lane < 0) return false;
  return l.count.column_loop < 0 || loops_[l.around[static_cast<std::size_t>(l.count.column_loop)]].lane >= 0;
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
    for (std::size_t a = 0; a < f.own.size(); ++a) {
      const std::int64_t n = static_cast<int>(a) < lanes_.rank() ? lanes_[static_cast<int>(a)] : recurrence()->most;
      (f.own[a] < 0 ? low : high) += f.own[a] * std::max<std::int64_t>(n - 1, 0);
    }
    if (low < 0 || high >= s.structure->nodes.back().extents[static_cast<int>(axis)]) return false;
  }
  return true;
}

bool loop_nest_analysis::find_cells() {
  for (nest_statement& s : statements_) {
    auto at = over_lanes(s, s.write);
    if (!at) return refuse("what it writes moves along with a loop whose iterations depend on each other");
    if (may_be_idle(s) && !lies_inside(s, *at)) return refuse("it may write nothing, in a place that isn't there");
    for (std::size_t k = 0; k < cells_.size() && s.write.cell < 0; ++k)
      if (cells_[k].slot == s.write.slot && std::ranges::equal(cells_[k].at, *at, same_form))
        s.write.cell = static_cast<std::int32_t>(k);
    if (s.write.cell >= 0) continue;
    s.write.cell = static_cast<std::int32_t>(cells_.size());
    const auto last = static_cast<std::size_t>(lanes_.rank());
    const bool along =
        recurrence_ >= 0 && std::ranges::any_of(*at, [&](const nest_form& f) { return f.own[last] != 0; });
    cells_.push_back({s.write.slot, std::move(*at), along});
  }
  if (!cells_apart()) return refuse("places that it writes may be the same");
  for (nest_statement& s : statements_)
    for (nest_access& r : s.reads)
      if (!find_read_cell(s, r)) return false;
  return true;
}

/// What a read sees: a cell as it is, or as it was some iterations before; else no iteration may have written it.
bool loop_nest_analysis::find_read_cell(const nest_statement& s, nest_access& r) {
  if (const auto at = over_lanes(s, r))
    for (std::size_t k = 0; k < cells_.size() && r.cell < 0; ++k)
      if (cells_[k].slot == r.slot && is_shifted(cells_[k], *at, r.back)) {
        r.cell = static_cast<std::int32_t>(k);
        cells_[k].back = std::max(cells_[k].back, r.back);
      }
  if (r.cell >= 0) {
    // A state of a loop is read at its own element, axis by axis.
    const bool other_axes = s.structure->nodes[r.node].extents.rank() != s.own.rank();
    const bool in_order = std::ranges::any_of(s.loops, [&](std::uint32_t l) { return loops_[l].lane < 0; });
    if (other_axes && in_order) return refuse("what it writes is read with other axes");
    // Before the first iterations that is what the array held there, unless another cell is in the way.
    const bool in_the_way = r.back > 0 && std::ranges::any_of(statements_, [&](const nest_statement& w) {
      return w.write.cell != r.cell && may_flow(w, w.write, s, r, -1);
    });
    return !in_the_way || refuse("it reads what another statement wrote before the first iterations");
  }
  for (const nest_statement& w : statements_)
    if (may_flow(w, w.write, s, r, -1)) return refuse("it reads what an earlier iteration wrote elsewhere");
  return true;
}

/// Whether `at` is where the cell was `back` iterations before, of which few are kept.
bool loop_nest_analysis::is_shifted(const nest_cell& c, const std::vector<nest_form>& at, std::int32_t& back) const {
  constexpr std::int64_t most_kept = 8;
  std::int64_t distance = 0;
  const auto last = static_cast<std::size_t>(lanes_.rank());
  for (std::size_t k = 0; k < at.size() && c.moves; ++k)
    if (const std::int64_t step = c.at[k].own[last]; step != 0) distance = (c.at[k].constant - at[k].constant) / step;
  if (distance < 0 || distance > most_kept) return false;
  for (std::size_t k = 0; k < at.size(); ++k) {
    nest_form there = c.at[k];
    if (c.moves) there.constant -= distance * there.own[last];
    if (!same_form(there, at[k])) return false;
  }
  back = static_cast<std::int32_t>(distance);
  return true;
}

}  // namespace sinter::jit
