// From kernel IR to something that launches: passes' result -> source -> image -> function.
#pragma once

#include "jit/cache/memory.hpp"
#include "jit/engine.hpp"
#include "jit/lower.hpp"

#include <string>

namespace sinter::jit {

/// How kernels run on `d`: its compiler, or the interpreter. `needs_compiler`: the kernel has user code.
target_kind choose_target(runtime::device& d, const options& how, bool needs_compiler);

/// Whether some part calls a user's kernel.
bool has_calls(kernel_list parts);

/// The kernels as one, from memory; not ready yet when they are new.
cached_kernel& find_kernel(kernel_list parts, runtime::device& d, const options& how);

/// Makes all of them ready: what is kept on disk is loaded, the rest compiled, several at a time. Throws compile_error
/// (again, for one that failed before); those that did not fail are ready then.
void build_all(std::span<cached_kernel* const> kernels);

/// The kernels as one, if that is in memory and ready; else null.
cached_kernel* find_ready_kernel(kernel_list parts, runtime::device& d, const options& how);
/// The interpreter's form of them, ready.
cached_kernel& interpreted_kernel(kernel_list parts, runtime::device& d);

/// True: ready, found on disk perhaps. Else it is compiled in the background; what fails there is told once, on the
/// log.
bool ready_or_asked(cached_kernel& c);

/// One kernel, found and made ready.
cached_kernel& ready_kernel(kernel_list parts, runtime::device& d, const options& how);

/// Writes what this process has used of compiled kernels to a file for load_bundle, made for `targets`; without any,
/// for the devices they were used on. Throws io_error, compile_error.
void export_kernels(const std::string& path, const std::vector<std::string>& targets);

/// Name and source of a kernel, for dumps and explain.
std::string source_of(kernel_list parts, const std::string& name, target_kind how);

}  // namespace sinter::jit
