// How much memory the host has to spare.
#pragma once

#include <algorithm>
#include <fstream>
#include <string>

namespace samples {

/// What Linux calls available, and what the control group (a container's limit) leaves. 0 where neither is known.
inline double free_host_bytes() {
  double free = 0;
  std::ifstream memory("/proc/meminfo");
  for (std::string name, rest; memory >> name && free == 0; std::getline(memory, rest))
    if (name == "MemAvailable:" && memory >> free) free *= 1024;  // in kB
  double limit = 0, used = 0;
  std::ifstream most("/sys/fs/cgroup/memory.max"), now("/sys/fs/cgroup/memory.current");
  if (most >> limit && now >> used) free = std::min(free, limit - used);  // "max" is no number: no limit
  return free;
}

}  // namespace samples
