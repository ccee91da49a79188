#include "tests/support/reference.hpp"

#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace sinter_test {

namespace {

[[noreturn]] void fail(const std::string& name, const char* what) {
  throw std::runtime_error("reference " + name + ": " + what);
}

sinter::dtype dtype_from(const std::string& descr, const std::string& name) {
  struct spelling {
    const char* text;
    sinter::dtype type;
  };
  static constexpr spelling spellings[] = {
      {"|b1", sinter::boolean}, {"|i1", sinter::i8},  {"<i2", sinter::i16}, {"<i4", sinter::i32},  {"<i8", sinter::i64},
      {"|u1", sinter::u8},      {"<u2", sinter::u16}, {"<u4", sinter::u32}, {"<u8", sinter::u64},  {"<f2", sinter::f16},
      {"<f4", sinter::f32},     {"<f8", sinter::f64}, {"<c8", sinter::c64}, {"<c16", sinter::c128}};
  for (const spelling& s : spellings)
    if (descr == s.text) return s.type;
  fail(name, "unknown dtype");
}

/// What stands between `open` and `close` after `key` in the header.
std::string field(const std::string& header, const std::string& key, char open, char close, const std::string& name) {
  const std::size_t found = header.find("'" + key + "':");
  const std::size_t begin = found == std::string::npos ? found : header.find(open, found + key.size() + 3);
  const std::size_t end = begin == std::string::npos ? begin : header.find(close, begin + 1);
  if (end == std::string::npos) fail(name, "a header without what it must have");
  return header.substr(begin + 1, end - begin - 1);
}

}  // namespace

std::string data_file(const std::string& file) {
  return std::string(SINTER_TESTS_FOLDER) + "/backend/data/" + file;
}

host_array reference(const std::string& name) {
  std::ifstream file(data_file(name + ".npy"), std::ios::binary);
  if (!file) fail(name, "there is no such file in tests/backend/data");
  const std::string all{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (all.size() < 10 || all.compare(0, 6, "\x93NUMPY") != 0 || all[6] != 1)
    fail(name, "not an .npy file of version 1");
  const std::size_t length = static_cast<unsigned char>(all[8]) + 256u * static_cast<unsigned char>(all[9]);
  if (all.size() < 10 + length) fail(name, "truncated");
  const std::string header = all.substr(10, length);
  if (header.find("'fortran_order': False") == std::string::npos) fail(name, "not in C order");

  sinter::shape extents;
  const std::string listed = field(header, "shape", '(', ')', name);
  for (std::size_t k = 0; k < listed.size();) {
    std::size_t used = 0;
    if (listed[k] < '0' || listed[k] > '9') {
      ++k;
      continue;
    }
    extents.append(std::stoll(listed.substr(k), &used));
    k += used;
  }
  host_array out(dtype_from(field(header, "descr", '\'', '\'', name), name), extents);
  if (all.size() - 10 - length != out.bytes.size()) fail(name, "the data has another length than the shape");
  if (!out.bytes.empty()) std::memcpy(out.bytes.data(), all.data() + 10 + length, out.bytes.size());
  return out;
}

}  // namespace sinter_test
