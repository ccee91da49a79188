// The state of one lowering, shared by lower.cpp (values) and layout.cpp (dims, strides and parameters).
#pragma once

#include "jit/epoch_map.hpp"
#include "jit/lower.hpp"

namespace sinter::jit {

/// A loop counter or a computed index.
struct atom_info {
  bool is_dim = false;
  std::uint32_t dim = 0;               ///< raw dim number, when a dim
  std::int64_t limit = 0;              ///< values are in [0, limit)
  linear source{};                     ///< quotient of this form ...
  std::int64_t divisor = 0;            ///< ... by this; 0 when the value exists from the start
  value computed = value::none;
  std::uint32_t scope = 0;
};

/// A vector of forms, one per axis of some node, and the condition under which they are valid.
struct index_map {
  std::uint32_t first = 0;
  std::int32_t rank = 0;
  value predicate = value::none;
  std::uint64_t hash = 0;
};

/// What is written where, once all values are computed.
struct pending_store {
  target to;
  value what, predicate;
  std::uint32_t map;  ///< indices into the memory
};

struct recorded_load {
  const node* from;
  std::uint32_t map, access;
};

struct lowered_reduction {
  const node* n;
  std::uint32_t map, scope;
  value result;
};

struct index_range {
  std::int64_t low, high;  ///< inclusive
};

struct raw_dim {
  std::int64_t extent;
  std::uint32_t loop;  ///< 0: the domain; else 1 + loop number. Only dims of one loop merge
};

class lowering {
 public:
  void run(const group& what, const stored_values& stored, const options& how, bool for_cuda, lowered& out);

 private:
  // lower.cpp: values
  value lower_value(node* n, std::uint32_t map);
  value lower_fresh(node* n, std::uint32_t map);
  value lower_load(node* n, std::uint32_t map);
  value lower_scalar(node* n);
  value lower_elementwise(node* n, std::uint32_t map);
  value lower_gather(node* n, std::uint32_t map);
  value lower_call(node* n, std::uint32_t map);
  value lower_reduction(node* n, std::uint32_t map);
  value index_forms(const node* n, std::uint32_t map, const shape& source, const shape& result,
                    std::vector<linear>& forms);
  void prepare_store(const target& t);
  void emit_store(const pending_store& s);
  linear memory_form(const shape& extents, std::uint32_t map);
  std::uint32_t add_access(parameter_kind kind, node* n, const linear& f, std::uint32_t form);
  value both(value a, value b);
  std::uint32_t moved_map(std::span<const axis_map> by, std::uint32_t map);
  std::uint32_t reshape_map(const node* n, std::uint32_t map);
  std::uint32_t broadcast_map(std::uint32_t map, const shape& from, const shape& to);
  void split_index(const linear& flat, const shape& s, int first, int last, std::int64_t size);
  linear quotient(const linear& f, std::int64_t divisor, std::int64_t limit);
  std::uint32_t intern(std::span<const linear> forms, value predicate);
  linear map_form(std::uint32_t map, int axis) const { return map_forms_[maps_[map].first + static_cast<std::uint32_t>(axis)]; }
  value index_value(const linear& f);
  void materialize(const linear& f);
  std::uint32_t raw_form(const linear& f, bool with_offset);
  value emit(const inst& i);
  value emit_pure(const inst& i);
  std::uint32_t parameter(parameter_kind kind, dtype type, std::int64_t number = 0);
  std::uint32_t new_atom(const atom_info& a);
  std::uint32_t open_scope();
  void close_scope();

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
  bool mostly_conditional(const std::vector<bool>& unit);
  void find_near_accesses(const std::vector<bool>& unit);
  void add_magic();
  void add_final_dim(std::int64_t extent, std::uint32_t loop);
  std::int64_t factor_of(const linear& f, std::uint32_t raw) const;
  std::int64_t& factor(std::size_t form, std::size_t dim) { return factors_[form * factor_stride_ + dim]; }

  const stored_values* stored_ = nullptr;
  const options* how_ = nullptr;
  bool for_cuda_ = false;
  lowered* out_ = nullptr;
  linear_store lin_;
  std::vector<atom_info> atoms_;
  std::vector<raw_dim> dims_;
  std::vector<index_map> maps_;
  std::vector<linear> map_forms_;
  std::vector<linear> raw_forms_;
  std::vector<bool> raw_has_offset_;
  std::vector<linear> scratch_;
  std::vector<pending_store> stores_;
  std::vector<recorded_load> loads_;
  std::vector<lowered_reduction> reductions_;
  std::vector<std::uint32_t> sizes_;  ///< parameters of inside()
  std::vector<const node*> aliased_;  ///< givers of memory that is read and written element by element
  std::vector<std::uint32_t> scopes_;
  std::vector<bool> scope_open_;
  std::uint32_t loops_ = 0;
  epoch_map memo_;  ///< (node, map) -> value, scope
  epoch_map pure_;  ///< (hash of an instruction, tag) -> value, scope

  // layout
  std::vector<std::int64_t> final_extents_;
  std::vector<std::uint32_t> final_loops_;  ///< per final dim, as raw_dim::loop
  std::vector<std::int64_t> factors_;       ///< per form, per final dim
  std::size_t factor_stride_ = 0;
  std::vector<bool> conditional_;  ///< per access: whether it has a predicate
  std::vector<bool> moves_;  ///< per instruction: whether it depends on the inner dim
};

}  // namespace sinter::jit
