// Streams of a device that has done everything when a call returns.
#pragma once

#include "runtime/stream.hpp"

#include <chrono>

namespace sinter::runtime {

/// The time of day on the host's clock.
class clock_moment final : public moment {
 public:
  void record(stream&) override { at_ = std::chrono::steady_clock::now(); }
  bool has_come() override { return true; }
  void await() override {}
  double milliseconds_since(moment& earlier) override {
    return std::chrono::duration<double, std::milli>(at_ - static_cast<clock_moment&>(earlier).at_).count();
  }

 private:
  std::chrono::steady_clock::time_point at_{};
};

class prompt_stream final : public stream {
 public:
  using stream::stream;
  void* native() const noexcept override { return nullptr; }
  void synchronize() override {}
  bool is_idle() override { return true; }
  using stream::wait_for;
  void wait_for(moment&) override {}
  index_fault* fault_address() override { return &fault_; }
  bool take_fault(index_fault& out) override;
  bool may_have_fault() override;

 private:
  std::mutex fault_guard_;
  index_fault fault_;
};

}  // namespace sinter::runtime
