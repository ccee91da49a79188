// distribution::transposed: how a tile lies in shared memory.
#pragma once

#include "jit/ir.hpp"

#include <vector>

namespace sinter::jit {

/// Elements of `size` bytes between neighbours along each tiled dim, and at last all that a tile takes. Neighbours
/// along any of the dims are in different banks, whichever of them a warp's threads lie along: what steps over a dim is
/// odd in words.
std::vector<std::int64_t> tile_pitches(const kernel& k, std::int64_t size);

/// Elements of a tile.
std::int64_t tile_volume(const kernel& k);

}  // namespace sinter::jit
