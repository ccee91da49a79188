#include "jit/steps.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

namespace sinter::jit {

namespace {

constexpr int widest_border = 16, narrowest = 16, most_cost = 64;
constexpr std::string_view elements_alone = "elements need nothing but themselves";
constexpr int widest_border_of_line = 128, most_steps = 32;
constexpr int most_shared_bytes = 48 * 1024;

/// How a plane may be cut into windows, of which `border` rows and columns are lost on each side.
struct plane_shape {
  int vectors;  ///< of how many parts of 16 bytes a thread takes one
  int points, warps, border;
};
// 1000 steps of a 512 x 512 heat plate on an H200, from the end of recording to the end, in us: 687 with the second
// shape, 705 with 20 warps and a border of 12, 1082 with 28 and 20; as launches in a graph alone, 379 with 20 and 12,
// 387 to 416 with a border of 8, 472 with 128 x 64 elements and a border of 16. 200 steps of 8192 x 8192, in ms: 5.8
// with the last, 5.9 with the third, 6.0 with half its warps, 7.9 with a border of 4; 14.7 with windows
// of 64 x 64 in shared memory, 8.6 where a warp walks down a strip and keeps two rows of each iteration.
constexpr plane_shape plane_shapes[] = {{2, 4, 8, 8}, {2, 4, 24, 16}, {1, 8, 16, 12}, {1, 16, 8, 8}};
// Of a thread: registers for states, and instructions that loops over its elements are written out to.
constexpr int most_state_registers = 64, most_text = 1500;

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

/// What windows of a plane depend on.
struct plane_facts {
  int widest = 1;      ///< bytes of an element
  int bytes = 0;       ///< of all states' elements
  int words = 0;       ///< registers for them
  int operations = 0;  ///< arithmetic
  int edge_bytes = 0;  ///< of a column: what warps tell each other in an iteration, twice

  explicit plane_facts(const kernel& k) {
    for (const inst& x : k.body) operations += is_elementwise(x.code);
    std::uint32_t states = 0;
    for (const step_access& a : k.stepped) states = std::max(states, a.state + 1);
    for (std::uint32_t s = 0; s < states; ++s) {
      int up = 0, down = 0, size = 0;
      for (const step_access& a : k.stepped) {
        if (a.state != s) continue;
        size = static_cast<int>(size_of(k.parameters[k.accesses[a.access].pointer].type));
        up = std::max(up, -a.rows);
        down = std::max(down, a.rows);
      }
      widest = std::max(widest, size);
      bytes += size;
      words += std::max(size / 4, 1);
      edge_bytes += 2 * (up + down) * std::max(size, 4);
    }
  }
  /// Of a warp.
  int shared_bytes(int lanes) const { return edge_bytes * lanes * step_window::warp; }
};

/// How long a launch takes, in cycles of an H200: right within a fifth for the shapes above and some others, of
/// 512 x 512 and 8192 x 8192 elements.
class plane_cost {
 public:
  plane_cost(const kernel& k, const arguments& a, int lead)
      : facts_(k), window_(window_of(k)), steps_(k.steps),
        tiles_(static_cast<double>((a.rows + window_.tile_rows() - 1) / window_.tile_rows()) *
               static_cast<double>((a.inner + lead + window_.tile_columns() - 1) / window_.tile_columns())),
        elements_(static_cast<double>(a.rows) * static_cast<double>(a.inner)) {}

  double of_iteration() const {
    const double rounds = std::max(tiles_ / (processors * together()), 1.0);
    const double computing = steps_ * (together() * of_warps(rounds < 2) + barrier);
    const double moving = together() * moved_bytes() / bytes_a_cycle();
    const double hidden = together() > 1 ? 0.45 * std::min(computing, moving) : 0;  // by another block's other half
    return (launch + rounds * (computing + moving - hidden)) / steps_;
  }

 private:
  static constexpr double processors = 132, registers = 65536, most_threads = 2048;
  static constexpr double launch = 4000, barrier = 40, warps_at_once = 4;

  /// Blocks on a processor.
  double together() const {
    const double own = window_.points * window_.lanes * facts_.words + 48;
    const double fit =
        std::min(std::floor(most_threads / window_.threads), std::floor(registers / (own * window_.threads)));
    return std::max(1.0, std::min(fit, std::ceil(tiles_ / processors)));
  }

  /// An iteration of a block. Where all blocks run at once, those at the border, which ask more, are waited for.
  double of_warps(bool at_once) const {
    const double each = facts_.operations * 0.75 + (at_once ? 3 : 0.5);
    const double thread = window_.points * window_.lanes * each + 3 * window_.points + 8 + 4 * window_.lanes;
    return window_.threads / step_window::warp / warps_at_once * thread;
  }

  double moved_bytes() const {
    const double tile = static_cast<double>(window_.tile_rows()) * window_.tile_columns();
    return (0.75 * window_.rows * window_.columns + tile) * facts_.bytes;  // neighbours' windows overlap in the cache
  }

  double bytes_a_cycle() const {
    constexpr double cache = 40e6, from_cache = 40, from_memory = 18;
    return elements_ * facts_.bytes > cache ? from_memory : from_cache;
  }

  plane_facts facts_;
  step_window window_;
  double steps_, tiles_, elements_;
};

/// Where an access of the kernel stands in memory, of which rows are `pitch` elements.
struct placed {
  std::int64_t first;  ///< element that the domain's first one reads or writes
  std::int64_t pitch;
};

class stepping {
 public:
  stepping(lowered& l, std::span<const stepped_state> states)
      : l_(l), k_(l.ir), states_(states), stores_(states.size(), none) {}

  /// Why run() said false.
  std::string_view why() const { return why_; }

  bool run() {
    if (!is_plain() || !find_stores() || !find_loads()) return false;
    why_ = "windows of so many states, or of so wide a reach, don't fit a processor";
    k_.over = distribution::steps;
    k_.lanes = 1;
    k_.threads = step_window::threads_of_line;
    k_.stepped = stepped_;
    if (k_.domain_rank == 1 ? !choose_line() : !choose_plane()) return false;
    add_parameters();
    return true;
  }

 private:
  static constexpr std::uint32_t none = 0xffffffffu;

  /// One element of a domain of lines or planes, on its own, and nothing but it.
  bool is_plain() {
    constexpr std::size_t most_states = 64;
    why_ = "an iteration has loops of its own, calls users' code, writes to computed places, or has more than two axes";
    // Users' code isn't for values that mean nothing, which the border of a window has: it may loop on them for ever.
    if (k_.over == distribution::transposed) {
      why_ = "it reads arrays whose neighbours in memory lie along another axis than the domain's";
      return false;
    }
    if (states_.size() > most_states || k_.over != distribution::elements || k_.domain_rank > 2 || !k_.loops.empty() ||
        !k_.calls.empty() || !k_.checks.empty())
      return false;
    if (std::ranges::any_of(k_.body, [](const inst& x) {
          return x.code == op::atomic || x.code == op::memory || (x.code == op::store && x.arg[1] != value::none);
        }))
      return false;
    why_ = "an iteration computes so much that memory hardly counts, or arrays need indices of 64 bits";
    return k_.index_bits == 32 && l_.numbers.cost <= most_cost;
  }

  bool find_stores() {
    why_ = "what an iteration writes isn't whole rows of memory, or not the same part of all its arrays";
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
    why_ = "states are read far away, or at distances that differ from element to element";
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
      if (where.pitch < narrowest || array->extents.rank() == 0 ||
          array->extents[array->extents.rank() - 1] != where.pitch)
        return std::nullopt;
    }
    return where;
  }

  bool choose_line() {
    step_window w = window_of(k_);
    if (w.column_reach == 0) why_ = elements_alone;
    if (w.points == 0 || w.column_reach == 0) return false;
    k_.steps = static_cast<std::uint8_t>(
        std::min(std::min(widest_border_of_line, w.columns / 32) / w.column_reach, most_steps));
    return k_.steps >= 2;
  }

  bool choose_plane() {
    const step_window reach = window_of(k_);
    if (reach.row_reach + reach.column_reach == 0) why_ = elements_alone;
    double least = std::numeric_limits<double>::infinity();
    kernel best = k_;
    for (const plane_shape& s : plane_shapes) {
      if (!take_shape(s)) continue;
      const double cost = plane_cost(k_, l_.numbers, lead()).of_iteration();
      if (cost >= least) continue;
      least = cost;
      best.lanes = k_.lanes;
      best.kept = k_.kept;
      best.threads = k_.threads;
      best.steps = k_.steps;
    }
    k_ = std::move(best);
    l_.numbers.lead = lead();
    return k_.steps >= 2;
  }

  /// Whether a window of such a shape can be had, perhaps with fewer rows.
  bool take_shape(const plane_shape& s) {
    const plane_facts facts(k_);
    const step_window reach = window_of(k_);
    constexpr int vector_bytes = 16, most_lanes = 4;
    const int lanes = std::max(1, std::min(vector_bytes / facts.widest, most_lanes) / s.vectors);
    int points = s.points, warps = s.warps;
    while (points * lanes * facts.words > most_state_registers || points * lanes * facts.operations > most_text)
      points /= 2;
    while (warps * facts.shared_bytes(lanes) > most_shared_bytes) warps /= 2;
    const int steps = s.border / std::max({reach.row_reach, reach.column_reach, 1});
    if (points == 0 || points < reach.row_reach || warps == 0 || steps < 2) return false;
    k_.lanes = static_cast<std::uint8_t>(lanes);
    k_.kept = static_cast<std::uint8_t>(points);
    k_.threads = static_cast<std::uint16_t>(warps * step_window::warp);
    k_.steps = static_cast<std::uint8_t>(steps);
    const step_window w = window_of(k_);
    constexpr std::int64_t most_blocks_down = 65535;
    return reach.row_reach + reach.column_reach > 0 && w.tile_rows() > 0 && w.tile_columns() > 0 &&
           l_.numbers.rows <= most_blocks_down * w.tile_rows();
  }

  /// Elements before the domain, in the vector that its first column is part of.
  int lead() const { return static_cast<int>(columns_before() % k_.lanes); }

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
  std::string_view why_;
};

}  // namespace

step_window window_of(const kernel& k) {
  step_window w{};
  for (const step_access& a : k.stepped) {
    w.row_reach = std::max(w.row_reach, std::abs(a.rows));
    w.column_reach = std::max(w.column_reach, std::abs(a.columns));
  }
  w.lanes = k.lanes;
  w.threads = k.threads;
  w.row_border = w.row_reach * k.steps;
  w.column_border = (w.column_reach * k.steps + w.lanes - 1) / w.lanes * w.lanes;
  if (k.domain_rank > 1) {
    w.points = k.kept;
    w.rows = w.points * w.threads / step_window::warp;
    w.columns = w.lanes * step_window::warp;
    return w;
  }
  w.rows = 1;
  w.columns = step_window::longest_line;
  w.points = w.columns / w.threads;
  for (; w.points > 0 && (w.columns + 2 * w.column_reach) * bytes_of_element(k) > most_shared_bytes; w.points /= 2)
    w.columns /= 2;
  return w;
}

bool make_steps(lowered& l, std::span<const stepped_state> states, std::string_view* why) {
  const kernel before = l.ir;
  stepping s(l, states);
  if (s.run()) return true;
  if (why) *why = s.why();
  l.ir = before;
  return false;
}

void set_steps(lowered& l, std::int64_t steps) { l.numbers.slots.back().as_i64 = steps; }

}  // namespace sinter::jit
