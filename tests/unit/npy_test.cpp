// .npy files: what NumPy writes is read, what is malformed is refused with a reason and without a large allocation.
#include "tests/unit/dsl_support.hpp"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace {

using namespace sinter;
using sinter_test::expect_error;
using sinter_test::list;
using sinter_test::values;

class npy : public sinter_test::dsl_test {
 protected:
  void SetUp() override {
    dsl_test::SetUp();
    folder_ = std::filesystem::temp_directory_path() / ("sinter_npy_test_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    path = (folder_ / "x.npy").string();
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    dsl_test::TearDown();
  }

  void write(const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }
  /// A file as NumPy lays it out, with any header and values.
  void write(const std::string& header, const std::string& data, char version = 1) {
    std::string text = std::string("\x93NUMPY") + version + '\0';
    const std::size_t n = header.size();
    for (int k = 0; k < (version == 1 ? 2 : 4); ++k) text += static_cast<char>(n >> (8 * k) & 255);
    write(text + header + data);
  }
  std::string read() {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::size_t files() {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  std::string path;

 private:
  std::filesystem::path folder_;
};

TEST_F(npy, what_is_saved_loads_again) {
  for (int k = 0; k < dtype_count; ++k) {
    const auto t = static_cast<dtype>(k);
    if (t == bf16) continue;
    const array x = array{{0, 1, 2}, {3, 4, 5}}.astype(t);
    save_npy(path, x);
    const array y = load_npy(path);
    EXPECT_EQ(y.type(), t);
    EXPECT_EQ(y.extents(), x.extents());
    EXPECT_EQ(values(y), values(x));
  }
  EXPECT_EQ(files(), 1u);  // nothing temporary stays
}

TEST_F(npy, every_rank_is_saved) {
  for (const shape& s : {shape{}, shape{3}, shape{0, 2}, shape{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2}}) {
    save_npy(path, full(s, 7, i16));
    EXPECT_EQ(load_npy(path).extents(), s);
  }
}

TEST_F(npy, saved_files_are_as_numpy_writes_them) {
  save_npy(path, array{1.f, 2.f});
  const std::string text = read();
  EXPECT_EQ(text.size(), 128u + 8);
  EXPECT_EQ(text.substr(0, 10), std::string("\x93NUMPY\x01\0\x76\0", 10));
  EXPECT_EQ(text.substr(10, 58), "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } ");
  EXPECT_EQ(text[127], '\n');
}

TEST_F(npy, byte_order_and_memory_order_of_the_file_do_not_matter) {
  write("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }\n", std::string("\0\1\0\2\0\3\0\4\0\5\1\0", 12));
  const array x = load_npy(path);
  EXPECT_EQ(x.type(), i16);
  EXPECT_EQ(values(x), (list{1, 3, 5, 2, 4, 256}));
  write("{'descr': '>c8', 'fortran_order': False, 'shape': (), }\n", std::string("\x3f\x80\0\0\x40\0\0\0", 8));
  EXPECT_EQ(load_npy(path).item<complex64>(), (complex64{1, 2}));
}

TEST_F(npy, all_versions_and_spellings_load) {
  for (char version : {'\1', '\2', '\3'}) {
    write("{\"shape\": (2,), 'fortran_order' : False,'descr':'|b1'}", "\1\2", version);
    EXPECT_EQ(load_npy(path).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{1, 1}));
  }
  write("{'descr': '|u1', 'fortran_order': False, 'shape': (2L, 1L)}", "\1\2");
  EXPECT_EQ(load_npy(path).extents(), (shape{2, 1}));
}

TEST_F(npy, malformed_files_are_refused_with_the_reason) {
  const std::string data(8, '\0');
  expect_error<io_error>([&] { load_npy(path); }, "can't be read: No such file");
  const auto refuse = [&](const std::string& header, const std::string& reason, place at = place::here()) {
    write(header, data);
    expect_error<io_error>([&] { load_npy(path, at); }, reason, at);
  };
  refuse("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "Python objects");
  refuse("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "structured dtype");
  refuse("{'descr': '<U4', 'fortran_order': False, 'shape': (1,), }", "dtype '<U4' is not one of sinter's");
  refuse("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", "the file is truncated");
  refuse("{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904,), }", "absurdly large");
  refuse("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999, 99999999, 99999999), }", "truncated");
  refuse("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }", "malformed");
  refuse("{'descr': '<f8', 'fortran_order': False, }", "lacks");
  refuse("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'x': 1}", "unknown key 'x'");
  refuse("{'descr': '<f8', 'fortran_order': Maybe, 'shape': (1,)}", "malformed");
  refuse("{'descr': '<f8', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}", "more than 16 axes");
  refuse("{'descr': '<f8", "malformed");
  refuse("{'descr': [('mass', '<f4'), ('at', '<f8')], 'fortran_order': False, 'shape': (1,), }",
         "('mass', '<f4'), ('at',");
  refuse("{'descr': '<f8', 'shape': (1,), 'shape': (1,), }", "repeats a key");
  refuse("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), } + 1", "goes on after its end");
  refuse("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} }", "goes on after its end");
  refuse("", "malformed");
}

TEST_F(npy, every_truncation_is_an_error) {
  save_npy(path, array{1.f, 2.f});
  const std::string whole = read();
  for (std::size_t n = 0; n < whole.size(); ++n) {
    write(whole.substr(0, n));
    EXPECT_THROW(load_npy(path), io_error) << n;
  }
  write("PK\3\4 a zip archive, say, and long enough");
  expect_error<io_error>([&] { load_npy(path); }, "wrong magic");
  write("{}", "", '\11');
  expect_error<io_error>([&] { load_npy(path); }, "version 9.0 is unknown");
  write(std::string("\x93NUMPY\1\1\0\0", 10));
  expect_error<io_error>([&] { load_npy(path); }, "version 1.1 is unknown");
}

TEST_F(npy, failed_saves_leave_the_old_file) {
  save_npy(path, array{1, 2});
  expect_error<type_error>([&] { save_npy(path, array{1}.astype(bf16)); }, "no bfloat16");
  EXPECT_EQ(values(load_npy(path)), (list{1, 2}));
  expect_error<io_error>([&] { save_npy(path + "/nowhere", array{1}); }, "can't be written");
}

}  // namespace
