#include "jit/steps.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace sinter::jit {

namespace {

// A block of 64 x 64 elements of which 8 on each side are lost has 1.8 times the work of the 48 x 48 that it stores;
// with 4 it is 1.3. Where blocks don't fill the device, launches are what counts. On an H200, in ms with borders of 1
// (one iteration a launch), 2, 4 and 8: 1000 steps of a 512 x 512 heat plate 2.53, 2.00, 1.63, 1.40; 200 steps of
// 8192 x 8192 28.1, 20.4, 15.0, 16.6.
constexpr int widest_border = 8, usual_border = 4, cheap = 24, most_cost = 64;
constexpr std::int64_t few_tiles = 264;
constexpr int widest_border_of_line = 128, most_steps = 32;
constexpr int most_shared_bytes = 48 * 1024;

/// What a window holds for each of its elements: every state twice.
int bytes_of_element(const kernel& k) {
  std::uint64_t seen = 0;
  int bytes = 0;
  for (const step_access& a : k.stepped) {
    const std::uint64_t bit = std::uint64_t{1} << a.state;
    if (!(seen & bit)) bytes += 2 * static_cast<int>(size_of(k.parameters[k.accesses[a.access].pointer].type));
    seen |= bit;
  }
  return bytes;
}

/// Where an access of the kernel stands in memory, of which rows are `pitch` elements.
struct placed {
  std::int64_t first;  ///< element that the domain's first one reads or writes
  std::int64_t pitch;
};

class stepping {
 public:
  stepping(lowered& l, std::span<const stepped_state> states)
      : l_(l), k_(l.ir), states_(states), stores_(states.size(), none) {}

  bool run() {
    if (!is_plain() || !find_stores() || !find_loads()) return false;
    k_.over = distribution::steps;
    k_.lanes = 1;
    k_.threads = step_window::threads;
    k_.stepped = stepped_;
    if (!choose_steps()) return false;
    add_parameters();
    return true;
  }

 private:
  static constexpr std::uint32_t none = 0xffffffffu;

  /// One element of a domain of lines or planes, on its own, and nothing but it.
  bool is_plain() const {
    constexpr std::size_t most_states = 64;
    // Users' code isn't for values that mean nothing, which the border of a window has: it may loop on them for ever.
    if (states_.size() > most_states || k_.over != distribution::elements || k_.index_bits != 32 ||
        k_.domain_rank > 2 || !k_.loops.empty() || !k_.calls.empty() || !k_.checks.empty() ||
        l_.numbers.cost > most_cost)
      return false;
    return std::ranges::none_of(k_.body, [](const inst& x) {
      return x.code == op::atomic || x.code == op::memory || (x.code == op::store && x.arg[1] != value::none);
    });
  }

  bool find_stores() {
    std::size_t found = 0;
    for (const inst& x : k_.body) {
      if (x.code != op::store) continue;
      const pending_pointer* p = pointer_of(x);
      const auto state = std::ranges::find(states_, p ? p->source : nullptr, &stepped_state::next);
      if (state == states_.end()) return false;
      const auto number = static_cast<std::uint32_t>(state - states_.begin());
      const std::optional<placed> where = place_of(x, p->source);
      if (stores_[number] != none || !where || is_complex(x.type)) return false;
      if (found > 0 && (where->first != where_.first || where->pitch != where_.pitch ||
                        p->source->extents.size() != size_))
        return false;
      where_ = *where;
      size_ = p->source->extents.size();
      stores_[number] = x.attr;
      stepped_.push_back({x.attr, number, 0, 0});
      ++found;
    }
    return found == states_.size();
  }

  /// Those of states: each a constant way from the element's own place.
  bool find_loads() {
    for (const inst& x : k_.body) {
      if (x.code != op::load) continue;
      const pending_pointer* p = pointer_of(x);
      const auto state = std::ranges::find(states_, p ? p->source : nullptr, &stepped_state::now);
      if (state == states_.end()) continue;
      const std::optional<placed> from = place_of(x, p->source);
      if (!from || from->pitch != where_.pitch || p->source->extents.size() != size_) return false;
      const std::int64_t way = from->first - where_.first, half = where_.pitch / 2;
      const std::int64_t rows = k_.domain_rank == 1 ? 0 : floor_of(way + half, where_.pitch);
      const std::int64_t columns = way - rows * where_.pitch;
      if (!stays_in_row(columns) || std::abs(rows) > widest_border || std::abs(columns) > widest_border_of_line)
        return false;
      stepped_.push_back({x.attr, static_cast<std::uint32_t>(state - states_.begin()), static_cast<std::int32_t>(rows),
                          static_cast<std::int32_t>(columns)});
    }
    return true;
  }

  static std::int64_t floor_of(std::int64_t a, std::int64_t b) { return (a - ((a % b + b) % b)) / b; }

  /// Elements of the array before the domain's first column.
  std::int64_t columns_before() const { return where_.first % where_.pitch; }

  bool stays_in_row(std::int64_t columns) const {
    const std::int64_t before = columns_before();
    return before + columns >= 0 && before + columns + l_.numbers.inner <= where_.pitch;
  }

  const pending_pointer* pointer_of(const inst& x) const {
    const auto p = std::ranges::find(l_.pointers, k_.accesses[x.attr].pointer, &pending_pointer::parameter);
    return p == l_.pointers.end() ? nullptr : &*p;
  }

  std::int64_t number(std::uint32_t parameter) const { return l_.numbers.slots[parameter].as_i64; }

  /// Nothing, unless it is whole rows of the array's memory, or of one line.
  std::optional<placed> place_of(const inst& x, const node* array) const {
    const form& f = k_.forms[k_.accesses[x.attr].form];
    std::int64_t steps[2] = {0, 0};
    for (std::uint32_t t = f.first; t < f.first + f.count; ++t) {
      const term& s = k_.terms[t];
      if (!s.is_dim() || s.atom >= k_.domain_rank) return std::nullopt;
      steps[s.atom] += s.coefficient == term::unit ? 1 : number(s.coefficient);
    }
    placed where{pointer_of(x)->offset + (f.offset == form::no_offset ? 0 : number(f.offset)), array->extents.size()};
    if (steps[k_.domain_rank - 1] != 1) return std::nullopt;
    if (k_.domain_rank == 2) {
      where.pitch = steps[0];
      if (where.pitch < 2 * widest_border || array->extents.rank() == 0 ||
          array->extents[array->extents.rank() - 1] != where.pitch)
        return std::nullopt;
    }
    return where;
  }

  bool choose_steps() {
    step_window w = window_of(k_);
    const int reach = std::max(w.row_reach, w.column_reach);
    if (w.points == 0 || reach == 0) return false;
    constexpr int tile = step_window::side - 2 * widest_border;
    const bool few = (l_.numbers.rows + tile - 1) / tile * ((l_.numbers.inner + tile - 1) / tile) <= few_tiles;
    const int widest = few && l_.numbers.cost <= cheap ? widest_border : usual_border;
    const int border =
        k_.domain_rank == 1 ? std::min(widest_border_of_line, w.columns / 32) : std::min(widest, w.rows / 8);
    k_.steps = static_cast<std::uint8_t>(std::min(border / reach, most_steps));
    w = window_of(k_);
    constexpr std::int64_t most_blocks_down = 65535;
    return k_.steps >= 2 && l_.numbers.rows <= most_blocks_down * w.tile_rows();
  }

  /// Those that the emitter finds by their place at the end: the states as they are now, the array's bounds as seen
  /// from the domain's first element (columns, then rows if it has any), and the number of iterations.
  void add_parameters() {
    for (std::size_t s = 0; s < states_.size(); ++s) {
      const std::uint32_t later = k_.accesses[stores_[s]].pointer;
      const auto p = *std::ranges::find(l_.pointers, later, &pending_pointer::parameter);
      l_.pointers.push_back({static_cast<std::uint32_t>(k_.parameters.size()), const_cast<node*>(states_[s].now),
                             p.offset, false});
      add({parameter_kind::input, states_[s].next->type}, 0);
    }
    const std::int64_t before = columns_before(), above = k_.domain_rank == 1 ? 0 : where_.first / where_.pitch;
    add({parameter_kind::offset, dtype::i64}, -before);
    add({parameter_kind::offset, dtype::i64}, where_.pitch - before);
    if (k_.domain_rank == 2) {
      add({parameter_kind::offset, dtype::i64}, -above);
      add({parameter_kind::offset, dtype::i64}, size_ / where_.pitch - above);
    }
    add({parameter_kind::steps, dtype::i64}, k_.steps);
  }

  void add(const parameter& p, std::int64_t number) {
    k_.parameters.push_back(p);
    slot s{};
    s.as_i64 = number;
    l_.numbers.slots.push_back(s);
  }

  lowered& l_;
  kernel& k_;
  std::span<const stepped_state> states_;
  std::vector<std::uint32_t> stores_;  ///< by state: access
  std::vector<step_access> stepped_;
  placed where_{};
  std::int64_t size_ = 0;  ///< elements of each state
};

}  // namespace

step_window window_of(const kernel& k) {
  step_window w{};
  for (const step_access& a : k.stepped) {
    w.row_reach = std::max(w.row_reach, std::abs(a.rows));
    w.column_reach = std::max(w.column_reach, std::abs(a.columns));
  }
  const bool line = k.domain_rank == 1;
  w.rows = line ? 1 : step_window::side;
  w.columns = line ? step_window::longest_line : step_window::side;
  w.points = w.rows * w.columns / step_window::threads;
  const auto fits = [&] {
    return ((w.rows + 2 * w.row_reach) * w.columns + 2 * w.column_reach) * bytes_of_element(k) <= most_shared_bytes;
  };
  for (; w.points > 0 && !fits(); w.points /= 2) (line ? w.columns : w.rows) /= 2;
  w.row_border = w.row_reach * k.steps;
  w.column_border = w.column_reach * k.steps;
  return w;
}

bool make_steps(lowered& l, std::span<const stepped_state> states) {
  const kernel before = l.ir;
  if (stepping(l, states).run()) return true;
  l.ir = before;
  return false;
}

void set_steps(lowered& l, std::int64_t steps) { l.numbers.slots.back().as_i64 = steps; }

}  // namespace sinter::jit
