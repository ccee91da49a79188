#include "dsl/axes.hpp"

#include "dsl/record_internal.hpp"

#include <fmt/format.h>

namespace sinter {

void axes::throw_too_many() { throw shape_error("an array has at most 16 axes"); }

int checked_axis(int axis, int rank, std::string_view operation, const place& at) {
  if (axis < -rank || axis >= rank)
    throw_shape_error(rank == 0 ? fmt::format("{}: axis {} of an array without axes", operation, axis)
                                : fmt::format("{}: axis {} is outside [{}, {})", operation, axis, -rank, rank),
                      at);
  return axis < 0 ? axis + rank : axis;
}

std::vector<int> checked_axes(const axes& list, int rank, std::string_view operation, const place& at) {
  std::vector<int> out;
  std::uint32_t seen = 0;
  for (int axis : list.list()) {
    const int k = checked_axis(axis, rank, operation, at);
    if (seen >> k & 1u) throw_shape_error(fmt::format("{}: axis {} is named twice", operation, axis), at);
    seen |= std::uint32_t{1} << k;
    out.push_back(k);
  }
  return out;
}

std::uint32_t axis_bits(const axes& list, int rank, std::string_view operation, const place& at) {
  if (list.all()) return (std::uint32_t{1} << rank) - 1;
  std::uint32_t bits = 0;
  for (int axis : list.list()) {
    const int k = checked_axis(axis, rank, operation, at);
    if (bits >> k & 1u) throw_shape_error(fmt::format("{}: axis {} is named twice", operation, axis), at);
    bits |= std::uint32_t{1} << k;
  }
  return bits;
}

void append_extent(shape& extents, std::int64_t extent, std::string_view operation, const place& at) {
  if (extent < 0) throw_shape_error(fmt::format("{}: extent {} is negative", operation, extent), at);
  if (extents.rank() == max_rank)
    throw_shape_error(fmt::format("{}: the result would have more than {} axes", operation, max_rank), at);
  extents.append(extent);
}

}  // namespace sinter
