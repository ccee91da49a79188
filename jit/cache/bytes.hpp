// Records as bytes: lengths in front of everything, so that no two records share their bytes; and their digest.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sinter::jit {

/// 128 bits that tell accidents, not attackers: any change of one 8-byte word changes them.
struct digest {
  std::uint64_t low = 0, high = 0;
  friend auto operator<=>(const digest&, const digest&) = default;
};
digest digest_of(std::span<const std::byte> bytes);
digest digest_of(std::string_view bytes);
/// 32 hexadecimal digits.
std::string to_string(const digest& d);

/// Appends numbers (little-endian, as in files) and texts with their lengths.
class byte_writer {
 public:
  void number(std::uint32_t x);
  void text(std::string_view s);
  std::string take() { return static_cast<std::string&&>(bytes_); }

 private:
  std::string bytes_;
};

/// Reads them back; once something doesn't fit, everything read is empty and good() is false.
class byte_reader {
 public:
  explicit byte_reader(std::string_view bytes) : rest_(bytes) {}
  std::uint32_t number();
  std::string_view text();
  bool good() const { return good_; }
  bool at_end() const { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

}  // namespace sinter::jit
