// Other processes of this test program, which tests of the kernel cache start: what they do is in cache_process.cpp,
// and what they are to do stands in their environment.
#pragma once

#include "tests/backend/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

namespace sinter_test {

using environment = std::map<std::string, std::string>;  ///< an empty value: not set

struct process_result {
  int status = 0;                              ///< as of waitpid
  std::map<std::string, std::string> results;  ///< what it printed as "RESULT name=value"
  std::string output;                          ///< all of it, standard error included

  bool good() const { return status == 0 && results.contains("done"); }
  std::string operator[](const std::string& name) const;
  std::uint64_t number(const std::string& name) const;
  /// How often a text stands in the output.
  int count(const std::string& text) const;
};

/// A process that runs.
class cache_process {
 public:
  /// `before`: shell commands to run first, in the same process ("ulimit ... &&").
  explicit cache_process(const environment& e, const std::string& before = {});
  cache_process(const cache_process&) = delete;
  cache_process& operator=(const cache_process&) = delete;
  ~cache_process();
  void kill();
  process_result wait();

 private:
  scratch_folder folder_;
  pid_t id_ = -1;
};

/// Runs one to its end.
process_result run_process(const environment& e, const std::string& before = {});

/// The kernels of its directory, each "…/x/y/name.kernel", sorted.
std::vector<std::string> kernel_files(const std::string& folder);

/// Whether shell commands can be run in a mount namespace of their own; else why not, for GTEST_SKIP.
std::string why_no_mounts();

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& text);

/// A test with a cache directory of its own.
class kept : public testing::Test {
 protected:
  void SetUp() override {
    if (executor == "interpreter") GTEST_SKIP() << "the interpreter has nothing to keep";
  }

  scratch_folder scratch;
  const std::string folder = scratch.path() + "/cache";

  environment with(environment more) const {
    more.try_emplace("SINTER_CACHE_DIR", folder);
    return more;
  }
  process_result run(const environment& more = {}) const { return run_process(with(more)); }

  /// A run that has compiled `compiles` kernels and found the rest, all right.
  void expect_run(const environment& more, std::uint64_t compiles, sinter::place at = sinter::place::here()) const {
    const process_result r = run(more);
    if (r.good() && r["right"] != "0" && r.number("compiles") == compiles) return;
    ADD_FAILURE_AT(at.file, static_cast<int>(at.line)) << "wanted " << compiles << " compiles\n" << r.output;
  }
};

}  // namespace sinter_test
