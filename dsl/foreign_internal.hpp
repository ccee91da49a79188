// Memory as others describe it, by address and strides, to arrays and back. For interchange.cpp, dlpack.cpp and
// struct_array.cpp.
#pragma once

#include "dsl/array.hpp"
#include "jit/graph.hpp"
#include "runtime/foreign.hpp"

#include <cstdint>
#include <string_view>

namespace sinter {

/// Elements of foreign memory.
struct foreign_elements {
  void* data = nullptr;  ///< of element [0, 0, ..]
  dtype type = f32;
  shape extents;
  const std::int64_t* strides = nullptr;  ///< in elements, one per axis; null: C order
  runtime::device* where = nullptr;
  bool in_place = false;
  bool any_alignment = false;  ///< for who only copies bytes
  void (*release)(void*) = nullptr;
  void* context = nullptr;
};

/// An array over foreign memory, copying nothing. C order becomes an evaluated array, other strides a view of one, or,
/// where they are no sub-grid of a dense array, a gather. `release` isn't called when this throws: shape_error for
/// sizes beyond limits and for in_place with strides; type_error for null or misaligned addresses; device_error for
/// addresses that the device can't reach. `function` is what messages begin with.
array imported(const foreign_elements& x, std::string_view function, const place& at);

/// The same, or with `copy` an array of the values there are now, after which `release` has been called.
array taken_in(const foreign_elements& x, bool copy, std::string_view function, const place& at);

/// Where the values of an array lie.
struct located_elements {
  runtime::reference<runtime::buffer> memory;
  std::int64_t strides[max_rank] = {};  ///< in elements
  std::int64_t offset = 0;              ///< of element [0, 0, ..], in elements

  /// Of element [0, 0, ..]; null when there are no elements.
  void* data(dtype type) const;
};
/// Of `a`, evaluated: launches what is pending. A pending view of evaluated memory stays one when `may_stride` and none
/// of its strides are negative.
located_elements located(const array& a, bool may_stride, const place& at);

/// Whether these strides, in elements, are those of C order; along axes of one element any are.
bool is_c_order(const shape& extents, const std::int64_t* strides);

}  // namespace sinter
