// Host memory into arrays and back.
#pragma once

#include "jit/graph.hpp"
#include "runtime/transfer.hpp"

#include <memory>

namespace sinter::jit {

/// A copy under way, and the device memory it uses. Whoever lets go of it waits.
struct started_copy {
  reference<runtime::buffer> memory;
  std::unique_ptr<runtime::transfer> copy;  ///< null: done

  started_copy() = default;
  started_copy(started_copy&&) noexcept = default;
  started_copy& operator=(started_copy&& o) noexcept {
    copy = std::move(o.copy);  // first: the memory must outlive it
    memory = std::move(o.memory);
    return *this;
  }
  ~started_copy() = default;  // the copy first
};

/// A new array of what `from` holds; the host may change it at once.
node_ref copy_in(runtime::device& where, const runtime::host_region& from, dtype type, const shape& extents,
                 const place& at);
/// The same, where the host may change it when `copy` is done. The device's work may use the array after copy->join().
node_ref start_copy_in(runtime::device& where, const runtime::host_region& from, dtype type, const shape& extents,
                       const place& at, started_copy& copy);

/// Copies the values of `n`, evaluated first, to `to`, which is as large; waits. index_error when a kernel met a bad
/// index.
void copy_out(node* n, const runtime::host_region& to, const place& at);
/// Starts that. Bad indices are for those who wait to find (throw_on_fault).
started_copy start_copy_out(node* n, const runtime::host_region& to, const place& at);

/// To be called for each copy that a line of a program asks for. Of a line that has copied the same number of bytes
/// several times, the log (info) says so, once.
void note_copy_in(const runtime::device& where, std::size_t bytes, const place& at);

}  // namespace sinter::jit
