#include "jit/raw/block_runner.hpp"

#include "jit/raw/block_state.hpp"
#include "runtime/error.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <exception>

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

namespace sinter::jit {

using namespace emulation;

void emulated_launch::report(std::uint64_t block_number, std::string what) {
  const std::lock_guard lock(guard);
  if (!fault.empty() && faulty_block <= block_number) return;
  fault = std::move(what);
  faulty_block = block_number;
  stopped.store(true, std::memory_order_relaxed);
}

namespace {

constexpr std::size_t most_threads = 1024, margin = 256;
constexpr std::size_t most_dynamic_bytes = std::size_t{227} << 10;
constexpr int canary = 0xA5, garbage = 0xFF;

/// Runs blocks on one thread of the processor.
class worker {
 public:
  worker() : usual_fibers_(most_threads, &fiber_body) {
    arena_.reset(static_cast<std::byte*>(std::aligned_alloc(1024, 1024 + most_dynamic_bytes + 1024)));
    if (!arena_) throw out_of_memory("cpu: no room for the shared memory of a raw kernel");
  }
  ~worker() = default;
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  /// The thread's, made at first use.
  static worker& of_this_thread() {
    static thread_local std::unique_ptr<worker> w;
    if (!w) w = std::make_unique<worker>();
    return *(current_ = w.get());
  }
  /// The same, for those it has called.
  static worker& mine() { return *current_; }

  void run(emulated_launch& launch);

  // What emulated code calls, on a fiber.
  int barrier(barrier_kind kind, int predicate, const spot& at);
  word exchange(const char* name, unsigned mask, word value, word extra, combine_function combine, const spot& at);
  unsigned active_mask(const spot& at);
  void grid_barrier(const spot& at);
  void yield();
  void fault(const char* what, const spot& at);

 private:
  enum class outcome { exited, waits_for_grid, faulty };

  static void fiber_body(void* fiber_pointer);
  void set_up(emulated_launch& launch);
  void run_separate();
  void run_together();
  void start_block(block_state& b, std::uint64_t number);
  outcome drive(block_state& b);
  void finish_thread_loop(fiber* f);
  fiber* pick();
  void suspend(fiber* f, waiting state, const char* what, const spot& at);
  void switch_from(context& from);
  unsigned rank() const { return rank_of(*variables_.thread); }
  unsigned rank_of(uint3 thread) const;
  void keep_shared(block_state& b);
  void bring_shared(const block_state& b);
  void fill_margins();
  bool check_margins();
  void fail(std::string what);
  std::string describe_waiting() const;

  struct free_memory {
    void operator()(std::byte* p) const { std::free(p); }
  };

  static constinit inline thread_local worker* current_ = nullptr;

  fiber_pool usual_fibers_;
  fiber_pool* fibers_ = &usual_fibers_;
  sanitized_stack host_stack_;
  context host_{nullptr, &host_stack_};
  fiber* running_ = nullptr;
  block_state usual_block_;
  block_state* block_ = nullptr;
  emulated_launch* launch_ = nullptr;
  thread_variables variables_{};
  memory_region static_shared_;
  std::unique_ptr<std::byte, free_memory> arena_;
  std::string fault_;
};

std::string written(uint3 v) { return fmt::format("({}, {}, {})", v.x, v.y, v.z); }

// ---- Between fibers ----

void worker::fiber_body(void* fiber_pointer) {
  worker& w = mine();
  auto* const f = static_cast<fiber*>(fiber_pointer);
  for (;;) {
    w.launch_->kernel->run(w.block_->loop, w.launch_->arguments);
    w.finish_thread_loop(f);
  }
}

/// Who goes on: those that can, then threads that have not begun. Null: nobody can.
fiber* worker::pick() {
  do {
    if (fiber* const f = block_->pop_ready()) {
      *variables_.thread = f->thread;
      return f;
    }
    if (block_->loop.next < block_->loop.count) return fibers_->take();
  } while (block_->advance());
  return nullptr;
}

void worker::switch_from(context& from) {
  running_ = pick();
  context& to = running_ == nullptr ? host_ : running_->registers;
  if (&to != &from) switch_context(from, to);
}

void worker::finish_thread_loop(fiber* f) {
  if (!fibers_->stack_is_whole(*f))
    fail("the stack of a thread overflowed (640 KiB): too large local arrays, or recursion");
  fibers_->give_back(f);
  // A fiber that is taken again at once goes on with the loop without a switch.
  switch_from(f->registers);
}

unsigned worker::rank_of(uint3 t) const {
  const raw_extents& b = launch_->block;
  return t.x + b.x * (t.y + b.y * t.z);
}

void worker::suspend(fiber* f, waiting state, const char* what, const spot& at) {
  f->thread = *variables_.thread;
  f->state = state;
  f->block = block_;
  f->what = what;
  f->at = &at;
  switch_from(f->registers);
}

// ---- What emulated code calls ----

constexpr const char* barrier_names[] = {"__syncthreads", "__syncthreads_count", "__syncthreads_and",
                                         "__syncthreads_or"};

int worker::barrier(barrier_kind kind, int predicate, const spot& at) {
  block_state& b = *block_;
  fiber* const f = running_;
  b.track(rank());
  if (b.at_barrier.empty()) {
    b.kind = kind;
    b.barrier_at = at;
    b.votes = 0;
  } else if (b.kind != kind || b.barrier_at.line != at.line || b.barrier_at.site != at.site) {
    const bool alike = b.kind == kind && b.barrier_at.line == at.line;
    fail(fmt::format("threads of one block wait at different barriers\n  thread {} at {} of line {}, {} others at {}{} "
                     "of line {}",
                     written(*variables_.thread), barrier_names[static_cast<int>(kind)], at.line, b.at_barrier.size(),
                     alike ? "another " : "", barrier_names[static_cast<int>(b.kind)], b.barrier_at.line));
  }
  b.votes += predicate;
  b.at_barrier.push_back(f);
  if (b.at_barrier.size() == b.alive()) b.release_barrier(f);
  else suspend(f, waiting::at_barrier, barrier_names[static_cast<int>(kind)], at);
  return static_cast<int>(f->result);
}

word worker::exchange(const char* name, unsigned mask, word value, word extra, combine_function combine,
                      const spot& at) {
  block_state& b = *block_;
  fiber* const f = running_;
  const unsigned me = rank(), number = me / 32, lane = me % 32;
  b.track(me);
  if ((mask >> lane & 1) == 0)
    fail(fmt::format("{} is called by lane {}, which its mask 0x{:08x} does not name\n  at {}:{}, thread {}", name,
                     lane, mask, at.file, at.line, written(*variables_.thread)));
  block_state::warp& w = b.warps[number];
  w.lanes[lane] = {f, mask, value, extra, combine};
  w.arrived |= 1u << lane;
  if (!b.complete_exchange(w, number, static_cast<int>(lane), f)) suspend(f, waiting::for_lanes, name, at);
  return f->result;
}

unsigned worker::active_mask(const spot& at) {
  block_state& b = *block_;
  fiber* const f = running_;
  const unsigned me = rank(), number = me / 32, lane = me % 32;
  b.track(me);
  block_state::warp& w = b.warps[number];
  w.lanes[lane].who = f;
  w.asking |= 1u << lane;
  if ((w.asking | b.loop.exited_bits[number]) == ~0u) b.complete_active_mask(w, f);
  else suspend(f, waiting::at_active_mask, "__activemask", at);
  return static_cast<unsigned>(f->result);
}

void worker::grid_barrier(const spot& at) {
  if (!launch_->cooperative)
    fail(fmt::format("the grid can be synchronized in a cooperative launch only\n  at {}:{}", at.file, at.line));
  block_->track(rank());
  block_->for_grid.push_back(running_);
  suspend(running_, waiting::for_grid, "grid sync", at);
}

void worker::yield() {
  block_state& b = *block_;
  if (b.first_ready == nullptr && b.loop.next == b.loop.count) return;
  b.track(rank());
  fiber* const f = running_;
  b.make_ready(f);
  static constexpr spot nowhere{"", 0};
  suspend(f, waiting::no, "", nowhere);
}

void worker::fault(const char* what, const spot& at) {
  fail(fmt::format("{}\n  at {}:{}, thread {}", what, at.file, at.line, written(*variables_.thread)));
}

/// Ends the block: back to the thread's own stack, which never comes back here.
void worker::fail(std::string what) {
  fault_ = std::move(what);
  sanitized_stack unused;
  context abandoned{nullptr, &unused};
  switch_context(abandoned, host_);
  std::abort();
}

// ---- On the thread's own stack ----

void worker::start_block(block_state& b, std::uint64_t number) {
  const raw_extents& g = launch_->grid;
  const auto x = static_cast<unsigned>(number % g.x), rest = static_cast<unsigned>(number / g.x);
  b.start(launch_->block, {x, rest % g.y, rest / g.y}, number);
  if (launch_->checked) {
    if (static_shared_.bytes != 0) std::memset(static_shared_.begin, garbage, static_shared_.bytes);
    std::memset(arena_.get() + 1024, garbage, launch_->dynamic_bytes);
  }
}

std::string worker::describe_waiting() const {
  struct group {
    const fiber* one;
    std::vector<unsigned> ranks;
  };
  std::vector<group> groups;
  for (const auto& f : fibers_->all()) {
    if (f->state == waiting::no || f->block != block_) continue;
    auto g = std::ranges::find_if(groups, [&](const group& old) {
      return old.one->at->line == f->at->line && std::strcmp(old.one->what, f->what) == 0;
    });
    if (g == groups.end()) g = groups.insert(g, {f.get(), {}});
    g->ranks.push_back(rank_of(f->thread));
  }
  std::string text;
  for (group& g : groups) {
    std::ranges::sort(g.ranks);
    std::string list;
    for (std::size_t k = 0; k < g.ranks.size() && list.size() < 60;) {
      std::size_t end = k + 1;
      while (end < g.ranks.size() && g.ranks[end] == g.ranks[end - 1] + 1) ++end;
      list += fmt::format("{}{}", list.empty() ? "" : ", ", g.ranks[k]);
      if (end - k > 1) list += fmt::format("-{}", g.ranks[end - 1]);
      k = end;
      if (k < g.ranks.size() && list.size() >= 60) list += ", ...";
    }
    text += fmt::format("\n  {} threads wait at {}, {}:{} (threads {})", g.ranks.size(), g.one->what, g.one->at->file,
                        g.one->at->line, list);
  }
  if (block_->loop.exited != 0) text += fmt::format("\n  {} threads have exited", block_->loop.exited);
  return text;
}

/// Runs the block's threads until they have exited, all wait for the grid, or one is at fault.
worker::outcome worker::drive(block_state& b) {
  block_ = &b;
  *variables_.block = b.index;
  *variables_.threads = dim3(launch_->block.x, launch_->block.y, launch_->block.z);
  *variables_.blocks = dim3(launch_->grid.x, launch_->grid.y, launch_->grid.z);
  *variables_.dynamic_shared = reinterpret_cast<char*>(arena_.get() + 1024);
  *variables_.dynamic_bytes = launch_->dynamic_bytes;
  fault_.clear();
  switch_from(host_);
  if (fault_.empty() && b.loop.tracked && b.loop.exited != b.loop.count) {
    if (b.for_grid.size() == b.alive()) return outcome::waits_for_grid;
    fault_ = "threads wait for others that never come" + describe_waiting();
  }
  if (fault_.empty() && !check_margins())
    fault_ = fmt::format("something was written outside dynamic shared memory, of which {} bytes were asked for at "
                         "launch",
                         launch_->dynamic_bytes);
  if (fault_.empty()) return outcome::exited;
  launch_->report(b.number, fmt::format("block {}: {}", written(b.index), fault_));
  fibers_->abandon_all();
  fill_margins();
  return outcome::faulty;
}

void worker::fill_margins() {
  std::memset(arena_.get() + 1024 - margin, canary, margin);
  std::memset(arena_.get() + 1024 + launch_->dynamic_bytes, canary, margin);
}

bool worker::check_margins() {
  static const auto expected = [] {
    std::array<std::byte, margin> bytes{};
    bytes.fill(static_cast<std::byte>(canary));
    return bytes;
  }();
  const auto whole = [](const std::byte* from) { return std::memcmp(from, expected.data(), margin) == 0; };
  return whole(arena_.get() + 1024 - margin) && whole(arena_.get() + 1024 + launch_->dynamic_bytes);
}

void worker::set_up(emulated_launch& launch) {
  launch_ = &launch;
  variables_ = launch.module->variables();
  if (launch.checked || launch.cooperative)
    static_shared_ = thread_local_region(reinterpret_cast<const void*>(launch.module->variables));
  fill_margins();
}

void worker::run_separate() {
  const std::uint64_t blocks = launch_->grid.count();
  while (!launch_->stopped.load(std::memory_order_relaxed)) {
    const std::uint64_t number = launch_->next_block.fetch_add(1, std::memory_order_relaxed);
    if (number >= blocks) return;
    start_block(usual_block_, number);
    if (drive(usual_block_) == outcome::faulty) return;
  }
}

void worker::keep_shared(block_state& b) {
  b.kept.resize(static_shared_.bytes + launch_->dynamic_bytes);
  std::memcpy(b.kept.data(), static_shared_.begin, static_shared_.bytes);
  std::memcpy(b.kept.data() + static_shared_.bytes, arena_.get() + 1024, launch_->dynamic_bytes);
}

void worker::bring_shared(const block_state& b) {
  std::memcpy(static_shared_.begin, b.kept.data(), static_shared_.bytes);
  std::memcpy(arena_.get() + 1024, b.kept.data() + static_shared_.bytes, launch_->dynamic_bytes);
}

/// All blocks on this thread, each until it waits for the grid; then again, until they have exited.
void worker::run_together() {
  const std::uint64_t blocks = launch_->grid.count();
  fiber_pool many(blocks * launch_->block.count(), &fiber_body);
  fibers_ = &many;
  std::vector<std::unique_ptr<block_state>> waiting_blocks;
  for (std::uint64_t k = 0; k < blocks; ++k) {
    waiting_blocks.push_back(std::make_unique<block_state>());
    start_block(*waiting_blocks.back(), k);
    const outcome o = drive(*waiting_blocks.back());
    if (o == outcome::faulty) break;
    if (o == outcome::exited) waiting_blocks.pop_back();
    else keep_shared(*waiting_blocks.back());
  }
  std::uint64_t expected = blocks;
  while (!waiting_blocks.empty() && !launch_->stopped) {
    if (waiting_blocks.size() != expected) {
      const block_state& b = *waiting_blocks.front();
      const fiber& f = *b.for_grid.front();
      launch_->report(b.number, fmt::format("{} of {} blocks wait for the grid at {}:{}; the others have exited",
                                            waiting_blocks.size(), blocks, f.at->file, f.at->line));
      break;
    }
    std::vector<std::unique_ptr<block_state>> still;
    for (auto& b : waiting_blocks) {
      bring_shared(*b);
      for (fiber* f : b->for_grid) b->make_ready(f);
      b->for_grid.clear();
      const outcome o = drive(*b);
      if (o == outcome::faulty) break;
      if (o == outcome::exited) continue;
      keep_shared(*b);
      still.push_back(std::move(b));
    }
    if (still.empty()) break;
    waiting_blocks = std::move(still);
  }
  fibers_ = &usual_fibers_;
}

void worker::run(emulated_launch& launch) {
  set_up(launch);
  if (launch.cooperative) run_together();
  else run_separate();
  launch_ = nullptr;
  block_ = nullptr;
}

}  // namespace

void run_blocks(emulated_launch& launch) {
  try {
    worker::of_this_thread().run(launch);
  } catch (const std::exception& e) {
    launch.report(0, e.what());
  }
}

const services& emulation_services() {
  static constexpr services table = {
      [](barrier_kind kind, int predicate, const spot& at) { return worker::mine().barrier(kind, predicate, at); },
      [](const char* name, unsigned mask, word value, word extra, combine_function combine, const spot& at) {
        return worker::mine().exchange(name, mask, value, extra, combine, at);
      },
      [](const spot& at) { return worker::mine().active_mask(at); },
      [](const spot& at) { worker::mine().grid_barrier(at); },
      [] { worker::mine().yield(); },
      [](const char* what, const spot& at) { worker::mine().fault(what, at); }};
  return table;
}

memory_region thread_local_region(const void* address) {
  struct search {
    Dl_info library{};
    memory_region found;
  } s;
  if (dladdr(address, &s.library) == 0) return {};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& wanted = *static_cast<search*>(data);
        const auto base = reinterpret_cast<ElfW(Addr)>(wanted.library.dli_fbase);
        for (int k = 0; k < info->dlpi_phnum; ++k) {
          const auto& segment = info->dlpi_phdr[k];
          if (info->dlpi_addr != base || segment.p_type != PT_TLS) continue;
          wanted.found = {static_cast<std::byte*>(info->dlpi_tls_data), segment.p_memsz};
          return 1;
        }
        return 0;
      },
      &s);
  return s.found;
}

}  // namespace sinter::jit
