#include "dsl/npy.hpp"

#include "dsl/shape_ops.hpp"
#include "jit/engine.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

namespace sinter {

namespace {

constexpr std::string_view magic = "\x93NUMPY";

struct file_closer {
  void operator()(std::FILE* f) const { std::fclose(f); }
};
using file = std::unique_ptr<std::FILE, file_closer>;

struct npy_header {
  dtype type = f64;
  bool swapped = false;  ///< the file's byte order is not this machine's
  bool fortran = false;
  shape extents;
};

/// Where a message belongs: which file, which line of the user's program.
struct context {
  const std::string& path;
  const place& at;
  [[noreturn]] void fail(std::string_view what, std::string_view hint = {}) const {
    throw_io_error(fmt::format("{}: {}", path, what), at, hint);
  }
};

/// Reads the header's text, a Python dictionary: {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
class header_parser {
 public:
  header_parser(std::string_view text, const context& where_from) : text_(text), context_(where_from) {}

  npy_header parse() {
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") descr();
      else if (key == "fortran_order") header_.fortran = truth();
      else if (key == "shape") extents();
      else context_.fail(fmt::format("the header has an unknown key '{}'", key));
      if (++seen_ > 3) context_.fail("the header repeats a key");
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!has_descr_ || !has_shape_ || seen_ != 3) context_.fail("the header lacks descr, fortran_order or shape");
    return header_;
  }

 private:
  [[noreturn]] void malformed() const { context_.fail("the header is malformed"); }
  void skip_blanks() {
    while (next_ < text_.size() && (text_[next_] == ' ' || text_[next_] == '\n' || text_[next_] == '\t')) ++next_;
  }
  char peek() {
    skip_blanks();
    return next_ < text_.size() ? text_[next_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++next_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) malformed();
  }

  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') malformed();
    const std::size_t end = text_.find(quote, ++next_);
    if (end == std::string_view::npos) malformed();
    const std::string word(text_.substr(next_, end - next_));
    next_ = end + 1;
    return word;
  }

  bool truth() {
    skip_blanks();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(next_, word.size()) != word) continue;
      next_ += word.size();
      return value;
    }
    malformed();
  }

  void descr() {
    has_descr_ = true;
    if (peek() == '[' || peek() == '(')
      context_.fail("it holds records (a structured dtype), which arrays can't", "save its fields one by one");
    const std::string d = quoted();
    if (d.size() < 2) malformed();
    const char order = d[0];
    const std::string code = d.substr(d.find_first_of("<>|=") == 0 ? 1 : 0);
    if (code[0] == 'O') context_.fail("it holds Python objects, which arrays can't");
    for (int k = 0; k < dtype_count; ++k) {
      const auto t = static_cast<dtype>(k);
      if (t == bf16 || code != type_code(t)) continue;
      header_.type = t;
      header_.swapped = size_of(t) > 1 && order == (std::endian::native == std::endian::little ? '>' : '<');
      return;
    }
    context_.fail(fmt::format("its dtype '{}' is not one of sinter's", d));
  }

  std::int64_t extent() {
    std::int64_t n = 0;
    const std::size_t start = next_;
    for (; next_ < text_.size() && text_[next_] >= '0' && text_[next_] <= '9'; ++next_) {
      if (n > (std::int64_t{1} << 58)) context_.fail("its shape is absurdly large");
      n = n * 10 + (text_[next_] - '0');
    }
    if (next_ == start) malformed();
    if (next_ < text_.size() && text_[next_] == 'L') ++next_;  // written by Python 2
    return n;
  }

  void extents() {
    has_shape_ = true;
    header_.extents = {};
    expect('(');
    while (!accept(')')) {
      skip_blanks();
      const std::int64_t n = extent();
      if (header_.extents.rank() == max_rank) context_.fail(fmt::format("it has more than {} axes", max_rank));
      header_.extents.append(n);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
  }

 public:
  /// NumPy's code of a dtype, without the byte order: "f4".
  static std::string type_code(dtype t) {
    const char letter = t == boolean                         ? 'b'
                        : is_complex(t)                      ? 'c'
                        : is_real(t)                         ? 'f'
                        : kind_of(t) == kind::signed_integer ? 'i'
                                                             : 'u';
    return letter + std::to_string(size_of(t));
  }

 private:
  std::string_view text_;
  const context& context_;
  std::size_t next_ = 0;
  int seen_ = 0;
  bool has_descr_ = false, has_shape_ = false;
  npy_header header_;
};

void read_bytes(std::FILE* f, void* to, std::size_t bytes, const context& c) {
  if (bytes == 0 || std::fread(to, 1, bytes, f) == bytes) return;
  c.fail(std::ferror(f) ? fmt::format("can't be read: {}", std::strerror(errno)) : "the file is truncated");
}

/// The whole header; leaves `f` at the first value and `left` bytes after it.
npy_header read_header(std::FILE* f, std::uintmax_t& left, const context& c) {
  unsigned char start[12];
  if (left < 10) c.fail("it is too short for a .npy file");
  read_bytes(f, start, 10, c);
  if (std::memcmp(start, magic.data(), magic.size()) != 0) c.fail("it is not a .npy file (wrong magic)");
  const int version = start[6];
  if (version < 1 || version > 3) c.fail(fmt::format("format version {}.{} is unknown", version, start[7]));
  std::uintmax_t length = start[8] + 256u * start[9], before = 10;
  if (version > 1) {
    if (left < 12) c.fail("the file is truncated");
    read_bytes(f, start + 10, 2, c);
    length += (start[10] + 256u * start[11]) * std::uintmax_t{65536};
    before = 12;
  }
  if (length > left - before) c.fail("the file is truncated: its header is longer than the file");
  std::string text(static_cast<std::size_t>(length), '\0');
  read_bytes(f, text.data(), text.size(), c);
  left -= before + length;
  return header_parser(text, c).parse();
}

/// The bytes `h` asks for, checked against what the file has before anything is allocated.
std::size_t checked_size(const npy_header& h, std::uintmax_t left, const context& c) {
  auto bytes = static_cast<std::uint64_t>(size_of(h.type));
  for (std::int64_t n : h.extents)
    if (n == 0) return 0;
  for (std::int64_t n : h.extents) {
    if (static_cast<std::uint64_t>(n) > left / bytes)
      c.fail(fmt::format("the file is truncated: shape {} of {} needs more than the {} bytes it has",
                         to_string(h.extents), to_string(h.type), left));
    bytes *= static_cast<std::uint64_t>(n);
  }
  if (bytes > left) c.fail(fmt::format("the file is truncated: {} bytes of {}", left, bytes));
  return static_cast<std::size_t>(bytes);
}

void swap_bytes(std::vector<unsigned char>& values, dtype type) {
  const auto width = static_cast<std::ptrdiff_t>(is_complex(type) ? size_of(type) / 2 : size_of(type));
  for (auto p = values.begin(); p != values.end(); p += width) std::reverse(p, p + width);
}

std::string header_text(const array& x) {
  const bool little = std::endian::native == std::endian::little;
  std::string extents;
  for (std::int64_t n : x.extents()) extents += fmt::format("{}{}", extents.empty() ? "" : ", ", n);
  if (x.rank() == 1) extents += ",";
  std::string text = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                 size_of(x.type()) == 1 ? '|'
                                 : little               ? '<'
                                                        : '>',
                                 header_parser::type_code(x.type()), extents);
  // Values start at a multiple of 64 bytes.
  constexpr std::size_t before = 10, step = 64;
  text.append((step - (before + text.size() + 1) % step) % step, ' ');
  return text + '\n';
}

/// A name beside `path` that no other process or thread uses.
std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> count{0};
  return fmt::format("{}.tmp-{}-{}", path, ::getpid(), count++);
}

}  // namespace

array load_npy(const std::string& path, place at) {
  const context c{path, at};
  std::error_code problem;
  std::uintmax_t left = std::filesystem::file_size(path, problem);
  if (problem) c.fail(fmt::format("can't be read: {}", problem.message()));
  const file f(std::fopen(path.c_str(), "rb"));
  if (!f) c.fail(fmt::format("can't be opened: {}", std::strerror(errno)));
  const npy_header h = read_header(f.get(), left, c);
  std::vector<unsigned char> values(checked_size(h, left, c));
  read_bytes(f.get(), values.data(), values.size(), c);
  if (h.swapped) swap_bytes(values, h.type);
  if (h.type == boolean)
    for (unsigned char& b : values) b = b != 0;
  if (!h.fortran || h.extents.rank() < 2) return array(values.data(), h.type, h.extents, at);
  shape reversed;
  for (int k = h.extents.rank(); k-- > 0;) reversed.append(h.extents[k]);
  return transpose(array(values.data(), h.type, reversed, at), {}, at);
}

void save_npy(const std::string& path, const array& x, place at) {
  const context c{path, at};
  if (x.type() == bf16) throw_type_error("save_npy: NumPy has no bfloat16", at, "x.astype(f32) keeps every value");
  std::vector<unsigned char> values(static_cast<std::size_t>(x.size() * size_of(x.type())));
  jit::read(x.node(), values.data(), values.size(), at);
  const std::string text = header_text(x);
  const unsigned char version[] = {1, 0, static_cast<unsigned char>(text.size() & 255),
                                   static_cast<unsigned char>(text.size() >> 8)};
  const std::string temporary = temporary_name(path);
  file f(std::fopen(temporary.c_str(), "wbx"));
  if (!f) c.fail(fmt::format("can't be written: {}", std::strerror(errno)));
  const auto put = [&](const void* from, std::size_t bytes) {
    return bytes == 0 || std::fwrite(from, 1, bytes, f.get()) == bytes;
  };
  bool done = put(magic.data(), magic.size()) && put(version, sizeof version) && put(text.data(), text.size()) &&
              put(values.data(), values.size());
  done = std::fclose(f.release()) == 0 && done && std::rename(temporary.c_str(), path.c_str()) == 0;
  if (done) return;
  const int reason = errno;
  std::remove(temporary.c_str());
  c.fail(fmt::format("can't be written: {}", std::strerror(reason)));
}

}  // namespace sinter
