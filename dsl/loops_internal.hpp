// Scatters in the bodies of while_loop and for_loop. Not installed.
#pragma once

#include "dsl/index_internal.hpp"
#include "jit/loops.hpp"

#include <optional>
#include <string_view>
#include <vector>

namespace sinter::loops {

/// An element of an array that each iteration of a body writes to.
struct body_scatter {
  array target;  ///< before the loop
  array after;   ///< a placeholder until the loop has been recorded
  array index, value;
  std::optional<array> asked;  ///< boolean: whether it is; none: always
  writing how;
};

/// While it lives, bodies that this thread records may scatter.
class body_scatters {
 public:
  /// `allowed`: else they are errors, as other writes are.
  explicit body_scatters(std::string_view name, bool allowed = true);
  ~body_scatters();
  body_scatters(const body_scatters&) = delete;
  body_scatters& operator=(const body_scatters&) = delete;

  bool any() const { return !list_.empty(); }
  /// Of a loop that elements leave: what they write while the condition holds.
  void only_where(const array& condition);
  /// type_error when the body reads an array that it scatters to.
  void check_reads(const jit::loop_body& loop) const;
  /// Adds what is scattered as states to the loop, and to what these are at first.
  void add_states(jit::loop_body& loop, std::vector<array>& initial, const place& at);
  /// The arrays are what they were before and the loop's results scattered to them. `after`: the loop's states.
  void finish(const jit::loop_body& loop, const std::vector<jit::node_ref>& after, const place& at);

 private:
  friend array scattered_in_body(const array& a, const array& index, const operand& value, const writing& w);
  friend struct choosing;

  std::string_view name_;
  bool allowed_;
  body_scatters* around_;
  std::vector<body_scatter> list_;
  std::vector<array> chosen_;  ///< of the if_else around, innermost last
  std::size_t first_state_ = 0;
  bool is_finished_ = false;
};

/// What `a` is after the loop whose body this thread records, when each of its iterations writes value at index.
array scattered_in_body(const array& a, const array& index, const operand& value, const writing& w);

}  // namespace sinter::loops
