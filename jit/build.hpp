// From kernel IR to something that launches: passes' result -> source -> image -> function.
#pragma once

#include "jit/cache/memory.hpp"
#include "jit/engine.hpp"
#include "jit/lower.hpp"

#include <string>

namespace sinter::jit {

/// How kernels run on `d`: its compiler, or the interpreter. `needs_compiler`: the kernel has user code.
target_kind choose_target(runtime::device& d, const options& how, bool needs_compiler);

/// The kernel of `l`, from memory or built now. Throws compile_error (again, for a kernel that failed before).
cached_kernel& ready_kernel(const lowered& l, runtime::device& d, const options& how);

/// Name and source of a kernel, for dumps and explain.
std::string source_of(const kernel& k, const std::string& name, target_kind how, int lanes);

}  // namespace sinter::jit
