// Columns that are scanned in tiles: `kept` rows a thread, threads below each other, blocks that look up what the tiles
// above theirs have found (jit/device/column_scan.cuh). All of a tile is loaded before anything is needed.
//
// What stands in the loop's body up to a scan runs for all of a thread's rows, then the scan, then what stands after
// it. Values that come from before go through arrays: all3[row][lane], which the text of a row calls v3[lane].
#include "jit/codegen/emit_columns.hpp"

#include "runtime/error.hpp"

#include <algorithm>

namespace sinter::jit {

namespace {

class column_scan_emitter : public column_emitter {
 public:
  using column_emitter::column_emitter;

 private:
  bool takes_tickets() const override { return true; }
  int least_blocks() const override { return 512 / k_.threads; }  // 128 registers a thread

  void body() override {
    const std::string_view I = index_type();
    const std::size_t scans = first_top().scans.size();
    SINTER_CHECK(nest_.tops().size() == 1 && nest_.dims(first_top()).count == 1 && first_top().reductions.empty());
    w_.line("const team_of own(team);");
    w_.line("const int width = own.nx * {}, warps = (width + 31) / 32;", lanes_);
    w_.line("const {} strips = ({} + width - 1) / width, chains = {} * strips, tiles = chains * pieces0;", I,
            inner_extent(), product(0, inner_dim()));
    {
      const auto tasks = w_.block("for (;;)");
      w_.line("const {0} task = ({0})next_tile(tickets), piece = task / chains, chain = task - piece * chains;", I);
      w_.line("if (task >= tiles) break;");
      w_.line("const {} row = chain / strips, first = ((chain - row * strips) * own.nx + own.x) * {};", I, lanes_);
      w_.line("const int left = {0} - first < {1} ? (int)({0} - first) : {1};", inner_extent(), lanes_);
      w_.line("const {} top = (piece * own.ny + own.y) * {};", I, k_.kept);
      if (has_rows()) find_row();
      segment(segments()[0]);
      here_.guard.clear();
      scan_tile(first_top());
      segment(segments()[1]);
    }
    w_.line("finish_tiles(tickets, (unsigned)blocks, (unsigned)((tiles * warps * {} + 3) / 4), 1);", scans);
  }

  std::vector<std::uint32_t> arrays_of(const loop& l, const scan_plan& plan) const {
    std::vector<std::uint32_t> list;
    for (std::uint32_t v = l.begin + 1; v < l.end; ++v)
      if (plan.needed[v] && names_.is_array(value{v})) list.push_back(v);
    return list;
  }

  void scan_tile(const loop& l) {
    const scan_plan plan = plan_scans(l);
    const auto scope = w_.block("");
    for (const std::uint32_t v : arrays_of(l, plan))
      w_.line("{} all{}[{}][{}] = {{}};", value_type(k_, k_.body[v]), v, k_.kept, lanes_);
    for (const std::uint32_t v : plan.loads) w_.line("{} whole{}[{}];", pack_type(v), v, k_.kept);
    if (!plan.loads.empty()) {
      std::vector<bool> needed(k_.body.size());
      for (const std::uint32_t v : plan.loads) nest_.each_operand(v, [&](std::uint32_t x) { needed[x] = true; });
      need_operands(needed, l.begin + 1, l.end);
      each_row(l, [&] {
        loop_statements(l, needed, false);
        for (const std::uint32_t v : plan.loads) load_lanes(v, inner_dim(), fmt::format("whole{}[k]", v));
      });
    }
    for (const std::uint32_t v : plan.loads) element_[v] = fmt::format("whole{}[k].at[lane]", v);
    for (std::size_t s = 0; s < plan.segments.size(); ++s) {
      row_segment(l, plan, s);
      if (s < l.scans.size()) scan(l, plan, s);
    }
  }

  /// `statements` for each of the thread's rows that there are.
  template <class F>
  void each_row(const loop& l, const F& write) {
    const std::uint32_t d = nest_.innermost(l);
    w_.line("#pragma unroll");
    const auto rows = w_.block("for (int k = 0; k < {}; ++k)", k_.kept);
    const auto there = w_.block("if (const {} d{} = top + k; d{} < {})", index_type(), d, d, extent(d));
    set_position(false);
    write();
  }

  /// For each lane of a row, where its arrays have the names of their values.
  template <class F>
  void each_lane_of_row(const loop& l, const scan_plan& plan, const F& write) {
    loop_statements(l, plan.needed, false);
    for (const std::uint32_t v : arrays_of(l, plan)) w_.line("auto& v{0} = all{0}[k];", v);
    w_.line("#pragma unroll");
    const auto lanes = w_.block("{}", each_lane());
    const auto there = w_.block("if (lane < left)");
    set_position(true);
    write();
  }

  void row_segment(const loop& l, const scan_plan& plan, std::size_t which) {
    const std::vector<std::uint32_t>& segment = plan.segments[which];
    if (!any_in_lanes(segment)) return;
    std::vector<std::uint32_t> stores;
    for (const std::uint32_t v : packed_stores(l))
      if (std::ranges::find(segment, v) != segment.end()) stores.push_back(v);
    each_row(l, [&] {
      declare_stores(stores);
      each_lane_of_row(l, plan, [&] {
        const bool counts = std::ranges::any_of(segment, [&](std::uint32_t v) {
          return levels_.inside[v] && spells(inner_dim(), v);
        });
        if (counts) w_.line("const {} i = first + lane;", index_type());
        for (const std::uint32_t v : segment)
          if (levels_.inside[v]) instruction(v);
      });
      for (const std::uint32_t v : stores) store_lanes(v, inner_dim());
    });
  }

  /// What the thread's own rows make, what stands above them, and then the scan's values.
  void scan(const loop& l, const scan_plan& plan, std::size_t which) {
    const std::uint32_t v = l.scans[which];
    const std::string type = accumulator_of(v), x = operand(k_, names_, k_.body[v].arg[0]);
    w_.line("{0} own{1}[{2}], before{1}[{2}];", type, v, lanes_);
    each_row(l, [&] {
      each_lane_of_row(l, plan, [&] { w_.line("own{}[lane].add({});", v, x); });
    });
    w_.line("const long long chain{} = {}ll * chains + chain;", v, which);
    w_.line("const column_tiles at{0} = {{tickets + 4 + (chain{0} * warps + threadIdx.x / 32) * pieces0, "
            "(char*)workspace + chain{0} * pieces0 * width * 64, piece, width}};", v);
    w_.line("scan_down<{0}>(own{1}, before{1}, own, at{1});", k_.threads, v);
    total_[v] = fmt::format("before{}[lane]", v);
    if (const value of = k_.body[v].arg[0]; names_.is_array(of)) {  // else their doubles would stay in registers
      w_.line("#pragma unroll");
      w_.line("for (int k = 0; k < {}; ++k)", k_.kept);
      w_.line("#pragma unroll");
      w_.line("{} forget_origin(all{}[k][lane]);", each_lane(), raw(of));
    }
    each_row(l, [&] {
      each_lane_of_row(l, plan, [&] {
        w_.line("{}.add({});", total_[v], x);
        found(v);
      });
    });
  }
};

}  // namespace

std::unique_ptr<kernel_emitter> make_column_scan_emitter(const kernel& k, const user_code& users, writer& w) {
  return std::make_unique<column_scan_emitter>(k, users, w);
}

}  // namespace sinter::jit
