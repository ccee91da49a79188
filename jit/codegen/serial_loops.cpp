// Serial loops that a cuda thread runs: how many iterations at once.
#include "jit/codegen/statements.hpp"

#include <algorithm>

namespace sinter::jit {

/// How often a loop is written out: its own counting costs a few instructions.
int statements::iterations_at_once(const loop_nest::loop& l) const {
  // 1000 steps of two additions on 1e7 particles, on an H200, in us: 868 with 4 iterations, 754 with 8, 696 with 16,
  // 670 with 32, 689 with 64.
  constexpr int usual = 4, most = 32, operations_at_once = 64;
  int operations = 0;
  for (std::uint32_t v = l.begin + 1; v < l.end; ++v) {
    const op code = k_.body[v].code;
    if (is_elementwise(code)) ++operations;
    else if (code != op::carry && code != op::iterate) return usual;
  }
  int times = most;
  while (times > usual && times * operations > operations_at_once) times /= 2;
  return times;
}

/// A loop's own `proceed`; loop_nest::none without one.
std::uint32_t statements::proceed_of(const loop_nest::loop& l) const {
  for (std::uint32_t v = l.begin + 1; v < l.end; ++v)
    if (k_.body[v].code == op::proceed && nest_.around(v) == nest_.number_of(l.begin)) return v;
  return loop_nest::none;
}

/// Whether it leaves the loop in the last iteration there is.
bool statements::asks_for_last(const loop_nest::loop& l) const {
  const std::uint32_t v = proceed_of(l);
  return v != loop_nest::none && k_.body[v].attr != check::none;
}

/// Whether iterations do nothing but cheap arithmetic, so that some may be run in vain.
bool statements::runs_in_batches(const loop_nest::loop& l) const {
  constexpr int most_cost = 16;  // of what costs more, leaving the loop is a small part
  if (!on_cuda() || !is_tight(l) || nest_.dims(l).count != 1 || !asks_for_last(l)) return false;
  int cost = 0;
  for (std::uint32_t v = l.begin + 1; v < l.end; ++v) {
    const op code = k_.body[v].code;
    if (code == op::proceed || code == op::iterate || code == op::carry || code == op::index) continue;
    if (!is_elementwise(code)) return false;
    cost += info(code).cost;
  }
  return cost <= most_cost;
}

/// What a condition is all of.
std::vector<value> statements::conditions_of(value all) const {
  std::vector<value> found, rest{all};
  while (!rest.empty()) {
    const value v = rest.back();
    rest.pop_back();
    const inst& x = k_[v];
    if (x.code == op::logical_and) rest.insert(rest.end(), {x.arg[1], x.arg[0]});
    else found.push_back(v);
  }
  return found;
}

std::optional<statements::counting> statements::counter_of(const loop_nest::loop& l, value condition) const {
  const inst& x = k_[condition];
  const bool turned = x.code == op::greater || x.code == op::greater_equal;
  if (!turned && x.code != op::less && x.code != op::less_equal) return std::nullopt;
  const value state = x.arg[turned], limit = x.arg[!turned];
  const auto is_fixed = [&](value v) { return raw(v) < l.begin; };
  const dtype type = k_[state].type;
  if (!is_integer(type) || size_of(type) > 4 || k_[state].code != op::carry || raw(state) < l.begin ||
      nest_.iterate_of(raw(state)) != l.iterate || !is_fixed(limit))
    return std::nullopt;
  const jit::iteration& t = k_.iterations[k_.body[l.iterate].attr];
  const inst& next = k_[k_.call_operands[t.first + t.states + k_[state].attr]];
  if (next.code != op::add || next.type != type) return std::nullopt;
  for (const int own : {0, 1})
    if (next.arg[own] == state && is_fixed(next.arg[1 - own]))
      return counting{state, next.arg[1 - own], limit, x.code == op::less_equal || x.code == op::greater_equal};
  return std::nullopt;
}

/// In a batch: what its counters say has been asked before it.
void statements::batched_proceed(std::uint32_t v) {
  const loop_nest::loop& l = nest_[nest_.around(v)];
  std::string more = fmt::format("more{}", l.iterate);
  for (const value c : conditions_of(k_.body[v].arg[0]))
    if (!counter_of(l, c)) more += " && " + names_.value(c);
  w_.line("more{} = {};", l.iterate, more);
}

/// Iterations in batches, of which only the whole is asked whether the loop should have ended in it: then it is taken
/// back, and its iterations run one at a time, as do those up to the limit.
void statements::batched_loop(const loop_nest::loop& l) {
  // Mandelbrot, 4096 x 4096 points and at most 256 iterations, on an H200, from nothing recorded to the end: 590 us
  // with each iteration asked, and 32 x 1 points a warp; 421 with batches after eight iterations that were asked; 500
  // where the first batch left states as they were from an end on. By hand 388 with counters asked in each iteration,
  // 310 without.
  constexpr int size = 8;
  const std::uint32_t states = k_.iterations[k_.body[l.iterate].attr].states;
  const std::string done = fmt::format("done{}", l.iterate);
  w_.line("{} {} = 0;", index_type(), done);
  std::string more = "true";
  std::size_t counters = 0;
  for (const value c : conditions_of(k_.body[proceed_of(l)].arg[0])) {
    const std::optional<counting> n = counter_of(l, c);
    if (!n) continue;
    const std::string name = fmt::format("range{}_{}", l.iterate, counters++);
    w_.line("const counter_range<{}> {}({}ll * {}, {} + {}ll);", register_type(k_[n->state].type), name, size - 1,
            operand(k_, names_, n->step), operand(k_, names_, n->limit), n->or_equal ? 1 : 0);
    more += fmt::format(" && {}.has(result{}_{})", name, l.iterate, k_[n->state].attr);
  }
  {
    const auto batches = w_.block("while ({} < {} - {})", done, extent(nest_.dims(l).first), size);
    for (std::uint32_t s = 0; s < states; ++s) w_.line("const auto before{} = result{}_{};", s, l.iterate, s);
    w_.line("bool more{} = {};", l.iterate, more);
    w_.line("#pragma unroll");
    {
      const auto each = w_.block("for (int step = 0; step < {}; ++step)", size);
      in_batch_ = true;
      iteration_body(l, done + " + step");
      in_batch_ = false;
    }
    w_.line("{} += {};", done, size);
    w_.line("if (more{}) continue;", l.iterate);
    w_.line("{} -= {};", done, size);
    for (std::uint32_t s = 0; s < states; ++s) w_.line("result{}_{} = before{};", l.iterate, s, s);
    w_.line("break;");
  }
  const auto single = w_.block("for (; ; ++{})", done);
  iteration_body(l, done);
}

}  // namespace sinter::jit
