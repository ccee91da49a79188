#include "tests/support/executor.hpp"

#include "runtime/backend.hpp"

#include <cstdio>
#include <cstdlib>

namespace sinter_test {

std::string executor;

void select_executor(const std::string& name) {
  if (name != "interpreter" && name != "host" && name != "cuda") {
    std::fprintf(stderr, "--executor=%s: not one of interpreter, host, cuda\n", name.c_str());
    std::exit(2);
  }
  executor = name;
  if (std::getenv("TEST_CHILD") == nullptr) setenv("SINTER_CACHE", "memory", 1);
  setenv("SINTER_DEVICE", name == "cuda" ? "cuda" : "cpu", 1);
  setenv("SINTER_EXECUTOR", name == "interpreter" ? "interpreter" : "compiler", 1);
  if (name != "cuda") return;
  if (const std::string reason = sinter::runtime::cuda_absence(); !reason.empty()) {
    std::printf("SKIPPED: cuda: %s\n", reason.c_str());
    std::exit(0);
  }
}

}  // namespace sinter_test
