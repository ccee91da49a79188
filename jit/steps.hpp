// Several iterations of a loop over whole arrays in one launch: overlapped tiles in time. A block keeps a window of the
// states in shared memory, runs iterations on it, and stores the middle: each iteration spoils as many elements along the
// window's border as the loop's statements reach across.
// Ghost zones: Meng and Skadron, "Performance modeling and automatic ghost zone optimization for iterative stencil loops on
// GPUs", ICS 2009.
#pragma once

#include "jit/lower.hpp"

#include <span>

namespace sinter::jit {

/// A state of the loop: the node that its values now have in the kernel, and the node that has the next ones.
struct stepped_state {
  const node* now;
  const node* next;
};

/// The window of a block of `threads`. Two-dimensional ones have columns of neighbouring threads, each of which takes
/// `points` rows below each other; others are lines, of which a thread takes `points` elements, `threads` apart.
struct step_window {
  static constexpr int threads = 512, longest_line = 4096, side = 64;
  int rows, columns;            ///< elements
  int points;                   ///< of a thread
  int row_reach, column_reach;  ///< how far an iteration's reads go
  int row_border, column_border;  ///< what a launch spoils, on each side
  int tile_rows() const { return rows - 2 * row_border; }
  int tile_columns() const { return columns - 2 * column_border; }
};
step_window window_of(const kernel& k);

/// Makes the kernel of one iteration one of up to `k.steps` of them, which runs as many as its last parameter says, and
/// true; false, when it can't or needn't, and nothing has changed. For cuda.
bool make_steps(lowered& l, std::span<const stepped_state> states);

/// How many iterations the next launches run, at most `l.ir.steps`.
void set_steps(lowered& l, std::int64_t steps);

}  // namespace sinter::jit
