// main() of the test programs: takes --executor=interpreter|host|cuda, leaves the rest to GoogleTest.
#include "tests/support/executor.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
  // What other runs and the user have kept must not decide what compiles here; processes that tests start say what they
  // use.
  if (std::getenv("TEST_CHILD") == nullptr) setenv("SINTER_CACHE", "memory", 1);
  const std::string flag = "--executor=";
  // Before InitGoogleTest, which already calls the generators of parameterised tests.
  for (int k = 1; k < argc; ++k)
    if (const std::string argument = argv[k]; argument.starts_with(flag)) {
      sinter_test::select_executor(argument.substr(flag.size()));
    }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
