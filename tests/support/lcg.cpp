#include "tests/support/lcg.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace sinter_test {

namespace {

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t k = 0; k < 256; ++k) {
    std::uint32_t rest = k;
    for (int bit = 0; bit < 8; ++bit) rest = (rest & 1u) != 0 ? rest >> 1 ^ 0xedb88320u : rest >> 1;
    table[k] = rest;
  }
  return table;
}

}  // namespace

std::uint32_t crc32(const std::byte* bytes, std::size_t count) {
  static constexpr auto table = make_crc_table();
  std::uint32_t crc = 0xffffffffu;
  for (std::size_t k = 0; k < count; ++k)
    crc = table[(crc ^ std::to_integer<std::uint32_t>(bytes[k])) & 0xffu] ^ crc >> 8;
  return ~crc;
}

host_array checked(host_array values, std::uint32_t checksum) {
  if (const std::uint32_t made = crc32(values.bytes.data(), values.bytes.size()); made != checksum)
    throw std::runtime_error(fmt::format("an input has checksum {:08x}, not {:08x}", made, checksum));
  return values;
}

host_array lcg_reals(sinter::dtype type, const sinter::shape& extents, std::uint32_t seed, double low, double high,
                     std::uint32_t checksum) {
  host_array out(type, extents);
  lcg numbers(seed);
  for (std::int64_t k = 0; k < out.size(); ++k)
    out.set(k, {low + (high - low) * (static_cast<double>(numbers.next() >> 8) / 16777216.0), 0});
  return checked(std::move(out), checksum);
}

host_array lcg_integers(sinter::dtype type, const sinter::shape& extents, std::uint32_t seed, std::int64_t low,
                        std::int64_t high, std::uint32_t checksum) {
  host_array out(type, extents);
  lcg numbers(seed);
  const auto span = static_cast<std::uint64_t>(high - low);
  for (std::int64_t k = 0; k < out.size(); ++k)
    out.set(k, {static_cast<long double>(low + static_cast<std::int64_t>(numbers.below(span))), 0});
  return checked(std::move(out), checksum);
}

host_array lcg_bits(sinter::dtype type, const sinter::shape& extents, std::uint32_t seed, std::uint32_t checksum) {
  host_array out(type, extents);
  const std::int64_t width = sinter::size_of(type);
  lcg numbers(seed);
  for (std::int64_t k = 0; k < out.size(); ++k) {
    std::uint64_t bits = numbers.next();
    if (width == 8) bits = bits << 32 | numbers.next();
    else bits >>= 32 - 8 * width;
    std::memcpy(out.at(k), &bits, static_cast<std::size_t>(width));  // little-endian: the low bytes come first
  }
  return checked(std::move(out), checksum);
}

host_array lcg_permutation(std::int64_t n, std::uint32_t seed, std::uint32_t checksum) {
  std::vector<std::int64_t> order;
  for (std::int64_t k = 0; k < n; ++k) order.push_back(k);
  lcg numbers(seed);
  for (auto k = static_cast<std::size_t>(n - 1); k >= 1; --k) std::swap(order[k], order[numbers.below(k + 1)]);
  return checked(host_array(order), checksum);
}

host_array counting(sinter::dtype type, const sinter::shape& extents) {
  host_array out(type, extents);
  for (std::int64_t k = 0; k < out.size(); ++k) out.set(k, {static_cast<long double>(k), 0});
  return out;
}

}  // namespace sinter_test
