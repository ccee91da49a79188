#include "jit/codegen/emit.hpp"

#include "jit/codegen/expression.hpp"
#include "jit/codegen/placement.hpp"
#include "jit/codegen/prelude.hpp"
#include "jit/codegen/user_code.hpp"
#include "jit/codegen/writer.hpp"
#include "jit/user_kernel.hpp"

#include <algorithm>
#include <set>

namespace sinter::jit {

namespace {

constexpr std::string_view host_parameters =
    "void* const* arguments, long long row_begin, long long row_end, long long begin, long long end";

/// Writes one kernel, or one part of several, as a function.
class emitter {
 public:
  emitter(const kernel& k, const user_code& users, dialect d, writer& w)
      : k_(k), d_(d), lanes_(k.lanes), names_(k), place_(place_instructions(k)), users_(users), w_(w) {}

  /// A function of its own: what the device, or the host's loader, calls by `name`.
  void whole(const std::string& name) {
    if (d_ == dialect::host) return host_kernel("extern \"C\" void", name);
    const auto body = w_.block("extern \"C\" __global__ void __launch_bounds__(256) {}({})", name, cuda_parameters(""));
    const std::string_view wide = k_.index_bits == 32 ? "" : "(long long)";
    cuda_body(fmt::format("{}blockIdx.x * blockDim.x + threadIdx.x", wide),
              fmt::format("{}blockIdx.y * blockDim.y + threadIdx.y", wide), "gridDim.y * blockDim.y");
  }

  /// A function that one for all parts calls; `x`, `y` and `rows_at_once` say where a thread stands.
  void part(const std::string& name) {
    if (d_ == dialect::host) return host_kernel("static void", name);
    const auto body = w_.block(
        "static __device__ __forceinline__ void {}(const long long x, const long long y, const long long rows_at_once, "
        "{})", name, cuda_parameters(""));
    cuda_body("x", "y", "rows_at_once");
  }

  /// The parameters, declared; their names behind `prefix`.
  std::string cuda_parameters(const std::string& prefix) const {
    std::string list;
    for (std::uint32_t p = 0; p < k_.parameters.size(); ++p)
      list += (list.empty() ? "" : ", ") + cuda_parameter(p, prefix + names_.parameter(p));
    return list;
  }
  std::string cuda_arguments(const std::string& prefix) const {
    std::string list;
    for (std::uint32_t p = 0; p < k_.parameters.size(); ++p)
      list += (list.empty() ? "" : ", ") + prefix + names_.parameter(p);
    return list;
  }

 private:
  bool has_rows() const { return k_.domain_rank > 1; }
  std::uint32_t inner_dim() const { return k_.domain_rank - 1; }
  std::string extent(std::uint32_t dim) const { return names_.parameter(k_.dims[dim].extent); }
  std::string_view index_type() const { return k_.index_bits == 32 ? "int" : "long long"; }

  // ---- cuda ----
  void cuda_body(const std::string& x, const std::string& y, const std::string& rows_at_once) {
    const std::string_view I = index_type();
    w_.line("const {0} first = ({0})({1}){2};", I, x, lanes_ > 1 ? fmt::format(" * {}", lanes_) : "");
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

  std::string cuda_parameter(std::uint32_t p, const std::string& name) const {
    const parameter& x = k_.parameters[p];
    switch (x.kind) {
      case parameter_kind::input: return fmt::format("const {}*{} {}", c_type(x.type), alone(p), name);
      case parameter_kind::output: return fmt::format("{}*{} {}", c_type(x.type), alone(p), name);
      case parameter_kind::scalar: return fmt::format("const {} {}", register_type(x.type), name);
      case parameter_kind::magic:
      case parameter_kind::aligned: return fmt::format("const unsigned long long {}", name);
      case parameter_kind::fault: return fmt::format("index_fault* {}", name);
      case parameter_kind::launch: return fmt::format("const long long {}", name);
      default: return fmt::format("const {} {}", index_type(), name);
    }
  }

  std::string_view alone(std::uint32_t p) const { return k_.parameters[p].aliased ? "" : " __restrict__"; }

  void cuda_row() {
    if (lanes_ == 1) {
      w_.line("const {} i = first;", index_type());
      return instructions(placement::element);
    }
    {
      const auto whole = w_.block("if (first + {} <= {})", lanes_, extent(inner_dim()));
      packed_row();
    }
    const auto rest = w_.block("else for ({} i = first; i < {}; ++i)", index_type(), extent(inner_dim()));
    instructions(placement::element);
  }

  /// Whole vectors that are the same in every row are loaded before the loop over rows.
  void column_packs() {
    if (lanes_ == 1) return;
    for (std::uint32_t v = 0; v < k_.body.size(); ++v) {
      const inst& x = k_.body[v];
      if (!is_column(v)) continue;
      w_.line("pack<{}, {}> whole{} = {{}};", c_type(x.type), lanes_, x.attr);
      w_.line("if (first + {} <= {}) whole{} = {};", lanes_, extent(inner_dim()), x.attr, pack_load(v));
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
    packed_ = true;
    for (const bool near : {false, true})  // vectors that others are made of come first
      for (std::uint32_t v = 0; v < k_.body.size(); ++v)
        if (k_.body[v].code == op::load && place_[v] == placement::element && is_packed(k_.body[v]) &&
            is_near(k_.body[v]) == near)
          load_pack(v);
    for (std::uint32_t v = 0; v < k_.body.size(); ++v)
      if (k_.body[v].code == op::store && place_[v] == placement::element && is_packed(k_.body[v]))
        w_.line("pack<{}, {}> whole{};", c_type(k_.body[v].type), lanes_, k_.body[v].attr);
    {
      w_.line("#pragma unroll");
      const auto lane = w_.block("for (int lane = 0; lane < {}; ++lane)", lanes_);
      if (lanes_need_index()) w_.line("const {} i = first + lane;", index_type());
      instructions(placement::element);
    }
    for (const inst& x : k_.body)
      if (x.code == op::store && is_packed(x))
        w_.line("{}store_pack(&{}, whole{}, {});", condition(x.arg[1]), address(x.attr, "first"), x.attr,
                is_aligned(x.attr));
    packed_ = false;
  }

  /// Whether some element of a lane is addressed or computed from the inner counter itself.
  bool lanes_need_index() const {
    for (std::uint32_t v = 0; v < k_.body.size(); ++v) {
      const inst& x = k_.body[v];
      if (place_[v] < placement::element || is_packed(x)) continue;
      if (x.code == op::index || x.code == op::load || x.code == op::store || x.code == op::atomic ||
          x.code == op::bound)
        return true;
    }
    return false;
  }

  /// One bit of the flags for each of the first 64 accesses; the rest go element by element.
  static std::string is_aligned(std::uint32_t access) {
    return access < 64 ? fmt::format("aligned >> {} & 1", access) : "false";
  }

  std::string pack_load(std::uint32_t v) const {
    const inst& x = k_.body[v];
    return fmt::format("load_pack<{}, {}>(&{}, {})", c_type(x.type), lanes_, address(x.attr, "first"), is_aligned(x.attr));
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
    for (std::uint32_t p = 0; p < k_.parameters.size(); ++p) host_parameter(p);
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

  void host_parameter(std::uint32_t p) {
    const parameter& x = k_.parameters[p];
    std::string type;
    switch (x.kind) {
      case parameter_kind::input: type = fmt::format("const {}*", c_type(x.type)); break;
      case parameter_kind::output: type = fmt::format("{}*", c_type(x.type)); break;
      case parameter_kind::scalar: type = register_type(x.type); break;
      case parameter_kind::magic:
      case parameter_kind::aligned: return;
      case parameter_kind::fault: type = "index_fault*"; break;
      default: type = "long long"; break;
    }
    w_.line("const auto {} = *({} const*)arguments[{}];", names_.parameter(p), type, p);
  }

  void host_row() {
    // Fault records, atomics and user code may hold what a vector loop can't.
    const bool shared = !k_.checks.empty() ||
                        std::ranges::any_of(k_.body, [](const inst& x) { return x.code == op::atomic; });
    if (!shared && k_.calls.empty()) w_.line("#pragma omp simd");
    else if (!shared) w_.line("#pragma GCC ivdep");
    const auto loop = w_.block("for (long long i = begin; i < end; ++i)");
    instructions(placement::element);
  }

  // ---- both ----
  void rows_in_all() {
    std::string product = extent(0);
    for (std::uint32_t d = 1; d < inner_dim(); ++d) product += " * " + extent(d);
    w_.line("const {} rows = {};", index_type(), product);
  }

  /// Counters d0, d1, ... of the outer dims from the row number.
  void find_row() {
    const std::string_view I = index_type();
    if (inner_dim() == 1) return w_.line("const {} d0 = row;", I);
    std::string rest = "row";
    for (std::uint32_t d = inner_dim() - 1; d > 0; --d) {
      const std::string next = fmt::format("row{}", d);
      if (d_ == dialect::cuda && k_.index_bits == 32) {
        const std::string m = names_.parameter(magic_of_dim(d));
        w_.line("const int {} = fast_divide({}, (unsigned){}, (unsigned)({} >> 32));", next, rest, m, m);
      } else {
        w_.line("const {} {} = {} / {};", I, next, rest, extent(d));
      }
      w_.line("const {} d{} = {} - {} * {};", I, d, rest, next, extent(d));
      rest = next;
    }
    w_.line("const {} d0 = {};", I, rest);
  }

  /// The magics of dims 1, 2, ... are the last of their kind, in order.
  std::uint32_t magic_of_dim(std::uint32_t d) const {
    std::uint32_t left = inner_dim() - d;
    for (auto p = static_cast<std::uint32_t>(k_.parameters.size()); p-- > 0;)
      if (k_.parameters[p].kind == parameter_kind::magic && --left == 0) return p;
    throw_internal_error("no multiplier for a row's extent");
  }

  void instructions(placement p) {
    here_ = p;
    for (std::uint32_t v = 0; v < k_.body.size(); ++v)
      if (place_[v] == p) v = instruction(v);
  }

  /// Emits one instruction, or a reduction whole; returns the last instruction dealt with.
  std::uint32_t instruction(std::uint32_t v) {
    const inst& x = k_.body[v];
    switch (x.code) {
      case op::loop: return reduction(v);
      case op::scalar: break;
      case op::load: load(v); break;
      case op::store: store(v); break;
      case op::atomic: atomic(v); break;
      case op::bound: bound(v); break;
      case op::call: user_call(v); break;
      case op::in_range:
        w_.line("const bool {} = good{}{};", names_.value(value{v}), raw(x.arg[0]),
                x.arg[1] == value::none ? "" : " && " + names_.value(x.arg[1]));
        break;
      default:
        w_.line("const {} {} = {};", value_type(k_, x), names_.value(value{v}), expression(k_, names_, v, d_));
    }
    return v;
  }

  std::string address(std::uint32_t a, std::string_view inner) const {
    const std::string f = names_.form(k_.accesses[a].form, inner);
    return fmt::format("{}[{}]", names_.parameter(k_.accesses[a].pointer), f);
  }

  void load(std::uint32_t v) {
    const inst& x = k_.body[v];
    const std::string element = packed_ && place_[v] == placement::element && is_packed(x)
                                    ? fmt::format("whole{}.at[lane]", x.attr)
                                    : address(x.attr, "i");
    const bool small = x.type == dtype::f16 || x.type == dtype::bf16;
    std::string text = small ? fmt::format("to_float({})", element) : element;
    if (x.arg[0] != value::none) text = fmt::format("{} ? {} : ({})0", names_.value(x.arg[0]), text, register_type(x.type));
    w_.line("const {} {} = {};", register_type(x.type), names_.value(value{v}), text);
  }

  void store(std::uint32_t v) {
    const inst& x = k_.body[v];
    const std::string_view convert = storing_function(x.type);
    const std::string element = packed_ && is_packed(x) ? fmt::format("whole{}.at[lane]", x.attr) : address(x.attr, "i");
    const std::string when = condition(packed_ && is_packed(x) ? value::none : x.arg[1]);
    if (convert.empty()) w_.line("{}{} = {};", when, element, operand(k_, names_, x.arg[0]));
    else w_.line("{}{} = {}({});", when, element, convert, names_.value(x.arg[0]));
  }

  /// "if (v3) " or nothing.
  std::string condition(value predicate) const {
    return predicate == value::none ? "" : fmt::format("if ({}) ", names_.value(predicate));
  }

  void atomic(std::uint32_t v) {
    const inst& x = k_.body[v];
    const std::string element = address(x.attr, "i"), fresh = operand(k_, names_, x.arg[0]), when = condition(x.arg[1]);
    const bool adds = x.combine == op::add || x.combine == op::subtract;
    if (adds && size_of(x.type) >= 4)
      return w_.line("{}add_at(&{}, {});", when, element, x.combine == op::add ? fresh : negation(x.type, fresh));
    const std::string_view in = size_of(x.type) == 2 && is_real(x.type) ? "to_float" : "";
    const std::string_view out = storing_function(x.type);
    w_.line("{}combine_at(&{}, [&]({} element) -> {} {{", when, element, c_type(x.type), c_type(x.type));
    w_.line("  const {} old = {}(element);", register_type(x.type), in);
    w_.line("  return {}({});", out, combination(x, k_[x.arg[0]].type, "old", fresh));
    w_.line("}});");
  }

  void bound(std::uint32_t v) {
    const inst& x = k_.body[v];
    std::string position = here_ == placement::once ? "0" : has_rows() ? fmt::format("(long long)row * {}", extent(inner_dim())) : "";
    if (here_ == placement::element) position += position.empty() ? "i" : " + i";
    const std::string checked = fmt::format("checked_index<{}>({}, {}, good{}, fault, launch, {}, {})", index_type(),
                                            names_.value(x.arg[0]), names_.parameter(k_.checks[x.attr].size), v, x.attr,
                                            position);
    const std::string name = names_.value(value{v});
    w_.line("bool good{} = false;", v);
    if (x.arg[1] == value::none) return w_.line("const {} {} = {};", index_type(), name, checked);
    w_.line("{} {} = 0;", index_type(), name);
    w_.line("{}{} = {};", condition(x.arg[1]), name, checked);
  }

  void user_call(std::uint32_t v) {
    const call& c = k_.calls[k_.body[v].attr];
    std::string list;
    for (std::uint32_t a = 0; a < c.count; ++a)
      list += (a ? ", " : "") + operand(k_, names_, k_.call_operands[c.first + a]);
    for (std::uint32_t o = 0; o < c.outputs; ++o) {
      w_.line("{} result{}_{} = {{}};", c_type(c.kernel->output_types[o]), v, o);
      list += fmt::format("{}result{}_{}", list.empty() ? "" : ", ", v, o);
    }
    w_.line("{}({});", users_.function_of(*c.kernel), list);
  }

  std::uint32_t reduction(std::uint32_t v) {
    const loop_dims& dims = k_.loops[k_.body[v].attr];
    const std::uint32_t close = end_of_loop(v);
    const inst& r = k_.body[close];
    const bool finds = r.code == op::reduce_argmin || r.code == op::reduce_argmax;
    w_.line("{} total{};", accumulator_type(k_, r), close);
    if (finds) w_.line("long long place{} = 0;", close);
    {
      std::vector<std::unique_ptr<writer::scope>> open;
      for (std::uint32_t d = dims.first; d < dims.first + dims.count; ++d)
        open.emplace_back(new writer::scope(w_.block("for ({0} d{1} = 0; d{1} < {2}; ++d{1})", index_type(), d, extent(d))));
      for (std::uint32_t inside = v + 1; inside < close; ++inside) inside = instruction(inside);
      w_.line("total{}.add({}{});", close, operand(k_, names_, r.arg[0]), finds ? fmt::format(", place{}++", close) : "");
      while (!open.empty()) open.pop_back();
    }
    const std::string_view rounded = rounding_function(r.type);
    w_.line("const {} {} = {};", register_type(r.type), names_.value(value{close}),
            rounded.empty() ? fmt::format("total{}.value()", close) : fmt::format("{}(total{}.value())", rounded, close));
    return close;
  }

  std::uint32_t end_of_loop(std::uint32_t loop) const {
    for (std::uint32_t v = loop + 1; v < k_.body.size(); ++v)
      if (is_reduction(k_.body[v].code) && raw(k_.body[v].arg[1]) == loop) return v;
    throw_internal_error("a loop is never closed");
  }

  const kernel& k_;
  dialect d_;
  int lanes_;
  bool packed_ = false;
  placement here_ = placement::once;  ///< of the statements being written; those in reductions' loops go with their loop
  name_table names_;
  std::vector<placement> place_;
  const user_code& users_;
  writer& w_;
};

/// The kernel that runs each part in blocks of its own.
void cuda_parts(const std::vector<emitter>& parts, const std::string& name, writer& w) {
  std::string parameters;
  for (std::size_t k = 0; k < parts.size(); ++k)
    parameters += fmt::format("{0}const int p{1}_across, const int p{1}_down, const int p{1}_shift, {2}",
                              k ? ", " : "", k, parts[k].cuda_parameters(fmt::format("p{}_", k)));
  const auto body = w.block("extern \"C\" __global__ void __launch_bounds__(256) {}({})", name, parameters);
  w.line("int block = blockIdx.x;");
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const std::string p = fmt::format("p{}_", k);
    {
      const auto own = w.block("if (block < {0}across * {0}down)", p);
      w.line("const int height = blockDim.x >> {}shift;", p);
      w.line("const long long x = ((long long)(block % {0}across) << {0}shift) + "
             "(threadIdx.x & ((1 << {0}shift) - 1));", p);
      w.line("const long long y = (long long)(block / {0}across) * height + (threadIdx.x >> {0}shift);", p);
      w.line("return {}_{}(x, y, (long long){}down * height, {});", name, k, p, parts[k].cuda_arguments(p));
    }
    w.line("block -= {0}across * {0}down;", p);
  }
}

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
      if (i.code == op::call) word = k->calls[i.attr].kernel->name;
      else if ((is_elementwise(i.code) && i.code != op::convert) || is_reduction(i.code)) word = info(i.code).name;
      if (!word.empty() && seen.size() < 3 && seen.insert(word).second) name += "_" + word;
    }
  if (seen.empty()) name += "_copy";
  return name + fmt::format("_{:08x}", static_cast<std::uint32_t>(identity ^ identity >> 32));
}

std::string emit(kernel_list parts, const std::string& name, dialect d) {
  const user_code users(parts);
  writer w;
  if (parts.size() == 1) {
    emitter(*parts[0], users, d, w).whole(name);
  } else {
    std::vector<emitter> each;
    for (const kernel* k : parts) each.emplace_back(*k, users, d, w);
    for (std::size_t k = 0; k < parts.size(); ++k) each[k].part(fmt::format("{}_{}", name, k));
    if (d == dialect::cuda) cuda_parts(each, name, w);
    else host_parts(parts.size(), name, w);
  }
  const std::string user = users.source(d);
  std::string text = prelude_for(user + w.text(), d);
  if (!text.empty()) text += '\n';
  return text + user + w.text();
}

}  // namespace sinter::jit
