#include "runtime/host/machine.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <thread>

#include <sched.h>
#include <unistd.h>

namespace sinter::runtime {
namespace {

/// Reads up to two numbers from a control group's file; how many were there ("max" isn't one).
int read_numbers(const char* path, double& first, double& second) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen(path, "re"), [](std::FILE* f) { return f == nullptr ? 0 : std::fclose(f); });
  return file ? std::max(0, std::fscanf(file.get(), "%lf %lf", &first, &second)) : 0;
}

}  // namespace

int processor_count() {
  int count = static_cast<int>(std::thread::hardware_concurrency());
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  // Fails on machines with more processors than the set holds; all of them are taken to be ours then.
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) count = CPU_COUNT(&allowed);
  double quota = 0, period = 0;
  if (read_numbers("/sys/fs/cgroup/cpu.max", quota, period) == 2 && quota > 0 && period > 0)
    count = std::min(count, static_cast<int>(std::min(quota / period + 0.5, 1e6)));
  return std::max(count, 1);
}

std::size_t memory_limit() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  std::size_t bytes = std::numeric_limits<std::size_t>::max();
  if (pages > 0 && page > 0) bytes = static_cast<std::size_t>(pages) * static_cast<std::size_t>(page);
  double limit = 0, unused = 0;
  if (read_numbers("/sys/fs/cgroup/memory.max", limit, unused) >= 1 && limit > 0 && limit < static_cast<double>(bytes))
    bytes = static_cast<std::size_t>(limit);
  return bytes;
}

std::size_t free_memory() {
  double free = 0, ignored = 0;
  if (const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
          std::fopen("/proc/meminfo", "re"), [](std::FILE* f) { return f == nullptr ? 0 : std::fclose(f); });
      file) {
    char line[256];
    while (std::fgets(line, sizeof line, file.get()) != nullptr)
      if (std::sscanf(line, "MemAvailable: %lf kB", &free) == 1) break;
  }
  free *= 1024;
  double limit = 0, used = 0;
  if (read_numbers("/sys/fs/cgroup/memory.max", limit, ignored) >= 1 && limit > 0 &&
      read_numbers("/sys/fs/cgroup/memory.current", used, ignored) >= 1)
    free = std::clamp(limit - used, 0.0, free);
  return static_cast<std::size_t>(free);
}

}  // namespace sinter::runtime
