// What arrays take of a device's memory, and how much they may.
#pragma once

#include "device.hpp"

#include <cstdint>

namespace sinter {

/// Bytes, at the moment of asking.
struct memory_statistics {
  std::uint64_t in_use = 0;  ///< by arrays
  std::uint64_t peak = 0;    ///< the most in_use has been, since the last reset_peak_memory
  std::uint64_t cached = 0;  ///< released by arrays and kept for the next ones
  std::uint64_t limit = 0;   ///< as set_memory_limit has it; 0: none
  std::uint64_t free = 0;    ///< of the device, for all programs; of the cpu device, what the system has left
  std::uint64_t total = 0;   ///< of the device
};
memory_statistics memory_info(const device& d = default_device());

/// Arrays of `d`, with what is cached beside them, use at most `bytes`; 0: no limit (the default). Past the limit, as
/// when the device has no room: cached memory is given back, pending work that nobody can ask for is dropped, and the
/// allocation is tried again; then out_of_memory is thrown, which lists the largest arrays with the lines that made
/// them. What is there already stays, even if it is more.
void set_memory_limit(std::uint64_t bytes, const device& d = default_device());

/// Gives what is cached, pinned host memory included, back to the system. Waits for the device.
void trim_memory(const device& d = default_device());

/// memory_info(d).peak is from now on counted anew.
void reset_peak_memory(const device& d = default_device());

}  // namespace sinter
