// How many threads run a kernel over its domain.
#pragma once

#include "jit/ir.hpp"
#include "runtime/backend.hpp"

namespace sinter::jit {

struct step_window;

/// Blocks for cuda kernels made by codegen/emit.cpp: x runs over the inner dim, `lanes` elements a thread; y over rows.
/// `threads`: of a block; 0: as suits the domain.
runtime::launch_shape schedule(std::int64_t rows, std::int64_t inner, int lanes, int cost, int threads = 0,
                               block_form form = block_form::wide);

/// Blocks for distribution::steps: tiles side by side, and rows of tiles below each other.
runtime::launch_shape schedule_steps(const arguments& a, const step_window& w);

/// For kernels whose loops threads share (jit/distribute.cpp has chosen how).
runtime::launch_shape schedule_loops(const arguments& a, int threads);

}  // namespace sinter::jit
