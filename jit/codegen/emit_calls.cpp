// Calls of users' kernels: what they are given, and what becomes of their outputs.
#include "jit/codegen/statements.hpp"
#include "jit/user_kernel.hpp"

namespace sinter::jit {

std::string statements::call_operand(const call& c, std::uint32_t k) const {
  return operand(k_, names_, k_.call_operands[c.first + k]);
}

std::string statements::raw_array(const call& c, std::uint32_t first, std::size_t rank,
                                  const std::string& position) const {
  const inst& memory = k_[k_.call_operands[c.first + first]];
  const access& a = k_.accesses[memory.attr];
  const auto list = [&](std::uint32_t from) {
    std::string text;
    for (std::uint32_t k = 0; k < rank; ++k) text += (k ? ", " : "") + call_operand(c, from + k);
    return text;
  };
  const bool viewed = memory.combine == op::view;
  const bool writes = k_.parameters[a.pointer].kind == parameter_kind::output;
  const std::string steps = viewed ? list(first + 1 + static_cast<std::uint32_t>(rank)) : "";
  return fmt::format("raw_array<{}{}, {}>{{{}, {{{}}}, {{{}}}, {}, fault, launch, {}, {}}}", writes ? "" : "const ",
                     c_type(memory.type), rank, names_.parameter(a.pointer), list(first + 1), steps, !viewed, a.column,
                     position);
}

std::string statements::struct_value(const call& c, std::uint32_t first, std::size_t p) const {
  std::string words;
  for (std::uint32_t k = 0; k < c.kernel->form.inputs[p]; ++k)
    words += (k ? ", " : "") + call_operand(c, first + k);
  return fmt::format("from_words<{}::{}>({})", users_.space_of(*c.kernel), c.kernel->inputs[p].type, words);
}

/// An output's variable: an element of an array where several loops meet.
std::string statements::output(std::uint32_t v, std::uint32_t o) const {
  return fmt::format("result{}_{}{}", v, o, names_.suffix(value{v}));
}

void statements::declare_outputs(std::uint32_t v) {
  const call& c = k_.calls[k_.body[v].attr];
  if (names_.is_array(value{v})) return;
  for (std::uint32_t o = 0; o < c.outputs; ++o)
    if (!c.kernel->outputs[o].is_raw) w_.line("{} {} = {{}};", c_type(c.kernel->output_types[o]), output(v, o));
}

std::string statements::outputs_of(std::uint32_t v, std::string list) {
  declare_outputs(v);
  for (std::uint32_t o = 0; o < k_.calls[k_.body[v].attr].outputs; ++o)
    list += fmt::format("{}{}", list.empty() ? "" : ", ", output(v, o));
  return list;
}

void statements::user_call(std::uint32_t v) {
  const call& c = k_.calls[k_.body[v].attr];
  const user_kernel& u = *c.kernel;
  std::string list;
  const auto add = [&](const std::string& text) { list += (list.empty() ? "" : ", ") + text; };
  call_cursor at(k_, c);
  const bool own_loop = !each_.empty();
  for (std::size_t p = 0; p < u.inputs.size(); ++p) {
    const std::uint32_t first = at.next_input(p);
    if (u.inputs[p].is_raw) {
      if (!own_loop) add(raw_array(c, first, u.form.inputs[p], here_.position));
    } else if (!own_loop || (u.form.numbers >> p & 1u) == 0) {
      add(u.inputs[p].is_struct ? struct_value(c, first, p) : call_operand(c, first));
    }
  }
  if (u.wants_position) add(call_operand(c, at.next()));
  if (u.wants_count) {
    const std::uint32_t count = at.next();
    if (!own_loop) add(call_operand(c, count));
  }
  if (u.wants_index) {
    std::string along;
    for (std::uint8_t axis = 0; axis < u.form.index_rank; ++axis)
      along += (axis ? ", " : "") + call_operand(c, at.next());
    add(fmt::format("loop_index<{}>{{{{{}}}, {}}}", u.form.index_rank, along, call_operand(c, at.next())));
  }
  declare_outputs(v);
  for (std::uint32_t o = 0; o < c.outputs; ++o) {
    if (u.outputs[o].is_raw) {
      const std::uint32_t first = at.next_array(u.form.outputs[o]);
      if (!own_loop) add(raw_array(c, first, u.form.outputs[o], here_.position));
      continue;
    }
    if (u.form.given) {
      const std::string before = call_operand(c, at.next());
      const std::string_view convert = storing_function(u.output_types[o]);
      w_.line("{} = {}({});", output(v, o), convert, before);
    } else if (names_.is_array(value{v})) {
      w_.line("{} = {{}};", output(v, o));
    }
    add(output(v, o));
  }
  w_.line("{}({});", own_loop ? each_ : users_.function_of(u), list);
}

std::uint32_t call_cursor::next_input(std::size_t p) {
  const user_kernel& u = *call_.kernel;
  if (u.inputs[p].is_raw) return next_array(u.form.inputs[p]);
  const std::uint32_t first = at_;
  at_ += u.inputs[p].is_struct ? u.form.inputs[p] : 1u;
  return first;
}

std::uint32_t call_cursor::next_array(std::uint32_t rank) {
  const std::uint32_t first = at_;
  const bool viewed = kernel_[kernel_.call_operands[call_.first + first]].combine == op::view;
  at_ += 1 + rank * (viewed ? 2 : 1);
  return first;
}

}  // namespace sinter::jit
