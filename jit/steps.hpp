// Several iterations of a loop over whole arrays in one launch: overlapped tiles in time. A block keeps a window of the
// states on the chip, runs iterations on it, and stores the middle: each iteration spoils as many elements along the
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

/// The window of a block. Of a plane each warp has rows of `lanes` neighbours a thread; threads keep `points` rows of
/// those in registers, get their neighbours' columns by shuffles, and the rows next to a warp's own from shared memory.
/// Lines lie in shared memory whole: a thread takes `points` elements, `threads` apart.
struct step_window {
  static constexpr int warp = 32, threads_of_line = 512, longest_line = 4096;
  int rows, columns;            ///< elements
  int lanes, points, threads;
  int row_reach, column_reach;  ///< how far an iteration's reads go
  int row_border, column_border;  ///< what a launch spoils, on each side; columns in whole vectors of `lanes`
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
