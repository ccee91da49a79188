#include "jit/simplify.hpp"

#include "jit/graph_internal.hpp"
#include "jit/typing.hpp"

#include <limits>
#include <optional>

namespace sinter::jit {

namespace {

// How much of an expression is searched for a one-hot matrix, and how deep: recording must stay cheap.
constexpr int most_nodes = 16;
constexpr int most_levels = 8;

// Where the searches below speak of an axis, its extent is above 1 and the node has elements.

node_ref operand_of(node* n, std::size_t k) { return pending_operand(n, n->code, k); }

/// The axis of operand x of an elementwise n that moves with axis v of n; -1 when x is repeated along v.
int operand_axis(const node* n, int v, const node* x) {
  const int u = v - (n->extents.rank() - x->extents.rank());
  return u >= 0 && x->extents[u] == n->extents[v] ? u : -1;
}

/// The only axis of a view's source that moves with axis v of the view, or -1.
int viewed_axis(const node* view, int v) {
  int found = -1;
  for (std::size_t k = 0; k < view->facts->view.size(); ++k) {
    if (view->facts->view[k].axis != v) continue;
    if (found >= 0) return -1;
    found = static_cast<int>(k);
  }
  return found;
}

/// The axis of shape `from` that moves just as axis v of `to`, of as many elements in the same order; -1 for none.
int reshaped_axis(const shape& from, const shape& to, int v) {
  std::int64_t after = 1, count = 1;
  for (int k = v + 1; k < to.rank(); ++k) after *= to[k];
  for (int u = from.rank() - 1; u >= 0 && count <= after; --u) {
    if (count == after && from[u] == to[v]) return u;
    count *= from[u];
  }
  return -1;
}

shape with_extent(shape s, int axis, std::int64_t extent) {
  s[axis] = extent;
  return s;
}

// ---- Ramps ----

/// Values offset + step * index along one axis, whatever the indices along others.
struct ramp {
  std::int64_t offset = 0, step = 1;
};

bool holds(dtype type, std::int64_t x) {
  const int bits = static_cast<int>(size_of(type)) * 8;
  if (kind_of(type) == kind::unsigned_integer) return x >= 0 && (bits == 64 || x >> bits == 0);
  const std::int64_t above = x >> (bits - 1);  // copies of the sign
  return above == 0 || above == -1;
}

/// first + step * times, when that fits.
std::optional<std::int64_t> stepped(std::int64_t first, std::int64_t step, std::int64_t times) {
  std::int64_t distance, sum;
  if (__builtin_mul_overflow(step, times, &distance) || __builtin_add_overflow(first, distance, &sum)) return {};
  return sum;
}

/// r, unless it would wrap somewhere along `extent` indices.
std::optional<ramp> checked(const ramp& r, std::int64_t extent, dtype type) {
  const std::optional<std::int64_t> last = stepped(r.offset, r.step, extent - 1);
  return is_integer(type) && r.step != 0 && last && holds(type, r.offset) && holds(type, *last) ? std::optional(r)
                                                                                               : std::nullopt;
}

/// The ramp's values at positions m.offset + m.step * index.
std::optional<ramp> at_positions(const ramp& r, const axis_map& m) {
  const std::optional<std::int64_t> first = stepped(r.offset, r.step, m.offset), step = stepped(0, r.step, m.step);
  return first && step ? std::optional<ramp>({*first, *step}) : std::nullopt;
}

/// The integer that every element of n is.
std::optional<std::int64_t> constant_of(node* n) {
  node_ref x = node_ref::share(n);
  while (x->code == op::view || x->code == op::reshape) {
    x = operand_of(x.get(), 0);
    if (!x) return {};
  }
  if (x->code != op::scalar || !is_integer(x->type)) return {};
  if (x->number.type == dtype::i64) return x->number.as_i64;
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return x->number.type == dtype::u64 && x->number.as_u64 <= most
             ? std::optional(static_cast<std::int64_t>(x->number.as_u64))
             : std::nullopt;
}

std::optional<ramp> ramp_along(node* n, int v, int levels);

/// The ramp that arithmetic of a ramp and a constant gives.
std::optional<ramp> moved_ramp(node* n, int v, int levels) {
  const node_ref a = operand_of(n, 0), b = operand_of(n, 1);
  if (!a || !b) return {};
  const std::optional<std::int64_t> right = constant_of(b.get()), left = right ? std::nullopt : constant_of(a.get());
  if (!right && !left) return {};
  const std::int64_t c = right ? *right : *left;
  node* x = right ? a.get() : b.get();
  const int u = operand_axis(n, v, x);
  const std::optional<ramp> r = u < 0 ? std::nullopt : ramp_along(x, u, levels);
  if (!r) return {};
  const bool product = n->code == op::multiply, difference = n->code == op::subtract;
  const std::int64_t times = product ? c : difference && left ? -1 : 1;
  const auto shift = product ? std::optional<std::int64_t>(0) : stepped(0, difference && right ? -1 : 1, c);
  const auto offset = shift ? stepped(*shift, times, r->offset) : std::nullopt, step = stepped(0, times, r->step);
  return offset && step ? checked({*offset, *step}, n->extents[v], n->type) : std::nullopt;
}

/// What n is along axis v, if that is a ramp of integers made of positions, views and constants.
std::optional<ramp> ramp_along(node* n, int v, int levels) {
  if (--levels < 0) return {};
  switch (n->code) {
    case op::iota: return ramp{};
    case op::add:
    case op::subtract:
    case op::multiply: return moved_ramp(n, v, levels);
    case op::view:
    case op::reshape:
    case op::convert: break;
    default: return {};
  }
  const node_ref base = operand_of(n, 0);
  if (!base) return {};
  const int u = n->code == op::view      ? viewed_axis(n, v)
                : n->code == op::reshape ? reshaped_axis(base->extents, n->extents, v)
                                         : v;
  const std::optional<ramp> r = u < 0 ? std::nullopt : ramp_along(base.get(), u, levels);
  if (!r || n->code == op::reshape) return r;
  if (n->code == op::view) return at_positions(*r, n->facts->view[static_cast<std::size_t>(u)]);
  return checked(*r, n->extents[v], n->type);
}

// ---- What does not change along an axis ----

/// Whether the elements of n along axis v are known to be the same. `nodes` counts down.
bool is_fixed_along(node* n, int v, int levels, int& nodes) {
  if (--levels < 0 || --nodes < 0) return false;
  if (n->code == op::view) {
    const node_ref base = operand_of(n, 0);
    if (!base) return false;
    for (std::size_t k = 0; k < n->facts->view.size(); ++k)
      if (n->facts->view[k].axis == v && !is_fixed_along(base.get(), static_cast<int>(k), levels, nodes)) return false;
    return true;
  }
  if (n->code == op::reshape) {
    const node_ref base = operand_of(n, 0);
    const int u = base ? reshaped_axis(base->extents, n->extents, v) : -1;
    return u >= 0 && is_fixed_along(base.get(), u, levels, nodes);
  }
  if (!is_elementwise(n->code)) return false;
  for (std::size_t k = 0; k < info(n->code).arity; ++k) {
    const node_ref x = operand_of(n, k);
    if (!x) return false;
    const int u = operand_axis(n, v, x.get());
    if (u >= 0 && !is_fixed_along(x.get(), u, levels, nodes)) return false;
  }
  return true;
}

/// The first elements of n along axis v, which stays, with extent 1.
node_ref first_along(node* n, int v, const place& at) {
  axis_map map[max_rank];
  for (int k = 0; k < n->extents.rank(); ++k) map[k] = k == v ? axis_map{} : axis_map{0, 1, k};
  return make_view(n, {map, static_cast<std::size_t>(n->extents.rank())}, with_extent(n->extents, v, 1), at);
}

/// Whether every element of n is 0.
bool is_zero(node* n) {
  node_ref x = node_ref::share(n);
  while (x->code == op::view || x->code == op::reshape || x->code == op::convert) {
    x = operand_of(x.get(), 0);
    if (!x) return false;
  }
  if (x->code != op::scalar) return false;
  const scalar& number = x->number;
  switch (number.type) {
    case dtype::boolean: return !number.as_bool;
    case dtype::i64: return number.as_i64 == 0;
    case dtype::u64: return number.as_u64 == 0;
    case dtype::f64: return number.as_f64 == 0;
    default: return number.as_c128 == complex128{};
  }
}

// ---- Expressions that are 0 but where a one-hot matrix is not ----

/// An expression that, along one axis, is `value` where `index` equals `classes`, and 0 elsewhere.
struct masked {
  node_ref index;  ///< the shape of the expression, with extent 1 along the axis
  ramp classes;
  node_ref value;  ///< the dtype and shape of the expression; null: 1
};

/// Searches an expression; `at` is where the nodes it makes are said to come from.
class search {
 public:
  explicit search(const place& at) : at_(at) {}

  /// What n is along axis v.
  std::optional<masked> find(node* n, int v, int levels = most_levels) {
    switch (n->code) {
      case op::equal:
      case op::convert:
      case op::multiply:
      case op::logical_and:
      case op::select:
      case op::view:
      case op::reshape: break;
      default: return {};
    }
    if (--levels < 0 || --nodes_ < 0) return {};
    switch (n->code) {
      case op::equal: return find_equal(n, v);
      case op::convert: return find_convert(n, v, levels);
      case op::select: return find_select(n, v, levels);
      case op::view: return find_view(n, v, levels);
      case op::reshape: return find_reshape(n, v, levels);
      default: return find_product(n, v, levels);
    }
  }

  bool is_fixed(node* n, int v) {
    int nodes = most_nodes;
    return is_fixed_along(n, v, most_levels, nodes);
  }

 private:
  std::optional<masked> find_equal(node* n, int v) {
    const node_ref both[] = {operand_of(n, 0), operand_of(n, 1)};
    if (!both[0] || !both[1]) return {};
    for (std::size_t k = 0; k < 2; ++k) {
      node *positions = both[k].get(), *index = both[1 - k].get();
      const int u = operand_axis(n, v, positions), other = operand_axis(n, v, index);
      const std::optional<ramp> r = u < 0 ? std::nullopt : ramp_along(positions, u, most_levels);
      if (!r || (other >= 0 && !is_fixed_along(index, other, most_levels, nodes_))) continue;
      return masked{first_along(make_broadcast(index, n->extents, at_).get(), v, at_), *r, {}};
    }
    return {};
  }

  std::optional<masked> find_convert(node* n, int v, int levels) {
    const node_ref x = operand_of(n, 0);
    std::optional<masked> m = x ? find(x.get(), v, levels) : std::nullopt;
    if (m && m->value) m->value = make_convert(m->value.get(), n->type, at_);
    return m;
  }

  /// (one-hot, E), (E, one-hot): a product, or both true.
  std::optional<masked> find_product(node* n, int v, int levels) {
    for (std::size_t k = 0; k < 2; ++k) {
      std::optional<masked> m = find_operand(n, k, v, levels);
      if (!m) continue;
      const node_ref other = operand_of(n, 1 - k);
      if (!other) return {};
      node* list[] = {m->value.get(), other.get()};
      m->value = m->value ? make_node(n->code, n->type, n->extents, list, at_)
                          : make_broadcast(other.get(), n->extents, at_);
      return m;
    }
    return {};
  }

  std::optional<masked> find_select(node* n, int v, int levels) {
    std::optional<masked> m = find_operand(n, 0, v, levels);
    if (!m) return {};
    const node_ref chosen = operand_of(n, 1), rest = operand_of(n, 2);
    if (!chosen || !rest || !is_zero(rest.get())) return {};
    node* list[] = {m->value.get(), chosen.get(), rest.get()};
    m->value = m->value ? make_node(op::select, n->type, n->extents, list, at_)
                        : make_broadcast(chosen.get(), n->extents, at_);
    return m;
  }

  /// Operand k of an elementwise n, repeated to the shape of n.
  std::optional<masked> find_operand(node* n, std::size_t k, int v, int levels) {
    const node_ref x = operand_of(n, k);
    const int u = x ? operand_axis(n, v, x.get()) : -1;
    std::optional<masked> m = u >= 0 ? find(x.get(), u, levels) : std::nullopt;
    if (!m || x->extents == n->extents) return m;
    m->index = make_broadcast(m->index.get(), with_extent(n->extents, v, 1), at_);
    if (m->value) m->value = make_broadcast(m->value.get(), n->extents, at_);
    return m;
  }

  std::optional<masked> find_view(node* n, int v, int levels) {
    const node_ref x = operand_of(n, 0);
    const int u = x ? viewed_axis(n, v) : -1;
    std::optional<masked> m = u >= 0 ? find(x.get(), u, levels) : std::nullopt;
    if (!m) return {};
    axis_maps map = n->facts->view;
    const axis_map along = map[static_cast<std::size_t>(u)];
    const std::optional<ramp> classes = at_positions(m->classes, along);
    if (!classes) return {};
    m->classes = *classes;
    if (m->value) m->value = make_view(m->value.get(), map, n->extents, at_);
    map[static_cast<std::size_t>(u)] = {};
    m->index = make_view(m->index.get(), map, with_extent(n->extents, v, 1), at_);
    return m;
  }

  std::optional<masked> find_reshape(node* n, int v, int levels) {
    const node_ref x = operand_of(n, 0);
    const int u = x ? reshaped_axis(x->extents, n->extents, v) : -1;
    std::optional<masked> m = u >= 0 ? find(x.get(), u, levels) : std::nullopt;
    if (!m) return {};
    if (m->value) m->value = make_reshape(m->value.get(), n->extents, at_);
    m->index = make_reshape(m->index.get(), with_extent(n->extents, v, 1), at_);
    return m;
  }

  const place& at_;
  int nodes_ = most_nodes;
};

// ---- The reduction without its loop ----

node_ref recorded(op code, node* a, node* b, const place& at) {
  const input in[] = {{a, {}, at}, {b, {}, at}};
  return record(code, in, at);
}
node_ref with_number(op code, node* a, std::int64_t number, const place& at) {
  const input in[] = {{a, {}, at}, {nullptr, scalar(number), at}};
  return record(code, in, at);
}
/// x where `condition` holds, else 0.
node_ref or_zero(node* condition, node* x, const place& at) {
  const input in[] = {{condition, {}, at}, {x, {}, at}, {nullptr, scalar(false), at}};
  return record(op::select, in, at);
}

/// Removes axis v, of extent 1.
node_ref without_axis(node* n, int v, const place& at) {
  axis_map map[max_rank];
  shape extents;
  for (int k = 0; k < n->extents.rank(); ++k) {
    if (k == v) continue;
    map[k] = {0, 1, extents.rank()};
    extents.append(n->extents[k]);
  }
  return make_view(n, {map, static_cast<std::size_t>(n->extents.rank())}, extents, at);
}

/// Where a one-hot matrix is 1.
struct hit {
  node_ref found;     ///< bool: whether it is anywhere
  node_ref position;  ///< i64: where along the axis, or 0
};

hit find_position(node* index, const ramp& classes, std::int64_t extent, const place& at) {
  // Differences may wrap, but one that is a multiple of the step in range is true: both numbers fit i64.
  const node_ref wide = make_convert(index, dtype::i64, at);
  node_ref k = wide;
  if (classes.step == -1) {
    const input in[] = {{nullptr, scalar(classes.offset), at}, {wide.get(), {}, at}};
    k = record(op::subtract, in, at);
  } else if (classes.offset != 0) {
    k = with_number(op::subtract, wide.get(), classes.offset, at);
  }
  const node_ref distance = k;
  const bool strided = classes.step != 1 && classes.step != -1;
  if (strided) k = with_number(op::divide, distance.get(), classes.step, at);
  const node_ref not_before = with_number(op::greater_equal, k.get(), 0, at);
  const node_ref not_after = with_number(op::less, k.get(), extent, at);
  node_ref found = recorded(op::logical_and, not_before.get(), not_after.get(), at);
  if (strided) {
    const node_ref rest = with_number(op::modulo, distance.get(), classes.step, at);
    found = recorded(op::logical_and, found.get(), with_number(op::equal, rest.get(), 0, at).get(), at);
  }
  node_ref position = or_zero(found.get(), k.get(), at);
  return {std::move(found), std::move(position)};
}

/// The elements of x at `position` along axis v, which stays, with extent 1, if the positions have it.
node_ref gather_along(node* x, int v, node* position, const place& at) {
  const int removed = x->extents.rank() - position->extents.rank();
  auto facts = std::make_unique<attribute>();
  for (int k = 0; k < x->extents.rank(); ++k)
    facts->gather.push_back(k == v ? gather_axis{-1, 1} : gather_axis{k > v ? k - removed : k, -1});
  node* operands[] = {x, position};
  return make_node(op::gather, x->type, position->extents, operands, at, std::move(facts));
}

/// `source`, which is m along axis v, reduced over that axis alone.
node_ref reduce_along(op code, node* source, int v, bool keep_dims, const masked& m, search& s, const place& at) {
  const node_ref index = keep_dims ? m.index : without_axis(m.index.get(), v, at);
  const hit h = find_position(index.get(), m.classes, source->extents[v], at);
  if (code == op::reduce_argmax) return h.position;
  if (!m.value) return make_convert(h.found.get(), source->type, at);
  if (!s.is_fixed(m.value.get(), v))
    return or_zero(h.found.get(), gather_along(m.value.get(), v, h.position.get(), at).get(), at);
  node_ref same = first_along(m.value.get(), v, at);
  if (!keep_dims) same = without_axis(same.get(), v, at);
  return or_zero(h.found.get(), same.get(), at);
}

/// The bits of `axes` but v, as they are numbered once v is reduced.
std::uint32_t axes_left(std::uint32_t axes, int v, bool keep_dims) {
  const std::uint32_t others = axes & ~(1u << v), before = (1u << v) - 1;
  return keep_dims ? others : (others & before) | (others & ~before) >> 1;
}

bool is_searched(op code) {
  return code == op::reduce_sum || code == op::reduce_max || code == op::reduce_any || code == op::reduce_argmax;
}

}  // namespace

node_ref simplify_reduction(op code, node* source, std::uint32_t axes, bool keep_dims, const place& at) {
  if (!is_searched(code) || source->extents.size() == 0) return {};
  const bool takes_values = code == op::reduce_sum || code == op::reduce_any;
  for (int v = 0; v < source->extents.rank(); ++v) {
    if (!(axes >> v & 1u) || source->extents[v] <= 1) continue;
    search s(at);
    const std::optional<masked> m = s.find(source, v);
    if (!m || (m->value && !takes_values)) continue;
    node_ref reduced = reduce_along(code, source, v, keep_dims, *m, s, at);
    const std::uint32_t left = axes_left(axes, v, keep_dims);
    return left == 0 ? reduced : record_reduction(code, {reduced.get(), {}, at}, left, keep_dims, at);
  }
  return {};
}

}  // namespace sinter::jit
