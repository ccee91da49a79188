// From a compile task to code that runs: a bundle's, the cache directory's, or the compiler's.
#pragma once

#include "jit/cache/entry.hpp"
#include "runtime/backend.hpp"

#include <memory>

namespace sinter::jit {

/// The key under which the task's result is kept.
entry_key key_of(const compile_task& t);

/// What is kept already, loaded; null when a compiler is needed.
std::unique_ptr<runtime::function> find_kept(const compile_task& t, const entry_key& k, runtime::device& where);

/// Compiled and loaded, and kept for later processes; or found after all, when another process was at it. Throws
/// compile_error; device_error, with the kernel's name, when there is no compiler.
std::unique_ptr<runtime::function> compile_and_keep(const compile_task& t, const entry_key& k, runtime::device& where);

/// The entry's bytes for another file: kept ones, or compiled anew for `k.target`.
std::string entry_for_export(compile_task t, const entry_key& k);

}  // namespace sinter::jit
