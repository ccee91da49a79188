// The kernel cache and what is around it: the command sinter-cache, and the cpu device's compiler.
#include "runtime/host/machine.hpp"
#include "tests/backend/cache_process.hpp"
#include "tests/backend/expect.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include <sys/stat.h>
#include <sys/wait.h>

using namespace sinter;
using namespace sinter_test;
namespace fs = std::filesystem;

namespace {

// ---- the command ----

class kept_command : public kept {
 protected:
  /// What `sinter-cache` with these arguments prints, and its status.
  std::pair<std::string, int> command(const std::string& arguments) const {
    const std::string line = std::string(SINTER_CACHE_COMMAND) + " --dir '" + folder + "' " + arguments + " 2>&1";
    std::string text;
    std::FILE* pipe = popen(line.c_str(), "r");
    if (pipe == nullptr) return {};
    char part[4096];
    for (std::size_t n; (n = std::fread(part, 1, sizeof part, pipe)) > 0;) text.append(part, n);
    return {text, WEXITSTATUS(pclose(pipe))};
  }
  static bool has(const std::pair<std::string, int>& printed, const std::string& text, int status = 0) {
    if (printed.first.find(text) != std::string::npos && printed.second == status) return true;
    std::printf("%s", printed.first.c_str());
    return false;
  }
};

TEST_F(kept_command, looks_at_checks_and_empties_the_directory) {
  EXPECT_TRUE(has(command("stat"), "can't open", 2));
  expect_run({{"TEST_KERNELS", "3"}}, 3);
  EXPECT_TRUE(has(command("stat"), "kernels    3\n"));
  const auto [list, status] = command("ls");
  EXPECT_EQ(std::ranges::count(list, '\n'), 3);
  EXPECT_NE(list.find("sinter_"), std::string::npos);
  const std::string key = list.substr(0, 12);
  EXPECT_TRUE(has(command("show " + key), "extern \"C\""));
  EXPECT_TRUE(has(command("show " + key), "math mode  standard"));
  EXPECT_TRUE(has(command("show zz"), "no kernel", 2));
  EXPECT_TRUE(has(command("verify"), "3 good, 0 bad"));
  EXPECT_EQ(kernel_files(folder).size(), 3u);
  const std::string bundle = scratch.path() + "/app.sinter";
  EXPECT_TRUE(has(command("bundle " + bundle), "3 kernels written"));
  expect_run({{"TEST_KERNELS", "3"}, {"SINTER_CACHE", "memory"}, {"TEST_LOAD", bundle}}, 0);
  EXPECT_TRUE(has(command("bundle " + bundle + " " + key), "1 kernels written"));
  write_file(kernel_files(folder)[1], "x");
  EXPECT_TRUE(has(command("verify"), "2 good, 1 bad", 1));
  EXPECT_TRUE(has(command("verify --remove"), "removed", 1));
  EXPECT_TRUE(has(command("verify"), "2 good, 0 bad"));
  EXPECT_TRUE(has(command("prune --max-bytes 1"), "2 kernels removed"));
  expect_run({{"TEST_KERNELS", "3"}}, 3);
  EXPECT_TRUE(has(command("clear"), "3 kernels removed"));
  EXPECT_EQ(kernel_files(folder).size(), 0u);
  EXPECT_TRUE(has(command("prune"), "--max-bytes", 2));
  EXPECT_TRUE(has(command("dance"), "unknown command", 2));
  EXPECT_TRUE(has(command(""), "usage", 2));
}

// ---- compilers ----

class kept_by_host : public kept {
 protected:
  void SetUp() override {
    if (executor != "host") GTEST_SKIP() << "about the cpu device's compiler";
  }
  /// A compiler that first does something else.
  std::string compiler(const std::string& first) const {
    std::string path = scratch.path() + "/cxx";
    write_file(path, "#!/bin/sh\n" + first + "\nexec c++ \"$@\"\n");
    chmod(path.c_str(), 0755);
    return path;
  }
};

// arrayfire#3353, cupy#2352: what another compiler made.
// warp#1759
TEST_F(kept_by_host, another_compiler_makes_its_own) {
  const std::string command = compiler("");
  expect_run({{"TEST_KERNELS", "1"}, {"SINTER_CXX", command}}, 1);
  expect_run({{"TEST_KERNELS", "1"}, {"SINTER_CXX", command}}, 0);
  expect_run({{"TEST_KERNELS", "1"}, {"SINTER_CXX", compiler("true")}}, 1);
  EXPECT_EQ(kernel_files(folder).size(), 2u);
}

// vexcl#166
TEST_F(kept_by_host, a_warm_process_starts_no_compiler) {
  const std::string log = scratch.path() + "/log", command = compiler("echo ran >> " + log);
  expect_run({{"TEST_KERNELS", "2"}, {"SINTER_CXX", command}}, 2);
  EXPECT_EQ(read_file(log), "ran\nran\n");
  expect_run({{"TEST_KERNELS", "2"}, {"SINTER_CXX", command}}, 0);
  EXPECT_EQ(read_file(log), "ran\nran\n");
}

TEST_F(kept_by_host, new_kernels_of_one_evaluation_compile_beside_each_other) {
  if (runtime::processor_count() < 2) GTEST_SKIP() << "one processor";
  const process_result r = run({{"TEST_TOGETHER", "1"}, {"SINTER_CXX", compiler("sleep 1")}});
  ASSERT_TRUE(r.good()) << r.output;
  EXPECT_EQ(r["together"], "1");
  EXPECT_GE(r.number("compiles"), 2u);
  EXPECT_LT(r.number("together_microseconds"), r.number("compile_microseconds") * 8 / 10);
}

TEST_F(kept_by_host, what_was_compiled_from_something_else_than_the_key_says_is_not_kept) {
  const std::string headers = scratch.path() + "/include";
  fs::create_directory(headers);
  write_file(headers + "/value.h", "#define VALUE 1\n");
  // Somebody edits the header after it was read for the key, before the compiler reads it.
  const std::string edits = compiler("echo '#define VALUE 2' > " + headers + "/value.h");
  const process_result r = run({{"TEST_INCLUDE", headers}, {"SINTER_CXX", edits}});
  ASSERT_TRUE(r.good()) << r.output;
  EXPECT_EQ(r["included"], "3");
  write_file(headers + "/value.h", "#define VALUE 1\n");
  compiler("");
  EXPECT_EQ(run({{"TEST_INCLUDE", headers}, {"SINTER_CXX", edits}})["included"], "2");
  // And somebody updates the compiler while a process runs.
  fs::remove_all(folder);
  const std::string updates = compiler("echo '# new' >> \"$0\"");
  expect_run({{"TEST_KERNELS", "2"}, {"SINTER_CXX", updates}}, 2);
  EXPECT_EQ(kernel_files(folder).size(), 0u);
}

// mlxcel#270: a long first run that said nothing.
TEST_F(kept_by_host, a_long_first_compilation_is_told_on_a_terminal_once) {
  if (std::system("script --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "the command `script` makes terminals";
  const environment e = with({{"TEST_KERNELS", "2"}, {"SINTER_CXX", compiler("sleep 1")}});
  const process_result r = run_process(e, "exec script -qec \"$0 $*\" /dev/null;");
  EXPECT_EQ(r.count("RESULT compiles=2"), 1) << r.output;
  EXPECT_EQ(r.count("sinter: compiling the first kernel, sinter_"), 1) << r.output;
  EXPECT_EQ(r.count("kept in " + folder), 1) << r.output;
  fs::remove_all(folder);
  EXPECT_EQ(run_process(e).count("sinter: "), 0) << "no terminal";
}

// cupy#1756, exo#2156: no compiler, no result.
TEST_F(kept_by_host, without_a_compiler_kernels_are_interpreted_with_one_warning) {
  const process_result r =
      run({{"TEST_KERNELS", "2"}, {"TEST_AUTOMATIC", "1"}, {"SINTER_EXECUTOR", ""}, {"PATH", "/nowhere"}});
  ASSERT_TRUE(r.good()) << r.output;
  EXPECT_EQ(r["right"], "1");
  EXPECT_EQ(r.count("sinter: "), 1) << r.output;
}

TEST_F(kept_by_host, a_compiler_that_fails_is_asked_again_next_time) {
  expect_run({{"TEST_KERNELS", "1"}, {"SINTER_CXX", compiler("")}}, 1);
  const process_result r = run({{"TEST_KERNELS", "2"}, {"SINTER_CXX", compiler("exit 1")}});
  EXPECT_FALSE(r.good());
  EXPECT_EQ(kernel_files(folder).size(), 1u) << "nothing is kept of what failed";
}

}  // namespace
