// Fibers: stacks that one thread of the processor switches between by saving and restoring a few registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sinter::jit {

/// What the address sanitizer is told of a stack.
struct sanitized_stack {
  void* shadow = nullptr;  ///< its own record of it
  const void* bottom = nullptr;
  std::size_t bytes = 0;
};

/// A suspended computation: where its registers lie on its stack.
struct context {
  void* stack_pointer = nullptr;
  sanitized_stack* stack = nullptr;  ///< the owner's
};

/// Leaves `from`, goes on with `to`. Returns when something switches to `from` again.
void switch_context(context& from, context& to);

/// The stacks of one thread's fibers: one reservation of address space, of which only what is used becomes memory. They
/// start at different places of a page, so that fibers that do the same don't fight for the same lines of the cache.
class stack_set {
 public:
  explicit stack_set(std::size_t count);
  ~stack_set();
  stack_set(const stack_set&) = delete;
  stack_set& operator=(const stack_set&) = delete;

  std::size_t size() const { return count_; }
  /// Makes `c` a computation that calls entry(argument) on stack k. `entry` never returns.
  void prepare(context& c, std::size_t k, void (*entry)(void*), void* argument);
  /// Whether what was written on stack k has kept within it.
  bool is_whole(std::size_t k) const;

  /// More than the 512 KiB of local memory that a thread of the device can have.
  static constexpr std::size_t stack_bytes = std::size_t{640} << 10;

 private:
  std::byte* bottom(std::size_t k) const;

  std::size_t count_;
  std::byte* memory_ = nullptr;
};

}  // namespace sinter::jit
