// What kernels have in common whose loops are shared by threads or lanes.
#pragma once

#include "jit/codegen/emitters.hpp"

#include <string>
#include <vector>

namespace sinter::jit {

/// Text for loops whose iterations lie over lanes; `columns`: along the domain's inner dim, else along the loop's own.
class lane_emitter : public kernel_emitter {
 protected:
  using loop = loop_nest::loop;

  lane_emitter(const kernel& k, const user_code& users, dialect d, writer& w, bool columns);

  std::uint32_t lane_dim(const loop& l) const { return columns_ ? inner_dim() : nest_.innermost(l); }
  /// Whether instruction v stands outside all loops; `loop` and `end` do, too.
  bool at_row_level(std::uint32_t v) const { return nest_.around(v) == loop_nest::none; }
  bool writes(std::uint32_t v) const { return k_.body[v].code == op::store || k_.body[v].code == op::atomic; }
  /// Whether instruction v needs what a top loop has found, or writes.
  const std::vector<bool>& late() const { return late_; }
  /// Reductions of a top loop; of all of them when they are put together at once.
  std::vector<std::uint32_t> reductions_of(const loop& l) const;

  /// A load or store that can move the lanes' elements at once: all but the lane's counter is settled before. Stores:
  /// of neighbours only.
  bool is_packed(std::uint32_t v, std::uint32_t lane_dim) const;
  bool are_neighbours(std::uint32_t v, std::uint32_t lane_dim) const;
  /// The instructions of loop l whose text is needed; elements that are at hand need no address.
  std::vector<bool> needed_in(const loop& l) const;
  /// Adds what the needed instructions of [begin, end) need.
  void need_operands(std::vector<bool>& needed, std::uint32_t begin, std::uint32_t end) const;
  /// Whether the text of a needed instruction in (begin, end) spells dim d.
  bool spells(std::uint32_t d, const std::vector<bool>& needed, const loop& l, bool in_lanes) const;
  /// Whether the text of instruction v does.
  bool spells(std::uint32_t d, std::uint32_t v) const;
  /// Needed instructions of l that stand before the lanes, or in them.
  void loop_statements(const loop& l, const std::vector<bool>& needed, bool in_lanes);

  bool is_split() const { return k_.split != 0; }
  bool has_totals(const loop& l) const { return !reductions_of(l).empty(); }
  const loop& first_top() const { return nest_[nest_.tops()[0]]; }
  std::string inner_extent() const { return extent(inner_dim()); }

  /// What stands outside the loops, and the reductions whose loops end there: before the first top loop, after it, and
  /// so on; before all of them and after all of them when they are split.
  const std::vector<std::vector<std::uint32_t>>& segments() const { return segments_; }
  /// Arrays for what the lanes of a segment leave to others; `vectors`: in front of the lanes' number.
  void declare_arrays(const std::vector<std::uint32_t>& segment, const std::string& vectors = "");
  /// What is the same in all lanes.
  void settled_statements(const std::vector<std::uint32_t>& segment);
  /// What is not; for one lane.
  void lane_statements(const std::vector<std::uint32_t>& segment);
  bool any_in_lanes(const std::vector<std::uint32_t>& segment) const;
  /// For faults: the element's number in the domain (columns).
  void set_position(bool in_lanes);

  const bool columns_;
  const loop_nest::lane_levels levels_;
  std::vector<bool> at_hand_;  ///< by instruction: loads that another one has done already

 private:
  void find_late();
  void find_segments();
  void find_arrays();

  std::vector<bool> late_;
  std::vector<std::vector<std::uint32_t>> segments_;
};

/// Loops that teams of cuda threads share.
class team_emitter : public lane_emitter {
 public:
  void whole(const std::string& name) override;
  void part(const std::string& name) override;
  bool takes_blocks() const override { return true; }

 protected:
  team_emitter(const kernel& k, const user_code& users, writer& w, bool columns)
      : lane_emitter(k, users, dialect::cuda, w, columns) {}

  /// All but the function's head; `block` and `blocks` are known, unless blocks take tickets.
  virtual void body() = 0;
  virtual bool takes_tickets() const { return false; }
  /// Blocks that a multiprocessor shall have room for, which bounds a thread's registers; 0: any number.
  virtual int least_blocks() const { return 0; }

  /// "struct totals3", its instance (an array of `lanes` unless empty), and the names of its reductions.
  /// The parts of a loop's totals that threads put together at once, as in ".r5", or "" for all.
  std::vector<std::string> merged_together(const loop& l) const;
  void declare_totals(const loop& l, const std::string& lanes);
  /// "all3".
  std::string totals_name(const loop& l) const { return fmt::format("all{}", l.begin); }
  std::string totals_type(const loop& l) const { return fmt::format("totals{}", l.begin); }

  std::string each_lane() const { return fmt::format("for (int lane = 0; lane < {}; ++lane)", lanes_); }
  /// For each lane, what the threads below each other have found.
  void merge_lanes(const loop& l);
  /// Then, what all pieces of a task have found, in the last one's block; the others return. The lanes are of elements
  /// from `first` on, of which `left` are there, in row `row`.
  void merge_lane_pieces(const loop& l);

  std::string is_pack_aligned(std::uint32_t v) const;
  std::string pack_type(std::uint32_t v) const;
  /// The address of the first of the lanes' elements.
  std::string pack_address(std::uint32_t v, std::uint32_t lane_dim, const std::string& first = "first");
  std::string pack_load(std::uint32_t v, std::uint32_t lane_dim);
  /// Fills `to` from memory, where its predicate holds.
  void load_lanes(std::uint32_t v, std::uint32_t lane_dim, const std::string& to);
  void declare_stores(const std::vector<std::uint32_t>& stores);
  void store_lanes(std::uint32_t v, std::uint32_t lane_dim);
  /// The loads of `l` that move the lanes' elements at once, those first that others are made of.
  std::vector<std::uint32_t> packed_loads(const loop& l) const;
  std::vector<std::uint32_t> packed_stores(const loop& l) const;
  /// "struct loads3" with a pack for each of `loads`, and the names of their elements.
  void declare_loads(const loop& l, const std::vector<std::uint32_t>& loads);
  /// Vectors whose loads are on their way at a time.
  int ahead(const loop& l) const;

  /// The instructions of a loop up to each scan, and the rest; scans themselves stand between these. (emit_scans.cpp)
  struct scan_plan {
    std::vector<bool> needed;
    std::vector<std::vector<std::uint32_t>> segments;
    std::vector<std::uint32_t> loads;
  };
  /// Values that one segment leaves to others, and to scans, become arrays.
  scan_plan plan_scans(const loop& l);

 private:
  void find_scan_arrays(const loop& l, const scan_plan& plan);
};

}  // namespace sinter::jit
