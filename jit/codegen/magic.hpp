// Division by an invariant divisor as a multiplication; the other half is `fast_divide` of jit/device/prelude.cuh.
#pragma once

#include <cstdint>

namespace sinter::jit {

/// n / divisor == (high half of n * multiplier, plus n) >> shift, for n < 2^31.
struct magic_numbers {
  std::uint32_t multiplier, shift;
};

/// For 1 <= divisor < 2^31. (Granlund and Montgomery 1994: shift is ceil(log2 divisor), and the multiplier
/// 2^32 * (2^shift / divisor - 1), rounded up; with n < 2^31 the sum can't overflow.)
constexpr magic_numbers magic(std::uint32_t divisor) {
  std::uint32_t shift = 0;
  while ((std::uint64_t{1} << shift) < divisor) ++shift;
  const std::uint64_t excess = (std::uint64_t{1} << shift) - divisor;
  return {static_cast<std::uint32_t>((excess << 32) / divisor + 1), shift};
}

}  // namespace sinter::jit
