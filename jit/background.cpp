#include "jit/background.hpp"

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

namespace sinter::jit {
namespace {

class background {
 public:
  bool add(std::function<void()> task) {
    const std::lock_guard lock(guard_);
    if (ends_) return true;
    if (!thread_.joinable()) {
      try {
        thread_ = std::thread([this] { work(); });
      } catch (const std::system_error&) { return false; }
      wait_for_task_at_exit();
    }
    tasks_.push_back(std::move(task));
    changed_.notify_all();
    return true;
  }

  /// As often as it is called, the first time counts.
  void end() {
    {
      const std::lock_guard lock(guard_);
      ends_ = true;
      tasks_.clear();
      changed_.notify_all();
    }
    if (thread_.joinable() && thread_.get_id() != std::this_thread::get_id()) thread_.join();
  }

  void wait() {
    std::unique_lock lock(guard_);
    changed_.wait(lock, [this] { return tasks_.empty() && !runs_; });
  }

  void hold(int by) {
    const std::lock_guard lock(guard_);
    holds_ += by;
    changed_.notify_all();
  }

  static background& instance() {
    static auto* const b = new background;  // never destroyed: tasks may be added from other objects' destructors
    return *b;
  }

 private:
  void work() {
    std::unique_lock lock(guard_);
    while (true) {
      changed_.wait(lock, [this] { return ends_ || (!tasks_.empty() && holds_ == 0); });
      if (ends_) return;
      std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      runs_ = true;
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
      runs_ = false;
      changed_.notify_all();
    }
  }

  std::mutex guard_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  std::thread thread_;
  int holds_ = 0;
  bool runs_ = false, ends_ = false;
};

}  // namespace

bool run_in_background(std::function<void()> task) { return background::instance().add(std::move(task)); }
void wait_for_task_at_exit() {
  std::atexit([] { background::instance().end(); });
}
void wait_for_background() { background::instance().wait(); }

background_hold::background_hold() { background::instance().hold(1); }
background_hold::~background_hold() { background::instance().hold(-1); }

}  // namespace sinter::jit
