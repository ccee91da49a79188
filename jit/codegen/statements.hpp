// Statements for single instructions, and for loops that one thread runs; what emits a kernel is made of these.
#pragma once

#include "jit/codegen/expression.hpp"
#include "jit/codegen/loop_nest.hpp"
#include "jit/codegen/user_code.hpp"
#include "jit/codegen/writer.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::jit {

inline constexpr std::string_view host_parameters =
    "void* const* arguments, long long row_begin, long long row_end, long long begin, long long end";

/// What the statements written next stand in.
struct surroundings {
  std::string position;  ///< the element's number in the domain, for faults
  std::string guard;     ///< what must hold for anything to be written; empty: nothing
};

/// Goes through the operands of an elementwise call, parameter by parameter (ir.hpp: call).
class call_cursor {
 public:
  call_cursor(const kernel& k, const call& c) : kernel_(k), call_(c) {}
  std::uint32_t next() { return at_++; }
  /// The first of what input p is made of.
  std::uint32_t next_input(std::size_t p);
  /// A memory, and what tells of it.
  std::uint32_t next_array(std::uint32_t rank);

 private:
  const kernel& kernel_;
  const call& call_;
  std::uint32_t at_ = 0;
};

class statements {
 public:
  statements(const kernel& k, const user_code& users, dialect d, writer& w)
      : k_(k), d_(d), lanes_(k.lanes), names_(k), nest_(k), users_(users), w_(w), element_(k.body.size()),
        known_(k.body.size()), saved_(k.body.size()), total_(k.body.size()) {}

  /// The parameters, declared; their names behind `prefix`. `alone`: whether nothing else in the launch writes what
  /// they point at.
  std::string cuda_parameters(const std::string& prefix, bool alone = true) const;
  std::string cuda_arguments(const std::string& prefix) const;
  /// "block_table<float, int, 5>", and what its elements are.
  std::string table_type(const block_table& t) const;
  std::string_view table_element(const block_table& t) const;

 protected:
  bool has_rows() const { return k_.domain_rank > 1; }
  std::uint32_t inner_dim() const { return k_.domain_rank - 1; }
  std::string extent(std::uint32_t dim) const { return names_.parameter(k_.dims[dim].extent); }
  std::string_view index_type() const { return d_ == dialect::cuda && k_.index_bits == 32 ? "int" : "long long"; }
  bool on_cuda() const { return d_ == dialect::cuda; }
  /// "n1 * n2" of dims [first, first + count); "1" for none.
  std::string product(std::uint32_t first, std::uint32_t count) const;

  void host_parameters_declared();
  /// Counters d0, d1, ... of the outer dims from the row number.
  void find_row();
  /// Counters of dims [first, first + count) from the number of their combination.
  void find_counters(const std::string& number, std::uint32_t first, std::uint32_t count);

  /// Emits one instruction, or a loop whole; returns the last instruction dealt with.
  std::uint32_t instruction(std::uint32_t v);
  /// A loop that one thread runs on its own.
  void sequential_loop(const loop_nest::loop& l);
  /// total.add(...) of a reduction or scan.
  void accumulate(std::uint32_t v);
  /// The values of a reduction, or of a scan so far, from its accumulator.
  void found(std::uint32_t v);

  /// Inside a cuda thread's loop over lanes: the counter of a lane's neighbour, from `first`, a multiple of the lanes.
  void lane_counter(std::string_view name);

  std::string accumulator_of(std::uint32_t v) const;
  std::string total_of(std::uint32_t v) const;
  /// An iteration's number among all those of a loop, for arg-reductions.
  std::string iteration(const loop_nest::loop& l) const;
  std::string address(std::uint32_t access, std::string_view inner) const;
  /// One bit of the flags for each of the first 64 accesses; the rest go element by element.
  static std::string is_aligned(std::uint32_t access);
  /// An operand of a call that is an array's memory, as the user's kernel sees it; where the loop stands is `position`.
  std::string raw_array(const call& c, std::uint32_t operand, std::size_t rank, const std::string& position) const;
  std::string struct_value(const call& c, std::uint32_t operand, std::size_t p) const;
  std::string call_operand(const call& c, std::uint32_t k) const;
  /// "if (guard && v3) " or nothing.
  std::string condition(value predicate) const;

  const kernel& k_;
  dialect d_;
  int lanes_;
  name_table names_;
  loop_nest nest_;
  const user_code& users_;
  writer& w_;
  surroundings here_;
  /// By instruction: what loads and stores call an element that they don't find in memory, as in "whole3.at[lane]".
  std::vector<std::string> element_;
  /// By instruction: where an earlier loop has left its value, and where this one is left for later loops.
  std::vector<std::string> known_, saved_;
  /// By reduction or scan of a loop that isn't sequential: its accumulator, as in "all3.r5".
  std::vector<std::string> total_;
  /// What a call in a loop of the user's own calls, as in "each"; raw parameters and numbers are known there. Empty:
  /// none.
  std::string each_;

 private:
  std::string cuda_parameter(std::uint32_t p, const std::string& name, bool alone) const;
  std::uint32_t magic_of_dim(std::uint32_t d) const;
  void host_parameter(std::uint32_t p);
  void load(std::uint32_t v);
  void store(std::uint32_t v);
  void atomic(std::uint32_t v);
  void bound(std::uint32_t v);
  void user_call(std::uint32_t v);
  void declare_outputs(std::uint32_t v);
  std::string output(std::uint32_t v, std::uint32_t o) const;
  void proceed(std::uint32_t v);
  void iterate(std::uint32_t v);
  void declare_states(const loop_nest::loop& l);
  bool is_tight(const loop_nest::loop& l) const;
  int iterations_at_once(const loop_nest::loop& l) const;
  std::uint32_t proceed_of(const loop_nest::loop& l) const;
  bool asks_for_last(const loop_nest::loop& l) const;
  bool runs_in_batches(const loop_nest::loop& l) const;
  void batched_loop(const loop_nest::loop& l);
  void batched_proceed(std::uint32_t v);
  /// A condition state < limit, or <=, of a state that grows by the same step in each iteration.
  struct counting {
    value state, step, limit;
    bool or_equal;
  };
  std::vector<value> conditions_of(value all) const;
  std::optional<counting> counter_of(const loop_nest::loop& l, value condition) const;
  void iteration_body(const loop_nest::loop& l, std::string_view number);
  bool spells_counter(const loop_nest::loop& l) const;
  void declare(std::uint32_t v, const std::string& text);
  std::string outputs_of(std::uint32_t v, std::string list);

  bool in_batch_ = false;  ///< batched_loop()
};

}  // namespace sinter::jit
