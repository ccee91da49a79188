// The counters behind `statistics`, cheap enough to be always on: each thread counts for itself, memory is counted
// globally.
#pragma once

#include "runtime/stats.hpp"

#include <atomic>
#include <cstdint>

namespace sinter::runtime {

/// Events of one thread, which alone writes them.
struct counters {
  std::atomic<std::uint64_t> recorded{0}, statements{0}, folded{0}, evaluations{0}, launches{0}, compiles{0},
      cache_hits{0}, bytes_to_device{0}, bytes_to_host{0}, synchronizations{0}, flushes{0};
  std::atomic<std::uint64_t> disk_hits{0}, bundle_hits{0}, misses_absent{0}, misses_damaged{0}, misses_foreign{0},
      misses_refused{0}, misses_unloadable{0}, compile_microseconds{0}, load_microseconds{0}, cache_bytes_read{0},
      cache_bytes_written{0}, substitutes{0}, replays{0};
  std::atomic<std::uint64_t> copies_to_device{0}, copies_to_host{0};
};

extern constinit thread_local counters* this_threads_counters;
counters& make_counters();
/// The calling thread's.
inline counters& count() { return this_threads_counters ? *this_threads_counters : make_counters(); }

/// Counts one event; no locked instruction, since no other thread writes.
inline void bump(std::atomic<std::uint64_t>& counter, std::uint64_t by = 1) {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

/// Counts a copy from host memory into an array, and one the other way.
inline void count_copy_in(std::uint64_t bytes) {
  counters& c = count();
  bump(c.copies_to_device);
  bump(c.bytes_to_device, bytes);
}
inline void count_copy_out(std::uint64_t bytes) {
  counters& c = count();
  bump(c.copies_to_host);
  bump(c.bytes_to_host, bytes);
}

/// Device memory held by arrays, of all threads.
struct memory_counters {
  std::atomic<std::uint64_t> bytes_in_use{0}, peak_bytes{0};
};
memory_counters& memory_count();

/// The sum over all threads, those that ended included.
statistics snapshot();

}  // namespace sinter::runtime
