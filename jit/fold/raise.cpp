// From a folded trace back to array operations.
#include "jit/fold/nest_builder.hpp"
#include "jit/fold/rewrite.hpp"
#include "jit/fold/trace_recorder.hpp"
#include "jit/graph_internal.hpp"
#include "jit/loops.hpp"
#include "runtime/backend.hpp"
#include "runtime/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace sinter::jit {

namespace {

// Shorter loops are as well written out.
constexpr std::int64_t least_repeats = 4, most_written_out = 160;  // iterations; operations
// Of a loop that is repeated: what is launched in one iteration.
constexpr std::int64_t most_statements_in_body = 256;

/// Where tables of the trace's loops go.
runtime::device& device_of_trace(const statement_trace& t) {
  for (const trace_slot& s : t.slots())
    if (s.first)
      if (runtime::device* d = owner_of(s.first.get())) return *d;
  return runtime::default_device();
}

thread_local folding_notes* notes_wanted = nullptr;
thread_local constinit bool is_unfinished = false;

std::string number_text(const traced_number& n) {
  std::string text = n.constant != 0 || n.coefficients.empty() ? fmt::format("{}", n.constant) : "";
  for (std::size_t l = 0; l < n.coefficients.size(); ++l) {
    if (n.coefficients[l] == 0) continue;
    if (!text.empty()) text += " + ";
    text += n.coefficients[l] == 1 ? fmt::format("t{}", l) : fmt::format("{} * t{}", n.coefficients[l], l);
  }
  if (n.column) text += fmt::format("{}table[t{}]", text.empty() ? "" : " + ", n.column_loop);
  return text.empty() ? "0" : text;
}

class raiser {
 public:
  explicit raiser(statement_trace& t) : trace_(t), structures_(t.structures()), where_(device_of_trace(t)) {
    for (const trace_slot& s : t.slots()) variables_.push_back(s.first);
  }

  void run() {
    const std::vector<trace_item> items = trace_.take_items();
    for (std::size_t k = 0; k < items.size(); ++k) raise(items[k], std::span(items).subspan(k + 1));
    for (const statement_trace::version& v : trace_.versions()) hand_over(v);
  }

 private:
  void raise(const trace_item& item, std::span<const trace_item> later) {
    if (!item.is_loop()) return assign(item);
    loop_nest_analysis nest(item, structures_.all(), around_);
    if (raise_nest(nest, item, later)) return;
    std::vector<trace_item> parts = distributed(item, nest);
    if (parts.size() == 1) {
      if (!repeat(item, later)) write_out(item, later);
      return;
    }
    const std::size_t count = parts.size();
    parts.insert(parts.end(), later.begin(), later.end());
    for (std::size_t k = 0; k < count; ++k) raise(parts[k], std::span(parts).subspan(k + 1));
  }

  /// Whether a nest with a loop inside its lanes is so short that its statements one by one fuse better.
  static bool is_small(const loop_nest_analysis& nest) {
    if (nest.recurrence() && nest.recurrence()->most >= least_repeats) return false;
    std::int64_t operations = 0;
    for (const nest_statement& s : nest.statements()) {
      std::int64_t times = static_cast<std::int64_t>(s.structure->nodes.size());
      for (const std::uint32_t l : s.loops) times = std::min(times * nest.loops()[l].most, most_written_out + 1);
      operations += times;
    }
    const bool serial = std::ranges::any_of(nest.loops(), [](const nest_loop& l) { return l.lane < 0; });
    return serial && operations <= most_written_out;
  }

  bool raise_nest(loop_nest_analysis& nest, const trace_item& item, std::span<const trace_item> later) {
    if (!nest.find_lanes()) {
      why_ = nest.why();
      return false;
    }
    if (around_.empty() && is_small(nest)) {
      why_ = "it is short";
      write_out(item, later);
      return true;
    }
    if (around_.empty() || !around_.back().counter) note(item, &nest, "");
    nest_builder(nest, variables_, where_).run(item);
    return true;
  }

  /// For explain(): how the loop runs. `nest`: its lanes; null: as `how` says.
  void note(const trace_item& item, const loop_nest_analysis* nest, const std::string& how) const {
    folding_notes* notes = folding_notes::wanted();
    if (!notes || !item.is_loop()) return;
    if (!nest) notes->text += line_of_loop(item, 0, how);
    else write_note(item, *nest, 0, *notes);
  }

  std::string line_of_loop(const trace_item& item, std::size_t depth, std::string_view how) const {
    return fmt::format("{:{}}for t{} in [0, {}): {}\n", "", 2 * depth, depth + around_.size(), number_text(item.count),
                       how);
  }

  void write_note(const trace_item& item, const loop_nest_analysis& nest, std::size_t depth,
                  folding_notes& notes) const {
    if (!item.is_loop()) {
      const place& at = structures_[item.statement].nodes.back().site;
      notes.text += fmt::format("{:{}}statement at {}:{}\n", "", 2 * depth, at.file, at.line);
      return;
    }
    const nest_loop& l = nest.loops()[nest.loop_of(item)];
    if (l.most == 0) return;
    const std::string_view stored = &l == nest.recurrence() ? ", each result stored on the way" : "";
    notes.text += line_of_loop(
        item, depth,
        l.lane >= 0 ? "parallel" : fmt::format("in order, in each of {} lanes{}", nest.lanes().size(), stored));
    for (const trace_item& inner : item.body) write_note(inner, nest, depth + 1, notes);
  }

  /// Iterations that need each other across whole arrays, as one operation that runs the body over and over. False when
  /// the body isn't, once its inner loops without lanes are written out in it, made of statements alone, on the same
  /// variables each time.
  bool repeat(const trace_item& recorded, std::span<const trace_item> later) {
    const std::int64_t n = number(recorded.count);
    if (n < least_repeats) return false;
    const std::string why = why_;
    const std::optional<trace_item> ready = made_of_lanes(recorded);
    if (!ready || !has_fixed_variables(*ready)) return false;
    const trace_item& loop = *ready;
    const std::vector<std::int64_t> slots = states_of(loop, later);
    if (slots.empty()) return true;  // nobody sees what it computes
    const std::vector<node_ref> before = variables_;
    auto body = std::make_shared<loop_body>();
    body->count = n;
    const place site = first_site(loop);
    std::vector<node_ref> first;
    for (const std::int64_t s : slots) {
      first.push_back(before_loop(s, site));
      body->states.push_back(make_node(op::state, first.back()->type, first.back()->extents, {}, site));
      variables_[static_cast<std::size_t>(s)] = body->states.back();
    }
    body->counter = make_node(op::state, dtype::i64, shape{}, {}, site);
    around_.push_back({0, body->counter, n});
    bool raised = true;
    {
      const unfinished_values states_until_then;
      for (const trace_item& inner : loop.body) {
        loop_nest_analysis nest(inner, structures_.all(), around_);
        raised = raised && raise_nest(nest, inner, {});
      }
    }
    around_.pop_back();
    if (!raised) {
      variables_ = before;
      return false;
    }
    std::vector<node*> states;
    for (const node_ref& f : first) states.push_back(f.get());
    for (const std::int64_t s : slots) body->next.push_back(std::exchange(variables_[static_cast<std::size_t>(s)], {}));
    note(loop, nullptr,
         fmt::format("over and over across whole arrays ({}), as one list of launches at {}:{}", why, site.file,
                     site.line));
    const std::vector<node_ref> after = record_repeat(body, states, site);
    visit(loop, [&](const statement_structure&, const trace_item& i) {  // what no iteration leaves to anybody
      variables_[static_cast<std::size_t>(slot_now(i.parameters.back()))] = {};
    });
    for (std::size_t k = 0; k < slots.size(); ++k) variables_[static_cast<std::size_t>(slots[k])] = after[k];
    return true;
  }

  /// A loop to be repeated with a body of nests that have lanes: inner loops that have none, iteration by iteration.
  std::optional<trace_item> made_of_lanes(const trace_item& loop) const {
    std::vector<outer_loop> around = around_;
    around.push_back({0, make_node(op::state, dtype::i64, shape{}, {}, first_site(loop)), number(loop.count)});
    trace_item out;
    out.count = loop.count;
    std::int64_t room = most_statements_in_body;
    for (const trace_item& inner : loop.body)
      if (!add_with_lanes(inner, around, out.body, room)) return std::nullopt;
    return out;
  }

  bool add_with_lanes(const trace_item& item, const std::vector<outer_loop>& around, std::vector<trace_item>& list,
                      std::int64_t& room) const {
    loop_nest_analysis nest(item, structures_.all(), around);
    if (nest.find_lanes()) {
      list.push_back(item);
      return (room -= static_cast<std::int64_t>(nest.statements().size())) >= 0;
    }
    if (!item.is_loop()) return false;
    const std::vector<trace_item> parts = distributed(item, nest);
    if (parts.size() > 1)
      return std::ranges::all_of(parts, [&](const trace_item& p) { return add_with_lanes(p, around, list, room); });
    if (depends_on(item.count, around.size() - 1)) return false;
    const std::int64_t n = number(item.count);
    for (std::int64_t k = 0; k < n; ++k)
      for (const trace_item& inner : item.body)
        if (!add_with_lanes(in_iteration(inner, around.size(), k), around, list, room)) return false;
    return true;
  }

  /// Whether all iterations read and write the same variables.
  bool has_fixed_variables(const trace_item& loop) const {
    bool fixed = true;
    const auto check = [&](const traced_number& n) { fixed = fixed && !moves_inside(n); };
    visit(loop, [&](const statement_structure& s, const trace_item& i) {
      for (const statement_node& n : s.nodes)
        if (n.is_variable) check(i.parameters[n.parameter]);
      check(i.parameters.back());
    });
    return fixed;
  }

  node_ref before_loop(std::int64_t slot, const place& site) const {
    if (const node_ref& held = variables_[static_cast<std::size_t>(slot)]) return held;
    const trace_slot& s = trace_.slots()[static_cast<std::size_t>(slot)];
    return make_broadcast(make_scalar(scalar(false), s.type, site).get(), s.extents,
                          site);  // written before it is read
  }

  /// The slots that the loop's statements assign to, but for those that no iteration needs of the one before, and
  /// nobody afterwards.
  std::vector<std::int64_t> states_of(const trace_item& loop, std::span<const trace_item> later) const {
    std::vector<std::int64_t> written, surely, needed;
    const auto add = [](std::vector<std::int64_t>& list, std::int64_t s) {
      if (std::ranges::find(list, s) == list.end()) list.push_back(s);
    };
    visit(loop, [&](const statement_structure& s, const trace_item& i) {
      for (const statement_node& n : s.nodes) {
        const std::int64_t slot = n.is_variable ? slot_now(i.parameters[n.parameter]) : -1;
        if (slot >= 0 && std::ranges::find(surely, slot) == surely.end()) add(needed, slot);
      }
      add(written, slot_now(i.parameters.back()));
      if (std::ranges::any_of(loop.body, [&](const trace_item& top) { return &top == &i; }))
        add(surely, slot_now(i.parameters.back()));  // inner loops may have no iterations
    });
    bool all = false;  // others are read that are not known here
    for (const statement_trace::version& v : trace_.versions()) add(needed, v.slot);
    for (const trace_item& i : later)
      visit(i, [&](const statement_structure& s, const trace_item& item) {
        for (const statement_node& n : s.nodes)
          if (n.is_variable) {
            const traced_number& p = item.parameters[n.parameter];
            if (p.column || std::ranges::any_of(p.coefficients, [](std::int64_t c) { return c != 0; })) all = true;
            else add(needed, p.constant);
          }
      });
    if (!all) std::erase_if(written, [&](std::int64_t s) { return std::ranges::find(needed, s) == needed.end(); });
    return written;
  }

  template <class F>
  void visit(const trace_item& item, F&& f) const {
    if (!item.is_loop()) return f(structures_[item.statement], item);
    for (const trace_item& inner : item.body) visit(inner, f);
  }

  place first_site(const trace_item& item) const {
    place site;
    visit(item, [&](const statement_structure& s, const trace_item&) { site = s.nodes.back().site; });
    return site;
  }

  /// One iteration after another; loops inside may still be loops.
  void write_out(const trace_item& loop, std::span<const trace_item> later) {
    const std::int64_t n = number(loop.count);
    note(loop, nullptr, "one iteration after another, written out: " + why_);
    std::vector<trace_item> after = loop.body;  // the next iteration reads, too
    after.insert(after.end(), later.begin(), later.end());
    around_.push_back({});
    for (std::int64_t k = 0; k < n; ++k) {
      around_.back().now = k;
      for (const trace_item& inner : loop.body) raise(inner, after);
    }
    around_.pop_back();
  }

  /// Whether it changes with loops that are neither written out nor repeated.
  bool moves_inside(const traced_number& n) const {
    for (std::size_t l = around_.size(); l < n.coefficients.size(); ++l)
      if (n.coefficients[l] != 0) return true;
    return n.column && static_cast<std::size_t>(n.column_loop) >= around_.size();
  }

  /// The slot of a statement's variable in this iteration of the loops around.
  std::int64_t slot_now(const traced_number& n) const {
    std::int64_t x = n.constant;
    for (std::size_t l = 0; l < n.coefficients.size() && l < around_.size(); ++l)
      x += n.coefficients[l] * around_[l].now;
    if (n.column) x += (*n.column)[static_cast<std::size_t>(around_[static_cast<std::size_t>(n.column_loop)].now)];
    return x;
  }

  std::int64_t number(const traced_number& n) const {
    std::int64_t x = n.constant;
    for (std::size_t l = 0; l < n.coefficients.size() && l < around_.size(); ++l)
      x += n.coefficients[l] * around_[l].now;
    if (n.column) x += (*n.column)[static_cast<std::size_t>(around_[static_cast<std::size_t>(n.column_loop)].now)];
    return x;
  }

  /// A statement as it was recorded.
  void assign(const trace_item& item) {
    const statement_structure& s = structures_[item.statement];
    std::vector<std::int64_t> numbers;
    for (const traced_number& n : item.parameters) numbers.push_back(number(n));
    std::vector<node_ref> values;
    for (const statement_node& n : s.nodes) values.push_back(value(s, n, numbers, values));
    variables_[static_cast<std::size_t>(numbers.back())] = std::move(values.back());
  }

  node_ref value(const statement_structure& s, const statement_node& n, std::span<const std::int64_t> numbers,
                 std::span<const node_ref> values) const {
    if (n.is_variable) return variables_[static_cast<std::size_t>(numbers[n.parameter])];
    std::vector<node*> operands;
    for (const std::uint32_t o : s.operands_of(n)) operands.push_back(values[o].get());
    axis_maps map;
    if (n.code == op::view || n.code == op::update) {
      map = n.facts->view;
      for (std::size_t k = 0; k < map.size(); ++k) map[k].offset = numbers[n.parameter + k];
    }
    switch (n.code) {
      case op::scalar:
        return make_scalar(scalar_of(n, numbers), n.type, n.site);
      case op::view:
        return make_view(operands[0], map, n.extents, n.site);
      case op::update:
        return make_update(operands[0], operands[1], map, n.site);
      case op::reshape:
        return make_reshape(operands[0], n.extents, n.site);
      case op::join:
        return make_join(operands, n.facts->axis, n.site);
      default:
        break;
    }
    return make_node(n.code, n.type, n.extents, operands, n.site,
                     n.facts ? std::make_unique<attribute>(*n.facts) : nullptr);
  }

  static scalar scalar_of(const statement_node& n, std::span<const std::int64_t> numbers) {
    const std::int64_t x = numbers[n.parameter];
    switch (kind_of(n.type)) {
      case kind::real:
        return scalar(number_of(n, 0, x));
      case kind::complex:
        return scalar(complex128{number_of(n, 0, x), number_of(n, 1, numbers[n.parameter + 1])});
      case kind::truth:
        return scalar(x != 0);
      default:
        return n.type == dtype::u64 ? scalar(static_cast<std::uint64_t>(x)) : scalar(x);
    }
  }

  /// The version computes what its slot holds. Others that use the same see it through the version, so that there is
  /// one node whose memory it is.
  void hand_over(const statement_trace::version& v) {
    node_ref& held = variables_[static_cast<std::size_t>(v.slot)];
    if (v.n->references.load(std::memory_order_acquire) == 1) return;  // the trace alone
    SINTER_CHECK(held.get() != nullptr);
    node_ref fresh = std::exchange(held, v.n);
    if (fresh.get() == v.n.get()) return;
    const bool shared = fresh->references.load(std::memory_order_acquire) > 1;
    const bool outside = fresh->values() || fresh->has_statements;
    become(v.n.get(), fresh.get());
    // Two nodes of one value are one in a kernel; seen through a view, its readers could not be counted. But memory is
    // updated in place for one node alone.
    if (!shared || outside || fresh->code != op::update) return;
    auto facts = std::make_unique<attribute>();
    for (int k = 0; k < v.n->extents.rank(); ++k) facts->view.push_back({0, 1, k});
    normalize(facts->view, v.n->extents);
    node* same = v.n.get();
    become(fresh.get(), make_node(op::view, v.n->type, v.n->extents, {&same, 1}, v.n->site, std::move(facts)).get());
  }

  statement_trace& trace_;
  const structure_table& structures_;
  runtime::device& where_;
  std::vector<node_ref> variables_;  ///< by slot: what it holds now
  std::string why_;                  ///< the last nest has no lanes
  std::vector<outer_loop> around_;   ///< loops whose body is being raised, outermost first
};

}  // namespace

folding_notes::folding_notes() noexcept { notes_wanted = this; }
folding_notes::~folding_notes() { notes_wanted = nullptr; }
folding_notes* folding_notes::wanted() noexcept { return notes_wanted; }

unfinished_values::unfinished_values(bool any) noexcept
    : before_(std::exchange(is_unfinished, is_unfinished || any)) {}
unfinished_values::~unfinished_values() { is_unfinished = before_; }
bool unfinished_values::any() noexcept { return is_unfinished; }

void raise_trace(statement_trace& t) {
  const bool entangled = std::ranges::any_of(
      t.slots(), [](const trace_slot& s) { return s.first && !s.first->values() && s.first->has_statements; });
  const unfinished_values until_the_end(entangled);
  raiser(t).run();
  t.versions().clear();
}

}  // namespace sinter::jit
