// Memory that somebody else allocated: buffers over it, who may write to it, and the order of work around it.
#pragma once

#include "memory.hpp"

#include <cstddef>
#include <cstdint>

namespace sinter::runtime {

/// What a buffer over foreign memory is made of.
struct foreign_memory {
  void* data = nullptr;
  std::size_t bytes = 0;
  bool writable = false;  ///< in-place work may change it
};

/// A buffer over `m`, whose memory `owner` can reach.
buffer* make_foreign(device& owner, const foreign_memory& m);
/// Has `release(context)` called once, when nothing here needs the memory of `b` any more. That waits for the device's
/// work first, since whoever gets the memory back doesn't know of it.
void give_back_with(buffer& b, void (*release)(void*), void* context) noexcept;

/// A buffer of foreign memory is its own `whole`.
inline bool is_foreign(const buffer& b) noexcept { return b.whole == &b; }
/// Gives foreign memory back and frees `b`: for release().
void release_foreign(buffer* b) noexcept;

/// Whether nobody but one holder of `b` would notice a write to it.
bool is_exclusive(const buffer& b) noexcept;

/// A stream of another library, numbered as the array API standard does: a driver's handle, 1 for the legacy default
/// stream, 2 for a thread's own, -1 for none.
using foreign_stream = std::int64_t;
inline constexpr foreign_stream no_stream = -1, legacy_stream = 1, thread_stream = 2;

/// What `d` is asked for from now on begins after the work that `s` was given so far. The seam for events: waits here.
void follow_stream(device& d, foreign_stream s);
/// What `s` is given from now on begins after the work of `d` so far. The seam for events: waits here.
void lead_stream(device& d, foreign_stream s);

/// Waits for all work on `d`, other libraries' too: for memory that they were lent, whatever streams they used it on.
void finish(device& d) noexcept;
/// The number of the stream that the work of `d` is in; no_stream where there are none.
foreign_stream stream_number(device& d);

/// Why kernels of the CUDA device `d` can't use `memory`; empty when they can.
std::string unreachable_reason(device& d, const void* memory);

}  // namespace sinter::runtime
