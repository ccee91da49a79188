#include "dsl/index.hpp"

#include "dsl/device.hpp"
#include "dsl/index_internal.hpp"
#include "dsl/masks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

namespace sinter {

constinit const index no_index;

namespace {

using jit::axis_map;
using anchor = position::anchor;

/// `n` counted from the front, not clipped.
std::int64_t from_front(position p, std::int64_t extent) {
  if (p.from == anchor::end) return p.offset + extent;
  return p.from == anchor::none && p.offset < 0 ? p.offset + extent : p.offset;
}

struct run {
  std::int64_t first, count;
};

/// The elements a range takes of an axis, clipped as NumPy clips slices.
run clip_range(const range& r, std::int64_t extent, const place& at) {
  if (r.step == 0) throw_index_error("range: the step is 0", at);
  const std::int64_t low = r.step > 0 ? 0 : -1, high = r.step > 0 ? extent : extent - 1;
  const bool down_to_begin = r.step < 0 && r.last.from == anchor::begin && r.last.offset == 0;
  const std::int64_t first = std::clamp(from_front(r.first, extent), low, high);
  const std::int64_t last = down_to_begin ? -1 : std::clamp(from_front(r.last, extent), low, high);
  const std::int64_t distance = r.step > 0 ? last - first : first - last;
  if (distance <= 0) return {0, 0};
  // A step past the axis is as good as one of its length; its negative fits, then.
  const std::int64_t pace = r.step > 0 ? r.step : r.step < -extent ? extent : -r.step;
  return {first, (distance - 1) / pace + 1};
}

[[noreturn, gnu::noinline]] void throw_out_of_range(const index& i, std::int64_t k, int axis, std::int64_t extent) {
  throw_index_error(
      fmt::format("index {} is out of range for axis {} with size {}", k < 0 ? i.integer() : k, axis, extent), i.at());
}

inline std::int64_t checked_integer(const index& i, int axis, std::int64_t extent) {
  const std::int64_t k = from_front({i.integer(), i.anchor()}, extent);
  if (k < 0 || k >= extent) throw_out_of_range(i, k, axis, extent);
  return k;
}

/// An index array, or a mask of the shape of the axes from `axis` on.
void check_array(const index& i, const shape& extents, int axis) {
  const array& values = i.values();
  const dtype type = values.type();
  if (is_integer(type)) return;
  if (type != boolean)
    throw_type_error(fmt::format("index: an index array of {}, not of integers", to_string(type)), i.at(),
                     "x.astype(i64)");
  if (values.rank() == 0)
    throw_shape_error("index: a mask of rank 0 has no axes to select from", i.at(),
                      "where(mask, a, b) chooses between whole arrays");
  for (int k = 0; k < values.rank(); ++k)
    if (values.extents()[k] != extents[axis + k])
      throw_shape_error(fmt::format("index: a mask of shape {} does not fit an array of shape {} (axis {}: {} against "
                                    "{})",
                                    to_string(values.extents()), to_string(extents), axis + k, values.extents()[k],
                                    extents[axis + k]),
                        i.at());
}

int axes_of(const index& i) {
  return i.what() == index::kind::array && i.values().type() == boolean ? i.values().rank() : 1;
}

/// How many axes the indices name; checks their number.
int count_named(std::span<const index* const> list, const shape& extents) {
  int named = 0, rests = 0;
  for (const index* i : list) {
    switch (i->what()) {
      case index::kind::unit:
        break;
      case index::kind::rest:
        if (++rests > 1) throw_index_error("index: more than one ellipsis", i->at());
        break;
      default:
        named += axes_of(*i);
        if (named > extents.rank())
          throw_index_error(
              fmt::format("too many indices: an array of shape {} has {} {}", to_string(extents), extents.rank(),
                            extents.rank() == 1 ? "axis" : "axes"),
              i->at());
    }
  }
  return named;
}

using index_list = std::span<const index* const>;

/// Finds what indices mean, one after the other.
class planner {
 public:
  /// `map` and `view`, both empty: the basic view, to be filled.
  planner(const shape& source, index_list list, jit::axis_maps& map, shape& view)
      : source_(source), list_(list), map_(map), view_(view) {}

  void plan() {
    rests_ = source_.rank() - count_named(list_, source_);
    bool rest_seen = false;
    for (const index* i : list_) {
      take(*i);
      rest_seen |= i->what() == index::kind::rest;
    }
    if (!rest_seen) keep_rest(list_.empty() ? place{} : list_[0]->at());
  }

  /// Null when there are no index arrays and masks.
  std::unique_ptr<selection_extras> extras() {
    if (taken_.list.empty()) return nullptr;
    return std::make_unique<selection_extras>(selection_extras{std::move(taken_), {}});
  }

 private:
  /// The next axis of the source.
  int axis() const { return static_cast<int>(map_.size()); }

  void take(const index& i) {
    switch (i.what()) {
      case index::kind::integer:
        map_.push_back({checked_integer(i, axis(), source_[axis()]), 0, -1});
        return advanced();
      case index::kind::array:
        check_array(i, source_, axis());
        advanced();
        taken_.list.push_back({view_.rank(), i.values()});
        for (int k = axes_of(i); k > 0; --k) keep_axis(i.at());
        return;
      default:
        break;
    }
    if (open_) interrupted_ = true;
    switch (i.what()) {
      case index::kind::slice:
        return take_slice(i);
      case index::kind::unit:
        return append_extent(view_, 1, "index", i.at());
      case index::kind::rest:
        return keep_rest(i.at());
      default:
        return keep_axis(i.at());
    }
  }

  void take_slice(const index& i) {
    const run taken = clip_range(i.slice(), source_[axis()], i.at());
    map_.push_back({taken.first, taken.count <= 1 ? 0 : i.slice().step, view_.rank()});
    append_extent(view_, taken.count, "index", i.at());
  }

  void keep_axis(const place& at) {
    const std::int64_t extent = source_[axis()];
    map_.push_back({0, 1, view_.rank()});
    append_extent(view_, extent, "index", at);
  }

  void keep_rest(const place& at) {
    for (; rests_ > 0; --rests_) keep_axis(at);
  }

  /// An int, an index array or a mask: where the first stands, and whether all are neighbours.
  void advanced() {
    if (taken_.first < 0) taken_.first = view_.rank();
    taken_.separated |= interrupted_;
    open_ = true;
  }

  const shape& source_;
  index_list list_;
  jit::axis_maps& map_;
  shape& view_;
  taken_axes taken_;
  int rests_ = 0;
  bool open_ = false, interrupted_ = false;
};

/// Whether there is an integer or `all` for each axis, as in most loops.
bool is_plain(const shape& source, index_list list) {
  if (static_cast<int>(list.size()) != source.rank()) return false;
  for (const index* i : list)
    if (i->what() != index::kind::integer && i->what() != index::kind::whole) return false;
  return true;
}

/// The shape that the index arrays broadcast to.
shape common_index_shape(const shape& source, std::span<const indexed_axis> indexed, const place& at) {
  shape common = indexed[0].values->extents();
  for (const indexed_axis& i : indexed.subspan(1)) {
    const shape before = common;
    if (!broadcast_into(before, i.values->extents(), common))
      throw_shape_error(fmt::format("index: index arrays of shapes {} and {} do not broadcast", to_string(before),
                                    to_string(i.values->extents())),
                        at);
  }
  for (const indexed_axis& i : indexed)
    if (common.size() > 0 && source[i.axis] == 0)
      throw_index_error(fmt::format("index: axis {} of shape {} has no elements", i.axis, to_string(source)), at);
  return common;
}

std::vector<indexed_axis> indexed_axes(const taken_axes& taken) {
  std::vector<indexed_axis> indexed;
  for (const taken_axis& t : taken.list) indexed.push_back({t.axis, &t.values});
  return indexed;
}

}  // namespace

bool taken_axes::has_mask() const {
  return std::any_of(list.begin(), list.end(), [](auto& t) { return t.is_mask(); });
}

picks pick(const shape& source, std::span<const indexed_axis> indexed, int first, const place& at) {
  const shape common = common_index_shape(source, indexed, at);
  picks p;
  p.first = first;
  p.from.resize(static_cast<std::size_t>(source.rank()));
  for (const indexed_axis& i : indexed) {
    p.from[static_cast<std::size_t>(i.axis)].operand = static_cast<std::int32_t>(p.indices.size());
    p.indices.push_back(wrap(jit::make_broadcast(i.values->node(), common, at)));
  }
  const auto append_common = [&] {
    for (std::int64_t n : common) append_extent(p.extents, n, "index", at);
  };
  int others = 0;
  for (int k = 0; k < source.rank(); ++k) {
    jit::gather_axis& from = p.from[static_cast<std::size_t>(k)];
    if (from.operand >= 0) continue;
    if (others++ == first) append_common();
    from.axis = p.extents.rank();
    append_extent(p.extents, source[k], "index", at);
  }
  if (others <= first) append_common();
  return p;
}

picks pick(const shape& view, const taken_axes& taken, const place& at) {
  if (!taken.has_mask()) return pick(view, indexed_axes(taken), taken.first_axis(), at);
  std::vector<array> positions;
  std::vector<int> axes_taken;
  for (const taken_axis& t : taken.list) {
    const std::vector<array> of_mask = t.is_mask() ? nonzero(t.values, at) : std::vector<array>{t.values};
    for (std::size_t k = 0; k < of_mask.size(); ++k) {
      axes_taken.push_back(t.axis + static_cast<int>(k));
      positions.push_back(of_mask[k]);
    }
  }
  std::vector<indexed_axis> indexed;
  for (std::size_t k = 0; k < positions.size(); ++k) indexed.push_back({axes_taken[k], &positions[k]});
  return pick(view, indexed, taken.first_axis(), at);
}

array gather(const array& x, const picks& p, const place& at) {
  checked_bytes(p.extents, x.type(), at);
  auto facts = std::make_unique<jit::attribute>();
  facts->first_axis = p.first;
  facts->gather = p.from;
  for (jit::gather_axis& from : facts->gather)
    if (from.operand >= 0) ++from.operand;  // operand 0 is x
  std::vector<jit::node*> operands{x.node()};
  for (const array& i : p.indices) operands.push_back(i.node());
  return wrap(jit::make_node(jit::op::gather, x.type(), p.extents, operands, at, std::move(facts)));
}

array gather(const array& x, std::span<const indexed_axis> indexed, int first, const place& at) {
  return gather(x, pick(x.extents(), indexed, first, at), at);
}

// ---- Parentheses ----

namespace {

/// The indices up to the first that isn't one.
index_list used(index_list list) {
  std::size_t count = 0;
  while (count < list.size() && list[count]->what() != index::kind::none) ++count;
  return list.first(count);
}

/// What the indices mean for an array of that shape: a basic view, by its map and extents (an empty shape before), and
/// what index arrays and masks select of it.
[[gnu::noinline]] std::unique_ptr<selection_extras> find_any_view(const shape& source, index_list list,
                                                                  jit::axis_maps& map, shape& extents) {
  planner p(source, used(list), map, extents);
  p.plan();
  return p.extras();
}

inline std::unique_ptr<selection_extras> find_view(const shape& source, index_list list, jit::axis_maps& map,
                                                   shape& extents) {
  if (!is_plain(source, list)) return find_any_view(source, list, map, extents);
  for (std::size_t k = 0; k < list.size(); ++k) {
    const int axis = static_cast<int>(k);
    if (list[k]->what() == index::kind::integer) {
      map.push_back({checked_integer(*list[k], axis, source[axis]), 0, -1});
    } else {
      map.push_back({0, 1, extents.rank()});
      extents.append(source[axis]);
    }
  }
  return nullptr;
}

place place_of(index_list list) { return list.empty() ? place{} : list[0]->at(); }

/// The elements of a basic view, or those that index arrays select of it.
array elements(jit::node_ref source, std::unique_ptr<jit::attribute>&& facts, const shape& extents,
               const selection_extras* extras, const place& at) {
  const bool taken = extras && !extras->taken.list.empty();
  array basic = wrap(jit::make_view(std::move(source), std::move(facts), extents, at));
  return taken ? gather(basic, pick(basic.extents(), extras->taken, at), at) : basic;
}

array read(const array& a, index_list list) {
  auto facts = std::make_unique<jit::attribute>();
  shape extents;
  const auto extras = find_view(a.extents(), list, facts->view, extents);
  return elements(jit::node_ref::share(a.node()), std::move(facts), extents, extras.get(), place_of(list));
}

}  // namespace

#define SINTER_MORE_INDICES                                                                                        \
  const index &p3, const index &p4, const index &p5, const index &p6, const index &p7, const index &p8,            \
      const index &p9, const index &p10, const index &p11, const index &p12, const index &p13, const index &p14,   \
      const index &p15
#define SINTER_LIST(...) std::to_array<const index*>({__VA_ARGS__})
/// The parentheses of `of`: make(from, list of indices).
#define SINTER_PARENTHESES(type, of, qualifiers, make, from)                                                           \
  type of::operator()(const index& p0) qualifiers { return make(from, SINTER_LIST(&p0)); }                             \
  type of::operator()(const index& p0, const index& p1) qualifiers { return make(from, SINTER_LIST(&p0, &p1)); }       \
  type of::operator()(const index& p0, const index& p1, const index& p2, SINTER_MORE_INDICES) qualifiers {             \
    return make(from, used(SINTER_LIST(&p0, &p1, &p2, &p3, &p4, &p5, &p6, &p7, &p8, &p9, &p10, &p11, &p12, &p13, &p14, \
                                       &p15)));                                                                        \
  }
SINTER_PARENTHESES(selection, array, &, selection, *this)
SINTER_PARENTHESES(array, array, const&, sinter::read, *this)
SINTER_PARENTHESES(array, selection, const, sinter::read, read())
#undef SINTER_PARENTHESES
#undef SINTER_LIST
#undef SINTER_MORE_INDICES

// ---- Selections as arrays ----

selection::selection(array& target, index_list list) : target_(&target), node_(target.node()), extras_(nullptr) {
  auto facts = std::make_unique<jit::attribute>();
  std::unique_ptr<selection_extras> extras = find_view(node_->extents, list, facts->view, extents_);
  at_ = place_of(list);
  // What a read would refuse is refused here, where it is written; but masks can't be asked without waiting.
  if (extras && !extras->taken.has_mask()) common_index_shape(extents_, indexed_axes(extras->taken), at_);
  jit::retain(node_);
  facts_ = facts.release();
  extras_ = extras.release();
}

void selection::let_go() {
  if (node_) jit::release(node_);
  delete facts_;
  delete extras_;
}

const array& selection::read() const {
  if (!extras_) extras_ = new selection_extras;
  if (!target_) extras_->read = node_ ? wrap(jit::node_ref::share(node_)) : array();
  if (!extras_->read)
    extras_->read = elements(jit::node_ref::share(node_), std::make_unique<jit::attribute>(facts_->view), extents_,
                             extras_, at_);
  return *extras_->read;
}

jit::node*& selection::read_last() {
  if (!target_) return node_;
  target_ = nullptr;
  jit::node_ref source(std::exchange(node_, nullptr));
  std::unique_ptr<jit::attribute> facts(std::exchange(facts_, nullptr));
  if (!extras_) node_ = jit::make_view(std::move(source), std::move(facts), extents_, at_).leave();
  else if (extras_->read) node_ = unwrap(std::move(*extras_->read)).leave();
  else node_ = unwrap(elements(std::move(source), std::move(facts), extents_, extras_, at_)).leave();
  return node_;
}

device selection::device() const { return read().device(); }

selection::operator array() && { return array::adopt(std::exchange(read_last(), nullptr)); }

operand::operand(const selection& s, place at) : operand(s.read(), at) {}
index::index(const selection& s, place at) : index(s.read(), at) {}
const array* addressed(const selection& s) { return &s.read(); }

}  // namespace sinter
