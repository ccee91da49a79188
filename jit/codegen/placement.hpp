// Where an instruction belongs: outside all loops, once a row, or at every element. Hoisting is this placement.
#pragma once

#include "jit/ir.hpp"

#include <vector>

namespace sinter::jit {

enum class placement : std::uint8_t { once, row, element, loop };

/// The outermost placement each instruction can have: `once` if it depends on no counter of the domain, `row` if not on
/// the innermost, `loop` if it stands inside a loop. A `loop` and its `end` are placed as what needs most inside.
std::vector<placement> place_instructions(const kernel& k);

}  // namespace sinter::jit
