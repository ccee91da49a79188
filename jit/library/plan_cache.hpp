// Plans that a library makes once and runs often: those used last are kept.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <utility>

namespace sinter::jit {

/// Thread-safe. Plans that are in use stay when they are forgotten.
template <class Key, class Plan>
class plan_cache {
 public:
  explicit plan_cache(std::size_t most) : most_(most) {}

  /// The plan, made by `make()` if need be; plans are made one at a time.
  template <class Make>
  std::shared_ptr<Plan> find(const Key& key, Make&& make) {
    const std::lock_guard lock(guard_);
    for (auto it = plans_.begin(); it != plans_.end(); ++it) {
      if (!(it->first == key)) continue;
      plans_.splice(plans_.begin(), plans_, it);
      return it->second;
    }
    plans_.emplace_front(key, make());
    std::shared_ptr<Plan> fresh = plans_.front().second;
    if (plans_.size() > most_) plans_.pop_back();
    return fresh;
  }

 private:
  std::mutex guard_;
  std::size_t most_;
  std::list<std::pair<Key, std::shared_ptr<Plan>>> plans_;  ///< the one used last first
};

}  // namespace sinter::jit
