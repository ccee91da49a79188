// What compile(f) keeps: a recording for each signature that f was called with.
#pragma once

#include "jit/engine.hpp"
#include "jit/replay.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace sinter::jit {

/// Of a caller, kept with a recording.
struct kept_with_recording {
  virtual ~kept_with_recording() = default;
};

/// Calls the function: `results` become its own, `kept` what to keep with the recording.
class recorded_body {
 public:
  virtual void run(std::vector<node_ref>&& arguments, std::vector<node_ref>& results,
                   std::unique_ptr<kept_with_recording>& kept) = 0;

 protected:
  ~recorded_body() = default;
};

class compiled_function {
 public:
  explicit compiled_function(const place& at) : at_(at) {}

  /// A recording for such arguments: the one there is, or a new one, for which `body` is called. `words`: what else of
  /// the call a recording depends on. Arguments have values, or are numbers (op::scalar).
  struct found {
    std::shared_ptr<const recording> what;
    std::shared_ptr<kept_with_recording> kept;
  };
  found find(std::span<const replay_argument> arguments, std::span<const std::uint64_t> words, recorded_body& body);

  void note_replay();
  std::uint64_t replays() const { return replays_.load(std::memory_order_relaxed); }
  std::uint64_t recordings() const { return made_.load(std::memory_order_relaxed); }
  const place& at() const { return at_; }

  /// A line for each recording: its signature, why it was made, what it launches.
  std::string explain() const;

 private:
  struct entry {
    std::vector<std::uint64_t> signature;
    std::shared_ptr<const recording> what;
    std::shared_ptr<kept_with_recording> kept;
    std::string text, reason;
    std::atomic<std::uint64_t> uses{0};
  };

  entry* known(std::span<const std::uint64_t> signature);
  found add(std::vector<std::uint64_t> signature, std::span<const replay_argument> arguments,
            std::span<const std::uint64_t> words, recorded_body& body);
  static std::string why_again(const entry& now, const entry& before);

  place at_;
  std::atomic<std::uint64_t> replays_{0}, made_{0};
  mutable std::mutex guard_;
  std::recursive_mutex recording_;               ///< the function is called by one thread at a time
  std::vector<std::unique_ptr<entry>> entries_;  ///< last used first
};

/// Whether a compiled function that is called now is part of what is being recorded: of another one, or of a loop.
bool is_part_of_recording() noexcept;

}  // namespace sinter::jit
