#include "jit/split.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace sinter::jit {

namespace {

// Below this, choosing in the kernel costs less than more code.
constexpr std::int64_t least_elements_split = 1 << 16;
// Rows shorter than this are not cut: they would fall into pieces too small for whole vectors.
constexpr std::int64_t least_inner_split = 512;
// The largest part begins where whole vectors of any dtype do.
constexpr std::int64_t alignment_of_parts = 32;
constexpr std::size_t most_nodes_looked_at = 512, most_cuts = 64;
// A domain cut along several axes makes as many parts as there are combinations; past this, only the largest is cut
// out.
constexpr std::size_t most_combinations = 4;

/// A node as a part of the group's values: its index along each axis in terms of the domain's. Only maps that step by
/// one at most are followed; an axis known no more has step `lost`.
struct seen_node {
  const node* n;
  std::vector<axis_map> map;
};
constexpr std::int64_t lost = 0;  // cut() asks for steps of one

class splitter {
 public:
  explicit splitter(plan& p) : plan_(p) {}

  void run() {
    std::vector<group> all;
    for (group& what : plan_.groups()) {
      if (!splits(what)) {
        all.push_back(std::move(what));
        continue;
      }
      for (target& t : what.outputs) t.giver = nullptr;  // parts read what lies beside them
      const std::vector<box> parts = boxes(what.domain());
      for (std::size_t k = 0; k < parts.size(); ++k)
        all.push_back({.outputs = what.outputs, .level = what.level, .beside_previous = k > 0, .part = parts[k]});
    }
    plan_.count = 0;
    for (group& g : all) plan_.add_group(g.level) = std::move(g);
  }

 private:
  bool splits(const group& g) {
    if (g.has_loops) return false;
    const shape domain = g.domain();
    if (domain.size() < least_elements_split) return false;
    cuts_.assign(static_cast<std::size_t>(domain.rank()), {});
    for (const target& t : g.outputs) {
      if (t.where) return false;
      look(t);
    }
    bool any = false;
    for (int k = 0; k < domain.rank(); ++k) {
      std::vector<std::int64_t>& at = cuts_[static_cast<std::size_t>(k)];
      std::ranges::sort(at);
      at.erase(std::unique(at.begin(), at.end()), at.end());
      if (k == domain.rank() - 1 && domain[k] < least_inner_split) at.clear();
      if (at.size() > most_cuts) at.clear();
      any |= !at.empty();
    }
    return any;
  }

  void look(const target& t) {
    stack_.clear();
    seen_node root{t.value, {}};
    for (int k = 0; k < t.value->extents.rank(); ++k) root.map.push_back({0, 1, k});
    domain_ = &t.value->extents;
    if (t.value == t.n || !in_memory(t.value)) expand(root);
    for (std::size_t looked = 0; !stack_.empty() && looked < most_nodes_looked_at; ++looked) {
      const seen_node next = std::move(stack_.back());
      stack_.pop_back();
      if (!in_memory(next.n)) expand(next);
    }
  }

  bool in_memory(const node* n) { return n->values() || plan_.in_memory.find(n); }

  void expand(const seen_node& s) {
    const node* n = s.n;
    switch (n->code) {
      case op::view:
        return push(n->operands()[0], composed(n->facts->view, s.map));
      case op::update:
        return expand_update(s);
      case op::join:
        return expand_join(s);
      default:
        break;
    }
    if (!is_elementwise(n->code) && n->code != op::call && n->code != op::result) return;
    for (const node* x : n->operands()) push(x, broadcast(s, x));
  }

  void push(const node* n, std::vector<axis_map> map) {
    if (n->code != op::scalar) stack_.push_back({n, std::move(map)});
  }

  static std::vector<axis_map> composed(std::span<const axis_map> by, const std::vector<axis_map>& map) {
    std::vector<axis_map> out;
    for (const axis_map& m : by) out.push_back(m.axis < 0 ? m : through(m, map[static_cast<std::size_t>(m.axis)]));
    return out;
  }

  /// offset + step * (an index known as `inner`).
  static axis_map through(const axis_map& m, const axis_map& inner) {
    return {m.offset + m.step * inner.offset, m.step * inner.step, inner.axis};
  }

  static std::vector<axis_map> broadcast(const seen_node& s, const node* x) {
    std::vector<axis_map> out;
    const int shift = s.n->extents.rank() - x->extents.rank();
    for (int k = 0; k < x->extents.rank(); ++k)
      out.push_back(x->extents[k] == 1 ? axis_map{} : s.map[static_cast<std::size_t>(k + shift)]);
    return out;
  }

  /// The domain is cut where the index that `m` gives reaches `at`.
  void cut(const axis_map& m, std::int64_t at) {
    if (m.axis < 0 || (m.step != 1 && m.step != -1)) return;
    const std::int64_t position = m.step == 1 ? at - m.offset : m.offset - at + 1;
    if (position > 0 && position < (*domain_)[m.axis]) cuts_[static_cast<std::size_t>(m.axis)].push_back(position);
  }

  void expand_update(const seen_node& s) {
    const node *base = s.n->operands()[0], *values = s.n->operands()[1];
    std::vector<axis_map> inside(static_cast<std::size_t>(values->extents.rank()));
    for (std::size_t k = 0; k < s.n->facts->view.size(); ++k) {
      const axis_map& r = s.n->facts->view[k];
      const axis_map& m = s.map[k];
      const std::int64_t count = r.axis < 0 ? 1 : values->extents[r.axis], last = r.offset + r.step * (count - 1);
      cut(m, std::min(r.offset, last));
      cut(m, std::max(r.offset, last) + 1);
      if (r.axis < 0) continue;
      const bool unit = r.step == 1 || r.step == -1;
      inside[static_cast<std::size_t>(r.axis)] =
          unit ? through({-r.offset * r.step, r.step, 0}, m) : axis_map{0, lost, -1};
    }
    push(base, s.map);
    push(values, std::move(inside));
  }

  void expand_join(const seen_node& s) {
    const auto axis = static_cast<std::size_t>(s.n->facts->axis);
    std::int64_t start = 0;
    for (const node* piece : s.n->operands()) {
      cut(s.map[axis], start);
      std::vector<axis_map> map = s.map;
      map[axis].offset -= start;
      push(piece, std::move(map));
      start += piece->extents[s.n->facts->axis];
    }
  }

  std::vector<box> boxes(const shape& domain) const {
    std::size_t combinations = 1;
    for (const auto& at : cuts_) combinations *= at.size() + 1;
    return combinations <= most_combinations && cuts_.back().empty() ? all_boxes(domain) : largest_and_rest(domain);
  }

  /// Segment k of an axis: its first element and its extent.
  std::pair<std::int64_t, std::int64_t> segment(int axis, std::size_t k, const shape& domain) const {
    const std::vector<std::int64_t>& at = cuts_[static_cast<std::size_t>(axis)];
    const std::int64_t first = k == 0 ? 0 : at[k - 1], end = k < at.size() ? at[k] : domain[axis];
    return {first, end - first};
  }

  std::vector<box> all_boxes(const shape& domain) const {
    std::vector<box> out(1, box{shape(domain), domain});
    for (int k = 0; k < domain.rank(); ++k) out[0].first[k] = 0;
    for (int k = 0; k < domain.rank(); ++k) {
      std::vector<box> finer;
      for (const box& b : out)
        for (std::size_t s = 0; s <= cuts_[static_cast<std::size_t>(k)].size(); ++s) {
          box next = b;
          std::tie(next.first[k], next.extents[k]) = segment(k, s, domain);
          finer.push_back(next);
        }
      out = std::move(finer);
    }
    return out;
  }

  /// The box of the longest segments, and the slabs before and after it along each axis.
  std::vector<box> largest_and_rest(const shape& domain) const {
    box rest{shape(domain), domain};
    for (int k = 0; k < domain.rank(); ++k) rest.first[k] = 0;
    std::vector<box> out(1);
    for (int k = 0; k < domain.rank(); ++k) {
      std::pair<std::int64_t, std::int64_t> longest{0, 0};
      for (std::size_t s = 0; s <= cuts_[static_cast<std::size_t>(k)].size(); ++s)
        if (const auto found = segment(k, s, domain); found.second > longest.second) longest = found;
      if (k == domain.rank() - 1 && longest.second > 2 * alignment_of_parts) {
        const std::int64_t late = -longest.first & (alignment_of_parts - 1);
        longest = {longest.first + late, longest.second - late};
      }
      box before = rest, after = rest;
      before.extents[k] = longest.first;
      after.first[k] = longest.first + longest.second;
      after.extents[k] = domain[k] - after.first[k];
      if (before.extents[k] > 0) out.push_back(before);
      if (after.extents[k] > 0) out.push_back(after);
      rest.first[k] = longest.first;
      rest.extents[k] = longest.second;
    }
    out[0] = rest;
    return out;
  }

  plan& plan_;
  const shape* domain_ = nullptr;
  std::vector<std::vector<std::int64_t>> cuts_;  ///< by axis of the domain
  std::vector<seen_node> stack_;
};

}  // namespace

void split_at_pieces(plan& p) {
  if (p.has_pieces) splitter(p).run();
}

}  // namespace sinter::jit
