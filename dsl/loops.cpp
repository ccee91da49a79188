#include "dsl/loops.hpp"

#include "dsl/record_internal.hpp"
#include "jit/fold/trace_recorder.hpp"
#include "jit/loops.hpp"
#include "runtime/error.hpp"

#include <fmt/format.h>

namespace sinter::loops {

namespace {

std::vector<array> wrapped(const std::vector<jit::node_ref>& nodes) {
  std::vector<array> list;
  for (const jit::node_ref& n : nodes) list.push_back(wrap(jit::node_ref::share(n.get())));
  return list;
}

}  // namespace

std::vector<array> run(const std::vector<array>& states, condition_function condition, body_function body,
                       std::int64_t count, bool limited, std::string_view name, const place& at) {
  if (count < 0) throw_shape_error(fmt::format("{}: {} iterations", name, count), at);
  std::vector<jit::node*> initial;
  for (const array& s : states) initial.push_back(s.node());
  const jit::statements_paused no_statements;
  const jit::body_recording recording(name);
  const std::shared_ptr<jit::loop_body> loop = jit::begin_loop(initial, name, at);
  const std::vector<array> placeholders = wrapped(loop->states);
  loop->count = count;
  loop->limited = limited;
  if (condition) loop->condition = jit::node_ref::share(condition(placeholders).node());
  for (const array& x : body(wrap(jit::node_ref::share(loop->counter.get())), placeholders))
    loop->next.push_back(jit::node_ref::share(x.node()));
  return wrapped(jit::record_loop(loop, initial, name, at));
}

array choose(const array& condition, const operand& then, const operand& otherwise, const place& at) {
  if (condition.type() != boolean)
    throw_type_error(fmt::format("if_else: the condition is {}, not boolean", to_string(condition.type())), at,
                     "compare it with something, as in x > 0");
  const jit::input in[] = {input_of(condition, at), input_of(then), input_of(otherwise)};
  return wrap(jit::record_choice(in, at));
}

}  // namespace sinter::loops

namespace sinter {

array if_else(const array& condition, const operand& then, const operand& otherwise) {
  return loops::choose(condition, then, otherwise, then.at());
}

}  // namespace sinter
