// distribution::tiles: which counters of the domain the values of a kernel with one loop depend on.
#pragma once

#include "jit/codegen/loop_nest.hpp"

#include <vector>

namespace sinter::jit {

/// Along which axes of a tile a value differs.
enum class tile_side : std::uint8_t { none, row, column, both };

/// By instruction the dims of the domain that it depends on, a bit each.
std::vector<std::uint32_t> domain_dims(const kernel& k, const loop_nest& nest);

/// What a block brings to shared memory, and what is computed for each result; the tile's rows lie along `dim`.
class tile_facts {
 public:
  tile_facts(const kernel& k, const loop_nest& nest, std::uint8_t dim);

  tile_side side(std::uint32_t v) const { return sides_[v]; }
  bool in_loop(std::uint32_t v) const { return v > top_.begin && v < top_.end; }
  /// What the loop computes for each result; all else in it is the same for several.
  bool is_own(std::uint32_t v) const { return own_[v]; }
  /// Values in the loop that results share, and what is computed for each of them needs.
  const std::vector<std::uint32_t>& staged() const { return staged_; }
  /// Values from before the loop that differ along one axis, and what is computed for each result needs.
  const std::vector<std::uint32_t>& held() const { return held_; }
  /// Whether a value from before the loop that what is computed needs is each result's own.
  bool holds_tiles() const { return holds_tiles_; }

 private:
  void find_uses(const kernel& k, const loop_nest& nest);

  const loop_nest::loop& top_;
  std::vector<tile_side> sides_;
  std::vector<bool> own_;
  std::vector<std::uint32_t> staged_, held_;
  bool holds_tiles_ = false;
};

/// Whether a sum adds up the iterations of a chunk before it adds them to what it has.
bool sums_in_parts(const inst& reduction);

}  // namespace sinter::jit
