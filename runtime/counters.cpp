#include "runtime/counters.hpp"

#include "runtime/log.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <vector>

#include <fmt/format.h>

namespace sinter::runtime {

namespace {

constinit memory_counters memory;

struct all_threads {
  std::mutex mutex;
  std::vector<counters*> running;
  statistics ended;
};

all_threads& threads() {
  static auto* const t = new all_threads;  // never destroyed: threads may end after this file's statics
  return *t;
}

void add(statistics& s, const counters& c) {
  const auto get = [](const std::atomic<std::uint64_t>& x) { return x.load(std::memory_order_relaxed); };
  s.recorded += get(c.recorded);
  s.statements += get(c.statements);
  s.folded += get(c.folded);
  s.evaluations += get(c.evaluations);
  s.launches += get(c.launches);
  s.compiles += get(c.compiles);
  s.cache_hits += get(c.cache_hits);
  s.copies_to_device += get(c.copies_to_device);
  s.substitutes += get(c.substitutes);
  s.replays += get(c.replays);
  s.bytes_to_device += get(c.bytes_to_device);
  s.copies_to_host += get(c.copies_to_host);
  s.bytes_to_host += get(c.bytes_to_host);
  s.synchronizations += get(c.synchronizations);
  s.flushes += get(c.flushes);
  s.disk_hits += get(c.disk_hits);
  s.bundle_hits += get(c.bundle_hits);
  s.misses_absent += get(c.misses_absent);
  s.misses_damaged += get(c.misses_damaged);
  s.misses_foreign += get(c.misses_foreign);
  s.misses_refused += get(c.misses_refused);
  s.misses_unloadable += get(c.misses_unloadable);
  s.compile_microseconds += get(c.compile_microseconds);
  s.load_microseconds += get(c.load_microseconds);
  s.cache_bytes_read += get(c.cache_bytes_read);
  s.cache_bytes_written += get(c.cache_bytes_written);
}

/// Hands a thread's counts over when it ends. What its later destructors count starts a set that is never handed over,
/// but stays in `running`.
struct ending {
  counters* mine = nullptr;
  ~ending() {
    if (!mine) return;
    all_threads& t = threads();
    const std::lock_guard lock(t.mutex);
    add(t.ended, *mine);
    std::erase(t.running, mine);
    this_threads_counters = nullptr;
    delete mine;
    mine = nullptr;
  }
};
thread_local ending at_end;

/// What SINTER_STATS asks for, one line.
void print_statistics() {
  const statistics s = snapshot();
  log(level::silent,
      fmt::format("{} evaluations, {} launches, {} replays, {} compiles ({:.1f} ms), {} substitutes, {} found in "
                  "memory, {} on disk, {} in bundles ({:.2f} ms), missing: {} absent, {} damaged, {} foreign, {} "
                  "refused, {} unloadable, {} bytes read, {} written",
                  s.evaluations, s.launches, s.replays, s.compiles, static_cast<double>(s.compile_microseconds) / 1000,
                  s.substitutes, s.cache_hits, s.disk_hits, s.bundle_hits,
                  static_cast<double>(s.load_microseconds) / 1000, s.misses_absent, s.misses_damaged, s.misses_foreign,
                  s.misses_refused, s.misses_unloadable, s.cache_bytes_read, s.cache_bytes_written));
}

}  // namespace

thread_local counters* this_threads_counters = nullptr;

counters& make_counters() {
  // Said at the first event there is to count: handlers that count more come later, and so run before.
  [[maybe_unused]] static const int once = environment().prints_statistics ? std::atexit(print_statistics) : 0;
  auto* const c = new counters;
  {
    all_threads& t = threads();
    const std::lock_guard lock(t.mutex);
    t.running.push_back(c);
  }
  at_end.mine = c;
  this_threads_counters = c;
  return *c;
}

memory_counters& memory_count() { return memory; }

statistics snapshot() {
  all_threads& t = threads();
  const std::lock_guard lock(t.mutex);
  statistics s = t.ended;
  for (const counters* c : t.running) add(s, *c);
  s.bytes_in_use = memory.bytes_in_use.load(std::memory_order_relaxed);
  s.peak_bytes = memory.peak_bytes.load(std::memory_order_relaxed);
  return s;
}

}  // namespace sinter::runtime
