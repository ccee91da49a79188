#include "dsl/memory.hpp"

#include "runtime/backend.hpp"
#include "runtime/memory.hpp"

#include <atomic>
#include <cstddef>

namespace sinter {

memory_statistics memory_info(const device& d) {
  runtime::device& where = d.impl();
  const runtime::memory_state now = where.memory();
  memory_statistics s;
  s.in_use = where.account.in_use.load(std::memory_order_relaxed);
  s.peak = where.account.peak.load(std::memory_order_relaxed);
  s.cached = now.cached;
  s.limit = where.account.limit.load(std::memory_order_relaxed);
  s.free = now.free;
  s.total = now.total;
  return s;
}

void set_memory_limit(std::uint64_t bytes, const device& d) {
  runtime::set_memory_limit(d.impl(), static_cast<std::size_t>(bytes));
}

void trim_memory(const device& d) {
  d.impl().synchronize();
  d.impl().trim(0);
  d.impl().trim_host();
}

void reset_peak_memory(const device& d) {
  runtime::memory_account& a = d.impl().account;
  a.peak.store(a.in_use.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

}  // namespace sinter
