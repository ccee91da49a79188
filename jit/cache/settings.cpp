#include "jit/cache/settings.hpp"

#include "runtime/log.hpp"

#include <atomic>
#include <mutex>

#include <fmt/format.h>

namespace sinter::jit {
namespace {

cache_mode mode_of_environment() {
  const std::string& word = runtime::environment().cache_mode;
  if (word == "read_only") return cache_mode::read_only;
  if (word == "memory") return cache_mode::memory;
  return word == "off" ? cache_mode::off : cache_mode::read_write;
}

struct state {
  std::mutex guard;
  cache_settings settings;
  std::atomic<cache_mode> mode;
  bool opened = false;
  std::shared_ptr<const disk_cache> disk;
};

state& current() {
  static state* const s = [] {  // never destroyed: kernels may be launched from other objects' destructors
    auto* made = new state;
    made->settings.mode = mode_of_environment();
    made->mode = made->settings.mode;
    return made;
  }();
  return *s;
}

void complain(const std::string& what) { runtime::log_once(runtime::level::warning, "cache directory", what); }

std::shared_ptr<const disk_cache> open_disk(const cache_settings& s) {
  if (s.mode == cache_mode::memory || s.mode == cache_mode::off) return nullptr;
  const bool named = !s.directory.empty() || !runtime::environment().cache_directory.empty();
  const std::string path = s.directory.empty() ? usual_cache_directory() : s.directory;
  if (path.empty()) {
    complain("compiled kernels are not kept, since SINTER_CACHE_DIR, XDG_CACHE_HOME and HOME are all unset");
    return nullptr;
  }
  const bool writable = s.mode == cache_mode::read_write;
  directory where(path, writable, !writable && named);
  if (!where.good()) {
    complain(where.complaint());
    return nullptr;
  }
  return std::make_shared<const disk_cache>(std::move(where), writable, s.max_bytes);
}

}  // namespace

std::string usual_cache_directory() {
  const runtime::settings& e = runtime::environment();
  if (!e.cache_directory.empty()) return e.cache_directory;
  if (e.cache_home.starts_with('/')) return e.cache_home + "/sinter";  // a relative one is to be ignored (XDG)
  return e.home.empty() ? std::string() : e.home + "/.cache/sinter";
}

cache_settings current_cache() {
  state& c = current();
  const std::lock_guard lock(c.guard);
  return c.settings;
}

void set_cache(const cache_settings& s) {
  state& c = current();
  const std::lock_guard lock(c.guard);
  c.settings = s;
  c.mode.store(s.mode, std::memory_order_relaxed);
  c.opened = false;
  c.disk = nullptr;
}

cache_mode current_cache_mode() { return current().mode.load(std::memory_order_relaxed); }

std::shared_ptr<const disk_cache> current_disk() {
  state& c = current();
  const std::lock_guard lock(c.guard);
  if (!c.opened) {
    c.disk = open_disk(c.settings);
    c.opened = true;
  }
  return c.disk;
}

}  // namespace sinter::jit
