#include "dsl/zip_internal.hpp"

#include "runtime/library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace sinter {

namespace {

constexpr std::uint32_t local_mark = 0x04034b50, entry_mark = 0x02014b50, end_mark = 0x06054b50;
constexpr std::uint32_t wide_end_mark = 0x06064b50, wide_locator_mark = 0x07064b50;
constexpr std::size_t local_size = 30, entry_size = 46, end_size = 22, wide_end_size = 56, locator_size = 20;
constexpr std::uint16_t wide_field = 1;
constexpr std::uint32_t in_wide_field = 0xffffffff;
constexpr std::uint16_t is_encrypted = 1, deflated = 8, stored = 0;

/// Little-endian numbers out of bytes that are known to be there.
class number_reader {
 public:
  explicit number_reader(const unsigned char* at) : at_(at) {}
  std::uint64_t number(int bytes) {
    std::uint64_t x = 0;
    for (int k = 0; k < bytes; ++k) x |= std::uint64_t{*at_++} << (8 * k);
    return x;
  }
  std::uint16_t u16() { return static_cast<std::uint16_t>(number(2)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::uint64_t u64() { return number(8); }
  void skip(std::size_t bytes) { at_ += bytes; }

 private:
  const unsigned char* at_;
};

/// And into them.
class number_writer {
 public:
  number_writer& u16(std::uint64_t x) { return number(x, 2); }
  number_writer& u32(std::uint64_t x) { return number(x, 4); }
  number_writer& u64(std::uint64_t x) { return number(x, 8); }
  number_writer& number(std::uint64_t x, int bytes) {
    for (int k = 0; k < bytes; ++k) text.push_back(static_cast<char>(x >> (8 * k) & 255));
    return *this;
  }
  std::string text;
};

void read_at(std::FILE* f, std::uint64_t offset, void* to, std::size_t bytes, const file_context& c) {
  if (fseeko(f, static_cast<off_t>(offset), SEEK_SET) != 0)
    c.fail(fmt::format("can't be read: {}", std::strerror(errno)));
  read_exactly(f, to, bytes, c);
}

/// Where the directory is.
struct directory {
  std::uint64_t at = 0, bytes = 0, count = 0;
};

/// The end record, which comes last but for a comment.
std::uint64_t find_end(std::FILE* f, std::uint64_t size, std::vector<unsigned char>& record, const file_context& c) {
  const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(size, end_size + 0xffff));
  std::vector<unsigned char> tail(most);
  read_at(f, size - most, tail.data(), most, c);
  for (std::size_t k = most < end_size ? 0 : most - end_size + 1; k-- > 0;) {
    number_reader r(&tail[k]);
    if (r.u32() != end_mark) continue;
    r.skip(16);
    if (r.u16() != most - k - end_size) continue;
    record.assign(tail.begin() + static_cast<std::ptrdiff_t>(k),
                  tail.begin() + static_cast<std::ptrdiff_t>(k + end_size));
    return size - most + k;
  }
  c.fail("it is not a ZIP archive, or truncated: its directory is missing", "a file of one array is read by load_npy");
}

directory find_directory(std::FILE* f, std::uint64_t size, const file_context& c) {
  std::vector<unsigned char> record;
  const std::uint64_t end_at = find_end(f, size, record, c);
  number_reader r(record.data());
  r.skip(4);
  const std::uint16_t disk = r.u16(), first_disk = r.u16(), here = r.u16();
  directory d;
  d.count = r.u16();
  d.bytes = r.u32();
  d.at = r.u32();
  if (d.count == 0xffff || d.bytes == in_wide_field || d.at == in_wide_field) {
    unsigned char locator[locator_size], wide[wide_end_size];
    if (end_at < locator_size) c.fail("its directory is malformed");
    read_at(f, end_at - locator_size, locator, locator_size, c);
    number_reader l(locator);
    if (l.u32() != wide_locator_mark) c.fail("its directory is malformed");
    l.skip(4);
    const std::uint64_t wide_at = l.u64();
    if (wide_at > size - wide_end_size) c.fail("its directory is malformed");
    read_at(f, wide_at, wide, wide_end_size, c);
    number_reader w(wide);
    if (w.u32() != wide_end_mark) c.fail("its directory is malformed");
    w.skip(28);
    d.count = w.u64();
    d.bytes = w.u64();
    d.at = w.u64();
  } else if (disk != 0 || first_disk != 0 || here != d.count) {
    c.fail("it is one of several parts of an archive");
  }
  if (d.at > size || d.bytes > size - d.at || d.count > d.bytes / entry_size) c.fail("its directory is malformed");
  return d;
}

/// What didn't fit into 32 bits, in this order, each only when its short form says so.
void read_wide_field(number_reader r, std::size_t bytes, zip_member& m, const file_context& c) {
  for (std::uint64_t* x : {&m.size, &m.packed, &m.header_at}) {
    if (*x != in_wide_field) continue;
    if (bytes < 8) c.fail("its directory is malformed");
    *x = r.u64();
    bytes -= 8;
  }
}

void read_extra_fields(const unsigned char* at, std::size_t bytes, zip_member& m, const file_context& c) {
  while (bytes >= 4) {
    number_reader r(at);
    const std::uint16_t id = r.u16();
    const std::size_t length = r.u16();
    if (length > bytes - 4) c.fail("its directory is malformed");
    if (id == wide_field) read_wide_field(r, length, m, c);
    at += 4 + length;
    bytes -= 4 + length;
  }
}

}  // namespace

std::uint32_t crc32_of(const void* bytes, std::size_t count, std::uint32_t before) {
  // tables[k][b]: what byte b does to the checksum k bytes later; eight bytes go through at once.
  using table = std::array<std::uint32_t, 256>;
  static const std::array<table, 8> tables = [] {
    std::array<table, 8> t{};
    for (std::uint32_t b = 0; b < 256; ++b) {
      std::uint32_t x = b;
      for (int k = 0; k < 8; ++k) x = x >> 1 ^ (0xedb88320u & (0u - (x & 1u)));
      t[0][b] = x;
    }
    for (std::size_t k = 1; k < 8; ++k)
      for (std::uint32_t b = 0; b < 256; ++b) t[k][b] = t[k - 1][b] >> 8 ^ t[0][t[k - 1][b] & 255u];
    return t;
  }();
  const auto* p = static_cast<const unsigned char*>(bytes);
  std::uint32_t crc = ~before;
  for (; count >= 8; count -= 8, p += 8) {
    std::uint32_t next = 0;
    for (std::size_t k = 0; k < 4; ++k) next ^= tables[7 - k][(crc >> (8 * k) & 255u) ^ p[k]] ^ tables[3 - k][p[4 + k]];
    crc = next;
  }
  for (; count > 0; --count, ++p) crc = crc >> 8 ^ tables[0][(crc & 255u) ^ *p];
  return ~crc;
}

std::vector<zip_member> read_zip_directory(std::FILE* f, std::uint64_t size, const file_context& c) {
  const directory d = find_directory(f, size, c);
  std::vector<unsigned char> text(static_cast<std::size_t>(d.bytes));
  read_at(f, d.at, text.data(), text.size(), c);
  std::vector<zip_member> members;
  std::size_t at = 0;
  for (std::uint64_t k = 0; k < d.count; ++k) {
    if (text.size() - at < entry_size) c.fail("its directory is malformed");
    number_reader r(&text[at]);
    if (r.u32() != entry_mark) c.fail("its directory is malformed");
    zip_member m;
    r.skip(4);
    m.flags = r.u16();
    m.method = r.u16();
    r.skip(4);
    m.crc = r.u32();
    m.packed = r.u32();
    m.size = r.u32();
    const std::size_t name = r.u16(), extra = r.u16(), comment = r.u16();
    r.skip(8);
    m.header_at = r.u32();
    at += entry_size;
    if (text.size() - at < name + extra + comment) c.fail("its directory is malformed");
    m.name.assign(reinterpret_cast<const char*>(text.data()) + at, name);
    read_extra_fields(text.data() + at + name, extra, m, c);
    at += name + extra + comment;
    members.push_back(std::move(m));
  }
  return members;
}

// ---- Members ----

namespace {

/// zlib's z_stream, as its ABI has been since version 1.0.
struct inflate_stream {
  const unsigned char* next_in = nullptr;
  unsigned int avail_in = 0;
  unsigned long total_in = 0;
  unsigned char* next_out = nullptr;
  unsigned int avail_out = 0;
  unsigned long total_out = 0;
  const char* message = nullptr;
  void* state = nullptr;
  void* (*allocate)(void*, unsigned int, unsigned int) = nullptr;
  void (*release)(void*, void*) = nullptr;
  void* opaque = nullptr;
  int data_type = 0;
  unsigned long adler = 0, reserved = 0;
};

/// What is needed of zlib, opened when first needed.
struct zlib_entries {
  runtime::library library{
      "zlib", {"libz.so.1"}, "zlib1g (Debian, Ubuntu)", {"inflateInit2_", "inflate", "inflateEnd"}};
  int (*init)(inflate_stream*, int window_bits, const char* version,
              int stream_size) = library.find<int(inflate_stream*, int, const char*, int)>("inflateInit2_");
  int (*inflate)(inflate_stream*, int flush) = library.find<int(inflate_stream*, int)>("inflate");
  int (*end)(inflate_stream*) = library.find<int(inflate_stream*)>("inflateEnd");
};

const zlib_entries& zlib() {
  static const zlib_entries* const entries = new zlib_entries;
  return *entries;
}

}  // namespace

struct zip_source::inflater {
  inflate_stream stream;
  std::uint64_t packed_left;
  std::vector<unsigned char> input = std::vector<unsigned char>(std::size_t{1} << 16);

  inflater(std::uint64_t packed, const file_context& c) : packed_left(packed) {
    if (!zlib().library) c.fail("it is deflated: " + zlib().library.absence(), "numpy.savez writes what needs no zlib");
    constexpr int raw_deflate = -15;
    if (zlib().init(&stream, raw_deflate, "1.2", sizeof stream) != 0) c.fail("it is deflated: zlib refuses to start");
  }
  inflater(const inflater&) = delete;
  inflater& operator=(const inflater&) = delete;
  ~inflater() { zlib().end(&stream); }

  void refill(std::FILE* f, const file_context& c) {
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(packed_left, input.size()));
    if (bytes == 0) c.fail("its deflated data end too early");
    read_exactly(f, input.data(), bytes, c);
    packed_left -= bytes;
    stream.next_in = input.data();
    stream.avail_in = static_cast<unsigned int>(bytes);
  }
};

zip_source::zip_source(std::FILE* f, std::uint64_t archive_size, const zip_member& m, const file_context& c)
    : byte_source(m.size, c), file_(f), member_(m) {
  if (m.flags & is_encrypted) c.fail("it is encrypted");
  if (m.method != stored && m.method != deflated)
    c.fail(fmt::format("it is packed by method {}, which is neither stored (0) nor deflate (8)", m.method));
  if (m.method == stored && m.packed != m.size) c.fail("the archive contradicts itself about its size");
  unsigned char header[local_size];
  if (m.header_at > archive_size || archive_size - m.header_at < local_size) c.fail("the archive is truncated");
  read_at(f, m.header_at, header, local_size, c);
  number_reader r(header);
  if (r.u32() != local_mark) c.fail("the archive is malformed: there is no member where the directory says");
  r.skip(22);
  const std::uint64_t name = r.u16(), start = m.header_at + local_size + name + r.u16();
  if (start > archive_size || m.packed > archive_size - start) c.fail("the archive is truncated");
  if (fseeko(f, static_cast<off_t>(start), SEEK_SET) != 0)
    c.fail(fmt::format("can't be read: {}", std::strerror(errno)));
  if (m.method == deflated) inflater_ = std::make_unique<inflater>(m.packed, c);
}

zip_source::~zip_source() = default;

void zip_source::fetch(void* to, std::size_t bytes) {
  auto* next = static_cast<unsigned char*>(to);
  if (!inflater_) {
    read_exactly(file_, to, bytes, context);
    crc_ = crc32_of(to, bytes, crc_);
    return;
  }
  inflate_stream& s = inflater_->stream;
  for (std::size_t left = bytes; left > 0;) {
    if (s.avail_in == 0) inflater_->refill(file_, context);
    const auto part = static_cast<unsigned int>(std::min<std::size_t>(left, 1u << 30));
    s.next_out = next;
    s.avail_out = part;
    constexpr int no_flush = 0, ok = 0, stream_end = 1;
    const int result = zlib().inflate(&s, no_flush);
    const std::size_t done = part - s.avail_out;
    next += done;
    left -= done;
    if (result != ok && !(result == stream_end && left == 0)) context.fail("its deflated data are damaged");
  }
  crc_ = crc32_of(to, bytes, crc_);
}

void zip_source::finish() {
  unsigned char rest[4096];
  while (left() > 0) read(rest, static_cast<std::size_t>(std::min<std::uint64_t>(left(), sizeof rest)));
  if (crc_ != member_.crc)
    context.fail(fmt::format("it is damaged: its checksum is {:08x}, not {:08x}", crc_, member_.crc));
}

// ---- Writing ----

namespace {

// What readers must know, where numbers of 64 bits are used or not; names are UTF-8; the first date there is.
constexpr std::uint16_t version_needed = 20, wide_version_needed = 45, is_utf8 = 0x0800, first_date = 0x0021;

/// What the header of a member and its entry in the directory have in common.
void describe(number_writer& w, const zip_member& m, bool wide) {
  w.u16(wide ? wide_version_needed : version_needed).u16(is_utf8).u16(stored).u16(0).u16(first_date).u32(m.crc);
  w.u32(wide ? in_wide_field : m.packed).u32(wide ? in_wide_field : m.size).u16(m.name.size());
}

}  // namespace

void zip_writer::add(std::string_view name, std::string_view head, const std::vector<unsigned char>& rest) {
  zip_member m;
  m.name = name;
  m.header_at = to_.written();
  m.size = m.packed = head.size() + rest.size();
  m.crc = crc32_of(rest.data(), rest.size(), crc32_of(head.data(), head.size()));
  const bool wide = m.size >= wide_from_;
  number_writer w;
  w.u32(local_mark);
  describe(w, m, wide);
  w.u16(wide ? 20 : 0);
  to_.write(w.text);
  to_.write(name);
  if (wide) to_.write(number_writer().u16(wide_field).u16(16).u64(m.size).u64(m.packed).text);
  to_.write(head);
  to_.write(rest.data(), rest.size());
  members_.push_back(std::move(m));
}

void zip_writer::finish() {
  const std::uint64_t at = to_.written();
  for (const zip_member& m : members_) {
    const bool wide = m.size >= wide_from_ || m.header_at >= wide_from_;
    number_writer w;
    w.u32(entry_mark).u16(wide_version_needed);
    describe(w, m, wide);
    w.u16(wide ? 28 : 0).u16(0).u16(0).u16(0).u32(0).u32(wide ? in_wide_field : m.header_at);
    to_.write(w.text);
    to_.write(m.name);
    if (wide) to_.write(number_writer().u16(wide_field).u16(24).u64(m.size).u64(m.packed).u64(m.header_at).text);
  }
  const std::uint64_t end_at = to_.written(), count = members_.size();
  const bool wide = at >= wide_from_ || end_at - at >= wide_from_ || count >= 0xffff;
  number_writer w;
  if (wide) {
    w.u32(wide_end_mark).u64(wide_end_size - 12).u16(wide_version_needed).u16(wide_version_needed).u32(0).u32(0);
    w.u64(count).u64(count).u64(end_at - at).u64(at);
    w.u32(wide_locator_mark).u32(0).u64(end_at).u32(1);
  }
  w.u32(end_mark).u16(0).u16(0).u16(wide ? 0xffff : count).u16(wide ? 0xffff : count);
  w.u32(wide ? in_wide_field : end_at - at).u32(wide ? in_wide_field : at).u16(0);
  to_.write(w.text);
}

}  // namespace sinter
