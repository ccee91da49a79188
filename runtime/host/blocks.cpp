#include "runtime/host/blocks.hpp"

#include "runtime/host/machine.hpp"

#include <bit>
#include <cstdlib>

#include <sys/mman.h>

namespace sinter::runtime {
namespace {

constexpr std::size_t alignment = 256, small = 4096, large = std::size_t{4} << 20, huge_page = std::size_t{2} << 20;

/// Fresh memory of a large block: whole huge pages, unless the system has none to spare.
void* map_large(std::size_t size) {
  void* mapped = mmap(nullptr, size + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* start = static_cast<std::byte*>(mapped);
  const std::size_t before = (huge_page - reinterpret_cast<std::uintptr_t>(start) % huge_page) % huge_page;
  if (before != 0) munmap(start, before);
  munmap(start + before + size, huge_page - before);
  madvise(start + before, size, MADV_HUGEPAGE);
  return start + before;
}

void* map_block(std::size_t size) { return size >= large ? map_large(size) : std::aligned_alloc(alignment, size); }

void unmap_block(void* memory, std::size_t size) {
  if (size >= large) munmap(memory, size);
  else std::free(memory);
}

}  // namespace

std::size_t block_size(std::size_t bytes) {
  if (bytes <= alignment) return alignment;
  if (bytes <= small) return std::bit_ceil(bytes);
  const std::size_t step = std::bit_floor(bytes) / 4;
  return (bytes + step - 1) / step * step;
}

block_pool::block_pool() : limit_(memory_limit() / 4) {}

int block_pool::bucket_of(std::size_t size) {
  const int doubling = static_cast<int>(std::bit_width(size)) - 1;
  return (doubling - 8) * 4 + static_cast<int>(size >> (doubling - 2) & 3);
}

void* block_pool::allocate(std::size_t bytes) {
  const std::size_t size = block_size(bytes);
  {
    const std::lock_guard lock(guard_);
    if (free_block* b = newest_of_size_[bucket_of(size)]; b != nullptr) {
      unlink(b);
      return b;
    }
  }
  void* memory = map_block(size);
  if (memory == nullptr) {
    trim(0);
    memory = map_block(size);
  }
  return memory;
}

void block_pool::release(void* memory, std::size_t bytes) noexcept {
  const std::size_t size = block_size(bytes);
  if (size > limit_) return unmap_block(memory, size);
  const std::lock_guard lock(guard_);
  free_block*& newest = newest_of_size_[bucket_of(size)];
  auto* b = new (memory) free_block{size, newest, nullptr, nullptr, youngest_};
  if (newest != nullptr) newest->previous = b;
  newest = b;
  (youngest_ != nullptr ? youngest_->younger : oldest_) = b;
  youngest_ = b;
  kept_ += size;
  while (kept_ > limit_) {
    free_block* const victim = oldest_;
    unlink(victim);
    unmap_block(victim, victim->size);
  }
}

void block_pool::trim(std::size_t bytes) noexcept {
  const std::lock_guard lock(guard_);
  while (kept_ > bytes) {
    free_block* const victim = oldest_;
    unlink(victim);
    unmap_block(victim, victim->size);
  }
}

void block_pool::unlink(free_block* b) noexcept {
  (b->previous != nullptr ? b->previous->next : newest_of_size_[bucket_of(b->size)]) = b->next;
  if (b->next != nullptr) b->next->previous = b->previous;
  (b->younger != nullptr ? b->younger->older : youngest_) = b->older;
  (b->older != nullptr ? b->older->younger : oldest_) = b->younger;
  kept_ -= b->size;
}

std::size_t block_pool::kept_bytes() const {
  const std::lock_guard lock(guard_);
  return kept_;
}

}  // namespace sinter::runtime
