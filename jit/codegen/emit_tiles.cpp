// distribution::tiles: a thread takes rows x columns results at once. What several of them need of an iteration is
// computed once by the block and left in shared memory, a chunk of iterations at a time; the next chunk's values are
// fetched into registers while this one's are used.
#include "jit/codegen/emit_teams.hpp"
#include "jit/codegen/tile_facts.hpp"

#include <algorithm>
#include <array>

namespace sinter::jit {

namespace {

constexpr int padding = 4;  // elements behind each row of shared memory, so that columns of it lie in different banks

class tile_emitter : public team_emitter {
 public:
  tile_emitter(const kernel& k, const user_code& users, writer& w)
      : team_emitter(k, users, w, false), facts_(k, nest_, k.tile.dim), top_(first_top()),
        has_square_(k.tile.dim != result_tile::none) {}

 private:
  int least_blocks() const override { return 2; }

  // ---- where things are ----
  int across() const { return has_square_ ? 16 : 32; }
  int down() const { return static_cast<int>(k_.threads) / across(); }
  int results() const { return k_.tile.rows * k_.tile.columns; }
  int row_lanes() const { return std::min<int>(lanes_, k_.tile.rows); }
  /// Elements of the tile's side, or iterations, that the block has.
  int length(tile_side s) const {
    return s == tile_side::row ? k_.tile.rows * down() : s == tile_side::column ? k_.tile.columns * across() : 1;
  }
  int chunk() const { return has_square_ ? k_.tile.depth : k_.tile.depth * down(); }
  int values_of(tile_side s) const { return length(s) * chunk(); }
  int values_of_thread(tile_side s) const { return (values_of(s) + k_.threads - 1) / k_.threads; }
  const loop_dims& dims() const { return nest_.dims(top_); }
  std::string trips() const { return product(dims().first, dims().count); }

  /// Neighbours of one vector are one thread's, vectors next to each other are neighbouring threads'.
  static std::string place(std::string_view which, std::string_view thread, int lanes, int threads) {
    if (lanes == 1) return fmt::format("{} * {} + {}", which, threads, thread);
    return fmt::format("{0} / {1} * {2} + {3} * {1} + {0} % {1}", which, lanes, lanes * threads, thread);
  }
  std::string row_place() const { return place("p", "own.y", row_lanes(), down()); }
  std::string column_place(std::string_view which) const { return place(which, "own.x", lanes_, across()); }

  /// The number of the element in the domain, for faults; counters that aren't known stand for all they count.
  std::string position(tile_side s) const {
    std::string text = "0ll";
    for (std::uint32_t d = 0; d < inner_dim(); ++d) {
      const bool known = d != k_.tile.dim || s == tile_side::row || s == tile_side::both;
      text = fmt::format("({} * {} + {})", text, extent(d), known ? names_.dim(d) : "0");
    }
    const bool column = s == tile_side::column || s == tile_side::both;
    return fmt::format("{} * {} + {}", text, inner_extent(), column ? "i" : "0");
  }

  // ---- a block's work ----
  void body() override {
    const std::string_view I = index_type(), of_pieces = is_split() ? " / pieces" : "";
    w_.line("const team_of own({}ull);", has_square_ ? 4 | 4 << 8 : 5 | 3 << 8);
    if (is_split()) w_.line("const {} pieces = pieces0 * pieces1, piece = block % pieces;", I);
    declare_shared();
    const int wide = length(tile_side::column), high = length(tile_side::row);
    w_.line("const {} tiles = ({} + {}) / {};", I, inner_extent(), wide - 1, wide);
    if (has_square_) w_.line("const {} tile_rows = ({} + {}) / {};", I, extent(k_.tile.dim), high - 1, high);
    w_.line("const {} rows = {}, tasks = rows * tiles;", I, rows_of_tiles());
    const auto tasks = w_.block("for ({0} task = block{1}; task < tasks; task += blocks{1})", I, of_pieces);
    w_.line("const {} row = task / tiles, column0 = (task - row * tiles) * {};", I, wide);
    find_rows();
    settled();
    hold();
    declare_totals(top_, fmt::to_string(results()));
    shared_loop();
    if (!has_square_) merge();
    epilogue();
  }

  std::string rows_of_tiles() const {
    std::string text = has_square_ ? "tile_rows" : "";
    for (std::uint32_t d = 0; d < inner_dim(); ++d)
      if (d != k_.tile.dim) text += (text.empty() ? "" : " * ") + extent(d);
    return text.empty() ? "1" : text;
  }

  /// Counters of the dims that a tile doesn't lie along, and where its rows begin.
  void find_rows() {
    const std::string_view I = index_type();
    std::string rest = "row";
    if (has_square_) {
      w_.line("const {} outer = row / tile_rows, row0 = (row - outer * tile_rows) * {};", I, length(tile_side::row));
      rest = "outer";
    }
    std::uint32_t left = 0;
    for (std::uint32_t d = 0; d < inner_dim(); ++d) left += d != k_.tile.dim;
    for (std::uint32_t d = inner_dim(); d-- > 0;) {
      if (d == k_.tile.dim) continue;
      if (--left == 0) {
        w_.line("const {} d{} = {};", I, d, rest);
        break;
      }
      w_.line("const {} rest{} = {} / {};", I, d, rest, extent(d));
      w_.line("const {0} d{1} = {2} - rest{1} * {3};", I, d, rest, extent(d));
      rest = fmt::format("rest{}", d);
    }
  }

  /// What is the same for the whole tile.
  void settled() {
    here_.position = position(tile_side::none);
    for (std::uint32_t v = 0; v < top_.begin; ++v)
      if (facts_.side(v) == tile_side::none && !writes(v)) instruction(v);
  }

  /// Declares what the values `wanted` are made of, and them, but for what is the same for the whole tile and known.
  void compute(const std::vector<std::uint32_t>& wanted, tile_side s) {
    std::vector<bool> needed(k_.body.size());
    for (const std::uint32_t v : wanted) needed[v] = true;
    for (std::uint32_t v = top_.end; v-- > 0;)
      if (needed[v]) nest_.each_operand(v, [&](std::uint32_t x) { needed[x] = true; });
    here_.position = position(s);
    here_.guard.clear();
    for (std::uint32_t v = 0; v < top_.end; ++v)
      if (needed[v] && (facts_.in_loop(v) || facts_.side(v) != tile_side::none)) instruction(v);
  }

  std::vector<std::uint32_t> of_side(const std::vector<std::uint32_t>& values, tile_side s) const {
    std::vector<std::uint32_t> list;
    std::ranges::copy_if(values, std::back_inserter(list), [&](std::uint32_t v) { return facts_.side(v) == s; });
    return list;
  }

  /// Values from before the loop, one for each row or each column of the thread.
  void hold() {
    for (const tile_side s : {tile_side::row, tile_side::column}) {
      const std::vector<std::uint32_t> list = of_side(facts_.held(), s);
      if (list.empty()) continue;
      const bool row = s == tile_side::row;
      const int count = row ? k_.tile.rows : k_.tile.columns;
      for (const std::uint32_t v : list) w_.line("{} held{}[{}];", value_type(k_, k_.body[v]), v, count);
      w_.line("#pragma unroll");
      const auto each = w_.block("for (int {0} = 0; {0} < {1}; ++{0})", row ? "p" : "q", count);
      count_side(s, row ? row_place() : column_place("q"));
      compute(list, s);
      for (const std::uint32_t v : list) w_.line("held{}[{}] = {};", v, row ? "p" : "q", names_.value(value{v}));
    }
  }

  /// The counter along one side of the tile; past its end the last one, so that all that is read is there.
  void count_side(tile_side s, const std::string& where) {
    const std::string_view I = index_type();
    const bool row = s == tile_side::row;
    const std::uint32_t d = row ? k_.tile.dim : inner_dim();
    const std::string at = fmt::format("{} + ({})", row ? "row0" : "column0", where);
    w_.line("const {0} {1} = {2} < {3} ? {2} : {3} - 1;", I, row ? names_.dim(d) : "i", at, extent(d));
  }

  // ---- the loop ----
  void declare_shared() {
    for (const std::uint32_t v : facts_.staged()) {
      const int size = length(facts_.side(v));
      const std::string pitch = size == 1 ? "" : fmt::format("[{}]", size + padding);
      w_.line("__shared__ __align__(16) {} stage{}[{}]{};", value_type(k_, k_.body[v]), v, chunk(), pitch);
    }
  }

  void shared_loop() {
    const std::string_view I = index_type();
    w_.line("const {} trips = {};", I, trips());
    for (const std::uint32_t v : facts_.staged())
      w_.line("{} next{}[{}];", value_type(k_, k_.body[v]), v, values_of_thread(facts_.side(v)));
    fetch_function();
    const std::string begin = is_split() ? fmt::format("piece * {}", chunk()) : "0";
    const std::string stride = is_split() ? fmt::format("pieces * {}", chunk()) : fmt::to_string(chunk());
    w_.line("if ({} < trips) fetch({});", begin, begin);
    const auto chunks = w_.block("for ({0} turn0 = {1}; turn0 < trips; turn0 += {2})", I, begin, stride);
    w_.line("__syncthreads();  // the chunk before has been used");
    put();
    w_.line("__syncthreads();");
    w_.line("if (turn0 + {0} < trips) fetch(turn0 + {0});", stride);
    use_chunk();
  }

  /// Whether neighbouring threads fetch neighbours along the side, or else of the loop.
  bool runs_along(tile_side s) const {
    const std::uint32_t d = s == tile_side::row ? k_.tile.dim : inner_dim();
    int along = 0;
    for (std::uint32_t v = top_.begin; v < top_.end; ++v) {
      if (k_.body[v].code != op::load || facts_.side(v) != s) continue;
      const form& f = k_.forms[k_.accesses[k_.body[v].attr].form];
      for (std::uint32_t t = f.first; t < f.first + f.count; ++t) {
        if (k_.terms[t].coefficient != term::unit) continue;
        along += (k_.terms[t].atom == d) - (k_.terms[t].atom == nest_.innermost(top_));
      }
    }
    return along > 0;
  }

  /// Where the u-th value that a thread fetches for a side is: `turn` and `at`.
  void find_fetched(tile_side s) {
    const int length_of_side = length(s);
    w_.line("const int e = threadIdx.x + u * {};", k_.threads);
    if (s == tile_side::none) w_.line("const int turn = e, at = 0;");
    else if (runs_along(s)) w_.line("const int turn = e / {0}, at = e % {0};", length_of_side);
    else w_.line("const int turn = e % {0}, at = e / {0};", chunk());
  }

  void fetch_function() {
    const std::string_view I = index_type();
    const auto function = w_.definition("const auto fetch = [&](const {} begin)", I);
    for (const tile_side s : {tile_side::none, tile_side::row, tile_side::column}) {
      const std::vector<std::uint32_t> list = of_side(facts_.staged(), s);
      if (list.empty()) continue;
      w_.line("#pragma unroll");
      const auto each = w_.block("for (int u = 0; u < {}; ++u)", values_of_thread(s));
      find_fetched(s);
      w_.line("const {} iteration = begin + turn < trips ? begin + turn : trips - 1;", I);
      find_counters("iteration", dims().first, dims().count);
      if (s != tile_side::none) count_side(s, "at");
      compute(list, s);
      for (const std::uint32_t v : list) w_.line("next{}[u] = {};", v, names_.value(value{v}));
    }
  }

  void put() {
    for (const tile_side s : {tile_side::none, tile_side::row, tile_side::column}) {
      const std::vector<std::uint32_t> list = of_side(facts_.staged(), s);
      if (list.empty()) continue;
      w_.line("#pragma unroll");
      const auto each = w_.block("for (int u = 0; u < {}; ++u)", values_of_thread(s));
      find_fetched(s);
      const bool whole = values_of(s) % k_.threads == 0;
      for (const std::uint32_t v : list)
        w_.line("{}stage{}[turn]{} = next{}[u];", whole ? "" : fmt::format("if (e < {}) ", values_of(s)), v,
                s == tile_side::none ? "" : "[at]", v);
    }
  }

  void use_chunk() {
    std::vector<std::uint32_t> parts;
    std::ranges::copy_if(top_.reductions, std::back_inserter(parts),
                         [&](std::uint32_t v) { return sums_in_parts(k_.body[v]); });
    const std::vector<std::string> totals = total_;
    for (const std::uint32_t v : parts) {
      w_.line("part_sum<{}> part{}[{}];", register_type(k_.body[v].type), v, results());
      total_[v] = fmt::format("part{}[lane]", v);
    }
    step_function();
    total_ = totals;
    const std::string first = has_square_ ? "turn0" : fmt::format("turn0 + own.y * {}", k_.tile.depth);
    w_.line("if (trips - turn0 >= {}) {{", chunk());
    w_.line("#pragma unroll {}", turns_at_once());
    w_.line("  for (int turn = 0; turn < {}; ++turn) step(turn);", int{k_.tile.depth});
    w_.line("}} else {{");
    w_.line("#pragma unroll 1");
    w_.line("  for (int turn = 0; turn < {0} && turn < trips - ({1}); ++turn) step(turn);", int{k_.tile.depth}, first);
    w_.line("}}");
    if (parts.empty()) return;
    w_.line("#pragma unroll");
    const auto lanes = w_.block("for (int lane = 0; lane < {}; ++lane)", results());
    for (const std::uint32_t v : parts) w_.line("{}.add(part{}[lane].total);", total_of(v), v);
  }

  int turns_at_once() const {
    int turns = k_.tile.depth, computed = 0;
    for (std::uint32_t v = top_.begin; v < top_.end; ++v)
      computed += facts_.is_own(v) && is_elementwise(k_.body[v].code) ? 1 + info(k_.body[v].code).cost / 4 : 0;
    while (turns > 1 && turns * results() * std::max(computed, 1) > most_lanes_times_operations / 2) turns /= 2;
    return turns;
  }

  /// One iteration of all of a thread's results.
  void step_function() {
    const auto function = w_.definition("const auto step = [&](const int turn)");
    const std::string at = has_square_ ? "turn" : fmt::format("own.y * {} + turn", k_.tile.depth);
    for (const std::uint32_t v : facts_.staged()) {
      const tile_side s = facts_.side(v);
      if (s == tile_side::none) known_[v] = fmt::format("stage{}[{}]", v, at);
      else take_vectors(v, s);
    }
    for (const std::uint32_t v : facts_.held())
      known_[v] = fmt::format("held{}[{}]", v, facts_.side(v) == tile_side::row ? "p" : "q");
    find_turn(at);
    if (k_.tile.rows > 1) w_.line("#pragma unroll");
    const auto rows = w_.block("for (int p = 0; p < {}; ++p)", k_.tile.rows);
    w_.line("#pragma unroll");
    {
      const auto columns = w_.block("for (int q = 0; q < {}; ++q)", k_.tile.columns);
      w_.line("const int lane = p * {} + q;", k_.tile.columns);
      if (spells_dim(inner_dim())) w_.line("const {} i = column0 + ({});", index_type(), column_place("q"));
      if (has_square_ && spells_dim(k_.tile.dim))
        w_.line("const {} {} = row0 + ({});", index_type(), names_.dim(k_.tile.dim), row_place());
      const std::vector<bool> needed = computed();
      for (std::uint32_t v = 0; v < top_.end; ++v)
        if (needed[v]) instruction(v);
    }
    for (std::string& text : known_) text.clear();
  }

  /// A thread's values of one iteration, in whole vectors.
  void take_vectors(std::uint32_t v, tile_side s) {
    const bool row = s == tile_side::row;
    const int lanes = row ? row_lanes() : lanes_, count = (row ? k_.tile.rows : k_.tile.columns) / lanes;
    const std::string type = fmt::format("pack<{}, {}>", value_type(k_, k_.body[v]), lanes);
    w_.line("{} some{}[{}];", type, v, count);
    w_.line("#pragma unroll");
    w_.line("for (int g = 0; g < {}; ++g)", count);
    w_.line("  some{0}[g] = *reinterpret_cast<const {1}*>(&stage{0}[turn][(g * {2} + {3}) * {4}]);", v, type,
            row ? down() : across(), row ? "own.y" : "own.x", lanes);
    known_[v] = fmt::format("some{0}[{1} / {2}].at[{1} % {2}]", v, row ? "p" : "q", lanes);
  }

  /// The loop's counters where what is computed for each result has them.
  void find_turn(const std::string& at) {
    bool any = false;
    for (std::uint32_t d = dims().first; d < dims().first + dims().count; ++d) any = any || spells_dim(d);
    const bool positions = std::ranges::any_of(top_.reductions, [&](std::uint32_t v) {
      return k_.body[v].code == op::reduce_argmin || k_.body[v].code == op::reduce_argmax;
    });
    if (!any && !positions) return;
    w_.line("const {} iteration = turn0 + {};", index_type(), at);
    find_counters("iteration", dims().first, dims().count);
  }

  bool spells_dim(std::uint32_t d) const {
    const std::vector<bool> needed = computed();
    for (std::uint32_t v = 0; v < top_.end; ++v)
      if (needed[v] && known_[v].empty() && facts_.in_loop(v) && spells(d, v)) return true;
    return false;
  }

  /// What is computed, or taken from where it is kept, for each result.
  std::vector<bool> computed() const {
    std::vector<bool> needed(k_.body.size());
    for (const std::uint32_t v : top_.reductions) needed[v] = true;
    for (std::uint32_t v = top_.end; v-- > top_.begin;)
      if (needed[v] && known_[v].empty()) nest_.each_operand(v, [&](std::uint32_t x) { needed[x] = true; });
    for (std::uint32_t v = 0; v < top_.begin; ++v) needed[v] = needed[v] && !known_[v].empty();
    return needed;
  }

  // ---- after the loop ----
  void merge() {
    w_.line("const {} first = column0 + own.x * {};", index_type(), lanes_);
    w_.line("const int left = {0} - first < {1} ? (int)({0} - first) : {1};", inner_extent(), lanes_);
    merge_lanes(top_);
    if (is_split()) merge_lane_pieces(top_);
  }

  void epilogue() {
    if (k_.tile.rows > 1) w_.line("#pragma unroll");
    const auto rows = w_.block("for (int p = 0; p < {}; ++p)", k_.tile.rows);
    if (has_square_) {
      w_.line("const {} {} = row0 + ({});", index_type(), names_.dim(k_.tile.dim), row_place());
      const auto there = w_.block("if ({} < {})", names_.dim(k_.tile.dim), extent(k_.tile.dim));
      return finish_row();
    }
    finish_row();
  }

  void finish_row() {
    w_.line("#pragma unroll");
    const auto vectors = w_.block("for (int q = 0; q < {}; q += {})", k_.tile.columns, lanes_);
    w_.line("const {} first = column0 + ({});", index_type(), column_place("q"));
    w_.line("const int left = {0} - first < {1} ? (int)({0} - first) : {1};", inner_extent(), lanes_);
    std::vector<std::uint32_t> stores;
    for (std::uint32_t v = 0; v < k_.body.size(); ++v)
      if (is_whole_store(v)) stores.push_back(v);
    declare_stores(stores);
    here_.guard = has_square_ ? "" : "own.y == 0";
    here_.position = position(tile_side::both);
    {
      w_.line("#pragma unroll");
      const auto lanes = w_.block("for (int l = 0; l < {}; ++l)", lanes_);
      const auto there = w_.block("if (l < left)");
      w_.line("const {} i = first + l;", index_type());
      w_.line("const int lane = p * {} + q + l;", k_.tile.columns);
      for (std::uint32_t v = 0; v < k_.body.size(); ++v) finish(v);
    }
    for (const std::uint32_t v : stores) {
      w_.line("{}store_some(&{}, whole{}, left, {});", condition(k_.body[v].arg[1]), address(k_.body[v].attr, "first"),
              v, is_pack_aligned(v));
      element_[v].clear();
    }
  }

  void finish(std::uint32_t v) {
    if (is_reduction(k_.body[v].code)) return found(v);
    const bool known = facts_.side(v) == tile_side::none && v < top_.begin;
    if (v >= top_.begin && v <= top_.end) return;
    if (!known || writes(v)) instruction(v);
  }

  void declare_stores(const std::vector<std::uint32_t>& stores) {
    for (const std::uint32_t v : stores) {
      w_.line("{} whole{};", pack_type(v), v);
      element_[v] = fmt::format("whole{}.at[l]", v);
    }
  }

  /// A store of neighbours, all of which happen or none.
  bool is_whole_store(std::uint32_t v) const {
    const inst& x = k_.body[v];
    if (x.code != op::store || lanes_ == 1 || x.arg[1] != value::none) return false;
    const form& f = k_.forms[k_.accesses[x.attr].form];
    bool unit = false;
    for (std::uint32_t t = f.first; t < f.first + f.count; ++t) {
      const term& s = k_.terms[t];
      if (!s.is_dim()) return false;
      if (s.atom == inner_dim()) unit = s.coefficient == term::unit;
    }
    return unit;
  }

  const tile_facts facts_;
  const loop& top_;
  const bool has_square_;
};

}  // namespace

std::unique_ptr<kernel_emitter> make_tile_emitter(const kernel& k, const user_code& users, writer& w) {
  return std::make_unique<tile_emitter>(k, users, w);
}

}  // namespace sinter::jit
