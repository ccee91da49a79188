// Loops with scans, shared by a team: chunk after chunk, or tile by tile where several blocks share a row.
//
// What stands before a scan in the loop's body runs for all lanes, then the scan puts together what the threads' lanes
// have, then what stands after it runs for all lanes. Values that come from before go through arrays of lanes.
#include "jit/codegen/emit_rows.hpp"

#include "runtime/error.hpp"

#include <algorithm>
#include <bit>
#include <memory>

namespace sinter::jit {

team_emitter::scan_plan team_emitter::plan_scans(const loop& l) {
  SINTER_CHECK(nest_.dims(l).count == 1);
  scan_plan plan{needed_in(l), {{}}, packed_loads(l)};
  for (std::uint32_t v = l.begin + 1; v < l.end; ++v) {
    if (is_scan(k_.body[v].code)) plan.segments.emplace_back();
    else if (plan.needed[v]) plan.segments.back().push_back(v);
    if (k_.body[v].code == op::loop) v = nest_[nest_.number_of(v)].end;
  }
  find_scan_arrays(l, plan);
  return plan;
}

void team_emitter::find_scan_arrays(const loop& l, const scan_plan& plan) {
  constexpr std::size_t nowhere = ~std::size_t{0};
  std::vector<std::size_t> segment_of(k_.body.size(), nowhere);
  std::size_t now = 0;
  for (std::uint32_t v = l.begin + 1; v < l.end; ++v) {
    if (is_scan(k_.body[v].code)) ++now;
    segment_of[v] = now;
  }
  for (std::uint32_t v = l.begin + 1; v < l.end; ++v) {
    if (!plan.needed[v]) continue;
    if (is_scan(k_.body[v].code)) names_.set_array(value{v});
    nest_.each_operand(v, [&](std::uint32_t x) {
      const bool own = segment_of[x] != nowhere && levels_.varies[x];
      if (own && (is_scan(k_.body[v].code) || segment_of[x] != segment_of[v])) names_.set_array(value{x});
    });
  }
}

void row_emitter::declare_scan_arrays(const scan_plan& plan, const loop& l) {
  const std::string vectors = scans_tiles() ? fmt::format("[{}]", k_.kept) : "";
  std::vector<std::uint32_t> all;
  for (std::uint32_t v = l.begin + 1; v < l.end; ++v)
    if (plan.needed[v]) all.push_back(v);
  declare_arrays(all, vectors);
}

// ---- chunks: the team goes along the row ----

void row_emitter::scan_loop(const loop& l) {
  const std::string_view I = index_type();
  const scan_plan plan = plan_scans(l);
  const auto scope = w_.block("");
  for (const std::uint32_t v : l.scans) w_.line("{} scan{};", accumulator_of(v), v);
  loop_statements(l, plan.needed, false);
  const std::string n = extent(nest_.innermost(l));
  const int count = plan.loads.empty() ? 1 : ahead(l);  // chunks that are on their way together
  const auto chunks = w_.block("for ({0} chunk = 0; chunk < {1}; chunk += own.nx * {2})", I, n, lanes_ * count);
  load_chunks(l, plan, count);
  std::unique_ptr<writer::scope> each;
  if (count > 1) {
    w_.line("#pragma unroll");
    each.reset(new writer::scope(w_.block("for (int k = 0; k < {}; ++k)", count)));
    w_.line("if (chunk + k * own.nx * {} >= {}) break;", lanes_, n);
  }
  find_chunk(l, count);
  declare_scan_arrays(plan, l);
  for (std::size_t s = 0; s < plan.segments.size(); ++s) {
    scan_segment(l, plan, s);
    if (s < l.scans.size()) scan_between(l.scans[s]);
  }
}

/// Where this thread's vector of a chunk begins, and how many of its lanes are in the row.
void row_emitter::find_chunk(const loop& l, int count) {
  const std::string_view turn = count > 1 ? "k * own.nx + " : "";
  w_.line("const {} first = chunk + ({}own.x) * {};", index_type(), turn, lanes_);
  w_.line("const int left = {0} - first < {1} ? (int)({0} - first) : {1};", extent(nest_.innermost(l)), lanes_);
}

void row_emitter::load_chunks(const loop& l, const scan_plan& plan, int count) {
  if (plan.loads.empty()) return;
  const std::string place = count > 1 ? "[k]" : "[0]";
  for (const std::uint32_t v : plan.loads) {
    w_.line("{} whole{}[{}];", pack_type(v), v, count);
    element_[v] = fmt::format("whole{}{}.at[lane]", v, place);
  }
  w_.line("#pragma unroll");
  const auto each = w_.block("for (int k = 0; k < {}; ++k)", count);
  find_chunk(l, count);
  for (const std::uint32_t v : plan.loads) load_lanes(v, lane_dim(l), fmt::format("whole{}{}", v, place));
}

/// The scan's values from its operand's: first what the thread's own lanes make, then what comes before them.
void row_emitter::scan_between(std::uint32_t v) {
  const std::string type = accumulator_of(v), x = operand(k_, names_, k_.body[v].arg[0]);
  w_.line("{} own{};", type, v);
  w_.line("for (int lane = 0; lane < {}; ++lane)", lanes_);
  w_.line("  if (lane < left) own{}.add({});", v, x);
  w_.line("{0} total{1} = scan_team<{2}>(own{1}, scan{1}, own);", type, v, k_.threads);
  w_.line("#pragma unroll");
  const auto lanes = w_.block("for (int lane = 0; lane < {}; ++lane)", lanes_);
  const auto there = w_.block("if (lane < left)");
  w_.line("total{}.add({});", v, x);
  found(v);
}

void row_emitter::scan_segment(const loop& l, const scan_plan& plan, std::size_t which) {
  const std::vector<std::uint32_t>& segment = plan.segments[which];
  if (!any_in_lanes(segment)) return;
  std::vector<std::uint32_t> stores;
  for (const std::uint32_t v : packed_stores(l))
    if (std::ranges::find(segment, v) != segment.end()) stores.push_back(v);
  declare_stores(stores);
  {
    w_.line("#pragma unroll");
    const auto lanes = w_.block("for (int lane = 0; lane < {}; ++lane)", lanes_);
    const auto there = w_.block("if (lane < left)");
    const std::uint32_t d = lane_dim(l);
    std::vector<bool> here(k_.body.size());
    for (const std::uint32_t v : segment) {
      here[v] = true;
      if (k_.body[v].code == op::loop) std::fill(here.begin() + v, here.begin() + nest_[nest_.number_of(v)].end, true);
    }
    if (spells(d, here, l, true)) w_.line("const {} d{} = first + lane;", index_type(), d);
    for (const std::uint32_t v : segment)
      if (levels_.inside[v]) instruction(v);
  }
  for (const std::uint32_t v : stores) store_lanes(v, lane_dim(l));
}

// ---- tiles: blocks take one after another, and look back for what comes before theirs ----

void row_emitter::tiles_body() {
  const std::string_view I = index_type();
  w_.line("const team_of own({});  // the block", std::countr_zero(k_.threads));
  w_.line("const {} tiles = {} * pieces1;", I, product(0, k_.domain_rank));
  tile_statements();
  w_.line("finish_tiles(tickets, (unsigned)blocks, (unsigned)tiles, {});", first_top().scans.size());
}

void row_emitter::tile_statements() {
  const std::string_view I = index_type();
  const auto tasks = w_.block("for (;;)");
  w_.line("const {0} task = ({0})next_tile(tickets), e = task / pieces1, tile = task - e * pieces1;", I);
  w_.line("if (task >= tiles) break;");
  find_element();
  here_.position = "(long long)e";
  here_.guard = "own.thread == 0 && tile == 0";
  for (std::uint32_t v = 0; v < k_.body.size(); ++v) {
    if (k_.body[v].code != op::loop) {
      instruction(v);
      continue;
    }
    const loop& l = nest_[nest_.number_of(v)];
    SINTER_CHECK(nest_.tops().size() == 1 && l.reductions.empty());
    here_.guard.clear();
    scan_tile(l);
    here_.guard = "own.thread == 0 && tile == 0";
    v = l.end;
  }
}

writer::scope row_emitter::each_vector_of_tile() {
  w_.line("#pragma unroll");
  return w_.block("for (int k = 0; k < {}; ++k)", k_.kept);
}

/// Where vector k of this thread begins, and how many of its lanes are in the row. A warp's vectors lie end to end.
void row_emitter::find_vector_of_tile(const loop& l) {
  const std::string_view I = index_type();
  const std::string n = extent(nest_.innermost(l));
  w_.line("const {} first = ((tile * own.nx + (own.x & ~31)) * {} + k * 32 + (own.x & 31)) * {};", I, k_.kept, lanes_);
  w_.line("[[maybe_unused]] const int left = {0} - first < {1} ? (int)({0} - first) : {1};", n, lanes_);
}

void row_emitter::scan_tile(const loop& l) {
  const scan_plan plan = plan_scans(l);
  names_.set_place("[k][lane]");
  const auto scope = w_.block("");
  loop_statements(l, plan.needed, false);
  declare_scan_arrays(plan, l);
  for (const std::uint32_t v : plan.loads) {
    w_.line("{} whole{}[{}];", pack_type(v), v, k_.kept);
    element_[v] = fmt::format("whole{}[k].at[lane]", v);
  }
  if (!plan.loads.empty()) {
    const auto vectors = each_vector_of_tile();
    find_vector_of_tile(l);
    for (const std::uint32_t v : plan.loads) load_lanes(v, lane_dim(l), fmt::format("whole{}[k]", v));
    for (const std::uint32_t v : plan.loads) bring_near(l, v);
  }
  for (std::size_t s = 0; s < plan.segments.size(); ++s) {
    {
      const auto vectors = each_vector_of_tile();
      find_vector_of_tile(l);
      scan_segment(l, plan, s);
    }
    if (s < l.scans.size()) tile_scan(l.scans[s], s);
  }
  names_.set_place("[lane]");
}

/// The same elements of the tile that comes when all blocks have begun another one.
void row_emitter::bring_near(const loop& l, std::uint32_t v) {
  if (!are_neighbours(v, lane_dim(l)) || k_.body[v].arg[0] != value::none) return;
  const std::string later = fmt::format("(first + blocks * {} * own.nx)", k_.kept * lanes_);
  w_.line("bring_near(&{}, {} < {});", pack_address(v, lane_dim(l), later), later, extent(nest_.innermost(l)));
}

/// A scan's values from its operand's. Each thread takes neighbours for it, so that one scan of the threads will do;
/// what stands past the row's end comes last, and nothing after it is asked for.
void row_emitter::tile_scan(std::uint32_t v, std::size_t which) {
  const std::string type = accumulator_of(v), own = fmt::format("moved{}[k][lane]", v);
  std::int64_t bytes = 4;  // of the widest value any scan moves, which one memory serves: f16 in registers is f32
  for (const inst& x : k_.body)
    if (is_scan(x.code)) bytes = std::max({bytes, size_of(x.type), size_of(k_[x.arg[0]].type)});
  const auto each_lane = [&] {
    w_.line("#pragma unroll");
    w_.line("for (int k = 0; k < {}; ++k)", k_.kept);
    w_.line("#pragma unroll");
  };
  w_.line("{} moved{}[{}][{}];", value_type(k_, k_[k_.body[v].arg[0]]), v, k_.kept, lanes_);
  each_lane();
  w_.line("for (int lane = 0; lane < {}; ++lane) {} = {};", lanes_, own, names_.value(k_.body[v].arg[0]));
  w_.line("to_blocked<{}, {}>(moved{});", k_.threads, bytes, v);
  w_.line("{0} own{1}, scan{1};", type, v);
  each_lane();
  w_.line("for (int lane = 0; lane < {}; ++lane) own{}.add({});", lanes_, v, own);
  w_.line("const {0} before{1} = scan_team<{2}>(own{1}, scan{1}, own);", type, v, k_.threads);
  w_.line("{0} total{1} = look_back(scan{1}, tickets, workspace, {2}, e * pieces1, tile, tiles);", type, v, which);
  w_.line("total{0}.merge(before{0});", v);
  each_lane();
  {
    const auto lanes = w_.block("for (int lane = 0; lane < {}; ++lane)", lanes_);
    w_.line("total{}.add({});", v, own);
    found(v);
  }
  w_.line("to_striped<{}, {}>(v{});", k_.threads, bytes, v);
}

}  // namespace sinter::jit
