#include "runtime/cuda/stream.hpp"

#include "runtime/error.hpp"

#include <fmt/format.h>

namespace sinter::runtime::gpu {

// ---- What streams take and give back ----

CUevent stream_supply::take_event() {
  {
    const std::lock_guard lock(guard_);
    if (!events_.empty()) {
      const CUevent e = events_.back();
      events_.pop_back();
      return e;
    }
  }
  CUevent made = nullptr;
  check(where_.api(), where_.bound([&] { return where_.api().cuEventCreate(&made, CU_EVENT_DISABLE_TIMING); }),
        "making a CUDA event");
  return made;
}

/// Streams that were told to wait for it keep what it meant then.
void stream_supply::give_event(CUevent e) noexcept {
  const std::lock_guard lock(guard_);
  events_.push_back(e);
}

CUdeviceptr stream_supply::take_record() {
  const std::lock_guard lock(guard_);
  if (records_.empty()) {
    constexpr std::size_t count = 64;
    const driver& cu = where_.api();
    CUdeviceptr memory = 0;
    const index_fault none[count];
    check(cu, where_.bound([&] { return cu.cuMemAlloc(&memory, sizeof none); }), "allocating records of bad indices");
    // Waited for, since kernels of any stream may come next.
    check(cu, where_.bound([&] { return cu.cuMemcpyHtoDAsync(memory, none, sizeof none, nullptr); }),
          "clearing records of bad indices");
    check(cu, cu.cuStreamSynchronize(nullptr), "clearing records of bad indices");
    for (std::size_t k = count; k-- > 0;) records_.push_back(memory + k * sizeof(index_fault));
  }
  const CUdeviceptr r = records_.back();
  records_.pop_back();
  return r;
}

void stream_supply::give_record(CUdeviceptr r) noexcept {
  const std::lock_guard lock(guard_);
  records_.push_back(r);
}

// ---- Moments ----

cuda_moment::cuda_moment(owner& where, stream_supply* supply) : where_(where), supply_(supply) {
  if (supply) event_ = supply->take_event();
  else
    check(where.api(), where.bound([&] { return where.api().cuEventCreate(&event_, CU_EVENT_DEFAULT); }),
          "making a CUDA event");
}

cuda_moment::~cuda_moment() {
  if (supply_) supply_->give_event(event_);
  else if (!ending()) where_.api().cuEventDestroy(event_);
}

void cuda_moment::record(stream& s) {
  const CUstream on = static_cast<cuda_stream&>(s).handle_for_work();
  check(where_.api(), where_.bound([&] { return where_.api().cuEventRecord(event_, on); }), "recording a CUDA event");
}

bool cuda_moment::has_come() {
  const CUresult r = where_.bound([&] { return where_.api().cuEventQuery(event_); });
  if (r == CUDA_ERROR_NOT_READY) return false;
  check(where_.api(), r, "asking for a CUDA event");
  return true;
}

void cuda_moment::await() {
  check(where_.api(), where_.bound([&] { return where_.api().cuEventSynchronize(event_); }),
        "waiting for a CUDA event");
}

double cuda_moment::milliseconds_since(moment& earlier) {
  const driver& cu = where_.api();
  if (cu.cuEventElapsedTime == nullptr) throw device_error("the CUDA driver can't tell the time between two events");
  float found = 0;
  const CUevent from = static_cast<cuda_moment&>(earlier).event_;
  check(cu, where_.bound([&] { return cu.cuEventElapsedTime(&found, from, event_); }),
        "asking for the time between two CUDA events");
  return found;
}

// ---- Streams ----

cuda_stream::cuda_stream(device& d, owner& where, stream_supply& supply, CUstream handle, bool is_own, int priority)
    : stream(d, priority), gpu_(where), supply_(supply), handle_(handle), is_own_(is_own) {
  record_ = supply.take_record();
}

/// A record that may have something in it is left alone: clearing it here would need the device.
cuda_stream::~cuda_stream() {
  if (!may_have_fault()) supply_.give_record(record_);
}

void cuda_stream::end() noexcept {
  if (!is_own_ || ending()) return;
  try {
    gpu_.bound([&] { return gpu_.api().cuStreamDestroy(handle_); });  // what it was asked is done nevertheless
  } catch (const std::exception&) {
    // The context can't be reached: its streams went with it.
  }
}

void cuda_stream::synchronize() {
  check(gpu_.api(), gpu_.bound([&] { return gpu_.api().cuStreamSynchronize(handle_for_work()); }),
        "waiting for a CUDA stream");
}

bool cuda_stream::is_idle() {
  const CUresult r = gpu_.bound([&] { return gpu_.api().cuStreamQuery(handle_for_work()); });
  if (r == CUDA_ERROR_NOT_READY) return false;
  check(gpu_.api(), r, "asking whether a CUDA stream is done");
  return true;
}

void cuda_stream::wait_for(moment& m) {
  const CUevent e = static_cast<cuda_moment&>(m).event();
  check(gpu_.api(), gpu_.bound([&] { return gpu_.api().cuStreamWaitEvent(handle_for_work(), e, 0); }),
        "having a CUDA stream wait for another");
}

void cuda_stream::check_usable() {
  if (is_own_) return;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  check(gpu_.api(), gpu_.bound([&] { return gpu_.api().cuStreamIsCapturing(handle_, &status); }),
        "looking at another library's CUDA stream");
  if (status == CU_STREAM_CAPTURE_STATUS_NONE) return;
  throw device_error(
      fmt::format("{}: the current stream is being captured into a CUDA graph, which can't hold evaluations: they "
                  "allocate memory and remember where it was used. Evaluate before the capture begins, or on another "
                  "stream",
                  gpu_.device_name()));
}

index_fault* cuda_stream::fault_address() {
  may_have_fault_.store(true, std::memory_order_release);
  return reinterpret_cast<index_fault*>(record_);
}

bool cuda_stream::is_done() {
  if (!try_to_hold()) return is_over();
  const struct let_go {
    stream& held;
    ~let_go() { held.let_go(); }
  } at_the_end{*this};
  return is_idle();
}

/// The record stays on the device, where kernels claim it with a plain atomic; it is fetched only after launches that
/// were given it, so that other waits cost nothing more. Another stream's kernels may run meanwhile: a record is there
/// once its number says so, and its number alone is cleared, since the rest is written before the next one is there.
bool cuda_stream::take_fault(index_fault& out) {
  if (!may_have_fault()) return false;
  const std::lock_guard lock(fault_guard_);  // of several takers, one gets it
  if (!may_have_fault_.exchange(false, std::memory_order_acq_rel)) return false;
  try {
    const bool was_done = !where().has_streams() || is_done();
    where().copy_to_host(&out, reinterpret_cast<const void*>(record_), sizeof out);
    if (out.set != 2) {
      if (!was_done) may_have_fault_.store(true, std::memory_order_release);  // kernels that run may yet leave one
      return false;
    }
    const std::int32_t none = 0;
    where().copy_from_host(reinterpret_cast<void*>(record_), &none, sizeof none);
  } catch (...) {
    may_have_fault_.store(true, std::memory_order_release);
    throw;
  }
  return true;
}

// ---- Handles ----

CUstream create_stream(owner& where, int priority) {
  CUstream made = nullptr;
  check(where.api(), where.bound([&] {
    return where.api().cuStreamCreateWithPriority(&made, CU_STREAM_NON_BLOCKING, priority);
  }),
        "making a CUDA stream");
  return made;
}

void check_foreign_stream(owner& where, CUstream handle, CUcontext context) {
  if (handle == nullptr || handle == CU_STREAM_PER_THREAD)
    throw device_error(fmt::format("{}: {} names no stream of its own: it can't be wrapped", where.device_name(),
                                   handle == nullptr ? "a null handle" : "CU_STREAM_PER_THREAD"));
  CUcontext found = nullptr;
  check(where.api(), where.bound([&] { return where.api().cuStreamGetCtx(handle, &found); }),
        "looking at another library's CUDA stream");
  if (found != context)
    throw device_error(
        fmt::format("{}: the stream to be wrapped is of another device or context", where.device_name()));
}

int priority_of(owner& where, CUstream handle) {
  int priority = 0;
  check(where.api(), where.bound([&] { return where.api().cuStreamGetPriority(handle, &priority); }),
        "asking for the priority of a CUDA stream");
  return priority;
}

}  // namespace sinter::runtime::gpu
