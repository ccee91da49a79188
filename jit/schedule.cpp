#include "jit/schedule.hpp"

#include "jit/steps.hpp"

#include <algorithm>

namespace sinter::jit {

namespace {

// Measured on an H200, us for 1 GiB filled and for (x - y)^2 of 30000 x 30000 f64: 256 threads fill in 232, 128 in 320;
// rows take 1918 with 256 threads and one row a thread, 2144 with 128; four rows a thread 1659 and 1601 (two: 1685 and
// 1675, eight: 1702 and 1680), because what is common to the rows is loaded once.
constexpr std::int64_t threads_of_one_row = 256;  // emit.cpp promises no more (__launch_bounds__)
constexpr std::int64_t threads_of_rows = 128;
constexpr std::int64_t rows_a_thread = 4;
// Below about two waves of blocks on the largest GPUs, more blocks beat more rows a thread.
constexpr std::int64_t blocks_to_spare = 2112;
constexpr std::int64_t most_blocks_y = 65535;
// A warp waits for the last of its elements: those of a square differ less than those of a row.
constexpr std::int64_t width_of_square = 8;
// A block of 8 rows reads 10 of an array where each element needs its neighbours, not 24.
constexpr std::int64_t width_of_tall = 32;

/// The width that leaves the fewest threads of a row idle; among equals the widest.
std::int64_t block_width(std::int64_t across, std::int64_t threads) {
  std::int64_t least = INT64_MAX, best = 1;
  for (std::int64_t w = threads; w >= 1; w /= 2) {
    const std::int64_t covered = (across + w - 1) / w * w;
    const bool splits_warps = w < 32 && across >= 32;  // one access of a warp would fall apart
    if (covered >= least || splits_warps) continue;
    least = covered;
    best = w;
  }
  return best;
}

/// Whether rows would end so early in the last of several blocks beside each other that it is worth a block that is as
/// wide as they are.
bool leaves_many_idle(std::int64_t across, std::int64_t width) {
  const std::int64_t covered = (across + width - 1) / width * width;
  return across > 32 && across <= threads_of_rows && (covered - across) * 5 > across;
}

/// 2 * 10^6 rows of 300 f32, gathered, on an H200: 1092 us with 75 x 2 threads, 1126 with 32 x 4 of which some are
/// idle; 75 x 1 and 75 x 3 take 1141 and 1110.
runtime::launch_shape exact_rows(runtime::launch_shape s, std::int64_t across) {
  constexpr std::int64_t rows_a_block = 2;
  s.block[0] = static_cast<std::uint32_t>(across);
  s.block[1] = rows_a_block;
  s.grid[0] = 1;
  const bool plenty = s.rows / (rows_a_block * rows_a_thread) >= blocks_to_spare;
  const std::int64_t own = plenty ? rows_a_block * rows_a_thread : rows_a_block;
  s.grid[1] = static_cast<std::uint32_t>(std::min((s.rows + own - 1) / own, most_blocks_y));
  return s;
}

}  // namespace

runtime::launch_shape schedule(std::int64_t rows, std::int64_t inner, int lanes, int cost, int threads,
                               block_form form) {
  runtime::launch_shape s;
  s.rows = rows;
  s.inner = inner;
  s.cost = cost;
  const std::int64_t across = (inner + lanes - 1) / lanes;
  const std::int64_t fit = rows > 1 && form != block_form::tall ? threads_of_rows : threads_of_one_row;
  const std::int64_t all = threads != 0 ? threads : fit;
  std::int64_t x = rows > 1 ? block_width(across, all) : all;
  if (rows > 1 && threads == 0 && form == block_form::wide && leaves_many_idle(across, x)) return exact_rows(s, across);
  if (rows > 1 && form != block_form::wide)
    x = std::min(x, form == block_form::square ? width_of_square : width_of_tall);
  const std::int64_t y = all / x;
  const std::int64_t blocks_x = (across + x - 1) / x;
  const bool plenty = rows / (y * rows_a_thread) * blocks_x >= blocks_to_spare;
  const std::int64_t rows_a_block = plenty ? y * rows_a_thread : y;
  s.block[0] = static_cast<std::uint32_t>(x);
  s.block[1] = static_cast<std::uint32_t>(y);
  s.grid[0] = static_cast<std::uint32_t>(blocks_x);
  s.grid[1] = static_cast<std::uint32_t>(std::min((rows + rows_a_block - 1) / rows_a_block, most_blocks_y));
  return s;
}

runtime::launch_shape schedule_steps(const arguments& a, const step_window& w) {
  runtime::launch_shape s;
  s.rows = a.rows;
  s.inner = a.inner;
  s.cost = a.cost;
  s.block[0] = static_cast<std::uint32_t>(w.threads);
  s.grid[0] = static_cast<std::uint32_t>((a.inner + a.lead + w.tile_columns() - 1) / w.tile_columns());
  s.grid[1] = static_cast<std::uint32_t>((a.rows + w.tile_rows() - 1) / w.tile_rows());
  return s;
}

runtime::launch_shape schedule_loops(const arguments& a, int threads) {
  constexpr std::int64_t most_blocks_x = 0x7fffffff;  // kernels stride over what is more
  runtime::launch_shape s;
  s.rows = a.rows;
  s.inner = a.inner;
  s.cost = a.cost;
  s.shared_bytes = a.shared_bytes;
  s.block[0] = static_cast<std::uint32_t>(threads);
  s.grid[0] = static_cast<std::uint32_t>(std::min(a.blocks, most_blocks_x));
  return s;
}

}  // namespace sinter::jit
