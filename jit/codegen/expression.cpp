#include "jit/codegen/expression.hpp"

#include "runtime/error.hpp"

#include <fmt/format.h>

namespace sinter::jit {

namespace {

bool is_index(op code) { return code == op::index || code == op::quotient || code == op::bound; }

std::string_view prefix(parameter_kind kind) {
  switch (kind) {
    case parameter_kind::extent: return "n";
    case parameter_kind::input: return "a";
    case parameter_kind::output: return "out";
    case parameter_kind::scalar: return "c";
    case parameter_kind::coefficient: return "s";
    case parameter_kind::offset: return "o";
    case parameter_kind::size: return "size";
    case parameter_kind::divisor: return "q";
    case parameter_kind::magic: return "m";
    case parameter_kind::aligned: return "aligned";
    case parameter_kind::fault: return "fault";
    case parameter_kind::launch: return "launch";
    case parameter_kind::team: return "team";
    case parameter_kind::pieces: return "pieces";
    case parameter_kind::workspace: return "workspace";
    case parameter_kind::tickets: return "tickets";
    case parameter_kind::phase: return "phase";
    case parameter_kind::steps: return "steps";
  }
  return "";
}

/// Arithmetic whose overflow C++ leaves undefined for signed integers, or does in int for narrow unsigned ones.
bool may_overflow(op code) {
  return code == op::add || code == op::subtract || code == op::multiply || code == op::square || code == op::negative;
}

/// Operations whose f16 result is a value of the operands' own grid already.
bool is_exact(op code) {
  return code == op::select || code == op::minimum || code == op::maximum || code == op::fmin || code == op::fmax ||
         code == op::negative || code == op::absolute || code == op::sign || code == op::floor || code == op::ceil ||
         code == op::trunc || code == op::round || code == op::copysign;
}

std::string_view boolean_text(op code) {
  switch (code) {
    case op::add: return "{0} || {1}";
    case op::multiply: return "{0} && {1}";
    case op::square: return "{0}";
    case op::bit_not: return "!{0}";
    default: return info(code).text;
  }
}

std::string fill(std::string_view text, const std::string (&args)[3], std::string_view suffix) {
  std::string out;
  for (std::size_t k = 0; k < text.size(); ++k) {
    if (text[k] != '{') {
      out += text[k];
      continue;
    }
    if (text[k + 1] == 'f') out += suffix;
    else out += args[text[k + 1] - '0'];
    k += 2;
  }
  return out;
}

std::string convert_text(dtype from, dtype to, const std::string& x) {
  const std::string_view type = register_type(to);
  if (to == dtype::boolean)
    return is_complex(from) ? fmt::format("{0}.re != 0 || {0}.im != 0", x) : fmt::format("{} != 0", x);
  if (is_complex(to)) {
    if (is_complex(from)) return fmt::format("{}({})", type, x);
    return fmt::format("{0}({1}({2}), 0)", type, to == dtype::c64 ? "float" : "double", x);
  }
  if (is_complex(from)) return convert_text(from == dtype::c64 ? dtype::f32 : dtype::f64, to, x + ".re");
  const std::string_view rounded = rounding_function(to);
  if (!rounded.empty()) {
    const bool exact_in_float = is_real(from) ? from != dtype::f64 : size_of(from) < 4;
    return is_real(from) ? fmt::format("{}({})", rounded, x)
                         : fmt::format("{}(({}){})", rounded, exact_in_float ? "float" : "double", x);
  }
  if (is_integer(to) && is_real(from)) return fmt::format("to_integer<{}>({})", type, x);
  return fmt::format("({}){}", type, x);
}

/// The text of operation `i` on operands `args`, of which the first has dtype `in`.
std::string elementwise_text(const inst& i, dtype in, std::string (&args)[3]) {
  if (i.code == op::convert) return convert_text(in, i.type, args[0]);
  if (i.code == op::nextafter && size_of(i.type) == 2)
    return fmt::format("nextafter_{}({}, {})", i.type == dtype::f16 ? "float16" : "bfloat16", args[0], args[1]);
  if (is_integer(i.type) && may_overflow(i.code)) {
    const std::string_view wide = size_of(i.type) == 8 ? "unsigned long long" : "unsigned int";
    for (std::string& a : args)
      if (!a.empty()) a = fmt::format("({}){}", wide, a);
    return fmt::format("({})({})", c_type(i.type), fill(info(i.code).text, args, ""));
  }
  const std::string_view suffix = is_complex(in) ? "" : math_suffix(in);
  std::string text = fill(in == dtype::boolean ? boolean_text(i.code) : info(i.code).text, args, suffix);
  if (i.type == dtype::boolean)
    return i.code == op::bit_and || i.code == op::bit_or || i.code == op::bit_xor ? "bool(" + text + ")" : text;
  if (is_integer(i.type)) return i.code == op::select ? text : fmt::format("({})({})", c_type(i.type), text);
  const std::string_view rounded = rounding_function(i.type);
  if (!rounded.empty() && !is_exact(i.code)) return fmt::format("{}({})", rounded, text);
  return text;
}

}  // namespace

name_table::name_table(const kernel& k) : k_(k), arrays_(k.body.size()) {
  int next[32] = {};
  for (const jit::parameter& p : k.parameters) {
    const auto kind = static_cast<int>(p.kind);
    const bool only = p.kind >= parameter_kind::aligned && p.kind != parameter_kind::pieces;
    declared_.push_back(only ? std::string(prefix(p.kind)) : fmt::format("{}{}", prefix(p.kind), next[kind]++));
    parameters_.push_back(p.fixed == 0 ? declared_.back() : fmt::format("({})", p.number));
  }
  for (std::size_t d = 0; d < k.dims.size(); ++d) dims_.push_back(fmt::format("d{}", d));
}

std::string name_table::value(jit::value v) const {
  if (k_[v].code == op::scalar) return parameters_[k_[v].attr];
  return fmt::format("v{}{}", raw(v), suffix(v));
}

std::string name_table::form(std::uint32_t f, std::string_view inner) const {
  const jit::form& x = k_.forms[f];
  std::string text;
  for (std::uint32_t t = x.first; t < x.first + x.count; ++t) {
    const term& s = k_.terms[t];
    std::string atom = !s.is_dim() ? value(jit::value{s.atom & ~term::computed})
                       : s.atom + 1 == k_.domain_rank ? std::string(inner)
                                                      : dims_[s.atom];
    if (s.coefficient != term::unit) atom += " * " + parameters_[s.coefficient];
    text += (text.empty() ? "" : " + ") + atom;
  }
  if (x.offset != form::no_offset) text += (text.empty() ? "" : " + ") + parameters_[x.offset];
  return text.empty() ? "0" : text;
}

std::string value_type(const kernel& k, const inst& i) {
  if (is_index(i.code)) return k.index_bits == 32 ? "int" : "long long";
  return std::string(register_type(i.type));
}

std::string operand(const kernel& k, const name_table& names, value v) {
  if (k.index_bits == 32 && is_index(k[v].code)) return "(long long)" + names.value(v);
  return names.value(v);
}

std::string expression(const kernel& k, const name_table& names, std::uint32_t v, dialect d) {
  const inst& i = k.body[v];
  switch (i.code) {
    case op::index: return names.form(i.attr, "i");
    case op::inside: {
      const std::string_view natural = k.index_bits == 32 ? "unsigned" : "unsigned long long";
      return fmt::format("({0}){1} < ({0}){2}", natural, names.value(i.arg[0]), names.parameter(i.attr));
    }
    case op::quotient:
      if (d == dialect::cuda && k.index_bits == 32) {
        const std::string& m = names.parameter(i.attr + 1);
        return fmt::format("fast_divide({0}, (unsigned){1}, (unsigned)({1} >> 32))", names.value(i.arg[0]), m);
      }
      return fmt::format("{} / {}", names.value(i.arg[0]), names.parameter(i.attr));
    case op::result: {
      const std::string out = fmt::format("result{}_{}{}", raw(i.arg[0]), i.attr, names.suffix(i.arg[0]));
      const bool in_memory_type = k[i.arg[0]].code == op::call || k[i.arg[0]].code == op::reduce_call;
      return in_memory_type && size_of(i.type) == 2 && is_real(i.type) ? fmt::format("to_float({})", out) : out;
    }
    default: break;
  }
  SINTER_CHECK(is_elementwise(i.code));
  std::string args[3];
  for (int a = 0; a < 3; ++a)
    if (i.arg[a] != value::none) args[a] = operand(k, names, i.arg[a]);
  return elementwise_text(i, k[i.arg[0]].type, args);
}

std::string negation(dtype type, const std::string& x) {
  std::string args[3] = {x};
  return elementwise_text({op::negative, type}, type, args);
}

std::string combination(const inst& i, dtype in, const std::string& old, const std::string& fresh) {
  std::string args[3] = {in == i.type ? old : "(" + convert_text(i.type, in, old) + ")", fresh};
  const std::string text = elementwise_text({i.combine, in}, in, args);
  return in == i.type ? text : convert_text(in, i.type, "(" + text + ")");
}

std::string accumulator_type(const kernel& k, const inst& reduce) {
  const std::string_view in = register_type(k[reduce.arg[0]].type), out = register_type(reduce.type);
  const std::string_view narrow = k.index_bits == 32 ? ", int" : "";  // positions are counters' combinations
  switch (reduce.code) {
    case op::reduce_sum:
    case op::scan_sum: return fmt::format("sum_of<{}>", out);
    case op::reduce_prod:
    case op::scan_prod: return fmt::format("product_of<{}>", out);
    case op::reduce_min:
    case op::scan_min: return fmt::format("smallest_of<{}>", out);
    case op::reduce_max:
    case op::scan_max: return fmt::format("largest_of<{}>", out);
    case op::reduce_any: return "any_of";
    case op::reduce_all: return "all_of";
    case op::reduce_argmin: return fmt::format("position_of_smallest<{}{}>", in, narrow);
    case op::reduce_argmax: return fmt::format("position_of_largest<{}{}>", in, narrow);
    case op::reduce_plain_sum: return "plain_sum";
    default: throw_internal_error("not a reduction");
  }
}

}  // namespace sinter::jit
