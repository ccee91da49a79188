// Kernels of this process, ready to launch. A warm lookup takes no lock: each thread remembers what it used.
#pragma once

#include "jit/cache/key.hpp"

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sinter::jit {

/// What one launch runs on one device. Lives as long as the process.
struct cached_kernel {
  std::vector<kernel> parts;
  std::vector<const kernel*> list;  ///< of the parts
  kernel_key key;
  std::string name;
  std::unique_ptr<runtime::function> function;  ///< null: interpreted
  std::mutex building;
  std::atomic<bool> ready{false};
  std::atomic<bool> asked{false};  ///< the background has it to do, or has failed to
  std::exception_ptr failure;  ///< a compile_error, thrown again at each use
};

/// The entry for `key`, made (not built) when it is new; its parts are copies.
cached_kernel& find_or_add(const kernel_key& key);
/// The entry for `key` when there is one and it is ready; else null.
cached_kernel* find_ready(const kernel_key& key);
/// A new entry that no lookup finds, kept all the same.
cached_kernel& add_unshared(const kernel_key& key);
/// All entries there are.
std::vector<cached_kernel*> all_kernels();

}  // namespace sinter::jit
