// Memory that launches whose loops are split hand partial results through.
#pragma once

#include "runtime/backend.hpp"

#include <cstddef>
#include <mutex>

namespace sinter::jit {

/// Nobody else gets the stream's scratch memory, or makes it grow, as long as this lives: until the launch is asked
/// for.
struct scratch {
  void* workspace = nullptr;
  void* tickets = nullptr;  ///< zero: each launch leaves them so
  void* arrivals = nullptr; ///< a u32, for wait_for_grid (jit/device/team.cuh)
  std::unique_lock<std::mutex> held;
};

/// At least so much of both. One for each stream of a CUDA device: launches on it run one after another, and each is
/// done with it before the next begins; the memory stays until the stream ends. On the cpu one per thread, as its
/// launches are done when they return. Throws out_of_memory.
scratch scratch_of(runtime::device& d, std::size_t workspace_bytes, std::size_t ticket_count);

}  // namespace sinter::jit
