#include "jit/replay.hpp"

#include "jit/engine.hpp"
#include "jit/faults.hpp"
#include "jit/launcher.hpp"
#include "jit/opaque.hpp"
#include "runtime/counters.hpp"
#include "runtime/error.hpp"
#include "runtime/launch_graph.hpp"
#include "runtime/stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace sinter::jit {

using runtime::buffer;

namespace {

// From so many launches on, one graph takes the host less time than starting them one by one does; and it is made when
// a recording has shown that it will be replayed, as making it takes as long as many launches.
constexpr std::size_t least_in_graph = 3;
constexpr std::uint32_t replays_before_graph = 2;

/// Gives a graph its launches, or those it has their new arguments.
class graph_launches final : public runtime::launch_list {
 public:
  graph_launches(runtime::launch_graph& graph, bool is_new) : graph_(graph), is_new_(is_new) {}
  void add(runtime::function& f, std::span<void* const> arguments, const runtime::launch_shape& shape) override {
    if (is_new_) graph_.add(f, arguments, shape);
    else graph_.change(next, f, arguments, shape);
  }
  void start() override { graph_.start(); }

  std::size_t next = 0;  ///< which launch comes

 private:
  runtime::launch_graph& graph_;
  bool is_new_;
};

bool same_slots(const std::vector<slot>& a, const std::vector<slot>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(slot)) == 0;
}

}  // namespace

/// What a replay works with. Each thread keeps one, so that a replay allocates nothing but its results.
class replay_state {
 public:
  explicit replay_state(const recording& r) : r_(r), own_(own()) {
    own_.memory.clear();
    own_.memory.resize(r.memory.size());
  }
  ~replay_state() {
    own_.memory.clear();
    own_.starter.release_scratch();
    own_.starter.list = nullptr;
  }
  replay_state(const replay_state&) = delete;
  replay_state& operator=(const replay_state&) = delete;

  std::span<const replay_argument> arguments;

  launcher& starter() { return own_.starter; }
  const std::vector<slot>& slots(std::size_t part) const { return own_.numbers[part].slots; }

  void find_memory() {
    using origin = recorded_memory::origin;
    for (std::size_t k = 0; k < r_.memory.size(); ++k) {
      const recorded_memory& m = r_.memory[k];
      if (m.how == origin::constant) own_.memory[k] = m.constant;
      else if (!m.is_used) continue;
      else if (m.how == origin::argument) own_.memory[k] = values_of(m.argument);
      else if (m.how == origin::number) own_.memory[k] = number_in_memory(m.argument);
    }
  }

  void make(std::span<const std::uint32_t> list) {
    for (const std::uint32_t k : list)
      own_.memory[k] = reference<buffer>(make_buffer(*r_.memory[k].where, r_.memory[k].bytes, r_.memory[k].use));
  }
  void drop(std::span<const std::uint32_t> list) {
    for (const std::uint32_t k : list) own_.memory[k] = {};
  }

  /// The numbers of the launch's parts.
  void bind(const recorded_step& step) {
    if (own_.numbers.size() < step.parts.size()) own_.numbers.resize(step.parts.size());
    own_.bound.clear();
    for (std::size_t k = 0; k < step.parts.size(); ++k) {
      bind(*step.where, step.parts[k], own_.numbers[k]);
      own_.bound.push_back({&step.parts[k].code.ir, &own_.numbers[k]});
    }
    own_.starter.bind_scratch(*step.where, own_.bound);
  }

  /// Has the current stream wait for what the bound launch uses.
  void name_memory(const recorded_step& step, runtime::memory_use& use) {
    if (!use.is_noted()) return;
    for (const recorded_part& part : step.parts)
      for (std::size_t k = 0; k < part.pointers.size(); ++k) {
        buffer& b = *own_.memory[part.pointers[k].memory];
        const parameter& p = part.code.ir.parameters[part.code.pointers[k].parameter];
        if (p.kind == parameter_kind::output) use.writes(b);
        else use.reads(b);
      }
  }

  void start(const recorded_step& step) {
    runtime::bump(runtime::count().launches);
    runtime::bump(runtime::count().cache_hits);
    own_.starter.start(*step.where, *step.kernel, own_.bound);
  }

  void call(const recorded_step& step) {
    const recorded_call& c = *step.call;
    const node& like = *c.like;
    auto facts = std::make_unique<attribute>(*like.facts);
    const node_ref n = new_node(like.code, like.type, like.extents, like.site, std::move(facts));
    n->owner = like.owner;
    std::vector<node*> originals;
    for (const recorded_call::operand& o : c.operands) {
      const bool stands = o.from.memory != memory_ref::none;
      add_operand(*n, stands ? operand_of(o, like.site) : o.original);
      originals.push_back(stands ? o.original.get() : nullptr);
    }
    for (const std::uint32_t k : step.drops) own_.memory[k] = {};  // so that the call may take over their memory
    std::vector<reference<buffer>> after = run_again(n.get(), originals, current_options(), like.site);
    for (const recorded_call::output& o : c.outputs)
      if (r_.memory[o.memory].is_used) own_.memory[o.memory] = after.at(o.number);
  }

  /// `bytes` of memory.
  reference<buffer> part(const memory_ref& m, std::size_t bytes) {
    const reference<buffer>& whole = own_.memory[m.memory];
    if (m.offset == 0 && whole->bytes == bytes) return whole;
    return reference<buffer>(make_part(*whole, m.offset, bytes));
  }

 private:
  struct storage {
    std::vector<reference<buffer>> memory;
    std::vector<jit::arguments> numbers;
    std::vector<bound_part> bound;
    std::vector<void*> addresses;
    launcher starter;
  };
  static storage& own() {
    static thread_local storage s;
    return s;
  }

  static std::size_t bytes_of(const recorded_call::operand& o) {
    return static_cast<std::size_t>(o.extents.size() * size_of(o.type));
  }

  node_ref operand_of(const recorded_call::operand& o, const place& at) {
    node_ref n = make_buffer_node(part(o.from, bytes_of(o)), o.type, o.extents, at);
    for (const recorded_call::view& v : o.views) {
      auto facts = v.facts ? std::make_unique<attribute>(*v.facts) : nullptr;
      node_ref viewed = new_node(v.code, v.type, v.extents, at, std::move(facts));
      viewed->owner = n->owner;
      add_operand(*viewed, std::move(n));
      n = std::move(viewed);
    }
    return n;
  }

  reference<buffer> values_of(std::uint32_t argument) const {
    return reference<buffer>::share(arguments[argument].n->values());
  }
  reference<buffer> number_in_memory(std::uint32_t argument) const {
    node* const n = arguments[argument].n.get();
    evaluate({&n, 1}, n->site);
    return values_of(argument);
  }

  void* address(const memory_ref& m) const {
    void* const begin = own_.memory[m.memory]->data;
    return begin ? static_cast<char*>(begin) + m.offset : nullptr;
  }

  void bind(runtime::device& where, const recorded_part& part, jit::arguments& numbers) {
    numbers = part.code.numbers;
    own_.addresses.clear();
    for (const memory_ref& m : part.pointers) own_.addresses.push_back(address(m));
    bind_pointers(part.code, numbers, own_.addresses);
    for (const recorded_number& n : part.numbers)
      write_scalar(numbers.slots[n.parameter], arguments[n.argument].n->number,
                   part.code.ir.parameters[n.parameter].type);
    if (part.faults == 0) return;
    const std::size_t count = numbers.slots.size();  // as in evaluation: they come last
    numbers.slots[count - 2].as_pointer = where.fault_address();
    numbers.slots[count - 1].as_i64 = part.faults;
  }

  const recording& r_;
  storage& own_;
};

recording::~recording() {
  for (const recorded_step& step : steps)
    for (const recorded_part& part : step.parts)
      if (part.faults != 0) forget_launch(part.faults);
}

void recording::replay(std::span<replay_argument> arguments, std::vector<node_ref>& fresh) const {
  replay_state s(*this);
  s.arguments = arguments;
  s.find_memory();
  for (replay_argument& a : arguments)
    if (a.is_donated) a.n = {};
  if (starts_together()) {
    start_together(s);
  } else {
    for (const recorded_step& step : steps) {
      s.make(step.makes);
      if (step.call) {
        s.call(step);
      } else {
        s.bind(step);
        runtime::memory_use use(*step.where);
        s.name_memory(step, use);
        s.start(step);
        use.started();
        s.starter().release_scratch();
      }
      s.drop(step.drops);
    }
  }
  for (const recorded_step& step : steps)
    if (step.where->has_streams()) [[unlikely]]
      runtime::current_stream(*step.where).close_point();
  s.make(made_last);
  for (const recorded_result& r : results) {
    const auto bytes = static_cast<std::size_t>(r.extents.size() * size_of(r.type));
    fresh.push_back(make_buffer_node(s.part(r.from, bytes), r.type, r.extents, r.site));
  }
}

/// Whether a graph starts all launches.
bool recording::starts_together() const {
  if (steps.size() < least_in_graph || steps[0].where->kind() != runtime::device_kind::cuda) return false;
  if (graph_.replays.fetch_add(1, std::memory_order_relaxed) < replays_before_graph) return false;
  return std::ranges::all_of(steps, [&](const recorded_step& x) {
    return !x.call && x.where == steps[0].where && x.parts.back().code.ir.stage == 0;  // graphs' blocks wait for none
  });
}

void recording::start_together(replay_state& s) const {
  const std::lock_guard one_at_a_time(graph_.guard);
  const bool is_new = !graph_.list;
  std::unique_ptr<runtime::launch_list> made;
  if (is_new) made = steps[0].where->make_launch_list();
  auto* graph = dynamic_cast<runtime::launch_graph*>(is_new ? made.get() : graph_.list.get());
  SINTER_CHECK(graph);
  std::size_t workspace = 0, tickets = 0, parts = 0;
  for (const recorded_step& step : steps) {
    std::size_t own_workspace = 0, own_tickets = 0;
    for (const recorded_part& part : step.parts) {
      own_workspace += launcher::workspace_of(part.code.numbers);
      own_tickets += part.code.numbers.ticket_count;
    }
    workspace = std::max(workspace, own_workspace);
    tickets = std::max(tickets, own_tickets);
    parts += step.parts.size();
  }
  if (workspace + tickets > 0) s.starter().hold_scratch(*steps[0].where, workspace, tickets);
  graph_.slots.resize(parts);
  graph_launches launches(*graph, is_new);
  s.starter().list = &launches;
  runtime::memory_use use(*steps[0].where);
  std::size_t first = 0;
  for (const recorded_step& step : steps) {
    s.make(step.makes);
    s.bind(step);
    s.name_memory(step, use);
    bool same = !is_new;
    for (std::size_t k = 0; k < step.parts.size(); ++k) same &= same_slots(graph_.slots[first + k], s.slots(k));
    if (!same) {
      for (std::size_t k = 0; k < step.parts.size(); ++k) graph_.slots[first + k].clear();  // should it fail
      s.start(step);
      for (std::size_t k = 0; k < step.parts.size(); ++k) graph_.slots[first + k] = s.slots(k);
    } else {
      runtime::bump(runtime::count().launches);
    }
    first += step.parts.size();
    ++launches.next;
  }
  launches.start();
  use.started();
  if (is_new) graph_.list = std::move(made);
}

std::string recording::describe() const {
  std::string text;
  std::size_t launches = 0, calls = 0;
  for (const recorded_step& step : steps) {
    if (!text.empty()) text += ", ";
    if (step.call) {
      ++calls;
      text += std::string(info(step.call->like->code).name);
    } else {
      ++launches;
      text += step.kernel->name;
    }
  }
  std::string counts = fmt::format("{} launch{}", launches, launches == 1 ? "" : "es");
  if (calls > 0) counts += fmt::format(", {} call{}", calls, calls == 1 ? "" : "s");
  return text.empty() ? counts : counts + ": " + text;
}

}  // namespace sinter::jit
