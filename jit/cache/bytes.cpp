#include "jit/cache/bytes.hpp"

#include <bit>
#include <cstring>

#include <fmt/format.h>

namespace sinter::jit {
namespace {

static_assert(std::endian::native == std::endian::little, "files of the cache hold little-endian numbers");

constexpr std::uint64_t odd[] = {0x9e3779b97f4a7c15ull, 0xc2b2ae3d27d4eb4full, 0x165667b19e3779f9ull,
                                 0xd6e8feb86659fd93ull};

/// One-to-one in `word` for any state, and in the state for any word.
std::uint64_t absorb(std::uint64_t state, std::uint64_t word, std::uint64_t factor) {
  state = (state ^ word) * factor;
  return state ^ (state >> 31);
}

std::uint64_t word_at(const std::byte* p) {
  std::uint64_t w;
  std::memcpy(&w, p, sizeof w);
  return w;
}

std::uint64_t spread(std::uint64_t x) {
  x = (x ^ (x >> 32)) * odd[1];
  x = (x ^ (x >> 29)) * odd[3];
  return x ^ (x >> 32);
}

}  // namespace

digest digest_of(std::span<const std::byte> bytes) {
  std::uint64_t lane[4] = {odd[3], odd[2], odd[1], odd[0]};
  const std::byte* p = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 32; p += 32, left -= 32)  // four chains that don't wait for each other
    for (std::size_t k = 0; k < 4; ++k) lane[k] = absorb(lane[k], word_at(p + 8 * k), odd[k]);
  for (std::size_t k = 0; left >= 8; p += 8, left -= 8, ++k) lane[k] = absorb(lane[k], word_at(p), odd[k]);
  std::uint64_t tail = 0;
  if (left > 0) std::memcpy(&tail, p, left);
  lane[3] = absorb(lane[3], tail, odd[0]);
  digest d{bytes.size(), ~std::uint64_t{bytes.size()}};
  for (std::size_t k = 0; k < 4; ++k) {
    d.low = absorb(d.low, lane[k], odd[0]);
    d.high = absorb(d.high, std::rotl(lane[3 - k], 23), odd[2]);
  }
  return {spread(d.low), spread(d.high)};
}

digest digest_of(std::string_view bytes) { return digest_of(std::as_bytes(std::span(bytes.data(), bytes.size()))); }

std::string to_string(const digest& d) { return fmt::format("{:016x}{:016x}", d.high, d.low); }

void byte_writer::number(std::uint32_t x) {
  char b[sizeof x];
  std::memcpy(b, &x, sizeof x);
  bytes_.append(b, sizeof x);
}

void byte_writer::text(std::string_view s) {
  number(static_cast<std::uint32_t>(s.size()));
  bytes_ += s;
}

std::uint32_t byte_reader::number() {
  std::uint32_t x = 0;
  if (rest_.size() < sizeof x) good_ = false;
  if (!good_) return 0;
  std::memcpy(&x, rest_.data(), sizeof x);
  rest_.remove_prefix(sizeof x);
  return x;
}

std::string_view byte_reader::text() {
  const std::uint32_t size = number();
  if (size > rest_.size()) good_ = false;
  if (!good_) return {};
  const std::string_view s = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return s;
}

}  // namespace sinter::jit
