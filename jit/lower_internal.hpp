// The state of one lowering. Values are made first, as a graph: each belongs to the innermost loops whose counters it
// depends on, its space, whoever asks for it (lower.cpp, maps.cpp, pieces.cpp). Then come loops: arrange.cpp puts what
// each space computes into as few of them as reductions, which need all of a loop, allow. At last dims are merged,
// strides classified and parameters numbered (layout.cpp), and loops spread over threads (distribute.cpp).
#pragma once

#include "jit/epoch_map.hpp"
#include "jit/integers.hpp"
#include "jit/lower.hpp"

#include <array>
#include <optional>
#include <unordered_set>

namespace sinter::jit {

inline std::uint64_t mix(std::uint64_t h, std::uint64_t x) {
  h = (h ^ x) * 0x9e3779b97f4a7c15ull;
  return h ^ (h >> 29);
}

/// A loop counter or a computed index.
struct atom_info {
  bool is_dim = false;
  std::uint32_t dim = 0;               ///< raw dim number, when a dim
  std::int64_t limit = 0;              ///< values are in [0, limit)
  linear source{};                     ///< quotient of this form ...
  std::int64_t divisor = 0;            ///< ... by this; 0 when the value exists from the start
  value computed = value::none;
};

/// Counters that loops run over for each element of the space around them; space 0 is the domain.
struct space_info {
  std::uint32_t parent, first, count;  ///< raw dims [first, first + count)
  std::uint32_t depth;
  bool serial = false;                 ///< the loop of an iterate, shared with nothing else
  value proceed = value::none;         ///< serial: what made after it waits for
  value iterate = value::none;         ///< serial, with stores on the way: the end of an iteration
};

/// A vector of forms, one per axis of some node, and the condition under which they are valid.
struct index_map {
  std::uint32_t first = 0;
  std::int32_t rank = 0;
  value predicate = value::none;
  std::uint32_t space = 0;  ///< the innermost that forms and predicate depend on
  std::uint32_t scope = 0;  ///< the innermost serial loop that is being lowered
  std::uint64_t hash = 0;
};

/// What a placeholder in a loop's body stands for while the body is being lowered.
struct open_state {
  const node* placeholder;
  std::uint32_t map;          ///< the only one at which it can be read; or any_map: the iteration's number
  value what;
  std::uint32_t counter = 0;  ///< atom
};
constexpr std::uint32_t any_map = 0xffffffffu;

/// A serial loop whose body is being lowered: what its iterate has from around it is the same in all iterations, and is
/// lowered where the loop stands.
struct open_loop_scope {
  std::uint32_t space;  ///< its scope
  std::uint32_t around; ///< the scope that it stands in
};

/// A choice whose sides are being lowered.
struct open_choice {
  value given, yes, no;                   ///< predicates: of the choice, of its sides
  std::unordered_set<const node*> needed; ///< on both sides, or for the choice itself
};

/// What is written where, once all values are computed.
struct pending_store {
  target to;
  std::uint32_t number;  ///< among the group's
  value what, predicate;
  std::uint32_t map;     ///< indices into the memory
  bool aliased = false;  ///< what it overwrites is read for the same element
  std::uint32_t space = 0;  ///< of loops whose iterations each store
};

struct recorded_load {
  const node* from;
  std::uint32_t map;  ///< anywhere: by a user's kernel
  static constexpr std::uint32_t anywhere = 0xffffffffu;
};

/// An access by raw form; loops that compute its index again each have their own access to the same pointer.
struct raw_access {
  pending_pointer pointer;
  std::uint32_t form, map;
  std::uint32_t check = 0;  ///< memory: of the indices into it
};

/// By depth of nesting, how many loops there must have run before a value can be computed.
using stages = std::array<std::uint16_t, deepest_loops + 1>;

/// A raw form with the values its computed terms have in one place: `values_of_forms_[first ...)`, in order of terms.
struct form_instance {
  std::uint32_t raw, first;
};

struct index_range {
  std::int64_t low, high;  ///< inclusive
};

struct raw_dim {
  std::int64_t extent;
  std::uint32_t space;  ///< only dims of one space merge
  std::uint32_t atom;
};

/// Thrown inside a bounded lowering.
struct kernel_too_large {};

class lowering {
 public:
  void run(const group& what, const stored_values& stored, const options& how, bool for_cuda, bool bounded,
           lowered& out);
  /// After kernel_too_large: what should be stored instead of being lowered here. Null: nothing.
  const node* best_cut() const;

 private:
  // lower.cpp: values
  value lower_value(node* n, std::uint32_t map);
  value lower_fresh(node* n, std::uint32_t map);
  // lower_limits.cpp
  void check_instructions() const;
  void check_parameters() const;
  void note_lowered(node* n);
  value lower_load(node* n, std::uint32_t map);
  // lower_elementwise.cpp
  value lower_scalar(node* n);
  value lower_argument(node* n);
  value lower_elementwise(node* n, std::uint32_t map);
  value product(inst i);
  value common_factor(value number, value other);
  value lower_gather(node* n, std::uint32_t map);
  value lower_call(node* n, std::uint32_t map);
  void lower_memory(node* x, const check_site& site, node* written, std::vector<value>& values);
  std::uint32_t add_call(const user_kernel& u, std::span<const value> values);
  value lower_reduction(node* n, std::uint32_t map);
  value lower_deviations(node* n, std::uint32_t map, std::uint32_t space);
  std::uint32_t map_inside(const node* n, std::uint32_t map, std::uint32_t space, bool first);
  value lower_scan(node* n, std::uint32_t map);
  std::uint32_t map_of_target(const target& t);
  std::uint32_t space_of_loops(std::uint32_t parent, std::span<const std::int64_t> extents);
  std::uint32_t add_space(std::uint32_t parent, std::span<const std::int64_t> extents, bool serial);
  std::uint32_t add_check(std::int64_t size, const check_site& site);
  std::uint32_t innermost(std::uint32_t a, std::uint32_t b) const;
  std::uint32_t space_of(const linear& f) const;
  std::uint32_t space_of(const inst& i) const;
  value index_forms(const node* n, std::uint32_t map, const shape& source, const shape& result,
                    std::vector<linear>& forms);
  void prepare_store(const target& t, std::uint32_t number, std::uint32_t map);
  value number(dtype type, const scalar& x);
  value whole_number(dtype type, int x);
  void emit_store(const pending_store& s);
  linear memory_form(const shape& extents, std::uint32_t map);
  std::uint32_t add_access(parameter_kind kind, node* n, const linear& f, std::uint32_t map);
  value both(value a, value b);
  value emit(const inst& i);
  value emit_pure(const inst& i);
  std::uint32_t parameter(parameter_kind kind, dtype type, std::int64_t number = 0);
  std::uint32_t new_atom(const atom_info& a);

  // lower_loops.cpp: loops that elements run by themselves, and choices of what they read
  value lower_choice(node* n, std::uint32_t map);
  bool reads_at_risk(node* root, std::unordered_set<const node*>& needed) const;
  std::uint32_t with_predicate(std::uint32_t map, value predicate);
  std::uint32_t needed_map(const node* n, std::uint32_t map);
  value lower_iterate(node* n, std::uint32_t map);
  value lower_trail(node* n, std::uint32_t map);
  value lower_iteration(node* n, std::uint32_t map, std::uint32_t space);
  std::uint32_t space_around(const node* n, std::uint32_t map) const;
  value lower_state(node* n, std::uint32_t map);
  static std::uint32_t changing_state(const node* n);
  bool same_forms(std::uint32_t a, std::uint32_t b) const;
  std::uint32_t intern_in_scope(std::uint32_t map);
  void open_scope(node* n, std::uint32_t space);
  void close_scope();
  value lower_around(node* n, std::uint32_t map);
  bool is_from_around(const node* n, std::uint32_t map);
  std::optional<linear> affine_index(node* n, std::uint32_t map);
  std::optional<linear> affine_arithmetic(node* n, std::uint32_t map);
  std::optional<linear> bounded_index(const linear& f) const;
  std::optional<linear> index_in_range(node* n, std::uint32_t map, std::int64_t size);

  // maps.cpp: how views move indices
  std::uint32_t moved_map(std::span<const axis_map> by, std::uint32_t map);
  std::uint32_t reshape_map(const node* n, std::uint32_t map);
  std::uint32_t broadcast_map(std::uint32_t map, const shape& from, const shape& to);
  void split_index(const linear& flat, const shape& s, int first, int last, std::int64_t size);
  linear quotient(const linear& f, std::int64_t divisor, std::int64_t limit);
  std::uint32_t intern(std::span<const linear> forms, value predicate);
  linear map_form(std::uint32_t map, int axis) const {
    return map_forms_[maps_[map].first + static_cast<std::uint32_t>(axis)];
  }
  value index_value(const linear& f);
  void materialize(const linear& f);
  std::uint32_t raw_form(const linear& f, bool with_offset, std::size_t first = 0);

  // arrange.cpp: loops
  void arrange();
  void find_stages();
  void store_on_the_way();
  std::vector<value> needed_for(std::uint32_t space, std::span<const value> sinks);
  void run_space(std::uint32_t space, std::span<const value> sinks, value loop);
  void run_loop(std::uint32_t space, std::span<const value> sinks);
  template <class F>
  void for_each_operand(const inst& i, F&& f) const;
  std::uint32_t loops_of(const inst& i) const;
  std::uint32_t child_towards(std::uint32_t space, std::uint32_t deeper) const;
  value copy(value v, value loop);
  std::uint32_t instance_of_form(std::uint32_t raw_number);
  std::uint32_t instance_of_access(std::uint32_t raw_number);

  // pieces.cpp: arrays that read other memory in other places
  value lower_update(node* n, std::uint32_t map);
  value lower_join(node* n, std::uint32_t map);
  value inside(const linear& f, std::int64_t size, value also);
  std::uint32_t size_parameter(std::int64_t size);
  bool region_coordinate(const linear& f, const axis_map& region, std::int64_t count, linear& coordinate, value& in);
  index_range range_of(const linear& f) const;

  // conflicts.cpp: reads and writes of one memory
  void find_conflicts();
  void mark_aliases();
  bool same_element(std::uint32_t a, std::uint32_t b) const;
  bool never_meet(std::uint32_t a, std::uint32_t b) const;

  // layout.cpp: dims merged, strides classified, parameters numbered
  void lay_out();
  void merge_dims();
  void write_dims();
  void write_forms();
  void choose_width();
  void choose_lanes();
  // tables.cpp: scatters into small arrays
  bool counts_in_32_bits(const inst& i, std::int64_t elements) const;
  std::int64_t bytes_of_tables();
  void write_tables(std::int64_t bytes);
  template <class F>
  void mark_aligned(const std::vector<bool>& unit, F&& is_inner);
  void align_loops();
  bool mostly_conditional(const std::vector<bool>& unit);
  void find_near_accesses(const std::vector<bool>& unit);
  void add_magic();
  void add_final_dim(std::int64_t extent, std::uint32_t space);
  std::int64_t factor_of(const linear& f, std::uint32_t raw) const;
  std::int64_t& factor(std::size_t form, std::size_t dim) { return factors_[form * factor_stride_ + dim]; }

  // transposes.cpp: what lies in memory along another dim than the domain's innermost
  void choose_transposes();
  void find_counted(std::vector<bool>& counted) const;
  std::uint32_t fastest_dim(std::uint32_t access_number) const;
  bool fit_tiled_dims();
  void take_strips();

  // distribute.cpp: threads for loops
  struct loop_facts;
  void distribute();
  loop_facts look_at_loops();
  void note_loop(const loop_dims& dims, loop_facts& f) const;
  void count_neighbours(bool columns, loop_facts& f);
  void distribute_rows(const loop_facts& f);
  void distribute_scans(const loop_facts& f);
  std::int64_t scans_of_body() const;
  void distribute_columns(const loop_facts& f);
  void distribute_column_scans(const loop_facts& f, std::int64_t rows, std::int64_t inner);
  bool tile_column_scans(const loop_facts& f, std::int64_t rows, std::int64_t inner);
  bool scans_only(const loop_facts& f) const;
  void distribute_on_host(const loop_facts& f);
  void write_team(std::int64_t across, std::int64_t down);
  void write_pieces(std::int64_t down, std::int64_t across, std::int64_t elements, std::int64_t tickets,
                    std::size_t bytes_each);

  // tiles.cpp: loops whose results share what they read
  struct tile_choice;
  static constexpr std::size_t bytes_of_accumulator = 32;  ///< at most; but for users' reductions
  bool distribute_tiles();
  std::uint8_t dim_of_tile(const tile_choice& c) const;
  bool fits_tile(std::uint8_t dim, tile_choice& c) const;
  bool distribute_squares(std::uint8_t dim, const tile_choice& c);
  bool distribute_lines(const tile_choice& c);
  std::size_t bytes_of_totals() const;

  // short_rows.cpp: loops that are unrolled
  void unroll_rows(std::int64_t trips, std::int64_t inner, std::int64_t elements, std::int64_t widest);
  bool loads_need_nothing() const;
  bool counts_loops(const form& f) const;
  void fix_form(const form& f);
  void fix(std::uint32_t p);
  void stage_rows(std::int64_t trips, std::int64_t elements);
  std::int64_t pitch_of_rows(std::uint32_t access_number, std::int64_t trips, std::int64_t elements) const;

  const stored_values* stored_ = nullptr;
  const group* group_ = nullptr;
  const options* how_ = nullptr;
  bool for_cuda_ = false, bounded_ = false;
  lowered* out_ = nullptr;
  linear_store lin_;
  std::vector<atom_info> atoms_;
  std::vector<raw_dim> dims_;
  std::vector<space_info> spaces_;
  std::vector<index_map> maps_;
  std::vector<linear> map_forms_;
  std::vector<linear> raw_forms_;
  std::size_t forms_of_inputs_ = 0;  ///< of raw_forms_, those that stores have not added
  std::vector<bool> raw_has_offset_;
  std::vector<raw_access> raw_accesses_;
  std::vector<linear> scratch_;
  std::vector<inst> graph_;            ///< attr: raw form, raw access; of reductions and scans their space
  std::vector<std::uint32_t> space_;   ///< by value of graph_
  std::vector<call> calls_;            ///< of graph_
  std::vector<iteration> iterations_;
  std::vector<value> call_operands_;
  std::vector<pending_store> stores_;
  std::vector<recorded_load> loads_;
  std::vector<std::uint32_t> sizes_;  ///< parameters of inside()
  std::vector<open_state> open_states_;
  std::vector<open_choice> choices_;
  std::uint32_t scope_ = 0;           ///< the serial space whose body is being lowered; 0: none
  std::vector<open_loop_scope> open_scopes_;  ///< the last one's space is scope_
  epoch_map from_around_;             ///< (node, scope): an operand of the loop that isn't one of its states
  std::vector<const node*> aliased_;  ///< givers of memory that is read and written element by element
  epoch_map memo_;  ///< (node, map) -> value
  struct lowered_node {
    node* n;
    std::uint32_t places;  ///< at which it was lowered
  };
  std::vector<lowered_node> lowered_nodes_;  ///< bounded: outside of loops, users before operands
  epoch_map lowered_where_;                  ///< node -> its place there
  epoch_map map_numbers_;   ///< (hash of a map, tag) -> its place in maps_
  epoch_map form_numbers_;  ///< (hash of a raw form, tag) -> its place in raw_forms_
  int below_tails_ = 0;     ///< erfc's around what is being lowered
  epoch_map factors_seen_;  ///< (hash of a factor, a number and its line; the factor) -> the number's value
  std::vector<std::uint32_t> scalar_lines_;  ///< by parameter: where a number was written; 0: not known
  epoch_map pure_;  ///< (hash of an instruction, tag) -> value

  // arranging
  std::vector<stages> stages_;
  std::vector<value> place_;           ///< by value: where it is in the kernel's body, while that is in scope
  std::vector<std::uint32_t> needed_;  ///< by value: the number of the run_space() that needs it
  std::uint32_t runs_ = 0;
  std::vector<form_instance> form_instances_;
  std::vector<value> values_of_forms_;
  std::vector<std::uint32_t> raw_of_access_;

  // layout
  std::vector<std::int64_t> final_extents_;
  std::vector<std::uint32_t> final_spaces_;  ///< per final dim
  std::vector<std::int64_t> factors_;        ///< per raw form, per final dim
  std::vector<std::int64_t> trips_;          ///< of the loops around an instruction, outermost first
  std::size_t factor_stride_ = 0;
  std::vector<bool> conditional_;  ///< per access: whether it has a predicate
  std::vector<bool> moves_;  ///< per instruction: whether it depends on the inner dim
};

}  // namespace sinter::jit
