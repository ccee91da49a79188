// Philox4x32-10, a counter-based generator of random words: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw,
// "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011, https://doi.org/10.1145/2063384.2063405. Ten rounds turn a
// 128-bit counter into 128 bits, by a permutation that a 64-bit key picks. Generated code has the same in
// jit/device/random.cuh.
#pragma once

#include <array>
#include <cstdint>

namespace sinter::jit::philox {

/// The block that counter {low, high} has under `key`; words of both begin with their low bits.
constexpr std::array<std::uint32_t, 4> block(std::uint64_t key, std::uint64_t low, std::uint64_t high) {
  const auto lower = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto upper = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  std::array<std::uint32_t, 4> x{lower(low), upper(low), lower(high), upper(high)};
  std::uint32_t k = lower(key), l = upper(key);
  for (int round = 0; round < 10; ++round, k += 0x9e3779b9u, l += 0xbb67ae85u) {
    const std::uint64_t p = std::uint64_t{0xd2511f53u} * x[0], q = std::uint64_t{0xcd9e8d57u} * x[2];
    x = {upper(q) ^ x[1] ^ k, lower(q), upper(p) ^ x[3] ^ l, lower(p)};
  }
  return x;
}

/// Word `number` of the blocks of counters {0, high}, {1, high}, ..., taken as words of 32 or of 64 bits.
constexpr std::uint64_t word32(std::uint64_t key, std::uint64_t number, std::uint64_t high) {
  return block(key, number >> 2, high)[number & 3];
}
constexpr std::uint64_t word64(std::uint64_t key, std::uint64_t number, std::uint64_t high) {
  const std::array<std::uint32_t, 4> x = block(key, number >> 1, high);
  const std::size_t first = (number & 1) * 2;
  return x[first] | std::uint64_t{x[first + 1]} << 32;
}

}  // namespace sinter::jit::philox
