// Loops inside a kernel, as the array graph holds them: op::iterate runs a body for each element of its states.
#pragma once

#include "jit/typing.hpp"

#include <string_view>
#include <vector>

namespace sinter::jit {

/// What an op::iterate runs for each element, or an op::repeat for whole arrays: a graph over placeholders (op::state).
/// Their operands are the states at first, then what the body needs of the graph around it.
struct loop_body {
  std::vector<node_ref> states;  ///< placeholders, of the loop's extents
  node_ref counter;              ///< placeholder of the iteration's number: 0-d i64
  node_ref condition;            ///< boolean, asked before each iteration; null: `count` iterations
  std::vector<node_ref> next;    ///< what each state becomes; the placeholder itself: it stays what it is
  std::int64_t count = 0;        ///< iterations; with a condition, the most there may be
  bool limited = false;          ///< a condition that still holds after `count` iterations is an error
  std::int32_t operations = 0;   ///< nodes of the body
  std::int32_t nesting = 1;      ///< loops in loops: 1 without any inside
  mutable std::vector<reference<runtime::buffer>> after;         ///< repeat: the states after it, once it has run
  std::vector<std::pair<const node*, std::uint32_t>> held = {};  ///< what is around the loop: references by the body
  std::vector<const node*> whole = {};  ///< what is around the loop and read anywhere by its string kernels
  bool moves = false;                                            ///< the body reads elements elsewhere than at its own

  bool changes(std::size_t k) const { return next[k].get() != states[k].get(); }
};

/// The most iterations that a loop may be said to have; more are as good as this many.
constexpr std::int64_t most_iterations = std::int64_t{1} << 62;

/// While it lives, this thread records the body of a loop of function `name`.
class body_recording {
 public:
  /// `whole`: the body may be one of whole-array operations.
  explicit body_recording(std::string_view name, bool whole = false) noexcept;
  ~body_recording();
  body_recording(const body_recording&) = delete;
  body_recording& operator=(const body_recording&) = delete;

 private:
  std::string_view around_;
  bool around_whole_;
};
/// Whether this thread records a loop's body. Nothing that depends on its states can be evaluated then.
bool is_recording_body() noexcept;
/// In a loop's body, type_error: what it writes to would be written once, not in each iteration. `target`: what is
/// written; where the body may be one of whole-array operations, that may be a value of its own.
void refuse_write_in_body(const place& at, node* target = nullptr);
/// Whether `n` is computed from placeholders.
bool depends_on_states(node* n);

/// Placeholders for states that all broadcast to one shape, and for the iteration's number. shape_error when they
/// don't; `name` is the function that the user called.
std::shared_ptr<loop_body> begin_loop(std::span<node* const> states, std::string_view name, const place& at);

/// The loop's states after it, once `body` has its condition, next, count and limited. A 0-d C++ number as a next state
/// takes the state's dtype. type_error or shape_error when a next state has another dtype or doesn't broadcast to the
/// loop's shape, when the condition isn't boolean, when the body moves elements of a state, or when loops nest too
/// deep. With `whole`, a counted loop that is in no other's body may move elements: it is then a record_repeat().
/// Launches nothing.
std::vector<node_ref> record_loop(std::shared_ptr<loop_body> body, std::span<node* const> states, std::string_view name,
                                  const place& at, bool whole = false);

/// Like record_loop, for a body of whole-array operations, which runs `count` times: placeholders stand for arrays, and
/// any operation may be applied to them. It runs before whatever needs its results is planned (run_opaque).
std::vector<node_ref> record_repeat(std::shared_ptr<loop_body> body, std::span<node* const> states, const place& at);

/// What a state is after each iteration, along one more axis, the last. `after`: what record_loop() gave for it, of a
/// loop without a condition, whose body this is.
node_ref record_trail(const loop_body& body, std::size_t state, const node_ref& after, const place& at);

/// Element by element, `then` where `asked` holds, else `otherwise`; the other one's elements are not read, nor are its
/// indices checked. dtypes and shapes as for op::select. Launches nothing.
node_ref record_choice(std::span<const input> asked_then_otherwise, const place& at);

}  // namespace sinter::jit
