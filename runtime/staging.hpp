// Copies through pinned pieces: devices copy only from and to memory that the system can't move without waiting, so all
// other memory goes through some that is kept for that. While one piece is copied by the device, the host's threads
// fill or empty another.
#pragma once

#include "runtime/transfer.hpp"

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace sinter::runtime {

/// What staging needs of a device. One lane of copies goes in, one out; each in order. An event, once marked, is done
/// when the copies that its lane was given before are. All may throw but the releases.
class copy_engine {
 public:
  enum class lane : std::uint8_t { in, out };
  using event = void*;

  virtual void* allocate_pinned(std::size_t bytes) = 0;
  virtual void release_pinned(void* memory, std::size_t bytes) noexcept = 0;
  virtual event make_event() = 0;
  virtual void release_event(event e) noexcept = 0;
  virtual void start(lane way, void* to, const void* from, std::size_t bytes) = 0;
  virtual void mark(lane way, event e) = 0;
  virtual bool is_done(event e) = 0;  ///< true for events that were never marked
  virtual void wait(event e) = 0;     ///< likewise, at once
  /// Has the device's work asked for from here on wait for `e`.
  virtual void join(event e) = 0;

 protected:
  ~copy_engine() = default;
};

/// A piece of pinned memory, and the event after which nobody uses it.
struct staging_piece {
  void* memory = nullptr;
  copy_engine::event idle = nullptr;
};

/// The pieces of a device. Thread-safe.
class staging_pieces {
 public:
  explicit staging_pieces(copy_engine& engine) : engine_(engine) {}
  ~staging_pieces() { trim(); }
  staging_pieces(const staging_pieces&) = delete;
  staging_pieces& operator=(const staging_pieces&) = delete;

  /// Stages all of `from`: when this returns, the host may change it, and the lane in has been given the copies.
  void copy_in(void* to, const host_region& from);
  /// Gives the lane out the first pieces' copies. Whoever asks for is_done() or wait() brings on the rest.
  std::unique_ptr<transfer> start_copy_out(const host_region& to, const void* from);

  /// Frees the pieces that nobody uses.
  void trim() noexcept;

 private:
  friend class staged_copy_out;

  staging_piece make();
  void destroy(const staging_piece& p) noexcept;
  /// Up to `wanted` free pieces, and at least one, whatever others hold.
  std::vector<staging_piece> take(std::size_t wanted);
  void give(const staging_piece& p) noexcept;

  copy_engine& engine_;
  std::mutex in_guard_;
  std::vector<staging_piece> ring_;  ///< of copies in: used in turn
  std::size_t next_ = 0;
  std::mutex out_guard_;
  std::vector<staging_piece> free_;  ///< of copies out
  std::size_t in_hand_ = 0;          ///< those that copies out have taken
};

}  // namespace sinter::runtime
