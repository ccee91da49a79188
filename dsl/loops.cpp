#include "dsl/loops.hpp"

#include "dsl/create.hpp"
#include "dsl/loops_internal.hpp"
#include "dsl/reduce.hpp"
#include "jit/engine.hpp"
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

std::vector<jit::node*> nodes_of(const std::vector<array>& list) {
  std::vector<jit::node*> nodes;
  for (const array& a : list) nodes.push_back(a.node());
  return nodes;
}

/// A loop with a condition: its results, and a loop of as many iterations as any element needs, in which those that
/// have left go on with the states that they left with. Waits for that number.
std::vector<array> counted(jit::loop_body& loop, const std::vector<array>& states, std::string_view name,
                           const place& at) {
  auto first = std::make_shared<jit::loop_body>(loop);  // of the same placeholders: it is evaluated here
  const array trips = wrap(jit::make_node(jit::op::state, i64, loop.states[0]->extents, {}, at));
  first->states.push_back(jit::node_ref::share(trips.node()));
  first->next.push_back(jit::node_ref::share(record(jit::op::add, input_of(trips, at), input_of(scalar(1), at), at).node()));
  std::vector<array> initial = states;
  initial.push_back(constant(scalar(0), i64, at));
  std::vector<array> results = wrapped(jit::record_loop(first, nodes_of(initial), name, at));
  const array most = results.back().size() > 0 ? max(results.back()) : constant(scalar(0), i64, at);
  results.back() = most;
  jit::evaluate(nodes_of(results), at);
  loop.count = most.item<std::int64_t>(at);
  results.pop_back();
  const array holds = wrap(std::move(loop.condition));
  for (std::size_t k = 0; k < states.size(); ++k) {
    const jit::node_ref& state = loop.states[k];
    const jit::input in[] = {input_of(holds, at), {loop.next[k].get(), {}, at}, {state.get(), {}, at}};
    if (loop.changes(k)) loop.next[k] = jit::record_choice(in, at);
  }
  return results;
}

/// Records the loop, and what is scattered in it behind it.
std::vector<array> with_scatters(body_scatters& scatters, const std::shared_ptr<jit::loop_body>& loop,
                                 const std::vector<array>& states, std::string_view name, const place& at) {
  std::vector<array> initial = states, results;
  scatters.check_reads(*loop);
  if (loop->condition) {
    scatters.only_where(wrap(jit::node_ref::share(loop->condition.get())));
    results = counted(*loop, states, name, at);
  }
  scatters.add_states(*loop, initial, at);
  const std::vector<jit::node_ref> after = jit::record_loop(loop, nodes_of(initial), name, at);
  scatters.finish(*loop, after, at);
  if (results.empty()) results = wrapped({after.begin(), after.begin() + static_cast<std::ptrdiff_t>(states.size())});
  return results;
}

}  // namespace

std::vector<array> run(const std::vector<array>& states, condition_function condition, body_function body,
                       std::int64_t count, bool limited, std::string_view name, const place& at) {
  if (count < 0) throw_shape_error(fmt::format("{}: {} iterations", name, count), at);
  const std::vector<jit::node*> initial = nodes_of(states);
  const jit::statements_paused no_statements;
  body_scatters scatters(name);
  const std::shared_ptr<jit::loop_body> loop = jit::begin_loop(initial, name, at);
  loop->count = count;
  loop->limited = limited;
  {
    const jit::body_recording recording(name);
    const std::vector<array> placeholders = wrapped(loop->states);
    if (condition) loop->condition = jit::node_ref::share(condition(placeholders).node());
    for (const array& x : body(wrap(jit::node_ref::share(loop->counter.get())), placeholders))
      loop->next.push_back(jit::node_ref::share(x.node()));
  }
  if (!scatters.any()) return wrapped(jit::record_loop(loop, initial, name, at));
  return with_scatters(scatters, loop, states, name, at);
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
