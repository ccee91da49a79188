#include "jit/codegen/emit_columns.hpp"

#include <algorithm>

namespace sinter::jit {

void column_emitter::body() {
  const std::string_view I = index_type(), of_pieces = is_split() ? " / pieces" : "";
  w_.line("const team_of own(team);");
  if (is_split()) w_.line("const {} pieces = pieces0 * pieces1, piece = block % pieces;", I);
  w_.line("const {} tiles = ({} + own.nx * {} - 1) / (own.nx * {});", I, inner_extent(), lanes_, lanes_);
  w_.line("const {} rows = {}, tasks = rows * tiles;", I, product(0, inner_dim()));
  const auto tasks = w_.block("for ({0} task = block{1}; task < tasks; task += blocks{1})", I, of_pieces);
  w_.line("const {} row = task / tiles, first = ((task - row * tiles) * own.nx + own.x) * {};", I, lanes_);
  w_.line("const int left = {0} - first < {1} ? (int)({0} - first) : {1};", inner_extent(), lanes_);
  if (has_rows()) find_row();
  if (is_split()) return split_statements();
  segment(segments()[0]);
  for (std::size_t t = 0; t < nest_.tops().size(); ++t) {
    const loop& l = nest_[nest_.tops()[t]];
    declare_totals(l, fmt::to_string(lanes_));
    shared_loop(l);
    merge_lanes(l);
    segment(segments()[t + 1]);
  }
}

void column_emitter::split_statements() {
  segment(segments()[0]);
  declare_totals(first_top(), fmt::to_string(lanes_));
  for (const std::uint32_t t : nest_.tops()) shared_loop(nest_[t]);
  merge_lanes(first_top());
  merge_lane_pieces(first_top());
  segment(segments()[1]);
}

void column_emitter::segment(const std::vector<std::uint32_t>& s) {
  settled_statements(s);
  if (!any_in_lanes(s)) return;
  declare_arrays(s);
  std::vector<std::uint32_t> stores;
  for (const std::uint32_t v : s) {
    if (!is_packed(v, inner_dim())) continue;
    if (k_.body[v].code == op::store) {
      stores.push_back(v);
      continue;
    }
    w_.line("{} whole{};", pack_type(v), v);
    load_lanes(v, inner_dim(), fmt::format("whole{}", v));
    element_[v] = fmt::format("whole{}.at[lane]", v);
  }
  declare_stores(stores);
  here_.guard = is_split() && !has_totals(first_top()) ? "own.y == 0 && piece == 0" : "own.y == 0";
  {
    w_.line("#pragma unroll");
    const auto lanes = w_.block("{}", each_lane());
    const auto there = w_.block("if (lane < left)");
    lane_statements(s);
  }
  for (const std::uint32_t v : stores) store_lanes(v, inner_dim());
}

// ---- one loop ----
void column_emitter::shared_loop(const loop& l) {
  const auto scope = w_.block("");
  here_.guard.clear();
  for (const std::uint32_t v : l.scans) {
    w_.line("{} scan{}[{}];", accumulator_of(v), v, lanes_);
    total_[v] = fmt::format("scan{}[lane]", v);
  }
  fetch_function(l);
  step_function(l);
  w_.line("each_vector<1, {}, true, {}>({}own.y, {}own.ny, {}, fetch, step);", ahead(l), index_type(),
          is_split() ? "piece * own.ny + " : "", is_split() ? "pieces * " : "",
          product(nest_.dims(l).first, nest_.dims(l).count));
}

void column_emitter::fetch_function(const loop& l) {
  const std::vector<std::uint32_t> loads = packed_loads(l);
  declare_loads(l, loads);
  const auto function = w_.definition("const auto fetch = [&](const {} turn, int)", index_type());
  w_.line("loads{} loads;", l.begin);
  if (!loads.empty()) {
    std::vector<bool> needed(k_.body.size());
    for (const std::uint32_t v : loads) nest_.each_operand(v, [&](std::uint32_t x) { needed[x] = true; });
    need_operands(needed, l.begin + 1, l.end);
    find_counters("turn", nest_.dims(l).first, nest_.dims(l).count);
    set_position(false);
    loop_statements(l, needed, false);
    for (const std::uint32_t v : loads) load_lanes(v, inner_dim(), fmt::format("loads.whole{}", v));
    for (const std::uint32_t v : loads) at_hand_[v] = true;
  }
  w_.line("return loads;");
}

void column_emitter::step_function(const loop& l) {
  const std::vector<bool> needed = needed_in(l);
  const auto function =
      w_.definition("const auto step = [&](const {} turn, int, const loads{}& loads)", index_type(), l.begin);
  const std::vector<std::uint32_t> stores = packed_stores(l);
  declare_stores(stores);
  step_counters(l, needed);
  set_position(false);
  loop_statements(l, needed, false);
  {
    w_.line("#pragma unroll");
    const auto lanes = w_.block("{}", each_lane());
    const auto there = w_.block("{}", touches_memory(l, needed) ? "if (lane < left)" : "");
    set_position(true);
    if (spells(inner_dim(), needed, l, true)) w_.line("const {} i = first + lane;", index_type());
    loop_statements(l, needed, true);
  }
  for (const std::uint32_t v : stores) store_lanes(v, inner_dim());
}

void column_emitter::step_counters(const loop& l, const std::vector<bool>& needed) {
  const loop_dims& dims = nest_.dims(l);
  const auto stores = packed_stores(l);
  const auto uses = [&](std::uint32_t d) {
    const auto addresses = [&](std::uint32_t v) {
      const form& f = k_.forms[k_.accesses[k_.body[v].attr].form];
      return std::any_of(k_.terms.begin() + f.first, k_.terms.begin() + f.first + f.count,
                         [&](const term& t) { return t.atom == d; });
    };
    return spells(d, needed, l, false) || spells(d, needed, l, true) || std::ranges::any_of(stores, addresses);
  };
  for (std::uint32_t d = dims.first; d < dims.first + dims.count; ++d)
    if (uses(d)) return find_counters("turn", dims.first, dims.count);
}

/// Whether lanes past the end would do what mustn't be done; others only compute what nobody looks at.
bool column_emitter::touches_memory(const loop& l, const std::vector<bool>& needed) const {
  for (std::uint32_t v = l.begin + 1; v < l.end; ++v) {
    if (!needed[v] || !levels_.inside[v] || !element_[v].empty()) continue;
    const op code = k_.body[v].code;
    if (code == op::load || writes(v) || code == op::bound || code == op::call || code == op::reduce_call ||
        code == op::loop)
      return true;
  }
  return false;
}

std::unique_ptr<kernel_emitter> make_column_emitter(const kernel& k, const user_code& users, writer& w) {
  const bool scans = std::ranges::any_of(k.body, [](const inst& i) { return is_scan(i.code); });
  if (scans && k.split != 0) return make_column_scan_emitter(k, users, w);
  return std::make_unique<column_emitter>(k, users, w);
}

}  // namespace sinter::jit
