// The one set of counters.
#include "runtime/counters.hpp"

namespace sinter::runtime {
namespace {

constinit counters all;

}  // namespace

counters& count() { return all; }

statistics snapshot() {
  const auto get = [](const std::atomic<std::uint64_t>& c) { return c.load(std::memory_order_relaxed); };
  statistics s;
  s.recorded = get(all.recorded);
  s.evaluations = get(all.evaluations);
  s.launches = get(all.launches);
  s.compiles = get(all.compiles);
  s.cache_hits = get(all.cache_hits);
  s.bytes_to_device = get(all.bytes_to_device);
  s.bytes_to_host = get(all.bytes_to_host);
  s.synchronizations = get(all.synchronizations);
  s.bytes_in_use = get(all.bytes_in_use);
  s.peak_bytes = get(all.peak_bytes);
  return s;
}

}  // namespace sinter::runtime
