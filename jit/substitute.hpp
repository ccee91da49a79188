// What can do a launch's work while its kernel is being compiled (compile_mode::async).
//
// A kernel that knows less than the wanted one is as good for it, only slower: 64-bit indices where 32 bits would do,
// one element at a time instead of a vector, dims that could have been one, strides as parameters that are known to be
// 0 or 1. So the launch is lowered again in each of these ways, until that gives a kernel that is in memory. Loops
// (reductions, scans) keep their layout and vectors, which decide in what order floats are combined: only the indices'
// width may differ there. On the cpu device the interpreter, which needs no compiler, takes small work.
#pragma once

#include "jit/engine.hpp"
#include "jit/ir.hpp"

#include <algorithm>

namespace sinter::jit {

/// Ways to know less: 2 widths x 2 kinds of lanes x 3 layouts, without the wanted one.
inline constexpr std::size_t substitute_count = 11;

/// `how` in the k-th of these ways, the closest to the wanted one first.
inline options less_specialised(options how, std::size_t k) {
  ++k;
  how.force_wide_index = how.force_wide_index || k % 2 == 1;
  how.single_lane = how.single_lane || k / 2 % 2 == 1;
  how.layout = std::max(how.layout, static_cast<layout_knowledge>(k / 4));
  return how;
}

/// About the operations of a launch, and so many of them as the interpreter does before a compiler has even started.
inline double interpreted_work(const arguments& a) {
  return static_cast<double>(a.rows) * static_cast<double>(a.inner) * a.cost;
}
inline constexpr double most_interpreted_work = 1 << 20;

}  // namespace sinter::jit
