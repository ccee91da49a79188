// Runs the blocks of an emulated kernel. A block belongs to one thread of the processor; the block's threads are
// fibers.
//
// One fiber runs thread after thread of a block as a plain loop. Only when a thread has to wait, at a barrier or for
// the other lanes of its warp, another fiber goes on with the loop: kernels without barriers never switch. A barrier is
// passed when all threads of the block that have not exited wait at it; an operation of a warp when all lanes that its
// mask names, and that have not exited, have come to the same one. When nobody can go on, that is a fault which says
// who waits where; a launch never hangs there.
#pragma once

#include "jit/raw/fibers.hpp"
#include "jit/raw/raw_program.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sinter::jit {

namespace emulation {
#include "jit/device/emulation_abi.cuh"
using namespace sinter_emulation;
}  // namespace emulation

/// A launch, and what its blocks report. Shared by the threads that run it.
struct emulated_launch {
  const emulation::registration* kernel = nullptr;
  const emulation::module_table* module = nullptr;
  void* const* arguments = nullptr;
  raw_extents grid, block;
  std::size_t dynamic_bytes = 0;
  bool checked = false;      ///< shared memory starts out as garbage
  bool cooperative = false;  ///< all blocks are there at once, and may wait for one another

  std::atomic<std::uint64_t> next_block{0};
  std::atomic<bool> stopped{false};

  /// Keeps the fault of the lowest block.
  void report(std::uint64_t block_number, std::string what);
  std::string fault;
  std::uint64_t faulty_block = 0;
  std::mutex guard;
};

/// Takes blocks of the launch until none are left, or one has reported a fault. For several threads at once.
void run_blocks(emulated_launch& launch);

/// The most threads that a cooperative launch may have: each needs a stack.
inline constexpr std::uint64_t most_cooperative_threads = 65536;

/// What emulated code calls.
const emulation::services& emulation_services();

/// The thread-local variables of the library that `address` (of a function or variable) is in, on the calling thread.
struct memory_region {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
};
memory_region thread_local_region(const void* address);

}  // namespace sinter::jit
