#include "dsl/index.hpp"

#include "dsl/record_internal.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sinter {

constinit const index no_index;

namespace {

using jit::axis_map;
using anchor = position::anchor;

/// What a list of indices means for an array: a basic view, then index arrays on axes of that view.
struct reading {
  axis_map map[max_rank];  // the view, one per source axis
  shape extents;           // of the view
  indexed_axis indexed[max_rank];
  int indexed_count = 0;
  int first = -1;           // axes of the view, but for indexed ones, before the first index array (or int)
  bool separated = false;   // another kind of index stands between index arrays (ints count as index arrays)
  bool is_identity = true;  // the view changes nothing
};

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

void check_index_array(const index& i) {
  const dtype type = i.values().type();
  if (is_integer(type)) return;
  if (type == boolean)
    throw_type_error("index: reading through a boolean mask is not available in this version", i.at(),
                     "where(mask, a, b) chooses elements without changing the shape");
  throw_type_error(fmt::format("index: an index array of {}, not of integers", to_string(type)), i.at(),
                   "x.astype(i64)");
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
        if (++named > extents.rank())
          throw_index_error(
              fmt::format("too many indices: an array of shape {} has {} axes", to_string(extents), extents.rank()),
              i->at());
    }
  }
  return named;
}

class reader {
 public:
  reader(const array& source, std::span<const index* const> list)
      : extents_(source.extents()), list_(list), rests_(source.rank() - count_named(list, source.extents())) {}

  const reading& parse() {
    bool rest_seen = false;
    for (const index* i : list_) {
      take(*i);
      rest_seen |= i->what() == index::kind::rest;
    }
    if (!rest_seen) keep_rest(list_.empty() ? place{} : list_[0]->at());
    return r_;
  }

 private:
  void take(const index& i) {
    switch (i.what()) {
      case index::kind::integer: {
        const std::int64_t k = checked_integer(i, axis_, extents_[axis_]);
        r_.map[axis_++] = {k, 0, -1};
        r_.is_identity = false;
        advanced();
        return;
      }
      case index::kind::array:
        check_index_array(i);
        advanced();
        r_.indexed[r_.indexed_count++] = {r_.extents.rank(), &i.values()};
        keep_axis(i.at());
        return;
      default:
        break;
    }
    if (open_) interrupted_ = true;
    switch (i.what()) {
      case index::kind::slice:
        return take_slice(i);
      case index::kind::unit:
        append_extent(r_.extents, 1, "index", i.at());
        r_.is_identity = false;
        return;
      case index::kind::rest:
        return keep_rest(i.at());
      default:
        return keep_axis(i.at());
    }
  }

  void take_slice(const index& i) {
    const run taken = clip_range(i.slice(), extents_[axis_], i.at());
    r_.is_identity &= taken.count == extents_[axis_] && (taken.count <= 1 || i.slice().step == 1);
    r_.map[axis_++] = {taken.first, taken.count <= 1 ? 0 : i.slice().step, r_.extents.rank()};
    append_extent(r_.extents, taken.count, "index", i.at());
  }

  void keep_axis(const place& at) {
    r_.map[axis_] = {0, 1, r_.extents.rank()};
    append_extent(r_.extents, extents_[axis_++], "index", at);
  }

  void keep_rest(const place& at) {
    for (; rests_ > 0; --rests_) keep_axis(at);
  }

  /// An int or an index array: where the first stands, and whether all are neighbours.
  void advanced() {
    if (r_.first < 0) r_.first = r_.extents.rank() - r_.indexed_count;
    r_.separated |= interrupted_;
    open_ = true;
  }

  const shape& extents_;
  std::span<const index* const> list_;
  int rests_;
  int axis_ = 0;
  bool open_ = false, interrupted_ = false;
  reading r_;
};

shape common_index_shape(std::span<const indexed_axis> indexed, const place& at) {
  shape common = indexed[0].values->extents();
  for (const indexed_axis& i : indexed.subspan(1)) {
    const shape before = common;
    if (!broadcast_into(before, i.values->extents(), common))
      throw_shape_error(fmt::format("index: index arrays of shapes {} and {} do not broadcast", to_string(before),
                                    to_string(i.values->extents())),
                        at);
  }
  return common;
}

}  // namespace

array gather(const array& x, std::span<const indexed_axis> indexed, int first, const place& at) {
  const shape common = common_index_shape(indexed, at);
  auto facts = std::make_unique<jit::attribute>();
  facts->first_axis = first;
  facts->gather.resize(static_cast<std::size_t>(x.rank()));
  std::vector<array> positions;
  std::vector<jit::node*> operands{x.node()};
  for (const indexed_axis& i : indexed) {
    if (common.size() > 0 && x.extents()[i.axis] == 0)
      throw_index_error(fmt::format("index: axis {} of shape {} has no elements", i.axis, to_string(x.extents())), at);
    positions.push_back(wrap(jit::make_broadcast(i.values->node(), common, at)));
    facts->gather[static_cast<std::size_t>(i.axis)].operand = static_cast<std::int32_t>(operands.size());
    operands.push_back(positions.back().node());
  }
  shape extents;
  const auto append_common = [&] {
    for (std::int64_t n : common) append_extent(extents, n, "index", at);
  };
  int others = 0;
  for (int k = 0; k < x.rank(); ++k) {
    jit::gather_axis& from = facts->gather[static_cast<std::size_t>(k)];
    if (from.operand >= 0) continue;
    if (others++ == first) append_common();
    from.axis = extents.rank();
    append_extent(extents, x.extents()[k], "index", at);
  }
  if (others <= first) append_common();
  checked_bytes(extents, x.type());
  return wrap(jit::make_node(jit::op::gather, x.type(), extents, operands, at, std::move(facts)));
}

array array::operator()(const index& p0, const index& p1, const index& p2, const index& p3, const index& p4,
                        const index& p5, const index& p6, const index& p7, const index& p8, const index& p9,
                        const index& p10, const index& p11, const index& p12, const index& p13, const index& p14,
                        const index& p15) const {
  const index* const list[] = {&p0, &p1, &p2, &p3, &p4, &p5, &p6, &p7, &p8, &p9, &p10, &p11, &p12, &p13, &p14, &p15};
  std::size_t count = 0;
  while (count < std::size(list) && list[count]->what() != index::kind::none) ++count;
  reader reads(*this, {list, count});
  const reading& r = reads.parse();
  const place& at = p0.at();
  const auto rank = static_cast<std::size_t>(this->rank());
  const auto basic = [&] { return r.is_identity ? *this : view(*this, {r.map, rank}, r.extents, at); };
  if (r.indexed_count == 0) return basic();
  return gather(basic(), {r.indexed, static_cast<std::size_t>(r.indexed_count)}, r.separated ? 0 : r.first, at);
}

}  // namespace sinter
