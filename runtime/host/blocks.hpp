// The memory of the cpu device: blocks of few sizes, kept for reuse after release, the longest unused given back first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace sinter::runtime {

/// The size of the block that serves `bytes`: powers of two from 256 to 4 KiB, then four sizes per doubling, so that at
/// most a quarter is added. `bytes` in [1, 2^62].
std::size_t block_size(std::size_t bytes);

/// Thread-safe. Blocks are aligned to 256 bytes, those of 4 MiB and more to 2 MiB and backed by huge pages if possible.
class block_pool {
 public:
  /// Keeps up to a quarter of the process's memory.
  block_pool();
  /// Keeps up to `limit` bytes.
  explicit block_pool(std::size_t limit) : limit_(limit) {}
  ~block_pool() { trim(0); }
  block_pool(const block_pool&) = delete;
  block_pool& operator=(const block_pool&) = delete;

  /// Null when the system has no room left, even after everything kept was given back.
  void* allocate(std::size_t bytes);
  void release(void* memory, std::size_t bytes) noexcept;
  /// Gives kept blocks back to the system until no more than `bytes` are kept.
  void trim(std::size_t bytes) noexcept;
  std::size_t kept_bytes() const;

 private:
  /// Written into a block while it waits for reuse: its places among those of its size, and among all by age.
  struct free_block {
    std::size_t size;
    free_block *next, *previous;  ///< of the same size, newest first
    free_block *younger, *older;  ///< of all
  };
  static constexpr int bucket_count = 256;

  static int bucket_of(std::size_t size);
  void unlink(free_block* b) noexcept;

  mutable std::mutex guard_;
  free_block* newest_of_size_[bucket_count] = {};
  free_block *youngest_ = nullptr, *oldest_ = nullptr;
  std::size_t kept_ = 0, limit_;
};

}  // namespace sinter::runtime
