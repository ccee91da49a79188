// The statements of a thread that wait: listed as they are recorded, folded into loops when there are many, and turned
// into array operations again when somebody needs what they compute.
#pragma once

#include "jit/epoch_map.hpp"
#include "jit/fold/foreseen.hpp"
#include "jit/fold/known_statement.hpp"
#include "jit/fold/statement.hpp"
#include "jit/fold/trace_folder.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sinter::jit {

/// A variable of a trace: memory that statements read and write in order. One that is written nowhere stands for an
/// array around the trace.
struct trace_slot {
  dtype type;
  shape extents;
  node_ref first;           ///< its value before the trace; null: it has none
  bool is_written = false;  ///< somewhere: reads of `first` itself go elsewhere
};

// Larger expressions are variables of their own, so that describing a statement takes bounded time.
constexpr std::uint32_t most_nodes_of_statement = 64;
/// Whether it is what a loop, or an opaque operation, gives.
bool is_loop_result(const node* n);

/// Folded statements over slots. Versions are the nodes of arrays that hold what a slot has after the last statement; a
/// statement that would change what another array still sees gets a slot of its own, so versions stay true.
class statement_trace {
 public:
  statement_trace() noexcept;
  ~statement_trace();
  statement_trace(const statement_trace&) = delete;
  statement_trace& operator=(const statement_trace&) = delete;
  /// Whether any thread has one.
  static bool are_there() noexcept;

  struct version {
    node_ref n;
    std::int64_t slot;
  };

  /// The nodes of `list` become versions, which hold on to `self`, the trace's node; those that nobody else has are
  /// forgotten. Some of the references in the list may have been given up then. False, and nothing is changed, when
  /// they do not fold and none did before. `recorded`: the operations of the last one in order, when they are known.
  bool take_in(std::span<node_ref> list, node* self, std::span<node* const> recorded = {});
  /// All statements last taken in were as expected, which is quickest when they are few.
  bool follows() const { return follows_; }

  /// What the next statement may be, by what came after the last one before; null: nothing is known. The thread's own.
  foreseen_statement* foreseen_next();
  /// Another that begins with n, and has met it.
  foreseen_statement* foreseen_beginning_with(node& n);
  /// Takes in a statement that ends as foreseen, which needs no node: whether it did.
  bool push_foreseen(foreseen_statement& s, const node* base, const node* values, const axis_maps& region);

  std::vector<trace_item> take_items() { return folder_.take(); }
  const structure_table& structures() const { return structures_; }
  const std::vector<trace_slot>& slots() const { return slots_; }
  std::vector<version>& versions() { return versions_; }
  std::uint64_t statements() const { return folder_.statements(); }
  /// Memory that grows with statements that do not fold.
  std::size_t bytes() const { return folder_.bytes(); }
  /// Of evaluated arrays that only statements which have been taken in still need, but for the variables that live on.
  std::size_t bytes_held() const;
  /// Whether nobody can ask for what the statements compute. `self` is the trace's node.
  bool is_unreachable(const node* self) const;

  std::recursive_mutex mutex;  ///< held while it is read or changed
  bool is_raised = false;

 private:
  /// A node met in the statements that are taken in.
  struct seen {
    node* n;
    std::uint32_t edges = 0;      ///< operands of nodes met that are n
    std::uint32_t held = 0;       ///< by versions, slots and the list
    std::uint32_t last_read = 0;  ///< of a variable: the last statement that reads it
    std::uint32_t last_use = 0;   ///< that, too; for_ever: others may read it later
    std::uint32_t touched = 0;    ///< the last statement whose walk came here, plus 1
    std::int64_t slot = -1;       ///< of a variable
    bool is_variable = false, is_version = false, is_root = false, escapes = false;
    bool comes_late = false;      ///< it is listed after a statement that reads it: an expression as any other
  };
  static constexpr std::uint32_t for_ever = 0xffffffffu;

  // Statements that are expected (trace_shortcut.cpp).
  std::size_t push_expected(std::span<const node_ref> list, std::span<node* const> recorded);
  bool push_expected(node* n, std::span<node* const> recorded);
  foreseen_statement* prepared(const std::unique_ptr<foreseen_statement>& s);
  void let_go(std::span<node_ref> list, node* self);
  void note_slot_nodes();

  void look(std::span<const node_ref> list);
  std::uint32_t seen_of(node* n);
  void use(node* n, std::uint32_t statement, bool as_variable);
  void touch(std::uint32_t at, std::uint32_t statement);
  bool is_variable(const node* n) const;
  void find_escapes();
  void escape(std::uint32_t at);
  void push(node* n, std::uint32_t statement);
  std::int64_t target_of_update(node* n, node* base, std::uint32_t statement);
  void push_copy(const node* base, std::int64_t from, std::int64_t to);
  std::int64_t slot_of_outside(node* n);
  std::int64_t new_slot(const node* like, node_ref first);
  void free_slot(std::int64_t slot);
  void clear();

  structure_table structures_;
  trace_folder folder_;
  std::vector<trace_slot> slots_;
  std::vector<version> versions_;
  std::vector<std::int64_t> free_slots_;  ///< last in, first out
  std::vector<seen> seen_;
  epoch_map where_;                                ///< node -> its place in seen_
  std::vector<std::vector<std::uint32_t>> dying_;  ///< by statement: variables that nobody reads afterwards
  std::uint32_t nodes_of_statement_ = 0;
  slot_nodes slot_nodes_;
  std::vector<std::unique_ptr<known_statement>> known_;  ///< by structure, when there has been use for it
  known_statement::findings found_;
  std::vector<std::unique_ptr<foreseen_statement>> foreseen_;  ///< by structure, likewise
  std::uint64_t taken_in_ = 0;                                 ///< lists
  bool follows_ = false;
};

/// Notes that `n` has been assigned to a variable: a statement, when loops of them may fold. Never throws.
void note_statement(node* n) noexcept;

/// Has the trace take in the statements that this thread has listed, when there is a trace.
void fold_listed_statements();

/// Forgets the statements of this thread whose results nobody can ask for, and the memory that only they need.
void drop_unreachable_statements() noexcept;

/// While it lives, this thread's assignments are no statements: bodies of loops are recorded.
class statements_paused {
 public:
  statements_paused() noexcept;
  ~statements_paused();
  statements_paused(const statements_paused&) = delete;
  statements_paused& operator=(const statements_paused&) = delete;
};

/// Before `roots` are planned: turns all statements that they depend on into operations, loops of them into one.
void resolve(std::span<node* const> roots);

/// What this thread has recorded of statements so far becomes operations, loops of them one each, whoever needs them.
void close_statements();

/// What became of the loops that this thread's resolve() has met, as text, while noting is asked for (jit/explain.cpp):
///   for t0 in [0, 1000): in order, in each of 100000 lanes
///     b(..) := ..  file:line
class folding_notes {
 public:
  folding_notes() noexcept;
  ~folding_notes();
  folding_notes(const folding_notes&) = delete;
  folding_notes& operator=(const folding_notes&) = delete;
  static folding_notes* wanted() noexcept;  ///< this thread's, or null
  std::string text;
};

/// While it lives, this thread makes operations on what has no value yet: states of a loop whose body is being made, or
/// variables of a trace that depend on what that will only have at the end. Nothing can be evaluated in between.
class unfinished_values {
 public:
  explicit unfinished_values(bool any = true) noexcept;
  ~unfinished_values();
  unfinished_values(const unfinished_values&) = delete;
  unfinished_values& operator=(const unfinished_values&) = delete;
  static bool any() noexcept;  ///< on this thread

 private:
  bool before_;
};

/// Array operations for the trace's statements; afterwards its versions compute what they stand for.
void raise_trace(statement_trace& t);

}  // namespace sinter::jit
