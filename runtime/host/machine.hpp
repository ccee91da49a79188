// What this machine (or the container we are in) grants the process.
#pragma once

#include <cstddef>

namespace sinter::runtime {

/// Processors this process may keep busy: its affinity mask, cut to the control group's quota. At least 1.
int processor_count();
/// Bytes of memory the process may use: the machine's, or its control group's limit when that is less.
std::size_t memory_limit();
/// Bytes of it that are free, or would be at once if asked for; 0 where the system doesn't tell.
std::size_t free_memory();

}  // namespace sinter::runtime
