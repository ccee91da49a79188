// A file without a name in memory (memfd), opened through /proc; where that is forbidden, a file in TMPDIR that only
// this user can read, gone once it is loaded.
#include "runtime/host/shared_object.hpp"

#include "runtime/error.hpp"
#include "runtime/log.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace sinter::runtime {
namespace {

/// A descriptor, closed at the end.
class descriptor {
 public:
  explicit descriptor(int fd) : fd_(fd) {}
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

int make_memory_file(const std::string& name) {
  constexpr unsigned executable = 0x10;  // MFD_EXEC; kernels before 6.3 don't know it, and need no asking
  const std::string short_name = name.substr(0, 200);
  const int fd = memfd_create(short_name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING | executable);
  return fd >= 0 || errno != EINVAL ? fd : memfd_create(short_name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

/// A path of the descriptor that no other call has had. The loader takes equal paths for one library, but a
/// descriptor's number is soon another's: the digits of a counter are told in slashes, which mean nothing.
std::string unique_path(int fd) {
  static std::atomic<std::uint64_t> counter{0};
  std::string path = "/proc/self/fd/";
  for (std::uint64_t k = ++counter; k != 0; k >>= 1) path += (k & 1) != 0 ? ".//" : "./";
  return path + std::to_string(fd);
}

void* open_in_memory(std::span<const std::byte> image, const std::string& name) {
  const descriptor file(make_memory_file(name));
  if (file.get() < 0 || !write_all(file.get(), image)) return nullptr;
  fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
  return dlopen(unique_path(file.get()).c_str(), RTLD_NOW | RTLD_LOCAL);
}

void* open_in_folder(std::span<const std::byte> image) {
  std::string path = environment().temporary_directory + "/sinter-XXXXXX";
  const descriptor file(mkostemp(path.data(), O_CLOEXEC));
  if (file.get() < 0) return nullptr;
  void* library = nullptr;
  if (write_all(file.get(), image)) {
    if (path.find('/') == std::string::npos) path.insert(0, "./");  // else the loader would search its own places
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  unlink(path.c_str());
  return library;
}

}  // namespace

void* open_shared_object(std::span<const std::byte> image, const std::string& name) {
  if (void* library = open_in_memory(image, name)) return library;
  const char* message = dlerror();
  std::string first = message == nullptr ? "no file in memory can be made" : message;
  if (void* library = open_in_folder(image)) return library;
  message = dlerror();
  throw device_error(
      fmt::format("cpu: kernel {} can't be loaded: {}; from the temporary directory: {}\n  hint: TMPDIR must "
                  "name a folder that allows programs to run (not mounted noexec)",
                  name, first, message == nullptr ? "no file can be written there" : message));
}

}  // namespace sinter::runtime
