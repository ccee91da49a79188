// From the fault record a kernel wrote to the index_error of the line that recorded the index.
#pragma once

#include "runtime/backend.hpp"

#include <span>

namespace sinter::jit {

/// Remembers the lines of a launch's index checks; returns the number the launch passes to its kernel.
std::int64_t register_launch(std::span<const place> check_sites);

/// After a wait: throws index_error when a kernel of `d` met a bad index.
void throw_on_fault(runtime::device& d);

}  // namespace sinter::jit
