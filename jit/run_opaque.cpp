// Runs what fusion can't look into: loops of whole-array operations, calls of what isn't ours, string kernels that run
// alone.
#include "jit/evaluation.hpp"
#include "jit/lone_call.hpp"
#include "jit/loops.hpp"
#include "jit/opaque.hpp"

#include <mutex>

namespace sinter::jit {

namespace {

/// The body of an op::repeat, planned.
class planned_loop {
 public:
  planned_loop(node* n, device& where) : body_holder_(n->facts->loop), body_(*body_holder_), where_(where) {
    for (std::size_t k = 0; k < body_.states.size(); ++k) {
      placeholders_.push_back(body_.states[k].get());
      next_.push_back(body_.next[k]);
    }
  }
  ~planned_loop() {
    while (!twins_.empty()) forget_last_twin();
  }
  planned_loop(const planned_loop&) = delete;
  planned_loop& operator=(const planned_loop&) = delete;

  bool counts() const { return body_.counter->references.load(std::memory_order_acquire) > 1; }

  /// The iteration's number is one more state.
  void add_counter(const place& at) {
    placeholders_.push_back(body_.counter.get());
    const input in[] = {{body_.counter.get(), {}, at}, {nullptr, scalar(1), at}};
    next_.push_back(record(op::add, in, at));
  }

  void plan(const options& how) {
    // What placeholders hold is told launch by launch.
    for (node* p : placeholders_)
      if (!p->values()) settle(p, reference<buffer>(make_buffer(where_, 0)));
    for (const node_ref& x : next_) roots_.push_back(x.get());
    for (std::size_t k = 0; k < placeholders_.size(); ++k) find_twin(k);
    // Lists of launches: between two, the device needs less time than blocks need to wait for each other.
    computes_ = work_.plan(roots_, how, false);
    while (!std::ranges::all_of(twins_, [&](const twin& t) { return writes_to(t); })) {
      forget_last_twin();
      computes_ = work_.plan(roots_, how, false);
    }
    if (computes_) make_steps();
  }

  std::string describe() {
    if (steps_ == 1) return fmt::format("one iteration after another: {}", one_by_one_);
    const step_window w = work_.window();
    return fmt::format("{} iterations a launch, in windows of {} x {} elements of which {} x {} are stored", steps_,
                       w.rows, w.columns, w.tile_rows(), w.tile_columns());
  }

 protected:
  /// A state that every iteration writes the same part of. It lives in two memories by turns that agree in all else, so
  /// that this part alone is written. While it is planned, the update's base is a node of its own, standing for memory
  /// that nothing reads.
  struct twin {
    std::size_t state;
    node* update;                       ///< the one that the state itself was the base of
    node* base;                         ///< its base now
    reference<buffer> memory, later{};  ///< where the next iteration writes to, and the one after it
  };

  void find_twin(std::size_t k) {
    node* n = next_[k].get();
    if (n->code != op::update || n->values()) return;
    while (n->operands()[0]->code == op::update && n->operands()[0]->references.load(std::memory_order_acquire) == 1)
      n = n->operands()[0];
    node* const state = placeholders_[k];
    if (n->operands()[0] != state) return;
    node_ref base = make_node(op::state, state->type, state->extents, {}, state->site);
    settle(base.get(), reference<buffer>(make_buffer(where_, 0)));
    twins_.push_back({k, n, base.get(), {}});
    release(std::exchange(n->few[0], base.leave()));
  }

  /// Where all that changes are twins, of which every iteration writes the same part.
  void make_steps() {
    std::vector<stepped_state> states;
    for (const twin& t : twins_) states.push_back({placeholders_[t.state], next_[t.state].get()});
    one_by_one_ = "there are few";
    if (body_.count < 2) return;
    one_by_one_ = "not all that changes is part of an array whose rest stays the same";
    if (states.empty()) return;
    for (std::size_t k = 0; k < next_.size(); ++k)
      if (next_[k].get() != placeholders_[k] && std::ranges::find(twins_, k, &twin::state) == twins_.end()) return;
    steps_ = work_.make_steps(states, one_by_one_);
  }

  void forget_last_twin() {
    const twin& t = twins_.back();
    retain(placeholders_[t.state]);
    release(std::exchange(t.update->few[0], placeholders_[t.state]));
    twins_.pop_back();
  }

  /// Whether the plan has the state's next values in memory that the twin's base stands for.
  bool writes_to(const twin& t) const {
    const node* n = next_[t.state].get();
    while (n && n != t.base) n = work_.giver_of(n);
    return n != nullptr;
  }

  const std::shared_ptr<const loop_body> body_holder_;
  const loop_body& body_;
  device& where_;
  evaluation work_;
  std::vector<node*> placeholders_, roots_;
  std::vector<node_ref> next_;
  std::vector<twin> twins_;
  std::int64_t steps_ = 1;  ///< iterations of a launch
  bool computes_ = false;

 private:
  std::string_view one_by_one_ = "nothing is computed";  ///< why, when it is one
};

/// Planned once, then run for any states like those.
class repeated_run final : private planned_loop, public kept_run {
 public:
  /// `n`: an op::repeat whose operands have values. Makes ready its kernels.
  repeated_run(node* n, const options& how, const place& at) : planned_loop(n, device_of_states(n)) {
    if (counts()) add_counter(at);
    plan(how);
    options at_once = how;  // what runs often is worth waiting for
    at_once.compiling = compile_mode::sync;
    if (computes_) work_.prepare(at_once);
  }

  /// Runs it for the operands of `n`, whose body is this one. `originals`: by operand, what the body has in its place
  /// when that is another node; or empty. body_.after then holds the states.
  void run(node* n, std::span<node* const> originals) {
    begin(n, originals);
    for (twin& t : twins_) {
      t.memory = copy_of(*now_[t.state]);
      if (!is_ours(t.state)) t.later = copy_of(*now_[t.state]);
    }
    runtime::bump(runtime::count().launches);
    // Launches that run several iterations begin with one that runs those left over.
    std::int64_t launches = body_.count / steps_;
    if (const std::int64_t left = body_.count % steps_) {
      work_.set_steps(left);
      step(nullptr);
      work_.set_steps(steps_);
    }
    std::int64_t done = 0;
    for (; done < std::min<std::int64_t>(launches, first_ones); ++done) step(nullptr);
    if (launches - done >= (steps_ > 1 ? least_of_steps_in_lists : least_in_lists)) done += run_lists(launches - done);
    for (; done < launches; ++done) step(nullptr);
    if (where_.has_streams()) current_stream(where_).close_point();
    now_.resize(body_.states.size());
    body_.after = std::move(now_);
    forget_memory();
  }

 private:
  // The first iterations find the memory that all others use. Lists take the host as long to make as the device takes
  // to run them: 1000 steps of a 512 x 512 heat plate are 2.7 ms with lists of 32 launches, 3.1 with 128, 3.4 with 256.
  static constexpr std::int64_t first_ones = 4, least_in_lists = 32, most_in_list = 32;
  // Launches of several iterations take about as long as asking for them: 84 of 12 iterations of such a plate are 450
  // us one by one, 380 in a list, which takes 250 to make.
  static constexpr std::int64_t least_of_steps_in_lists = 256;

  /// Whether nobody but this loop can still ask for what a state was at first: not even after a failure, since the
  /// launch that overwrites it is the last thing that can fail.
  bool is_ours(std::size_t state) const {
    const node* first = loop_->operands()[state];
    return work_.launch_count() == 1 && first->references.load(std::memory_order_acquire) == 1 &&
           now_[state]->references.load(std::memory_order_acquire) == 2;
  }

  reference<buffer> copy_of(buffer& from) {
    reference<buffer> to(make_buffer(where_, from.bytes, from.use));
    runtime::copy_on_device(*to, from, from.bytes);
    return to;
  }

  static device& device_of_states(node* n) { return *n->operands()[0]->values()->owner; }

  void begin(node* n, std::span<node* const> originals) {
    loop_ = n;
    around_.clear();
    now_.clear();
    for (std::size_t k = body_.states.size(); k < originals.size(); ++k)
      if (originals[k]) around_.push_back({originals[k], n->operands()[k]->values()});
    for (std::size_t k = 0; k < body_.states.size(); ++k)
      now_.push_back(reference<buffer>::share(n->operands()[k]->values()));
    if (placeholders_.size() == now_.size()) return;
    const std::int64_t zero = 0;  // the iteration's number is one more state
    reference<buffer> memory(make_buffer(where_, sizeof zero));
    runtime::copy_from_host(*memory, &zero, sizeof zero);
    now_.push_back(std::move(memory));
  }

  /// Nothing of a run outlives it but its states.
  void forget_memory() {
    loop_ = nullptr;
    now_.clear();
    around_.clear();
    for (twin& t : twins_) t.memory = t.later = {};
    spare_ = {};
    work_.forget_memory();
  }

  void step(runtime::launch_list* list, runtime::memory_use* list_use = nullptr) {
    std::vector<std::pair<const node*, buffer*>> stand_ins = around_;
    for (std::size_t k = 0; k < now_.size(); ++k) stand_ins.push_back({placeholders_[k], now_[k].get()});
    for (const twin& t : twins_) stand_ins.push_back({t.base, t.memory.get()});
    if (computes_) work_.launch_again(std::move(stand_ins), spare_, list, list_use);
    std::vector<reference<buffer>> after;
    for (const node_ref& n : next_) {
      const auto same = std::ranges::find(placeholders_, n.get());
      const auto given = std::ranges::find(around_, n.get(), &std::pair<const node*, buffer*>::first);
      if (same != placeholders_.end()) after.push_back(now_[static_cast<std::size_t>(same - placeholders_.begin())]);
      else if (given != around_.end()) after.push_back(reference<buffer>::share(given->second));
      else if (runtime::buffer* known = n->values()) after.push_back(reference<buffer>::share(known));
      else after.push_back(work_.memory_of(n.get()));
    }
    for (twin& t : twins_) t.memory = t.later ? std::move(t.later) : now_[t.state];
    now_ = std::move(after);
  }

  /// Launches in lists that the device starts as a whole: each list ends with the states in the memory that it began
  /// with, so that it can be started again. How many were made.
  std::int64_t run_lists(std::int64_t most) {
    if (!computes_) return 0;
    const std::unique_ptr<runtime::launch_list> list = where_.make_launch_list();
    if (!list) return 0;
    runtime::memory_use used(where_);
    const auto start = [&] {
      list->start();
      used.started();
    };
    std::vector<buffer*> begin;
    for (const reference<buffer>& b : now_) begin.push_back(b.get());
    const std::int64_t lists = (most + most_in_list - 1) / most_in_list, wanted = most / lists;
    std::int64_t length = 0, whole = 0, period = 0;
    while (length < std::min(most_in_list, most)) {
      step(list.get(), &used);
      ++length;
      if (!same_memory(begin)) continue;
      whole = length;
      if (period == 0) period = length;
      if (length + period > wanted) break;
    }
    if (length != whole) {  // what comes after the last return to the beginning: once
      start();
      return length;
    }
    const std::int64_t times = most / whole;
    for (std::int64_t k = 0; k < times; ++k) start();
    return times * whole;
  }

  bool same_memory(const std::vector<buffer*>& other) const {
    return std::ranges::equal(now_, other, [](const auto& a, const buffer* b) { return a.get() == b; });
  }

  const node* loop_ = nullptr;  ///< while it runs
  spare_memory spare_;
  std::vector<std::pair<const node*, buffer*>> around_;  ///< what originals stand for
  std::vector<reference<buffer>> now_;                   ///< by state
};

}  // namespace

namespace {

/// Held while what opaque operations have left is looked at, and while kernels run alone: two threads may need the
/// same. Nothing is evaluated by whoever holds it.
std::unique_lock<std::recursive_mutex> hold_opaque() {
  static auto* const mutex = new std::recursive_mutex;
  return std::unique_lock(*mutex);
}

/// Whether a loop or a kernel that runs alone has left its results.
bool has_run(const node* n) {
  const auto held = hold_opaque();
  return !n->facts->loop->after.empty();
}

void settle_result(node* n) {
  const auto held = hold_opaque();
  if (n->values()) return;
  const std::size_t which = output_of(n);
  const attribute& done = *n->operands()[0]->facts;
  settle(n, done.launch ? std::move(done.launch->after.at(which)) : done.loop->after[which]);
}

}  // namespace

void run_opaque(std::span<node* const> roots, const options& how, const place& at) {
  for (opaque_step& held : opaque_below(roots)) {
    const opaque_step step = std::move(held);  // let go of in its turn: later ones may take over its memory
    const node_ref& n = step.n;
    if (n->values()) continue;
    if (step.instead) {
      evaluate(std::vector<node*>{step.instead.get()}, at);
      settle(n.get(), reference<buffer>::share(step.instead->values()));
    } else if (n->code == op::launch) {
      evaluate(n->facts->launch->needs(*n), at);
      run_launch(n.get());
    } else if (!is_opaque(n->code)) {
      settle_result(n.get());
    } else if (has_run(n.get())) {
      continue;
    } else if (n->code == op::lone_call) {
      evaluate(operands_in_memory(*n), at);
      const auto alone = hold_opaque();  // once only: it may write to the memory of its operands
      if (!has_run(n.get())) run_lone_call(n.get(), how);
    } else {
      evaluate(n->operands(), at);
      repeated_run(n.get(), how, at).run(n.get(), {});
    }
  }
}

std::string describe_repeat(node* n, const options& how) {
  const auto alone = hold_opaque();  // the body is changed while it is planned
  device* const own = n->operands()[0]->owner;
  planned_loop loop(n, own ? *own : runtime::default_device());
  if (loop.counts()) loop.add_counter(n->site);
  loop.plan(how);
  return fmt::format("loop of {} iterations over whole arrays at {}:{}, opaque to fusion: {}\n", n->facts->loop->count,
                     n->site.file, n->site.line, loop.describe());
}

std::vector<reference<buffer>> run_again(node* n, std::span<node* const> originals, std::unique_ptr<kept_run>& kept,
                                         const options& how, const place& at) {
  if (n->code == op::launch) return n->facts->launch->run(*n);
  const auto alone = hold_opaque();  // results are handed over by what all replays share
  n->facts->loop->after.clear();
  if (n->code == op::lone_call) {
    run_lone_call(n, how);
  } else {
    std::unique_ptr<kept_run> own = std::move(kept);  // a run that fails leaves nothing to go on with
    if (!own) own = std::make_unique<repeated_run>(n, how, at);
    static_cast<repeated_run&>(*own).run(n, originals);
    kept = std::move(own);
  }
  return std::exchange(n->facts->loop->after, {});
}

}  // namespace sinter::jit
