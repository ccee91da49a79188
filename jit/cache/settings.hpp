// Which caches this process uses.
#pragma once

#include "jit/cache/disk.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace sinter::jit {

enum class cache_mode : std::uint8_t { read_write, read_only, memory, off };

struct cache_settings {
  std::string directory;  ///< empty: SINTER_CACHE_DIR, XDG_CACHE_HOME/sinter, HOME/.cache/sinter
  std::uint64_t max_bytes = std::uint64_t{1} << 30;
  cache_mode mode = cache_mode::read_write;
};

/// At first: what the environment says.
cache_settings current_cache();
void set_cache(const cache_settings& s);
/// The mode alone, without a lock.
cache_mode current_cache_mode();

/// The directory's kernels, opened at the first call after set_cache; null, told once, when there is no such directory
/// that may be used, or in a mode without.
std::shared_ptr<const disk_cache> current_disk();

/// Where the directory is looked for; empty without SINTER_CACHE_DIR, XDG_CACHE_HOME and HOME.
std::string usual_cache_directory();

}  // namespace sinter::jit
