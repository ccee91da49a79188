// Copies between arrays and host memory laid out in any way, with and without waiting, and a pipeline that copies in,
// computes and copies out at the same time. On the cpu device every copy is done when its call returns.
#pragma once

#include "array.hpp"
#include "device.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace sinter {

/// Memory of the program seen as an array that is read: where its first element is (all indices 0), the extents, and
/// the step along each axis in elements, which may be negative or 0. Refers to the memory, and copies nothing.
class const_host_memory {
 public:
  /// C order.
  template <element T>
  const_host_memory(const T* data, const shape& extents, place at = place::here())
      : const_host_memory(data, dtype_of<T>, extents, at) {}
  /// A step for each axis: `{p, {n, m}, {1, n}}` is a matrix kept by columns. Throws shape_error for another number of
  /// steps than axes.
  template <element T>
  const_host_memory(const T* data, const shape& extents, std::initializer_list<std::int64_t> steps,
                  place at = place::here())
      : const_host_memory(data, dtype_of<T>, extents, std::span<const std::int64_t>(steps.begin(), steps.size()), at) {}
  template <element T>
  const_host_memory(const T* data, const shape& extents, std::span<const std::int64_t> steps, place at = place::here())
      : const_host_memory(data, dtype_of<T>, extents, steps, at) {}
  /// [n]
  template <element T>
  const_host_memory(std::span<T> values, place at = place::here())
      : const_host_memory(values.data(), shape{static_cast<std::int64_t>(values.size())}, at) {}
  template <element T>
    requires(!std::is_same_v<T, bool>)
  const_host_memory(const std::vector<T>& values, place at = place::here())
      : const_host_memory(std::span<const T>(values), at) {}
  /// `extents`, C order. Throws shape_error when that isn't their number.
  template <element T>
  const_host_memory(std::span<T> values, const shape& extents, place at = place::here())
      : const_host_memory(checked(values.data(), values.size(), extents, at), dtype_of<T>, extents, at) {}
  template <element T>
    requires(!std::is_same_v<T, bool>)
  const_host_memory(const std::vector<T>& values, const shape& extents, place at = place::here())
      : const_host_memory(std::span<const T>(values), extents, at) {}

  const_host_memory(const void* data, dtype type, const shape& extents, place at);
  const_host_memory(const void* data, dtype type, const shape& extents, std::span<const std::int64_t> steps, place at);

  const void* data() const { return data_; }
  dtype type() const { return type_; }
  const shape& extents() const { return extents_; }
  std::int64_t step(int axis) const { return steps_[axis]; }
  /// Rows [first, last) of the leading axis. `first` <= `last` <= extents()[0].
  const_host_memory rows(std::int64_t first, std::int64_t last) const;

 protected:
  static const void* checked(const void* data, std::size_t count, const shape& extents, const place& at);

 private:
  const void* data_;
  dtype type_;
  shape extents_;
  std::int64_t steps_[max_rank];
};

/// The same of memory that is written. Elements must not share memory: shape_error for an axis of step 0.
class host_memory : public const_host_memory {
 public:
  template <element T>
    requires(!std::is_const_v<T>)
  host_memory(T* data, const shape& extents, place at = place::here()) : const_host_memory(data, extents, at) {}
  template <element T>
    requires(!std::is_const_v<T>)
  host_memory(T* data, const shape& extents, std::initializer_list<std::int64_t> steps, place at = place::here())
      : const_host_memory(data, extents, steps, at) { check_steps(at); }
  template <element T>
    requires(!std::is_const_v<T>)
  host_memory(T* data, const shape& extents, std::span<const std::int64_t> steps, place at = place::here())
      : const_host_memory(data, extents, steps, at) { check_steps(at); }
  template <element T>
    requires(!std::is_const_v<T>)
  host_memory(std::span<T> values, place at = place::here()) : const_host_memory(values, at) {}
  template <element T>
    requires(!std::is_same_v<T, bool>)
  host_memory(std::vector<T>& values, place at = place::here()) : const_host_memory(values, at) {}
  template <element T>
    requires(!std::is_const_v<T>)
  host_memory(std::span<T> values, const shape& extents, place at = place::here())
      : const_host_memory(values, extents, at) {}
  template <element T>
    requires(!std::is_same_v<T, bool>)
  host_memory(std::vector<T>& values, const shape& extents, place at = place::here())
      : const_host_memory(values, extents, at) {}

  host_memory rows(std::int64_t first, std::int64_t last) const {
    return host_memory(const_host_memory::rows(first, last));
  }

 private:
  explicit host_memory(const const_host_memory& rows) : const_host_memory(rows) {}
  void check_steps(const place& at) const;
};

/// A copy that goes on while the program does. Destroying it waits, and so does assigning another one.
class transfer {
 public:
  transfer() noexcept = default;  ///< one that is done
  transfer(transfer&& other) noexcept;
  transfer& operator=(transfer&& other) noexcept;
  ~transfer();
  /// Whether the host may change what was read, or read what was written. Doesn't wait.
  bool is_done();
  /// Until is_done(). Throws index_error when a kernel whose result was copied met a bad index.
  void wait();

  struct state;  ///< for the library
  explicit transfer(state* s) noexcept : state_(s) {}

 private:
  state* state_ = nullptr;
};

/// A new array of the view's shape and dtype on the default device, or on `where`. The memory may change, or go, as
/// soon as this returns. Pageable memory is staged, so that this doesn't wait for the device unless much is on the way
/// to it; pinned memory is copied directly, which this waits for.
array from_host(const const_host_memory& from, place at = place::here());
array from_host(const const_host_memory& from, const device& where, place at = place::here());
/// `extents`, from values in C order.
template <element T>
array from_host(std::span<T> values, const shape& extents, place at = place::here()) {
  return from_host(const_host_memory(values, extents, at), at);
}
template <element T>
  requires(!std::is_same_v<T, bool>)
array from_host(const std::vector<T>& values, const shape& extents, place at = place::here()) {
  return from_host(const_host_memory(values, extents, at), at);
}

/// Without waiting: operations on `values` wait for the copy by themselves, but the memory must stay as it is until
/// `copy` is done. Worth it for pinned memory: all other is staged before this returns.
struct incoming {
  array values;
  transfer copy;
};
incoming from_host_async(const const_host_memory& from, place at = place::here());
incoming from_host_async(const const_host_memory& from, const device& where, place at = place::here());

/// Copies all elements to host memory of the same shape (shape_error) and dtype (type_error; u8 takes booleans, too).
/// Evaluates and waits. Throws index_error when a kernel met a bad index.
void copy_to(const array& from, const host_memory& to, place at = place::here());
/// Evaluates and starts the copy: the memory must stay, and mustn't be read, until it is done. Later changes of the
/// variable don't matter. To pageable memory, what doesn't fit the staging memory is copied by wait() and is_done().
[[nodiscard]] transfer copy_to_async(const array& from, const host_memory& to, place at = place::here());

/// Host memory that devices copy from and to directly (pinned; plain memory where the device is the cpu). Pinning takes
/// milliseconds, and what is pinned can't be swapped out: for memory that is used again and again.
class pinned_memory {
 public:
  /// Zeros. Throws out_of_memory.
  pinned_memory(std::size_t bytes, const device& where);
  pinned_memory(pinned_memory&& other) noexcept;
  pinned_memory& operator=(pinned_memory&& other) noexcept;
  ~pinned_memory();
  void* data() const { return data_; }

 private:
  runtime::device* owner_;
  void* data_;
  std::size_t bytes_;
};

/// A fixed number of elements in pinned memory, at first zeros. `from_host(std::span(v), {n, m})` is an array of them.
template <element T>
class pinned_vector {
 public:
  explicit pinned_vector(std::size_t size, const device& where = default_device())
      : memory_(size * sizeof(T), where), size_(size) {}
  T* data() const { return static_cast<T*>(memory_.data()); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t k) const { return data()[k]; }
  T* begin() const { return data(); }
  T* end() const { return data() + size_; }

 private:
  pinned_memory memory_;
  std::size_t size_;
};

// ---- Chunks ----

/// How for_each_chunk cuts the leading axis.
struct chunking {
  std::int64_t rows = 0;  ///< rows a chunk has, but for the last one; 0: some 16 MiB of the widest input or output
};

/// For the library: for_each_chunk without templates.
struct chunk_calls {
  void* body;
  std::vector<array> (*run)(void* body, std::span<const array> inputs);
  void* progress;
  void (*tell)(void* progress, std::int64_t done, std::int64_t total);
};
void run_chunks(std::span<const const_host_memory> from, std::span<const host_memory> to, const chunk_calls& calls,
                const chunking& how, const place& at);

struct no_progress {
  void operator()(std::int64_t, std::int64_t) const {}
};
template <class F>
concept progress_callback = std::invocable<F&, std::int64_t, std::int64_t>;

/// Runs `body` on one chunk of rows of `from` after the other, and puts what it returns into the same rows of `to`,
/// beside each other: while a chunk is computed the next one is copied to the default device, and the one before back.
/// Both may be larger than the device's memory, and are copied fastest when pinned. `body(const array& rows)` returns
/// an array of as many rows; it is called for the chunks in order, and its result is evaluated at once.
/// `progress(rows done, rows in all)` is called when the results of a chunk have arrived. What `body` or `progress`
/// throws ends it: the rows told to be done are there then.
/// Throws shape_error when extents don't fit (of results: at the first chunk), type_error for results of another dtype,
/// index_error, at the end, when a kernel met a bad index.
template <class Body, progress_callback Progress = no_progress>
void for_each_chunk(const const_host_memory& from, const host_memory& to, Body&& body, const chunking& how = {},
                    Progress&& progress = {}, place at = place::here()) {
  const auto run = [](void* f, std::span<const array> inputs) {
    return std::vector<array>{(*static_cast<std::remove_reference_t<Body>*>(f))(inputs[0])};
  };
  const auto tell = [](void* f, std::int64_t done, std::int64_t total) {
    (*static_cast<std::remove_reference_t<Progress>*>(f))(done, total);
  };
  run_chunks({&from, 1}, {&to, 1}, {const_cast<void*>(static_cast<const void*>(&body)), run,
                                    const_cast<void*>(static_cast<const void*>(&progress)), tell}, how, at);
}

/// The same of several inputs and outputs, or none: all with as many rows. `body(std::span<const array> inputs)`
/// returns a std::vector<array> with an array for each output. Without outputs, `body` sees to what it computes.
template <class Body, progress_callback Progress = no_progress>
void for_each_chunk(std::initializer_list<const_host_memory> from, std::initializer_list<host_memory> to, Body&& body,
                    const chunking& how = {}, Progress&& progress = {}, place at = place::here()) {
  const auto run = [](void* f, std::span<const array> inputs) -> std::vector<array> {
    auto& call = *static_cast<std::remove_reference_t<Body>*>(f);
    if constexpr (std::is_void_v<decltype(call(inputs))>) {
      call(inputs);
      return {};
    } else {
      return call(inputs);
    }
  };
  const auto tell = [](void* f, std::int64_t done, std::int64_t total) {
    (*static_cast<std::remove_reference_t<Progress>*>(f))(done, total);
  };
  run_chunks({from.begin(), from.size()}, {to.begin(), to.size()},
             {const_cast<void*>(static_cast<const void*>(&body)), run,
              const_cast<void*>(static_cast<const void*>(&progress)), tell}, how, at);
}

}  // namespace sinter
