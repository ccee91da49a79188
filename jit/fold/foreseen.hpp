// Statements that are foreseen: once a loop is open, what a program records is compared, operation by operation, with
// what an earlier iteration recorded, and statements that agree go to the folder without becoming part of the graph.
//
// A foreseen statement knows the order in which its operations are recorded, and keeps a node for each. An operation
// that agrees (same code, same operands, same facts) gets that node again, with its own offsets and number in it: to
// the program it is a node like any other. When the write that ends the statement agrees, too, the parameters are
// complete; the array written to goes on having the node it has, the version of its slot, whose meaning is "after the
// last statement". What doesn't agree ends foreseeing: the nodes handed out are then the program's alone, and the
// statement is listed as any other (trace_recorder.cpp).
#pragma once

#include "jit/fold/known_statement.hpp"
#include "jit/graph.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sinter::jit {

struct trace_slot;  // jit/fold/trace_recorder.hpp

/// A statement of a loop, operation by operation.
class foreseen_statement {
 public:
  /// A statement of `known`'s structure: the nodes of its parts, and what was recorded for it in order, itself last.
  /// Null when that can't be told from another statement by its operations alone.
  static std::unique_ptr<foreseen_statement> make(std::int32_t structure, const known_statement& known,
                                                  std::span<node* const> nodes, std::span<node* const> recorded);
  ~foreseen_statement();
  foreseen_statement(const foreseen_statement&) = delete;
  foreseen_statement& operator=(const foreseen_statement&) = delete;

  /// Stands before the first operation. The slots are those of the structure's last statement.
  void prepare(slot_nodes& slots, const std::vector<trace_slot>& trace_slots);

  std::int32_t structure() const { return structure_; }
  /// The trace's count of lists taken in when this was prepared.
  std::uint64_t prepared_for = 0;
  bool begins() const { return at_ == 0; }
  std::size_t operations() const { return steps_.size(); }
  std::span<const std::int64_t> parameters() const { return parameters_; }

  /// The next operation: the node kept for it when it is as foreseen and nobody else has the node. Takes the operands
  /// over then; null changes nothing.
  node* view(node_ref& source, const axis_maps& map, const shape& extents, const place& at);
  node* operation(op code, dtype type, std::span<node_ref> operands, const place& at);
  node* call(const user_kernel* kernel, std::span<node_ref> operands, const place& at);
  node* number(const scalar& number, dtype type, const place& at);
  /// The next operation, recorded as any other; whether it is as foreseen.
  bool meet(node& n);

  /// Whether the statement ends as foreseen: with `values` written to the elements of `base` at `region`, nobody else
  /// having what changes its meaning by that. The parameters are complete then.
  bool ends(const node* base, const node* values, const axis_maps& region);
  /// After ends(): takes back the nodes that nobody else has, and stands before the first operation again.
  void begin_again(node_ref values) noexcept;
  /// Leaves the nodes of this statement so far to the program, after adding them to `nodes`.
  void leave(std::vector<node*>& nodes);
  void leave() noexcept;

 private:
  struct step {
    const known_statement::part* what;
    op code;
    bool recycles;            ///< a node is kept for it
    bool is_pure = false;     ///< statements write to nothing that it reads
    bool is_held = false;     ///< somebody else has it, or what is made of it
    std::uint16_t operand_count;
    std::uint32_t first_operand, parameter;
    node* now = nullptr;      ///< in this statement
    node* kept = nullptr;     ///< owned; without operands while it isn't in use
  };
  struct variable {
    const known_statement::part* what;
    node* n = nullptr;
  };
  struct operand {
    node* const* n;
    step* made_by;  ///< null: a variable
  };

  foreseen_statement(std::int32_t structure, const known_statement& known)
      : structure_(structure), known_(known), parameters_(known.parameters()) {}
  static bool is_worth_keeping(const known_statement::part& p);
  node* free_node(const step& s) const;
  node* hand_out(step& s, std::span<node_ref> operands, const place& at);
  bool agree(const step& s, std::span<const node_ref> operands) const;
  bool is_given_away(step& s);
  static void drop(const operand& x) noexcept;

  std::int32_t structure_;
  const known_statement& known_;
  std::size_t at_ = 0;                    ///< the next step
  std::vector<step> steps_;               ///< in the order of recording
  std::vector<variable> variables_;
  std::vector<operand> operands_;         ///< of the steps
  operand base_{}, values_{};             ///< of the write
  std::uint32_t base_uses_ = 0;           ///< operands of steps that are the base
  std::vector<std::int64_t> parameters_;
};

/// What a thread's operations are compared with.
class foreseer {
 public:
  /// This thread's, while it foresees or learns what to foresee; else null.
  static foreseer* now() noexcept { return now_; }

  node* view(node_ref& source, const axis_maps& map, const shape& extents, const place& at) {
    return next_ ? next_->view(source, map, extents, at) : nullptr;
  }
  node* operation(op code, dtype type, std::span<node_ref> operands, const place& at) {
    return next_ ? next_->operation(code, type, operands, at) : nullptr;
  }
  node* call(const user_kernel* kernel, std::span<node_ref> operands, const place& at) {
    return next_ ? next_->call(kernel, operands, at) : nullptr;
  }
  node* number(const scalar& number, dtype type, const place& at) {
    return next_ ? next_->number(number, type, at) : nullptr;
  }
  /// An operation has been recorded.
  void met(node& n);
  /// Whether a write to `region`, whose map is put into normal form, is a statement as foreseen; then it has been done,
  /// and `values` are gone.
  bool write(node* base, node_ref& values, axis_maps& region);

  /// The trace has taken in all that was listed: what comes may be foreseen.
  void start(statement_trace& t);
  /// What comes isn't foreseen.
  void stop() noexcept;
  /// A statement has been listed.
  void note_listed();
  /// The operations of the statement listed last, as far as they were met.
  std::span<node* const> recorded() const { return recorded_; }

 private:
  void miss();

  statement_trace* trace_ = nullptr;
  foreseen_statement* next_ = nullptr;  ///< null: learns
  bool is_due_ = false;                 ///< a statement is listed that the trace has to take in first
  std::vector<node*> recorded_;         ///< while it learns: since the last statement
  std::uint32_t in_a_row_ = 0;          ///< statements as foreseen
  std::int32_t credit_ = 64;            ///< earned by statements as foreseen; others cost some
  std::uint32_t to_skip_ = 0, patience_ = 0;  ///< without credit: starts that are left out
  [[gnu::tls_model("initial-exec")]] static inline constinit thread_local foreseer* now_ = nullptr;
};

/// foreseer::write of this thread.
inline bool is_foreseen_write(node* base, node_ref& values, axis_maps& region) {
  foreseer* const f = foreseer::now();
  return f && f->write(base, values, region);
}

}  // namespace sinter::jit
