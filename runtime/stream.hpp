// Streams: work of one device in the order it was asked for, while that of several streams overlaps. Every thread has
// a current stream for each device, which is where all that it asks of the device goes.
//
// Memory carries the order from one stream to another: a buffer knows which streams used it, and up to where in their
// work (stream_users). Work about to be asked for says what it uses (memory_use); its stream then waits for those that
// used the same before, unless it knows already that they are done. Where a stream is in its work is told by points:
// uses are noted under the number of the point that is open, which becomes an event of the device's when somebody
// waits for it, or when an evaluation ends. All of that begins with a device's second stream: before, nothing is noted.
#pragma once

#include "runtime/memory.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace sinter::runtime {

/// What a stream was asked up to some time. Once recorded, any thread may ask.
class moment {
 public:
  virtual ~moment() = default;
  /// Now: all that `s` was asked so far. `s` is a stream of the moment's device, and has not ended.
  virtual void record(stream& s) = 0;
  /// Of a recorded one: whether all of it is done.
  virtual bool has_come() = 0;
  /// The host waits.
  virtual void await() = 0;
  /// Between two recorded ones of a device, made to be timed, that have come.
  virtual double milliseconds_since(moment& earlier) = 0;
};

/// Memory of a stream that its launches use by turns (jit/scratch.hpp). It is released when the stream ends.
struct stream_scratch {
  struct block {
    void* memory = nullptr;
    std::size_t bytes = 0;
  };
  std::mutex guard;
  block workspace, tickets;
  std::vector<block> outgrown;  ///< lists of launches may still have their addresses
};

/// Memory holds on to the streams that used it, so that they may outlive their end.
class stream {
 public:
  stream(device& where, int priority) : where_(where), priority_(priority) {}
  virtual ~stream() = default;
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;

  device& where() const noexcept { return where_; }
  /// What it was asked for with: lower numbers go first.
  int priority() const noexcept { return priority_; }
  /// The device's own handle, null where there is none.
  virtual void* native() const noexcept = 0;
  /// Waits for all that was asked so far.
  virtual void synchronize() = 0;
  /// Whether all of it is done.
  virtual bool is_idle() = 0;
  /// What is asked from now on begins when `m` has come: a moment of the same device.
  virtual void wait_for(moment& m) = 0;
  /// device_error where nothing may be asked of it now: another program's, that records a graph.
  virtual void check_usable() {}

  /// Where a kernel about to be asked for may write its first bad index; an address of the device's.
  virtual index_fault* fault_address() = 0;
  /// Takes the fault out, if a kernel that is done has left one. Kernels may run.
  virtual bool take_fault(index_fault& out) = 0;
  /// Whether a kernel was given fault_address() since the last look.
  virtual bool may_have_fault() = 0;

  stream_scratch& scratch() noexcept { return scratch_; }

  /// Held while it is the device's, somebody's handle, or a thread's current one; it ends when nobody does.
  void hold() noexcept { handles_.fetch_add(1, std::memory_order_relaxed); }
  void let_go() noexcept;
  /// False when it has ended.
  bool try_to_hold() noexcept;
  bool has_ended() const noexcept { return ended_.load(std::memory_order_acquire); }

  /// The number of the open point, under which uses are to be noted now that they were asked for.
  std::uint64_t note_use() noexcept;
  /// Notes the uses so far as a point of their own, so that who waits for them waits for nothing later.
  void close_point();
  /// What is asked from now on begins when `other` is done with what was noted under `point`.
  void wait_for(stream& other, std::uint64_t point);
  /// In the place of a point's number: all that the stream was asked so far.
  static constexpr std::uint64_t everything = ~std::uint64_t{0};
  /// From now on faults of `other` are found by who waits for this one.
  void inherit_faults(stream& other);
  /// How often the device was told to wait for another stream.
  std::uint64_t waits() const noexcept { return waits_.load(std::memory_order_relaxed); }
  /// A fault of its kernels, or of those that it waited for.
  bool take_any_fault(index_fault& out);
  /// Whether it waits for whoever waits for `point` of `other` already.
  bool knows(const stream& other, std::uint64_t point);
  /// Whether it has ended and all that it was asked is done.
  bool is_over();
  /// Nobody looks here for faults of others any more.
  void forget_upstream() noexcept;
  /// Waits for that.
  void await_end();

  reference_count references{};

 protected:
  /// Nothing will be asked of it any more.
  virtual void end() noexcept {}

 private:
  struct point {
    std::uint64_t number;
    std::shared_ptr<moment> at;
  };
  struct known_point {
    reference<stream> of;
    std::uint64_t number;  ///< points up to it are waited for
  };
  static constexpr std::size_t most_points = 64;  ///< who waits for older ones waits for the oldest kept

  void close_point_locked();
  point point_of(std::uint64_t number);
  void release_scratch() noexcept;

  device& where_;
  const int priority_;
  std::atomic<std::uint32_t> handles_{0};
  std::atomic<bool> ended_{false};
  std::atomic<std::uint64_t> waits_{0};

  std::mutex points_guard_;  ///< taken last
  std::uint64_t open_ = 1;
  bool open_has_uses_ = false;
  std::vector<point> points_;  ///< closed, by number

  std::mutex known_guard_;
  std::vector<known_point> known_;
  std::vector<reference<stream>> upstream_;  ///< all that it waited for, also indirectly

  stream_scratch scratch_;
};

inline void retain(stream* s) noexcept { s->references.add(); }
void release(stream* s) noexcept;

/// The calling thread's current stream of `d`: that of its innermost stream_scope, else d.default_stream(). All that a
/// device is asked for (memory, copies, launches) goes there.
stream& current_stream(device& d);

/// Makes a stream the calling thread's current one of its device, until destroyed by the same thread. Scopes nest.
class stream_scope {
 public:
  explicit stream_scope(stream& s) noexcept;
  ~stream_scope();
  stream_scope(const stream_scope&) = delete;
  stream_scope& operator=(const stream_scope&) = delete;

  stream& current() const noexcept { return current_; }
  const stream_scope* outer() const noexcept { return outer_; }

 private:
  stream& current_;
  const stream_scope* outer_;
};
/// The innermost; null: every device's default stream is current.
extern constinit thread_local const stream_scope* this_threads_stream;

/// Which streams used a buffer, and the number of the last point each used it under; 0: it didn't.
struct stream_users {
  struct use {
    reference<stream> by;
    std::uint64_t read, written;
  };
  std::vector<use> all;
};

/// The memory that work of the current stream of a device uses: first what it uses, which has the stream wait; then
/// the work is asked for; then started(), as often as it is. Costs a branch where the device has one stream.
class memory_use {
 public:
  explicit memory_use(device& d) {
    if (d.has_streams()) [[unlikely]]
      stream_ = reference<stream>::share(&current_stream(d));
  }
  bool is_noted() const noexcept { return static_cast<bool>(stream_); }
  /// `b` is held by the caller until started().
  void reads(buffer& b) {
    if (is_noted()) add(b, false);
  }
  void writes(buffer& b) {
    if (is_noted()) add(b, true);
  }
  /// The work, or once more the same, was asked for.
  void started() noexcept {
    if (is_noted()) note();
  }
  /// The same, and nothing that is asked later delays who waits for it.
  void finished() noexcept {
    if (is_noted()) finish();
  }

 private:
  struct used {
    buffer* memory;
    bool written;
  };
  void add(buffer& b, bool writes);
  void note() noexcept;
  void finish() noexcept;

  reference<stream> stream_;  ///< null: the device has one stream
  std::vector<used> all_;
};

/// For memory about to be allocated, and once it is: that the current stream has it.
std::unique_ptr<stream_users> users_of_new_memory(device& d);
void note_new_memory(buffer& b, std::unique_ptr<stream_users> uses) noexcept;
/// Releases the memory of a buffer that is no part when all streams that used it are done.
void release_in_order(buffer& b) noexcept;

/// Copies that keep the order of streams; `bytes` may be 0. Otherwise as those of device.
void copy_from_host(buffer& to, const void* from, std::size_t bytes);
void copy_to_host(void* to, buffer& from, std::size_t offset, std::size_t bytes);
void copy_on_device(buffer& to, buffer& from, std::size_t bytes);

}  // namespace sinter::runtime
