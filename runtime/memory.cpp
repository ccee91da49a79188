// Buffers: allocation with its counters, and the last release.
#include "runtime/memory.hpp"

#include "runtime/error.hpp"
#include "runtime/foreign.hpp"

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

buffer* make_part(buffer& whole, std::size_t offset, std::size_t bytes) {
  SINTER_CHECK(offset + bytes <= whole.bytes);
  auto part = std::make_unique<buffer>();
  part->owner = whole.owner;
  part->data = bytes == 0 ? nullptr : static_cast<std::byte*>(whole.data) + offset;
  part->bytes = bytes;
  retain(&whole);
  part->whole = &whole;
  return part.release();
}

void retain(buffer* b) noexcept { b->references.add(); }

void release(buffer* b) noexcept {
  if (b == nullptr || !b->references.drop()) return;
  if (is_foreign(*b)) return release_foreign(b);
  if (b->whole != nullptr) {
    release(b->whole);  // which is no part itself, or of another: as deep as parts were made of parts
  } else if (b->data != nullptr) {
    b->owner->release(b->data, b->bytes);
    memory_count().bytes_in_use.fetch_sub(b->bytes, std::memory_order_relaxed);
  }
  delete b;
}

}  // namespace sinter::runtime
