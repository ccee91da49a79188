#include "dsl/npy.hpp"

#include "dsl/npy_internal.hpp"
#include "dsl/shape_ops.hpp"
#include "jit/engine.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace sinter {

namespace {

constexpr std::string_view magic = "\x93NUMPY";

struct npy_header {
  dtype type = f64;
  bool swapped = false;  ///< the file's byte order is not this machine's
  bool fortran = false;
  shape extents;
};

/// Reads the header's text, a Python dictionary: {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
class header_parser {
 public:
  header_parser(std::string_view text, const file_context& where_from) : text_(text), context_(where_from) {}

  npy_header parse() {
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") once(has_descr_), descr();
      else if (key == "fortran_order") once(has_order_), header_.fortran = truth();
      else if (key == "shape") once(has_shape_), extents();
      else context_.fail(fmt::format("the header has an unknown key '{}'", key));
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!has_descr_ || !has_order_ || !has_shape_) context_.fail("the header lacks descr, fortran_order or shape");
    if (peek() != '\0' || next_ < text_.size()) context_.fail("the header goes on after its end");
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

  void once(bool& has) {
    if (std::exchange(has, true)) context_.fail("the header repeats a key");
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
    if (peek() == '[' || peek() == '(') {
      const std::string_view fields = text_.substr(next_, std::min(text_.find("'fort", next_), next_ + 60) - next_);
      context_.fail(fmt::format("it holds records, which arrays can't: the structured dtype {}", fields),
                    "save its fields one by one");
    }
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
  const file_context& context_;
  std::size_t next_ = 0;
  bool has_descr_ = false, has_order_ = false, has_shape_ = false;
  npy_header header_;
};

/// The whole header; leaves `from` at the first value.
npy_header read_header(byte_source& from) {
  const file_context& c = from.context;
  unsigned char start[12];
  if (from.left() < 10) c.fail("it is too short for a .npy file");
  from.read(start, 10);
  if (std::memcmp(start, magic.data(), magic.size()) != 0) c.fail("it is not a .npy file (wrong magic)");
  const int version = start[6];
  if (version < 1 || version > 3 || start[7] != 0)
    c.fail(fmt::format("format version {}.{} is unknown", version, start[7]));
  std::uint64_t length = start[8] + 256u * start[9];
  if (version > 1) {
    from.read(start + 10, 2);
    length += (start[10] + 256u * start[11]) * std::uint64_t{65536};
  }
  if (length > from.left()) c.fail("the file is truncated: its header is longer than the file");
  std::string text(static_cast<std::size_t>(length), '\0');
  from.read(text.data(), text.size());
  return header_parser(text, c).parse();
}

/// The bytes `h` asks for, checked against what the file has before anything is allocated.
std::size_t checked_size(const npy_header& h, std::uint64_t left, const file_context& c) {
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

std::string dictionary_of(const array& x) {
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

void file_context::fail(std::string_view what, std::string_view hint) const {
  throw_io_error(fmt::format("{}: {}", path, what), at, hint);
}

file_handle open_for_reading(const file_context& c, std::uint64_t& size) {
  std::error_code problem;
  size = std::filesystem::file_size(c.path, problem);
  if (problem) c.fail(fmt::format("can't be read: {}", problem.message()));
  file_handle f(std::fopen(c.path.c_str(), "rb"));
  if (!f) c.fail(fmt::format("can't be opened: {}", std::strerror(errno)));
  return f;
}

void read_exactly(std::FILE* f, void* to, std::size_t bytes, const file_context& c) {
  if (bytes == 0 || std::fread(to, 1, bytes, f) == bytes) return;
  c.fail(std::ferror(f) ? fmt::format("can't be read: {}", std::strerror(errno)) : "the file is truncated");
}

void byte_source::read(void* to, std::size_t bytes) {
  if (bytes > left_) context.fail("the file is truncated");
  left_ -= bytes;
  if (bytes > 0) fetch(to, bytes);
}

new_file::new_file(const file_context& c)
    : context_(c), name_(temporary_name(c.path)), file_(std::fopen(name_.c_str(), "wbx")) {
  if (!file_) fail();
}

new_file::~new_file() {
  if (!file_) return;
  file_.reset();
  std::remove(name_.c_str());
}

void new_file::write(const void* from, std::size_t bytes) {
  if (bytes > 0 && std::fwrite(from, 1, bytes, file_.get()) != bytes) fail();
  written_ += bytes;
}

void new_file::commit() {
  if (std::fclose(file_.release()) == 0 && std::rename(name_.c_str(), context_.path.c_str()) == 0) return;
  const int reason = errno;
  std::remove(name_.c_str());
  errno = reason;
  fail();
}

void new_file::fail() const { context_.fail(fmt::format("can't be written: {}", std::strerror(errno))); }

array read_npy(byte_source& from) {
  const file_context& c = from.context;
  const npy_header h = read_header(from);
  std::vector<unsigned char> values(checked_size(h, from.left(), c));
  from.read(values.data(), values.size());
  if (h.swapped) swap_bytes(values, h.type);
  if (h.type == boolean)
    for (unsigned char& b : values) b = b != 0;
  if (!h.fortran || h.extents.rank() < 2) return array(values.data(), h.type, h.extents, c.at);
  shape reversed;
  for (int k = h.extents.rank(); k-- > 0;) reversed.append(h.extents[k]);
  return transpose(array(values.data(), h.type, reversed, c.at), {}, c.at);
}

std::string npy_header_of(const array& x) {
  const std::string text = dictionary_of(x);
  std::string header(magic);
  header += {'\1', '\0', static_cast<char>(text.size() & 255), static_cast<char>(text.size() >> 8)};
  return header + text;
}

std::vector<unsigned char> npy_values_of(const array& x, const place& at) {
  std::vector<unsigned char> values(static_cast<std::size_t>(x.size() * size_of(x.type())));
  jit::read(x.node(), values.data(), values.size(), at);
  return values;
}

void check_numpy_has(dtype type, std::string_view function, const place& at) {
  if (type == bf16)
    throw_type_error(fmt::format("{}: NumPy has no bfloat16", function), at, "x.astype(f32) keeps every value");
}

array load_npy(const std::string& path, place at) {
  const file_context c{path, at};
  std::uint64_t size = 0;
  const file_handle f = open_for_reading(c, size);
  file_source from(f.get(), size, c);
  return read_npy(from);
}

void save_npy(const std::string& path, const array& x, place at) {
  const file_context c{path, at};
  check_numpy_has(x.type(), "save_npy", at);
  const std::vector<unsigned char> values = npy_values_of(x, at);
  new_file f(c);
  f.write(npy_header_of(x));
  f.write(values.data(), values.size());
  f.commit();
}

}  // namespace sinter
