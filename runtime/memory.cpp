// Buffers: allocation with its account and what is done when there is no room, and the last release.
#include "runtime/memory.hpp"

#include "runtime/error.hpp"
#include "runtime/foreign.hpp"
#include "runtime/pool.hpp"
#include "runtime/stream.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include <fmt/format.h>

namespace sinter::runtime {
namespace {

/// The buffers that take memory, of all devices. The guard is held to change what is counted, too: one lock costs less
/// than an atomic operation for each number.
struct live_buffers {
  std::mutex guard;
  buffer* youngest = nullptr;
};
constinit live_buffers live;
constinit std::atomic<void (*)()> reclaimer{nullptr};

/// Adds to a counter that is only changed under the guard, and may be read without.
template <class Number, class Change>
Number change(std::atomic<Number>& counter, Change by) {
  const Number now = counter.load(std::memory_order_relaxed) + static_cast<Number>(by);
  counter.store(now, std::memory_order_relaxed);
  return now;
}
template <class Number>
void raise_to(std::atomic<Number>& peak, Number now) {
  if (peak.load(std::memory_order_relaxed) < now) peak.store(now, std::memory_order_relaxed);
}

/// Whether the limit leaves room for `bytes` more, which then count as used, so that threads can't pass it together.
bool take_room(memory_account& a, std::size_t bytes) {
  const std::lock_guard lock(live.guard);
  const std::size_t limit = a.limit.load(std::memory_order_relaxed), used = a.in_use.load(std::memory_order_relaxed);
  if (limit != 0 && (bytes > limit || used > limit - bytes)) return false;
  change(a.in_use, bytes);
  return true;
}

void give_room(memory_account& a, std::size_t bytes) noexcept {
  const std::lock_guard lock(live.guard);
  change(a.in_use, -bytes);
}

/// Counts and lists a buffer that has got its memory.
void enter(buffer* b, bool has_room) {
  const std::lock_guard lock(live.guard);
  memory_account& a = b->owner->account;
  raise_to(a.peak, has_room ? a.in_use.load(std::memory_order_relaxed) : change(a.in_use, b->bytes));
  memory_counters& all = memory_count();
  raise_to(all.peak_bytes, change(all.bytes_in_use, b->bytes));
  b->older = live.youngest;
  if (live.youngest != nullptr) live.youngest->younger = b;
  live.youngest = b;
}

void leave(buffer* b) noexcept {
  const std::lock_guard lock(live.guard);
  change(b->owner->account.in_use, -b->bytes);
  change(memory_count().bytes_in_use, -b->bytes);
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
      text += fmt::format("  {}{}  {}:{}", to_string(e.use.type), to_string(e.use.extents), e.use.at.file,
                          e.use.at.line);
  }
  return text;
}

/// One attempt: false, and why, when there is no room.
bool try_allocate(buffer* b, std::string& why) {
  memory_account& a = b->owner->account;
  const bool limited = a.limit.load(std::memory_order_relaxed) != 0;
  if (limited && !take_room(a, b->bytes)) {
    why = fmt::format("{}: no room for {} bytes: arrays use {} bytes of the {} that set_memory_limit allows",
                      b->owner->name(), b->bytes, a.in_use.load(), a.limit.load());
    return false;
  }
  try {
    b->data = b->owner->allocate(b->bytes);
    enter(b, limited);
    return true;
  } catch (const out_of_memory& e) {
    if (limited) give_room(a, b->bytes);
    why = e.what();
    return false;
  } catch (...) {
    if (limited) give_room(a, b->bytes);
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

void allocate(buffer* b) {
  device& owner = *b->owner;
  std::string why;
  bool done = try_allocate(b, why);
  if (!done) [[unlikely]] {
    if (void (*reclaim)() = reclaimer.load(std::memory_order_acquire)) reclaim();
    owner.synchronize();  // memory that running work lets go of counts as used
    owner.trim(0);
    done = try_allocate(b, why);
  }
  if (!done) throw out_of_memory(error_text(why, b->use.at) + largest_arrays(owner));
}

}  // namespace

void* buffer::operator new(std::size_t) { return pool<buffer>::take(); }
void buffer::operator delete(void* memory) noexcept { pool<buffer>::give(memory); }

buffer* make_buffer(device& owner, std::size_t bytes) { return make_buffer(owner, bytes, {}); }

buffer* make_buffer(device& owner, std::size_t bytes, const buffer_use& use) {
  std::unique_ptr<buffer> b(new buffer{.owner = &owner, .data = nullptr, .bytes = bytes, .use = use});
  if (bytes == 0) return b.release();
  std::unique_ptr<stream_users> uses;
  if (owner.has_streams()) [[unlikely]]
    uses = users_of_new_memory(owner);
  allocate(b.get());
  if (uses) note_new_memory(*b, std::move(uses));
  buffer* const made = b.release();
  keep_to_limit(owner);
  return made;
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
    leave(b);
    if (b->owner->has_streams()) [[unlikely]]
      release_in_order(*b);
    else
      b->owner->release(b->data, b->bytes);
  }
  delete b;
}

void set_reclaimer(void (*reclaim)()) noexcept { reclaimer.store(reclaim, std::memory_order_release); }

void set_memory_limit(device& d, std::size_t bytes) {
  d.account.limit.store(bytes, std::memory_order_relaxed);
  keep_to_limit(d);
}

}  // namespace sinter::runtime
