// Random numbers as dsl/random.hpp promises them, in plain C++ that shares nothing with the library.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace sinter_test {

__extension__ using wide_product = unsigned __int128;

/// One key's words, by Philox4x32-10 as its authors wrote it down: high and low halves of two products a round.
class plain_stream {
 public:
  explicit plain_stream(std::uint64_t key, std::uint64_t high = 0) : key_(key), high_(high) {}

  std::uint32_t word32(std::uint64_t number) const { return word(number / 4, number % 4); }
  std::uint64_t word64(std::uint64_t number) const {
    const std::uint64_t low = number % 2 * 2;
    return word(number / 2, low) + 4294967296u * std::uint64_t{word(number / 2, low + 1)};
  }

  /// Word `which` of the block of counter {low, high}.
  std::uint32_t word(std::uint64_t low, std::uint64_t which) const {
    std::uint32_t counter[4] = {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
                                static_cast<std::uint32_t>(high_), static_cast<std::uint32_t>(high_ >> 32)};
    std::uint32_t key[2] = {static_cast<std::uint32_t>(key_), static_cast<std::uint32_t>(key_ >> 32)};
    for (int round = 0; round < 10; ++round) {
      if (round > 0) {
        key[0] += 0x9E3779B9;
        key[1] += 0xBB67AE85;
      }
      const std::uint64_t first = std::uint64_t{0xD2511F53} * counter[0];
      const std::uint64_t second = std::uint64_t{0xCD9E8D57} * counter[2];
      const std::uint32_t mixed[4] = {static_cast<std::uint32_t>(second / 4294967296u) ^ counter[1] ^ key[0],
                                      static_cast<std::uint32_t>(second % 4294967296u),
                                      static_cast<std::uint32_t>(first / 4294967296u) ^ counter[3] ^ key[1],
                                      static_cast<std::uint32_t>(first % 4294967296u)};
      for (int k = 0; k < 4; ++k) counter[k] = mixed[k];
    }
    return counter[which];
  }

  double uniform(std::uint64_t i, int bits) const {
    if (bits > 32) return std::ldexp(static_cast<double>(word64(i) >> 11), -53);
    return std::ldexp(static_cast<double>(word32(i) >> (32 - bits)), -bits);
  }
  long double normal(std::uint64_t i, bool wide) const {
    constexpr long double pi = 3.14159265358979323846264338327950288L;
    const std::uint64_t even = i / 2 * 2;
    const long double range = wide ? 18446744073709551616.0L : 4294967296.0L;
    const long double a = wide ? word64(even) : word32(even), c = wide ? word64(even + 1) : word32(even + 1);
    const long double r = std::sqrt(-2 * std::log((a + 1) / range)), t = 2 * pi * (c / range);
    return r * (i % 2 == 0 ? std::cos(t) : std::sin(t));
  }
  long double exponential(std::uint64_t i, bool wide) const {
    return wide ? -std::log((word64(i) + 1.0L) / 18446744073709551616.0L)
                : -std::log((word32(i) + 1.0L) / 4294967296.0L);
  }
  /// Below `count`, 0 standing for 2^64 is not asked for.
  std::uint64_t below(std::uint64_t i, std::uint64_t count) const {
    if (count <= 4294967296u) return static_cast<std::uint64_t>((wide_product{word64(i)} * count) >> 64);
    // (high 2^64 + low) * count / 2^128
    const wide_product low = wide_product{word64(2 * i)} * count, high = wide_product{word64(2 * i + 1)} * count;
    return static_cast<std::uint64_t>((high + (low >> 64)) >> 64);
  }

 private:
  std::uint64_t key_, high_;
};

inline std::uint64_t plain_fold(std::uint64_t key, std::uint64_t data) { return plain_stream(key, 1).word64(data); }
inline std::uint64_t plain_split(std::uint64_t key, std::uint64_t k) { return plain_stream(key, 2).word64(k); }

/// f(0), .. f(n - 1).
template <class F>
auto each(std::size_t n, F&& f) {
  std::vector<decltype(f(n))> out;
  for (std::size_t k = 0; k < n; ++k) out.push_back(f(k));
  return out;
}

}  // namespace sinter_test
