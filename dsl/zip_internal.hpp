// ZIP archives as .npz files are: members stored or deflated, sizes of any number of bytes (ZIP64), checksums checked.
#pragma once

#include "dsl/npy_internal.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// The CRC-32 of ZIP, going on from that of the bytes before.
std::uint32_t crc32_of(const void* bytes, std::size_t count, std::uint32_t before = 0);

struct zip_member {
  std::string name;
  std::uint64_t header_at = 0;  ///< where its local header begins
  std::uint64_t packed = 0, size = 0;
  std::uint32_t crc = 0;
  std::uint16_t method = 0, flags = 0;
};

/// The members of an archive, as its directory lists them.
std::vector<zip_member> read_zip_directory(std::FILE* f, std::uint64_t size, const file_context& c);

/// The bytes of a member, unpacked and summed up while they are read.
class zip_source final : public byte_source {
 public:
  /// Fails for members that are encrypted or packed in other ways than deflate; and, deflated, without zlib.
  zip_source(std::FILE* f, std::uint64_t archive_size, const zip_member& m, const file_context& c);
  ~zip_source() override;
  /// Reads what is left, and fails unless the checksum is right.
  void finish();

 private:
  struct inflater;
  void fetch(void* to, std::size_t bytes) override;

  std::FILE* file_;
  const zip_member& member_;
  std::uint32_t crc_ = 0;
  std::unique_ptr<inflater> inflater_;  ///< null: stored
};

/// Writes an archive of stored members.
class zip_writer {
 public:
  /// Sizes and places from `wide_from` on are written in 64 bits (tests ask for small ones).
  explicit zip_writer(new_file& to, std::uint64_t wide_from = 0xffffffff) : to_(to), wide_from_(wide_from) {}
  /// A member of two parts.
  void add(std::string_view name, std::string_view head, const std::vector<unsigned char>& rest);
  /// The directory.
  void finish();

 private:
  new_file& to_;
  const std::uint64_t wide_from_;
  std::vector<zip_member> members_;
};

}  // namespace sinter
