#include "tests/fuzz/places.hpp"

#include <algorithm>
#include <set>

namespace sinter_test::fuzz {

using namespace sinter;

namespace {

using positions = std::vector<std::int64_t>;

/// What Python's slice takes of n elements.
positions slice_of(const pick& p, std::int64_t n) {
  if (p.step == 0) throw refused{refused::index};
  const std::int64_t low = p.step > 0 ? 0 : -1, high = p.step > 0 ? n : n - 1;
  const auto clipped = [&](std::int64_t k) { return std::clamp(k < 0 ? k + n : k, low, high); };
  const std::int64_t first = p.first ? clipped(*p.first) : p.step > 0 ? low : high;
  const std::int64_t last = p.last ? clipped(*p.last) : p.step > 0 ? high : low;
  positions out;
  for (std::int64_t k = first; p.step > 0 ? k < last : k > last; k += p.step) out.push_back(k);
  return out;
}

/// An axis of the source: a list of positions along an axis of the result, or index values, or a fixed position.
struct source_axis {
  bool sliced = false;
  positions slice;
  int result_axis = -1;
  host_array indices;  // of rank 0 for an int
};

bool is_advanced(const pick& p) {
  return p.what == pick::kind::integer || p.what == pick::kind::array || p.what == pick::kind::variable;
}
bool is_array(const pick& p) { return p.what == pick::kind::array || p.what == pick::kind::variable; }
bool is_mask(const resolved_pick& r) { return is_array(*r.p) && r.values.type == boolean; }

int axes_of(const resolved_pick& r) {
  if (r.p->what == pick::kind::unit || r.p->what == pick::kind::rest) return 0;
  return is_mask(r) ? r.values.extents.rank() : 1;
}

host_array single(std::int64_t k) {
  host_array out(i64, {});
  out.set(0, {static_cast<long double>(k), 0});
  return out;
}

/// The positions of a mask's true elements, one list an axis.
std::vector<host_array> true_positions(const host_array& mask) {
  std::vector<positions> lists(static_cast<std::size_t>(mask.extents.rank()));
  for (std::int64_t k = 0; k < mask.size(); ++k) {
    if (mask.get(k).re == 0) continue;
    std::int64_t rest = k;
    for (int axis = mask.extents.rank(); axis-- > 0;) {
      lists[static_cast<std::size_t>(axis)].push_back(rest % mask.extents[axis]);
      rest /= mask.extents[axis];
    }
  }
  std::vector<host_array> out;
  for (const positions& list : lists) out.push_back(host_array(list));
  return out;
}

std::int64_t checked(std::int64_t k, std::int64_t n, bool is_literal) {
  if (k < 0) k += n;
  if (k < 0 || k >= n) {
    if (is_literal) throw refused{refused::index};
    throw unpredictable{};
  }
  return k;
}

/// Works through the indices of one selection.
class selector {
 public:
  selector(const shape& extents, const std::vector<resolved_pick>& picks) : source_(extents), picks_(picks) {
    int named = 0, rests = 0;
    bool bad_array = false;
    for (const resolved_pick& r : picks) {
      named += axes_of(r);
      rests += r.p->what == pick::kind::rest;
      if (is_array(*r.p) && !is_integer_or_bool(r.values.type)) bad_array = true;
    }
    const unsigned bad = (named > extents.rank() || rests > 1 ? refused::index : 0u) | (bad_array ? refused::type : 0u);
    if (bad != 0) throw refused{bad};
    open_ = extents.rank() - named;
    separate_axes();
  }

  places run() {
    bool rest_seen = false;
    if (has_arrays_ && !neighbours_) append_common();
    for (const resolved_pick& r : picks_) {
      rest_seen |= r.p->what == pick::kind::rest;
      take(r);
    }
    if (!rest_seen) take_rest();
    return mapped(source_, to_, [&](const positions& at) { return source_of(at); });
  }

 private:
  /// The common shape of the index arrays, and whether they stand side by side.
  void separate_axes() {
    int last = -1;
    for (int k = 0; k < static_cast<int>(picks_.size()); ++k) {
      const resolved_pick& r = picks_[static_cast<std::size_t>(k)];
      if (!is_advanced(*r.p)) continue;
      if (last >= 0 && last != k - 1) neighbours_ = false;
      last = k;
      if (!is_array(*r.p)) continue;
      has_arrays_ = true;
      if (is_mask(r)) {
        if (r.values.extents.rank() == 0) throw unpredictable{};
        common_ = broadcast(common_, true_positions(r.values)[0].extents);
      } else {
        common_ = broadcast(common_, r.values.extents);
      }
    }
  }

  void append_common() {
    if (common_axis_ >= 0) return;
    common_axis_ = to_.rank();
    for (std::int64_t n : common_) to_.append(n);
  }

  std::int64_t extent() const { return source_[static_cast<int>(axes_.size())]; }

  void take_slice(positions list) {
    axes_.push_back({true, std::move(list), to_.rank(), {}});
    to_.append(std::ssize(axes_.back().slice));
  }

  void take_rest() {
    for (; open_ > 0; --open_) take_slice(slice_of(pick{}, extent()));
  }

  void take(const resolved_pick& r) {
    if (has_arrays_ && neighbours_ && is_advanced(*r.p)) append_common();
    switch (r.p->what) {
      case pick::kind::integer: axes_.push_back({false, {}, -1, single(checked(r.p->integer, extent(), true))}); return;
      case pick::kind::whole: return take_slice(slice_of(pick{}, extent()));
      case pick::kind::slice: return take_slice(slice_of(*r.p, extent()));
      case pick::kind::unit: to_.append(1); return;
      case pick::kind::rest: return take_rest();
      default: break;
    }
    if (!is_mask(r)) {
      for (std::int64_t k = 0; k < r.values.size(); ++k)
        checked(static_cast<std::int64_t>(r.values.get(k).re), extent(), false);
      axes_.push_back({false, {}, -1, r.values});
      return;
    }
    for (int k = 0; k < r.values.extents.rank(); ++k)
      if (r.values.extents[k] != source_[static_cast<int>(axes_.size()) + k]) throw refused{refused::shape};
    for (host_array& list : true_positions(r.values)) axes_.push_back({false, {}, -1, std::move(list)});
  }

  positions source_of(const positions& at) const {
    std::int64_t common = 0;
    for (int k = 0; k < common_.rank(); ++k)
      common = common * common_[k] + at[static_cast<std::size_t>(common_axis_ + k)];
    positions out;
    for (const source_axis& s : axes_) {
      const std::int64_t n = source_[static_cast<int>(out.size())];
      if (s.sliced) {
        out.push_back(s.slice[static_cast<std::size_t>(at[static_cast<std::size_t>(s.result_axis)])]);
      } else {
        const value v = s.indices.get(broadcast_position(s.indices.extents, common_, common));
        out.push_back(checked(static_cast<std::int64_t>(v.re), n, false));
      }
    }
    return out;
  }

  const shape& source_;
  const std::vector<resolved_pick>& picks_;
  int open_ = 0;
  bool has_arrays_ = false, neighbours_ = true;
  shape common_, to_;
  int common_axis_ = -1;
  std::vector<source_axis> axes_;
};

}  // namespace

places selected(const shape& extents, const std::vector<resolved_pick>& picks) {
  return selector(extents, picks).run();
}

bool repeats(const places& p) { return std::set<std::int64_t>(p.flat.begin(), p.flat.end()).size() != p.flat.size(); }

variable read(const variable& x, const places& p) {
  variable out(x.h.type, p.extents);
  if (!x.exact()) out.soften();
  for (std::int64_t k = 0; k < out.size(); ++k) out.set(k, x.get(p.flat[static_cast<std::size_t>(k)]));
  return out;
}

}  // namespace sinter_test::fuzz
