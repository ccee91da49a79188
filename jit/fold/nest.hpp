// A folded loop nest looked at as a whole: which of its loops and element axes are lanes, across which nothing depends
// on anything, and which places of its variables each lane keeps to itself.
#pragma once

#include "jit/fold/statement.hpp"
#include "jit/fold/trace.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sinter::jit {

/// A loop around a nest: in one of its iterations, or, with a counter, in any.
struct outer_loop {
  std::int64_t now = 0;   ///< without a counter: the iteration
  node_ref counter = {};  ///< 0-d i64
  std::int64_t most = 0;  ///< iterations
};

/// A number of a statement: constant + outer[k] * counter of the k-th outer loop that has one + loops[k] * counter of
/// the k-th loop of the nest around it + own[a] * element along its a-th axis + the row of a table that a loop, of the
/// nest or around it, has come to.
struct nest_form {
  std::int64_t constant = 0;
  std::vector<std::int64_t> outer, loops, own;
  table_column column = {};
  std::int32_t column_loop = -1;  ///< which of the nest's loops around it
  std::int32_t column_outer = -1; ///< or which of the outer loops that have a counter
  bool anywhere = false;          ///< any number at all
};

/// Elements of a variable that a statement reads or writes, one form per axis.
struct nest_access {
  std::int64_t slot = 0;
  std::vector<nest_form> at;
  std::uint32_t node = 0;  ///< reads: of the statement; the view, or the variable itself
  std::int32_t cell = -1;  ///< what a lane keeps there; -1: nothing, it is read from the array before the nest
  std::int32_t back = 0;   ///< reads of a cell that moves: what was kept there so many iterations before
};

struct nest_loop {
  const trace_item* item;
  std::vector<std::uint32_t> around;  ///< loops, outermost first
  nest_form count;
  std::int64_t most = 0;   ///< iterations
  std::int32_t lane = -1;  ///< axis of the lanes; -1: a loop inside each lane
};

struct nest_statement {
  const trace_item* item;
  const statement_structure* structure;
  std::vector<std::uint32_t> loops;  ///< around it, outermost first
  shape own;                         ///< the extents of what it computes
  std::vector<nest_form> numbers;    ///< by parameter
  nest_access write;
  std::vector<nest_access> reads;
};

/// A place per lane of a variable that the nest writes. `at` is over lanes, as if they were own axes; that of a cell
/// that moves, a place in each iteration of the recurrence, is over that as well, as a last one.
struct nest_cell {
  std::int64_t slot;
  std::vector<nest_form> at;
  bool moves = false;
  std::int32_t back = 0;  ///< how many iterations back it is read, at most
};

class loop_nest_analysis {
 public:
  loop_nest_analysis(const trace_item& item, const std::vector<std::unique_ptr<statement_structure>>& structures,
                     std::span<const outer_loop> around);

  /// False, and why() says for which reason, when lanes would have to see each other's work.
  bool find_lanes();

  /// Once lanes have been looked for: whether the iterations of `loop`, which is all of the nest, may run through its
  /// body's items up to `cut` before they run through the others.
  bool may_cut(const trace_item& loop, std::size_t cut) const;

  const std::vector<nest_loop>& loops() const { return loops_; }
  const std::vector<nest_statement>& statements() const { return statements_; }
  const std::vector<nest_cell>& cells() const { return cells_; }
  const shape& lanes() const { return lanes_; }
  const std::vector<outer_loop>& around() const { return around_; }
  const std::string& why() const { return why_; }
  /// The loop around everything inside the lanes that cells move along: a recurrence a(i) = f(a(i - 1)). Null: none do.
  const nest_loop* recurrence() const {
    return recurrence_ < 0 ? nullptr : &loops_[static_cast<std::size_t>(recurrence_)];
  }
  /// The extents that the forms of a cell are over.
  shape extents_of(const nest_cell& c) const;
  /// Whether each lane knows before it runs how many iterations the loop has.
  bool is_known_outside(const nest_loop& l) const;
  std::uint32_t loop_of(const trace_item& item) const;
  std::uint32_t statement_of(const trace_item& item) const;
  /// Axes of the lanes that are loops of this statement; the rest are its own axes.
  int loop_lanes(const nest_statement& s) const { return lanes_.rank() - s.own.rank(); }

 private:
  struct instance;
  void collect(const trace_item& item, std::vector<std::uint32_t>& around);
  nest_form form_of(const traced_number& n) const;
  nest_form zero_form() const;
  bool describe(nest_statement& s);
  bool can_have_lanes(const nest_statement& s, const statement_node& n, bool is_root) const;
  void describe_write(nest_statement& s);
  void describe_reads(nest_statement& s);
  std::vector<std::uint32_t> common_loops() const;
  bool candidates();
  bool crosses(std::size_t candidate) const;
  bool drop_lanes_of_varying_extent(std::vector<bool>& keep) const;
  bool may_flow(const nest_statement& a, const nest_access& w, const nest_statement& b, const nest_access& r,
                std::int32_t candidate) const;
  bool may_meet_before(const nest_statement& a, const nest_access& x, const nest_statement& b,
                       const nest_access& y) const;
  bool may_meet(const nest_statement& a, const nest_access& x, const nest_statement& b, const nest_access& y,
                std::size_t candidate) const;
  void find_recurrence();
  bool find_cells();
  bool find_read_cell(const nest_statement& s, nest_access& r);
  bool is_shifted(const nest_cell& c, const std::vector<nest_form>& at, std::int32_t& back) const;
  bool lies_inside(const nest_statement& s, std::span<const nest_form> over_lanes) const;
  bool may_be_idle(const nest_statement& s) const;
  std::optional<std::vector<nest_form>> over_lanes(const nest_statement& s, const nest_access& a) const;
  bool cells_apart() const;
  bool refuse(std::string why);

  const std::vector<std::unique_ptr<statement_structure>>& structures_;
  std::vector<outer_loop> around_;
  std::vector<nest_loop> loops_;
  std::vector<nest_statement> statements_;
  /// By candidate for a lane: which coordinate it is in each statement, counted over its loops, then its own axes.
  struct lane_candidate {
    std::vector<std::uint32_t> coordinate;
    std::int64_t extent;
  };
  std::vector<lane_candidate> candidates_;
  std::vector<nest_cell> cells_;
  shape lanes_;
  bool is_described_ = false;  ///< all statements are
  std::int32_t recurrence_ = -1;
  std::string why_;
};

}  // namespace sinter::jit
