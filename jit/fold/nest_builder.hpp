// Array operations for a loop nest whose lanes are known: lanes become axes, loops inside a lane an op::iterate.
#pragma once

#include "jit/fold/nest.hpp"

#include <vector>

namespace sinter::jit {

/// Values of a statement's nodes: `value` has the axes of lanes that are loops (extent 1 where it is the same for all),
/// then the node's own, of which there are `own`.
struct lane_value {
  node_ref value;
  int own = 0;
};

class nest_builder {
 public:
  /// `variables`: by slot, what each holds before the nest, and after run().
  nest_builder(const loop_nest_analysis& nest, std::vector<node_ref>& variables, runtime::device& where);

  void run(const trace_item& item);

 private:
  /// What a guard is for: an assignment within its loops, which are left when they have no iterations; reads, which may
  /// be moved out of loops; a cell outside of them, in which it may have been written in any iteration.
  enum class guarded_part { assignment, read, cell };
  struct open_loop {
    std::uint32_t loop;
    node_ref counter;
  };

  void enter(const trace_item& item);
  void run_inside(const trace_item& item);
  void iterate(const trace_item& item);
  struct carried_states;
  void begin_states(carried_states& c);
  void after_states(const carried_states& c, std::span<const node_ref> after);
  void assign(const nest_statement& s);
  void write_back();

  // values
  lane_value value_of(const nest_statement& s, std::uint32_t node);
  lane_value compute(const nest_statement& s, std::uint32_t node);
  lane_value elementwise(const nest_statement& s, const statement_node& n);
  lane_value scalar_value(const nest_statement& s, const statement_node& n);
  lane_value of_all_lanes(const nest_statement& s, const node_ref& number) const;
  lane_value viewed(const nest_statement& s, const statement_node& n, const lane_value& source,
                    std::span<const nest_form> offsets);
  lane_value moved(const nest_statement& s, const statement_node& n);
  lane_value gathered(const nest_statement& s, const statement_node& n);
  lane_value cell_as(const nest_statement& s, const statement_node& n, const node_ref& value) const;
  lane_value variable(const nest_statement& s, std::uint32_t node);
  const nest_access* read_of(const nest_statement& s, std::uint32_t node) const;

  // indices
  node_ref index(const nest_form& f, const nest_statement* s, int rank, int first_own, const shape& own);
  node_ref along(int axis, int rank, std::int64_t n);
  node_ref table(const table_column& column);
  node_ref number_table(const nest_form& f, const nest_statement& s);
  void keep_inside(std::vector<node_ref>& indices, const node_ref& guard) const;
  node_ref apply(op code, const node_ref& a, const node_ref& b) const;
  node_ref number(std::int64_t x) const;
  node_ref sum(node_ref a, const node_ref& b) const;
  node_ref times(const node_ref& a, std::int64_t factor) const;
  node_ref with_axes(const node_ref& x, int leading, int own, int wanted_own) const;
  node_ref spread(const node_ref& x, const shape& to) const;

  // cells
  node_ref& cell(std::uint32_t k);
  node_ref first_of(const nest_cell& c);
  node_ref before_first(const nest_cell& c, std::int32_t back);
  node_ref counter_of(std::uint32_t loop, int rank);
  node_ref outer_counter(std::int32_t k) const;
  node_ref guard_of(const nest_statement& s, int rank, guarded_part what);
  node_ref guard_of_cell(const nest_cell& c);
  const statement_node& variable_of(const nest_cell& c) const;
  std::optional<std::vector<axis_map>> region_of(const nest_cell& c, const shape& inside, bool guarded) const;
  node_ref read_at(const node_ref& from, const nest_cell& c);
  node_ref read_now(const node_ref& from, const nest_cell& c);
  node_ref read_by_indices(const node_ref& from, std::vector<node_ref> indices, const node_ref& guard);
  void store(const nest_cell& c, const node_ref& value);

  const loop_nest_analysis& nest_;
  std::vector<node_ref>& variables_;
  const std::vector<node_ref> before_;
  runtime::device& where_;
  std::vector<node_ref> cells_;
  std::vector<std::vector<node_ref>> earlier_;  ///< by cell that moves: what it was 1, 2, .. iterations before
  std::vector<open_loop> open_;     ///< loops inside lanes
  std::vector<lane_value> values_;  ///< of the statement at hand
  std::vector<std::pair<const void*, node_ref>> tables_;
  place site_;
};

}  // namespace sinter::jit
