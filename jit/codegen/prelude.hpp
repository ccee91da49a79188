// What generated kernels need in front of them: helper functions and types from jit/device, only those they name.
#pragma once

#include "jit/codegen/dialect.hpp"

#include <string>
#include <string_view>

namespace sinter::jit {

/// The sections of jit/device/*.cuh that `text` needs, and those that they need, in the order of the files.
std::string prelude_for(std::string_view text, dialect d);

/// Everything there is for a dialect; for tests.
std::string whole_prelude(dialect d);

}  // namespace sinter::jit
