// distribution::rows and ::columns for the host: one thread runs an element's loops (rows), or those of neighbours
// along the domain's inner dim (columns), in lanes that become vector code.
#include "jit/codegen/emit_teams.hpp"

#include <algorithm>
#include <bit>
#include <ranges>

namespace sinter::jit {

namespace {

class host_loop_emitter : public lane_emitter {
 public:
  host_loop_emitter(const kernel& k, const user_code& users, writer& w)
      : lane_emitter(k, users, dialect::host, w, k.over == distribution::columns) {
    if (columns_) lanes_ = columns_at_once();
  }

  void whole(const std::string& name) override { function("extern \"C\" void", name); }
  void part(const std::string& name) override { function("static void", name); }

 private:
  /// So many that rows are read in long runs, so few that all they accumulate stays in the nearest cache.
  int columns_at_once() const {
    constexpr unsigned bytes = 8192, of_accumulator = 16;
    std::size_t count = 1;
    for (const std::uint32_t t : nest_.tops()) count += nest_[t].reductions.size() + nest_[t].scans.size();
    return static_cast<int>(std::bit_floor(std::max<std::size_t>(bytes / of_accumulator / count, 32)));
  }

  void function(std::string_view declared, const std::string& name) {
    const auto body = w_.block("{} {}({})", declared, name, host_parameters);
    host_parameters_declared();
    if (!is_split()) {
      if (!has_rows()) w_.line("(void)row_begin, (void)row_end;");
      const auto rows = w_.block("{}", has_rows() ? "for (long long row = row_begin; row < row_end; ++row)" : "");
      return columns_ ? columns() : elements();
    }
    w_.line("const long long pieces = pieces0 * pieces1;");
    w_.line("const bool is_piece = phase == {}, is_rest = phase == {};", static_cast<int>(launch_phase::piece),
            static_cast<int>(launch_phase::rest));
    w_.line("const long long down = is_piece ? pieces0 : 1, across = is_piece ? pieces1 : 1;");
    declare_found();
    if (columns_) split_columns();
    else split_elements();
  }

  /// What a piece leaves in the workspace.
  void declare_found() {
    if (!has_totals(first_top())) return;
    {
      const auto type = w_.definition("struct totals");
      for (const std::uint32_t v : reductions_of(first_top())) w_.line("{} r{};", accumulator_of(v), v);
    }
    w_.line("totals* const found = (totals*)workspace;");
  }

  /// A loop over lanes becomes vector code unless what is in it can't: fault records, atomics, other loops.
  template <class Instructions>
  void vectorize(const Instructions& list) {
    bool users = false;
    for (const std::uint32_t v : list) {
      const op code = k_.body[v].code;
      if (code == op::bound || code == op::atomic || code == op::loop) return;
      users = users || code == op::call || code == op::reduce_call;
    }
    w_.line("{}", users ? "#pragma GCC ivdep" : "#pragma omp simd");
  }
  void vectorize(const loop& l) { vectorize(std::views::iota(l.begin + 1, l.end)); }

  // ---- rows ----
  void elements() {
    const auto inner = w_.block("for (long long i = begin; i < end; ++i)");
    if (has_rows()) find_row();
    set_position(true);
    for (std::uint32_t v = 0; v < k_.body.size(); ++v) {
      if (k_.body[v].code != op::loop) {
        instruction(v);
        continue;
      }
      const loop& l = nest_[nest_.number_of(v)];
      v = l.end;
      if (lanes_ == 1 || !l.scans.empty()) {
        sequential_loop(l);
      } else {
        lane_loop(l, "0", "1", "0", "1");
        for (const std::uint32_t r : l.reductions) found(r);
      }
    }
  }

  void split_elements() {
    {
      const auto element =
          w_.definition("const auto element = [&](const long long row, const long long i, const long long piece)");
      if (has_rows()) find_row();
      else w_.line("(void)row;");
      set_position(true);
      for (const std::uint32_t v : segments()[0]) instruction(v);
      for (const std::uint32_t v : reductions_of(first_top())) w_.line("{} total{};", accumulator_of(v), v);
      w_.line("const long long at = ({}) * pieces;", has_rows() ? fmt::format("row * {} + i", inner_extent()) : "i");
      {
        const auto loops = w_.block("if (!is_rest)");
        w_.line("const long long piece_down = piece / across, piece_across = piece - piece_down * across;");
        for (const std::uint32_t t : nest_.tops())
          lane_loop(nest_[t], "piece_down", "down", "piece_across", "across");
      }
      split_totals("at + piece", "at + p", "");
      for (const std::uint32_t v : segments()[1])
        if (is_reduction(k_.body[v].code)) found(v);
        else instruction(v);
    }
    {
      const auto pieces = w_.block("if (is_piece) for (long long task = row_begin; task < row_end; ++task)");
      w_.line("const long long e = task / pieces;");
      w_.line("element(e / {0}, e % {0}, task % pieces);", inner_extent());
    }
    w_.line("else for (long long row = row_begin; row < row_end; ++row)");
    w_.line("  for (long long i = begin; i < end; ++i) element(row, i, 0);");
  }

  /// A piece leaves its totals and returns; the rest picks all of them up.
  void split_totals(const std::string& own, const std::string& other, const std::string& lane) {
    const std::vector<std::uint32_t> reductions = reductions_of(first_top());
    {
      const auto piece = w_.block("if (is_piece)");
      for (const std::uint32_t v : reductions)
        w_.line("{0}found[{1}{2}].r{3} = {4};", each_lane(), own, lane.empty() ? "" : " + lane", v, total_of(v));
      w_.line("return;");
    }
    if (reductions.empty()) return;
    const auto rest = w_.block("if (is_rest) for (long long p = 0; p < pieces; ++p)");
    for (const std::uint32_t v : reductions)
      w_.line("{0}{4}.merge(found[{1}{2}].r{3});", each_lane(), other, lane.empty() ? "" : " + lane", v, total_of(v));
  }

  std::string_view each_lane() const { return columns_ ? "for (int lane = 0; lane < left; ++lane) " : ""; }

  /// Iterations of piece `down` of `of_down` of the outer counters, and likewise of the innermost.
  void lane_loop(const loop& l, const std::string& down, const std::string& of_down, const std::string& across,
                 const std::string& of_across) {
    const loop_dims& dims = nest_.dims(l);
    for (const std::uint32_t v : l.reductions) {
      if (!is_split()) w_.line("{} total{};", accumulator_of(v), v);
      w_.line("{} part{}[{}];", accumulator_of(v), v, lanes_);
      total_[v] = fmt::format("part{}[lane]", v);
      if (!in_fours(l)) continue;
      const std::string_view type = register_type(k_[k_.body[v].arg[0]].type);
      w_.line("struct {{ {0} value; void add({0} x) {{ value = x; }} }} given{1}[{2}];", type, v, lanes_);
      total_[v] = fmt::format("given{}[lane]", v);
    }
    {
      const std::string turns = range("turn", product(dims.first, dims.count - 1), down, of_down);
      const auto outer = dims.count > 1 ? w_.block("{}", turns) : w_.block("if ({} == 0)", down);
      if (dims.count > 1) find_counters("turn", dims.first, dims.count - 1);
      const std::vector<bool> needed = needed_in(l);
      loop_statements(l, needed, false);
      innermost_loop(l, needed, across, of_across);
    }
    for (const std::uint32_t v : l.reductions) {
      total_[v].clear();
      w_.line("for (int lane = 0; lane < {0}; ++lane) total{1}.merge(part{1}[lane]);", lanes_, v);
    }
  }

  void innermost_loop(const loop& l, const std::vector<bool>& needed, const std::string& piece, const std::string& of) {
    const std::uint32_t d = nest_.innermost(l);
    const std::string n = extent(d);
    {
      const auto step = w_.definition(
          "const auto step = [&](const long long d{}, const int lane) __attribute__((always_inline))", d);
      w_.line("(void)d{}, (void)lane;", d);
      loop_statements(l, needed, true);
    }
    const bool all = of == "1";
    w_.line("long long first = {};", all ? "0" : fmt::format("{} * {} / {}", n, piece, of));
    w_.line("const long long last = {};", all ? n : fmt::format("{} * ({} + 1) / {}", n, piece, of));
    if (in_fours(l)) return fours(l);
    {
      const auto vectors = w_.block("for (; first + {0} <= last; first += {0})", lanes_);
      vectorize(l);
      w_.line("for (int lane = 0; lane < {}; ++lane) step(first + lane, lane);", lanes_);
    }
    w_.line("for (; first < last; ++first) step(first, 0);");
  }

  /// Whether four neighbours are computed at a time, because they have a block of random words in common.
  bool in_fours(const loop& l) const {
    return lanes_ % 4 == 0 && draws_words(k_) && std::ranges::none_of(l.reductions, [&](std::uint32_t v) {
             const op code = k_.body[v].code;
             return code == op::reduce_argmin || code == op::reduce_argmax || code == op::reduce_call;
           });
  }

  /// Values first, then what they go into: accumulators between fours of values are no vector code.
  void fours(const loop& l) {
    {
      const auto take = w_.definition("const auto take = [&](const int lane) __attribute__((always_inline))");
      w_.line("(void)lane;");
      for (const std::uint32_t v : l.reductions) w_.line("part{0}[lane].add(given{0}[lane].value);", v);
    }
    w_.line("for (; first < last && first % 4 != 0; ++first) step(first, 0), take(0);");
    {
      const auto vectors = w_.block("for (; first + {0} <= last; first += {0})", lanes_);
      vectorize(l);
      {
        const auto four = w_.block("for (int four = 0; four < {}; ++four)", lanes_ / 4);
        w_.line("#pragma GCC unroll 4");
        w_.line("for (int k = 0; k < 4; ++k) step((first / 4 + four) << 2 | k, four << 2 | k);");
      }
      w_.line("#pragma omp simd");
      w_.line("for (int lane = 0; lane < {}; ++lane) take(lane);", lanes_);
    }
    w_.line("for (; first < last; ++first) step(first, 0), take(0);");
  }

  static std::string range(std::string_view counter, const std::string& n, const std::string& piece,
                           const std::string& of) {
    if (of == "1") return fmt::format("for (long long {0} = 0; {0} < {1}; ++{0})", counter, n);
    return fmt::format("for (long long {0} = {1} * {2} / {3}; {0} < {1} * ({2} + 1) / {3}; ++{0})", counter, n, piece,
                       of);
  }

  // ---- columns ----
  void columns() {
    const auto blocks = w_.block("for (long long first = begin; first < end; first += {})", lanes_);
    w_.line("const int left = end - first < {0} ? (int)(end - first) : {0};", lanes_);
    if (has_rows()) find_row();
    segment(segments()[0]);
    for (std::size_t t = 0; t < nest_.tops().size(); ++t) {
      declare_parts(nest_[nest_.tops()[t]]);
      column_loop(nest_[nest_.tops()[t]], "0", "1");
      segment(segments()[t + 1]);
    }
  }

  void split_columns() {
    {
      const auto block = w_.definition(
          "const auto block = [&](const long long row, const long long piece, const long long first, const int left)");
      if (has_rows()) find_row();
      w_.line("const long long rows = {}, at = row * {} + first;", product(0, inner_dim()), inner_extent());
      segment(segments()[0]);
      for (const std::uint32_t t : nest_.tops()) declare_parts(nest_[t]);
      {
        const auto loops = w_.block("if (!is_rest)");
        for (const std::uint32_t t : nest_.tops()) column_loop(nest_[t], "piece", "(down * across)");
      }
      const std::string apart = fmt::format("* rows * {} + at", inner_extent());
      split_totals("piece " + apart, "p " + apart, "lane");
      segment(segments()[1]);
    }
    const auto tasks = w_.block("for (long long task = row_begin; task < row_end; ++task)");
    const auto blocks = w_.block("for (long long first = begin; first < end; first += {})", lanes_);
    w_.line("const int left = end - first < {0} ? (int)(end - first) : {0};", lanes_);
    w_.line("if (is_piece) block(task / pieces, task % pieces, first, left);");
    w_.line("else block(task, 0, first, left);");
  }

  void declare_parts(const loop& l) {
    for (const std::vector<std::uint32_t>* list : {&l.reductions, &l.scans})
      for (const std::uint32_t v : *list) {
        w_.line("{} part{}[{}];", accumulator_of(v), v, lanes_);
        total_[v] = fmt::format("part{}[lane]", v);
      }
  }

  void column_loop(const loop& l, const std::string& piece, const std::string& of) {
    const loop_dims& dims = nest_.dims(l);
    const std::vector<bool> needed = needed_in(l);
    const auto turns = w_.block("{}", range("turn", product(dims.first, dims.count), piece, of));
    find_counters("turn", dims.first, dims.count);
    set_position(false);
    loop_statements(l, needed, false);
    vectorize(l);
    const auto lanes = w_.block("for (int lane = 0; lane < left; ++lane)");
    set_position(true);
    if (spells(inner_dim(), needed, l, true)) w_.line("const long long i = first + lane;");
    loop_statements(l, needed, true);
  }

  void segment(const std::vector<std::uint32_t>& s) {
    settled_statements(s);
    if (!any_in_lanes(s)) return;
    declare_arrays(s);
    vectorize(s);
    const auto lanes = w_.block("for (int lane = 0; lane < left; ++lane)");
    lane_statements(s);
  }
};

}  // namespace

std::unique_ptr<kernel_emitter> make_host_loop_emitter(const kernel& k, const user_code& users, writer& w) {
  return std::make_unique<host_loop_emitter>(k, users, w);
}

}  // namespace sinter::jit
