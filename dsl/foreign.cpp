#include "dsl/foreign_internal.hpp"

#include "dsl/record_internal.hpp"
#include "dsl/shape_ops.hpp"
#include "jit/engine.hpp"
#include "jit/graph_internal.hpp"
#include "jit/recorded_memory.hpp"
#include "runtime/backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace sinter {

using jit::axis_map;
using jit::axis_maps;
using runtime::buffer;
using runtime::reference;

namespace {

/// An axis along which the address moves.
struct moving_axis {
  int axis;
  std::int64_t extent, stride;  ///< stride > 0
  bool backwards;
};

/// How strided elements lie in memory.
struct footprint {
  std::vector<moving_axis> axes;  ///< the widest stride first
  std::int64_t before = 0;        ///< elements in front of [0, 0, ..]
  std::int64_t span = 1;          ///< elements from the first in memory to the last
};

[[noreturn]] void throw_beyond_limits(std::string_view function, const shape& extents, const place& at) {
  throw_shape_error(fmt::format("{}: shape {} with these strides is beyond limits", function, to_string(extents)), at);
}

footprint footprint_of(const foreign_elements& x, std::string_view function, const place& at) {
  footprint f;
  const std::int64_t most = (std::int64_t{1} << 62) / size_of(x.type);
  for (int k = 0; k < x.extents.rank(); ++k) {
    const std::int64_t n = x.extents[k], stride = x.strides[k];
    if (n == 1 || stride == 0) continue;
    std::int64_t distance;
    if (__builtin_mul_overflow(n - 1, stride, &distance) || distance > most || distance < -most)
      throw_beyond_limits(function, x.extents, at);
    const std::int64_t length = distance < 0 ? -distance : distance;
    if (distance < 0) f.before += length;
    f.span += length;
    if (f.span > most) throw_beyond_limits(function, x.extents, at);
    f.axes.push_back({k, n, stride < 0 ? -stride : stride, stride < 0});
  }
  std::ranges::stable_sort(f.axes, std::ranges::greater{}, &moving_axis::stride);
  return f;
}

/// Whether each axis moves within one step of the axis before: then the elements are a sub-grid of a dense array.
bool is_nested(const footprint& f) {
  for (std::size_t k = 1; k < f.axes.size(); ++k) {
    const std::int64_t outer = f.axes[k - 1].stride, inner = f.axes[k].stride;
    if (outer % inner != 0 || f.axes[k].extent > outer / inner) return false;
  }
  return static_cast<int>(f.axes.size()) < max_rank;
}

/// The extents of that dense array. Of its last row, only what is asked for need be there: views read nothing else.
shape dense_extents(const footprint& f) {
  shape s;
  for (std::size_t k = 0; k < f.axes.size(); ++k)
    s.append(k == 0 ? f.axes[0].extent : f.axes[k - 1].stride / f.axes[k].stride);
  if (!f.axes.empty() && f.axes.back().stride > 1) s.append(f.axes.back().stride);
  return s;
}

axis_maps dense_view(const footprint& f, int dense_rank) {
  axis_maps map;
  for (const moving_axis& m : f.axes)
    map.push_back(m.backwards ? axis_map{m.extent - 1, -1, m.axis} : axis_map{0, 1, m.axis});
  while (static_cast<int>(map.size()) < dense_rank) map.push_back({});
  return map;
}

/// The elements of `memory`, [span], at the sums of indices times strides: windows that overlap, diagonals.
array gathered(const array& memory, const footprint& f, const shape& extents, const place& at) {
  array where = array(scalar(f.before), at);
  for (const moving_axis& m : f.axes) {
    shape own;
    for (int k = 0; k < extents.rank(); ++k) own.append(k == m.axis ? m.extent : 1);
    const array steps = record(jit::op::multiply, iota(m.extent, at), m.backwards ? -m.stride : m.stride, at);
    where = record(jit::op::add, where, reshape(steps, own, at), at);
  }
  return std::as_const(memory)(broadcast_to(where, extents, at));
}

void check_address(const foreign_elements& x, std::string_view function, const place& at) {
  if (x.data == nullptr)
    throw_type_error(fmt::format("{}: the address is null, but shape {} has elements", function, to_string(x.extents)),
                     at);
  const auto alignment = static_cast<std::uintptr_t>(is_complex(x.type) ? size_of(x.type) / 2 : size_of(x.type));
  if (!x.any_alignment && reinterpret_cast<std::uintptr_t>(x.data) % alignment != 0)
    throw_type_error(fmt::format("{}: the address {} is not aligned to the {} bytes that {} needs", function, x.data,
                                 alignment, to_string(x.type)),
                     at, "copy the values to aligned memory first");
  if (x.where->kind() != runtime::device_kind::cuda) return;
  if (const std::string reason = runtime::unreachable_reason(*x.where, x.data); !reason.empty())
    throw device_error(error_text(fmt::format("{}: the address {} {}", function, x.data, reason), at));
}

reference<buffer> memory_of(const foreign_elements& x, void* data, const shape& extents, const place& at) {
  const auto bytes = static_cast<std::size_t>(checked_bytes(extents, x.type, at));
  return reference<buffer>(runtime::make_foreign(*x.where, {data, bytes, x.in_place}));
}

array over_strides(const foreign_elements& x, reference<buffer>& memory, std::string_view function, const place& at) {
  const footprint f = footprint_of(x, function, at);
  void* first = static_cast<std::byte*>(x.data) - f.before * size_of(x.type);
  const bool nested = is_nested(f);
  const shape extents = nested ? dense_extents(f) : shape{f.span};
  memory = memory_of(x, first, extents, at);
  const jit::node_ref n = jit::make_buffer_node(memory, x.type, extents, at);
  if (nested) return wrap(jit::make_view(n.get(), dense_view(f, extents.rank()), x.extents, at));
  return gathered(wrap(n), f, x.extents, at);
}

}  // namespace

bool is_c_order(const shape& extents, const std::int64_t* strides) {
  std::int64_t step = 1;
  for (int k = extents.rank(); k-- > 0; step *= extents[k])
    if (extents[k] != 1 && strides[k] != step) return false;
  return true;
}

array imported(const foreign_elements& x, std::string_view function, const place& at) {
  checked_bytes(x.extents, x.type, at);
  const bool empty = x.extents.size() == 0;
  if (!empty) check_address(x, function, at);
  const bool dense = empty || x.strides == nullptr || is_c_order(x.extents, x.strides);
  if (!dense && x.in_place)
    throw_shape_error(fmt::format("{}: only memory in C order can be written in place", function), at,
                      "without in_place, what is written goes to memory of the array's own");
  reference<buffer> memory;
  if (dense) memory = memory_of(x, empty ? nullptr : x.data, x.extents, at);
  array a = dense ? wrap(jit::make_buffer_node(memory, x.type, x.extents, at)) : over_strides(x, memory, function, at);
  runtime::give_back_with(*memory, x.release, x.context);  // last: until here the memory is the caller's
  return a;
}

// ---- Out ----

void* located_elements::data(dtype type) const {
  if (memory->data == nullptr) return nullptr;
  return static_cast<std::byte*>(memory->data) + offset * size_of(type);
}

namespace {

/// Strides of a view, when they are not negative; its source is evaluated.
bool strides_of_view(const axis_maps& map, const shape& source, located_elements& to) {
  std::int64_t step = 1;
  for (int k = source.rank(); k-- > 0; step *= source[k]) {
    const axis_map& m = map[static_cast<std::size_t>(k)];
    to.offset += m.offset * step;
    if (m.axis < 0) continue;
    if (m.step < 0) return false;
    to.strides[m.axis] += m.step * step;
  }
  return true;
}

}  // namespace

located_elements located(const array& a, bool may_stride, const place& at) {
  jit::node* n = a.node();
  if (may_stride && !n->values() && a.size() > 0) {
    const jit::node_ref source = jit::pending_operand(n, jit::op::view);
    located_elements viewed;
    if (source && source->values() && strides_of_view(n->facts->view, source->extents, viewed)) {
      jit::refuse_recorded(source.get(), at);
      viewed.memory = reference<buffer>::share(source->values());
      return viewed;
    }
  }
  jit::evaluate({&n, 1}, at);
  jit::refuse_recorded(n, at);
  located_elements whole;
  whole.memory = reference<buffer>::share(n->values());
  contiguous_strides(a.extents(), whole.strides);
  return whole;
}

}  // namespace sinter
