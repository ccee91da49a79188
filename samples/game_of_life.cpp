// Conway's game of life on a torus: a cell with three neighbours lives, one with two stays as it is, all others die.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>

using namespace sinter;

namespace {

/// How many of the eight cells around live: [n, m] -> [n, m]. Rolled arrays are other indices into the same cells.
array neighbours(const array& cells) {
  array rows = roll(cells, 1, 0) + cells + roll(cells, -1, 0);
  return roll(rows, 1, 1) + rows + roll(rows, -1, 1) - cells;
}

/// The rule as an expression,
void generation(array& cells) {
  array around = neighbours(cells);
  cells = (around == 3 || (around == 2 && cells != 0)).astype(u8);
}

/// and as writes to the cells that it concerns.
void generation_by_masks(array& cells) {
  array around = neighbours(cells);
  cells(around < 2 || around > 3) = 0;
  cells(around == 3) = 1;
}

/// A neighbour at a time, each sum in memory before the next is begun.
void generation_naively(array& cells) {
  array around = zeros_like(cells);
  for (const int down : {-1, 0, 1})
    for (const int right : {-1, 0, 1}) {
      if (down == 0 && right == 0) continue;
      around += roll(cells, {down, right}, {0, 1});
      eval(around);
    }
  array born = around == 3, stays = around == 2 && cells != 0;
  eval(born);
  eval(stays);
  cells = (born || stays).astype(u8);
}

constexpr std::size_t side = 512;

/// A third of the cells lives.
std::vector<std::uint8_t> first_cells() {
  auto cells = samples::random_values<std::uint8_t>(side * side, 0, 3, 1);
  for (std::uint8_t& cell : cells) cell = cell == 0;
  return cells;
}

/// The same on the host, after some generations.
std::vector<std::uint8_t> reference(int generations) {
  std::vector<std::uint8_t> cells = first_cells();
  for (std::vector<std::uint8_t> old; generations > 0; --generations) {
    old = cells;
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t j = 0; j < side; ++j) {
        int around = 0;
        for (const std::size_t down : {side - 1, side, side + 1})
          for (const std::size_t right : {side - 1, side, side + 1})
            if (down != side || right != side) around += old[(i + down) % side * side + (j + right) % side];
        std::uint8_t& cell = cells[i * side + j];
        cell = around == 3 || (around == 2 && cell == 1);
      }
  }
  return cells;
}

/// A generation a call.
void row(samples::report& report, const std::string& form, void (*next)(array&), const std::string& suffix = "") {
  array cells(first_cells(), {side, side});
  int generations = 0;
  const auto call = [&] {
    next(cells);
    eval(cells);
    ++generations;
    return cells;
  };
  const auto error = [&](const array& got) {
    const std::vector<std::uint8_t> want = reference(generations);
    return samples::largest_error(got.to_vector<std::uint8_t>(), [&](std::size_t k) { return want[k]; });
  };
  report.row(form, 0, call, error, suffix);
}

}  // namespace

int main(int argc, char** argv) {
  return samples::run("game_of_life", argc, argv, [](samples::report& report) {
    row(report, "naive", generation_naively);
    row(report, "fixed", generation);
    row(report, "fixed", generation_by_masks, "_masks");

    report.picture([] {
      array cells(first_cells(), {side, side});
      for (int t = 0; t < 200; ++t) {
        generation(cells);
        eval(cells);
      }
      return cells * 255;
    });
  });
}
