#include "jit/cache/disk.hpp"

#include "runtime/log.hpp"

#include <algorithm>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <thread>
#include <tuple>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sinter::jit {
namespace {

constexpr std::size_t most_entry_bytes = std::size_t{1} << 30;
constexpr std::uint64_t size_byte = std::uint64_t{1} << 62;  ///< of the lock file: for DIR/size

/// The names in a folder below the directory that begin so.
std::vector<std::string> names_in(const directory& where, const std::string& folder, std::string_view start) {
  std::vector<std::string> names;
  const int fd = openat(where.root(), folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return names;
  DIR* const d = fdopendir(fd);
  if (d == nullptr) {
    close(fd);
    return names;
  }
  while (const dirent* e = readdir(d))
    if (e->d_name[0] != '.' && std::string_view(e->d_name).starts_with(start)) names.emplace_back(e->d_name);
  closedir(d);
  return names;
}

}  // namespace

std::string entry_path(const std::string& name) { return fmt::format("{}/{}/{}", name[0], name[1], name); }

std::optional<found_entry> disk_cache::find(const entry_key& wanted, miss& why) const {
  why = miss::absent;
  if (!wanted.maker.empty()) return open_entry(entry_path(file_name(wanted)), wanted, why);
  const std::string start = file_name_start(wanted);  // no compiler here: anybody's will do
  const std::string folder = entry_path(start).substr(0, 3);
  for (const std::string& name : names_in(where_, folder, start))
    if (auto e = open_entry(folder + "/" + name, wanted, why)) return e;
  return std::nullopt;
}

std::optional<found_entry> disk_cache::open_entry(const std::string& name, const entry_key& wanted, miss& why) const {
  std::string refused;
  const file f = where_.open_trusted(name, refused);
  if (!f) {
    why = refused.empty() ? miss::absent : miss::refused;
    if (!refused.empty())
      runtime::log_once(runtime::level::warning, "cache entry refused", "a kept kernel is not used: " + refused);
    return std::nullopt;
  }
  auto bytes = read_all(f, most_entry_bytes);
  const auto entry = bytes ? read_entry(bytes->span()) : std::nullopt;
  if (!entry || !matches(*entry, wanted)) {
    why = entry ? miss::foreign : miss::damaged;
    return std::nullopt;
  }
  why = miss::none;
  const timespec times[] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
  if (writable_) futimens(f.get(), times);
  return found_entry{std::move(*bytes), *entry, name};
}

void disk_cache::complain(const std::string& what) const {
  runtime::log_once(runtime::level::warning, "cache directory", what);
}

std::size_t disk_cache::store(const entry_key& k, std::span<const std::byte> made, const program_notes& notes) const {
  if (!writable_) return 0;
  const std::string bytes = entry_bytes(k, made, notes), name = entry_path(file_name(k));
  if (bytes.size() > max_bytes_) return 0;
  if (!where_.publish(name, bytes)) {
    complain(
        fmt::format("can't keep kernels in {}: {}; they are compiled again in the next process (SINTER_CACHE_DIR names "
                    "another place, SINTER_CACHE=memory says that this is meant)",
                    where_.path(), std::strerror(errno)));
    return 0;
  }
  count_added(bytes.size(), name);
  return bytes.size();
}

file disk_cache::lock(const entry_key& k, std::chrono::milliseconds patience) const {
  if (!writable_) return file();
  return lock_byte(digest_of(file_name(k)).low % size_byte, patience);
}

file disk_cache::lock_byte(std::uint64_t which, std::chrono::milliseconds patience) const {
  file f(openat(where_.root(), "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!f) return f;
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(which);
  range.l_len = 1;
  const auto end = std::chrono::steady_clock::now() + patience;
  for (std::chrono::microseconds pause{500};; pause = std::min(pause * 3 / 2, std::chrono::microseconds(20000))) {
    if (fcntl(f.get(), F_OFD_SETLK, &range) == 0) return f;
    const bool taken = errno == EAGAIN || errno == EACCES || errno == EINTR;
    if (!taken || std::chrono::steady_clock::now() >= end) return file();  // also where locks don't work at all
    std::this_thread::sleep_for(pause);
  }
}

std::string disk_cache::read_note(const std::string& name) const {
  std::string refused;
  const file f = where_.open_trusted(name, refused);
  const auto bytes = f ? read_all(f, 1 << 16) : std::nullopt;
  return bytes ? std::string(reinterpret_cast<const char*>(bytes->data.get()), bytes->size) : std::string();
}

void disk_cache::write_note(const std::string& name, const std::string& text) const {
  if (writable_) where_.publish(name, text);
}

std::optional<file_bytes> disk_cache::read_file(const std::string& name, std::string& refused) const {
  const file f = where_.open_trusted(name, refused);
  return f ? read_all(f, most_entry_bytes) : std::nullopt;
}

bool disk_cache::remove(const std::string& name) const { return unlinkat(where_.root(), name.c_str(), 0) == 0; }

// ---- size ----

void disk_cache::count_added(std::uint64_t bytes, const std::string& name) const {
  const file guard = lock_byte(size_byte, std::chrono::seconds(2));
  const std::string note = read_note("size");
  std::uint64_t total = 0;
  const auto [stop, fault] = std::from_chars(note.data(), note.data() + note.size(), total);
  const bool known = fault == std::errc{} && stop != note.data() + note.size() && *stop == '\n';
  if (known) total += bytes;
  if (!known || total > max_bytes_) {
    sweep(max_bytes_, name);
    return;
  }
  const file f(openat(where_.root(), "size", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (f) write_all(f, fmt::format("{}\n", total));
}

std::vector<kept_file> disk_cache::list(bool clean) const {
  std::vector<kept_file> all;
  constexpr std::string_view digits = "0123456789abcdef";
  for (const char a : digits)
    for (const char b : digits) {
      const std::string folder = fmt::format("{}/{}", a, b);
      for (const std::string& name : names_in(where_, folder, "")) {
        struct stat s;
        if (!name.ends_with(".kernel") ||
            fstatat(where_.root(), (folder + "/" + name).c_str(), &s, AT_SYMLINK_NOFOLLOW) != 0)
          continue;
        all.push_back({folder + "/" + name, static_cast<std::uint64_t>(s.st_size), s.st_atim});
      }
    }
  if (!clean) return all;
  constexpr time_t old = 3600;
  const time_t now = time(nullptr);
  for (const std::string& name : names_in(where_, temporary_folder, "")) {
    const std::string path = fmt::format("{}/{}", temporary_folder, name);
    struct stat s;
    if (fstatat(where_.root(), path.c_str(), &s, AT_SYMLINK_NOFOLLOW) == 0 && std::abs(now - s.st_mtim.tv_sec) > old)
      unlinkat(where_.root(), path.c_str(), 0);
  }
  return all;
}

std::size_t disk_cache::sweep(std::uint64_t most, const std::string& keep) const {
  std::vector<kept_file> all = list(true);
  std::uint64_t total = 0;
  for (const kept_file& f : all) total += f.bytes;
  std::size_t removed = 0;
  if (total > most) {
    // Some room, so that not every new kernel sweeps. A use in the future was before the clock was set back: the
    // oldest.
    const std::uint64_t aim = keep.empty() ? most : most - most / 8;
    const time_t now = time(nullptr) + 60;
    std::sort(all.begin(), all.end(), [now](const kept_file& a, const kept_file& b) {
      const auto order = [now](const kept_file& f) {
        return std::tuple(f.last_use.tv_sec <= now, f.last_use.tv_sec, f.last_use.tv_nsec);
      };
      return order(a) < order(b);
    });
    for (const kept_file& f : all) {
      if (total <= aim) break;
      if (f.name == keep || unlinkat(where_.root(), f.name.c_str(), 0) != 0) continue;
      total -= f.bytes;
      ++removed;
    }
  }
  const file f(openat(where_.root(), "size", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (f) write_all(f, fmt::format("{}\n", total));
  return removed;
}

}  // namespace sinter::jit
