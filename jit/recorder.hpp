// Recording a function for compile(): it is called once, with arrays whose memory isn't there (recorded_memory.hpp);
// what would be evaluated meanwhile is planned and compiled as ever, but kept instead of launched.
#pragma once

#include "jit/evaluation.hpp"
#include "jit/recorded_memory.hpp"
#include "jit/replay.hpp"

#include <map>
#include <memory>
#include <span>
#include <vector>

namespace sinter::jit {

/// An argument of the function, as its signature has it.
struct recorded_argument {
  dtype type;
  shape extents;
  runtime::device* where;
  bool is_number = false;   ///< 0-d: each replay's is a number
  bool is_donated = false;  ///< its memory may be overwritten
};

class recorder {
 public:
  /// `at`: where compile() was called.
  explicit recorder(const place& at);
  /// Arrays of a function that failed, or that it has given to somebody, get memory of their own with any values.
  ~recorder();
  recorder(const recorder&) = delete;
  recorder& operator=(const recorder&) = delete;

  /// The one that this thread's evaluations go to; null: none.
  static recorder* current() noexcept { return current_; }

  /// While it lives, evaluations of this thread go to a recorder; null: they run.
  class scope {
   public:
    explicit scope(recorder* r) noexcept : before_(std::exchange(current_, r)) {}
    ~scope() { current_ = before_; }
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;

   private:
    recorder* before_;
  };

  /// What the function is given for its next argument.
  node_ref add_argument(const recorded_argument& a);

  /// In place of evaluate(): what depends on arguments is kept, the rest runs.
  void evaluate(std::span<node* const> roots, const place& at);

  /// After the function: `results` are let go of. type_error when something it computed is kept elsewhere.
  std::shared_ptr<const recording> finish(std::vector<node_ref>&& results);

  // For evaluation::record.
  reference<buffer> new_memory(device& where, std::size_t bytes, const node& n);
  void add_launch(device& where, cached_kernel& kernel);
  template <class MemoryOf>
  void add_part(const lowered& code, const MemoryOf& memory_of) {
    recorded_part part{code, {}, {}, 0};
    for (const pending_pointer& q : code.pointers) part.pointers.push_back(use(memory_of(q.source)));
    for (const pending_number& q : code.pending_numbers)
      part.numbers.push_back({q.parameter, out_->memory[use_number(q.source->values())].argument});
    out_->steps.back().parts.push_back(std::move(part));
  }

 private:
  /// The memory that stands for entry k of the recording's memory.
  struct stand_in {
    reference<buffer> life;  ///< is held by the memory: has one reference when that is gone
    buffer* memory;          ///< valid while `life` has more
    place site;
  };

  reference<buffer> stand_in_for(recorded_memory&& what, std::uintptr_t address, const place& site);
  memory_ref find(const buffer* b) const;
  memory_ref use(buffer* b);
  std::uint32_t use_number(const buffer* b) const { return find(b).memory; }
  bool depends(node* root);
  void hold_constants(std::span<node* const> roots);
  void run(std::span<node* const> roots, const place& at);
  void run_calls(std::span<node* const> roots, const place& at);
  void add_call(node* n);
  void settle_call_result(node* n);
  void forget_originals();
  void check_nothing_is_kept();
  void find_lifetimes();

  static thread_local constinit recorder* current_;

  place at_;
  std::shared_ptr<recording> out_;
  std::vector<stand_in> stand_ins_;                      ///< by memory; constants have none
  std::map<std::uintptr_t, std::uint32_t> by_address_;   ///< where stand-ins begin
  std::vector<reference<buffer>> held_;                  ///< arguments that aren't donated; constants
  std::map<const buffer*, std::uint32_t> constants_;
  std::map<const node*, std::size_t> calls_;             ///< which step an opaque node is
  std::vector<std::uint32_t> first_step_;                ///< by memory
};

}  // namespace sinter::jit
