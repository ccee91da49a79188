// The state of one plan. First what there is to compute, operands before users, and what of it must be stored
// (fuse.cpp; rows.cpp for reductions inside); then which stored values share a launch (place.cpp) and whose memory they
// take over (reuse.cpp).
#pragma once

#include "jit/epoch_map.hpp"
#include "jit/fuse.hpp"

#include <optional>

namespace sinter::jit {

/// A launch, told by one of its targets and its level.
struct launch_home {
  static constexpr std::uint32_t nobody = 0xffffffffu, many = 0xfffffffeu;
  std::uint32_t item = nobody, level = 0;
};

/// What weighing an item finds; those who use it are weighed by this.
struct item_weights {
  std::int32_t operations = 1;     ///< upper bound of instructions to compute it from stored values
  std::int32_t inputs = 0;         ///< likewise, stored values read
  std::int32_t work = 0;           ///< instructions that one element runs: of pieces it takes one
  std::int32_t cost = 0;
  std::uint32_t level = 0;         ///< levels of launches before its own
  bool stored = false;             ///< written to memory and read from there
  // Reductions and scans that run in the launch of whoever uses this (rows.cpp):
  bool reduces = false;            ///< there are some
  enum : std::uint8_t { no_loop, at_own_element, elsewhere } iterates = no_loop;  ///< it runs the loop of an
                                                                                  ///< op::iterate
  const node* loop = nullptr;      ///< the op::iterate that these are trails of; then nothing else is among them
  bool scans = false;              ///< a scan is among them, along the one long axis that is not in rows
  std::uint32_t rows = 0;          ///< the axes of extent > 1 that they depend on
  std::uint8_t nesting = 0;        ///< loops in their loops
  std::uint8_t passes = 0;         ///< loops over the same, one after another
  std::int64_t trips = 1;          ///< iterations of the longest
  const node* alone = nullptr;     ///< the call, with compiler options of its own, that it is a result of
  bool operator==(const item_weights&) const = default;
};

struct item : item_weights {
  explicit item(node* n_) : n(n_) {}
  node* n;
  std::uint32_t direct_uses = 0;   ///< by operations that need just the same element
  std::uint32_t moved_uses = 0;    ///< through views, broadcasts, gathers, reductions
  std::uint32_t shifted_uses = 0;  ///< moved ones that read it elsewhere than at the elements of one broadcast
  bool wanted = false;             ///< a root: written to memory, but may be computed within its readers as well
  bool repeated = false;           ///< some use computes its elements several times
  launch_home home = {};           ///< the launch that would run its reductions
  bool releases = false;           ///< this evaluation ends its use of its operands
  std::uint32_t references = 0;    ///< of n, by operands of items that release
  std::uint64_t weighed = 0;       ///< when it was weighed last; 0: never
  std::uint64_t changed = 0;       ///< when its weights changed last
};

class planner {
 public:
  void run(std::span<node* const> roots, const options& how, std::span<const decision> decided, plan& out);

 private:
  struct open_group {
    std::size_t index;
    std::int32_t operations, inputs;  ///< upper bounds
    const node* alone;
    std::size_t counted = 0;          ///< outputs whose nodes are in counted_
    std::int32_t counted_operations = 0, counted_inputs = 0;
  };

  std::uint32_t at(const node* n) { return *where_.find(n); }
  bool in_memory(const node* n) { return n->values() || items_[at(n)].stored; }

  // fuse.cpp: values
  void collect(node* root);
  static bool moves_elements(const node* user, std::size_t operand);
  static bool is_piece(const node* user, std::size_t operand);
  void count_uses();
  void weigh(std::uint32_t k);
  bool is_weighed(const item& i);
  void weigh_anew(item& i);
  void keep_options_apart(item& i);
  void store_read_anywhere(item& i);
  void sum_operands(item& i);
  static std::int32_t own_operations(const node* n);
  void tally(node* n, std::int32_t& operations, std::int32_t& inputs);
  bool count_walk(std::int32_t& operations, std::int32_t& inputs, const open_group* beside = nullptr);
  void count_exactly(item& i);
  bool cut_largest_operand(item& i);
  item* storable(node* x);
  bool store(node* x, cut_reason why);
  void store_if_costly(item& i);
  void mark(item& i, cut_reason why);

  // rows.cpp: reductions inside launches
  using home = launch_home;
  static constexpr std::uint32_t nobody = home::nobody, many = home::many;
  static bool keeps_rows(const node* user, std::size_t operand);
  std::optional<std::uint32_t> rows_through(const node* user, std::size_t k, const item& s) const;
  void open_rows(item& i);
  static void close(item& i);
  void open_iterates(item& i);
  bool iterates(const target& t);
  const node* loop_of(const target& t);
  bool fits_rows(const item& i, const item& s, std::uint32_t rows) const;
  bool reduces_in_rows(const item& i, const item& s) const;
  bool agree(const item& i, const item& first, const item& s, std::uint32_t rows) const;
  void open_reduction(item& i);
  void open_scan(item& i);
  static void open_trail(item& i);
  bool writes_trail(const item& i);
  void store_open_values(const item& i);
  bool store_rows(const item& s);
  static std::uint32_t looped_axes(const item& i);
  bool store_shared_rows();
  bool store_home(item& i);
  void meet(item& i, const home& h);
  bool same_home(const home& a, const home& b);

  // place.cpp: groups
  void group_stored();
  void place_written(const item& i);
  static bool pieces_alike(const node* n);
  bool place_join(node* n, std::uint32_t level);
  bool place_update(const item& i);
  void place(target t, std::uint32_t level, const node* alone);
  bool has_loops(const target& t);
  std::uint32_t looped_like(const group& g, const shape& extents);
  std::uint32_t looped_in(const target& t, const shape& extents);
  bool same_domain(const group& g, const target& t);
  void count_target(const target& t, std::int32_t& operations, std::int32_t& inputs);
  void walk_target(const target& t);
  bool may_join(const open_group& o, const target& t, std::uint32_t level, const open_group& asked);
  bool fits_limits(std::int32_t operations, std::int32_t inputs) const;
  bool joins(open_group& o, const target& t, const open_group& asked, int& tries);
  void count_outputs(open_group& o);

  // reuse.cpp: memory
  static bool only_leads_on(const item& i);
  bool worth_in_place(const item& i);
  void find_releases();
  void count_reference(const node* x, std::uint32_t count, bool moved);
  bool may_take(const node* taker, const node* giver);
  void take(node* giver);
  node* last_reader_of(const item& i);
  bool gives_whole(const node* taker, const node* x);
  bool is_decided(const node* n, decision::what how);

  options how_;
  plan* plan_ = nullptr;
  std::uint64_t now_ = 0;    ///< counts weighings and what is stored
  bool stale_ = false;       ///< something was stored after what reads it had been weighed
  std::vector<item> items_;  ///< operands before users
  epoch_map where_;          ///< node -> its item
  epoch_map seen_;
  std::vector<node*> walk_;
  std::vector<open_group> open_;
  epoch_map counted_;        ///< (node, group): it is among what the group's outputs need
  epoch_map decided_;          ///< (node, decision::what)
  std::ptrdiff_t stored_count_ = 0;
  static constexpr std::uint32_t is_taken = 1, is_moved = 2;
  epoch_map leaves_;           ///< evaluated operands: references by items that release; extra: taken, moved
  epoch_map taken_;            ///< stored items whose memory is taken over
  std::vector<node*> links_;   ///< a chain of updates, newest first
  std::vector<std::pair<node*, std::uint32_t>> stack_;
};

}  // namespace sinter::jit
