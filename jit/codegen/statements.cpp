#include "jit/codegen/statements.hpp"

#include "jit/user_kernel.hpp"
#include "runtime/error.hpp"

#include <memory>

namespace sinter::jit {

// ---- parameters ----

std::string statements::cuda_parameters(const std::string& prefix, bool alone) const {
  std::string list;
  for (std::uint32_t p = 0; p < k_.parameters.size(); ++p)
    list += (list.empty() ? "" : ", ") + cuda_parameter(p, prefix + names_.declared(p), alone);
  return list;
}

std::string statements::cuda_arguments(const std::string& prefix) const {
  std::string list;
  for (std::uint32_t p = 0; p < k_.parameters.size(); ++p)
    list += (list.empty() ? "" : ", ") + prefix + names_.declared(p);
  return list;
}

std::string statements::table_type(const block_table& t) const {
  return fmt::format("block_table<{}, {}, {}>", table_element(t), index_type(), names_.parameter(t.size + 1));
}

std::string_view statements::table_element(const block_table& t) const {
  for (const inst& i : k_.body)
    if (i.code == op::atomic && k_.accesses[i.attr].pointer == t.pointer)
      return i.reserved != 0 ? "unsigned" : c_type(i.type);
  throw_internal_error("a table that nothing goes to");
}

std::string statements::cuda_parameter(std::uint32_t p, const std::string& name, bool alone) const {
  const parameter& x = k_.parameters[p];
  const std::string_view restrict = x.aliased || !alone ? "" : " __restrict__";
  switch (x.kind) {
    case parameter_kind::input: return fmt::format("const {}*{} {}", c_type(x.type), restrict, name);
    case parameter_kind::output: return fmt::format("{}*{} {}", c_type(x.type), restrict, name);
    case parameter_kind::scalar: return fmt::format("const {} {}", register_type(x.type), name);
    case parameter_kind::magic:
    case parameter_kind::team:
    case parameter_kind::aligned: return fmt::format("const unsigned long long {}", name);
    case parameter_kind::fault: return fmt::format("index_fault* {}", name);
    case parameter_kind::launch: return fmt::format("const long long {}", name);
    case parameter_kind::workspace: return fmt::format("void* {}", name);
    case parameter_kind::tickets: return fmt::format("unsigned* {}", name);
    default: return fmt::format("const {} {}", index_type(), name);
  }
}

void statements::lane_counter(std::string_view name) {
  if (!draws_words(k_)) return w_.line("const {} {} = first + lane;", index_type(), name);
  // Said so, the compiler sees that words of all lanes are of one block, and makes it once.
  w_.line("__builtin_assume(first >= 0 && first % {} == 0);", lanes_);
  w_.line("const {} {} = first | lane;", index_type(), name);
}

void statements::host_parameters_declared() {
  for (std::uint32_t p = 0; p < k_.parameters.size(); ++p) host_parameter(p);
}

void statements::host_parameter(std::uint32_t p) {
  const parameter& x = k_.parameters[p];
  std::string type;
  switch (x.kind) {
    case parameter_kind::input: type = fmt::format("const {}*", c_type(x.type)); break;
    case parameter_kind::output: type = fmt::format("{}*", c_type(x.type)); break;
    case parameter_kind::scalar: type = register_type(x.type); break;
    case parameter_kind::magic:
    case parameter_kind::team:
    case parameter_kind::tickets:
    case parameter_kind::aligned: return;
    case parameter_kind::fault: type = "index_fault*"; break;
    case parameter_kind::workspace: type = "void*"; break;
    default: type = "long long"; break;
  }
  w_.line("const auto {} = *({} const*)arguments[{}];", names_.parameter(p), type, p);
}

std::string statements::product(std::uint32_t first, std::uint32_t count) const {
  std::string text;
  for (std::uint32_t d = first; d < first + count; ++d) text += (text.empty() ? "" : " * ") + extent(d);
  return text.empty() ? "1" : text;
}

void statements::find_row() {
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
std::uint32_t statements::magic_of_dim(std::uint32_t d) const {
  std::uint32_t left = inner_dim() - d;
  for (auto p = static_cast<std::uint32_t>(k_.parameters.size()); p-- > 0;)
    if (k_.parameters[p].kind == parameter_kind::magic && --left == 0) return p;
  throw_internal_error("no multiplier for a row's extent");
}

void statements::find_counters(const std::string& number, std::uint32_t first, std::uint32_t count) {
  const std::string_view I = index_type();
  std::string rest = number;
  for (std::uint32_t d = first + count - 1; d > first; --d) {
    const std::string next = fmt::format("{}_{}", number, d);
    w_.line("const {} {} = {} / {};", I, next, rest, extent(d));
    w_.line("const {} d{} = {} - {} * {};", I, d, rest, next, extent(d));
    rest = next;
  }
  if (count > 0) w_.line("const {} d{} = {};", I, first, rest);
}

// ---- instructions ----

std::uint32_t statements::instruction(std::uint32_t v) {
  const inst& x = k_.body[v];
  if (!known_[v].empty()) {
    declare(v, known_[v]);
    return v;
  }
  switch (x.code) {
    case op::loop: {
      const loop_nest::loop& l = nest_[nest_.number_of(v)];
      sequential_loop(l);
      return l.end;
    }
    case op::scalar:
    case op::memory: break;
    case op::load: load(v); break;
    case op::store: store(v); break;
    case op::atomic: atomic(v); break;
    case op::bound: bound(v); break;
    case op::call: user_call(v); break;
    case op::carry: {
      const std::uint32_t own = nest_.iterate_of(v);
      declare(v, fmt::format("result{}_{}{}", own, x.attr, names_.suffix(value{own})));
      break;
    }
    case op::proceed: proceed(v); break;
    case op::iterate: iterate(v); break;
    case op::in_range: {
      const std::string also = x.arg[1] == value::none ? "" : " && " + names_.value(x.arg[1]);
      declare(v, fmt::format("good{}{}{}", raw(x.arg[0]), names_.suffix(x.arg[0]), also));
      break;
    }
    default:
      if (is_reduction(x.code) || is_scan(x.code)) accumulate(v);
      if (is_scan(x.code)) found(v);
      if (!is_reduction(x.code) && !is_scan(x.code)) declare(v, expression(k_, names_, v, d_));
  }
  if (!saved_[v].empty()) w_.line("{} = {};", saved_[v], names_.value(value{v}));
  return v;
}

/// A value's definition: its own, or of the element of an array declared before.
void statements::declare(std::uint32_t v, const std::string& text) {
  const std::string name = names_.value(value{v});
  if (names_.is_array(value{v})) w_.line("{} = {};", name, text);
  else w_.line("const {} {} = {};", value_type(k_, k_.body[v]), name, text);
}

std::string statements::address(std::uint32_t a, std::string_view inner) const {
  const access& x = k_.accesses[a];
  if (x.staged != access::alone && k_.over == distribution::rows && on_cuda())
    return fmt::format("row{}[{} + ({})]", x.staged, names_.form(x.form, "0"), x.column);
  return fmt::format("{}[{}]", names_.parameter(x.pointer), names_.form(x.form, inner));
}

std::string statements::is_aligned(std::uint32_t access) {
  return access < first_lead_bit ? fmt::format("aligned >> {} & 1", access) : "false";
}

void statements::load(std::uint32_t v) {
  const inst& x = k_.body[v];
  const std::string element = element_[v].empty() ? address(x.attr, "i") : element_[v];
  const bool small = x.type == dtype::f16 || x.type == dtype::bf16;
  std::string text = small ? fmt::format("to_float({})", element) : element;
  if (x.arg[0] != value::none)
    text = fmt::format("{} ? {} : ({})0", names_.value(x.arg[0]), text, register_type(x.type));
  declare(v, text);
}

void statements::store(std::uint32_t v) {
  const inst& x = k_.body[v];
  const std::string_view convert = storing_function(x.type);
  const bool packed = !element_[v].empty();
  const std::string element = packed ? element_[v] : address(x.attr, "i");
  const std::string when = packed ? "" : condition(x.arg[1]);
  if (convert.empty()) w_.line("{}{} = {};", when, element, operand(k_, names_, x.arg[0]));
  else w_.line("{}{} = {}({});", when, element, convert, names_.value(x.arg[0]));
}

std::string statements::condition(value predicate) const {
  if (predicate == value::none) return here_.guard.empty() ? "" : fmt::format("if ({}) ", here_.guard);
  const std::string name = names_.value(predicate);
  return here_.guard.empty() ? fmt::format("if ({}) ", name) : fmt::format("if ({} && {}) ", here_.guard, name);
}

void statements::atomic(std::uint32_t v) {
  const inst& x = k_.body[v];
  const std::string element = address(x.attr, "i"), fresh = operand(k_, names_, x.arg[0]);
  const std::string when = condition(x.arg[1]);
  for (std::size_t t = 0; t < k_.tables.size(); ++t)
    if (k_.tables[t].pointer == k_.accesses[x.attr].pointer)
      return w_.line("{}table{}.add({}, {});", when, t, names_.form(k_.accesses[x.attr].form, "i"),
                     x.combine == op::add ? fresh : negation(x.type, fresh));
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

void statements::bound(std::uint32_t v) {
  const inst& x = k_.body[v];
  const std::string name = names_.value(value{v}), good = fmt::format("good{}{}", v, names_.suffix(value{v}));
  const std::string& size = names_.parameter(k_.checks[x.attr].size);
  const std::string checked = fmt::format("checked_index<{}>({}, {}, {}, fault, launch, {}, {})", index_type(),
                                          names_.value(x.arg[0]), size, good, x.attr, here_.position);
  const bool array = names_.is_array(value{v});
  if (!array) w_.line("bool {} = false;", good);
  if (x.arg[1] == value::none) return declare(v, checked);
  if (!array) w_.line("{} {} = 0;", index_type(), name);
  w_.line("if ({}) {} = {};", names_.value(x.arg[1]), name, checked);
}

// ---- loops ----

std::string statements::accumulator_of(std::uint32_t v) const {
  const inst& x = k_.body[v];
  return x.code == op::reduce_call ? users_.accumulator_of(*k_.calls[x.attr].kernel) : accumulator_type(k_, x);
}

std::string statements::total_of(std::uint32_t v) const {
  return total_[v].empty() ? fmt::format("total{}", v) : total_[v];
}

std::string statements::iteration(const loop_nest::loop& l) const {
  const loop_dims& dims = nest_.dims(l);
  std::string text = names_.dim(dims.first);
  for (std::uint32_t d = dims.first + 1; d < dims.first + dims.count; ++d)
    text = fmt::format("({} * {} + {})", text, extent(d), names_.dim(d));
  return text;
}

void statements::accumulate(std::uint32_t v) {
  const inst& x = k_.body[v];
  std::string list = operand(k_, names_, x.arg[0]);
  if (x.code == op::reduce_call) {
    const call& c = k_.calls[x.attr];
    for (std::uint32_t a = 1; a < c.count; ++a) list += ", " + operand(k_, names_, k_.call_operands[c.first + a]);
  }
  if (x.code == op::reduce_argmin || x.code == op::reduce_argmax) list += ", " + iteration(nest_[nest_.around(v)]);
  w_.line("{}.add({});", total_of(v), list);
}

void statements::found(std::uint32_t v) {
  const inst& x = k_.body[v];
  const std::string total = total_of(v);
  if (x.code == op::reduce_call) {
    const std::string list = outputs_of(v, "");
    return w_.line("{}.result({});", total, list);
  }
  const std::string_view rounded = rounding_function(x.type);
  declare(v, rounded.empty() ? total + ".value()" : fmt::format("{}({}.value())", rounded, total));
}

/// A serial loop's states, as they are before it.
void statements::declare_states(const loop_nest::loop& l) {
  for (std::uint32_t v = l.begin + 1; v < l.end; ++v) {
    const inst& x = k_.body[v];
    if (x.code == op::carry && nest_.iterate_of(v) == l.iterate)
      w_.line("{} result{}_{} = {};", register_type(x.type), l.iterate, x.attr, operand(k_, names_, x.arg[0]));
  }
}

void statements::proceed(std::uint32_t v) {
  const inst& x = k_.body[v];
  const std::string keeps_on = names_.value(x.arg[0]);
  if (in_batch_) return batched_proceed(v);
  if (x.attr == check::none) return w_.line("if (!{}) break;", keeps_on);
  const loop_nest::loop& l = nest_[nest_.around(v)];
  const std::uint32_t d = nest_.innermost(l);
  const std::string good = fmt::format("good{}", v);
  const auto leaves = w_.block("if (!{} || {} + 1 == {})", keeps_on, names_.dim(d), extent(d));
  w_.line("bool {};", good);
  w_.line("if ({}) checked_index<long long>({}, {}, {}, fault, launch, {}, {});", keeps_on, names_.dim(d),
          names_.parameter(k_.checks[x.attr].size), good, x.attr, here_.position);
  w_.line("break;");
}

/// Values are constants, so that states may change one after another.
void statements::iterate(std::uint32_t v) {
  const jit::iteration& t = k_.iterations[k_.body[v].attr];
  for (std::uint32_t s = 0; s < t.states; ++s)
    w_.line("result{}_{} = {};", v, s, operand(k_, names_, k_.call_operands[t.first + t.states + s]));
}

/// Whether a serial loop is so short a text that several iterations of it cost a compiler nothing.
bool statements::is_tight(const loop_nest::loop& l) const {
  constexpr std::uint32_t most_instructions = 40;
  if (l.iterate == loop_nest::none || l.end - l.begin > most_instructions) return false;
  for (std::uint32_t v = l.begin + 1; v < l.end; ++v)
    if (k_.body[v].code == op::loop || k_.body[v].code == op::call) return false;
  return true;
}

void statements::iteration_body(const loop_nest::loop& l, std::string_view number) {
  const std::uint32_t d = nest_.dims(l).first;
  if (!in_batch_ || spells_counter(l)) w_.line("const {} d{} = {};", index_type(), d, number);
  for (std::uint32_t v = l.begin + 1; v < l.end; ++v) v = instruction(v);
}

/// Whether the iteration's number is a value.
bool statements::spells_counter(const loop_nest::loop& l) const {
  return std::any_of(k_.body.begin() + l.begin, k_.body.begin() + l.end,
                     [](const inst& x) { return x.code == op::index; });
}

void statements::sequential_loop(const loop_nest::loop& l) {
  declare_states(l);
  if (runs_in_batches(l)) return batched_loop(l);
  for (const std::vector<std::uint32_t>* list : {&l.reductions, &l.scans})
    for (const std::uint32_t v : *list) w_.line("{} total{};", accumulator_of(v), v);
  {
    const loop_dims& dims = nest_.dims(l);
    std::vector<std::unique_ptr<writer::scope>> open;
    if (on_cuda() && is_tight(l)) w_.line("#pragma unroll {}", iterations_at_once(l));
    for (std::uint32_t d = dims.first; d < dims.first + dims.count; ++d) {
      const std::string more = asks_for_last(l) ? "" : fmt::format("d{} < {}", d, extent(d));
      open.emplace_back(new writer::scope(w_.block("for ({0} d{1} = 0; {2}; ++d{1})", index_type(), d, more)));
    }
    for (std::uint32_t v = l.begin + 1; v < l.end; ++v) v = instruction(v);
    while (!open.empty()) open.pop_back();
  }
  for (const std::uint32_t v : l.reductions) found(v);
}

}  // namespace sinter::jit
