// The threads of the cpu device. One job at a time: its chunks are handed out by a counter, the caller takes part.
#pragma once

#include "runtime/backend.hpp"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace sinter::runtime {

class pool {
 public:
  using task = void (*)(void* context, std::int64_t chunk);

  /// `threads` counts the caller of `run`: one fewer is started (fewer still when the system grants no more).
  explicit pool(int threads);
  ~pool();
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;

  /// The threads that share a job, its caller included.
  int size() const { return static_cast<int>(workers_.size()) + 1; }
  /// Calls `body(context, k)` once for each k in [0, chunks), then returns. A call while another runs, from any thread
  /// and also from within a body, does all of its work on the calling thread. Bodies must not throw.
  void run(std::int64_t chunks, void* context, task body);

  /// The process's pool, of SINTER_THREADS or all processors. Never destroyed: its threads sleep until the process
  /// ends.
  static pool& instance();

 private:
  void work();
  std::uint32_t await_job(std::uint32_t seen) const;
  void take_chunks();
  bool enter();
  void leave();
  void close();

  // The caller writes job_ only while nobody is inside: state_ is the count of workers inside, plus `open` while more
  // may enter. A worker that wakes late finds the job closed and goes back to sleep.
  static constexpr std::uint32_t open = 1u << 31;
  struct job {
    std::int64_t chunks = 0;
    void* context = nullptr;
    task body = nullptr;
  } job_;

  // Apart, so that taking a chunk doesn't disturb those who wait.
  alignas(64) std::atomic<std::int64_t> next_{0};
  alignas(64) std::atomic<std::uint32_t> state_{0};
  alignas(64) std::atomic<std::uint32_t> epoch_{0};  ///< moves with every job; workers wait for it
  std::atomic<bool> busy_{false}, stopping_{false};
  std::vector<std::thread> workers_;
};

}  // namespace sinter::runtime
