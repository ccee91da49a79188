// Buffers: allocation with its account and what is done when there is no room, and the last release.
#include "runtime/memory.hpp"

#include "runtime/error.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include <fmt/format.h>

namespace sinter::runtime {
namespace {

/// The buffers that take memory, of all devices.
struct live_buffers {
  std::mutex guard;
  buffer* youngest = nullptr;
};
constinit live_buffers live;
constinit std::atomic<void (*)()> reclaimer{nullptr};

void raise_to(std::atomic<std::size_t>& peak, std::size_t now) {
  std::size_t before = peak.load(std::memory_order_relaxed);
  while (before < now && !peak.compare_exchange_weak(before, now, std::memory_order_relaxed)) {}
}

/// Whether the limit leaves room for `bytes` more, which then are taken. Before the allocation, so that threads can't
/// pass the limit together.
bool take_room(memory_account& a, std::size_t bytes) {
  const std::size_t limit = a.limit.load(std::memory_order_relaxed);
  const std::size_t now = a.in_use.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (limit != 0 && now > limit) {
    a.in_use.fetch_sub(bytes, std::memory_order_relaxed);
    return false;
  }
  return true;
}

void count_allocation(memory_account& a, std::size_t bytes) {
  raise_to(a.peak, a.in_use.load(std::memory_order_relaxed));
  memory_counters& c = memory_count();
  const std::uint64_t now = c.bytes_in_use.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::uint64_t peak = c.peak_bytes.load(std::memory_order_relaxed);
  while (peak < now && !c.peak_bytes.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {}
}

void list(buffer* b) {
  const std::lock_guard lock(live.guard);
  b->older = live.youngest;
  if (live.youngest != nullptr) live.youngest->younger = b;
  live.youngest = b;
}

void unlist(buffer* b) noexcept {
  const std::lock_guard lock(live.guard);
  (b->younger != nullptr ? b->younger->older : live.youngest) = b->older;
  if (b->older != nullptr) b->older->younger = b->younger;
}

/// "  largest arrays:" and a line for each; empty when there are none.
std::string largest_arrays(const device& d) {
  constexpr std::size_t most = 8;
  struct entry {
    std::size_t bytes;
    buffer_use use;
  };
  std::vector<entry> all;
  {
    const std::lock_guard lock(live.guard);
    for (const buffer* b = live.youngest; b != nullptr; b = b->older)
      if (b->owner == &d) all.push_back({b->bytes, b->use});
  }
  if (all.empty()) return {};
  const std::size_t shown = std::min(most, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown), all.end(),
                    [](const entry& a, const entry& b) { return a.bytes > b.bytes; });
  std::string text = shown < all.size() ? fmt::format("\n  largest of {} arrays:", all.size()) : "\n  arrays:";
  for (const entry& e : std::span(all).first(shown)) {
    text += fmt::format("\n    {} bytes", e.bytes);
    if (e.use.at.file[0] != '\0')
      text += fmt::format("  {}{}  {}:{}", to_string(e.use.type), to_string(e.use.extents), e.use.at.file, e.use.at.line);
  }
  return text;
}

/// One attempt; null, and why, when there is no room.
void* try_allocate(device& owner, std::size_t bytes, std::string& why) {
  memory_account& a = owner.account;
  if (!take_room(a, bytes)) {
    why = fmt::format("{}: no room for {} bytes: arrays use {} bytes of the {} that set_memory_limit allows",
                      owner.name(), bytes, a.in_use.load(), a.limit.load());
    return nullptr;
  }
  try {
    void* const memory = owner.allocate(bytes);
    count_allocation(a, bytes);
    return memory;
  } catch (const out_of_memory& e) {
    a.in_use.fetch_sub(bytes, std::memory_order_relaxed);
    why = e.what();
    return nullptr;
  } catch (...) {
    a.in_use.fetch_sub(bytes, std::memory_order_relaxed);
    throw;
  }
}

/// What is cached counts, too: beyond the limit it is given back.
void keep_to_limit(device& d) {
  const std::size_t limit = d.account.limit.load(std::memory_order_relaxed);
  if (limit == 0) return;
  const std::size_t used = d.account.in_use.load(std::memory_order_relaxed);
  d.trim(limit > used ? limit - used : 0);
}

void* allocate(device& owner, std::size_t bytes, const buffer_use& use) {
  std::string why;
  void* memory = try_allocate(owner, bytes, why);
  if (memory == nullptr) [[unlikely]] {
    if (void (*reclaim)() = reclaimer.load(std::memory_order_acquire)) reclaim();
    owner.synchronize();  // memory that running work lets go of counts as used
    owner.trim(0);
    memory = try_allocate(owner, bytes, why);
  }
  if (memory == nullptr)
    throw out_of_memory(error_text(why, use.at) + largest_arrays(owner));
  keep_to_limit(owner);
  return memory;
}

}  // namespace

buffer* make_buffer(device& owner, std::size_t bytes) { return make_buffer(owner, bytes, {}); }

buffer* make_buffer(device& owner, std::size_t bytes, const buffer_use& use) {
  std::unique_ptr<buffer> b(new buffer{&owner, nullptr, bytes});
  if (bytes == 0) return b.release();
  b->use = use;
  b->data = allocate(owner, bytes, use);
  list(b.get());
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
  if (b->whole != nullptr) {
    release(b->whole);  // which is no part itself, or of another: as deep as parts were made of parts
  } else if (b->data != nullptr) {
    unlist(b);
    b->owner->release(b->data, b->bytes);
    b->owner->account.in_use.fetch_sub(b->bytes, std::memory_order_relaxed);
    memory_count().bytes_in_use.fetch_sub(b->bytes, std::memory_order_relaxed);
  }
  delete b;
}

void set_reclaimer(void (*reclaim)()) noexcept { reclaimer.store(reclaim, std::memory_order_release); }

void set_memory_limit(device& d, std::size_t bytes) {
  d.account.limit.store(bytes, std::memory_order_relaxed);
  keep_to_limit(d);
}

}  // namespace sinter::runtime
