// The seam between the library and a machine: one `device` per GPU, one for the host's processors.
// Work on a device goes to the asking thread's current stream (runtime/stream.hpp), which runs it in the order it was
// asked for.
#pragma once

#include "counters.hpp"
#include "types.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace sinter::runtime {

enum class device_kind : std::uint8_t { cpu, cuda };

/// How many threads run a kernel and what each takes. The cpu device uses `rows`, `inner` and `cost`, cuda the grid.
struct launch_shape {
  std::uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  std::uint32_t shared_bytes = 0;
  std::int64_t rows = 1, inner = 1;  ///< the loop domain: outer iterations and elements of the inner loop
  int cost = 1;                      ///< operations an element takes, to decide how many threads pay
  /// cuda, of a grid of one axis: no more blocks than run at the same time, which stride over what is more; and whether
  /// they wait for each other.
  bool resident = false, cooperative = false;
};

/// A function ready to launch on its device. Destroying it unloads its module when no launch is pending.
class function {
 public:
  virtual ~function() = default;
};

/// The first bad index a kernel met, written by the kernel. Layout shared with generated code (jit/device/prelude.cuh).
struct index_fault {
  std::int32_t set = 0;       ///< 0: none; 1: being written; 2: there
  std::int32_t ordinal = 0;   ///< which check of the kernel
  std::int64_t launch = 0;    ///< which launch
  std::int64_t index = 0;     ///< the offending index
  std::int64_t size = 0;      ///< the extent it had to fit
  std::int64_t position = 0;  ///< linear position in the loop domain
};

/// Launches that a device starts together, one after another, as often as asked.
class launch_list {
 public:
  virtual ~launch_list() = default;
  /// As device::launch. Functions and memory must stay until the list has run for the last time.
  virtual void add(function& f, std::span<void* const> arguments, const launch_shape& shape) = 0;
  virtual void start() = 0;
};

class module;            // runtime/module.hpp
class stream;            // runtime/stream.hpp
class moment;            // likewise
struct processor_facts;  // likewise
struct host_region;      // runtime/transfer.hpp
class transfer;          // likewise

/// What arrays take of a device, in bytes (runtime/memory.hpp keeps the account).
struct memory_account {
  std::atomic<std::size_t> in_use{0}, peak{0};
  std::atomic<std::size_t> limit{0};  ///< of in_use, and of what is cached beside it; 0: none
};

/// What a device's memory is like, in bytes.
struct memory_state {
  std::size_t cached = 0;           ///< released by arrays, kept for the next ones
  std::size_t free = 0, total = 0;  ///< of the device: for everybody on it
};

class device {
 public:
  virtual ~device();
  virtual device_kind kind() const = 0;
  virtual int ordinal() const = 0;
  virtual std::string name() const = 0;    ///< "cpu", "cuda:0"
  virtual std::string target() const = 0;  ///< what compilers aim at: "sm_90", or the host's own

  /// Memory ordered with the device's work; 256-byte aligned. Throws out_of_memory. `bytes` > 0.
  virtual void* allocate(std::size_t bytes) = 0;
  /// Given back when the current stream is done with what it was asked so far.
  virtual void release(void* memory, std::size_t bytes) noexcept = 0;

  /// `from` is free to change on return.
  virtual void copy_from_host(void* to, const void* from, std::size_t bytes) = 0;
  /// Waits for the current stream; the caller then looks for index faults.
  virtual void copy_to_host(void* to, const void* from, std::size_t bytes) = 0;
  /// Between memory of this device that doesn't overlap; `bytes` > 0.
  virtual void copy_on_device(void* to, const void* from, std::size_t bytes) = 0;
  /// Waits for all work asked for so far, of all streams.
  virtual void synchronize() = 0;

  /// Loads a compiled image (cubin or PTX; shared object) and finds `entry` in it.
  virtual std::unique_ptr<function> load(std::span<const std::byte> image, const std::string& entry) = 0;
  /// Starts `f`; `arguments[k]` points at the k-th argument's bytes, read before this returns.
  virtual void launch(function& f, std::span<void* const> arguments, const launch_shape& shape) = 0;

  /// Loads an image of a user's own code. device_error where there are none: the cpu device emulates them (jit/raw).
  virtual std::unique_ptr<module> load_module(std::span<const std::byte> image, const std::string& name) = 0;
  virtual processor_facts processors() = 0;
  /// The driver's own name of the stream that work is ordered by, for libraries that start work themselves; the
  /// device's context is the calling thread's then. Null on the cpu device, whose work is done when it returns.
  virtual void* native_stream() { return nullptr; }

  /// An empty list, or null where starting launches one by one costs no more.
  virtual std::unique_ptr<launch_list> make_launch_list() { return nullptr; }

  /// Where a kernel about to be launched may write its first bad index; an address of the device's.
  index_fault* fault_address();
  /// After a wait for the current stream: takes out a fault of its kernels or of those that it waited for.
  bool take_fault(index_fault& out);
  /// After synchronize(): takes out a fault of any stream.
  bool take_fault_of_any(index_fault& out);

  /// What is current in threads that chose nothing else; it never ends.
  virtual stream& default_stream() = 0;
  /// One more, held once. Lower numbers of `priority` go first; what the device doesn't have becomes the nearest.
  stream& make_stream(int priority);
  /// Another library's, which outlives its last use, likewise. device_error where `native` is no stream of this device.
  stream& wrap_stream(void* native);
  /// `timed`: to measure with.
  virtual std::unique_ptr<moment> make_moment(bool timed) = 0;
  /// Whether there ever was another stream than default_stream().
  bool has_streams() const noexcept { return has_streams_.load(std::memory_order_relaxed); }
  /// Where memory that several streams used is released, so that none of them waits for the others. There once
  /// has_streams().
  stream& releasing_stream();

  // What follows has answers for devices whose memory the host reaches (runtime/transfer.cpp).

  /// Starts copying between memory of this device, C order, and host memory laid out in any way: after the work asked
  /// for so far, beside the work asked for later. Device memory must stay until the copy is done; null: it is.
  virtual std::unique_ptr<transfer> start_copy_in(void* to, const host_region& from);
  virtual std::unique_ptr<transfer> start_copy_out(const host_region& to, const void* from);
  /// Host memory that copies are fastest from and to (pinned). Throws out_of_memory. `bytes` > 0.
  virtual void* allocate_host(std::size_t bytes);
  virtual void release_host(void* memory, std::size_t bytes) noexcept;

  virtual memory_state memory() { return {}; }
  /// Gives cached memory back to the system until at most `keep` bytes are cached.
  virtual void trim(std::size_t /*keep*/) {}
  /// The same of all host memory that is kept for copies.
  virtual void trim_host() noexcept {}

  memory_account account;

 protected:
  device();
  virtual std::unique_ptr<stream> new_stream(int priority) = 0;
  virtual std::unique_ptr<stream> foreign_stream(void* native) = 0;
  /// Waits for all streams but the default one, and forgets those that ended.
  void synchronize_streams();

 private:
  struct streams;
  stream& enter(std::unique_ptr<stream> s);

  std::atomic<bool> has_streams_{false};
  const std::unique_ptr<streams> streams_;
};

/// The cpu device; always present.
device& cpu();
/// The number of CUDA devices; 0 without a driver, or when the library was built without CUDA headers.
int cuda_count();
/// Throws device_error, with the reason, when there is no such device.
device& cuda(int ordinal = 0);
/// Why there are no CUDA devices; empty when there are.
std::string cuda_absence();

/// Where new arrays live: set_default_device, else SINTER_DEVICE, else cuda when present, else cpu.
device& default_device();
void set_default_device(device& d);

/// Host signature of kernels compiled for the cpu device: rows [row_begin, row_end), elements [begin, end) of each.
using host_kernel = void (*)(void* const* arguments, std::int64_t row_begin, std::int64_t row_end, std::int64_t begin,
                             std::int64_t end);
/// Runs `body(context, ...)` over the domain of `shape`, split over the pool's threads; returns when all of it is done.
/// Any thread may call it, a body too. Bodies must not throw.
void parallel_for(const launch_shape& shape, void* context,
                  void (*body)(void* context, std::int64_t row_begin, std::int64_t row_end, std::int64_t begin,
                               std::int64_t end));
template <class Body>
void parallel_for(const launch_shape& shape, Body&& body) {
  using plain = std::remove_reference_t<Body>;
  parallel_for(shape, const_cast<void*>(static_cast<const void*>(&body)),
               [](void* context, std::int64_t r0, std::int64_t r1, std::int64_t i0, std::int64_t i1) {
                 (*static_cast<plain*>(context))(r0, r1, i0, i1);
               });
}

}  // namespace sinter::runtime
