// The text form of kernel IR, for dumps, explain() and golden files.
#include "jit/ir.hpp"
#include "jit/user_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sinter::jit {

namespace {

constexpr std::string_view role_names[] = {"n", "in", "out", "x", "s", "o", "size", "q", "magic", "aligned", "fault",
                                           "launch", "team", "pieces", "work", "tickets", "phase"};

class printer {
 public:
  explicit printer(const kernel& k) : kernel_(k) {}

  std::string run(const std::string& name) {
    header(name);
    for (std::size_t k = 0; k < kernel_.body.size(); ++k) {
      const inst& i = kernel_.body[k];
      if (i.code == op::end && depth_ > 1) --depth_;
      line(k, i);
      if (i.code == op::loop) ++depth_;
    }
    return std::move(out_);
  }

 private:
  std::string parameter(std::uint32_t p) const {
    if (p >= kernel_.parameters.size()) return fmt::format("?{}", p);
    return fmt::format("{}{}", role_names[static_cast<int>(kernel_.parameters[p].kind)], p);
  }

  static std::string name_of(value v) { return v == value::none ? "none" : fmt::format("%{}", raw(v)); }

  std::string range(std::uint32_t first, std::uint32_t count) const {
    std::string text;
    for (std::uint32_t d = first; d < first + count; ++d)
      text += fmt::format("{}d{} in [0, {})", d == first ? "" : ", ", d, parameter(kernel_.dims[d].extent));
    return text;
  }

  std::string form_text(std::uint32_t number) const {
    const form& f = kernel_.forms[number];
    std::string text;
    const auto add = [&](std::string_view summand) { text.append(text.empty() ? "" : " + ").append(summand); };
    for (std::uint32_t k = f.first; k < f.first + f.count; ++k) {
      const term& t = kernel_.terms[k];
      std::string atom = t.is_dim() ? fmt::format("d{}", t.atom) : fmt::format("%{}", t.atom & ~term::computed);
      if (t.coefficient != term::unit) atom.append("*").append(parameter(t.coefficient));
      add(atom);
    }
    if (f.offset != form::no_offset) add(parameter(f.offset));
    return text.empty() ? "0" : text;
  }

  static std::string condition(value v) { return v == value::none ? "" : " if " + name_of(v); }

  std::string element(std::uint32_t number) const {
    const access& a = kernel_.accesses[number];
    const std::string near = a.near == access::alone ? "" : fmt::format(" (access {} {:+})", a.near, a.shift);
    const bool tiled = kernel_.over == distribution::transposed && a.staged != access::alone;
    return fmt::format("{}[{}]{}{}", parameter(a.pointer), form_text(a.form), near, tiled ? " (staged)" : "");
  }

  std::string tiles_text() const {
    std::string text;
    for (const tiled_dim& t : kernel_.tiled)
      text += fmt::format("{}{} of d{}", text.empty() ? ", tiles: " : " x ", t.extent, t.dim);
    return text;
  }

  /// How loops lie over threads; nothing for kernels without loops.
  std::string distribution_text() const {
    constexpr std::string_view names[] = {"elements", "rows", "columns", "steps", "tiles", "transposed"};
    const kernel& k = kernel_;
    if (k.over == distribution::transposed) return tiles_text();
    if (k.loops.empty()) return "";
    std::string text = fmt::format(", {}", names[static_cast<int>(k.over)]);
    if (k.over == distribution::tiles) text += fmt::format(" of {} x {} results", k.tile.rows, k.tile.columns);
    if (k.lanes != 1) text += fmt::format(", {} lanes", k.lanes);
    if (k.whole != 0) text += ", whole vectors";
    if (k.unrolled != 0) text += ", unrolled";
    if (k.unrolled > 1) text += fmt::format(", {} at once", k.unrolled);
    if (k.kept != 0) text += fmt::format(", {} kept", k.kept);
    if (k.split != 0) text += ", split";
    if (k.over != distribution::elements) text += fmt::format(", {} threads", k.threads);
    return text;
  }

  void header(const std::string& name) {
    constexpr std::string_view modes[] = {"", ", strict math", ", fast math"};
    out_ = fmt::format("kernel {}({}-bit indices{}{})\n", name, kernel_.index_bits, modes[kernel_.math % 3],
                       distribution_text());
    if (kernel_.stage != 0) out_ += fmt::format("  stage {}, after all before it\n", kernel_.stage);
    for (const block_table& t : kernel_.tables)
      out_ += fmt::format("  {}: {} elements in each block's memory\n", parameter(t.pointer), parameter(t.size));
    for (std::uint32_t p = 0; p < kernel_.parameters.size(); ++p) {
      const parameter_kind kind = kernel_.parameters[p].kind;
      if (kind == parameter_kind::input || kind == parameter_kind::output || kind == parameter_kind::scalar)
        out_ += fmt::format("  {}: {}{}\n", parameter(p), sinter::to_string(kernel_.parameters[p].type),
                            kernel_.parameters[p].aliased ? ", aliased" : "");
    }
    out_ += fmt::format("for {}\n", range(0, kernel_.domain_rank));
  }

  std::string operands(const inst& i) const {
    std::string text;
    for (const value a : i.arg)
      if (a != value::none) text.append(text.empty() ? "" : ", ").append(name_of(a));
    return text;
  }

  std::string call_text(const inst& i) const {
    const call& c = kernel_.calls[i.attr];
    std::string list;
    for (std::uint32_t k = 0; k < c.count; ++k)
      list.append(k == 0 ? "" : ", ").append(name_of(kernel_.call_operands[c.first + k]));
    return fmt::format("{} {}({})", info(i.code).name, c.kernel ? c.kernel->name : "?", list);
  }

  std::string iterate_text(const inst& i) const {
    const iteration& t = kernel_.iterations[i.attr];
    std::string list;
    for (std::uint32_t k = t.states; k < 2 * t.states; ++k)
      list.append(k == t.states ? "" : ", ").append(name_of(kernel_.call_operands[t.first + k]));
    return fmt::format("iterate {} with {}", name_of(i.arg[1]), list);
  }

  std::string right_side(const inst& i) const {
    switch (i.code) {
      case op::scalar: return parameter(i.attr);
      case op::index: return fmt::format("index {}", form_text(i.attr));
      case op::quotient: return fmt::format("quotient {} / {}", name_of(i.arg[0]), parameter(i.attr));
      case op::inside: return fmt::format("inside {} in {}", name_of(i.arg[0]), parameter(i.attr));
      case op::bound:
        return fmt::format("bound {} in {}, check {}{}", name_of(i.arg[0]), parameter(kernel_.checks[i.attr].size),
                           i.attr, condition(i.arg[1]));
      case op::load:
        return fmt::format("load {}{}", element(i.attr), condition(i.arg[0]));
      case op::memory:
        return fmt::format("memory {}{}, check {}", parameter(kernel_.accesses[i.attr].pointer),
                           i.combine == op::view ? " with strides" : "", kernel_.accesses[i.attr].column);
      case op::loop: {
        const loop_dims& l = kernel_.loops[i.attr];
        return fmt::format("{}loop {}", l.serial ? "serial " : "", range(l.first, l.count));
      }
      case op::carry: return fmt::format("state {} of {}, first {}", i.attr, name_of(i.arg[1]), name_of(i.arg[0]));
      case op::proceed: return fmt::format("proceed if {}{}", name_of(i.arg[0]),
                                           i.attr == check::none ? "" : fmt::format(", check {}", i.attr));
      case op::iterate: return iterate_text(i);
      case op::call: return call_text(i);
      case op::reduce_call: return fmt::format("{} over {}", call_text(i), name_of(i.arg[1]));
      case op::result: return fmt::format("result {} of {}", i.attr, name_of(i.arg[0]));
      default: break;
    }
    if (is_reduction(i.code))
      return fmt::format("{} {} over {}", info(i.code).name, name_of(i.arg[0]), name_of(i.arg[1]));
    if (is_scan(i.code))
      return fmt::format("{} {} along {}", info(i.code).name, name_of(i.arg[0]), name_of(i.arg[1]));
    return fmt::format("{} {}", info(i.code).name, operands(i));
  }

  /// Which earlier value the instruction gives again, when it does.
  std::string again(std::size_t k) const {
    const std::vector<std::uint32_t>& origins = kernel_.origins;
    if (k >= origins.size()) return "";
    const auto first = std::find(origins.begin(), origins.end(), origins[k]) - origins.begin();
    return static_cast<std::size_t>(first) == k ? "" : fmt::format(", %{} again", first);
  }

  void line(std::size_t k, const inst& i) {
    out_.append(2 * depth_, ' ');
    if (i.code == op::store || i.code == op::atomic) {
      const std::string_view what = info(i.code == op::atomic ? i.combine : i.code).name;
      out_ += fmt::format("{}{} {} {}{}\n", i.code == op::atomic ? "atomic " : "", what, element(i.attr),
                          name_of(i.arg[0]), condition(i.arg[1]));
    } else if (i.code == op::end) {
      out_ += fmt::format("end {}\n", name_of(i.arg[0]));
    } else if (i.code == op::loop || i.code == op::call || i.code == op::reduce_call || i.code == op::iterate) {
      out_ += fmt::format("%{} = {}\n", k, right_side(i));
    } else {
      const std::string text = fmt::format("%{} = {}", k, right_side(i));
      out_ += fmt::format("{:<{}}  {}{}\n", text, depth_ < 20 ? 48 - 2 * depth_ : 8, sinter::to_string(i.type),
                          again(k));
    }
  }

  const kernel& kernel_;
  std::string out_;
  std::size_t depth_ = 1;  ///< of loops, the domain's counted
};

}  // namespace

std::string to_string(const kernel& k, const std::string& name) { return printer(k).run(name); }

}  // namespace sinter::jit
