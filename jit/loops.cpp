#include "jit/loops.hpp"

#include "jit/graph_internal.hpp"
#include "jit/user_kernel.hpp"
#include "runtime/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace sinter::jit {

namespace {

constexpr std::int32_t deepest_nest = 8;

thread_local constinit std::string_view recorded_loop;  // empty: none

/// What a value of the body depends on: nothing of the loop, the iteration's number, or states.
enum class depends : std::uint8_t { not_at_all, on_counter, on_states };

std::vector<node_ref> operands_of(node* n) { return pending_operands(n, n->code); }

/// Sorts the body's nodes by what they depend on, and checks that states are used element by element.
class body_walk {
 public:
  body_walk(const loop_body& body, std::string_view name, const place& at) : body_(body), name_(name), at_(at) {
    for (const node_ref& s : body.states) found_[s.get()] = depends::on_states;
    found_[body.counter.get()] = depends::on_counter;
  }

  /// Operands first, without recursion.
  void run(node* root) {
    std::vector<std::pair<node*, std::size_t>> stack{{root, 0}};
    while (!stack.empty()) {
      const auto [n, next] = stack.back();
      if (found_.contains(n)) {
        stack.pop_back();
        continue;
      }
      const std::vector<node_ref>& operands = operands_.try_emplace(n, operands_of(n)).first->second;
      if (next < operands.size()) {
        ++stack.back().second;
        stack.push_back({operands[next].get(), 0});
        continue;
      }
      stack.pop_back();
      settle_kind(n, operands);
    }
  }

  bool is_inside(const node* n) const { return found_.at(n) != depends::not_at_all; }

  /// Adds the operands that come from around the loop.
  void capture(std::vector<node*>& captured, std::vector<std::pair<const node*, std::uint32_t>>& held) const {
    const auto add = [&](node* n) {
      if (is_inside(n) || (!checks_ && is_number(n))) return;
      const auto known = std::ranges::find(captured, n);
      if (known == captured.end()) {
        captured.push_back(n);
        held.push_back({n, 1});
      } else {
        ++held[static_cast<std::size_t>(known - captured.begin())].second;
      }
    };
    for (node* n : inside_)
      for (const node_ref& x : operands_.at(n)) add(x.get());
    for (const node_ref& n : body_.next) add(n.get());
    if (body_.condition) add(body_.condition.get());
  }

  /// What from around the loop its string kernels read anywhere, as may those of loops inside.
  std::vector<const node*> read_anywhere() const {
    std::vector<const node*> whole;
    for (node* n : inside_) {
      const std::vector<node_ref>& operands = operands_.at(n);
      for (std::size_t k = 0; k < operands.size(); ++k)
        if (is_whole(n, k, operands[k].get()) && !is_inside(operands[k].get())) whole.push_back(operands[k].get());
    }
    return whole;
  }

  /// Numbers, and positions, are part of the launches that use them: nothing to be computed before.
  static bool is_number(const node* n) {
    while (n->code == op::view && !n->values()) n = n->operands()[0];
    return (n->code == op::scalar || n->code == op::iota) && !n->values();
  }

  /// For bodies of whole-array operations.
  void allow_everything() { checks_ = false; }

  bool moves() const {
    return std::ranges::any_of(inside_, [](const node* n) {
      if (n->code == op::iterate) return n->facts->loop->moves;
      return !is_elementwise(n->code) && !is_fused_call(n->code) && n->code != op::result && n->code != op::state;
    });
  }

  std::int32_t operations() const {
    std::int64_t count = 0;
    for (const node* n : inside_) count += n->code == op::iterate ? n->facts->loop->operations + 1 : 1;
    return static_cast<std::int32_t>(std::min<std::int64_t>(count, 1 << 28));
  }

  std::int32_t nesting() const {
    std::int32_t deepest = 0;
    for (const node* n : inside_)
      if (n->code == op::iterate) deepest = std::max(deepest, n->facts->loop->nesting);
    return deepest + 1;
  }

 private:
  void settle_kind(node* n, const std::vector<node_ref>& operands) {
    depends d = depends::not_at_all;
    for (const node_ref& x : operands) d = std::max(d, found_.at(x.get()));
    found_[n] = d;
    if (d == depends::not_at_all) return;
    inside_.push_back(n);
    if (checks_ && (is_scan(n->code) || n->code == op::scatter || n->code == op::lone_call))
      throw_type_error(fmt::format("{}: the body has a {} of what changes in each iteration", name_,
                                   is_scan(n->code)             ? "scan"
                                   : n->code == op::scatter     ? "scatter"
                                                                : "string kernel that runs alone"),
                       n->site, "each element runs the loop by itself; use a loop of whole-array statements instead");
    if (d == depends::on_states && checks_) check(n, operands);
  }

  static bool is_whole(const node* n, std::size_t k, const node* operand) {
    if (n->code == op::iterate) return std::ranges::find(n->facts->loop->whole, operand) != n->facts->loop->whole.end();
    return reads_anywhere(n, k);
  }

  void check(const node* n, const std::vector<node_ref>& operands) const {
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (found_.at(operands[k].get()) != depends::on_states) continue;
      if (reads_own_element(n, k) && !is_whole(n, k, operands[k].get())) continue;
      if (n->code == op::gather && k > 0) continue;
      throw_type_error(
          fmt::format("{}: the body reads other elements of a state than its own ({})", name_, info(n->code).name),
          n->site, "each element runs the loop by itself; use a loop of whole-array statements instead");
    }
  }

  bool checks_ = true;
  const loop_body& body_;
  std::string_view name_;
  const place& at_;
  std::unordered_map<const node*, depends> found_;
  std::unordered_map<node*, std::vector<node_ref>> operands_;
  std::vector<node*> inside_;
};

std::string ordinal(std::size_t k) { return fmt::format("state {}", k); }

/// A next state in its state's dtype and shape.
node_ref fitted(const node_ref& next, const node* state, std::size_t k, std::string_view name, const place& at) {
  node_ref n = next;
  if (n->code == op::scalar && n->type != state->type) n = make_scalar(n->number, state->type, at);
  if (n->type != state->type)
    throw_type_error(fmt::format("{}: {} is {}, but the body makes it {}", name, ordinal(k), to_string(state->type),
                                 to_string(n->type)),
                     n->site, fmt::format("convert it in the body: .astype({})", to_string(state->type)));
  const input both[] = {{const_cast<node*>(state), {}, at}, {n.get(), {}, n->site}};
  if (broadcast_extents(both, name, at) != state->extents)
    throw_shape_error(fmt::format("{}: {} has shape {}, but the body makes it {}", name, ordinal(k),
                                  to_string(state->extents), to_string(n->extents)),
                      n->site, "start with states that have the shape of the result");
  return n;
}

void check_condition(const node* c, const loop_body& body, std::string_view name, const place& at) {
  if (c->type != dtype::boolean)
    throw_type_error(fmt::format("{}: the condition is {}, not boolean", name, to_string(c->type)), c->site,
                     "compare it with something, as in x > 0");
  const node* first = body.states[0].get();
  const input both[] = {{const_cast<node*>(first), {}, at}, {const_cast<node*>(c), {}, c->site}};
  if (broadcast_extents(both, name, at) != first->extents)
    throw_shape_error(fmt::format("{}: the condition has shape {}, the states have {}", name, to_string(c->extents),
                                  to_string(first->extents)),
                      c->site, "each element of the states has one condition");
}

}  // namespace

body_recording::body_recording(std::string_view name) noexcept : around_(std::exchange(recorded_loop, name)) {}
body_recording::~body_recording() { recorded_loop = around_; }
bool is_recording_body() noexcept { return !recorded_loop.empty(); }

void refuse_write_in_body(const place& at) {
  if (is_recording_body())
    throw_type_error(fmt::format("{}: the body writes to an array", recorded_loop), at,
                     "a body gives new values of its states; write to the array before or after the loop");
}

std::shared_ptr<loop_body> begin_loop(std::span<node* const> states, std::string_view name, const place& at) {
  if (states.empty()) throw_type_error(fmt::format("{}: no states", name), at, "give it the arrays that it changes");
  std::vector<input> inputs;
  for (node* s : states) inputs.push_back({s, {}, s->site});
  const shape extents = broadcast_extents(inputs, name, at);
  common_owner(op::iterate, states, at);
  auto body = std::make_shared<loop_body>();
  for (node* s : states) body->states.push_back(make_node(op::state, s->type, extents, {}, at));
  body->counter = make_node(op::state, dtype::i64, shape{}, {}, at);
  return body;
}

namespace {

/// The node of a loop and its results; states that stay what they are come without one.
std::vector<node_ref> recorded(op code, const std::shared_ptr<loop_body>& body, std::span<node* const> states,
                               const body_walk& walk, const place& at) {
  std::vector<node*> operands(states.begin(), states.end());
  std::vector<node*> captured;
  walk.capture(captured, body->held);
  operands.insert(operands.end(), captured.begin(), captured.end());
  body->operations = walk.operations();
  body->moves = walk.moves();
  body->whole = walk.read_anywhere();
  auto facts = std::make_unique<attribute>();
  facts->loop = body;
  const node_ref loop = make_node(code, states[0]->type, body->states[0]->extents, operands, at, std::move(facts));
  std::vector<node_ref> out;
  node* operand = loop.get();
  for (std::size_t k = 0; k < states.size(); ++k) {
    const node* state = body->states[k].get();
    if (!body->changes(k)) {
      out.push_back(make_broadcast(states[k], state->extents, at));
      continue;
    }
    auto which = std::make_unique<attribute>();
    which->output = static_cast<std::int32_t>(k);
    out.push_back(make_node(op::result, state->type, state->extents, {&operand, 1}, at, std::move(which)));
  }
  return out;
}

}  // namespace

std::vector<node_ref> record_loop(std::shared_ptr<loop_body> body, std::span<node* const> states, std::string_view name,
                                  const place& at) {
  SINTER_CHECK(body->next.size() == states.size() && body->states.size() == states.size());
  for (std::size_t k = 0; k < states.size(); ++k)
    body->next[k] = fitted(body->next[k], body->states[k].get(), k, name, at);
  if (body->condition) check_condition(body->condition.get(), *body, name, at);
  body_walk walk(*body, name, at);
  for (const node_ref& n : body->next) walk.run(n.get());
  if (body->condition) walk.run(body->condition.get());
  body->nesting = walk.nesting();
  if (body->nesting > deepest_nest)
    throw_type_error(fmt::format("{}: loops in loops, {} deep", name, body->nesting), at,
                     fmt::format("at most {} loops stand in each other", deepest_nest));
  return recorded(op::iterate, body, states, walk, at);
}

std::vector<node_ref> record_repeat(std::shared_ptr<loop_body> body, std::span<node* const> states, const place& at) {
  SINTER_CHECK(body->next.size() == states.size() && body->states.size() == states.size() && !body->condition);
  body_walk walk(*body, "", at);
  walk.allow_everything();
  for (const node_ref& n : body->next) walk.run(n.get());
  return recorded(op::repeat, body, states, walk, at);
}

node_ref record_trail(const loop_body& body, std::size_t state, const node_ref& after, const place& at) {
  SINTER_CHECK(!body.condition);
  shape extents = after->extents;
  extents.append(body.count);
  if (!body.changes(state) || body.count == 1) {
    axis_maps same;
    for (int k = 0; k < after->extents.rank(); ++k) same.push_back({0, 1, k});
    return make_view(after.get(), same, extents, at);
  }
  const node_ref loop = pending_operand(after.get(), op::result);
  SINTER_CHECK(loop && loop->code == op::iterate && loop->facts->loop.get() == &body);
  auto which = std::make_unique<attribute>();
  which->output = after->facts->output;
  node* operand = loop.get();
  return make_node(op::trail, after->type, extents, {&operand, 1}, at, std::move(which));
}

node_ref record_choice(std::span<const input> asked_then_otherwise, const place& at) {
  node_ref n = record(op::select, asked_then_otherwise, at);
  if (n->code == op::select && !n->facts) {
    n->facts = std::make_unique<attribute>();
    n->facts->conditional = true;
  }
  return n;
}

}  // namespace sinter::jit
