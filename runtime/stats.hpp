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
  std::uint64_t launches = 0;          ///< kernels started (any device); loops of launches count once
  std::uint64_t compiles = 0;          ///< kernels compiled, or translated for the interpreter
  std::uint64_t cache_hits = 0;        ///< launches whose kernel was already in memory
  std::uint64_t bytes_to_device = 0;   ///< copied from host memory into arrays
  std::uint64_t bytes_to_host = 0;     ///< copied from arrays into host memory
  std::uint64_t synchronizations = 0;  ///< times the host waited for a device
  std::uint64_t bytes_in_use = 0;      ///< of device memory, by arrays now
  std::uint64_t peak_bytes = 0;        ///< the most bytes_in_use has been
};

}  // namespace sinter
