// Reference-counted device memory. Arrays share a buffer freely; it is overwritten only when nobody else can tell.
#pragma once

#include "backend.hpp"
#include "shape.hpp"

#include <atomic>
#include <cstdint>
#include <utility>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

namespace sinter::runtime {

/// Whether the process never had another thread. False where the C library doesn't tell.
inline bool has_one_thread() noexcept {
#if __has_include(<sys/single_threaded.h>)
  return __libc_single_threaded != 0;
#else
  return false;
#endif
}

/// How many hold an object: at first its maker. Locked instructions would be the larger part of what recording a small
/// operation takes: they are left out where no other thread can see it.
class reference_count {
 public:
  void add() noexcept {
    if (has_one_thread()) return set(load(std::memory_order_relaxed) + 1);
    count_.fetch_add(1, std::memory_order_relaxed);
  }
  /// Whether that was the last one.
  bool drop() noexcept {
    const std::uint32_t now = load(std::memory_order_acquire);
    if (now == 1) return true;
    if (!has_one_thread()) return count_.fetch_sub(1, std::memory_order_acq_rel) == 1;
    set(now - 1);
    return false;
  }
  std::uint32_t load(std::memory_order order = std::memory_order_seq_cst) const noexcept { return count_.load(order); }
  /// For objects that no other thread knows.
  void set(std::uint32_t count) noexcept { count_.store(count, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint32_t> count_{1};
};

struct stream_users;  // runtime/stream.hpp

/// Whose values a buffer was made for, to tell users what takes their memory.
struct buffer_use {
  dtype type;
  shape extents;
  place at;
};

/// Device memory with an intrusive count; freed with the last reference, when the streams that used it are done.
struct buffer {
  device* owner;
  void* data;         ///< null for 0 bytes
  std::size_t bytes;
  reference_count references{};
  buffer* whole = nullptr;  ///< whose memory it is part of, and holds on to
  stream_users* users = nullptr;  ///< of those that are no part; null: only the default stream's, so far
  buffer *older = nullptr, *younger = nullptr;  ///< links those that take memory
  buffer_use use{};

  static void* operator new(std::size_t);  // of a pool (runtime/pool.hpp)
  static void operator delete(void* memory) noexcept;
};

/// 0 bytes allocate nothing. Past the owner's limit, or when the device has no room: lets go of cached memory and of
/// pending work that nobody can ask for, tries again, then throws out_of_memory, which lists the largest arrays.
buffer* make_buffer(device& owner, std::size_t bytes);
buffer* make_buffer(device& owner, std::size_t bytes, const buffer_use& use);
/// Bytes [offset, offset + bytes) of `whole`, which lives as long as any part of it. Whoever makes parts sees to it
/// that they don't overlap, and that nothing else uses the memory.
buffer* make_part(buffer& whole, std::size_t offset, std::size_t bytes);
void retain(buffer* b) noexcept;
void release(buffer* b) noexcept;  ///< null is fine

/// What make_buffer calls, on the thread that found no room, to have dead pending work dropped. Null: nothing.
void set_reclaimer(void (*reclaim)()) noexcept;
/// No more than `bytes` for the arrays of `d` (0: no limit); what is cached beyond is given back now.
void set_memory_limit(device& d, std::size_t bytes);

/// An intrusive pointer over `retain` / `release`, found by argument-dependent lookup: of buffers and graph nodes.
template <class T>
class reference {
 public:
  reference() = default;
  explicit reference(T* adopt) noexcept : p_(adopt) {}
  reference(const reference& o) noexcept : p_(o.p_) { if (p_) retain(p_); }
  reference(reference&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  reference& operator=(reference o) noexcept { std::swap(p_, o.p_); return *this; }
  ~reference() { if (p_) release(p_); }
  static reference share(T* p) noexcept { if (p) retain(p); return reference(p); }
  T* get() const noexcept { return p_; }
  T* operator->() const noexcept { return p_; }
  T& operator*() const noexcept { return *p_; }
  explicit operator bool() const noexcept { return p_ != nullptr; }
  T* leave() noexcept { return std::exchange(p_, nullptr); }

 private:
  T* p_ = nullptr;
};

}  // namespace sinter::runtime
