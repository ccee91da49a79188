// Whole numbers of schedules.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace sinter::jit {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The least that is not below `x`; 1 for none.
constexpr std::int64_t power_of_two(std::int64_t x) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(x, 1))));
}

}  // namespace sinter::jit
