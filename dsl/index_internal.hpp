// What the indices of `a(...)` mean, for reads and writes. Not installed.
#pragma once

#include "dsl/index.hpp"
#include "dsl/record_internal.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// An index array or a mask in `a(...)`, and the first axis of the basic view it stands for.
struct taken_axis {
  int axis;
  array values;
  bool is_mask() const { return values.type() == boolean; }
  int axes() const { return is_mask() ? values.rank() : 1; }  ///< how many it stands for
};

/// What a list of indices means for an array: a basic view, then index arrays and masks on axes of that view. Made
/// without waiting; needs neither the list nor the arrays in it any more.
struct index_plan {
  array source;                 // as it was
  jit::axis_map map[max_rank];  // the view, one per source axis
  shape extents;                // of the view
  bool is_identity = true;      // the view changes nothing
  std::vector<taken_axis> taken;
  int first = -1;          // axes of the view, but for taken ones, before the first index array, mask or int
  bool separated = false;  // another kind of index stands between index arrays (ints and masks count as such)
  place at;
  std::optional<array> read;  // the selected elements, once asked for

  std::span<const jit::axis_map> maps() const { return {map, static_cast<std::size_t>(source.rank())}; }
  bool has_mask() const;
  /// The axis of the selection where the common shape of the index arrays starts.
  int first_axis() const { return separated ? 0 : first; }
  /// The basic view of an array of the source's shape.
  array basic(const array& a) const { return is_identity ? a : view(a, maps(), extents, at); }
};

/// Elements of an array that index arrays select: the facts of a gather or scatter.
struct picks {
  shape extents;                       // of the selection
  std::vector<jit::gather_axis> from;  // per axis of the array; operand k: indices[k]
  std::vector<array> indices;          // all of one shape
  int first = 0;                       // axis of the selection where that shape starts
  int along = -1;                      // take_along_axis: the axis; the indices have the shape of the selection
};

/// Throws shape_error when the index arrays don't broadcast, index_error when an axis without elements is indexed.
picks pick(const shape& source, std::span<const indexed_axis> indexed, int first, const place& at);
/// The plan's, within its basic view. Masks wait for their count.
picks pick(const index_plan& p);
array gather(const array& x, const picks& p, const place& at);

/// How a write is done and told. op::buffer replaces; other operations combine the old value with the new one.
struct writing {
  jit::op how;
  std::string_view name;  ///< in messages: "+=", "scatter_add"
  place at;
  std::string hint = {};  ///< for values of another shape
};

/// `base` with x, a value for each selected element or broadcast to that, written where `p` says. With `distinct` no
/// element is selected twice. Throws shape_error and type_error for values that don't fit.
array scattered(const array& base, const picks& p, const jit::input& x, const writing& w, bool distinct = false);

}  // namespace sinter
