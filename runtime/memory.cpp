// Buffers: allocation with its counters, and the last release.
#include "runtime/memory.hpp"

#include <memory>

namespace sinter::runtime {
namespace {

void count_allocation(std::size_t bytes) {
  memory_counters& c = memory_count();
  const std::uint64_t now = c.bytes_in_use.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::uint64_t peak = c.peak_bytes.load(std::memory_order_relaxed);
  while (peak < now && !c.peak_bytes.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {}
}

}  // namespace

buffer* make_buffer(device& owner, std::size_t bytes) {
  std::unique_ptr<buffer> b(new buffer{&owner, nullptr, bytes});
  if (bytes != 0) {
    b->data = owner.allocate(bytes);
    count_allocation(bytes);
  }
  return b.release();
}

void retain(buffer* b) noexcept { b->references.fetch_add(1, std::memory_order_relaxed); }

void release(buffer* b) noexcept {
  if (b == nullptr || b->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (b->data != nullptr) {
    b->owner->release(b->data, b->bytes);
    memory_count().bytes_in_use.fetch_sub(b->bytes, std::memory_order_relaxed);
  }
  delete b;
}

}  // namespace sinter::runtime
