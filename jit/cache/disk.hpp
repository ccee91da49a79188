// Kernels in a directory: DIR/3/f/3f09...-71c4....kernel, of any number of processes at once.
//
// Readers take no lock: a file appears whole, by renaming, and stays whole for whoever has it open when it is replaced
// or removed. The lock of a kernel is a byte of DIR/lock, chosen by its name: the system lets go of it when its owner
// dies, and whoever waits too long goes on without it, which costs a compilation and nothing else. What is used last is
// the files' access time, written explicitly; the modification time is that of the compilation. DIR/size holds the
// bytes that the files take, or more (those that were replaced count twice until the next sweep).
#pragma once

#include "jit/cache/directory.hpp"
#include "jit/cache/entry.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sinter::jit {

enum class miss : std::uint8_t { none, absent, damaged, foreign, refused, unloadable };

/// An entry that is as wanted, with the bytes it lies in.
struct found_entry {
  file_bytes bytes;
  entry_view entry;
  std::string name;
};

/// What a listing says of a file.
struct kept_file {
  std::string name;  ///< "3/f/3f09...kernel"
  std::uint64_t bytes = 0;
  timespec last_use{};
};

class disk_cache {
 public:
  disk_cache(directory where, bool writable, std::uint64_t max_bytes)
      : where_(std::move(where)), writable_(writable), max_bytes_(max_bytes) {}

  const directory& where() const { return where_; }
  bool is_writable() const { return writable_; }

  /// The entry, or why there is none.
  std::optional<found_entry> find(const entry_key& wanted, miss& why) const;
  /// Keeps it; bytes written, 0 when that failed (told once).
  std::size_t store(const entry_key& k, std::span<const std::byte> made, const program_notes& notes = {}) const;

  /// Exclusive among all processes and threads, for as long as the file lives; none when it could not be had in time.
  file lock(const entry_key& k, std::chrono::milliseconds patience) const;

  /// All entries. Temporary files of processes that died are removed on the way when `clean` says so.
  std::vector<kept_file> list(bool clean = false) const;
  /// A listed file's bytes; nothing when it can't be read or trusted (then `refused` says why).
  std::optional<file_bytes> read_file(const std::string& name, std::string& refused) const;
  bool remove(const std::string& name) const;
  /// Removes what was least recently used until at most `most` bytes are left (never `keep`); the number removed.
  std::size_t sweep(std::uint64_t most, const std::string& keep = {}) const;

  /// Small texts beside the kernels ("nvrtc"); empty when there is none.
  std::string read_note(const std::string& name) const;
  void write_note(const std::string& name, const std::string& text) const;

 private:
  std::optional<found_entry> open_entry(const std::string& name, const entry_key& wanted, miss& why) const;
  void complain(const std::string& what) const;
  void count_added(std::uint64_t bytes, const std::string& name) const;
  file lock_byte(std::uint64_t which, std::chrono::milliseconds patience) const;

  directory where_;
  bool writable_;
  std::uint64_t max_bytes_;
};

/// Where an entry lies below the directory.
std::string entry_path(const std::string& name);

}  // namespace sinter::jit
