// The inputs of the reference cases: made by a small generator, so that no input files are needed. Each generator's
// bytes are checked against the checksum that the references were made with.
#pragma once

#include "tests/support/host_array.hpp"

#include <cstdint>
#include <vector>

namespace sinter_test {

/// zlib's CRC-32.
std::uint32_t crc32(const std::byte* bytes, std::size_t count);

/// A linear congruential generator modulo 2^32; seeds are spread by Knuth's multiplicative constant.
class lcg {
 public:
  explicit lcg(std::uint32_t seed) : state_(seed * 2654435761u) {}
  std::uint32_t next() {
    state_ = state_ * 1664525u + 1013904223u;
    return state_;
  }
  /// In [0, n), from the upper bits.
  std::uint64_t below(std::uint64_t n) { return (next() * n) >> 32; }

 private:
  std::uint32_t state_;
};

// Each throws std::runtime_error when the bytes made don't have this checksum.
host_array lcg_reals(sinter::dtype type, const sinter::shape& extents, std::uint32_t seed, double low, double high,
                     std::uint32_t checksum);
host_array lcg_integers(sinter::dtype type, const sinter::shape& extents, std::uint32_t seed, std::int64_t low,
                        std::int64_t high, std::uint32_t checksum);
/// Random bits of an integer dtype.
host_array lcg_bits(sinter::dtype type, const sinter::shape& extents, std::uint32_t seed, std::uint32_t checksum);
/// A permutation of 0 .. n - 1, i64.
host_array lcg_permutation(std::int64_t n, std::uint32_t seed, std::uint32_t checksum);

/// The values, once their checksum is found right.
host_array checked(host_array values, std::uint32_t checksum);
/// 0, 1, 2, ...
host_array counting(sinter::dtype type, const sinter::shape& extents);

}  // namespace sinter_test
