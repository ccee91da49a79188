// Which of the three executors a test program runs on.
#pragma once

#include <string>

namespace sinter_test {

/// "interpreter", "host" or "cuda", as --executor named it; empty: the library's own choice.
extern std::string executor;

/// Makes `name` what every kernel of this process runs on. Must come before the library's first use, which reads the
/// environment once. Ends the program, status 0, with a line "SKIPPED: cuda: reason" when cuda is asked for and absent.
void select_executor(const std::string& name);

}  // namespace sinter_test
