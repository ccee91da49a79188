// From a compile task to code that runs: a bundle's, the cache directory's, or the compiler's.
#pragma once

#include "jit/cache/entry.hpp"

#include <functional>
#include <span>
#include <vector>

namespace sinter::jit {

/// What puts an image to use: a device's load(), another kind's loader. Throws device_error when it can't be used here.
using image_loader = std::function<void(std::span<const std::byte> code, program_notes notes)>;

/// The key under which the task's result is kept.
entry_key full_key_of(const compile_task& t);
/// The same; empty for what can't be kept, and where nothing is looked for by keys.
entry_key key_of(const compile_task& t);

/// Whether it is kept already; loads it then. False when a compiler is needed.
bool find_kept(const compile_task& t, const entry_key& k, const image_loader& load);

/// Compiles and loads, and keeps the result for later processes; or finds it after all, when another process was at it.
/// Throws compile_error; device_error, with the kernel's name, when there is no compiler.
void compile_and_keep(const compile_task& t, const entry_key& k, const image_loader& load);

/// A user's own program, kept or compiled. Remembered for export_kernels.
void obtain_program(const compile_task& t, const image_loader& load);
/// All of those that were loaded.
std::vector<compile_task> used_programs();

/// What the text (or, for a string kernel, each of its texts) includes: contents into `t.headers`; whether the result
/// can be kept at all, which is told at level info when it can't.
void note_headers(compile_task& t);

/// The entry's bytes for another file: kept ones, or compiled anew for `k.target`.
std::string entry_for_export(compile_task t, const entry_key& k);

}  // namespace sinter::jit
