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

std::int64_t checked_integer(const index& i, int axis, std::int64_t extent) {
  const std::int64_t k = from_front({i.integer(), i.anchor()}, extent);
  if (k < 0 || k >= extent)
    throw_index_error(
        fmt::format("index {} is out of range for axis {} with size {}", k < 0 ? i.integer() : k, axis, extent),
        i.at());
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

/// Fills a fresh plan.
class planner {
 public:
  planner(index_plan& p, const array& source, std::span<const index* const> list)
      : p_(p), extents_(source.extents()), list_(list), rests_(source.rank() - count_named(list, source.extents())) {
    p_.source = source;
    if (!list.empty()) p_.at = list[0]->at();
  }

  void plan() {
    bool rest_seen = false;
    for (const index* i : list_) {
      take(*i);
      rest_seen |= i->what() == index::kind::rest;
    }
    if (!rest_seen) keep_rest(p_.at);
  }

 private:
  void take(const index& i) {
    switch (i.what()) {
      case index::kind::integer: {
        const std::int64_t k = checked_integer(i, axis_, extents_[axis_]);
        p_.map[axis_++] = {k, 0, -1};
        p_.is_identity = false;
        advanced();
        return;
      }
      case index::kind::array:
        check_array(i, extents_, axis_);
        advanced();
        p_.taken.push_back({p_.extents.rank(), i.values()});
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
        append_extent(p_.extents, 1, "index", i.at());
        p_.is_identity = false;
        return;
      case index::kind::rest:
        return keep_rest(i.at());
      default:
        return keep_axis(i.at());
    }
  }

  void take_slice(const index& i) {
    const run taken = clip_range(i.slice(), extents_[axis_], i.at());
    p_.is_identity &= taken.count == extents_[axis_] && (taken.count <= 1 || i.slice().step == 1);
    p_.map[axis_++] = {taken.first, taken.count <= 1 ? 0 : i.slice().step, p_.extents.rank()};
    append_extent(p_.extents, taken.count, "index", i.at());
  }

  void keep_axis(const place& at) {
    p_.map[axis_] = {0, 1, p_.extents.rank()};
    append_extent(p_.extents, extents_[axis_++], "index", at);
  }

  void keep_rest(const place& at) {
    for (; rests_ > 0; --rests_) keep_axis(at);
  }

  /// An int, an index array or a mask: where the first stands, and whether all are neighbours.
  void advanced() {
    if (p_.first < 0) p_.first = p_.extents.rank();
    p_.separated |= interrupted_;
    open_ = true;
  }

  index_plan& p_;
  const shape& extents_;
  std::span<const index* const> list_;
  int rests_;
  int axis_ = 0;
  bool open_ = false, interrupted_ = false;
};

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

std::vector<indexed_axis> indexed_axes(const index_plan& p) {
  std::vector<indexed_axis> indexed;
  for (const taken_axis& t : p.taken) indexed.push_back({t.axis, &t.values});
  return indexed;
}

array read(const array& a, const index_plan& p) {
  const array basic = p.basic(a);
  return p.taken.empty() ? basic : gather(basic, pick(p), p.at);
}

}  // namespace

bool index_plan::has_mask() const {
  return std::any_of(taken.begin(), taken.end(), [](auto& t) { return t.is_mask(); });
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

picks pick(const index_plan& p) {
  if (!p.has_mask()) return pick(p.extents, indexed_axes(p), p.first_axis(), p.at);
  std::vector<array> positions;
  std::vector<int> axes_taken;
  for (const taken_axis& t : p.taken) {
    const std::vector<array> of_mask = t.is_mask() ? nonzero(t.values, p.at) : std::vector<array>{t.values};
    for (std::size_t k = 0; k < of_mask.size(); ++k) {
      axes_taken.push_back(t.axis + static_cast<int>(k));
      positions.push_back(of_mask[k]);
    }
  }
  std::vector<indexed_axis> indexed;
  for (std::size_t k = 0; k < positions.size(); ++k) indexed.push_back({axes_taken[k], &positions[k]});
  return pick(p.extents, indexed, p.first_axis(), p.at);
}

array gather(const array& x, const picks& p, const place& at) {
  checked_bytes(p.extents, x.type());
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
std::span<const index* const> used(std::span<const index* const> list) {
  std::size_t count = 0;
  while (count < list.size() && list[count]->what() != index::kind::none) ++count;
  return list.first(count);
}

array read(const array& a, std::span<const index* const> list) {
  index_plan p;
  planner(p, a, used(list)).plan();
  return read(a, p);
}

/// With what a read would refuse refused here, where it is written; but masks can't be asked without waiting.
std::unique_ptr<index_plan> checked_plan(const array& a, std::span<const index* const> list) {
  auto p = std::make_unique<index_plan>();
  planner(*p, a, list).plan();
  if (!p->taken.empty() && !p->has_mask()) common_index_shape(p->extents, indexed_axes(*p), p->at);
  return p;
}

}  // namespace

#define SINTER_INDICES                                                                                        \
  const index &p0, const index &p1, const index &p2, const index &p3, const index &p4, const index &p5,       \
      const index &p6, const index &p7, const index &p8, const index &p9, const index &p10, const index &p11, \
      const index &p12, const index &p13, const index &p14, const index &p15
#define SINTER_LIST \
  std::to_array<const index*>({&p0, &p1, &p2, &p3, &p4, &p5, &p6, &p7, &p8, &p9, &p10, &p11, &p12, &p13, &p14, &p15})
selection array::operator()(SINTER_INDICES) & { return selection(*this, SINTER_LIST); }
array array::operator()(SINTER_INDICES) const& { return sinter::read(*this, SINTER_LIST); }
array array::operator()(SINTER_INDICES) && { return sinter::read(*this, SINTER_LIST); }
array selection::operator()(SINTER_INDICES) const { return sinter::read(read(), SINTER_LIST); }
#undef SINTER_LIST
#undef SINTER_INDICES

// ---- Selections as arrays ----

selection::selection(array& target, std::span<const index* const> list)
    : target_(target), plan_(checked_plan(target, used(list)).release()) {}

selection::~selection() { delete plan_; }

const array& selection::read() const {
  if (!plan_->read) plan_->read = sinter::read(plan_->source, *plan_);
  return *plan_->read;
}

device selection::device() const { return read().device(); }

operand::operand(const selection& s, place at) : operand(s.read(), at) {}
index::index(const selection& s, place at) : index(s.read(), at) {}
const array* addressed(const selection& s) { return &s.read(); }

}  // namespace sinter
