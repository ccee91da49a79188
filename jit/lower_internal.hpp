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

struct raw_dim {
  std::int64_t extent;
  std::uint32_t loop;  ///< 0: the domain; else 1 + loop number. Only dims of one loop merge
};

class lowering {
 public:
  void run(std::span<node* const> outputs, const stored_values& stored, const options& how, bool for_cuda, lowered& out);

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
  void store(node* n);
  std::uint32_t view_map(const node* n, std::uint32_t map);
  std::uint32_t reshape_map(const node* n, std::uint32_t map);
  std::uint32_t broadcast_map(std::uint32_t map, const shape& from, const shape& to);
  void split_index(const linear& flat, const shape& s, int first, int last, std::int64_t size);
  linear quotient(const linear& f, std::int64_t divisor, std::int64_t limit);
  std::int64_t limit_of(const linear& f) const;
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

  // layout.cpp: dims merged, strides classified, parameters numbered
  void lay_out();
  void merge_dims();
  void write_dims();
  void write_forms();
  void choose_width();
  void choose_lanes();
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
};

}  // namespace sinter::jit
