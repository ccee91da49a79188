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

/// The kernels as one, from memory or built now. Throws compile_error (again, for one that failed before).
cached_kernel& ready_kernel(kernel_list parts, runtime::device& d, const options& how);

/// Name and source of a kernel, for dumps and explain.
std::string source_of(kernel_list parts, const std::string& name, target_kind how);

}  // namespace sinter::jit
