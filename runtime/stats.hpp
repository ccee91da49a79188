// What the library did so far: the numbers users read.
#pragma once

#include <cstdint>

namespace sinter {

/// What happened in this process so far. Take a difference of two snapshots to count one region.
struct statistics {
  std::uint64_t recorded = 0;          ///< graph nodes recorded
  std::uint64_t statements = 0;        ///< assignments to arrays and into them that loops may consist of
  std::uint64_t folded = 0;            ///< of them, those that became loops
  std::uint64_t evaluations = 0;       ///< calls that evaluated pending work
  std::uint64_t flushes = 0;           ///< reads (item, to_vector, printing) of what was still pending
  std::uint64_t launches = 0;          ///< kernels started (any device); loops of launches count once
  std::uint64_t replays = 0;           ///< calls of compiled functions (compile.hpp) that started a recording
  std::uint64_t compiles = 0;          ///< kernels compiled (not those loaded), or translated for the interpreter
  std::uint64_t substitutes = 0;       ///< launches of a slower kernel while the one for them was being compiled
  std::uint64_t cache_hits = 0;        ///< launches whose kernel was already in memory
  std::uint64_t disk_hits = 0;         ///< kernels loaded from the cache directory
  std::uint64_t bundle_hits = 0;       ///< kernels loaded from files given to load_kernels
  std::uint64_t misses_absent = 0;     ///< looked for in the cache directory: not there
  std::uint64_t misses_damaged = 0;    ///< there, but truncated, changed, or of another format
  std::uint64_t misses_foreign = 0;    ///< there, but of another kernel or compiler
  std::uint64_t misses_refused = 0;    ///< there, but somebody else could have written it
  std::uint64_t misses_unloadable = 0; ///< there, but the device didn't take it
  std::uint64_t compile_microseconds = 0;  ///< spent in compilers, summed over threads
  std::uint64_t load_microseconds = 0;     ///< spent finding, checking and loading kept kernels
  std::uint64_t cache_bytes_read = 0;      ///< of kept kernels, with their keys
  std::uint64_t cache_bytes_written = 0;   ///< to the cache directory
  std::uint64_t copies_to_device = 0;  ///< from host memory into arrays
  std::uint64_t bytes_to_device = 0;   ///< of these copies
  std::uint64_t copies_to_host = 0;    ///< from arrays into host memory
  std::uint64_t bytes_to_host = 0;     ///< of these copies
  std::uint64_t synchronizations = 0;  ///< times the host waited for a device
  std::uint64_t bytes_in_use = 0;      ///< of device memory, by arrays now
  std::uint64_t peak_bytes = 0;        ///< the most bytes_in_use has been
};

}  // namespace sinter
