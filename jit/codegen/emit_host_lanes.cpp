// Elements whose loops are their own, for the host: neighbours go through a serial loop together, as lanes of vector
// code, until the last of them has left it.
#include "jit/codegen/emitters.hpp"
#include "jit/codegen/placement.hpp"

#include <algorithm>

namespace sinter::jit {

namespace {

// Several vectors at once hide how long an operation takes.
constexpr int lanes_at_once = 64;

class host_lane_emitter : public kernel_emitter {
 public:
  host_lane_emitter(const kernel& k, const user_code& users, writer& w)
      : kernel_emitter(k, users, dialect::host, w), place_(place_instructions(k)), run_(k.body.size(), 0) {
    number_runs();
    find_arrays();
  }

  void whole(const std::string& name) override { function("extern \"C\" void", name); }
  void part(const std::string& name) override { function("static void", name); }

 private:
  using loop = loop_nest::loop;

  bool in_lanes(std::uint32_t v) const {
    return nest_.around(v) == loop_nest::none ? place_[v] == placement::element : top_in_lanes(v);
  }

  bool top_in_lanes(std::uint32_t v) const {
    std::uint32_t l = nest_.around(v);
    while (nest_[l].parent != loop_nest::none) l = nest_[l].parent;
    return place_[nest_[l].begin] == placement::element;
  }

  // ---- Runs: instructions that one loop over the lanes holds ----

  /// A run ends where a loop begins or ends, and where lanes leave it. What begins a loop's states is a run of its own.
  void number_runs() {
    std::uint32_t number = 1;
    for (std::uint32_t v = 0; v < k_.body.size(); ++v) {
      if (!in_lanes(v)) continue;
      const op code = k_.body[v].code;
      if (code == op::loop || code == op::end) ++number;
      run_[v] = number;
      if (code == op::loop || code == op::end || code == op::proceed) ++number;
    }
  }

  /// The run in which operand x of v is read: states begin before their loop.
  std::uint32_t reading_run(std::uint32_t v) const {
    return k_.body[v].code == op::carry ? run_[nest_[nest_.around(v)].begin] : run_[v];
  }

  /// Values that other runs read are arrays; a state is read again from its own.
  void find_arrays() {
    for (std::uint32_t v = 0; v < k_.body.size(); ++v) {
      if (run_[v] == 0) continue;
      if (k_.body[v].code == op::iterate) names_.set_array(value{v});
      nest_.each_operand(v, [&](std::uint32_t x) {
        const op code = k_.body[x].code;
        if (code == op::carry || code == op::proceed || code == op::scalar || run_[x] == 0) return;
        if (run_[x] != reading_run(v)) names_.set_array(value{x});
      });
    }
  }

  // ---- The function ----

  void function(std::string_view declared, const std::string& name) {
    const auto body = w_.block("{} {}({})", declared, name, host_parameters);
    host_parameters_declared();
    settled(placement::once);
    if (!has_rows()) w_.line("(void)row_begin, (void)row_end;");
    const auto rows = w_.block("{}", has_rows() ? "for (long long row = row_begin; row < row_end; ++row)" : "");
    if (has_rows()) find_row();
    settled(placement::row);
    const auto blocks = w_.block("for (long long first = begin; first < end; first += {})", lanes_at_once);
    w_.line("const int left = end - first < {0} ? (int)(end - first) : {0};", lanes_at_once);
    here_.position = has_rows() ? fmt::format("(long long)row * {} + i", extent(inner_dim())) : "i";
    declare_lanes();
    range(0, static_cast<std::uint32_t>(k_.body.size()));
  }

  /// What is the same in all lanes.
  void settled(placement p) {
    here_.position = p == placement::row ? fmt::format("(long long)row * {}", extent(inner_dim())) : "0";
    for (std::uint32_t v = 0; v < k_.body.size(); ++v)
      if (place_[v] == p) v = instruction(v);
  }

  void declare_lanes() {
    for (std::uint32_t v = 0; v < k_.body.size(); ++v) {
      const inst& x = k_.body[v];
      if (run_[v] == 0) continue;
      if (x.code == op::carry)
        w_.line("{} result{}_{}[{}] = {{}};", register_type(x.type), nest_.iterate_of(v), x.attr, lanes_at_once);
      else if (x.code == op::proceed) w_.line("int live{}[{}] = {{}};", nest_.around(v), lanes_at_once);
      else if (x.code != op::iterate && names_.is_array(value{v}))
        w_.line("{} v{}[{}] = {{}};", value_type(k_, x), v, lanes_at_once);
    }
  }

  void range(std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t v = begin; v < end;) {
      if (run_[v] == 0) {
        ++v;
      } else if (k_.body[v].code == op::loop) {
        const loop& l = nest_[nest_.number_of(v)];
        serial_loop(l);
        v = l.end + 1;
      } else {
        v = run(v, end);
      }
    }
  }

  // ---- Runs and loops ----

  /// Whether instruction v needs the lane's element, which lanes past the end don't have.
  bool is_of_element(std::uint32_t v) const {
    const inst& x = k_.body[v];
    if (x.code == op::store || x.arg[0] != value::none) return x.code == op::store || x.code == op::load;
    if (x.code != op::load && x.code != op::index) return false;
    const form& f = k_.forms[x.code == op::index ? x.attr : k_.accesses[x.attr].form];
    return std::any_of(k_.terms.begin() + f.first, k_.terms.begin() + f.first + f.count, [&](const term& t) {
      return t.is_dim() ? t.atom == inner_dim() : run_[t.atom & ~term::computed] != 0;
    });
  }

  /// Emits the run that v begins; returns what follows it.
  std::uint32_t run(std::uint32_t v, std::uint32_t end) {
    std::vector<std::uint32_t> list;
    for (; v < end && (run_[v] == 0 || list.empty() || run_[v] == run_[list[0]]); ++v)
      if (run_[v] != 0) list.push_back(v);
    if (std::ranges::all_of(list, [&](std::uint32_t x) { return k_.body[x].code == op::carry; })) return v;
    const bool leaves = k_.body[list.back()].code == op::proceed;
    const std::uint32_t number = nest_.around(list[0]);
    const bool elements = std::ranges::any_of(list, [&](std::uint32_t x) { return is_of_element(x); });
    if (leaves) w_.line("int any{} = 0;", number);
    w_.line("#pragma omp simd{}", leaves ? fmt::format(" reduction(| : any{})", number) : "");
    {
      const auto lanes = lanes_of(number, elements);
      if (elements) w_.line("const long long i = first + lane;");
      declare_states_read(list);
      for (const std::uint32_t x : list) statement(x);
    }
    if (leaves) leave(list.back());
    return v;
  }

  /// All lanes inside of loops, whose number the compiler then knows, but where those past the end lack something.
  writer::scope lanes_of(std::uint32_t loop_number, bool elements) {
    const bool all = loop_number != loop_nest::none && !elements;
    return w_.block("for (int lane = 0; lane < {}; ++lane)", all ? std::to_string(lanes_at_once) : "left");
  }

  void declare_states_read(const std::vector<std::uint32_t>& list) {
    std::vector<std::uint32_t> states;
    for (const std::uint32_t v : list)
      if (k_.body[v].code != op::carry) nest_.each_operand(v, [&](std::uint32_t x) { add_state(states, x); });
    for (const std::uint32_t s : states) instruction(s);
  }

  void add_state(std::vector<std::uint32_t>& states, std::uint32_t x) const {
    if (k_.body[x].code == op::carry && std::ranges::find(states, x) == states.end()) states.push_back(x);
  }

  void statement(std::uint32_t v) {
    const inst& x = k_.body[v];
    const std::uint32_t l = nest_.around(v);
    if (x.code == op::carry) return;  // declared where it is read
    if (x.code == op::proceed) {
      w_.line("live{0}[lane] = live{0}[lane] & (int){1};", l, names_.value(x.arg[0]));
      return w_.line("any{0} |= live{0}[lane];", l);
    }
    if (x.code != op::iterate) return static_cast<void>(instruction(v));
    const jit::iteration& t = k_.iterations[x.attr];
    const bool may_leave = t.count > 2 * t.states;
    for (std::uint32_t s = 0; s < t.states; ++s) {
      const std::string next = operand(k_, names_, k_.call_operands[t.first + t.states + s]);
      const std::string state = names_.value(k_.call_operands[t.first + s]);
      if (may_leave) w_.line("result{0}_{1}[lane] = live{2}[lane] ? {3} : result{0}_{1}[lane];", v, s, l, next);
      else w_.line("result{}_{}[lane] = {};", v, s, next);
    }
  }

  /// After a proceed: out of the loop when no lane is left in it, or there is no iteration left.
  void leave(std::uint32_t v) {
    const inst& x = k_.body[v];
    const std::uint32_t number = nest_.around(v), d = nest_.innermost(nest_[number]);
    w_.line("if (!any{}) break;", number);
    if (x.attr == check::none) return;
    const auto over = w_.block("if ({} + 1 == {})", names_.dim(d), extent(d));
    {
      const auto lanes = w_.block("for (int lane = 0; lane < left; ++lane)");
      w_.line("const long long i = first + lane;");
      w_.line("bool good = false;");
      w_.line("if (live{}[lane]) checked_index<long long>({}, {}, good, fault, launch, {}, {});", number, names_.dim(d),
              names_.parameter(k_.checks[x.attr].size), x.attr, here_.position);
    }
    w_.line("break;");
  }

  void serial_loop(const loop& l) {
    const std::uint32_t number = nest_.number_of(l.begin), d = nest_.innermost(l);
    begin_states(l, number);
    const auto iterations = w_.block("for (long long d{0} = 0; d{0} < {1}; ++d{0})", d, extent(d));
    range(l.begin + 1, l.end);
  }

  void begin_states(const loop& l, std::uint32_t number) {
    std::vector<std::uint32_t> own, read;
    bool may_leave = false;
    for (std::uint32_t v = l.begin + 1; v < l.end; ++v) {
      if (nest_.around(v) != number) continue;
      may_leave = may_leave || k_.body[v].code == op::proceed;
      if (k_.body[v].code != op::carry) continue;
      own.push_back(v);
      add_state(read, raw(k_.body[v].arg[0]));
    }
    const std::uint32_t around = nest_[number].parent;
    w_.line("#pragma omp simd");
    const auto lanes = lanes_of(around, false);
    for (const std::uint32_t s : read) instruction(s);
    for (const std::uint32_t v : own)
      w_.line("result{}_{}[lane] = {};", l.iterate, k_.body[v].attr, operand(k_, names_, k_.body[v].arg[0]));
    if (may_leave) w_.line("live{}[lane] = {};", number, live_around(around));
  }

  /// Whether a lane is in the loops around.
  std::string live_around(std::uint32_t number) const {
    for (; number != loop_nest::none; number = nest_[number].parent) {
      const jit::iteration& t = k_.iterations[k_.body[nest_[number].iterate].attr];
      if (t.count > 2 * t.states) return fmt::format("live{}[lane]", number);
    }
    return "lane < left";
  }

  std::vector<placement> place_;
  std::vector<std::uint32_t> run_;  ///< by instruction; 0: the same in all lanes
};

bool divides(op code) {
  return code == op::divide || code == op::modulo || code == op::floor_divide || code == op::remainder;
}

}  // namespace

bool runs_in_lanes(const kernel& k) {
  const bool loops = !k.loops.empty() && std::ranges::all_of(k.loops, [](const loop_dims& l) { return l.serial != 0; });
  // Fault records, atomics and user code may hold what a vector loop can't, and processors don't divide integers in
  // vectors: an element that has left would have them divided for nothing.
  return loops && k.over == distribution::elements && k.calls.empty() &&
         std::ranges::none_of(k.body, [](const inst& x) {
           return x.code == op::bound || x.code == op::atomic || is_complex(x.type) ||
                  (divides(x.code) && is_integer(x.type));
         });
}

std::unique_ptr<kernel_emitter> make_host_lane_emitter(const kernel& k, const user_code& users, writer& w) {
  return std::make_unique<host_lane_emitter>(k, users, w);
}

}  // namespace sinter::jit
