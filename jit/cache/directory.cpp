#include "jit/cache/directory.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sinter::jit {
namespace {

constexpr mode_t writable_by_others = S_IWGRP | S_IWOTH;

int make_with_parents(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    mkdir(path.substr(0, slash).c_str(), 0700);
  return mkdir(path.c_str(), 0700);
}

}  // namespace

file& file::operator=(file&& o) noexcept {
  std::swap(fd_, o.fd_);
  return *this;
}

file::~file() {
  if (fd_ >= 0) close(fd_);
}

std::optional<file_bytes> read_all(const file& f, std::size_t most) {
  struct stat s;
  if (fstat(f.get(), &s) != 0 || s.st_size < 0 || static_cast<std::size_t>(s.st_size) > most) return std::nullopt;
  file_bytes b;
  const auto size = static_cast<std::size_t>(s.st_size);
  b.data = std::make_unique_for_overwrite<std::byte[]>(size + 1);
  while (b.size <= size) {  // one byte more than there should be: a file that grows isn't a kernel
    const ssize_t n = read(f.get(), b.data.get() + b.size, size + 1 - b.size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::nullopt;
    if (n == 0) break;
    b.size += static_cast<std::size_t>(n);
  }
  return b;
}

bool write_all(const file& f, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(f.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = EIO;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

directory::directory(std::string path, bool make, bool others) : path_(std::move(path)) {
  constexpr int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  file f(open(path_.c_str(), flags));
  if (!f && errno == ENOENT && make) {
    if (make_with_parents(path_) != 0 && errno != EEXIST)
      complaint_ = fmt::format("can't make the cache directory {}: {}; SINTER_CACHE_DIR names another place", path_,
                               std::strerror(errno));
    else f = file(open(path_.c_str(), flags));
  }
  if (!complaint_.empty()) return;
  struct stat s;
  if (!f || fstat(f.get(), &s) != 0) {
    complaint_ = fmt::format("can't open the cache directory {}: {}; SINTER_CACHE_DIR names another place", path_,
                             std::strerror(errno));
    return;
  }
  if (s.st_uid != geteuid() && !others)
    complaint_ = fmt::format(
        "the cache directory {} is not used, since it belongs to user {} and this is user {}: kernels in it are code "
        "that "
        "would run; set SINTER_CACHE_DIR to a directory of your own, or name this one in mode read_only to trust its "
        "owner",
        path_, s.st_uid, geteuid());
  else if ((s.st_mode & writable_by_others) != 0)
    complaint_ = fmt::format(
        "the cache directory {} is not used, since others may write to it (mode {:04o}): kernels in it are code that "
        "would "
        "run; chmod go-w {} once nobody else's files are in it",
        path_, s.st_mode & 07777, path_);
  if (!complaint_.empty()) return;
  owner_ = s.st_uid;
  mode_ = s.st_mode;
  root_ = std::move(f);
}

file directory::open_trusted(const std::string& name, std::string& refused) const {
  constexpr int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  file f(openat(root(), name.c_str(), flags | O_NOATIME));  // looking is no use: times are set by who loads it
  if (!f && errno == EPERM) f = file(openat(root(), name.c_str(), flags));  // only owners may ask for that
  if (!f) {
    if (errno == ELOOP) refused = fmt::format("{}/{} is a link; remove it", path_, name);
    return f;
  }
  struct stat s;
  if (fstat(f.get(), &s) != 0) return file();
  if (!S_ISREG(s.st_mode)) refused = fmt::format("{}/{} is no file; remove it", path_, name);
  else if (s.st_uid != owner_ && s.st_uid != geteuid() && s.st_uid != 0)
    refused =
        fmt::format("{}/{} belongs to user {}, the directory to user {}; remove it", path_, name, s.st_uid, owner_);
  else if ((s.st_mode & writable_by_others) != 0)
    refused = fmt::format("others may write to {0}/{1} (mode {2:04o}); chmod go-w it, or remove it", path_, name,
                          s.st_mode & 07777);
  return refused.empty() ? std::move(f) : file();
}

void directory::make_folders(const std::string& name) const {
  for (std::size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
    const std::string folder = name.substr(0, slash);
    const bool made = mkdirat(root(), folder.c_str(), 0700) == 0;
    if (made && fchmodat(root(), folder.c_str(), folder_mode(), 0) != 0) return;  // it stays the owner's alone
  }
}

/// The temporary file's name; empty when it couldn't be written.
std::string directory::write_temporary(std::string_view bytes) const {
  static std::atomic<unsigned> counter{0};
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  // The time tells apart processes of one number on several machines that share the directory.
  const std::string name =
      fmt::format("{}/{}.{}.{:x}", temporary_folder, getpid(), ++counter,
                  static_cast<std::uint64_t>(now.tv_sec) << 30 ^ static_cast<std::uint64_t>(now.tv_nsec));
  const auto create = [&] { return openat(root(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600); };
  file f(create());
  if (!f && errno == ENOENT) {
    make_folders(name);
    f = file(create());
  }
  if (!f) return {};
  if (write_all(f, bytes) && fchmod(f.get(), file_mode()) == 0 && fsync(f.get()) == 0) return name;
  const int why = errno;
  unlinkat(root(), name.c_str(), 0);
  errno = why;
  return {};
}

bool directory::publish(const std::string& name, std::string_view bytes) const {
  const std::string temporary = write_temporary(bytes);
  if (temporary.empty()) return false;
  if (renameat(root(), temporary.c_str(), root(), name.c_str()) == 0) return true;
  if (errno == ENOENT) {
    make_folders(name);
    if (renameat(root(), temporary.c_str(), root(), name.c_str()) == 0) return true;
  }
  const int why = errno;
  unlinkat(root(), temporary.c_str(), 0);
  errno = why;
  return false;
}

}  // namespace sinter::jit
