// The kernels of radix_sort.cuh and radix_select.cuh as a raw program, so that the cpu device can run them, too: tests
// need no GPU. For sort_kernels.cpp and select_kernels.cpp.
#pragma once

#include "jit/library/sort.hpp"
#include "jit/raw/emulated_module.hpp"
#include "jit/raw/program.hpp"
#include "runtime/backend.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace sinter::jit {

/// Names of C++ types in the kernels, by size.
inline const char* unsigned_name(std::size_t bytes) {
  return bytes == 1   ? "unsigned char"
         : bytes == 2 ? "unsigned short"
         : bytes == 4 ? "unsigned int"
                      : "unsigned long long";
}

/// `task` of the kernels.
template <class Key>
struct kernel_task {
  const void* source;
  void* values;
  void* positions;
  long long rows, length, kept;
  key_order<Key> how;
};

class sort_program {
 public:
  sort_program(library_run& r, const std::string& name, std::string text)
      : run_(r), program_(find_program({name, std::move(text), {}, {}, {}})) {}

  template <class... Arguments>
  void launch(const std::string& kernel, std::int64_t blocks, const Arguments&... arguments) {
    raw_entry& e = program_.entry(kernel, run_.where);
    void* const list[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
    if (const emulated_kernel* k = e.emulated.load(std::memory_order_acquire))
      return k->module->launch(*k->function, {static_cast<std::uint32_t>(blocks)}, {threads_of_block}, 0, list, false,
                               run_.at);
    runtime::launch_shape shape;
    shape.grid[0] = static_cast<std::uint32_t>(blocks);
    shape.block[0] = threads_of_block;
    e.code.load(std::memory_order_acquire)->launch(list, shape, false);
  }

  void want(std::vector<std::string> kernels) { program_.want(kernels); }

 private:
  static constexpr std::uint32_t threads_of_block = 256;

  library_run& run_;
  raw_program& program_;
};

/// Blocks that take rows by turns.
inline std::int64_t blocks_for(std::int64_t wanted) { return std::min<std::int64_t>(wanted, 1 << 30); }

/// Whether that is a few elements of long rows, which are then found without sorting the others; does it.
bool is_selection(const sort_task& t);
void select_by_kernels(const sort_task& t, library_run& r);

}  // namespace sinter::jit
