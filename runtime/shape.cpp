// Broadcasting, strides, and the checks of shapes that are too large to exist.
#include "runtime/shape.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace sinter {

void shape::throw_rank_limit(const place& at) {
  throw shape_error(error_text(fmt::format("shape: an array has at most {} axes", max_rank), at));
}

void shape::throw_negative_extent(std::int64_t extent, const place& at) {
  throw shape_error(error_text(fmt::format("shape: an extent of {} is negative", extent), at));
}

std::string to_string(const shape& s) { return fmt::format("[{}]", fmt::join(s.begin(), s.end(), ", ")); }

bool broadcast_into(const shape& a, const shape& b, shape& out) {
  const int rank = std::max(a.rank(), b.rank());
  shape common;
  for (int axis = 0; axis < rank; ++axis) {
    const int in_a = axis - (rank - a.rank()), in_b = axis - (rank - b.rank());
    const std::int64_t na = in_a < 0 ? 1 : a[in_a], nb = in_b < 0 ? 1 : b[in_b];
    if (na != nb && na != 1 && nb != 1) return false;
    common.append(na == 1 ? nb : na);  // not the larger: 0 with 1 is 0
  }
  out = common;
  return true;
}

void contiguous_strides(const shape& s, std::int64_t* strides) {
  // Unsigned, since the product may pass 2^63 when another extent is 0 and no stride is ever used.
  std::uint64_t step = 1;
  for (int axis = s.rank() - 1; axis >= 0; --axis) {
    strides[axis] = static_cast<std::int64_t>(step);
    step *= static_cast<std::uint64_t>(s[axis]);
  }
}

std::int64_t checked_bytes(const shape& s, dtype type, const place& at) {
  if (std::find(s.begin(), s.end(), 0) != s.end()) return 0;
  constexpr std::int64_t limit = std::int64_t{1} << 62;
  std::int64_t bytes = size_of(type);
  for (const std::int64_t extent : s) {
    if (bytes > limit / extent)
      throw shape_error(
          error_text(fmt::format("shape: {} of {} takes more than 2^62 bytes", to_string(s), to_string(type)), at));
    bytes *= extent;
  }
  return bytes;
}

}  // namespace sinter
