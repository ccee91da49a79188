// The cache directory: who may use it, and its files.
//
// What is defended against, and what isn't. A kept kernel is code that runs with the user's rights. So the directory,
// and every file in it that is read, must belong to the user and must not be writable by anybody else; otherwise it is
// not used, and a message says what to change. The directory is looked at once it is open and everything in it is
// opened relative to that, links not followed, so that nothing can be put in its place between the look and the use;
// what was checked (sizes, checksum, the whole key) is a private copy in memory, and that copy is what runs. In mode
// read_only a directory that the user names may belong to somebody else, whose code the user thereby trusts. Checksums
// find accidents: torn writes, bad disks, truncation. They do not stop who can write to the directory as the user, or
// as root: no cache can, since those can change the program itself. Access lists beyond the nine mode bits are not
// looked at, nor are the folders above the directory, which decide who may replace it as a whole; a replacement then
// has another owner.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace sinter::jit {

/// A descriptor, closed at the end; -1: none.
class file {
 public:
  explicit file(int fd = -1) : fd_(fd) {}
  file(file&& o) noexcept : fd_(o.fd_) { o.fd_ = -1; }
  file& operator=(file&& o) noexcept;
  ~file();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

/// A file's bytes, not initialised before they are read.
struct file_bytes {
  std::unique_ptr<std::byte[]> data;
  std::size_t size = 0;
  std::span<const std::byte> span() const { return {data.get(), size}; }
};

/// All of an open file of at most `most` bytes; nothing when it can't be read.
std::optional<file_bytes> read_all(const file& f, std::size_t most);
/// False, and errno says why.
bool write_all(const file& f, std::string_view bytes);

class directory {
 public:
  /// Opens `path`, made (with the folders above it) when `make` says so. `others`: may belong to somebody else. When
  /// that fails, good() is false and complaint() says what to do.
  directory(std::string path, bool make, bool others);

  bool good() const { return static_cast<bool>(root_); }
  const std::string& complaint() const { return complaint_; }
  const std::string& path() const { return path_; }
  int root() const { return root_.get(); }
  mode_t file_mode() const {
    return 0600 | (mode_ & 0044);
  }  ///< of new files: who may read the directory, may read them
  mode_t folder_mode() const { return 0700 | (mode_ & 0055); }

  /// Opens a file below to read it. Nothing when it isn't there, or when `refused` says why it can't be trusted.
  file open_trusted(const std::string& name, std::string& refused) const;
  /// Publishes a file: written beside, brought to the disk, renamed. False, and errno says why.
  bool publish(const std::string& name, std::string_view bytes) const;
  /// Makes the folders that `name` stands in.
  void make_folders(const std::string& name) const;

 private:
  std::string write_temporary(std::string_view bytes) const;

  std::string path_, complaint_;
  file root_;
  uid_t owner_ = 0;
  mode_t mode_ = 0;
};

/// Where temporary files of publish() lie.
inline constexpr const char* temporary_folder = "tmp";

}  // namespace sinter::jit
