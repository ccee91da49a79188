// Reductions and scans inside a launch. What a value's own reductions give depends on some of its axes, its rows: a
// launch whose domain is the rows computes them once for each, whatever runs along the other axes.
#include "jit/fuse_internal.hpp"
#include "jit/user_kernel.hpp"

#include <algorithm>
#include <bit>

namespace sinter::jit {

namespace {

// Rows that keep a large device busy; with fewer, what is reduced is stored, to be split over more threads than a row
// can have, unless a row takes less time than the launches it saves (an H200's multiprocessor reads 32768 f32 in about
// 2 us).
constexpr std::int64_t least_rows = 128, most_trips_of_few_rows = 1 << 15;
// The longest loop that is repeated inside another one.
constexpr std::int64_t most_nested_trips = 32;
// Loops over the same rows, one after another: each computes again what it doesn't find in memory.
constexpr std::uint8_t most_passes = 8;

/// The axes of extent > 1.
std::uint32_t long_axes(const shape& s) {
  std::uint32_t mask = 0;
  for (int k = 0; k < s.rank(); ++k) mask |= static_cast<std::uint32_t>(s[k] != 1) << k;
  return mask;
}

std::int64_t product(const shape& s, std::uint32_t axes) {
  std::int64_t n = 1;
  for (int k = 0; k < s.rank(); ++k)
    if (axes >> k & 1u) n *= s[k];
  return n;
}

bool moves(const axis_map& m) { return m.axis >= 0 && (m.offset != 0 || m.step != 1); }

/// `rows` as axes of a view; nothing when a scan's axis (long, not in rows) is not seen whole and in order.
std::optional<std::uint32_t> through_view(const node* view, const item& source) {
  std::uint32_t out = 0;
  const std::uint32_t all = long_axes(source.n->extents);
  for (int k = 0; k < source.n->extents.rank(); ++k) {
    const axis_map& m = view->facts->view[static_cast<std::size_t>(k)];
    const bool in_rows = source.rows >> k & 1u;
    if (in_rows && m.axis >= 0) out |= 1u << m.axis;
    const bool scanned = source.scans && !in_rows && (all >> k & 1u);
    if (scanned && (m.axis < 0 || moves(m) || view->extents[m.axis] != source.n->extents[k])) return std::nullopt;
  }
  return out;
}

/// Axes of both shapes are matched in the smallest groups of equal size, which are rows whole or not at all.
std::optional<std::uint32_t> through_reshape(const shape& from, const shape& to, std::uint32_t rows, bool scans) {
  if (from.size() == 0) return std::nullopt;
  std::uint32_t out = 0;
  int i = 0, j = 0;
  while (i < from.rank()) {
    const int i0 = i, j0 = j;
    std::int64_t a = from[i++], b = j < to.rank() ? to[j++] : 1;
    while (a != b) {
      if (a < b) a *= from[i++];
      else b *= to[j++];
    }
    int in = 0, all = 0, longs = 0;
    for (int k = i0; k < i; ++k)
      if (from[k] != 1) {
        ++all;
        in += static_cast<int>(rows >> k & 1u);
      }
    for (int k = j0; k < j; ++k) longs += to[k] != 1;
    if (in != 0 && in != all) return std::nullopt;
    if (scans && in == 0 && all > 0 && (all != 1 || longs != 1)) return std::nullopt;
    for (int k = j0; k < j && in > 0; ++k) out |= static_cast<std::uint32_t>(to[k] != 1) << k;
  }
  return out;
}

std::uint32_t reduced_mask(std::uint32_t rows, const node* reduction) {
  const attribute& facts = *reduction->facts;
  if (facts.keep_dims) return rows;
  std::uint32_t out = 0;
  int at = 0;
  for (int k = 0; k < reduction->operands()[0]->extents.rank(); ++k) {
    if (facts.reduced >> k & 1u) continue;
    out |= (rows >> k & 1u) << at++;
  }
  return out;
}

/// What n is a view of.
node* viewed(node* n) {
  while (!n->values() && n->code == op::view) n = n->operands()[0];
  return n;
}

/// Whether n is larger than all that it combines, at most `depth` operations down: it takes less to compute again than
/// to store.
bool is_outer(node* n, int depth = 4) {
  if (!is_elementwise(n->code) || depth == 0 || n->values()) return false;
  for (std::size_t k = 0; k < n->operand_count; ++k) {
    node* const x = viewed(n->operands()[k]);
    if (2 * x->extents.size() > n->extents.size() && !is_outer(x, depth - 1)) return false;
  }
  return true;
}

}  // namespace

/// Whether `user` reads its operand at one place per element of it, wherever that is.
bool planner::keeps_rows(const node* user, std::size_t operand) {
  if (user->code == op::view) return !std::ranges::any_of(user->facts->view, moves);
  if (user->code == op::raw_call) return reads_own_element(user, operand);
  return is_elementwise(user->code) || user->code == op::call || user->code == op::result || is_reduction(user->code) ||
         is_scan(user->code) || (user->code == op::update && operand == 0);
}

/// The rows of operand k as axes of its user; nothing when the user can't have its reductions inside.
std::optional<std::uint32_t> planner::rows_through(const node* user, std::size_t k, const item& s) const {
  const shape& from = s.n->extents;
  switch (user->code) {
    case op::view: return through_view(user, s);
    case op::reshape: return through_reshape(from, user->extents, s.rows, s.scans);
    case op::gather: {
      if (k == 0 || s.scans) return std::nullopt;
      int index_rank = 0;
      for (const gather_axis& g : user->facts->gather)
        if (g.axis < 0)
          index_rank = std::max(index_rank, user->operands()[static_cast<std::size_t>(g.operand)]->extents.rank());
      return s.rows << (user->facts->first_axis + index_rank - from.rank());
    }
    case op::join:
    case op::scatter: return std::nullopt;
    case op::update:
      if (k != 0) return std::nullopt;
      break;
    default: break;
  }
  if (is_reduction(user->code) || is_scan(user->code)) return s.rows;
  return s.rows << (user->extents.rank() - from.rank());
}

/// What is open in item i: the reductions and scans that its launch runs. Stores operands whose can't be among them.
void planner::open_rows(item& i) {
  close(i);
  i.trips = 1;
  const node* n = i.n;
  const bool is_whole = n->code == op::iterate || (n->code == op::join && i.wanted && pieces_alike(n));
  if (is_whole || (n->code == op::scatter && !writes_trail(i))) return store_open_values(i);
  const item* first = nullptr;
  for (std::size_t k = 0; k < n->operand_count; ++k) {
    const node* x = n->operands()[k];
    if (x->values()) continue;
    const item& s = items_[at(x)];
    if (s.stored || !s.reduces || (k >= 1 && writes_trail(i))) continue;
    const std::optional<std::uint32_t> rows = rows_through(n, k, s);
    if (!rows || !fits_rows(i, s, *rows)) {
      store_rows(s);
      continue;
    }
    const bool among = !first || agree(i, *first, s, *rows);
    if (!among) {  // one of them is stored; the other may be, too
      if (first->n->extents.size() <= s.n->extents.size() && store_rows(*first)) return open_rows(i);
      store_rows(s);
      continue;
    }
    i.nesting = std::max(i.nesting, s.nesting);
    if (first && *rows != i.rows) ++i.nesting;
    if (!first || std::popcount(*rows) < std::popcount(i.rows)) i.rows = *rows;
    if (!first) first = &s;
    i.reduces = true;
    i.loop = s.loop;
    i.scans |= s.scans;
    i.trips = std::max(i.trips, s.trips);
    i.passes = std::max(i.passes, s.passes);
  }
  open_iterates(i);
  if (is_reduction(n->code)) open_reduction(i);
  if (is_scan(n->code)) open_scan(i);
  if (n->code == op::trail) open_trail(i);
}

/// Loops of op::iterate run for elements of the domain, or for each iteration of what reduces them; never for rows,
/// beside loops that threads share.
void planner::open_iterates(item& i) {
  const bool absorbs = is_reduction(i.n->code) || is_scan(i.n->code) || i.n->code == op::trail;
  for (std::size_t k = 0; k < i.n->operand_count; ++k) {
    node* x = i.n->operands()[k];
    if (x->values()) continue;
    const item& s = items_[at(x)];
    if (s.stored || (x->code != op::iterate && s.iterates == item::no_loop)) continue;
    const auto here = x->code == op::iterate ? item::at_own_element
                      : absorbs || !moves_elements(i.n, k) ? s.iterates : item::elsewhere;
    const bool beside = absorbs ? here == item::elsewhere : i.reduces;
    if (beside && store(x, cut_reason::loop)) continue;
    if (!absorbs) i.iterates = std::max(i.iterates, here);
  }
}

void planner::close(item& i) {
  i.reduces = i.scans = false;
  i.loop = nullptr;
  i.iterates = item::no_loop;
  i.rows = 0;
  i.nesting = i.passes = 0;
}

/// Whether the rows of operand s, which are `rows` for item i, are rows enough for a launch.
bool planner::fits_rows(const item& i, const item& s, std::uint32_t rows) const {
  const std::uint32_t all = long_axes(i.n->extents);
  if (s.loop && (is_reduction(i.n->code) || is_scan(i.n->code))) return false;
  if (s.scans && std::popcount(all & ~rows) != 1 && !is_reduction(i.n->code)) return false;
  if (is_reduction(i.n->code)) return reduces_in_rows(i, s);
  if (is_scan(i.n->code)) return !s.scans && (rows >> i.n->facts->axis & 1u) == 0;
  const bool grows =
      i.n->extents.size() > s.n->extents.size();  // an outer product, of which a row may be no small part
  const bool widens = (grows || s.rows == long_axes(s.n->extents)) && rows != all;
  if (!widens) return true;
  const std::int64_t count = product(i.n->extents, rows);
  const std::int64_t trips = std::max(s.trips, i.n->extents.size() / std::max<std::int64_t>(count, 1));
  return count >= least_rows || trips <= most_trips_of_few_rows;
}

/// Whether reduction i can run with those of its operand s in one launch: they are the same for all that it reduces, or
/// short enough to be repeated in its loop.
bool planner::reduces_in_rows(const item& i, const item& s) const {
  const std::uint32_t all = long_axes(s.n->extents), reduced = i.n->facts->reduced & all;
  if ((s.rows & reduced) == 0) {
    if (s.scans && ((all & ~s.rows) != reduced || i.n->code == op::reduce_deviations)) return false;
    return s.passes < most_passes;
  }
  return s.rows == all && !s.scans && s.trips <= most_nested_trips && s.nesting + 2u < deepest_reductions;
}

/// Whether the operands' reductions can share item i's launch: over equal rows, or short ones repeated inside.
bool planner::agree(const item& i, const item& first, const item& s, std::uint32_t rows) const {
  if (first.loop != s.loop) return false;
  if (rows == i.rows) return true;
  if (i.scans || s.scans) return false;
  const bool inside = (rows & i.rows) == i.rows, around = (rows & i.rows) == rows;
  const item& repeated = inside ? s : first;
  return (inside || around) && repeated.trips <= most_nested_trips && repeated.nesting + 2u < deepest_reductions;
}

void planner::open_reduction(item& i) {
  const node* source = i.n->operands()[0];
  const std::uint32_t all = long_axes(i.n->extents), reduced = i.n->facts->reduced & long_axes(source->extents);
  const std::int64_t trips = product(source->extents, i.n->facts->reduced);
  const bool nested = i.reduces && (i.rows & reduced) != 0;
  if (i.reduces && !nested) {
    const std::uint32_t rows = reduced_mask(i.rows, i.n);
    if (rows != all && trips > most_nested_trips) {  // its rows are more than theirs
      bool any = false;
      for (node* x : i.n->operands())
        if (!x->values() && !items_[at(x)].stored && items_[at(x)].reduces) any |= store_rows(items_[at(x)]);
      if (any) return open_rows(i);
      close(i);  // a view of what is stored since it was weighed
    }
    i.rows = i.reduces ? rows : all;
  } else {
    i.rows = all;
  }
  i.nesting = static_cast<std::uint8_t>(i.nesting + (nested || i.rows != all ? 1 : 0));
  i.trips = nested ? std::min(i.trips * trips, std::int64_t{1} << 40) : std::max(i.trips, trips);
  ++i.passes;
  i.reduces = true;
  i.scans = false;
}

void planner::open_scan(item& i) {
  const std::uint32_t rows = long_axes(i.n->extents) & ~(1u << i.n->facts->axis);
  if (i.reduces && i.rows != rows) {
    for (node* x : i.n->operands())
      if (!x->values()) store_rows(items_[at(x)]);
    close(i);
  }
  i.rows = rows;
  i.trips = std::max(i.trips, i.n->extents[i.n->facts->axis]);
  i.reduces = i.scans = true;
}

/// An element runs the loop alone, and stores what it has after each iteration on the way.
void planner::open_trail(item& i) {
  const int axis = i.n->extents.rank() - 1;
  i.rows = long_axes(i.n->extents) & ~(1u << axis);
  i.trips = i.n->extents[axis];
  i.reduces = i.scans = true;
  i.loop = i.n->operands()[0];
}

/// Whether i is an array into which a loop stores on the way, at places that are known or that it computes.
bool planner::writes_trail(const item& i) {
  if ((i.n->code != op::update && i.n->code != op::scatter) || i.n->operands()[1]->values()) return false;
  const item& s = items_[at(i.n->operands()[1])];
  if (!s.loop || s.stored) return false;
  if (i.n->code == op::update) return true;
  return std::ranges::all_of(i.n->operands().subspan(2), [&](const node* x) {
    if (x->values()) return true;
    const item& o = items_[at(x)];
    if (o.stored) return true;
    return o.loop == s.loop && o.rows == s.rows && o.n->extents == s.n->extents;
  });
}

/// Joined pieces are launched by themselves; what a scatter writes is stored first.
void planner::store_open_values(const item& i) {
  if (i.n->code != op::scatter && i.n->code != op::iterate) return;
  for (node* x : i.n->operands())
    if (!x->values() && items_[at(x)].reduces) store_rows(items_[at(x)]);
}

/// Stores what item s computes: itself, or what it is a view of; of an outer product the factors.
bool planner::store_rows(const item& s) {
  bool factors = false, stored = false;
  node* const n = viewed(s.n);
  for (std::size_t k = 0; is_outer(n) && k < n->operand_count; ++k) {
    node* const x = viewed(n->operands()[k]);
    if (x->values()) continue;
    const item& factor = items_[at(x)];
    if (factor.reduces && !factor.stored && store_rows(factor)) factors = true;
    else stored |= factor.stored || (factor.reduces && is_outer(x));
  }
  if (factors || stored) {  // in the latter case since s was weighed
    stale_ = true;
    return factors;
  }
  if (store(s.n, s.scans ? cut_reason::scan : cut_reason::reduction)) return true;
  bool any = false;
  if (is_fused_call(s.n->code))
    for (node* x : s.n->operands())
      if (!x->values() && !items_[at(x)].stored && items_[at(x)].reduces) any |= store_rows(items_[at(x)]);
  stale_ = true;  // else it is a view of what was stored after it had been weighed
  return any;
}

// ---- values that several launches would need ----

/// The loops of a target lie along the axes that its reductions don't depend on.
std::uint32_t planner::looped_axes(const item& i) { return i.reduces ? long_axes(i.n->extents) & ~i.rows : 0; }

/// Stores the first value that launches of different domains or levels would each reduce for themselves. False: none.
bool planner::store_shared_rows() {
  bool any = false;
  for (std::size_t k = items_.size(); k-- > 0;) {
    item& i = items_[k];
    const bool alone = i.stored || i.wanted;
    const bool joins_pieces = i.n->code == op::join && i.wanted && pieces_alike(i.n);
    if (alone && i.reduces) meet(i, {static_cast<std::uint32_t>(k), i.level});
    if (i.home.item == many && !i.stored) {
      if (store_home(i)) any = true;
      i.home = {static_cast<std::uint32_t>(k), i.level};
    }
    const bool by_itself = joins_pieces || writes_trail(i);
    if (!i.reduces && !by_itself) continue;
    for (const node* x : i.n->operands()) {
      if (x->values() || items_[at(x)].stored || !items_[at(x)].reduces) continue;
      const auto own = static_cast<std::uint32_t>(at(x));
      meet(items_[own], by_itself ? home{own, i.level} : i.home);
    }
  }
  return any;
}

bool planner::store_home(item& i) {
  if (store(i.n, cut_reason::reduction)) return true;
  bool any = false;
  for (item& r : items_)
    if (r.n->code == op::result && r.n->operands()[0] == i.n && !r.stored) {
      mark(r, cut_reason::reduction);
      any = true;
    }
  return any;
}

void planner::meet(item& i, const home& h) {
  if (h.item == many || i.home.item == many) {
    i.home.item = many;
  } else if (i.home.item == nobody) {
    i.home = h;
  } else if (!same_home(i.home, h)) {
    i.home.item = many;
  }
}

bool planner::same_home(const home& a, const home& b) {
  if (a.level != b.level) return false;
  if (a.item == b.item) return true;
  const auto domain = [this](const home& h) {
    node* n = items_[h.item].n;
    return group::domain_around({n, n, nullptr, nullptr, 0, looped_axes(items_[h.item])});
  };
  return domain(a) == domain(b);
}

}  // namespace sinter::jit
