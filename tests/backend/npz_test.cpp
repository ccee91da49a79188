// .npz files: what NumPy writes is read, what is saved is read again, what is damaged is refused with the reason.
#include "dsl/npz.hpp"
#include "dsl/zip_internal.hpp"
#include "tests/backend/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <fstream>
#include <functional>

using namespace sinter;
using namespace sinter_test;

namespace {

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void expect_refused(const std::string& path, const std::string& reason, place at = place::here()) {
  try {
    load_npz(path);
  } catch (const io_error& e) {
    if (std::string(e.what()).find(reason) == std::string::npos)
      ADD_FAILURE_AT(at.file, static_cast<int>(at.line)) << "it said: " << e.what();
    return;
  }
  ADD_FAILURE_AT(at.file, static_cast<int>(at.line)) << "nothing was thrown";
}

host_array quarters() {
  host_array x(f32, {3, 4});
  for (std::int64_t k = 0; k < 12; ++k) x.set(k, {static_cast<long double>(k) / 4, 0});
  return x;
}

TEST(npz, archives_of_numpy_are_read_stored_and_deflated) {
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const std::string path = data_file(name);
    for (const char* member : {"x", "f"}) EXPECT_TRUE(equals(load_npz(path, member), quarters())) << name;
    EXPECT_EQ(load_npz(path, "big").to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 1, 2, 3, 4}));
    EXPECT_EQ(load_npz(path, "b").to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{1, 0, 1}));
    EXPECT_EQ(load_npz(path, "z").item<complex128>(), (complex128{1, 2}));
    EXPECT_EQ(load_npz(path, "empty").extents(), (shape{0, 3}));
  }
  EXPECT_EQ(npz_names(data_file("stored.npz")), (std::vector<std::string>{"x", "f", "big", "b", "z", "empty"}));
  const std::vector<named_array> all_of = load_npz(data_file("deflated.npz"));
  ASSERT_EQ(all_of.size(), 7u);
  EXPECT_EQ(all_of[0].name, "ramp");
  const auto ramp = all_of[0].values.to_vector<std::int32_t>();
  for (std::size_t k = 0; k < ramp.size(); ++k) ASSERT_EQ(ramp[k], static_cast<std::int32_t>(k / 100));
}

TEST(npz, sizes_of_64_bits_are_read) {
  const std::vector<named_array> found = load_npz(data_file("wide.npz"));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_TRUE(equals(found[1].values, quarters()));
}

TEST(npz, what_is_saved_loads_again) {
  const scratch_folder folder;
  const std::string path = folder.path() + "/x.npz";
  std::vector<named_array> saved;
  for (int k = 0; k < dtype_count; ++k) {
    const auto t = static_cast<dtype>(k);
    if (t == bf16) continue;
    saved.push_back({to_string(t), reshape(arange(6), {2, 3}).astype(t)});
  }
  saved.push_back({"a name, with ü", ones({}, f32) + 1});
  saved.push_back({"none", zeros({2, 0}, i8)});
  save_npz(path, saved);
  const std::string first = contents(path);
  save_npz(path, saved);
  EXPECT_EQ(contents(path), first);
  const std::vector<named_array> found = load_npz(path);
  ASSERT_EQ(found.size(), saved.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    EXPECT_EQ(found[k].name, saved[k].name);
    EXPECT_EQ(found[k].values.type(), saved[k].values.type());
    EXPECT_TRUE(equals(found[k].values, from_device(saved[k].values))) << found[k].name;
  }
  save_npz(path, {});
  EXPECT_TRUE(load_npz(path).empty());
}

TEST(npz, archives_with_sizes_of_64_bits_are_written) {
  const scratch_folder folder;
  const std::string path = folder.path() + "/wide.npz";
  const array x = quarters().to_device();
  const file_context c{path, place::here()};
  {
    new_file f(c);
    zip_writer zip(f, 10);
    for (const char* name : {"x.npy", "y.npy"}) zip.add(name, npy_header_of(x), npy_values_of(x, place::here()));
    zip.finish();
    f.commit();
  }
  EXPECT_NE(contents(path).find("PK\6\6"), std::string::npos);
  EXPECT_TRUE(equals(load_npz(path, "y"), quarters()));
}

TEST(npz, names_must_differ_and_exist) {
  const scratch_folder folder;
  const std::string path = folder.path() + "/x.npz";
  EXPECT_THROW(save_npz(path, {{"a", ones({1})}, {"a", ones({1})}}), io_error);
  EXPECT_THROW(save_npz(path, {{"", ones({1})}}), io_error);
  EXPECT_THROW(save_npz(path, {{"a", ones({1}, bf16)}}), type_error);
  EXPECT_FALSE(std::ifstream(path).is_open());
  try {
    load_npz(data_file("stored.npz"), "y");
    ADD_FAILURE() << "there is no y";
  } catch (const io_error& e) {
    EXPECT_NE(std::string(e.what()).find("it has x, f, big, b, z, empty"), std::string::npos) << e.what();
  }
  const file_context c{path, place::here()};
  new_file f(c);
  zip_writer zip(f);
  for (int k = 0; k < 2; ++k) zip.add("a.npy", npy_header_of(ones({})), npy_values_of(ones({}), place::here()));
  zip.finish();
  f.commit();
  expect_refused(path, "two members called a.npy");
}

TEST(npz, damaged_archives_are_refused) {
  const scratch_folder folder;
  const std::string path = folder.path() + "/x.npz";
  const auto write = [&](const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; };
  expect_refused(path, "can't be read: No such file");
  write("not an archive");
  expect_refused(path, "not a ZIP archive");
  for (const char* name : {"stored.npz", "deflated.npz", "wide.npz"}) {
    const std::string whole = contents(data_file(name));
    for (std::size_t n = 0; n < whole.size(); n += 37) {
      write(whole.substr(0, n));
      EXPECT_THROW(load_npz(path), io_error) << name << " " << n;
    }
    for (std::size_t n = 0; n < whole.size(); n += 11) {  // no byte can make it crash, or read what isn't there
      std::string wrong = whole;
      wrong[n] = static_cast<char>(wrong[n] ^ 0x41);
      write(wrong);
      try {
        load_npz(path);
      } catch (const error&) {}
    }
  }
  std::string wrong = contents(data_file("stored.npz"));
  wrong[wrong.find("NUMPY") + 127] = 7;  // the first value
  write(wrong);
  expect_refused(path, "x.npy: it is damaged: its checksum is");
  wrong = contents(data_file("stored.npz"));
  const std::size_t entry = wrong.find("PK\1\2");
  wrong[entry + 10] = 12;
  write(wrong);
  expect_refused(path, "packed by method 12");
  wrong[entry + 8] = 1;
  write(wrong);
  expect_refused(path, "it is encrypted");
}

}  // namespace
