#include "jit/codegen/emit_elements.hpp"

#include <algorithm>

namespace sinter::jit {

void element_emitter::whole(const std::string& name) {
  if (d_ == dialect::host) return host_kernel("extern \"C\" void", name);
  if (!k_.tables.empty()) return with_tables(name);
  const auto body = w_.block("extern \"C\" __global__ void __launch_bounds__(256) {}({})", name, cuda_parameters(""));
  const std::string_view wide = k_.index_bits == 32 ? "" : "(long long)";
  cuda_body(fmt::format("{}blockIdx.x * blockDim.x + threadIdx.x", wide),
            fmt::format("{}blockIdx.y * blockDim.y + threadIdx.y", wide), "gridDim.y * blockDim.y");
}

void element_emitter::part(const std::string& name) {
  if (d_ == dialect::host) return host_kernel("static void", name);
  std::string tables;
  for (std::size_t t = 0; t < k_.tables.size(); ++t)
    tables += fmt::format("{}& table{}, ", table_type(k_.tables[t]), t);
  const auto body = w_.block(
      "static __device__ __forceinline__ void {}(const long long x, const long long y, const long long rows_at_once, "
      "{}{})", name, tables, cuda_parameters(""));
  cuda_body("x", "y", "rows_at_once");
}

// ---- cuda ----

/// Blocks that run at the same time take turns at the work; where a table has parts, some of them for each.
void element_emitter::with_tables(const std::string& name) {
  part(name + "_part");
  const std::string_view I = index_type();
  const auto number = [&](std::size_t table, std::uint32_t k) { return names_.parameter(k_.tables[table].size + k); };
  const std::size_t last = k_.tables.size() - 1;
  const std::string across = number(last, 3), down = number(last, 4), shift = number(last, 5);
  const auto body = w_.block("extern \"C\" __global__ void __launch_bounds__({}) {}({})", k_.threads, name,
                             cuda_parameters(""));
  w_.line("extern __shared__ __align__(16) unsigned char shared[];");
  w_.line("const int parts = (int)(({0} + {1} - 1) / {1});", number(0, 0), number(0, 2));
  w_.line("const int groups = parts < (int)gridDim.x ? parts : (int)gridDim.x;");
  w_.line("const int at_once = (int)gridDim.x / groups;");
  const auto each = w_.block("for (int part = (int)blockIdx.x % groups; part < parts; part += groups)");
  const std::string tables = clear_tables();
  {
    w_.line("const {0} turns = (int)blockIdx.x < at_once * groups ? {1} * {2} : 0;", I, across, down);
    const auto turn = w_.block("for ({} block = (int)blockIdx.x / groups; block < turns; block += at_once)", I);
    const std::string_view x = "((long long){0} << {1}) + (threadIdx.x & ((1 << {1}) - 1))";
    std::string place = fmt::format(fmt::runtime(x), "block", shift) + ", 0, 1";
    if (has_rows()) {
      w_.line("const {} height = blockDim.x >> {};", I, shift);
      w_.line("const {} down = block / {};", I, across);
      place = fmt::format(fmt::runtime(x), fmt::format("(block - down * {})", across), shift) +
              fmt::format(", down * height + (threadIdx.x >> {}), {} * height", shift, down);
    }
    w_.line("{}_part({}, {}{});", name, place, tables, cuda_arguments(""));
  }
  for (std::size_t t = 0; t <= last; ++t) w_.line("table{}.add_to({});", t, names_.parameter(k_.tables[t].pointer));
}

/// Tables with nothing in them; their names, as arguments.
std::string element_emitter::clear_tables() {
  std::string begin = "shared", names;
  for (std::size_t t = 0; t < k_.tables.size(); ++t) {
    const auto number = [&](std::uint32_t k) { return names_.parameter(k_.tables[t].size + k); };
    const std::string_view I = index_type(), type = table_element(k_.tables[t]);
    const std::string table = fmt::format("table{}", t);
    w_.line("const {0} first{1} = part * {2};", I, t, number(2));
    w_.line("const int count{0} = (int)({1} - first{0} < {2} ? {1} - first{0} : {2});", t, number(0), number(2));
    w_.line("{} {}(({}*)({}), first{}, count{});", table_type(k_.tables[t]), table, type, begin, t, t);
    w_.line("{}.clear();", table);
    begin = fmt::format("(unsigned char*){0}.own + ((count{1} << {2}) * sizeof({3}) + 15) / 16 * 16", table, t,
                        number(1), type);
    names += table + ", ";
  }
  w_.line("__syncthreads();");
  return names;
}

void element_emitter::cuda_body(const std::string& x, const std::string& y, const std::string& rows_at_once) {
  const std::string_view I = index_type();
  const std::string vector = fmt::format(" * {} - ({})(aligned >> {})", lanes_, I, first_lead_bit);
  w_.line("const {0} first = ({0})({1}){2};", I, x, lanes_ > 1 ? vector : "");
  w_.line("if (first >= {}) return;", extent(inner_dim()));
  instructions(placement::once);
  if (!has_rows()) return cuda_row();
  rows_in_all();
  column_packs();
  const auto rows = w_.block("for ({0} row = ({0})({1}); row < rows; row += ({0})({2}))", I, y, rows_at_once);
  find_row();
  instructions(placement::row);
  cuda_row();
}

void element_emitter::cuda_row() {
  if (lanes_ == 1) {
    w_.line("const {} i = first;", index_type());
    name_elements("");
    instructions(placement::element);
    return element_.assign(k_.body.size(), {});
  }
  {
    const auto whole = w_.block("if ({})", has_whole_vector());
    packed_row();
  }
  const auto rest = w_.block("else for ({} i = first < 0 ? 0 : first; i < {} && i < first + {}; ++i)", index_type(),
                             extent(inner_dim()), lanes_);
  name_elements(" + (int)(i - first)");
  instructions(placement::element);
  element_.assign(k_.body.size(), {});
}

std::string element_emitter::has_whole_vector() const {
  return fmt::format("first >= 0 && first + {} <= {}", lanes_, extent(inner_dim()));
}

/// Whole vectors that are the same in every row are loaded before the loop over rows.
void element_emitter::column_packs() {
  if (lanes_ == 1) return;
  for (std::uint32_t v = 0; v < k_.body.size(); ++v) {
    const inst& x = k_.body[v];
    if (!is_column(v)) continue;
    w_.line("pack<{}, {}> whole{} = {{}};", c_type(x.type), lanes_, x.attr);
    w_.line("if ({}) whole{} = {};", has_whole_vector(), x.attr, pack_load(v));
  }
}

bool element_emitter::is_column(std::uint32_t v) const {
  const inst& x = k_.body[v];
  if (x.code != op::load || place_[v] != placement::element || !is_packed(x) || x.arg[0] != value::none) return false;
  const form& f = k_.forms[k_.accesses[x.attr].form];
  for (std::uint32_t t = f.first; t < f.first + f.count; ++t) {
    const term& s = k_.terms[t];
    if (s.is_dim() ? s.atom != inner_dim() : place_[s.atom & ~term::computed] != placement::once) return false;
  }
  return true;
}

/// One thread's `lanes` neighbours: whole-vector loads, the same statements for each lane, whole-vector stores.
void element_emitter::packed_row() {
  for (const bool near : {false, true})  // vectors that others are made of come first
    for (std::uint32_t v = 0; v < k_.body.size(); ++v)
      if (k_.body[v].code == op::load && place_[v] == placement::element && is_packed(k_.body[v]) &&
          is_near(k_.body[v]) == near)
        load_pack(v);
  for (std::uint32_t v = 0; v < k_.body.size(); ++v)
    if (k_.body[v].code == op::store && place_[v] == placement::element && is_packed(k_.body[v]))
      w_.line("pack<{}, {}> whole{};", c_type(k_.body[v].type), lanes_, k_.body[v].attr);
  name_elements(" + lane");
  for (std::uint32_t v = 0; v < k_.body.size(); ++v)
    if (place_[v] == placement::element && is_packed(k_.body[v]))
      element_[v] = fmt::format("{}.at[lane]", pack_name(k_.body[v].attr));
  {
    w_.line("#pragma unroll");
    const auto lane = w_.block("for (int lane = 0; lane < {}; ++lane)", lanes_);
    if (lanes_need_index()) lane_counter("i");
    instructions(placement::element);
  }
  for (const inst& x : k_.body)
    if (x.code == op::store && is_packed(x))
      w_.line("{}{}(&{}, whole{}, {});", condition(x.arg[1]), gathers_rows() ? "stream_pack" : "store_pack",
              address(x.attr, "first"), x.attr, is_aligned(x.attr));
  element_.assign(k_.body.size(), {});
}

/// Whether whole vectors are read at computed places: of a table, of which a cache should keep what it can.
bool element_emitter::gathers_rows() const {
  return std::ranges::any_of(k_.body, [&](const inst& x) {
    if (x.code != op::load || !is_packed(x)) return false;
    const form& f = k_.forms[k_.accesses[x.attr].form];
    return std::any_of(k_.terms.begin() + f.first, k_.terms.begin() + f.first + f.count,
                       [](const term& t) { return !t.is_dim(); });
  });
}

/// Whether some element of a lane is addressed or computed from the inner counter itself.
bool element_emitter::lanes_need_index() const {
  for (std::uint32_t v = 0; v < k_.body.size(); ++v) {
    const inst& x = k_.body[v];
    if (place_[v] < placement::element || !element_[v].empty()) continue;
    if (x.code == op::index || x.code == op::load || x.code == op::store || x.code == op::atomic ||
        x.code == op::bound || (x.code == op::call && !k_.checks.empty()))
      return true;
  }
  return false;
}

std::string element_emitter::pack_load(std::uint32_t v) const {
  const inst& x = k_.body[v];
  const std::string from = address(x.attr, "first");
  return fmt::format("load_pack<{}, {}>(&{}, {})", c_type(x.type), lanes_, from, is_aligned(x.attr));
}

void element_emitter::load_pack(std::uint32_t v) {
  if (is_at_hand(v)) return;
  const inst& x = k_.body[v];
  if (is_near(x)) return load_beside(x);
  const std::string load = pack_load(v);
  if (x.arg[0] == value::none) return w_.line("const auto whole{} = {};", x.attr, load);
  w_.line("pack<{}, {}> whole{} = {{}};", c_type(x.type), lanes_, x.attr);
  w_.line("if ({}) whole{} = {};", names_.value(x.arg[0]), x.attr, load);
}

void element_emitter::load_beside(const inst& x) {
  const access& a = k_.accesses[x.attr];
  w_.line("pack<{}, {}> whole{};", c_type(x.type), lanes_, x.attr);
  for (int lane = 0; lane < lanes_; ++lane) {
    const int there = lane + a.shift;
    const std::string own = address(x.attr, lane == 0 ? "first" : fmt::format("(first + {})", lane));
    w_.line("whole{}.at[{}] = {};", x.attr, lane,
            there >= 0 && there < lanes_ ? fmt::format("{}.at[{}]", pack_name(a.near), there) : own);
  }
}

bool element_emitter::is_packed(const inst& x) const {
  if (x.code != op::load && x.code != op::store) return false;
  if (k_.accesses[x.attr].staged != access::alone) return false;
  const form& f = k_.forms[k_.accesses[x.attr].form];
  bool unit = false;
  for (std::uint32_t t = f.first; t < f.first + f.count; ++t) {
    const term& s = k_.terms[t];
    if (s.atom == inner_dim()) unit = s.coefficient == term::unit;
    else if (!s.is_dim() && place_[s.atom & ~term::computed] > placement::row) return false;
  }
  const value predicate = x.code == op::load ? x.arg[0] : x.arg[1];
  return unit && (predicate == value::none || place_[raw(predicate)] <= placement::row);
}

// ---- host ----

void element_emitter::host_kernel(std::string_view declared, const std::string& name) {
  const auto body = w_.block("{} {}({})", declared, name, host_parameters);
  host_parameters_declared();
  instructions(placement::once);
  if (!has_rows()) {
    w_.line("(void)row_begin, (void)row_end;");
    return host_row("begin", "end");
  }
  if (k_.over != distribution::transposed) return host_rows("begin", "end");
  const auto strips = w_.block("for (long long strip = begin; strip < end; strip += {})", k_.tiled[0].extent);
  w_.line("const long long strip_end = strip + {0} < end ? strip + {0} : end;", k_.tiled[0].extent);
  host_rows("strip", "strip_end");
}

void element_emitter::host_rows(const std::string& begin, const std::string& end) {
  const auto rows = w_.block("for (long long row = row_begin; row < row_end; ++row)");
  find_row();
  instructions(placement::row);
  host_row(begin, end);
}

void element_emitter::host_row(const std::string& begin, const std::string& end) {
  // Fault records, atomics and user code may hold what a vector loop can't.
  const bool shared = !k_.checks.empty() ||
                      std::ranges::any_of(k_.body, [](const inst& x) { return x.code == op::atomic; });
  if (!shared && k_.calls.empty() && k_.loops.empty() && draws_words(k_)) return host_quads(begin, end);
  if (!shared && k_.calls.empty()) w_.line("#pragma omp simd");
  else if (!shared) w_.line("#pragma GCC ivdep");
  const auto loop = w_.block("for (long long i = {}; i < {}; ++i)", begin, end);
  instructions(placement::element);
}

/// Four neighbours at a time, which share a block of random words: the compiler makes it once, for many fours at
/// once. Those before the first four and after the last are taken one by one.
void element_emitter::host_quads(const std::string& begin, const std::string& end) {
  {
    const auto element = w_.definition("const auto element = [&](const long long i) __attribute__((always_inline))");
    instructions(placement::element);
  }
  w_.line("const long long first = ({} + 3) / 4, last = {} / 4;", begin, end);
  w_.line("#pragma omp simd");
  {
    const auto fours = w_.block("for (long long four = first; four < last; ++four)");
    w_.line("#pragma GCC unroll 4");
    w_.line("for (int k = 0; k < 4; ++k) element(four << 2 | k);");
  }
  const auto rest = w_.block("for (long long i = {}; i < {}; ++i)", begin, end);
  w_.line("if (i == first * 4 && first < last) i = last * 4;");
  w_.line("if (i < {}) element(i);", end);
}

// ---- both ----

void element_emitter::rows_in_all() {
  std::string product = extent(0);
  for (std::uint32_t d = 1; d < inner_dim(); ++d) product += " * " + extent(d);
  w_.line("const {} rows = {};", index_type(), product);
}

void element_emitter::instructions(placement p) {
  const std::string of_row = position_of_row();
  if (p == placement::once) here_.position = "0";
  else if (p == placement::row) here_.position = of_row;
  else here_.position = of_row.empty() ? "i" : of_row + " + i";
  for (std::uint32_t v = 0; v < k_.body.size(); ++v)
    if (place_[v] == p) v = instruction(v);
}

}  // namespace sinter::jit
