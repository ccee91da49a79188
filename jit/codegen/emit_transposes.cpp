// distribution::transposed: blocks take tiles of the domain, and what lies in memory along another dim than the
// innermost goes through shared memory (jit/transposes.cpp says why and which).
//
// A block first loads the tile's part of each such array, threads side by side along the array's fastest dim. All that
// is on its way at once, and with it whole vectors of arrays that lie as the domain does; then elements change hands.
// What is computed runs as it does for distribution::elements, threads side by side along the domain's inner dim.
// Results that lie otherwise leave as operands came.
#include "jit/codegen/emit_elements.hpp"
#include "jit/transposes.hpp"

#include <algorithm>
#include <bit>

namespace sinter::jit {

namespace {

constexpr int threads = 256;
constexpr std::int64_t most_early_words = 32;  // registers of a thread for vectors loaded before they are needed

class transpose_emitter : public element_emitter {
 public:
  transpose_emitter(const kernel& k, const user_code& users, writer& w)
      : element_emitter(k, users, dialect::cuda, w), volume_(static_cast<int>(tile_volume(k))), early_(k.body.size()) {
    for (std::uint32_t v = 0; v < k.body.size(); ++v)
      if (const op code = k.body[v].code; (code == op::load || code == op::store) && is_staged(v))
        (code == op::load ? loads_ : stores_).push_back(v);
    find_early();
  }

  void whole(const std::string& name) override {
    const auto body = w_.block("extern \"C\" __global__ void __launch_bounds__({}) {}({})", threads, name,
                               cuda_parameters(""));
    w_.line("const {0} block = blockIdx.x, blocks = gridDim.x;", index_type());
    tiles();
  }

  void part(const std::string& name) override {
    const auto body = w_.block("static __device__ __forceinline__ void {0}(const {1} block, const {1} blocks, {2})",
                               name, index_type(), cuda_parameters(""));
    tiles();
  }

  bool takes_blocks() const override { return true; }

 private:
  bool is_staged(std::uint32_t v) const { return k_.accesses[k_.body[v].attr].staged != access::alone; }
  std::string_view stored_type(std::uint32_t v) const { return c_type(k_.body[v].type); }
  std::string dim_name(std::uint32_t d) const { return d == inner_dim() ? "i" : names_.dim(d); }
  int turns(int lanes) const { return (volume_ + threads * lanes - 1) / (threads * lanes); }

  /// Vectors that need nothing but counters, as many as registers hold.
  void find_early() {
    std::int64_t words = 0;
    for (std::uint32_t v = 0; v < k_.body.size() && lanes_ > 1; ++v) {
      const inst& x = k_.body[v];
      if (x.code != op::load || x.arg[0] != value::none || !is_packed(x) || is_near(x)) continue;
      const form& f = k_.forms[k_.accesses[x.attr].form];
      const bool plain = std::all_of(k_.terms.begin() + f.first, k_.terms.begin() + f.first + f.count,
                                     [](const term& t) { return t.is_dim(); });
      const std::int64_t own = turns(lanes_) * lanes_ * size_of(x.type) / 4;
      if (!plain || words + own > most_early_words) continue;
      words += own;
      early_[v] = true;
    }
  }

  bool is_at_hand(std::uint32_t v) const override { return early_[v]; }

  std::string pack_name(std::uint32_t access) const override {
    for (std::uint32_t v = 0; v < k_.body.size(); ++v)
      if (early_[v] && k_.body[v].attr == access) return fmt::format("whole{}[turn]", access);
    return fmt::format("whole{}", access);
  }

  void name_elements(const std::string& lane) override {
    for (const auto* list : {&loads_, &stores_})
      for (const std::uint32_t v : *list) element_[v] = fmt::format("shared{}[{}{}]", v, place(v), lane);
  }

  std::string position_of_row() const override {
    if (k_.checks.empty() && k_.calls.empty()) return "0";
    std::string row = "(long long)d0";
    for (std::uint32_t d = 1; d < inner_dim(); ++d) row = fmt::format("({} * {} + d{})", row, extent(d), d);
    return fmt::format("{} * {}", row, extent(inner_dim()));
  }

  // ---- where things are ----

  /// An element's place in shared memory, from its coordinates in the tile.
  std::string place(std::uint32_t v) const {
    const std::vector<std::int64_t> pitches = tile_pitches(k_, size_of(k_.body[v].type));
    std::string text = "x0";
    for (std::size_t t = 1; t < k_.tiled.size(); ++t) text = fmt::format("x{} * {} + {}", t, pitches[t], text);
    return text;
  }

  auto each_turn(int lanes) {
    w_.line("#pragma unroll");
    return w_.block("for (int turn = 0; turn < {}; ++turn)", turns(lanes));
  }

  /// Coordinates x0, ... of a thread's element of this turn, those along tiled dim `fastest` neighbours'.
  void find_coordinates(std::size_t fastest, int lanes) {
    std::string at = fmt::format("(int)threadIdx.x + turn * {}", threads);
    if (lanes > 1) at = fmt::format("({}) * {}", at, lanes);
    w_.line("const int at = {};", at);
    std::vector<std::size_t> order{fastest};
    for (std::size_t t = 0; t < k_.tiled.size(); ++t)
      if (t != fastest) order.push_back(t);
    std::string list;
    int shift = 0;
    for (const std::size_t t : order) {
      const std::string from = shift == 0 ? "at" : fmt::format("at >> {}", shift);
      const bool last = t == order.back();
      list +=
          last ? fmt::format("x{} = {};", t, from) : fmt::format("x{} = {} & {}, ", t, from, k_.tiled[t].extent - 1);
      shift += std::countr_zero(k_.tiled[t].extent);
    }
    w_.line("const int {}", list);
  }

  /// The domain's counters there; `inner`: what the inner one is called.
  void find_element(const std::string& inner) {
    std::string list;
    for (std::size_t t = 0; t < k_.tiled.size(); ++t) {
      const std::uint32_t d = k_.tiled[t].dim;
      list += fmt::format("{}{} = begin{} + x{}", t ? ", " : "", t ? names_.dim(d) : inner, d, t);
    }
    w_.line("const {} {};", index_type(), list);
  }

  /// Whether some turn has more threads than elements.
  bool has_idle(int lanes) const { return volume_ % (threads * lanes) != 0; }

  std::string is_inside(const std::string& inner, int lanes) const {
    std::string text = has_idle(lanes) ? fmt::format("at < {} && ", volume_) : "";
    for (std::size_t t = 0; t < k_.tiled.size(); ++t) {
      const std::uint32_t d = k_.tiled[t].dim;
      text += fmt::format("{}{} < {}", t ? " && " : "", t ? names_.dim(d) : inner, extent(d));
    }
    return text;
  }

  // ---- the kernel ----

  void tiles() {
    const std::string_view I = index_type();
    instructions(placement::once);
    for (const auto* list : {&loads_, &stores_})
      for (const std::uint32_t v : *list)
        w_.line("__shared__ {} shared{}[{}];", stored_type(v), v, tile_pitches(k_, size_of(k_.body[v].type)).back());
    std::string product;
    for (std::uint32_t d = 0; d < k_.domain_rank; ++d)
      product += fmt::format("{}{}", d ? " * " : "", tiles_along(d));
    w_.line("const {} tiles = {};", I, product);
    const auto all = w_.block("for ({0} tile = block; tile < tiles; tile += blocks)", I);
    w_.line("if (tile != block) __syncthreads();  // what the last one left has been used");
    find_tile();
    for (const std::uint32_t v : loads_) fetch(v);
    fetch_early();
    for (const std::uint32_t v : loads_) put(v);
    if (!loads_.empty()) w_.line("__syncthreads();");
    compute();
    if (!stores_.empty()) w_.line("__syncthreads();");
    for (const std::uint32_t v : stores_) store_tile(v);
  }

  std::string tiles_along(std::uint32_t d) const {
    for (const tiled_dim& t : k_.tiled)
      if (t.dim == d) return fmt::format("(({} + {}) / {})", extent(d), t.extent - 1, t.extent);
    return extent(d);
  }

  /// begin... of the tiled dims, and the other ones' counters: tiles next to each other along the inner dim follow each
  /// other.
  void find_tile() {
    const std::string_view I = index_type();
    std::string rest = "tile";
    for (std::uint32_t d = inner_dim() + 1; d-- > 0;) {
      std::string own = rest;
      if (d > 0) {
        const std::string next = fmt::format("tile{}", d);
        w_.line("const {} {} = {} / {};", I, next, rest, tiles_along(d));
        own = fmt::format("({} - {} * {})", rest, next, tiles_along(d));
        rest = next;
      }
      const auto t = std::ranges::find(k_.tiled, d, &tiled_dim::dim);
      if (t == k_.tiled.end()) w_.line("const {} d{} = {};", I, d, own);
      else w_.line("const {} begin{} = {} * {};", I, d, own, t->extent);
    }
  }

  /// What an access's place and its condition are made of, where the counters are another element's.
  void address_statements(std::uint32_t v) {
    std::vector<bool> needed(k_.body.size());
    const value stored = k_.body[v].code == op::store ? k_.body[v].arg[0] : value::none;
    nest_.each_operand(v, [&](std::uint32_t x) { needed[x] = needed[x] || value{x} != stored; });
    for (std::uint32_t u = v; u-- > 0;)
      if (needed[u]) nest_.each_operand(u, [&](std::uint32_t x) { needed[x] = true; });
    for (std::uint32_t u = 0; u < v; ++u)
      if (needed[u] && place_[u] != placement::once) instruction(u);
  }

  void fetch(std::uint32_t v) {
    const inst& x = k_.body[v];
    w_.line("{} some{}[{}];", stored_type(v), v, turns(1));
    const auto each = each_turn(1);
    find_coordinates(k_.accesses[x.attr].staged, 1);
    find_element("i");
    w_.line("some{}[turn] = {{}};", v);
    const auto there = w_.block("if ({})", is_inside("i", 1));
    address_statements(v);
    const std::string when = x.arg[0] == value::none ? "" : fmt::format("if ({}) ", names_.value(x.arg[0]));
    w_.line("{}some{}[turn] = {};", when, v, address(x.attr, "i"));
  }

  void put(std::uint32_t v) {
    const auto each = each_turn(1);
    find_coordinates(k_.accesses[k_.body[v].attr].staged, 1);
    const std::string when = has_idle(1) ? fmt::format("if (at < {}) ", volume_) : "";
    w_.line("{}shared{}[{}] = some{}[turn];", when, v, place(v), v);
  }

  void fetch_early() {
    if (std::ranges::none_of(early_, [](bool x) { return x; })) return;
    for (std::uint32_t v = 0; v < k_.body.size(); ++v)
      if (early_[v])
        w_.line("pack<{}, {}> whole{}[{}];", stored_type(v), lanes_, k_.body[v].attr, turns(lanes_));
    const auto each = each_turn(lanes_);
    find_coordinates(0, lanes_);
    find_element("first");
    const auto there = w_.block("if ({} && {})", is_inside("first", lanes_), has_whole_vector());
    for (std::uint32_t v = 0; v < k_.body.size(); ++v)
      if (early_[v]) w_.line("whole{}[turn] = {};", k_.body[v].attr, pack_load(v));
  }

  void compute() {
    const auto each = each_turn(lanes_);
    find_coordinates(0, lanes_);
    find_element("first");
    const auto there = w_.block("if ({})", is_inside("first", lanes_));
    instructions(placement::row);
    cuda_row();
  }

  void store_tile(std::uint32_t v) {
    const inst& x = k_.body[v];
    const auto each = each_turn(1);
    find_coordinates(k_.accesses[x.attr].staged, 1);
    find_element("i");
    const auto there = w_.block("if ({})", is_inside("i", 1));
    address_statements(v);
    const std::string when = x.arg[1] == value::none ? "" : fmt::format("if ({}) ", names_.value(x.arg[1]));
    w_.line("{}{} = shared{}[{}];", when, address(x.attr, "i"), v, place(v));
  }

  int volume_;
  std::vector<std::uint32_t> loads_, stores_;  ///< staged
  std::vector<bool> early_;                    ///< loads of whole vectors that don't wait for shared memory
};

}  // namespace

std::unique_ptr<kernel_emitter> make_transpose_emitter(const kernel& k, const user_code& users, writer& w) {
  return std::make_unique<transpose_emitter>(k, users, w);
}

}  // namespace sinter::jit
