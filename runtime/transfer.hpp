// Copies between host memory, laid out in any way, and device memory in C order.
#pragma once

#include "runtime/backend.hpp"
#include "runtime/shape.hpp"

#include <atomic>
#include <cstdint>
#include <span>

namespace sinter::runtime {

/// Host memory seen as an array. Axes that continue each other are one (a C-order block has at most one axis), so that
/// copies take runs as long as there are.
struct host_region {
  std::byte* data = nullptr;   ///< of the element whose indices are all 0
  std::int64_t item = 1;       ///< bytes an element takes: 1, 2, 4, 8 or 16
  int rank = 0;
  std::int64_t extents[max_rank], strides[max_rank];  ///< strides in bytes, of any sign

  std::int64_t size() const;
  std::size_t bytes() const { return static_cast<std::size_t>(size() * item); }
  bool is_contiguous() const { return rank == 0 || (rank == 1 && strides[0] == item); }
};

/// C order.
host_region contiguous_region(const void* data, std::size_t bytes);
/// One stride, in bytes, for each axis.
host_region strided_region(const void* data, dtype type, const shape& extents, std::span<const std::int64_t> strides);

/// Copies the elements [begin, end) of `from`, counted in C order, to `to`; on several threads when there are many.
void pack(void* to, const host_region& from, std::int64_t begin, std::int64_t end);
/// The other way round.
void unpack(const host_region& to, const void* from, std::int64_t begin, std::int64_t end);

/// A copy that was started. Destroying it waits.
class transfer {
 public:
  transfer() = default;
  transfer(const transfer&) = delete;
  transfer& operator=(const transfer&) = delete;
  virtual ~transfer() = default;
  /// Whether wait() would return at once. Doesn't wait itself, but does what has to be done by the host.
  virtual bool is_done() = 0;
  /// Until the host may change what was read, or read what was written.
  virtual void wait() = 0;
  /// Has the device's work that is asked for from here on wait for the copy; the host doesn't.
  virtual void join() = 0;
};

/// How memory that can't be copied from and to directly is staged, in pieces. Tests make them small; changes are for
/// copies that start later.
struct staging_size {
  std::atomic<std::size_t> piece_bytes{most_piece_bytes};  ///< at most that
  static constexpr std::size_t most_piece_bytes = std::size_t{4} << 20;
  static constexpr int pieces = 4;  ///< each way and device, while no more are being copied
};
staging_size& staging();

}  // namespace sinter::runtime
