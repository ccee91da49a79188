// What the indices of `a(...)` mean, for reads and writes. Not installed.
#pragma once

#include "dsl/index.hpp"
#include "dsl/record_internal.hpp"

#include <cstdint>
#include <memory>
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

/// The index arrays and masks of a selection, which select from its basic view.
struct taken_axes {
  std::vector<taken_axis> list;
  int first = -1;          // axes of the view, but for taken ones, before the first index array, mask or int
  bool separated = false;  // another kind of index stands between index arrays (ints and masks count as such)

  bool has_mask() const;
  /// The axis of the selection where the common shape of the index arrays starts.
  int first_axis() const { return separated ? 0 : first; }
};

/// What a selection has beside its basic view, when it has any. Made without waiting; needs neither the indices nor the
/// arrays among them any more.
struct selection_extras {
  taken_axes taken;
  std::optional<array> read;  // the selected elements, once asked for
};

/// Elements of an array that index arrays select: the facts of a gather or scatter.
struct picks {
  shape extents;                       // of the selection
  jit::gather_axes from;               // per axis of the array; operand k: indices[k]
  std::vector<array> indices;          // all of one shape
  int first = 0;                       // axis of the selection where that shape starts
  int along = -1;                      // take_along_axis: the axis; the indices have the shape of the selection
};

/// Throws shape_error when the index arrays don't broadcast, index_error when an axis without elements is indexed.
picks pick(const shape& source, std::span<const indexed_axis> indexed, int first, const place& at);
/// The taken ones, within a basic view. Masks wait for their count.
picks pick(const shape& view, const taken_axes& taken, const place& at);
array gather(const array& x, const picks& p, const place& at);

/// How a write is done and told. op::buffer replaces; other operations combine the old value with the new one.
struct writing {
  jit::op how;
  std::string_view name;  ///< in messages: "+=", "scatter_add"
  place at;
  std::string_view hint = {};  ///< for values of another shape
};

/// `base` with x, a value for each selected element or broadcast to that, written where `p` says. With `distinct` no
/// element is selected twice. `keep`: boolean, of the selection's shape: which values are written; null: all. Throws
/// shape_error and type_error for values that don't fit.
array scattered(const array& base, const picks& p, const jit::input& x, const writing& w, bool distinct = false,
                const array* keep = nullptr);

}  // namespace sinter
