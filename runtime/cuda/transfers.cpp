#include "runtime/cuda/transfers.hpp"

#include "runtime/error.hpp"
#include "runtime/host/blocks.hpp"
#include "runtime/host/machine.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace sinter::runtime::gpu {

namespace {

CUdeviceptr address(const void* p) { return reinterpret_cast<CUdeviceptr>(p); }
CUevent native(copy_engine::event e) { return static_cast<CUevent>(e); }

/// A copy that the host has nothing to do for. Until it is done the device uses the host's memory, if `reads_host`, and
/// its own, unless join() has ordered what comes after.
class lane_copy final : public transfer {
 public:
  lane_copy(transfers& engine, copy_engine::lane way, bool reads_host) : engine_(engine), reads_host_(reads_host) {
    done_ = engine_.make_event();
    try {
      engine_.mark(way, done_);
    } catch (...) {
      engine_.release_event(done_);
      throw;
    }
  }
  ~lane_copy() override {
    try {
      if ((reads_host_ || !joined_) && !ending()) engine_.wait(done_);
    } catch (const error&) {
      // The device is lost, and uses nothing any more.
    }
    engine_.release_event(done_);
  }
  bool is_done() override { return !reads_host_ || engine_.is_done(done_); }
  void wait() override {
    if (reads_host_) engine_.wait(done_);
  }
  void join() override {
    engine_.join(done_);
    joined_ = true;
  }

 private:
  transfers& engine_;
  copy_engine::event done_;
  const bool reads_host_;
  bool joined_ = false;
};

/// The addresses of the first byte and of the last.
std::pair<const std::byte*, const std::byte*> ends_of(const host_region& r) {
  const std::byte *first = r.data, *last = r.data + (r.item - 1);
  for (int k = 0; k < r.rank; ++k) (r.strides[k] < 0 ? first : last) += (r.extents[k] - 1) * r.strides[k];
  return {first, last};
}

}  // namespace

void transfers::start_streams() {
  std::call_once(started_, [this] {
    call([&] { return where_.api().cuEventCreate(&here_, CU_EVENT_DISABLE_TIMING); }, "making a CUDA event");
    call([&] { return where_.api().cuStreamCreateWithPriority(&in_, CU_STREAM_NON_BLOCKING, 0); },
         "making a CUDA stream");
    call([&] { return where_.api().cuStreamCreateWithPriority(&out_, CU_STREAM_NON_BLOCKING, 0); },
         "making a CUDA stream");
  });
}

void transfers::follow(lane way, CUstream work) {
  start_streams();
  const std::lock_guard lock(follow_guard_);  // the event stands for one point at a time
  call([&] { return where_.api().cuEventRecord(here_, work); }, "marking a place of a CUDA stream");
  call([&] { return where_.api().cuStreamWaitEvent(stream_of(way), here_, 0); }, "ordering CUDA streams");
}

bool transfers::is_pinned(const host_region& r) const {
  const auto known = [&](const std::byte* p) {
    unsigned int type = 0;  // stays 0 for pageable memory
    CUpointer_attribute wanted = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    void* found = &type;
    return where_.api().cuPointerGetAttributes(1, &wanted, &found, address(p)) == CUDA_SUCCESS && type != 0;
  };
  where_.bind();
  const auto [first, last] = ends_of(r);
  return known(first) && known(last);
}

bool transfers::start_rows(lane way, std::byte* device, const host_region& host) {
  if (host.rank != 2 || host.strides[1] != host.item) return false;
  const std::int64_t width = host.extents[1] * host.item, pitch = host.strides[0];
  if (pitch < width || pitch > where_.attribute(CU_DEVICE_ATTRIBUTE_MAX_PITCH)) return false;
  CUDA_MEMCPY2D rows{};
  rows.WidthInBytes = static_cast<std::size_t>(width);
  rows.Height = static_cast<std::size_t>(host.extents[0]);
  if (way == lane::in) {
    rows.srcMemoryType = CU_MEMORYTYPE_HOST;
    rows.srcHost = host.data;
    rows.srcPitch = static_cast<std::size_t>(pitch);
    rows.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    rows.dstDevice = address(device);
    rows.dstPitch = static_cast<std::size_t>(width);
  } else {
    rows.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    rows.srcDevice = address(device);
    rows.srcPitch = static_cast<std::size_t>(width);
    rows.dstMemoryType = CU_MEMORYTYPE_HOST;
    rows.dstHost = host.data;
    rows.dstPitch = static_cast<std::size_t>(pitch);
  }
  call([&] { return where_.api().cuMemcpy2DAsync(&rows, stream_of(way)); }, "copying rows from or to the CUDA device");
  return true;
}

/// Null when it can't be done without staging.
std::unique_ptr<transfer> transfers::start_direct(lane way, const void* device, const host_region& host) {
  if (!is_pinned(host)) return nullptr;
  auto* const memory = static_cast<std::byte*>(const_cast<void*>(device));
  if (host.is_contiguous()) {
    if (way == lane::in) start(way, memory, host.data, host.bytes());
    else start(way, host.data, memory, host.bytes());
  } else if (!start_rows(way, memory, host)) {
    return nullptr;
  }
  return std::make_unique<lane_copy>(*this, way, true);
}

std::unique_ptr<transfer> transfers::start_in(CUstream work, void* to, const host_region& from) {
  if (from.size() == 0) return nullptr;
  follow(lane::in, work);
  if (auto direct = start_direct(lane::in, to, from)) return direct;
  pieces_.copy_in(to, from);
  return std::make_unique<lane_copy>(*this, lane::in, false);
}

std::unique_ptr<transfer> transfers::start_out(CUstream work, const host_region& to, const void* from) {
  if (to.size() == 0) return nullptr;
  follow(lane::out, work);
  if (auto direct = start_direct(lane::out, from, to)) return direct;
  return pieces_.start_copy_out(to, from);
}

// ---- Pinned memory ----

void* transfers::allocate_pinned(std::size_t bytes) {
  void* memory = nullptr;
  call([&] { return where_.api().cuMemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE); },
       "allocating pinned host memory");
  return memory;
}

void transfers::release_pinned(void* memory, std::size_t) noexcept {
  if (ending()) return;
  try {
    where_.bound([&] { return where_.api().cuMemFreeHost(memory); });
  } catch (const error&) {
    // The context can't be reached: its memory went with it.
  }
}

void* transfers::allocate_host(std::size_t bytes) {
  const std::size_t size = block_size(bytes);
  {
    const std::lock_guard lock(kept_guard_);
    const auto found = std::ranges::find(kept_, size, &kept_block::bytes);
    if (found != kept_.end()) {
      void* const memory = found->memory;
      kept_.erase(found);
      kept_bytes_ -= size;
      return memory;
    }
  }
  try {
    return allocate_pinned(size);
  } catch (const out_of_memory&) {
    trim();
    return allocate_pinned(size);
  }
}

void transfers::release_host(void* memory, std::size_t bytes) noexcept {
  if (ending()) return;
  const std::size_t size = block_size(bytes);
  try {
    static const std::size_t most_kept = memory_limit() / 16;
    const std::lock_guard lock(kept_guard_);
    if (kept_bytes_ + size <= most_kept) {
      kept_.push_back({memory, size});
      kept_bytes_ += size;
      return;
    }
  } catch (const std::bad_alloc&) {
    // Then it isn't kept.
  }
  release_pinned(memory, size);
}

void transfers::trim() noexcept {
  std::vector<kept_block> all;
  {
    const std::lock_guard lock(kept_guard_);
    all.swap(kept_);
    kept_bytes_ = 0;
  }
  for (const kept_block& b : all) release_pinned(b.memory, b.bytes);
  pieces_.trim();
}

// ---- Streams and events ----

copy_engine::event transfers::make_event() {
  CUevent e = nullptr;
  call([&] { return where_.api().cuEventCreate(&e, CU_EVENT_DISABLE_TIMING); }, "making a CUDA event");
  return e;
}

void transfers::release_event(event e) noexcept {
  if (ending()) return;
  try {
    where_.bound([&] { return where_.api().cuEventDestroy(native(e)); });
  } catch (const error&) {
    // The context can't be reached: its events went with it.
  }
}

void transfers::start(lane way, void* to, const void* from, std::size_t bytes) {
  if (way == lane::in)
    call([&] { return where_.api().cuMemcpyHtoDAsync(address(to), from, bytes, in_); }, "copying to the CUDA device");
  else
    call([&] { return where_.api().cuMemcpyDtoHAsync(to, address(from), bytes, out_); },
         "copying from the CUDA device");
}

void transfers::mark(lane way, event e) {
  call([&] { return where_.api().cuEventRecord(native(e), stream_of(way)); }, "marking a place of a CUDA stream");
}

bool transfers::is_done(event e) {
  const CUresult result = where_.bound([&] { return where_.api().cuEventQuery(native(e)); });
  if (result == CUDA_ERROR_NOT_READY) return false;
  check(where_.api(), result, "asking for the state of a copy");
  return true;
}

void transfers::wait(event e) {
  call([&] { return where_.api().cuEventSynchronize(native(e)); }, "waiting for a copy");
}

void transfers::join(event e) {
  call([&] { return where_.api().cuStreamWaitEvent(where_.current_handle(), native(e), 0); }, "ordering CUDA streams");
}

}  // namespace sinter::runtime::gpu
