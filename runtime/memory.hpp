// Reference-counted device memory. Arrays share a buffer freely; it is overwritten only when nobody else can tell.
#pragma once

#include "backend.hpp"

#include <atomic>
#include <utility>

namespace sinter::runtime {

/// Device memory with an intrusive count; freed (stream-ordered) with the last reference.
struct buffer {
  device* owner;
  void* data;         ///< null for 0 bytes
  std::size_t bytes;
  std::atomic<std::uint32_t> references{1};
};

/// Throws out_of_memory. 0 bytes allocate nothing.
buffer* make_buffer(device& owner, std::size_t bytes);
void retain(buffer* b) noexcept;
void release(buffer* b) noexcept;  ///< null is fine

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
