// distribution::steps for planes: windows in registers. Each thread keeps `points` rows of `lanes` neighbours of every
// state; a warp's threads are side by side, its rows below those of the warp before. In each iteration warps put their
// outermost rows into shared memory for their neighbours, and get columns beside their own by shuffles.
#include "jit/codegen/emit_steps.hpp"

#include <algorithm>
#include <map>

namespace sinter::jit {

namespace {

/// How far an iteration reads around the elements that a thread has of a state.
struct neighbourhood {
  int up = 0, down = 0, left = 0, right = 0;
  /// Rows, from an element's own, in which a column beside the thread's is read: -1 is the last one before, `lanes` the
  /// first one after.
  struct rows {
    int first, last;
  };
  std::map<int, rows> beside;
};

class plane_emitter final : public step_emitter {
 public:
  plane_emitter(const kernel& k, const user_code& users, writer& w)
      : step_emitter(k, users, w), near_(states_), warps_(window_.threads / step_window::warp) {
    for (const step_access& a : k.stepped) see(near_[a.state], a);
    for (std::uint32_t s = 0; s < states_; ++s) registers_.emplace_back(register_type(store_type(s)));
  }

  void whole(const std::string& name) override {
    const auto body = w_.block("extern \"C\" __global__ void __launch_bounds__({}, {}) {}({})", window_.threads,
                               std::max(1, threads_at_once / window_.threads), name, cuda_parameters(""));
    declare_window();
    fetch_window();
    w_.line("const bool is_inner = {};", is_inner());
    {
      // Everything is computed, also what lies so near to the border that it means nothing.
      const auto inner = w_.block("if (is_inner)");
      iterations(false);
    }
    {
      const auto outer = w_.block("else");
      iterations(true);
    }
    store_tile();
  }

 private:
  static constexpr int threads_at_once = 512;  // of a processor: 128 registers for each

  dtype store_type(std::uint32_t state) const {
    return k_.parameters[k_.accesses[store_of(state).access].pointer].type;
  }

  void see(neighbourhood& n, const step_access& a) const {
    n.up = std::max(n.up, -a.rows);
    n.down = std::max(n.down, a.rows);
    n.left = std::max(n.left, -a.columns);
    n.right = std::max(n.right, a.columns);
    for (int c = a.columns; c < window_.lanes + a.columns; ++c) {
      if (c >= 0 && c < window_.lanes) continue;
      const auto [at, is_new] = n.beside.try_emplace(c, neighbourhood::rows{a.rows, a.rows});
      at->second = {std::min(at->second.first, a.rows), std::max(at->second.last, a.rows)};
    }
  }

  void declare_window() {
    for (std::uint32_t s = 0; s < states_; ++s) {
      const auto rows = [&](const char* name, int count) {
        if (count > 0)
          w_.line("__shared__ pack<{}, {}> {}{}[2][{}][{}][{}];", registers_[s], window_.lanes, name, s, warps_, count,
                  step_window::warp);
      };
      rows("first", near_[s].down);
      rows("last", near_[s].up);
    }
    w_.line("const int lane = threadIdx.x % {0}, warp = threadIdx.x / {0};", step_window::warp);
    w_.line("const int above = warp > 0 ? warp - 1 : warp, below = warp + 1 < {} ? warp + 1 : warp;", warps_);
    // Columns begin with the vector that the domain's first one is part of.
    w_.line("const int left = (int)blockIdx.x * {} - {} - (-{} & {});", window_.tile_columns(), window_.column_border,
            bound(0), window_.lanes - 1);
    w_.line("const int top = (int)blockIdx.y * {} - {};", window_.tile_rows(), window_.row_border);
    w_.line("const int column = left + lane * {}, row = top + warp * {};", window_.lanes, window_.points);
    for (std::uint32_t s = 0; s < states_; ++s)
      w_.line("{} now{}[{}][{}];", registers_[s], s, window_.points, window_.lanes);
  }

  auto each(const char* counter, int count) {
    w_.line("#pragma unroll");
    return w_.block("for (int {0} = 0; {0} < {1}; ++{0})", counter, count);
  }

  void fetch_window() {
    w_.line("const int pitch = {} - {};", bound(1), bound(0));
    w_.line("bool whole = true;");
    {
      const auto one = w_.block("");
      w_.line("const int d0 = top, i = left;");
      for (std::uint32_t s = 0; s < states_; ++s)
        for (const std::string& x : {element_before(s), element_after(s)})
          w_.line("whole = whole && is_whole<{}>(&{}, pitch);", window_.lanes, x);
    }
    const auto rows = each("k", window_.points);
    w_.line("const int d0 = row + k, i = column, size = d0 >= {} && d0 < {} ? pitch : 0;", bound(2), bound(3));
    for (std::uint32_t s = 0; s < states_; ++s) {
      w_.line("const auto cells{} = fetch_cells<{}, {}>(&{}, i - {}, size, whole);", s, type_of(s), window_.lanes,
              element_before(s), bound(0));
      const std::string_view convert = storing_function(store_type(s)).empty() ? "" : "to_float";
      const auto columns = each("c", window_.lanes);
      w_.line("now{0}[k][c] = {1}(cells{0}.at[c]);", s, convert);
    }
  }

  void iterations(bool asks) {
    const auto steps = w_.block("for (int step = 0; step < steps; ++step)");
    exchange_rows();
    for (std::uint32_t s = 0; s < states_; ++s) gather_rows(s);
    const auto rows = each("k", window_.points);
    w_.line("const int d0 = row + k;");
    for (std::uint32_t s = 0; s < states_; ++s)
      for (const auto& [column, range] : near_[s].beside) shuffle(s, column, fmt::format("k + {}", range.last + near_[s].up));
    const auto columns = each("c", window_.lanes);
    w_.line("const int i = column + c;");
    if (asks) w_.line("const bool inside = {};", is_inside());
    const auto one = asks && reads_others() ? w_.block("if (inside)") : w_.block("");
    point(asks && !reads_others());
  }

  /// Whether elements outside can't be computed in vain.
  bool reads_others() const {
    for (std::uint32_t v = 0; v < k_.body.size(); ++v)
      if (k_.body[v].code == op::load && !state_access(v)) return true;
    return false;
  }

  /// Of states, elements as registers have them, f16 as float.
  void point(bool asks) {
    for (std::uint32_t v = 0; v < k_.body.size(); ++v) {
      const step_access* a = state_access(v);
      if (!a) {
        v = instruction(v);
        continue;
      }
      const inst& x = k_.body[v];
      if (x.code == op::store) {
        w_.line("{}now{}[k][c] = {};", asks ? "if (inside) " : "", a->state, operand(k_, names_, x.arg[0]));
        continue;
      }
      const neighbourhood& n = near_[a->state];
      known_[v] = fmt::format("old{}[k + {}][c + {}]", a->state, n.up + a->rows, n.left + a->columns);
      if (x.arg[0] != value::none)
        known_[v] = fmt::format("{} ? {} : ({})0", names_.value(x.arg[0]), known_[v], registers_[a->state]);
      instruction(v);
    }
    known_.assign(k_.body.size(), {});
  }

  /// By turns in two places, so that nobody has to wait for those that still read.
  void exchange_rows() {
    bool waits = false;
    for (std::uint32_t s = 0; s < states_; ++s) {
      const auto put = [&](const char* name, int count, int first) {
        for (int r = 0; r < count; ++r) {
          const auto columns = each("c", window_.lanes);
          w_.line("{}{}[step & 1][warp][{}][lane].at[c] = now{}[{}][c];", name, s, r, s, first + r);
        }
        waits = waits || count > 0;
      };
      put("first", near_[s].down, 0);
      put("last", near_[s].up, window_.points - near_[s].up);
    }
    if (waits) w_.line("__syncthreads();");
  }

  /// old0: what the thread has of a state, and what it gets of the rows above and below.
  void gather_rows(std::uint32_t s) {
    const neighbourhood& n = near_[s];
    w_.line("{} old{}[{}][{}];", registers_[s], s, n.up + window_.points + n.down, n.left + window_.lanes + n.right);
    {
      const auto rows = each("k", window_.points);
      const auto columns = each("c", window_.lanes);
      w_.line("old{0}[k + {1}][c + {2}] = now{0}[k][c];", s, n.up, n.left);
    }
    const auto get = [&](const char* name, const char* from, int count, int first) {
      for (int r = 0; r < count; ++r) {
        const auto one = w_.block("");
        w_.line("const auto cells = {}{}[step & 1][{}][{}][lane];", name, s, from, r);
        const auto columns = each("c", window_.lanes);
        w_.line("old{}[{}][c + {}] = cells.at[c];", s, first + r, n.left);
      }
    };
    get("last", "above", n.up, 0);
    get("first", "below", n.down, n.up + window_.points);
    for (const auto& [column, range] : n.beside)
      for (int r = range.first; r < range.last; ++r) shuffle(s, column, std::to_string(n.up + r));
  }

  /// Gets a column beside the thread's in a row of old0.
  void shuffle(std::uint32_t s, int column, const std::string& row) {
    const int lanes = window_.lanes, left = near_[s].left;
    const int away = column < 0 ? (lanes - 1 - column) / lanes : column / lanes;
    const int there = column < 0 ? column + away * lanes : column % lanes;
    w_.line("old{0}[{1}][{2}] = ({3})__shfl_{4}_sync(0xffffffffu, +old{0}[{1}][{5}], {6});", s, row, left + column,
            registers_[s], column < 0 ? "up" : "down", left + there, away);
  }

  void store_tile() {
    w_.line("const bool kept = lane >= {} && lane < {};", window_.column_border / window_.lanes,
            step_window::warp - window_.column_border / window_.lanes);
    const auto rows = each("k", window_.points);
    w_.line("const int d0 = row + k, i = column, at = warp * {} + k;", window_.points);
    const auto there = w_.block("if (kept && at >= {} && at < {} && (unsigned)d0 < (unsigned){})", window_.row_border,
                                window_.rows - window_.row_border, extent(0));
    for (std::uint32_t s = 0; s < states_; ++s) {
      w_.line("pack<{}, {}> cells{};", type_of(s), window_.lanes, s);
      {
        const auto columns = each("c", window_.lanes);
        w_.line("cells{0}.at[c] = {1}(now{0}[k][c]);", s, storing_function(store_type(s)));
      }
      w_.line("leave_cells(&{}, cells{}, i - {}, pitch, i, {}, whole);", element_after(s), s, bound(0), extent(1));
    }
  }

  std::vector<neighbourhood> near_;     ///< by state
  std::vector<std::string> registers_;  ///< likewise: types
  int warps_;
};

}  // namespace

std::unique_ptr<kernel_emitter> make_plane_step_emitter(const kernel& k, const user_code& users, writer& w) {
  return std::make_unique<plane_emitter>(k, users, w);
}

}  // namespace sinter::jit
