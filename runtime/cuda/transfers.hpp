// Copies between the host and a CUDA device: two streams beside the device's own, one each way, so that copies overlap
// with kernels and with each other. Pinned memory is copied directly, all other memory through staging.
#pragma once

#include "runtime/cuda/module.hpp"
#include "runtime/staging.hpp"

#include <mutex>
#include <vector>

namespace sinter::runtime::gpu {

class transfers final : public copy_engine {
 public:
  explicit transfers(owner& where) : where_(where), pieces_(*this) {}
  transfers(const transfers&) = delete;
  transfers& operator=(const transfers&) = delete;

  /// After what `work` was given so far, beside what it is given later.
  std::unique_ptr<transfer> start_in(CUstream work, void* to, const host_region& from);
  std::unique_ptr<transfer> start_out(CUstream work, const host_region& to, const void* from);

  /// Pinned memory for users; some of what they release is kept.
  void* allocate_host(std::size_t bytes);
  void release_host(void* memory, std::size_t bytes) noexcept;
  /// Gives back the pinned memory that nobody uses.
  void trim() noexcept;

  /// Whether the device copies from and to all of it directly, hence after the call that asks for it returns: the
  /// driver knows the memory (pinned, managed).
  bool is_pinned(const host_region& r) const;

  // What staging asks for.
  void* allocate_pinned(std::size_t bytes) override;
  void release_pinned(void* memory, std::size_t bytes) noexcept override;
  event make_event() override;
  void release_event(event e) noexcept override;
  void start(lane way, void* to, const void* from, std::size_t bytes) override;
  void mark(lane way, event e) override;
  bool is_done(event e) override;
  void wait(event e) override;
  void join(event e) override;

 private:
  struct kept_block {
    void* memory;
    std::size_t bytes;
  };

  template <class Call>
  void call(Call&& f, const char* what) {
    check(where_.api(), where_.bound(f), what);
  }
  CUstream stream_of(lane way) const { return way == lane::in ? in_ : out_; }
  void start_streams();
  /// The lane goes on when `work` is where it is now.
  void follow(lane way, CUstream work);
  /// Rows of memory at equal distances; false: not that, or too far apart.
  bool start_rows(lane way, std::byte* device, const host_region& host);
  std::unique_ptr<transfer> start_direct(lane way, const void* device, const host_region& host);

  owner& where_;
  std::once_flag started_;
  CUstream in_ = nullptr, out_ = nullptr;
  CUevent here_ = nullptr;  ///< a point of the device's own stream that a lane is to wait for
  std::mutex follow_guard_;
  staging_pieces pieces_;
  std::mutex kept_guard_;
  std::vector<kept_block> kept_;
  std::size_t kept_bytes_ = 0;
};

}  // namespace sinter::runtime::gpu
