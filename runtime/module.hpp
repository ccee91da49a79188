// Images with a user's own code in them: kernels and variables by name, and what the device knows about a kernel.
#pragma once

#include "runtime/backend.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sinter::runtime {

/// What a compiled kernel takes of a device; -1 where it isn't known.
struct kernel_facts {
  int registers = -1;                         ///< a thread
  std::int64_t shared_bytes = -1;             ///< a block, declared in the kernel
  std::int64_t constant_bytes = -1;           ///< of its module
  std::int64_t local_bytes = -1;              ///< a thread
  int max_threads = -1;                       ///< a block
  std::int64_t max_dynamic_bytes = -1;        ///< of shared memory that a launch may ask for on top of shared_bytes
  int ptx_version = -1, binary_version = -1;  ///< 90: 9.0
};

/// A kernel of a module; launches that it pends are ordered with the device's other work.
class module_function {
 public:
  virtual ~module_function() = default;
  /// Starts it; `arguments[k]` points at the k-th argument's bytes, read before this returns. `cooperative`: all blocks
  /// run at once and may wait for each other.
  virtual void launch(std::span<void* const> arguments, const launch_shape& shape, bool cooperative) = 0;
  virtual const kernel_facts& facts() = 0;
  /// Bytes of each parameter; none where the driver doesn't tell.
  virtual std::optional<std::vector<std::size_t>> parameter_bytes() = 0;
  /// Blocks of that shape that one processor of the device runs at once.
  virtual int resident_blocks(int threads, std::size_t shared_bytes) = 0;
};

/// Unloaded with its last reference, when no launch is pending. Its functions must be gone by then.
class module {
 public:
  virtual ~module() = default;
  /// Null when there is no such kernel.
  virtual std::unique_ptr<module_function> find(const std::string& symbol) = 0;
  struct variable {
    void* address = nullptr;
    std::size_t bytes = 0;
  };
  /// Address null: there is no such variable.
  virtual variable find_variable(const std::string& symbol) = 0;
  /// The symbols of all kernels, as far as the driver tells.
  virtual std::vector<std::string> symbols() = 0;
};

/// What all kernels of a device share.
struct processor_facts {
  int processors = 1;
  std::int64_t shared_bytes_of_block = 0;  ///< the most a block may have
};

}  // namespace sinter::runtime
