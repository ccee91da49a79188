// CUDA C++ run on the host's processors: a user's source, compiled by the host's C++ compiler behind declarations of
// what CUDA has built in (jit/device/emulation*.cuh), and its kernels launched block by block (block_runner.hpp).
//
// Checked builds (SINTER_CHECKED=1, or the option -DSINTER_CHECKED) make errors of
//   - indices outside arrays whose size is in their type: `__shared__`, `__constant__`, `__device__` and local ones,
//     each dimension for itself;
//   - indices into `extern __shared__ T s[]` outside the bytes asked for at launch, when all that the text does with s
//     is s[i]; else only what is in every build is left: writes next to dynamic shared memory, found when the block
//     ends;
// and let shared memory start out as garbage (all bits set, NaN as floating point). What goes through pointers that
// were made before is not followed: that is for the address sanitizer.
//
// SINTER_HOST_OPTIONS holds further options for the host compiler; with -g among them, compiled kernels stay below
// TMPDIR for whoever looks for their symbols. "-g -O0" for gdb: break on the kernel's name, print threadIdx; a block's
// threads run in order until they wait. Take the source's name to be its file's for gdb to show it. "-g
// -fsanitize=address" in a program that is built with it, too: global memory that comes from the program is checked,
// and local arrays are; fibers announce their stacks to the sanitizer.
#pragma once

#include "jit/raw/raw_program.hpp"

#include <memory>
#include <string_view>

namespace sinter::jit {

class emulated_module {
 public:
  /// Compiles, or finds what was compiled of an equal source before (failures, too: the same error again). Kernels that
  /// aren't templates are found by name; `expressions` name the others, and `&variable`. Options are NVRTC's.
  /// Throws compile_error, at the source's place; device_error when there is no C++ compiler. Thread-safe.
  static std::shared_ptr<emulated_module> load(const raw_source& source);

  ~emulated_module();
  emulated_module(const emulated_module&) = delete;
  emulated_module& operator=(const emulated_module&) = delete;

  /// A kernel by its name with namespaces, or by an expression that `load` was given (spaces don't matter). Null: there
  /// is none.
  const raw_function* find(std::string_view name_or_expression) const;
  /// Every kernel compiled.
  std::vector<const raw_function*> functions() const;
  /// A __device__ or __constant__ variable by its name with namespaces, if it isn't static; or by an expression that
  /// `load` was given. `address` is null when there is none.
  raw_global global(std::string_view name) const;
  /// What the compiler warned of in the source, with its lines and carets.
  const std::string& log() const;
  /// Bytes of __shared__ variables with a size, of all kernels together; to a few bytes.
  std::size_t static_shared_bytes() const;

  /// Runs a kernel to its end, its blocks spread over the pool's threads. `arguments[k]` points to the k-th argument's
  /// bytes. No block: nothing happens. Throws device_error, naming kernel, block, thread and line, when what the device
  /// would refuse is asked for (sizes, shared memory), and for faults: assert, __trap, a barrier or an operation of a
  /// warp that some threads never reach, what checked builds find.
  /// `cooperative`: blocks may wait for the whole grid; they share one thread of the processor.
  void launch(const raw_function& f, const raw_extents& grid, const raw_extents& block,
              std::size_t dynamic_shared_bytes, void* const* arguments, bool cooperative = false, const place& at = {});

  /// The most blocks that a cooperative launch may have.
  static std::uint64_t most_cooperative_blocks(const raw_extents& block);

 private:
  struct state;
  explicit emulated_module(std::unique_ptr<state> s);
  static std::shared_ptr<emulated_module> build(const raw_source& source, bool checked);

  std::unique_ptr<state> state_;
};

}  // namespace sinter::jit
