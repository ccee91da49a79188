// Reads of values that have to be computed first. In a loop each of them ends what could have been folded.
#pragma once

#include "runtime/error.hpp"

namespace sinter::jit {

/// Counts a read at `at` that evaluates pending work (statistics::flushes). A line that has done so several times is
/// named in the log (info), once.
void note_flush(const place& at);

}  // namespace sinter::jit
