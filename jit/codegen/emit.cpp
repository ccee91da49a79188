#include "jit/codegen/emit.hpp"

#include "jit/codegen/emitters.hpp"
#include "jit/codegen/placement.hpp"
#include "jit/codegen/prelude.hpp"
#include "jit/user_kernel.hpp"

#include <algorithm>
#include <set>

namespace sinter::jit {

namespace {

/// Writes a kernel whose threads take elements of the domain.
class element_emitter : public kernel_emitter {
 public:
  element_emitter(const kernel& k, const user_code& users, dialect d, writer& w)
      : kernel_emitter(k, users, d, w), place_(place_instructions(k)) {}

  void whole(const std::string& name) override {
    if (d_ == dialect::host) return host_kernel("extern \"C\" void", name);
    if (!k_.tables.empty()) return with_tables(name);
    const auto body = w_.block("extern \"C\" __global__ void __launch_bounds__(256) {}({})", name, cuda_parameters(""));
    const std::string_view wide = k_.index_bits == 32 ? "" : "(long long)";
    cuda_body(fmt::format("{}blockIdx.x * blockDim.x + threadIdx.x", wide),
              fmt::format("{}blockIdx.y * blockDim.y + threadIdx.y", wide), "gridDim.y * blockDim.y");
  }

  /// `x`, `y` and `rows_at_once` say where a thread stands.
  void part(const std::string& name) override {
    if (d_ == dialect::host) return host_kernel("static void", name);
    std::string tables;
    for (std::size_t t = 0; t < k_.tables.size(); ++t)
      tables += fmt::format("{}& table{}, ", table_type(k_.tables[t]), t);
    const auto body = w_.block(
        "static __device__ __forceinline__ void {}(const long long x, const long long y, const long long rows_at_once, "
        "{}{})", name, tables, cuda_parameters(""));
    cuda_body("x", "y", "rows_at_once");
  }

 private:
  // ---- cuda ----
  /// Blocks that run at the same time take turns at the work; where a table has parts, some of them for each.
  void with_tables(const std::string& name) {
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
  std::string clear_tables() {
    std::string begin = "shared", names;
    for (std::size_t t = 0; t < k_.tables.size(); ++t) {
      const auto number = [&](std::uint32_t k) { return names_.parameter(k_.tables[t].size + k); };
      const std::string_view I = index_type(), type = table_element(k_.tables[t]);
      const std::string table = fmt::format("table{}", t);
      w_.line("const {0} first{1} = part * {2};", I, t, number(2));
      w_.line("const int count{0} = (int)({1} - first{0} < {2} ? {1} - first{0} : {2});", t, number(0), number(2));
      w_.line("{} {}(({}*)({}), first{}, count{});", table_type(k_.tables[t]), table, type, begin, t, t);
      w_.line("{}.clear();", table);
      begin = fmt::format("(unsigned char*){0}.own + ((count{1} << {2}) * sizeof({3}) + 15) / 16 * 16", table, t, number(1),
                          type);
      names += table + ", ";
    }
    w_.line("__syncthreads();");
    return names;
  }

  void cuda_body(const std::string& x, const std::string& y, const std::string& rows_at_once) {
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

  void cuda_row() {
    if (lanes_ == 1) {
      w_.line("const {} i = first;", index_type());
      return instructions(placement::element);
    }
    {
      const auto whole = w_.block("if ({})", has_whole_vector());
      packed_row();
    }
    const auto rest = w_.block("else for ({} i = first < 0 ? 0 : first; i < {} && i < first + {}; ++i)", index_type(),
                               extent(inner_dim()), lanes_);
    instructions(placement::element);
  }

  std::string has_whole_vector() const {
    return fmt::format("first >= 0 && first + {} <= {}", lanes_, extent(inner_dim()));
  }

  /// Whole vectors that are the same in every row are loaded before the loop over rows.
  void column_packs() {
    if (lanes_ == 1) return;
    for (std::uint32_t v = 0; v < k_.body.size(); ++v) {
      const inst& x = k_.body[v];
      if (!is_column(v)) continue;
      w_.line("pack<{}, {}> whole{} = {{}};", c_type(x.type), lanes_, x.attr);
      w_.line("if ({}) whole{} = {};", has_whole_vector(), x.attr, pack_load(v));
    }
  }

  bool is_column(std::uint32_t v) const {
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
  void packed_row() {
    for (const bool near : {false, true})  // vectors that others are made of come first
      for (std::uint32_t v = 0; v < k_.body.size(); ++v)
        if (k_.body[v].code == op::load && place_[v] == placement::element && is_packed(k_.body[v]) &&
            is_near(k_.body[v]) == near)
          load_pack(v);
    for (std::uint32_t v = 0; v < k_.body.size(); ++v)
      if (k_.body[v].code == op::store && place_[v] == placement::element && is_packed(k_.body[v]))
        w_.line("pack<{}, {}> whole{};", c_type(k_.body[v].type), lanes_, k_.body[v].attr);
    for (std::uint32_t v = 0; v < k_.body.size(); ++v)
      if (place_[v] == placement::element && is_packed(k_.body[v]))
        element_[v] = fmt::format("whole{}.at[lane]", k_.body[v].attr);
    {
      w_.line("#pragma unroll");
      const auto lane = w_.block("for (int lane = 0; lane < {}; ++lane)", lanes_);
      if (lanes_need_index()) lane_counter("i");
      instructions(placement::element);
    }
    for (const inst& x : k_.body)
      if (x.code == op::store && is_packed(x))
        w_.line("{}store_pack(&{}, whole{}, {});", condition(x.arg[1]), address(x.attr, "first"), x.attr,
                is_aligned(x.attr));
    element_.assign(k_.body.size(), {});
  }

  /// Whether some element of a lane is addressed or computed from the inner counter itself.
  bool lanes_need_index() const {
    for (std::uint32_t v = 0; v < k_.body.size(); ++v) {
      const inst& x = k_.body[v];
      if (place_[v] < placement::element || is_packed(x)) continue;
      if (x.code == op::index || x.code == op::load || x.code == op::store || x.code == op::atomic ||
          x.code == op::bound || (x.code == op::call && !k_.checks.empty()))
        return true;
    }
    return false;
  }

  std::string pack_load(std::uint32_t v) const {
    const inst& x = k_.body[v];
    const std::string from = address(x.attr, "first");
    return fmt::format("load_pack<{}, {}>(&{}, {})", c_type(x.type), lanes_, from, is_aligned(x.attr));
  }

  void load_pack(std::uint32_t v) {
    if (has_rows() && is_column(v)) return;
    const inst& x = k_.body[v];
    if (is_near(x)) return load_beside(x);
    const std::string load = pack_load(v);
    if (x.arg[0] == value::none) return w_.line("const auto whole{} = {};", x.attr, load);
    w_.line("pack<{}, {}> whole{} = {{}};", c_type(x.type), lanes_, x.attr);
    w_.line("if ({}) whole{} = {};", names_.value(x.arg[0]), x.attr, load);
  }

  /// Whether a load shares elements with another that is loaded in whole vectors.
  bool is_near(const inst& x) const { return k_.accesses[x.attr].near != access::alone; }

  void load_beside(const inst& x) {
    const access& a = k_.accesses[x.attr];
    w_.line("pack<{}, {}> whole{};", c_type(x.type), lanes_, x.attr);
    for (int lane = 0; lane < lanes_; ++lane) {
      const int there = lane + a.shift;
      const std::string own = address(x.attr, lane == 0 ? "first" : fmt::format("(first + {})", lane));
      w_.line("whole{}.at[{}] = {};", x.attr, lane,
              there >= 0 && there < lanes_ ? fmt::format("whole{}.at[{}]", a.near, there) : own);
    }
  }

  /// Whether an access moves whole vectors: unit stride along the inner dim, all else settled before.
  bool is_packed(const inst& x) const {
    if (x.code != op::load && x.code != op::store) return false;
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
  void host_kernel(std::string_view declared, const std::string& name) {
    const auto body = w_.block("{} {}({})", declared, name, host_parameters);
    host_parameters_declared();
    instructions(placement::once);
    if (!has_rows()) {
      w_.line("(void)row_begin, (void)row_end;");
      return host_row();
    }
    const auto rows = w_.block("for (long long row = row_begin; row < row_end; ++row)");
    find_row();
    instructions(placement::row);
    host_row();
  }

  void host_row() {
    // Fault records, atomics and user code may hold what a vector loop can't.
    const bool shared = !k_.checks.empty() ||
                        std::ranges::any_of(k_.body, [](const inst& x) { return x.code == op::atomic; });
    if (!shared && k_.calls.empty() && k_.loops.empty() && draws_words(k_)) return host_quads();
    if (!shared && k_.calls.empty()) w_.line("#pragma omp simd");
    else if (!shared) w_.line("#pragma GCC ivdep");
    const auto loop = w_.block("for (long long i = begin; i < end; ++i)");
    instructions(placement::element);
  }

  /// Four neighbours at a time, which share a block of random words: the compiler makes it once, for many fours at
  /// once. Those before the first four and after the last are taken one by one.
  void host_quads() {
    {
      const auto element = w_.definition("const auto element = [&](const long long i) __attribute__((always_inline))");
      instructions(placement::element);
    }
    w_.line("const long long first = (begin + 3) / 4, last = end / 4;");
    w_.line("#pragma omp simd");
    {
      const auto fours = w_.block("for (long long four = first; four < last; ++four)");
      w_.line("#pragma GCC unroll 4");
      w_.line("for (int k = 0; k < 4; ++k) element(four << 2 | k);");
    }
    const auto rest = w_.block("for (long long i = begin; i < end; ++i)");
    w_.line("if (i == first * 4 && first < last) i = last * 4;");
    w_.line("if (i < end) element(i);");
  }

  // ---- both ----
  void rows_in_all() {
    std::string product = extent(0);
    for (std::uint32_t d = 1; d < inner_dim(); ++d) product += " * " + extent(d);
    w_.line("const {} rows = {};", index_type(), product);
  }

  void instructions(placement p) {
    const std::string of_row = has_rows() ? fmt::format("(long long)row * {}", extent(inner_dim())) : "";
    if (p == placement::once) here_.position = "0";
    else if (p == placement::row) here_.position = of_row;
    else here_.position = of_row.empty() ? "i" : of_row + " + i";
    for (std::uint32_t v = 0; v < k_.body.size(); ++v)
      if (place_[v] == p) v = instruction(v);
  }

  std::vector<placement> place_;
};

std::unique_ptr<kernel_emitter> emitter_of(const kernel& k, const user_code& users, dialect d, writer& w) {
  if (k.over == distribution::steps) return make_step_emitter(k, users, w);
  if (has_own_loop(k)) return make_own_loop_emitter(k, users, d, w);
  if (d == dialect::host && runs_in_lanes(k)) return make_host_lane_emitter(k, users, w);
  if (k.over == distribution::elements) return std::make_unique<element_emitter>(k, users, d, w);
  if (d == dialect::host) return make_host_loop_emitter(k, users, w);
  if (k.over == distribution::tiles) return make_tile_emitter(k, users, w);
  return k.over == distribution::rows ? make_row_emitter(k, users, w) : make_column_emitter(k, users, w);
}

/// The kernel that runs several parts, each in blocks of its own.
class cuda_parts {
 public:
  cuda_parts(const std::vector<std::unique_ptr<kernel_emitter>>& parts, kernel_list kernels, const std::string& name,
             writer& w)
      : parts_(parts), kernels_(kernels), name_(name), w_(w) {}

  void write() {
    const bool has_stages = kernels_.back()->stage != 0;
    std::string parameters = has_stages ? "unsigned* arrivals" : "";
    for (std::size_t k = 0; k < parts_.size(); ++k)
      parameters += fmt::format("{0}const int p{1}_across, const int p{1}_down, const int p{1}_shift, {2}",
                                parameters.empty() ? "" : ", ", k,
                                parts_[k]->cuda_parameters(fmt::format("p{}_", k), !has_stages));
    const auto body = w_.block("extern \"C\" __global__ void __launch_bounds__(256) {}({})", name_, parameters);
    if (has_stages) return stages();
    w_.line("int block = blockIdx.x;");
    for (std::size_t k = 0; k < parts_.size(); ++k) part(k, "return ", "");
  }

 private:
  /// The grid's blocks take turns at those of a stage, then wait for each other: what they read next may be anybody's.
  void stages() {
    for (std::size_t k = 0; k < parts_.size();) {
      if (k > 0) w_.line("wait_for_grid(arrivals);");
      const auto turns = w_.block("for (int next = blockIdx.x;; next += gridDim.x)");
      w_.line("int block = next;");
      for (const std::uint8_t stage = kernels_[k]->stage; k < parts_.size() && kernels_[k]->stage == stage; ++k)
        part(k, "", "continue;");
      w_.line("break;");
    }
  }

  void part(std::size_t k, std::string_view before, std::string_view after) {
    const std::string p = fmt::format("p{}_", k), arguments = parts_[k]->cuda_arguments(p);
    {
      const auto own = w_.block("if (block < {0}across * {0}down)", p);
      if (parts_[k]->takes_blocks()) {
        w_.line("{}{}_{}(block, (long long){}across * {}down, {});", before, name_, k, p, p, arguments);
        if (!after.empty()) w_.line("__syncthreads();  // shared memory is the next block's now");
      } else {
        w_.line("const int height = blockDim.x >> {}shift;", p);
        w_.line("const long long x = ((long long)(block % {0}across) << {0}shift) + "
                "(threadIdx.x & ((1 << {0}shift) - 1));", p);
        w_.line("const long long y = (long long)(block / {0}across) * height + (threadIdx.x >> {0}shift);", p);
        w_.line("{}{}_{}(x, y, (long long){}down * height, {});", before, name_, k, p, arguments);
      }
      if (!after.empty()) w_.line("{}", after);
    }
    w_.line("block -= {0}across * {0}down;", p);
  }

  const std::vector<std::unique_ptr<kernel_emitter>>& parts_;
  const kernel_list kernels_;
  const std::string& name_;
  writer& w_;
};

void host_parts(std::size_t count, const std::string& name, writer& w) {
  const auto body = w.block("extern \"C\" void {}({})", name, host_parameters);
  const auto choice = w.block("switch (*(const long long*)arguments[0])");
  for (std::size_t k = 0; k < count; ++k)
    w.line("case {}: return {}_{}(arguments + 1, row_begin, row_end, begin, end);", k, name, k);
}

}  // namespace

std::string kernel_name(kernel_list parts, std::uint64_t identity) {
  std::string name = "sinter";
  std::set<std::string> seen;
  for (const kernel* k : parts)
    for (const inst& i : k->body) {
      std::string word;
      if (i.code == op::call || i.code == op::reduce_call) word = k->calls[i.attr].kernel->name;
      else if ((is_elementwise(i.code) && i.code != op::convert) || is_reduction(i.code) || is_scan(i.code))
        word = info(i.code).name;
      if (!word.empty() && seen.size() < 3 && seen.insert(word).second) name += "_" + word;
    }
  if (seen.empty()) name += "_copy";
  return name + fmt::format("_{:08x}", static_cast<std::uint32_t>(identity ^ identity >> 32));
}

std::string emit(kernel_list parts, const std::string& name, dialect d) {
  const user_code users(parts);
  writer w;
  if (parts.size() == 1) {
    emitter_of(*parts[0], users, d, w)->whole(name);
  } else {
    std::vector<std::unique_ptr<kernel_emitter>> each;
    for (const kernel* k : parts) each.push_back(emitter_of(*k, users, d, w));
    for (std::size_t k = 0; k < parts.size(); ++k) each[k]->part(fmt::format("{}_{}", name, k));
    if (d == dialect::cuda) cuda_parts(each, parts, name, w).write();
    else host_parts(parts.size(), name, w);
  }
  const std::string user = users.source(d);
  std::string text = prelude_for(user + w.text(), d);
  if (!text.empty()) text += '\n';
  return text + user + w.text();
}

}  // namespace sinter::jit
