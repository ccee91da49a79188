// Users' own programs (raw kernels and modules) on disk: kept as all other kernels are, whatever executor runs them.
#include "tests/backend/cache_process.hpp"
#include "tests/backend/expect.hpp"

#include <sinter/cache.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <vector>

using namespace sinter;
using namespace sinter_test;
namespace fs = std::filesystem;

namespace {

class kept_program : public kept {
 protected:
  void SetUp() override {
    kept::SetUp();
    fs::create_directory(headers);
    set_value("1");
  }
  void set_value(const std::string& value) const {
    write_file(headers + "/value.h", "#include \"deep.h\"\n");
    write_file(headers + "/deep.h", "#define VALUE " + value + "\n");
  }
  process_result run_program(environment more = {}) const {
    more.try_emplace("TEST_PROGRAM", headers);
    return run(more);
  }
  static void expect_right(const process_result& r, const std::string& value) {
    ASSERT_TRUE(r.good()) << r.output;
    EXPECT_EQ(r["program_k"], "48") << r.output;
    EXPECT_EQ(r["program_p"], "8");
    EXPECT_EQ(r["program_lib::e"], "1");
    EXPECT_EQ(r["program_plain"], value);
  }

  const std::string headers = scratch.path() + "/include";
};

// K08, cupy#10173, cupy#6159: templates were compiled again in every process, or when spelt with other blanks.
TEST_F(kept_program, a_second_process_compiles_nothing_however_instances_are_spelt) {
  const process_result first = run_program();
  expect_right(first, "1");
  EXPECT_GE(first.number("compiles"), 1u);
  EXPECT_EQ(first.number("disk_hits"), 0u);
  EXPECT_GE(kernel_files(folder).size(), 1u);
  for (const char* spelling : {"", "other"}) {
    const process_result r = run_program({{"TEST_SPELLING", spelling}, {"TEST_MAPS", "1"}});
    expect_right(r, "1");
    EXPECT_EQ(r.number("compiles"), 0u) << r.output;
    EXPECT_EQ(r.number("disk_hits"), first.number("compiles"));
    EXPECT_EQ(r.number("bytes_written"), 0u);
    EXPECT_EQ(r["has_nvrtc"], "0");
  }
}

// K20, seen from a process that didn't compile: what the compiler said is kept with what it made.
TEST_F(kept_program, warnings_are_kept_too) {
  for (int k = 0; k < 2; ++k) EXPECT_EQ(run_program()["warns"], "1") << k;
}

// Those of string kernels go to the log, with the user's own line and nothing of what is generated around it.
TEST_F(kept_program, warnings_of_string_kernels_are_logged) {
  const process_result r = run({{"TEST_WARNING", "1"}, {"SINTER_LOG", "info"}});
  ASSERT_TRUE(r.good()) << r.output;
  EXPECT_EQ(r["careless"], "2");
  EXPECT_EQ(r.count("sinter: compiling kernel "), 1) << r.output;
  EXPECT_EQ(r.count("careless, line 2: warning"), 1) << r.output;
  EXPECT_GE(r.count("int unused;"), 1) << r.output;
}

// C04, cupy#941: headers of raw kernels, at any depth.
TEST_F(kept_program, an_edited_header_makes_another_program) {
  for (const auto& [value, compiles] : {std::pair{"1", true}, {"1", false}, {"2", true}, {"2", false}, {"1", false}}) {
    set_value(value);
    const process_result r = run_program();
    expect_right(r, value);
    EXPECT_EQ(r.number("compiles") > 0, compiles) << value << r.output;
  }
}

// C02, pytorch#156010
TEST_F(kept_program, damaged_files_are_repaired_silently) {
  const process_result first = run_program();
  expect_right(first, "1");
  const std::vector<std::string> files = kernel_files(folder);
  for (const std::string& f : files) {
    const std::string good = read_file(f);
    std::string flipped = good;
    flipped[good.size() / 2] = static_cast<char>(flipped[good.size() / 2] ^ 4);
    for (const std::string& bad : {std::string(), good.substr(0, good.size() / 2), flipped}) {
      write_file(f, bad);
      const process_result r = run_program();
      expect_right(r, "1");
      EXPECT_EQ(r.number("compiles"), 1u);
      EXPECT_EQ(r.number("damaged"), 1u) << r.output;
      EXPECT_EQ(r.count("sinter:"), 0) << r.output;
    }
  }
  EXPECT_EQ(run_program().number("compiles"), 0u);
}

TEST_F(kept_program, eight_processes_compile_each_program_once_between_them) {
  std::vector<std::unique_ptr<cache_process>> all;
  for (int k = 0; k < 8; ++k) all.push_back(std::make_unique<cache_process>(with({{"TEST_PROGRAM", headers}})));
  std::uint64_t compiles = 0;
  for (const auto& p : all) {
    const process_result r = p->wait();
    expect_right(r, "1");
    compiles += r.number("compiles");
  }
  EXPECT_EQ(compiles, kernel_files(folder).size());
  EXPECT_FALSE(fs::exists(folder + "/tmp") && !fs::is_empty(folder + "/tmp")) << "no temporary files are left";
}

TEST_F(kept_program, a_bundle_has_them) {
  const std::string file = scratch.path() + "/app.sinter";
  expect_right(run_program({{"TEST_EXPORT", file}}), "1");
  environment e{{"SINTER_CACHE", "memory"}, {"TEST_LOAD", file}, {"PATH", "/nowhere"}};
  const process_result r = run_program(e);
  expect_right(r, "1");
  EXPECT_EQ(r.number("compiles"), 0u);
  EXPECT_GE(r.number("bundle_hits"), 1u);
  if (executor == "cuda") return;  // NVRTC is found in other places, too
  set_value("3");
  const process_result more = run_program(e);
  EXPECT_NE(more["device_error"].find("kernel program is not among"), std::string::npos) << more.output;
  EXPECT_NE(more["device_error"].find(file), std::string::npos) << more.output;
}

TEST_F(kept_program, modes_hold_for_them) {
  EXPECT_GE(run_program({{"SINTER_CACHE", "memory"}}).number("compiles"), 1u);
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_GE(run_program({{"SINTER_CACHE", "off"}}).number("compiles"), 1u);
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_GE(run_program({{"SINTER_CACHE", "read_only"}}).number("compiles"), 1u);
  EXPECT_FALSE(fs::exists(folder));
}

}  // namespace
