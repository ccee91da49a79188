// From the fault record a kernel wrote to the index_error of the line that recorded the index.
#pragma once

#include "jit/lower.hpp"
#include "runtime/backend.hpp"

#include <span>

namespace sinter::jit {

/// Remembers the lines of a launch's checks; returns the number the launch passes to its kernel.
std::int64_t register_launch(std::span<const check_site> check_sites);

/// The same for launches that happen again and again, until they are forgotten.
std::int64_t keep_launch(std::span<const check_site> check_sites);
void forget_launch(std::int64_t number) noexcept;

/// After a wait for the current stream: throws index_error when a kernel of it, or of a stream that it waited for, met
/// a bad index, loop_error when a loop did not end.
void throw_on_fault(runtime::device& d);
/// The same of all streams, after a wait for them.
void throw_on_fault_of_any(runtime::device& d);

}  // namespace sinter::jit
