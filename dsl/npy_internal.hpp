// The .npy format over any stream of bytes, and files that appear whole or not at all. For npy.cpp and npz.cpp.
#pragma once

#include "dsl/array.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// Where a message belongs: which file (and member of it), which line of the user's program.
struct file_context {
  std::string path;
  place at;
  [[noreturn]] void fail(std::string_view what, std::string_view hint = {}) const;
};

struct file_closer {
  void operator()(std::FILE* f) const { std::fclose(f); }
};
using file_handle = std::unique_ptr<std::FILE, file_closer>;

/// A file opened for reading; fails with the reason. `size` is how many bytes it has.
file_handle open_for_reading(const file_context& c, std::uint64_t& size);
/// Reads exactly `bytes`; fails when there are fewer.
void read_exactly(std::FILE* f, void* to, std::size_t bytes, const file_context& c);

/// Bytes one after another, of which a number is promised.
class byte_source {
 public:
  byte_source(std::uint64_t left, const file_context& c) : context(c), left_(left) {}
  virtual ~byte_source() = default;
  byte_source(const byte_source&) = delete;
  byte_source& operator=(const byte_source&) = delete;
  std::uint64_t left() const { return left_; }
  /// Fails when fewer are left.
  void read(void* to, std::size_t bytes);

  const file_context& context;

 private:
  virtual void fetch(void* to, std::size_t bytes) = 0;
  std::uint64_t left_;
};

class file_source final : public byte_source {
 public:
  file_source(std::FILE* f, std::uint64_t bytes, const file_context& c) : byte_source(bytes, c), file_(f) {}

 private:
  void fetch(void* to, std::size_t bytes) override { read_exactly(file_, to, bytes, context); }
  std::FILE* file_;
};

/// A .npy file's array, on the default device. Reads header and values, nothing behind them.
array read_npy(byte_source& from);

/// The header of a .npy file for x, and x's values: what the file consists of.
std::string npy_header_of(const array& x);
std::vector<unsigned char> npy_values_of(const array& x, const place& at);
/// type_error for dtypes that NumPy doesn't have.
void check_numpy_has(dtype type, std::string_view function, const place& at);

/// A file under another name until commit() puts it in its place.
class new_file {
 public:
  explicit new_file(const file_context& c);
  new_file(const new_file&) = delete;
  new_file& operator=(const new_file&) = delete;
  ~new_file();
  void write(const void* from, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();
  std::uint64_t written() const { return written_; }

 private:
  [[noreturn]] void fail() const;
  const file_context& context_;
  std::string name_;
  file_handle file_;
  std::uint64_t written_ = 0;
};

}  // namespace sinter
