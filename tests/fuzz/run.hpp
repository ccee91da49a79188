// Runs programs on the executors and compares every variable with the reference; makes failing programs small.
#pragma once

#include "tests/fuzz/step.hpp"

#include <functional>
#include <optional>
#include <string>

namespace sinter_test::fuzz {

/// How a program runs, besides the executor.
struct mode {
  const char* name;
  bool evaluates_each = false;  ///< every statement at once
  bool wide_index = false;
  bool tiny_launches = false;  ///< limits of a launch that nearly nothing fits
  bool compiled = false;       ///< several statements at a time are a compiled function, which is replayed
};
inline constexpr mode modes[] = {{"as recorded"},
                                 {"evaluated after every statement", true},
                                 {"with 64-bit indices", false, true},
                                 {"with tiny launches", false, false, true},
                                 {"compiled and replayed", false, false, false, true}};
inline constexpr int mode_count = 5;

/// What comes next runs there: "interpreter", "host" or "cuda".
void use_executor(const std::string& name);

/// Empty when every result is right; else the first difference, with the statement where it was seen.
std::optional<std::string> failure_of(const program& p, const mode& how);

/// The smallest program found within `seconds` for which `fails` still holds.
program shrunk(program p, const std::function<bool(const program&)>& fails, double seconds);

/// One statement a line, with what each must throw.
std::string to_text(const program& p);

}  // namespace sinter_test::fuzz
