// Streams and events of CUDA devices.
#pragma once

#include "runtime/cuda/module.hpp"
#include "runtime/stream.hpp"

#include <mutex>
#include <vector>

namespace sinter::runtime::gpu {

/// What streams of a device take and give back: events to wait for, and records of bad indices on the device.
class stream_supply {
 public:
  explicit stream_supply(owner& where) : where_(where) {}

  CUevent take_event();
  void give_event(CUevent e) noexcept;
  CUdeviceptr take_record();
  void give_record(CUdeviceptr r) noexcept;

 private:
  owner& where_;
  std::mutex guard_;
  std::vector<CUevent> events_;
  std::vector<CUdeviceptr> records_;
};

class cuda_moment final : public moment {
 public:
  /// `supply` null: an event that times, of its own.
  cuda_moment(owner& where, stream_supply* supply);
  ~cuda_moment() override;
  cuda_moment(const cuda_moment&) = delete;
  cuda_moment& operator=(const cuda_moment&) = delete;

  void record(stream& s) override;
  bool has_come() override;
  void await() override;
  double milliseconds_since(moment& earlier) override;
  CUevent event() const noexcept { return event_; }

 private:
  owner& where_;
  stream_supply* supply_;
  CUevent event_ = nullptr;
};

class cuda_stream final : public stream {
 public:
  /// `is_own`: to be destroyed in the end.
  cuda_stream(device& d, owner& where, stream_supply& supply, CUstream handle, bool is_own, int priority);
  ~cuda_stream() override;

  void* native() const noexcept override { return handle_; }
  void synchronize() override;
  bool is_idle() override;
  using stream::wait_for;
  void wait_for(moment& m) override;
  void check_usable() override;
  index_fault* fault_address() override;
  bool take_fault(index_fault& out) override;
  bool may_have_fault() override { return may_have_fault_.load(std::memory_order_acquire); }

  CUstream handle() const noexcept { return handle_; }
  /// To ask something of it.
  CUstream handle_for_work() {
    if (!is_own_) [[unlikely]]
      check_usable();
    return handle_;
  }

 protected:
  void end() noexcept override;

 private:
  bool is_done();

  owner& gpu_;
  stream_supply& supply_;
  CUstream handle_;
  const bool is_own_;
  CUdeviceptr record_ = 0;                   ///< an index_fault on the device
  std::atomic<bool> may_have_fault_{false};  ///< a kernel was given record_ since the last look
  std::mutex fault_guard_;
};

/// A new stream of the device that is bound to the thread.
CUstream create_stream(owner& where, int priority);
/// device_error unless `handle` is a stream of `context`.
void check_foreign_stream(owner& where, CUstream handle, CUcontext context);
int priority_of(owner& where, CUstream handle);

}  // namespace sinter::runtime::gpu
