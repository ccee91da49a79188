// The counters behind `statistics`, cheap enough to be always on.
#pragma once

#include "runtime/stats.hpp"

#include <atomic>
#include <cstdint>

namespace sinter::runtime {

struct counters {
  std::atomic<std::uint64_t> recorded{0}, evaluations{0}, launches{0}, compiles{0}, cache_hits{0}, bytes_to_device{0},
      bytes_to_host{0}, synchronizations{0}, bytes_in_use{0}, peak_bytes{0};
};
counters& count();

/// Counts one event; relaxed, so threads never wait for each other.
inline void bump(std::atomic<std::uint64_t>& counter, std::uint64_t by = 1) {
  counter.fetch_add(by, std::memory_order_relaxed);
}
statistics snapshot();

}  // namespace sinter::runtime
