// Scatters in loops' bodies: what an element writes in each of its iterations are states of the loop, which leave a
// trail; the trails are scattered behind it, one element's iterations after another's.
#include "dsl/loops.hpp"
#include "dsl/loops_internal.hpp"
#include "jit/graph_internal.hpp"
#include "runtime/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

namespace sinter::loops {

using jit::op;

namespace {

thread_local constinit body_scatters* recording = nullptr;

constexpr std::string_view separate = "scatter to an array of its own, and combine the two after the loop";

/// Whether a value depends on what only has values while a loop runs.
template <class F>
bool any_below(jit::node* root, F&& is_wanted) {
  std::unordered_set<const jit::node*> seen;
  std::vector<jit::node_ref> stack{jit::node_ref::share(root)};
  while (!stack.empty()) {
    const jit::node_ref n = std::move(stack.back());
    stack.pop_back();
    if (!seen.insert(n.get()).second) continue;
    if (is_wanted(n.get())) return true;
    if (n->values()) continue;
    for (jit::node_ref& x : jit::pending_operands(n.get(), n->code)) stack.push_back(std::move(x));
  }
  return false;
}

bool commutes(op how) { return how == op::add || how == op::multiply || how == op::minimum || how == op::maximum; }

/// Of the loop's extents, as `type`.
array spread_over(const array& x, dtype type, const shape& extents, std::string_view what, const writing& w) {
  shape common;
  if (!broadcast_into(x.extents(), extents, common) || common != extents)
    throw_shape_error(fmt::format("{}: {} of shape {} in a loop over {}", w.name, what, to_string(x.extents()),
                                  to_string(extents)),
                      w.at, "each element of the states writes one value in an iteration");
  return wrap(jit::make_broadcast(jit::make_convert(x.node(), type, w.at).get(), extents, w.at));
}

/// x where it is asked for, else 0.
array where_asked(const array& asked, const array& x, const writing& w) {
  const jit::input in[] = {input_of(asked, w.at), input_of(x, w.at), input_of(scalar(false), w.at)};
  return convert(wrap(jit::record_choice(in, w.at)), x.type(), w.at);
}

}  // namespace

body_scatters::body_scatters(std::string_view name, bool allowed)
    : name_(name), allowed_(allowed), around_(std::exchange(recording, this)) {}

/// What failed leaves the arrays as they were.
body_scatters::~body_scatters() {
  recording = around_;
  for (std::size_t k = list_.size(); k-- > 0 && !is_finished_;)
    jit::become(list_[k].after.node(), list_[k].target.node());
}

array scattered_in_body(const array& a, const array& index, const operand& value, const writing& w) {
  body_scatters* body = recording;
  if (!body || !body->allowed_) jit::refuse_write_in_body(w.at);
  SINTER_CHECK(body && body->allowed_);
  if (body->around_)
    throw_type_error(fmt::format("{}: in the body of a loop inside another loop's", w.name), w.at,
                     "scatter in the outer body, or make one loop of the two");
  if (a.rank() != 1)
    throw_shape_error(fmt::format("{}: to an array of shape {} in the body of {}", w.name, to_string(a.extents()),
                                  body->name_),
                      w.at, "an element of a loop writes to one place: ravel the array, and index with i * width + j");
  const auto before = std::ranges::find_if(body->list_, [&](const body_scatter& s) { return s.after.node() == a.node(); });
  if (before == body->list_.end() && any_below(a.node(), [](const jit::node* n) { return n->code == op::state; }))
    throw_type_error(fmt::format("{}: to a value of the body of {}", w.name, body->name_), w.at,
                     "scatter to an array that was made before the loop");
  if (before != body->list_.end() && (before->how.how != w.how || !commutes(w.how)))
    throw_type_error(fmt::format("{}: the body of {} has written to the array in another way", w.name, body->name_),
                     w.at, separate);
  std::optional<array> asked;
  for (const array& c : body->chosen_) asked = asked ? *asked && c : c;
  const array given = value.node() ? wrap(jit::node_ref::share(value.node())) : constant(value.number(), a.type(), w.at);
  const array after = wrap(jit::make_node(op::state, a.type(), a.extents(), {}, w.at));
  body->list_.push_back({a, after, index, given, std::move(asked), w});
  return after;
}

void body_scatters::check_reads(const jit::loop_body& loop) const {
  std::vector<const jit::node*> written;
  for (const body_scatter& s : list_) {
    written.push_back(s.target.node());
    written.push_back(s.after.node());
  }
  const auto reads = [&](const array& x) {
    return any_below(x.node(), [&](const jit::node* n) { return std::ranges::find(written, n) != written.end(); });
  };
  const auto refuse = [&](bool bad) {
    if (!bad) return;
    throw_type_error(fmt::format("{}: the body of {} reads the array that it writes to", list_[0].how.name, name_),
                     list_[0].how.at, separate);
  };
  for (const jit::node_ref& n : loop.next) refuse(reads(wrap(jit::node_ref::share(n.get()))));
  if (loop.condition) refuse(reads(wrap(jit::node_ref::share(loop.condition.get()))));
  for (const body_scatter& s : list_) refuse(reads(s.index) || reads(s.value) || (s.asked && reads(*s.asked)));
}

void body_scatters::only_where(const array& condition) {
  for (body_scatter& s : list_) s.asked = s.asked ? condition && *s.asked : condition;
}

void body_scatters::add_states(jit::loop_body& loop, std::vector<array>& initial, const place& at) {
  first_state_ = loop.states.size();
  const shape extents = loop.states[0]->extents;
  const auto add = [&](const array& next, const array& first) {
    loop.states.push_back(jit::make_node(op::state, next.type(), extents, {}, at));
    loop.next.push_back(jit::node_ref::share(next.node()));
    initial.push_back(first);
  };
  for (const body_scatter& s : list_) {
    const auto first = [&](dtype type) { return constant(scalar(false), type, at); };
    array index = spread_over(s.index, i64, extents, "an index", s.how);
    array value = spread_over(s.value, s.value.type(), extents, "values", s.how);
    if (s.asked) {  // else its index isn't checked, and what it needs isn't read
      index = where_asked(*s.asked, index, s.how);
      value = where_asked(*s.asked, value, s.how);
    }
    add(index, first(i64));
    add(value, first(value.type()));
    if (s.asked) add(spread_over(*s.asked, boolean, extents, "a condition", s.how), first(boolean));
  }
}

void body_scatters::finish(const jit::loop_body& loop, const std::vector<jit::node_ref>& after, const place& at) {
  std::size_t state = first_state_;
  const auto trail = [&] {
    const std::size_t k = state++;
    return wrap(jit::record_trail(loop, k, after[k], at));
  };
  std::vector<array> results;
  for (const body_scatter& s : list_) {
    const array index = trail(), value = trail(), asked = s.asked ? trail() : array();
    array target = s.target;
    for (std::size_t k = 0; k < results.size(); ++k)
      if (list_[k].after.node() == target.node()) target = results[k];
    const indexed_axis indexed[] = {{0, &index}};
    const picks p = pick(target.extents(), indexed, 0, s.how.at);
    results.push_back(scattered(target, p, input_of(value, s.how.at), s.how, false, s.asked ? &asked : nullptr));
  }
  for (std::size_t k = 0; k < list_.size(); ++k) jit::become(list_[k].after.node(), results[k].node());
  is_finished_ = true;
}

choosing::choosing(const array& condition, bool holds) : any_(recording != nullptr && condition.type() == boolean) {
  if (any_) recording->chosen_.push_back(holds ? condition : !condition);
}
choosing::~choosing() {
  if (any_) recording->chosen_.pop_back();
}

}  // namespace sinter::loops
