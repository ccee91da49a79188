// What generated kernels need in front of them: helper functions and types from jit/device, only those they name.
#pragma once

#include "jit/codegen/dialect.hpp"

#include <string>
#include <string_view>
#include <unordered_set>

namespace sinter::jit {

/// The sections of jit/device/*.cuh that `text` needs, and those that they need, in the order of the files.
std::string prelude_for(std::string_view text, dialect d);

/// Names that a text gives values to: its own, whatever headers have under them.
std::unordered_set<std::string_view> defined_names(std::string_view text);

/// For a source of the user's own, on cuda: numbers that headers name (constants.cuh), and functions by their names in
/// std, as far as it uses them. Nothing when it includes headers, or defines what it uses.
std::string standard_prelude(std::string_view text);

/// Everything there is for a dialect; for tests.
std::string whole_prelude(dialect d);

}  // namespace sinter::jit
