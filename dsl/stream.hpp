// Streams: work of one device in the order it was asked for, while that of different streams may overlap.
//
//   stream copy, work;
//   { scoped_stream on(copy); next = array(chunk).to_device(); }
//   { scoped_stream on(work); eval(out = f(next)); }             // waits for the copy by itself
//
// Each thread has a current stream of each device: that of its innermost scoped_stream, else the device's default
// stream. Everything that runs goes to the stream that is current where it is asked to run (eval, a read, a copy of
// host memory, a raw kernel): recording asks for nothing, so an expression may be recorded under one stream and
// evaluated under another. Arrays remember which streams used them: what needs a result of another stream waits for it
// on the device (the host doesn't), and memory is given to something else only when all streams that used it are done.
//
// On the cpu device work is done when a call returns: streams keep their meaning, but nothing overlaps.
//
// Threads: arrays are values. Different threads may record with, evaluate and read arrays that share values or memory;
// one array variable must not be assigned to, or written into, by one thread while another uses it. Threads without
// scoped_stream share the default stream. A stream may be current in several threads; their work then is one queue. An
// event is used by one thread at a time.
#pragma once

#include "device.hpp"

namespace sinter::runtime { class stream; }

namespace sinter {

class event;

struct stream_options {
  int priority = 0;  ///< lower goes first where work of several streams is ready; each device has a few steps
};

/// A handle of a stream; copies are the same stream. It ends with its last handle: what it was asked is done
/// nevertheless, and arrays that it made stay good.
class stream {
 public:
  /// A new stream of the default device. Throws device_error.
  explicit stream(const stream_options& how = {}, place at = place::here());
  explicit stream(const device& d, const stream_options& how = {}, place at = place::here());
  /// A stream of another library: `native` is the CUstream (cudaStream_t). It must outlive the last handle, and is not
  /// destroyed then. Throws device_error when it is null, of another device, or `d` has no such streams (cpu).
  static stream wrap(const device& d, void* native, place at = place::here());

  stream(const stream& other) noexcept;
  stream& operator=(const stream& other) noexcept;
  ~stream();

  sinter::device device() const;
  int priority() const;
  /// The CUstream; null on the cpu device.
  void* native() const;

  /// Whether all that it was asked so far is done. Doesn't wait.
  bool query(place at = place::here()) const;
  /// Waits for that. Throws index_error when a kernel of it, or of a stream that it waited for, met a bad index.
  void synchronize(place at = place::here()) const;
  /// What it is asked from now on begins after `e`, which must be recorded. For work that the library knows nothing of:
  /// arrays need no events. When `e` is of another device the host waits.
  void wait(const event& e, place at = place::here()) const;

  friend bool operator==(const stream&, const stream&) = default;
  runtime::stream& impl() const { return *impl_; }  ///< for the library
  static stream adopt(runtime::stream& held) { return stream(&held); }

 private:
  explicit stream(runtime::stream* held) noexcept : impl_(held) {}

  runtime::stream* impl_;  // held
};

/// The calling thread's, of the default device or of `d`.
stream current_stream();
stream current_stream(const device& d);
/// What is current where no scoped_stream is.
stream default_stream();
stream default_stream(const device& d);

/// Makes a stream the calling thread's current one of its device until the end of the scope, however it ends. Nests;
/// streams of different devices don't hide each other. To be destroyed by the thread that made it.
class scoped_stream {
 public:
  /// Throws device_error when another library is capturing the stream into a graph.
  explicit scoped_stream(const stream& s, place at = place::here());
  ~scoped_stream();
  scoped_stream(const scoped_stream&) = delete;
  scoped_stream& operator=(const scoped_stream&) = delete;

 private:
  alignas(void*) unsigned char scope_[2 * sizeof(void*)];
};

/// A point in a stream's work, to wait for or to measure with.
class event {
 public:
  event() noexcept = default;
  event(event&& other) noexcept;
  event& operator=(event&& other) noexcept;
  ~event();

  /// All that the stream was asked so far; what is recorded but not evaluated is no part of it. Replaces what was
  /// recorded before. Without a stream: the current one of the default device.
  void record(place at = place::here());
  void record(const stream& s, place at = place::here());
  bool is_recorded() const { return state_ != nullptr; }

  /// Whether all of it is done. Throws device_error when it isn't recorded; the next ones, too.
  bool query(place at = place::here()) const;
  /// Waits for that; looks for no bad indices (stream::synchronize does).
  void synchronize(place at = place::here()) const;
  /// The time from `start` to this one, in milliseconds; waits for both. On CUDA devices the device's clock, to about
  /// half a microsecond; on the cpu device the host's. Throws device_error when they are of different devices.
  double milliseconds_since(const event& start, place at = place::here()) const;

 private:
  friend class stream;
  struct state;
  const state& recorded(const char* what, const place& at) const;

  state* state_ = nullptr;
};

}  // namespace sinter
